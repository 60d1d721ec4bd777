#include <tileseek/schedule/potential.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <set>
#include <stdexcept>
#include <vector>

#include <tileseek/schedule/round_robin.hpp>

#include "simulation.hpp"

using simulation::curve;
using simulation::failed;
using simulation::play;
using simulation::task_with;
using tileseek::potential;
using tileseek::potential_options;
using tileseek::rng;
using tileseek::task_state;

namespace {

std::size_t choice(const std::vector<task_state>& tasks, std::uint64_t seed = 0) {
  rng random(seed);
  const auto c = potential().next(tasks, random);
  return c ? *c : static_cast<std::size_t>(-1);
}

std::vector<double> flat(std::size_t n, double cost = 1) { return std::vector<double>(n, cost); }

/// A search that falls like 1/n from twice its optimum, or faster or slower.
curve decaying(double optimum, double rate) {
  return [=](std::size_t n) { return optimum * (1 + std::pow(static_cast<double>(n) + 1, -rate)); };
}

double total(const std::vector<task_state>& tasks) {
  return tileseek::objective(tileseek::weighted_sum{}).value(tasks);
}

}  // namespace

TEST_CASE("the index, by hand: of two tasks the one with more at stake, less spent, a younger best, a steeper past") {
  CHECK(choice({task_with(flat(8, 1.0)), task_with(flat(8, 1.1))}) == 1);
  CHECK(choice({task_with(flat(8), 1, 1.1), task_with(flat(8))}) == 0);
  CHECK(choice({task_with(flat(8)), task_with(flat(9))}) == 0);
  CHECK(choice({task_with({2, 1, 1, 1, 1, 1, 1, 1}), task_with({2, 2, 1, 1, 1, 1, 1, 1})}) == 1);
  CHECK(choice({task_with({3, 2, 2, 2, 1, 1, 1, 1}), task_with({3, 3, 3, 3, 1, 1, 1, 1})}) == 1);
}

TEST_CASE("the index, by hand: its figures") {
  // n = 8, best 1 since trial 6 (s = 3), 2 after trial 4.
  const auto a = task_with({4, 4, 4, 2, 2, 1, 1, 1});
  const double index = std::pow(8, -1.6) * std::pow(5.0 / 8, -0.5) * std::pow(std::log(2.0) + 0.01, 0.3);
  // n = 4, flat: s = 4 and d = 0, times its weight.
  const double other = std::pow(4, -1.6) * std::pow(6.0 / 4, -0.5) * std::pow(0.01, 0.3);
  auto b = task_with(flat(4));
  b.weight = index / other * 1.001;
  CHECK(choice({a, b}) == 1);
  b.weight = index / other * 0.999;
  CHECK(choice({a, b}) == 0);
}

TEST_CASE("what the search's own model says counts where there is one") {
  auto a = task_with({2, 2, 2, 2, 2, 1, 1, 1});
  a.gap = 0.3;
  const double index =
      std::pow(8, -1.25) * std::pow(5.0 / 8, -0.6) * std::pow(std::log(2.0) + 0.01, 0.2) * std::pow(0.32, 0.7);
  auto b = a;
  b.gap = 0.1;
  b.weight = std::pow(0.32 / 0.12, 0.7) * 1.001;
  CHECK(choice({a, b}) == 1);
  b.weight /= 1.002;
  CHECK(choice({a, b}) == 0);
  const double other = std::pow(4, -1.6) * std::pow(6.0 / 4, -0.5) * std::pow(0.01, 0.3);
  auto without = task_with(flat(4));
  without.weight = index / other * 1.001;
  CHECK(choice({a, without}) == 1);
  without.weight = index / other * 0.999;
  CHECK(choice({a, without}) == 0);
}

TEST_CASE("a task that is near what it can reach waits") {
  auto near = task_with(flat(8));
  near.reachable = 0.8;
  auto far = near;
  far.reachable = 0.5;
  far.weight = 0.41;  // 0.41 * 0.5 > 0.2
  CHECK(choice({near, far}) == 1);
  far.weight = 0.39;
  CHECK(choice({near, far}) == 0);
  // An estimate may be wrong: a task faster than it keeps a tenth of its claim.
  far.reachable = 2;
  far.weight = 2.1;
  CHECK(choice({near, far}) == 1);
  far.weight = 1.9;
  CHECK(choice({near, far}) == 0);
}

