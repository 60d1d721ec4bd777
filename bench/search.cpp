// What a strategy costs a point: ask and tell on the hotspot space, without measuring anything.
#include <tileseek/search.hpp>
#include <tileseek/space.hpp>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <vector>

namespace {

struct hotspot {
  int width = 256, height = 1, tile_x = 1, tile_y = 1, time_tile = 1, unroll = 2, shared_power = 1, blocks = 0;
};

/// 349,853 configurations, as in bench/space.cpp.
const tileseek::space<hotspot>& hotspot_space() {
  static const auto space = [] {
    using h = hotspot;
    std::vector<int> widths{1, 2, 4, 8, 16};
    for (int w = 32; w <= 1024; w += 32) widths.push_back(w);
    const auto bytes = [](int w, int x, int t, int v, int y, int p) {
      return (w * x + t * 2) * (v * y + t * 2) * (2 + p) * 4;
    };
    return tileseek::space<h>{}
        .add("width", &h::width, tileseek::values(widths))
        .add("height", &h::height, tileseek::powers_of_two(1, 32))
        .add("tile_x", &h::tile_x, tileseek::range(1, 10))
        .add("tile_y", &h::tile_y, tileseek::range(1, 10))
        .add("time_tile", &h::time_tile, tileseek::range(1, 10))
        .add("unroll", &h::unroll, tileseek::range(1, 10))
        .add("shared_power", &h::shared_power, {0, 1})
        .add("blocks", &h::blocks, tileseek::range(0, 4))
        .where(
            "32 to 1024 threads", [](int w, int v) { return w * v >= 32 && w * v <= 1024; }, &h::width, &h::height)
        .where(
            "unrolling divides", [](int t, int u) { return t % u == 0; }, &h::time_tile, &h::unroll)
        .where(
            "shared memory of a block",
            [bytes](int w, int x, int t, int v, int y, int p) { return bytes(w, x, t, v, y, p) <= 49152; }, &h::width,
            &h::tile_x, &h::time_tile, &h::height, &h::tile_y, &h::shared_power)
        .where(
            "shared memory of a multiprocessor",
            [bytes](int b, int w, int x, int t, int v, int y, int p) { return b * bytes(w, x, t, v, y, p) <= 102400; },
            &h::blocks, &h::width, &h::tile_x, &h::time_tile, &h::height, &h::tile_y, &h::shared_power);
  }();
  return space;
}

/// A bowl around an arbitrary point: something to descend into, for next to no time.
double cost(const tileseek::lattice& space, const tileseek::point& p) {
  double sum = 1;
  for (std::size_t d = 0; d < p.size(); ++d) {
    const double away = p[d] - 0.6 * space.extent(d);
    sum += away * away / space.extent(d);
  }
  return sum;
}

/// 2,000 points in batches of 16, then a new search.
template <class Strategy>
void ask_and_tell(benchmark::State& state) {
  const auto& space = hotspot_space().lattice();
  constexpr std::size_t points = 2000;
  constexpr std::size_t batch = 16;
  std::size_t done = 0;
  std::uint64_t seed = 0;
  for (auto _ : state) {
    Strategy strategy;
    tileseek::rng random(++seed);
    for (std::size_t n = 0; n < points;) {
      const auto asked = strategy.ask(space, random, batch);
      if (asked.empty()) break;
      std::vector<tileseek::trial> told;
      for (const auto& p : asked) told.push_back({p, {tileseek::status::ok, {cost(space, p)}, {}}});
      strategy.tell(space, told);
      n += asked.size();
      done += asked.size();
    }
  }
  state.counters["time/point"] =
      benchmark::Counter(static_cast<double>(done), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

BENCHMARK(ask_and_tell<tileseek::random>)->Unit(benchmark::kMillisecond);
BENCHMARK(ask_and_tell<tileseek::droplet>)->Unit(benchmark::kMillisecond);
BENCHMARK(ask_and_tell<tileseek::evolutionary>)->Unit(benchmark::kMillisecond);
BENCHMARK(ask_and_tell<tileseek::annealing>)->Unit(benchmark::kMillisecond);
BENCHMARK(ask_and_tell<tileseek::local_search>)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
