#include <tileseek/kernels/conv2d.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <tileseek/core/rng.hpp>
#include <tileseek/kernels/conv2d_problem.hpp>
#include <tileseek/kernels/matmul.hpp>
#include <utility>
#include <vector>

namespace {

using namespace tileseek::kernels;

std::vector<float> numbers(std::size_t count, std::uint64_t seed) {
  tileseek::rng random(seed);
  std::vector<float> out(count);
  for (float& x : out) x = static_cast<float>(2 * random.uniform() - 1);
  return out;
}

struct problem {
  conv2d_shape shape;
  std::vector<float> input;
  std::vector<float> weights;
  std::vector<double> reference;

  explicit problem(const conv2d_shape& s)
      : shape(s), input(numbers(s.input_size(), 1)), weights(numbers(s.weights_size(), 2)), reference(s.output_size()) {
    conv2d_reference(shape, input.data(), weights.data(), reference.data());
  }

  // Runs into poisoned memory with canaries before and after the output, then into an allocation of the exact size for
  // the sanitizer; the input's allocation is exact, too.
  void check(conv2d& convolve, const conv2d_blocking& blocking) const {
    CAPTURE(text());
    CAPTURE(blocking.y[1]);
    CAPTURE(blocking.x[1]);
    CAPTURE(blocking.x[2]);
    CAPTURE(blocking.oc[1]);
    CAPTURE(blocking.oc[2]);
    CAPTURE(blocking.ic[1]);
    CAPTURE(static_cast<int>(blocking.order));
    CAPTURE(blocking.copy);
    constexpr std::size_t guard = 128;
    constexpr float canary = 12345.0f;
    const std::size_t size = reference.size();
    std::vector<float> guarded(size + 2 * guard, canary);
    std::fill_n(guarded.begin() + guard, size, std::numeric_limits<float>::quiet_NaN());
    convolve.prepare(blocking, weights.data());
    convolve(input.data(), guarded.data() + guard);
    const bool right = conv2d_matches(shape, input.data(), weights.data(), guarded.data() + guard, reference.data());
    CHECK(right);
    bool intact = true;
    for (std::size_t i = 0; i < guard; ++i)
      intact = intact && guarded[i] == canary && guarded[guard + size + i] == canary;
    CHECK(intact);
    const auto exact = std::make_unique<float[]>(size);
    convolve(input.data(), exact.get());
    bool same = true;
    for (std::size_t i = 0; i < size; ++i) same = same && exact[i] == guarded[guard + i];
    CHECK(same);
  }

