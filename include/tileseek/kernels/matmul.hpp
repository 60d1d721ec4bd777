#pragma once
/// \file
/// A single-precision matrix product C = A * B on one CPU thread, whose blocking is chosen at run time.
///
/// The algorithm is GotoBLAS's, written with the loops of BLIS: C is computed in register tiles of `rows` x `vectors`;
/// a tile is a sum of rank-one updates, fed from *packed* memory in which the numbers lie in the order of use. Blocks
/// of k keep a micro-panel of one operand in the L1 cache and blocks of m and n keep the other operand's block in the
/// L2 cache.
///
///   K. Goto, R. van de Geijn: Anatomy of high-performance matrix multiplication. ACM TOMS 34(3), 2008.
///   F. Van Zee, R. van de Geijn: BLIS: a framework for rapidly instantiating BLAS functionality. ACM TOMS 41(3), 2015.
///
/// Nothing is compiled per trial: every micro-kernel is a template instantiation in a table, so a configuration costs
/// its run time only. Vectors are the GCC/clang vector extension at the width the compiler flags allow (build with -O3
/// -march=native); all translation units of a program that include this header must be compiled for the same
/// instruction set.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tileseek::kernels {

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
/// Floats in a vector register: the unit in which n is tiled.
inline constexpr int vector_lanes = vector_bytes / static_cast<int>(sizeof(float));

/// The sizes of C (m x n) = A (m x k) * B (k x n), all row-major and without gaps between rows.
struct matmul_shape {
  int m = 1;
  int n = 1;
  int k = 1;

  /// Floating-point operations, a multiplication and an addition counting as two.
  [[nodiscard]] constexpr double flop() const { return 2.0 * m * n * k; }
};

/// Which block loop is the outer one; each operand is packed as soon as its block is known.
enum class matmul_order {
  n_outside,  ///< each block of B is packed once, A again for each of them; a micro-panel of B stays in L1, A streams
              ///< past it
  m_outside,  ///< each block of A is packed once, B again for each of them; a micro-panel of A stays in L1, B streams
              ///< past it
};

/// The configuration. Each array is a three-level tile of a *padded* extent (`matmul_extents`), outermost factor first.
/// The loops are clipped to the true size, so any block is correct for any shape. The outermost factor only completes
/// the product: the kernel takes as many blocks as the size needs. The default is what one writes without tuning:
/// blocks of 64 x 64 x 64.
struct matmul_blocking {
  std::array<int, 3> m{1, 16, 4};                 ///< {blocks, micro-panels per block, rows of the micro-kernel}
  std::array<int, 3> n{1, 64 / vector_lanes, 1};  ///< {blocks, micro-panels per block, vectors of the micro-kernel}
  std::array<int, 3> k{1, 64, 1};                 ///< {blocks, groups per block, unrolled steps per group}
  matmul_order order = matmul_order::n_outside;
  /// Copy A into panels, too. Costs a pass over A per block of B; without it a micro-kernel reads `rows` rows of A in
  /// place, which is faster as long as these share neither cache sets nor TLB entries. B is always packed.
  bool pack_a = true;

  [[nodiscard]] friend bool operator==(const matmul_blocking&, const matmul_blocking&) = default;
};

/// Is there a micro-kernel of this many rows and vectors? The accumulators, one row of B and one broadcast element of A
/// must fit in the vector registers. 7, 11, 13 and 15 rows are left out: padded extents rarely have these divisors, and
/// each costs compile time.
[[nodiscard]] constexpr bool micro_kernel_exists(int rows, int vectors) {
  return rows >= 1 && rows <= 16 && vectors >= 1 && vectors <= 4 && rows * vectors + vectors + 1 <= vector_registers &&
         rows != 7 && rows != 11 && rows != 13 && rows != 15;
}

