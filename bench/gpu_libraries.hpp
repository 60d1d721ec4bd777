#pragma once
// What a user would take instead of a tuned GPU kernel: cuBLAS and cuDNN, where they were found. Timed as the kernels are: caches
// cold, by the device's clock, behind something that keeps the device busy while the host launches.
#include <tileseek/core/format.hpp>
#include <tileseek/core/measurement.hpp>
#include <tileseek/core/rng.hpp>
#include <tileseek/kernels/conv2d.hpp>
#include <tileseek/kernels/matmul.hpp>
#include <tileseek/measure/measurer.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#ifdef TILESEEK_HAVE_CUDA
#include <tileseek/measure/cuda.hpp>
#endif
#ifdef TILESEEK_HAVE_CUBLAS
#include <cublas_v2.h>
#endif
#ifdef TILESEEK_HAVE_CUDNN
#include <cudnn.h>
#endif

/// What a library can compute instead. All fp32.
using library_problem = std::variant<tileseek::kernels::matmul_shape, tileseek::kernels::conv2d_shape>;

/// Which of the problems.
struct library_task {
  int problem = 0;
};

#if defined(TILESEEK_HAVE_CUBLAS) || defined(TILESEEK_HAVE_CUDNN)

/// Times calls on a stream of its own.
class library_timer {
 public:
  explicit library_timer(std::size_t cache_bytes) : bytes_(2 * cache_bytes + (1 << 20)) {
    check(cudaSetDevice(0), "cudaSetDevice");
    check(cudaStreamCreate(&stream_), "cudaStreamCreate");
    check(cudaEventCreate(&begin_), "cudaEventCreate");
    check(cudaEventCreate(&end_), "cudaEventCreate");
    scratch_ = memory(bytes_);
  }

  [[nodiscard]] cudaStream_t stream() const { return stream_; }

  template <class Call>
  [[nodiscard]] tileseek::measurement operator()(const Call& call, const tileseek::timing_limits& limits) const {
    const auto one = [&] {
      check(cudaMemsetAsync(scratch_.get(), 1, bytes_, stream_), "cudaMemsetAsync");
      check(cudaEventRecord(begin_, stream_), "cudaEventRecord");
      call();
      check(cudaEventRecord(end_, stream_), "cudaEventRecord");
      check(cudaStreamSynchronize(stream_), "the library's kernel");
      float milliseconds = 0;
      check(cudaEventElapsedTime(&milliseconds, begin_, end_), "cudaEventElapsedTime");
      return static_cast<double>(milliseconds) * 1e-3;
    };
    one();  // loads the kernels
    const double first = one();
    int runs = 1;
    while (runs < 128 && runs * first < 1000 * tileseek::detail::cuda_backend::runner::resolution()) runs *= 2;
    const auto sample = [&] {
      double seconds = 0;
      for (int i = 0; i < runs; ++i) seconds += one();
      return seconds / runs;
    };
    return tileseek::detail::take_samples(sample, limits);
  }

  struct release {
    void operator()(float* p) const { static_cast<void>(cudaFree(p)); }
  };
  using buffer = std::unique_ptr<float, release>;

  [[nodiscard]] static buffer memory(std::size_t bytes) {
    void* made = nullptr;
    check(cudaMalloc(&made, bytes), "cudaMalloc");
    return buffer(static_cast<float*>(made));
  }
  /// Random numbers, as the kernels get: zeros would draw less power, and run at a higher clock.
  [[nodiscard]] static buffer numbers(std::size_t count) {
    std::vector<float> values(count);
    tileseek::rng random(count);
    for (float& x : values) x = static_cast<float>(2 * random.uniform() - 1);
    auto out = memory(count * sizeof(float));
    check(cudaMemcpy(out.get(), values.data(), count * sizeof(float), cudaMemcpyHostToDevice), "cudaMemcpy");
    return out;
  }
  static void check(cudaError_t code, const char* call) { tileseek::detail::cuda_check(code, call); }

 private:
  std::size_t bytes_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  buffer scratch_;
};

#endif

#ifdef TILESEEK_HAVE_CUBLAS
/// sgemm in fp32 throughout, which is its default: no TF32.
class cublas_matmul {
 public:
  cublas_matmul(const tileseek::kernels::matmul_shape& s, const library_timer& timer)
      : s_(s), a_(timer.numbers(size(s.m, s.k))), b_(timer.numbers(size(s.k, s.n))), c_(timer.numbers(size(s.m, s.n))) {
    check(cublasCreate(&handle_), "cublasCreate");
    check(cublasSetStream(handle_, timer.stream()), "cublasSetStream");
  }
  ~cublas_matmul() { static_cast<void>(cublasDestroy(handle_)); }
  cublas_matmul(const cublas_matmul&) = delete;
  cublas_matmul& operator=(const cublas_matmul&) = delete;

