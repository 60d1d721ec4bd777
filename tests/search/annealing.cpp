#include <tileseek/search/annealing.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include <tileseek/search/random.hpp>
#include <tileseek/testing/landscapes.hpp>

namespace {

using namespace tileseek;

TEST_CASE("it needs fewer evaluations than random search to come within 5 %") {
  for (const auto& l :
       {testing::convex(), testing::ridged(), testing::plateaus(), testing::tiled(), testing::failing()}) {
    CAPTURE(l.name);
    std::vector<std::size_t> mine;
    std::vector<std::size_t> random;
    for (std::uint64_t seed = 1; seed <= 21; ++seed) {
      mine.push_back(testing::evaluations_to(1.05 * l.best_cost, annealing{}, l, 3000, seed));
      random.push_back(testing::evaluations_to(1.05 * l.best_cost, tileseek::random{}, l, 3000, seed));
    }
    std::sort(mine.begin(), mine.end());
    std::sort(random.begin(), random.end());
    CHECK_LT(mine[10], random[10]);
  }
}

TEST_CASE("hot, it climbs out of a minimum; cold, it looks at all neighbours first") {
  const auto l = testing::deceptive();
  const point trap(3, 1);
  const auto strays = [&](double hot) {
    int seeds = 0;
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
      annealing_options o;
      o.hot = hot;
      o.cold = hot / 100;
      o.cooling = 0.999;
      o.jump = 0;
      annealing s(o);
      s.start_at(trap);
      rng random(seed);
      bool strayed = false;
      for (int i = 0; i < 7; ++i) {  // the trap and its 6 neighbours
        const auto asked = s.ask(l.space, random, 1);
        REQUIRE_EQ(asked.size(), 1);
        int hops = 0;
        for (std::size_t d = 0; d < 3; ++d) hops += std::abs(asked[0][d] - trap[d]);
        strayed = strayed || hops > 1;
        const trial done[] = {{asked[0], l.measure(asked[0])}};
        s.tell(l.space, done);
      }
      seeds += strayed;
    }
    return seeds;
  };
  CHECK_EQ(strays(1e-9), 0);
  CHECK_EQ(strays(100), 30);
}

TEST_CASE("neighbours drawn are one hop away, each of them in time") {
  const auto l = testing::choices();
  rng random(3);
  const point x{4, 5, 0};
  std::vector<point> seen;
  for (int i = 0; i < 3000; ++i) {
    const auto p = detail::random_neighbour(l.space, x, 0, random);
    REQUIRE(p);
    REQUIRE(l.space.feasible(*p));
    if (std::find(seen.begin(), seen.end(), *p) == seen.end()) seen.push_back(*p);
  }
  auto expected = l.space.neighbours(x, 1);
  std::sort(expected.begin(), expected.end());
  std::sort(seen.begin(), seen.end());
  CHECK_EQ(seen, expected);
  seen.clear();
  for (int i = 0; i < 3000; ++i) {
    const auto p = detail::random_neighbour(l.space, x, 1, random);
    REQUIRE(p);
    if (std::find(seen.begin(), seen.end(), *p) == seen.end()) seen.push_back(*p);
  }
  CHECK_EQ(seen.size(), 3 * 11);
  CHECK_FALSE(detail::random_neighbour(lattice{}, point{}, 0.5, random));
}

TEST_CASE("the temperature follows the spread: costs to a power anneal alike") {
  // With all costs c replaced by c^3 the spread of ln cost triples, and so does every increase: the same walk.
  const auto l = testing::convex(3, 12);
  auto cubed = l;
  cubed.cost = [l](const point& p) { return std::pow(l.cost(p), 3); };
  const auto a = testing::minimise(annealing{}, l, 150, 7);
  const auto b = testing::minimise(annealing{}, cubed, 150, 7);
  REQUIRE_EQ(a.curve.size(), b.curve.size());
  for (std::size_t i = 0; i < a.curve.size(); ++i)
    CHECK(std::pow(a.curve[i], 3) == doctest::Approx(b.curve[i]).epsilon(1e-9));
}

TEST_CASE("costs of zero do no harm") {
  auto l = testing::convex(2, 8);
  l.cost = [best = l.best](const point& p) { return p == best ? 0.0 : 1.0; };
  CHECK_EQ(testing::minimise(annealing{}, l, 64).curve.size(), 64);
}

TEST_CASE("options out of range are refused by name") {
  const auto refused = [](auto change, const char* text) {
    annealing_options o;
    change(o);
    CHECK_THROWS_WITH_AS(annealing{o}, doctest::Contains(text), std::invalid_argument);
  };
  refused([](auto& o) { o.cold = 0; }, "annealing: option 'cold'");
  refused([](auto& o) { o.hot = o.cold; }, "'hot'");
  refused([](auto& o) { o.cooling = 1; }, "'cooling'");
  refused([](auto& o) { o.cooling = std::nan(""); }, "'cooling'");
  refused([](auto& o) { o.jump = -0.1; }, "'jump'");
  refused([](auto& o) { o.restart_from = 0; }, "'restart_from'");
}

}  // namespace
