#include <tileseek/record/t4.hpp>

#include <cstddef>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using tileseek::configuration;
using tileseek::damage;
using tileseek::status;
using tileseek::t4_results;
using tileseek::value;

std::string entry(const std::string& x, const std::string& rest) {
  return "{\n            \"configuration\": {\n                \"x\": " + x + "\n            },\n            " + rest +
         "\n        }";
}
std::string document(const std::string& entries) {
  return "{\n    \"results\": [\n        " + entries + "\n    ],\n    \"schema_version\": \"1.0.0\"\n}";
}

const std::string good = entry("16",
                               "\"times\": {\n                \"runtimes\": [\n                    2.0,\n              "
                               "      4.0\n                ]\n            },\n            \"invalidity\": \"correct\"");
const std::string bad = entry("32", "\"invalidity\": \"compile\"");

t4_results read(const std::string& text, damage on_damage = damage::stop) {
  std::istringstream in(text);
  return t4_results::read(in, "x.json", on_damage);
}
std::string written(const t4_results& results) {
  std::ostringstream out;
  results.write(out);
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

TEST_CASE("results are read, and written byte by byte") {
  const auto results = read(document(good + ",\n        " + bad));
  CHECK(results.size() == 2);
  CHECK(written(results) == document(good + ",\n        " + bad));
  const auto r = results.record();
  CHECK(r.space.size() == 2);
  CHECK(r.trials[0].first == configuration({{"x", value(16)}}));
  CHECK(r.trials[0].second.seconds == std::vector<double>{0.002, 0.004});
  CHECK(r.trials[1].second.outcome == status::build_failed);
  CHECK(r.trials[1].second.note == "compile");
}

TEST_CASE("a time may be a measurement in its unit") {
  const auto seconds = [](const std::string& unit) {
    return read(document(entry("16",
                               "\"invalidity\": \"correct\", \"measurements\": [{\"name\": \"power\", \"value\": 9}, "
                               "{\"name\": \"time\", \"value\": 2, \"unit\": \"" +
                                   unit + "\"}]")))
        .record()
        .trials[0]
        .second.seconds.at(0);
  };
  CHECK(seconds("ms") == doctest::Approx(2e-3));
  CHECK(seconds("") == doctest::Approx(2e-3));
  CHECK(seconds("s") == doctest::Approx(2));
  CHECK(seconds("microseconds") == doctest::Approx(2e-6));
}

TEST_CASE("results can be made, written and read") {
  t4_results made;
  made.add(configuration({{"x", value(16)}, {"f", value(true)}}), {status::ok, {0.0015, 0.0025}, {}});
  for (const auto s :
       {status::build_failed, status::launch_failed, status::run_failed, status::wrong_result, status::timed_out})
    made.add(configuration({{"x", value(static_cast<int>(s))}, {"f", value(false)}}), tileseek::failure(s, ""));
  made.add(configuration({{"x", value(99)}, {"f", value(false)}}), tileseek::failure(status::crashed, ""));
  const auto again = read(written(made));
  CHECK(written(again) == written(made));
  const auto r = again.record();
  REQUIRE(r.trials.size() == 7);
  CHECK(r.trials[0].second.seconds == std::vector<double>{0.0015, 0.0025});
  for (std::size_t i = 1; i < 6; ++i)
    CHECK(static_cast<int>(r.trials[i].second.outcome) == r.trials[i].first["x"].as<int>());
  CHECK(r.trials[6].second.outcome == status::run_failed);
  CHECK(written(read(written(t4_results{}))) == written(t4_results{}));
}

TEST_CASE("results that are cut off or damaged") {
  const std::string whole = document(good + ",\n        " + bad);
  const auto cut = read(whole.substr(0, whole.find("compile")));
  CHECK(cut.size() == 1);
  CHECK(cut.report().damaged == 1);
  CHECK(cut.report().problems.at(0) == "x.json:19: the file ends inside an entry, which is dropped");
  CHECK(error_of(document(good + ",\n        " + entry("1", "\"a\": 2"))) ==
        "x.json:15: expected an \"invalidity\" in a result; 1 record came before");
  CHECK(error_of(document("3")).starts_with("x.json:3: expected a \"configuration\" in a result"));
  CHECK(error_of(document(good + ", {\"configuration\": {\"y\": 1}, \"invalidity\": \"correct\"}"))
            .starts_with("x.json:14: expected the parameters of the first configuration"));
  CHECK(error_of("{\"a\": 1}").starts_with("x.json:1: expected a member \"results\""));
  CHECK(read(document("3, " + good), damage::skip).size() == 1);
}