  [[nodiscard]] static std::string name() {
    int major = 0, minor = 0, patch = 0;
    check(cublasGetProperty(MAJOR_VERSION, &major), "cublasGetProperty");
    check(cublasGetProperty(MINOR_VERSION, &minor), "cublasGetProperty");
    check(cublasGetProperty(PATCH_LEVEL, &patch), "cublasGetProperty");
    return tileseek::detail::concat({"cuBLAS ", major, ".", minor, ".", patch});
  }
  [[nodiscard]] static std::string how() { return "sgemm"; }

  /// cuBLAS stores by columns: C' = B' * A'.
  void operator()() const {
    const float one = 1, zero = 0;
    check(cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, s_.n, s_.m, s_.k, &one, b_.get(), s_.n, a_.get(), s_.k, &zero,
                      c_.get(), s_.n),
          "cublasSgemm");
  }

 private:
  [[nodiscard]] static std::size_t size(int a, int b) {
    return static_cast<std::size_t>(a) * static_cast<std::size_t>(b);
  }
  static void check(cublasStatus_t code, const char* call) {
    if (code != CUBLAS_STATUS_SUCCESS)
      tileseek::detail::fail<std::runtime_error>({call, " failed: ", cublasGetStatusString(code)});
  }

  tileseek::kernels::matmul_shape s_;
  cublasHandle_t handle_ = nullptr;
  library_timer::buffer a_, b_, c_;
};
#endif

#ifdef TILESEEK_HAVE_CUDNN
// Its graph interface takes a page for what these calls do.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
/// The fastest algorithm that cuDNN finds in either layout, in fp32 throughout: no TF32.
class cudnn_conv2d {
 public:
  cudnn_conv2d(const tileseek::kernels::conv2d_shape& s, const library_timer& timer)
      : input_(timer.numbers(s.input_size())),
        weights_(timer.numbers(s.weights_size())),
        output_(timer.numbers(s.output_size())) {
    check(cudnnCreate(&handle_), "cudnnCreate");
    check(cudnnSetStream(handle_, timer.stream()), "cudnnSetStream");
    check(cudnnCreateTensorDescriptor(&in_), "cudnnCreateTensorDescriptor");
    check(cudnnCreateTensorDescriptor(&out_), "cudnnCreateTensorDescriptor");
    check(cudnnCreateFilterDescriptor(&filter_), "cudnnCreateFilterDescriptor");
    check(cudnnCreateConvolutionDescriptor(&convolution_), "cudnnCreateConvolutionDescriptor");
    check(cudnnSetConvolution2dDescriptor(convolution_, s.padding_h, s.padding_w, s.stride_h, s.stride_w, s.dilation_h,
                                          s.dilation_w, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
          "cudnnSetConvolution2dDescriptor");
    check(cudnnSetConvolutionGroupCount(convolution_, s.groups), "cudnnSetConvolutionGroupCount");
    cudnnConvolutionFwdAlgoPerf_t best{};
    auto layout = CUDNN_TENSOR_NHWC;
    for (const auto tried : {CUDNN_TENSOR_NHWC, CUDNN_TENSOR_NCHW}) {
      describe(s, tried);
      std::array<cudnnConvolutionFwdAlgoPerf_t, CUDNN_CONVOLUTION_FWD_ALGO_COUNT> found{};
      int count = 0;
      check(cudnnSetConvolutionMathType(convolution_, CUDNN_FMA_MATH), "cudnnSetConvolutionMathType");
      if (cudnnFindConvolutionForwardAlgorithm(handle_, in_, filter_, convolution_, out_,
                                               static_cast<int>(found.size()), &count,
                                               found.data()) != CUDNN_STATUS_SUCCESS)
        continue;
      for (int i = 0; i < count; ++i) {
        const auto& f = found[static_cast<std::size_t>(i)];
        if (f.status != CUDNN_STATUS_SUCCESS || f.mathType != CUDNN_FMA_MATH) continue;
        if (how_.empty() || f.time < best.time) {
          best = f;
          layout = tried;
          how_ = tileseek::detail::concat(
              {tried == CUDNN_TENSOR_NHWC ? "NHWC" : "NCHW", ", algorithm ", static_cast<int>(f.algo)});
        }
      }
    }
    if (how_.empty()) throw std::runtime_error("cuDNN has no such convolution");
    describe(s, layout);
    algorithm_ = best.algo;
    check(cudnnGetConvolutionForwardWorkspaceSize(handle_, in_, filter_, convolution_, out_, algorithm_, &bytes_),
          "cudnnGetConvolutionForwardWorkspaceSize");
    if (bytes_ > 0) workspace_ = timer.memory(bytes_);
  }
  ~cudnn_conv2d() {
    static_cast<void>(cudnnDestroyConvolutionDescriptor(convolution_));
    static_cast<void>(cudnnDestroyFilterDescriptor(filter_));
    static_cast<void>(cudnnDestroyTensorDescriptor(out_));
    static_cast<void>(cudnnDestroyTensorDescriptor(in_));
    static_cast<void>(cudnnDestroy(handle_));
  }
  cudnn_conv2d(const cudnn_conv2d&) = delete;
  cudnn_conv2d& operator=(const cudnn_conv2d&) = delete;

  [[nodiscard]] static std::string name() {
    const auto version = cudnnGetVersion();
    return tileseek::detail::concat({"cuDNN ", version / 10000, ".", version / 100 % 100, ".", version % 100});
  }
  [[nodiscard]] const std::string& how() const { return how_; }

  void operator()() const {
    const float one = 1, zero = 0;
    check(cudnnConvolutionForward(handle_, &one, in_, input_.get(), filter_, weights_.get(), convolution_, algorithm_,
                                  workspace_.get(), bytes_, &zero, out_, output_.get()),
          "cudnnConvolutionForward");
  }

 private:
  void describe(const tileseek::kernels::conv2d_shape& s, cudnnTensorFormat_t layout) const {
    check(cudnnSetTensor4dDescriptor(in_, layout, CUDNN_DATA_FLOAT, s.batch, s.channels_in, s.height, s.width),
          "cudnnSetTensor4dDescriptor");
    check(cudnnSetTensor4dDescriptor(out_, layout, CUDNN_DATA_FLOAT, s.batch, s.channels_out, s.out_height(),
                                     s.out_width()),
          "cudnnSetTensor4dDescriptor");
    check(cudnnSetFilter4dDescriptor(filter_, CUDNN_DATA_FLOAT, layout, s.channels_out, s.channels_in / s.groups,
                                     s.kernel_h, s.kernel_w),
          "cudnnSetFilter4dDescriptor");
  }
  static void check(cudnnStatus_t code, const char* call) {
    if (code != CUDNN_STATUS_SUCCESS)
      tileseek::detail::fail<std::runtime_error>({call, " failed: ", cudnnGetErrorString(code)});
  }

  library_timer::buffer input_, weights_, output_, workspace_;
  std::size_t bytes_ = 0;
  cudnnHandle_t handle_ = nullptr;
  cudnnTensorDescriptor_t in_ = nullptr, out_ = nullptr;
  cudnnFilterDescriptor_t filter_ = nullptr;
  cudnnConvolutionDescriptor_t convolution_ = nullptr;
  cudnnConvolutionFwdAlgo_t algorithm_ = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM;
  std::string how_;
};
#pragma GCC diagnostic pop
#endif

/// Times the libraries, in a process that may open the device: to be isolated(). The note says what computed and how. What
/// there is no library for fails, and the note says which.
class libraries {
 public:
  libraries(std::vector<library_problem> problems, std::size_t cache_bytes)
      : problems_(std::move(problems)), cache_bytes_(cache_bytes) {}

