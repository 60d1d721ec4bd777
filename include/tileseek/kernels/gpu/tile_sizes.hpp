#pragma once
// The tiled product in the view of dynamic gradient descent's authors: tile sizes are all there is to choose.
//
//   auto space = gpu::tile_sizes_space(shape);                         // a matmul_shape or a conv2d_shape
//   gpu::add_features(space, shape);
//   auto kernel = tileseek::cuda(space, gpu::by_tile_sizes(gpu::matmul_kernel(shape)));
//   auto o = dynamic_gradient_options::published();
//   o.only_features = true;
//   tileseek::tune(space, kernel, {.trials = 1000}, dynamic_gradient<boosted_trees>(o));
//
//   C. Li, Y. Xu, S. Mahdipour Saravani, P. Sadayappan: Accelerated auto-tuning of GPU kernels for tensor computations.
//   ICS 2024.
//
// Rows and columns have three coordinates each: in tile_view::inclusive, the tile of a block in shared memory, that of a
// thread in registers, and the part of it that lies together. A step of the first keeps the other two, so that the
// number of threads changes. Sizes are divisors of the problem's, as theirs; there are no vthreads. Theirs split the
// depth of a tile in shared memory once more, and a convolution's axes are not joined: here these are no coordinates.

#include <array>
#include <utility>

#include <tileseek/kernels/gpu/conv2d.hpp>
#include <tileseek/kernels/gpu/matmul.hpp>
#include <tileseek/kernels/gpu/tiled_product.hpp>
#include <tileseek/measure/device_kernel.hpp>
#include <tileseek/space/space.hpp>

namespace tileseek::kernels::gpu {

/// The configuration: tiles, outermost factor first. As a tiling it has their defaults: loops are unrolled to 1024
/// multiply-adds, two elements are fetched at once where they lie together, threads lie next to each other along n. What they
/// have no parameter for (padding, buffers) is as in the default tiling.
struct tile_sizes {
  std::array<int, 4> m{1, 16, 2, 4};  ///< rows: {blocks, threads, registers, inner}
  std::array<int, 4> n{1, 16, 2, 4};  ///< columns likewise
  std::array<int, 2> k{1, 8};         ///< {tiles, depth of a tile in shared memory}

  [[nodiscard]] explicit operator tiling() const {
    tiling out;
    out.m = {m[0], 1, m[1], m[2], m[3]};
    out.n = {n[0], 1, n[1], n[2], n[3]};
    out.k = k;
    const int unrolled = m[2] * m[3] * n[2] * n[3] * k[1];
    out.unroll_depth = unrolled <= 1024 ? k[1] : 1;
    out.fetch_width = 2;
    out.lanes = n[1];
    return out;
  }
  [[nodiscard]] friend bool operator==(const tile_sizes&, const tile_sizes&) = default;
};

/// All tile sizes of a product or a convolution that the device can run.
/// @throws std::invalid_argument  the shape is none. When the space is used: no divisors of the sizes make blocks of at least
///                                a warp that fit
template <class Shape>
[[nodiscard]] space<tile_sizes> tile_sizes_space(const Shape& shape, element type = element::fp32,
                                                 const block_limits& limits = {}) {
  using t = tile_sizes;
  const auto p = detail::product_of(shape, type);
  space<t> out;
  out.tile("rows", &t::m, p.rows).tile("columns", &t::n, p.columns).tile("depth", &t::k, p.depth);
  detail::keep_within(out, p, limits, 1);
  return out.where(
      "tiles fit in the shared memory of a block",
      [=](int bm, int bn, int bk) {
        return detail::shared_bytes(p.type, bm, bn, bk, tiling{}.row_padding, tiling{}.buffers) <= limits.shared_bytes;
      },
      inclusive(&t::m, 1), inclusive(&t::n, 1), factor(&t::k, 1));
}

/// A kernel of tilings (matmul_kernel, conv2d_kernel) as one of tile sizes.
[[nodiscard]] inline device_kernel<tile_sizes> by_tile_sizes(device_kernel<tiling> kernel) {
  device_kernel<tile_sizes> out;
  // Its names and members alone matter, for the macros.
  out.derived = [all = detail::space_of({}, {})](const tile_sizes& t) {
    return all.named_values_of(static_cast<tiling>(t));
  };
  out.geometry = [of = std::move(kernel.geometry)](const tile_sizes& t) { return of(static_cast<tiling>(t)); };
  out.source = std::move(kernel.source);
  out.file = std::move(kernel.file);
  out.function = std::move(kernel.function);
  out.arguments = std::move(kernel.arguments);
  out.truth = std::move(kernel.truth);
  out.flags = std::move(kernel.flags);
  out.device = kernel.device;
  out.state = kernel.state;
  out.seed = kernel.seed;
  out.compile_seconds = kernel.compile_seconds;
  out.jobs = kernel.jobs;
  out.limits = kernel.limits;
  return out;
}

}  // namespace tileseek::kernels::gpu
