// What every cost model promises (cost_model.hpp), and what each of them finds in data.

#include <tileseek/model/cost_model.hpp>

#include <cmath>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <doctest/doctest.h>

#include <tileseek/core/rng.hpp>
#include <tileseek/model/boosted_trees.hpp>
#include <tileseek/model/gaussian_process.hpp>
#include <tileseek/model/ridge.hpp>

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using tileseek::boosted_trees;
using tileseek::gaussian_process;
using tileseek::ridge;

struct samples {
  MatrixXd x;
  VectorXd y;
};

samples random_samples(Index rows, Index columns, std::uint64_t seed) {
  tileseek::rng random(seed);
  samples s{MatrixXd(rows, columns), VectorXd(rows)};
  for (Index i = 0; i < rows; ++i) {
    for (Index c = 0; c < columns; ++c) s.x(i, c) = random.uniform();
    s.y[i] = 2 * s.x(i, 0) - s.x(i, 1) * s.x(i, 2);
  }
  return s;
}

struct no_fit {
  VectorXd predict(const MatrixXd& x) const { return x.col(0); }
};
struct no_predict {
  void fit(const MatrixXd&, const VectorXd&) {}
};
struct minimal {
  minimal(minimal&&) = default;
  minimal& operator=(minimal&&) = default;
  void fit(const MatrixXd&, const VectorXd&) {}
  VectorXd predict(const MatrixXd& x) const { return x.col(0); }
};
static_assert(tileseek::CostModel<minimal>);
static_assert(!tileseek::CostModel<no_fit> && !tileseek::CostModel<no_predict> && !tileseek::CostModel<int>);
static_assert(!tileseek::UncertainCostModel<minimal> && !tileseek::WeightedCostModel<minimal>);
static_assert(tileseek::UncertainCostModel<tileseek::gaussian_process> &&
              tileseek::UncertainCostModel<tileseek::ridge>);
static_assert(!tileseek::UncertainCostModel<tileseek::boosted_trees>);

TEST_CASE_TEMPLATE("a model without samples predicts 0", Model, tileseek::ridge, tileseek::gaussian_process,
                   tileseek::boosted_trees) {
  Model model;
  CHECK(model.predict(MatrixXd::Ones(3, 2)) == VectorXd::Zero(3));
  model.fit(MatrixXd(0, 4), VectorXd(0));
  CHECK(model.predict(MatrixXd::Ones(2, 4)) == VectorXd::Zero(2));
  CHECK(model.predict(MatrixXd(0, 4)).size() == 0);
}

TEST_CASE_TEMPLATE("few samples, and none to tell rows apart by", Model, ridge, gaussian_process, boosted_trees) {
  const samples s = random_samples(20, 3, 1);
  for (const Index n : {1, 2, 3, 5}) {
    Model model;
    model.fit(s.x.topRows(n), s.y.head(n));
    const VectorXd p = model.predict(s.x);
    REQUIRE(p.allFinite());
    const double low = s.y.head(n).minCoeff();
    const double high = s.y.head(n).maxCoeff();
    CHECK(p.head(n).minCoeff() > low - (high - low) - 1e-2);
    CHECK(p.head(n).maxCoeff() < high + (high - low) + 1e-2);
  }
  Model one;
  one.fit(s.x.topRows(1), s.y.head(1));
  CHECK(one.predict(s.x).isApproxToConstant(s.y[0], 1e-9));
  Model blind;
  blind.fit(MatrixXd(20, 0), s.y);
  CHECK(blind.predict(MatrixXd(4, 0)).isApproxToConstant(s.y.mean(), 1e-9));
}

TEST_CASE_TEMPLATE("constant columns, equal labels, repeated rows, huge and tiny numbers", Model, ridge,
                   gaussian_process, boosted_trees) {
  const samples s = random_samples(40, 3, 2);
  const samples test = random_samples(10, 3, 3);
  SUBCASE("constant columns say nothing") {
    samples c = s;
    c.x.col(1).setConstant(1e9);
    c.x.col(2).setZero();
    Model model;
    model.fit(c.x, c.x.col(0));
    CHECK((model.predict(c.x) - c.x.col(0)).cwiseAbs().mean() < 0.1);
  }
  SUBCASE("equal labels are predicted") {
    Model model;
    model.fit(s.x, VectorXd::Constant(40, -7.5));
    CHECK((model.predict(test.x).array() + 7.5).abs().maxCoeff() < 1e-6);
  }
  SUBCASE("one row many times with different labels gives their mean") {
    Model model;
    const MatrixXd x = MatrixXd::Ones(20, 3);
    model.fit(x, s.y.head(20));
    CHECK(model.predict(x)[0] == doctest::Approx(s.y.head(20).mean()).epsilon(0.05));
  }
  SUBCASE("scales") {
    // Rounding of scaled labels may decide which of two equally good cuts a tree takes.
    constexpr double near = std::is_same_v<Model, boosted_trees> ? 0.05 : 1e-4;
    for (const double scale : {1e-200, 1e-12, 1e12, 1e150, 1e300}) {
      Model model;
      model.fit(s.x * scale, s.y);
      CHECK(model.predict(test.x * scale).allFinite());
      Model plain;
      plain.fit(s.x, s.y);
      CHECK((model.predict(test.x * scale) - plain.predict(test.x)).cwiseAbs().maxCoeff() < near);
      Model labels;
      labels.fit(s.x, s.y * scale);
      CHECK((labels.predict(test.x) / scale - plain.predict(test.x)).cwiseAbs().maxCoeff() < near);
    }
  }
  SUBCASE("a row far outside") {
    Model model;
    model.fit(s.x, s.y);
    MatrixXd far(2, 3);
    far.row(0).setConstant(1e300);
    far.row(1).setConstant(-1e300);
    CHECK(model.predict(far).allFinite());
  }
}

