#pragma once
// The bundled convolution as something to tune: its space, and a measurer that checks every result.

#include <cstdint>
#include <string_view>
#include <vector>

#include <tileseek/core/measurement.hpp>
#include <tileseek/kernels/conv2d.hpp>
#include <tileseek/kernels/detail/micro_kernel.hpp>
#include <tileseek/kernels/detail/problem.hpp>
#include <tileseek/measure/measurer.hpp>
#include <tileseek/space/space.hpp>

namespace tileseek::kernels {

[[nodiscard]] constexpr std::string_view to_string(conv2d_order o) noexcept {
  return o == conv2d_order::channels_outside ? "channels_outside" : "pixels_outside";
}
[[nodiscard]] constexpr std::string_view to_string(conv2d_layout l) noexcept {
  return l == conv2d_layout::nhwc ? "NHWC" : "NCHW";
}

/// All blockings of a convolution of this shape: tiles of `conv2d_extents`, the order of the block loops, and whether
/// input is copied that need not be.
/// @throws std::invalid_argument  the shape is none
[[nodiscard]] inline space<conv2d_blocking> conv2d_space(const conv2d_shape& shape) {
  using b = conv2d_blocking;
  const auto extents = conv2d_extents(shape);
  return space<b>{}
      .tile("y", &b::y, extents.y)
      .tile("x", &b::x, extents.x)
      .tile("oc", &b::oc, extents.oc)
      .tile("ic", &b::ic, extents.ic)
      .add("order", &b::order, choice({conv2d_order::channels_outside, conv2d_order::pixels_outside}))
      .add("copy", &b::copy, {true, false})
      .where("there is such a micro-kernel", shape.depthwise() ? depthwise_kernel_exists : conv2d_kernel_exists,
             factor(&b::x, 2), factor(&b::oc, 2));
}

/// One convolution with random operands: a callable for tune() that checks a blocking's result against a reference in
/// double precision, computed once, and times it. Weights are packed outside the timing.
class conv2d_problem {
 public:
  /// @param seed  of the operands, uniform in [-1, 1)
  /// @param threads  that compute it; see conv2d
  /// @throws std::invalid_argument  the shape is none or the number of threads is below 1
  explicit conv2d_problem(const conv2d_shape& shape, std::uint64_t seed = 0, int threads = 1)
      : convolve_(shape, threads),
        input_(shape.input_size()),
        weights_(shape.weights_size()),
        output_(shape.output_size()),
        reference_(output_.size()) {
    detail::randomise({&input_, &weights_}, seed);
    conv2d_reference(shape, input_.data(), weights_.data(), reference_.data());
  }

  [[nodiscard]] const conv2d_shape& shape() const noexcept { return convolve_.shape(); }
  [[nodiscard]] const detail::floats& input() const noexcept { return input_; }
  [[nodiscard]] const detail::floats& weights() const noexcept { return weights_; }

  [[nodiscard]] measurement operator()(const conv2d_blocking& blocking, const timing_limits& limits = {}) {
    convolve_.prepare(blocking, weights_.data());
    return check_and_time([&](float* output) { convolve_(input_.data(), output); }, limits);
  }

  /// The same for any other convolution of these operands: `run(output)` computes it.
  template <class Run>
  [[nodiscard]] measurement check_and_time(const Run& run, const timing_limits& limits = {}) {
    const auto error = [this] {
      return conv2d_error(shape(), input_.data(), weights_.data(), output_.data(), reference_.data());
    };
    return detail::check_and_time(output_, run, error, limits);
  }

 private:
  conv2d convolve_;
  detail::floats input_;
  detail::floats weights_;
  detail::floats output_;
  std::vector<double> reference_;
};

}  // namespace tileseek::kernels
