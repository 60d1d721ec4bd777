#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>
#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

namespace tileseek::kernels {

struct matmul_shape {
  int m = 1, n = 1, k = 1;
  [[nodiscard]] double flop() const { return 2.0 * m * n * k; }
};

#if defined(__AVX512F__)
inline constexpr int vector_bytes = 64;
inline constexpr int vector_registers = 32;
#elif defined(__AVX__)
inline constexpr int vector_bytes = 32;
inline constexpr int vector_registers = 16;
#elif defined(__aarch64__)
inline constexpr int vector_bytes = 16;
inline constexpr int vector_registers = 32;
#else
inline constexpr int vector_bytes = 16;
inline constexpr int vector_registers = 16;
#endif
inline constexpr int vector_lanes = vector_bytes / 4;

enum class matmul_order { n_then_m, m_then_n };

struct matmul_blocking {
  std::array<int, 3> m{1, 16, 4};
  std::array<int, 3> n{1, 4, 1};
  std::array<int, 3> k{1, 64, 1};
  matmul_order order = matmul_order::n_then_m;
  bool pack_a = true;
};

namespace detail {

using vec = float __attribute__((vector_size(vector_bytes)));
using quad = float __attribute__((vector_size(16)));
template <class V> [[gnu::always_inline]] inline V load(const float* p) { V x; __builtin_memcpy(&x, p, sizeof x); return x; }
template <class V> [[gnu::always_inline]] inline void store(float* p, V x) { __builtin_memcpy(p, &x, sizeof x); }

using micro_kernel = void (*)(std::ptrdiff_t depth, const float* a, std::ptrdiff_t a_stride, const float* b, float* c,
                              std::ptrdiff_t c_stride, bool add);

template <bool Packed, int Rows, int Vectors, std::size_t... I>
[[gnu::always_inline]] inline void rank_one(vec (&acc)[Rows * Vectors], const float* a, std::ptrdiff_t a_stride, const float* b,
                                            std::index_sequence<I...>) {
  vec row[Vectors];
  for (int v = 0; v < Vectors; ++v) row[v] = load<vec>(b + v * vector_lanes);
  ((acc[I] += a[Packed ? static_cast<std::ptrdiff_t>(I / Vectors) : static_cast<std::ptrdiff_t>(I / Vectors) * a_stride] * row[I % Vectors]), ...);
}

#ifndef PFA
#define PFA 0
#endif
template <bool Packed, int Rows, int Vectors, int Unroll>
void micro(std::ptrdiff_t depth, const float* a, std::ptrdiff_t a_stride, const float* b, float* c, std::ptrdiff_t c_stride, bool add) {
  constexpr auto all = std::make_index_sequence<static_cast<std::size_t>(Rows * Vectors)>{};
  constexpr std::ptrdiff_t a_step = Packed ? Rows : 1, b_step = Vectors * vector_lanes;
  vec acc[Rows * Vectors] = {};
  for (int r = 0; r < Rows; ++r)
    for (int v = 0; v < Vectors; ++v) __builtin_prefetch(c + r * c_stride + v * vector_lanes, 1);
  for (; depth >= Unroll; depth -= Unroll) {
    if (PFA && Packed) { __builtin_prefetch(a + PFA * a_step); }
    [&]<std::size_t... U>(std::index_sequence<U...>) __attribute__((always_inline)) {
      (rank_one<Packed, Rows, Vectors>(acc, a + static_cast<std::ptrdiff_t>(U) * a_step, a_stride, b + static_cast<std::ptrdiff_t>(U) * b_step, all), ...);
    }(std::make_index_sequence<static_cast<std::size_t>(Unroll)>{});
    a += Unroll * a_step;
    b += Unroll * b_step;
  }
  if constexpr (Unroll > 1)
    for (; depth > 0; --depth, a += a_step, b += b_step) rank_one<Packed, Rows, Vectors>(acc, a, a_stride, b, all);
  for (int r = 0; r < Rows; ++r)
    for (int v = 0; v < Vectors; ++v) {
      float* out = c + r * c_stride + v * vector_lanes;
      vec x = acc[r * Vectors + v];
      if (add) x += load<vec>(out);
      store(out, x);
    }
}

inline constexpr int max_rows = 16, max_vectors = 4;
constexpr bool fits(int rows, int vectors) {
  return rows >= 1 && rows <= max_rows && vectors >= 1 && vectors <= max_vectors && rows * vectors + vectors + 1 <= vector_registers;
}

template <bool Packed, int Unroll>
constexpr auto kernels_of() {
  std::array<std::array<micro_kernel, max_vectors>, max_rows> t{};
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ([&] {
      constexpr int r = static_cast<int>(I) / max_vectors + 1, v = static_cast<int>(I) % max_vectors + 1;
      if constexpr (fits(r, v)) t[r - 1][v - 1] = &micro<Packed, r, v, Unroll>;
    }(), ...);
  }(std::make_index_sequence<max_rows * max_vectors>{});
  return t;
}
inline micro_kernel find(bool packed, int rows, int vectors, int unroll) {
  static constexpr std::array<decltype(kernels_of<true, 1>()), 4> p{kernels_of<true, 1>(), kernels_of<true, 2>(), kernels_of<true, 4>(), kernels_of<true, 8>()};
  static constexpr std::array<decltype(kernels_of<true, 1>()), 4> u{kernels_of<false, 1>(), kernels_of<false, 2>(), kernels_of<false, 4>(), kernels_of<false, 8>()};
  const int s = unroll == 1 ? 0 : unroll == 2 ? 1 : unroll == 4 ? 2 : 3;
  return (packed ? p : u)[s][rows - 1][vectors - 1];
}

inline void pack_a_panel(float* to, const float* a, std::ptrdiff_t stride, int rows, int depth) {
  int p = 0;
  if (rows >= 4)
    for (; p + 4 <= depth; p += 4) {
      for (int r0 = 0; r0 < rows; r0 += 4) {
        const int r = std::min(r0, rows - 4);
        const float* from = a + r * stride + p;
        const quad x0 = load<quad>(from), x1 = load<quad>(from + stride), x2 = load<quad>(from + 2 * stride), x3 = load<quad>(from + 3 * stride);
        const quad lo0 = __builtin_shufflevector(x0, x1, 0, 4, 1, 5), hi0 = __builtin_shufflevector(x0, x1, 2, 6, 3, 7);
        const quad lo1 = __builtin_shufflevector(x2, x3, 0, 4, 1, 5), hi1 = __builtin_shufflevector(x2, x3, 2, 6, 3, 7);
        float* out = to + static_cast<std::ptrdiff_t>(p) * rows + r;
        store(out, __builtin_shufflevector(lo0, lo1, 0, 1, 4, 5));
        store(out + rows, __builtin_shufflevector(lo0, lo1, 2, 3, 6, 7));
        store(out + 2 * rows, __builtin_shufflevector(hi0, hi1, 0, 1, 4, 5));
        store(out + 3 * rows, __builtin_shufflevector(hi0, hi1, 2, 3, 6, 7));
      }
    }
  for (; p < depth; ++p)
    for (int r = 0; r < rows; ++r) to[static_cast<std::ptrdiff_t>(p) * rows + r] = a[r * stride + p];
}

inline void pack_b_block(float* to, const float* b, std::ptrdiff_t stride, int depth, int columns, int width) {
  // depth rows x columns, panels of width
  constexpr int chunk = 16;
  for (int p0 = 0; p0 < depth; p0 += chunk) {
    const int p1 = std::min(depth, p0 + chunk);
    for (int j = 0; j < columns; j += width) {
      const int live = std::min(width, columns - j);
      const int w = (live + vector_lanes - 1) / vector_lanes * vector_lanes;
      float* panel = to + static_cast<std::ptrdiff_t>(j) * depth;
      for (int p = p0; p < p1; ++p) {
        const float* from = b + p * stride + j;
        float* out = panel + static_cast<std::ptrdiff_t>(p) * w;
        int x = 0;
        for (; x + vector_lanes <= live; x += vector_lanes)
          store(out + x, load<vec>(from + x));
        for (; x < w; ++x) out[x] = x < live ? from[x] : 0.0f;
      }
    }
  }
}
struct buf {
  float* p = nullptr; std::size_t n = 0;
  void grow(std::size_t c) {
    if (c <= n) return;
    std::free(p);
    p = static_cast<float*>(std::aligned_alloc(std::size_t{1} << 21, (c * 4 + (1u << 21) - 1) >> 21 << 21));
#ifdef THP
    madvise(p, (c * 4 + (1u << 21) - 1) >> 21 << 21, MADV_HUGEPAGE);
#endif
    std::fill(p, p + c, 0.0f);
    n = c;
  }
};
}  // namespace detail

