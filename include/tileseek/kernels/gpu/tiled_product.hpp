#pragma once
// A matrix product in tiles for a GPU, C = A * B, that does not know where its operands lie: what matmul and conv2d share.
//
// Tiles have the levels of Ansor's sketch for GPUs. A block of threads computes a tile of C; it walks along k, a tile of
// A and of B in shared memory at a time, and each thread adds up its part of C in registers:
//
//   row of C in its block = ((vthread * threads + thread) * register + r) * inner + i,      columns likewise
//
// so that a thread has `vthread` separate stretches of register * inner rows: what the threads of a warp read from shared
// memory then lies together, `inner` numbers an access. The tile of A is transposed on its way, so that both operands
// are read along their rows.
//
//   L. Zheng et al.: Ansor: generating high-performance tensor programs for deep learning. OSDI 2020.
//   V. Volkov, J. Demmel: Benchmarking GPUs to tune dense linear algebra. SC 2008.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tileseek/core/format.hpp>
#include <tileseek/kernels/gpu/operand.hpp>
#include <tileseek/kernels/gpu/prelude.hpp>
#include <tileseek/measure/detail/device.hpp>
#include <tileseek/measure/device_kernel.hpp>
#include <tileseek/space/space.hpp>

namespace tileseek::kernels::gpu {

/// What a block of threads may have. The defaults hold for every NVIDIA GPU since Maxwell (CUDA C++ programming guide,
/// table of technical specifications).
struct block_limits {
  int threads = 1024;                    ///< of a block
  int warp = 32;                         ///< threads that run in step: no block is smaller, unless the problem is
  std::size_t shared_bytes = 48 * 1024;  ///< of a block
  int registers = 65536;                 ///< 32-bit, of a block
  int thread_registers = 255;            ///< of a thread
  /// Copies from global to shared memory can run in the background (cp.async: compute capability 8.0).
  bool async_copies = false;
  /// Shared memory is asked for at the launch, not declared: CUDA's way to more than 48 KiB. False for OpenCL.
  bool dynamic_shared = false;
};

/// Of a device that cuda() or opencl() found. What OpenCL does not tell is as above. A CPU unrolls a block's threads into
/// vectors and has fewer registers than it declares threads: large blocks of large tiles take seconds to compile, and are slow
/// (PoCL, matmul 128 x 128 x 128: the default tiling takes 0.12 to 0.29 ms with these limits, 0.57 to 0.62 ms without).
[[nodiscard]] inline block_limits limits_of(const device_limits& device) {
  block_limits out;
  out.threads = static_cast<int>(std::min<std::size_t>(device.all_threads, 1024));
  out.shared_bytes = device.shared_bytes;
  out.async_copies = device.architecture >= 80;
  out.dynamic_shared = device.architecture > 0;
  if (device.is_cpu) {
    out.threads = std::min(out.threads, 128);
    out.thread_registers = 96;
  }
  return out;
}

/// The configuration. Each array is a tile of a padded extent (tile_extent), outermost factor first. The outermost only
/// completes the product: there are as many blocks as the size needs. The default is the classic one: 128 x 128 x 8 by
/// 256 threads, 8 x 8 each.
struct tiling {
  std::array<int, 5> m{1, 2, 16, 1, 4};  ///< rows: {blocks, vthreads, threads, registers, inner}
  std::array<int, 5> n{1, 2, 16, 1, 4};  ///< columns likewise
  std::array<int, 2> k{1, 8};            ///< {tiles, depth of a tile in shared memory}
  int unroll_depth = 8;                  ///< of the loop over a tile's depth
  int fetch_width = 4;      ///< elements that a thread takes from global memory at once, where they lie together
  int row_padding = 4;      ///< elements between the rows of A's tile: writing it transposed then meets other banks
  int buffers = 2;          ///< for tiles in shared memory: the next one arrives while this one is used
  bool background = false;  ///< tiles are copied to shared memory in the background, not through registers
  int lanes = 8;            ///< threads next to each other along n before the next row of them

