#pragma once
// Operands of GPU kernels, as floats or as 16-bit floats (IEEE 754 binary16), which a host has as bits only.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <tileseek/core/rng.hpp>
#include <tileseek/measure/arguments.hpp>

namespace tileseek::kernels::gpu {

/// What operands consist of. Results are fp32, and so are all sums.
enum class element { fp32, fp16 };
[[nodiscard]] constexpr std::string_view to_string(element e) noexcept { return e == element::fp32 ? "fp32" : "fp16"; }
[[nodiscard]] constexpr int bytes_of(element e) noexcept { return e == element::fp32 ? 4 : 2; }

/// The value of a 16-bit float that is finite.
[[nodiscard]] inline float half_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const float size =
      std::ldexp(static_cast<float>(exponent > 0 ? 1024 + fraction : fraction), (exponent > 0 ? exponent : 1) - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}

namespace detail {

/// Random numbers as a kernel's input, below 1 in size. 16-bit floats are at least 2^-5.
[[nodiscard]] inline argument operand(element type, std::size_t count, std::uint64_t seed) {
  if (type == element::fp32) return input<float>(count);
  std::vector<std::uint16_t> bits(count);
  rng random(seed);
  for (auto& b : bits) {
    const int sign = random.index(2), exponent = 10 + random.index(5), fraction = random.index(1024);
    b = static_cast<std::uint16_t>(sign << 15 | exponent << 10 | fraction);
  }
  return input(bits);
}

/// An operand's values.
[[nodiscard]] inline std::vector<float> floats(element type, const void* from, std::size_t count) {
  if (type == element::fp32) return {static_cast<const float*>(from), static_cast<const float*>(from) + count};
  std::vector<float> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = half_value(static_cast<const std::uint16_t*>(from)[i]);
  return out;
}

/// The truth as the floats that a kernel's result is compared with.
inline void narrow(const std::vector<double>& from, void* to) {
  for (std::size_t i = 0; i < from.size(); ++i) static_cast<float*>(to)[i] = static_cast<float>(from[i]);
}

}  // namespace detail
}  // namespace tileseek::kernels::gpu
