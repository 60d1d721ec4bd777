// Tunes the blocking of a loop nest of your own: a struct of what may vary, a space, and tune().
#include <tileseek/tileseek.hpp>

#include <algorithm>
#include <iostream>

constexpr int n = 256;
float a[n * n], b[n * n], c[n * n];

struct Blocking {
  int bm = 32, bn = 32, bk = 32;
};

void multiply(const Blocking& tile) {
  std::fill_n(c, n * n, 0.0F);
  for (int i0 = 0; i0 < n; i0 += tile.bm)
    for (int l0 = 0; l0 < n; l0 += tile.bk)
      for (int j0 = 0; j0 < n; j0 += tile.bn)
        for (int i = i0; i < std::min(i0 + tile.bm, n); ++i)
          for (int l = l0; l < std::min(l0 + tile.bk, n); ++l)
            for (int j = j0; j < std::min(j0 + tile.bn, n); ++j) c[i * n + j] += a[i * n + l] * b[l * n + j];
}

int main() {
  const auto space = tileseek::space<Blocking>{}
                         .add("bm", &Blocking::bm, tileseek::powers_of_two(4, n))
                         .add("bn", &Blocking::bn, tileseek::powers_of_two(4, n))
                         .add("bk", &Blocking::bk, tileseek::divisors(n))
                         .where(
                             "a tile of C fits in L1", [](int bm, int bn) { return 4 * bm * bn <= 32 * 1024; },
                             &Blocking::bm, &Blocking::bn);
  const auto timed = [](const Blocking& tile, const tileseek::timing_limits& limits) {
    return tileseek::time([&] { multiply(tile); }, limits);
  };
  std::cout << tileseek::tune(space, timed, {.trials = 60, .seed = 1}) << '\n';
}
