#pragma once
// What the kernels for CPUs share: vectors, micro-kernels in a table, and memory to pack operands into.
//
// Nothing is compiled per trial: every micro-kernel is a template instantiation in a table, so a configuration costs
// its run time only. Vectors are the GCC/clang vector extension at the width the compiler flags allow (build with -O3
// -march=native); all translation units of a program that include this header must be compiled for the same
// instruction set.

#include <algorithm>
#include <array>
#include <cstddef>
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

namespace detail {
inline constexpr int max_rows = 16;
inline constexpr int max_vectors = 4;
inline constexpr int depthwise_pixels = 8;
inline constexpr int depthwise_vectors = 2;
/// Do the accumulators, one row of B and one broadcast element of A?
[[nodiscard]] constexpr bool fits_in_registers(int rows, int vectors) {
  return rows * vectors + vectors + 1 <= vector_registers;
}
}  // namespace detail

/// Is there a micro-kernel of this many rows and vectors? The accumulators, one row of B and one broadcast element of A
/// must fit in the vector registers. 7, 11, 13 and 15 rows are left out: padded extents rarely have these divisors, and
/// each costs compile time.
[[nodiscard]] constexpr bool micro_kernel_exists(int rows, int vectors) {
  return rows >= 1 && rows <= detail::max_rows && vectors >= 1 && vectors <= detail::max_vectors &&
         detail::fits_in_registers(rows, vectors) && rows != 7 && rows != 11 && rows != 13 && rows != 15;
}

/// Is there a micro-kernel with this many rank-one updates per turn of its loop? One or two: a tile of useful size has
/// 20 and more multiply-adds per update, so that four gained no more than 1 %, for twice the compile time.
[[nodiscard]] constexpr bool unroll_exists(int steps) { return steps == 1 || steps == 2; }

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

