#pragma once
// Tasks whose costs are known in advance, and a shared budget spent on them by a scheduler: no search, no measuring.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <vector>

#include <tileseek/core/rng.hpp>
#include <tileseek/schedule/scheduler.hpp>

namespace simulation {

inline constexpr double failed = std::numeric_limits<double>::infinity();

/// A task whose trials so far had these costs, in rounds of `round`.
inline tileseek::task_state task_with(const std::vector<double>& costs, std::size_t round = 1, double weight = 1) {
  tileseek::task_state t;
  t.weight = weight;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    t.history.add(costs[i]);
    if ((i + 1) % round == 0) t.history.end_round();
  }
  return t;
}

/// The cost of the n-th trial of a task, counted from 0.
using curve = std::function<double(std::size_t)>;

struct played {
  std::vector<tileseek::task_state> tasks;
  std::vector<std::size_t> turns;  ///< who was chosen
};

/// Spends `budget` trials. A task that had `per_task` trials is finished.
template <class Scheduler>
played play(Scheduler scheduler, std::vector<tileseek::task_state> tasks, const std::vector<curve>& curves,
            std::size_t budget, std::size_t per_task = 1000000, std::uint64_t seed = 0) {
  tileseek::any_scheduler s(std::move(scheduler));
  tileseek::rng random(seed);
  played out{std::move(tasks), {}};
  while (budget > 0) {
    const auto chosen = s.next(out.tasks, random);
    if (!chosen) break;
    out.turns.push_back(*chosen);
    auto& t = out.tasks[*chosen];
    for (std::size_t n = std::min({s.round(t), budget, per_task - t.history.trials()}); n > 0; --n, --budget)
      t.history.add(curves[*chosen](t.history.trials()));
    t.history.end_round();
    t.finished = t.history.trials() >= per_task;
  }
  return out;
}

}  // namespace simulation
