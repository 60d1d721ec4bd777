#pragma once
// Shapes to tune and to compare on: those of the evaluation of dynamic gradient descent, batch 1.
//
//   C. Li, Y. Xu, S. Mahdipour Saravani, P. Sadayappan: Accelerated auto-tuning of GPU kernels for tensor computations.
//   ICS 2024. The convolutions are layers of ResNet-50 (K. He et al.: Deep residual learning for image recognition. CVPR
//   2016) and of Darknet-19 (J. Redmon, A. Farhadi: YOLO9000: better, faster, stronger. CVPR 2017).

#include <array>
#include <span>
#include <string_view>

#include <tileseek/kernels/conv2d.hpp>
#include <tileseek/kernels/matmul.hpp>

namespace tileseek::kernels {

/// A shape with the name it is called by on a command line.
template <class Shape>
struct named_shape {
  std::string_view name;
  Shape shape;
};

/// Products of transformer layers: 512 words, widths 768 and 1024.
inline constexpr std::array<named_shape<matmul_shape>, 6> matmul_shapes{{
    {"mm0", {.m = 512, .n = 64, .k = 1024}},
    {"mm1", {.m = 512, .n = 4096, .k = 1024}},
    {"mm2", {.m = 512, .n = 64, .k = 768}},
    {"mm3", {.m = 512, .n = 3072, .k = 768}},
    {"mm4", {.m = 512, .n = 1024, .k = 4096}},
    {"mm5", {.m = 512, .n = 768, .k = 3072}},
}};

namespace detail {
/// A square kernel on a square image.
[[nodiscard]] constexpr conv2d_shape square(int size, int out, int in, int kernel, int stride) {
  return {.height = size,
          .width = size,
          .channels_in = in,
          .channels_out = out,
          .kernel_h = kernel,
          .kernel_w = kernel,
          .stride_h = stride,
          .stride_w = stride,
          .padding_h = kernel / 2,
          .padding_w = kernel / 2};
}
}  // namespace detail

inline constexpr std::array<named_shape<conv2d_shape>, 13> resnet_shapes{{
    {"R0", detail::square(224, 64, 3, 7, 2)},
    {"R1", detail::square(56, 64, 64, 1, 1)},
    {"R2", detail::square(56, 64, 64, 3, 1)},
    {"R3", detail::square(56, 256, 64, 1, 1)},
    {"R4", detail::square(56, 128, 256, 1, 2)},
    {"R5", detail::square(28, 128, 128, 3, 1)},
    {"R6", detail::square(28, 512, 128, 1, 1)},
    {"R7", detail::square(28, 256, 512, 1, 2)},
    {"R8", detail::square(14, 256, 256, 3, 1)},
    {"R9", detail::square(14, 1024, 256, 1, 1)},
    {"R10", detail::square(14, 512, 1024, 1, 2)},
    {"R11", detail::square(7, 512, 512, 3, 1)},
    {"R12", detail::square(7, 2048, 512, 1, 1)},
}};

inline constexpr std::array<named_shape<conv2d_shape>, 11> yolo_shapes{{
    {"Y0", detail::square(544, 32, 3, 3, 1)},
    {"Y1", detail::square(272, 64, 32, 3, 1)},
    {"Y2", detail::square(136, 128, 64, 3, 1)},
    {"Y3", detail::square(136, 64, 128, 1, 1)},
    {"Y4", detail::square(68, 256, 128, 3, 1)},
    {"Y5", detail::square(68, 128, 256, 1, 1)},
    {"Y6", detail::square(68, 512, 256, 3, 1)},
    {"Y7", detail::square(34, 512, 256, 3, 1)},
    {"Y8", detail::square(34, 256, 512, 1, 1)},
    {"Y9", detail::square(17, 1024, 512, 3, 1)},
    {"Y10", detail::square(17, 512, 1024, 1, 1)},
}};

/// A network's layers by the network's name.
struct conv2d_network {
  std::string_view name;
  std::span<const named_shape<conv2d_shape>> layers;
};
inline constexpr std::array<conv2d_network, 2> conv2d_networks{{{"resnet", resnet_shapes}, {"yolo", yolo_shapes}}};

}  // namespace tileseek::kernels
