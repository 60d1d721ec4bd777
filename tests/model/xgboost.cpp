#include <tileseek/model/xgboost.hpp>

#include <stdexcept>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include <tileseek/core/rng.hpp>

namespace {

using tileseek::xgboost;

struct samples {
  Eigen::MatrixXd x;
  Eigen::VectorXd y;
};

samples steps(Eigen::Index n, std::uint64_t seed) {
  tileseek::rng random(seed);
  samples s{Eigen::MatrixXd(n, 2), Eigen::VectorXd(n)};
  for (Eigen::Index i = 0; i < n; ++i) {
    s.x(i, 0) = random.uniform();
    s.x(i, 1) = random.uniform();
    s.y[i] = (s.x(i, 0) > 0.3 ? 1 : 0) - (s.x(i, 1) > 0.6 ? 2 : 0);
  }
  return s;
}

TEST_CASE("a step function is learnt, the same way each time, and survives moving and saving") {
  const samples train = steps(400, 1);
  const samples test = steps(100, 2);
  xgboost a;
  xgboost b;
  a.fit(train.x, train.y);
  b.fit(test.x, test.y);
  b.fit(train.x, train.y);
  const Eigen::VectorXd p = a.predict(test.x);
  CHECK((p - test.y).cwiseAbs().mean() < 0.2);
  CHECK(b.predict(test.x) == p);
  const xgboost moved = std::move(a);
  CHECK(moved.predict(test.x) == p);
  CHECK((xgboost::load(moved.save()).predict(test.x) - p).cwiseAbs().maxCoeff() < 1e-6);
}

TEST_CASE("degenerate samples") {
  xgboost model;
  CHECK(model.predict(Eigen::MatrixXd::Ones(2, 3)) == Eigen::VectorXd::Zero(2));
  model.fit(Eigen::MatrixXd(0, 3), Eigen::VectorXd(0));
  CHECK(model.predict(Eigen::MatrixXd::Ones(2, 3)) == Eigen::VectorXd::Zero(2));
  model.fit(Eigen::MatrixXd::Ones(1, 3), Eigen::VectorXd::Constant(1, 4.0));
  CHECK(model.predict(Eigen::MatrixXd::Ones(2, 3)).isApproxToConstant(4));
  CHECK(xgboost::load(model.save()).predict(Eigen::MatrixXd::Ones(2, 3)).isApproxToConstant(4));
  const samples s = steps(50, 3);
  model.fit(s.x * 1e200, s.y * 1e100);
  CHECK(model.predict(s.x * 1e200).allFinite());
}

TEST_CASE("errors") {
  const samples s = steps(50, 4);
  xgboost model;
  CHECK_THROWS_AS(model.fit(s.x, s.y.head(9)), std::invalid_argument);
  model.fit(s.x, s.y);
  CHECK_THROWS_AS((void)model.predict(Eigen::MatrixXd::Ones(2, 3)), std::invalid_argument);
  std::string text = model.save();
  CHECK_THROWS_AS((void)xgboost::load(text + " 1"), std::invalid_argument);
  CHECK_THROWS_AS((void)xgboost::load("tileseek-ridge 1"), std::invalid_argument);
  text.replace(text.find('{'), 1, "[");
  CHECK_THROWS_AS((void)xgboost::load(text), std::invalid_argument);
  CHECK_THROWS_AS(xgboost({.trees = 0}), std::invalid_argument);
}

}  // namespace
