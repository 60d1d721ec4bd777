#include <tileseek/measure/cuda.hpp>

#include <doctest/doctest.h>

#include <span>
#include <stdexcept>
#include <string>
#include <vector>

using tileseek::compile_cuda;
using tileseek::device_kernel;
using tileseek::input;
using tileseek::launch;
using tileseek::output;
using tileseek::scalar;
using tileseek::status;

namespace {

constexpr int n = 1000;

struct config {
  int WIDTH = 1, BLOCK = 64, DEED = 0;
};

/// Does what its deed says.
constexpr const char* text = R"(
template <int Width>
__global__ void scale(const float* x, float* y, int n, float factor) {
#if DEED == 1
#error one is not supported
#endif
#if DEED == 2
  extern __shared__ float much[];
  much[threadIdx.x] = x[0];
#endif
  for (int w = 0; w < Width; ++w) {
    const int i = (blockIdx.x * blockDim.x + threadIdx.x) * Width + w;
    if (i < n) y[i] = factor * x[i];
  }
  if (DEED == 3) y[n + 1] = 1;
  if (DEED == 4) *(volatile int*)8 = 1;
  if (DEED == 5) for (volatile int forever = 1; forever;) {}
}
)";

static_assert(tileseek::RunAwareMeasurer<tileseek::cuda_measurer<config>, config>);

void scale(const float* x, float* y, int count, float factor) {
  for (int i = 0; i < count; ++i) y[i] = factor * x[i];
}

tileseek::space<config> configs() {
  return tileseek::space<config>{}
      .add("WIDTH", &config::WIDTH, {1, 2, 3, 4})
      .add("BLOCK", &config::BLOCK, {32, 64, 1 << 20})
      .add("DEED", &config::DEED, tileseek::range(0, 5));
}

device_kernel<config> kernel() {
  return {.source = text,
          .function = "scale<{WIDTH}>",
          .geometry =
              [](const config& c) {
                const auto block = static_cast<std::size_t>(c.BLOCK);
                const auto per_block = block * static_cast<std::size_t>(c.WIDTH);
                return launch{{(n + per_block - 1) / per_block}, {block}, c.DEED == 2 ? std::size_t{1} << 30 : 0};
              },
          .arguments = {input<float>(n), output<float>(n), scalar(n), scalar(2.5F)},
          .truth = scale,
          .limits = {.most_seconds = 5, .build_seconds = 5}};
}

bool no_device() {
  try {
    static_cast<void>(tileseek::cuda(configs(), kernel()));
    return false;
  } catch (const std::runtime_error& e) {
    MESSAGE("skipped: ", std::string(e.what()));
    return true;
  }
}

}  // namespace

TEST_CASE("a kernel is compiled for any architecture without a device, and what it takes is known") {
  for (const int architecture : {75, 80, 86, 89, 90, 100, 120}) {
    CAPTURE(architecture);
    const auto built = compile_cuda("#define DEED 0\n" + std::string(text), "scale<2>", architecture);
    CHECK(!built.cubin.empty());
    CHECK(built.entry.find("scale") != std::string::npos);
    CHECK(built.usage.registers >= 8);
    CHECK(built.usage.registers <= 255);
    CHECK(built.usage.spilled == 0);
    CHECK(built.usage.shared_bytes == 0);
  }
  const auto shared = compile_cuda(
      "extern \"C\" __global__ void f(float* x) { __shared__ float s[512]; s[threadIdx.x] = x[threadIdx.x]; "
      "__syncthreads(); x[threadIdx.x] = s[511 - threadIdx.x]; }",
      "f", 90);
  CHECK(shared.entry == "f");
  CHECK(shared.usage.shared_bytes == 2048);
  const auto spilling = compile_cuda(
      "__global__ void f(float* x) { float s[64]; for (int i = 0; i < 64; ++i) s[i] = x[i * 99]; __syncthreads(); "
      "for (int i = 0; i < 64; ++i) x[i] = s[i] * s[63 - i]; }",
      "f", 90, {"--maxrregcount=24"});
  CHECK(spilling.usage.spilled > 0);
}

TEST_CASE("configurations are compiled side by side without a device, each with its own outcome") {
  const std::vector<config> all{{1, 32, 0}, {2, 64, 0}, {2, 64, 1}, {4, 32, 0}};
  auto k = kernel();
  k.jobs = 2;
  const auto reports = tileseek::compile_cuda(configs(), k, 90, std::span<const config>(all));
  REQUIRE(reports.size() == 4);
  for (const std::size_t i : {0U, 1U, 3U}) {
    CHECK(reports[i].outcome == tileseek::status::ok);
    CHECK(reports[i].usage.registers >= 8);
    CHECK(reports[i].usage.spilled == 0);
  }
  CHECK(reports[2].outcome == tileseek::status::build_failed);
  CHECK(reports[2].note.find("one is not supported") != std::string::npos);
  CHECK(tileseek::compile_cuda(configs(), k, 90, std::span<const config>()).empty());
  const std::vector<config> none{{9, 32, 0}};
  CHECK_THROWS_AS(static_cast<void>(tileseek::compile_cuda(configs(), k, 90, std::span<const config>(none))),
                  std::invalid_argument);
}

TEST_CASE("what a device is travels between processes") {
  const tileseek::device_limits l{"a GPU", "clock 1 MHz, driver 2", {3, 4, 5}, 6, 7, 8, 9, 90, true};
  const auto back = tileseek::detail::unpack_limits(tileseek::detail::pack(l));
  CHECK(back.name == l.name);
  CHECK(back.under == l.under);
  CHECK(back.threads == l.threads);
  CHECK(back.all_threads == 6);
  CHECK(back.shared_bytes == 7);
  CHECK(back.processors == 8);
  CHECK(back.cache_bytes == 9);
  CHECK(back.architecture == 90);
  CHECK(back.is_cpu);
  CHECK_THROWS_AS(static_cast<void>(tileseek::detail::unpack_limits("short")), std::runtime_error);
}

TEST_CASE("what does not compile says why") {
  const auto message = [](const std::string& source, const std::string& function, int architecture) -> std::string {
    try {
      static_cast<void>(compile_cuda(source, function, architecture));
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "";
  };
  CHECK(message("#define DEED 1\n" + std::string(text), "scale<2>", 90).find("one is not supported") !=
        std::string::npos);
  CHECK(!message("", "no_such_function", 90).empty());
  CHECK(!message("__global__ void f() {}", "f", 12345).empty());
}

TEST_CASE("every way to go wrong on a device gets its status, and the run goes on") {
  if (no_device()) return;
  for (const auto state : {tileseek::caches::warm, tileseek::caches::flushed}) {
    auto k = kernel();
    k.state = state;
    auto m = tileseek::cuda(configs(), k);
    std::vector<config> all;
    for (int deed = 0; deed < 6; ++deed) all.push_back({2, 64, deed});
    all.push_back({4, 32, 0});
    all.push_back({4, 1 << 20, 0});
    const auto r = m.measure(all);
    REQUIRE(r.size() == 8);
    CHECK(r[0].valid());
    CHECK(r[1].outcome == status::build_failed);
    CHECK(r[2].outcome == status::launch_failed);
    CHECK(r[3].note == "wrote past the end of argument 1");
    CHECK(r[4].outcome == status::run_failed);
    CHECK(r[5].outcome == status::timed_out);
    CHECK(r[6].cost() < 1);
    CHECK(r[7].outcome == status::launch_failed);
    CHECK(m.fitting().size() < configs().size());
  }
}
