#include <tileseek/measure/replay.hpp>

#include <cstddef>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

constexpr const char* small =
    "block,unroll,fixed,status,time_ms,cv\n"
    "32,4,7,ok,2.5,0.01\n"
    "8,1,7,ok,4,\n"
    "32,1,7,compile_error,,\n"
    "8,4,7,timeout,,\n"
    "16,1,7,ok,1.25,0.5\n";

tileseek::replay read(const std::string& text) {
  std::istringstream in(text);
  return tileseek::replay(in, "rec.csv");
}

std::string error_of(const std::string& text) {
  try {
    (void)read(text);
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("a recording becomes a lattice of its configurations") {
  const auto r = read(small);
  REQUIRE(r.space().dimensions() == 2);
  CHECK(r.size() == 5);
  CHECK(r.space().size() == 5);
  CHECK(r.space().axis(0).name == "block");
  CHECK(r.space().axis(0).values == std::vector<double>{8, 16, 32});  // in the file 32 comes first
  CHECK(r.space().axis(0).ordered);
  CHECK(r.space().axis(1).values == std::vector<double>{1, 4});
  CHECK(r.space().feasible({1, 0}));
  CHECK_FALSE(r.space().feasible({1, 1}));  // not recorded
  REQUIRE(r.constants().size() == 1);
  CHECK(r.constants()[0].name == "fixed");
  CHECK(r.constants()[0].value == 7);
}

TEST_CASE("it answers with what was recorded") {
  const auto r = read(small);
  const std::vector<tileseek::point> batch = {{2, 1}, {2, 0}, {0, 1}, {1, 0}};
  const auto got = r.measure(batch);
  REQUIRE(got.size() == 4);
  CHECK(got[0].outcome == tileseek::status::ok);
  CHECK(got[0].seconds == std::vector<double>{2.5 / 1000});
  CHECK(got[1].outcome == tileseek::status::build_failed);
  CHECK(got[1].note == "compile_error");
  CHECK(got[1].seconds.empty());
  CHECK(got[2].outcome == tileseek::status::timed_out);
  CHECK(got[2].note == "timeout");
  CHECK(got[3].cost() == doctest::Approx(0.00125));
  CHECK(r.cost({2, 0}) == std::numeric_limits<double>::infinity());
  CHECK(r.best() == doctest::Approx(0.00125));
  CHECK(r.best_point() == tileseek::point{1, 0});
  CHECK(r.variation({1, 0}) == doctest::Approx(0.5));
  CHECK(r.variation({0, 0}) == 0);
  CHECK_THROWS_AS((void)r.cost({1, 1}), std::invalid_argument);
}

TEST_CASE("without the column cv, with carriage returns, spaces and extra columns") {
  const auto r = read("a,status,time_ms,note\r\n1, ok ,3,x\r\n2,odd_word,,y\r\n\r\n");
  CHECK(r.size() == 2);
  CHECK(r.cost({0}) == doctest::Approx(0.003));
  CHECK(r.variation({0}) == 0);
  CHECK(r.measure(std::vector<tileseek::point>{{1}})[0].outcome == tileseek::status::run_failed);
  CHECK(r.measure(std::vector<tileseek::point>{{1}})[0].note == "odd_word");
}

TEST_CASE("a recording of one configuration, and one where nothing ran") {
  const auto one = read("a,b,status,time_ms\n1,2,ok,3\n");
  CHECK(one.space().dimensions() == 0);
  CHECK(one.best() == doctest::Approx(0.003));
  CHECK(one.best_point().empty());
  const auto none = read("a,status,time_ms\n1,runtime_error,\n2,runtime_error,\n");
  CHECK(none.best() == std::numeric_limits<double>::infinity());
}

TEST_CASE("what is wrong with a file is said with its name and line") {
  CHECK(error_of("") == "rec.csv:1: the file is empty; the first line names the columns");
  CHECK(error_of("a,b\n1,2\n").starts_with("rec.csv:1: no columns 'status' and 'time_ms'"));
  CHECK(error_of("a,status\n1,ok\n").starts_with("rec.csv:1: no columns 'status' and 'time_ms'"));
  CHECK(error_of("status,time_ms\nok,1\n") == "rec.csv:1: no parameter before the column 'status'");
  CHECK(error_of("a,a,status,time_ms\n").starts_with("rec.csv:1: column 2 has no name of its own"));
  CHECK(error_of("a,status,time_ms\n") == "rec.csv:1: the file has a header and no configuration");
  CHECK(error_of("a,status,time_ms\n1,ok,1\n2,ok\n") == "rec.csv:3: 2 columns instead of 3");
  CHECK(error_of("a,status,time_ms\n1,ok,1,9\n") == "rec.csv:2: 4 columns instead of 3");
  CHECK(error_of("a,status,time_ms\n1x,ok,1\n") == "rec.csv:2: '1x' in column 'a' is not a number");
  CHECK(error_of("a,status,time_ms\nnan,ok,1\n") == "rec.csv:2: 'nan' in column 'a' is not a number");
  CHECK(
      error_of("a,status,time_ms\n1,ok,\n").starts_with("rec.csv:2: '' in column 'time_ms' is not a positive number"));
  CHECK(error_of("a,status,time_ms\n1,ok,-1\n").starts_with("rec.csv:2: '-1' in column 'time_ms'"));
  CHECK(error_of("a,status,time_ms,cv\n1,ok,1,x\n").starts_with("rec.csv:2: 'x' in column 'cv'"));
  CHECK(error_of("a,status,time_ms\n1,ok,1\n2,ok,1\n1,ok,2\n") == "rec.csv:4: the same configuration as in line 2");
}
