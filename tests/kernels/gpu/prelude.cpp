#include <tileseek/kernels/gpu/prelude.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <vector>

#include <tileseek/core/rng.hpp>
#include <tileseek/kernels/gpu/analytic.hpp>
#include <tileseek/kernels/gpu/conv2d.hpp>
#include <tileseek/kernels/gpu/matmul.hpp>
#include <tileseek/kernels/gpu/tensor_matmul.hpp>
#include <tileseek/kernels/gpu/tile_sizes.hpp>
#include <tileseek/measure/cuda.hpp>
#include <tileseek/measure/detail/device.hpp>

// The same text is CUDA: it compiles for all architectures, and the defaults keep to the registers. No GPU is needed.

namespace {

using namespace tileseek::kernels;
using gpu::element;

template <class Config>
tileseek::cuda_usage compile(const tileseek::space<Config>& space, const tileseek::device_kernel<Config>& kernel,
                             const Config& c, int architecture) {
  const auto [text, function] = tileseek::detail::text_of(space, kernel, c);
  return tileseek::compile_cuda(text, function, architecture).usage;
}

}  // namespace

TEST_CASE("the default matmul of 4096 x 4096 x 4096 for sm_90 spills nothing, from registers and in the background") {
  const matmul_shape shape{4096, 4096, 4096};
  gpu::block_limits limits;
  limits.async_copies = true;
  const auto space = gpu::matmul_space(shape, element::fp32, limits);
  const auto kernel = gpu::matmul_kernel(shape, element::fp32, limits);
  auto t = space.default_configuration();
  for (const bool background : {false, true}) {
    t.background = background;
    REQUIRE(space.contains(t));
    const auto used = compile(space, kernel, t, 90);
    CHECK(used.spilled == 0);
    if (!background) CHECK(used.registers <= 128);  // two blocks of 256 threads on a multiprocessor
    CHECK(used.shared_bytes == 2 * 4 * 8 * (128 + 4 + 128));
  }
}

TEST_CASE("the default tensor-core matmul spills nothing") {
  const matmul_shape shape{4096, 4096, 4096};
  const auto space = gpu::tensor_matmul_space(shape);
  const auto kernel = gpu::tensor_matmul_kernel(shape);
  for (const int architecture : {75, 90})
    CHECK(compile(space, kernel, space.default_configuration(), architecture).spilled == 0);
}

TEST_CASE("random configurations compile for an architecture each") {
  tileseek::rng random(1);
  const conv2d_shape shape{.height = 28,
                           .width = 28,
                           .channels_in = 24,
                           .channels_out = 20,
                           .kernel_h = 3,
                           .kernel_w = 3,
                           .stride_h = 2,
                           .stride_w = 2,
                           .padding_h = 1,
                           .padding_w = 1,
                           .groups = 2};
  for (const int architecture : gpu::architectures) {
    const auto limits = gpu::limits_of_architecture(architecture);
    const auto space = gpu::conv2d_space(shape, element::fp32, limits);
    const auto kernel = gpu::conv2d_kernel(shape, element::fp32, limits);
    const auto t = space.sample(random);
    CAPTURE(space.describe(t));
    CHECK(compile(space, kernel, t, architecture).registers <= 255);
    const auto sizes = gpu::tile_sizes_space(shape, element::fp32, limits);
    const auto c = sizes.sample(random);
    CAPTURE(sizes.describe(c));
    CHECK(compile(sizes, gpu::by_tile_sizes(kernel), c, architecture).registers <= 255);
  }
}
