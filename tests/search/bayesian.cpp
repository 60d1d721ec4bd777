#include <tileseek/search/bayesian.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace {

using tileseek::bayesian;
using tileseek::bayesian_options;
using tileseek::lattice;
using tileseek::measurement;
using tileseek::point;
using tileseek::trial;

lattice box(std::vector<int> extents) {
  std::vector<tileseek::coordinate> axes;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    std::vector<double> values;
    for (int i = 0; i < extents[d]; ++i) values.push_back(i + 1);
    axes.push_back({"p" + std::to_string(d), std::move(values), true});
  }
  return lattice(std::move(axes), {}, {});
}

/// Least, 1 second, at index 2 of every coordinate.
double bowl(const point& p) {
  double sum = 1;
  for (std::size_t d = 0; d < p.size(); ++d) sum += 0.1 * (static_cast<double>(d) + 1) * (p[d] - 2) * (p[d] - 2);
  return sum;
}

measurement took(double seconds) {
  return std::isfinite(seconds) ? measurement{tileseek::status::ok, {seconds}, {}}
                                : tileseek::failure(tileseek::status::run_failed, "no");
}

struct outcome {
  std::vector<point> asked;
  double best = std::numeric_limits<double>::infinity();
  bool ended = false;
};

template <class Cost>
outcome run(bayesian& search, const lattice& space, Cost cost, std::size_t trials, std::size_t batch,
            std::uint64_t seed) {
  tileseek::rng random(seed);
  outcome out;
  while (out.asked.size() < trials) {
    const auto points = search.ask(space, random, batch);
    out.ended = points.empty();
    if (out.ended) break;
    CHECK(points.size() <= batch);
    std::vector<trial> told;
    for (const auto& p : points) {
      CHECK(space.feasible(p));
      out.best = std::min(out.best, cost(p));
      out.asked.push_back(p);
      told.push_back({p, took(cost(p))});
    }
    std::reverse(told.begin(), told.end());
    search.tell(space, told);
  }
  return out;
}

bayesian drawn_pool() {
  bayesian_options options;
  options.list_up_to = 0;
  options.pool = 200;
  return bayesian(options);
}

}  // namespace

TEST_CASE("bayesian optimisation finds the bottom of a bowl in a few dozen measurements") {
  const auto space = box({12, 12, 12, 12});
  for (const std::size_t batch : {std::size_t{1}, std::size_t{8}})
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      bayesian listed;
      CHECK(run(listed, space, bowl, 50, batch, seed).best <= 1.1);
      bayesian drawn = drawn_pool();
      CHECK(run(drawn, space, bowl, 50, batch, seed).best <= 1.1);
    }
}

TEST_CASE("no point is asked twice, and the search ends when all were, listed or drawn") {
  const auto space = box({5, 4, 3});
  for (const bool drawn : {false, true})
    for (const std::size_t batch : {std::size_t{1}, std::size_t{7}}) {
      bayesian search = drawn ? drawn_pool() : bayesian();
      const auto got = run(search, space, bowl, 1000, batch, 3);
      CHECK(got.ended);
      CHECK(got.asked.size() == 60);
      CHECK(std::set<point>(got.asked.begin(), got.asked.end()).size() == 60);
    }
}

TEST_CASE("failures do not stall it") {
  const auto space = box({5, 5, 5});
  bayesian search;
  const auto all = run(
      search, space, [](const point&) { return std::numeric_limits<double>::infinity(); }, 1000, 4, 1);
  CHECK(all.ended);
  CHECK(all.asked.size() == 125);
  const auto most_fail = [](const point& p) {
    return p[0] + p[1] + p[2] >= 6 && p[0] < 3 ? bowl(p) : std::numeric_limits<double>::infinity();  // 36 of 125 run
  };
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    bayesian again;
    CHECK(run(again, space, most_fail, 50, 1, seed).best == 1);
  }
}

TEST_CASE("a space of one point") {
  const auto space = box({1, 1});
  bayesian search;
  const auto got = run(search, space, bowl, 10, 3, 1);
  CHECK(got.ended);
  CHECK(got.asked.size() == 1);
}

