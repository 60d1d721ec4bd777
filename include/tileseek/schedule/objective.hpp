#pragma once
// What a shared budget is to lower: a function of all tasks' latencies. A scheduler needs its slopes, by which a second
// saved in one task is weighed against a second saved in another.
//
// The four objectives that Ansor's authors propose (Zheng et al., "Ansor: Generating High-Performance Tensor Programs
// for Deep Learning", OSDI 2020, table 2), and any function of one's own. They take the difference quotient with a step
// of 1e-4 s, which is longer than many kernels; here the bundled ones know their slopes, and for others the step is a
// share of the latency.

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include <tileseek/core/format.hpp>
#include <tileseek/schedule/scheduler.hpp>

namespace tileseek {

/// value(latencies, tasks) is what is to be lowered; latencies[i] is in seconds, above 0, and a stand-in for a task
/// without a valid result. An objective that has slopes(latencies, tasks), the derivative by each latency, is spared
/// the difference quotients.
template <class O>
concept Objective = std::copy_constructible<O> &&
    requires(const O& o, std::span<const double> latencies, std::span<const task_state> tasks) {
  { o.value(latencies, tasks) } -> std::convertible_to<double>;
};

namespace detail {

template <class O>
concept HasSlopes = requires(const O& o, std::span<const double> latencies, std::span<const task_state> tasks) {
  { o.slopes(latencies, tasks) } -> std::same_as<std::vector<double>>;
};

/// A function of the latencies, or of latencies and tasks.
template <class F>
concept ObjectiveFunction = std::copy_constructible<F> &&
    (std::is_invocable_r_v<double, const F&, std::span<const double>> ||
     std::is_invocable_r_v<double, const F&, std::span<const double>, std::span<const task_state>>);

template <class F>
struct objective_function {
  F f;
  [[nodiscard]] double value(std::span<const double> latencies,
                             [[maybe_unused]] std::span<const task_state> tasks) const {
    if constexpr (std::is_invocable_r_v<double, const F&, std::span<const double>>)
      return f(latencies);
    else
      return f(latencies, tasks);
  }
};

/// The weighted latency of each network.
[[nodiscard]] inline std::vector<double> network_totals(std::span<const double> latencies,
                                                        std::span<const task_state> tasks) {
  std::vector<double> out;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i].network >= out.size()) out.resize(tasks[i].network + 1);
    out[tasks[i].network] += tasks[i].weight * latencies[i];
  }
  return out;
}

/// @throws std::invalid_argument  a task belongs to a network for which there is no number
inline void check_networks(const char* who, const char* what, std::size_t known, std::span<const task_state> tasks) {
  for (std::size_t i = 0; i < tasks.size(); ++i)
    if (tasks[i].network >= known)
      fail<std::invalid_argument>({who, ": task ", i, " belongs to network ", tasks[i].network,
                                   ", counted from 0, and ", what, " has a number for the first ", known,
                                   "; give one for each network"});
}

/// @throws std::invalid_argument  not all of them are positive and finite
inline void check_positive(const char* who, const char* what, std::span<const double> values) {
  if (values.empty()) fail<std::invalid_argument>({who, ": no ", what, "; give one for each network"});
  for (const double x : values)
    if (!(x > 0 && std::isfinite(x)))
      fail<std::invalid_argument>({who, ": ", what, " holds ", x, "; give seconds above 0"});
}

}  // namespace detail

/// An objective of any kind as one type. Copies share what they hold, which never changes.
class objective {
 public:
  /// The relative step of difference quotients: small enough for a curved objective, large enough that rounding hides
  /// no task that makes up a millionth of the whole.
  static constexpr double step = 1e-4;

  template <class O>
    requires(!std::same_as<std::remove_cvref_t<O>, objective> && Objective<std::remove_cvref_t<O>>)
  objective(O&& o)  // NOLINT(google-explicit-constructor): meant to convert
      : held_(std::make_shared<const holder<std::remove_cvref_t<O>>>(std::forward<O>(o))) {}

