#pragma once
// Progress on standard error: one line that redraws itself on a terminal, one plain line a batch elsewhere.

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#if defined(__unix__) || defined(__APPLE__)
#include <sys/ioctl.h>
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

namespace detail {
/// Time to go: at the rate so far, or by the clock's own limit, whichever ends first; 0 if there is nothing to tell by.
[[nodiscard, gnu::cold]] inline double seconds_left(const progress& p) {
  double left = p.second_limit - p.seconds;
  if (p.trial_limit != 0 && p.trial_limit >= p.trials && p.trials > p.replayed)
    left = std::fmin(left, p.seconds / static_cast<double>(p.trials) * static_cast<double>(p.trial_limit - p.trials));
  return std::isfinite(left) ? std::fmax(left, 0) : 0;
}
}  // namespace detail

/// One line: trials, best, rate, elapsed, time to go.
[[nodiscard, gnu::cold]] inline std::string to_string(const progress& p) {
  std::string line = std::to_string(p.trials);
  const auto add = [&line](std::initializer_list<detail::piece> pieces) {
    for (const auto& piece : pieces) piece.append_to(line);
  };
  if (p.trial_limit != 0) add({"/", p.trial_limit});
  add({" trials"});
  if (p.replayed != 0) add({" (", p.replayed, " from the log)"});
  if (p.failed != 0) add({", ", p.failed, " failed"});
  add({"  best ", show_seconds(p.best)});
  if (p.flop > 0 && std::isfinite(p.best)) add({"  ", fixed(p.flop / p.best * 1e-9, 1), " GFLOP/s"});
  add({"  ", show_clock(p.seconds), " elapsed"});
  if (const double left = detail::seconds_left(p); left > 0) add({"  ", show_clock(left), " to go"});
  return line;
}

namespace detail {

[[nodiscard]] inline bool is_terminal(std::FILE* f) noexcept {
#if defined(__unix__) || defined(__APPLE__)
  return isatty(fileno(f)) == 1;
#else
  return f == nullptr;
#endif
}

struct terminal {
  std::size_t columns = 4096;
  std::size_t lines = 4096;
};

/// Great numbers if it has none to tell.
[[nodiscard]] inline terminal terminal_size([[maybe_unused]] std::FILE* f) noexcept {
  terminal out;
#if defined(__unix__) || defined(__APPLE__)
  winsize window{};
  if (ioctl(fileno(f), TIOCGWINSZ, &window) == 0) {
    if (window.ws_col > 1) out.columns = window.ws_col;
    if (window.ws_row > 1) out.lines = window.ws_row;
  }
#endif
  return out;
}

}  // namespace detail

/// An observer that prints progress.
class progress_line {
 public:
  /// @param to  where to; standard error by default
  explicit progress_line(verbosity how = verbosity::automatic, std::FILE* to = stderr) : how_(how), to_(to) {
    if (how_ == verbosity::automatic) how_ = detail::is_terminal(to) ? verbosity::live : verbosity::plain;
  }

  [[gnu::cold]] void on_batch(const progress& p) {
    if (how_ == verbosity::quiet) return;
    if (p.replayed > 0 && p.trials == p.replayed) return;  // a log being replayed: nobody needs to see the past again
    std::string line = to_string(p);
    if (how_ == verbosity::plain) {
      std::fprintf(to_, "%s\n", line.c_str());
    } else {
      if (const auto width = detail::terminal_size(to_).columns; line.size() >= width)
        line.resize(width - 1);  // a wrapped line would not redraw
      std::fprintf(to_, "\r%s\x1b[K", line.c_str());
      open_ = true;
    }
    std::fflush(to_);
  }

  [[gnu::cold]] void on_note(std::string_view note) {
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

  verbosity how_;
  std::FILE* to_;
  bool open_ = false;
};

}  // namespace tileseek
