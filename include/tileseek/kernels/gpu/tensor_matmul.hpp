#pragma once
// The matrix product C = A * B of 16-bit floats on the tensor cores of an NVIDIA GPU (CUDA, compute capability 7.5).
//
// A warp computes tiles of 16 x 16 with mma.sync, from fragments that ldmatrix reads; sums are fp32. Tiles of A and B
// reach shared memory by 16 bytes, in the background from compute capability 8.0 on.
//
//   PTX ISA, warp-level matrix instructions: mma.m16n8k16, mma.m16n8k8, ldmatrix.

#include <algorithm>
#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

#include <tileseek/core/format.hpp>
#include <tileseek/kernels/gpu/matmul.hpp>
#include <tileseek/kernels/gpu/prelude.hpp>
#include <tileseek/kernels/gpu/tiled_product.hpp>
#include <tileseek/measure/device_kernel.hpp>
#include <tileseek/space/space.hpp>

namespace tileseek::kernels::gpu {

/// The configuration. Each array is a tile of a padded extent (tile_extent) in units of 16, outermost factor first; the
/// outermost only completes the product. The default is a block of 128 x 128 x 32 by 4 warps, 64 x 64 each.
struct tensor_tiling {
  std::array<int, 3> m{1, 2, 4};  ///< rows: {blocks, warps, tiles of a warp}
  std::array<int, 3> n{1, 2, 4};  ///< columns likewise
  std::array<int, 2> k{1, 2};     ///< {tiles, depth of a tile in shared memory}
  int row_padding = 8;            ///< elements between rows in shared memory: 8 rows then lie in different banks
  int buffers = 2;                ///< for tiles in shared memory, the next of which arrive while one is used

  [[nodiscard]] friend bool operator==(const tensor_tiling&, const tensor_tiling&) = default;
};

namespace detail {

[[nodiscard]] constexpr std::size_t shared_bytes(const tensor_tiling& t) {
  const int bm = 16 * t.m[1] * t.m[2], bn = 16 * t.n[1] * t.n[2], bk = 16 * t.k[1];
  return 2 * static_cast<std::size_t>(t.buffers * (bm * (bk + t.row_padding) + bk * (bn + t.row_padding)));
}

/// Registers of a thread, estimated: 8 sums a tile, 4 a fragment; 40 more for addresses and counters.
[[nodiscard]] constexpr int tensor_registers(int m, int n) { return 8 * m * n + 4 * (m + n) + 40; }

// A fragment is 16 x 16. Defined before, MMA is another machine's.
inline constexpr const char* tensor_matmul_text = R"(
#ifndef MMA
typedef unsigned fragment[4];
INLINE unsigned shared_address(const half_bits* x) { return (unsigned)__cvta_generic_to_shared(x); }
INLINE void load_a(unsigned* to, const half_bits* from, int pitch) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(from + THREAD % 16 * pitch + THREAD % 32 / 16 * 8)) : "memory");
}
INLINE void load_b(unsigned* to, const half_bits* from, int pitch) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(from + THREAD % 16 * pitch + THREAD % 32 / 16 * 8)) : "memory");
}
INLINE void multiply_8(float* c, const unsigned* a, const unsigned* b) {
#if __CUDA_ARCH__ >= 800
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
#pragma unroll
  for (int i = 0; i < 2; ++i)
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[2 * i]), "r"(a[2 * i + 1]), "r"(b[i]));
#endif
}
#define LOAD_A(to, from, pitch) load_a(to, from, pitch)
#define LOAD_B(to, from, pitch) load_b(to, from, pitch)
#define MMA(c, a, b) multiply_8(c, a, b), multiply_8(c + 4, a, b + 2)
#endif

#define BM (16 * m_1 * m_2)
#define BN (16 * n_1 * n_2)
#define BK (16 * k_1)
#define THREADS (32 * m_1 * n_1)
#define TILES ((DEPTH + BK - 1) / BK)
#define PITCH_A (BK + row_padding)
#define PITCH_B (BN + row_padding)
#define OFFSET_B (BM * PITCH_A)
#define STAGE (OFFSET_B + BK * PITCH_B)

