#include <tileseek/measure/time.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <thread>
#include <vector>

using tileseek::status;
using tileseek::timing_limits;
using tileseek::detail::judge;
using tileseek::detail::sampling;
using tileseek::detail::take_samples;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinite = std::numeric_limits<double>::infinity();

timing_limits against(double incumbent) {
  timing_limits l;
  l.incumbent = incumbent;
  return l;
}

sampling judged(const std::vector<double>& seconds, const timing_limits& l, double spent = 0) {
  return judge(seconds, l, spent);
}

/// Takes samples from a list; fails the test when more are taken than there are.
tileseek::measurement taken(const std::vector<double>& from, const timing_limits& l) {
  std::size_t next = 0;
  return take_samples(
      [&] {
        REQUIRE(next < from.size());
        return from[next++];
      },
      l);
}

}  // namespace

TEST_CASE("judge: a hopeless configuration is found out after 3 samples, not before") {
  CHECK(judged({}, against(1)) == sampling::more);
  CHECK(judged({9}, against(1)) == sampling::more);
  CHECK(judged({9, 9}, against(1)) == sampling::more);
  CHECK(judged({9, 9, 9}, against(1)) == sampling::hopeless);
  CHECK(judged({9, 1.2, 9}, against(1)) == sampling::more);  // one good sample is hope
  CHECK(judged({1.25, 9, 9}, against(1)) == sampling::more);
  CHECK(judged({1.2501, 9, 9}, against(1)) == sampling::hopeless);
  CHECK(judged({9, 9, 9}, against(infinite)) == sampling::enough);  // the first of a run has nobody to be compared with
  timing_limits never = against(1);
  never.reject_above = infinite;
  CHECK(judged({9, 10, 11}, never) == sampling::more);
}

TEST_CASE("judge: settled samples, the most samples and the time limit end it") {
  CHECK(judged({1, 1.005, 1.01}, against(1)) == sampling::enough);
  CHECK(judged({1, 1.005, 1.02}, against(1)) == sampling::more);
  CHECK(judged({1, 1}, against(1)) == sampling::more);
  CHECK(judged({1, 1.1, 1.2, 1.3, 1.4, 1.5}, against(1)) == sampling::more);
  CHECK(judged({1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6}, against(1)) == sampling::enough);
  timing_limits hurried = against(1);
  hurried.max_seconds = 2;
  CHECK(judged({1}, hurried, 1.9) == sampling::more);
  CHECK(judged({1}, hurried, 2) == sampling::enough);
  CHECK(judged({9, 9, 9}, hurried, 27) == sampling::hopeless);  // says more than that time was up
  timing_limits single = against(1);
  single.min_samples = single.max_samples = 1;
  CHECK(judged({1}, single) == sampling::enough);
  CHECK(judged({9}, single) == sampling::hopeless);
}

TEST_CASE("judge: zeros and samples that are no numbers") {
  CHECK(judged({0, 0, 0}, against(1)) == sampling::enough);
  CHECK(judged({0, 0, 0}, against(0)) == sampling::enough);
  CHECK(judged({1, 1, 1}, against(0)) == sampling::hopeless);
  CHECK(judged({not_a_number, not_a_number, not_a_number}, against(1)) == sampling::more);
  CHECK(judged({not_a_number, 1, 1}, against(1)) != sampling::hopeless);
  CHECK(judged({1, not_a_number, 1}, against(1)) != sampling::hopeless);
  CHECK(judged({not_a_number, 9, 9}, against(1)) == sampling::hopeless);
  CHECK(judged(std::vector<double>(7, not_a_number), against(1)) == sampling::enough);
  CHECK(judged({infinite, infinite, infinite}, against(1)) == sampling::hopeless);
}

