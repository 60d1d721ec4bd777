#include <tileseek/search/history.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include <tileseek/testing/landscapes.hpp>

namespace {

using namespace tileseek;

trial took(point p, std::vector<double> seconds) {
  measurement m;
  m.seconds = std::move(seconds);
  return {std::move(p), m};
}

TEST_CASE("asked and told are told apart") {
  history h;
  CHECK_FALSE(h.knows({1}));
  CHECK(h.mark({1}));
  CHECK_FALSE(h.mark({1}));
  CHECK(h.knows({1}));
  CHECK_FALSE(h.told({1}));
  CHECK(std::isinf(h.cost({1})));
  CHECK_FALSE(h.best());
  CHECK_EQ(h.size(), 0);
  h.tell(took({1}, {3, 1, 2}));
  CHECK(h.told({1}));
  CHECK_EQ(h.cost({1}), 2);
  CHECK_EQ(h.samples({1}).size(), 3);
  CHECK(h.samples({2}).empty());
  CHECK_EQ(h.size(), 1);
  CHECK_FALSE(h.mark({1}));
}

TEST_CASE("the best is the first among equals, and follows later results") {
  history h;
  h.tell(trial{{0}, failure(status::crashed, "")});
  CHECK(std::isinf(h.best_cost()));
  CHECK_EQ(*h.best(), point{0});
  h.tell(took({5}, {2}));
  h.tell(took({4}, {2}));
  CHECK_EQ(*h.best(), point{5});
  h.tell(took({5}, {1}));
  CHECK_EQ(h.best_cost(), 1);
  CHECK_EQ(h.size(), 3);
  h.tell(took({5}, {9}));  // measured again, and worse
  CHECK_EQ(*h.best(), point{4});
  CHECK_EQ(h.best_cost(), 2);
  h.tell(trial{{4}, failure(status::timed_out, "")});
  CHECK_EQ(*h.best(), point{5});
  CHECK_EQ(h.best_cost(), 9);
}

TEST_CASE("a copy stands alone") {
  history a;
  a.tell(took({1}, {1}));
  history b = a;
  b.tell(took({2}, {0.5}));
  CHECK_EQ(*a.best(), point{1});
  CHECK_EQ(*b.best(), point{2});
  CHECK_FALSE(a.knows({2}));
}

TEST_CASE("fresh points are uniform, and all of them come, once") {
  const auto space = testing::sparse(3, 6).space;
  std::map<point, int> first;
  const auto size = static_cast<std::size_t>(space.size());
  for (std::uint64_t seed = 0; seed < 100 * size; ++seed) {
    history h;
    rng random(seed);
    ++first[*h.fresh(space, random)];
  }
  CHECK_EQ(first.size(), size);
  double chi2 = 0;
  for (const auto& [p, n] : first) chi2 += (n - 100) * (n - 100) / 100.0;
  const double freedom = static_cast<double>(size - 1);
  CHECK_LT(chi2, freedom + 4 * std::sqrt(2 * freedom));

  std::map<point, int> last;  // of the last points to come each is as likely, too: the list is shuffled
  for (std::uint64_t seed = 0; seed < 20 * size; ++seed) {
    history h;
    rng random(seed);
    std::set<point> seen;
    point p;
    while (auto next = h.fresh(space, random)) {
      CHECK(space.feasible(*next));
      CHECK(seen.insert(*next).second);
      p = *next;
    }
    CHECK_EQ(seen.size(), size);
    ++last[p];
  }
  chi2 = 0;
  for (const auto& [p, n] : last) chi2 += (n - 20) * (n - 20) / 20.0;
  CHECK_EQ(last.size(), size);
  CHECK_LT(chi2, freedom + 4 * std::sqrt(2 * freedom));
}

TEST_CASE("what is told after the rest was listed is not drawn") {
  const auto space = testing::convex(2, 10).space;
  history h;
  rng random(1);
  for (std::uint64_t r = 0; r < 98; ++r) h.mark(*space.unrank(r));
  const auto p = h.fresh(space, random);  // lists the last two
  REQUIRE(p);
  const point other = *p == *space.unrank(98) ? *space.unrank(99) : *space.unrank(98);
  h.tell(took(other, {1}));
  CHECK_FALSE(h.fresh(space, random));
}

TEST_CASE("a space too large to list, with few feasible points, ends") {
  // 2^24 < ranks, and the rule is checked by rejection because no work is allowed for building it in.
  std::vector<coordinate> axes;
  for (int d = 0; d < 3; ++d) {
    coordinate c{"x" + std::to_string(d), {}, true};
    for (int i = 0; i < 400; ++i) c.values.push_back(i);
    axes.push_back(c);
  }
  const lattice space(
      axes, {},
      {{"small",
        {0, 1, 2},
        [](const int* p) { return p[0] < 40 && p[1] < 40 && p[2] < 40 && (p[0] + p[1] + p[2]) % 16 == 0; }}},
      10);
  REQUIRE_FALSE(space.counted());
  history h;
  rng random(1);
  std::size_t found = 0;
  while (found < 200 && h.fresh(space, random)) ++found;
  CHECK_EQ(found, 200);
}

}  // namespace
