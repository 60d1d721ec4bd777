#pragma once
// Runs configurations of a kernel on the first OpenCL device: the default one, and one more. Kernels are kept short, or
// PoCL compiles them for seconds.

#include <doctest/doctest.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <tileseek/core/rng.hpp>
#include <tileseek/measure/opencl.hpp>

template <class Config>
void check_on_opencl(const tileseek::space<Config>& space, tileseek::device_kernel<Config> kernel, std::uint64_t seed) {
  tileseek::rng random(seed);
  const std::vector<Config> all{space.default_configuration(), space.sample(random)};
  kernel.state = tileseek::caches::warm;
  kernel.limits = {.most_seconds = 100, .build_seconds = 100, .quiet = true};  // of a busy machine
  kernel.compile_seconds = 100;
  try {
    auto measure = tileseek::opencl(space, std::move(kernel));
    const auto results = measure.measure(all);
    for (std::size_t i = 0; i < all.size(); ++i) {
      CAPTURE(space.describe(all[i]));
      CAPTURE(results[i].note);
      CHECK((results[i].outcome == tileseek::status::ok || results[i].outcome == tileseek::status::rejected_early));
    }
  } catch (const std::runtime_error& e) {
    MESSAGE("skipped: ", std::string(e.what()));
  }
}
