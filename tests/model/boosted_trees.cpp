#include <tileseek/model/boosted_trees.hpp>

#include <cmath>
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>

#include <tileseek/core/rng.hpp>

namespace {

using tileseek::boosted_trees;
using tileseek::boosted_trees_options;

/// Three plateaus over the first column, a cliff over the second where the first is large; the third is noise.
double steps(double a, double b) {
  return (a > 0.3 ? 1.0 : 0.0) + (a > 0.7 ? 3.0 : 0.0) + (a > 0.5 && b > 0.5 ? -2.0 : 0.0);
}

struct samples {
  Eigen::MatrixXd x;
  Eigen::VectorXd y;
};

samples plateaus(Eigen::Index n, std::uint64_t seed) {
  tileseek::rng random(seed);
  samples s{Eigen::MatrixXd(n, 3), Eigen::VectorXd(n)};
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index c = 0; c < 3; ++c) s.x(i, c) = random.uniform();
    s.y[i] = steps(s.x(i, 0), s.x(i, 1));
  }
  return s;
}

TEST_CASE("step functions of two inputs are learnt") {
  const samples train = plateaus(600, 1);
  const samples test = plateaus(300, 2);
  boosted_trees model({.trees = 100, .column_share = 1});
  model.fit(train.x, train.y);
  const double mean_error = (model.predict(test.x) - test.y).cwiseAbs().mean();
  CHECK(mean_error < 0.15);
  CHECK((test.y.array() - train.y.mean()).abs().mean() > 1);
}

TEST_CASE("a step is found exactly, between the values beside it") {
  Eigen::MatrixXd x(8, 1);
  x << 1, 2, 4, 8, 16, 32, 64, 128;
  Eigen::VectorXd y(8);
  y << 0, 0, 0, 5, 5, 5, 5, 5;
  boosted_trees model({.trees = 1, .depth = 1, .rate = 1, .lambda = 0, .row_share = 1, .column_share = 1});
  model.fit(x, y);
  const Eigen::VectorXd p = model.predict((Eigen::MatrixXd(4, 1) << -100, 5.9, 6.1, 1e9).finished());
  CHECK(p[0] == doctest::Approx(0));
  CHECK(p[1] == doctest::Approx(0));
  CHECK(p[2] == doctest::Approx(5));
  CHECK(p[3] == doctest::Approx(5));
}

TEST_CASE("the training loss falls from tree to tree") {
  const samples train = plateaus(300, 3);
  boosted_trees model({.row_share = 1});
  model.fit(train.x, train.y);
  const auto loss = model.training_loss();
  REQUIRE(loss.size() == 50);
  CHECK(loss[0] < 1);
  for (std::size_t i = 1; i < loss.size(); ++i) CHECK(loss[i] <= loss[i - 1]);
  CHECK(loss.back() < 0.05);
}

TEST_CASE("a leaf holds the least weight, depth bounds the splits") {
  Eigen::MatrixXd x(6, 1);
  x << 1, 2, 3, 4, 5, 6;
  Eigen::VectorXd y(6);
  y << 9, 0, 0, 0, 0, 0;
  boosted_trees all({.trees = 1, .rate = 1, .lambda = 0, .least_weight = 1, .row_share = 1});
  all.fit(x, y);
  CHECK(all.predict(x)[0] == doctest::Approx(9));
  boosted_trees two({.trees = 1, .rate = 1, .lambda = 0, .least_weight = 2, .row_share = 1});
  two.fit(x, y);
  CHECK(two.predict(x)[0] == doctest::Approx(4.5));
  CHECK(two.predict(x)[1] == doctest::Approx(4.5));
  boosted_trees none({.trees = 1, .rate = 1, .lambda = 0, .least_weight = 4, .row_share = 1});
  none.fit(x, y);
  CHECK(none.predict(x)[0] == doctest::Approx(1.5));
  Eigen::VectorXd weights = Eigen::VectorXd::Ones(6);
  weights[0] = 2;
  two.fit(x, y, weights);
  CHECK(two.predict(x)[0] == doctest::Approx(9));
}

TEST_CASE("lambda draws leaves to the mean, the rate applies a share") {
  Eigen::MatrixXd x(4, 1);
  x << 0, 0, 1, 1;
  Eigen::VectorXd y(4);
  y << 0, 0, 1, 1;
  boosted_trees model({.trees = 1, .rate = 0.5, .lambda = 2, .row_share = 1});
  model.fit(x, y);
  CHECK(model.predict(x)[0] == doctest::Approx(0.5 - 0.5 * 0.5 * 2 / (2 + 2)));  // mean, rate, deviation, shrinkage
}

TEST_CASE("columns of more values than bins are cut at quantiles") {
  tileseek::rng random(4);
  Eigen::MatrixXd x(1000, 1);
  Eigen::VectorXd y(1000);
  for (Eigen::Index i = 0; i < 1000; ++i) {
    x(i, 0) = std::exp(20 * random.uniform());  // equal widths would put nearly all into the first bin
    y[i] = std::log(x(i, 0));
  }
  for (const std::size_t bins : {2U, 8U, 64U, 256U}) {
    boosted_trees model({.trees = 100, .depth = 6, .bins = bins});
    model.fit(x, y);
    const double error = (model.predict(x) - y).cwiseAbs().mean();
    CHECK(error < 10.0 / static_cast<double>(bins) + 0.05);
    CHECK(error > 1.0 / static_cast<double>(bins));  // so coarse it must be
  }
}

TEST_CASE("another seed draws other rows and columns") {
  const samples train = plateaus(100, 5);
  boosted_trees a({.seed = 1});
  boosted_trees b({.seed = 2});
  a.fit(train.x, train.y);
  b.fit(train.x, train.y);
  CHECK(a.predict(train.x) != b.predict(train.x));
}

TEST_CASE("options out of range are refused by name") {
  const auto message = [](boosted_trees_options o) {
    try {
      boosted_trees{o};
    } catch (const std::invalid_argument& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(message({}).empty());
  CHECK(message({.trees = 0}).find("trees") != std::string::npos);
  CHECK(message({.depth = 17}).find("depth") != std::string::npos);
  CHECK(message({.rate = 0}).find("rate") != std::string::npos);
  CHECK(message({.lambda = -1}).find("lambda") != std::string::npos);
  CHECK(message({.least_weight = 0}).find("least_weight") != std::string::npos);
  CHECK(message({.row_share = 1.5}).find("row_share") != std::string::npos);
  CHECK(message({.column_share = 0}).find("column_share") != std::string::npos);
  CHECK(message({.bins = 257}).find("bins") != std::string::npos);
}

}  // namespace
