#include <tileseek/kernels/gpu/tiled_product.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include <tileseek/core/rng.hpp>
#include <tileseek/kernels/gpu/conv2d.hpp>
#include <tileseek/kernels/gpu/matmul.hpp>

// Spaces, resources and launches, for which no device is needed. The kernels run in matmul.cpp and conv2d.cpp.

namespace {

using namespace tileseek::kernels;
using gpu::element;
using gpu::tiling;

template <std::size_t L>
int product_from(const std::array<int, L>& factors, std::size_t level) {
  int out = 1;
  for (std::size_t i = level; i < L; ++i) out *= factors[i];
  return out;
}

/// What every configuration must keep to, in the words of the hardware.
void check_tiling(const tiling& t, const gpu::block_limits& limits, int rows, int columns, int depth, int bytes) {
  const int bm = product_from(t.m, 1), bn = product_from(t.n, 1), threads = t.m[2] * t.n[2];
  CHECK(threads <= limits.threads);
  CHECK(threads >= std::min(32, rows * columns));
  CHECK(t.n[2] % t.lanes == 0);
  CHECK(t.k[1] % t.unroll_depth == 0);
  CHECK(bm < 2 * rows);
  CHECK(bn < 2 * columns);
  CHECK(t.k[1] < 2 * depth);
  CHECK(static_cast<std::size_t>(bytes * t.buffers * t.k[1] * (bm + t.row_padding + bn)) <= limits.shared_bytes);
  const int sums = bm / t.m[2] * (bn / t.n[2]);
  CHECK(sums < 255);
  CHECK(sums * threads < 65536);
  CHECK(sums * t.unroll_depth <= 2048);
  CHECK((!t.background || (limits.async_copies && t.buffers >= 2)));
  CHECK((t.background || t.buffers <= 2));
}

}  // namespace

TEST_CASE("tile extents cover the size and offer 2^a, 3 * 2^a and a prime factor of the size") {
  for (int size = 1; size < 3000; ++size) CHECK(gpu::tile_extent(size) >= size);
  CHECK(gpu::tile_extent(1) == 1);
  CHECK(gpu::tile_extent(2) == 2);
  for (const int size : {5, 64, 100, 196, 1000, 1021, 4096}) {
    const int extent = gpu::tile_extent(size);
    for (int power = 1; power <= std::min(size, 256); power *= 2) CHECK(extent % (3 * power) == 0);
  }
  CHECK(gpu::tile_extent(14 * 14) % 49 != 0);
  CHECK(gpu::tile_extent(14 * 14) % 28 == 0);
  CHECK(gpu::tile_extent(17 * 17) % 17 == 0);
  static_assert(gpu::tile_extent(4096) == 6144);
}

TEST_CASE("the default tiling is 128 x 128 x 8 by 256 threads wherever the product is large enough") {
  for (const int size : {256, 1000, 1024, 4096}) {
    const matmul_shape shape{size, size, size};
    const auto space = gpu::matmul_space(shape);
    const tiling t = space.default_configuration();
    CHECK(space.contains(t));
    CHECK(product_from(t.m, 1) == 128);
    CHECK(product_from(t.n, 1) == 128);
    CHECK(t.k[1] == 8);
    CHECK(t.m[2] * t.n[2] == 256);
    const auto launch = gpu::matmul_kernel(shape).geometry(t);
    const auto blocks = static_cast<std::size_t>((size + 127) / 128);
    CHECK(launch.blocks.array() == std::array<std::size_t, 3>{blocks * blocks, 1, 1});
    CHECK(launch.threads.array() == std::array<std::size_t, 3>{256, 1, 1});
    CHECK(launch.shared_bytes == 0);
  }
}

