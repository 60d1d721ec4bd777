#include <tileseek/measure/opencl.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <tileseek/search/exhaustive.hpp>
#include <tileseek/tune/tune.hpp>

using tileseek::caches;
using tileseek::device_kernel;
using tileseek::in_out;
using tileseek::input;
using tileseek::launch;
using tileseek::output;
using tileseek::scalar;
using tileseek::status;

namespace {

struct config {
  int WIDTH = 1, BLOCK = 16, DEED = 0;
};

constexpr int n = 1000;

constexpr const char* text = R"(
kernel void scale(global const float* x, global float* y, const int n, const float factor) {
#if DEED == 1
#error one is not supported
#endif
#if DEED == 2
  local float much[100000000];
  much[get_local_id(0)] = x[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (n == 0) y[0] = much[n + 7];
#endif
  for (int w = 0; w < WIDTH; ++w) {
    const int i = get_global_id(0) * WIDTH + w;
    if (i < n) y[i] = factor * x[i];
  }
  if (DEED == 3) y[n + 1 + get_global_id(0) % 2] = 1;
  if (DEED == 4 && get_global_id(0) == 17) y[17] = 0;
  if (DEED == 5) for (volatile int forever = 1; forever;) {}
  if (DEED == 6) *(volatile global int*)8 = 1;
}
)";

tileseek::space<config> configs() {
  return tileseek::space<config>{}
      .add("WIDTH", &config::WIDTH, {1, 2, 3, 4})
      .add("BLOCK", &config::BLOCK, {16, 64, 1 << 20})
      .add("DEED", &config::DEED, tileseek::range(0, 7));
}

static_assert(tileseek::RunAwareMeasurer<tileseek::opencl_measurer<config>, config>);
static_assert(tileseek::PreparingMeasurer<tileseek::opencl_measurer<config>, config>);

void scale(const float* x, float* y, int count, float factor) {
  for (int i = 0; i < count; ++i) y[i] = factor * x[i];
}

device_kernel<config> kernel() {
  return {.source = text,
          .function = "scale",
          .geometry =
              [](const config& c) {
                const auto block = static_cast<std::size_t>(c.BLOCK);
                const auto per_block = block * static_cast<std::size_t>(c.WIDTH);
                return launch{{(n + per_block - 1) / per_block}, {block}};
              },
          .arguments = {input<float>(n), output<float>(n), scalar(n), scalar(2.5F)},
          .truth = scale,
          .state = caches::warm,
          .limits = {.most_seconds = 10, .build_seconds = 10, .quiet = true}};
}

bool no_device() {
  try {
    static_cast<void>(tileseek::opencl(configs(), kernel()));
    return false;
  } catch (const std::runtime_error& e) {
    MESSAGE("skipped: ", std::string(e.what()));
    return true;
  }
}

}  // namespace

TEST_CASE("right kernels are timed, whatever the configuration, from warm and from cold caches") {
  if (no_device()) return;
  for (const auto state : {caches::warm, caches::flushed}) {
    auto k = kernel();
    k.state = state;
    auto m = tileseek::opencl(configs(), k);
    std::vector<config> all;
    for (const int width : {1, 2, 3, 4})
      for (const int block : {16, 64}) all.push_back({width, block, 0});
    for (const auto& r : m.measure(all)) {
      CAPTURE(r.note);
      CHECK((r.outcome == status::ok || r.outcome == status::rejected_early));
      CHECK(r.seconds.size() >= 3);
    }
  }
}

