#pragma once
// What a user would take instead of a tuned kernel: OpenBLAS and oneDNN, where they were found.
#include <tileseek/kernels/conv2d_problem.hpp>
#include <tileseek/kernels/matmul_problem.hpp>

#include <cstdlib>
#include <string>

#ifdef TILESEEK_HAVE_OPENBLAS
#include <cblas.h>
#endif
#ifdef TILESEEK_HAVE_ONEDNN
#include <dnnl.hpp>
#endif
#include <unistd.h>

/// Libraries read the environment when they are loaded: sets a variable, if it is not set yet, and starts the program
/// again. Returns if it was set, or if starting fails; then the report names what was used.
inline void restart_with(const char* variable, const std::string& value, char** argv) {
  if (std::getenv(variable) != nullptr) return;
  setenv(variable, value.c_str(), 1);
  execv("/proc/self/exe", argv);
}

#ifdef TILESEEK_HAVE_OPENBLAS
/// OpenBLAS chooses its kernels when it is loaded, and a release that does not know a CPU takes those of 2004. Then it
/// is told what this CPU can do: a comparison with the wrong kernels would flatter us fivefold.
inline void choose_openblas_kernels(char** argv) {
#if defined(__AVX512F__)
  const char* const able = "SkylakeX";
#elif defined(__AVX2__)
  const char* const able = "Haswell";
#else
  const char* const able = nullptr;
#endif
  if (able != nullptr && std::string(openblas_get_corename()) == "Prescott")
    restart_with("OPENBLAS_CORETYPE", able, argv);
}

/// The product of matmul_problem by OpenBLAS.
class openblas_matmul {
 public:
  explicit openblas_matmul(int threads) : threads_(threads) { openblas_set_num_threads(threads); }

  [[nodiscard]] std::string name() const {
    return "OpenBLAS sgemm, " + std::to_string(threads_) + (threads_ == 1 ? " thread, " : " threads, ") +
           openblas_get_corename() + " kernels";
  }

  void operator()(const tileseek::kernels::matmul_shape& s, const float* a, const float* b, float* c) const {
    const auto m = static_cast<std::size_t>(s.m), n = static_cast<std::size_t>(s.n), k = static_cast<std::size_t>(s.k);
    for (int i = 0; i < s.batch; ++i, a += m * k, b += k * n, c += m * n)
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, s.m, s.n, s.k, 1, a, s.k, b, s.n, 0, c, s.n);
  }

 private:
  int threads_;
};
#endif

#ifdef TILESEEK_HAVE_ONEDNN
/// The convolution of conv2d_problem by oneDNN's direct algorithm. Activations are as they are given, weights are packed
/// as oneDNN likes best, outside the call. The number of threads is OpenMP's: OMP_NUM_THREADS.
class onednn_conv2d {
 public:
  /// @throws dnnl::error  oneDNN has no such convolution
  onednn_conv2d(const tileseek::kernels::conv2d_shape& s, const float* weights)
      : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    using dims = dnnl::memory::dims;
    using tag = dnnl::memory::format_tag;
    constexpr auto f32 = dnnl::memory::data_type::f32;
    const auto plain = s.layout == tileseek::kernels::conv2d_layout::nhwc ? tag::nhwc : tag::nchw;
    const dnnl::memory::desc input({s.batch, s.channels_in, s.height, s.width}, f32, plain);
    const dnnl::memory::desc output({s.batch, s.channels_out, s.out_height(), s.out_width()}, f32, plain);
    const bool grouped = s.groups > 1;
    const dims size = grouped
                          ? dims{s.groups, s.channels_out / s.groups, s.channels_in / s.groups, s.kernel_h, s.kernel_w}
                          : dims{s.channels_out, s.channels_in, s.kernel_h, s.kernel_w};
    const dims padding{s.padding_h, s.padding_w};
    // What the user's padding and stride leave over on the right and at the bottom.
    const auto after = [](int in, int out, int kernel, int stride, int before, int dilation) {
      return dnnl::memory::dim{(out - 1) * stride + dilation * (kernel - 1) + 1 - in - before};
    };
    const dims padding_after{after(s.height, s.out_height(), s.kernel_h, s.stride_h, s.padding_h, s.dilation_h),
                             after(s.width, s.out_width(), s.kernel_w, s.stride_w, s.padding_w, s.dilation_w)};
    const dnnl::convolution_forward::desc wanted(
        dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, input, {size, f32, tag::any}, output,
        {s.stride_h, s.stride_w}, {s.dilation_h - 1, s.dilation_w - 1}, padding, padding_after);
    const dnnl::convolution_forward::primitive_desc chosen(wanted, engine_);
    dnnl::memory given({size, f32, grouped ? tag::goihw : tag::oihw}, engine_, const_cast<float*>(weights));
    weights_ = dnnl::memory(chosen.weights_desc(), engine_);
    dnnl::reorder(given, weights_).execute(stream_, given, weights_);
    stream_.wait();
    input_ = dnnl::memory(input, engine_, nullptr);
    output_ = dnnl::memory(output, engine_, nullptr);
    convolve_ = dnnl::convolution_forward(chosen);
    const auto* v = dnnl::version();
    name_ = "oneDNN " + std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch) +
            ", " + chosen.impl_info_str();
  }

  /// With the implementation that oneDNN chose.
  [[nodiscard]] const std::string& name() const { return name_; }

  void operator()(const float* input, float* output) {
    input_.set_data_handle(const_cast<float*>(input));
    output_.set_data_handle(output);
    convolve_.execute(stream_, {{DNNL_ARG_SRC, input_}, {DNNL_ARG_WEIGHTS, weights_}, {DNNL_ARG_DST, output_}});
    stream_.wait();
  }

 private:
  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::memory weights_;
  dnnl::memory input_;
  dnnl::memory output_;
  dnnl::convolution_forward convolve_;
  std::string name_;
};
#endif
