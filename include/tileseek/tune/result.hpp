#pragma once
// What a run found, and how far it can be trusted. It prints itself.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <ostream>
#include <string>
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
  std::string name;           ///< of a rival; the configuration otherwise
  double seconds = std::numeric_limits<double>::infinity();  ///< median over the rounds
  comparison against;         ///< ratio > 1: the winner is that many times faster
};

/// The outcome of a run.
template <class Config>
struct result {
  std::optional<Config> best;  ///< nothing when no configuration was valid
  named_values best_values;    ///< the same by name
  point best_point;
  double median_seconds = std::numeric_limits<double>::infinity();  ///< of the winner: over the rounds of the contest, or
                                                                    ///< over its own samples when there was none
  interval seconds_interval;       ///< of that median
  double interval_coverage = 0;    ///< the interval's coverage: at least 0.95 with 6 numbers or more
  std::size_t rounds = 0;          ///< of the final contest; 0: none was held
  std::optional<Config> untuned;   ///< the default configuration
  named_values untuned_values;
  std::optional<compared> untuned_compared;  ///< ratio: the speed-up that tuning brought
  std::optional<compared> runner_up;
  std::vector<compared> rivals;

  std::size_t trials = 0;     ///< unique configurations with a result
  std::size_t replayed = 0;   ///< of them, from the log
  std::size_t measured = 0;   ///< of them, measured now
  std::size_t known = 0;      ///< results told before the first trial (warm start, other runs in the log)
  std::array<std::size_t, status_count> by_status{};  ///< trials by how they ended
  stop stopped = stop::running;
  double seconds = 0;         ///< of tuning, without the contest
  double space_size = 0;      ///< configurations in the space
  bool space_counted = true;  ///< whether space_size is exact
  double flop = 0;            ///< of one run; 0: unknown
  std::string strategy;
  std::uint64_t seed = 0;
  std::string log;            ///< the log's name; empty: none
  std::vector<trial> history; ///< all trials in order
  std::vector<std::string> notes;  ///< what was odd, with a remedy

  [[nodiscard]] double gflops() const noexcept { return flop > 0 ? flop / median_seconds * 1e-9 : 0; }
  [[nodiscard]] std::size_t failed() const noexcept {
    return trials - by_status[static_cast<std::size_t>(status::ok)] - by_status[static_cast<std::size_t>(status::rejected_early)];
  }

  friend std::ostream& operator<<(std::ostream& out, const result& r) { return out << r.text(); }

  /// What operator<< prints.
  [[nodiscard]] std::string text() const {
    std::string s;
    if (best) {
      s += "best       " + to_string(best_values) + "\n";
      s += "time       " + show_seconds(median_seconds);
      if (rounds > 0 || interval_coverage >= 0.95)
        s += " [" + show_seconds(seconds_interval.low) + ", " + show_seconds(seconds_interval.high) + "]";
      if (rounds > 0) s += ", median of " + std::to_string(rounds) + " interleaved rounds";
      if (flop > 0) s += ", " + fixed(gflops(), 1) + " GFLOP/s";
      s += "\n";
      if (untuned_compared) s += "default    " + line(*untuned_compared) + " (" + to_string(untuned_values) + ")\n";
      if (runner_up) s += "runner-up  " + line(*runner_up) + " (" + runner_up->name + ")\n";
      for (const auto& v : rivals) s += "rival      " + v.name + ": " + line(v) + "\n";
    } else {
      s += "best       none: no configuration was valid\n";
    }
    s += "trials     " + show_count(trials) + " of " + (space_counted ? "" : "about ") + show_size(space_size) + " configurations";
    s += ", " + std::to_string(measured) + " measured, " + std::to_string(replayed) + " from the log";
    if (known > 0) s += ", " + std::to_string(known) + " known before";
    s += "\n";
    std::string failures;
    for (std::size_t i = 1; i < status_count; ++i)
      if (by_status[i] > 0)
        failures += (failures.empty() ? "" : ", ") + std::string(to_string(static_cast<status>(i))) + " " + std::to_string(by_status[i]);
    if (!failures.empty()) s += "not ok     " + failures + "\n";
    s += "search     " + strategy + ", seed " + std::to_string(seed) + ", " + show_clock(seconds) + ", stopped by " + to_string(stopped) + "\n";
    if (!log.empty()) s += "log        " + log + "\n";
    for (const auto& n : notes) s += "note       " + n + "\n";
    if (!s.empty()) s.pop_back();
    return s;
  }

 private:
  [[nodiscard]] static std::string show_size(double size) {
    if (size < 1e15) return show_count(static_cast<std::uint64_t>(size));
    return shortest(std::round(size / std::pow(10, std::floor(std::log10(size)) - 2)) * std::pow(10, std::floor(std::log10(size)) - 2));
  }
  [[nodiscard]] static std::string line(const compared& c) {
    std::string s = show_seconds(c.seconds);
    if (!std::isfinite(c.against.ratio)) return s + ", no valid time";
    s += ", the best is " + fixed(c.against.ratio, 3) + " x as fast [" + fixed(c.against.range.low, 3) + ", " + fixed(c.against.range.high, 3) + "]";
    return s + (c.against.says == verdict::cannot_tell ? ": can't tell" : std::string(": ") + to_string(c.against.says));
  }
};

}  // namespace tileseek
