#pragma once
// What the search of one task has brought so far: all that a scheduler knows of the past.

#include <cstddef>
#include <limits>
#include <vector>

namespace tileseek {

/// The least cost after each trial, and where the rounds end. A failure is a trial that improves nothing: before the
/// first valid one there is no best, and no stand-in for it that a scheduler could take for a latency.
class task_history {
 public:
  /// What counts as an improvement: this share of the best, which is what a median of few samples can tell.
  static constexpr double notable = 0.005;

  /// @param known  seconds of the best result that was known before the first trial; infinite: none was
  explicit task_history(double known = none) : known_(known), best_(known) {}

  /// A trial ended with this cost in seconds; infinite: it failed.
  void add(double cost) {
    if (!(cost < none)) ++failures_;
    const bool better = cost < best_;
    if (better) best_ = cost;
    curve_.push_back(best_);
    while (better && curve_[settled_] > (1 + notable) * best_) ++settled_;
  }
  /// The round ends here.
  void end_round() {
    ends_.push_back(curve_.size());
    if (!valid()) ++failed_rounds_;
  }

  [[nodiscard]] std::size_t trials() const noexcept { return curve_.size(); }
  [[nodiscard]] std::size_t failures() const noexcept { return failures_; }
  [[nodiscard]] std::size_t rounds() const noexcept { return ends_.size(); }
  /// Rounds that ended without a valid result: all before the first one.
  [[nodiscard]] std::size_t failed_rounds() const noexcept { return failed_rounds_; }

  /// Whether there is a valid result.
  [[nodiscard]] bool valid() const noexcept { return best_ < none; }
  /// Seconds; infinite while no trial was valid.
  [[nodiscard]] double best() const noexcept { return best_; }
  /// After the first n trials. @pre n <= trials()
  [[nodiscard]] double best_after(std::size_t n) const noexcept { return n == 0 ? known_ : curve_[n - 1]; }
  /// After the first n rounds. @pre n <= rounds()
  [[nodiscard]] double best_after_round(std::size_t n) const noexcept { return best_after(n == 0 ? 0 : ends_[n - 1]); }

  /// Trials since the best was last notably worse than now; all of them while no trial was valid.
  [[nodiscard]] std::size_t stall() const noexcept { return curve_.size() - settled_; }

 private:
  static constexpr double none = std::numeric_limits<double>::infinity();

  double known_;
  double best_;
  std::vector<double> curve_;      ///< the best after each trial
  std::vector<std::size_t> ends_;  ///< of each round: trials by then
  std::size_t settled_ = 0;        ///< leading trials after which the best was notably worse than now
  std::size_t failures_ = 0;
  std::size_t failed_rounds_ = 0;
};

}  // namespace tileseek
