#pragma once
/// \file
/// Single-precision matrix products C = A * B on the CPU, whose blocking is chosen at run time.
///
/// The algorithm is GotoBLAS's, written with the loops of BLIS: C is computed in register tiles of `rows` x `vectors`;
/// a tile is a sum of rank-one updates, fed from *packed* memory in which the numbers lie in the order of use. Blocks
/// of k keep a micro-panel of one operand in the L1 cache and blocks of m and n keep the other operand's block in the
/// L2 cache.
///
///   K. Goto, R. van de Geijn: Anatomy of high-performance matrix multiplication. ACM TOMS 34(3), 2008.
///   F. Van Zee, R. van de Geijn: BLIS: a framework for rapidly instantiating BLAS functionality. ACM TOMS 41(3), 2015.
///
/// Vectors, micro-kernels and how to compile them: see detail/micro_kernel.hpp.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <tileseek/kernels/detail/micro_kernel.hpp>
#include <tileseek/kernels/detail/rounding_bound.hpp>
#include <tileseek/kernels/detail/team.hpp>

namespace tileseek::kernels {

/// The sizes of C (m x n) = A (m x k) * B (k x n), all row-major and without gaps between rows; `batch` such products,
/// whose operands lie one after another.
struct matmul_shape {
  int m = 1;
  int n = 1;
  int k = 1;
  int batch = 1;

  /// Floating-point operations, a multiplication and an addition counting as two.
  [[nodiscard]] constexpr double flop() const { return 2.0 * batch * m * n * k; }
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

/// The extents that the three tiles of `matmul_blocking` factorise.
struct matmul_tile_extents {
  int m = 1;  ///< rows of C
  int n = 1;  ///< vectors of `vector_lanes` columns of C
  int k = 1;  ///< rank-one updates
};
[[nodiscard]] inline matmul_tile_extents matmul_extents(const matmul_shape& shape) {
  return {padded_extent(shape.m), padded_extent((shape.n + vector_lanes - 1) / vector_lanes), padded_extent(shape.k)};
}

/// The kernel for one shape. Owns the packing buffers, which grow on demand and are reused, and its threads: one object
/// per calling thread.
///
///   matmul product({.m = 1024, .n = 1024, .k = 1024});
///   product(blocking, a, b, c);
class matmul {
 public:
  /// @param threads  that work on a product, the caller among them. They share out the batch, the rows or the columns
  ///                 of C, whichever are most; each packs what it needs
  /// Throws std::invalid_argument if a size or the number of threads is below 1, std::system_error.
  explicit matmul(const matmul_shape& shape, int threads = 1) : shape_(shape) {
    const auto positive = [](const char* field, int value) {
      if (value < 1)
        throw std::invalid_argument(std::string("matmul: ") + field + " is " + std::to_string(value) +
                                    ", pass at least 1");
    };
    positive("shape.m", shape.m);
    positive("shape.n", shape.n);
    positive("shape.k", shape.k);
    positive("shape.batch", shape.batch);
    positive("threads", threads);
    team_ = std::make_unique<detail::team>(threads);
    packed_.resize(static_cast<std::size_t>(threads));
  }

  [[nodiscard]] const matmul_shape& shape() const { return shape_; }
  [[nodiscard]] int threads() const { return team_->size(); }

  /// Makes room for the packed blocks of this blocking, so that the first timed run does not pay for it.
  /// Throws std::invalid_argument if the blocking is none (naming the field, its value and what is possible),
  /// std::bad_alloc.
  void prepare(const matmul_blocking& blocking) {
    check(blocking);
    const block_sizes block(shape_, blocking);
    for (auto& own : packed_) {
      if (blocking.pack_a) detail::grow(own.a, block.m * block.k);
      detail::grow(own.b, block.n * block.k);
    }
  }

