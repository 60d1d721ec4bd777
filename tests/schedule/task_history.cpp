#include <tileseek/schedule/task_history.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace {
constexpr double failed = std::numeric_limits<double>::infinity();
}

TEST_CASE("a history keeps the best after each trial and each round") {
  tileseek::task_history h;
  CHECK(h.trials() == 0);
  CHECK_FALSE(h.valid());
  CHECK(h.best() == failed);
  for (const double cost : {5.0, 7.0, 3.0}) h.add(cost);
  h.end_round();
  h.add(2.0);
  h.end_round();
  CHECK(h.trials() == 4);
  CHECK(h.rounds() == 2);
  CHECK(h.failures() == 0);
  CHECK(h.best() == 2);
  CHECK(h.best_after(1) == 5);
  CHECK(h.best_after(2) == 5);
  CHECK(h.best_after(3) == 3);
  CHECK(h.best_after_round(1) == 3);
  CHECK(h.best_after_round(2) == 2);
  CHECK(h.best_after(0) == failed);
  CHECK(h.best_after_round(0) == failed);
}

TEST_CASE("failures never enter the latency history") {
  tileseek::task_history h;
  for (int i = 0; i < 3; ++i) h.add(failed);
  h.end_round();
  CHECK_FALSE(h.valid());
  CHECK(h.failures() == 3);
  CHECK(h.stall() == 3);
  CHECK(h.best_after_round(1) == failed);
  CHECK(h.failed_rounds() == 1);
  h.add(4.0);
  h.end_round();
  h.add(failed);
  h.end_round();
  CHECK(h.failed_rounds() == 1);  // what was found stays
  h.add(std::numeric_limits<double>::quiet_NaN());
  CHECK(h.valid());
  CHECK(h.best() == 4);
  CHECK(h.failures() == 5);
  CHECK(h.trials() == 6);
}

TEST_CASE("what was known before the first trial is the best before it, and no trial") {
  tileseek::task_history h(3.0);
  CHECK(h.valid());
  CHECK(h.best() == 3);
  CHECK(h.trials() == 0);
  h.add(failed);
  h.add(4.0);
  h.end_round();
  CHECK(h.best_after(0) == 3);
  CHECK(h.best_after(2) == 3);
  CHECK(h.best_after_round(0) == 3);
  CHECK(h.stall() == 2);
  h.add(2.0);
  CHECK(h.best() == 2);
  CHECK(h.stall() == 1);
}

TEST_CASE("the stall is counted from the trial after which the best was last notably worse than now") {
  tileseek::task_history h;
  h.add(10.0);
  CHECK(h.stall() == 1);
  h.add(10.0);
  CHECK(h.stall() == 2);
  h.add(5.0);  // the trial before was worse
  CHECK(h.stall() == 1);
  h.add(failed);
  CHECK(h.stall() == 2);
  h.add(4.99);  // 0.2 % better than 5: not notable
  CHECK(h.stall() == 3);
  h.add(4.97);  // nor is it against 4.99, but against 5 it is
  CHECK(h.stall() == 2);
}
