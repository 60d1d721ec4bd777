#pragma once
// The two-dimensional convolution on a GPU, as a matrix product whose operand is looked up in the input while it is
// copied to shared memory (implicit GEMM): see tiled_product.hpp for its configuration.
//
// In the layout NHWC, rows are output pixels, columns output channels of a group, and the depth runs over the kernel's
// places and input channels; in NCHW, rows and columns change places, so that neighbours in memory are columns again.
//
//   S. Chetlur et al.: cuDNN: efficient primitives for deep learning. arXiv 1410.0759, 2014.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <tileseek/core/format.hpp>
#include <tileseek/kernels/conv2d.hpp>
#include <tileseek/kernels/gpu/operand.hpp>
#include <tileseek/kernels/gpu/tiled_product.hpp>
#include <tileseek/measure/device_kernel.hpp>

namespace tileseek::kernels::gpu {

namespace detail {

[[nodiscard]] inline product product_of(const conv2d_shape& s, element type) {
  kernels::detail::check(s);
  check("conv2d", {},  // before their products are taken as int
        {{"the input", static_cast<double>(s.input_size())},
         {"the weights", static_cast<double>(s.weights_size())},
         {"the output", static_cast<double>(s.output_size())}});
  const int pixels = s.out_height() * s.out_width();
  const int in = s.channels_in / s.groups, out = s.channels_out / s.groups, depth = in * s.kernel_h * s.kernel_w;
  product p{s.batch * pixels, out, depth, s.groups, type, in, out, out};
  if (s.layout == conv2d_layout::nchw) {
    // A column's inputs lie beside the next one's if the kernel neither strides nor is padded nor has columns.
    const bool flat = s.kernel_h == 1 && s.kernel_w == 1 && s.stride_h == 1 && s.stride_w == 1 && s.padding_h == 0 &&
                      s.padding_w == 0;
    p = {out, s.batch * pixels, depth, s.groups, type, depth, flat ? pixels : 1, pixels};
  }
  p.per_fetch = 3;  // by what ptxas reports: rows and columns of the pixel are kept from tile to tile
  check("conv2d", p, {});
  return p;
}

inline constexpr const char* conv2d_text = R"(
#define IN (CHANNELS_IN / GROUPS)
#define OUT (CHANNELS_OUT / GROUPS)
#define PIXELS (OUT_HEIGHT * OUT_WIDTH)
)"
                                           // Where an input is that an output pixel sees; -1 in the padding.
                                           R"(
INLINE int input_at(int z, int pixel, int channel, int place) {
  const int y = pixel / OUT_WIDTH % OUT_HEIGHT * STRIDE_H - PADDING_H + place / KERNEL_W * DILATION_H;
  const int x = pixel % OUT_WIDTH * STRIDE_W - PADDING_W + place % KERNEL_W * DILATION_W;
  const int image = pixel / PIXELS;
  const int c = z * IN + channel;
  if (y < 0 || y >= HEIGHT || x < 0 || x >= WIDTH) return -1;
#if NHWC
  return ((image * HEIGHT + y) * WIDTH + x) * CHANNELS_IN + c;
#else
  return ((image * CHANNELS_IN + c) * HEIGHT + y) * WIDTH + x;
#endif
}
#if NHWC
INLINE int offset_a(int z, int row, int k) { return input_at(z, row, k % IN, k / IN); }
INLINE int offset_b(int z, int k, int column) { return k * CHANNELS_OUT + z * OUT + column; }
INLINE int offset_c(int z, int row, int column) { return row * CHANNELS_OUT + z * OUT + column; }
#else
INLINE int offset_a(int z, int row, int k) { return (z * OUT + row) * DEPTH + k; }
INLINE int offset_b(int z, int k, int column) {
  return input_at(z, column, k / (KERNEL_H * KERNEL_W), k % (KERNEL_H * KERNEL_W));
}
INLINE int offset_c(int z, int row, int column) {
  return (column / PIXELS * CHANNELS_OUT + z * OUT + row) * PIXELS + column % PIXELS;
}
#endif
)";

[[nodiscard]] inline std::string conv2d_source(const conv2d_shape& s) {
  std::string out;
  const auto define = [&out](const char* name, int value) {
    tileseek::detail::append(out, {"#define ", name, " ", value, "\n"});
  };
  define("HEIGHT", s.height);
  define("WIDTH", s.width);
  define("CHANNELS_IN", s.channels_in);
  define("CHANNELS_OUT", s.channels_out);
  define("GROUPS", s.groups);
  define("OUT_HEIGHT", s.out_height());
  define("OUT_WIDTH", s.out_width());
  define("KERNEL_H", s.kernel_h);
  define("KERNEL_W", s.kernel_w);
  define("STRIDE_H", s.stride_h);
  define("STRIDE_W", s.stride_w);
  define("PADDING_H", s.padding_h);
  define("PADDING_W", s.padding_w);
  define("DILATION_H", s.dilation_h);
  define("DILATION_W", s.dilation_w);
  define("NHWC", s.layout == conv2d_layout::nhwc);
  return out + conv2d_text;
}

/// The GPU's weights as conv2d_reference has them.
[[nodiscard]] inline std::vector<float> weights_by_channel(const conv2d_shape& s, std::vector<float> from) {
  if (s.layout == conv2d_layout::nchw) return from;
  const auto out = static_cast<std::size_t>(s.channels_out), in = static_cast<std::size_t>(s.channels_in / s.groups);
  const std::size_t places = s.weights_size() / (out * in);
  std::vector<float> to(from.size());
  for (std::size_t p = 0; p < places; ++p)
    for (std::size_t c = 0; c < in; ++c)
      for (std::size_t o = 0; o < out; ++o) to[(o * in + c) * places + p] = from[(p * in + c) * out + o];
  return to;
}

}  // namespace detail

/// All tilings of a convolution of this shape that the device can run.
/// @throws std::invalid_argument  the shape is none, or a tensor has more than 2^31 - 1 elements
[[nodiscard]] inline space<tiling> conv2d_space(const conv2d_shape& shape, element type = element::fp32,
                                                const block_limits& limits = {}) {
  return detail::space_of(detail::product_of(shape, type), limits);
}

/// The kernel: input, weights and output. Input and output have the shape's layout. Weights lie as the copy reads them:
/// in the order {kernel_h, kernel_w, channels_in / groups, channels_out} for NHWC, {channels_out, channels_in / groups,
/// kernel_h, kernel_w} for NCHW.
[[nodiscard]] inline device_kernel<tiling> conv2d_kernel(const conv2d_shape& shape, element type = element::fp32,
                                                         const block_limits& limits = {}) {
  const auto p = detail::product_of(shape, type);
  const auto input = detail::operand(type, shape.input_size(), 1);
  const auto weights = detail::operand(type, shape.weights_size(), 2);
  const bool nhwc = shape.layout == conv2d_layout::nhwc;
  return detail::kernel_of(p, limits, detail::conv2d_source(shape),
                           nhwc ? std::vector<argument>{input, weights, output<float>(shape.output_size())}
                                : std::vector<argument>{weights, input, output<float>(shape.output_size())},
                           [=](void* const* a) {
                             std::vector<double> out(shape.output_size());
                             const auto w = detail::floats(type, a[nhwc ? 1 : 0], shape.weights_size());
                             conv2d_reference(shape, detail::floats(type, a[nhwc ? 0 : 1], shape.input_size()).data(),
                                              detail::weights_by_channel(shape, w).data(), out.data());
                             detail::narrow(out, a[2]);
                           });
}

}  // namespace tileseek::kernels::gpu
