#include <tileseek/search/maximin.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include <tileseek/search/random.hpp>
#include <tileseek/testing/landscapes.hpp>

namespace {

using namespace tileseek;

double least_distance(const std::vector<point>& points) {
  double least = 1e9;
  for (std::size_t i = 0; i < points.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      double sum = 0;
      for (std::size_t d = 0; d < points[i].size(); ++d) sum += std::pow(points[i][d] - points[j][d], 2);
      least = std::min(least, std::sqrt(sum));
    }
  return least;
}

TEST_CASE("points are farther apart than uniform ones, with every seed") {
  const auto on = testing::convex(4, 12);
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    maximin spread;
    tileseek::random uniform;
    rng a(seed);
    rng b(seed);
    CHECK_GT(least_distance(spread.ask(on.space, a, 12)), 1.3 * least_distance(uniform.ask(on.space, b, 12)));
  }
}

TEST_CASE("it keeps away from what it was told") {
  const auto on = testing::convex(2, 50);
  double near = 0;
  double far = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    maximin s;
    rng random(seed);
    const trial told[] = {{{0, 0}, {}}, {{900, 1}, {}}};  // the second is no point of the space
    s.tell(on.space, told);
    const point p = s.ask(on.space, random, 1).front();
    far += p[0] + p[1];
    rng again(seed);
    maximin alone;
    const point q = alone.ask(on.space, again, 1).front();
    near += q[0] + q[1];
  }
  CHECK_GT(far / 50, 80);  // of 98; at random 49
  CHECK_LT(near / 50, 60);
}

TEST_CASE("unordered coordinates are apart when they differ") {
  const lattice space({{"a", {0, 1, 2, 3, 4, 5, 6, 7}, false}, {"b", {0, 1, 2, 3, 4, 5, 6, 7}, false}}, {}, {});
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    maximin s;
    rng random(seed);
    const auto points = s.ask(space, random, 4);
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t j = 0; j < i; ++j) {
        CHECK_NE(points[i][0], points[j][0]);
        CHECK_NE(points[i][1], points[j][1]);
      }
  }
}

}  // namespace
