#pragma once
// A recorded search space: every configuration of a kernel with the time it once took. It stands in for the device, so
// that searches are compared over many seeds in seconds, and on the same numbers.
//
//   std::ifstream file("gemm.csv");
//   tileseek::replay kernel(file, "gemm.csv");
//   const auto results = kernel.measure(strategy.ask(kernel.space(), random, 8));

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <tileseek/core/measurement.hpp>
#include <tileseek/core/point.hpp>
#include <tileseek/space/lattice.hpp>

namespace tileseek {

/// A recording read from comma-separated lines, and the Measurer that answers from it.
///
/// The first line names the columns: the parameters, then `status`, `time_ms` and, optionally, `cv` (standard deviation
/// of the repeats over their mean); columns after these are ignored. Each further line is one configuration. `ok`
/// carries a time; any other status is a failure and keeps its word as the note (`compile_error` counts as
/// `build_failed`, `timeout` as `timed_out`, our own names as themselves, and words we do not know as `run_failed`).
/// What is not in the file is not feasible. A parameter that never changes is no coordinate of the space; `constants()`
/// has it.
///
/// Held per configuration: 8 bytes of time, 4 of cv, 1 of status, beside the lattice, which shares what configurations
/// have in common.
class replay {
 public:
  /// A parameter with one value throughout.
  struct constant {
    std::string name;
    double value = 0;
  };

  /// @param name  what errors call the recording, usually its path
  /// @throws std::runtime_error  "name:line: what is wrong" for an empty file, a header without `status` and `time_ms`,
  /// a
  ///                             line with too few or too many columns, something that is not a number, a time that is
  ///                             not positive, a configuration recorded twice, and a file without any configuration
  replay(std::istream& in, const std::string& name) { read(in, name); }

  /// The feasible configurations, one ordered coordinate a parameter.
  [[nodiscard]] const lattice& space() const noexcept { return space_; }
  [[nodiscard]] std::span<const constant> constants() const noexcept { return constants_; }
  [[nodiscard]] std::size_t size() const noexcept { return seconds_.size(); }

  /// The recorded results of these points, in their order; one sample each.
  /// @throws std::invalid_argument  a point is not in the recording
  [[nodiscard]] std::vector<measurement> measure(std::span<const point> batch) const {
    std::vector<measurement> out;
    out.reserve(batch.size());
    for (const auto& p : batch) out.push_back((*this)(p));
    return out;
  }

  [[nodiscard]] measurement operator()(const point& p) const {
    const std::size_t i = place(p);
    measurement m;
    m.outcome = outcome_[i];
    if (m.outcome == status::ok)
      m.seconds.push_back(seconds_[i]);
    else
      m.note = notes_[note_[i]];
    return m;
  }

  /// The recorded time in seconds, infinite for a failure.
  /// @throws std::invalid_argument  p is not in the recording
  [[nodiscard]] double cost(const point& p) const { return seconds_[place(p)]; }

  /// Standard deviation of the repeats over their mean; 0 where it was not recorded.
  /// @throws std::invalid_argument  p is not in the recording
  [[nodiscard]] double variation(const point& p) const {
    const std::size_t i = place(p);
    return variation_.empty() ? 0.0 : static_cast<double>(variation_[i]);
  }

  /// The shortest recorded time in seconds; infinite when nothing ran.
  [[nodiscard]] double best() const noexcept { return best_; }
  /// A configuration with that time, the first in the order of ranks.
  [[nodiscard]] point best_point() const { return *space_.unrank(best_rank_); }

 private:
  [[nodiscard]] std::size_t place(const point& p) const { return static_cast<std::size_t>(space_.rank(p)); }

  /// Cuts a line at its commas; without the carriage return of a file from elsewhere.
  static void cut(std::string_view line, std::vector<std::string_view>& out) {
    out.clear();
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    for (;;) {
      const std::size_t comma = line.find(',');
      std::string_view cell = line.substr(0, comma);
      while (!cell.empty() && cell.front() == ' ') cell.remove_prefix(1);
      while (!cell.empty() && cell.back() == ' ') cell.remove_suffix(1);
      out.push_back(cell);
      if (comma == std::string_view::npos) return;
      line.remove_prefix(comma + 1);
    }
  }

  [[nodiscard]] static bool number(std::string_view text, double& out) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc() && end == text.data() + text.size() && std::isfinite(out);
  }

  [[nodiscard]] static status outcome_of(std::string_view word) {
    status s = status::run_failed;
    if (from_string(word, s) && s != status::rejected_early) return s;
    if (word == "compile_error") return status::build_failed;
    if (word == "launch_error") return status::launch_failed;
    if (word == "correctness_error") return status::wrong_result;
    if (word == "timeout") return status::timed_out;
    return status::run_failed;
  }

  void read(std::istream& in, const std::string& name) {
    std::size_t line_number = 0;
    const auto wrong = [&](const std::string& what) {
      throw std::runtime_error(name + ":" + std::to_string(line_number) + ": " + what);
    };
    std::string line;
    std::vector<std::string_view> cells;
    ++line_number;
    if (!std::getline(in, line)) wrong("the file is empty; the first line names the columns");
    cut(line, cells);
    std::vector<std::string> names;
    for (const auto c : cells) names.emplace_back(c);
    const std::size_t columns = names.size();
    const auto parameters = static_cast<std::size_t>(std::find(names.begin(), names.end(), "status") - names.begin());
    if (parameters + 1 >= columns || names[parameters + 1] != "time_ms")
      wrong("no columns 'status' and 'time_ms' after the parameters in the header '" + line + "'");
    if (parameters == 0) wrong("no parameter before the column 'status'");
    const bool varied = parameters + 2 < columns && names[parameters + 2] == "cv";
    for (std::size_t d = 0; d < parameters; ++d)
      if (names[d].empty() || std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(d), names[d]) !=
                                  names.begin() + static_cast<std::ptrdiff_t>(d))
        wrong("column " + std::to_string(d + 1) + " has no name of its own: '" + names[d] + "'");