  /// A function that is to be lowered: double(std::span<const double> latencies), with a second parameter
  /// std::span<const task_state> if it likes.
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, objective> && !Objective<std::remove_cvref_t<F>> &&
             detail::ObjectiveFunction<std::remove_cvref_t<F>>)
  objective(F&& f)  // NOLINT(google-explicit-constructor): meant to convert
      : objective(detail::objective_function<std::remove_cvref_t<F>>{std::forward<F>(f)}) {}

  [[nodiscard]] double value(std::span<const task_state> tasks) const {
    return held_->value(detail::latencies(tasks), tasks);
  }

  /// What each second saved in a task is worth; never below 0: where the objective falls when a task gets slower, the
  /// task is left alone.
  /// @throws std::domain_error  it is not a number, or infinite
  [[nodiscard]] std::vector<double> slopes(std::span<const double> latencies, std::span<const task_state> tasks) const {
    auto out = held_->slopes(latencies, tasks);
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (!std::isfinite(out[i]))
        detail::fail<std::domain_error>({"objective: its slope is ", out[i], " for task ", i, ", whose latency is ",
                                         latencies[i], " s; it must be finite wherever all latencies are above 0"});
      out[i] = std::max(out[i], 0.0);
    }
    return out;
  }
  [[nodiscard]] std::vector<double> slopes(std::span<const task_state> tasks) const {
    return slopes(detail::latencies(tasks), tasks);
  }

 private:
  struct base {
    base() = default;
    base(const base&) = delete;
    base& operator=(const base&) = delete;
    virtual ~base() = default;
    [[nodiscard]] virtual double value(std::span<const double> latencies, std::span<const task_state> tasks) const = 0;
    [[nodiscard]] virtual std::vector<double> slopes(std::span<const double> latencies,
                                                     std::span<const task_state> tasks) const = 0;
  };
  template <class O>
  struct holder final : base {
    template <class T>
    explicit holder(T&& o) : it(std::forward<T>(o)) {}
    [[nodiscard]] double value(std::span<const double> latencies, std::span<const task_state> tasks) const override {
      return it.value(latencies, tasks);
    }
    [[nodiscard]] std::vector<double> slopes(std::span<const double> latencies,
                                             std::span<const task_state> tasks) const override {
      if constexpr (detail::HasSlopes<O>) {
        return it.slopes(latencies, tasks);
      } else {
        // Towards smaller latencies, because that is where tuning goes.
        std::vector<double> moved(latencies.begin(), latencies.end());
        std::vector<double> out(moved.size());
        const double now = it.value(latencies, tasks);
        for (std::size_t i = 0; i < out.size(); ++i) {
          moved[i] = latencies[i] * (1 - step);
          out[i] = (now - it.value(moved, tasks)) / (latencies[i] - moved[i]);
          moved[i] = latencies[i];
        }
        return out;
      }
    }
    O it;
  };

  std::shared_ptr<const base> held_;
};

/// The sum of weight times latency: the time of all networks, one after another (Ansor's f1).
struct weighted_sum {
  [[nodiscard]] double value(std::span<const double> latencies, std::span<const task_state> tasks) const {
    double sum = 0;
    for (std::size_t i = 0; i < tasks.size(); ++i) sum += tasks[i].weight * latencies[i];
    return sum;
  }
  [[nodiscard]] std::vector<double> slopes(std::span<const double> /*latencies*/,
                                           std::span<const task_state> tasks) const {
    std::vector<double> out(tasks.size());
    for (std::size_t i = 0; i < tasks.size(); ++i) out[i] = tasks[i].weight;
    return out;
  }
};

