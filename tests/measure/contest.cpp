#include <tileseek/measure/contest.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

using tileseek::contest;
using tileseek::measurement;
using tileseek::rng;
using tileseek::status;
using tileseek::verdict;

namespace {
const auto always = [](std::size_t) { return true; };
}

TEST_CASE("contest: every round measures each contestant once, in an order of its own") {
  rng random(3);
  std::vector<std::size_t> order;
  const auto record = contest(
      4, 20, random,
      [&](std::size_t i) {
        order.push_back(i);
        return measurement{status::ok, {static_cast<double>(order.size())}, {}};
      },
      always);
  REQUIRE(order.size() == 80);
  std::set<std::vector<std::size_t>> orders;
  for (auto it = order.begin(); it != order.end(); it += 4) {
    std::vector<std::size_t> round(it, it + 4);
    orders.insert(round);
    std::sort(round.begin(), round.end());
    CHECK(round == std::vector<std::size_t>{0, 1, 2, 3});
  }
  CHECK(orders.size() > 5);
  REQUIRE(record.seconds.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    REQUIRE(record.seconds[i].size() == 20);
    for (std::size_t r = 0; r < 20; ++r)  // sample r of contestant i is of round r
      CHECK(order[static_cast<std::size_t>(record.seconds[i][r]) - 1] == i);
    for (std::size_t r = 0; r < 20; ++r) CHECK(static_cast<std::size_t>(record.seconds[i][r] - 1) / 4 == r);
  }
}

TEST_CASE("contest: a disturbance that hits a whole round hits both sides") {
  rng random(5);
  std::size_t calls = 0;
  const auto record = contest(
      2, 9, random,
      [&](std::size_t i) {
        const double disturbance = calls++ / 2 % 3 == 0 ? 10 : 1;
        return measurement{status::ok, {disturbance * (i == 0 ? 1.0 : 1.1)}, {}};
      },
      always);
  const auto against = record.compare(0, 1);
  CHECK(against.ratio == doctest::Approx(1.1));
  CHECK(against.says == verdict::faster);
  CHECK(record.compare(1, 0).says == verdict::slower);
}

TEST_CASE("contest: failures are not numbers, and a contestant that always fails is infinitely slow") {
  rng random(1);
  int calls = 0;
  const auto record = contest(
      3, 6, random,
      [&](std::size_t i) {
        if (i == 0) return tileseek::failure(status::crashed, "");
        if (i == 1 && ++calls == 2) return tileseek::failure(status::timed_out, "");
        return measurement{status::ok, {1.0}, {}};
      },
      always);
  CHECK(record.median_of(0) == std::numeric_limits<double>::infinity());
  CHECK(record.median_of(1) == 1.0);
  CHECK(std::count_if(record.seconds[1].begin(), record.seconds[1].end(), [](double s) { return s != s; }) == 1);
  CHECK(record.compare(2, 0).says == verdict::cannot_tell);
  CHECK(record.compare(2, 1).ratio == 1.0);
}

TEST_CASE("contest: no contestants, no rounds, and an early end") {
  rng random(1);
  const auto never = [](std::size_t) -> measurement {
    FAIL("measured");
    return {};
  };
  CHECK(contest(0, 5, random, never, always).seconds.empty());
  const auto none = contest(2, 0, random, never, always);
  REQUIRE(none.seconds.size() == 2);
  CHECK(none.seconds[0].empty());
  std::vector<std::size_t> asked;
  const auto early = contest(
      2, 9, random,
      [](std::size_t) {
        return measurement{status::ok, {1.0}, {}};
      },
      [&](std::size_t rounds) {
        asked.push_back(rounds);
        return rounds < 3;
      });
  CHECK(early.seconds[0].size() == 3);
  CHECK(early.seconds[1].size() == 3);
  CHECK(asked == std::vector<std::size_t>{0, 1, 2, 3});
}

TEST_CASE("contest: the order follows the seed") {
  const auto order_of = [](std::uint64_t seed) {
    rng random(seed);
    std::vector<std::size_t> order;
    static_cast<void>(contest(
        5, 4, random,
        [&](std::size_t i) {
          order.push_back(i);
          return measurement{status::ok, {1.0}, {}};
        },
        always));
    return order;
  };
  CHECK(order_of(1) == order_of(1));
  CHECK(order_of(1) != order_of(2));
}