  [[nodiscard]] std::string text() const {
    std::string out;
    for (const int x : {shape.batch, shape.height, shape.width, shape.channels_in, shape.channels_out, shape.kernel_h,
                        shape.kernel_w, shape.stride_h, shape.stride_w, shape.padding_h, shape.padding_w,
                        shape.dilation_h, shape.dilation_w, shape.groups, static_cast<int>(shape.layout)})
      out += std::to_string(x) + " ";
    return out;
  }
};

// The message of what is thrown; empty if nothing is.
template <class F>
std::string complaint(const F& f) {
  try {
    f();
  } catch (const std::exception& e) {
    return e.what();
  }
  return {};
}
std::string shape_complaint(const conv2d_shape& shape) {
  return complaint([&] { conv2d c(shape); });
}
std::string blocking_complaint(const conv2d_blocking& blocking, const conv2d_shape& shape = {}) {
  return complaint([&] {
    const std::vector<float> weights(shape.weights_size());
    conv2d(shape).prepare(blocking, weights.data());
  });
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

// A shape of small odd sizes, one of each kind in turn: dense, grouped, depthwise, 1 x 1.
conv2d_shape random_shape(tileseek::rng& random, int kind) {
  const auto from = [&random](int least, int most) {
    return least + static_cast<int>(random.below(static_cast<std::uint64_t>(most - least + 1)));
  };
  for (;;) {
    conv2d_shape s;
    s.batch = from(1, 2);
    s.height = from(1, 11);
    s.width = from(1, 23);
    s.groups = kind == 1 ? from(2, 4) : kind == 2 ? from(2, 2 * vector_lanes + 5) : 1;
    s.channels_in = s.groups * (kind == 2 ? 1 : from(1, 9));
    s.channels_out = s.groups * (kind == 2 ? 1 : from(1, 2 * vector_lanes + 3));
    if (kind != 3) {
      s.kernel_h = from(1, 4);
      s.kernel_w = from(1, 4);
      s.stride_h = from(1, 3);
      s.stride_w = from(1, 3);
      s.padding_h = from(0, 3);
      s.padding_w = from(0, 3);
      s.dilation_h = from(1, 2);
      s.dilation_w = from(1, 2);
    } else {
      s.stride_w = s.stride_h = from(1, 2);
    }
    s.layout = from(0, 1) == 0 ? conv2d_layout::nhwc : conv2d_layout::nchw;
    if (s.height + 2 * s.padding_h > s.dilation_h * (s.kernel_h - 1) &&
        s.width + 2 * s.padding_w > s.dilation_w * (s.kernel_w - 1))
      return s;
  }
}

}  // namespace

TEST_CASE("conv2d: every configuration of every space is right, with any number of threads") {
  tileseek::rng random(1);
  for (int i = 0; i < 60; ++i) {
    const problem p(random_shape(random, i % 4));
    const auto space = conv2d_space(p.shape);
    conv2d convolve(p.shape, 1 + i % 3);
    CHECK(convolve.threads() == 1 + i % 3);
    const auto untuned = space.default_configuration();
    CHECK(space.contains(untuned));
    p.check(convolve, untuned);
    for (int k = 0; k < 4; ++k) p.check(convolve, space.sample(random));
  }
}

TEST_CASE("conv2d: every micro-kernel is right, and blocks need not be of a space") {
  conv2d_shape dense{.height = 3,
                     .width = 17,
                     .channels_in = 3,
                     .channels_out = 4 * vector_lanes + 1,
                     .kernel_h = 2,
                     .kernel_w = 3,
                     .padding_w = 1};
  conv2d_shape depthwise = dense;
  depthwise.channels_in = depthwise.channels_out = depthwise.groups = 2 * vector_lanes + 1;
  for (const auto& shape : {dense, depthwise}) {
    const problem p(shape);
    conv2d convolve(shape);
    for (int pixels = 1; pixels <= 16; ++pixels)
      for (int vectors = 1; vectors <= 4; ++vectors) {
        if (!(shape.depthwise() ? depthwise_kernel_exists : conv2d_kernel_exists)(pixels, vectors)) continue;
        p.check(convolve, {.y = {1, 2},
                           .x = {1, 1, pixels},
                           .oc = {1, 1, vectors},
                           .ic = {1, 2},
                           .order = pixels % 2 == 0 ? conv2d_order::channels_outside : conv2d_order::pixels_outside,
                           .copy = vectors % 2 == 0});
      }
    p.check(convolve, {.y = {1, 2000000000}, .x = {1, 2000000000, 5}, .oc = {1, 2000000000, 2}, .ic = {1, 2000000000}});
  }
}

TEST_CASE("conv2d_reference: convolutions worked by hand") {
  // A 3 x 3 image, a 2 x 2 kernel: padding, stride and dilation.
  const std::vector<float> image = {1, 2, 3, 4, 5, 6, 7, 8, 9}, kernel = {1, 10, 100, 1000};
  const auto of = [&](conv2d_shape s) {
    s.height = s.width = 3;
    s.kernel_h = s.kernel_w = 2;
    std::vector<double> out(s.output_size(), -1.0);
    conv2d_reference(s, image.data(), kernel.data(), out.data());
    return out;
  };
  CHECK(of({}) == std::vector<double>{5421, 6532, 8754, 9865});
  CHECK(of({.stride_h = 2, .stride_w = 2, .padding_h = 1, .padding_w = 1}) ==
        std::vector<double>{1000, 3200, 7040, 9865});
  CHECK(of({.dilation_h = 2, .dilation_w = 2}) == std::vector<double>{9731});

  // Two pixels, two channels in two groups, then in one: the layouts.
  const std::vector<float> nhwc = {1, 2, 3, 4}, nchw = {1, 3, 2, 4}, two = {10, 100}, four = {1, 10, 100, 1000};
  conv2d_shape s{.width = 2, .channels_in = 2, .channels_out = 2, .groups = 2};
  std::vector<double> out(4);
  conv2d_reference(s, nhwc.data(), two.data(), out.data());
  CHECK(out == std::vector<double>{10, 200, 30, 400});
  s.layout = conv2d_layout::nchw;
  conv2d_reference(s, nchw.data(), two.data(), out.data());
  CHECK(out == std::vector<double>{10, 30, 200, 400});
  s.groups = 1;
  conv2d_reference(s, nchw.data(), four.data(), out.data());
  CHECK(out == std::vector<double>{21, 43, 2100, 4300});
}

TEST_CASE("conv2d_reference: one of 1 x 1 is a product of pixels and channels, shared among threads") {
  const problem p({.batch = 3, .height = 17, .width = 11, .channels_in = 70, .channels_out = 301});
  std::vector<float> by_input(p.weights.size());
  for (std::size_t o = 0; o < 301; ++o)
    for (std::size_t c = 0; c < 70; ++c) by_input[c * 301 + o] = p.weights[o * 70 + c];
  std::vector<double> product(p.reference.size());
  matmul_reference({.m = 3 * 17 * 11, .n = 301, .k = 70}, p.input.data(), by_input.data(), product.data());
  CHECK(p.reference == product);
}

TEST_CASE("conv2d_matches: refuses NaN, infinity, a wrong element and a missing product") {
  const problem p(
      {.height = 5, .width = 4, .channels_in = 6, .channels_out = 4, .kernel_h = 3, .padding_h = 1, .groups = 2});
  std::vector<float> out(p.reference.size());
  conv2d convolve(p.shape);
  convolve.prepare({}, p.weights.data());
  convolve(p.input.data(), out.data());
  const auto error = [&] {
    return conv2d_error(p.shape, p.input.data(), p.weights.data(), out.data(), p.reference.data());
  };
  REQUIRE(error() <= 1);
  CHECK(error() > 0);
  for (const std::size_t at : {std::size_t{0}, std::size_t{33}, out.size() - 1}) {
    const float was = out[at];
    for (const float wrong : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::infinity(), was + 0.1f, was - 0.1f}) {
      out[at] = wrong;
      CHECK(!(error() <= 1));
    }
    // Without the product in the middle of the kernel, for the group's first input channel.
    const std::size_t pixel = at / 4, channel = at % 4;
    out[at] = was - p.input[pixel * 6 + channel / 2 * 3] * p.weights[channel * 9 + 1];
    CHECK(!(error() <= 1));
    out[at] = was;
    CHECK(error() <= 1);
  }
}