  /// c = a * b, with a: m x k, b: k x n, c: m x n floats, c overlapping neither. What c held before does not matter.
  /// Throws as `prepare` does, before it touches c.
  void operator()(const matmul_blocking& blocking, const float* a, const float* b, float* c) {
    prepare(blocking);
    const block_sizes block(shape_, blocking);
    const index rows = blocking.m[2], columns = static_cast<index>(blocking.n[2]) * vector_lanes;
    const index down = (shape_.m + rows - 1) / rows, across = (shape_.n + columns - 1) / columns;
    team_->run([&](int thread) {
      range batch{0, shape_.batch}, m{0, down}, n{0, across};
      range& most = shape_.batch >= std::max(down, across) ? batch : down >= across ? m : n;
      most = most.part(thread, threads());
      const range live_m{m.begin * rows, std::min<index>(m.end * rows, shape_.m)};
      const range live_n{n.begin * columns, std::min<index>(n.end * columns, shape_.n)};
      auto& own = packed_[static_cast<std::size_t>(thread)];
      for (index i = batch.begin; i < batch.end; ++i)
        run{shape_,
            blocking,
            a + i * shape_.m * shape_.k,
            b + i * shape_.k * shape_.n,
            c + i * shape_.m * shape_.n,
            own.a.data(),
            own.b.data(),
            rows,
            columns}
            .product(live_m, live_n, block);
    });
  }

 private:
  using index = detail::index;
  using range = detail::range;

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

  // What one thread packs.
  struct buffers {
    detail::floats a;
    detail::floats b;
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
    index tile_rows;
    index tile_columns;

    void product(range all_m, range all_n, const block_sizes& block) const {
      const auto from = [](index begin, index size, index end) { return range{begin, std::min(begin + size, end)}; };
      if (by.order == matmul_order::n_outside) {
        for (index j = all_n.begin; j < all_n.end; j += block.n)
          for (index p = 0; p < shape.k; p += block.k) {
            const range n = from(j, block.n, all_n.end), k = from(p, block.k, shape.k);
            pack_b(n, k);
            for (index i = all_m.begin; i < all_m.end; i += block.m) {
              const range m = from(i, block.m, all_m.end);
              pack_a(m, k);
              for (index y = 0; y < n.size(); y += tile_columns)
                for (index x = 0; x < m.size(); x += tile_rows) tile(m, n, k, x, y);
            }
          }
      } else {
        for (index i = all_m.begin; i < all_m.end; i += block.m)
          for (index p = 0; p < shape.k; p += block.k) {
            const range m = from(i, block.m, all_m.end), k = from(p, block.k, shape.k);
            pack_a(m, k);
            for (index j = all_n.begin; j < all_n.end; j += block.n) {
              const range n = from(j, block.n, all_n.end);
              pack_b(n, k);
              for (index x = 0; x < m.size(); x += tile_rows)
                for (index y = 0; y < n.size(); y += tile_columns) tile(m, n, k, x, y);
            }
          }
      }
    }

    void pack_a(range m, range k) const {
      if (!by.pack_a) return;
      for (index x = 0; x < m.size(); x += tile_rows) {
        const index rows = std::min(tile_rows, m.size() - x);
        detail::transpose(packed_a + x * k.size(), rows, a + (m.begin + x) * shape.k + k.begin, shape.k, rows,
                          k.size());
      }
    }

    void pack_b(range n, range k) const {
      detail::pack_b_block(packed_b, b + k.begin * shape.n + n.begin, shape.n, k.size(), n.size(), tile_columns);
    }

