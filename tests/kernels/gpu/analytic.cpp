#include <tileseek/kernels/gpu/analytic.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>

#include <tileseek/core/rng.hpp>

using namespace tileseek::kernels;
using gpu::element;
using gpu::tiling;

TEST_CASE("wavefronts: broadcasts are free, different words of one bank wait for each other") {
  using gpu::detail::wavefronts;
  CHECK(wavefronts(4, [](int lane) { return 4 * lane; }) == 1);
  CHECK(wavefronts(4, [](int) { return 40; }) == 1);
  CHECK(wavefronts(4, [](int lane) { return 8 * lane; }) == 2);
  CHECK(wavefronts(4, [](int lane) { return 128 * lane; }) == 32);
  CHECK(wavefronts(4, [](int lane) { return 132 * lane; }) == 1);
  CHECK(wavefronts(8, [](int lane) { return 8 * lane; }) == 2);
  CHECK(wavefronts(16, [](int lane) { return 16 * lane; }) == 4);
  CHECK(wavefronts(16, [](int lane) { return 16 * (lane % 8); }) == 1);
  CHECK(wavefronts(16, [](int lane) { return 32 * lane; }) == 8);
  CHECK(wavefronts(2, [](int lane) { return 2 * lane; }) == 1);
}

TEST_CASE("resident blocks: by threads, registers, shared memory, and none") {
  gpu::multiprocessors h100;
  CHECK(gpu::resident_blocks(h100, 256, 32, 1024) == 8);
  CHECK(gpu::resident_blocks(h100, 256, 128, 1024) == 2);
  CHECK(gpu::resident_blocks(h100, 256, 121, 1024) == 2);
  CHECK(gpu::resident_blocks(h100, 256, 32, 75 * 1024) == 3);
  CHECK(gpu::resident_blocks(h100, 1, 32, 0) == 32);
  CHECK(gpu::resident_blocks(h100, 1024, 255, 0) == 0);
  CHECK(gpu::resident_blocks(h100, 256, 32, 228 * 1024) == 0);
  CHECK(gpu::resident_blocks(gpu::multiprocessors_of(86, 82), 1024, 32, 0) == 1);
  CHECK_THROWS_AS(static_cast<void>(gpu::multiprocessors_of(61, 20)), std::invalid_argument);
}

TEST_CASE("the classic tiling, worked by hand") {
  const matmul_shape shape{4096, 4096, 4096};
  const auto a = gpu::analyse(shape, element::fp32, tiling{}, gpu::multiprocessors{});
  CHECK(a.wave_efficiency == doctest::Approx(1024.0 / 132 / 8));
  CHECK(a.thread_parallelism == 64);
  CHECK(a.warp_parallelism == 16);  // two blocks of 8 warps, by registers
  CHECK(a.occupancy == 0.25);
  CHECK(a.concurrency == 1024);
  CHECK(a.register_reuse == doctest::Approx(1 / (2.0 / 8 + 1.0 / 4096)));
  CHECK(a.global_intensity == doctest::Approx(128 * 128 * 8 / (4.0 * 8 * (128 + 128))));
  // A warp is 4 x 8 threads. A step reads 2 x 4 numbers of A a thread, 64 bytes a warp at once, and of B, 128 bytes. A
  // tile writes 4 numbers of A, which the padding puts in different banks, and 16 bytes of B, 512 a warp.
  CHECK(a.shared_intensity == doctest::Approx(32.0 * 64 * 8 / (8 * (2 * 1 + 2 * 1) + 4 * 1 + 1 * 4)));
  tiling unpadded;
  unpadded.row_padding = 0;
  CHECK(gpu::analyse(shape, element::fp32, unpadded).shared_intensity < a.shared_intensity);
  // Of a tile, beside 512 multiply-adds: 8 x 4 reads, a fetch and 4 stores of A, a fetch and a store of B, 4 of the loop.
  CHECK(a.issued == doctest::Approx(512.0 / (512 + 32 + 5 + 2 + 4)));
  CHECK(a.fed == 1);  // two blocks compute for 2048 clocks
  CHECK(gpu::attainable(a, {}) == doctest::Approx(a.wave_efficiency * a.issued));
}

