#pragma once
// Networks as lists of what their layers compute, batch 1: which kernel, of which shape, how often. These are the tasks
// whose weighted latency tune_tasks() lowers; what the bundled kernels do not compute is named, and not tuned.
//
//   for (const auto& layer : tileseek::kernels::find_network("bert_base")->layers) ...
//
//   K. He, X. Zhang, S. Ren, J. Sun: Deep residual learning for image recognition. CVPR 2016. ResNet-50 with the stride
//     of a stage in its first 3 x 3 convolution, as everybody runs it, on 224 x 224 pixels.
//   M. Sandler et al.: MobileNetV2: inverted residuals and linear bottlenecks. CVPR 2018. Width 1, 224 x 224 pixels.
//   J. Devlin et al.: BERT: pre-training of deep bidirectional transformers for language understanding. NAACL 2019. The
//     base model on 128 words.
//
// Additions, activations and batch normalisation belong to the convolution before them.

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include <tileseek/core/format.hpp>
#include <tileseek/kernels/conv2d.hpp>
#include <tileseek/kernels/matmul.hpp>
#include <tileseek/kernels/shapes.hpp>

namespace tileseek::kernels {

/// A kernel that a network runs `count` times with one shape.
struct network_layer {
  std::variant<matmul_shape, conv2d_shape> shape;
  int count = 1;

