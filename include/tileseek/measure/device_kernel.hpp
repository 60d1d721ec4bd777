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
  std::vector<argument> arguments{};  ///< of the kernel, in order
  reference truth{};                  ///< what its results are compared with, computed on the host
  std::vector<std::string> flags{};   ///< for the device's compiler
  std::size_t device = 0;             ///< which one, in the order in which the system lists them
  caches state = caches::flushed;     ///< a GPU kernel in a program rarely finds its data in the caches
  std::uint64_t seed = 0;             ///< of the random inputs
  double compile_seconds = 30;        ///< for one configuration, as MetaSchedule's builder has it
  std::size_t jobs = 0;               ///< compilers at once; 0: as many as there are cores
  isolation limits{};                 ///< of the process that runs the kernels
};

}  // namespace tileseek
