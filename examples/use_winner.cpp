// Runs a kernel as it was tuned, in a program that knows nothing of tileseek: the winners are a constexpr table in a header
// that keep_winners wrote.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iostream>
#include <limits>
#include <vector>

#include "blocked_matmul.hpp"
#include "tuned_matmul.hpp"

namespace {
double milliseconds(int n, long long bm, long long bn, long long bk) {
  const auto size = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  const std::vector<float> a(size, 0.5F), b(size, 0.25F);
  std::vector<float> c(size);
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 5; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    multiply(n, static_cast<int>(bm), static_cast<int>(bn), static_cast<int>(bk), a, b, c);
    least =
        std::min(least, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  return c[0] == static_cast<float>(n) * 0.125F ? least : -1;
}
}  // namespace

int main() {
  for (const int n : {100, 200, 300}) {  // none of them was tuned: the nearest one was
    const auto& best = tuned::nearest_matmul(n, "this CPU");
    std::cout << "n = " << n << ", tuned for " << best.n << " with blocks " << best.bm << " x " << best.bn << " x "
              << best.bk << ": " << milliseconds(n, best.bm, best.bn, best.bk) << " ms, untuned "
              << milliseconds(n, 32, 32, 32) << " ms\n";
  }
  static_assert(tuned::nearest_matmul(64, "this CPU").n == 64, "a table known to the compiler");
}
