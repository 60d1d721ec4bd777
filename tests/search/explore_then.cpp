#include <tileseek/search/explore_then.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include <tileseek/search/evolutionary.hpp>
#include <tileseek/search/local_search.hpp>
#include <tileseek/search/random.hpp>
#include <tileseek/testing/landscapes.hpp>

namespace {

using namespace tileseek;

/// Asks marked points, to see whose turn it is: explorers ask {x, 0}, exploiters {x, 1}.
struct explorer {
  int next = 0;
  int last = 1000;
  std::size_t told = 0;
  std::vector<point> ask(const lattice&, rng&, std::size_t n) {
    std::vector<point> out;
    for (; n > 0 && next < last; --n) out.push_back({next++, 0});
    return out;
  }
  void tell(const lattice&, std::span<const trial> done) { told += done.size(); }
};
struct exploiter {
  std::vector<int>* starts = nullptr;
  int at = 0;
  int left = 0;  ///< points before it ends
  int length = 3;
  void start_at(point p) {
    starts->push_back(p[0]);
    at = p[0];
    left = length;
  }
  std::vector<point> ask(const lattice&, rng&, std::size_t n) {
    std::vector<point> out;
    for (; n > 0 && left > 0; --n, --left) out.push_back({at++, 1});
    return out;
  }
  void tell(const lattice&, std::span<const trial>) {}
};

const lattice& strip() {
  static const lattice l = [] {
    std::vector<coordinate> axes(2);
    axes[0].name = "x";
    for (int i = 0; i < 1000; ++i) axes[0].values.push_back(i);
    axes[1] = {"who", {0, 1}, true};
    return lattice(axes, {}, {});
  }();
  return l;
}

/// Costs 1 + |x - 5|; the exploiter's points are no better than 10 unless told so.
trial answer(const point& p) {
  measurement m;
  m.seconds = {p[1] == 0 ? 1.0 + std::abs(p[0] - 5) : 10.0};
  return {p, m};
}

std::vector<int> turns(explore_then<explorer, exploiter>& s, std::size_t n, std::size_t batch = 1) {
  std::vector<int> out;
  rng random;
  while (out.size() < n) {
    const auto asked = s.ask(strip(), random, batch);
    if (asked.empty()) break;
    for (const auto& p : asked) {
      out.push_back(p[1]);
      const trial done[] = {answer(p)};
      s.tell(strip(), done);
    }
  }
  return out;
}

TEST_CASE("it explores, exploits the best, and explores again") {
  std::vector<int> starts;
  explore_then<explorer, exploiter> s({}, {&starts}, {.explore = 8, .explore_again = 2, .best = 1});
  CHECK_EQ(turns(s, 18), std::vector<int>{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 1, 1, 1, 0, 0});
  CHECK_EQ(starts, std::vector<int>{5, 8});  // then 8 and 9 are explored, of which 8 is better
}

TEST_CASE("several starts of one exploration, the best first") {
  std::vector<int> starts;
  explore_then<explorer, exploiter> s({}, {&starts}, {.explore = 8, .explore_again = 2, .best = 3});
  static_cast<void>(turns(s, 17));
  CHECK_EQ(starts, std::vector<int>{5, 4, 6});
}

TEST_CASE("an exploitation without progress is given up") {
  std::vector<int> starts;
  exploiter endless{&starts};
  endless.length = 1000;
  explore_then<explorer, exploiter> s({}, endless, {.explore = 2, .explore_again = 1, .best = 1, .patience = 5});
  CHECK_EQ(turns(s, 14), std::vector<int>{0, 0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0});
}

TEST_CASE("it waits for the exploration, and takes what is told from elsewhere for explored") {
  std::vector<int> starts;
  explore_then<explorer, exploiter> s({}, {&starts}, {.explore = 4});
  const trial warm[] = {answer({50, 0}), answer({4, 0})};
  s.tell(strip(), warm);
  rng random;
  const auto asked = s.ask(strip(), random, 16);
  CHECK_EQ(asked.size(), 2);
  CHECK(s.ask(strip(), random, 16).empty());
  const trial one[] = {answer(asked[1])};
  s.tell(strip(), one);
  CHECK(s.ask(strip(), random, 16).empty());
  const trial other[] = {answer(asked[0])};
  s.tell(strip(), other);
  CHECK_EQ(s.ask(strip(), random, 16).size(), 3);
  CHECK_EQ(starts, std::vector<int>{4});
}

TEST_CASE("when the explorer ends, what it found is still exploited") {
  std::vector<int> starts;
  explorer brief;
  brief.last = 3;
  explore_then<explorer, exploiter> s(brief, {&starts}, {.explore = 8, .best = 1});
  CHECK_EQ(turns(s, 100), std::vector<int>{0, 0, 0, 1, 1, 1});
  CHECK_EQ(starts, std::vector<int>{2});
}

TEST_CASE("where all that was explored failed, it explores on") {
  const auto l = testing::failing();
  for (std::uint64_t seed = 1; seed <= 10; ++seed)
    CHECK_EQ(testing::minimise(explore_then<>{{.explore = 1}}, l, 500, seed).at, l.best);
}

TEST_CASE("any explorer goes with any exploiter") {
  const auto l = testing::tiled();
  explore_then a(evolutionary{}, droplet{{.restart = false}}, {.explore = 30});
  explore_then b(tileseek::random{}, local_search{}, {.explore = 30, .patience = 60});
  explore_then<> c;
  static_assert(std::is_same_v<decltype(c), explore_then<maximin, droplet>>);
  CHECK_LT(testing::minimise(a, l, 300).cost(), 1.1 * l.best_cost);
  CHECK_LT(testing::minimise(b, l, 300).cost(), 1.1 * l.best_cost);
  CHECK_LT(testing::minimise(c, l, 300).cost(), 1.1 * l.best_cost);
}

TEST_CASE("a start chosen among several points saves evaluations") {
  double with = 0;
  double without = 0;
  for (const auto& l : {testing::convex(), testing::plateaus(), testing::tiled(), testing::failing()})
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      droplet_options o;
      o.from = droplet_start::random;
      with += static_cast<double>(
          std::min<std::size_t>(1000, testing::evaluations_to(1.1 * l.best_cost, explore_then<>{}, l, 1000, seed)));
      without += static_cast<double>(
          std::min<std::size_t>(1000, testing::evaluations_to(1.1 * l.best_cost, droplet{o}, l, 1000, seed)));
    }
  CHECK_LT(with, without);
}

TEST_CASE("options out of range are refused by name") {
  CHECK_THROWS_WITH_AS(explore_then<>({.explore = 0}), doctest::Contains("explore_then: option 'explore' is 0"),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(explore_then<>({.explore_again = 0}), doctest::Contains("'explore_again'"),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(explore_then<>({.best = 0}), doctest::Contains("'best'"), std::invalid_argument);
}

}  // namespace
