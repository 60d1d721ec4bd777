#pragma once
// Times a piece of code so that the numbers can be trusted: a warm-up, samples long enough for the clock, few of them for a
// hopeless configuration.

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include <tileseek/core/format.hpp>
#include <tileseek/core/measurement.hpp>
#include <tileseek/core/statistics.hpp>
#include <tileseek/measure/measurer.hpp>

namespace tileseek {

/// Smallest step of the steady clock seen over some hundred readings, in seconds; measured once.
[[nodiscard]] inline double clock_resolution() {
  static const double resolution = [] {
    using clock = std::chrono::steady_clock;
    auto least = clock::duration::max();
    for (int i = 0; i < 200; ++i) {
      const auto start = clock::now();
      auto end = clock::now();
      while (end == start) end = clock::now();
      least = std::min(least, end - start);
    }
    return std::chrono::duration<double>(least).count();
  }();
  return resolution;
}

namespace detail {

/// Decides from samples alone, so that it is tested without a clock.
enum class sampling { more, enough, hopeless };

[[nodiscard]] inline sampling judge(std::span<const double> seconds, const timing_limits& limits, double spent) {
  if (seconds.empty()) return sampling::more;
  const auto taken = static_cast<int>(seconds.size());
  const auto [least, most] = std::minmax_element(seconds.begin(), seconds.end());
  if (taken >= limits.min_samples && *least > limits.reject_above * limits.incumbent) return sampling::hopeless;
  if (taken >= limits.max_samples || spent >= limits.max_seconds) return sampling::enough;
  if (taken < limits.min_samples) return sampling::more;
  return *most - *least <= limits.settled * median(seconds) ? sampling::enough : sampling::more;
}

/// Takes samples until judge() has seen enough. `sample` gives the seconds of one sample.
template <class Sample>
[[nodiscard]] measurement take_samples(Sample&& sample, const timing_limits& limits) {
  measurement m;
  double spent = 0;
  for (;;) {
    const double s = sample();
    m.seconds.push_back(s);
    spent += s;
    const auto now = judge(m.seconds, limits, spent);
    if (now == sampling::more) continue;
    if (now == sampling::hopeless) {
      m.outcome = status::rejected_early;
      m.note = "fastest of " + std::to_string(m.seconds.size()) + " samples is " +
               fixed(*std::min_element(m.seconds.begin(), m.seconds.end()) / limits.incumbent, 2) + " x the best";
    }
    return m;
  }
}

}  // namespace detail

/// Seconds of f(), warm: one call to warm up, then 3 to 7 samples (`limits`). A sample is as many calls as make it 1,000
/// times the clock's resolution, so that reading the clock costs under 0.1 %; it counts as the time of one call.
/// A configuration whose fastest of 3 samples is over 1.25 times the incumbent is `rejected_early`.
template <std::invocable F>
[[nodiscard]] measurement time(F&& f, const timing_limits& limits = {}) {
  using clock = std::chrono::steady_clock;
  const auto run = [&](std::uint64_t calls) {
    const auto start = clock::now();
    for (std::uint64_t i = 0; i < calls; ++i) f();
    return std::chrono::duration<double>(clock::now() - start).count();
  };
  const double least = 1000 * clock_resolution();
  std::uint64_t calls = 1;
  double warm = run(calls);
  // A first call pays for page faults and cold caches; grow the block on what later calls take.
  while (warm < least && calls < (std::uint64_t{1} << 40)) {
    const double wanted = warm > 0 ? 1.2 * least / warm : 10;
    calls = std::max(calls + 1, static_cast<std::uint64_t>(static_cast<double>(calls) * std::min(wanted, 10.0)));
    warm = run(calls);
  }
  return detail::take_samples([&] { return run(calls) / static_cast<double>(calls); }, limits);
}

}  // namespace tileseek
