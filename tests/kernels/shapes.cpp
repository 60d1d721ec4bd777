#include <tileseek/kernels/shapes.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>

using namespace tileseek::kernels;

TEST_CASE("shapes: names count up, and sizes are those of the networks") {
  for (const auto& network : conv2d_networks)
    for (std::size_t i = 0; i < network.layers.size(); ++i) {
      const auto& name = network.layers[i].name;
      const auto& s = network.layers[i].shape;
      CAPTURE(name);
      CHECK(name == std::string_view((network.name == "resnet" ? "R" : "Y") + std::to_string(i)));
      CHECK(conv2d_extents(s).ic == s.channels_in);  // throws if the shape is none
      CHECK(s.out_height() == (s.height - 1) / s.stride_h + 1);
      CHECK(s.out_width() == s.out_height());
      CHECK((s.kernel_h == 1 || s.kernel_h == 3 || s.kernel_h == 7));
    }
  CHECK(resnet_shapes[0].shape.out_height() == 112);
  CHECK(resnet_shapes[10].shape.out_height() == 7);
  // Each 3 x 3 layer of ResNet-50 does the same work, as its authors say of all its layers.
  for (const std::size_t i : {2u, 5u, 8u, 11u}) CHECK(resnet_shapes[i].shape.flop() == 231211008.0);
  CHECK(yolo_shapes[0].shape.flop() == 2.0 * 544 * 544 * 32 * 27);
  CHECK(matmul_shapes.size() == 6);
  for (const auto& p : matmul_shapes) CHECK(p.shape.m == 512);
}
