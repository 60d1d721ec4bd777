#include <tileseek/schedule/objective.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <stdexcept>
#include <vector>

#include "simulation.hpp"

using doctest::Approx;
using simulation::failed;
using simulation::task_with;
using tileseek::objective;
using tileseek::task_state;

namespace {

using latencies = std::span<const double>;
using tasks = std::span<const task_state>;

static_assert(tileseek::Objective<tileseek::weighted_sum>);
static_assert(tileseek::Objective<tileseek::latency_requirements>);
static_assert(tileseek::Objective<tileseek::geomean_speedup>);
static_assert(tileseek::Objective<tileseek::early_stopping>);
static_assert(!tileseek::Objective<int>);
static_assert(std::is_constructible_v<objective, double (*)(latencies)>);
static_assert(std::is_constructible_v<objective, double (*)(latencies, tasks)>);
static_assert(!std::is_constructible_v<objective, double (*)(int)>);
static_assert(!std::is_constructible_v<objective, const char* (*)(latencies)>);

/// Two networks, of two tasks and one; latencies 2, 3 and 5 ms.
std::vector<task_state> two_networks() {
  std::vector<task_state> t{task_with({2e-3}, 1, 4), task_with({3e-3}, 1, 1), task_with({5e-3}, 1, 2)};
  t[2].network = 1;
  return t;
}

/// What `of` says, with the slopes by difference quotients.
template <class O>
objective by_differences(O of) {
  return [of](latencies l, tasks t) { return of.value(l, t); };
}

template <class O>
void check_slopes(const O& of, const std::vector<task_state>& t) {
  const auto exact = objective(of).slopes(t);
  const auto estimated = by_differences(of).slopes(t);
  REQUIRE(exact.size() == t.size());
  for (std::size_t i = 0; i < t.size(); ++i) CHECK(estimated[i] == Approx(exact[i]).epsilon(1e-3));
}

}  // namespace

TEST_CASE("the weighted sum") {
  const auto t = two_networks();
  CHECK(objective(tileseek::weighted_sum{}).value(t) == Approx(4 * 2e-3 + 3e-3 + 2 * 5e-3));
  CHECK(objective(tileseek::weighted_sum{}).slopes(t) == std::vector<double>{4, 1, 2});
  check_slopes(tileseek::weighted_sum{}, t);
}

TEST_CASE("a network that meets its requirement is worth nothing more") {
  auto t = two_networks();  // 11 ms and 10 ms
  const tileseek::latency_requirements of({20e-3, 6e-3});
  CHECK(objective(of).value(t) == Approx(20e-3 + 10e-3));
  CHECK(objective(of).slopes(t) == std::vector<double>{0, 0, 2});
  check_slopes(of, t);
  // A task without a valid result has a guessed latency, which meets no requirement.
  t[1] = task_with({failed});
  t[1].untuned = 1e-9;
  CHECK(objective(of).slopes(t) == std::vector<double>{4, 1, 2});
}

TEST_CASE("the geometric mean of the speed-ups") {
  const auto t = two_networks();
  const tileseek::geomean_speedup of({22e-3, 80e-3});  // speed-ups of 2 and 8
  CHECK(objective(of).value(t) == Approx(-4));
  CHECK(objective(of).slopes(t)[0] == Approx(4.0 / 2 * 4 / 11e-3));
  check_slopes(of, t);
  SUBCASE("with a network for each task, only the ratio counts") {
    auto single = t;
    for (std::size_t i = 0; i < single.size(); ++i) single[i].network = i;
    const auto slopes = objective(tileseek::geomean_speedup({1, 1, 1})).slopes(single);
    CHECK(slopes[0] * 2e-3 == Approx(slopes[1] * 3e-3));
    CHECK(slopes[0] * 2e-3 == Approx(slopes[2] * 5e-3));
  }
  SUBCASE("a network without tasks says nothing") {
    auto apart = t;
    apart[2].network = 2;
    const tileseek::geomean_speedup with_gap({22e-3, 1, 80e-3});
    CHECK(objective(with_gap).value(apart) == Approx(-4));
    CHECK(objective(with_gap).slopes(apart)[0] == Approx(4.0 / 2 * 4 / 11e-3));
  }
}

TEST_CASE("a task that has not improved for a while counts no more") {
  std::vector<task_state> t{task_with({5, 5, 5, 5}), task_with({5, 4, 3, 2}),
                            task_with({failed, failed, failed, failed})};
  CHECK(objective(tileseek::early_stopping(4)).slopes(t) == std::vector<double>{0, 1, 0});
  CHECK(objective(tileseek::early_stopping(5)).slopes(t) == std::vector<double>{1, 1, 1});
  CHECK(objective(tileseek::early_stopping(4, tileseek::geomean_speedup({7.0}))).slopes(t)[0] == 0);
  CHECK(objective(tileseek::early_stopping(4)).value(t) == objective(tileseek::weighted_sum{}).value(t));
}

TEST_CASE("a step of 1e-4 s made the latencies of fast kernels negative: it is relative") {
  std::vector<task_state> t{task_with({2e-6}), task_with({3e-9}), task_with({40.0})};
  const objective log_sum([](latencies l) {
    double sum = 0;
    for (const double x : l) sum += std::log(x);
    return sum;
  });
  const auto slopes = log_sum.slopes(t);
  CHECK(slopes[0] == Approx(1 / 2e-6).epsilon(1e-3));
  CHECK(slopes[1] == Approx(1 / 3e-9).epsilon(1e-3));
  CHECK(slopes[2] == Approx(1 / 40.0).epsilon(1e-3));
}

TEST_CASE("an objective that rises when a task gets faster tripped an assertion: the task is left alone") {
  const std::vector<task_state> t{task_with({2.0}), task_with({3.0})};
  const objective odd([](latencies l) { return l[0] - 5 * l[1]; });
  CHECK(odd.slopes(t)[0] == Approx(1));
  CHECK(odd.slopes(t)[1] == 0);
}

TEST_CASE("a task without a valid result is as slow as untuned, else ten times as slow as the others") {
  std::vector<task_state> t{task_with({2.0}), task_with({4.0}), task_with({failed})};
  const objective last([](latencies l) { return l[2]; });
  CHECK(last.value(t) == Approx(30));
  t[2].untuned = 7;
  CHECK(last.value(t) == Approx(7));
  t[2] = task_with({9.0});
  t[2].untuned = 7;
  CHECK(last.value(t) == Approx(9));
  const std::vector<task_state> nothing{task_with({failed}), task_with({failed}), task_with({})};
  CHECK(last.value(nothing) == Approx(1));
}

TEST_CASE("what makes no sense is refused by name") {
  const auto t = two_networks();
  CHECK_THROWS_WITH_AS((tileseek::latency_requirements({1.0, 0.0})),
                       "latency_requirements: seconds holds 0; give seconds above 0", std::invalid_argument);
  CHECK_THROWS_AS((tileseek::geomean_speedup({})), std::invalid_argument);
  CHECK_THROWS_AS(tileseek::early_stopping(0), std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      (void)objective(tileseek::geomean_speedup({1.0})).value(t),
      "geomean_speedup: task 2 belongs to network 1, counted from 0, and reference has a number for the "
      "first 1; give one for each network",
      std::invalid_argument);
  CHECK_THROWS_AS((void)objective(tileseek::latency_requirements({1.0})).slopes(t), std::invalid_argument);
  const objective undefined([](latencies) { return std::numeric_limits<double>::quiet_NaN(); });
  CHECK_THROWS_AS((void)undefined.slopes(t), std::domain_error);
}
