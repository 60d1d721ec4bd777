#include <tileseek/record/winners.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using tileseek::problem_shape;
using tileseek::value;
using tileseek::winner;
using tileseek::winners;

winner of(std::int64_t m, std::int64_t n, const std::string& device, double seconds, std::int64_t bm = 32) {
  winner w;
  w.task = "mat mul";
  w.shape = {{"m", m}, {"n", n}};
  w.device = device;
  w.configuration = {{"bm", value(bm)},
                     {"order", value("i\"j")},
                     {"unroll", value(true)},
                     {"sp1[2]", value(0.5)},
                     {"tile", value(std::vector<std::int64_t>{4, 8})}};
  w.seconds = seconds;
  w.range = {seconds * 0.9, seconds * 1.1};
  w.samples = 9;
  w.date = "2026-11-30T10:33:19Z";
  w.conditions = {{"governor", value("performance")}};
  return w;
}

std::string text(const winners& w) {
  std::ostringstream out;
  out << w;
  return out.str();
}
std::string header(const winners& w) {
  std::ostringstream out;
  w.write_header(out, "tuned");
  return out.str();
}
std::string error_of(const std::string& json) {
  std::istringstream in(json);
  try {
    static_cast<void>(winners::read(in, "w.json"));
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("the faster one of a task, shape and device is kept") {
  winners w;
  CHECK(w.keep(of(64, 64, "cpu", 0.5, 8)));
  CHECK_FALSE(w.keep(of(64, 64, "cpu", 0.5, 16)));
  CHECK(w.keep(of(64, 64, "cpu", 0.25, 32)));
  CHECK(w.keep(of(64, 64, "gpu", 0.75)));
  CHECK(w.keep(of(64, 32, "cpu", 0.75)));
  REQUIRE(w.all().size() == 3);
  CHECK(w.find("mat mul", {{"m", 64}, {"n", 64}}, "cpu")->configuration[0].second == value(32));
  CHECK(w.find("mat mul", {{"m", 64}, {"n", 65}}, "cpu") == nullptr);
}

TEST_CASE("the nearest shape is the one with the least ratio over all sizes") {
  winners w;
  w.keep(of(100, 100, "cpu", 1, 1));
  w.keep(of(1000, 100, "cpu", 1, 2));
  w.keep(of(400, 100, "gpu", 1, 3));
  const auto nearest = [&](std::int64_t m, std::int64_t n, const char* device) -> std::int64_t {
    const auto* found = w.nearest("mat mul", {{"m", m}, {"n", n}}, device);
    return found == nullptr ? 0 : found->configuration[0].second.as<std::int64_t>();
  };
  CHECK(nearest(100, 100, "cpu") == 1);
  CHECK(nearest(300, 100, "cpu") == 1);  // 3 times away, the other 3.3 times
  CHECK(nearest(350, 100, "cpu") == 2);  // in size, 100 is nearer
  CHECK(nearest(350, 9999, "cpu") == 2);
  CHECK(nearest(1, 1, "gpu") == 3);
  CHECK(nearest(1, 1, "tpu") == 0);
  CHECK(w.nearest("mat mul", {{"m", 1}}, "cpu") == nullptr);
  CHECK(w.nearest("mat mul", {{"n", 1}, {"m", 1}}, "cpu") == nullptr);
  CHECK(w.nearest("conv", {{"m", 1}, {"n", 1}}, "cpu") == nullptr);
}

TEST_CASE("winners are written as JSON and read again") {
  winners w;
  w.keep(of(64, 64, "cpu \"x\"", 0.5));
  w.keep(of(32, 64, "gpu", 0.1));
  std::istringstream in(text(w));
  const auto again = winners::read(in, "w.json");
  CHECK(text(again) == text(w));
  REQUIRE(again.all().size() == 2);
  CHECK(again.all()[0].configuration == w.all()[0].configuration);
  CHECK(again.all()[0].range == w.all()[0].range);
  CHECK(again.all()[1].conditions == w.all()[1].conditions);
  std::istringstream empty(text(winners{}));
  CHECK(winners::read(empty, "w.json").all().empty());
}

TEST_CASE("and as a header that holds them twice: for the compiler, and to be read again") {
  winners w;
  w.keep(of(64, 64, "cpu \"x\"", 0.5));
  w.keep(of(32, 64, "gpu\n", 0.1));
  auto other = of(1, 2, "gpu", 3);
  other.task = "2d";
  w.keep(other);
  std::istringstream in(header(w));
  CHECK(text(winners::read_header(in, "w.hpp")) == text(w));
  std::istringstream wrong("int main() {}\n");
  CHECK_THROWS_WITH_AS(static_cast<void>(winners::read_header(wrong, "w.hpp")),
                       "w.hpp: expected a header that write_header() wrote; no winner found", std::runtime_error);
  std::istringstream damaged("{1},  //= {\"task\":\n");
  CHECK_THROWS_WITH_AS(static_cast<void>(winners::read_header(damaged, "w.hpp")), "w.hpp:1: expected JSON behind '//='",
                       std::runtime_error);
}

TEST_CASE("a header has one table a task, of one kind of row") {
  winners w;
  w.keep(of(64, 64, "cpu", 0.5));
  auto real = of(32, 64, "cpu", 0.5);
  real.configuration[0].second = value(1.5);
  w.keep(real);
  CHECK(header(w).find("  double bm;\n") != std::string::npos);
  auto longer = of(16, 64, "cpu", 0.5);
  longer.configuration.emplace_back("more", value(1));
  w.keep(longer);
  CHECK_THROWS_AS(static_cast<void>(header(w)), std::invalid_argument);

  winners same;
  same.keep(of(64, 64, "cpu", 0.5));
  auto like = of(64, 64, "cpu", 0.5);
  like.task = "mat-mul";
  same.keep(like);
  CHECK_THROWS_WITH_AS(static_cast<void>(header(same)),
                       "winners: tasks 'mat mul' and 'mat-mul' are both mat_mul in C++", std::invalid_argument);
  winners twice;
  auto fields = of(64, 64, "cpu", 0.5);
  fields.configuration.emplace_back("m", value(1));
  twice.keep(fields);
  CHECK_THROWS_AS(static_cast<void>(header(twice)), std::invalid_argument);
}

TEST_CASE("what is no winner is refused") {
  winners w;
  CHECK_THROWS_AS(static_cast<void>(w.keep(of(64, 64, "cpu", 0))), std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(w.keep(of(0, 64, "cpu", 1))), std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(w.keep(winner{})), std::invalid_argument);
  CHECK(error_of("") == "w.json:1: expected JSON; damaged here");
  CHECK(error_of("{\"winners\": 1,\n\"of\": [}") == "w.json:2: expected JSON; damaged here");
  CHECK(error_of("[1e999]").starts_with("w.json: "));
  CHECK(error_of("{}") == "w.json:1: expected winners of version 1, {\"winners\": 1, \"of\": [...]}");
  CHECK(error_of("{\"winners\": 1, \"of\": [{\"task\": 3}]}")
            .starts_with("w.json: winner 1: expected a winner with task"));
}

TEST_CASE("a result becomes a winner") {
  struct {
    std::optional<int> best = 1;
    tileseek::named_values best_values = {{"bm", value(4)}};
    double median_seconds = 0.5;
    tileseek::interval seconds_interval = {0.4, 0.6};
    std::size_t rounds = 9;
  } result;
  const auto w = tileseek::winner_of(result, "t", {{"n", 4}}, "cpu");
  CHECK(w.seconds == 0.5);
  CHECK(w.samples == 9);
  CHECK(w.configuration == result.best_values);
  CHECK(w.date.size() == 20);
  result.best.reset();
  CHECK_THROWS_AS(static_cast<void>(tileseek::winner_of(result, "t", {{"n", 4}}, "cpu")), std::invalid_argument);
}
