#pragma once
// Recordings as comma-separated lines, as measure/replay.hpp reads them: the parameters, then `status`, `time_ms` and,
// where it is known, `cv` (the standard deviation of the repeats over their mean).
//
//   std::ifstream file("gemm.csv");
//   const auto read = tileseek::read_csv(file, "gemm.csv");       // read.record, read.report
//   tileseek::write_csv(out, read.record);
//
// The space are the values that occur, in every combination. Held per configuration are all values by name: for brute-forced
// spaces of more than some 100,000 configurations, replay takes a twentieth of the memory.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <tileseek/core/format.hpp>
#include <tileseek/core/measurement.hpp>
#include <tileseek/core/statistics.hpp>
#include <tileseek/core/value.hpp>
#include <tileseek/record/detail/json_value.hpp>
#include <tileseek/record/reader.hpp>
#include <tileseek/record/recording.hpp>
#include <tileseek/space/configuration.hpp>

namespace tileseek {

struct csv_recording {
  recording record;
  read_report report;
};

namespace detail {

[[nodiscard]] inline std::vector<std::string_view> csv_cells(std::string_view line) {
  std::vector<std::string_view> out;
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  for (;;) {
    const std::size_t comma = line.find(',');
    out.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return out;
    line.remove_prefix(comma + 1);
  }
}

/// An integer, a real or, if it is neither, a text.
[[nodiscard]] inline value csv_value(std::string_view cell) {
  const char* const end = cell.data() + cell.size();
  std::int64_t whole = 0;
  if (const auto r = std::from_chars(cell.data(), end, whole); r.ec == std::errc() && r.ptr == end) return value(whole);
  double real = 0;
  if (const auto r = std::from_chars(cell.data(), end, real);
      r.ec == std::errc() && r.ptr == end && std::isfinite(real))
    return value(real);
  return value(cell);
}

/// A cell of what must be a number. @throws mismatch
[[nodiscard]] inline double csv_number(std::string_view cell, std::string_view column) {
  double real = 0;
  const auto r = std::from_chars(cell.data(), cell.data() + cell.size(), real);
  if (r.ec == std::errc() && r.ptr == cell.data() + cell.size() && std::isfinite(real) && real >= 0) return real;
  throw mismatch(concat({"expected a number of at least 0 in the column '", column, "', found '", cell, "'"}), 0);
}

[[nodiscard]] inline status csv_outcome(std::string_view word) {
  constexpr std::pair<std::string_view, status> words[] = {{"compile_error", status::build_failed},
                                                           {"launch_error", status::launch_failed},
                                                           {"correctness_error", status::wrong_result},
                                                           {"timeout", status::timed_out}};
  for (const auto& [known, meaning] : words)
    if (word == known) return meaning;
  status s = status::run_failed;
  return from_string(word, s) ? s : status::run_failed;
}

inline constexpr std::string_view csv_variation = "cv ";  ///< what a note with the third column begins with

}  // namespace detail

/// @param name  what messages call the file
/// @throws std::runtime_error  "file:line: expected ...": no header; a line that is none (with damage::stop)
[[nodiscard]] inline csv_recording read_csv(std::istream& in, const std::string& name,
                                            damage on_damage = damage::stop) {
  csv_recording out;
  out.report.file = name;
  out.report.line = 1;
  std::string line;
  const auto wrong = [&](const std::string& what) {
    detail::fail<std::runtime_error>({name, ":", out.report.line, ": ", what});
  };
  if (!std::getline(in, line)) wrong("expected a header, found the end of the file");
  std::vector<std::string> names;
  for (const auto cell : detail::csv_cells(line)) names.emplace_back(cell);
  const auto parameters = static_cast<std::size_t>(std::find(names.begin(), names.end(), "status") - names.begin());
  if (parameters == 0 || parameters + 1 >= names.size() || names[parameters + 1] != "time_ms")
    wrong("expected parameters and the columns status and time_ms in the header");
  const bool varied = parameters + 2 < names.size() && names[parameters + 2] == "cv";
  for (std::size_t i = 0; i < parameters; ++i)
    if (names[i].empty() || std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
                                names.begin() + static_cast<std::ptrdiff_t>(i))
      wrong(detail::concat({"expected another name than '", names[i], "' for the parameter ", i + 1}));
  while (std::getline(in, line)) {
    ++out.report.line;
    const bool torn = in.eof();
    if (line.empty() || line == "\r") continue;
    const auto cells = detail::csv_cells(line);
    try {
      if (cells.size() != names.size())
        throw detail::mismatch(detail::concat({"expected ", names.size(), " columns, found ", cells.size()}), 0);
      configuration c;
      for (std::size_t i = 0; i < parameters; ++i) c.set(names[i], detail::csv_value(cells[i]));
      const auto word = cells[parameters];
      measurement m;
      m.outcome = detail::csv_outcome(word);
      if (m.outcome == status::ok || m.outcome == status::rejected_early) {
        m.seconds.push_back(detail::csv_number(cells[parameters + 1], "time_ms") / 1000);
        if (!(m.seconds[0] > 0))
          throw detail::mismatch("expected a positive number in the column 'time_ms', found 0", 0);
        if (varied && !cells[parameters + 2].empty()) {
          static_cast<void>(detail::csv_number(cells[parameters + 2], "cv"));
          m.note = detail::concat({detail::csv_variation, cells[parameters + 2]});
        }
      } else {
        m.note = word;
      }
      out.record.trials.emplace_back(std::move(c), std::move(m));
      ++out.report.records;
    } catch (const detail::mismatch& e) {
      detail::report_damage(
          out.report, torn ? damage::skip : on_damage,
          torn ? detail::concat({"the last line is torn and was dropped: ", e.what()}) : std::string(e.what()));
    }
  }
  if (in.bad()) wrong("reading failed after this line");
  out.record.space = space_of_values(out.record.trials);
  return out;
}

/// Several samples become their median and their cv; the parameters are those of the space.
/// @throws std::invalid_argument  a text that has a comma or a line break
inline void write_csv(std::ostream& out, const recording& r) {
  const auto cell = [](const std::string& text) {
    if (text.find_first_of(",\r\n") != std::string::npos)
      detail::fail<std::invalid_argument>({"write_csv: '", text, "' has a comma or a line break"});
    return text;
  };
  const auto names = r.space.names();
  const auto timed = [](const measurement& m) {
    return !m.seconds.empty() && (m.outcome == status::ok || m.outcome == status::rejected_early);
  };
  const auto variation = [&](const measurement& m) -> std::string {
    if (!timed(m)) return {};
    if (m.note.starts_with(detail::csv_variation)) return m.note.substr(detail::csv_variation.size());
    if (m.seconds.size() < 2) return {};
    const double middle = detail::average(m.seconds);
    double squares = 0;
    for (const double s : m.seconds) squares += (s - middle) * (s - middle);
    return shortest(std::sqrt(squares / static_cast<double>(m.seconds.size() - 1)) / middle);
  };
  /// The word that was read, if it still means the same.
  const auto word = [&](const measurement& m) -> std::string {
    if (timed(m)) return std::string(to_string(m.outcome));
    if (!m.note.empty() && m.note.find_first_of(", \r\n") == std::string::npos &&
        detail::csv_outcome(m.note) == m.outcome)
      return m.note;
    return m.outcome == status::ok || m.outcome == status::rejected_early  // without a time
               ? "run_failed"
               : std::string(to_string(m.outcome));
  };
  bool varied = false;
  for (const auto& [c, m] : r.trials) varied = varied || !variation(m).empty();
  for (const auto& n : names) out << cell(n) << ',';
  out << "status,time_ms" << (varied ? ",cv\n" : "\n");
  for (const auto& [c, m] : r.trials) {
    for (const auto& n : names) out << cell(to_string(c[n])) << ',';
    out << word(m) << ',';
    if (timed(m)) out << shortest(detail::milliseconds(median(m.seconds)));
    if (varied) out << ',' << variation(m);
    out << '\n';
  }
}

}  // namespace tileseek
