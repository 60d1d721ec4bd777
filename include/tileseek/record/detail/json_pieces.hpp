#pragma once
// One JSON object of a whole file, read a piece at a time: its members, and the entries of the one member that holds the
// bulk, as text. So a file of a gigabyte needs the memory of one entry, and what is not changed is written as it was.

#include <cstddef>
#include <istream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tileseek/core/format.hpp>
#include <tileseek/record/detail/json_text.hpp>
#include <tileseek/record/reader.hpp>

namespace tileseek::detail {

/// A member of an object, or an element of a list, whose name is then empty. Both as text, the name without quotes.
struct json_piece {
  std::string name;
  std::string text;
  std::size_t line = 0;  ///< where the text begins
};

/// Reads {"a": ..., BULK: {...} or [...], "b": ...}.
///
/// The file may end early, as that of a run in progress does: behind an entry, which is noted, or inside of one, which is
/// then dropped, counted and noted.
class json_pieces {
 public:
  /// @throws std::runtime_error  "file:line: expected ..."
  json_pieces(std::istream& in, std::string file, std::string bulk) : in_(in), bulk_(std::move(bulk)) {
    report_.file = std::move(file);
    report_.line = 1;
    try {
      if (!accept('{')) wrong("an object, which begins with '{'");
      members(before_, true);
    } catch (const end_of_file&) {
      wrong("more of the file");
    }
  }

  /// What stands before the bulk; and, when next() has given everything, behind it.
  [[nodiscard]] const std::vector<json_piece>& before() const noexcept { return before_; }
  [[nodiscard]] const std::vector<json_piece>& behind() const noexcept { return behind_; }

  /// The next entry of the bulk; nothing when there are no more.
  /// @throws std::runtime_error  "file:line: expected ..."
  [[nodiscard]] std::optional<json_piece> next() {
    if (place_ != places::bulk) return std::nullopt;
    bool inside = false;
    try {
      if (accept(list_ ? ']' : '}')) {
        place_ = places::behind;
        members(behind_, false);
        return std::nullopt;
      }
      if (peek() == '\0') throw end_of_file{};
      if (!first_ && !accept(',')) wrong(list_ ? "',' or ']'" : "',' or '}'");
      first_ = false;
      if (peek() == '\0') throw end_of_file{};
      inside = true;
      json_piece out = piece(!list_);
      ++report_.records;
      return out;
    } catch (const end_of_file&) {
      place_ = places::end;
      report_.damaged += inside ? 1U : 0U;
      report_.problems.push_back(
          concat({report_.file, ":", report_.line,
                  inside ? ": the file ends inside an entry, which is dropped"
                         : ": the file ends here without a '}': the run goes on or was cut off"}));
      return std::nullopt;
    }
  }

  [[nodiscard]] const read_report& report() const noexcept { return report_; }

  /// An entry turned out to be none.
  /// @throws std::runtime_error  with damage::stop
  void refuse(const json_piece& entry, damage on_damage, const std::string& what) {
    --report_.records;
    const std::size_t here = std::exchange(report_.line, entry.line);
    report_damage(report_, on_damage, what);
    report_.line = here;
  }

 private:
  enum class places { before, bulk, behind, end };
  struct end_of_file {};

  [[noreturn, gnu::cold]] void wrong(std::string_view what) {
    const char c = peek();
    fail<std::runtime_error>({report_.file, ":", report_.line, ": expected ", what, ", found ",
                              c == '\0' ? std::string("the end") : concat({"'", std::string_view(&c, 1), "'"}), "; ",
                              report_.records, report_.records == 1 ? " entry" : " entries", " came before"});
  }

  /// The next character that is not white space; 0 at the end of the file.
  [[nodiscard]] char peek() {
    for (;;) {
      const int c = in_.peek();
      if (c == std::istream::traits_type::eof()) return '\0';
      if (c != ' ' && c != '\t' && c != '\n' && c != '\r') return c == 0 ? '?' : static_cast<char>(c);
      take();
    }
  }
  char take() {
    const int c = in_.get();
    if (c == std::istream::traits_type::eof()) throw end_of_file{};
    if (c == '\n') ++report_.line;
    return static_cast<char>(c);
  }
  bool accept(char c) {
    if (peek() != c) return false;
    take();
    return true;
  }

  /// The text of the next value. Whether it is JSON inside is for others to see.
  [[nodiscard]] std::string text() {
    std::string out;
    const auto quoted = [&] {  // from behind the first quote
      for (;;) {
        out += take();
        if (out.back() == '\\')
          out += take();
        else if (out.back() == '"')
          return;
      }
    };
    const char begin = peek();
    if (begin == '"' || begin == '{' || begin == '[') {
      int depth = 0;
      do {
        out += take();
        if (out.back() == '"') quoted();
        if (out.back() == '{' || out.back() == '[') ++depth;
        if (out.back() == '}' || out.back() == ']') --depth;
      } while (depth > 0);
      return out;
    }
    for (int c = in_.peek(); c > ' ' && c != ',' && c != '}' && c != ']'; c = in_.peek()) out += take();
    if (out.empty()) wrong("a value");
    return out;
  }

  [[nodiscard]] json_piece piece(bool named) {
    json_piece out;
    if (named) {
      if (peek() != '"') wrong("a name in quotes");
      const std::string quoted = text();
      out.name = quoted.substr(1, quoted.size() - 2);
      if (peek() == '\0') throw end_of_file{};
      if (!accept(':')) wrong("':'");
    }
    if (peek() == '\0') throw end_of_file{};
    out.line = report_.line;
    out.text = text();
    return out;
  }

  /// Reads members up to the bulk, or to the end.
  void members(std::vector<json_piece>& into, bool first) {
    for (;; first = false) {
      if (accept('}')) {
        if (place_ == places::before) wrong(concat({"a member \"", bulk_, "\" before here"}));
        place_ = places::end;
        if (peek() != '\0') wrong("the end of the file");
        return;
      }
      if (place_ == places::behind && peek() == '\0') throw end_of_file{};
      if (!first && !accept(',')) wrong("',' or '}'");
      if (peek() != '"') wrong("a name in quotes");
      const std::string quoted = text();
      if (!accept(':')) wrong("':'");
      if (place_ == places::before && quoted == concat({"\"", bulk_, "\""})) {
        list_ = peek() == '[';
        if (!list_ && peek() != '{') wrong("a list or an object");
        take();
        place_ = places::bulk;
        return;
      }
      json_piece one{quoted.substr(1, quoted.size() - 2), {}, report_.line};
      one.text = text();
      try {
        json_cursor c(one.text);
        c.skip();
        c.end("the end of a value");
      } catch (const mismatch& e) {
        fail<std::runtime_error>({report_.file, ":", one.line, ": ", e.what()});
      }
      into.push_back(std::move(one));
    }
  }

  std::istream& in_;
  std::string bulk_;
  read_report report_;
  std::vector<json_piece> before_, behind_;
  places place_ = places::before;
  bool list_ = false;
  bool first_ = true;  ///< whether no entry was read yet
};

}  // namespace tileseek::detail
