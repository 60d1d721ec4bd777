#include <tileseek/core/statistics.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <tileseek/core/rng.hpp>

using tileseek::interval;
using tileseek::verdict;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
using numbers = std::vector<double>;

double median(const numbers& v) { return tileseek::median(v); }
double mad(const numbers& v) { return tileseek::median_absolute_deviation(v); }
double p_value(const numbers& a, const numbers& b) { return tileseek::welch_p_value(a, b); }

}  // namespace

TEST_CASE("the median of few, equal and strange values") {
  CHECK(std::isnan(median({})));
  CHECK(median({3}) == 3);
  CHECK(median({3, 1}) == 2);
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 3, 2}) == 2.5);
  CHECK(median({7, 7, 7, 7}) == 7);
  CHECK(median({0, 0, 0}) == 0);
  CHECK(median({1, infinite, 2}) == 2);
  CHECK(median({1, infinite}) == infinite);
  CHECK(median({infinite, infinite}) == infinite);
}

TEST_CASE("what is not a number counts as larger than all others") {
  CHECK(median({not_a_number, 1, 2}) == 2);
  CHECK(median({not_a_number, infinite, 1}) == infinite);
  CHECK(std::isnan(median({not_a_number, not_a_number, 1})));
  CHECK(std::isnan(median({not_a_number})));
}

TEST_CASE("the median absolute deviation") {
  CHECK(std::isnan(mad({})));
  CHECK(mad({5}) == 0);
  CHECK(mad({1, 1, 2, 2, 4, 6, 9}) == 1);  // about 2: 1 1 0 0 2 4 7
  CHECK(mad({3, 3, 3}) == 0);
  CHECK(mad({1, 2}) == 0.5);
}

TEST_CASE("the interval of the median takes the order statistics of the binomial distribution") {
  const auto of = [](std::size_t n) {
    numbers v;
    for (std::size_t i = 0; i < n; ++i) v.push_back(static_cast<double>(n - i));
    return tileseek::median_interval(v);
  };
  // n = 5 covers 1 - 2 / 32; n = 6: 1 - 2 / 64 with the range; n = 10: 2nd and 9th, 1 - 2 * 11 / 1024 (n = 9: 2nd and
  // 8th, 1 - 2 * 10 / 512); n = 20: 6th and 15th, 95.86 % (tables of the sign test).
  CHECK(of(5).range == interval{1, 5});
  CHECK(of(5).coverage == doctest::Approx(0.9375));
  CHECK(of(6).range == interval{1, 6});
  CHECK(of(6).coverage == doctest::Approx(1 - 2.0 / 64));
  CHECK(of(9).range == interval{2, 8});
  CHECK(of(9).coverage == doctest::Approx(1 - 20.0 / 512));
  CHECK(of(10).range == interval{2, 9});
  CHECK(of(10).coverage == doctest::Approx(1 - 22.0 / 1024));
  CHECK(of(20).range == interval{6, 15});
  CHECK(of(20).coverage == doctest::Approx(0.9586).epsilon(1e-4));
  // Large n: n / 2 -+ 0.98 sqrt(n).
  CHECK(of(5000).range.low == doctest::Approx(2500 - 0.98 * std::sqrt(5000.0)).epsilon(1e-3));
  CHECK(of(5000).coverage >= 0.95);
  CHECK(of(5000).coverage < 0.953);
}

TEST_CASE("the interval of the median of nothing, one, two and equal values") {
  CHECK(std::isnan(tileseek::median_interval(numbers{}).range.low));
  CHECK(tileseek::median_interval(numbers{}).coverage == 0);
  CHECK(tileseek::median_interval(numbers{4}).range == interval{4, 4});
  CHECK(tileseek::median_interval(numbers{4}).coverage == 0);
  CHECK(tileseek::median_interval(numbers{4, 2}).range == interval{2, 4});
  CHECK(tileseek::median_interval(numbers{4, 2}).coverage == 0.5);
  CHECK(tileseek::median_interval(numbers(12, 3.0)).range == interval{3, 3});
  CHECK(tileseek::median_interval(numbers{5, 4, 3, 2, 1, not_a_number, 0}).range.low == 0);
}

TEST_CASE("the interval covers the true median as often as it says") {
  tileseek::rng random(1);
  int covered = 0;
  constexpr int repetitions = 4000;
  for (int i = 0; i < repetitions; ++i) {
    numbers v(11);
    for (auto& x : v) x = std::exp(random.normal());  // skewed, with median 1
    covered += tileseek::median_interval(v).range.contains(1);
  }
  const double says = 1 - 2 * (1 + 11) / 2048.0;
  CHECK(covered > repetitions * says - 3.5 * std::sqrt(repetitions * says * (1 - says)));
  CHECK(covered < repetitions * says + 3.5 * std::sqrt(repetitions * says * (1 - says)));
}

TEST_CASE("a comparison decides only with evidence") {
  const numbers mine{1, 1.1, 0.9, 1, 1.05, 0.95, 1};
  numbers others;
  for (const double x : mine) others.push_back(2 * x);
  auto c = tileseek::compare(mine, others);
  CHECK(c.ratio == doctest::Approx(2));
  CHECK(c.says == verdict::faster);
  CHECK(tileseek::compare(others, mine).says == verdict::slower);
  CHECK(tileseek::compare(others, mine).ratio == doctest::Approx(0.5));
  CHECK(tileseek::compare(mine, mine).says == verdict::cannot_tell);
  CHECK(tileseek::compare(mine, mine).ratio == 1);
  // Five pairs cover 93.75 %: not enough.
  c = tileseek::compare(std::span(mine).first(5), std::span(others).first(5));
  CHECK(c.says == verdict::cannot_tell);
  CHECK(c.ratio == doctest::Approx(2));
  CHECK(tileseek::compare(std::span(mine).first(6), std::span(others).first(6)).says == verdict::faster);
}

