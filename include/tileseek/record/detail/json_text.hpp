#pragma once
// JSON as text: finds the values in it and checks its form, and leaves the text as it is. A record of another tool is
// written back by replacing a few numbers in its line, so that all else stays as it was, byte by byte; and a log is read
// about ten times as fast as through a tree of nodes, which would be built for every line to read a dozen numbers.

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <tileseek/core/format.hpp>

namespace tileseek::detail {

/// What a reader expected and did not find. Carries the place in the text, to which a file adds its name and line.
class mismatch : public std::runtime_error {
 public:
  mismatch(const std::string& what, std::size_t at) : std::runtime_error(what), at_(at) {}
  [[nodiscard]] std::size_t at() const noexcept { return at_; }

 private:
  std::size_t at_;
};

/// Part of a text: [begin, end).
struct text_range {
  std::size_t begin = 0;
  std::size_t end = 0;
  [[nodiscard]] std::string_view of(std::string_view text) const { return text.substr(begin, end - begin); }
};

/// Walks over the JSON in a text, which must outlive it. What is not JSON, or not what is asked for, throws a mismatch.
class json_cursor {
 public:
  explicit json_cursor(std::string_view text, std::size_t at = 0) : text_(text), at_(at) {}

  [[nodiscard]] std::size_t at() const noexcept { return at_; }

  [[noreturn, gnu::cold]] void expected(std::string_view what) const {
    const auto found = at_ < text_.size() ? concat({"'", printable(text_.substr(at_, 24)), "'"}) : "the end";
    throw mismatch(concat({"expected ", what, ", found ", found, " at byte ", at_ + 1}), at_);
  }

  /// The next character that is not white space; 0 at the end.
  [[nodiscard]] char peek() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  /// Steps over this character if it is next.
  bool accept(char c) {
    if (peek() != c || at_ == text_.size()) return false;
    ++at_;
    return true;
  }
  void require(char c, std::string_view what) {
    if (!accept(c)) expected(what);
  }
  void end(std::string_view what = "the end of the line") {
    static_cast<void>(peek());
    if (at_ < text_.size()) expected(what);
  }

  /// Calls each(i) in front of every element of a list; it steps over the element.
  template <class Each>
  void list(std::string_view what, const Each& each) {
    require('[', what);
    if (accept(']')) return;
    for (std::size_t i = 0;; ++i) {
      each(i);
      if (accept(']')) return;
      require(',', "',' or ']'");
    }
  }

  /// Calls each(name) in front of every member's value; the name is as in the text, without its quotes.
  template <class Each>
  void object(std::string_view what, const Each& each) {
    require('{', what);
    if (accept('}')) return;
    for (;;) {
      const text_range name = string("a name in quotes");
      require(':', "':'");
      each(text_.substr(name.begin + 1, name.end - name.begin - 2));
      if (accept('}')) return;
      require(',', "',' or '}'");
    }
  }

  /// Steps over a value of any kind. Values nested deeper than 64 are refused.
  text_range skip(int depth = 0) {
    const char c = peek();
    const std::size_t begin = at_;
    if (depth > 64) expected("at most 64 values inside one another");
    if (c == '"') return string("a text");
    if (c == '[')
      list("a list", [&](std::size_t) { skip(depth + 1); });
    else if (c == '{')
      object("an object", [&](std::string_view) { skip(depth + 1); });
    else if (c == 't' || c == 'f' || c == 'n')
      word();
    else
      static_cast<void>(number_text("a value"));
    return {begin, at_};
  }

  /// With its quotes.
  text_range string(std::string_view what) {
    if (peek() != '"') expected(what);
    const std::size_t begin = at_++;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') return {begin, ++at_};
      if (static_cast<unsigned char>(c) < 0x20) expected("a text without control characters");
      if (c == '\\') escape();
    }
    expected("the end of a text");
  }

  /// A text as it is meant.
  [[nodiscard]] std::string text(std::string_view what) {
    const text_range quoted = string(what);
    std::string out;
    for (std::size_t i = quoted.begin + 1; i + 1 < quoted.end; ++i) {
      if (text_[i] != '\\') {
        out += text_[i];
        continue;
      }
      constexpr std::string_view from = "\"\\/bfnrt";
      constexpr std::string_view to = "\"\\/\b\f\n\r\t";
      if (text_[++i] != 'u') {
        out += to[from.find(text_[i])];
        continue;
      }
      std::uint32_t code = hexadecimal(i + 1);
      i += 4;
      if (code >= 0xd800 && code < 0xdc00 && text_.substr(i + 1, 2) == "\\u") {  // the first half of a pair
        const std::uint32_t second = hexadecimal(i + 3);
        if (second >= 0xdc00 && second < 0xe000) {
          code = 0x10000U + ((code - 0xd800U) << 10U) + (second - 0xdc00U);
          i += 6;
        }
      }
      append_utf8(out, code >= 0xd800 && code < 0xe000 ? 0xfffdU : code);  // half a pair is no character
    }
    return out;
  }

