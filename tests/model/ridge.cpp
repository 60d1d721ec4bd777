#include <tileseek/model/ridge.hpp>

#include <cmath>
#include <stdexcept>

#include <doctest/doctest.h>

#include <tileseek/core/rng.hpp>

namespace {

using tileseek::ridge;

struct samples {
  Eigen::MatrixXd x;
  Eigen::VectorXd y;
};

/// 1 + 2a - 3b + a^2 + 4ab - bc/2, plus noise.
samples quadratic(Eigen::Index n, double noise, std::uint64_t seed) {
  tileseek::rng random(seed);
  samples s{Eigen::MatrixXd(n, 3), Eigen::VectorXd(n)};
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index c = 0; c < 3; ++c) s.x(i, c) = 4 * random.uniform() - 1;
    const double a = s.x(i, 0);
    const double b = s.x(i, 1);
    s.y[i] = 1 + 2 * a - 3 * b + a * a + 4 * a * b - b * s.x(i, 2) / 2 + noise * (random.uniform() - 0.5);
  }
  return s;
}

TEST_CASE("a quadratic is learnt exactly") {
  const samples train = quadratic(40, 0, 1);
  const samples test = quadratic(40, 0, 2);
  ridge model;
  model.fit(train.x, train.y);
  CHECK((model.predict(test.x) - test.y).cwiseAbs().maxCoeff() < 1e-6);
}

TEST_CASE("the penalty grows with the noise, and helps") {
  const samples test = quadratic(300, 0, 3);
  const auto error = [&](const ridge& m) { return (m.predict(test.x) - test.y).norm(); };
  int helped = 0;
  int penalised = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const samples train = quadratic(14, 20, seed);
    ridge chosen;
    chosen.fit(train.x, train.y);
    ridge none({.penalty = 1e-9});
    none.fit(train.x, train.y);
    penalised += chosen.penalty() > 0.05;
    helped += error(chosen) < error(none);
  }
  CHECK(helped >= 9);
  CHECK(penalised >= 8);
}

TEST_CASE("more terms than samples: both ways of solving agree") {
  const samples wide = quadratic(9, 1, 4);  // as many terms as samples: solved in the terms
  const samples less = quadratic(8, 1, 4);  // fewer samples: solved in the samples
  const samples test = quadratic(20, 0, 5);
  ridge a({.penalty = 0.3});
  a.fit(less.x, less.y);
  // The ninth sample has next to no weight: the solution is that of eight, found the other way.
  Eigen::VectorXd weights = Eigen::VectorXd::Ones(9);
  weights[8] = 1e-12;
  Eigen::MatrixXd x = wide.x;
  x.topRows(8) = less.x;
  Eigen::VectorXd y = wide.y;
  y.head(8) = less.y;
  ridge b({.penalty = 0.3});
  b.fit(x, y, weights);
  CHECK((a.predict(test.x) - b.predict(test.x)).cwiseAbs().maxCoeff() < 1e-6);
  const auto da = a.predict_with_deviation(test.x);
  const auto db = b.predict_with_deviation(test.x);
  CHECK(da.mean == a.predict(test.x));
  // Their noise differs by the ninth sample's error; the shapes are equal.
  const Eigen::ArrayXd ratio = da.deviation.array() / db.deviation.array();
  CHECK(ratio.maxCoeff() / ratio.minCoeff() == doctest::Approx(1).epsilon(1e-4));
}

TEST_CASE("the deviation covers the errors, and grows away from the samples") {
  const samples train = quadratic(40, 3, 6);
  const samples test = quadratic(500, 0, 7);
  ridge model;
  model.fit(train.x, train.y);
  const auto p = model.predict_with_deviation(test.x);
  const Eigen::ArrayXd in_deviations = ((p.mean - test.y).array() / p.deviation.array()).abs();
  CHECK((in_deviations < 2).cast<double>().mean() > 0.8);
  CHECK((in_deviations < 0.1).cast<double>().mean() < 0.5);
  const auto away = model.predict_with_deviation(test.x.array() + 20);
  CHECK(away.deviation.minCoeff() > p.deviation.maxCoeff());
}

TEST_CASE("options: linear alone, and products left out where there would be too many") {
  const samples train = quadratic(60, 0, 8);
  ridge line({.quadratic = false});
  line.fit(train.x, train.y);
  const Eigen::VectorXd p = line.predict((Eigen::MatrixXd(3, 3) << 0, 0, 0, 1, 1, 1, 2, 2, 2).finished());
  CHECK(p[2] - p[1] == doctest::Approx(p[1] - p[0]));
  ridge few({.largest_expansion = 8});  // 3 inputs would make 9
  few.fit(train.x, train.y);
  const Eigen::VectorXd q = few.predict((Eigen::MatrixXd(4, 3) << 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0).finished());
  CHECK(q[3] - q[2] == doctest::Approx(q[1] - q[0]));  // no product
  ridge flat({.curvature = 1e-6, .penalty = 1});       // squares and products too dear to be used
  flat.fit(train.x, train.y);
  const Eigen::VectorXd r = flat.predict((Eigen::MatrixXd(3, 3) << 0, 0, 0, 1, 1, 1, 2, 2, 2).finished());
  CHECK(r[2] - r[1] == doctest::Approx(r[1] - r[0]).epsilon(0.01));
  CHECK_THROWS_AS(ridge({.curvature = 0}), std::invalid_argument);
  CHECK_THROWS_AS(ridge({.penalty = -1}), std::invalid_argument);
  CHECK_THROWS_AS(ridge({.selection_samples = 1}), std::invalid_argument);
}

}  // namespace
