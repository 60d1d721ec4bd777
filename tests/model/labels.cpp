#include <tileseek/model/labels.hpp>

#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

TEST_CASE("logarithms up to the upper quartile of the successes; failures are there") {
  const std::vector<double> seconds{1, 2, infinite, 3, 4, 5, 6, 7, std::nan(""), 8};
  const auto l = tileseek::label(seconds);
  CHECK(l.cap == doctest::Approx(std::log(7.0)));  // six of eight are smaller
  REQUIRE(l.y.size() == 10);
  CHECK(l.y[0] == doctest::Approx(0));
  CHECK(l.y[1] == doctest::Approx(std::log(2.0)));
  CHECK(l.y[2] == l.cap);
  CHECK(l.y[8] == l.cap);
  CHECK(l.y[9] == l.cap);
  CHECK(l.y[6] == doctest::Approx(std::log(6.0)));
  CHECK(tileseek::capped_labels::of(2, l.cap) == doctest::Approx(std::log(2.0)));
  CHECK(tileseek::capped_labels::of(100, l.cap) == l.cap);
  CHECK(tileseek::capped_labels::of(infinite, l.cap) == l.cap);
}

TEST_CASE("another quantile") {
  const std::vector<double> seconds{5, 1, 4, 2, 3, infinite};
  CHECK(tileseek::label(seconds, 1).cap == doctest::Approx(std::log(5.0)));
  CHECK(tileseek::label(seconds, 0.5).cap == doctest::Approx(std::log(3.0)));
  CHECK(tileseek::label(seconds, 0).cap == doctest::Approx(0));
}

TEST_CASE("few, none, and no successes") {
  CHECK(tileseek::label({}).y.size() == 0);
  const auto one = tileseek::label(std::vector<double>{2.0});
  CHECK(one.y[0] == doctest::Approx(std::log(2.0)));
  const auto failures = tileseek::label(std::vector<double>{infinite, infinite});
  CHECK(failures.y == Eigen::VectorXd::Zero(2));
  CHECK(tileseek::label(std::vector<double>{0.0, 1.0}).y.allFinite());
}

}  // namespace
