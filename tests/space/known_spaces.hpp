#pragma once
// Spaces of published GPU benchmarks whose numbers of configurations are known.

#include <vector>

#include <tileseek/space.hpp>

/// A dedispersion kernel: 11,130 configurations.
struct dedispersion {
  int block_size_x = 16, block_size_y = 32, block_size_z = 1, tile_size_x = 1, tile_size_y = 1, tile_stride_x = 1,
      tile_stride_y = 1, loop_unroll_factor_channel = 0;
};

inline tileseek::space<dedispersion> dedispersion_space() {
  using d = dedispersion;
  return tileseek::space<d>{}
      .add("block_size_x", &d::block_size_x, tileseek::powers_of_two(1, 32))
      .add("block_size_y", &d::block_size_y, tileseek::range(32, 256, 8))
      .add("block_size_z", &d::block_size_z, {1})
      .add("tile_size_x", &d::tile_size_x, tileseek::range(1, 4))
      .add("tile_size_y", &d::tile_size_y, tileseek::range(1, 8))
      .add("tile_stride_x", &d::tile_stride_x, {0, 1})
      .add("tile_stride_y", &d::tile_stride_y, {0, 1})
      .add("loop_unroll_factor_channel", &d::loop_unroll_factor_channel, {0})
      .where(
          "32 to 1024 threads", [](int x, int y) { return 32 <= x * y && x * y <= 1024; }, &d::block_size_x,
          &d::block_size_y)
      .where(
          "a stride needs a tile in x", [](int t, int s) { return t > 1 || s == 0; }, &d::tile_size_x,
          &d::tile_stride_x)
      .where(
          "a stride needs a tile in y", [](int t, int s) { return t > 1 || s == 0; }, &d::tile_size_y,
          &d::tile_stride_y);
}

/// A hotspot kernel, as its definition file has it: 82,984 configurations.
struct hotspot {
  int block_size_x = 256, block_size_y = 1, tile_size_x = 1, tile_size_y = 1, temporal_tiling_factor = 1,
      loop_unroll_factor_t = 2, sh_power = 1, blocks_per_sm = 0;
};

inline tileseek::space<hotspot> hotspot_space() {
  using h = hotspot;
  std::vector<int> widths{1, 2, 4, 8, 16};
  for (int w = 32; w <= 1024; w += 32) widths.push_back(w);
  return tileseek::space<h>{}
      .add("block_size_x", &h::block_size_x, tileseek::values(widths))
      .add("block_size_y", &h::block_size_y, tileseek::powers_of_two(1, 32))
      .add("tile_size_x", &h::tile_size_x, tileseek::range(1, 10))
      .add("tile_size_y", &h::tile_size_y, tileseek::range(1, 10))
      .add("temporal_tiling_factor", &h::temporal_tiling_factor, tileseek::range(1, 10))
      .add("loop_unroll_factor_t", &h::loop_unroll_factor_t, tileseek::range(1, 10))
      .add("sh_power", &h::sh_power, {0, 1})
      .where(
          "at least a warp", [](int x, int y) { return x * y >= 32; }, &h::block_size_x, &h::block_size_y)
      .where(
          "unrolling divides the time tile", [](int t, int u) { return t % u == 0; }, &h::temporal_tiling_factor,
          &h::loop_unroll_factor_t)
      .where(
          "at most 1024 threads", [](int x, int y) { return x * y <= 1024; }, &h::block_size_x, &h::block_size_y)
      .where(
          "shared memory of a block",
          [](int bx, int tx, int t, int by, int ty, int s) {
            return (bx * tx + t * 2) * (by * ty + t * 2) * (2 + s) * 4 <= 49152;
          },
          &h::block_size_x, &h::tile_size_x, &h::temporal_tiling_factor, &h::block_size_y, &h::tile_size_y,
          &h::sh_power);
}

/// With the last parameter of the full benchmark: blocks per multiprocessor, 0 for no limit. 349,853 configurations.
inline tileseek::space<hotspot> full_hotspot_space() {
  using h = hotspot;
  return hotspot_space()
      .add("blocks_per_sm", &h::blocks_per_sm, tileseek::range(0, 4))
      .where(
          "shared memory of a multiprocessor",
          [](int b, int bx, int tx, int t, int by, int ty, int s) {
            return b == 0 || (bx * tx + t * 2) * (by * ty + t * 2) * (2 + s) * 4 * b <= 102400;
          },
          &h::blocks_per_sm, &h::block_size_x, &h::tile_size_x, &h::temporal_tiling_factor, &h::block_size_y,
          &h::tile_size_y, &h::sh_power);
}
