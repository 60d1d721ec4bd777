#include <tileseek/model/gaussian_process.hpp>

#include <cmath>
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>

#include <tileseek/core/rng.hpp>

namespace {

using tileseek::gaussian_process;
using tileseek::gaussian_process_options;

struct samples {
  Eigen::MatrixXd x;
  Eigen::VectorXd y;
};

/// A smooth function of the first two of three columns.
samples smooth(Eigen::Index n, std::uint64_t seed) {
  tileseek::rng random(seed);
  samples s{Eigen::MatrixXd(n, 3), Eigen::VectorXd(n)};
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index c = 0; c < 3; ++c) s.x(i, c) = 10 * random.uniform() - 5;
    s.y[i] = std::sin(s.x(i, 0)) + 0.1 * s.x(i, 1) * s.x(i, 1);
  }
  return s;
}

double root_mean_square(const Eigen::VectorXd& v) { return std::sqrt(v.squaredNorm() / static_cast<double>(v.size())); }

TEST_CASE("a smooth function is interpolated and generalised") {
  const samples train = smooth(150, 1);
  const samples test = smooth(200, 2);
  gaussian_process model;
  model.fit(train.x, train.y);
  const double spread = root_mean_square(test.y.array() - test.y.mean());
  CHECK(root_mean_square(model.predict(train.x) - train.y) < 0.05 * spread);
  CHECK(root_mean_square(model.predict(test.x) - test.y) < 0.2 * spread);
}

TEST_CASE("the deviation is small at the samples, grows away from them, and is of the size of the errors") {
  const samples train = smooth(40, 3);
  gaussian_process model;
  model.fit(train.x, train.y);
  const auto here = model.predict_with_deviation(train.x);
  const auto away = model.predict_with_deviation(train.x.array() + 40);
  CHECK(here.mean == model.predict(train.x));
  CHECK(here.deviation.maxCoeff() < 0.25 * away.deviation.minCoeff());

  const samples test = smooth(400, 4);
  const auto there = model.predict_with_deviation(test.x);
  const Eigen::ArrayXd in_deviations = (test.y - there.mean).array() / there.deviation.array();
  const double inside = (in_deviations.abs() < 2).cast<double>().mean();
  CHECK(inside > 0.7);
  CHECK((in_deviations.abs() < 0.05).cast<double>().mean() < 0.5);
}

TEST_CASE("mean and deviation are those of the textbook's formulas") {
  const samples train = smooth(12, 5);
  const samples test = smooth(5, 6);
  gaussian_process model({.fit_parameters = false});
  model.fit(train.x, train.y);
  // Dense algebra with an explicit inverse, written independently of the model.
  const Eigen::RowVectorXd low = train.x.colwise().minCoeff();
  const Eigen::RowVectorXd range = train.x.colwise().maxCoeff() - low;
  const auto k = [&](const Eigen::RowVectorXd& a, const Eigen::RowVectorXd& b) {
    double product = 1;
    for (Eigen::Index c = 0; c < 3; ++c) {
      const double r = std::sqrt(5.0) * std::fabs(a[c] - b[c]) / range[c] / 0.5;
      product *= (1 + (1 + r + r * r / 3) * std::exp(-r)) / 2;
    }
    return product;
  };
  Eigen::MatrixXd matrix(12, 12);
  for (Eigen::Index i = 0; i < 12; ++i)
    for (Eigen::Index j = 0; j < 12; ++j) matrix(i, j) = k(train.x.row(i), train.x.row(j)) + (i == j ? 0.01 : 0.0);
  const Eigen::MatrixXd inverse = matrix.ldlt().solve(Eigen::MatrixXd::Identity(12, 12));
  const Eigen::VectorXd ones = Eigen::VectorXd::Ones(12);
  const double mean = ones.dot(inverse * train.y) / ones.dot(inverse * ones);
  const Eigen::VectorXd residual = train.y - mean * ones;
  const double variance = residual.dot(inverse * residual) / 12;
  const auto got = model.predict_with_deviation(test.x);
  for (Eigen::Index t = 0; t < 5; ++t) {
    Eigen::VectorXd to(12);
    for (Eigen::Index i = 0; i < 12; ++i) to[i] = k(test.x.row(t), train.x.row(i));
    CHECK(got.mean[t] == doctest::Approx(mean + to.dot(inverse * residual)));
    CHECK(got.deviation[t] == doctest::Approx(std::sqrt(variance * (1 - to.dot(inverse * to)))));
  }
}

