#pragma once
// Tunes a CUDA kernel on an NVIDIA device.
//
//   auto kernel = tileseek::cuda(space, tileseek::device_kernel<Tiling>{.source = text, ...});
//   std::cout << tileseek::tune(kernel.fitting(), kernel, {.trials = 200}) << '\n';
//
// NVRTC compiles configurations in parallel, in processes of their own; they are checked and timed with events in another
// process, which is the only one to touch the device. See device_kernel.hpp, arguments.hpp. compile_cuda() needs no
// device: it says which registers and how much shared memory a kernel would take on any architecture.
//
// Needs NVRTC and the CUDA runtime 12.8 or newer, which may be linked statically (-lnvrtc -lcudart_static -ldl -lrt
// -lpthread). Nothing is linked to the driver: on a machine without a GPU the program starts, and cuda() throws. POSIX only.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>
#include <nvrtc.h>

#include <tileseek/core/format.hpp>
#include <tileseek/core/measurement.hpp>
#include <tileseek/measure/arguments.hpp>
#include <tileseek/measure/detail/device.hpp>
#include <tileseek/measure/device_kernel.hpp>
#include <tileseek/measure/isolated.hpp>
#include <tileseek/measure/measurer.hpp>
#include <tileseek/measure/several.hpp>
#include <tileseek/space/space.hpp>

