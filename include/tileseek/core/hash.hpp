#pragma once
// A number for a piece of data: to find what was kept under it, and to notice damage. It withstands accidents, not
// attacks.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tileseek::detail {

/// FNV-1a (G. Fowler, L. Noll, K.-P. Vo), 64 bits; goes on from `h`.
[[nodiscard]] inline std::uint64_t checksum(const void* data, std::size_t size,
                                            std::uint64_t h = 0xcbf29ce484222325ULL) noexcept {
  const auto* byte = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < size; ++i) h = (h ^ byte[i]) * 0x100000001b3ULL;
  return h;
}

/// Of a text and its length, so that "ab", "c" and "a", "bc" differ.
[[nodiscard]] inline std::uint64_t checksum(std::string_view text, std::uint64_t h) noexcept {
  const std::uint64_t size = text.size();
  return checksum(&size, sizeof size, checksum(text.data(), text.size(), h));
}

/// Sixteen digits.
[[nodiscard]] inline std::string hexadecimal(std::uint64_t x) {
  std::string out(16, '0');
  for (int i = 15; i >= 0; --i, x >>= 4) out[static_cast<std::size_t>(i)] = "0123456789abcdef"[x & 15U];
  return out;
}

}  // namespace tileseek::detail
