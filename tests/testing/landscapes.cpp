#include <tileseek/testing/landscapes.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include <tileseek/search/exhaustive.hpp>
#include <tileseek/search/random.hpp>

namespace {

using namespace tileseek;
using testing::landscape;

/// Feasible points cheaper than all their one-hop neighbours, or as cheap.
std::size_t minima(const landscape& l) {
  std::size_t count = 0;
  for (std::uint64_t r = 0; r < l.space.size(); ++r) {
    const point p = *l.space.unrank(r);
    const double here = l.cost(p);
    if (!std::isfinite(here)) continue;
    const auto near = l.space.neighbours(p, 1);
    count += std::all_of(near.begin(), near.end(), [&](const point& q) { return l.cost(q) >= here; });
  }
  return count;
}

std::size_t failures(const landscape& l) {
  std::size_t count = 0;
  for (std::uint64_t r = 0; r < l.space.size(); ++r) count += !std::isfinite(l.cost(*l.space.unrank(r)));
  return count;
}

TEST_CASE("the optimum is what it is said to be") {
  for (const auto& l : testing::all_landscapes()) {
    CAPTURE(l.name);
    REQUIRE(l.space.feasible(l.best));
    CHECK_EQ(l.cost(l.best), doctest::Approx(l.best_cost));
    std::size_t as_good = 0;
    for (std::uint64_t r = 0; r < l.space.size(); ++r) {
      const double c = l.cost(*l.space.unrank(r));
      REQUIRE_GE(c, l.best_cost);
      as_good += c == l.best_cost;
    }
    if (l.name == "plateaus")
      CHECK_GT(as_good, 10);
    else
      CHECK_EQ(as_good, 1);
  }
}

TEST_CASE("each has the difficulty it is for") {
  CHECK_EQ(minima(testing::convex(3, 8)), 1);
  CHECK_GT(minima(testing::ridged()), 5);
  CHECK_EQ(minima(testing::deceptive()), 2);
  const auto sparse = testing::sparse();
  CHECK_LT(sparse.space.approximate_size(), 0.11 * std::pow(14, 4));
  for (std::size_t d = 0; d < 4; ++d)
    for (const int step : {-1, 1}) {
      point p = sparse.best;
      p[d] += step;
      CHECK_FALSE(sparse.space.feasible(p));
    }
  const auto failing = testing::failing();
  CHECK(std::isinf(failing.cost(point(4, 0))));
  CHECK_GT(static_cast<double>(failures(failing)), 0.1 * static_cast<double>(failing.space.size()));
  point down = failing.best;
  --down[0];
  CHECK(std::isinf(failing.cost(down)));
  CHECK_FALSE(testing::choices().space.axis(0).ordered);
  CHECK_EQ(testing::tiled().space.tiles().size(), 2);
  CHECK_EQ(testing::tiled().space.factors(testing::tiled().best, testing::tiled().space.tiles()[0]),
           std::vector<std::int64_t>{3, 8, 4});
}

TEST_CASE("noise has the size it is said to have, and depends on the point and the seed alone") {
  const auto l = testing::noisy();
  double square = 0;
  std::size_t n = 0;
  for (std::uint64_t r = 0; r < 2000; ++r) {
    const point p = *l.space.unrank(r);
    const auto m = l.measure(p, 3);
    CHECK_EQ(m.seconds, l.measure(p, 3).seconds);
    REQUIRE_EQ(m.seconds.size(), 5);
    for (const double s : m.seconds) square += std::pow(s / l.cost(p) - 1, 2), ++n;
  }
  CHECK(std::sqrt(square / static_cast<double>(n)) == doctest::Approx(0.05).epsilon(0.05));
  CHECK_NE(l.measure(l.best, 1).seconds, l.measure(l.best, 2).seconds);
  CHECK_EQ(testing::failing().measure(point(4, 0)).outcome, status::run_failed);
  CHECK_EQ(testing::sparse().measure(point(4, 13)).outcome,
           testing::sparse().space.feasible(point(4, 13)) ? status::ok : status::run_failed);
}

struct stubborn {  // asks the same for ever
  std::vector<point> ask(const lattice& space, rng&, std::size_t n) {
    return std::vector<point>(n, point(space.dimensions(), 0));
  }
  void tell(const lattice&, std::span<const trial>) {}
};

TEST_CASE("minimise counts what a session counts") {
  const auto l = testing::convex(2, 8);
  const auto all = testing::minimise(exhaustive{}, l, 1000, 1, 5);
  CHECK(all.finished);
  CHECK_EQ(all.curve.size(), 64);
  CHECK_EQ(all.asks, 13);
  CHECK_EQ(all.repeats, 0);
  CHECK_EQ(all.at, l.best);
  CHECK_EQ(all.cost(), l.best_cost);
  CHECK(std::is_sorted(all.curve.rbegin(), all.curve.rend()));
  CHECK_EQ(all.evaluations_to(l.best_cost), l.space.rank(l.best) + 1);
  CHECK_EQ(all.evaluations_to(0), std::numeric_limits<std::size_t>::max());

  const auto stuck = testing::minimise(stubborn{}, l, 10, 1, 3);
  CHECK_FALSE(stuck.finished);
  CHECK_EQ(stuck.curve.size(), 1);
  CHECK_EQ(stuck.idle, 1000);

  tileseek::random keeps;  // an lvalue is used, not consumed
  CHECK_EQ(testing::minimise(keeps, l, 10).curve.size(), 10);
  CHECK_EQ(testing::minimise(keeps, l, 1000).curve.size(), 54);
}

}  // namespace
