#pragma once
// What observers of a run are shown.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include <tileseek/core/measurement.hpp>

namespace tileseek {

/// Why a run ended.
enum class stop {
  running,      ///< it has not
  trials,       ///< the budget of trials is spent
  seconds,      ///< the budget of seconds is spent
  target,       ///< the target cost is reached
  stalled,      ///< no improvement for as many trials as the budget allows, or the strategy asks known points only
  fraction,     ///< the share of the space is measured
  exhausted,    ///< the strategy has nothing left to ask
  interrupted,  ///< Ctrl-C
  observer,     ///< an observer asked for it
};

[[nodiscard]] constexpr const char* to_string(stop s) noexcept {
  constexpr const char* names[] = {"running",  "trials",    "seconds",     "target",  "stalled",
                                   "fraction", "exhausted", "interrupted", "observer"};
  return names[static_cast<std::size_t>(s)];
}

/// The state of a run after a batch.
struct progress {
  std::size_t trials = 0;            ///< unique configurations with a result, measured now or replayed from the log
  std::size_t replayed = 0;          ///< of them, answered from the log
  std::size_t failed = 0;            ///< of them, without a valid time
  std::size_t last_improvement = 0;  ///< number of trials when the best was found
  std::size_t trial_limit = 0;       ///< trials at which the budget ends; 0: not limited by trials
  double seconds = 0;                ///< tuning time so far, of the log's earlier runs included
  double second_limit = std::numeric_limits<double>::infinity();  ///< seconds at which the budget ends
  double best = std::numeric_limits<double>::infinity();          ///< seconds: the least cost so far
  double flop = 0;                                                ///< work of one run of the kernel; 0: not given
  double space_size = 0;                                          ///< configurations in the space, about
  std::string best_configuration;                                 ///< by name
};

}  // namespace tileseek
