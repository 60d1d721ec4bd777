#pragma once
// What opencl() and cuda() tune: a kernel for a device, from a source string or file, with macros from the configuration
// and a launch geometry that is a function of it.
//
//   auto kernel = tileseek::opencl(space, tileseek::device_kernel<Tiling>{
//       .source = text,
//       .function = "matmul",
//       .geometry = [](const Tiling& t) { return tileseek::launch{{n / t.BN, n / t.BM}, {t.TN, t.TM}}; },
//       .arguments = {tileseek::input<float>(n * n), ..., tileseek::scalar(n)},
//       .truth = matmul_reference});

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <tileseek/core/format.hpp>
#include <tileseek/core/value.hpp>
#include <tileseek/measure/arguments.hpp>
#include <tileseek/measure/isolated.hpp>

namespace tileseek {

/// Numbers in up to three directions; those left out are 1.
struct extent3 {
  std::size_t x = 1, y = 1, z = 1;
  [[nodiscard]] constexpr std::size_t product() const noexcept { return x * y * z; }
  [[nodiscard]] constexpr std::array<std::size_t, 3> array() const noexcept { return {x, y, z}; }
};

/// How many threads run a kernel, in blocks (OpenCL: work-groups of work-items), and the dynamic shared memory of each.
struct launch {
  extent3 blocks;
  extent3 threads;               ///< of a block
  std::size_t shared_bytes = 0;  ///< of a block, beyond what the kernel declares. OpenCL has none: it must be 0 there
};

/// What a device is, and what it can hold of a block.
struct device_limits {
  std::string name;
  std::string under;                     ///< what else times depend on, as far as it tells: clocks at most, versions
  std::array<std::size_t, 3> threads{};  ///< of a block, in each direction
  std::size_t all_threads = 0;           ///< of a block
  std::size_t shared_bytes = 0;          ///< of a block
  std::size_t processors = 0;            ///< streaming multiprocessors, compute units
  std::size_t cache_bytes = 0;           ///< of the last level on the device
  int architecture = 0;                  ///< CUDA: 90 for sm_90; else 0
  bool is_cpu = false;

  /// Why a launch does not fit; empty: it does, as far as the launch alone tells.
  [[nodiscard]] std::string refuses(const launch& l) const {
    if (l.threads.product() == 0 || l.blocks.product() == 0) return "the launch is empty";
    for (std::size_t d = 0; d < 3; ++d)
      if (l.threads.array()[d] > threads[d])
        return detail::concat(
            {l.threads.array()[d], " threads in direction ", d, " of a block, the device has ", threads[d]});
    if (l.threads.product() > all_threads)
      return detail::concat({l.threads.product(), " threads in a block, the device has ", all_threads});
    if (l.shared_bytes > shared_bytes)
      return detail::concat({l.shared_bytes, " bytes of shared memory for a block, the device has ", shared_bytes});
    return {};
  }
};

/// A kernel and all that it takes to run and check it.
///
/// A parameter of the space is a macro of the same name, a tile axis `m` is m_0, m_1, ..., outermost first; truth values
/// are 1 and 0. Where `function` names {BM}, it is a template argument instead, and no macro (CUDA only).
template <class Config>
struct device_kernel {
  std::string source{};    ///< its text
  std::string file{};      ///< or the file that holds it; one of the two
  std::string function{};  ///< its name, with template arguments if it has some: "matmul<{BM}, {BN}>"
  std::function<launch(const Config&)> geometry{};
  std::function<named_values(const Config&)> derived{};  ///< more macros, which follow from the configuration
  std::vector<argument> arguments{};                     ///< of the kernel, in order
  reference truth{};                                     ///< what its results are compared with, computed on the host
  std::vector<std::string> flags{};                      ///< for the device's compiler
  std::size_t device = 0;                                ///< which one, in the order in which the system lists them
  caches state = caches::flushed;  ///< a GPU kernel in a program rarely finds its data in the caches
  std::uint64_t seed = 0;          ///< of the random inputs
  double compile_seconds = 30;     ///< for one configuration, as MetaSchedule's builder has it
  std::size_t jobs = 0;            ///< compilers at once; 0: as many as there are cores
  isolation limits{};              ///< of the process that runs the kernels
};

}  // namespace tileseek
