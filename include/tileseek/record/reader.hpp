#pragma once
// Reads a file of records, one a line, without ever holding more than one line:
//
//   std::ifstream file("conv2d.json");
//   tileseek::record_reader<tileseek::ansor_record> log(file, "conv2d.json");
//   while (auto record = log.next()) use(*record);
//   std::cout << log.report() << '\n';
//
// Damage is never passed over in silence. By default it ends the reading with an exception that names file and line, what
// was expected there, and how many records came before; with damage::skip such lines are left out, counted and listed in
// the report.

#include <cstddef>
#include <istream>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <tileseek/core/format.hpp>
#include <tileseek/record/detail/json_text.hpp>

namespace tileseek {

/// What a reader does about a line that is no record.
enum class damage { stop, skip };

/// What came of reading a file.
struct read_report {
  std::string file;
  std::size_t line = 0;                    ///< read last
  std::size_t records = 0;                 ///< kept
  std::size_t damaged = 0;                 ///< lines (or entries) left out
  std::vector<std::string> problems = {};  ///< "file:line: what": of the first 20 of them, and what else was odd

  /// "conv2d.json: 149 records, 1 damaged line left out: conv2d.json:17: expected ..."
  [[nodiscard]] friend std::string to_string(const read_report& r) {
    std::string out = detail::concat({r.file, ": ", r.records, r.records == 1 ? " record" : " records"});
    if (r.damaged > 0) detail::append(out, {", ", r.damaged, " damaged left out"});
    for (const auto& p : r.problems) detail::append(out, {"\n  ", p});
    if (r.damaged > r.problems.size()) out += "\n  ...";
    return out;
  }
  friend std::ostream& operator<<(std::ostream& out, const read_report& r) { return out << to_string(r); }
};

namespace detail {
/// Notes damage in the report, or throws.
[[gnu::cold]] inline void report_damage(read_report& r, damage what_to_do, const std::string& what) {
  const std::string place = concat({r.file, ":", r.line, ": ", what});
  if (what_to_do == damage::stop)
    fail<std::runtime_error>({place, "; ", r.records, r.records == 1 ? " record" : " records", " came before"});
  ++r.damaged;
  if (r.problems.size() < 20) r.problems.push_back(place);
}
}  // namespace detail

/// Gives the records of a file one after another. A Record is made from a line (and options of its own), and throws what
/// it expected. Empty lines are passed over, and those that begin with # are comments.
template <class Record, class... Options>
class record_reader {
 public:
  /// @param in    must outlive the reader
  /// @param name  what messages call the file
  record_reader(std::istream& in, std::string name, damage on_damage = damage::stop, Options... options)
      : in_(in), on_damage_(on_damage), options_(std::move(options)...) {
    report_.file = std::move(name);
  }

  /// The next record; nothing at the end of the file.
  /// @throws std::runtime_error  "file:line: what was expected" for a damaged line (with damage::stop); it can't be read
  [[nodiscard]] std::optional<Record> next() {
    std::string line;
    while (std::getline(in_, line)) {
      ++report_.line;
      const bool torn = in_.eof();  // no newline: perhaps still being written
      const auto begin = line.find_first_not_of(" \t\r");
      if (begin == std::string::npos || line[begin] == '#') continue;
      try {
        std::optional<Record> out = std::apply(
            [&](const auto&... o) { return std::optional<Record>(std::in_place, std::move(line), o...); }, options_);
        ++report_.records;
        return out;
      } catch (const detail::mismatch& e) {
        if (torn)
          detail::report_damage(report_, damage::skip,
                                detail::concat({"the last line is torn and was dropped: ", e.what()}));
        else
          detail::report_damage(report_, on_damage_, e.what());
      }
      line.clear();
    }
    if (in_.bad())
      detail::fail<std::runtime_error>({report_.file, ":", report_.line, ": reading failed after this line"});
    return std::nullopt;
  }

  /// What has been read so far.
  [[nodiscard]] const read_report& report() const noexcept { return report_; }

 private:
  std::istream& in_;
  damage on_damage_;
  std::tuple<Options...> options_;
  read_report report_;
};

}  // namespace tileseek
