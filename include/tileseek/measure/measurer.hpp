#pragma once
// How configurations are measured: the Measurer seam, what a measurer may know of the run it serves, and the lifting of
// a plain callable to a measurer.

#include <cmath>
#include <concepts>
#include <cstddef>
#include <exception>
#include <functional>
#include <limits>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__GLIBCXX__)
#include <cxxabi.h>
#endif

#include <tileseek/core/format.hpp>
#include <tileseek/core/measurement.hpp>
#include <tileseek/core/value.hpp>

namespace tileseek {

/// How long a configuration may be timed. A session fills in the incumbent; the rest are the user's options.
struct timing_limits {
  double incumbent = std::numeric_limits<double>::infinity();  ///< seconds: the best median so far
  /// Times the incumbent: a configuration whose fastest of `min_samples` samples is slower is rejected early (1.25 as
  /// in Highway's auto-tuner, which drops what is not within a quarter of the best). At least 1; infinite: never.
  double reject_above = 1.25;
  int min_samples = 3;    ///< below 3 a median is no better than its worst sample
  int max_samples = 7;    ///< over 1,000 noisy configurations the winner's median of 7 flatters by about 1 %
  double settled = 0.01;  ///< samples stop when their range is at most this share of their median
  double max_seconds =
      std::numeric_limits<double>::infinity();  ///< stop sampling after this long (one sample is always taken)
};

/// What a measurer may know of the run: the limits, whom to tell of each result as it comes, and whether to stop.
/// tune() sets both functions; those who measure without a run may leave them empty.
struct measuring {
  timing_limits limits;
  /// Called once for each finished configuration with its place in the batch, in any order, from the thread that called
  /// measure(). A result reported here is in the log before the next one is measured.
  std::function<void(std::size_t, const measurement&)> finished;
  /// True when the run is to end: the measurer returns what it has.
  std::function<bool()> stop;
};

/// measure(batch) gives one measurement for each configuration, in the same order. A failing kernel is a measurement
/// with a status and a note; only programmer errors throw.
template <class M, class Config>
concept Measurer = requires(M& m, std::span<const Config> batch) {
  { m.measure(batch) } -> std::same_as<std::vector<measurement>>;
};

/// A measurer that takes part in the run: it honours the limits, reports each result at once, and may return early
/// (then the result is shorter than the batch, or lacks what was not reported).
template <class M, class Config>
concept RunAwareMeasurer = requires(M& m, std::span<const Config> batch, const measuring& run) {
  { m.measure(batch, run) } -> std::same_as<std::vector<measurement>>;
};

/// A measurer that can build ahead: prepare(batch) starts to build what measure() will be asked next, and returns at
/// once. Only where that does not disturb what is being timed.
template <class M, class Config>
concept PreparingMeasurer = requires(M& m, std::span<const Config> batch) {
  m.prepare(batch);
};

/// A measurer that says what it measures under: compiler and flags, cold or warm caches. Recorded in the log's first
/// line.
template <class M>
concept ConditionedMeasurer = requires(const M& m) {
  { m.conditions() } -> std::convertible_to<named_values>;
};

namespace detail {
template <class R>
concept SecondsOrMeasurement = std::convertible_to<R, double> || std::same_as<std::remove_cvref_t<R>, measurement>;
}  // namespace detail

/// A callable that times one configuration: Config -> seconds, or -> measurement. It may take the limits as a second
/// parameter, and then hands them to time().
template <class F, class Config>
concept TimedFunction = requires(F& f, const Config& c) {
  { f(c) } -> detail::SecondsOrMeasurement;
}
|| requires(F& f, const Config& c, const timing_limits& l) {
  { f(c, l) } -> detail::SecondsOrMeasurement;
};

namespace detail {

/// The measurement if it is one: claimed times that are missing, negative or not finite make it a failure.
[[nodiscard, gnu::cold]] inline measurement checked(measurement m) {
  if (m.outcome != status::ok && m.outcome != status::rejected_early) return m;
  if (m.seconds.empty()) return failure(status::run_failed, concat({"no samples", m.note.empty() ? "" : ": ", m.note}));
  for (const double s : m.seconds)
    if (!std::isfinite(s) || s < 0)
      return failure(status::run_failed, concat({"a sample of ", s, " seconds", m.note.empty() ? "" : ": ", m.note}));
  return m;
}
[[nodiscard, gnu::cold]] inline measurement checked(double seconds) {
  return checked(measurement{status::ok, {seconds}, {}});
}

/// The failure that the exception being handled means. What says nothing about the kernel passes: std::bad_alloc, and a
/// thread's cancellation, which must not be swallowed.
[[nodiscard, gnu::cold]] inline measurement thrown() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
#if defined(__GLIBCXX__)
  } catch (const abi::__forced_unwind&) {
    throw;
#endif
  } catch (const std::exception& e) {
    return failure(status::run_failed, e.what());
  } catch (...) {
    return failure(status::run_failed, "threw something that is no std::exception");
  }
}

