#pragma once
// Random numbers that are the same on every platform. The standard's distributions are not specified bit by bit, and
// <random> costs half a second to compile, so the library brings its own engine and draws.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace tileseek {

/// xoshiro256** (Blackman and Vigna, "Scrambled linear pseudorandom number generators", TOMS 2021), seeded through
/// SplitMix64 as its authors advise. A uniform random bit generator in the sense of the standard library.
class rng {
 public:
  using result_type = std::uint64_t;

  explicit constexpr rng(std::uint64_t seed = 0) noexcept {
    for (auto& word : state_) {
      seed += 0x9e3779b97f4a7c15ULL;
      std::uint64_t z = seed;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
      word = z ^ (z >> 31);
    }
  }

  [[nodiscard]] static constexpr result_type min() noexcept { return 0; }
  [[nodiscard]] static constexpr result_type max() noexcept { return ~result_type{0}; }

  constexpr result_type operator()() noexcept {
    const std::uint64_t result = rotate(state_[1] * 5, 7) * 9;
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

  /// A uniform integer in [0, n). Unbiased by rejection.
  /// @pre n > 0
  [[nodiscard]] constexpr std::uint64_t below(std::uint64_t n) noexcept {
    for (;;) {
      const std::uint64_t x = (*this)();
      // Below 2^64 mod n, which is below n, would come once too often.
      if (x >= n || x >= (0 - n) % n) return x % n;
    }
  }

  /// A uniform index in [0, n), as a signed int for points.
  [[nodiscard]] constexpr int index(int n) noexcept { return static_cast<int>(below(static_cast<std::uint64_t>(n))); }

  /// A uniform real in [0, 1) with 53 random bits.
  [[nodiscard]] constexpr double uniform() noexcept { return static_cast<double>((*this)() >> 11) * 0x1p-53; }

  /// A standard normal deviate (Marsaglia's polar method). It goes through libm's logarithm, so that its last bit may
  /// differ between platforms; use it for noise, not for choices.
  [[nodiscard]] double normal() {
    for (;;) {
      const double u = 2 * uniform() - 1;
      const double v = 2 * uniform() - 1;
      const double s = u * u + v * v;
      if (s > 0 && s < 1) return u * std::sqrt(-2 * std::log(s) / s);
    }
  }

  /// A uniform permutation in place (Fisher and Yates).
  template <class T>
  constexpr void shuffle(std::span<T> items) noexcept {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[static_cast<std::size_t>(below(i))]);
  }

  [[nodiscard]] friend constexpr bool operator==(const rng&, const rng&) noexcept = default;

 private:
  [[nodiscard]] static constexpr std::uint64_t rotate(std::uint64_t x, int k) noexcept {
    return (x << k) | (x >> (64 - k));
  }

  std::uint64_t state_[4];
};

}  // namespace tileseek
