#pragma once
// Tuning the bundled GPU kernels, and ranking them without a GPU: compiled once for all examples.
#include <tileseek/kernels/gpu/analytic.hpp>
#include <tileseek/kernels/gpu/tile_sizes.hpp>
#include <tileseek/search/any_strategy.hpp>
#include "tuner_run.hpp"

#include <functional>
#include <stdexcept>
#include <string>

/// What a shape has on a device: its space and its kernel, with all parameters and with tile sizes alone, and a model.
struct device_problem {
  using limits = tileseek::kernels::gpu::block_limits;
  using tiling = tileseek::kernels::gpu::tiling;
  using tile_sizes = tileseek::kernels::gpu::tile_sizes;
  using processors = tileseek::kernels::gpu::multiprocessors;
  std::function<tileseek::space<tiling>(const limits&)> space;
  std::function<tileseek::space<tile_sizes>(const limits&, const processors&)> tile_sizes_space;  ///< with features
  std::function<tileseek::device_kernel<tiling>(const limits&)> kernel;
  std::function<tileseek::kernels::gpu::analysis(const tiling&, const processors&, int registers)> analyse;
};

/// @param space, kernel  functions of the shape, the type of the elements and the limits
template <class Shape, class Space, class Kernel>
device_problem device_problem_of(const Shape& shape, Space space, Kernel kernel) {
  using p = device_problem;
  namespace gpu = tileseek::kernels::gpu;
  constexpr auto type = gpu::element::fp32;
  return {[=](const p::limits& limits) { return space(shape, type, limits); },
          [=](const p::limits& limits, const p::processors& on) {
            auto out = gpu::tile_sizes_space(shape, type, limits);
            gpu::add_features(out, shape, type, on);
            return out;
          },
          [=](const p::limits& limits) { return kernel(shape, type, limits); },
          [=](const p::tiling& t, const p::processors& on, int registers) {
            return gpu::analyse(shape, type, t, on, registers);
          }};
}

/// Whether the options ask for a GPU's kernel.
/// @throws std::invalid_argument  a CPU's is asked for in a GPU's view
inline bool for_gpu(const tuner_options& o) {
  if (o.backend != "cpu" || o.dry_run) return true;
  if (o.view != "full")
    throw std::invalid_argument("--view: the kernels for the CPU have no " + o.view +
                                " view; add --backend or --dry-run");
  return false;
}

/// Tunes it and reports; a dry run ranks it. @return the exit status
int run_on_device(const tuner_options& o, const device_problem& problem, const std::string& task, double flop,
                  tileseek::any_strategy strategy);
/// Ranks configurations by a static model and the compiler's report, without a device. @return the exit status
int dry_run(const tuner_options& o, const device_problem& problem, const std::string& task, double flop,
            tileseek::any_strategy strategy);
