#include <tileseek/kernels/networks.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <variant>

#include <tileseek/kernels/conv2d_problem.hpp>
#include <tileseek/kernels/matmul_problem.hpp>

using tileseek::kernels::conv2d_shape;
using tileseek::kernels::find_network;
using tileseek::kernels::matmul_shape;
using tileseek::kernels::network;

namespace {

double flop_of(const network& n) {
  double sum = 0;
  for (const auto& l : n.layers) sum += l.count * l.flop();
  return sum;
}

int count_of(const network& n, std::string_view kernel) {
  int sum = 0;
  for (const auto& l : n.layers)
    if (l.kernel() == kernel) sum += l.count;
  return sum;
}

}  // namespace

TEST_CASE("the networks have as many layers, and as much to do, as is published") {
  const auto* resnet = find_network("resnet50");
  REQUIRE(resnet != nullptr);
  CHECK(count_of(*resnet, "conv2d") == 53);
  CHECK(count_of(*resnet, "dense") == 1);
  CHECK(flop_of(*resnet) == doctest::Approx(2 * 4.09e9).epsilon(0.005));
  const auto* mobilenet = find_network("mobilenet_v2");
  REQUIRE(mobilenet != nullptr);
  CHECK(count_of(*mobilenet, "conv2d") == 35);
  CHECK(count_of(*mobilenet, "depthwise_conv2d") == 17);
  CHECK(flop_of(*mobilenet) == doctest::Approx(2 * 301e6).epsilon(0.005));
  const auto* bert = find_network("bert_base");
  REQUIRE(bert != nullptr);
  CHECK(count_of(*bert, "dense") == 73);
  CHECK(count_of(*bert, "batch_matmul") == 24);
  CHECK(flop_of(*bert) == doctest::Approx(22.4e9).epsilon(0.01));
  CHECK(find_network("alexnet") == nullptr);
}

TEST_CASE("every layer has a name of its own, and a shape whose space is not empty") {
  for (const auto& n : tileseek::kernels::networks) {
    CHECK(find_network(n.name) == &n);
    CHECK_FALSE(n.others.empty());
    std::set<std::string> names;
    for (const auto& l : n.layers) {
      const std::string name = l.name();
      CAPTURE(name);
      CHECK(names.insert(name).second);
      CHECK(l.count > 0);
      double size = 0;
      if (const auto* m = std::get_if<matmul_shape>(&l.shape))
        size = tileseek::kernels::matmul_space(*m).approximate_size();
      else
        size = tileseek::kernels::conv2d_space(std::get<conv2d_shape>(l.shape)).approximate_size();
      CHECK(size > 10);
    }
  }
}

TEST_CASE("names say what a layer is") {
  const auto& resnet = find_network("resnet50")->layers;
  CHECK(resnet[0].name() == "conv2d 224x224 3>64 7x7/2");
  CHECK(resnet[23].name() == "dense 1x1000x2048");
  CHECK(find_network("mobilenet_v2")->layers[4].name() == "depthwise_conv2d 112x112 96 3x3/2");
  CHECK(find_network("bert_base")->layers[1].name() == "batch_matmul 12 of 128x128x64");
}

TEST_CASE("a layer's output is the next one's input") {
  for (const char* name : {"resnet50", "mobilenet_v2"})
    for (const auto& l : find_network(name)->layers)
      if (const auto* c = std::get_if<conv2d_shape>(&l.shape)) {
        CHECK(c->out_height() == (c->height + c->stride_h - 1) / c->stride_h);
        CHECK(c->out_width() == c->out_height());
      }
}