  [[nodiscard]] constexpr double flop() const {
    return std::visit([](const auto& s) { return s.flop(); }, shape);
  }
  /// "dense", "batch_matmul", "conv2d" or "depthwise_conv2d": layers with the same kernel are alike.
  [[nodiscard]] constexpr std::string_view kernel() const {
    if (const auto* m = std::get_if<matmul_shape>(&shape)) return m->batch > 1 ? "batch_matmul" : "dense";
    return std::get<conv2d_shape>(shape).depthwise() ? "depthwise_conv2d" : "conv2d";
  }
  /// Kernel and shape, which no other layer of the network has: "conv2d 56x56 256>128 3x3/2", "dense 128x768x3072" (rows
  /// and columns of the result, terms of each sum).
  [[nodiscard]] std::string name() const {
    using tileseek::detail::append;
    std::string out(kernel());
    if (const auto* m = std::get_if<matmul_shape>(&shape)) {
      if (m->batch > 1) append(out, {" ", m->batch, " of"});
      append(out, {" ", m->m, "x", m->n, "x", m->k});
    } else {
      const auto& c = std::get<conv2d_shape>(shape);
      append(out, {" ", c.height, "x", c.width, " ", c.channels_in});
      if (!c.depthwise()) append(out, {">", c.channels_out});
      append(out, {" ", c.kernel_h, "x", c.kernel_w});
      if (c.stride_h > 1) append(out, {"/", c.stride_h});
    }
    return out;
  }
};

/// What a network runs besides.
struct not_tuned {
  std::string_view what;
  int count = 1;
};

struct network {
  std::string_view name;
  std::span<const network_layer> layers;
  std::span<const not_tuned> others;
};

namespace detail {

[[nodiscard]] constexpr conv2d_shape depthwise(int size, int channels, int stride) {
  conv2d_shape s = square(size, channels, channels, 3, stride);
  s.groups = channels;
  return s;
}

inline constexpr std::array<network_layer, 24> resnet50_layers{{
    {square(224, 64, 3, 7, 2), 1},
    {square(56, 64, 64, 1, 1), 1},
    {square(56, 64, 256, 1, 1), 2},
    {square(56, 64, 64, 3, 1), 3},
    {square(56, 256, 64, 1, 1), 4},  // one of them is the shortcut's
    {square(56, 128, 256, 1, 1), 1},
    {square(56, 128, 128, 3, 2), 1},
    {square(56, 512, 256, 1, 2), 1},
    {square(28, 128, 512, 1, 1), 3},
    {square(28, 128, 128, 3, 1), 3},
    {square(28, 512, 128, 1, 1), 4},
    {square(28, 256, 512, 1, 1), 1},
    {square(28, 256, 256, 3, 2), 1},
    {square(28, 1024, 512, 1, 2), 1},
    {square(14, 256, 1024, 1, 1), 5},
    {square(14, 256, 256, 3, 1), 5},
    {square(14, 1024, 256, 1, 1), 6},
    {square(14, 512, 1024, 1, 1), 1},
    {square(14, 512, 512, 3, 2), 1},
    {square(14, 2048, 1024, 1, 2), 1},
    {square(7, 512, 2048, 1, 1), 2},
    {square(7, 512, 512, 3, 1), 2},
    {square(7, 2048, 512, 1, 1), 3},
    {matmul_shape{.m = 1, .n = 1000, .k = 2048}, 1},
}};
inline constexpr std::array<not_tuned, 3> resnet50_others{
    {{"max_pool2d 112x112 64 3x3/2", 1}, {"global_avg_pool2d 7x7 2048", 1}, {"softmax 1000", 1}}};

inline constexpr std::array<network_layer, 31> mobilenet_v2_layers{{
    {square(224, 32, 3, 3, 2), 1},
    {depthwise(112, 32, 1), 1},
    {square(112, 16, 32, 1, 1), 1},
    {square(112, 96, 16, 1, 1), 1},
    {depthwise(112, 96, 2), 1},
    {square(56, 24, 96, 1, 1), 1},
    {square(56, 144, 24, 1, 1), 2},
    {depthwise(56, 144, 1), 1},
    {square(56, 24, 144, 1, 1), 1},
    {depthwise(56, 144, 2), 1},
    {square(28, 32, 144, 1, 1), 1},
    {square(28, 192, 32, 1, 1), 3},
    {depthwise(28, 192, 1), 2},
    {square(28, 32, 192, 1, 1), 2},
    {depthwise(28, 192, 2), 1},
    {square(14, 64, 192, 1, 1), 1},
    {square(14, 384, 64, 1, 1), 4},
    {depthwise(14, 384, 1), 4},
    {square(14, 64, 384, 1, 1), 3},
    {square(14, 96, 384, 1, 1), 1},
    {square(14, 576, 96, 1, 1), 3},
    {depthwise(14, 576, 1), 2},
    {square(14, 96, 576, 1, 1), 2},
    {depthwise(14, 576, 2), 1},
    {square(7, 160, 576, 1, 1), 1},
    {square(7, 960, 160, 1, 1), 3},
    {depthwise(7, 960, 1), 3},
    {square(7, 160, 960, 1, 1), 2},
    {square(7, 320, 960, 1, 1), 1},
    {square(7, 1280, 320, 1, 1), 1},
    {matmul_shape{.m = 1, .n = 1000, .k = 1280}, 1},
}};
inline constexpr std::array<not_tuned, 2> mobilenet_v2_others{{{"global_avg_pool2d 7x7 1280", 1}, {"softmax 1000", 1}}};

inline constexpr std::array<network_layer, 6> bert_base_layers{{
    {matmul_shape{.m = 128, .n = 768, .k = 768},
     48},  // queries, keys, values, and the output of each layer's attention
    {matmul_shape{.m = 128, .n = 128, .k = 64, .batch = 12}, 12},  // queries with keys, a product a head
    {matmul_shape{.m = 128, .n = 64, .k = 128, .batch = 12}, 12},  // with the values
    {matmul_shape{.m = 128, .n = 3072, .k = 768}, 12},
    {matmul_shape{.m = 128, .n = 768, .k = 3072}, 12},
    {matmul_shape{.m = 1, .n = 768, .k = 768}, 1},  // of the first word
}};
inline constexpr std::array<not_tuned, 5> bert_base_others{{{"embedding 128x768", 1},
                                                            {"layer_norm 128x768", 25},
                                                            {"softmax 12x128x128", 12},
                                                            {"gelu 128x3072", 12},
                                                            {"tanh 768", 1}}};

}  // namespace detail

inline constexpr std::array<network, 3> networks{{
    {"resnet50", detail::resnet50_layers, detail::resnet50_others},
    {"mobilenet_v2", detail::mobilenet_v2_layers, detail::mobilenet_v2_others},
    {"bert_base", detail::bert_base_layers, detail::bert_base_others},
}};

/// Null if there is none of this name.
[[nodiscard]] constexpr const network* find_network(std::string_view name) noexcept {
  for (const auto& n : networks)
    if (n.name == name) return &n;
  return nullptr;
}

}  // namespace tileseek::kernels
