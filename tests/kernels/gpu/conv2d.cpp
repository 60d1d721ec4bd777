#include <tileseek/kernels/gpu/conv2d.hpp>

#include <doctest/doctest.h>

#include <stdexcept>
#include <vector>

#include <tileseek/measure/opencl.hpp>

#include "on_opencl.hpp"

using namespace tileseek::kernels;
using gpu::element;

TEST_CASE("convolutions of both layouts are right on OpenCL: strides, padding, dilation, groups") {
  conv2d_shape shape{.batch = 2,
                     .height = 10,
                     .width = 11,
                     .channels_in = 8,
                     .channels_out = 12,
                     .kernel_h = 3,
                     .kernel_w = 2,
                     .stride_w = 2,
                     .padding_h = 1,
                     .padding_w = 1,
                     .dilation_h = 2,
                     .groups = 2};
  gpu::block_limits limits;
  limits.threads = 64;
  limits.thread_registers = 64;
  for (const auto layout : {conv2d_layout::nhwc, conv2d_layout::nchw}) {
    shape.layout = layout;
    const auto type = layout == conv2d_layout::nhwc ? element::fp32 : element::fp16;
    check_on_opencl(gpu::conv2d_space(shape, type, limits), gpu::conv2d_kernel(shape, type, limits), 2);
  }
}

TEST_CASE("weights of the GPU's order are those of the reference") {
  const conv2d_shape shape{
      .channels_in = 4, .channels_out = 6, .kernel_h = 1, .kernel_w = 2, .padding_w = 1, .groups = 2};
  std::vector<float> weights;  // {place, channel in, channel out}: its own index in the order of the reference
  for (int place = 0; place < 2; ++place)
    for (int in = 0; in < 2; ++in)
      for (int out = 0; out < 6; ++out) weights.push_back(static_cast<float>((out * 2 + in) * 2 + place));
  const auto by_channel = gpu::detail::weights_by_channel(shape, weights);
  for (std::size_t i = 0; i < by_channel.size(); ++i) CHECK(by_channel[i] == static_cast<float>(i));
}

TEST_CASE("sizes whose products an int does not hold are refused as that") {
  for (const conv2d_shape& s :
       {conv2d_shape{.height = 65536, .width = 65536}, conv2d_shape{.height = 46341, .width = 46341},
        conv2d_shape{.batch = 1048576, .height = 64, .width = 64}})
    CHECK_THROWS_WITH_AS(static_cast<void>(gpu::conv2d_space(s)),
                         doctest::Contains("the kernel counts to 2^31 - 1, split it"), std::invalid_argument);
}
