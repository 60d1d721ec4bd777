#include <tileseek/core/value.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using tileseek::value;
using factors = std::vector<std::int64_t>;

TEST_CASE("values show themselves as logs have them") {
  CHECK(to_string(value(32)) == "32");
  CHECK(to_string(value(-7LL)) == "-7");
  CHECK(to_string(value(0.5)) == "0.5");
  CHECK(to_string(value(0.5F)) == "0.5");
  CHECK(to_string(value(true)) == "true");
  CHECK(to_string(value("NHWC")) == "NHWC");
  CHECK(to_string(value(std::string_view("x"))) == "x");
  CHECK(to_string(value(factors{8, 4, 32})) == "8x4x32");
  CHECK(to_string(value(factors{})).empty());
  CHECK(to_string(value()) == "0");
}

TEST_CASE("numbers convert where nothing is lost") {
  CHECK(value(3).as<int>() == 3);
  CHECK(value(3).as<double>() == 3.0);
  CHECK(value(3.0).as<int>() == 3);
  CHECK(value(true).as<int>() == 1);
  CHECK(value(1).as<bool>());
  CHECK(!value(0.0).as<bool>());
  CHECK(value(0.1).as<float>() == 0.1F);
  CHECK(value(-128).as<std::int8_t>() == -128);
  CHECK(std::isnan(value(std::nan("")).as<double>()));
  CHECK(value(std::numeric_limits<double>::infinity()).as<float>() == std::numeric_limits<float>::infinity());
  CHECK_THROWS_AS((void)value(0.5).as<int>(), std::invalid_argument);
  CHECK_THROWS_AS((void)value(300).as<std::uint8_t>(), std::invalid_argument);
  CHECK_THROWS_AS((void)value(-1).as<unsigned>(), std::invalid_argument);
  CHECK_THROWS_AS((void)value(-1.0).as<unsigned>(), std::invalid_argument);
  CHECK_THROWS_AS((void)value(2).as<bool>(), std::invalid_argument);
  CHECK_THROWS_AS((void)value(1e30).as<std::int64_t>(), std::invalid_argument);
  CHECK_THROWS_AS((void)value(1e300).as<float>(), std::invalid_argument);
  CHECK_THROWS_AS((void)value(9223372036854775808.0).as<std::int64_t>(), std::invalid_argument);
  CHECK(value(-9223372036854775808.0).as<std::int64_t>() == std::numeric_limits<std::int64_t>::min());
  CHECK_THROWS_AS((void)value(std::nan("")).as<int>(), std::invalid_argument);
  CHECK_THROWS_AS((void)value(std::numeric_limits<std::uint64_t>::max()), std::invalid_argument);
}

TEST_CASE("texts and factors convert to themselves alone, and the error shows the value") {
  CHECK(value("a").as<std::string>() == "a");
  CHECK(value(factors{1, 2}).as<factors>() == factors{1, 2});
  CHECK_THROWS_AS((void)value("3").as<int>(), std::invalid_argument);
  CHECK_THROWS_AS((void)value(3).as<std::string>(), std::invalid_argument);
  CHECK_THROWS_AS((void)value(3).as<factors>(), std::invalid_argument);
  CHECK_THROWS_WITH((void)value("NHWC").as<int>(), "value: NHWC has another type than the one asked for");
  CHECK_THROWS_WITH((void)value(0.5).as<int>(), "value: 0.5 does not fit the type asked for");
}

TEST_CASE("values convert by themselves for the arguments of a rule") {
  const auto product = [](int a, double b, bool c) { return c ? a * b : 0; };
  CHECK(product(value(4), value(0.5), value(true)) == 2);
  const auto length = [](const std::string& s, const factors& f) { return s.size() + f.size(); };
  CHECK(length(value("abc"), value(factors{1, 2})) == 5);
}

TEST_CASE("equal numbers are equal values, whatever they are held as") {
  CHECK((value(2) == value(2.0)));
  CHECK((value(2.0) == value(2)));
  CHECK(!(value(2) == value(2.5)));
  CHECK(!(value(1) == value(true)));
  CHECK(!(value("2") == value(2)));
  CHECK((value("a") == value(std::string("a"))));
  CHECK((value(factors{1, 2}) == value(factors{1, 2})));
  CHECK(!(value(factors{1, 2}) == value(factors{2, 1})));
  CHECK((value(false) == value(false)));
}

TEST_CASE("named values in one line") {
  CHECK(to_string(tileseek::named_values{}).empty());
  CHECK(to_string(tileseek::named_values{{"bm", 32}, {"order", "ijk"}}) == "bm=32 order=ijk");
}
