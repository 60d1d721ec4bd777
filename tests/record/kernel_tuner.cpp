#include <tileseek/record/kernel_tuner.hpp>

#include <cstddef>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using tileseek::damage;
using tileseek::kernel_tuner_cache;
using tileseek::status;
using tileseek::value;

const std::string header =
    "{\n\"device_name\": \"Some \\\"GPU\\\"\",\n\"kernel_name\": \"conv\",\n\"problem_size\": [\n4096,\n4096\n],\n"
    "\"tune_params_keys\": [\n\"x\",\n\"layout\"\n],\n\"tune_params\": {\n\"x\": [\n32,\n16\n],\n\"layout\": "
    "[\n\"a\",\n\"b\"\n]\n},\n"
    "\"cache\": {";
const std::string first =
    "\n\"16,a\": {\"x\": 16, \"layout\": \"a\", \"time\": 3.5, \"times\": [4.0, 3.0], \"GFLOP/s\": 1.25}";
const std::string second =
    "\n\"32,b\": {\"x\": 32, \"layout\": \"b\", \"time\": \"CompilationFailedConfig\", \"note\": \"}, {\"}";
const std::string complete = header + first + "," + second + "}\n}";

kernel_tuner_cache read(const std::string& text, damage on_damage = damage::stop) {
  std::istringstream in(text);
  return kernel_tuner_cache::read(in, "cache.json", on_damage);
}

std::string written(const kernel_tuner_cache& cache) {
  std::ostringstream out;
  cache.write(out);
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

TEST_CASE("a complete cache is read, and written byte by byte") {
  const auto cache = read(complete);
  CHECK(cache.size() == 2);
  CHECK(cache.device() == "Some \"GPU\"");
  CHECK(cache.kernel() == "conv");
  CHECK(cache.report().problems.empty());
  CHECK(written(cache) == complete);
  CHECK(written(read(header + "}\n}")) == header + "}\n}");
  CHECK(written(read(header + first + "},\n\"more\": 1\n}")) == header + first + "},\n\"more\": 1\n}");
}

TEST_CASE("its recording has the space of all values") {
  const auto r = read(complete).record();
  CHECK(r.task == "conv");
  CHECK(r.space.size() == 4);
  CHECK(r.space.lattice().axis(0).values == std::vector<double>{16, 32});
  CHECK_FALSE(r.space.lattice().axis(1).ordered);
  REQUIRE(r.trials.size() == 2);
  CHECK(to_string(r.trials[0].first.values()) == "x=16 layout=a");
  CHECK(r.trials[0].second.seconds == std::vector<double>{0.004, 0.003});
  CHECK(r.trials[1].second.outcome == status::build_failed);
  CHECK(r.trials[1].second.note == "CompilationFailedConfig");
  CHECK(r.outside() == 0);
}

TEST_CASE("a cache that lacks its end keeps all its entries") {
  for (const std::string end : {"", "\n", ",\n", "}", "}\n"}) {
    CAPTURE(end);
    const auto cache = read(header + first + "," + second + end);
    CHECK(cache.size() == 2);
    CHECK(cache.report().records == 2);
    CHECK(cache.report().damaged == 0);
    REQUIRE(cache.report().problems.size() == 1);
    CHECK(cache.report().problems[0].ends_with("the file ends here without a '}': the run goes on or was cut off"));
    CHECK(written(cache) == complete);
  }
}

TEST_CASE("an entry that is cut off is dropped and counted") {
  const std::string whole = header + first + ",";
  for (std::size_t n = 2; n < second.size() - 1; ++n) {
    CAPTURE(n);
    const auto cache = read(whole + second.substr(0, n));
    CHECK(cache.size() == 1);
    CHECK(cache.report().damaged == 1);
    CHECK(to_string(cache.report()).starts_with("cache.json: 1 record, 1 damaged left out\n  cache.json:2"));
  }
}

TEST_CASE("older and newer ways to say that there is no time") {
  const auto outcome = [](const std::string& rest) {
    return read(header + "\n\"16,a\": {\"x\": 16, \"layout\": \"a\", " + rest + "}}\n}").record().trials[0].second;
  };
  CHECK(outcome("\"time\": \"InvalidConfig\"").outcome == status::launch_failed);
  CHECK(outcome("\"time\": \"RuntimeFailedConfig\"").outcome == status::run_failed);
  CHECK(outcome("\"time\": 1e20").outcome == status::run_failed);
  CHECK(outcome("\"__error__\": \"CompilationFailedConfig\"").outcome == status::build_failed);
  CHECK(outcome("\"time\": 2.0").seconds == std::vector<double>{0.002});
  CHECK(outcome("\"time\": 2.0, \"times\": []").seconds == std::vector<double>{0.002});
}

TEST_CASE("a cache can be made of any recording") {
  auto r = read(complete).record();
  r.trials[0].second.seconds = {0.0015, 0.0005};
  const auto made = kernel_tuner_cache::of(r);
  const auto again = read(written(made));
  CHECK(again.device() == r.device);
  CHECK(again.kernel() == r.task);
  const auto back = again.record();
  REQUIRE(back.trials.size() == r.trials.size());
  for (std::size_t i = 0; i < r.trials.size(); ++i) {
    CHECK(back.trials[i].first == r.trials[i].first);
    CHECK(back.trials[i].second.outcome == r.trials[i].second.outcome);
    CHECK(back.trials[i].second.seconds == r.trials[i].second.seconds);
  }
  CHECK(written(again) == written(made));
  CHECK(written(made).find("\"16,a\": {\"x\": 16, \"layout\": \"a\", \"time\": 1.0, \"times\": [1.5, 0.5]}") !=
        std::string::npos);
}

TEST_CASE("what is wrong with a cache is said with its place") {
  CHECK(error_of("") ==
        "cache.json:1: expected an object, which begins with '{', found the end; 0 entries came before");
  CHECK(error_of("{}").starts_with("cache.json:1: expected a member \"cache\" before here"));
  CHECK(error_of("{\"cache\": {}}").starts_with("cache.json:1: expected \"tune_params_keys\" and \"tune_params\""));
  CHECK(error_of("{\"a\": [1 2], \"cache\": {}}").starts_with("cache.json:1: expected ',' or ']', found '2]'"));
  CHECK(error_of("{\"cache\": 3}").starts_with("cache.json:1: expected a list or an object"));
  CHECK(error_of(header + "\n\"16,a\": {\"x\": 16, \"time\": 1}}\n}")
            .starts_with("cache.json:23: expected a value of 'layout' in \"16,a\"; 0 records came before"));
  CHECK(error_of(header + "\n\"16,a\": {\"x\": 16 \"time\": 1}}\n}").starts_with("cache.json:23: expected JSON"));
  CHECK(error_of(header + "\n\"16,a\": 7}\n}").starts_with("cache.json:23: expected an object"));
  CHECK(error_of(header + first + second + "}\n}").starts_with("cache.json:24: expected ',' or '}'"));
  CHECK(error_of(complete + "x").starts_with("cache.json:25: expected the end of the file"));
  const auto cache = read(header + first + ",\n\"1,a\": {\"x\": true},\n\"2,a\": 5," + second + "}\n}", damage::skip);
  CHECK(cache.size() == 2);
  CHECK(cache.report().damaged == 2);
  CHECK(cache.report().problems[0].starts_with("cache.json:24: expected a value of 'layout'"));
}
