#include <tileseek/schedule/round_robin.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <stdexcept>
#include <vector>

#include "simulation.hpp"

using simulation::curve;
using simulation::failed;
using simulation::play;
using tileseek::round_robin;
using tileseek::task_state;

TEST_CASE("round robin goes round, and passes over the finished") {
  std::vector<task_state> tasks(4);
  tasks[2].finished = true;
  const std::vector<curve> curves(4, [](std::size_t) { return 1.0; });
  const auto p = play(round_robin(1), tasks, curves, 7);
  CHECK(p.turns == std::vector<std::size_t>{0, 1, 3, 0, 1, 3, 0});
}

TEST_CASE("three tasks of at most 101 trials in rounds of 6 have exactly 101 each") {
  const std::vector<curve> curves(3, [](std::size_t n) { return n % 2 == 0 ? failed : 1.0; });
  const auto p = play(round_robin(6), std::vector<task_state>(3), curves, 303, 101);
  for (const auto& t : p.tasks) CHECK(t.history.trials() == 101);
  const auto more = play(round_robin(6), std::vector<task_state>(3), curves, 1000, 101);
  for (const auto& t : more.tasks) CHECK(t.history.trials() == 101);
}

TEST_CASE("all finished: nobody's turn") {
  std::vector<task_state> tasks(2);
  tasks[0].finished = tasks[1].finished = true;
  tileseek::rng random;
  CHECK_FALSE(round_robin().next(tasks, random));
  CHECK_FALSE(round_robin().next({}, random));
}

TEST_CASE("a turn has at least one trial") {
  CHECK_THROWS_WITH_AS(round_robin(0), "round_robin: round is 0; give at least 1 trial a turn", std::invalid_argument);
  CHECK(round_robin(6).round(task_state{}) == 6);
}