/// Is there a micro-kernel with this many rank-one updates per turn of its loop? One or two: a tile of useful size has
/// 20 and more multiply-adds per update, so that four gained no more than 1 %, for twice the compile time.
[[nodiscard]] constexpr bool unroll_exists(int steps) { return steps == 1 || steps == 2; }

/// Bytes of a micro-panel of A and of B: what the L1 cache should hold beside the C tile. The arguments are the members
/// of `matmul_blocking`, so that these serve as rules of a space. Sizes are before clipping to the shape.
[[nodiscard]] constexpr double a_panel_bytes(const std::array<int, 3>& m, const std::array<int, 3>& k) {
  return 4.0 * m[2] * k[1] * k[2];
}
[[nodiscard]] constexpr double b_panel_bytes(const std::array<int, 3>& n, const std::array<int, 3>& k) {
  return 4.0 * vector_lanes * n[2] * k[1] * k[2];
}
/// Bytes of a packed block of A and of B: what the L2 (and L3) cache should hold.
[[nodiscard]] constexpr double a_block_bytes(const std::array<int, 3>& m, const std::array<int, 3>& k) {
  return a_panel_bytes(m, k) * m[1];
}
[[nodiscard]] constexpr double b_block_bytes(const std::array<int, 3>& n, const std::array<int, 3>& k) {
  return b_panel_bytes(n, k) * n[1];
}

/// A number with many divisors that covers `size`: the one with most divisors (the smallest of these) among size ...
/// size + max(1, size / 8), from 96 on among the multiples of 12, which always offer 3, 4, 6 and 12 rows. A prime gets
/// a rich set of tile sizes this way (1021 -> 1080: 32 divisors), and a power of two tile sizes that are none; padding
/// is never computed, it only makes an edge ragged.
/// @post size <= result <= size + max(1, size / 8), and result == size for size <= 2
/// Throws std::invalid_argument for size < 1.
[[nodiscard]] inline int padded_extent(int size) {
  if (size < 1) throw std::invalid_argument("padded_extent: size is " + std::to_string(size) + ", pass at least 1");
  if (size <= 2) return size;
  const int step = size < 96 ? 1 : 12;
  int best = 0, most = 0;
  for (int e = (size + step - 1) / step * step; e <= size + std::max(1, size / 8); e += step) {
    int divisors = 0;
    for (int d = 1; d <= e / d; ++d)
      if (e % d == 0) divisors += d == e / d ? 1 : 2;
    if (divisors > most) best = e, most = divisors;
  }
  return best;
}

/// The extents that the three tiles of `matmul_blocking` factorise.
struct matmul_tile_extents {
  int m = 1;  ///< rows of C
  int n = 1;  ///< vectors of `vector_lanes` columns of C
  int k = 1;  ///< rank-one updates
};
[[nodiscard]] inline matmul_tile_extents matmul_extents(const matmul_shape& shape) {
  return {padded_extent(shape.m), padded_extent((shape.n + vector_lanes - 1) / vector_lanes), padded_extent(shape.k)};
}

