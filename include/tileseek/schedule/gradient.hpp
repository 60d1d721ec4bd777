#pragma once
// The published rule: the next round goes to the task whose latency would lower the objective most.
//
// How much one more round saves in a task is guessed from its past and from a bound. With h[t] the best latency after t
// rounds, the saving is
//
//   alpha * (h[t - window] - h[t]) / window  +  (1 - alpha) * max(h[t] / t,  h[t] - beta * flop / speed of the alike)
//
// the first term being how fast it fell of late; the second supposes that t rounds more bring it to nothing, or that it
// reaches a beta-th of the speed of the best task of its group, whichever saves more. The slope of the objective weighs
// the tasks against each other. (Zheng et al., "Ansor: Generating High-Performance Tensor Programs for Deep Learning",
// OSDI 2020, section 6; its auto_scheduler and, without groups and objectives, TVM's MetaSchedule, Shao et al., "Tensor
// Program Optimization with Probabilistic Programs", NeurIPS 2022. Without groups they are the same rule.)
//
// Repaired here: both give a task whose first round fails no other round while any task lives, and MetaSchedule takes a
// failed round for a latency of 1e9 ms, so that the task's first success looks like a gain of days and takes the whole
// budget until it leaves the window. Here a failure is no latency, and a task without a valid result is taken to be as
// slow as it is untuned, or ten times as slow as the others, with a claim that falls as its rounds to the power of 1.5: it
// is tried again, and cannot eat the budget. Rounds before the first valid result are not counted against it later.

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

/// What becomes of a task without a valid result.
enum class failure_rule {
  retried,    ///< it keeps a claim that falls with its rounds
  published,  ///< it gets no turn while any other task lives, and a failed round counts as 1e6 s: shows what that costs
};

/// Options of `gradient`. The defaults are the published ones, but for the length of a round and the failures.
struct gradient_options {
  objective of = weighted_sum{};  ///< what is to be lowered
  double alpha = 0.2;             ///< weight of the past against the bound (Ansor and MetaSchedule); in [0, 1]
  double beta = 2;                ///< how far below the best of its group a task may stay (Ansor); above 0
  std::size_t window = 3;         ///< rounds over which the past is taken (Ansor and MetaSchedule); at least 1
  bool groups = false;  ///< whether `task_state::group` counts. As in Ansor, a task that had 5 rounds more than all
                        ///< others of its group and still has less than a beta-th of their speed leaves it
  double epsilon = 0;   ///< probability of a task at random instead (in Ansor's paper, without a number; not in its
                        ///< code); in [0, 1]
  std::size_t round = default_round;  ///< trials of a turn (published: 64, in Ansor fewer if the budget is small)
  failure_rule failures = failure_rule::retried;

  /// As in TVM's auto_scheduler: groups, rounds of 64.
  [[nodiscard]] static gradient_options ansor() {
    gradient_options o;
    o.groups = true;
    o.round = 64;
    o.failures = failure_rule::published;
    return o;
  }
  /// As in TVM's meta_schedule: rounds of 64.
  [[nodiscard]] static gradient_options meta_schedule() {
    gradient_options o;
    o.round = 64;
    o.failures = failure_rule::published;
    return o;
  }
};

/// A TaskScheduler; see the top of the file.
class gradient {
 public:
  /// @throws std::invalid_argument  an option out of its range, by name
  explicit gradient(gradient_options options = {}) : o_(std::move(options)) {
    const auto demand = [](bool holds, const char* option, double value, const char* remedy) {
      if (!holds) detail::fail<std::invalid_argument>({"gradient: ", option, " is ", value, "; ", remedy});
    };
    demand(o_.alpha >= 0 && o_.alpha <= 1, "alpha", o_.alpha, "give a share in [0, 1]; 0.2 is the published one");
    demand(o_.beta > 0 && std::isfinite(o_.beta), "beta", o_.beta, "give a factor above 0; 2 is the published one");
    demand(o_.window > 0, "window", 0, "give at least 1 round; 3 is the published one");
    demand(o_.epsilon >= 0 && o_.epsilon <= 1, "epsilon", o_.epsilon, "give a probability in [0, 1]");
    demand(o_.round > 0, "round", 0, "give at least 1 trial a turn");
  }
  [[nodiscard]] static constexpr std::string_view name() noexcept { return "gradient"; }

