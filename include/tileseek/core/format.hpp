#pragma once
// Numbers as people read them, independent of the locale.

#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tileseek {

/// The shortest text that reads back as the same double.
[[nodiscard]] inline std::string shortest(double x) {
  std::array<char, 32> buffer{};
  const auto done = std::to_chars(buffer.data(), buffer.data() + buffer.size(), x);
  return {buffer.data(), done.ptr};
}

/// With this many digits after the point.
/// @pre 0 <= digits <= 80
[[nodiscard]] inline std::string fixed(double x, int digits) {
  std::array<char, 400> buffer{};  // the largest double has 309 digits before the point
  const auto done = std::to_chars(buffer.data(), buffer.data() + buffer.size(), x, std::chars_format::fixed, digits);
  return {buffer.data(), done.ptr};
}

namespace detail {

/// A piece of a message: a text, which must outlive it, or a number.
class piece {
 public:
  piece(std::string_view text) noexcept
      : text_(text.data()),
        kind_(kind::text),
        size_(text.size()) {}  // NOLINT(google-explicit-constructor): meant to convert
  piece(const std::string& text) noexcept : piece(std::string_view(text)) {}  // NOLINT(google-explicit-constructor)
  piece(const char* text) noexcept : piece(std::string_view(text)) {}         // NOLINT(google-explicit-constructor)
  piece(double x) noexcept : real_(x), kind_(kind::real) {}                   // NOLINT(google-explicit-constructor)
  template <std::integral I>
  piece(I n) noexcept  // NOLINT(google-explicit-constructor)
      : natural_(static_cast<std::uint64_t>(n)), kind_(n < I{} ? kind::negative : kind::natural) {}

  [[gnu::cold]] void append_to(std::string& out) const {
    if (kind_ == kind::text)
      out.append(text_, size_);
    else if (kind_ == kind::real)
      out += shortest(real_);
    else
      append_integer(out);
  }

 private:
  enum class kind { text, real, natural, negative };

  [[gnu::cold]] void append_integer(std::string& out) const {
    std::array<char, 24> buffer{};
    char* first = buffer.data() + buffer.size();
    std::uint64_t left = kind_ == kind::negative ? 0 - natural_ : natural_;
    const char* const end = first;
    do *--first = static_cast<char>('0' + left % 10);
    while ((left /= 10) != 0);
    if (kind_ == kind::negative) *--first = '-';
    out.append(first, static_cast<std::size_t>(end - first));
  }

  union {
    const char* text_;
    double real_;
    std::uint64_t natural_;  ///< the bits of a negative number
  };
  kind kind_;
  std::size_t size_ = 0;  ///< of the text
};

[[gnu::cold]] inline void append(std::string& out, std::initializer_list<piece> pieces) {
  for (const auto& p : pieces) p.append_to(out);
}

/// The pieces one after another. A chain of + of strings compiles to ten times the code.
[[nodiscard, gnu::cold]] inline std::string concat(std::initializer_list<piece> pieces) {
  std::string out;
  append(out, pieces);
  return out;
}

/// Throws with the pieces as its message: in one place, because what a throw compiles to is longer than the call.
template <class Exception>
[[noreturn, gnu::cold, gnu::noinline]] void fail(std::initializer_list<piece> pieces) {
  throw Exception(concat(pieces));
}
}  // namespace detail

/// Three significant digits with a unit: 13.2 ms, 950 us, 1.20 s, 0 s; "-" for what is not finite.
[[nodiscard]] inline std::string show_seconds(double seconds) {
  if (!std::isfinite(seconds)) return "-";
  if (seconds == 0) return "0 s";
  if (seconds < 0) return "-" + show_seconds(-seconds);
  struct unit {
    double scale;
    const char* name;
  };
  constexpr std::array<unit, 4> units{{{1, " s"}, {1e3, " ms"}, {1e6, " us"}, {1e9, " ns"}}};
  for (const auto& u : units) {
    const double x = seconds * u.scale;
    // From 0.9995 of a unit on, three digits round to 1.00.
    if (x < 0.9995 && u.scale < 1e9) continue;
    std::string out = fixed(x, x >= 99.95 ? 0 : x >= 9.995 ? 1 : 2);
    return out += u.name;
  }
  return "-";
}

/// 349,853
[[nodiscard]] inline std::string show_count(std::uint64_t n) {
  std::array<char, 32> buffer{};
  char* const end = buffer.data() + buffer.size();
  char* first = end;
  for (int digits = 0; digits == 0 || n != 0; ++digits, n /= 10) {
    if (digits > 0 && digits % 3 == 0) *--first = ',';
    *--first = static_cast<char>('0' + n % 10);
  }
  return {first, end};
}

/// A duration on the clock: 42 s, 3:07, 1:02:09
[[nodiscard]] inline std::string show_clock(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "-";
  const auto total = static_cast<std::uint64_t>(std::fmin(seconds + 0.5, 1e18));
  if (total < 60) return detail::concat({total, " s"});
  const auto hours = total / 3600;
  const auto minutes = total / 60 % 60;
  const char* const zero = total % 60 < 10 ? ":0" : ":";
  if (hours == 0) return detail::concat({minutes, zero, total % 60});
  return detail::concat({hours, minutes < 10 ? ":0" : ":", minutes, zero, total % 60});
}

}  // namespace tileseek