  [[nodiscard]] friend bool operator==(const tiling&, const tiling&) = default;
};

/// The extent that a tile of an axis of this size factorises: 3 * p * 2^a, where 2^a is at least the size or 256, and p
/// the largest of the primes 5 to 19 that divides the size, or 1. GPU kernels want tiles of 2^a and 3 * 2^a, and these
/// exist for any size this way; 14 x 14 pixels can be split by 7, too. Only its divisors matter: what is beyond the size
/// is never computed but for a block's edge.
/// @post result >= size, and result == size for size <= 2
[[nodiscard]] constexpr int tile_extent(int size) {
  if (size <= 2) return size;
  int extent = 3;
  for (const int prime : {5, 7, 11, 13, 17, 19})
    if (size % prime == 0) extent = 3 * prime;
  for (int power = 1; power < std::min(size, 256) || extent < size; power *= 2) extent *= 2;
  return extent;
}

namespace detail {

/// What a tiled product is told about a problem.
struct product {
  int rows = 1;
  int columns = 1;
  int depth = 1;
  int count = 1;  ///< of such products: a batch, or groups
  element type = element::fp32;
  int run_a = 1;      ///< elements of A that lie together along k come in multiples of this
  int run_b = 1;      ///< and those of B along columns
  int run_c = 1;      ///< and those of C along columns
  int per_fetch = 1;  ///< registers that an element takes on its way: 1, more where it has to be looked up
};

/// @param tensors  what each is of and the elements in it
/// @throws std::invalid_argument  a size is below 1, or a tensor has more elements than an int counts
inline void check(std::string_view who, const product& p,
                  std::initializer_list<std::pair<std::string_view, double>> tensors) {
  using tileseek::detail::fail;
  for (const int size : {p.rows, p.columns, p.depth, p.count})
    if (size < 1) fail<std::invalid_argument>({who, ": a size of the shape is ", size, "; pass at least 1"});
  if (p.count > 65535)
    fail<std::invalid_argument>({who, ": ", p.count, " products; a GPU's grid has at most 65535, pass fewer at once"});
  for (const auto& [name, elements] : tensors)
    if (elements > std::numeric_limits<int>::max())
      fail<std::invalid_argument>({who, ": ", name, " is ", elements, "; the kernel counts to 2^31 - 1, split it"});
}

[[nodiscard]] constexpr int ceil_div(int a, int b) noexcept { return (a + b - 1) / b; }
[[nodiscard]] constexpr int round_up(int a, int b) noexcept { return ceil_div(a, b) * b; }

/// Elements that are fetched at once: so many as `fetch` allows, a tile's row and what lies together are multiples of.
[[nodiscard]] constexpr int usable_width(int fetch, int tile, int run) noexcept {
  while (tile % fetch != 0 || run % fetch != 0) fetch /= 2;
  return fetch;
}

/// Bytes of shared memory of a block. Tiles begin at multiples of 8 elements.
[[nodiscard]] constexpr std::size_t shared_bytes(element type, int bm, int bn, int bk, int padding, int buffers) {
  const int stage = round_up(round_up(bk * (bm + padding), 8) + bk * bn, 8);
  return static_cast<std::size_t>(stage) * static_cast<std::size_t>(buffers * bytes_of(type));
}

/// Elements of a tile that each thread fetches, of A and of B. More than 32 are hardly ever fast, and what they take of
/// registers can't be foreseen.
inline constexpr int most_fetched = 32;

/// Registers of a thread, estimated: its part of C, a column of A and a row of B of it, and what it fetches or the
/// addresses of that; 30 more for what else there is.
[[nodiscard]] constexpr int registers_of(const product& p, int tm, int tn, int threads, int bm, int bn, int bk) {
  return tm * tn + tm + tn + p.per_fetch * (ceil_div(bm * bk, threads) + ceil_div(bn * bk, threads)) + 30;
}

/// What the device's compiler can't be asked to compile: multiply-adds in the body of the unrolled loop. 2048 are 32 KiB
/// of instructions on an NVIDIA GPU, a quarter of its second-level instruction cache (Z. Jia et al.: Dissecting the
/// NVIDIA Volta GPU architecture via microbenchmarking, 2018).
inline constexpr int most_unrolled = 2048;

inline constexpr const char* tiled_product_text =
    R"(
#define BM (m_1 * m_2 * m_3 * m_4)
#define BN (n_1 * n_2 * n_3 * n_4)
#define BK k_1
#define TM (m_1 * m_3 * m_4)
#define TN (n_1 * n_3 * n_4)
#define THREADS (m_2 * n_2)
#define ROW_OF(i, tm) (((i) / (m_3 * m_4) * m_2 + (tm)) * (m_3 * m_4) + (i) % (m_3 * m_4))
#define COLUMN_OF(j, tn) (((j) / (n_3 * n_4) * n_2 + (tn)) * (n_3 * n_4) + (j) % (n_3 * n_4))
#define TILES ((DEPTH + BK - 1) / BK)
#define PITCH_A (BM + row_padding)
#define OFFSET_B ((BK * PITCH_A + 7) / 8 * 8)
#define STAGE ((OFFSET_B + BK * BN + 7) / 8 * 8)
)"
    // Elements at once: from global memory of A and B, from shared memory, to C.
    R"(
#define FITS(w, tile, run) ((tile) % (w) == 0 && (run) % (w) == 0)
#if fetch_width >= 8 && FITS(8, BK, RUN_A)
#define WIDTH_A 8
#elif fetch_width >= 4 && FITS(4, BK, RUN_A)
#define WIDTH_A 4
#elif fetch_width >= 2 && FITS(2, BK, RUN_A)
#define WIDTH_A 2
#else
#define WIDTH_A 1
#endif
#if fetch_width >= 8 && FITS(8, BN, RUN_B)
#define WIDTH_B 8
#elif fetch_width >= 4 && FITS(4, BN, RUN_B)
#define WIDTH_B 4
#elif fetch_width >= 2 && FITS(2, BN, RUN_B)
#define WIDTH_B 2
#else
#define WIDTH_B 1
#endif
#if FITS(4, m_4, PITCH_A)
#define READ_A 4
#elif FITS(2, m_4, PITCH_A)
#define READ_A 2
#else
#define READ_A 1
#endif
#if n_4 % 4 == 0
#define READ_B 4
#elif n_4 % 2 == 0
#define READ_B 2
#else
#define READ_B 1
#endif
#if READ_B >= 4 && RUN_C % 4 == 0
#define WIDTH_C 4
#elif READ_B >= 2 && RUN_C % 2 == 0
#define WIDTH_C 2
#else
#define WIDTH_C 1
#endif
)"
    // A thread's share of a tile: vector number THREAD, THREAD + THREADS, ...
    R"(
