#pragma once
// The contract of a task scheduler. Several tasks (kernels, shapes of a kernel) share one budget of measurements; the
// scheduler says whose turn it is. It sees the tasks' histories and nothing else: no clock, no file, no thread, no
// random numbers but those it is handed. Hence the same histories give the same choices, a killed run goes on as it
// would have, and tests are arithmetic.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <tileseek/core/format.hpp>
#include <tileseek/core/rng.hpp>
#include <tileseek/schedule/task_history.hpp>

namespace tileseek {

/// What a scheduler knows of a task.
struct task_state {
  static constexpr std::size_t no_group = static_cast<std::size_t>(-1);

  double weight = 1;                  ///< how often the kernel runs in its network
  double flop = 0;                    ///< floating-point operations of one run; 0: unknown
  std::size_t network = 0;            ///< which network it belongs to, for objectives over several
  std::size_t group = no_group;       ///< tasks of one group are alike: they reach about the same FLOP/s
  std::optional<double> untuned{};    ///< seconds of the kernel in use today: what a task without a valid result costs
  std::optional<double> reachable{};  ///< estimate of the seconds that tuning can reach (a vendor library, a roofline)
  std::optional<double> gap{};  ///< share of the best that the search's own model thinks it can still save, in [0, 1)
  bool finished = false;        ///< no more turns: the budget, the space or the search of the task is at its end
  task_history history{};
};

/// next(tasks, random) chooses the task whose turn it is, one that is not finished, or nothing: then no task is worth
/// another trial. The tasks are the same, in the same order, throughout a run.
///
/// A scheduler that cares says by round(task) how many trials this turn should have; otherwise it has
/// `default_round`. One object serves one run.
template <class T>
concept TaskScheduler = std::movable<T> && requires(T t, std::span<const task_state> tasks, rng& random) {
  { t.next(tasks, random) } -> std::same_as<std::optional<std::size_t>>;
};

/// Trials of a turn. Short rounds are what makes a scheduler save: the first ones are spent before it knows anything.
inline constexpr std::size_t default_round = 4;

namespace detail {

template <class T>
concept HasRound = requires(const T& t, const task_state& task) {
  { t.round(task) } -> std::same_as<std::size_t>;
};

/// The first living task that had no turn yet. All schedulers begin with one round of every task.
[[nodiscard]] inline std::optional<std::size_t> first_untried(std::span<const task_state> tasks) noexcept {
  for (std::size_t i = 0; i < tasks.size(); ++i)
    if (!tasks[i].finished && tasks[i].history.rounds() == 0) return i;
  return std::nullopt;
}

/// The living task with the largest index(i); of several, one at random. A task whose index is 0 or less has no claim:
/// nothing when that is true of all.
template <class Index>
[[nodiscard]] std::optional<std::size_t> largest(std::span<const task_state> tasks, rng& random, Index&& index) {
  double most = 0;
  std::vector<std::size_t> ties;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i].finished) continue;
    const double x = index(i);
    if (!(x > 0) || x < most) continue;
    if (x > most) ties.clear();
    most = x;
    ties.push_back(i);
  }
  if (ties.empty()) return std::nullopt;
  return ties.size() == 1 ? ties.front() : ties[static_cast<std::size_t>(random.below(ties.size()))];
}

/// Seconds of every task: its best; while it has none, what it costs untuned; while that is unknown, ten times the mean
/// of the others, so that a task that has nothing yet is not forgotten (1 if there are no others).
[[nodiscard]] inline std::vector<double> latencies(std::span<const task_state> tasks) {
  double sum = 0;
  std::size_t valid = 0;
  for (const auto& t : tasks)
    if (t.history.valid()) {
      sum += t.history.best();
      ++valid;
    }
  const double guess = valid == 0 ? 1 : 10 * sum / static_cast<double>(valid);
  std::vector<double> out(tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i)
    out[i] = tasks[i].history.valid() ? tasks[i].history.best() : tasks[i].untuned.value_or(guess);
  return out;
}

}  // namespace detail

/// A scheduler of any kind as one type. Erased by value: it owns what it holds. It may be moved, not copied.
class any_scheduler {
 public:
  /// @param name  what `name()` gives; by default the scheduler's own name() if it has one, else "unnamed"
  template <class S>
    requires(!std::same_as<std::remove_cvref_t<S>, any_scheduler> && TaskScheduler<std::remove_cvref_t<S>> &&
             std::constructible_from<std::remove_cvref_t<S>, S>)
  any_scheduler(S&& scheduler, std::string name = {})  // NOLINT(google-explicit-constructor): meant to convert
      : held_(std::make_unique<holder<std::remove_cvref_t<S>>>(std::forward<S>(scheduler))), name_(std::move(name)) {
    if (!name_.empty()) return;
    if constexpr (requires(const std::remove_cvref_t<S>& s) { std::string_view(s.name()); })
      name_ = std::string_view(static_cast<holder<std::remove_cvref_t<S>>&>(*held_).it.name());
    else
      name_ = "unnamed";
  }

  /// @throws std::logic_error  the scheduler chose a task that does not exist or is finished
  [[nodiscard, gnu::cold]] std::optional<std::size_t> next(std::span<const task_state> tasks, rng& random) {
    if (!held_) detail::fail<std::logic_error>({"any_scheduler: holds no scheduler"});
    const auto chosen = held_->next(tasks, random);
    if (chosen && (*chosen >= tasks.size() || tasks[*chosen].finished))
      detail::fail<std::logic_error>({"the scheduler '", name_, "' chose task ", *chosen,
                                      *chosen >= tasks.size() ? ", which does not exist" : ", which is finished"});
    return chosen;
  }
  /// What next() would choose now, without changing anything: a copy of the scheduler is asked. Nothing if it cannot be
  /// copied.
  [[nodiscard, gnu::cold]] std::optional<std::size_t> peek(std::span<const task_state> tasks, rng random) const {
    return held_ ? held_->peek(tasks, random) : std::nullopt;
  }
  /// Trials of a turn of this task, at least 1.
  [[nodiscard]] std::size_t round(const task_state& task) const {
    return std::max<std::size_t>(1, held_ ? held_->round(task) : default_round);
  }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  struct base {
    base() = default;
    base(const base&) = delete;
    base& operator=(const base&) = delete;
    virtual ~base() = default;
    [[nodiscard]] virtual std::optional<std::size_t> next(std::span<const task_state> tasks, rng& random) = 0;
    [[nodiscard]] virtual std::optional<std::size_t> peek(std::span<const task_state> tasks, rng& random) const = 0;
    [[nodiscard]] virtual std::size_t round(const task_state& task) const = 0;
  };
  template <class S>
  struct holder final : base {
    template <class T>
    explicit holder(T&& s) : it(std::forward<T>(s)) {}
    [[nodiscard]] std::optional<std::size_t> next(std::span<const task_state> tasks, rng& random) override {
      return it.next(tasks, random);
    }
    [[nodiscard]] std::optional<std::size_t> peek([[maybe_unused]] std::span<const task_state> tasks,
                                                  [[maybe_unused]] rng& random) const override {
      if constexpr (std::copy_constructible<S>) {
        S copy(it);
        return copy.next(tasks, random);
      } else {
        return std::nullopt;
      }
    }
    [[nodiscard]] std::size_t round([[maybe_unused]] const task_state& task) const override {
      if constexpr (detail::HasRound<S>)
        return it.round(task);
      else
        return default_round;
    }
    S it;
  };

  std::unique_ptr<base> held_;
  std::string name_;
};

static_assert(TaskScheduler<any_scheduler>);

}  // namespace tileseek