TEST_CASE("what is sampled fits the device, of odd shapes too") {
  tileseek::rng random(1);
  for (const bool background : {false, true})
    for (const auto type : {element::fp32, element::fp16})
      for (const matmul_shape shape :
           {matmul_shape{1, 1, 1}, {1, 300, 7}, {61, 37, 129}, {512, 64, 1024}, {3, 5, 2, 9}}) {
        gpu::block_limits limits;
        limits.threads = 512;
        limits.shared_bytes = 16 * 1024;
        limits.async_copies = background;
        const auto space = gpu::matmul_space(shape, type, limits);
        CAPTURE(shape.m);
        CAPTURE(shape.n);
        for (int i = 0; i < 50; ++i) {
          const auto t = space.sample(random);
          CAPTURE(space.describe(t));
          check_tiling(t, limits, shape.m, shape.n, shape.k, gpu::bytes_of(type));
        }
      }
  const conv2d_shape shape{.batch = 2,
                           .height = 14,
                           .width = 14,
                           .channels_in = 12,
                           .channels_out = 20,
                           .kernel_h = 3,
                           .kernel_w = 3,
                           .stride_h = 2,
                           .stride_w = 2,
                           .padding_h = 1,
                           .padding_w = 1,
                           .groups = 4};
  const auto space = gpu::conv2d_space(shape);
  for (int i = 0; i < 50; ++i) check_tiling(space.sample(random), {}, 2 * 7 * 7, 5, 27, 4);
}

TEST_CASE("wide fetches are offered where elements lie together") {
  const auto widest = [](const auto& space) {
    int out = 0;
    tileseek::rng random(2);
    for (int i = 0; i < 200; ++i) out = std::max(out, space.sample(random).fetch_width);
    return out;
  };
  CHECK(widest(gpu::matmul_space({64, 64, 64})) == 4);
  CHECK(widest(gpu::matmul_space({64, 64, 64}, element::fp16)) == 8);
  CHECK(widest(gpu::matmul_space({64, 62, 63})) == 2);
  CHECK(widest(gpu::matmul_space({64, 61, 63})) == 1);
  conv2d_shape s{.height = 8, .width = 8, .channels_in = 3, .channels_out = 7, .kernel_h = 3, .kernel_w = 3};
  CHECK(widest(gpu::conv2d_space(s)) == 1);
  s.layout = conv2d_layout::nchw;
  s.channels_in = 4;  // 36 weights of an output channel
  CHECK(widest(gpu::conv2d_space(s)) == 4);
}

TEST_CASE("a launch covers the problem: batch, groups, edges, and shared memory where it is asked for") {
  gpu::block_limits limits;
  limits.dynamic_shared = true;
  limits.shared_bytes = 96 * 1024;
  const tiling t{.m = {1, 2, 16, 1, 4}, .n = {1, 1, 8, 2, 4}, .k = {1, 8}};
  const auto launch = gpu::matmul_kernel({130, 100, 8, 5}, element::fp32, limits).geometry(t);
  CHECK(launch.blocks.array() == std::array<std::size_t, 3>{2 * 2, 5, 1});
  CHECK(launch.threads.array() == std::array<std::size_t, 3>{128, 1, 1});
  CHECK(launch.shared_bytes == 2 * 4 * (8 * (128 + 4) + 8 * 64));
  const auto grouped =
      gpu::conv2d_kernel({.height = 10, .width = 20, .channels_in = 6, .channels_out = 600, .groups = 3});
  CHECK(grouped.geometry(t).blocks.array() == std::array<std::size_t, 3>{2 * 4, 3, 1});
}

TEST_CASE("limits of a device") {
  tileseek::device_limits device;
  device.all_threads = 4096;
  device.shared_bytes = 1 << 17;
  CHECK(gpu::limits_of(device).threads == 1024);
  CHECK(gpu::limits_of(device).shared_bytes == 1 << 17);
  CHECK(!gpu::limits_of(device).async_copies);
  CHECK(!gpu::limits_of(device).dynamic_shared);
  device.architecture = 75;
  CHECK(!gpu::limits_of(device).async_copies);
  CHECK(gpu::limits_of(device).dynamic_shared);
  device.architecture = 80;
  CHECK(gpu::limits_of(device).async_copies);
  CHECK(gpu::limits_of(device).thread_registers == 255);
  device.is_cpu = true;
  CHECK(gpu::limits_of(device).threads == 128);
  CHECK(gpu::limits_of(device).thread_registers == 96);
}

TEST_CASE("shapes that are none are refused") {
  CHECK_THROWS_WITH_AS(static_cast<void>(gpu::matmul_space({4, 0, 4})),
                       "matmul: a size of the shape is 0; pass at least 1", std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(gpu::matmul_space({4, 4, 4, 70000})), std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(gpu::matmul_space({1 << 16, 1 << 16, 4})), std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(gpu::conv2d_space({.channels_in = 3, .groups = 2})), std::invalid_argument);
}