namespace matmul_detail {

using index = std::ptrdiff_t;
using vec = float __attribute__((vector_size(vector_bytes)));
using quad = float __attribute__((vector_size(16)));

// By value on purpose: clang lowers 512-bit vectors to pairs of 256-bit ones in a function that passes none, on CPUs
// where it prefers short vectors (half the speed here). memcpy, because it means "unaligned" to both compilers and
// costs nothing.
template <class V>
[[gnu::always_inline]] inline V load(const float* from) {
  V v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
template <class V>
[[gnu::always_inline]] inline void store(float* to, V v) {
  __builtin_memcpy(to, &v, sizeof v);
}

inline constexpr int max_rows = 16;
inline constexpr int max_vectors = 4;

// acc += (column of A) x (row of B). The folds unroll in the front end: accumulators indexed by constants stay in
// registers. A is read once per row here, not per multiply-add: the optimiser does not care, but g++ -g with sanitizers
// took 40 s for one micro-kernel the other way, and 1.5 s this way.
template <std::size_t... V>
[[gnu::always_inline]] inline void add_scaled(vec* acc, float factor, const vec* row, std::index_sequence<V...>) {
  ((acc[V] += factor * row[V]), ...);
}

template <bool Packed, std::size_t Vectors, std::size_t... Row>
[[gnu::always_inline]] inline void rank_one_update(vec* acc, const float* a, index a_row, const float* b,
                                                   std::index_sequence<Row...>) {
  vec row[Vectors];
  for (std::size_t v = 0; v < Vectors; ++v) row[v] = load<vec>(b + v * vector_lanes);
  (add_scaled(acc + Row * Vectors, a[static_cast<index>(Row) * (Packed ? 1 : a_row)], row,
              std::make_index_sequence<Vectors>{}),
   ...);
}

template <bool Packed, int Rows, int Vectors, std::size_t... Step>
[[gnu::always_inline]] inline void rank_one_updates(vec* acc, const float* a, index a_row, const float* b,
                                                    std::index_sequence<Step...>) {
  constexpr auto rows = std::make_index_sequence<static_cast<std::size_t>(Rows)>{};
  (rank_one_update<Packed, Vectors>(acc, a + static_cast<index>(Step) * (Packed ? Rows : 1), a_row,
                                    b + static_cast<index>(Step) * (Vectors * vector_lanes), rows),
   ...);
}

// C tile = or += A panel * B panel, all of `depth`. A is a packed panel (depth x Rows), or lies in place with `a_row`
// floats between its rows. The tile's rows are `c_row` floats apart.
using micro_kernel = void (*)(index depth, const float* a, index a_row, const float* b, float* c, index c_row,
                              bool add);

template <bool Packed, int Rows, int Vectors, int Unroll>
void compute_tile(index depth, const float* a, index a_row, const float* b, float* c, index c_row, bool add) {
  constexpr std::size_t tile = Rows * Vectors;
  vec acc[tile] = {};
  // C is needed at the end, and lies in L2 or farther by then: 1 to 2 % on a busy machine, nothing on a quiet one.
  // Prefetching the panels gained nothing on either.
  for (int r = 0; r < Rows; ++r)
    for (int v = 0; v < Vectors; ++v) __builtin_prefetch(c + r * c_row + v * vector_lanes, 1);
  for (; depth >= Unroll; depth -= Unroll) {
    rank_one_updates<Packed, Rows, Vectors>(acc, a, a_row, b,
                                            std::make_index_sequence<static_cast<std::size_t>(Unroll)>{});
    a += Unroll * (Packed ? Rows : 1);
    b += Unroll * Vectors * vector_lanes;
  }
  if constexpr (Unroll > 1)
    for (; depth > 0; --depth) {
      rank_one_updates<Packed, Rows, Vectors>(acc, a, a_row, b, std::make_index_sequence<1>{});
      a += Packed ? Rows : 1;
      b += Vectors * vector_lanes;
    }
  for (int r = 0; r < Rows; ++r)
    for (int v = 0; v < Vectors; ++v) {
      float* out = c + r * c_row + v * vector_lanes;
      store(out, add ? load<vec>(out) + acc[r * Vectors + v] : acc[r * Vectors + v]);
    }
}

// The table of one way to read A and one unrolling. Ragged edges need every number of rows, but at unroll 1 only.
template <bool Packed, int Unroll, std::size_t... I>
constexpr std::array<micro_kernel, sizeof...(I)> table_of(std::index_sequence<I...>) {
  std::array<micro_kernel, sizeof...(I)> table{};
  const auto fill = [&table]<std::size_t At>(std::integral_constant<std::size_t, At>) {
    constexpr int rows = static_cast<int>(At) / max_vectors + 1;
    constexpr int vectors = static_cast<int>(At) % max_vectors + 1;
    constexpr bool fits = rows * vectors + vectors + 1 <= vector_registers;
    if constexpr (Unroll == 1 ? fits : micro_kernel_exists(rows, vectors))
      table[At] = &compute_tile<Packed, rows, vectors, Unroll>;
  };
  (fill(std::integral_constant<std::size_t, I>{}), ...);
  return table;
}

inline micro_kernel find_micro_kernel(bool packed, int rows, int vectors, int unroll) {
  constexpr auto all = std::make_index_sequence<static_cast<std::size_t>(max_rows * max_vectors)>{};
  static constexpr std::array tables{table_of<false, 1>(all), table_of<false, 2>(all), table_of<true, 1>(all),
                                     table_of<true, 2>(all)};
  const auto at = static_cast<std::size_t>((rows - 1) * max_vectors + vectors - 1);
  const std::size_t plain = packed ? 2 : 0;
  const micro_kernel unrolled = tables[plain + static_cast<std::size_t>(unroll - 1)][at];
  return unrolled ? unrolled : tables[plain][at];
}

// Packs `rows` rows of A, `depth` long and `a_row` floats apart, column by column. 4 x 4 transpositions, the last of
// which starts early rather than run over: it writes the same numbers again.
inline void pack_a_panel(float* to, const float* a, index a_row, index rows, index depth) {
  index p = 0;
  if (rows >= 4)
    for (; p + 4 <= depth; p += 4)
      for (index at = 0; at < rows; at += 4) {
        const index r = std::min(at, rows - 4);
        const float* from = a + r * a_row + p;
        const quad w = load<quad>(from), x = load<quad>(from + a_row);
        const quad y = load<quad>(from + 2 * a_row), z = load<quad>(from + 3 * a_row);
        const quad wx01 = __builtin_shufflevector(w, x, 0, 4, 1, 5), wx23 = __builtin_shufflevector(w, x, 2, 6, 3, 7);
        const quad yz01 = __builtin_shufflevector(y, z, 0, 4, 1, 5), yz23 = __builtin_shufflevector(y, z, 2, 6, 3, 7);
        float* out = to + p * rows + r;
        store<quad>(out, __builtin_shufflevector(wx01, yz01, 0, 1, 4, 5));
        store<quad>(out + rows, __builtin_shufflevector(wx01, yz01, 2, 3, 6, 7));
        store<quad>(out + 2 * rows, __builtin_shufflevector(wx23, yz23, 0, 1, 4, 5));
        store<quad>(out + 3 * rows, __builtin_shufflevector(wx23, yz23, 2, 3, 6, 7));
      }
  for (; p < depth; ++p)
    for (index r = 0; r < rows; ++r) to[p * rows + r] = a[r * a_row + p];
}

// Packs a block of B (depth x columns, rows `b_row` floats apart) into panels of `width` columns; the last one is as
// many vectors wide as it needs, filled up with zeros. Sixteen rows at a time: B is read along its rows without
// touching a page per row and panel.
inline void pack_b_block(float* to, const float* b, index b_row, index depth, index columns, index width) {
  for (index begin = 0; begin < depth; begin += 16)
    for (index j = 0; j < columns; j += width) {
      const index live = std::min(width, columns - j);
      const index wide = (live + vector_lanes - 1) / vector_lanes * vector_lanes;
      for (index p = begin; p < std::min(depth, begin + 16); ++p) {
        const float* from = b + p * b_row + j;
        float* out = to + j * depth + p * wide;
        index x = 0;
        for (; x + vector_lanes <= live; x += vector_lanes) store(out + x, load<vec>(from + x));
        for (; x < wide; ++x) out[x] = x < live ? from[x] : 0.0f;
      }
    }
}

// Memory that grows and starts on a page, so that which cache sets a panel falls into does not change from run to run.
// (Huge pages by madvise made no measurable difference: the packed blocks are read in order.)
class buffer {
 public:
  [[nodiscard]] float* data() const { return data_.get(); }

  // Writes the memory as well: else the first run in it would pay for page faults.
  void grow(index count) {
    if (count <= count_) return;
    data_.reset();
    count_ = 0;
    data_.reset(static_cast<float*>(::operator new(static_cast<std::size_t>(count) * sizeof(float), page)));
    count_ = count;
    std::fill_n(data_.get(), count, 0.0f);
  }

 private:
  static constexpr std::align_val_t page{4096};
  struct release {
    void operator()(float* p) const { ::operator delete(p, page); }
  };
  std::unique_ptr<float, release> data_;
  index count_ = 0;
};

}  // namespace matmul_detail

/// The kernel for one shape. Owns the packing buffers, which grow on demand and are reused: one object per thread.
///
///   matmul product({.m = 1024, .n = 1024, .k = 1024});
///   product(blocking, a, b, c);
class matmul {
 public:
  /// Throws std::invalid_argument if a size is below 1.
  explicit matmul(const matmul_shape& shape) : shape_(shape) {
    const auto positive = [](const char* field, int value) {
      if (value < 1)
        throw std::invalid_argument(std::string("matmul: shape.") + field + " is " + std::to_string(value) +
                                    ", pass at least 1");
    };
    positive("m", shape.m);
    positive("n", shape.n);
    positive("k", shape.k);
  }

