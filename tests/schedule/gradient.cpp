#include <tileseek/schedule/gradient.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <set>
#include <span>
#include <stdexcept>
#include <vector>

#include "simulation.hpp"

using simulation::curve;
using simulation::failed;
using simulation::play;
using simulation::task_with;
using tileseek::failure_rule;
using tileseek::gradient;
using tileseek::gradient_options;
using tileseek::rng;
using tileseek::task_state;

namespace {

std::size_t choice(gradient_options o, const std::vector<task_state>& tasks, std::uint64_t seed = 0) {
  rng random(seed);
  const auto c = gradient(std::move(o)).next(tasks, random);
  return c ? *c : static_cast<std::size_t>(-1);
}

gradient_options published() {
  gradient_options o;
  o.failures = failure_rule::published;
  return o;
}

}  // namespace

TEST_CASE("the defaults are the published ones") {
  const gradient_options o;
  CHECK(o.alpha == 0.2);
  CHECK(o.beta == 2);
  CHECK(o.window == 3);
  CHECK(gradient(gradient_options::meta_schedule()).round(task_state{}) == 64);
  CHECK(gradient_options::ansor().groups);
  CHECK_FALSE(gradient_options::meta_schedule().groups);
}

TEST_CASE("every task has one round first") {
  const std::vector<curve> curves{[](std::size_t) { return 1e3; }, [](std::size_t) { return 1.0; },
                                  [](std::size_t) { return 1.0; }};
  const auto p = play(gradient(), std::vector<task_state>(3), curves, 16);
  REQUIRE(p.turns.size() == 4);
  CHECK(std::vector<std::size_t>(p.turns.begin(), p.turns.begin() + 3) == std::vector<std::size_t>{0, 1, 2});
  CHECK(p.turns[3] == 0);
}

TEST_CASE("the choice is the published formula's, by hand") {
  // After 5 rounds: fell by (9 - 6) / 3 = 1 a round, ahead 6 / 5: 0.2 * 1 + 0.8 * 1.2 = 1.16.
  const auto falling = task_with({10, 9, 8, 7, 6});
  // Stands at b since ever: 0.8 * b / 5, equal at b = 7.25.
  const auto standing = [](double b) { return task_with({b, b, b, b, b}); };
  CHECK(choice({}, {falling, standing(7.24)}) == 0);
  CHECK(choice({}, {falling, standing(7.26)}) == 1);
  // Weights are slopes.
  auto heavy = standing(3.63);
  heavy.weight = 2;
  CHECK(choice({}, {falling, heavy}) == 1);
  // alpha = 1: only the past; alpha = 0: only the bound.
  gradient_options o;
  o.alpha = 1;
  CHECK(choice(o, {falling, standing(1000)}) == 0);
  o.alpha = 0;
  CHECK(choice(o, {falling, standing(6.01)}) == 1);
  CHECK(choice(o, {falling, standing(5.99)}) == 0);
  // Within the window nothing is known of the past: 0.8 * 7 / 3 against 0.8 * 8 / 3.
  CHECK(choice({}, {task_with({1e9, 1e8, 7}), task_with({8, 8, 8})}) == 1);
  CHECK(choice(published(), {task_with({9, 9, 7}), task_with({8, 8})}) == 1);
}

TEST_CASE("a preset history of 1e2 and 1e-8 seconds, five trials: four for the first, one for the second") {
  gradient_options o;
  o.round = 1;
  o.of = tileseek::objective([](std::span<const double> l) { return 1e5 * l[0]; });
  const std::vector<curve> curves{[](std::size_t) { return 1e2; }, [](std::size_t) { return 1e-8; }};
  const auto p = play(gradient(o), std::vector<task_state>(2), curves, 5);
  CHECK(p.tasks[0].history.trials() == 4);
  CHECK(p.tasks[1].history.trials() == 1);
}

TEST_CASE("a task whose first round failed was never tried again: it is, and does not eat the budget") {
  const auto slow_start = [](std::size_t n) { return n < 10 ? failed : 1.0; };
  const auto dead = [](std::size_t) { return failed; };
  const auto fine = [](std::size_t n) { return 1.0 + 1.0 / (1.0 + static_cast<double>(n)); };
  const std::vector<curve> curves{slow_start, dead, fine, fine};
  const auto repaired = play(gradient(), std::vector<task_state>(4), curves, 400);
  CHECK(repaired.tasks[0].history.valid());
  CHECK(repaired.tasks[1].history.trials() < 200);  // thought to be ten times as slow as the others
  const auto faulty = play(gradient(published()), std::vector<task_state>(4), curves, 400);
  CHECK_FALSE(faulty.tasks[0].history.valid());
  CHECK(faulty.tasks[0].history.trials() == 4);
  // When nobody else lives, even the published rule comes back.
  std::vector<task_state> left{task_with({failed}), task_with({1.0})};
  left[1].finished = true;
  CHECK(choice(published(), left) == 0);
}

TEST_CASE("a failed round was a latency of 1e9 in the history: the first success took the budget") {
  const auto recovered = task_with({failed, failed, 1.0, 1.0, 1.0});
  const auto promising = task_with({4.0, 3.5, 3.0, 2.5, 2.2});
  CHECK(choice({}, {recovered, promising}) == 1);
  CHECK(choice(published(), {recovered, promising}) == 0);
}

TEST_CASE("a search that had to look for something that runs has only begun when it has it") {
  const auto late = task_with({failed, 2.0, 2.0});  // as after 2 rounds: 0.8 * 2 / 2
  CHECK(choice({}, {late, task_with({1.9, 1.9})}) == 0);
  CHECK(choice({}, {late, task_with({2.1, 2.1})}) == 1);
  CHECK(choice(published(), {late, task_with({1.9, 1.9})}) == 1);
}