TEST_CASE("a comparison leaves out pairs without two times") {
  const numbers mine{1, not_a_number, 1, infinite, 0, -1, 1, 1, 1, 1, 1};
  const numbers others{2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2};
  const auto c = tileseek::compare(mine, others);
  CHECK(c.ratio == 2);
  CHECK(c.says == verdict::faster);  // seven pairs are left
  const auto none = tileseek::compare(numbers{not_a_number}, numbers{1});
  CHECK(std::isnan(none.ratio));
  CHECK(none.says == verdict::cannot_tell);
  CHECK(tileseek::compare(numbers{}, numbers{}).says == verdict::cannot_tell);
  CHECK(tileseek::compare(numbers{1, 1}, numbers{3}).ratio == 3);  // of unequal lengths: the pairs there are
}

TEST_CASE("verdicts have names") {
  CHECK(to_string(verdict::faster) == std::string("faster"));
  CHECK(to_string(verdict::slower) == std::string("slower"));
  CHECK(to_string(verdict::cannot_tell) == std::string("can't tell"));
}

TEST_CASE("Student's t by the incomplete beta function agrees with tables") {
  // Two-sided quantiles: t = 12.706 (1), 2.776 (4), 2.228 (10), 1.984 (100) leave 5 %; 3.169 (10) leaves 1 %.
  const auto two_sided = [](double t, double freedom) {
    return tileseek::detail::incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t));
  };
  CHECK(two_sided(12.706, 1) == doctest::Approx(0.05).epsilon(1e-3));
  CHECK(two_sided(2.776, 4) == doctest::Approx(0.05).epsilon(1e-3));
  CHECK(two_sided(2.228, 10) == doctest::Approx(0.05).epsilon(1e-3));
  CHECK(two_sided(1.984, 100) == doctest::Approx(0.05).epsilon(1e-3));
  CHECK(two_sided(3.169, 10) == doctest::Approx(0.01).epsilon(1e-3));
  CHECK(two_sided(0, 7) == 1);
  CHECK(tileseek::detail::incomplete_beta(2, 3, 0.4) == doctest::Approx(0.5248));  // 6 x^2 - 8 x^3 + 3 x^4
  CHECK(tileseek::detail::incomplete_beta(2, 3, 0) == 0);
  CHECK(tileseek::detail::incomplete_beta(2, 3, 1) == 1);
}

TEST_CASE("Welch's test on hand-computed and on degenerate series") {
  // Means 2 and 5, variances 1 and 4 of three values each: t = -3 / sqrt(5 / 3) = -2.3238, freedom = 25/9 / (1/18 +
  // 16/18) = 2.9412. Student's t for 2.9412 degrees: 0.10508 (by quadrature).
  CHECK(p_value({1, 2, 3}, {3, 5, 7}) == doctest::Approx(0.1051).epsilon(2e-3));
  CHECK(p_value({3, 5, 7}, {1, 2, 3}) == p_value({1, 2, 3}, {3, 5, 7}));
  CHECK(p_value({1, 2, 3}, {1, 2, 3}) == 1);
  CHECK(p_value({}, {1, 2}) == 1);
  CHECK(p_value({1}, {2}) == 1);
  CHECK(p_value({1, 2}, {7}) == 1);
  CHECK(p_value({1, 1}, {1, 1, 1}) == 1);
  CHECK(p_value({1, 1}, {2, 2}) == 0);
  CHECK(p_value({0, 0}, {0, 0}) == 1);
  CHECK(p_value({not_a_number, 1}, {1, 2}) == 1);
  CHECK(p_value({infinite, 1}, {1, 2}) == 1);
  CHECK(p_value({1, 1, 1}, {1, 1.5, 2}) < 1);  // one side does not vary
}

TEST_CASE("Welch's test takes equal values for equal, whatever their number") {
  for (std::size_t n = 2; n < 40; ++n)
    for (const double x : {0.1, 1.0 / 3, 1e-9, 123.456}) CHECK(p_value(numbers(3, x), numbers(n, x)) == 1);
}

TEST_CASE("Welch's test does not depend on the unit") {
  const numbers a{1, 2, 3, 4};
  const numbers b{2, 4, 6, 9};
  const double p = p_value(a, b);
  for (const double unit : {1e-9, 1e-100, 1e100}) {
    numbers c = a;
    numbers d = b;
    for (auto& x : c) x *= unit;
    for (auto& x : d) x *= unit;
    CHECK(p_value(c, d) == doctest::Approx(p).epsilon(1e-9));
  }
}

TEST_CASE("Welch's test is wrong as often as it says") {
  tileseek::rng random(2);
  int significant = 0;
  constexpr int repetitions = 4000;
  for (int i = 0; i < repetitions; ++i) {
    numbers a(6);
    numbers b(9);
    for (auto& x : a) x = random.normal();
    for (auto& x : b) x = 3 * random.normal();
    significant += p_value(a, b) < 0.05;
  }
  CHECK(significant > 0.04 * repetitions);
  CHECK(significant < 0.062 * repetitions);
}

TEST_CASE("ascending: equal values keep their order, then come infinite ones, then what is not a number") {
  const numbers values{not_a_number, 3, 1, infinite, 1, not_a_number, 2, infinite, -infinite};
  CHECK(tileseek::detail::ascending(values) == std::vector<std::size_t>{8, 2, 4, 6, 1, 3, 7, 0, 5});
  CHECK(tileseek::detail::ascending({}).empty());
}