#define INSIDE(i, size, tile) ((size) % (tile) == 0 || (i) < (size))
#define VECTORS_A (BM * BK / WIDTH_A)
#define VECTORS_B (BK * BN / WIDTH_B)
#define SHARE_A ((VECTORS_A + THREADS - 1) / THREADS)
#define SHARE_B ((VECTORS_B + THREADS - 1) / THREADS)
#define IN_TILE(v, vectors) INSIDE(v, vectors, THREADS)

INLINE int place_a(int z, int row, int k) {
  return INSIDE(row, ROWS, BM) && INSIDE(k, DEPTH, BK) ? offset_a(z, row, k) : -1;
}
INLINE int place_b(int z, int k, int column) {
  return INSIDE(k, DEPTH, BK) && INSIDE(column, COLUMNS, BN) ? offset_b(z, k, column) : -1;
}

INLINE void fetch_a(GLOBAL const elem* RESTRICT a, int z, int row, int k, elem* to) {
#pragma unroll
  for (int i = 0; i < SHARE_A; ++i) {
    const int v = THREAD + i * THREADS;
    const int at = IN_TILE(v, VECTORS_A)
        ? place_a(z, row + v / (BK / WIDTH_A), k + v % (BK / WIDTH_A) * WIDTH_A) : -1;
    if (at >= 0) {
      MOVE(WIDTH_A, elem, , to + i * WIDTH_A, GLOBAL, a + at);
    } else {
#pragma unroll
      for (int j = 0; j < WIDTH_A; ++j) to[i * WIDTH_A + j] = 0;
    }
  }
}
INLINE void fetch_b(GLOBAL const elem* RESTRICT b, int z, int k, int column, elem* to) {
#pragma unroll
  for (int i = 0; i < SHARE_B; ++i) {
    const int v = THREAD + i * THREADS;
    const int at = IN_TILE(v, VECTORS_B)
        ? place_b(z, k + v / (BN / WIDTH_B), column + v % (BN / WIDTH_B) * WIDTH_B) : -1;
    if (at >= 0) {
      MOVE(WIDTH_B, elem, , to + i * WIDTH_B, GLOBAL, b + at);
    } else {
#pragma unroll
      for (int j = 0; j < WIDTH_B; ++j) to[i * WIDTH_B + j] = 0;
    }
  }
}
INLINE void put(const elem* from_a, const elem* from_b, LOCAL elem* stage) {
#pragma unroll
  for (int i = 0; i < SHARE_A; ++i) {
    const int v = THREAD + i * THREADS;
    if (IN_TILE(v, VECTORS_A)) {
      LOCAL elem* to = stage + v % (BK / WIDTH_A) * WIDTH_A * PITCH_A + v / (BK / WIDTH_A);
#pragma unroll
      for (int j = 0; j < WIDTH_A; ++j) to[j * PITCH_A] = from_a[i * WIDTH_A + j];
    }
  }
#pragma unroll
  for (int i = 0; i < SHARE_B; ++i) {
    const int v = THREAD + i * THREADS;
    if (IN_TILE(v, VECTORS_B)) MOVE(WIDTH_B, elem, LOCAL, stage + OFFSET_B + v * WIDTH_B, , from_b + i * WIDTH_B);
  }
}
)"
    // The background copy moves 4 bytes and more: it transposes floats one by one, and there is none for halves.
    R"(
