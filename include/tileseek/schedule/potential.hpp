#pragma once
// What is left in a task, judged by how much is at stake and how its search has gone. The default.
//
// The published gradient (gradient.hpp) guesses the next saving from the last ones. On searches of recorded kernel
// spaces the last savings say almost nothing about the next: what counts is the time at stake, the trials spent, and
// how long the best has stood. A Poisson regression of the next improvement on these gives about n^-1.4 (s/n)^-0.3 per
// trial after n trials of which the last s brought nothing; the index below is steeper, because a trial given to a task
// also takes it further down its own curve. Of a task with
//
//   v  what its latency is worth: the slope of the objective times its latency (weight times latency for the sum)
//   n  trials,  s  trials since its best was last 0.5 % worse than now
//   d  log of the ratio of its best after n/2 trials to its best now
//   g  share of its best that the search's own model thinks it can still save, where the search has a model
//
// the index is
//
//   v n^-1.6  ((s + 2) / n)^-0.5 (d + 0.01)^0.3                     of any search
//   v n^-1.25 ((s + 2) / n)^-0.6 (d + 0.01)^0.2 (g + 0.02)^0.7      of a search with a model
//
// times max(0.1, 1 - reachable / best) if one can tell what latency is reachable. An estimate within 20 % saves about
// another tenth of the trials, one that is off by a factor of two saves nothing; to know the optimum would save half. A
// task without a valid result has v / (n + 1)^2, v from what it costs untuned: never nothing, because kernels that fail
// seventy times in a row and then run are real, and soon little. The constants were fitted on replayed recordings of
// public kernel spaces; the index is flat around them.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include <tileseek/core/format.hpp>
#include <tileseek/schedule/objective.hpp>
#include <tileseek/schedule/scheduler.hpp>

namespace tileseek {

/// Options of `potential`.
struct potential_options {
  objective of = weighted_sum{};  ///< what is to be lowered
  std::size_t round =
      default_round;  ///< trials of a turn at the least; the first one has as many. 8 cost 1 % more trials,
                      ///< 16 6 % and 32 15 %, because the first turn is given blindly
  double growth =
      0.25;  ///< later turns have this share of the task's trials, if that is more: the choice changes no more
             ///< often than that, and there are fewer of them
  std::size_t longest_round = 64;  ///< trials of a turn at the most (the published length)
};

/// A TaskScheduler; see the top of the file.
class potential {
 public:
  /// @throws std::invalid_argument  an option out of its range, by name
  explicit potential(potential_options options = {}) : o_(std::move(options)) {
    if (o_.round == 0) detail::fail<std::invalid_argument>({"potential: round is 0; give at least 1 trial a turn"});
    if (!(o_.growth >= 0 && std::isfinite(o_.growth)))
      detail::fail<std::invalid_argument>({"potential: growth is ", o_.growth, "; give a share of 0 or more"});
    if (o_.longest_round < o_.round)
      detail::fail<std::invalid_argument>({"potential: longest_round is ", o_.longest_round, ", below round, which is ",
                                           o_.round, "; give at least as much"});
  }
  [[nodiscard]] static constexpr std::string_view name() noexcept { return "potential"; }

  [[nodiscard]] std::optional<std::size_t> next(std::span<const task_state> tasks, rng& random) {
    if (const auto first = detail::first_untried(tasks)) return first;
    const auto latencies = detail::latencies(tasks);
    const auto slopes = o_.of.slopes(latencies, tasks);
    remembered_.resize(tasks.size());
    return detail::largest(tasks, random,
                           [&](std::size_t i) { return slopes[i] * latencies[i] * promise(tasks[i], remembered_[i]); });
  }

  [[nodiscard]] std::size_t round(const task_state& task) const noexcept {
    const double share = o_.growth * static_cast<double>(task.history.trials());
    if (!(share > static_cast<double>(o_.round))) return o_.round;
    return share < static_cast<double>(o_.longest_round) ? static_cast<std::size_t>(share) : o_.longest_round;
  }

 private:
  /// What a promise follows from, and the promise: only one task changes between two choices, and powers are dear.
  struct memory {
    std::size_t trials = 0;
    std::size_t stall = 0;
    double best = 0;
    double halfway = 0;
    double gap = 0;
    double reachable = 0;
    double promise = 0;
  };

  /// The index without what the latency is worth.
  [[nodiscard]] static double promise(const task_state& task, memory& m) {
    const auto& h = task.history;
    memory now;
    now.trials = h.trials();
    now.stall = h.stall();
    now.best = h.best();
    now.halfway = h.best_after(now.trials / 2);
    now.gap = task.gap.value_or(-1);
    now.reachable = task.reachable.value_or(0);
    if (now.trials != m.trials || now.stall != m.stall || now.best != m.best || now.halfway != m.halfway ||
        now.gap != m.gap || now.reachable != m.reachable) {
      now.promise = promise_of(now);
      m = now;
    }
    return m.promise;
  }

  [[nodiscard]] static double promise_of(const memory& m) {
    const double n = static_cast<double>(std::max<std::size_t>(1, m.trials));
    if (!std::isfinite(m.best)) return 1 / ((n + 1) * (n + 1));
    const double stalled = (static_cast<double>(m.stall) + 2) / n;
    const double gain = std::isfinite(m.halfway) ? std::log(m.halfway / m.best) : first_gain;
    double index = 0;
    if (m.gap < 0)
      index = std::pow(n, -1.6) * std::pow(stalled, -0.5) * std::pow(gain + 0.01, 0.3);
    else
      index = std::pow(n, -1.25) * std::pow(stalled, -0.6) * std::pow(gain + 0.01, 0.2) * std::pow(m.gap + 0.02, 0.7);
    // Of what it has left, a tenth is always thought possible: the estimate may be wrong.
    return m.reachable > 0 ? index * std::fmax(0.1, 1 - m.reachable / m.best) : index;
  }

  /// d of a task that had no valid result halfway: a factor of e.
  static constexpr double first_gain = 1;

  potential_options o_;
  std::vector<memory> remembered_;
};

static_assert(TaskScheduler<potential>);

}  // namespace tileseek
