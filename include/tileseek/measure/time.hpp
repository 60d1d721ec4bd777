#pragma once
// Times a piece of code so that the numbers can be trusted: a warm-up, samples long enough for the clock, few of them
// for a hopeless configuration.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <span>

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
      if (end - start < least) least = end - start;
    }
    return std::chrono::duration<double>(least).count();
  }();
  return resolution;
}

namespace detail {

/// Decides from samples alone, so that it is tested without a clock.
enum class sampling { more, enough, hopeless };

[[nodiscard, gnu::cold]] inline sampling judge(std::span<const double> seconds, const timing_limits& limits,
                                               double spent) {
  if (seconds.empty()) return sampling::more;
  double least = seconds.front();
  double most = least;
  for (const double s : seconds) {
    least = std::fmin(least, s);
    most = std::fmax(most, s);
  }
  const auto taken = static_cast<int>(seconds.size());
  if (taken >= limits.min_samples && least > limits.reject_above * limits.incumbent) return sampling::hopeless;
  if (taken >= limits.max_samples || spent >= limits.max_seconds) return sampling::enough;
  if (taken < limits.min_samples) return sampling::more;
  return most - least <= limits.settled * median(seconds) ? sampling::enough : sampling::more;
}

/// Adds a sample that took `spent` seconds in all; true when judge() has seen enough.
[[nodiscard, gnu::cold]] inline bool last_sample(measurement& m, double seconds, double& spent, double took,
                                                 const timing_limits& limits) {
  m.seconds.push_back(seconds);
  spent += took;
  const auto now = judge(m.seconds, limits, spent);
  if (now == sampling::hopeless) {
    double least = seconds;
    for (const double s : m.seconds) least = std::fmin(least, s);
    m.outcome = status::rejected_early;
    m.note =
        concat({"fastest of ", m.seconds.size(), " samples is ", fixed(least / limits.incumbent, 2), " x the best"});
  }
  return now != sampling::more;
}

/// Takes samples until judge() has seen enough. `sample` gives the seconds of one sample.
template <class Sample>
[[nodiscard]] measurement take_samples(Sample&& sample, const timing_limits& limits) {
  measurement m;
  double spent = 0;
  for (;;) {
    const double s = sample();
    if (last_sample(m, s, spent, s, limits)) return m;
  }
}

}  // namespace detail

namespace detail {

/// As time(): `run(calls)` gives the seconds of so many calls. One to warm up was made.
template <class Run>
[[nodiscard]] measurement time_blocks(const Run& run, const timing_limits& limits) {
  const double least = 1000 * clock_resolution();
  measurement m;
  std::uint64_t calls = 1;
  double spent = 0;
  for (;;) {
    const double took = run(calls);
    // Too short for the clock: a larger block, and from the start, since an earlier block was long enough only because
    // something disturbed it.
    if (took < (m.seconds.empty() ? least : least / 2) && calls < (std::uint64_t{1} << 40)) {
      const double growth = took > 0 ? std::fmin(1.2 * least / took, 10.0) : 10.0;
      calls = std::max(calls + 1, static_cast<std::uint64_t>(static_cast<double>(calls) * growth));
      m.seconds.clear();
      continue;
    }
    if (last_sample(m, took / static_cast<double>(calls), spent, took, limits)) return m;
  }
}

}  // namespace detail

/// Seconds of f(), warm: one call to warm up, then 3 to 7 samples (`limits`). A sample is as many calls as make it
/// 1,000 times the clock's resolution, so that reading the clock costs under 0.1 %; it counts as the time of one call.
/// A configuration whose fastest of 3 samples is over 1.25 times the incumbent is `rejected_early`.
template <std::invocable F>
[[nodiscard]] measurement time(F&& f, const timing_limits& limits = {}) {
  using clock = std::chrono::steady_clock;
  f();  // pays for page faults and cold caches, and so says nothing about how long a call takes
  const auto run = [&f](std::uint64_t calls) {
    const auto start = clock::now();
    for (std::uint64_t i = 0; i < calls; ++i) f();
    return std::chrono::duration<double>(clock::now() - start).count();
  };
  return detail::time_blocks(run, limits);
}

/// The same with something to do before each call that is not to be timed: an operand that the call overwrites is
/// restored, caches are emptied. The clock is read around each call, which adds its cost (some 20 ns) to what is short.
template <std::invocable F, std::invocable Before>
[[nodiscard]] measurement time(F&& f, const timing_limits& limits, Before&& before) {
  using clock = std::chrono::steady_clock;
  before();
  f();
  const auto run = [&f, &before](std::uint64_t calls) {
    clock::duration took{};
    for (std::uint64_t i = 0; i < calls; ++i) {
      before();
      const auto start = clock::now();
      f();
      took += clock::now() - start;
    }
    return std::chrono::duration<double>(took).count();
  };
  return detail::time_blocks(run, limits);
}

}  // namespace tileseek
