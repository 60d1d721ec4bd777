#include <tileseek/core/format.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <limits>
#include <string>

namespace {
constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
}  // namespace

TEST_CASE("the shortest text reads back as the same number") {
  for (const double x : {0.0, 1.0, -1.0, 0.1, 1.0 / 3, 1e-300, 5e-324, 1.7976931348623157e308, 123456789.125})
    CHECK(std::strtod(tileseek::shortest(x).c_str(), nullptr) == x);
  CHECK(tileseek::shortest(0.1) == "0.1");
  CHECK(tileseek::shortest(2) == "2");
  CHECK(tileseek::shortest(infinite) == "inf");
}

TEST_CASE("a fixed number of digits, of the largest number too") {
  CHECK(tileseek::fixed(3.14159, 2) == "3.14");
  CHECK(tileseek::fixed(-0.005, 0) == "-0");
  CHECK(tileseek::fixed(2.5, 1) == "2.5");
  CHECK(tileseek::fixed(std::numeric_limits<double>::lowest(), 80).size() == 1 + 309 + 1 + 80);
}

TEST_CASE("seconds have three digits and the unit in which they are at least one") {
  CHECK(tileseek::show_seconds(1.2) == "1.20 s");
  CHECK(tileseek::show_seconds(13.2e-3) == "13.2 ms");
  CHECK(tileseek::show_seconds(950e-6) == "950 us");
  CHECK(tileseek::show_seconds(1e-9) == "1.00 ns");
  CHECK(tileseek::show_seconds(0.25e-9) == "0.25 ns");
  CHECK(tileseek::show_seconds(1234) == "1234 s");
  CHECK(tileseek::show_seconds(0) == "0 s");
  CHECK(tileseek::show_seconds(-13.2e-3) == "-13.2 ms");
  CHECK(tileseek::show_seconds(infinite) == "-");
  CHECK(tileseek::show_seconds(not_a_number) == "-");
}

TEST_CASE("seconds that round up to the next unit are shown in it") {
  CHECK(tileseek::show_seconds(0.99949) == "999 ms");
  CHECK(tileseek::show_seconds(0.99951) == "1.00 s");
  CHECK(tileseek::show_seconds(9.994e-3) == "9.99 ms");
  CHECK(tileseek::show_seconds(9.996e-3) == "10.0 ms");
  CHECK(tileseek::show_seconds(99.94e-6) == "99.9 us");
  CHECK(tileseek::show_seconds(99.96e-6) == "100 us");
}

TEST_CASE("counts are grouped by thousands") {
  CHECK(tileseek::show_count(0) == "0");
  CHECK(tileseek::show_count(999) == "999");
  CHECK(tileseek::show_count(1000) == "1,000");
  CHECK(tileseek::show_count(349853) == "349,853");
  CHECK(tileseek::show_count(std::numeric_limits<std::uint64_t>::max()) == "18,446,744,073,709,551,615");
}

TEST_CASE("durations on the clock") {
  CHECK(tileseek::show_clock(0) == "0 s");
  CHECK(tileseek::show_clock(59.4) == "59 s");
  CHECK(tileseek::show_clock(59.6) == "1:00");
  CHECK(tileseek::show_clock(187) == "3:07");
  CHECK(tileseek::show_clock(3600) == "1:00:00");
  CHECK(tileseek::show_clock(3729) == "1:02:09");
  CHECK(tileseek::show_clock(360000) == "100:00:00");
  CHECK(tileseek::show_clock(-1) == "-");
  CHECK(tileseek::show_clock(infinite) == "-");
  CHECK(tileseek::show_clock(1e300).size() > 6);  // absurd, and yet no overflow
}
