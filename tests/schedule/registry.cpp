#include <tileseek/schedule/registry.hpp>

#include <doctest/doctest.h>

#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "simulation.hpp"

using simulation::task_with;
using tileseek::make_objective;
using tileseek::make_scheduler;

TEST_CASE("every scheduler that is listed can be made, has its name, and chooses") {
  std::set<std::string> names;
  for (const auto& h : tileseek::schedulers()) {
    CAPTURE(h.name);
    auto s = make_scheduler(h.name);
    CHECK(s.name() == h.name);
    names.insert(s.name());
    tileseek::rng random(1);
    const std::vector<tileseek::task_state> tasks{task_with({1, 1}), task_with({2, 1}), {}};
    CHECK(s.next(tasks, random) == 2);  // the one that had no round
  }
  CHECK(names == std::set<std::string>{"potential", "gradient", "ansor", "meta_schedule", "round_robin"});
  CHECK(make_scheduler("ansor").round({}) == 64);
  CHECK(make_scheduler("meta_schedule").round({}) == 64);
  CHECK(make_scheduler("gradient").round({}) == tileseek::default_round);
}

TEST_CASE("every objective that is listed can be made, and does what its name says") {
  auto a = task_with({2, 1}, 1, 3);
  auto b = task_with({5, 5});
  b.network = 1;
  const std::vector<tileseek::task_state> tasks{a, b};
  CHECK(make_objective("weighted_sum").value(tasks) == 8);
  CHECK(make_objective("latency_requirements=4,1").value(tasks) == 9);
  CHECK(make_objective("geomean_speedup=6,10").value(tasks) == doctest::Approx(-2));
  CHECK(make_objective("early_stopping=2").slopes(tasks) == std::vector<double>{3, 0});
  for (const auto& h : tileseek::objectives()) {
    const std::string text = std::string(h.name) + (h.values[0] == '\0' ? "" : "=2,3");
    CAPTURE(text);
    if (std::string(h.name) == "early_stopping")
      CHECK_THROWS_AS((void)make_objective(text), std::invalid_argument);
    else
      (void)make_objective(text);
  }
}

TEST_CASE("a scheduler serves the objective it is made for") {
  // By the sum, the first; it meets its requirement, and the second does not.
  auto a = task_with({4, 4, 4, 4});
  auto b = task_with({1, 1, 1, 1});
  b.network = 1;
  const std::vector<tileseek::task_state> tasks{a, b};
  for (const char* name : {"potential", "gradient"}) {
    tileseek::rng random(1);
    CHECK(make_scheduler(name).next(tasks, random) == 0);
    CHECK(make_scheduler(name, make_objective("latency_requirements=4,0.5")).next(tasks, random) == 1);
  }
}

TEST_CASE("what there is not is refused, with what there is") {
  CHECK_THROWS_WITH_AS((void)make_scheduler("fair"),
                       "no scheduler 'fair'; there are potential, gradient, ansor, meta_schedule, round_robin",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS((void)make_objective("speed"),
                       "no objective 'speed'; there are weighted_sum, latency_requirements, geomean_speedup, "
                       "early_stopping",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS((void)make_objective("latency_requirements"),
                       "latency_requirements needs numbers; write latency_requirements=NUMBER,...",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS((void)make_objective("latency_requirements=1,x"),
                       "latency_requirements: 'x' is not a number; write latency_requirements=NUMBER,...",
                       std::invalid_argument);
  for (const char* text : {"weighted_sum=1", "geomean_speedup=", "latency_requirements=-1", "early_stopping=0",
                           "early_stopping=nan", "early_stopping=1e300", ""})
    CHECK_THROWS_AS((void)make_objective(text), std::invalid_argument);
}
