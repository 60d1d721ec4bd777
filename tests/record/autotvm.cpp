#include <tileseek/record/autotvm.hpp>

#include <cstddef>
#include <cstdint>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <tileseek/record/reader.hpp>
#include <tileseek/record/recording.hpp>

#include "recorded_logs.hpp"

namespace {

using tileseek::autotvm_record;
using tileseek::configuration;
using tileseek::status;
using tileseek::value;
using json = nlohmann::ordered_json;

std::string with_knobs(const std::string& knobs, const std::string& result = "[[0.5, 0.25], 0, 2.5, 1610298238.385]",
                       const std::string& index = "5") {
  return R"({"input": ["llvm -mcpu=core", "dense.x86", [["TENSOR", [1, 768], "float32"], null], {}], "config": {"index": )" +
         index + R"(, "code_hash": null, "entity": [)" + knobs + R"(]}, "result": )" + result +
         R"(, "version": 0.2, "tvm_version": "0.8.dev0"})";
}

constexpr const char* knobs =
    R"(["tile_x", "sp", [-1, 8, 2]], ["unroll", "ot", true], ["step", "ot", 512], ["order", "re", [0, 2, 1]], ["name", "ot", "a\"b"])";

std::string error_of(const std::string& line) {
  try {
    const autotvm_record record(line);
  } catch (const tileseek::detail::mismatch& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("an AutoTVM record tells task, target, knobs and result") {
  const autotvm_record r(with_knobs(knobs));
  CHECK(r.line() == with_knobs(knobs));
  CHECK(r.task() == R"(["dense.x86", [["TENSOR", [1, 768], "float32"], null]])");
  CHECK(r.target() == "llvm -mcpu=core");
  CHECK(r.index() == 5);
  CHECK(r.result().seconds == std::vector<double>{0.5, 0.25});
  CHECK(to_string(r.values().values()) ==
        "tile_x[0]=-1 tile_x[1]=8 tile_x[2]=2 unroll=true step=512 order=[0, 2, 1] name=a\"b");
  CHECK(r.space().contains(r.values()));
}

TEST_CASE("a changed AutoTVM record differs in the knobs and the index") {
  const autotvm_record r(with_knobs(knobs));
  CHECK(r.with(r.values()).line() == r.line());
  auto c = r.values();
  c.set("tile_x[1]", value(16));
  c.set("unroll", value(false));
  c.set("order", value("[1, 0, 2]"));
  c.set("name", value("\n"));
  CHECK(
      r.with(c).line() ==
      with_knobs(
          R"(["tile_x", "sp", [-1, 16, 2]], ["unroll", "ot", false], ["step", "ot", 512], ["order", "re", [1, 0, 2]], ["name", "ot", "\n"])",
          "[[0.5, 0.25], 0, 2.5, 1610298238.385]", "-1"));
  CHECK(r.with(c).values() == c);
  CHECK(r.with(c).family() == r.family());
  c.set("unroll", value("no"));
  CHECK(r.with(c).values() == c);  // another kind, but a value all the same
  CHECK_THROWS_AS(static_cast<void>(r.with(configuration{})), std::out_of_range);
}

TEST_CASE("an AutoTVM result is written in its place") {
  const autotvm_record r(with_knobs(knobs));
  CHECK(r.with_result({status::ok, {0.125}, {}}, 1.5, 2.25).line() == with_knobs(knobs, "[[0.125], 0, 1.5, 2.25]"));
  CHECK(r.with_result(tileseek::failure(status::timed_out, "")).line() ==
        with_knobs(knobs, "[[1000000000.0], 7, 0, 0]"));
  CHECK(r.with_result(tileseek::failure(status::timed_out, "")).result().outcome == status::timed_out);
}

TEST_CASE("the space of a family are the values that occur in it") {
  const std::vector<autotvm_record> records{
      autotvm_record(with_knobs(R"(["tile_x", "sp", [-1, 8]], ["unroll", "ot", true])")),
      autotvm_record(with_knobs(R"(["tile_x", "sp", [-1, 2]], ["unroll", "ot", false])")),
      autotvm_record(with_knobs(R"(["tile_x", "sp", [-1, 8]], ["unroll", "ot", true])", "[[0.125], 0, 1, 1]")),
      autotvm_record(with_knobs(R"(["tile_y", "sp", [-1, 8]])"))};
  const auto found = tileseek::recordings_of<autotvm_record>(records);
  REQUIRE(found.size() == 2);
  CHECK(found[0].space.names() == std::vector<std::string>{"tile_x[0]", "tile_x[1]", "unroll"});
  CHECK(found[0].space.size() == 4);
  CHECK(found[0].space.lattice().axis(1).ordered);
  CHECK(found[0].space.lattice().axis(1).values == std::vector<double>{2, 8});
  CHECK_FALSE(found[0].space.lattice().axis(2).ordered);
  CHECK(found[0].trials.size() == 3);
  const auto told = found[0].told();
  REQUIRE(told.size() == 2);  // the third is the first again: its samples are added
  CHECK(told[0].result.seconds == std::vector<double>{0.5, 0.25, 0.125});
}

TEST_CASE("answers from a recording") {
  const std::vector<autotvm_record> records{
      autotvm_record(with_knobs(R"(["tile_x", "sp", [-1, 8]], ["unroll", "ot", true])")),
      autotvm_record(with_knobs(R"(["tile_x", "sp", [-1, 2]], ["unroll", "ot", false])", "[[1000000000.0], 1, 1, 1]"))};
  const auto found = tileseek::recordings_of<autotvm_record>(records);
  const tileseek::recorded_answers kernel(found[0]);
  CHECK(kernel.size() == 2);
  CHECK(kernel.lattice().size() == 2);
  CHECK(kernel.lattice().dimensions() == found[0].space.lattice().dimensions());
  auto other = found[0].trials[0].first;
  other.set("unroll", value(false));
  const std::vector<configuration> batch{found[0].trials[1].first, found[0].trials[0].first, other};
  const auto got = kernel.measure(batch);
  CHECK(got[0].outcome == status::build_failed);
  CHECK(got[1].seconds == std::vector<double>{0.5, 0.25});
  CHECK(got[2].outcome == status::run_failed);
  CHECK(got[2].note == "not in the record");
  for (std::uint64_t i = 0; i < 2; ++i) CHECK(kernel(*kernel.lattice().unrank(i)).note != "not in the record");
}

TEST_CASE("what is wrong with an AutoTVM line is said with its place") {
  const std::string good = with_knobs(knobs);
  CHECK(error_of("{}").starts_with("expected an \"input\" in the record"));
  CHECK(error_of(with_knobs(R"(["x", "sp", 3])")).starts_with("expected the factors of a split, found '3]"));
  CHECK(error_of(with_knobs(R"(["x", "sp"])")).starts_with("expected a name, a kind and a value of a knob"));
  CHECK(error_of(with_knobs(R"(["", "ot", 1])")).starts_with("expected a name that is not empty"));
  CHECK(error_of(with_knobs(R"(["x", "ot", 1], ["x", "ot", 2])")).starts_with("expected one value of the knob 'x'"));
  CHECK(error_of(with_knobs("", "[[0.5], 0, 1, 1]", "0.5")).starts_with("expected an index, found '0.5"));
  auto old = good;
  old.replace(old.find("0.2,"), 3, "0.1");
  CHECK(error_of(old).starts_with("expected the version 0.2, found '0.1"));
  for (std::size_t n = 0; n < good.size(); ++n) CHECK(error_of(good.substr(0, n)) != "no error");
}

TEST_CASE("numbers that are none of ours are kept as text") {
  for (const char* number : {"99999999999999999999", "1e999", "null", "\"\xff\""}) {
    const std::string line = with_knobs(R"(["x", "ot", )" + std::string(number) + "]");
    const autotvm_record r(line);
    CHECK(r.values()["x"] == value(number));
    CHECK(r.with(r.values()).line() == line);
  }
}

TEST_CASE("real AutoTVM logs: all read, failures as another parser counts them, written as they were") {
  for (const std::string name : {"autotvm_v02_arm_droplet_conv2d_layer1.log", "autotvm_v02_cuda_t4_bert.log"}) {
    CAPTURE(name);
    const auto text = recorded_file("tuning_logs/" + name);
    if (!text) return;
    std::istringstream in(*text);
    tileseek::record_reader<autotvm_record> log(in, name);
    std::vector<autotvm_record> records;
    std::string written;
    while (auto r = log.next()) {
      written += r->line() + "\n";
      records.push_back(std::move(*r));
    }
    CHECK(written == *text);
    std::istringstream again(*text);
    std::size_t lines = 0;
    std::set<std::string> inputs;
    for (std::string line; std::getline(again, line); ++lines) {
      const auto j = json::parse(line);
      const auto& r = records.at(lines);
      CHECK(r.result().valid() == (j["result"][1] == 0));
      if (j["result"][1] == 0) CHECK(r.result().seconds == j["result"][0].get<std::vector<double>>());
      CHECK(r.index() == j["config"]["index"]);
      inputs.insert(j["input"].dump());
    }
    CHECK(records.size() == lines);
    const auto found = tileseek::recordings_of<autotvm_record>(records);
    CHECK(found.size() == inputs.size());
    for (const auto& one : found) CHECK(one.outside() == 0);
  }
}

TEST_CASE("a real run of AutoTVM's droplet tuner: the order of its trials, and its best") {
  const std::string name = "autotvm_v02_arm_droplet_conv2d_layer1.log";
  const auto text = recorded_file("tuning_logs/" + name);
  if (!text) return;
  std::istringstream in(*text);
  tileseek::record_reader<autotvm_record> log(in, name);
  std::vector<std::int64_t> order;
  std::int64_t best = -1;
  double least = 1;
  while (const auto r = log.next()) {
    order.push_back(r->index());
    if (r->result().cost() >= least) continue;
    least = r->result().cost();
    best = r->index();
  }
  CHECK(order == std::vector<std::int64_t>{0, 84, 12, 2, 1, 24, 4, 36, 6, 86, 14, 3, 50, 10, 62, 74});
  CHECK(best == 50);
}
