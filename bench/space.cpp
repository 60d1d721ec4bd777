// What building, counting and walking spaces costs. Counters: peak_kB is the most memory held at once by one
// construction.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <vector>

#include <malloc.h>

#include <benchmark/benchmark.h>

#include <tileseek/space.hpp>

#include "../tests/space/known_spaces.hpp"

namespace {

std::size_t held = 0;
std::size_t peak = 0;

void* counted_new(std::size_t bytes) {
  void* const p = std::malloc(bytes);
  if (p == nullptr) throw std::bad_alloc();
  held += malloc_usable_size(p);
  peak = std::max(peak, held);
  return p;
}

void counted_delete(void* p) noexcept {
  if (p != nullptr) held -= malloc_usable_size(p);
  std::free(p);
}

}  // namespace

void* operator new(std::size_t bytes) { return counted_new(bytes); }
void* operator new[](std::size_t bytes) { return counted_new(bytes); }
void operator delete(void* p) noexcept { counted_delete(p); }
void operator delete[](void* p) noexcept { counted_delete(p); }
void operator delete(void* p, std::size_t) noexcept { counted_delete(p); }
void operator delete[](void* p, std::size_t) noexcept { counted_delete(p); }

namespace {

using tileseek::factor;
using tileseek::inclusive;
using tileseek::lattice;
using tileseek::point;
using tileseek::rng;
using tileseek::space;
using tileseek::tile_view;

struct seven_tiles {
  std::array<int, 4> a{}, b{}, c{}, d{}, e{}, f{}, g{};
};

/// 1.2e18 configurations.
auto make_seven_tiles() {
  using s = seven_tiles;
  return space<s>{}
      .tile("a", &s::a, 1024)
      .tile("b", &s::b, 1024)
      .tile("c", &s::c, 2048)
      .tile("d", &s::d, 720)
      .tile("e", &s::e, 224)
      .tile("f", &s::f, 1024)
      .tile("g", &s::g, 4096);
}

/// A convolution on a GPU: blocks, virtual threads, threads and two levels of registers; reductions in three levels.
struct conv2d {
  std::array<int, 5> n{}, k{}, h{}, w{};
  std::array<int, 3> c{}, r{}, s{};
  int unroll = 0;
};

auto make_conv2d() {
  using q = conv2d;
  return space<q>{}
      .tile("n", &q::n, 16)
      .tile("k", &q::k, 512)
      .tile("h", &q::h, 56)
      .tile("w", &q::w, 56)
      .tile("c", &q::c, 256)
      .tile("r", &q::r, 3)
      .tile("s", &q::s, 3)
      .add("unroll", &q::unroll, {0, 64, 512, 1024})
      .where(
          "at most 1024 threads", [](int n, int k, int h, int w) { return static_cast<long>(n) * k * h * w <= 1024; },
          factor(&q::n, 2), factor(&q::k, 2), factor(&q::h, 2), factor(&q::w, 2))
      .where(
          "a tile of input and weights fits in shared memory",
          [](int n, int k, int h, int w, int c, int r, int s) {
            const long input = static_cast<long>(n) * c * (h + r - 1) * (w + s - 1);
            return 4 * (input + static_cast<long>(k) * c * r * s) <= 49152;
          },
          inclusive(&q::n, 1), inclusive(&q::k, 1), inclusive(&q::h, 1), inclusive(&q::w, 1), inclusive(&q::c, 1),
          inclusive(&q::r, 1), inclusive(&q::s, 1))
      .where(
          "at most 128 accumulators in registers",
          [](int n, int k, int h, int w) { return static_cast<long>(n) * k * h * w <= 128; }, inclusive(&q::n, 3),
          inclusive(&q::k, 3), inclusive(&q::h, 3), inclusive(&q::w, 3));
}

/// The same, written as a beginner would: each rule reads whole arrays. Not built in, but checked by rejection.
auto make_conv2d_by_arrays() {
  using q = conv2d;
  using five = const std::array<int, 5>&;
  using three = const std::array<int, 3>&;
  return space<q>{}
      .tile("n", &q::n, 16)
      .tile("k", &q::k, 512)
      .tile("h", &q::h, 56)
      .tile("w", &q::w, 56)
      .tile("c", &q::c, 256)
      .tile("r", &q::r, 3)
      .tile("s", &q::s, 3)
      .add("unroll", &q::unroll, {0, 64, 512, 1024})
      .where(
          "at most 1024 threads",
          [](five n, five k, five h, five w) { return static_cast<long>(n[2]) * k[2] * h[2] * w[2] <= 1024; }, &q::n,
          &q::k, &q::h, &q::w)
      .where(
          "a tile of input and weights fits in shared memory",
          [](five n, five k, five h, five w, three c, three r, three s) {
            const auto inside = [](const auto& t) {
              long size = 1;
              for (std::size_t l = 1; l < t.size(); ++l) size *= t[l];
              return size;
            };
            const long input = inside(n) * inside(c) * (inside(h) + inside(r) - 1) * (inside(w) + inside(s) - 1);
            return 4 * (input + inside(k) * inside(c) * inside(r) * inside(s)) <= 49152;
          },
          &q::n, &q::k, &q::h, &q::w, &q::c, &q::r, &q::s)
      .where(
          "at most 128 accumulators in registers",
          [](five n, five k, five h, five w) {
            return static_cast<long>(n[3]) * n[4] * k[3] * k[4] * h[3] * h[4] * w[3] * w[4] <= 128;
          },
          &q::n, &q::k, &q::h, &q::w);
}

template <auto Make>
void construct(benchmark::State& state) {
  std::size_t most = 0;
  double size = 0;
  double acceptance = 1;
  for (auto _ : state) {
    const std::size_t before = held;
    peak = held;
    const auto s = Make();
    size = s.approximate_size();
    acceptance = s.lattice().acceptance();
    most = std::max(most, peak - before);
    benchmark::DoNotOptimize(size);
  }
  state.counters["configurations"] = size;
  state.counters["acceptance"] = acceptance;
  state.counters["peak_kB"] = static_cast<double>(most) / 1000;
}

/// Some points of a space, which the benchmarks below go round.
template <auto Make>
struct points {
  decltype(Make()) of = Make();
  const lattice& l = of.lattice();
  std::vector<point> some;
  std::size_t next = 0;
  points() {
    rng random(1);
    for (int i = 0; i < 256; ++i) some.push_back(l.sample(random));
  }
  const point& operator()() { return some[next++ % some.size()]; }
};

template <auto Make>
void sample(benchmark::State& state) {
  points<Make> p;
  rng random(2);
  for (auto _ : state) benchmark::DoNotOptimize(p.l.sample(random));
}

template <auto Make>
void rank_and_unrank(benchmark::State& state) {
  points<Make> p;
  for (auto _ : state) benchmark::DoNotOptimize(p.l.unrank(p.l.rank(p())));
}

template <auto Make>
void feasible(benchmark::State& state) {
  points<Make> p;
  for (auto _ : state) benchmark::DoNotOptimize(p.l.feasible(p()));
}

template <auto Make>
void move(benchmark::State& state) {
  points<Make> p;
  std::size_t d = 0;
  for (auto _ : state) benchmark::DoNotOptimize(p.l.move(p(), d++ % p.l.dimensions(), 1));
}

template <auto Make, tile_view View = tile_view::factor>
void neighbours(benchmark::State& state) {
  points<Make> p;
  const auto hops = static_cast<std::size_t>(state.range(0));
  std::size_t found = 0;
  for (auto _ : state) found += p.l.neighbours(p(), hops, View).size();
  state.counters["found"] = benchmark::Counter(static_cast<double>(found), benchmark::Counter::kAvgIterations);
}

/// Of points drawn without regard to rules.
template <auto Make>
void nearest(benchmark::State& state) {
  points<Make> p;
  rng random(3);
  std::vector<point> wanted;
  for (int i = 0; i < 64; ++i) {
    point w(p.l.dimensions());
    for (std::size_t d = 0; d < w.size(); ++d) w[d] = random.index(p.l.extent(d));
    wanted.push_back(std::move(w));
  }
  std::size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(p.l.nearest(wanted[i++ % wanted.size()]));
}

constexpr auto ms = benchmark::kMillisecond;
constexpr auto us = benchmark::kMicrosecond;

BENCHMARK(construct<dedispersion_space>)->Unit(ms);
BENCHMARK(construct<full_hotspot_space>)->Unit(ms);
BENCHMARK(construct<make_seven_tiles>)->Unit(ms);
BENCHMARK(construct<make_conv2d>)->Unit(ms);
BENCHMARK(construct<make_conv2d_by_arrays>)->Unit(ms);
BENCHMARK(sample<dedispersion_space>);
BENCHMARK(sample<full_hotspot_space>);
BENCHMARK(sample<make_seven_tiles>);
BENCHMARK(sample<make_conv2d>);
BENCHMARK(sample<make_conv2d_by_arrays>);
BENCHMARK(rank_and_unrank<full_hotspot_space>);
BENCHMARK(rank_and_unrank<make_conv2d>);
BENCHMARK(feasible<full_hotspot_space>);
BENCHMARK(feasible<make_conv2d>);
BENCHMARK(move<full_hotspot_space>);
BENCHMARK(move<make_conv2d>);
BENCHMARK(neighbours<full_hotspot_space>)->Arg(1)->Arg(2)->Unit(us);
BENCHMARK(neighbours<make_conv2d>)->Arg(1)->Arg(2)->Unit(us);
BENCHMARK(neighbours<make_conv2d, tile_view::inclusive>)->Arg(1)->Arg(2)->Unit(us);
BENCHMARK(nearest<full_hotspot_space>)->Unit(us);
BENCHMARK(nearest<make_conv2d>)->Unit(us);
BENCHMARK(nearest<make_conv2d_by_arrays>)->Unit(us);

}  // namespace

BENCHMARK_MAIN();
