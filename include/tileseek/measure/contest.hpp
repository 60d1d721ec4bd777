#pragma once
// The last word on who is fastest: a few contestants measured again, interleaved in rounds of random order, so that
// what disturbs the machine disturbs all alike, and samples taken while searching (which flatter the winner) do not
// count.

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include <tileseek/core/measurement.hpp>
#include <tileseek/core/rng.hpp>
#include <tileseek/core/statistics.hpp>

namespace tileseek {

/// What the rounds of a contest gave: for each contestant one number of seconds a round (not a number where it failed).
struct contest_record {
  std::vector<std::vector<double>> seconds;

  /// Of the rounds in which contestant i did not fail; infinite for none.
  [[nodiscard, gnu::cold]] double median_of(std::size_t i) const {
    std::vector<double> finite;
    for (const double s : seconds[i])
      if (std::isfinite(s)) finite.push_back(s);
    return finite.empty() ? std::numeric_limits<double>::infinity() : median(finite);
  }

  /// Contestant a against contestant b, round by round: `faster` means a is.
  [[nodiscard]] comparison compare(std::size_t a, std::size_t b) const {
    return tileseek::compare(seconds[a], seconds[b]);
  }
};

/// Measures `contestants` things in `rounds` rounds, each in a random order of its own. `measure(i)` measures
/// contestant i once; `go_on(rounds done)` is asked before each round.
template <class Measure, class GoOn>
[[nodiscard, gnu::cold]] contest_record contest(std::size_t contestants, std::size_t rounds, rng& random,
                                                Measure&& measure, GoOn&& go_on) {
  contest_record record;
  record.seconds = std::vector<std::vector<double>>(contestants);
  std::vector<std::size_t> order(contestants);
  for (std::size_t i = 0; i < contestants; ++i) order[i] = i;
  for (std::size_t r = 0; r < rounds && go_on(r); ++r) {
    random.shuffle(std::span<std::size_t>(order));
    for (const auto i : order) {
      const measurement m = measure(i);
      const double cost = m.cost();
      record.seconds[i].push_back(std::isfinite(cost) ? cost : std::numeric_limits<double>::quiet_NaN());
    }
  }
  return record;
}

}  // namespace tileseek
