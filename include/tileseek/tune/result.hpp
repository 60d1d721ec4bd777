#pragma once
// What a run found, and how far it can be trusted. It prints itself.

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <tileseek/core/format.hpp>
#include <tileseek/core/measurement.hpp>
#include <tileseek/core/point.hpp>
#include <tileseek/core/progress.hpp>
#include <tileseek/core/statistics.hpp>
#include <tileseek/core/value.hpp>

namespace tileseek {

/// A contestant compared with the winner in the final contest.
struct compared {
  std::string name;                                          ///< of a rival; the configuration otherwise
  double seconds = std::numeric_limits<double>::infinity();  ///< median over the rounds
  comparison against;                                        ///< ratio > 1: the winner is that many times faster
};

namespace detail {
/// 349,853 or 1.23e+18
[[nodiscard, gnu::cold]] inline std::string show_size(double size) {
  if (size < 1e15) return show_count(static_cast<std::uint64_t>(size));
  std::array<char, 32> buffer{};
  return {buffer.data(),
          std::to_chars(buffer.data(), buffer.data() + buffer.size(), size, std::chars_format::scientific, 2).ptr};
}

[[nodiscard, gnu::cold]] inline std::string line_of(const compared& c) {
  if (!std::isfinite(c.against.ratio)) return concat({show_seconds(c.seconds), ", no valid time"});
  return concat({show_seconds(c.seconds), ", the best is ", fixed(c.against.ratio, 3), " x as fast [",
                 fixed(c.against.range.low, 3), ", ", fixed(c.against.range.high, 3),
                 "]: ", to_string(c.against.says)});
}
}  // namespace detail

/// The outcome of a run.
template <class Config>
struct result {
  std::optional<Config> best;  ///< nothing when no configuration was valid
  named_values best_values;    ///< the same by name
  point best_point;
  double median_seconds = std::numeric_limits<double>::infinity();  ///< of the winner: over the rounds of the contest,
                                                                    ///< or over its own samples when there was none
  interval seconds_interval;                                        ///< of that median
  double interval_coverage = 0;   ///< the interval's coverage: at least 0.95 with 6 numbers or more
  std::size_t rounds = 0;         ///< of the final contest; 0: none was held
  std::optional<Config> untuned;  ///< the default configuration
  named_values untuned_values;
  std::optional<compared> untuned_compared;  ///< ratio: the speed-up that tuning brought
  std::optional<compared> runner_up;
  std::vector<compared> rivals;

  std::size_t trials = 0;    ///< unique configurations with a result
  std::size_t replayed = 0;  ///< of them, from the log
  std::size_t measured = 0;  ///< of them, measured now
  std::size_t known = 0;     ///< results told before the first trial (warm start, other runs in the log)
  std::array<std::size_t, status_count> by_status{};  ///< trials by how they ended
  stop stopped = stop::running;                       ///< running: a loop of your own ended it first
  double seconds = 0;                                 ///< of tuning, without the contest
  double space_size = 0;                              ///< configurations in the space
  bool space_counted = true;                          ///< whether space_size is exact
  double flop = 0;                                    ///< of one run; 0: unknown
  std::string strategy;
  std::uint64_t seed = 0;
  std::string log;                 ///< the log's name; empty: none
  std::vector<trial> history;      ///< all trials in order
  std::vector<std::string> notes;  ///< what was odd, with a remedy

  [[nodiscard]] double gflops() const noexcept { return flop > 0 ? flop / median_seconds * 1e-9 : 0; }
  [[nodiscard]] std::size_t failed() const noexcept {
    return trials - by_status[static_cast<std::size_t>(status::ok)] -
           by_status[static_cast<std::size_t>(status::rejected_early)];
  }

  friend std::ostream& operator<<(std::ostream& out, const result& r) { return out << r.text(); }

  /// What operator<< prints.
  [[nodiscard, gnu::cold]] std::string text() const {
    std::string s;
    const auto add = [&s](std::initializer_list<detail::piece> pieces) {
      for (const auto& p : pieces) p.append_to(s);
    };
    if (best) {
      add({"best       ", to_string(best_values), "\ntime       ", show_seconds(median_seconds)});
      if (rounds > 0 || interval_coverage >= 0.95)
        add({" [", show_seconds(seconds_interval.low), ", ", show_seconds(seconds_interval.high), "]"});
      if (rounds > 0) add({", median of ", rounds, " interleaved rounds"});
      if (flop > 0) add({", ", fixed(gflops(), 1), " GFLOP/s"});
      if (untuned_compared)
        add({"\ndefault    ", detail::line_of(*untuned_compared), " (", to_string(untuned_values), ")"});
      if (runner_up) add({"\nrunner-up  ", detail::line_of(*runner_up), " (", runner_up->name, ")"});
      for (const auto& v : rivals) add({"\nrival      ", v.name, ": ", detail::line_of(v)});
    } else {
      add({"best       none: ", trials + known == 0 ? "nothing was measured" : "no configuration was valid"});
    }
    add({"\ntrials     ", show_count(trials), " of ", space_counted ? "" : "about ", detail::show_size(space_size),
         " configurations, ", measured, " measured, ", replayed, " from the log"});
    if (known > 0) add({", ", known, " known before"});
    const char* before = "\nnot ok     ";
    for (std::size_t i = 1; i < status_count; ++i)
      if (by_status[i] > 0) add({std::exchange(before, ", "), to_string(static_cast<status>(i)), " ", by_status[i]});
    add({"\nsearch     ", strategy, ", seed ", seed, ", ", show_clock(seconds), ", ",
         stopped == stop::running ? "not run to its end" : "stopped by ",
         stopped == stop::running ? "" : to_string(stopped)});
    if (!log.empty()) add({"\nlog        ", log});
    for (const auto& n : notes) add({"\nnote       ", n});
    return s;
  }
};

}  // namespace tileseek