TEST_CASE("take_samples keeps every sample and says why it stopped early") {
  const auto calm = taken({1, 1, 1}, against(1));
  CHECK(calm.outcome == status::ok);
  CHECK(calm.seconds == std::vector<double>{1, 1, 1});
  CHECK(calm.note.empty());
  const auto noisy = taken({1, 2, 1.1, 3, 1, 2, 1.3}, against(1));
  CHECK(noisy.outcome == status::ok);
  CHECK(noisy.seconds.size() == 7);
  CHECK(noisy.cost() == 1.3);
  const auto slow = taken({2.2, 2.1, 2.3}, against(1));
  CHECK(slow.outcome == status::rejected_early);
  CHECK(slow.seconds.size() == 3);
  CHECK(slow.cost() == 2.2);
  CHECK(slow.note == "fastest of 3 samples is 2.10 x the best");
  const auto late = taken({1.2, 2, 3, 4, 5, 6, 7}, against(1));  // never hopeless: its first sample was close
  CHECK(late.outcome == status::ok);
  CHECK(taken({not_a_number, not_a_number, not_a_number, not_a_number, not_a_number, not_a_number, not_a_number},
              against(1))
            .seconds.size() == 7);
  timing_limits hurried;
  hurried.max_seconds = 1.5;
  CHECK(taken({1, 1}, hurried).seconds.size() == 2);
  hurried.max_seconds = 0.5;
  CHECK(taken({1}, hurried).seconds.size() == 1);
}

TEST_CASE("the clock has a resolution") {
  CHECK(tileseek::clock_resolution() > 0);
  CHECK(tileseek::clock_resolution() < 0.1);
  CHECK(tileseek::clock_resolution() == tileseek::clock_resolution());
}

TEST_CASE("time: one call to warm up, then the samples") {
  int calls = 0;
  const auto slow = [&] {
    ++calls;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  };
  timing_limits l;
  l.min_samples = 4;
  l.max_samples = 4;
  const auto m = tileseek::time(slow, l);
  CHECK(m.seconds.size() == 4);
  CHECK(calls >= 5);
  for (const double s : m.seconds) CHECK(s >= 2e-3);
  calls = 0;
  l.incumbent = 1e-6;
  const auto hopeless = tileseek::time(slow, l);
  CHECK(hopeless.outcome == status::rejected_early);
  CHECK(hopeless.seconds.size() == 4);
}

TEST_CASE("time: a first call that pays for cold caches does not pass for a long one") {
  int calls = 0;
  const auto cold = [&] {
    if (++calls == 1) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  };
  const auto m = tileseek::time(cold, {});
  CHECK(calls > 20);  // an increment must be repeated to be seen by the clock
  for (const double s : m.seconds) CHECK(s < 2e-3);
}

TEST_CASE("time: a tiny function is called often enough for the clock") {
  unsigned long calls = 0;
  volatile int sink = 0;
  const auto tiny = [&] {
    ++calls;
    sink = sink + 1;
  };
  timing_limits l;
  l.min_samples = l.max_samples = 3;
  const auto m = tileseek::time(tiny, l);
  REQUIRE(m.seconds.size() == 3);
  CHECK(calls > 20);
  for (const double s : m.seconds) {
    CHECK(std::isfinite(s));
    CHECK(s > 0);
  }
}

TEST_CASE("time: a block that was long only because it was disturbed is measured again with more calls") {
  int calls = 0;
  const auto disturbed = [&] {
    if (++calls == 2) std::this_thread::sleep_for(std::chrono::milliseconds(2));  // the first block is this one call
  };
  const auto m = tileseek::time(disturbed, {});
  CHECK(calls > 20);
  for (const double s : m.seconds) CHECK(s < 1e-3);
}

TEST_CASE("time: what the function throws passes") {
  CHECK_THROWS_AS(static_cast<void>(tileseek::time([] { throw 1; })), int);
}

TEST_CASE("what comes before a call is done before each of them, and is not timed") {
  int before = 0;
  int calls = 0;
  bool ready = false;
  const auto m = tileseek::time(
      [&] {
        ++calls;
        CHECK(ready);
        ready = false;
      },
      {},
      [&] {
        ++before;
        ready = true;
        if (before % 100 == 1) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      });
  CHECK(before == calls);
  CHECK(m.valid());
  CHECK(m.cost() < 2e-5);  // a hundredth of the sleep, were it timed
}
