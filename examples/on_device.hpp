#pragma once
// Tuning the bundled GPU kernels: compiled once for all examples.
#include <tileseek/kernels/gpu/tiled_product.hpp>
#include <tileseek/search/any_strategy.hpp>
#include "tuner_run.hpp"

#include <functional>
#include <string>

/// What a shape has on a device with these limits.
struct device_problem {
  using limits = tileseek::kernels::gpu::block_limits;
  using tiling = tileseek::kernels::gpu::tiling;
  std::function<tileseek::space<tiling>(const limits&)> space;
  std::function<tileseek::device_kernel<tiling>(const limits&)> kernel;
};

/// Tunes it and reports. @return the exit status
int run_on_device(const tuner_options& o, const device_problem& problem, const std::string& task, double flop,
                  tileseek::any_strategy strategy);