  [[nodiscard]] const matmul_shape& shape() const { return shape_; }

  /// Makes room for the packed blocks of this blocking, so that the first timed run does not pay for it.
  /// Throws std::invalid_argument if the blocking is none (naming the field, its value and what is possible),
  /// std::bad_alloc.
  void prepare(const matmul_blocking& blocking) {
    check(blocking);
    const block_sizes block(shape_, blocking);
    if (blocking.pack_a) packed_a_.grow(block.m * block.k);
    packed_b_.grow(block.n * block.k);
  }

  /// c = a * b, with a: m x k, b: k x n, c: m x n floats, c overlapping neither. What c held before does not matter.
  /// Throws as `prepare` does, before it touches c.
  void operator()(const matmul_blocking& blocking, const float* a, const float* b, float* c) {
    prepare(blocking);
    const block_sizes block(shape_, blocking);
    const run task{shape_, blocking, a, b, c, packed_a_.data(), packed_b_.data()};
    if (blocking.order == matmul_order::n_outside) {
      for (index j = 0; j < shape_.n; j += block.n)
        for (index p = 0; p < shape_.k; p += block.k) {
          const span n{j, std::min(block.n, shape_.n - j)}, k{p, std::min(block.k, shape_.k - p)};
          task.pack_b(n, k);
          for (index i = 0; i < shape_.m; i += block.m) {
            const span m{i, std::min(block.m, shape_.m - i)};
            task.pack_a(m, k);
            for (index y = 0; y < n.size; y += task.tile_columns)
              for (index x = 0; x < m.size; x += task.tile_rows) task.tile(m, n, k, x, y);
          }
        }
    } else {
      for (index i = 0; i < shape_.m; i += block.m)
        for (index p = 0; p < shape_.k; p += block.k) {
          const span m{i, std::min(block.m, shape_.m - i)}, k{p, std::min(block.k, shape_.k - p)};
          task.pack_a(m, k);
          for (index j = 0; j < shape_.n; j += block.n) {
            const span n{j, std::min(block.n, shape_.n - j)};
            task.pack_b(n, k);
            for (index x = 0; x < m.size; x += task.tile_rows)
              for (index y = 0; y < n.size; y += task.tile_columns) task.tile(m, n, k, x, y);
          }
        }
    }
  }

