#pragma once
// A matrix product in blocks, for keep_winners.cpp, which tunes it, and use_winner.cpp, which uses what was found.

#include <algorithm>
#include <cstddef>
#include <vector>

/// c = a * b, square matrices of n rows, in blocks of bm x bk and bk x bn.
inline void multiply(int n, int bm, int bn, int bk, const std::vector<float>& a, const std::vector<float>& b,
                     std::vector<float>& c) {
  const auto at = [n](int row, int column) {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(n) + static_cast<std::size_t>(column);
  };
  std::fill(c.begin(), c.end(), 0.0F);
  for (int i0 = 0; i0 < n; i0 += bm)
    for (int l0 = 0; l0 < n; l0 += bk)
      for (int j0 = 0; j0 < n; j0 += bn)
        for (int i = i0; i < std::min(i0 + bm, n); ++i)
          for (int l = l0; l < std::min(l0 + bk, n); ++l)
            for (int j = j0; j < std::min(j0 + bn, n); ++j) c[at(i, j)] += a[at(i, l)] * b[at(l, j)];
}