/// What `call` measured, or how it failed.
template <class Call>
[[nodiscard]] measurement guarded(Call&& call) {
  try {
    if constexpr (std::same_as<std::remove_cvref_t<std::invoke_result_t<Call&>>, measurement>)
      return checked(measurement(call()));
    else
      return checked(static_cast<double>(call()));
  } catch (...) {
    return thrown();
  }
}

/// @throws std::invalid_argument  an option of the limits has no meaning
[[gnu::cold]] inline void check(const timing_limits& l) {
  const auto refuse = [](const char* option, double value, const char* remedy) {
    fail<std::invalid_argument>({"options: timing.", option, " is ", value, "; ", remedy});
  };
  if (!(l.incumbent > 0)) refuse("incumbent", l.incumbent, "leave it alone, or give the seconds of a known kernel");
  if (!(l.reject_above >= 1)) refuse("reject_above", l.reject_above, "give a factor of at least 1");
  if (l.min_samples < 1) refuse("min_samples", l.min_samples, "give at least 1");
  if (l.max_samples < l.min_samples) refuse("max_samples", l.max_samples, "give at least min_samples");
  if (!(l.settled >= 0)) refuse("settled", l.settled, "give a share of the median, 0 or more");
  if (!(l.max_seconds > 0)) refuse("max_seconds", l.max_seconds, "give more than 0");
}

}  // namespace detail

/// Lifts a callable to a measurer that calls it for one configuration after another. What the callable throws becomes
/// `run_failed` with the exception's text; std::bad_alloc passes. Seconds that are negative or not finite fail too.
template <class Config, class F>
class each_measurer {
  static_assert(
      TimedFunction<F, Config>,
      "tileseek::each: pass a callable of const Config& (and, if it likes, const timing_limits&) that returns "
      "seconds or a tileseek::measurement");

 public:
  explicit each_measurer(F f) : f_(std::move(f)) {}

  [[nodiscard]] std::vector<measurement> measure(std::span<const Config> batch) { return measure(batch, measuring{}); }

  [[nodiscard]] std::vector<measurement> measure(std::span<const Config> batch, const measuring& run) {
    std::vector<measurement> out;
    timing_limits limits = run.limits;
    for (std::size_t i = 0; i < batch.size() && !(run.stop && run.stop()); ++i) {
      out.push_back(detail::guarded([&]() -> decltype(auto) { return call(batch[i], limits); }));
      if (out.back().outcome == status::ok) limits.incumbent = std::fmin(limits.incumbent, out.back().cost());
      if (run.finished) run.finished(i, out.back());
    }
    return out;
  }

 private:
  [[nodiscard]] decltype(auto) call(const Config& c, const timing_limits& limits) {
    if constexpr (requires {
                    { f_(c, limits) } -> detail::SecondsOrMeasurement;
                  })
      return f_(c, limits);
    else if constexpr (TimedFunction<F, Config>)
      return f_(c);
    else
      return 0.0;  // said above; no flood of errors from below
  }

  F f_;
};

/// A measurer of a plain callable.
template <class Config, class F>
[[nodiscard]] each_measurer<Config, std::decay_t<F>> each(F&& f) {
  return each_measurer<Config, std::decay_t<F>>(std::forward<F>(f));
}

namespace detail {

/// The batch a measurer likes best: its batch_size() if it has one, else 1, which serves every search best.
template <class M>
[[nodiscard]] std::size_t preferred_batch(const M& m) {
  if constexpr (requires {
                  { m.batch_size() } -> std::convertible_to<std::size_t>;
                }) {
    const auto n = static_cast<std::size_t>(m.batch_size());
    return n > 0 ? n : 1;
  } else {
    return 1;
  }
}

template <class M>
[[nodiscard]] named_values conditions_of(const M& m) {
  if constexpr (ConditionedMeasurer<M>)
    return m.conditions();
  else
    return {};
}

template <class Config, class M>
[[nodiscard]] std::vector<measurement> measure_batch(M& measurer, std::span<const Config> batch, const measuring& run) {
  if constexpr (RunAwareMeasurer<M, Config>) {
    return measurer.measure(batch, run);
  } else {
    return measurer.measure(batch);
  }
}

/// How a measurer that serves another one keeps it: what has a name by reference, a temporary by value, and a callable
/// lifted to a measurer.
template <class Config, class M>
struct keeping {
  using type = std::remove_reference_t<M>;
  static constexpr bool measures = Measurer<type, Config> || RunAwareMeasurer<type, Config>;
  using held = std::conditional_t<std::is_lvalue_reference_v<M>, std::reference_wrapper<type>, type>;
  using kept = std::conditional_t<measures, M, each_measurer<Config, held>>;
};
template <class Config, class M>
[[nodiscard]] decltype(auto) keep_measurer(std::remove_reference_t<M>& measurer) {
  using how = keeping<Config, M>;
  if constexpr (how::measures)
    return static_cast<M&&>(measurer);
  else
    return each_measurer<Config, typename how::held>(typename how::held(static_cast<M&&>(measurer)));
}

}  // namespace detail

}  // namespace tileseek