INLINE void copy_tiles(GLOBAL const half_bits* a, GLOBAL const half_bits* b, int row, int column, int k,
                       LOCAL half_bits* stage) {
  for (int v = THREAD; v < BM * BK / 8; v += THREADS) {
    const int y = v / (BK / 8), x = v % (BK / 8) * 8;
    const int inside = row + y < ROWS && k + x < DEPTH;
    COPY_ASYNC(16, stage + y * PITCH_A + x, a + (inside ? (row + y) * DEPTH + k + x : 0), inside);
  }
  for (int v = THREAD; v < BK * BN / 8; v += THREADS) {
    const int y = v / (BN / 8), x = v % (BN / 8) * 8;
    const int inside = k + y < DEPTH && column + x < COLUMNS;
    COPY_ASYNC(16, stage + OFFSET_B + y * PITCH_B + x, b + (inside ? (k + y) * COLUMNS + column + x : 0), inside);
  }
}

KERNEL(tensor_matmul, THREADS)(GLOBAL const half_bits* RESTRICT a, GLOBAL const half_bits* RESTRICT b,
                               GLOBAL float* RESTRICT c) {
  SHARED(half_bits, shared, buffers * STAGE);
  const int row = BLOCK(0) / ((COLUMNS + BN - 1) / BN) * BM;
  const int column = BLOCK(0) % ((COLUMNS + BN - 1) / BN) * BN;
  const int warp_row = THREAD / 32 / n_1 * (16 * m_2), warp_column = THREAD / 32 % n_1 * (16 * n_2);
  a += BLOCK(1) * (ROWS * DEPTH);
  b += BLOCK(1) * (DEPTH * COLUMNS);
  c += BLOCK(1) * (ROWS * COLUMNS);
  float sum[m_2][n_2][8];
#pragma unroll
  for (int i = 0; i < m_2; ++i) {
#pragma unroll
    for (int j = 0; j < n_2; ++j) {
#pragma unroll
      for (int e = 0; e < 8; ++e) sum[i][j][e] = 0;
    }
  }
#pragma unroll
  for (int t = 0; t < buffers - 1; ++t) {
    if (t < TILES) copy_tiles(a, b, row, column, t * BK, shared + t * STAGE);
    COMMIT_ASYNC();
  }
  for (int t = 0; t < TILES; ++t) {
    WAIT_ASYNC(buffers - 2);
    BARRIER();
    const int next = t + buffers - 1;
    if (next < TILES) copy_tiles(a, b, row, column, next * BK, shared + next % buffers * STAGE);
    COMMIT_ASYNC();
    LOCAL const half_bits* stage = shared + t % buffers * STAGE;
#pragma unroll
    for (int k = 0; k < BK; k += 16) {
      fragment x[m_2], y[n_2];
#pragma unroll
      for (int i = 0; i < m_2; ++i) LOAD_A(x[i], stage + (warp_row + i * 16) * PITCH_A + k, PITCH_A);
#pragma unroll
      for (int j = 0; j < n_2; ++j) LOAD_B(y[j], stage + OFFSET_B + k * PITCH_B + warp_column + j * 16, PITCH_B);
#pragma unroll
      for (int i = 0; i < m_2; ++i) {
#pragma unroll
        for (int j = 0; j < n_2; ++j) MMA(sum[i][j], x[i], y[j]);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < m_2; ++i) {
#pragma unroll
    for (int j = 0; j < n_2; ++j) {
#pragma unroll
      for (int e = 0; e < 8; e += 2) {
        const int y = row + warp_row + i * 16 + e % 4 / 2 * 8 + THREAD % 32 / 4;
        const int x = column + warp_column + j * 16 + e / 4 * 8 + THREAD % 4 * 2;
        ALIGNED float pair[2];
        pair[0] = sum[i][j][e];
        pair[1] = sum[i][j][e + 1];
        if (y < ROWS && x < COLUMNS) MOVE(2, float, GLOBAL, c + y * COLUMNS + x, , pair);
      }
    }
  }
}
)";

[[nodiscard]] inline product tensor_product_of(const matmul_shape& s) {
  const auto p = product_of(s, element::fp16);
  if (s.n % 8 != 0 || s.k % 8 != 0)
    tileseek::detail::fail<std::invalid_argument>(
        {"tensor_matmul: shape.n is ", s.n, " and shape.k ", s.k,
         "; tensor cores are fed by 8 elements: pad both to multiples of 8, or take matmul_kernel"});
  return p;
}

}  // namespace detail

