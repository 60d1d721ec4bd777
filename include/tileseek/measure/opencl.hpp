#pragma once
// Tunes an OpenCL kernel on any vendor's device.
//
//   auto kernel = tileseek::opencl(space, tileseek::device_kernel<Tiling>{.source = text, ...});
//   std::cout << tileseek::tune(kernel.fitting(), kernel, {.trials = 200}) << '\n';
//
// Configurations are compiled in parallel in processes of their own; checked and timed by the device's clock, in another
// process, which is the only one to touch the device. See device_kernel.hpp, arguments.hpp.
//
// Needs the ICD loader (-lOpenCL). POSIX only.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#if !defined(CL_TARGET_OPENCL_VERSION)
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>

#include <tileseek/core/format.hpp>
#include <tileseek/core/measurement.hpp>
#include <tileseek/measure/arguments.hpp>
#include <tileseek/measure/detail/device.hpp>
#include <tileseek/measure/device_kernel.hpp>
#include <tileseek/space/space.hpp>

namespace tileseek {

namespace detail {

/// @throws device_failure  the call failed
[[gnu::cold]] inline void cl_check(cl_int code, const char* call, status outcome = status::run_failed) {
  if (code == CL_SUCCESS) return;
  switch (code) {  // whatever is called, these say that the launch does not fit
    case CL_INVALID_WORK_GROUP_SIZE:
    case CL_INVALID_WORK_ITEM_SIZE:
    case CL_INVALID_WORK_DIMENSION:
    case CL_OUT_OF_RESOURCES: outcome = status::launch_failed; break;
    default: break;
  }
  throw device_failure(outcome, concat({call, " failed with OpenCL's error ", code}));
}

template <auto Release>
struct cl_release {
  template <class T>
  void operator()(T* object) const {
    static_cast<void>(Release(object));
  }
};
template <class Handle, auto Release>
using cl_handle = std::unique_ptr<std::remove_pointer_t<Handle>, cl_release<Release>>;
using cl_context_handle = cl_handle<cl_context, clReleaseContext>;
using cl_queue_handle = cl_handle<cl_command_queue, clReleaseCommandQueue>;
using cl_program_handle = cl_handle<cl_program, clReleaseProgram>;
using cl_kernel_handle = cl_handle<cl_kernel, clReleaseKernel>;
using cl_memory_handle = cl_handle<cl_mem, clReleaseMemObject>;
using cl_event_handle = cl_handle<cl_event, clReleaseEvent>;

/// Of all platforms, in their order.
/// @throws std::runtime_error  there are none
[[nodiscard, gnu::cold]] inline cl_device_id cl_device(std::size_t number) {
  cl_uint n = 0;
  std::vector<cl_device_id> all;
  if (clGetPlatformIDs(0, nullptr, &n) == CL_SUCCESS && n > 0) {
    std::vector<cl_platform_id> platforms(n);
    cl_check(clGetPlatformIDs(n, platforms.data(), nullptr), "clGetPlatformIDs");
    for (const auto p : platforms) {
      cl_uint here = 0;
      if (clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 0, nullptr, &here) != CL_SUCCESS) continue;
      const std::size_t before = all.size();
      all.resize(before + here);
      cl_check(clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, here, all.data() + before, nullptr), "clGetDeviceIDs");
    }
  }
  if (all.empty()) fail<std::runtime_error>({"no OpenCL device; install one's driver (PoCL makes one of the CPU)"});
  if (number >= all.size())
    fail<std::runtime_error>({"no OpenCL device ", number, "; there are 0 to ", all.size() - 1});
  return all[number];
}

template <class T>
[[nodiscard]] T cl_info(cl_device_id device, cl_device_info what) {
  T out{};
  cl_check(clGetDeviceInfo(device, what, sizeof out, &out, nullptr), "clGetDeviceInfo");
  return out;
}

[[nodiscard]] inline cl_context_handle cl_make_context(cl_device_id device) {
  cl_int code = CL_SUCCESS;
  cl_context_handle out(clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code));
  cl_check(code, "clCreateContext");
  return out;
}

struct opencl_backend {
  static constexpr const char* name = "opencl";