namespace detail {

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

// A sum over `count` stretches of `depth` products each: stretch i of A begins `at[i]` floats from the operand's begin.
// A matrix product has one stretch; a convolution has one for each row of its kernel, or for each place in it. B is
// contiguous over all of them.
struct stretches {
  const index* at;
  index count;
  index depth;
  const float* ahead;  ///< what the calls to come read: fetched into L2, a cache line for each turn of the loop
  index ahead_step;    ///< floats to the next line; 0: nothing need be fetched
};

// The rows of C's tile = or += the accumulators, and what prepares for it. Folds again: a loop would make g++ -O2 keep the
// accumulators in memory beside the registers, which cost a short sum a fifth of its time.
template <std::size_t... V>
[[gnu::always_inline]] inline void prefetch_row(const float* c, std::index_sequence<V...>) {
  (__builtin_prefetch(c + V * vector_lanes, 1), ...);
}
template <std::size_t... V>
[[gnu::always_inline]] inline void store_row(float* c, const vec* acc, bool add, std::index_sequence<V...>) {
  if (add)
    (store(c + V * vector_lanes, load<vec>(c + V * vector_lanes) + acc[V]), ...);
  else
    (store(c + V * vector_lanes, acc[V]), ...);
}
template <std::size_t Vectors, std::size_t... Row>
[[gnu::always_inline]] inline void store_tile(float* c, index c_row, const vec* acc, bool add,
                                              std::index_sequence<Row...>) {
  (store_row(c + static_cast<index>(Row) * c_row, acc + Row * Vectors, add, std::make_index_sequence<Vectors>{}), ...);
}

// C tile = or += A panel * B panel. A is a packed panel (depth x Rows), or lies in place with `a_row` floats between its
// rows. The tile's rows are `c_row` floats apart.
using micro_kernel = void (*)(const stretches& sum, const float* a, index a_row, const float* b, float* c, index c_row,
                              bool add);

template <bool Packed, int Rows, int Vectors, int Unroll>
void compute_tile(const stretches& sum, const float* a, index a_row, const float* b, float* c, index c_row, bool add) {
  constexpr std::size_t tile = Rows * Vectors;
  vec acc[tile] = {};
  constexpr auto rows = std::make_index_sequence<static_cast<std::size_t>(Rows)>{};
  // C is needed at the end, and lies in L2 or farther by then: 1 to 9 %. A row is fetched with each turn of the loop,
  // because all at the beginning keep A and B waiting.
  const float* row = c;
  const float* const last = c + (Rows - 1) * c_row;
  const float* ahead = sum.ahead;
  for (index i = 0; i < sum.count; ++i) {
    const float* from = a + sum.at[i];
    index depth = sum.depth;
    for (; depth >= Unroll; depth -= Unroll) {
      __builtin_prefetch(ahead, 0, 2);
      prefetch_row(row, std::make_index_sequence<static_cast<std::size_t>(Vectors)>{});
      if (row != last) row += c_row;
      ahead += sum.ahead_step;
      rank_one_updates<Packed, Rows, Vectors>(acc, from, a_row, b,
                                              std::make_index_sequence<static_cast<std::size_t>(Unroll)>{});
      from += Unroll * (Packed ? Rows : 1);
      b += Unroll * Vectors * vector_lanes;
    }
    if constexpr (Unroll > 1)
      for (; depth > 0; --depth) {
        rank_one_updates<Packed, Rows, Vectors>(acc, from, a_row, b, std::make_index_sequence<1>{});
        from += Packed ? Rows : 1;
        b += Vectors * vector_lanes;
      }
  }
  store_tile<Vectors>(c, c_row, acc, add, rows);
}

// The table of one way to read A and one unrolling. Ragged edges need every number of rows, but at unroll 1 only.
template <bool Packed, int Unroll, std::size_t... I>
constexpr std::array<micro_kernel, sizeof...(I)> table_of(std::index_sequence<I...>) {
  std::array<micro_kernel, sizeof...(I)> table{};
  const auto fill = [&table]<std::size_t At>(std::integral_constant<std::size_t, At>) {
    constexpr int rows = static_cast<int>(At) / max_vectors + 1;
    constexpr int vectors = static_cast<int>(At) % max_vectors + 1;
    if constexpr (Unroll == 1 ? fits_in_registers(rows, vectors) : micro_kernel_exists(rows, vectors))
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

// The same for operands that are multiplied element by element: A's pixels lie `a_row` floats apart, and each of
// `sum.count` places takes a row of B.
template <int Pixels, int Vectors>
void compute_depthwise(const stretches& sum, const float* a, index a_row, const float* b, float* c, index c_row, bool) {
  constexpr std::size_t tile = Pixels * Vectors;
  vec acc[tile] = {};
  for (index i = 0; i < sum.count; ++i, b += Vectors * vector_lanes) {
    const float* from = a + sum.at[i];
#pragma GCC unroll 8
    for (int p = 0; p < Pixels; ++p)
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v)
        acc[p * Vectors + v] += load<vec>(from + p * a_row + v * vector_lanes) * load<vec>(b + v * vector_lanes);
  }
#pragma GCC unroll 8
  for (int p = 0; p < Pixels; ++p)
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) store(c + p * c_row + v * vector_lanes, acc[p * Vectors + v]);
}

template <std::size_t... I>
constexpr std::array<micro_kernel, sizeof...(I)> depthwise_table(std::index_sequence<I...>) {
  return {
      &compute_depthwise<static_cast<int>(I) / depthwise_vectors + 1, static_cast<int>(I) % depthwise_vectors + 1>...};
}

inline micro_kernel find_depthwise_kernel(int pixels, int vectors) {
  static constexpr auto table = depthwise_table(std::make_index_sequence<depthwise_pixels * depthwise_vectors>{});
  return table[static_cast<std::size_t>((pixels - 1) * depthwise_vectors + vectors - 1)];
}

// Runs `kernel(to, row, add)` for the tile of C at `c`, `columns` wide. Where the last vector reaches over the edge of C,
// the tile is computed beside it, and what is inside is copied.
template <class Kernel>
void write_tile(const Kernel& kernel, float* c, index c_row, index rows, index columns, bool add) {
  const index whole = (columns + vector_lanes - 1) / vector_lanes * vector_lanes;
  if (columns == whole) return kernel(c, c_row, add);
  alignas(vector_bytes) float beside[max_rows * max_vectors * vector_lanes];
  kernel(beside, whole, false);
  for (index r = 0; r < rows; ++r)
    for (index j = 0; j < columns; ++j) c[r * c_row + j] = (add ? c[r * c_row + j] : 0.0f) + beside[r * whole + j];
}

// to[p, r] = from[r, p], for `rows` rows of `depth` floats. 4 x 4 transpositions, the last of which starts early rather
// than run over: it writes the same numbers again.
inline void transpose(float* to, index to_row, const float* from, index from_row, index rows, index depth) {
  index p = 0;
  if (rows >= 4)
    for (; p + 4 <= depth; p += 4)
      for (index at = 0; at < rows; at += 4) {
        const index r = std::min(at, rows - 4);
        const float* in = from + r * from_row + p;
        const quad w = load<quad>(in), x = load<quad>(in + from_row);
        const quad y = load<quad>(in + 2 * from_row), z = load<quad>(in + 3 * from_row);
        const quad wx01 = __builtin_shufflevector(w, x, 0, 4, 1, 5), wx23 = __builtin_shufflevector(w, x, 2, 6, 3, 7);
        const quad yz01 = __builtin_shufflevector(y, z, 0, 4, 1, 5), yz23 = __builtin_shufflevector(y, z, 2, 6, 3, 7);
        float* out = to + p * to_row + r;
        store<quad>(out, __builtin_shufflevector(wx01, yz01, 0, 1, 4, 5));
        store<quad>(out + to_row, __builtin_shufflevector(wx01, yz01, 2, 3, 6, 7));
        store<quad>(out + 2 * to_row, __builtin_shufflevector(wx23, yz23, 0, 1, 4, 5));
        store<quad>(out + 3 * to_row, __builtin_shufflevector(wx23, yz23, 2, 3, 6, 7));
      }
  for (; p < depth; ++p)
    for (index r = 0; r < rows; ++r) to[p * to_row + r] = from[r * from_row + p];
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

template <class T>
struct page_allocator {
  using value_type = T;
  static constexpr std::align_val_t page{4096};
  page_allocator() = default;
  template <class U>
  explicit page_allocator(const page_allocator<U>&) noexcept {}
  [[nodiscard]] T* allocate(std::size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), page)); }
  void deallocate(T* p, std::size_t) noexcept { ::operator delete(p, page); }
  [[nodiscard]] friend bool operator==(const page_allocator&, const page_allocator&) { return true; }
};

// Floats that begin on a page, so that which cache sets a panel falls into does not change from run to run, and that no
// vector lies in two cache lines, which cost a tenth of the time where results are written most.
// (Huge pages by madvise made no measurable difference: the packed blocks are read in order.)
using floats = std::vector<float, page_allocator<float>>;

// Makes room. Writes the memory as well: else the first run in it would pay for page faults.
inline void grow(floats& room, index count) {
  if (static_cast<std::size_t>(count) > room.size()) room = floats(static_cast<std::size_t>(count));
}

}  // namespace detail

}  // namespace tileseek::kernels