TEST_CASE("a task without a valid result keeps a claim, and does not eat the budget") {
  const std::vector<curve> curves{[](std::size_t n) { return n < 70 ? failed : 1.0; },
                                  [](std::size_t) { return failed; },
                                  decaying(1, 1),
                                  decaying(1, 0.5),
                                  decaying(1, 1),
                                  decaying(1, 0.5)};
  const auto p = play(potential(), std::vector<task_state>(6), curves, 600);
  CHECK(p.tasks[0].history.valid());
  CHECK(p.tasks[1].history.trials() > 20);
  CHECK(p.tasks[1].history.trials() < 250);
}

TEST_CASE("rounds grow with what a task has had") {
  const potential s;
  CHECK(s.round(task_state{}) == 4);
  CHECK(s.round(task_with(flat(16))) == 4);
  CHECK(s.round(task_with(flat(40))) == 10);
  CHECK(s.round(task_with(flat(10000))) == 64);
  potential_options o;
  o.round = 1;
  o.growth = 0;
  CHECK(potential(o).round(task_with(flat(1000))) == 1);
}

TEST_CASE("it needs fewer trials than round robin where tasks differ, and none draws much worse") {
  double log_ratio = 0;
  constexpr int draws = 40;
  for (std::uint64_t seed = 0; seed < draws; ++seed) {
    rng random(seed);
    std::vector<task_state> tasks(12);
    std::vector<curve> curves;
    for (auto& t : tasks) {
      t.weight = 1 + static_cast<double>(random.below(6));
      curves.push_back(decaying(std::pow(10, 2 * random.uniform() - 1), 0.3 + 0.9 * random.uniform()));
    }
    const double ours = total(play(potential(), tasks, curves, 600, 400, seed).tasks);
    const double theirs = total(play(tileseek::round_robin(), tasks, curves, 600, 400, seed).tasks);
    CHECK(ours < 1.02 * theirs);
    log_ratio += std::log(ours / theirs);
  }
  CHECK(std::exp(log_ratio / draws) < 0.985);
}

TEST_CASE("ties go to living tasks only; no living task, no turn") {
  std::vector<task_state> tasks(4, task_with(flat(4)));
  tasks[1].finished = true;
  std::set<std::size_t> chosen;
  for (std::uint64_t seed = 0; seed < 100; ++seed) chosen.insert(choice(tasks, seed));
  CHECK(chosen == std::set<std::size_t>{0, 2, 3});
  for (auto& t : tasks) t.finished = true;
  rng random;
  CHECK_FALSE(potential().next(tasks, random));
  CHECK_FALSE(potential().next({}, random));
}

TEST_CASE("what it remembers to save time changes no choice") {
  // One scheduler that sees the tasks grow, and one that sees each state for the first time.
  std::vector<task_state> tasks(5);
  std::vector<curve> curves;
  for (int i = 0; i < 5; ++i) curves.push_back(decaying(1 + i, 0.3 + 0.2 * i));
  potential old;
  rng random(1);
  for (int turn = 0; turn < 60; ++turn) {
    rng same = random;
    const auto chosen = old.next(tasks, random);
    REQUIRE(chosen);
    CHECK(chosen == potential().next(tasks, same));
    auto& t = tasks[*chosen];
    for (std::size_t n = old.round(t); n > 0; --n) t.history.add(curves[*chosen](t.history.trials()));
    t.history.end_round();
    if (turn % 7 == 0) t.gap = 0.1;
    if (turn % 11 == 0) t.reachable = 1;
  }
}

TEST_CASE("it remembers nothing of tasks that differ in anything") {
  const auto original = task_with({2, 2, 2, 2, 2, 1, 1, 1});
  auto gap = original;
  gap.gap = 0.9;
  auto reachable = original;
  reachable.reachable = 0.9;
  const auto halfway = task_with({9, 9, 9, 9, 2, 1, 1, 1});
  const auto stall = task_with({2, 2, 2, 2, 2, 2, 2, 1});
  for (const auto& other : {gap, reachable, halfway, stall}) {
    potential s;
    rng random;
    auto against = original;
    // As much weight as makes the two unlike, one way round or the other.
    const bool more = choice({other, against}) == 0;
    against.weight = more ? 1.01 : 0.99;
    REQUIRE(choice({other, against}) == (more ? 0 : 1));
    CHECK(s.next(std::vector<task_state>{original, against}, random) == (more ? 1 : 0));
    CHECK(s.next(std::vector<task_state>{other, against}, random) == (more ? 0 : 1));
  }
}

TEST_CASE("options out of range are refused by name") {
  const auto refused = [](auto change) {
    potential_options o;
    change(o);
    CHECK_THROWS_AS(potential{o}, std::invalid_argument);
  };
  refused([](auto& o) { o.round = 0; });
  refused([](auto& o) { o.growth = -1; });
  refused([](auto& o) { o.growth = std::nan(""); });
  refused([](auto& o) { o.longest_round = 3; });
}