  [[nodiscard, gnu::cold]] static device_limits limits(std::size_t number) {
    const cl_device_id device = cl_device(number);
    std::array<char, 256> text{};
    static_cast<void>(clGetDeviceInfo(device, CL_DEVICE_NAME, text.size() - 1, text.data(), nullptr));
    device_limits out;
    out.name = text.data();
    text.fill('\0');
    static_cast<void>(clGetDeviceInfo(device, CL_DRIVER_VERSION, text.size() - 1, text.data(), nullptr));
    out.under = concat(
        {"clock ", cl_info<cl_uint>(device, CL_DEVICE_MAX_CLOCK_FREQUENCY), " MHz at most, driver ", text.data()});
    out.threads = cl_info<std::array<std::size_t, 3>>(device, CL_DEVICE_MAX_WORK_ITEM_SIZES);
    out.all_threads = cl_info<std::size_t>(device, CL_DEVICE_MAX_WORK_GROUP_SIZE);
    out.shared_bytes = static_cast<std::size_t>(cl_info<cl_ulong>(device, CL_DEVICE_LOCAL_MEM_SIZE));
    out.processors = cl_info<cl_uint>(device, CL_DEVICE_MAX_COMPUTE_UNITS);
    out.cache_bytes = static_cast<std::size_t>(cl_info<cl_ulong>(device, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE));
    out.is_cpu = (cl_info<cl_device_type>(device, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0;
    return out;
  }

  class compiler {
   public:
    compiler(std::size_t number, const device_limits&)
        : device_(cl_device(number)), context_(cl_make_context(device_)) {}

    void compile(const std::string& text, const std::string&, const std::vector<std::string>& flags,
                 const std::string& file) const {
      cl_int code = CL_SUCCESS;
      const char* begin = text.data();
      const std::size_t size = text.size();
      const cl_program_handle program(clCreateProgramWithSource(context_.get(), 1, &begin, &size, &code));
      cl_check(code, "clCreateProgramWithSource", status::build_failed);
      std::string options;
      for (const auto& f : flags) append(options, {options.empty() ? "" : " ", f});
      if (clBuildProgram(program.get(), 1, &device_, options.c_str(), nullptr, nullptr) != CL_SUCCESS) {
        std::string log(65'536, '\0');
        std::size_t used = 0;
        if (clGetProgramBuildInfo(program.get(), device_, CL_PROGRAM_BUILD_LOG, log.size(), log.data(), &used) !=
            CL_SUCCESS)
          used = 0;
        throw device_failure(status::build_failed, "not compiled: " + log.substr(0, used));
      }
      std::size_t bytes = 0;
      cl_check(clGetProgramInfo(program.get(), CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, nullptr),
               "clGetProgramInfo", status::build_failed);
      std::vector<unsigned char> binary(bytes);
      unsigned char* to = binary.data();
      cl_check(clGetProgramInfo(program.get(), CL_PROGRAM_BINARIES, sizeof to, &to, nullptr), "clGetProgramInfo",
               status::build_failed);
      std::ofstream out(file, std::ios::binary);
      out.write(reinterpret_cast<const char*>(binary.data()), static_cast<std::streamsize>(bytes));
      if (!out.flush()) throw device_failure(status::build_failed, "'" + file + "' can't be written");
    }

   private:
    cl_device_id device_;
    cl_context_handle context_;
  };

  class runner {
   public:
    runner(std::size_t number, arguments& data, const device_limits& limits)
        : device_(cl_device(number)), data_(data), cache_(limits.cache_bytes), context_(cl_make_context(device_)) {
      cl_int code = CL_SUCCESS;
      queue_.reset(clCreateCommandQueue(context_.get(), device_, CL_QUEUE_PROFILING_ENABLE, &code));
      cl_check(code, "clCreateCommandQueue");
      resolution_ = 1e-9 * static_cast<double>(cl_info<std::size_t>(device_, CL_DEVICE_PROFILING_TIMER_RESOLUTION));
      const auto& list = data_.list();
      for (const auto& a : list) {
        buffers_.emplace_back();
        if (a.kind() == argument::role::scalar) continue;
        auto& b = buffers_.back();
        b.whole = make_buffer(a.bytes() + 2 * arguments::margin);
        const cl_buffer_region inside{arguments::margin, a.bytes()};
        b.inner.reset(
            clCreateSubBuffer(b.whole.get(), CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &inside, &code));
        cl_check(code, "clCreateSubBuffer");
        if (a.kind() == argument::role::in_out) b.original = make_buffer(a.bytes());
      }
    }

    [[nodiscard]] double resolution() const noexcept { return resolution_; }

    std::string load(const std::string& function, const std::string& file, const launch& how) {
      std::ifstream in(file, std::ios::binary);
      const std::string binary(std::istreambuf_iterator<char>(in), {});
      const auto* begin = reinterpret_cast<const unsigned char*>(binary.data());
      const std::size_t size = binary.size();
      cl_int loaded = CL_SUCCESS;
      cl_int code = CL_SUCCESS;
      kernel_.reset();
      program_.reset(clCreateProgramWithBinary(context_.get(), 1, &device_, &size, &begin, &loaded, &code));
      cl_check(code, "clCreateProgramWithBinary", status::launch_failed);
      cl_check(clBuildProgram(program_.get(), 1, &device_, "", nullptr, nullptr), "clBuildProgram",
               status::launch_failed);
      kernel_.reset(clCreateKernel(program_.get(), function.c_str(), &code));
      cl_check(code, "clCreateKernel", status::launch_failed);
      launch_ = how;
      const auto group = work_group_info<std::size_t>(CL_KERNEL_WORK_GROUP_SIZE);
      const auto local = work_group_info<cl_ulong>(CL_KERNEL_LOCAL_MEM_SIZE);
      const auto here = cl_info<cl_ulong>(device_, CL_DEVICE_LOCAL_MEM_SIZE);
      const std::size_t threads = how.threads.product();
      if (threads > group)
        throw device_failure(status::launch_failed,
                             concat({threads, " threads in a block, the kernel allows ", group, " on this device"}));
      if (local > here)
        throw device_failure(status::launch_failed,
                             concat({local, " bytes of local memory for a block, the device has ", here}));
      if (how.shared_bytes > 0)
        throw device_failure(status::launch_failed, "OpenCL has no dynamic shared memory; declare it in the kernel");
      const auto& list = data_.list();
      for (std::size_t i = 0; i < list.size(); ++i) {
        const cl_mem memory = buffers_[i].inner.get();
        const bool by_value = list[i].kind() == argument::role::scalar;
        cl_check(clSetKernelArg(kernel_.get(), static_cast<cl_uint>(i), by_value ? list[i].bytes() : sizeof memory,
                                by_value ? data_.pointers()[i] : &memory),
                 "clSetKernelArg", status::launch_failed);
      }
      return concat({local, " bytes of local memory"});
    }

    void upload() const {
      for (std::size_t i = 0; i < buffers_.size(); ++i) {
        const auto& b = buffers_[i];
        if (!b.whole) continue;
        const std::size_t bytes = data_.list()[i].bytes();
        const auto* from = static_cast<const std::byte*>(data_.pointers()[i]);
        cl_check(clEnqueueWriteBuffer(queue_.get(), b.whole.get(), CL_TRUE, 0, bytes + 2 * arguments::margin,
                                      from - arguments::margin, 0, nullptr, nullptr),
                 "clEnqueueWriteBuffer");
        if (b.original)
          cl_check(clEnqueueWriteBuffer(queue_.get(), b.original.get(), CL_TRUE, 0, bytes, from, 0, nullptr, nullptr),
                   "clEnqueueWriteBuffer");
      }
    }
    void download() const {
      for (std::size_t i = 0; i < buffers_.size(); ++i)
        if (buffers_[i].whole)
          cl_check(clEnqueueReadBuffer(queue_.get(), buffers_[i].whole.get(), CL_TRUE, 0,
                                       data_.list()[i].bytes() + 2 * arguments::margin,
                                       static_cast<std::byte*>(data_.pointers()[i]) - arguments::margin, 0, nullptr,
                                       nullptr),
                   "clEnqueueReadBuffer");
    }

    void run() { static_cast<void>(timed_run()); }

    /// What is read and written as it was in the beginning.
    void restore() const {
      for (std::size_t i = 0; i < buffers_.size(); ++i)
        if (buffers_[i].original)
          cl_check(clEnqueueCopyBuffer(queue_.get(), buffers_[i].original.get(), buffers_[i].inner.get(), 0, 0,
                                       data_.list()[i].bytes(), 0, nullptr, nullptr),
                   "clEnqueueCopyBuffer");
    }

    /// Writes twice as much as the device's last cache holds; of a CPU's, which may be huge, 64 MiB at most.
    void flush() {
      const std::size_t bytes = std::clamp<std::size_t>(2 * cache_, 1 << 20, 64 << 20) / 4096 * 4096;
      if (!scratch_) scratch_ = make_buffer(bytes);
      const cl_int pattern = ++flushes_;
      cl_check(
          clEnqueueFillBuffer(queue_.get(), scratch_.get(), &pattern, sizeof pattern, 0, bytes, 0, nullptr, nullptr),
          "clEnqueueFillBuffer");
    }

    /// Seconds by the device's clock.
    [[nodiscard]] double timed_run() {
      const auto block = launch_.threads.array();
      auto all = launch_.blocks.array();
      for (std::size_t d = 0; d < 3; ++d) all[d] *= block[d];
      cl_event done = nullptr;
      cl_check(
          clEnqueueNDRangeKernel(queue_.get(), kernel_.get(), 3, nullptr, all.data(), block.data(), 0, nullptr, &done),
          "clEnqueueNDRangeKernel");
      const cl_event_handle event(done);
      cl_check(clWaitForEvents(1, &done), "the kernel");
      cl_ulong begin = 0;
      cl_ulong end = 0;
      cl_check(clGetEventProfilingInfo(done, CL_PROFILING_COMMAND_START, sizeof begin, &begin, nullptr),
               "clGetEventProfilingInfo");
      cl_check(clGetEventProfilingInfo(done, CL_PROFILING_COMMAND_END, sizeof end, &end, nullptr),
               "clGetEventProfilingInfo");
      return 1e-9 * static_cast<double>(end - begin);
    }
    /// Of so many runs in a row.
    [[nodiscard]] double timed_runs(int count) {
      double seconds = 0;
      for (int i = 0; i < count; ++i) seconds += timed_run();
      return seconds;
    }

   private:
    struct buffer {
      cl_memory_handle whole;  ///< with the margins
      cl_memory_handle inner;
      cl_memory_handle original;
    };

    [[nodiscard]] cl_memory_handle make_buffer(std::size_t bytes) const {
      cl_int code = CL_SUCCESS;
      cl_memory_handle out(clCreateBuffer(context_.get(), CL_MEM_READ_WRITE, bytes, nullptr, &code));
      cl_check(code, "clCreateBuffer");
      return out;
    }
    template <class T>
    [[nodiscard]] T work_group_info(cl_kernel_work_group_info what) const {
      T out{};
      cl_check(clGetKernelWorkGroupInfo(kernel_.get(), device_, what, sizeof out, &out, nullptr),
               "clGetKernelWorkGroupInfo", status::launch_failed);
      return out;
    }

    cl_device_id device_;
    arguments& data_;
    std::size_t cache_;  ///< bytes of the last level
    cl_context_handle context_;
    cl_queue_handle queue_;
    double resolution_ = 0;
    std::vector<buffer> buffers_;  ///< of each argument; empty of scalars
    cl_memory_handle scratch_;
    cl_int flushes_ = 0;
    cl_program_handle program_;
    cl_kernel_handle kernel_;
    launch launch_;
  };
};

}  // namespace detail

/// What an OpenCL device is, found out in another process: this one does not touch it.
/// @throws std::runtime_error  there is no such device
[[nodiscard]] inline device_limits opencl_device(std::size_t number = 0) {
  return detail::ask_limits<detail::opencl_backend>(number);
}

/// A measurer of OpenCL kernels. See device_kernel.
template <class Config>
using opencl_measurer = detail::device_measurer<Config, detail::opencl_backend>;

/// @throws std::invalid_argument  the kernel lacks something, or names a parameter that the space lacks
/// @throws std::runtime_error     there is no such device; the file can't be read
template <class Config>
[[nodiscard]] opencl_measurer<Config> opencl(const space<Config>& of, device_kernel<Config> kernel) {
  return opencl_measurer<Config>(of, std::move(kernel));
}

}  // namespace tileseek
