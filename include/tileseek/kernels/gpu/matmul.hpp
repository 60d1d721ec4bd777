#pragma once
// The matrix product C = A * B on a GPU: see tiled_product.hpp for its configuration.
//
//   using namespace tileseek::kernels;
//   const auto space = gpu::matmul_space(shape);
//   auto kernel = tileseek::cuda(space, gpu::matmul_kernel(shape));
//   std::cout << tileseek::tune(space, kernel, {.trials = 200}) << '\n';

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <tileseek/core/rng.hpp>
#include <tileseek/kernels/gpu/operand.hpp>
#include <tileseek/kernels/gpu/tiled_product.hpp>
#include <tileseek/kernels/matmul.hpp>
#include <tileseek/measure/device_kernel.hpp>

namespace tileseek::kernels::gpu {

namespace detail {

[[nodiscard]] inline product product_of(const matmul_shape& s, element type) {
  const product p{s.m, s.n, s.k, s.batch, type, s.k, s.n, s.n};
  check("matmul", p,
        {{"m * k * batch", 1.0 * s.m * s.k * s.batch},
         {"k * n * batch", 1.0 * s.k * s.n * s.batch},
         {"m * n * batch", 1.0 * s.m * s.n * s.batch}});
  return p;
}

inline constexpr const char* matmul_text = R"(
INLINE int offset_a(int z, int row, int k) { return (z * ROWS + row) * DEPTH + k; }
INLINE int offset_b(int z, int k, int column) { return (z * DEPTH + k) * COLUMNS + column; }
INLINE int offset_c(int z, int row, int column) { return (z * ROWS + row) * COLUMNS + column; }
)";

/// Operands of a matrix product, and the truth about it.
[[nodiscard]] inline std::pair<std::vector<argument>, reference> matmul_arguments(const matmul_shape& s, element type) {
  const auto size = [s](int rows, int columns) {
    return static_cast<std::size_t>(s.batch) * static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  };
  return {{operand(type, size(s.m, s.k), 1), operand(type, size(s.k, s.n), 2), output<float>(size(s.m, s.n))},
          [=](void* const* a) {
            std::vector<double> c(size(s.m, s.n));
            matmul_reference(s, floats(type, a[0], size(s.m, s.k)).data(), floats(type, a[1], size(s.k, s.n)).data(),
                             c.data());
            narrow(c, a[2]);
          }};
}

}  // namespace detail

/// All tilings of a product of this shape that the device can run.
/// @throws std::invalid_argument  a size is below 1, or more than 2^31 - 1 elements in a matrix
[[nodiscard]] inline space<tiling> matmul_space(const matmul_shape& shape, element type = element::fp32,
                                                const block_limits& limits = {}) {
  return detail::space_of(detail::product_of(shape, type), limits);
}

/// The kernel: A, B and C as kernels::matmul has them, row-major.
[[nodiscard]] inline device_kernel<tiling> matmul_kernel(const matmul_shape& shape, element type = element::fp32,
                                                         const block_limits& limits = {}) {
  const auto p = detail::product_of(shape, type);
  auto [arguments, truth] = detail::matmul_arguments(shape, type);
  return detail::kernel_of(p, limits, detail::matmul_text, std::move(arguments), std::move(truth));
}

}  // namespace tileseek::kernels::gpu
