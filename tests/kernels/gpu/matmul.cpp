#include <tileseek/kernels/gpu/matmul.hpp>

#include <doctest/doctest.h>

#include <utility>

#include <tileseek/kernels/gpu/tile_sizes.hpp>
#include <tileseek/measure/opencl.hpp>

#include "on_opencl.hpp"

using namespace tileseek::kernels;
using gpu::element;

TEST_CASE("products of odd shapes, of both types, are right on OpenCL") {
  gpu::block_limits limits;
  limits.threads = 64;
  limits.thread_registers = 64;
  for (const auto type : {element::fp32, element::fp16}) {
    limits.async_copies = type == element::fp32;  // copied at once in OpenCL: the indices are the same
    const matmul_shape shape{61, type == element::fp32 ? 37 : 40, 29, 2};
    auto kernel = gpu::matmul_kernel(matmul_shape(shape), type, limits);  // whose shape may be gone when it is used
    check_on_opencl(gpu::matmul_space(shape, type, limits), std::move(kernel), 1);
  }
}

TEST_CASE("a product by tile sizes alone is right on OpenCL") {
  gpu::block_limits limits;
  limits.threads = 64;
  limits.thread_registers = 64;
  const matmul_shape shape{48, 40, 30};
  check_on_opencl(gpu::tile_sizes_space(shape, element::fp32, limits),
                  gpu::by_tile_sizes(gpu::matmul_kernel(shape, element::fp32, limits)), 1);
}