  [[nodiscard]] std::optional<std::size_t> next(std::span<const task_state> tasks, rng& random) {
    if (const auto first = detail::first_untried(tasks)) return first;
    if (o_.epsilon > 0 && random.uniform() < o_.epsilon) return any_living(tasks, random);
    if (o_.groups) update_groups(tasks);
    const auto latencies = detail::latencies(tasks);
    const auto slopes = o_.of.slopes(latencies, tasks);
    const auto chosen = detail::largest(tasks, random, [&](std::size_t i) {
      return slopes[i] * (tasks[i].history.valid() ? saving(tasks[i], i) : retry(tasks[i], latencies[i]));
    });
    // As published, those without a valid result come when no other lives, one at random.
    if (!chosen && o_.failures == failure_rule::published)
      return detail::largest(tasks, random,
                             [&](std::size_t i) { return slopes[i] > 0 && !tasks[i].history.valid() ? 1.0 : 0.0; });
    return chosen;
  }
  [[nodiscard]] std::size_t round(const task_state& /*task*/) const noexcept { return o_.round; }

 private:
  /// A group of alike tasks.
  struct group_state {
    std::size_t members = 0;
    double best_speed = 0;          ///< FLOP/s
    std::size_t rounds = 0;         ///< of the member that had most
    std::size_t second_rounds = 0;  ///< of the one that had most of the others
  };

  /// Seconds that another round is expected to save.
  [[nodiscard]] double saving(const task_state& task, std::size_t i) const {
    const auto& h = task.history;
    // A search that had to look for something that runs has only begun when it has it.
    const std::size_t failed = o_.failures == failure_rule::published ? 0 : h.failed_rounds();
    const std::size_t t = h.rounds() - failed;
    const double best = h.best();
    double fell = 0;
    if (t > o_.window) {
      double before = h.best_after_round(failed + t - o_.window);
      if (o_.failures == failure_rule::published) before = std::fmin(before, failed_round);
      if (std::isfinite(before)) fell = (before - best) / static_cast<double>(o_.window);
    }
    double ahead = best / static_cast<double>(t);
    if (o_.groups && task.group != task_state::no_group && left_[i] == 0) {
      const auto& g = groups_[task.group];
      if (g.members > 1 && g.best_speed > 0) ahead = std::fmax(ahead, best - o_.beta * task.flop / g.best_speed);
    }
    return o_.alpha * fell + (1 - o_.alpha) * ahead;
  }

  /// The same for a task that has nothing yet and is taken to run so long: between latency / t, as if the next round
  /// could not fail, and latency / t^2, as if it succeeded once in t times. On replayed recordings both cost 1 % more.
  [[nodiscard]] double retry(const task_state& task, double latency) const {
    if (o_.failures == failure_rule::published) return 0;
    const double t = static_cast<double>(task.history.rounds()) + 1;
    return latency / (t * std::sqrt(t));
  }

  [[nodiscard]] static std::optional<std::size_t> any_living(std::span<const task_state> tasks, rng& random) {
    return detail::largest(tasks, random, [](std::size_t) { return 1.0; });
  }

  /// Sums up the groups, and lets those go that are not like the others; the next choice counts without them.
  void update_groups(std::span<const task_state> tasks) {
    left_.resize(tasks.size());
    sum_up(tasks);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const auto& t = tasks[i];
      if (t.group == task_state::no_group || left_[i] != 0 || !t.history.valid()) continue;
      const auto& g = groups_[t.group];
      const std::size_t others = t.history.rounds() == g.rounds ? g.second_rounds : g.rounds;
      if (g.members > 1 && t.history.rounds() > 5 + others && t.flop / t.history.best() < g.best_speed / o_.beta)
        left_[i] = 1;
    }
  }
  void sum_up(std::span<const task_state> tasks) {
    groups_.clear();
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const auto& t = tasks[i];
      if (t.group == task_state::no_group || left_[i] != 0) continue;
      if (t.group >= groups_.size()) groups_.resize(t.group + 1);
      auto& g = groups_[t.group];
      ++g.members;
      if (t.history.valid()) g.best_speed = std::fmax(g.best_speed, t.flop / t.history.best());
      const std::size_t rounds = t.history.rounds();
      g.second_rounds = std::max(g.second_rounds, std::min(g.rounds, rounds));
      g.rounds = std::max(g.rounds, rounds);
    }
  }

  static constexpr double failed_round = 1e6;  ///< seconds: MetaSchedule's 1e9 ms

  gradient_options o_;
  std::vector<group_state> groups_;
  std::vector<char> left_;  ///< tasks that are no longer of their group
};

static_assert(TaskScheduler<gradient>);

}  // namespace tileseek
