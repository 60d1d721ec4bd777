#pragma once
// Numbers as people read them, independent of the locale.

#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <initializer_list>
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
    if (x >= 0.9995 || u.scale == 1e9) return fixed(x, x >= 99.95 ? 0 : x >= 9.995 ? 1 : 2) + u.name;
  }
  return "-";
}

/// 349,853
[[nodiscard]] inline std::string show_count(std::uint64_t n) {
  const std::string digits = std::to_string(n);
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

/// A duration on the clock: 42 s, 3:07, 1:02:09
[[nodiscard]] inline std::string show_clock(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "-";
  const auto total = static_cast<std::uint64_t>(std::fmin(seconds + 0.5, 1e18));
  const auto two = [](std::uint64_t x) { return (x < 10 ? "0" : "") + std::to_string(x); };
  if (total < 60) return std::to_string(total) + " s";
  if (total < 3600) return std::to_string(total / 60) + ":" + two(total % 60);
  return std::to_string(total / 3600) + ":" + two(total / 60 % 60) + ":" + two(total % 60);
}

namespace detail {

/// A piece of a message: a text, which must outlive it, or a number.
class piece {
 public:
  piece(std::string_view text) noexcept : text_(text) {}     // NOLINT(google-explicit-constructor): meant to convert
  piece(const std::string& text) noexcept : text_(text) {}   // NOLINT(google-explicit-constructor)
  piece(const char* text) noexcept : text_(text) {}          // NOLINT(google-explicit-constructor)
  piece(double x) noexcept : kind_(kind::real), real_(x) {}  // NOLINT(google-explicit-constructor)
  template <std::integral I>
  piece(I n) noexcept  // NOLINT(google-explicit-constructor)
      : kind_(n < I{} ? kind::negative : kind::natural), natural_(static_cast<std::uint64_t>(n)) {}

  [[gnu::cold]] void append_to(std::string& out) const {
    if (kind_ == kind::text)
      out += text_;
    else if (kind_ == kind::real)
      out += shortest(real_);
    else if (kind_ == kind::natural)
      out += std::to_string(natural_);
    else
      out += std::to_string(static_cast<std::int64_t>(natural_));
  }

 private:
  enum class kind { text, real, natural, negative };
  kind kind_ = kind::text;
  std::string_view text_;
  double real_ = 0;
  std::uint64_t natural_ = 0;
};

/// The pieces one after another. A chain of + of strings compiles to ten times the code.
[[nodiscard, gnu::cold]] inline std::string concat(std::initializer_list<piece> pieces) {
  std::string out;
  for (const auto& p : pieces) p.append_to(out);
  return out;
}

}  // namespace detail

}  // namespace tileseek
