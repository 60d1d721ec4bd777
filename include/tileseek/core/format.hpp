#pragma once
// Numbers as people read them, independent of the locale.

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>

namespace tileseek {

/// The shortest text that reads back as the same double.
[[nodiscard]] inline std::string shortest(double x) {
  std::array<char, 32> buffer{};
  const auto done = std::to_chars(buffer.data(), buffer.data() + buffer.size(), x);
  return {buffer.data(), done.ptr};
}

/// With this many digits after the point.
[[nodiscard]] inline std::string fixed(double x, int digits) {
  std::array<char, 400> buffer{};
  const auto done = std::to_chars(buffer.data(), buffer.data() + buffer.size(), x, std::chars_format::fixed, digits);
  return {buffer.data(), done.ptr};
}

/// Three significant digits with a unit: 13.2 ms, 950 us, 1.20 s; "-" for what is not finite.
[[nodiscard]] inline std::string show_seconds(double seconds) {
  if (!std::isfinite(seconds)) return "-";
  struct unit {
    double scale;
    const char* name;
  };
  constexpr std::array<unit, 4> units{{{1, " s"}, {1e3, " ms"}, {1e6, " us"}, {1e9, " ns"}}};
  for (const auto& u : units) {
    const double x = seconds * u.scale;
    if (x >= 1 || u.scale == 1e9) return fixed(x, x >= 99.95 ? 0 : x >= 9.995 ? 1 : 2) + u.name;
  }
  return "-";
}

/// 349,853
[[nodiscard]] inline std::string show_count(std::uint64_t n) {
  std::string digits = std::to_string(n);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

/// A duration on the clock: 42 s, 3:07, 1:02:09
[[nodiscard]] inline std::string show_clock(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "-";
  const auto total = static_cast<std::uint64_t>(seconds + 0.5);
  const auto two = [](std::uint64_t x) { return (x < 10 ? "0" : "") + std::to_string(x); };
  if (total < 60) return std::to_string(total) + " s";
  if (total < 3600) return std::to_string(total / 60) + ":" + two(total % 60);
  return std::to_string(total / 3600) + ":" + two(total / 60 % 60) + ":" + two(total % 60);
}

}  // namespace tileseek
