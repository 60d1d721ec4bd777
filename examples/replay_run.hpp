#pragma once
// One search on a recorded space, as a session would run it: what is asked again is answered from memory and not
// counted.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include <tileseek/measure/replay.hpp>
#include <tileseek/search/any_strategy.hpp>

struct replayed {
  std::vector<double> best;   ///< seconds, after each evaluation of a configuration not evaluated before; infinite
                              ///< before the first that ran
  std::vector<double> gap;    ///< what the strategy hoped to save then (see ForecastingStrategy); -1: it does not tell
  double search_seconds = 0;  ///< spent in the strategy
};

/// Runs the strategy for so many evaluations, or until it ends or has found something that costs no more than `enough`
/// seconds.
inline replayed replay_run(tileseek::any_strategy strategy, const tileseek::replay& recording, std::uint64_t seed,
                           std::size_t trials, std::size_t batch, double enough = 0) {
  using clock = std::chrono::steady_clock;
  tileseek::rng random(seed);
  std::unordered_map<tileseek::point, tileseek::measurement, tileseek::point_hash> memory;
  replayed out;
  double best = std::numeric_limits<double>::infinity();
  std::size_t known_in_a_row = 0;
  // A strategy that asks for nothing but what it knows is as good as finished.
  while (out.best.size() < trials && best > enough && known_in_a_row < 1000) {
    const auto begin = clock::now();
    const auto points = strategy.ask(recording.space(), random, std::min(batch, trials - out.best.size()));
    const auto asked = clock::now();
    if (points.empty()) break;
    std::vector<tileseek::trial> done;
    ++known_in_a_row;
    for (const auto& p : points) {
      auto known = memory.find(p);
      if (known == memory.end()) {
        known = memory.emplace(p, recording(p)).first;
        best = std::min(best, known->second.cost());
        out.best.push_back(best);
        known_in_a_row = 0;
      }
      done.push_back({p, known->second});
    }
    const auto measured = clock::now();
    strategy.tell(recording.space(), done);
    out.gap.resize(out.best.size(), strategy.gap().value_or(-1));
    out.search_seconds += std::chrono::duration<double>(asked - begin + (clock::now() - measured)).count();
  }
  return out;
}