TEST_CASE("conv2d: sizes and operations of a shape") {
  conv2d_shape s{.batch = 2,
                 .height = 9,
                 .width = 12,
                 .channels_in = 4,
                 .channels_out = 6,
                 .kernel_h = 3,
                 .kernel_w = 2,
                 .stride_h = 2,
                 .stride_w = 3,
                 .padding_h = 1,
                 .dilation_h = 2,
                 .groups = 2};
  CHECK(s.out_height() == 4);
  CHECK(s.out_width() == 4);
  CHECK(s.input_size() == 2 * 9 * 12 * 4);
  CHECK(s.weights_size() == 6 * 2 * 3 * 2);
  CHECK(s.output_size() == 2 * 4 * 4 * 6);
  CHECK(s.flop() == 2.0 * (2 * 4 * 4 * 6) * (2 * 3 * 2));
  CHECK(!s.depthwise());
  const auto extents = conv2d_extents(s);
  CHECK(extents.y == padded_extent(4));
  CHECK(extents.x == padded_extent(4));
  CHECK(extents.oc == 1);
  CHECK(extents.ic == 2);
  // All pixels of all images are one row to a 1 x 1 convolution, as long as it takes all of them.
  CHECK(conv2d_extents({.batch = 2, .height = 10, .width = 10, .channels_in = 7}).x == padded_extent(200));
  CHECK(conv2d_extents({.batch = 2, .height = 10, .width = 10, .stride_h = 2}).x == padded_extent(10));
  s.channels_in = s.channels_out = s.groups = 4;
  CHECK(s.depthwise());
  CHECK(conv2d_extents(s).ic == 1);
}

