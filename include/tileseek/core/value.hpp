#pragma once
// A parameter's value with its type kept at run time: what logs hold and what run-time configurations are made of.

#include <concepts>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <tileseek/core/format.hpp>

namespace tileseek {

namespace detail {
/// Whether a number can be held by the arithmetic type T: in range and, for an integer or truth value, without a
/// fraction. A real may be rounded to a shorter one.
template <class T, class U>
[[nodiscard]] constexpr bool fits(U x) noexcept {
  using to = std::numeric_limits<T>;
  if constexpr (std::same_as<T, bool>) {
    return x == U{0} || x == U{1};
  } else if constexpr (std::floating_point<T>) {
    const auto magnitude =
        static_cast<long double>(x < U{} ? -static_cast<long double>(x) : static_cast<long double>(x));
    return !(magnitude > static_cast<long double>(to::max())) ||
           magnitude > static_cast<long double>(std::numeric_limits<U>::max());
  } else if constexpr (std::floating_point<U>) {
    constexpr U end = static_cast<U>(to::max() / 2 + 1) * 2;  // 2^digits, exactly
    return x < end && x >= (std::is_signed_v<T> ? -end : U{}) && static_cast<U>(static_cast<T>(x)) == x;
  } else {
    if constexpr (std::is_signed_v<U>)
      if (x < U{}) return std::is_signed_v<T> && static_cast<std::int64_t>(x) >= static_cast<std::int64_t>(to::min());
    return static_cast<std::uint64_t>(x) <= static_cast<std::uint64_t>(to::max());
  }
}
}  // namespace detail

/// A truth value, an integer, a real, a text, or the factors of a tile axis (outermost first).
class value {
 public:
  using variant = std::variant<std::int64_t, double, bool, std::string, std::vector<std::int64_t>>;

  value() = default;
  template <class T>
    requires std::integral<T> &&(!std::same_as<T, bool>)value(T v) : held_(static_cast<std::int64_t>(v)) {
      if (!detail::fits<std::int64_t>(v)) detail::fail<std::invalid_argument>({"value: ", v, " is above 2^63 - 1"});
    }
    template <std::same_as<bool> T>
    value(T v) : held_(v) {}
    template <std::floating_point T>
    value(T v) : held_(static_cast<double>(v)) {}
    value(std::string v) : held_(std::move(v)) {}
    value(std::string_view v) : held_(std::string(v)) {}
    value(const char* v) : held_(std::string(v)) {}
    value(std::vector<std::int64_t> v) : held_(std::move(v)) {}

    [[nodiscard]] const variant& get() const noexcept { return held_; }

    /// The value as a T: numbers and truth values convert to each other where nothing is lost but digits of a real; a
    /// text to std::string alone.
    /// @throws std::invalid_argument  there is no such conversion, as of 0.5 to int
    template <class T>
    [[nodiscard]] T as() const {
      if constexpr (std::is_arithmetic_v<T>) {
        const auto held = [&](auto x) {
          if (!detail::fits<T>(x))
            detail::fail<std::invalid_argument>({"value: ", to_string(*this), " does not fit the type asked for"});
          return static_cast<T>(x);
        };
        if (const auto* i = std::get_if<std::int64_t>(&held_)) return held(*i);
        if (const auto* d = std::get_if<double>(&held_)) return held(*d);
        if (const auto* b = std::get_if<bool>(&held_)) return held(*b);
      } else if constexpr (std::same_as<T, std::string>) {
        if (const auto* s = std::get_if<std::string>(&held_)) return *s;
      } else {
        static_assert(
            std::same_as<T, std::vector<std::int64_t>>,
            "tileseek::value holds numbers, truth values, texts and tile factors (std::vector<std::int64_t>)");
        if (const auto* f = std::get_if<std::vector<std::int64_t>>(&held_)) return *f;
      }
      detail::fail<std::invalid_argument>({"value: ", to_string(*this), " has another type than the one asked for"});
    }

    /// So that a rule may say [](int bm, int bn) {...} over named values.
    template <class T>
      requires(std::is_arithmetic_v<T> || std::same_as<T, std::string> || std::same_as<T, std::vector<std::int64_t>>)
    operator T() const { return as<T>(); }

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
      for (const auto f : std::get<std::vector<std::int64_t>>(v.held_))
        detail::append(out, {out.empty() ? "" : "x", f});
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
  for (const auto& [name, v] : values) detail::append(out, {out.empty() ? "" : " ", name, "=", to_string(v)});
  return out;
}

}  // namespace tileseek
