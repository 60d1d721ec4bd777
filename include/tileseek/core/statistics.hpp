#pragma once
// Statistics of samples. Numbers in, numbers out: no clock, so that every rule is tested with sequences.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace tileseek {

namespace detail {
/// The places of the values in ascending order; equal ones keep their order. What is not a number comes last.
[[nodiscard, gnu::cold]] inline std::vector<std::size_t> ascending(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [values](std::size_t a, std::size_t b) {
    if (values[a] < values[b] || values[b] < values[a]) return values[a] < values[b];
    return std::isnan(values[a]) == std::isnan(values[b]) ? a < b : std::isnan(values[b]);
  });
  return order;
}
}  // namespace detail

/// A closed interval, in the unit of the numbers it came from.
struct interval {
  double low = 0;
  double high = 0;
  [[nodiscard]] bool contains(double x) const noexcept { return low <= x && x <= high; }
  [[nodiscard]] friend bool operator==(const interval&, const interval&) noexcept = default;
};

/// The middle of the values, the mean of the two middle ones for an even count; not a number for none. Values that are
/// not numbers count as larger than all others.
[[nodiscard]] inline double median(std::span<const double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto order = detail::ascending(values);
  const double middle = values[order[order.size() / 2]];
  return order.size() % 2 == 1 ? middle : (values[order[order.size() / 2 - 1]] + middle) / 2;
}

/// Median absolute deviation from the median, unscaled; not a number for no values. With an infinite median it is
/// infinite or not a number.
[[nodiscard]] inline double median_absolute_deviation(std::span<const double> values) {
  const double middle = median(values);
  std::vector<double> deviations;
  deviations.reserve(values.size());
  for (const double v : values) deviations.push_back(std::fabs(v - middle));
  return median(deviations);
}

/// The narrowest distribution-free interval of the median with at least this coverage: the i-th smallest and i-th
/// largest value, where the number of values under the true median is binomial(n, 1/2). With fewer than 6 values no
/// pair covers 95 %; then the whole range is returned, and `coverage` says how little it covers. Values that are not
/// numbers count as larger than all others. (David and Nagaraja, Order Statistics, 3rd ed., 7.1.)
struct median_interval_result {
  interval range;
  double coverage = 0;  ///< the probability that the true median lies inside; 0 for fewer than two values
};
[[nodiscard]] inline median_interval_result median_interval(std::span<const double> values, double coverage = 0.95) {
  if (values.empty()) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    return {{nan, nan}, 0};
  }
  const auto order = detail::ascending(values);
  const std::size_t n = order.size();
  // P(X <= i) for X ~ binomial(n, 1/2), its terms in logarithms so that large n does not underflow.
  double tail = 0;
  std::size_t best = 0;
  double best_coverage = 0;
  double log_term = -static_cast<double>(n) * std::log(2.0);
  for (std::size_t i = 0; 2 * (i + 1) <= n; ++i) {
    tail += std::exp(log_term);
    const double covered = 1 - 2 * tail;
    if (i == 0) best_coverage = covered;
    if (covered < coverage) break;
    best = i;
    best_coverage = covered;
    log_term += std::log(static_cast<double>(n - i)) - std::log(static_cast<double>(i + 1));
  }
  return {{values[order[best]], values[order[n - 1 - best]]}, best_coverage};
}

/// What a comparison of two things says. Undecided is an answer.
enum class verdict { faster, slower, cannot_tell };

[[nodiscard]] constexpr const char* to_string(verdict v) noexcept {
  return v == verdict::faster ? "faster" : v == verdict::slower ? "slower" : "can't tell";
}

/// The ratio of two times measured in pairs.
struct comparison {
  double ratio = 1;  ///< median of other / mine: above 1, mine is faster
  interval range;    ///< 95 % interval of that median (the range of the ratios when there are fewer than 6 pairs)
  verdict says =
      verdict::cannot_tell;  ///< faster: `mine` is; decided only when the interval excludes 1 and covers 95 %
};

/// Compares two interleaved series pair by pair, so that a disturbance that hits a whole round hits both sides. Pairs
/// with a value that is not finite and positive are left out.
/// @pre mine[i] and others[i] were taken in the same round
[[nodiscard]] inline comparison compare(std::span<const double> mine, std::span<const double> others) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(mine.size(), others.size()); ++i)
    if (std::isfinite(mine[i]) && std::isfinite(others[i]) && mine[i] > 0 && others[i] > 0)
      ratios.push_back(others[i] / mine[i]);
  comparison out;
  if (ratios.empty()) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    return {nan, {nan, nan}, verdict::cannot_tell};
  }
  const auto [range, coverage] = median_interval(ratios);
  out.ratio = median(ratios);
  out.range = range;
  if (coverage >= 0.95)
    out.says = range.low > 1 ? verdict::faster : range.high < 1 ? verdict::slower : verdict::cannot_tell;
  return out;
}

namespace detail {
/// Regularised incomplete beta function by its continued fraction (Lentz), for Student's t.
[[nodiscard]] inline double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  if (x > (a + 1) / (a + b + 2)) return 1 - incomplete_beta(b, a, 1 - x);
  constexpr double tiny = 1e-300;
  double c = 1;
  double d = 1 - (a + b) * x / (a + 1);
  d = 1 / (std::fabs(d) < tiny ? tiny : d);
  double h = d;
  for (int m = 1; m <= 300; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 + even * d;
    c = 1 + even / c;
    d = 1 / (std::fabs(d) < tiny ? tiny : d);
    c = std::fabs(c) < tiny ? tiny : c;
    h *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 + odd * d;
    c = 1 + odd / c;
    d = 1 / (std::fabs(d) < tiny ? tiny : d);
    c = std::fabs(c) < tiny ? tiny : c;
    h *= d * c;
    if (std::fabs(d * c - 1) < 1e-14) break;
  }
  return front * h / a;
}
}  // namespace detail

/// Two-sided p-value of Welch's t-test: how likely a difference of the means at least this large is when both series
/// have the same mean (Welch, Biometrika 1947). With fewer than two values on a side nothing is known: 1. When neither
/// side varies, the means decide: 0 if they differ, 1 if not.
[[nodiscard]] inline double welch_p_value(std::span<const double> a, std::span<const double> b) {
  if (a.size() < 2 || b.size() < 2) return 1;
  const auto moments = [](std::span<const double> v) {
    // Counted from the first value, so that equal values have exactly themselves as mean, and no variance.
    double mean = 0;
    for (const double x : v) mean += x - v.front();
    mean = v.front() + mean / static_cast<double>(v.size());
    double square = 0;
    for (const double x : v) square += (x - mean) * (x - mean);
    return std::pair{mean, square / static_cast<double>(v.size() - 1) / static_cast<double>(v.size())};
  };
  const auto [mean_a, error_a] = moments(a);
  const auto [mean_b, error_b] = moments(b);
  const double error = error_a + error_b;
  if (!std::isfinite(error)) return 1;
  if (error <= 0) return mean_a == mean_b ? 1 : 0;
  const double t = (mean_a - mean_b) / std::sqrt(error);
  const double share = error_a / error;  // first, because squares of tiny times underflow
  const double freedom = 1 / (share * share / static_cast<double>(a.size() - 1) +
                              (1 - share) * (1 - share) / static_cast<double>(b.size() - 1));
  return detail::incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t));
}

}  // namespace tileseek