TEST_CASE("wide fetches, unrolled loops, background copies and buffers are worth something") {
  const matmul_shape shape{4096, 4096, 4096};
  const auto worth = [&](const tiling& t) { return gpu::analyse(shape, element::fp32, t, {}, 128); };
  const auto a = worth({});
  CHECK(worth({.fetch_width = 1}).issued < a.issued);
  CHECK(worth({.unroll_depth = 1}).issued < a.issued);
  CHECK(worth({.background = true}).issued > worth({.fetch_width = 1}).issued);
  // One small block: 32 x 32 x 8 multiply-adds take 64 clocks.
  const tiling small{.m = {1, 1, 8, 1, 4}, .n = {1, 1, 8, 1, 4}, .buffers = 1};
  const auto of = [&](int buffers) {
    auto t = small;
    t.buffers = buffers;
    return gpu::analyse(matmul_shape{32, 32, 4096}, element::fp32, t).fed;
  };
  CHECK(of(1) == doctest::Approx(64.0 / (64 + 500)));
  CHECK(of(2) == doctest::Approx(64.0 / 500));
  CHECK(of(3) == doctest::Approx(64.0 / (500 - 64)));
}

TEST_CASE("what hangs over the edges does not count, and a compiler's registers count instead of the estimate") {
  const matmul_shape shape{129, 128, 12};
  const auto a = gpu::analyse(shape, element::fp32, tiling{});
  CHECK(a.useful == doctest::Approx(129.0 * 12 / (256 * 16)));
  CHECK(gpu::attainable(a, {}) <= a.useful * a.wave_efficiency);
  CHECK(gpu::analyse(shape, element::fp32, tiling{}, {}, 64).occupancy == 0.5);
  CHECK(gpu::analyse(shape, element::fp32, tiling{}, {}, 128).occupancy == 0.25);
  const auto one = gpu::analyse(matmul_shape{256, 256, 256}, element::fp32, tiling{});
  CHECK(one.useful == 1);
  CHECK(gpu::load(one, {}) == doctest::Approx(4 * 128 / (32 * one.concurrency) + 128 / one.shared_intensity +
                                              128 / (12.8 * one.global_intensity) + 1 / one.issued));
}

TEST_CASE("architectures: the peak of a GPU of each, and what a block may have") {
  const double tera[] = {8.1, 19.5, 35.6, 82.6, 67, 74.4, 104.8};  // by the data sheets
  for (std::size_t i = 0; i < gpu::architectures.size(); ++i) {
    const auto on = gpu::multiprocessors_of(gpu::architectures[i]);
    CAPTURE(gpu::architectures[i]);
    CHECK(on.flops() == doctest::Approx(1e12 * tera[i]).epsilon(0.01));
    const auto limits = gpu::limits_of_architecture(gpu::architectures[i]);
    CHECK(limits.async_copies == (gpu::architectures[i] >= 80));
    CHECK(limits.dynamic_shared);
    CHECK(gpu::resident_blocks(on, 32, 32, limits.shared_bytes) == 1);
    CHECK(gpu::resident_blocks(on, 32, 32, limits.shared_bytes + 1) == 0);
  }
  CHECK(gpu::limits_of_architecture(90).shared_bytes == 227 * 1024);
  CHECK(gpu::limits_of_architecture(75).shared_bytes == 64 * 1024);
  CHECK(gpu::multiprocessors_of(90).global_bytes == doctest::Approx(gpu::multiprocessors{}.global_bytes).epsilon(0.01));
  CHECK(gpu::architecture_names() == "sm_75, sm_80, sm_86, sm_89, sm_90, sm_100, sm_120");
}

TEST_CASE("rows and columns are in their places") {
  const tiling wide{.m = {1, 1, 8, 1, 2}, .n = {1, 1, 32, 1, 8}, .k = {1, 8}};
  const auto a = gpu::analyse(matmul_shape{16, 2560, 64}, element::fp32, wide);
  CHECK(a.register_reuse == doctest::Approx(1 / (1.0 / 2 + 1.0 / 8 + 1.0 / 64)));
  CHECK(a.wave_efficiency == doctest::Approx(10.0 / 132));
}

TEST_CASE("features are finite and positive, and in the space") {
  tileseek::rng random(1);
  const conv2d_shape conv{.height = 14,
                          .width = 14,
                          .channels_in = 32,
                          .channels_out = 48,
                          .kernel_h = 3,
                          .kernel_w = 3,
                          .padding_h = 1,
                          .padding_w = 1};
  for (const auto type : {element::fp32, element::fp16}) {
    auto space = gpu::conv2d_space(conv, type);
    gpu::add_features(space, conv, type);
    const auto& lattice = space.lattice();
    CHECK(lattice.features().size() == 8);
    for (int i = 0; i < 100; ++i) {
      const auto p = lattice.sample(random);
      CAPTURE(space.describe(space.at(p)));
      for (const auto& f : lattice.features()) {
        CAPTURE(f.name);
        CHECK(f.value(p) > 0);
        CHECK(std::isfinite(f.value(p)));
      }
      CHECK(gpu::attainable(gpu::analyse(conv, type, space.at(p)), {}) <= 1);
    }
  }
}
