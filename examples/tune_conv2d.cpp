// Tunes the bundled single-precision convolution on this machine and compares the winner with oneDNN, if it is there.
#include <tileseek/kernels/gpu/conv2d.hpp>
#include <tileseek/kernels/shapes.hpp>
#include "on_device.hpp"
#include "tuner.hpp"

#include <algorithm>
#include <charconv>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using tileseek::kernels::conv2d_layout;
using tileseek::kernels::conv2d_problem;
using tileseek::kernels::conv2d_shape;

/// The fields of --shape by name.
constexpr std::pair<std::string_view, int conv2d_shape::*> fields[] = {
    {"n", &conv2d_shape::batch},        {"h", &conv2d_shape::height},        {"w", &conv2d_shape::width},
    {"ic", &conv2d_shape::channels_in}, {"oc", &conv2d_shape::channels_out}, {"kh", &conv2d_shape::kernel_h},
    {"kw", &conv2d_shape::kernel_w},    {"sh", &conv2d_shape::stride_h},     {"sw", &conv2d_shape::stride_w},
    {"ph", &conv2d_shape::padding_h},   {"pw", &conv2d_shape::padding_w},    {"dh", &conv2d_shape::dilation_h},
    {"dw", &conv2d_shape::dilation_w},  {"g", &conv2d_shape::groups}};

struct arguments {
  std::string layer;
  std::string shape;
  std::string layout = "nhwc";
  tuner_options tuner;
};

void read(CLI::App& app, arguments& a) {
  auto* layer = app.add_option("--layer", a.layer, "NETWORK:LAYER: resnet:R0 to R12, yolo:Y0 to Y10");
  app.add_option(
         "--shape", a.shape,
         "fields separated by commas, h=56,w=56,ic=64,oc=64,kh=3,kw=3: n images, h and w of the input, ic and oc "
         "channels, kh and kw of the kernel, sh and sw strides, ph and pw padding, dh and dw dilation, g groups; "
         "each is 1 (padding: 0) if left out")
      ->excludes(layer);
  app.add_option("--layout", a.layout, "of the tensors")->check(CLI::IsMember({"nhwc", "nchw"}))->capture_default_str();
  read(app, a.tuner);
}

conv2d_shape layer_shape(const std::string& name) {
  for (const auto& network : tileseek::kernels::conv2d_networks)
    for (const auto& layer : network.layers)
      if (std::string(network.name) + ":" + std::string(layer.name) == name) return layer.shape;
  throw std::invalid_argument("--layer: there is no layer " + name + "; pass resnet:R0 to R12 or yolo:Y0 to Y10");
}

conv2d_shape parse_shape(const std::string& text) {
  conv2d_shape shape;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(',', begin), text.size());
    const auto item = std::string_view(text).substr(begin, end - begin);
    const auto equals = item.find('=');
    const auto number = equals == item.npos ? std::string_view() : item.substr(equals + 1);
    bool known = false;
    for (const auto& [name, field] : fields)
      if (item.substr(0, equals) == name && !number.empty()) {
        const auto read = std::from_chars(number.data(), number.data() + number.size(), shape.*field);
        known = read.ec == std::errc() && read.ptr == number.data() + number.size();
      }
    if (!known)
      throw std::invalid_argument("--shape: '" + std::string(item) + "' is no field with a number, such as kh=3, in " +
                                  text);
    begin = end + 1;
  }
  return shape;
}

std::string describe(const conv2d_shape& s) {
  std::string out = "conv2d";
  for (const auto& [name, field] : fields) out += " " + std::string(name) + "=" + std::to_string(s.*field);
  return out + " " + std::string(to_string(s.layout)) + " float";
}

/// What a user would take instead.
std::vector<tileseek::rival> rivals([[maybe_unused]] conv2d_problem& problem) {
#ifdef TILESEEK_HAVE_ONEDNN
  const auto convolve = std::make_shared<onednn_conv2d>(problem.shape(), problem.weights().data());
  const auto measure = [&problem, convolve](const tileseek::timing_limits& limits) {
    return problem.check_and_time([&](float* output) { (*convolve)(problem.input().data(), output); }, limits);
  };
  return {{convolve->name(), measure}};
#else
  return {};
#endif
}

int run(const arguments& a, [[maybe_unused]] char** argv) {
  conv2d_shape shape =
      a.layer.empty() ? a.shape.empty() ? layer_shape("resnet:R8") : parse_shape(a.shape) : layer_shape(a.layer);
  shape.layout = a.layout == "nhwc" ? conv2d_layout::nhwc : conv2d_layout::nchw;
#ifdef TILESEEK_HAVE_ONEDNN
  restart_with("OMP_NUM_THREADS", std::to_string(a.tuner.threads), argv);
#endif
  using namespace tileseek::kernels;
  if (for_gpu(a.tuner))
    return run_on_device(a.tuner,
                         device_problem_of(
                             shape, [](const auto&... of) { return gpu::conv2d_space(of...); },
                             [](const auto&... of) { return gpu::conv2d_kernel(of...); }),
                         describe(shape), shape.flop(), chosen_strategy(a.tuner));
  conv2d_problem problem(shape, a.tuner.seed, a.tuner.threads);
  return run(a.tuner, conv2d_space(shape), problem, describe(shape), shape.flop(), chosen_strategy(a.tuner),
             rivals(problem));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Tunes a single-precision two-dimensional convolution on this machine (without a shape: resnet:R8).");
  app.option_defaults()->take_last();  // a script's defaults may be followed by the user's choice
  arguments a;
  read(app, a);
  return tuner_main("tune_conv2d", app, argc, argv, [&] { return run(a, argv); });
}