TEST_CASE("a task without a valid result has a claim by what it costs untuned") {
  auto unknown = task_with({failed});
  unknown.untuned = 100;
  CHECK(choice({}, {unknown, task_with({44.0})}) == 0);  // 100 / 2^1.5 against 0.8 * 44
  CHECK(choice({}, {unknown, task_with({45.0})}) == 1);
}

TEST_CASE("the bound by the alike: who is far below the group's speed goes first, and may leave the group") {
  gradient_options o;
  o.groups = true;
  o.alpha = 0;
  const auto at = [](std::vector<double> costs, double flop, std::size_t group) {
    auto t = task_with(costs);
    t.flop = flop;
    t.group = group;
    return t;
  };
  const std::vector<double> ten(10, 1.0);
  // 1 FLOP/s where the group reaches 10: to get within half of it saves 0.8 of a second, more than 1/10.
  const std::vector<task_state> tasks{at(ten, 1, 0), at(ten, 10, 0), at(std::vector<double>(10, 2.0), 1, 1)};
  CHECK(choice(o, tasks) == 0);
  o.groups = false;
  CHECK(choice(o, tasks) == 2);
  o.groups = true;

  SUBCASE("left after 5 rounds more than all others") {
    auto stubborn = tasks;
    stubborn[0] = at(std::vector<double>(16, 1.0), 1, 0);
    CHECK(choice(o, stubborn) == 2);
    stubborn[0] = at(std::vector<double>(15, 1.0), 1, 0);
    CHECK(choice(o, stubborn) == 0);
  }
  SUBCASE("for good") {
    gradient g(o);
    rng random;
    auto later = tasks;
    later[0] = at(std::vector<double>(16, 1.0), 1, 0);
    CHECK(g.next(later, random) == 2);
    later[1] = at(std::vector<double>(40, 1.0), 10, 0);
    CHECK(g.next(later, random) == 2);
  }
  SUBCASE("a group of one is none") {
    auto alone = tasks;
    alone[1].group = 2;
    CHECK(choice(o, alone) == 2);
    o.beta = 0.5;  // and does not wait for itself to be twice as fast
    alone[2].group = task_state::no_group;
    CHECK(choice(o, alone) == 2);
  }
  SUBCASE("a member without a valid result does not count as infinitely slow or fast") {
    auto failing = tasks;
    failing.push_back(at({failed, failed, failed, failed, failed, failed}, 5, 0));
    failing.back().untuned = 1e-3;
    CHECK(choice(o, failing) == 0);
  }
}

TEST_CASE("a tie was broken among all tasks, the finished included, and nothing moved any more") {
  std::vector<task_state> tasks(6, task_with({2.0, 2.0}));
  tasks[0].finished = tasks[3].finished = true;
  std::set<std::size_t> chosen;
  for (std::uint64_t seed = 0; seed < 100; ++seed) chosen.insert(choice({}, tasks, seed));
  CHECK(chosen == std::set<std::size_t>{1, 2, 4, 5});
  // With nothing but failures, too.
  std::vector<task_state> failing(3, task_with({failed}));
  failing[1].finished = true;
  chosen.clear();
  for (std::uint64_t seed = 0; seed < 100; ++seed) chosen.insert(choice(published(), failing, seed));
  CHECK(chosen == std::set<std::size_t>{0, 2});
}

TEST_CASE("no living task, no task, nothing worth a trial: nobody's turn") {
  rng random;
  CHECK_FALSE(gradient().next({}, random));
  std::vector<task_state> tasks{task_with({1.0}), task_with({2.0})};
  gradient_options o;
  o.of = tileseek::latency_requirements({10.0});
  CHECK_FALSE(gradient(o).next(tasks, random));
  tasks[0].finished = tasks[1].finished = true;
  CHECK_FALSE(gradient().next(tasks, random));
}

TEST_CASE("epsilon: now and then a task at random") {
  gradient_options o;
  o.epsilon = 0.5;
  const std::vector<task_state> tasks{task_with({100.0}), task_with({1.0}), task_with({1.0})};
  gradient g(o);
  rng random(7);
  std::size_t others = 0;
  for (int i = 0; i < 3000; ++i) others += *g.next(tasks, random) != 0;
  CHECK(others > 900);  // 1,000 are expected, with a deviation of 26
  CHECK(others < 1100);
}

TEST_CASE("the same seed, the same choices") {
  const std::vector<curve> curves(5, [](std::size_t n) { return 1.0 + 1.0 / (1.0 + static_cast<double>(n / 8)); });
  gradient_options o;
  o.epsilon = 0.1;
  const auto a = play(gradient(o), std::vector<task_state>(5), curves, 200, 100, 3);
  CHECK(a.turns == play(gradient(o), std::vector<task_state>(5), curves, 200, 100, 3).turns);
  CHECK(a.turns != play(gradient(o), std::vector<task_state>(5), curves, 200, 100, 4).turns);
}

TEST_CASE("options out of range are refused by name") {
  const auto refused = [](auto change) {
    gradient_options o;
    change(o);
    CHECK_THROWS_AS(gradient{o}, std::invalid_argument);
  };
  refused([](auto& o) { o.alpha = 1.5; });
  refused([](auto& o) { o.alpha = std::nan(""); });
  refused([](auto& o) { o.beta = 0; });
  refused([](auto& o) { o.window = 0; });
  refused([](auto& o) { o.epsilon = -0.1; });
  refused([](auto& o) { o.round = 0; });
  gradient_options o;
  o.alpha = 2;
  CHECK_THROWS_WITH(gradient{o}, "gradient: alpha is 2; give a share in [0, 1]; 0.2 is the published one");
}
