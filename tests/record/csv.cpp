#include <tileseek/record/csv.hpp>

#include <cmath>
#include <cstddef>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using tileseek::damage;
using tileseek::status;
using tileseek::value;

constexpr const char* small =
    "block,scale,layout,status,time_ms,cv\n"
    "32,0.5,a,ok,2.5,0.01\n"
    "8,1,b,compile_error,,\n"
    "8,1,a,timed_out,,\n"
    "16,1,b,ok,0.13,\n";

tileseek::csv_recording read(const std::string& text, damage on_damage = damage::stop) {
  std::istringstream in(text);
  return tileseek::read_csv(in, "rec.csv", on_damage);
}
std::string written(const tileseek::recording& r) {
  std::ostringstream out;
  tileseek::write_csv(out, r);
  return out.str();
}
std::string error_of(const std::string& text) {
  try {
    static_cast<void>(read(text));
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("comma-separated recordings are read, and written as they were") {
  const auto r = read(small);
  CHECK(r.report.records == 4);
  CHECK(r.record.space.size() == 3 * 2 * 2);
  CHECK(to_string(r.record.trials[0].first.values()) == "block=32 scale=0.5 layout=a");
  CHECK(r.record.trials[0].second.seconds == std::vector<double>{0.0025});
  CHECK(r.record.trials[1].second.outcome == status::build_failed);
  CHECK(r.record.trials[2].second.outcome == status::timed_out);
  CHECK(written(r.record) == small);
}

TEST_CASE("a time comes back with the digits it had, and what is written once stays as it is") {
  std::string text = "x,status,time_ms\n";
  for (int i = 1; i <= 500; ++i)
    text += std::to_string(i) + ",ok," + tileseek::shortest(std::round(5.657843999 * i * 1e6) / 1e6) + "\n";
  CHECK(written(read(text).record) == text);
  tileseek::recording any = read(text).record;
  for (auto& [c, m] : any.trials) m.seconds[0] /= 7;
  const std::string once = written(any);
  CHECK(written(read(once).record) == once);
  const auto again = read(once).record;
  for (std::size_t i = 0; i < 500; ++i)  // not every number of seconds is a number of milliseconds over 1000
    CHECK(again.trials[i].second.seconds[0] == doctest::Approx(any.trials[i].second.seconds[0]).epsilon(1e-15));
}

TEST_CASE("samples become their median and variation") {
  auto r = read("x,status,time_ms\n1,ok,2\n").record;
  r.trials[0].second.seconds = {0.001, 0.002, 0.006};
  CHECK(written(r).starts_with("x,status,time_ms,cv\n1,ok,2,0.88191710368819"));
  r.trials[0].first.set("x", value("a,b"));
  CHECK_THROWS_AS(static_cast<void>(written(r)), std::invalid_argument);
}

TEST_CASE("what is wrong with a comma-separated recording is said with its place") {
  CHECK(error_of("") == "rec.csv:1: expected a header, found the end of the file");
  CHECK(error_of("status,time_ms\n") ==
        "rec.csv:1: expected parameters and the columns status and time_ms in the header");
  CHECK(error_of("x,status,cv\n").starts_with("rec.csv:1: expected parameters and the columns"));
  CHECK(error_of("x,x,status,time_ms\n") == "rec.csv:1: expected another name than 'x' for the parameter 2");
  CHECK(error_of("x,status,time_ms\n1,ok,2\n1,ok\n") == "rec.csv:3: expected 3 columns, found 2; 1 record came before");
  CHECK(error_of("x,status,time_ms\n1,ok,fast\n")
            .starts_with("rec.csv:2: expected a number of at least 0 in the column 'time_ms', found 'fast'"));
  CHECK(error_of("x,status,time_ms\n1,ok,0\n").starts_with("rec.csv:2: expected a positive number"));
  const auto torn = read("x,status,time_ms\n1,ok,2\n1,o");
  CHECK(torn.record.trials.size() == 1);
  CHECK(torn.report.damaged == 1);
  const auto skipped = read("x,status,time_ms\n1,ok\n1,ok,2\n", damage::skip);
  CHECK(skipped.report.records == 1);
  CHECK(skipped.report.problems.at(0) == "rec.csv:2: expected 3 columns, found 2");
}