TEST_CASE_TEMPLATE("the same samples give the same model, whatever it was fitted to before or copied from", Model,
                   tileseek::ridge, tileseek::boosted_trees) {
  const samples s = random_samples(50, 3, 4);
  const samples other = random_samples(30, 3, 5);
  Model a;
  Model b;
  b.fit(other.x, other.y);
  const Model copy = b;
  a.fit(s.x, s.y);
  b.fit(s.x, s.y);
  CHECK(a.predict(other.x) == b.predict(other.x));
  CHECK(copy.predict(s.x) != b.predict(s.x));
  const Model moved = std::move(b);
  CHECK(moved.predict(other.x) == a.predict(other.x));
}

TEST_CASE("a Gaussian process with the same fits gives the same predictions") {
  const samples s = random_samples(50, 3, 4);
  tileseek::gaussian_process a;
  tileseek::gaussian_process b;
  for (const Index n : {20, 30, 50}) {
    a.fit(s.x.topRows(n), s.y.head(n));
    b.fit(s.x.topRows(n), s.y.head(n));
    CHECK(a.predict(s.x) == b.predict(s.x));
  }
}

TEST_CASE_TEMPLATE("a model saved and loaded predicts the same and goes on the same", Model, ridge, gaussian_process,
                   boosted_trees) {
  const samples s = random_samples(40, 3, 6);
  const samples test = random_samples(15, 3, 7);
  for (const Index n : {0, 1, 8, 40}) {
    Model model;
    model.fit(s.x.topRows(n), s.y.head(n));
    Model again = Model::load(model.save());
    CHECK(again.predict(test.x) == model.predict(test.x));
    CHECK(again.save() == model.save());
    if constexpr (tileseek::UncertainCostModel<Model>)
      CHECK(again.predict_with_deviation(test.x).deviation == model.predict_with_deviation(test.x).deviation);
    model.fit(s.x, s.y);
    again.fit(s.x, s.y);
    CHECK(again.predict(test.x) == model.predict(test.x));
  }
}

TEST_CASE_TEMPLATE("damaged text is refused, never believed", Model, ridge, gaussian_process, boosted_trees) {
  const samples s = random_samples(20, 3, 8);
  Model model;
  model.fit(s.x, s.y);
  const std::string text = model.save();
  const auto load = [](std::string_view t) { (void)Model::load(t); };
  CHECK_THROWS_AS(load(""), std::invalid_argument);
  CHECK_THROWS_AS(load("something else 1"), std::invalid_argument);
  CHECK_THROWS_AS(load(text + " 1"), std::invalid_argument);
  std::string newer = text;
  newer.replace(newer.find(" 1"), 2, " 2");
  CHECK_THROWS_WITH_AS(load(newer), doctest::Contains("version 2"), std::invalid_argument);
  for (std::size_t cut = 0; cut + 2 < text.size(); cut += 1 + text.size() / 97)
    if (text[cut] != ' ' && text[cut] != '\n')
      CHECK_THROWS_AS(load(std::string_view(text).substr(0, text.rfind(' ', cut) + 1)), std::invalid_argument);
  tileseek::rng random(9);
  for (int i = 0; i < 300; ++i) {  // any other damage: refused, or a model that works
    std::string damaged = text;
    damaged[static_cast<std::size_t>(random.below(text.size()))] = "0123456789 .-e"[random.below(14)];
    try {
      const Model loaded = Model::load(damaged);
      (void)loaded.predict(s.x);
    } catch (const std::invalid_argument&) {
    }
  }
}

TEST_CASE_TEMPLATE("other numbers of labels, weights or columns are refused in words", Model, ridge, gaussian_process,
                   boosted_trees) {
  const samples s = random_samples(10, 3, 10);
  Model model;
  CHECK_THROWS_AS(model.fit(s.x, s.y.head(9)), std::invalid_argument);
  model.fit(s.x, s.y);
  CHECK_THROWS_AS((void)model.predict(MatrixXd::Ones(2, 4)), std::invalid_argument);
}

TEST_CASE_TEMPLATE("predicting is good enough to rank by", Model, ridge, gaussian_process, boosted_trees) {
  const samples s = random_samples(200, 3, 11);
  const samples test = random_samples(100, 3, 12);
  Model model;
  model.fit(s.x, s.y);
  const VectorXd p = model.predict(test.x);
  int right = 0;
  for (Index i = 0; i + 1 < 100; i += 2) right += (p[i] < p[i + 1]) == (test.y[i] < test.y[i + 1]);
  CHECK(right >= 45);
}

TEST_CASE_TEMPLATE("a sample of weight 3 counts as three", Model, tileseek::ridge, tileseek::gaussian_process) {
  samples s = random_samples(12, 3, 13);
  MatrixXd x(14, 3);
  x << s.x, s.x.row(4), s.x.row(4);
  VectorXd y(14);
  y << s.y, s.y[4], s.y[4];
  VectorXd weights = VectorXd::Ones(12);
  weights[4] = 3;
  const auto make = [] {
    if constexpr (std::is_same_v<Model, tileseek::ridge>)
      return tileseek::ridge({.penalty = 0.1});
    else
      return tileseek::gaussian_process({.fit_parameters = false});
  };
  Model a = make();
  Model b = make();
  a.fit(x, y);
  b.fit(s.x, s.y, weights);
  CHECK((a.predict(x) - b.predict(x)).cwiseAbs().maxCoeff() < 1e-8);
}

}  // namespace
