#include <tileseek/tune/budget.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

using tileseek::budget;
using tileseek::max_seconds;
using tileseek::max_trials;
using tileseek::progress;
using tileseek::share_of_space;
using tileseek::stalled_for;
using tileseek::stop;
using tileseek::target;

namespace {
constexpr double infinite = std::numeric_limits<double>::infinity();
const double not_a_number = std::numeric_limits<double>::quiet_NaN();

progress at(std::size_t trials, double seconds = 0, double best = infinite, std::size_t improved = 0) {
  progress p;
  p.trials = trials;
  p.seconds = seconds;
  p.best = best;
  p.last_improvement = improved;
  p.space_size = 1000;
  return p;
}
}  // namespace

TEST_CASE("a budget that is not given never ends a run") {
  const budget none;
  CHECK(!none.limited());
  CHECK(!none.spent(at(1'000'000'000, 1e9, 0)));
  CHECK(none.trial_limit(at(0)) == infinite);
  CHECK(none.second_limit() == infinite);
}

TEST_CASE("each kind ends a run at its limit, not before, and says why") {
  CHECK(!max_trials(10).spent(at(9)));
  CHECK(max_trials(10).spent(at(10)) == stop::trials);
  CHECK(max_trials(0).spent(at(0)) == stop::trials);
  CHECK(max_trials(0).limited());
  CHECK(!max_seconds(2.5).spent(at(0, 2.4)));
  CHECK(max_seconds(2.5).spent(at(0, 2.5)) == stop::seconds);
  CHECK(!target(1e-3).spent(at(0, 0, 1.1e-3)));
  CHECK(target(1e-3).spent(at(0, 0, 1e-3)) == stop::target);
  CHECK(!stalled_for(5).spent(at(14, 0, 1, 10)));
  CHECK(stalled_for(5).spent(at(15, 0, 1, 10)) == stop::stalled);
  CHECK(!share_of_space(0.5).spent(at(499)));
  CHECK(share_of_space(0.5).spent(at(500)) == stop::fraction);
  CHECK(share_of_space(1).spent(at(1000)) == stop::fraction);
}

TEST_CASE("|| ends with either, of both with the first") {
  const auto b = max_trials(10) || max_seconds(5);
  CHECK(!b.spent(at(9, 4)));
  CHECK(b.spent(at(10, 4)) == stop::trials);
  CHECK(b.spent(at(9, 5)) == stop::seconds);
  CHECK(b.spent(at(10, 5)) == stop::trials);
  CHECK((budget{} || max_trials(3)).spent(at(3)) == stop::trials);
  CHECK((max_trials(3) || budget{}).spent(at(3)) == stop::trials);
  CHECK(!(budget{} || budget{}).limited());
}

TEST_CASE("&& ends when both are spent") {
  const auto b = max_trials(10) && max_seconds(5);
  CHECK(!b.spent(at(10, 4)));
  CHECK(!b.spent(at(9, 5)));
  CHECK(b.spent(at(11, 6)) == stop::trials);
  CHECK(!(budget{} && max_trials(3)).limited());
  CHECK(!(max_trials(3) && budget{}).spent(at(100)));
}

TEST_CASE("budgets nest") {
  const auto b = max_trials(100) || (max_seconds(60) && stalled_for(20));
  CHECK(!b.spent(at(50, 61, 1, 40)));
  CHECK(b.spent(at(60, 61, 1, 40)) == stop::seconds);
  CHECK(b.spent(at(100, 1, 1, 99)) == stop::trials);
  CHECK(b.trial_limit(at(0)) == 100);
  CHECK(b.second_limit() == infinite);  // the clock alone does not decide
}

TEST_CASE("the trials and seconds at which a run ends at the latest") {
  CHECK(max_trials(7).trial_limit(at(0)) == 7);
  CHECK(max_seconds(7).trial_limit(at(0)) == infinite);
  CHECK(max_seconds(7).second_limit() == 7);
  CHECK(max_trials(7).second_limit() == infinite);
  CHECK(share_of_space(0.0015).trial_limit(at(0)) == 2);  // 1.5 trials are spent with the second
  CHECK((max_trials(7) || max_trials(3)).trial_limit(at(0)) == 3);
  CHECK((max_trials(7) && max_trials(3)).trial_limit(at(0)) == 7);
  CHECK((max_trials(7) && max_seconds(3)).trial_limit(at(0)) == infinite);
  CHECK((max_trials(7) || max_seconds(3)).second_limit() == 3);
  CHECK((target(1) || stalled_for(3)).trial_limit(at(0)) == infinite);
  // It is the number at which spent() says so.
  for (const double share : {0.001, 0.0003, 0.3333, 0.7, 1.0}) {
    const auto limit = static_cast<std::size_t>(share_of_space(share).trial_limit(at(0)));
    CHECK(share_of_space(share).spent(at(limit)) == stop::fraction);
    CHECK(!share_of_space(share).spent(at(limit - 1)));
  }
}

TEST_CASE("a limit without a meaning is refused") {
  for (const double bad : {0.0, -1.0, not_a_number}) {
    CHECK_THROWS_AS(static_cast<void>(max_seconds(bad)), std::invalid_argument);
    CHECK_THROWS_AS(static_cast<void>(target(bad)), std::invalid_argument);
    CHECK_THROWS_AS(static_cast<void>(share_of_space(bad)), std::invalid_argument);
  }
  CHECK_THROWS_AS(static_cast<void>(stalled_for(0)), std::invalid_argument);
  CHECK_THROWS_WITH_AS(static_cast<void>(share_of_space(1.01)),
                       "budget: a share of the space is at most 1, and is 1.01", std::invalid_argument);
  CHECK_THROWS_WITH_AS(static_cast<void>(max_seconds(-1e-9)), "budget: seconds must be above 0, and is -1e-09",
                       std::invalid_argument);
}
