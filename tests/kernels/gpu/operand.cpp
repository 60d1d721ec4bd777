#include <tileseek/kernels/gpu/operand.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

namespace gpu = tileseek::kernels::gpu;

TEST_CASE("the value of a 16-bit float") {
  CHECK(gpu::half_value(0x0000) == 0.0f);
  CHECK(std::signbit(gpu::half_value(0x8000)));
  CHECK(gpu::half_value(0x3c00) == 1.0f);
  CHECK(gpu::half_value(0xc000) == -2.0f);
  CHECK(gpu::half_value(0x3555) == 0.333251953125f);
  CHECK(gpu::half_value(0x7bff) == 65504.0f);
  CHECK(gpu::half_value(0x0400) == std::ldexp(1.0f, -14));
  CHECK(gpu::half_value(0x0001) == std::ldexp(1.0f, -24));
  CHECK(gpu::half_value(0x03ff) == 1023 * std::ldexp(1.0f, -24));
}

TEST_CASE("random 16-bit operands are below 1, of both signs, and differ") {
  const auto a = gpu::detail::operand(gpu::element::fp16, 1000, 1);
  CHECK(a.bytes() == 2000);
  const auto x = gpu::detail::floats(gpu::element::fp16, a.given().data(), 1000);
  int negative = 0;
  for (const float v : x) {
    CHECK(std::abs(v) < 1);
    CHECK(std::abs(v) >= std::ldexp(1.0f, -5));
    negative += v < 0;
  }
  CHECK(negative > 400);
  CHECK(negative < 600);
  CHECK(std::set<float>(x.begin(), x.end()).size() > 800);
  CHECK(gpu::detail::operand(gpu::element::fp16, 1000, 2).given() != a.given());
}
