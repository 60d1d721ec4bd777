#pragma once
// The bundled matrix product as something to tune: its space, and a measurer that checks every result.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <tileseek/core/measurement.hpp>
#include <tileseek/kernels/detail/micro_kernel.hpp>
#include <tileseek/kernels/detail/problem.hpp>
#include <tileseek/kernels/matmul.hpp>
#include <tileseek/measure/measurer.hpp>
#include <tileseek/space/space.hpp>

namespace tileseek::kernels {

[[nodiscard]] constexpr std::string_view to_string(matmul_order o) noexcept {
  return o == matmul_order::n_outside ? "n_outside" : "m_outside";
}

/// All blockings of a product of this shape: three-level tiles of the padded extents (`matmul_extents`), the order of
/// the block loops, and whether A is packed.
[[nodiscard]] inline space<matmul_blocking> matmul_space(const matmul_shape& shape) {
  using b = matmul_blocking;
  const auto extents = matmul_extents(shape);
  return space<b>{}
      .tile("m", &b::m, extents.m)
      .tile("n", &b::n, extents.n)
      .tile("k", &b::k, extents.k)
      .add("order", &b::order, choice({matmul_order::n_outside, matmul_order::m_outside}))
      .add("pack_a", &b::pack_a, {true, false})
      .where("there is such a micro-kernel", micro_kernel_exists, factor(&b::m, 2), factor(&b::n, 2))
      .where("there is such an unrolling", unroll_exists, factor(&b::k, 2));
}

/// A product (or a batch of them) with random operands: a callable for tune() that checks a blocking's result against a
/// reference in double precision, computed once, and times it.
class matmul_problem {
 public:
  /// @param seed  of the operands, uniform in [-1, 1)
  /// @param threads  that compute a product; see matmul
  /// @throws std::invalid_argument  a size or the number of threads is below 1
  explicit matmul_problem(const matmul_shape& shape, std::uint64_t seed = 0, int threads = 1)
      : product_(shape, threads),
        a_(size(shape.batch, shape.m, shape.k)),
        b_(size(shape.batch, shape.k, shape.n)),
        c_(size(shape.batch, shape.m, shape.n)),
        reference_(c_.size()) {
    detail::randomise({&a_, &b_}, seed);
    matmul_reference(shape, a_.data(), b_.data(), reference_.data());
  }

  [[nodiscard]] const matmul_shape& shape() const noexcept { return product_.shape(); }
  [[nodiscard]] const detail::floats& a() const noexcept { return a_; }
  [[nodiscard]] const detail::floats& b() const noexcept { return b_; }

  [[nodiscard]] measurement operator()(const matmul_blocking& blocking, const timing_limits& limits = {}) {
    return check_and_time([&](float* c) { product_(blocking, a_.data(), b_.data(), c); }, limits);
  }

  /// The same for any other product of these operands: `run(c)` computes it into c.
  template <class Run>
  [[nodiscard]] measurement check_and_time(const Run& run, const timing_limits& limits = {}) {
    const auto error = [this] { return matmul_error(shape(), a_.data(), b_.data(), c_.data(), reference_.data()); };
    return detail::check_and_time(c_, run, error, limits);
  }

 private:
  [[nodiscard]] static std::size_t size(int batch, int rows, int columns) {
    return static_cast<std::size_t>(batch) * static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  }

  matmul product_;
  detail::floats a_;
  detail::floats b_;
  detail::floats c_;
  std::vector<double> reference_;
};

}  // namespace tileseek::kernels