 private:
  using index = matmul_detail::index;

  // Part of a dimension: where it begins, how long it is.
  struct span {
    index begin;
    index size;
  };

  // Rows, columns and depth of a block, clipped to the shape (columns to whole vectors), and therefore of the packed
  // buffers.
  struct block_sizes {
    index m, n, k;
    block_sizes(const matmul_shape& shape, const matmul_blocking& by)
        : m(clip(by.m[1], by.m[2], shape.m)),
          n(vector_lanes * clip(by.n[1], by.n[2], (shape.n + vector_lanes - 1) / vector_lanes)),
          k(clip(by.k[1], by.k[2], shape.k)) {}
    static index clip(index outer, index inner, index limit) { return std::min(outer * inner, limit); }
  };

  // One product under way: what the loops do at each level.
  struct run {
    const matmul_shape& shape;
    const matmul_blocking& by;
    const float* a;
    const float* b;
    float* c;
    float* packed_a;
    float* packed_b;
    index tile_rows = by.m[2];
    index tile_columns = by.n[2] * vector_lanes;

    void pack_a(span m, span k) const {
      if (!by.pack_a) return;
      for (index x = 0; x < m.size; x += tile_rows)
        matmul_detail::pack_a_panel(packed_a + x * k.size, a + (m.begin + x) * shape.k + k.begin, shape.k,
                                    std::min(tile_rows, m.size - x), k.size);
    }