class matmul {
 public:
  explicit matmul(matmul_shape s) : shape_(s) {}
  void operator()(const matmul_blocking& t, const float* a, const float* b, float* c) {
    const int mr = t.m[2], nr = t.n[2] * vector_lanes;
    const int mc = std::min(shape_.m, mr * t.m[1]);
    const int nc = std::min((shape_.n + vector_lanes - 1) / vector_lanes * vector_lanes, nr * t.n[1]), kc = std::min(shape_.k, t.k[1] * t.k[2]);
    abuf.grow(static_cast<std::size_t>(mc) * static_cast<std::size_t>(kc));
    bbuf.grow(static_cast<std::size_t>(nc) * static_cast<std::size_t>(kc));
    const std::ptrdiff_t lda = shape_.k, ldb = shape_.n, ldc = shape_.n;
    auto packa = [&](int i, int p, int rows, int depth) {
      if (!t.pack_a) return;
      for (int r = 0; r < rows; r += mr)
        detail::pack_a_panel(abuf.p + static_cast<std::ptrdiff_t>(r) * depth, a + (i + r) * lda + p, lda, std::min(mr, rows - r), depth);
    };
    auto packb = [&](int j, int p, int cols, int depth) { detail::pack_b_block(bbuf.p, b + p * ldb + j, ldb, depth, cols, nr); };
    auto tile = [&](int i, int j, int p, int r, int s, int rows, int cols, int depth) {
      const int rr = std::min(mr, rows - r), ss = std::min(nr, cols - s), vv = (ss + vector_lanes - 1) / vector_lanes;
      const float* ap = t.pack_a ? abuf.p + static_cast<std::ptrdiff_t>(r) * depth : a + (i + r) * lda + p;
      const float* bp = bbuf.p + static_cast<std::ptrdiff_t>(s) * depth;
      float* cp = c + (i + r) * ldc + j + s;
      auto f = detail::find(t.pack_a, rr, vv, t.k[2]);
      if (ss == vv * vector_lanes) { f(depth, ap, lda, bp, cp, ldc, p > 0); return; }
      alignas(64) float scratch[detail::max_rows * detail::max_vectors * vector_lanes];
      f(depth, ap, lda, bp, scratch, vv * vector_lanes, false);
      for (int x = 0; x < rr; ++x)
        for (int y = 0; y < ss; ++y) cp[x * ldc + y] = (p > 0 ? cp[x * ldc + y] : 0.0f) + scratch[x * vv * vector_lanes + y];
    };
    if (t.order == matmul_order::n_then_m) {
      for (int j = 0; j < shape_.n; j += nc) {
        const int cols = std::min(nc, shape_.n - j);
        for (int p = 0; p < shape_.k; p += kc) {
          const int depth = std::min(kc, shape_.k - p);
          packb(j, p, cols, depth);
          for (int i = 0; i < shape_.m; i += mc) {
            const int rows = std::min(mc, shape_.m - i);
            packa(i, p, rows, depth);
            for (int s = 0; s < cols; s += nr)
              for (int r = 0; r < rows; r += mr) tile(i, j, p, r, s, rows, cols, depth);
          }
        }
      }
    } else {
      for (int i = 0; i < shape_.m; i += mc) {
        const int rows = std::min(mc, shape_.m - i);
        for (int p = 0; p < shape_.k; p += kc) {
          const int depth = std::min(kc, shape_.k - p);
          packa(i, p, rows, depth);
          for (int j = 0; j < shape_.n; j += nc) {
            const int cols = std::min(nc, shape_.n - j);
            packb(j, p, cols, depth);
            for (int r = 0; r < rows; r += mr)
              for (int s = 0; s < cols; s += nr) tile(i, j, p, r, s, rows, cols, depth);
          }
        }
      }
    }
  }
 private:
  matmul_shape shape_;
  detail::buf abuf, bbuf;
};
}  // namespace tileseek::kernels
