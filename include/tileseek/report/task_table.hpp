#pragma once
// The table of several tasks that are tuned under one budget: redrawn in place on a terminal, printed now and then
// elsewhere.
//
//   tasks_options o;
//   o.observers = {tileseek::task_table()};

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tileseek/core/format.hpp>
#include <tileseek/core/progress.hpp>
#include <tileseek/report/progress.hpp>

namespace tileseek {

/// A line of the table.
struct task_row {
  std::string name;
  double flop = 0;
  double weight = 1;
  double seconds = std::numeric_limits<double>::infinity();  ///< of the best; infinite: no valid result
  std::size_t trials = 0;                                    ///< unique configurations with a result
  std::size_t replayed = 0;                                  ///< of them, from the log
  std::size_t failed = 0;                                    ///< of them, without a valid time
  stop stopped = stop::running;                              ///< why it had no more turns; running: it might have had
  std::string best;                                          ///< the configuration, by name

  [[nodiscard]] bool valid() const noexcept { return std::isfinite(seconds); }
  [[nodiscard]] bool done() const noexcept { return stopped != stop::running; }
  [[nodiscard]] double gflops() const noexcept { return valid() && flop > 0 ? flop / seconds * 1e-9 : 0; }
  [[nodiscard]] double weighted_seconds() const noexcept { return weight * seconds; }
};

namespace detail {

[[nodiscard]] inline std::size_t sum(std::span<const task_row> rows, std::size_t task_row::*member) noexcept {
  std::size_t total = 0;
  for (const auto& r : rows) total += r.*member;
  return total;
}

/// Of the tasks that have a valid result.
[[nodiscard]] inline double weighted_seconds(std::span<const task_row> rows) noexcept {
  double total = 0;
  for (const auto& r : rows)
    if (r.valid()) total += r.weighted_seconds();
  return total;
}

/// These rows as a table, one line each under a head, numbers to the right. What is unknown is "-".
[[nodiscard, gnu::cold]] inline std::string table(std::span<const task_row> rows, std::span<const std::size_t> ids) {
  constexpr std::size_t columns = 9;
  using line = std::vector<std::string>;
  std::vector<line> lines{
      {"ID", "Name", "FLOP", "Weight", "Speed (GFLOPS)", "Latency (us)", "Weighted Latency (us)", "Trials", "Done"}};
  for (const auto i : ids) {
    const auto& r = rows[i];
    const auto known = [](bool is, double x, int digits) { return is ? fixed(x, digits) : std::string("-"); };
    lines.push_back({std::to_string(i), r.name, known(r.flop > 0, r.flop, 0), shortest(r.weight),
                     known(r.gflops() > 0, r.gflops(), 2), known(r.valid(), r.seconds * 1e6, 2),
                     known(r.valid(), r.weighted_seconds() * 1e6, 2), std::to_string(r.trials),
                     r.done() ? to_string(r.stopped) : ""});
  }
  std::vector<std::size_t> width(columns);
  for (const auto& l : lines)
    for (std::size_t c = 0; c < columns; ++c) width[c] = std::max(width[c], l[c].size());
  std::string out;
  for (const auto& l : lines) {
    std::string text;
    for (std::size_t c = 0; c < columns; ++c) {
      const std::string space(width[c] - l[c].size(), ' ');
      const bool left = c == 1 || c == columns - 1;
      append(text, {c == 0 ? "" : " | ", left ? "" : space, l[c], left ? space : ""});
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    append(out, {text, "\n"});
  }
  return out;
}

/// The table's foot: total trials and total weighted latency, and who has no part in it.
[[nodiscard, gnu::cold]] inline std::string totals(std::span<const task_row> rows, std::optional<std::size_t> limit) {
  std::string s = concat({"Total trials: ", show_count(sum(rows, &task_row::trials))});
  if (limit) append(s, {" of ", show_count(*limit)});
  if (const auto n = sum(rows, &task_row::failed); n > 0) append(s, {", ", show_count(n), " failed"});
  if (const auto n = sum(rows, &task_row::replayed); n > 0) append(s, {", ", show_count(n), " from the logs"});
  append(s, {"\nTotal weighted latency: ", fixed(weighted_seconds(rows) * 1e6, 2), " us"});
  const auto invalid = std::count_if(rows.begin(), rows.end(), [](const auto& r) { return !r.valid(); });
  if (invalid > 0) append(s, {", without the ", invalid, " of ", rows.size(), " tasks that have no valid result:"});
  const char* before = " ";
  for (const auto& r : rows)
    if (!r.valid()) append(s, {std::exchange(before, ", "), r.name});
  return s += '\n';
}

[[nodiscard]] inline std::vector<std::size_t> all_ids(std::span<const task_row> rows) {
  std::vector<std::size_t> ids(rows.size());
  std::iota(ids.begin(), ids.end(), std::size_t{0});
  return ids;
}

}  // namespace detail

/// The rows as a table.
[[nodiscard, gnu::cold]] inline std::string to_string(std::span<const task_row> rows) {
  return detail::table(rows, detail::all_ids(rows));
}

/// The state of a run of several tasks: after a turn, or at its end.
struct tasks_progress {
  std::span<const task_row> tasks;
  std::optional<std::size_t> turn{};         ///< the task whose turn it was; at the end, none
  std::size_t trials = 0;                    ///< of all tasks
  std::optional<std::size_t> trial_limit{};  ///< at which the run ends, if trials decide
  double seconds = 0;                        ///< of all tasks' tuning, earlier runs in the logs included
  double second_limit = std::numeric_limits<double>::infinity();  ///< at which the run ends
  stop stopped = stop::running;                                   ///< why it ended