  [[nodiscard]] std::int64_t integer(std::string_view what) {
    const text_range t = number_text(what);
    std::int64_t out = 0;
    const auto [stop, error] = std::from_chars(text_.data() + t.begin, text_.data() + t.end, out);
    if (error == std::errc() && stop == text_.data() + t.end) return out;
    at_ = t.begin;
    expected(what);
  }

  /// A number; beyond the range of a double it is infinite, or 0.
  [[nodiscard]] double number(std::string_view what) {
    const text_range t = number_text(what);
    double out = 0;
    const auto [stop, error] = std::from_chars(text_.data() + t.begin, text_.data() + t.end, out);
    if (error == std::errc::result_out_of_range)
      return t.of(text_).find("e-") != std::string_view::npos || t.of(text_).find("E-") != std::string_view::npos
                 ? 0.0
                 : std::numeric_limits<double>::infinity();
    return out;
  }

  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view what) {
    std::vector<std::int64_t> out;
    list(what, [&](std::size_t) { out.push_back(integer(what)); });
    return out;
  }
  [[nodiscard]] std::vector<double> numbers(std::string_view what) {
    std::vector<double> out;
    list(what, [&](std::size_t) { out.push_back(number(what)); });
    return out;
  }

 private:
  [[nodiscard]] static bool is_space(char c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
  [[nodiscard]] static bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
  [[nodiscard]] char here() const noexcept { return at_ < text_.size() ? text_[at_] : '\0'; }

  [[nodiscard]] static std::string printable(std::string_view raw) {
    std::string out;
    for (const char c : raw)
      out += static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e ? '?' : c;
    return out;
  }

  /// @pre four hexadecimal digits are there
  [[nodiscard]] std::uint32_t hexadecimal(std::size_t at) const {
    std::uint32_t out = 0;
    static_cast<void>(std::from_chars(text_.data() + at, text_.data() + at + 4, out, 16));
    return out;
  }

  static void append_utf8(std::string& out, std::uint32_t code) {
    const auto byte = [&out](std::uint32_t b) { out += static_cast<char>(static_cast<unsigned char>(b)); };
    if (code < 0x80U) return byte(code);
    if (code < 0x800U) {
      byte(0xc0U | code >> 6U);
    } else {
      if (code < 0x10000U) {
        byte(0xe0U | code >> 12U);
      } else {
        byte(0xf0U | code >> 18U);
        byte(0x80U | (code >> 12U & 0x3fU));
      }
      byte(0x80U | (code >> 6U & 0x3fU));
    }
    byte(0x80U | (code & 0x3fU));
  }

  void word() {
    for (const std::string_view w : {"true", "false", "null"})
      if (text_.substr(at_, w.size()) == w) {
        at_ += w.size();
        return;
      }
    expected("a value");
  }

  /// @pre a backslash is here; ends at the escape's last character
  void escape() {
    constexpr std::string_view simple = "\"\\/bfnrt";
    ++at_;
    if (here() != '\0' && simple.find(here()) != std::string_view::npos) return;
    if (here() != 'u') expected("an escape in a text");
    for (int i = 0; i < 4; ++i) {
      ++at_;
      const char c = here();
      if (!is_digit(c) && !(c >= 'a' && c <= 'f') && !(c >= 'A' && c <= 'F')) expected("four hexadecimal digits");
    }
  }

  [[nodiscard]] text_range number_text(std::string_view what) {
    static_cast<void>(peek());
    const std::size_t begin = at_;
    const auto digits = [&] {
      if (!is_digit(here())) {
        at_ = begin;
        expected(what);
      }
      while (is_digit(here())) ++at_;
    };
    if (here() == '-') ++at_;
    if (here() == '0')
      ++at_;
    else
      digits();
    if (here() == '.') {
      ++at_;
      digits();
    }
    if (here() == 'e' || here() == 'E') {
      ++at_;
      if (here() == '+' || here() == '-') ++at_;
      digits();
    }
    return {begin, at_};
  }

  std::string_view text_;
  std::size_t at_;
};

/// A text with some of its parts replaced.
class text_edits {
 public:
  explicit text_edits(std::string_view text) : text_(text) {}

  /// @pre ranges come in order and do not overlap
  void replace(text_range range, std::string_view by) {
    out_ += text_.substr(done_, range.begin - done_);
    out_ += by;
    done_ = range.end;
  }
  [[nodiscard]] std::string finish() {
    out_ += text_.substr(done_);
    done_ = text_.size();
    return std::move(out_);
  }

 private:
  std::string_view text_;
  std::string out_;
  std::size_t done_ = 0;
};

/// @pre all are finite
[[nodiscard]] inline std::string json_list(const std::vector<double>& numbers) {
  std::string out = "[";
  for (const double x : numbers) append(out, {out.size() > 1 ? ", " : "", shortest(x)});
  return out += ']';
}

}  // namespace tileseek::detail
