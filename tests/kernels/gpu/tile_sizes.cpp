#include <tileseek/kernels/gpu/tile_sizes.hpp>

#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <stdexcept>
#include <string>

#include <tileseek/core/rng.hpp>
#include <tileseek/kernels/gpu/analytic.hpp>
#include <tileseek/kernels/gpu/conv2d.hpp>
#include <tileseek/kernels/gpu/matmul.hpp>
#include <tileseek/measure/detail/device.hpp>
#include <tileseek/search/dynamic_gradient.hpp>

using namespace tileseek::kernels;
using gpu::tile_sizes;
using gpu::tiling;

namespace {

/// A device that refuses nothing.
gpu::block_limits endless() {
  gpu::block_limits out;
  out.threads = 1 << 20;
  out.warp = 1;
  out.shared_bytes = std::numeric_limits<std::size_t>::max();
  out.thread_registers = 1 << 20;
  out.registers = std::numeric_limits<int>::max();
  return out;
}

template <std::size_t L>
std::array<int, L> inclusive_of(std::array<int, L> factors) {
  for (std::size_t l = L - 1; l-- > 0;) factors[l] *= factors[l + 1];
  return factors;
}

}  // namespace

TEST_CASE("where nothing binds there are 2 D, 4 C(D, 2) and 8 C(D, 3) neighbours of D = 7 coordinates") {
  const auto space = gpu::tile_sizes_space(matmul_shape{1024, 1024, 1024}, gpu::element::fp32, endless());
  const tile_sizes c{.m = {4, 16, 4, 4}, .n = {4, 16, 4, 4}, .k = {256, 4}};
  REQUIRE(space.contains(c));
  CHECK(space.neighbours(c, 1, tileseek::tile_view::inclusive).size() == 14);
  CHECK(space.neighbours(c, 2, tileseek::tile_view::inclusive).size() == 84);
  CHECK(space.neighbours(c, 3, tileseek::tile_view::inclusive).size() == 280);
}

TEST_CASE("a step of a block's tile goes to the next divisor and keeps a thread's; all neighbours are feasible") {
  const auto space = gpu::tile_sizes_space(matmul_shape{1024, 96, 512});
  tileseek::rng random(1);
  int steps = 0;
  for (int i = 0; i < 100; ++i) {
    const auto c = space.sample(random);
    const auto before = inclusive_of(c.m);
    for (const auto& q : space.neighbours(c, 1, tileseek::tile_view::inclusive)) {
      CHECK(space.contains(q));
      CHECK(inclusive_of(q.m)[0] == 1024);
      CHECK(inclusive_of(q.n)[0] == 96);
      const auto after = inclusive_of(q.m);
      int changed = 0;
      for (std::size_t l = 1; l < 4; ++l) changed += before[l] != after[l];
      CHECK(changed <= 1);
      if (before[1] == after[1]) continue;
      ++steps;
      CHECK(q.m[2] == c.m[2]);
      CHECK(q.m[3] == c.m[3]);
      CHECK(q.n == c.n);
      CHECK(after[1] / after[2] == q.m[1]);
    }
    for (const auto& q : space.neighbours(c, 2, tileseek::tile_view::inclusive)) CHECK(space.contains(q));
  }
  CHECK(steps > 50);
}

TEST_CASE("as a tiling: no vthreads, unrolled to 1024 multiply-adds, two elements at once, threads along n") {
  tileseek::rng random(2);
  const conv2d_shape shape{
      .height = 28, .width = 28, .channels_in = 64, .channels_out = 48, .kernel_h = 3, .kernel_w = 3};
  const auto space = gpu::tile_sizes_space(shape);
  const auto kernel = gpu::conv2d_kernel(shape);
  const auto adapted = gpu::by_tile_sizes(kernel);
  for (int i = 0; i < 200; ++i) {
    const auto c = space.sample(random);
    const tiling t(c);
    CHECK(t.m == std::array{c.m[0], 1, c.m[1], c.m[2], c.m[3]});
    CHECK(t.n == std::array{c.n[0], 1, c.n[1], c.n[2], c.n[3]});
    CHECK(t.k == c.k);
    CHECK(t.fetch_width == 2);
    CHECK(t.lanes == c.n[1]);
    const int sums = c.m[2] * c.m[3] * c.n[2] * c.n[3];
    CHECK(t.unroll_depth == (sums * c.k[1] <= 1024 ? c.k[1] : 1));
    CHECK(c.m[1] * c.n[1] >= 32);
    CHECK(c.m[1] * c.n[1] <= 1024);
    CHECK(adapted.geometry(c).blocks.array() == kernel.geometry(t).blocks.array());
    CHECK(adapted.geometry(c).threads.array() == kernel.geometry(t).threads.array());
  }
}

TEST_CASE("the kernel's text has the tiling's macros") {
  const matmul_shape shape{64, 64, 64};
  const auto space = gpu::tile_sizes_space(shape);
  const tile_sizes c{.m = {4, 8, 1, 2}, .n = {2, 8, 2, 2}, .k = {8, 8}};
  REQUIRE(space.contains(c));
  const auto [text, function] = tileseek::detail::text_of(space, gpu::by_tile_sizes(gpu::matmul_kernel(shape)), c);
  CHECK(function == "tiled_product");
  for (const char* line : {"#define m_1 1\n", "#define m_2 8\n", "#define m_4 2\n", "#define n_3 2\n",
                           "#define k_1 8\n", "#define unroll_depth 8\n", "#define fetch_width 2\n",
                           "#define lanes 8\n", "#define buffers 2\n", "#define background 0\n"}) {
    CAPTURE(line);
    CHECK(text.find(line) != std::string::npos);
  }
}

TEST_CASE("the published search learns from the analytical features alone") {
  const matmul_shape shape{256, 256, 256};
  auto space = gpu::tile_sizes_space(shape);
  auto o = tileseek::dynamic_gradient_options::published();
  o.only_features = true;
  o.init_size = 8;
  tileseek::rng random(3);
  tileseek::dynamic_gradient<> search(o);
  CHECK_THROWS_AS(static_cast<void>(search.ask(space.lattice(), random, 3)), std::invalid_argument);
  gpu::add_features(space, shape);
  tileseek::dynamic_gradient<> told(o);
  const gpu::multiprocessors on;
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 20; ++i)
    for (const auto& p : told.ask(space.lattice(), random, 3)) {
      const auto t = static_cast<tiling>(space.at(p));
      const double seconds = 1 / gpu::attainable(gpu::analyse(shape, gpu::element::fp32, t, on), on);
      best = std::min(best, seconds);
      const tileseek::trial one[] = {{p, {tileseek::status::ok, {seconds}, {}}}};
      told.tell(space.lattice(), one);
    }
  CHECK(best < std::numeric_limits<double>::infinity());
}