#if background
INLINE void copy_tiles(GLOBAL const elem* a, GLOBAL const elem* b, int z, int row, int column, int k, LOCAL elem* stage) {
#pragma unroll
  for (int i = 0; i < (BM * BK + THREADS - 1) / THREADS; ++i) {
    const int v = THREAD + i * THREADS;
    if (IN_TILE(v, BM * BK)) {
      const int at = place_a(z, row + v / BK, k + v % BK);
      COPY_ASYNC(4, stage + v % BK * PITCH_A + v / BK, at >= 0 ? a + at : a, at >= 0);
    }
  }
#pragma unroll
  for (int i = 0; i < SHARE_B; ++i) {
    const int v = THREAD + i * THREADS;
    if (IN_TILE(v, VECTORS_B)) {
      const int at = place_b(z, k + v / (BN / WIDTH_B), column + v % (BN / WIDTH_B) * WIDTH_B);
      COPY_ASYNC(4 * WIDTH_B, stage + OFFSET_B + v * WIDTH_B, at >= 0 ? b + at : b, at >= 0);
    }
  }
}
#endif

INLINE void multiply(LOCAL const elem* stage, int tm, int tn, float (*sum)[TN]) {
#pragma unroll unroll_depth
  for (int k = 0; k < BK; ++k) {
    ALIGNED elem read_a[TM];
    ALIGNED elem read_b[TN];
    float x[TM], y[TN];
#pragma unroll
    for (int i = 0; i < TM; i += READ_A)
      MOVE(READ_A, elem, , read_a + i, LOCAL, stage + k * PITCH_A + ROW_OF(i, tm));
#pragma unroll
    for (int j = 0; j < TN; j += READ_B)
      MOVE(READ_B, elem, , read_b + j, LOCAL, stage + OFFSET_B + k * BN + COLUMN_OF(j, tn));
#pragma unroll
    for (int i = 0; i < TM; ++i) x[i] = TO_FLOAT(read_a[i]);
#pragma unroll
    for (int j = 0; j < TN; ++j) y[j] = TO_FLOAT(read_b[j]);
#pragma unroll
    for (int i = 0; i < TM; ++i) {
#pragma unroll
      for (int j = 0; j < TN; ++j) sum[i][j] += x[i] * y[j];
    }
  }
}

KERNEL(tiled_product, THREADS)(GLOBAL const elem* RESTRICT a, GLOBAL const elem* RESTRICT b,
                               GLOBAL float* RESTRICT c) {
  SHARED(elem, shared, buffers * STAGE);
  const int z = BLOCK(1);
  const int row = BLOCK(0) / ((COLUMNS + BN - 1) / BN) * BM;
  const int column = BLOCK(0) % ((COLUMNS + BN - 1) / BN) * BN;
  const int tm = THREAD / lanes % m_2;
  const int tn = THREAD / (lanes * m_2) * lanes + THREAD % lanes;
  ALIGNED float sum[TM][TN];
#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; ++j) sum[i][j] = 0;
  }
#if background
#pragma unroll
  for (int t = 0; t < buffers - 1; ++t) {
    if (t < TILES) copy_tiles(a, b, z, row, column, t * BK, shared + t * STAGE);
    COMMIT_ASYNC();
  }
  for (int t = 0; t < TILES; ++t) {
    WAIT_ASYNC(buffers - 2);
    BARRIER();
    const int next = t + buffers - 1;
    if (next < TILES) copy_tiles(a, b, z, row, column, next * BK, shared + next % buffers * STAGE);
    COMMIT_ASYNC();
    multiply(shared + t % buffers * STAGE, tm, tn, sum);
  }
