#include <tileseek/record/metaschedule.hpp>

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <tileseek/core/rng.hpp>
#include <tileseek/record/reader.hpp>
#include <tileseek/record/recording.hpp>

#include "recorded_logs.hpp"

namespace {

using tileseek::metaschedule_record;
using tileseek::metaschedule_workload;
using tileseek::status;
using tileseek::value;
using json = nlohmann::ordered_json;
using factors = std::vector<std::int64_t>;

constexpr const char* derived =
    R"(,["EnterPostproc",[],[],[]],["Annotate",["l9",512],["pragma_auto_unroll_max_step"],[]])";

std::string of(const std::string& tile, const std::string& choice, const std::string& end,
               const std::string& seconds = "[2.5000000000000000522e-06,3.25e-06]") {
  return R"([1,[[[["GetBlock",[],["a","main"],["b0"]],["SamplePerfectTile",["l3"],[3,4],["v1","v2","v3"]],)"
         R"(["Annotate",["b0",96],["meta_schedule.parallel"],[]],)"
         R"(["SampleCategorical",[],[[0,16,512],[0.25,0.25,0.5]],["v4"]],["Annotate",["b0","v4"],["meta_schedule.unroll_explicit"],[]])" +
         end + "],[[1," + tile + "],[3," + choice + "]]]," + seconds +
         R"(,{"kind":"cuda"},[["TENSOR","float32",[12]]]]])";
}

std::string error_of(const std::string& line, std::size_t workloads = 2) {
  try {
    const metaschedule_record record(line, workloads);
  } catch (const tileseek::detail::mismatch& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("a MetaSchedule record tells workload, target, decisions and run times") {
  const metaschedule_record r(of("[3,2,2]", "2", derived));
  CHECK(r.line() == of("[3,2,2]", "2", derived));
  CHECK(r.workload() == 1);
  CHECK(r.target() == R"({"kind":"cuda"})");
  CHECK(r.postprocessed());
  CHECK(r.result().seconds == std::vector<double>{2.5e-06, 3.25e-06});
  CHECK(to_string(r.values().values()) == "tile1=3x2x2 choice3=512");
}

TEST_CASE("its space are the decisions, within the limits that the instructions state") {
  const metaschedule_record r(of("[3,2,2]", "2", derived));
  const auto space = r.space();
  CHECK(space.contains(r.values()));
  CHECK(space.size() == 3 * (18 - 1 - 2));  // 12 = 2^2 * 3 on three levels, without 12 and 6 in the innermost
  CHECK(space.lattice().axis(2).values == std::vector<double>{0, 16, 512});
  CHECK(space.lattice().axis(2).ordered);
}

TEST_CASE("a changed record really differs: in its decisions, and it drops what followed from the old ones") {
  const metaschedule_record r(of("[3,2,2]", "2", derived));
  auto c = r.values();
  c.set("tile1", value(factors{1, 6, 2}));
  c.set("choice3", value(16));
  const auto changed = r.with(c);
  CHECK(changed.line() == of("[1,6,2]", "1", ""));
  CHECK_FALSE(changed.postprocessed());
  CHECK(changed.values() == c);
  CHECK(changed.family() == r.family());
  c.set("choice3", value(17));
  CHECK_THROWS_WITH_AS(static_cast<void>(r.with(c)), "metaschedule_record: 17 is no candidate of 'choice3'",
                       std::invalid_argument);
  c.set("tile1", value(factors{12}));
  CHECK_THROWS_AS(static_cast<void>(r.with(c)), std::invalid_argument);
}

TEST_CASE("annotations with a number of their own are coordinates on request") {
  const metaschedule_record r(of("[3,2,2]", "2", derived), 2, {.annotations = true});
  CHECK(to_string(r.values().values()) == "annotation2=96 tile1=3x2x2 choice3=512");
  const auto space = r.space();
  CHECK(space.lattice().axis(0).values == std::vector<double>{24, 48, 96, 192, 384});
  auto c = r.values();
  c.set("annotation2", value(48));
  auto expected = of("[3,2,2]", "2", "");
  expected.replace(expected.find("96"), 2, "48");
  CHECK(r.with(c).line() == expected);
}

TEST_CASE("failures of MetaSchedule and its unmeasured records have no time") {
  const auto outcome = [](const char* s) { return metaschedule_record(of("[3,2,2]", "2", "", s)).result(); };
  CHECK_FALSE(outcome("[10000000000]").valid());
  CHECK_FALSE(outcome("[1e10]").valid());
  CHECK(outcome("null").note == "not measured");
  CHECK_FALSE(outcome("[]").valid());
}

TEST_CASE("a MetaSchedule result is written in its place") {
  const metaschedule_record r(of("[3,2,2]", "2", derived));
  CHECK(r.with_result({status::ok, {0.5, 0.25}, {}}).line() == of("[3,2,2]", "2", derived, "[0.5, 0.25]"));
  CHECK_FALSE(r.with_result(tileseek::failure(status::build_failed, "")).result().valid());
}

TEST_CASE("what is wrong with a MetaSchedule line is said with its place") {
  const std::string good = of("[3,2,2]", "2", derived);
  CHECK(error_of(good) == "no error");
  CHECK(error_of(good, 1).starts_with("expected the number of one of the workloads, found '1,"));
  CHECK(error_of("[-1,[]]").starts_with("expected the number of one of the workloads, found '-1,"));
  CHECK(error_of("[0]").starts_with("expected a workload's number and a record before here"));
  CHECK(error_of("[0,[[[],[]],null]]").starts_with("expected a trace, run times, a target and arguments"));
  CHECK(error_of("[0,[[[]],null,null,null]]").starts_with("expected instructions and decisions before here"));
  CHECK(error_of(of("[3,2,2]", "3", "")).starts_with("expected the index of one of the candidates, found '3]"));
  CHECK(error_of(of("[3,2.5]", "2", "")).starts_with("expected the factors of a tile, found '2.5]"));
  CHECK(error_of(of("[3,2,2]],[9,1", "2", "")).starts_with("expected the number of an instruction that decides"));
  CHECK(error_of(of("[3,2,2]],[1,[12]", "2", "")).starts_with("expected one decision on instruction 1"));
  for (std::size_t n = 0; n < good.size(); ++n) CHECK(error_of(good.substr(0, n)) != "no error");
}

TEST_CASE("workloads are decoded and checked") {
  // The length, 2, in eight bytes, and "{}".
  const metaschedule_workload w(R"(["5434157568904108222","AgAAAAAAAAB7fQ=="])");
  CHECK(w.hash() == "5434157568904108222");
  CHECK(w.module() == "{}");
  const auto error = [](const char* line) -> std::string {
    try {
      const metaschedule_workload read(line);
    } catch (const tileseek::detail::mismatch& e) {
      return e.what();
    }
    return "no error";
  };
  CHECK(error(R"(["1","AwAAAAAAAAB7fQ=="])").starts_with("expected a module as long as it says"));
  CHECK(error(R"(["1","AgAAAAAAAAB7f*=="])").starts_with("expected a character of base 64, found '*=="));
  CHECK(error(R"(["1","AgAAAAAAAAB7=fQ="])").starts_with("expected a character of base 64, found 'fQ="));
  CHECK(error(R"(["1",""])").starts_with("expected a module as long as it says"));
  CHECK(error(R"(["1"])").starts_with("expected a hash and a module"));
}

TEST_CASE("a real MetaSchedule database: all read, failures counted, written as it was, neighbours differ") {
  const auto workloads = recorded_file("tuning_logs/ms_resnet34_a100_subset/database_workload.json");
  const auto text = recorded_file("tuning_logs/ms_resnet34_a100_subset/database_tuning_record.json");
  if (!workloads || !text) return;
  std::istringstream in_workloads(*workloads);
  const auto known = tileseek::metaschedule_workloads(in_workloads, "database_workload.json");
  CHECK(known.size() == 3);
  for (const auto& w : known) CHECK(json::parse(w.module()).contains("nodes"));

  std::istringstream in(*text);
  tileseek::record_reader<metaschedule_record, std::size_t> log(in, "database_tuning_record.json",
                                                                tileseek::damage::stop, known.size());
  std::vector<metaschedule_record> records;
  std::string written;
  while (auto r = log.next()) {
    written += r->line() + "\n";
    records.push_back(std::move(*r));
  }
  CHECK(written == *text);

  std::istringstream again(*text);
  std::size_t lines = 0;
  std::size_t failed = 0;
  for (std::string line; std::getline(again, line); ++lines) {
    const auto j = json::parse(line);
    const auto seconds = j[1][1].get<std::vector<double>>();
    const bool ok = seconds.at(0) < 1e9;
    failed += ok ? 0U : 1U;
    const auto& r = records.at(lines);
    CHECK(r.result().valid() == ok);
    if (ok) CHECK(r.result().seconds == seconds);
    CHECK(r.workload() == j[0]);
  }
  CHECK(records.size() == 90);
  CHECK(lines == 90);
  CHECK(failed == 12);

  tileseek::rng random(3);
  for (const auto& r : records) {
    const auto space = r.space();
    const auto from = space.locate(r.values());
    REQUIRE(from.has_value());
    const auto around = space.lattice().neighbours(*from, 1);
    REQUIRE_FALSE(around.empty());
    const auto wanted = space.at(around[random.below(around.size())]);
    const auto changed = r.with(wanted);
    CHECK(changed.values() == wanted);
    auto before = json::parse(r.line());
    auto after = json::parse(changed.line());
    CHECK(before[1][0][1] != after[1][0][1]);
    // What stayed: everything but decisions, and the instructions up to the postprocessing.
    auto& instructions = before[1][0][0];
    for (std::size_t i = 0; i < instructions.size(); ++i)
      if (instructions[i][0] == "EnterPostproc")
        instructions.erase(instructions.begin() + static_cast<std::ptrdiff_t>(i), instructions.end());
    before[1][0][1] = after[1][0][1];
    CHECK(before == after);
  }
  for (const auto& one : tileseek::recordings_of<metaschedule_record>(records)) CHECK(one.outside() == 0);
}
