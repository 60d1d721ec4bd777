#pragma once
// Every task in turn, one round each: the baseline that every other scheduler has to beat, and close to the best one
// where all tasks count alike (the geometric mean of each task's own speed-up).

#include <cstddef>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>

#include <tileseek/core/format.hpp>
#include <tileseek/schedule/scheduler.hpp>

namespace tileseek {

/// A TaskScheduler: the living task that had the fewest rounds, the first of several.
class round_robin {
 public:
  /// @param round  trials of a turn, at least 1
  explicit round_robin(std::size_t round = default_round) : round_(round) {
    if (round == 0) detail::fail<std::invalid_argument>({"round_robin: round is 0; give at least 1 trial a turn"});
  }
  [[nodiscard]] static constexpr std::string_view name() noexcept { return "round_robin"; }

  [[nodiscard]] std::optional<std::size_t> next(std::span<const task_state> tasks, rng& /*random*/) const {
    std::optional<std::size_t> chosen;
    for (std::size_t i = 0; i < tasks.size(); ++i)
      if (!tasks[i].finished && (!chosen || tasks[i].history.rounds() < tasks[*chosen].history.rounds())) chosen = i;
    return chosen;
  }
  [[nodiscard]] std::size_t round(const task_state& /*task*/) const noexcept { return round_; }

 private:
  std::size_t round_;
};

static_assert(TaskScheduler<round_robin>);

}  // namespace tileseek
