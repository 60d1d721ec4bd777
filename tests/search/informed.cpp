#include <tileseek/search/informed.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <tileseek/core/rng.hpp>
#include <tileseek/core/statistics.hpp>
#include <tileseek/search/random.hpp>

namespace {

using namespace tileseek;

lattice grid(std::vector<coordinate> axes) { return lattice(std::move(axes), {}, {}); }

coordinate axis(const char* name, int from, int to) {
  coordinate a;
  a.name = name;
  for (int i = from; i < to; ++i) a.values.push_back(i);
  return a;
}

/// A bowl with its bottom at these values of x and y, and waves of this height.
trial answer(const lattice& l, const point& p, double x, double y, double waves) {
  const double u = l.axis(0).values[static_cast<std::size_t>(p[0])];
  const double v = l.axis(1).values[static_cast<std::size_t>(p[1])];
  const double bowl = 1 + ((u - x) * (u - x) + (v - y) * (v - y)) / 100;
  return {p, {status::ok, {1e-3 * bowl * (1 + waves * (1 + std::sin(2.5 * u) * std::cos(3 * v)))}, {}}};
}

std::vector<trial> everything(const lattice& l, double x, double y, double waves) {
  std::vector<trial> out;
  for (std::uint64_t r = 0; r < l.rank_end(); ++r) out.push_back(answer(l, *l.unrank(r), x, y, waves));
  return out;
}

/// Shows what the strategy underneath is given.
struct probe {
  std::vector<double>* seen = nullptr;
  std::vector<point> ask(const lattice& space, rng&, std::size_t) {
    seen->clear();
    for (std::uint64_t r = 0; r < space.rank_end(); ++r)
      for (const auto& f : space.features()) seen->push_back(f.value(*space.unrank(r)));
    return {};
  }
  void tell(const lattice&, std::span<const trial>) {}
};

/// Evaluations until the best is found, a median over seeds.
template <class Make>
double evaluations(const lattice& l, double x, double y, const Make& make) {
  double best = std::numeric_limits<double>::infinity();
  for (const auto& t : everything(l, x, y, 0.2)) best = std::min(best, t.result.cost());
  std::vector<double> all;
  for (std::uint64_t seed = 0; seed < 15; ++seed) {
    auto search = make();
    rng random(seed);
    double found = std::numeric_limits<double>::infinity();
    std::size_t n = 0;
    for (; found > best && n < 100; ++n) {
      const auto asked = search.ask(l, random, 1);
      if (asked.empty()) break;
      const trial t = answer(l, asked.front(), x, y, 0.2);
      found = std::min(found, t.result.cost());
      search.tell(l, {&t, 1});
    }
    all.push_back(static_cast<double>(n));
  }
  return median(all);
}

}  // namespace

TEST_CASE("informed: what older trials let expect is a feature of every point") {
  const lattice l = grid({axis("x", 0, 8), axis("y", 0, 8)});
  std::vector<double> seen;
  informed<probe> search(l, everything(l, 5, 2, 0), probe{&seen});
  rng random(1);
  CHECK(search.ask(l, random, 1).empty());
  CHECK(search.carried_over() == 64);
  REQUIRE(seen.size() == 64);
  std::vector<double> cost;
  for (const auto& t : everything(l, 5, 2, 0)) cost.push_back(std::log(t.result.cost()));
  std::size_t expected = 0;
  std::size_t best = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (seen[i] < seen[expected]) expected = i;
    if (cost[i] < cost[best]) best = i;
  }
  CHECK(std::fabs(cost[expected] - cost[best]) < 0.03);
  double mean = 0;
  for (const double v : seen) mean += v;
  CHECK(std::fabs(mean) < 1);  // around 0: never taken for a number that spreads by factors
}

TEST_CASE("informed: parameters are matched by name and value") {
  const lattice older = grid({axis("other", 0, 2), axis("y", 0, 8), axis("x", 0, 8)});
  const lattice here = grid({axis("x", 4, 12), axis("y", 0, 8)});
  std::vector<trial> trials;
  for (int x = 0; x < 8; ++x) trials.push_back({{1, 3, x}, {status::ok, {1e-3 * (1 + x)}, {}}});
  trials.push_back({{0, 3, 7}, failure(status::build_failed, "")});
  std::vector<double> seen;
  informed<probe> search(older, trials, probe{&seen});
  search.tell(here, {});
  CHECK(search.carried_over() == 5);  // x = 4 to 7, one of them twice

  const lattice elsewhere = grid({axis("x", 0, 8), axis("z", 0, 8)});
  informed<tileseek::random> lost(older, trials);
  tileseek::random plain;
  rng one(3);
  rng two(3);
  CHECK(lost.ask(elsewhere, one, 5) == plain.ask(elsewhere, two, 5));
  CHECK(lost.carried_over() == 0);
}

TEST_CASE(
    "informed: finds the best with fewer evaluations where the older device is alike, and not many more where not") {
  const lattice l = grid({axis("x", 0, 16), axis("y", 0, 16)});
  const double alone = evaluations(l, 11, 4, [] { return bayesian(); });
  const auto with = [&](double x, double y) {
    return evaluations(l, 11, 4, [&] { return informed(l, everything(l, x, y, 0.2)); });
  };
  CHECK(with(11, 4) < 0.7 * alone);
  CHECK(with(2, 13) < 1.5 * alone);
  MESSAGE(alone, " alone, ", with(11, 4), " alike, ", with(2, 13), " unlike");
}

TEST_CASE("informed: the same seed and answers, the same questions") {
  const lattice l = grid({axis("x", 0, 8), axis("y", 0, 8)});
  const auto asks = [&] {
    informed search(l, everything(l, 5, 2, 0.2));
    rng random(9);
    std::vector<point> out;
    for (int i = 0; i < 20; ++i) {
      const auto asked = search.ask(l, random, 1);
      for (const auto& p : asked) {
        out.push_back(p);
        const trial t = answer(l, p, 4, 3, 0.2);
        search.tell(l, {&t, 1});
      }
    }
    return out;
  };
  CHECK(asks() == asks());
}