    void pack_b(span n, span k) const {
      matmul_detail::pack_b_block(packed_b, b + k.begin * shape.n + n.begin, shape.n, k.size, n.size, tile_columns);
    }

    // The tile at (x, y) of block (m, n). At an edge a smaller micro-kernel takes over: panels are packed as narrow as
    // they are there.
    void tile(span m, span n, span k, index x, index y) const {
      const index rows = std::min(tile_rows, m.size - x), columns = std::min(tile_columns, n.size - y);
      const index vectors = (columns + vector_lanes - 1) / vector_lanes, whole = vectors * vector_lanes;
      const auto kernel =
          matmul_detail::find_micro_kernel(by.pack_a, static_cast<int>(rows), static_cast<int>(vectors), by.k[2]);
      const float* from_a = by.pack_a ? packed_a + x * k.size : a + (m.begin + x) * shape.k + k.begin;
      const float* from_b = packed_b + y * k.size;
      float* to = c + (m.begin + x) * shape.n + n.begin + y;
      const bool add = k.begin > 0;
      if (columns == whole) return kernel(k.size, from_a, shape.k, from_b, to, shape.n, add);
      // The last vector reaches over the edge of C: compute beside it, copy what is inside.
      alignas(vector_bytes) float beside[matmul_detail::max_rows * matmul_detail::max_vectors * vector_lanes];
      kernel(k.size, from_a, shape.k, from_b, beside, whole, false);
      for (index r = 0; r < rows; ++r)
        for (index j = 0; j < columns; ++j)
          to[r * shape.n + j] = (add ? to[r * shape.n + j] : 0.0f) + beside[r * whole + j];
    }
  };

  static void check(const matmul_blocking& by) {
    const auto fail = [](const std::string& field, int value, const std::string& remedy) {
      throw std::invalid_argument("matmul: blocking." + field + " is " + std::to_string(value) + ", " + remedy);
    };
    const auto positive = [&fail](const char* name, const std::array<int, 3>& factors) {
      for (std::size_t level = 0; level < factors.size(); ++level)
        if (factors[level] < 1)
          fail(std::string(name) + "[" + std::to_string(level) + "]", factors[level], "pass at least 1");
    };
    positive("m", by.m);
    positive("n", by.n);
    positive("k", by.k);
    if (!micro_kernel_exists(by.m[2], 1))
      fail("m[2]", by.m[2], "pass the rows of a micro-kernel (see micro_kernel_exists): 1 to 6, 8, ...");
    if (!micro_kernel_exists(by.m[2], by.n[2]))
      fail("n[2]", by.n[2],
           "pass fewer vectors: there is no micro-kernel with blocking.m[2] = " + std::to_string(by.m[2]) +
               " rows that wide (see micro_kernel_exists)");
    if (!unroll_exists(by.k[2])) fail("k[2]", by.k[2], "pass 1 or 2 unrolled steps");
    if (by.order != matmul_order::n_outside && by.order != matmul_order::m_outside)
      fail("order", static_cast<int>(by.order), "pass n_outside or m_outside");
  }