    // Values are kept as codes in the order in which they appear, and renumbered when all are known.
    std::vector<std::vector<double>> values(parameters);
    std::vector<std::uint16_t> codes;
    std::vector<double> seconds;
    std::vector<float> variation;
    std::vector<status> outcomes;
    std::vector<std::uint8_t> notes;
    std::vector<std::size_t> lines;
    notes_.emplace_back();
    while (std::getline(in, line)) {
      ++line_number;
      if (line.empty() || line == "\r") continue;
      cut(line, cells);
      if (cells.size() != columns)
        wrong(std::to_string(cells.size()) + " columns instead of " + std::to_string(columns));
      for (std::size_t d = 0; d < parameters; ++d) {
        double v = 0;
        if (!number(cells[d], v)) wrong("'" + std::string(cells[d]) + "' in column '" + names[d] + "' is not a number");
        auto& known = values[d];
        const auto at = static_cast<std::size_t>(std::find(known.begin(), known.end(), v) - known.begin());
        if (at == known.size()) known.push_back(v);
        if (at > std::numeric_limits<std::uint16_t>::max())
          wrong("more than 65536 values in column '" + names[d] + "'");
        codes.push_back(static_cast<std::uint16_t>(at));
      }
      const std::string_view word = cells[parameters];
      const std::string_view time = cells[parameters + 1];
      const status outcome = outcome_of(word);
      double took = std::numeric_limits<double>::infinity();
      if (outcome == status::ok && (!number(time, took) || took <= 0))
        wrong("'" + std::string(time) + "' in column 'time_ms' is not a positive number, and the status is ok");
      double deviation = 0;
      if (varied && !cells[parameters + 2].empty() && (!number(cells[parameters + 2], deviation) || deviation < 0))
        wrong("'" + std::string(cells[parameters + 2]) + "' in column 'cv' is not a number of at least 0");
      outcomes.push_back(outcome);
      seconds.push_back(took / 1000);
      if (varied) variation.push_back(static_cast<float>(deviation));
      std::size_t note = 0;
      if (outcome != status::ok) {
        note = static_cast<std::size_t>(std::find(notes_.begin(), notes_.end(), word) - notes_.begin());
        if (note == notes_.size()) notes_.emplace_back(word);
        if (note > std::numeric_limits<std::uint8_t>::max()) wrong("more than 255 different words in column 'status'");
      }
      notes.push_back(static_cast<std::uint8_t>(note));
      lines.push_back(line_number);
    }
    if (in.bad()) wrong("reading failed after this line");
    if (seconds.empty()) wrong("the file has a header and no configuration");

    std::vector<coordinate> axes;
    std::vector<std::size_t> kept;
    std::vector<std::vector<int>> rank_of(parameters);
    for (std::size_t d = 0; d < parameters; ++d) {
      std::vector<double> sorted = values[d];
      std::sort(sorted.begin(), sorted.end());
      for (const double v : values[d])
        rank_of[d].push_back(static_cast<int>(std::lower_bound(sorted.begin(), sorted.end(), v) - sorted.begin()));
      if (sorted.size() > 1) {
        kept.push_back(d);
        axes.push_back({names[d], std::move(sorted), true});
      } else {
        constants_.push_back({names[d], sorted.front()});
      }
    }
    const std::size_t count = seconds.size();
    const auto point_at = [&](std::size_t i) {
      point p(kept.size());
      for (std::size_t d = 0; d < kept.size(); ++d) p[d] = rank_of[kept[d]][codes[i * parameters + kept[d]]];
      return p;
    };
    {
      std::vector<point> points(count);
      for (std::size_t i = 0; i < count; ++i) points[i] = point_at(i);
      space_ = lattice::of_points(std::move(axes), std::move(points));
    }

    // The results in the order of ranks.
    constexpr std::size_t none = ~std::size_t{0};
    std::vector<std::size_t> line_of(count, none);
    seconds_.resize(count);
    outcome_.resize(count);
    note_.resize(count);
    variation_.resize(varied ? count : 0);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = place(point_at(i));
      line_number = lines[i];
      if (line_of[at] != none) wrong("the same configuration as in line " + std::to_string(line_of[at]));
      line_of[at] = lines[i];
      seconds_[at] = seconds[i];
      outcome_[at] = outcomes[i];
      note_[at] = notes[i];
      if (varied) variation_[at] = variation[i];
    }
    const auto least = std::min_element(seconds_.begin(), seconds_.end());
    best_ = *least;
    best_rank_ = static_cast<std::uint64_t>(least - seconds_.begin());
  }

  lattice space_;
  std::vector<constant> constants_;
  std::vector<double> seconds_;  ///< by rank, like the three below
  std::vector<status> outcome_;
  std::vector<std::uint8_t> note_;  ///< index into notes_
  std::vector<float> variation_;    ///< empty when not recorded
  std::vector<std::string> notes_;  ///< the words of the column 'status' that mean failure
  double best_ = 0;
  std::uint64_t best_rank_ = 0;
};

}  // namespace tileseek
