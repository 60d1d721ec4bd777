#include <tileseek/search/local_search.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include <tileseek/search/random.hpp>
#include <tileseek/testing/landscapes.hpp>

namespace {

using namespace tileseek;

std::size_t median_to_5_percent(const local_search_options& o, const testing::landscape& l) {
  std::vector<std::size_t> n;
  for (std::uint64_t seed = 1; seed <= 21; ++seed)
    n.push_back(testing::evaluations_to(1.05 * l.best_cost, local_search(o), l, 3000, seed));
  std::sort(n.begin(), n.end());
  return n[10];
}

TEST_CASE("both forms need fewer evaluations than random search to come within 5 %") {
  for (const auto& l : testing::all_landscapes()) {
    CAPTURE(l.name);
    std::vector<std::size_t> random;
    for (std::uint64_t seed = 1; seed <= 21; ++seed)
      random.push_back(testing::evaluations_to(1.05 * l.best_cost, tileseek::random{}, l, 3000, seed));
    std::sort(random.begin(), random.end());
    CHECK_LT(median_to_5_percent(variable_neighbourhood_descent(), l), random[10]);
    if (l.name != "choices") CHECK_LT(median_to_5_percent(iterated_local_search(), l), random[10]);
  }
}

TEST_CASE("wider neighbourhoods help where the narrow one is stuck") {
  auto narrow = variable_neighbourhood_descent();
  narrow.values = false;
  narrow.pairs = 0;
  auto pairs = narrow;
  pairs.pairs = 1000;
  const auto ridged = testing::ridged();
  CHECK_LT(median_to_5_percent(pairs, ridged), median_to_5_percent(narrow, ridged));
  auto values = narrow;
  values.values = true;
  const auto sparse = testing::deceptive();
  CHECK_LT(median_to_5_percent(values, sparse), median_to_5_percent(narrow, sparse));
}

TEST_CASE("kicks start from the best") {
  // One walk from the bottom of a bowl: after its neighbours, every point asked differs from the best in 2 coordinates at
  // most, or is a neighbour of such a point on the way back down.
  const auto l = testing::convex(6, 7);
  auto o = iterated_local_search();
  o.kicks = 1000000;
  local_search s(o);
  s.start_at(l.best);
  rng random(1);
  std::size_t kicked = 0;
  for (int i = 0; i < 300; ++i) {
    const auto asked = s.ask(l.space, random, 1);
    REQUIRE_EQ(asked.size(), 1);
    int differ = 0;
    for (std::size_t d = 0; d < 6; ++d) differ += asked[0][d] != l.best[d];
    CHECK_LE(differ, 3);
    kicked += differ == 2;
    const trial done[] = {{asked[0], l.measure(asked[0])}};
    s.tell(l.space, done);
  }
  CHECK_GT(kicked, 20);
}

TEST_CASE("options out of range are refused by name") {
  local_search_options o;
  o.restart_from = 0;
  CHECK_THROWS_WITH_AS(local_search{o}, doctest::Contains("local_search: option 'restart_from' is 0"),
                       std::invalid_argument);
  o = iterated_local_search();
  o.kicks = 0;
  CHECK_THROWS_WITH_AS(local_search{o}, doctest::Contains("'kicks'"), std::invalid_argument);
}

}  // namespace