    // The tile at (x, y) of block (m, n). At an edge a smaller micro-kernel takes over: panels are packed as narrow as
    // they are there.
    void tile(range m, range n, range k, index x, index y) const {
      const index rows = std::min(tile_rows, m.size() - x), columns = std::min(tile_columns, n.size() - y);
      const index vectors = (columns + vector_lanes - 1) / vector_lanes;
      const auto kernel =
          detail::find_micro_kernel(by.pack_a, static_cast<int>(rows), static_cast<int>(vectors), by.k[2]);
      const float* from_a = by.pack_a ? packed_a + x * k.size() : a + (m.begin + x) * shape.k + k.begin;
      const float* from_b = packed_b + y * k.size();
      static constexpr index begin = 0;
      const detail::stretches sum{&begin, 1, k.size(), from_b, 0};
      detail::write_tile([&](float* to, index row, bool add) { kernel(sum, from_a, shape.k, from_b, to, row, add); },
                         c + (m.begin + x) * shape.n + n.begin + y, shape.n, rows, columns, k.begin > 0);
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
  std::unique_ptr<detail::team> team_;
  std::vector<buffers> packed_;  ///< of each thread
};

/// c = a * b in double precision: the truth that a float result is compared with. a: m x k, b: k x n, c: m x n, each
/// `batch` times; c is overwritten. Sums run along k in order, on as many cores as it is worth.
inline void matmul_reference(const matmul_shape& shape, const float* a, const float* b, double* c) {
  using detail::index;
  const index m = shape.m, n = shape.n, k = shape.k;
  constexpr index columns = 512, depth = 256;  // a stretch of a row of C stays in the L1 cache, the block of B in L2
  detail::team all(detail::threads_for(shape.flop()));
  all.run([&](int thread) {
    const auto rows = detail::range{0, shape.batch * m}.part(thread, all.size());
    std::fill(c + rows.begin * n, c + rows.end * n, 0.0);
    for (index j = 0; j < n; j += columns)
      for (index p = 0; p < k; p += depth)
        for (index r = rows.begin; r < rows.end; ++r) {
          double* const sum = c + r * n + j;
          const index end = std::min(p + depth, k), width = std::min(columns, n - j);
          const auto add = [&](index q, double& to, index i) {
            to += static_cast<double>(a[r * k + q]) * static_cast<double>(b[(r / m * k + q) * n + j + i]);
          };
          index q = p;
          for (; q + 4 <= end; q += 4)
            for (index i = 0; i < width; ++i) {
              double s = sum[i];
              add(q, s, i);
              add(q + 1, s, i);
              add(q + 2, s, i);
              add(q + 3, s, i);
              sum[i] = s;
            }
          for (; q < end; ++q)
            for (index i = 0; i < width; ++i) add(q, sum[i], i);
        }
  });
}

/// The largest error of `c` in units of what rounding can explain (see rounding_bound); at most 1 for a correct product,
/// whatever its order of summation, and infinite if `c` or the reference holds a NaN or an infinity.
[[nodiscard]] inline double matmul_error(const matmul_shape& shape, const float* a, const float* b, const float* c,
                                         const double* reference) {
  const std::ptrdiff_t m = shape.m, n = shape.n, k = shape.k;
  const detail::rounding_bound bound("matmul_error: shape.k", k);
  const auto square = [](double x) { return x * x; };
  double worst = 0;
  std::vector<double> column(static_cast<std::size_t>(n));
  for (int batch = 0; batch < shape.batch; ++batch, a += m * k, b += k * n, c += m * n, reference += m * n) {
    std::fill(column.begin(), column.end(), 0.0);
    for (std::ptrdiff_t p = 0; p < k; ++p)
      for (std::ptrdiff_t j = 0; j < n; ++j) column[static_cast<std::size_t>(j)] += square(b[p * n + j]);
    for (double& x : column) x = std::sqrt(x);
    for (std::ptrdiff_t i = 0; i < m; ++i) {
      double row = 0;
      for (std::ptrdiff_t p = 0; p < k; ++p) row += square(a[i * k + p]);
      row = std::sqrt(row);
      for (std::ptrdiff_t j = 0; j < n; ++j)
        worst = bound.larger(worst, static_cast<double>(c[i * n + j]) - reference[i * n + j],
                             row * column[static_cast<std::size_t>(j)]);
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
