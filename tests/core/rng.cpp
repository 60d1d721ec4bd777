#include <tileseek/core/rng.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <span>
#include <vector>

using tileseek::rng;

namespace {

/// xoshiro256** and SplitMix64 once more, from their authors' description.
struct reference {
  std::array<std::uint64_t, 4> s{};
  explicit reference(std::uint64_t seed) {
    for (auto& word : s) {
      std::uint64_t z = (seed += 0x9e3779b97f4a7c15);
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
      z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
      word = z ^ (z >> 31);
    }
  }
  std::uint64_t next() {
    const auto rotl = [](std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); };
    const std::uint64_t result = rotl(s[1] * 5, 7) * 9;
    const std::uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
  }
};

double chi_square(const std::vector<int>& counts, double expected) {
  double sum = 0;
  for (const int c : counts) sum += (c - expected) * (c - expected) / expected;
  return sum;
}

}  // namespace

TEST_CASE("the numbers are those of xoshiro256** on every platform") {
  // SplitMix64 of seed 0 gives e220a8397b1dcdaf, 6e789e6aa1b965f4, ... (published test vector), hence:
  static_assert(rng(0)() == 0x99ec5f36cb75f2b4ULL);
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{42}, ~std::uint64_t{0}}) {
    rng mine(seed);
    reference theirs(seed);
    for (int i = 0; i < 100; ++i) CHECK(mine() == theirs.next());
  }
  CHECK(rng(1) == rng(1));
  CHECK(!(rng(1) == rng(2)));
  CHECK(rng::min() == 0);
  CHECK(rng::max() == ~std::uint64_t{0});
}

TEST_CASE("draws are fixed for a seed") {
  rng a(7);
  std::vector<std::uint64_t> drawn;
  for (int i = 0; i < 6; ++i) drawn.push_back(a.below(1000));
  reference b(7);
  for (const auto x : drawn) CHECK(x == b.next() % 1000);  // a rejection has a chance of 5e-17
}

TEST_CASE("below is uniform and in range") {
  for (const std::uint64_t n : {1U, 2U, 3U, 7U, 64U, 100U}) {
    CAPTURE(n);
    rng random(n);
    std::vector<int> counts(n, 0);
    for (std::uint64_t i = 0; i < 400 * n; ++i) {
      const auto x = random.below(n);
      REQUIRE(x < n);
      ++counts[static_cast<std::size_t>(x)];
    }
    const double freedom = static_cast<double>(n - 1);
    CHECK(chi_square(counts, 400) <= freedom + 3.1 * std::sqrt(2 * freedom) + 6);  // beyond the 99.9 % quantile
  }
}

TEST_CASE("below is unbiased for bounds that do not divide 2^64") {
  // Of [0, 3 * 2^62), plain remainders would give the lowest third twice as often as each other third.
  const std::uint64_t n = 3 * (std::uint64_t{1} << 62);
  rng random(11);
  std::vector<int> thirds(3, 0);
  for (int i = 0; i < 30000; ++i) ++thirds[static_cast<std::size_t>(random.below(n) / (std::uint64_t{1} << 62))];
  CHECK(chi_square(thirds, 10000) < 13.8);
  for (int i = 0; i < 100; ++i) CHECK(random.below(~std::uint64_t{0}) < ~std::uint64_t{0});
}

TEST_CASE("uniform reals are in [0, 1) with the right moments") {
  rng random(5);
  double sum = 0;
  double square = 0;
  constexpr int n = 20000;
  for (int i = 0; i < n; ++i) {
    const double x = random.uniform();
    REQUIRE((x >= 0 && x < 1));
    sum += x;
    square += x * x;
  }
  CHECK(sum / n == doctest::Approx(0.5).epsilon(0.02));
  CHECK(square / n == doctest::Approx(1.0 / 3).epsilon(0.03));
}

TEST_CASE("normal deviates have the moments of the standard normal distribution") {
  rng random(6);
  double sum = 0;
  double square = 0;
  double fourth = 0;
  constexpr int n = 40000;
  for (int i = 0; i < n; ++i) {
    const double x = random.normal();
    sum += x;
    square += x * x;
    fourth += x * x * x * x;
  }
  CHECK(std::fabs(sum / n) < 0.02);
  CHECK(square / n == doctest::Approx(1).epsilon(0.03));
  CHECK(fourth / n == doctest::Approx(3).epsilon(0.1));
}

TEST_CASE("a shuffle gives every permutation equally often") {
  rng random(8);
  std::map<std::vector<int>, int> seen;
  for (int i = 0; i < 24 * 200; ++i) {
    std::vector<int> v(4);
    std::iota(v.begin(), v.end(), 0);
    random.shuffle(std::span<int>(v));
    ++seen[v];
  }
  CHECK(seen.size() == 24);
  std::vector<int> counts;
  for (const auto& [permutation, count] : seen) counts.push_back(count);
  CHECK(chi_square(counts, 200) < 49.7);  // 99.9 % quantile at 23 degrees of freedom
  std::vector<int> none;
  random.shuffle(std::span<int>(none));
}

TEST_CASE("an index is a signed number in [0, n)") {
  rng random(9);
  for (int i = 0; i < 100; ++i) {
    const int x = random.index(5);
    CHECK((x >= 0 && x < 5));
  }
  CHECK(random.index(1) == 0);
}