#else
  ALIGNED elem next_a[SHARE_A * WIDTH_A];
  ALIGNED elem next_b[SHARE_B * WIDTH_B];
  fetch_a(a, z, row, 0, next_a);
  fetch_b(b, z, 0, column, next_b);
  put(next_a, next_b, shared);
  BARRIER();
  for (int t = 0; t < TILES; ++t) {
    if (t + 1 < TILES) {
      fetch_a(a, z, row, (t + 1) * BK, next_a);
      fetch_b(b, z, (t + 1) * BK, column, next_b);
    }
    multiply(shared + t % buffers * STAGE, tm, tn, sum);
#if buffers == 1
    BARRIER();
#endif
    if (t + 1 < TILES) put(next_a, next_b, shared + (t + 1) % buffers * STAGE);
    BARRIER();
  }
#endif
#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; j += WIDTH_C) {
      const int y = row + ROW_OF(i, tm), x = column + COLUMN_OF(j, tn);
      if (INSIDE(y, ROWS, BM) && INSIDE(x, COLUMNS, BN))
        MOVE(WIDTH_C, float, GLOBAL, c + offset_c(z, y, x), , &sum[i][j]);
    }
  }
}
)";

/// The text of a problem's kernel, which follows the prelude and the problem's sizes.
[[nodiscard]] inline std::string source_of(const product& p, const block_limits& limits, std::string_view text) {
  std::string out = limits.dynamic_shared ? "#define DYNAMIC_SHARED\n" : "";
  out += prelude;
  const auto define = [&out](const char* name, int value) {
    tileseek::detail::append(out, {"#define ", name, " ", value, "\n"});
  };
  define("ROWS", p.rows);
  define("COLUMNS", p.columns);
  define("DEPTH", p.depth);
  define("RUN_A", p.run_a);
  define("RUN_B", p.run_b);
  define("RUN_C", p.run_c);
  out += p.type == element::fp16 ? "#define elem half_bits\n#define TO_FLOAT(x) half_to_float(x)\n"
                                 : "#define elem float\n#define TO_FLOAT(x) (x)\n";
  out += text;
  return out;
}

/// What keeps tiles of a problem within the device, whatever else there is to choose.
/// @param threads  the level of the threads in the axes m and n, outside which a block's tile begins
template <class Config>
void keep_within(space<Config>& out, const product& p, const block_limits& limits, std::size_t threads) {
  // A problem of fewer elements than a warp has threads is computed by fewer.
  const int least = static_cast<int>(
      std::min<std::int64_t>(limits.warp, static_cast<std::int64_t>(p.rows) * static_cast<std::int64_t>(p.columns)));
  const auto near = [](int size) { return [size](int tile) { return tile < 2 * size; }; };
  const auto bm = inclusive(&Config::m, 1), bn = inclusive(&Config::n, 1);
  const auto m = factor(&Config::m, threads), n = factor(&Config::n, threads);
  const auto bk = factor(&Config::k, 1);
  out.where("a block is less than twice as high as C", near(p.rows), bm)
      .where("a block is less than twice as wide as C", near(p.columns), bn)
      .where("a tile is less than twice as deep as the product", near(p.depth), bk)
      .where(
          "the device has so many threads a block, and a warp is not left idle",
          [=](int rows, int columns) { return rows * columns >= least && rows * columns <= limits.threads; }, m, n)
      .where(
          "a thread fetches at most 32 elements of a tile of A, and of B",
          [](int high, int rows, int wide, int columns, int deep) {
            return std::max(high, wide) * deep <= most_fetched * rows * columns;
          },
          bm, m, bn, n, bk)
      .where(
          "sums and what is fetched fit in the registers",
          [=](int high, int rows, int wide, int columns, int deep) {
            const int registers = registers_of(p, high / rows, wide / columns, rows * columns, high, wide, deep);
            return registers <= limits.thread_registers &&
                   round_up(registers, 8) * round_up(rows * columns, limits.warp) <= limits.registers;
          },
          bm, m, bn, n, bk);
}