TEST_CASE("it may be asked while points are outstanding, and then looks elsewhere") {
  const auto space = box({8, 8, 8});
  bayesian search;
  tileseek::rng random(1);
  const auto first = search.ask(space, random, 10);
  CHECK(first.size() == 5);
  CHECK(search.ask(space, random, 10).empty());  // it waits for the first points
  std::vector<trial> done;
  for (const auto& p : first) done.push_back({p, took(bowl(p))});
  search.tell(space, {done.data(), 3});
  std::set<point> asked(first.begin(), first.end());
  for (int i = 0; i < 20; ++i) {
    const auto next = search.ask(space, random, 1);
    REQUIRE(next.size() == 1);
    CHECK(asked.insert(next[0]).second);
  }
  search.tell(space, {done.data() + 3, 2});
  CHECK(search.ask(space, random, 3).size() == 3);
}

TEST_CASE("trials told before the first ask take the place of the first points") {
  const auto space = box({12, 12, 12});
  std::vector<trial> warm;
  for (int i = 0; i < 30; ++i) {
    const point p = {(5 * i) % 12, (7 * i + 1) % 12, (3 * i + i / 12) % 12};
    warm.push_back({p, took(bowl(p))});
  }
  warm.push_back({{99, 0}, took(1e-9)});  // from another space: ignored
  bayesian search;
  search.tell(space, warm);
  const auto got = run(search, space, bowl, 15, 1, 1);
  CHECK(got.best <= 1.1);
  for (const auto& p : got.asked)
    for (const auto& t : warm) CHECK(p != t.at);
}

TEST_CASE("it starts where it is told to, and asks nothing else at first") {
  const auto space = box({12, 12});
  bayesian_options options;
  options.start = point{10, 0};
  bayesian search(options);
  tileseek::rng random(1);
  const auto first = search.ask(space, random, 10);
  CHECK(first.size() == 5);
  CHECK(first.front() == point{10, 0});
  options.start = point{12, 0};
  bayesian outside(options);
  CHECK_THROWS_AS((void)outside.ask(space, random, 1), std::invalid_argument);
}

TEST_CASE("the same seed and answers give the same questions, also after a move") {
  const auto space = box({8, 8, 8});
  bayesian one = drawn_pool();
  bayesian two = drawn_pool();
  (void)run(one, space, bowl, 20, 3, 7);
  (void)run(two, space, bowl, 20, 3, 7);
  bayesian moved = std::move(two);
  CHECK(run(one, space, bowl, 12, 3, 8).asked == run(moved, space, bowl, 12, 3, 8).asked);
}

TEST_CASE("a space of 10^12 points is searched through a drawn pool") {
  const auto space = box(std::vector<int>(12, 10));
  bayesian search;
  CHECK(run(search, space, bowl, 60, 6, 1).best < 8);  // uniform points are about 90
}

TEST_CASE("options out of range are named") {
  const auto message = [](auto change) {
    bayesian_options options;
    change(options);
    try {
      bayesian search(options);
    } catch (const std::invalid_argument& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  using o = bayesian_options;
  CHECK(message([](o& x) { x.start_points = 0; }).starts_with("bayesian: start_points = 0"));
  CHECK(message([](o& x) { x.kappa = std::nan(""); }).starts_with("bayesian: kappa"));
  CHECK(message([](o& x) { x.redraw_after = 0; }).starts_with("bayesian: redraw_after = 0"));
  CHECK(message([](o& x) { x.pool = x.vary_one = x.vary_two = 0; }).starts_with("bayesian: pool"));
  CHECK(message([](o& x) { x.process.start_length = -1; }).find("start_length") != std::string::npos);
  CHECK(message([](o&) {}) == "no error");
}

TEST_CASE("what it hopes to save dwindles as it comes to the end of the space") {
  const auto space = box({6, 6, 6});
  bayesian search;
  CHECK(search.gap() == 0.4);
  (void)run(search, space, bowl, 8, 1, 1);
  const double early = search.gap();
  CHECK(early > 0.05);
  CHECK(early < 1);
  bayesian later;
  (void)run(later, space, bowl, 150, 1, 1);
  CHECK(later.gap() < early / 4);
  CHECK(later.gap() >= 0);
}