namespace tileseek {

/// What ptxas says of a kernel.
struct cuda_usage {
  std::size_t registers = 0;     ///< of a thread
  std::size_t spilled = 0;       ///< bytes of a thread: stored to memory for want of registers
  std::size_t shared_bytes = 0;  ///< of a block, as the kernel declares it
};

/// A compiled kernel.
struct cuda_binary {
  std::string entry;  ///< the kernel's mangled name
  std::string cubin;
  cuda_usage usage;
  std::string log;
};

namespace detail {

[[gnu::cold]] inline void nvrtc_check(nvrtcResult code, const char* call) {
  if (code != NVRTC_SUCCESS)
    throw device_failure(status::build_failed, concat({call, " failed: ", nvrtcGetErrorString(code)}));
}

/// The number that stands directly before (or behind) the words in a line of the log; 0 if there is none.
[[nodiscard, gnu::cold]] inline std::size_t number_before(std::string_view log, std::string_view words) {
  const auto at = log.find(words);
  if (at == std::string_view::npos || at == 0) return 0;
  std::size_t begin = at;
  while (begin > 0 && log[begin - 1] == ' ') --begin;
  const std::size_t end = begin;
  while (begin > 0 && log[begin - 1] >= '0' && log[begin - 1] <= '9') --begin;
  return static_cast<std::size_t>(std::strtoull(std::string(log.substr(begin, end - begin)).c_str(), nullptr, 10));
}

}  // namespace detail

/// Compiles a kernel for an architecture (90: sm_90), with no need of a device.
/// @param function  as in device_kernel, filled in: "matmul<32, 64>"
/// @throws detail::device_failure  (a std::runtime_error) it does not compile; what() is the compiler's log
[[nodiscard, gnu::cold]] inline cuda_binary compile_cuda(const std::string& text, const std::string& function,
                                                         int architecture, const std::vector<std::string>& flags = {}) {
  nvrtcProgram made = nullptr;
  detail::nvrtc_check(nvrtcCreateProgram(&made, text.c_str(), "kernel.cu", 0, nullptr, nullptr), "nvrtcCreateProgram");
  struct destroy {
    void operator()(nvrtcProgram p) const { nvrtcDestroyProgram(&p); }
  };
  const std::unique_ptr<std::remove_pointer_t<nvrtcProgram>, destroy> program(made);
  detail::nvrtc_check(nvrtcAddNameExpression(program.get(), function.c_str()), "nvrtcAddNameExpression");
  const char* const home = std::getenv("CUDA_PATH");
  std::vector<std::string> options{"--gpu-architecture=sm_" + std::to_string(architecture), "--std=c++17",
                                   "--ptxas-options=-v",
                                   std::string("--include-path=") + (home ? home : "/usr/local/cuda") + "/include"};
  options.insert(options.end(), flags.begin(), flags.end());
  std::vector<const char*> arguments;
  for (const auto& o : options) arguments.push_back(o.c_str());
  const auto code = nvrtcCompileProgram(program.get(), static_cast<int>(arguments.size()), arguments.data());
  cuda_binary out;
  std::size_t size = 0;
  if (nvrtcGetProgramLogSize(program.get(), &size) == NVRTC_SUCCESS && size > 1) {
    out.log.resize(size);
    static_cast<void>(nvrtcGetProgramLog(program.get(), out.log.data()));
    out.log.resize(size - 1);  // without the zero
  }
  if (code != NVRTC_SUCCESS)
    throw detail::device_failure(status::build_failed, "not compiled: " + out.log.substr(0, detail::longest_message));
  const char* entry = nullptr;
  detail::nvrtc_check(nvrtcGetLoweredName(program.get(), function.c_str(), &entry), "nvrtcGetLoweredName");
  out.entry = entry;
  detail::nvrtc_check(nvrtcGetCUBINSize(program.get(), &size), "nvrtcGetCUBINSize");
  out.cubin.resize(size);
  detail::nvrtc_check(nvrtcGetCUBIN(program.get(), out.cubin.data()), "nvrtcGetCUBIN");
  // Of several kernels in the text, the part of the log that is about this one.
  const auto from = out.log.find("'" + out.entry + "'");
  const std::string_view log = std::string_view(out.log).substr(from == std::string::npos ? 0 : from);
  out.usage = {detail::number_before(log, "registers"), detail::number_before(log, "bytes spill stores"),
               detail::number_before(log, "bytes smem")};
  return out;
}

/// What came of compiling a configuration.
struct cuda_report {
  status outcome = status::ok;
  cuda_usage usage;
  std::string note;  ///< why it failed
};

/// Compiles configurations of a kernel for an architecture, as cuda() would, with no need of a device: in parallel
/// (device_kernel's `jobs`), in processes of their own.
/// @throws std::invalid_argument  the kernel lacks something, or a configuration is not in the space
/// @throws std::runtime_error     no process can be started; the file can't be read
template <class Config>
[[nodiscard]] std::vector<cuda_report> compile_cuda(const space<Config>& of, const device_kernel<Config>& kernel,
                                                    int architecture, std::span<const Config> batch) {
  const auto whole = detail::complete("compile_cuda", of, kernel);
  auto compile = [&](const Config& c) {
    try {
      const auto [text, function] = detail::text_of(of, whole, c);
      const auto used = compile_cuda(text, function, architecture, whole.flags).usage;
      // The three numbers travel as samples.
      return measurement{status::ok,
                         {static_cast<double>(used.registers), static_cast<double>(used.spilled),
                          static_cast<double>(used.shared_bytes)},
                         {}};
    } catch (const detail::device_failure& f) {
      return failure(f.outcome, f.what());
    }
  };
  using compiler = isolated_measurer<Config, each_measurer<Config, decltype(compile)>>;
  const isolation how{
      .most_seconds = whole.compile_seconds, .build_seconds = whole.compile_seconds, .quiet = true, .renew = false};
  std::vector<compiler> compilers;
  const std::size_t jobs = whole.jobs > 0 ? whole.jobs : std::max(1U, std::thread::hardware_concurrency());
  for (std::size_t i = 0; i < std::min(jobs, batch.size()); ++i) compilers.emplace_back(of, each<Config>(compile), how);
  std::vector<cuda_report> out;
  if (batch.empty()) return out;
  for (auto& c : compilers) c.start();  // before there are threads
  auto all = several<Config>(std::move(compilers));
  for (const auto& m : all.measure(batch)) {
    out.push_back({m.outcome, {}, m.note});
    if (m.outcome == status::crashed) out.back() = {status::build_failed, {}, "the compiler was " + m.note};
    if (m.valid())
      out.back().usage = {static_cast<std::size_t>(m.seconds[0]), static_cast<std::size_t>(m.seconds[1]),
                          static_cast<std::size_t>(m.seconds[2])};
  }
  return out;
}

namespace detail {

/// @throws device_failure  the call failed
[[gnu::cold]] inline void cuda_check(cudaError_t code, const char* call, status outcome = status::run_failed) {
  if (code == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  if (code == cudaErrorInvalidConfiguration || code == cudaErrorLaunchOutOfResources) outcome = status::launch_failed;
  throw device_failure(outcome, concat({call, " failed: ", cudaGetErrorString(code)}));
}

struct cuda_backend {
  static constexpr const char* name = "cuda";

  [[nodiscard, gnu::cold]] static device_limits limits(std::size_t number) {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0)
      fail<std::runtime_error>({"no CUDA device; this needs an NVIDIA GPU and its driver"});
    if (number >= static_cast<std::size_t>(count))
      fail<std::runtime_error>({"no CUDA device ", number, "; there are 0 to ", count - 1});
    const int device = static_cast<int>(number);
    const auto ask = [device](cudaDeviceAttr what) {
      int out = 0;
      cuda_check(cudaDeviceGetAttribute(&out, what, device), "cudaDeviceGetAttribute");
      return out;
    };
    const auto size = [&ask](cudaDeviceAttr what) { return static_cast<std::size_t>(ask(what)); };
    cudaDeviceProp properties{};
    cuda_check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
    device_limits out;
    out.name = properties.name;
    // What the clocks are while a kernel runs, only the driver's library tells (nvidia-smi -q -d CLOCK).
    int driver = 0;
    int runtime = 0;
    cuda_check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    cuda_check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
    int nvrtc[2] = {};
    nvrtc_check(nvrtcVersion(&nvrtc[0], &nvrtc[1]), "nvrtcVersion");
    const auto version = [](int v) { return concat({v / 1000, ".", v % 1000 / 10}); };
    out.under = concat({"clock ", ask(cudaDevAttrClockRate) / 1000, " MHz at most, memory ",
                        ask(cudaDevAttrMemoryClockRate) / 1000, " MHz at most, ECC ",
                        ask(cudaDevAttrEccEnabled) != 0 ? "on" : "off", ", driver for CUDA ", version(driver),
                        ", runtime ", version(runtime), ", NVRTC ", nvrtc[0], ".", nvrtc[1]});
    out.threads = {size(cudaDevAttrMaxBlockDimX), size(cudaDevAttrMaxBlockDimY), size(cudaDevAttrMaxBlockDimZ)};
    out.all_threads = size(cudaDevAttrMaxThreadsPerBlock);
    out.shared_bytes = size(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    out.processors = size(cudaDevAttrMultiProcessorCount);
    out.cache_bytes = size(cudaDevAttrL2CacheSize);
    out.architecture = 10 * ask(cudaDevAttrComputeCapabilityMajor) + ask(cudaDevAttrComputeCapabilityMinor);
    return out;
  }

  /// An object file is the entry's name, a newline, and the cubin.
  class compiler {
   public:
    compiler(std::size_t, const device_limits& limits) : architecture_(limits.architecture) {}
    void compile(const std::string& text, const std::string& function, const std::vector<std::string>& flags,
                 const std::string& file) const {
      const auto built = compile_cuda(text, function, architecture_, flags);
      std::ofstream out(file, std::ios::binary);
      out << built.entry << '\n' << built.cubin;
      if (!out.flush()) throw device_failure(status::build_failed, "'" + file + "' can't be written");
    }

   private:
    int architecture_;
  };

  class runner {
   public:
    runner(std::size_t number, arguments& data, const device_limits& limits) : data_(data), cache_(limits.cache_bytes) {
      cuda_check(cudaSetDevice(static_cast<int>(number)), "cudaSetDevice");
      cudaStream_t stream = nullptr;
      cuda_check(cudaStreamCreate(&stream), "cudaStreamCreate");
      stream_.reset(stream);
      for (auto* e : {&begin_, &end_}) {
        cudaEvent_t event = nullptr;
        cuda_check(cudaEventCreate(&event), "cudaEventCreate");
        e->reset(event);
      }
      for (const auto& a : data_.list()) {
        buffers_.emplace_back();
        if (a.kind() == argument::role::scalar) continue;
        buffers_.back().whole = make_buffer(a.bytes() + 2 * arguments::margin);
        buffers_.back().inner = buffers_.back().whole.get() + arguments::margin;
        if (a.kind() == argument::role::in_out) buffers_.back().original = make_buffer(a.bytes());
      }
      for (std::size_t i = 0; i < buffers_.size(); ++i)
        passed_.push_back(buffers_[i].whole ? static_cast<void*>(&buffers_[i].inner) : data_.pointers()[i]);
    }

    /// Of cudaEventElapsedTime(), by its documentation.
    [[nodiscard]] static double resolution() noexcept { return 0.5e-6; }

    std::string load(const std::string&, const std::string& file, const launch& how) {
      std::ifstream in(file, std::ios::binary);
      std::string entry;
      std::getline(in, entry);
      const std::string cubin(std::istreambuf_iterator<char>(in), {});
      graph_.reset();
      cudaLibrary_t library = nullptr;
      cuda_check(cudaLibraryLoadData(&library, cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
                 "cudaLibraryLoadData", status::launch_failed);
      library_.reset(library);
      cuda_check(cudaLibraryGetKernel(&kernel_, library, entry.c_str()), "cudaLibraryGetKernel", status::launch_failed);
      launch_ = how;
      cudaFuncAttributes of{};
      cuda_check(cudaFuncGetAttributes(&of, function()), "cudaFuncGetAttributes", status::launch_failed);
      if (how.threads.product() > static_cast<std::size_t>(of.maxThreadsPerBlock))
        throw device_failure(status::launch_failed, concat({how.threads.product(), " threads in a block, its ",
                                                            of.numRegs, " registers allow ", of.maxThreadsPerBlock}));
      if (how.shared_bytes > 0)
        cuda_check(cudaFuncSetAttribute(function(), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(how.shared_bytes)),
                   "more shared memory", status::launch_failed);
      return concat({of.numRegs, " registers, ", of.localSizeBytes, " bytes spilled, ",
                     of.sharedSizeBytes + how.shared_bytes, " bytes of shared memory"});
    }

    void upload() const {
      for (std::size_t i = 0; i < buffers_.size(); ++i) {
        const auto& b = buffers_[i];
        if (!b.whole) continue;
        const std::size_t bytes = data_.list()[i].bytes();
        const auto* from = static_cast<const std::byte*>(data_.pointers()[i]);
        cuda_check(
            cudaMemcpy(b.whole.get(), from - arguments::margin, bytes + 2 * arguments::margin, cudaMemcpyHostToDevice),
            "cudaMemcpy");
        if (b.original) cuda_check(cudaMemcpy(b.original.get(), from, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
      }
    }
    void download() const {
      for (std::size_t i = 0; i < buffers_.size(); ++i)
        if (buffers_[i].whole)
          cuda_check(
              cudaMemcpy(static_cast<std::byte*>(data_.pointers()[i]) - arguments::margin, buffers_[i].whole.get(),
                         data_.list()[i].bytes() + 2 * arguments::margin, cudaMemcpyDeviceToHost),
              "cudaMemcpy");
    }
    void run() {
      enqueue();
      cuda_check(cudaStreamSynchronize(stream_.get()), "the kernel");
    }

    /// What is read and written as it was in the beginning.
    void restore() const {
      for (std::size_t i = 0; i < buffers_.size(); ++i)
        if (buffers_[i].original)
          cuda_check(cudaMemcpyAsync(buffers_[i].inner, buffers_[i].original.get(), data_.list()[i].bytes(),
                                     cudaMemcpyDeviceToDevice, stream_.get()),
                     "cudaMemcpyAsync");
    }
    /// Writes twice as much as the L2 cache holds. The device is busy with it while the host launches the kernel, so that
    /// the launch itself is not timed.
    void flush() {
      const std::size_t bytes = 2 * cache_ + (1 << 20);
      if (!scratch_) scratch_ = make_buffer(bytes);
      cuda_check(cudaMemsetAsync(scratch_.get(), ++flushes_ & 0xff, bytes, stream_.get()), "cudaMemsetAsync");
    }

    /// Seconds by the device's clock, of one run behind what was enqueued.
    [[nodiscard]] double timed_run() {
      return between_events([this] { enqueue(); });
    }
    /// Of so many runs in a row: replayed as a graph, or the host's launches would be timed.
    [[nodiscard]] double timed_runs(int count) {
      if (!graph_ || in_graph_ != count) {
        cudaGraph_t graph = nullptr;
        cuda_check(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
        for (int i = 0; i < count; ++i) enqueue();
        cuda_check(cudaStreamEndCapture(stream_.get(), &graph), "cudaStreamEndCapture");
        cudaGraphExec_t made = nullptr;
        const auto code = cudaGraphInstantiate(&made, graph, 0);
        static_cast<void>(cudaGraphDestroy(graph));
        cuda_check(code, "cudaGraphInstantiate");
        graph_.reset(made);
        in_graph_ = count;
        cuda_check(cudaGraphUpload(made, stream_.get()), "cudaGraphUpload");
      }
      return between_events([this] { cuda_check(cudaGraphLaunch(graph_.get(), stream_.get()), "cudaGraphLaunch"); });
    }

   private:
    template <auto Release>
    struct release {
      template <class T>
      void operator()(T* object) const {
        static_cast<void>(Release(object));
      }
    };
    template <class Handle, auto Release>
    using handle = std::unique_ptr<std::remove_pointer_t<Handle>, release<Release>>;
    using memory = handle<std::byte*, cudaFree>;
    struct buffer {
      memory whole{};  ///< with the margins
      std::byte* inner = nullptr;
      memory original{};
    };

    [[nodiscard]] static memory make_buffer(std::size_t bytes) {
      void* made = nullptr;
      cuda_check(cudaMalloc(&made, bytes), "cudaMalloc");
      return memory(static_cast<std::byte*>(made));
    }
    [[nodiscard]] const void* function() const { return reinterpret_cast<const void*>(kernel_); }
    void enqueue() {
      const auto grid = dimensions(launch_.blocks);
      const auto block = dimensions(launch_.threads);
      cuda_check(cudaLaunchKernel(function(), grid, block, passed_.data(), launch_.shared_bytes, stream_.get()),
                 "cudaLaunchKernel");
    }
    [[nodiscard]] static dim3 dimensions(const extent3& e) {
      return dim3(static_cast<unsigned>(e.x), static_cast<unsigned>(e.y), static_cast<unsigned>(e.z));
    }
    template <class Enqueue>
    [[nodiscard]] double between_events(const Enqueue& work) {
      cuda_check(cudaEventRecord(begin_.get(), stream_.get()), "cudaEventRecord");
      work();
      cuda_check(cudaEventRecord(end_.get(), stream_.get()), "cudaEventRecord");
      cuda_check(cudaEventSynchronize(end_.get()), "the kernel");
      float milliseconds = 0;
      cuda_check(cudaEventElapsedTime(&milliseconds, begin_.get(), end_.get()), "cudaEventElapsedTime");
      return 1e-3 * static_cast<double>(milliseconds);
    }

    arguments& data_;
    std::size_t cache_;  ///< bytes of L2
    handle<cudaStream_t, cudaStreamDestroy> stream_;
    handle<cudaEvent_t, cudaEventDestroy> begin_;
    handle<cudaEvent_t, cudaEventDestroy> end_;
    std::vector<buffer> buffers_;  ///< of each argument; empty of scalars
    std::vector<void*> passed_;
    memory scratch_;
    int flushes_ = 0;
    handle<cudaLibrary_t, cudaLibraryUnload> library_;
    cudaKernel_t kernel_ = nullptr;
    handle<cudaGraphExec_t, cudaGraphExecDestroy> graph_;
    int in_graph_ = 0;  ///< runs
    launch launch_;
  };
};

}  // namespace detail

/// What a CUDA device is, found out in another process: this one does not touch it.
/// @throws std::runtime_error  there is no such device
[[nodiscard]] inline device_limits cuda_device(std::size_t number = 0) {
  return detail::ask_limits<detail::cuda_backend>(number);
}

/// A measurer of CUDA kernels. See device_kernel.
template <class Config>
using cuda_measurer = detail::device_measurer<Config, detail::cuda_backend>;

/// @throws std::invalid_argument  the kernel lacks something, or names a parameter that the space lacks
/// @throws std::runtime_error     there is no such device; the file can't be read
template <class Config>
[[nodiscard]] cuda_measurer<Config> cuda(const space<Config>& of, device_kernel<Config> kernel) {
  return cuda_measurer<Config>(of, std::move(kernel));
}

}  // namespace tileseek
