#pragma once
// What came of running one configuration: a status, every sample, and a note. A failing kernel is a value.

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tileseek/core/statistics.hpp>

namespace tileseek {

/// How a trial ended. `ok` and `rejected_early` carry samples; the others say why there is no time.
enum class status {
  ok,              ///< built, ran, checked, timed
  build_failed,    ///< the compiler refused it
  launch_failed,   ///< it was built but could not be started (too many threads, too much shared memory)
  run_failed,      ///< it started and reported an error (an exception thrown by a callable counts as this)
  wrong_result,    ///< it ran to the end and the result is not the reference's
  timed_out,       ///< it was stopped at a time limit
  crashed,         ///< it took its process down
  rejected_early,  ///< it was valid but hopelessly slow, so that timing stopped before all samples were taken
};

inline constexpr std::size_t status_count = 8;

/// The name of a status as logs and reports spell it: "ok", "build_failed", ...
[[nodiscard]] constexpr std::string_view to_string(status s) noexcept {
  constexpr std::string_view names[status_count] = {"ok",           "build_failed", "launch_failed", "run_failed",
                                                    "wrong_result", "timed_out",    "crashed",       "rejected_early"};
  return names[static_cast<std::size_t>(s)];
}

/// The status with this name; false and untouched `out` if there is none.
[[nodiscard]] constexpr bool from_string(std::string_view name, status& out) noexcept {
  for (std::size_t i = 0; i < status_count; ++i)
    if (to_string(static_cast<status>(i)) == name) {
      out = static_cast<status>(i);
      return true;
    }
  return false;
}

/// One configuration's result.
struct measurement {
  status outcome = status::ok;
  std::vector<double> seconds;  ///< every sample, in the order taken; empty when there is no time
  std::string note;             ///< why it failed, or anything worth reading later

  [[nodiscard]] bool valid() const noexcept { return outcome == status::ok && !seconds.empty(); }

  /// What a strategy minimises: the median of the samples in seconds; infinite for a failure, for no samples and
  /// for a median that is not a number. A configuration rejected early has the median it had when timing stopped.
  [[nodiscard]] double cost() const {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    if (outcome != status::ok && outcome != status::rejected_early) return infinite;
    const double middle = median(seconds);
    return middle == middle ? middle : infinite;
  }
};

/// A measurement that failed.
[[nodiscard]] inline measurement failure(status outcome, std::string note) { return {outcome, {}, std::move(note)}; }

}  // namespace tileseek
