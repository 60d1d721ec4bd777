#include <tileseek/core/measurement.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>

using tileseek::measurement;
using tileseek::status;

namespace {
constexpr double infinite = std::numeric_limits<double>::infinity();
}

TEST_CASE("every status has a name of its own, which reads back") {
  std::set<std::string> names;
  for (std::size_t i = 0; i < tileseek::status_count; ++i) {
    const auto s = static_cast<status>(i);
    names.insert(std::string(to_string(s)));
    status back = status::ok;
    CHECK(tileseek::from_string(to_string(s), back));
    CHECK(back == s);
  }
  CHECK(names.size() == tileseek::status_count);
  CHECK(to_string(status::rejected_early) == "rejected_early");
  status untouched = status::crashed;
  CHECK(!tileseek::from_string("OK", untouched));
  CHECK(!tileseek::from_string("", untouched));
  CHECK(untouched == status::crashed);
}

TEST_CASE("the cost is the median of the samples") {
  CHECK(measurement{status::ok, {3, 1, 2}, ""}.cost() == 2);
  CHECK(measurement{status::ok, {4, 1, 2, 3}, ""}.cost() == 2.5);
  CHECK(measurement{status::ok, {5}, ""}.cost() == 5);
  CHECK(measurement{status::rejected_early, {3, 1, 2}, ""}.cost() == 2);
}

TEST_CASE("what has no time costs infinitely much") {
  CHECK(measurement{}.cost() == infinite);
  CHECK(measurement{status::ok, {std::nan("")}, ""}.cost() == infinite);
  CHECK(measurement{status::ok, {infinite}, ""}.cost() == infinite);
  for (std::size_t i = 0; i < tileseek::status_count; ++i) {
    const auto s = static_cast<status>(i);
    if (s == status::ok || s == status::rejected_early) continue;
    CHECK(measurement{s, {1, 2, 3}, ""}.cost() == infinite);
    CHECK(!measurement{s, {1, 2, 3}, ""}.valid());
    CHECK(tileseek::failure(s, "why").note == "why");
    CHECK(tileseek::failure(s, "why").outcome == s);
    CHECK(tileseek::failure(s, "why").seconds.empty());
  }
}

TEST_CASE("valid is what has a time and was not rejected") {
  CHECK(measurement{status::ok, {1}, ""}.valid());
  CHECK(!measurement{status::ok, {}, ""}.valid());
  CHECK(!measurement{status::rejected_early, {1}, ""}.valid());
}