TEST_CASE("a sample added is a sample fitted, when the parameters stay") {
  samples all = smooth(30, 7);
  all.x.row(0).setConstant(-5);  // so that the ranges do not depend on the last row
  all.x.row(1).setConstant(5);
  gaussian_process whole({.fit_parameters = false});
  whole.fit(all.x, all.y);
  gaussian_process grown({.fit_parameters = false});
  grown.fit(all.x.topRows(29), all.y.head(29));
  grown.add(all.x.row(29).transpose(), all.y[29]);
  const samples test = smooth(50, 8);
  const auto a = whole.predict_with_deviation(test.x);
  const auto b = grown.predict_with_deviation(test.x);
  CHECK((a.mean - b.mean).cwiseAbs().maxCoeff() < 1e-8);
  CHECK((a.deviation - b.deviation).cwiseAbs().maxCoeff() < 1e-8);
  CHECK_THROWS_AS(gaussian_process().add(Eigen::VectorXd::Zero(3), 1.0), std::invalid_argument);
}

TEST_CASE("choosing parameters raises their posterior, and finds out which column does not matter") {
  const samples train = smooth(100, 9);
  gaussian_process fixed({.fit_parameters = false});
  fixed.fit(train.x, train.y);
  gaussian_process chosen;
  chosen.fit(train.x, train.y);
  const double after_first = chosen.log_posterior();
  CHECK(after_first > fixed.log_posterior() + 1);
  chosen.fit(train.x, train.y);  // no more samples: the parameters stay
  CHECK(chosen.log_posterior() == doctest::Approx(after_first));
  const auto& lengths = chosen.parameters().lengths;
  CHECK(lengths[2] > 2 * lengths[0]);
}

TEST_CASE("a sample of more weight is followed more closely") {
  Eigen::MatrixXd x(2, 1);
  x << 0, 0;
  Eigen::VectorXd y(2);
  y << 1, 2;
  gaussian_process model;
  Eigen::VectorXd weights(2);
  weights << 9, 1;
  model.fit(x, y, weights);
  CHECK(model.predict(x)[0] == doctest::Approx(1.1).epsilon(0.01));
}

TEST_CASE("the best of too many samples stay") {
  const Eigen::Index n = 300;
  Eigen::MatrixXd x(n, 1);
  Eigen::VectorXd y(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    x(i, 0) = static_cast<double>(i) / n;
    y[i] = 1 - std::exp(-std::pow((x(i, 0) - 0.5) * 40, 2));  // a narrow valley
  }
  gaussian_process model({.most_active = 40, .kept = 10});
  model.fit(x, y);
  Eigen::Index at = 0;
  model.predict(x).minCoeff(&at);
  CHECK(x(at, 0) == doctest::Approx(0.5).epsilon(0.03));
}

TEST_CASE("options out of range are refused by name") {
  const auto message = [](gaussian_process_options o) {
    try {
      gaussian_process{o};
    } catch (const std::invalid_argument& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(message({}).empty());
  CHECK(message({.start_length = 0}).find("start_length") != std::string::npos);
  CHECK(message({.least_noise = 0}).find("least_noise") != std::string::npos);
  CHECK(message({.length_step = 1}).find("length_step") != std::string::npos);
  CHECK(message({.fit_samples = 1}).find("fit_samples") != std::string::npos);
  CHECK(message({.most_active = 10, .kept = 5}).find("most_active") != std::string::npos);
  CHECK(message({.growth = std::nan("")}).find("growth") != std::string::npos);
}

}  // namespace