TEST_CASE("every way to go wrong on a device gets its status, and the run goes on") {
  if (no_device()) return;
  auto k = kernel();
  k.limits.most_seconds = k.limits.build_seconds = 3;
  auto m = tileseek::opencl(configs(), k);
  std::vector<config> all;
  for (int deed = 0; deed < 8; ++deed) all.push_back({1, 16, deed});
  all.push_back({1, 1 << 20, 0});
  const auto r = m.measure(all);
  REQUIRE(r.size() == 9);
  CHECK(r[0].valid());
  CHECK(r[1].outcome == status::build_failed);
  CHECK(r[1].note.find("one is not supported") != std::string::npos);
  CHECK(r[2].outcome != status::ok);
  CHECK(r[3].note == "wrote past the end of argument 1");
  CHECK(r[4].outcome == status::wrong_result);
  CHECK(r[5].outcome == status::timed_out);
  CHECK(r[6].outcome == status::crashed);
  CHECK(r[7].cost() < 1);
  CHECK(r[8].outcome == status::launch_failed);
  CHECK(r[8].note.find("threads") != std::string::npos);
}

TEST_CASE("what a device was measured under is recorded") {
  if (no_device()) return;
  const auto device = tileseek::opencl_device();
  CHECK(!device.name.empty());
  CHECK(device.name.find('\n') == std::string::npos);
  CHECK(device.under.find(" MHz at most, driver ") != std::string::npos);
  const auto text = to_string(tileseek::opencl(configs(), kernel()).conditions());
  CHECK(text.find(device.name) != std::string::npos);
  CHECK(text.find(device.under) != std::string::npos);
}

TEST_CASE("what does not fit the device is not in the fitting space, and a run finds the best of the rest") {
  if (no_device()) return;
  auto m = tileseek::opencl(configs(), kernel());
  const auto fitting = m.fitting();
  CHECK(fitting.size() == 64);
  CHECK(configs().size() == 96);
  const auto few = tileseek::space<config>{}
                       .add("WIDTH", &config::WIDTH, {1, 2})
                       .add("BLOCK", &config::BLOCK, {16, 64})
                       .add("DEED", &config::DEED, {0});
  auto tuned = tileseek::opencl(few, kernel());
  const auto r = tileseek::tune(few, tuned, {.trials = 4, .rounds = 1, .progress = tileseek::verbosity::quiet},
                                tileseek::exhaustive{});
  CHECK(r.best);
  CHECK(r.by_status[static_cast<std::size_t>(status::ok)] +
            r.by_status[static_cast<std::size_t>(status::rejected_early)] ==
        4);
}

TEST_CASE("what a kernel reads and writes is restored before every run") {
  if (no_device()) return;
  auto k = kernel();
  k.source = "kernel void f(global int* x) { if (x[get_global_id(0)] != 3) x[0] = -100; x[get_global_id(0)] += 1; }";
  k.function = "f";
  k.geometry = [](const config&) { return launch{{2}, {8}}; };
  k.arguments = {in_out(std::vector<int>(16, 3))};
  k.truth = [](void* const* a) {
    for (int i = 0; i < 16; ++i) static_cast<int*>(a[0])[i] += 1;
  };
  CHECK(tileseek::opencl(configs(), k).measure(std::vector<config>{{}}).front().valid());
}

TEST_CASE("mistakes in the description are named") {
  if (no_device()) return;
  const auto refused = [](auto change) {
    auto k = kernel();
    change(k);
    CHECK_THROWS_AS(static_cast<void>(tileseek::opencl(configs(), k)), std::invalid_argument);
  };
  refused([](auto& k) { k.source.clear(); });
  refused([](auto& k) { k.file = "also.cl"; });
  refused([](auto& k) { k.function.clear(); });
  refused([](auto& k) { k.function = "f<{NO}>"; });
  refused([](auto& k) { k.geometry = {}; });
  refused([](auto& k) { k.compile_seconds = 0; });
  refused([](auto& k) { k.arguments.pop_back(); });
  auto k = kernel();
  k.device = 1000;
  CHECK_THROWS_AS(static_cast<void>(tileseek::opencl(configs(), k)), std::runtime_error);
  k = kernel();
  k.source.clear();
  k.file = "/no/such/file.cl";
  CHECK_THROWS_AS(static_cast<void>(tileseek::opencl(configs(), k)), std::runtime_error);
}
