#include <tileseek/search/evolutionary.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <vector>

#include <tileseek/search/random.hpp>
#include <tileseek/testing/landscapes.hpp>

namespace {

using namespace tileseek;

TEST_CASE("it needs fewer evaluations than random search to come within 5 %") {
  for (const auto& l : testing::all_landscapes()) {
    CAPTURE(l.name);
    if (l.name == "deceptive") continue;
    std::vector<std::size_t> mine;
    std::vector<std::size_t> random;
    for (std::uint64_t seed = 1; seed <= 21; ++seed) {
      mine.push_back(testing::evaluations_to(1.05 * l.best_cost, evolutionary{}, l, 3000, seed));
      random.push_back(testing::evaluations_to(1.05 * l.best_cost, tileseek::random{}, l, 3000, seed));
    }
    std::sort(mine.begin(), mine.end());
    std::sort(random.begin(), random.end());
    CHECK_LT(mine[10], random[10]);
  }
}

TEST_CASE("a mutation of a tile keeps the product and moves one prime factor") {
  const auto l = testing::tiled();
  const detail::breeder breed(l.space);
  rng random(1);
  const auto& tile = l.space.tiles()[0];
  std::set<point> seen;
  for (int i = 0; i < 2000; ++i) {
    const point q = breed.mutated(l.best, random);
    REQUIRE(l.space.feasible(q));
    REQUIRE_NE(q, l.best);
    seen.insert(q);
    const auto before = l.space.factors(l.best, tile);
    const auto after = l.space.factors(q, tile);
    int up = 0;
    int down = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      up += after[k] > before[k];
      down += after[k] < before[k];
    }
    CHECK_EQ(up, down);
    CHECK_LE(up, 1);
  }
  // i = 3 * 8 * 4: from level 0 a 3, from the others a 2, each to either other level; j = 2 * 4 * 8; and 4 other unrollings.
  CHECK_EQ(seen.size(), 6 + 6 + 4);
}

TEST_CASE("a child has each group from one of its parents") {
  const auto l = testing::tiled();
  const detail::breeder breed(l.space);
  rng random(2);
  const point mother = l.space.sample(random);
  const point father = l.space.sample(random);
  std::set<point> seen;
  for (int i = 0; i < 500; ++i) {
    const point q = breed.child(mother, father, 0, random);
    REQUIRE(l.space.feasible(q));
    for (const std::size_t first : {0U, 2U}) {
      const bool hers = q[first] == mother[first] && q[first + 1] == mother[first + 1];
      const bool his = q[first] == father[first] && q[first + 1] == father[first + 1];
      CHECK((hers || his));
    }
    seen.insert(q);
  }
  CHECK_EQ(seen.size(), 8);
}

TEST_CASE("ranks are picked linearly") {
  rng random(3);
  std::vector<int> hits(4);
  for (int i = 0; i < 100000; ++i) ++hits[detail::pick_by_rank(4, random)];
  for (int i = 0; i < 4; ++i)
    CHECK(hits[static_cast<std::size_t>(i)] == doctest::Approx(10000 * (4 - i)).epsilon(0.05));
  CHECK_EQ(detail::pick_by_rank(1, random), 0);
}

TEST_CASE("options out of range are refused by name") {
  const auto refused = [](auto change, const char* text) {
    evolutionary_options o;
    change(o);
    CHECK_THROWS_WITH_AS(evolutionary{o}, doctest::Contains(text), std::invalid_argument);
  };
  refused([](auto& o) { o.population = 1; }, "evolutionary: option 'population' is 1");
  refused([](auto& o) { o.children = 0; }, "'children'");
  refused([](auto& o) { o.mutation = 1.1; }, "'mutation'");
  refused([](auto& o) { o.patience = 0; }, "'patience'");
}

}  // namespace
