#pragma once
// All that can be chosen about a run, in one place.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <tileseek/core/format.hpp>
#include <tileseek/core/measurement.hpp>
#include <tileseek/core/value.hpp>
#include <tileseek/measure/measurer.hpp>
#include <tileseek/record/journal.hpp>
#include <tileseek/report/progress.hpp>
#include <tileseek/tune/budget.hpp>
#include <tileseek/tune/observer.hpp>

namespace tileseek {

/// Something to compare the winner with in the final contest: a library's routine, the kernel in use today.
struct rival {
  std::string name;
  std::function<measurement(const timing_limits&)> measure;
};

/// Options of tune() and session. Name them at the call: {.trials = 200, .seed = 1}.
template <class Config>
struct options {
  std::optional<std::size_t> trials{};  ///< ends after so many unique configurations
  std::optional<double> seconds{};      ///< ends after so much tuning time
  budget until{};                       ///< ends when this is spent; ends with whichever of the three comes first.
                                        ///< When none is given: 100 trials
  std::uint64_t seed = 0;               ///< of all random choices
  std::size_t batch = 0;                ///< configurations asked at once; 0: what the measurer likes best, else 1
  std::shared_ptr<journal> log{};       ///< where results are kept and resumed from: tileseek::log_file("run.jsonl")
  std::size_t crashed_after = 2;        ///< with a log: a configuration during which the run itself died so often is
                                        ///< `crashed` when the run is resumed; 0: never (see session)
  std::string task{};                   ///< your name for what is tuned
  double flop = 0;                      ///< floating-point operations of one run, for GFLOP/s; 0: not shown
  timing_limits timing{};               ///< samples and early rejection
  std::vector<Config> start{};          ///< measured first, before the strategy is asked
  std::vector<std::pair<Config, measurement>> warm_start{};  ///< known results of this kernel on this machine: told
                                                             ///< first, never measured again, not counted
  std::size_t finalists = 8;  ///< the best of the search that are measured again, or 5 % of the trials if that is more
  std::size_t rounds = 9;  ///< of the final contest: the smallest number whose 95 % interval leaves out both extremes;
                           ///< 0: no contest
  double final_seconds = 10;    ///< the contest ends after so long, but not before 6 rounds, which 95 % need
  std::vector<rival> rivals{};  ///< further contestants
  verbosity progress = verbosity::automatic;  ///< what is printed on standard error
  std::vector<observer> observers{};
  bool catch_interrupt = true;  ///< Ctrl-C ends the run and returns the best so far (see interrupt_guard)
  named_values conditions{};    ///< what else the log's first line should say about this run
};

namespace detail {
/// @throws std::invalid_argument  an option has no meaning. Budgets say so themselves
template <class Config>
[[gnu::cold]] void check(const options<Config>& o) {
  check(o.timing);
  if (!(o.flop >= 0 && std::isfinite(o.flop)))
    fail<std::invalid_argument>({"options: flop is ", o.flop, "; give the operations of one run, or 0"});
  if (!(o.final_seconds >= 0))
    fail<std::invalid_argument>({"options: final_seconds is ", o.final_seconds, "; give 0 or more"});
  for (const auto& r : o.rivals)
    if (!r.measure) fail<std::invalid_argument>({"options: rival '", r.name, "' has nothing to measure"});
}
}  // namespace detail

}  // namespace tileseek