/// All tilings of a problem that the device can run.
[[nodiscard]] inline space<tiling> space_of(const product& p, const block_limits& limits) {
  using t = tiling;
  const bool half = p.type == element::fp16;
  space<t> out;
  out.tile("m", &t::m, tile_extent(p.rows))
      .tile("n", &t::n, tile_extent(p.columns))
      .tile("k", &t::k, tile_extent(p.depth))
      .add("unroll_depth", &t::unroll_depth, powers_of_two(1, 16))
      .add("fetch_width", &t::fetch_width, powers_of_two(1, half ? 8 : 4))
      .add("row_padding", &t::row_padding, {0, 4, 8})
      .add("buffers", &t::buffers, range(1, limits.async_copies && !half ? 4 : 2))
      .add("lanes", &t::lanes, powers_of_two(1, 32));
  if (limits.async_copies && !half)
    out.add("background", &t::background, {false, true})
        .where(
            "background copies have 2 to 4 buffers, others 1 or 2",
            [](int buffers, bool async) { return async ? buffers >= 2 : buffers <= 2; }, &t::buffers, &t::background);
  else
    out.add("background", &t::background, {false});
  keep_within(out, p, limits, 2);
  const auto small = [](int factor) { return factor <= 8; };
  return out
      .where("at most 8 vthreads along m", small, factor(&t::m, 1))  // as many as Ansor allows
      .where("at most 8 vthreads along n", small, factor(&t::n, 1))
      .where("at most 8 inner rows", small, factor(&t::m, 4))  // two accesses to shared memory
      .where("at most 8 inner columns", small, factor(&t::n, 4))
      .where(
          "lanes divide the threads along n", [](int threads, int lanes) { return threads % lanes == 0; },
          factor(&t::n, 2), &t::lanes)
      .where(
          "unrolling divides the depth of a tile", [](int depth, int unroll) { return depth % unroll == 0; },
          factor(&t::k, 1), &t::unroll_depth)
      .where(
          "A or B can be fetched so many at once",
          [p](int bk, int bn, int fetch) {
            return usable_width(fetch, bk, p.run_a) == fetch || usable_width(fetch, bn, p.run_b) == fetch;
          },
          factor(&t::k, 1), inclusive(&t::n, 1), &t::fetch_width)
      .where(
          "tiles fit in the shared memory of a block",
          [=](int bm, int bn, int bk, int padding, int buffers) {
            return shared_bytes(p.type, bm, bn, bk, padding, buffers) <= limits.shared_bytes;
          },
          inclusive(&t::m, 1), inclusive(&t::n, 1), factor(&t::k, 1), &t::row_padding, &t::buffers)
      .where(
          "the unrolled loop is no longer than the instruction cache",
          [](int bm, int m, int bn, int n, int unroll) { return bm / m * (bn / n) * unroll <= most_unrolled; },
          inclusive(&t::m, 1), factor(&t::m, 2), inclusive(&t::n, 1), factor(&t::n, 2), &t::unroll_depth);
}

/// @param shared  bytes of shared memory of a block
[[nodiscard]] inline launch geometry_of(const product& p, const block_limits& limits, int bm, int bn, int threads,
                                        std::size_t shared) {
  launch out;
  out.blocks = {static_cast<std::size_t>(ceil_div(p.rows, bm)) * static_cast<std::size_t>(ceil_div(p.columns, bn)),
                static_cast<std::size_t>(p.count), 1};
  out.threads = {static_cast<std::size_t>(threads), 1, 1};
  if (limits.dynamic_shared) out.shared_bytes = shared;
  return out;
}

/// @param where  text that defines where an element of product z lies: offset_a(z, row, k), offset_b(z, k, column), both
///               -1 for a zero that lies nowhere, and offset_c(z, row, column)
[[nodiscard]] inline device_kernel<tiling> kernel_of(const product& p, const block_limits& limits,
                                                     const std::string& where, std::vector<argument> arguments,
                                                     reference truth) {
  device_kernel<tiling> out;
  out.source = source_of(p, limits, where + tiled_product_text);
  out.function = "tiled_product";
  out.geometry = [=](const tiling& t) {
    const int bm = t.m[1] * t.m[2] * t.m[3] * t.m[4], bn = t.n[1] * t.n[2] * t.n[3] * t.n[4];
    return geometry_of(p, limits, bm, bn, t.m[2] * t.n[2],
                       shared_bytes(p.type, bm, bn, t.k[1], t.row_padding, t.buffers));
  };
  out.arguments = std::move(arguments);
  out.truth = std::move(truth);
  return out;
}

}  // namespace detail
}  // namespace tileseek::kernels::gpu
