#include <tileseek/core/json.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

using tileseek::named_values;
using tileseek::value;
using namespace tileseek::detail;

TEST_CASE("values of every type come back as they went, infinities too") {
  const named_values all{{"n", value(-3)},
                         {"x", value(0.1)},
                         {"yes", value(true)},
                         {"order", value("kij")},
                         {"m", value(std::vector<std::int64_t>{4, 2, 16})},
                         {"top", value(HUGE_VAL)},
                         {"bottom", value(-HUGE_VAL)}};
  const auto text = to_json(all).dump();
  CHECK(text ==
        R"({"n":-3,"x":0.1,"yes":true,"order":"kij","m":[4,2,16],"top":{"real":"inf"},"bottom":{"real":"-inf"}})");
  CHECK(named_values_of(json::parse(text)) == all);
}

TEST_CASE("samples that are no number are null") {
  const auto j = to_json(std::vector<double>{1.5, std::numeric_limits<double>::quiet_NaN(), HUGE_VAL});
  CHECK(j.dump() == "[1.5,null,null]");
  const auto back = seconds_of(j);
  CHECK(back[0] == 1.5);
  CHECK(std::isnan(back[1]));
}

TEST_CASE("what is no value is refused, and the message shows it") {
  CHECK_THROWS_AS(static_cast<void>(value_of(json(nullptr))), std::runtime_error);
  CHECK_THROWS_WITH_AS(static_cast<void>(named_values_of(json::parse("[1]"))), "a configuration is an object, not [1]",
                       std::runtime_error);
}
