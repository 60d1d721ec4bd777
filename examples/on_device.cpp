#ifdef TILESEEK_HAVE_CUDA
#include <tileseek/measure/cuda.hpp>
#endif
#ifdef TILESEEK_HAVE_OPENCL
#include <tileseek/measure/opencl.hpp>
#endif
#include "on_device.hpp"

#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace {

/// One type for all backends: each would compile the whole tuner once more.
template <class Config>
struct measurer {
  std::function<std::vector<tileseek::measurement>(std::span<const Config>, const tileseek::measuring&)> on_device;
  std::size_t batch;
  tileseek::named_values under;

  std::vector<tileseek::measurement> measure(std::span<const Config> all, const tileseek::measuring& how) {
    return on_device(all, how);
  }
  [[nodiscard]] std::size_t batch_size() const { return batch; }
  [[nodiscard]] tileseek::named_values conditions() const { return under; }
};

/// A device of a backend: its limits, and the measurer of a space and a kernel.
template <class Config, class Backend>
int tune_on(const Backend& backend, const tileseek::space<Config>& space, tileseek::device_kernel<Config> kernel,
            const tuner_options& o, const std::string& task, double flop, tileseek::any_strategy strategy) {
  kernel.seed = o.seed;
  auto on_device = backend(space, std::move(kernel));
  measurer<Config> measure{[&on_device](const auto& all, const auto& how) { return on_device.measure(all, how); },
                           on_device.batch_size(), on_device.conditions()};
  return run(o, space, measure, task, flop, std::move(strategy), {});
}

}  // namespace

int run_on_device(const tuner_options& o, const device_problem& problem, const std::string& task, double flop,
                  tileseek::any_strategy strategy) {
  namespace gpu = tileseek::kernels::gpu;
  if (o.dry_run) return dry_run(o, problem, task, flop, std::move(strategy));
  [[maybe_unused]] const auto tune = [&](const tileseek::device_limits& device, const auto& backend) {
    const auto limits = gpu::limits_of(device);
    const auto processors = static_cast<int>(device.processors);
    gpu::multiprocessors on;
    on.count = processors;
    if (device.architecture > 0) on = gpu::multiprocessors_of(device.architecture, processors);
    const std::string name = task + ", " + o.backend;
    if (o.view == "paper")
      return tune_on(backend, problem.tile_sizes_space(limits, on), gpu::by_tile_sizes(problem.kernel(limits)), o,
                     name + ", tile sizes", flop, std::move(strategy));
    return tune_on(backend, problem.space(limits), problem.kernel(limits), o, name, flop, std::move(strategy));
  };
#ifdef TILESEEK_HAVE_OPENCL
  if (o.backend == "opencl")
    return tune(tileseek::opencl_device(),
                [](const auto& space, auto kernel) { return tileseek::opencl(space, std::move(kernel)); });
#endif
#ifdef TILESEEK_HAVE_CUDA
  if (o.backend == "cuda")
    return tune(tileseek::cuda_device(),
                [](const auto& space, auto kernel) { return tileseek::cuda(space, std::move(kernel)); });
#endif
  throw std::invalid_argument("--backend: there is no " + o.backend);
}
