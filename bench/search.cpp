// What a strategy costs a point: ask and tell, without measuring anything.
#include <tileseek/search.hpp>
#include <tileseek/search/bayesian.hpp>
#include <tileseek/search/dynamic_gradient.hpp>
#include <tileseek/space.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
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

/// 18,000 configurations, the size of a large recorded convolution.
const tileseek::lattice& middling_space() {
  static const auto space = [] {
    tileseek::space<tileseek::configuration> s;
    for (const auto& [name, values] : {std::pair{"bm", 5}, {"bn", 6}, {"bk", 4}, {"tm", 5}, {"tn", 5}, {"unroll", 6}})
      s.add(name, tileseek::range(1, values));
    return s;
  }();
  return space.lattice();
}

/// With a model: what a proposal costs around 400 observations, its share of the refits included. Points are asked one
/// by one; those up to 350 and what the caller does are not timed.
template <class Strategy>
void propose_at_400(benchmark::State& state) {
  const auto& space = middling_space();
  std::uint64_t seed = 0;
  std::size_t done = 0;
  double longest = 0;
  for (auto _ : state) {
    Strategy strategy;
    tileseek::rng random(++seed);
    double seconds = 0;
    for (std::size_t n = 0; n < 450; ++n) {
      const auto begin = std::chrono::steady_clock::now();
      const auto asked = strategy.ask(space, random, 1);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      if (asked.empty()) break;
      // A little noise, so that the model has something to be unsure of.
      const tileseek::trial told[] = {
          {asked[0], {tileseek::status::ok, {cost(space, asked[0]) * (1 + 0.02 * random.uniform())}, {}}}};
      const auto again = std::chrono::steady_clock::now();
      strategy.tell(space, told);
      const std::chrono::duration<double> more = std::chrono::steady_clock::now() - again;
      if (n < 350) continue;
      seconds += (took + more).count();
      longest = std::max(longest, (took + more).count());
      ++done;
    }
    state.SetIterationTime(seconds);
  }
  state.counters["time/point"] =
      benchmark::Counter(static_cast<double>(done), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["longest"] = longest;
}

BENCHMARK(propose_at_400<tileseek::bayesian>)->UseManualTime()->Iterations(5)->Unit(benchmark::kMillisecond);
BENCHMARK(propose_at_400<tileseek::dynamic_gradient<>>)->UseManualTime()->Iterations(5)->Unit(benchmark::kMillisecond);
BENCHMARK(ask_and_tell<tileseek::random>)->Unit(benchmark::kMillisecond);
BENCHMARK(ask_and_tell<tileseek::droplet>)->Unit(benchmark::kMillisecond);
BENCHMARK(ask_and_tell<tileseek::evolutionary>)->Unit(benchmark::kMillisecond);
BENCHMARK(ask_and_tell<tileseek::annealing>)->Unit(benchmark::kMillisecond);
BENCHMARK(ask_and_tell<tileseek::local_search>)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
