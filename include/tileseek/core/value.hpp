#pragma once
// A parameter's value with its type kept at run time: what logs hold and what run-time configurations are made of.

#include <concepts>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <tileseek/core/format.hpp>

namespace tileseek {

/// A truth value, an integer, a real, a text, or the factors of a tile axis (outermost first).
class value {
 public:
  using variant = std::variant<std::int64_t, double, bool, std::string, std::vector<std::int64_t>>;

  value() = default;
  template <class T>
    requires std::integral<T> && (!std::same_as<T, bool>)
  value(T v) : held_(static_cast<std::int64_t>(v)) {}
  template <std::same_as<bool> T>
  value(T v) : held_(v) {}
  template <std::floating_point T>
  value(T v) : held_(static_cast<double>(v)) {}
  value(std::string v) : held_(std::move(v)) {}
  value(std::string_view v) : held_(std::string(v)) {}
  value(const char* v) : held_(std::string(v)) {}
  value(std::vector<std::int64_t> v) : held_(std::move(v)) {}

  [[nodiscard]] const variant& get() const noexcept { return held_; }

  /// The value as a T: numbers and truth values convert to each other, a text to std::string alone.
  /// @throws std::invalid_argument  there is no such conversion
  template <class T>
  [[nodiscard]] T as() const {
    if constexpr (std::is_arithmetic_v<T>) {
      if (const auto* i = std::get_if<std::int64_t>(&held_)) return static_cast<T>(*i);
      if (const auto* d = std::get_if<double>(&held_)) return static_cast<T>(*d);
      if (const auto* b = std::get_if<bool>(&held_)) return static_cast<T>(*b);
    } else if constexpr (std::same_as<T, std::string>) {
      if (const auto* s = std::get_if<std::string>(&held_)) return *s;
    } else {
      static_assert(std::same_as<T, std::vector<std::int64_t>>,
                    "tileseek::value holds numbers, truth values, texts and tile factors (std::vector<std::int64_t>)");
      if (const auto* f = std::get_if<std::vector<std::int64_t>>(&held_)) return *f;
    }
    throw std::invalid_argument("value: " + to_string(*this) + " has another type than the one asked for");
  }

  /// So that a rule may say [](int bm, int bn) {...} over named values.
  template <class T>
    requires(std::is_arithmetic_v<T> || std::same_as<T, std::string> || std::same_as<T, std::vector<std::int64_t>>)
  operator T() const {
    return as<T>();
  }

  [[nodiscard]] friend bool operator==(const value& a, const value& b) {
    if (a.held_.index() == b.held_.index()) return a.held_ == b.held_;
    // 2 and 2.0 are the same value: a log keeps no difference between them.
    const auto number = [](const value& v, double& out) {
      if (const auto* i = std::get_if<std::int64_t>(&v.held_)) return out = static_cast<double>(*i), true;
      if (const auto* d = std::get_if<double>(&v.held_)) return out = *d, true;
      return false;
    };
    double x = 0;
    double y = 0;
    return number(a, x) && number(b, y) && x == y;
  }

  /// As a report shows it: 32, 0.5, true, NHWC, 8x4x32.
  [[nodiscard]] friend std::string to_string(const value& v) {
    if (const auto* i = std::get_if<std::int64_t>(&v.held_)) return std::to_string(*i);
    if (const auto* d = std::get_if<double>(&v.held_)) return shortest(*d);
    if (const auto* b = std::get_if<bool>(&v.held_)) return *b ? "true" : "false";
    if (const auto* s = std::get_if<std::string>(&v.held_)) return *s;
    std::string out;
    for (const auto f : std::get<std::vector<std::int64_t>>(v.held_)) out += (out.empty() ? "" : "x") + std::to_string(f);
    return out;
  }

 private:
  variant held_ = std::int64_t{0};
};

/// Values by parameter name, in the order of the space.
using named_values = std::vector<std::pair<std::string, value>>;

/// "bm=32 bn=64 order=ijk"
[[nodiscard]] inline std::string to_string(const named_values& values) {
  std::string out;
  for (const auto& [name, v] : values) out += (out.empty() ? "" : " ") + name + "=" + to_string(v);
  return out;
}

}  // namespace tileseek
