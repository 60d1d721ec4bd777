#pragma once
// Progress on standard error: one line that redraws itself on a terminal, one plain line a batch elsewhere.

#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

#include <tileseek/core/format.hpp>
#include <tileseek/core/progress.hpp>

namespace tileseek {

/// How progress is shown.
enum class verbosity {
  automatic,  ///< live on a terminal, plain elsewhere
  live,       ///< one line, redrawn
  plain,      ///< one line a batch
  quiet,      ///< nothing
};

/// One line: trials, best, rate, elapsed, time to go.
[[nodiscard]] inline std::string to_string(const progress& p) {
  std::string line = std::to_string(p.trials);
  if (p.trial_limit != 0) line += "/" + std::to_string(p.trial_limit);
  line += " trials";
  if (p.replayed != 0) line += " (" + std::to_string(p.replayed) + " from the log)";
  if (p.failed != 0) line += ", " + std::to_string(p.failed) + " failed";
  line += "  best " + show_seconds(p.best);
  if (p.flop > 0 && std::isfinite(p.best)) line += "  " + fixed(p.flop / p.best * 1e-9, 1) + " GFLOP/s";
  line += "  " + show_clock(p.seconds) + " elapsed";
  // Time to go: at the rate so far, or the clock's own limit, whichever ends first.
  double left = p.second_limit - p.seconds;
  if (p.trial_limit > p.trials && p.trials > p.replayed)
    left = std::fmin(left, p.seconds / static_cast<double>(p.trials) * static_cast<double>(p.trial_limit - p.trials));
  if (std::isfinite(left) && left > 0) line += "  " + show_clock(left) + " to go";
  return line;
}

/// An observer that prints progress.
class progress_line {
 public:
  /// @param to  where to; standard error by default
  explicit progress_line(verbosity how = verbosity::automatic, std::FILE* to = stderr) : how_(how), to_(to) {
    if (how_ == verbosity::automatic) how_ = is_terminal(to) ? verbosity::live : verbosity::plain;
  }

  void on_batch(const progress& p) {
    if (how_ == verbosity::quiet) return;
    const std::string line = to_string(p);
    if (how_ == verbosity::plain) {
      std::fprintf(to_, "%s\n", line.c_str());
    } else {
      std::fprintf(to_, "\r%s\x1b[K", line.c_str());
      open_ = true;
    }
    std::fflush(to_);
  }

  void on_note(std::string_view note) {
    if (how_ == verbosity::quiet) return;
    close();
    std::fprintf(to_, "note: %.*s\n", static_cast<int>(note.size()), note.data());
  }

  void on_finish(const progress& /*p*/, stop /*why*/) { close(); }

 private:
  void close() {
    if (std::exchange(open_, false)) std::fputc('\n', to_);
    std::fflush(to_);
  }

  [[nodiscard]] static bool is_terminal(std::FILE* f) noexcept {
#if defined(__unix__) || defined(__APPLE__)
    return isatty(fileno(f)) == 1;
#else
    return f == nullptr;
#endif
  }

  verbosity how_;
  std::FILE* to_;
  bool open_ = false;
};

}  // namespace tileseek
