// Tunes the tile sizes of a C function: each configuration is compiled, checked against a reference, and timed.
#include <iostream>
#include <tileseek/measure/compiled.hpp>
#include <tileseek/tileseek.hpp>

struct Tiles {
  int BI = 32, BJ = 32, BK = 32;
};

void reference(const float* a, const float* b, float* c, int n) {
  for (int i = 0; i < n * n; ++i)
    for (int k = 0; k < n; ++k) c[i] = (k > 0 ? c[i] : 0) + a[i / n * n + k] * b[k * n + i % n];
}

int main(int argc, char** argv) {
  constexpr int n = 256;
  const auto p = tileseek::powers_of_two(1, n);
  const auto space =
      tileseek::space<Tiles>{}.add("BI", &Tiles::BI, p).add("BJ", &Tiles::BJ, p).add("BK", &Tiles::BK, p);
  const auto in = tileseek::input<float>(n * n), out = tileseek::output<float>(n * n);
  tileseek::compilation how{.source = argc > 1 ? argv[1] : "matmul.c", .function = "matmul", .truth = reference};
  how.arguments = {in, in, out, tileseek::scalar(n)};
  auto kernel = tileseek::compiled(space, how);
  std::cout << tileseek::tune(space, kernel, {.trials = 40, .flop = 2.0 * n * n * n}) << '\n';
}