  tileseek::measurement operator()(const library_task& task, const tileseek::timing_limits& limits) {
    return std::visit([&](const auto& shape) { return time(task.problem, shape, limits); },
                      problems_.at(static_cast<std::size_t>(task.problem)));
  }

 private:
  tileseek::measurement time([[maybe_unused]] int task, [[maybe_unused]] const tileseek::kernels::matmul_shape& shape,
                             [[maybe_unused]] const tileseek::timing_limits& limits) {
#ifdef TILESEEK_HAVE_CUBLAS
    return time<cublas_matmul>(matmul_, task, shape, limits);
#else
    return tileseek::failure(tileseek::status::launch_failed, "no cuBLAS");
#endif
  }
  tileseek::measurement time([[maybe_unused]] int task, [[maybe_unused]] const tileseek::kernels::conv2d_shape& shape,
                             [[maybe_unused]] const tileseek::timing_limits& limits) {
#ifdef TILESEEK_HAVE_CUDNN
    return time<cudnn_conv2d>(conv2d_, task, shape, limits);
#else
    return tileseek::failure(tileseek::status::launch_failed, "no cuDNN");
#endif
  }

  std::vector<library_problem> problems_;
  std::size_t cache_bytes_;

#if defined(TILESEEK_HAVE_CUBLAS) || defined(TILESEEK_HAVE_CUDNN)
  /// The last problem's operands, and whose they are.
  template <class Library>
  struct kept {
    int task = -1;
    std::shared_ptr<Library> library{};
  };

  template <class Library, class Shape>
  tileseek::measurement time(kept<Library>& last, int task, const Shape& shape, const tileseek::timing_limits& limits) {
    if (!timer_) timer_ = std::make_shared<library_timer>(cache_bytes_);
    if (last.task != task) {
      last = {};
      last = {task, std::make_shared<Library>(shape, *timer_)};
    }
    auto m = (*timer_)(*last.library, limits);
    m.note = tileseek::detail::concat({Library::name(), ", ", last.library->how()});
    return m;
  }

  std::shared_ptr<library_timer> timer_;
#endif
#ifdef TILESEEK_HAVE_CUBLAS
  kept<cublas_matmul> matmul_{};
#endif
#ifdef TILESEEK_HAVE_CUDNN
  kept<cudnn_conv2d> conv2d_{};
#endif
};
