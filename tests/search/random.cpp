#include <tileseek/search/random.hpp>

#include <doctest/doctest.h>

#include <set>

#include <tileseek/testing/landscapes.hpp>

namespace {

using namespace tileseek;

TEST_CASE("random search asks each point once and ends") {
  const auto on = testing::sparse(3, 8);
  tileseek::random s;
  rng draws(1);
  std::set<point> seen;
  for (;;) {
    const auto asked = s.ask(on.space, draws, 7);
    if (asked.empty()) break;
    for (const auto& p : asked) {
      CHECK(on.space.feasible(p));
      CHECK(seen.insert(p).second);
    }
  }
  CHECK_EQ(seen.size(), on.space.size());
}

TEST_CASE("random search does not ask what it was told") {
  const auto on = testing::convex(2, 6);
  tileseek::random s;
  rng draws(2);
  std::vector<trial> told;
  for (std::uint64_t r = 0; r < on.space.size(); r += 2) told.push_back({*on.space.unrank(r), {}});
  s.tell(on.space, told);
  std::size_t asked = 0;
  for (auto batch = s.ask(on.space, draws, 5); !batch.empty(); batch = s.ask(on.space, draws, 5))
    for (const auto& p : batch) {
      ++asked;
      CHECK_EQ(on.space.rank(p) % 2, 1);
    }
  CHECK_EQ(asked, on.space.size() / 2);
}

TEST_CASE("random search finds one of k good points among n after (n + 1) / (k + 1) draws on average") {
  const auto on = testing::convex(2, 12);
  double sum = 0;
  constexpr int seeds = 2000;
  for (std::uint64_t seed = 0; seed < seeds; ++seed)
    sum += static_cast<double>(testing::evaluations_to(on.best_cost, tileseek::random{}, on, 144, seed));
  CHECK(sum / seeds == doctest::Approx(145 / 2.0).epsilon(0.05));
}

}  // namespace