  [[nodiscard]] std::size_t replayed() const noexcept { return detail::sum(tasks, &task_row::replayed); }
  /// Time to go, at the rate so far or by the limit of seconds; 0 if there is nothing to tell by.
  [[nodiscard]] double seconds_left() const {
    progress p;
    p.trials = trials;
    p.replayed = replayed();
    p.trial_limit = trial_limit.value_or(0);
    p.seconds = seconds;
    p.second_limit = second_limit;
    return stopped == stop::running ? detail::seconds_left(p) : 0;
  }
};

/// An observer of tune_tasks() that prints the table.
class task_table {
 public:
  /// @param how    live: in place, as many tasks as fit, those that weigh most; plain: below each other
  /// @param to     where to; standard error by default
  /// @param every  plain: seconds of tuning between two tables
  explicit task_table(verbosity how = verbosity::automatic, std::FILE* to = stderr, double every = 30)
      : how_(how), to_(to), every_(every) {
    if (how_ == verbosity::automatic) how_ = detail::is_terminal(to) ? verbosity::live : verbosity::plain;
  }

  /// Never asks to stop. At the end a live table goes away: the result of the run prints itself.
  [[gnu::cold]] bool operator()(const tasks_progress& p) {
    if (how_ == verbosity::quiet) return false;
    if (p.stopped != stop::running) {
      erase();
    } else if (p.trials > p.replayed() && (how_ == verbosity::live || p.seconds >= next_)) {  // nobody needs to see the
      next_ = p.seconds + every_;                                                             // past again
      draw(p);
    }
    std::fflush(to_);
    return false;
  }

 private:
  void draw(const tasks_progress& p) {
    constexpr std::size_t around = 6;  // lines: the head, the foot, how many are left out, and the cursor's
    auto size = detail::terminal_size(to_);
    if (how_ == verbosity::plain) size = {};
    auto ids = detail::all_ids(p.tasks);
    const std::size_t fit = size.lines > around ? size.lines - around : 1;
    if (ids.size() > fit) {
      std::stable_sort(ids.begin(), ids.end(), [&](std::size_t a, std::size_t b) {
        return p.tasks[a].weighted_seconds() > p.tasks[b].weighted_seconds();  // infinite without a valid result
      });
      ids.resize(fit);
      std::sort(ids.begin(), ids.end());
    }
    std::string text = detail::table(p.tasks, ids);
    if (ids.size() < p.tasks.size())
      detail::append(text, {"and ", p.tasks.size() - ids.size(), " tasks that weigh less\n"});
    detail::append(text, {detail::totals(p.tasks, p.trial_limit), "Elapsed: ", show_clock(p.seconds)});
    if (const double left = p.seconds_left(); left > 0) detail::append(text, {", ETA: ", show_clock(left)});
    text += '\n';
    erase();
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      const std::size_t shown = std::min(end - at, size.columns - 1);  // a wrapped line would not redraw
      std::fprintf(to_, "%.*s\n", static_cast<int>(shown), text.data() + at);
      if (how_ == verbosity::live) ++drawn_;
      at = end + 1;
    }
    if (how_ == verbosity::plain) std::fputc('\n', to_);
  }

  void erase() {
    if (drawn_ > 0) std::fprintf(to_, "\x1b[%zuF\x1b[J", drawn_);
    drawn_ = 0;
  }

  verbosity how_;
  std::FILE* to_;
  double every_;
  double next_ = 0;        ///< plain: seconds of tuning at which the next one is due
  std::size_t drawn_ = 0;  ///< lines on the screen that the next one goes over
};

}  // namespace tileseek
