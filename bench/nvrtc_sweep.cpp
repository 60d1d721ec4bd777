// Compiles random configurations of the GPU kernels for every architecture, without a device: what fails, what spills, and how
// far the estimate of registers, which the spaces' rules go by, is from what ptxas takes. Exits with 1 if any fails.
//
//   build/bench/nvrtc_sweep --configurations 300
#include <tileseek/kernels/gpu/analytic.hpp>
#include <tileseek/measure/cuda.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <map>
#include <string>
#include <vector>

namespace {

using namespace tileseek::kernels;
using gpu::element;
using gpu::tiling;
using tileseek::fixed;
using tileseek::detail::concat;

struct options {
  std::size_t configurations = 2;
  std::uint64_t seed = 0;
  std::size_t jobs = 0;
};

/// What was seen of one kernel on one architecture.
struct tally {
  std::size_t compiled = 0, failed = 0, spilled = 0, most_spilled = 0, underestimated = 0;
  std::map<std::string, std::size_t> refused;  ///< by the reason
  double apart = 0;                            ///< sum of the distances between estimated and real registers
};

std::vector<matmul_shape> products() {
  return {{4096, 4096, 4096}, {1000, 1000, 1000}, {512, 64, 1024}, {61, 37, 129}, {8, 3072, 768, 12}};
}
std::vector<conv2d_shape> convolutions() {
  std::vector<conv2d_shape> out{
      {.height = 56,
       .width = 56,
       .channels_in = 64,
       .channels_out = 64,
       .kernel_h = 3,
       .kernel_w = 3,
       .padding_h = 1,
       .padding_w = 1},
      {.height = 28, .width = 28, .channels_in = 256, .channels_out = 512, .stride_h = 2, .stride_w = 2},
      {.batch = 2,
       .height = 31,
       .width = 29,
       .channels_in = 12,
       .channels_out = 18,
       .kernel_h = 3,
       .kernel_w = 3,
       .padding_h = 1,
       .padding_w = 1,
       .dilation_h = 2,
       .groups = 3},
      {.height = 224,
       .width = 224,
       .channels_in = 3,
       .channels_out = 64,
       .kernel_h = 7,
       .kernel_w = 7,
       .stride_h = 2,
       .stride_w = 2,
       .padding_h = 3,
       .padding_w = 3}};
  for (std::size_t i = 0, n = out.size(); i < n; ++i) {
    out.push_back(out[i]);
    out.back().layout = conv2d_layout::nchw;
  }
  return out;
}

auto space_of(const matmul_shape& s, element type, const gpu::block_limits& l) { return gpu::matmul_space(s, type, l); }
auto space_of(const conv2d_shape& s, element type, const gpu::block_limits& l) { return gpu::conv2d_space(s, type, l); }
auto kernel_of(const matmul_shape& s, element type, const gpu::block_limits& l) {
  return gpu::matmul_kernel(s, type, l);
}
auto kernel_of(const conv2d_shape& s, element type, const gpu::block_limits& l) {
  return gpu::conv2d_kernel(s, type, l);
}

/// Random configurations of the space of sm_100, which has what any other has. Those that an architecture cannot run are
/// refused by its space: for background copies, or for the shared memory.
template <class Shape>
std::size_t sweep(const char* name, const std::vector<Shape>& shapes, const options& o) {
  tileseek::rng random(o.seed);
  std::map<int, tally> seen;
  std::size_t left = o.configurations, failures = 0, compiles = 0;
  const auto began = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < 2 * shapes.size(); ++i) {
    const auto& shape = shapes[i / 2];
    const auto type = i % 2 == 0 ? element::fp32 : element::fp16;
    const auto p = gpu::detail::product_of(shape, type);
    const std::size_t here = left / (2 * shapes.size() - i);
    left -= here;
    std::vector<tiling> drawn;
    const auto widest = space_of(shape, type, gpu::limits_of_architecture(100));
    while (drawn.size() < here) drawn.push_back(widest.sample(random));
    for (const int architecture : gpu::architectures) {
      const auto limits = gpu::limits_of_architecture(architecture);
      const auto space = space_of(shape, type, limits);
      auto kernel = kernel_of(shape, type, limits);
      kernel.jobs = o.jobs;
      kernel.compile_seconds = 300;
      auto& t = seen[architecture];
      std::vector<tiling> able;
      for (const auto& c : drawn)
        if (auto why = space.why_not(c); why.empty())
          able.push_back(c);
        else
          ++t.refused[std::move(why)];
      const auto reports = tileseek::compile_cuda(space, kernel, architecture, std::span<const tiling>(able));
      for (std::size_t k = 0; k < able.size(); ++k) {
        const auto& c = able[k];
        const auto& used = reports[k].usage;
        ++compiles;
        if (reports[k].outcome != tileseek::status::ok) {
          ++t.failed;
          ++failures;
          std::cout << concat({name, " sm_", architecture, " ", to_string(type), " ", space.describe(c), ": ",
                               to_string(reports[k].outcome), ": ", reports[k].note, "\n"});
          continue;
        }
        ++t.compiled;
        const int bm = c.m[1] * c.m[2] * c.m[3] * c.m[4], bn = c.n[1] * c.n[2] * c.n[3] * c.n[4];
        const int threads = c.m[2] * c.n[2];
        const int estimated = gpu::detail::registers_of(p, bm / c.m[2], bn / c.n[2], threads, bm, bn, c.k[1]);
        const int registers = static_cast<int>(used.registers);
        t.apart += std::abs(registers - estimated);
        if (registers > estimated) ++t.underestimated;
        if (used.spilled == 0) continue;
        ++t.spilled;
        t.most_spilled = std::max(t.most_spilled, used.spilled);
        std::cout << concat({name, " sm_", architecture, " ", to_string(type), " spills ", used.spilled, " bytes with ",
                             registers, " registers, estimated ", estimated, ": ", space.describe(c), "\n"});
      }
      std::cout.flush();
    }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  std::cout
      << concat({name, ": ", o.configurations, " configurations, ", compiles, " compiles in ",
                 tileseek::show_clock(took.count()), ", ", failures, " failures\n"})
      << "architecture  compiled  failed  spilled  most bytes  |registers - estimate|  more than estimated  refused\n";
  for (const auto& [architecture, t] : seen) {
    const auto column = [](std::string text, std::size_t width) {
      return std::string(width - std::min(width, text.size()), ' ') + text;
    };
    std::cout << column(concat({"sm_", architecture}), 12) << column(std::to_string(t.compiled), 10)
              << column(std::to_string(t.failed), 8) << column(std::to_string(t.spilled), 9)
              << column(std::to_string(t.most_spilled), 12)
              << column(t.compiled == 0 ? "-" : fixed(t.apart / static_cast<double>(t.compiled), 1), 24)
              << column(std::to_string(t.underestimated), 21);
    for (const auto& [why, count] : t.refused) std::cout << concat({"  ", count, ": ", why});
    std::cout << '\n';
  }
  std::cout.flush();
  return failures;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Compiles random configurations of the GPU kernels for every architecture.");
  options o;
  std::string kernel = "both";
  app.add_option("--kernel", kernel, "which")
      ->check(CLI::IsMember({"both", "matmul", "conv2d"}))
      ->capture_default_str();
  app.add_option("--configurations", o.configurations, "of each kernel, over all shapes")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--seed", o.seed, "of the configurations")->capture_default_str();
  app.add_option("--jobs", o.jobs, "compilers at once; 0: as many as there are cores")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  std::size_t failures = 0;
  if (kernel != "conv2d") failures += sweep("matmul", products(), o);
  if (kernel != "matmul") failures += sweep("conv2d", convolutions(), o);
  return failures == 0 ? 0 : 1;
}
