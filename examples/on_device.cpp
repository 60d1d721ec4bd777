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

using tiling = device_problem::tiling;

/// One type for all backends: each would compile the whole tuner once more.
struct measurer {
  std::function<std::vector<tileseek::measurement>(std::span<const tiling>, const tileseek::measuring&)> on_device;
  std::size_t batch;
  tileseek::named_values under;

  std::vector<tileseek::measurement> measure(std::span<const tiling> tilings, const tileseek::measuring& how) {
    return on_device(tilings, how);
  }
  [[nodiscard]] std::size_t batch_size() const { return batch; }
  [[nodiscard]] tileseek::named_values conditions() const { return under; }
};

}  // namespace

int run_on_device(const tuner_options& o, const device_problem& problem, const std::string& task, double flop,
                  tileseek::any_strategy strategy) {
  [[maybe_unused]] const auto tune = [&](const tileseek::device_limits& device, const auto& backend) {
    const auto limits = tileseek::kernels::gpu::limits_of(device);
    const auto space = problem.space(limits);
    auto kernel = problem.kernel(limits);
    kernel.seed = o.seed;
    auto on_device = backend(space, kernel);
    measurer measure{[&on_device](const auto& tilings, const auto& how) { return on_device.measure(tilings, how); },
                     on_device.batch_size(), on_device.conditions()};
    return run(o, space, measure, task + ", " + o.backend, flop, std::move(strategy), {});
  };
#ifdef TILESEEK_HAVE_OPENCL
  if (o.backend == "opencl")
    return tune(tileseek::opencl_device(),
                [](const auto& space, const auto& kernel) { return tileseek::opencl(space, kernel); });
#endif
#ifdef TILESEEK_HAVE_CUDA
  if (o.backend == "cuda")
    return tune(tileseek::cuda_device(),
                [](const auto& space, const auto& kernel) { return tileseek::cuda(space, kernel); });
#endif
  throw std::invalid_argument("--backend: there is no " + o.backend);
}
