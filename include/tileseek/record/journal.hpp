#pragma once
// The seam between a session and its log, free of any file format. A session writes what happened; on start it reads
// what an earlier run wrote and goes on from there. record/log.hpp keeps a journal as JSON lines.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <tileseek/core/measurement.hpp>
#include <tileseek/core/progress.hpp>
#include <tileseek/core/value.hpp>

namespace tileseek {

/// What a run is: equal heads ask the same points, given the same results.
struct journal_head {
  std::string task;                     ///< the user's name for what is tuned; may be empty
  std::uint64_t fingerprint = 0;        ///< of the space
  std::vector<std::string> parameters;  ///< names, in order
  double space_size = 0;
  std::string strategy;  ///< name, with options that differ from the defaults
  std::uint64_t seed = 0;
  std::size_t batch = 0;
  named_values conditions;  ///< device, compiler, flags, load, date, ...: recorded, not compared

  /// Whether a run with the other head would ask the same.
  [[nodiscard]] bool same_run(const journal_head& o) const {
    return fingerprint == o.fingerprint && strategy == o.strategy && seed == o.seed && batch == o.batch;
  }
};

/// A finished trial.
struct journal_trial {
  named_values configuration;
  measurement result;
  double elapsed = 0;  ///< seconds of tuning when it was written
};

/// A configuration that is about to be measured, or was when a run died.
struct journal_attempt {
  named_values configuration;
  std::size_t deaths = 0;  ///< runs that died while it was being measured
  bool running = true;     ///< false: it is mentioned for the sake of its deaths only
};

/// One contestant of the final contest: a configuration, or a rival by name.
struct journal_contestant {
  std::string name;  ///< "default", a rival's name, or empty for a finalist
  named_values configuration;
  std::vector<double> seconds;  ///< one a round; not a number where it failed
};

/// The final contest of a run, taken after `trials` trials.
struct journal_contest {
  std::size_t trials = 0;
  std::size_t rounds = 0;  ///< asked for; fewer were held when `limit` ended it
  double limit = 0;        ///< seconds after which it was to end
  std::vector<journal_contestant> contestants;
};

/// What a journal already holds.
struct journal_content {
  std::vector<journal_trial> earlier;     ///< trials of other runs (another strategy, seed or batch): a warm start
  std::vector<journal_trial> trials;      ///< trials of this run, to be replayed
  std::vector<journal_contest> contests;  ///< of this run
  std::vector<journal_attempt> attempts;  ///< what the last attempt() said, if the run died after it; some may be
                                          ///< among the trials: they were finished before
  double elapsed = 0;                     ///< seconds of tuning spent by this run so far
  std::vector<std::string> notes;         ///< what was odd about it: a torn last line, ...
};

/// Where a session keeps its results. Each call returns after the data has left the process.
class journal {
 public:
  journal() = default;
  journal(const journal&) = delete;
  journal& operator=(const journal&) = delete;
  virtual ~journal() = default;

  /// Reads what is there and gets ready to append; called once, before anything else.
  /// @throws std::runtime_error  with file and line: damaged, written for another space, not writable
  [[nodiscard]] virtual journal_content open(const journal_head& head) = 0;
  /// @throws std::runtime_error  it cannot be written
  virtual void append(const journal_trial& t) = 0;
  virtual void append(const journal_contest& c) = 0;
  /// These are about to be measured; replaces what was said before, and is forgotten when the journal is closed: it is
  /// read again only where the process died. A journal that does not keep it cannot tell what killed a run.
  virtual void attempt(const std::vector<journal_attempt>&) {}
  /// The run ended here.
  virtual void finish(stop why, double elapsed) = 0;
  /// Nothing more will be written until it is opened again: lets other runs have it.
  virtual void close() noexcept {}
  /// For messages: the file's name.
  [[nodiscard]] virtual const std::string& name() const noexcept = 0;
};

}  // namespace tileseek
