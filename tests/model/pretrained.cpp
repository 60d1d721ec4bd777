#include <tileseek/model/pretrained.hpp>

#include <cmath>
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>

#include <tileseek/core/rng.hpp>
#include <tileseek/model/boosted_trees.hpp>
#include <tileseek/model/ridge.hpp>

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using tileseek::boosted_trees;
using tileseek::pretrained;
using tileseek::ridge;

static_assert(tileseek::CostModel<pretrained<boosted_trees>> && tileseek::UncertainCostModel<pretrained<ridge>>);
static_assert(!tileseek::UncertainCostModel<pretrained<boosted_trees>>);

struct samples {
  MatrixXd x;
  VectorXd y;
};

samples cliffs(Index rows, std::uint64_t seed) {
  tileseek::rng random(seed);
  samples s{MatrixXd(rows, 3), VectorXd(rows)};
  for (Index i = 0; i < rows; ++i) {
    for (Index c = 0; c < 3; ++c) s.x(i, c) = random.uniform();
    s.y[i] = std::sin(9 * s.x(i, 0)) + (s.x(i, 1) > 0.4 ? 1.0 : 0.0) * s.x(i, 2);
  }
  return s;
}

double error(const VectorXd& predicted, const VectorXd& truth) { return (predicted - truth).norm(); }

template <class Model>
Model fitted(const samples& s) {
  Model model;
  model.fit(s.x, s.y);
  return model;
}

TEST_CASE_TEMPLATE("before new samples it predicts the older ones; one new sample shifts that", Model, ridge,
                   boosted_trees) {
  const auto older = fitted<Model>(cliffs(200, 1));
  const samples test = cliffs(50, 2);
  pretrained<Model> model(older);
  CHECK(model.predict(test.x) == older.predict(test.x));
  model.fit(MatrixXd(0, 3), VectorXd(0));
  CHECK(model.predict(test.x) == older.predict(test.x));
  model.fit(test.x.topRows(1), VectorXd::Constant(1, 3.0));
  const VectorXd difference = model.predict(test.x) - older.predict(test.x);
  CHECK(difference.isApproxToConstant(3 - older.predict(test.x.topRows(1))[0], 1e-9));
  model.fit(MatrixXd(0, 3), VectorXd(0));
  CHECK(model.predict(test.x) == older.predict(test.x));
}

TEST_CASE_TEMPLATE("older samples help while new ones are few, and do not harm when they tell another story", Model,
                   ridge, boosted_trees) {
  const samples test = cliffs(300, 4);
  const auto older = fitted<Model>(cliffs(400, 3));
  double with_older = 0;
  double without = 0;
  double with_misleading = 0;
  double without_it = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    samples few = cliffs(3, 100 + seed);
    few.y = few.y.array() + 2;  // every time 7 times longer: another device
    pretrained<Model> informed(older);
    informed.fit(few.x, few.y);
    with_older += error(informed.predict(test.x), test.y.array() + 2);
    without += error(fitted<Model>(few).predict(test.x), test.y.array() + 2);

    samples other = cliffs(60, 200 + seed);
    other.y = other.x.col(2) * 4;
    pretrained<Model> misled(older);
    misled.fit(other.x, other.y);
    with_misleading += error(misled.predict(test.x), test.x.col(2) * 4);
    without_it += error(fitted<Model>(other).predict(test.x), test.x.col(2) * 4);
  }
  CHECK(with_older < 0.8 * without);
  CHECK(with_misleading < 1.2 * without_it + 10 * 0.01 * test.y.norm());
}

TEST_CASE("from least_samples on the new samples decide how far the older model is followed") {
  const auto older = fitted<ridge>(cliffs(200, 5));
  const samples s = cliffs(40, 6);
  const VectorXd opposite = -2 * older.predict(s.x);
  pretrained<ridge> shifted(older, ridge{}, {.least_samples = 41});
  shifted.fit(s.x, opposite);
  CHECK((shifted.predict(s.x) - older.predict(s.x)).isApproxToConstant((opposite - older.predict(s.x)).mean(), 1e-9));
  pretrained<ridge> free(older, ridge{}, {.least_samples = 40});
  free.fit(s.x, opposite);
  CHECK((free.predict(s.x) - opposite).norm() < 0.1 * opposite.norm());
  CHECK_THROWS_AS(free.fit(s.x, opposite.head(3)), std::invalid_argument);
}

TEST_CASE("saved and loaded it predicts the same; damage is refused") {
  const auto older = fitted<ridge>(cliffs(60, 7));
  const samples s = cliffs(15, 8);
  pretrained<ridge> model(older);
  model.fit(s.x, s.y);
  const std::string text = model.save();
  const auto again = pretrained<ridge>::load(text);
  CHECK(again.predict(s.x) == model.predict(s.x));
  CHECK(again.predict_with_deviation(s.x).deviation == model.predict_with_deviation(s.x).deviation);
  CHECK(again.save() == text);
  CHECK_THROWS_AS((void)pretrained<ridge>::load(text + "1"), std::invalid_argument);
  CHECK_THROWS_AS((void)pretrained<ridge>::load(text.substr(0, text.size() / 2)), std::invalid_argument);
  CHECK_THROWS_AS((void)pretrained<boosted_trees>::load(text), std::invalid_argument);
}

}  // namespace
