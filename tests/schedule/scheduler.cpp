#include <tileseek/schedule/scheduler.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "simulation.hpp"

using simulation::task_with;
using tileseek::any_scheduler;
using tileseek::rng;
using tileseek::task_state;

namespace {

/// As little as a scheduler needs; it cannot be copied.
struct always {
  std::size_t which = 0;
  std::unique_ptr<int> held{};
  std::optional<std::size_t> next(std::span<const task_state> /*tasks*/, rng& /*random*/) { return which; }
};
struct without_random {
  std::optional<std::size_t> next(std::span<const task_state> /*tasks*/) { return 0; }
};
struct returns_an_int {
  int next(std::span<const task_state> /*tasks*/, rng& /*random*/) { return 0; }
};
struct with_rounds : always {
  std::size_t length = 0;
  [[nodiscard]] std::size_t round(const task_state& /*task*/) const { return length; }
  [[nodiscard]] std::string name() const { return "mine"; }
};

static_assert(tileseek::TaskScheduler<always>);
static_assert(!tileseek::TaskScheduler<without_random>);
static_assert(!tileseek::TaskScheduler<returns_an_int>);
static_assert(!tileseek::TaskScheduler<int>);

}  // namespace

TEST_CASE("any_scheduler holds a scheduler of any kind") {
  rng random;
  const std::vector<task_state> tasks(3);
  any_scheduler s = always{2};
  CHECK(s.next(tasks, random) == 2);
  CHECK(s.name() == "unnamed");
  CHECK(s.round(tasks[0]) == tileseek::default_round);
  with_rounds w;
  w.length = 7;
  any_scheduler named = std::move(w);
  CHECK(named.name() == "mine");
  CHECK(named.round(tasks[0]) == 7);
  CHECK(any_scheduler(with_rounds{}).round(tasks[0]) == 1);  // 0 trials would be a turn without end
  any_scheduler moved = std::move(named);
  CHECK(moved.next(tasks, random) == 0);
}

TEST_CASE("a scheduler that chooses a task that is not there or is finished is found out") {
  rng random;
  std::vector<task_state> tasks(3);
  any_scheduler beyond(always{3}, "beyond");
  CHECK_THROWS_WITH_AS((void)beyond.next(tasks, random), "the scheduler 'beyond' chose task 3, which does not exist",
                       std::logic_error);
  tasks[1].finished = true;
  any_scheduler dead(always{1}, "dead");
  CHECK_THROWS_WITH_AS((void)dead.next(tasks, random), "the scheduler 'dead' chose task 1, which is finished",
                       std::logic_error);
}

TEST_CASE("ties go to living tasks only") {
  std::vector<task_state> tasks(5);
  tasks[1].finished = tasks[4].finished = true;
  std::set<std::size_t> chosen;
  rng random;
  for (int i = 0; i < 200; ++i) {
    const auto c = tileseek::detail::largest(tasks, random, [](std::size_t) { return 1.0; });
    REQUIRE(c);
    chosen.insert(*c);
  }
  CHECK(chosen == std::set<std::size_t>{0, 2, 3});
}

TEST_CASE("no claim, no turn") {
  const std::vector<task_state> tasks(3);
  rng random;
  CHECK_FALSE(tileseek::detail::largest(tasks, random, [](std::size_t) { return 0.0; }));
  CHECK_FALSE(tileseek::detail::largest(tasks, random, [](std::size_t) { return std::nan(""); }));
  CHECK(tileseek::detail::largest(tasks, random, [](std::size_t i) { return i == 1 ? 1e-300 : std::nan(""); }) == 1);
  CHECK_FALSE(tileseek::detail::largest({}, random, [](std::size_t) { return 1.0; }));
}

TEST_CASE("peek() tells what next() would choose, and changes nothing") {
  struct counting {
    std::size_t calls = 0;
    std::optional<std::size_t> next(std::span<const tileseek::task_state> tasks, tileseek::rng& random) {
      return (calls++ + static_cast<std::size_t>(random.below(2))) % tasks.size();
    }
  };
  tileseek::any_scheduler s(counting{});
  const std::vector<tileseek::task_state> tasks(5);
  tileseek::rng random(1);
  for (int i = 0; i < 20; ++i) {
    const auto seen = s.peek(tasks, random);
    CHECK(s.peek(tasks, random) == seen);
    CHECK(s.next(tasks, random) == seen);
  }
}