/// All tilings of a product of this shape that the device can run.
/// @throws std::invalid_argument  a size is below 1, n or k is no multiple of 8, or more than 2^31 - 1 elements
[[nodiscard]] inline space<tensor_tiling> tensor_matmul_space(const matmul_shape& shape,
                                                              const block_limits& limits = {}) {
  using t = tensor_tiling;
  const auto p = detail::tensor_product_of(shape);
  const auto units = [](int size) { return detail::ceil_div(size, 16); };
  const auto near = [](int size) { return [size](int tile) { return tile < 2 * size; }; };
  return space<t>{}
      .tile("m", &t::m, tile_extent(units(p.rows)))
      .tile("n", &t::n, tile_extent(units(p.columns)))
      .tile("k", &t::k, tile_extent(units(p.depth)))
      .add("row_padding", &t::row_padding, {0, 8})
      .add("buffers", &t::buffers, range(2, 4))
      .where("a block is less than twice as high as C", near(units(p.rows)), inclusive(&t::m, 1))
      .where("a block is less than twice as wide as C", near(units(p.columns)), inclusive(&t::n, 1))
      .where("a tile is less than twice as deep as the product", near(units(p.depth)), factor(&t::k, 1))
      .where(
          "the device has so many threads a block", [=](int m, int n) { return 32 * m * n <= limits.threads; },
          factor(&t::m, 1), factor(&t::n, 1))
      .where(
          "tiles fit in the shared memory of a block",
          [=](int m, int n, int k, int padding, int buffers) {
            return detail::shared_bytes({{1, 1, m}, {1, 1, n}, {1, k}, padding, buffers}) <= limits.shared_bytes;
          },
          inclusive(&t::m, 1), inclusive(&t::n, 1), factor(&t::k, 1), &t::row_padding, &t::buffers)
      .where(
          "sums and fragments fit in the registers",
          [=](int m1, int m2, int n1, int n2) {
            const int registers = detail::tensor_registers(m2, n2);
            return registers <= limits.thread_registers &&
                   detail::round_up(registers, 8) * 32 * m1 * n1 <= limits.registers;
          },
          factor(&t::m, 1), factor(&t::m, 2), factor(&t::n, 1), factor(&t::n, 2));
}

/// The kernel: A and B are fp16, C is fp32, all row-major.
[[nodiscard]] inline device_kernel<tensor_tiling> tensor_matmul_kernel(const matmul_shape& shape,
                                                                       const block_limits& limits = {}) {
  const auto p = detail::tensor_product_of(shape);
  auto [arguments, truth] = detail::matmul_arguments(shape, element::fp16);
  device_kernel<tensor_tiling> out;
  out.source = detail::source_of(p, limits, detail::tensor_matmul_text);
  out.function = "tensor_matmul";
  out.geometry = [=](const tensor_tiling& t) {
    return detail::geometry_of(p, limits, 16 * t.m[1] * t.m[2], 16 * t.n[1] * t.n[2], 32 * t.m[1] * t.n[1],
                               detail::shared_bytes(t));
  };
  out.arguments = std::move(arguments);
  out.truth = std::move(truth);
  return out;
}

}  // namespace tileseek::kernels::gpu
