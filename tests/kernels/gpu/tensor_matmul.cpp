#include <tileseek/kernels/gpu/tensor_matmul.hpp>

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <utility>

#include <tileseek/core/rng.hpp>
#include <tileseek/measure/opencl.hpp>

#include "on_opencl.hpp"

using namespace tileseek::kernels;

namespace {

// A tensor core in OpenCL: a fragment is where it lies in shared memory, and each lane computes the sums that it holds
// by the PTX ISA (mma.m16n8k16, two side by side).
constexpr const char* emulated = R"(
typedef struct { __local const ushort* at; int pitch; } fragment;
#define LOAD_A(to, from, step) ((to).at = (from), (to).pitch = (step))
#define LOAD_B LOAD_A
#define MMA(c, a, b) multiply_16(c, a, b)
__attribute__((noinline)) void multiply_16(float* c, fragment a, fragment b) {
  const int lane = (int)get_local_id(0) % 32;
#pragma unroll 1
  for (int e = 0; e < 8; ++e) {
    const int row = lane / 4 + e % 4 / 2 * 8, column = lane % 4 * 2 + e % 2 + e / 4 * 8;
    for (int k = 0; k < 16; ++k)
      c[e] += vload_half(row * a.pitch + k, (__local const half*)a.at) *
              vload_half(k * b.pitch + column, (__local const half*)b.at);
  }
}
)";

}  // namespace

TEST_CASE("the tensor-core product is right with tensor cores emulated in OpenCL") {
  gpu::block_limits limits;
  limits.threads = 128;
  limits.thread_registers = 70;
  const matmul_shape shape{33, 48, 40, 2};
  auto kernel = gpu::tensor_matmul_kernel(shape, limits);
  kernel.source = emulated + kernel.source;
  check_on_opencl(gpu::tensor_matmul_space(shape, limits), std::move(kernel), 3);
}

TEST_CASE("tensor-core tilings fit the device") {
  tileseek::rng random(1);
  gpu::block_limits limits;
  limits.dynamic_shared = true;
  limits.shared_bytes = 99 * 1024;
  const matmul_shape shape{1000, 512, 768, 3};
  const auto space = gpu::tensor_matmul_space(shape, limits);
  const auto kernel = gpu::tensor_matmul_kernel(shape, limits);
  const auto untuned = space.default_configuration();
  CHECK(16 * untuned.m[1] * untuned.m[2] == 128);
  CHECK(16 * untuned.n[1] * untuned.n[2] == 128);
  CHECK(kernel.geometry(untuned).blocks.array() == std::array<std::size_t, 3>{8 * 4, 3, 1});
  CHECK(kernel.geometry(untuned).threads.x == 128);
  for (int i = 0; i < 100; ++i) {
    const auto t = space.sample(random);
    const auto launch = kernel.geometry(t);
    CAPTURE(space.describe(t));
    CHECK(launch.threads.x <= 1024);
    CHECK(launch.shared_bytes <= limits.shared_bytes);
    CHECK(launch.shared_bytes > 0);
    CHECK(8 * t.m[2] * t.n[2] < 255);
  }
}

TEST_CASE("tensor cores want rows of 8 elements") {
  CHECK_THROWS_AS(static_cast<void>(gpu::tensor_matmul_space({16, 15, 16})), std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(gpu::tensor_matmul_kernel({16, 16, 20})), std::invalid_argument);
}