/// Each network is to take at most so long: the sum over the networks of the larger of its latency and its requirement
/// (Ansor's f2). A network that meets its requirement gets no more trials, unless a task of it has no valid result yet.
class latency_requirements {
 public:
  /// @param seconds  one number for each network
  explicit latency_requirements(std::vector<double> seconds) : seconds_(std::move(seconds)) {
    detail::check_positive("latency_requirements", "seconds", seconds_);
  }
  [[nodiscard]] double value(std::span<const double> latencies, std::span<const task_state> tasks) const {
    detail::check_networks("latency_requirements", "seconds", seconds_.size(), tasks);
    const auto totals = detail::network_totals(latencies, tasks);
    double sum = 0;
    for (std::size_t j = 0; j < totals.size(); ++j) sum += std::max(totals[j], seconds_[j]);
    return sum;
  }
  [[nodiscard]] std::vector<double> slopes(std::span<const double> latencies, std::span<const task_state> tasks) const {
    detail::check_networks("latency_requirements", "seconds", seconds_.size(), tasks);
    const auto totals = detail::network_totals(latencies, tasks);
    std::vector<char> open(totals.size());
    for (std::size_t j = 0; j < totals.size(); ++j) open[j] = totals[j] > seconds_[j];
    for (const auto& t : tasks)
      if (!t.history.valid()) open[t.network] = 1;  // its latency is a guess
    std::vector<double> out(tasks.size());
    for (std::size_t i = 0; i < tasks.size(); ++i) out[i] = open[tasks[i].network] != 0 ? tasks[i].weight : 0;
    return out;
  }

 private:
  std::vector<double> seconds_;
};

/// Minus the geometric mean over the networks of the speed-up against a reference (Ansor's f3).
class geomean_speedup {
 public:
  /// @param reference  seconds of each network in another system
  explicit geomean_speedup(std::vector<double> reference) : reference_(std::move(reference)) {
    detail::check_positive("geomean_speedup", "reference", reference_);
  }
  [[nodiscard]] double value(std::span<const double> latencies, std::span<const task_state> tasks) const {
    return -geomean(totals(latencies, tasks)).speedup;
  }
  [[nodiscard]] std::vector<double> slopes(std::span<const double> latencies, std::span<const task_state> tasks) const {
    const auto total = totals(latencies, tasks);
    const auto mean = geomean(total);
    std::vector<double> out(tasks.size());
    for (std::size_t i = 0; i < tasks.size(); ++i)
      out[i] = mean.speedup / mean.networks * tasks[i].weight / total[tasks[i].network];
    return out;
  }

 private:
  struct mean_of {
    double speedup;
    double networks;  ///< that have tasks; the others say nothing
  };

  [[nodiscard]] std::vector<double> totals(std::span<const double> latencies, std::span<const task_state> tasks) const {
    detail::check_networks("geomean_speedup", "reference", reference_.size(), tasks);
    return detail::network_totals(latencies, tasks);
  }
  [[nodiscard]] mean_of geomean(const std::vector<double>& total) const {
    double sum = 0;
    double networks = 0;
    for (std::size_t j = 0; j < total.size(); ++j)
      if (total[j] > 0) {
        sum += std::log(reference_[j] / total[j]);
        ++networks;
      }
    return {networks > 0 ? std::exp(sum / networks) : 1, networks};
  }

  std::vector<double> reference_;
};

/// Another objective in which a task that has not improved for a while counts as being what it will ever be (Ansor's
/// f4): it gets no more trials.
class early_stopping {
 public:
  /// @param trials  without an improvement of `task_history::notable`, or without one valid result
  explicit early_stopping(std::size_t trials, objective of = weighted_sum{}) : trials_(trials), of_(std::move(of)) {
    if (trials == 0)
      detail::fail<std::invalid_argument>(
          {"early_stopping: trials is 0; give at least 1, or leave early_stopping out"});
  }
  [[nodiscard]] double value(std::span<const double> /*latencies*/, std::span<const task_state> tasks) const {
    return of_.value(tasks);
  }
  [[nodiscard]] std::vector<double> slopes(std::span<const double> latencies, std::span<const task_state> tasks) const {
    auto out = of_.slopes(latencies, tasks);
    for (std::size_t i = 0; i < out.size(); ++i)
      if (tasks[i].history.stall() >= trials_) out[i] = 0;
    return out;
  }

 private:
  std::size_t trials_;
  objective of_;
};

}  // namespace tileseek