  matmul_shape shape_;
  matmul_detail::buffer packed_a_;
  matmul_detail::buffer packed_b_;
};

/// c = a * b in double precision: the truth that a float result is compared with. a: m x k, b: k x n, c: m x n; c is
/// overwritten.
inline void matmul_reference(const matmul_shape& shape, const float* a, const float* b, double* c) {
  const std::ptrdiff_t m = shape.m, n = shape.n, k = shape.k;
  std::fill_n(c, m * n, 0.0);
  for (std::ptrdiff_t i = 0; i < m; ++i)
    for (std::ptrdiff_t p = 0; p < k; ++p) {
      const double factor = a[i * k + p];
      for (std::ptrdiff_t j = 0; j < n; ++j) c[i * n + j] += factor * static_cast<double>(b[p * n + j]);
    }
}

/// The largest error of `c` in units of what rounding can explain; at most 1 for a correct product, whatever its order
/// of summation, and infinite if `c` or the reference holds a NaN or an infinity.
///
/// A sum of k products in floats is off by at most gamma_k * sum_p |a_ip| |b_pj|, gamma_k = k u / (1 - k u), u = 2^-24
/// (N. Higham: Accuracy and stability of numerical algorithms, 2nd ed. 2002, eq. 3.13). Here k + 1 instead of k leaves
/// room for the reference's own rounding, the sum is bounded by the norms of a's row and b's column (Cauchy-Schwarz),
/// and k times the smallest float is added for underflow. A missing product is of the order of norm * norm / k, so it
/// shows for k up to about sqrt(1 / u) = 4096.
[[nodiscard]] inline double matmul_error(const matmul_shape& shape, const float* a, const float* b, const float* c,
                                         const double* reference) {
  const std::ptrdiff_t m = shape.m, n = shape.n, k = shape.k;
  std::vector<double> column(static_cast<std::size_t>(n), 0.0);
  for (std::ptrdiff_t p = 0; p < k; ++p)
    for (std::ptrdiff_t j = 0; j < n; ++j) {
      const double x = b[p * n + j];
      column[static_cast<std::size_t>(j)] += x * x;
    }
  for (double& x : column) x = std::sqrt(x);
  const double roundings =
      (static_cast<double>(k) + 1) * 0.5 * static_cast<double>(std::numeric_limits<float>::epsilon());
  if (roundings >= 1)
    throw std::invalid_argument("matmul_error: shape.k is " + std::to_string(k) + ", floats cannot sum that many");
  const double gamma = roundings / (1 - roundings);
  const double underflow = static_cast<double>(k) * static_cast<double>(std::numeric_limits<float>::denorm_min());
  double worst = 0;
  for (std::ptrdiff_t i = 0; i < m; ++i) {
    double row = 0;
    for (std::ptrdiff_t p = 0; p < k; ++p) row += static_cast<double>(a[i * k + p]) * static_cast<double>(a[i * k + p]);
    row = std::sqrt(row);
    for (std::ptrdiff_t j = 0; j < n; ++j) {
      const double error = std::abs(static_cast<double>(c[i * n + j]) - reference[i * n + j]);
      if (!std::isfinite(error)) return std::numeric_limits<double>::infinity();
      worst = std::max(worst, error / (gamma * row * column[static_cast<std::size_t>(j)] + underflow));
    }
  }
  return worst;
}

/// Is `c` the product of `a` and `b` up to rounding? See `matmul_error`; `reference` comes from `matmul_reference`.
[[nodiscard]] inline bool matmul_matches(const matmul_shape& shape, const float* a, const float* b, const float* c,
                                         const double* reference) {
  return matmul_error(shape, a, b, c, reference) <= 1;
}

}  // namespace tileseek::kernels
