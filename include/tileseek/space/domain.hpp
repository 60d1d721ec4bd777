#pragma once
// The values a parameter may take.

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tileseek/core/format.hpp>

namespace tileseek {

/// The values of one parameter. Ordered domains are kept ascending, and a move goes to the adjacent value; in an
/// unordered one, values stay as given and a move goes to any other.
template <class T>
struct domain {
  std::vector<T> values;
  bool ordered = std::is_arithmetic_v<T> && !std::same_as<T, bool>;
};

/// These values. Numbers are ordered whatever order they are given in; truth values, texts and enumerators are not.
/// @throws std::invalid_argument  a value is not a number (NaN)
template <class T>
[[nodiscard]] domain<T> values(std::vector<T> of) {
  domain<T> d{std::move(of)};
  if constexpr (std::is_arithmetic_v<T>) {
    for (const T v : d.values)
      if (v != v) detail::fail<std::invalid_argument>({"values: one of them is not a number"});
    std::sort(d.values.begin(), d.values.end());
  }
  return d;
}
template <class T>
[[nodiscard]] domain<T> values(std::initializer_list<T> of) {
  return tileseek::values(std::vector<T>(of));
}

/// These values, none nearer to one than to another: 128 and 129 of a choice are as different as 1 and 1000.
template <class T>
[[nodiscard]] domain<T> choice(std::vector<T> of) {
  return {std::move(of), false};
}
template <class T>
[[nodiscard]] domain<T> choice(std::initializer_list<T> of) {
  return {std::vector<T>(of), false};
}

/// first, first + step, ... up to and including last if it is met; none if first > last.
/// @throws std::invalid_argument  step is not positive
template <std::integral T>
[[nodiscard]] domain<T> range(T first, std::type_identity_t<T> last, std::type_identity_t<T> step = 1) {
  if (step <= 0) detail::fail<std::invalid_argument>({"range: step ", step, " is not positive"});
  domain<T> d;
  if (first > last) return d;
  // The distance between any two values of T fits the unsigned type, which wraps as it should.
  const auto distance = static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first);
  const auto stride = static_cast<std::uint64_t>(step);
  for (std::uint64_t i = 0; i <= distance / stride; ++i)
    d.values.push_back(static_cast<T>(static_cast<std::uint64_t>(first) + i * stride));
  return d;
}

/// The powers of two from `least` to `most`, both included if they are powers.
/// @throws std::invalid_argument  least < 1
template <std::integral T>
[[nodiscard]] domain<T> powers_of_two(T least, std::type_identity_t<T> most) {
  if (least < 1) detail::fail<std::invalid_argument>({"powers_of_two: the least value, ", least, ", is below 1"});
  domain<T> d;
  for (T v = 1;; v = static_cast<T>(v * 2)) {
    if (v >= least && v <= most) d.values.push_back(v);
    if (v > most / 2) break;
  }
  return d;
}

namespace detail {
/// @pre n >= 1
[[nodiscard]] inline std::vector<std::uint64_t> divisors_of(std::uint64_t n) {
  std::vector<std::uint64_t> found(1, 1);
  for (std::uint64_t prime = 2; n > 1; ++prime) {
    if (prime > n / prime) prime = n;  // what has no divisor up to its root is prime
    const std::vector<std::uint64_t> before = found;
    for (std::uint64_t power = prime; n % prime == 0; n /= prime, power *= prime) {
      std::vector<std::uint64_t> merged;  // what is found and power times what was there before, ascending
      std::size_t next = 0;
      for (const auto x : found) {
        for (; next < before.size() && power * before[next] < x; ++next) merged.push_back(power * before[next]);
        merged.push_back(x);
      }
      for (; next < before.size(); ++next) merged.push_back(power * before[next]);
      found.swap(merged);
    }
  }
  return found;
}
}  // namespace detail

/// The divisors of n, ascending. Takes as many steps as the square root of n without its small prime factors.
/// @throws std::invalid_argument  n < 1
template <std::integral T>
[[nodiscard]] domain<T> divisors(T n) {
  if (n < 1) detail::fail<std::invalid_argument>({"divisors: of ", n, ", which is below 1"});
  domain<T> d;
  for (const auto x : detail::divisors_of(static_cast<std::uint64_t>(n))) d.values.push_back(static_cast<T>(x));
  return d;
}

}  // namespace tileseek