TEST_CASE("conv2d: an invalid shape is refused with the field, its value and a remedy") {
  CHECK(shape_complaint({}).empty());
  CHECK(shape_complaint({.height = 0}) == "conv2d: shape.height is 0, pass 1 to 1048576");
  CHECK(contains(shape_complaint({.batch = -1}), "shape.batch is -1"));
  CHECK(contains(shape_complaint({.width = 2000000000}), "shape.width is 2000000000"));
  CHECK(contains(shape_complaint({.padding_w = -1}), "shape.padding_w is -1, pass 0 to"));
  CHECK(contains(shape_complaint({.dilation_h = 0}), "shape.dilation_h is 0"));
  CHECK(contains(shape_complaint({.height = 4, .kernel_h = 3, .dilation_h = 2}),
                 "shape.kernel_h is 3, which spans 5 with its dilation, more than the padded height"));
  CHECK(shape_complaint({.height = 4, .kernel_h = 3, .padding_h = 1, .dilation_h = 2}).empty());
  CHECK(contains(shape_complaint({.kernel_w = 1048576, .dilation_w = 1048576}), "shape.kernel_w is 1048576"));
  CHECK(contains(shape_complaint({.channels_in = 6, .channels_out = 4, .groups = 3}), "shape.groups is 3"));
  CHECK(contains(shape_complaint({.layout = static_cast<conv2d_layout>(7)}), "shape.layout is 7"));
  CHECK(contains(complaint([] { conv2d c({}, 0); }), "threads is 0, pass at least 1"));
  CHECK(contains(complaint([] { static_cast<void>(conv2d_extents({.width = 0})); }), "shape.width is 0"));
}

TEST_CASE("conv2d: an invalid blocking is refused with the field, its value and a remedy") {
  CHECK(blocking_complaint({}).empty());
  CHECK(contains(blocking_complaint({.x = {1, 1, 17}}), "blocking.x[2] is 17, pass the pixels of a micro-kernel"));
  CHECK(contains(blocking_complaint({.x = {1, 0, 4}}), "blocking.x[1] is 0, pass at least 1"));
  CHECK(contains(blocking_complaint({.y = {-3, 4}}), "blocking.y[0] is -3"));
  CHECK(contains(blocking_complaint({.oc = {1, 1, 5}}), "blocking.oc[2] is 5, pass fewer vectors"));
  CHECK(contains(blocking_complaint({.x = {1, 1, 12}, .oc = {1, 1, 3}}), "blocking.x[2] = 12"));
  CHECK(contains(blocking_complaint({.ic = {1, 0}}), "blocking.ic[1] is 0"));
  CHECK(contains(blocking_complaint({.order = static_cast<conv2d_order>(9)}), "blocking.order is 9"));
  const conv2d_shape depthwise{.channels_in = 2, .channels_out = 2, .groups = 2};
  CHECK(contains(blocking_complaint({.x = {1, 1, 9}}, depthwise), "see depthwise_kernel_exists"));
  CHECK(contains(blocking_complaint({.oc = {1, 1, 3}}, depthwise), "blocking.oc[2] is 3"));

  // Without a blocking nothing is computed, and a refused one leaves none.
  float input = 2, weight = 3, output = 5;
  conv2d convolve({});
  const auto call = [&] { convolve(&input, &output); };
  CHECK(contains(complaint(call), "prepare"));
  CHECK_THROWS_AS(convolve.prepare({.ic = {1, -1}}, &weight), std::invalid_argument);
  CHECK_THROWS_AS(call(), std::logic_error);
  CHECK(output == 5.0f);
  convolve.prepare({}, &weight);
  call();
  CHECK(output == 6.0f);
}

TEST_CASE("conv2d_problem: a right result is timed, a wrong one is none") {
  conv2d_problem problem({.height = 6, .width = 6, .channels_in = 3, .channels_out = 5, .kernel_h = 3, .kernel_w = 3},
                         7);
  const tileseek::timing_limits once{.min_samples = 1, .max_samples = 1};
  CHECK(problem({}, once).outcome == tileseek::status::ok);
  const auto wrong = problem.check_and_time([](float*) {}, once);
  CHECK(wrong.outcome == tileseek::status::wrong_result);
}
