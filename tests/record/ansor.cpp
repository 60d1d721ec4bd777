#include <tileseek/record/ansor.hpp>

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

using tileseek::ansor_record;
using tileseek::configuration;
using tileseek::status;
using tileseek::value;
using json = nlohmann::ordered_json;
using factors = std::vector<std::int64_t>;

/// A record with these steps, as compact as Ansor itself writes.
std::string with_steps(const std::string& steps, const std::string& result = "[[0.5,0.25],0,2.5,1697658138]") {
  return R"({"i":[["[\"mm\", 8, \"float\\n\"]","cuda -arch=sm_86",[-1,16,64,49152,2147483647,1024,8,32],"",0,[]],[[],[)" +
         steps + R"(]]],"r":)" + result + R"(,"v":"v0.6"})";
}

constexpr const char* two_loops =
    R"(["CHW",2,"local"],["SP",2,0,24,[1,4,2],1],["SP",2,4,7,[7],1],["RE",2,[0,1]],["FSP",3,0,1,2])";

configuration of(tileseek::named_values values) { return configuration(std::move(values)); }

std::string error_of(const std::string& line, tileseek::ansor_options options = {}) {
  try {
    const ansor_record record(line, options);
  } catch (const tileseek::detail::mismatch& e) {
    return e.what();
  }
  return "no error";
}

std::vector<ansor_record> all_of(const std::string& text) {
  std::istringstream in(text);
  tileseek::record_reader<ansor_record> log(in, "log.json");
  std::vector<ansor_record> out;
  while (auto r = log.next()) out.push_back(std::move(*r));
  CHECK(log.report().records == out.size());
  CHECK(log.report().damaged == 0);
  return out;
}

constexpr const char* logs[] = {
    "ansor_v06_cpu_bert_base_9tasks.json",       "ansor_v06_cpu_matmul_1000x800x700.json",
    "ansor_v06_cuda_conv2d_rtx3090_res7_1.json", "ansor_v06_cuda_conv2d_rtx3090_res7_2.json",
    "ansor_v06_cuda_droplet_matmul_a100.json",   "ansor_v06_cuda_matmul_sm75.json",
};

}  // namespace

TEST_CASE("a record tells kernel, target, splits and result, and keeps its line") {
  const std::string line = with_steps(two_loops);
  const ansor_record r(line);
  CHECK(r.line() == line);
  CHECK(r.task() == "[\"mm\", 8, \"float\\n\"]");
  CHECK(r.target() == "cuda -arch=sm_86");
  CHECK(r.version() == "v0.6");
  CHECK(r.result().outcome == status::ok);
  CHECK(r.result().seconds == std::vector<double>{0.5, 0.25});
  REQUIRE(r.splits().size() == 2);
  CHECK(r.splits()[0].step == 1);
  CHECK(r.splits()[0].stage == 2);
  CHECK(r.splits()[0].loop == 0);
  CHECK(r.splits()[0].extent == 24);
  CHECK(r.splits()[0].lengths == factors{1, 4, 2});
  CHECK(r.splits()[1].lengths == factors{7});
}

TEST_CASE("its space are tile axes, and it is in it") {
  const ansor_record r(with_steps(two_loops));
  const auto space = r.space();
  CHECK(space.names() == std::vector<std::string>{"sp1", "sp2"});
  CHECK(r.values_in(space) == of({{"sp1", value(factors{3, 1, 4, 2})}, {"sp2", value(factors{1, 7})}}));
  CHECK(space.contains(r.values_in(space)));
  CHECK(space.size() == 20 * 4 * 2);  // 2^3 and 3 over four levels, and 7 over two
  CHECK(space.default_configuration() == r.values_in(space));
  REQUIRE(space.lattice().tiles().size() == 2);
  CHECK(space.lattice().tiles()[0].levels == 4);
}

TEST_CASE("a changed record differs in the changed lengths alone, whatever the white space") {
  const auto changed = of({{"sp1", value(factors{2, 12, 1, 1})}, {"sp2", value(factors{7, 1})}});
  CHECK(ansor_record(with_steps(two_loops)).with(changed).line() ==
        with_steps(R"(["CHW",2,"local"],["SP",2,0,24,[12,1,1],1],["SP",2,4,7,[1],1],["RE",2,[0,1]],["FSP",3,0,1,2])"));
  CHECK(ansor_record(with_steps(R"(["SP" , 2,0, 24,[ 1,4 ,2  ],1])"))
            .with(of({{"sp0", value(factors{2, 12, 1, 1})}}))
            .line() == with_steps(R"(["SP" , 2,0, 24,[ 12,1 ,1  ],1])"));
}

TEST_CASE("a change that does not fit is refused") {
  const ansor_record r(with_steps(two_loops));
  CHECK_THROWS_WITH_AS(static_cast<void>(r.with(of({{"sp1", value(factors{24, 1})}, {"sp2", value(factors{7, 1})}}))),
                       "ansor_record: 24x1 for the tile axis 'sp1', which has 4 levels", std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(r.with(of({{"sp1", value(factors{3, 1, 4, 2})}}))), std::out_of_range);
}

TEST_CASE("steps are left alone where their extent is 1, unknown or follows from others, or which go outside in") {
  const std::string steps =
      R"(["SP",2,0,1,[1,1],1],["SP",2,3,0,[2],1],["SP",2,5,16,[2,2],0],["FU",3,[0,1]],["SP",3,0,128,[4],1],["SP",3,1,6,[3],1])";
  const ansor_record r(with_steps(steps));
  REQUIRE(r.splits().size() == 5);
  for (std::size_t i = 0; i < 4; ++i) CHECK_FALSE(r.splits()[i].movable);
  CHECK(r.space().names() == std::vector<std::string>{"sp5"});  // of a loop beside the fused one
  CHECK(
      r.with(of({{"sp5", value(factors{3, 2})}})).line() ==
      with_steps(
          R"(["SP",2,0,1,[1,1],1],["SP",2,3,0,[2],1],["SP",2,5,16,[2,2],0],["FU",3,[0,1]],["SP",3,0,128,[4],1],["SP",3,1,6,[2],1])"));
}

TEST_CASE("lengths that do not divide the extent are coordinates of their own") {
  const ansor_record r(with_steps(R"(["SP",2,0,10,[3,2],1])"));
  const auto space = r.space();
  CHECK(space.names() == std::vector<std::string>{"sp0[1]", "sp0[2]"});
  CHECK(space.lattice().axis(0).values == std::vector<double>{1, 2, 3, 5, 10});
  CHECK(space.lattice().axis(1).values == std::vector<double>{1, 2, 5, 10});
  const auto own = r.values_in(space);
  CHECK(own == of({{"sp0[1]", value(3)}, {"sp0[2]", value(2)}}));
  CHECK(space.contains(own));
  CHECK_FALSE(space.contains(of({{"sp0[1]", value(5)}, {"sp0[2]", value(5)}})));  // a tile of 25
  CHECK(r.with(of({{"sp0[1]", value(5)}, {"sp0[2]", value(1)}})).line() == with_steps(R"(["SP",2,0,10,[5,1],1])"));
}

TEST_CASE("one record that does not divide makes the axis of its family loose") {
  const std::vector<ansor_record> records{ansor_record(with_steps(R"(["SP",2,0,10,[5,2],1])")),
                                          ansor_record(with_steps(R"(["SP",2,0,10,[3,4],1])"))};
  const auto found = tileseek::recordings_of<ansor_record>(records);
  REQUIRE(found.size() == 1);
  CHECK(found[0].space.names() == std::vector<std::string>{"sp0[1]", "sp0[2]"});
  CHECK(found[0].trials[0].first == of({{"sp0[1]", value(5)}, {"sp0[2]", value(2)}}));
  CHECK(found[0].outside() == 0);
}

TEST_CASE("a family holds what differs in tile sizes and results alone") {
  const ansor_record one(with_steps(two_loops));
  const ansor_record other(
      with_steps(R"(["CHW",2,"local"],["SP",2,0,24,[12,1,1],1],["SP",2,4,7,[1],1],["RE",2,[0,1]],["FSP",3,0,1,2])",
                 "[[1e+10],2,0.5,1]"));
  const ansor_record reordered(
      with_steps(R"(["CHW",2,"local"],["SP",2,0,24,[1,4,2],1],["SP",2,4,7,[7],1],["RE",2,[1,0]],["FSP",3,0,1,2])"));
  CHECK(one.family() == other.family());
  const auto fused = [](const char* extent) {
    return ansor_record(
               with_steps(R"(["SP",2,0,24,[2],1],["FU",3,[0,1]],["SP",3,0,)" + std::string(extent) + ",[4],1]"))
        .family();
  };
  CHECK(fused("128") == fused("64"));
  CHECK(one.family() != reordered.family());
}

TEST_CASE("the unroll pragma is a coordinate on request only") {
  const std::string line = with_steps(R"(["SP",2,0,6,[2],1],["PR",2,0,"auto_unroll_max_step$512"],["SP",2,2,4,[4],1])");
  CHECK(ansor_record(line).space().names() == std::vector<std::string>{"sp0", "sp2"});
  const ansor_record r(line, {.unroll = {0, 16}});
  const auto space = r.space();
  CHECK(space.names() == std::vector<std::string>{"sp0", "sp2", "unroll1"});
  CHECK(space.lattice().axis(2).values == std::vector<double>{0, 16, 512});
  CHECK(space.contains(r.values_in(space)));
  CHECK(r.with(of({{"sp0", value(factors{6, 1})}, {"sp2", value(factors{1, 4})}, {"unroll1", value(16)}})).line() ==
        with_steps(R"(["SP",2,0,6,[1],1],["PR",2,0,"auto_unroll_max_step$16"],["SP",2,2,4,[4],1])"));
}

TEST_CASE("failures keep their kind") {
  const auto outcome = [](const char* result) { return ansor_record(with_steps(two_loops, result)).result(); };
  CHECK(outcome("[[1e+10],1,0.5,1]").outcome == status::build_failed);
  CHECK(outcome("[[1e+10],2,0.5,1]").outcome == status::build_failed);
  CHECK(outcome("[[1e+10],4,0.5,1]").outcome == status::run_failed);
  CHECK(outcome("[[1e+10],5,0.5,1]").outcome == status::wrong_result);
  CHECK(outcome("[[1e+10],6,0.5,1]").outcome == status::timed_out);
  CHECK(outcome("[[1e+10],7,0.5,1]").outcome == status::timed_out);
  CHECK(outcome("[[1e+10],8,0.5,1]").outcome == status::run_failed);
  CHECK(outcome("[[1e+10],-77,0.5,1]").outcome == status::run_failed);
  CHECK(outcome("[[1e+10],4,0.5,1]").note == "run-time error on the device");
  CHECK(outcome("[[1e+10],0,0.5,1]").outcome == status::run_failed);  // a cost of 300 years is none
  CHECK(outcome("[[0],0,0.5,1]").outcome == status::run_failed);
  CHECK(outcome("[[],0,0.5,1]").outcome == status::run_failed);
  CHECK(outcome("[[1e+999],0,0.5,1]").outcome == status::run_failed);
}

TEST_CASE("a result is written in its place") {
  const ansor_record r(with_steps(two_loops));
  CHECK(r.with_result({status::ok, {0.125, 0.0625}, {}}, 1.5, 7).line() ==
        with_steps(two_loops, "[[0.125, 0.0625], 0, 1.5, 7]"));
  for (const auto s : {status::build_failed, status::run_failed, status::wrong_result, status::timed_out})
    CHECK(r.with_result(tileseek::failure(s, "")).result().outcome == s);
  CHECK(r.with_result(tileseek::failure(status::crashed, "")).line() == with_steps(two_loops, "[[1e+10], 8, 0, 0]"));
  CHECK(r.with_result({status::ok, {}, {}}).result().outcome == status::run_failed);
}

TEST_CASE("older and extended lines are read as well, and written as they were") {
  for (
      const std::string line : {
          R"({"i":[["[\"mm\"]","llvm",[8,64,64]],[[],[["SP",0,0,4,[2],1]]]],"r":[[0.5],0,1,2],"v":"v0.2"})",
          R"({"i":[["[\"mm\"]","llvm",[8,64,64,0],"",1,["a"]],[[],[["SP",0,0,4,[2],1]]]],"r":[[0.5],0,1,2],"s":0.25,"ag":3,"v":"v0.6"})",
          R"({"i":[["[\"mm\"]","llvm",[8,64,64,0],"",1,["a"]],[[],[["SP",0,0,4,[2],1]]]],"r":[[0.5],0,1,2],"s":nan,"ag":-nan,"v":"v0.6"})",
          R"({ "v":"v0.6", "r":[[0.5],0,1,2], "x": null, "i":[["[\"mm\"]","llvm",[8,64,64]],[[],[["SP",0,0,4,[2],1]]]] })",
      }) {
    CAPTURE(line);
    const ansor_record r(line);
    CHECK(r.line() == line);
    CHECK(r.task() == "[\"mm\"]");
    CHECK(r.result().seconds == std::vector<double>{0.5});
    auto expected = line;
    expected.replace(expected.find("4,[2]"), 5, "4,[1]");
    CHECK(r.with(of({{"sp0", value(factors{4, 1})}})).line() == expected);
    CHECK(r.with(of({{"sp0", value(factors{4, 1})}})).family() == r.family());
  }
}

TEST_CASE("texts are told as they are meant") {
  const auto task = [](const std::string& workload) {
    return ansor_record(R"({"i":[[")" + workload + R"(","t",[1]],[[],[]]],"r":[[1],0],"v":"v0.6"})").task();
  };
  for (const std::string text : {R"(\"\/\b\f\n\r\t\\)", R"(a\u0041\u00e9\u20ac\ud83d\ude00z)", "\xc3\xa9", R"(\u0000)"})
    CHECK(task(text) == json::parse("\"" + text + "\"").get<std::string>());
  CHECK(task(R"(\ud83dx\ude00)") == "\xef\xbf\xbdx\xef\xbf\xbd");  // halves of a character
  CHECK(task(R"(\ud83d\ud83d)") == "\xef\xbf\xbd\xef\xbf\xbd");
  CHECK(task("\xff") == "\xff");
}

TEST_CASE("what is wrong with a line is said with its place") {
  const std::string good = with_steps(two_loops);
  CHECK(error_of(good) == "no error");
  CHECK(error_of("") == "expected a record, which begins with '{', found the end at byte 1");
  CHECK(error_of("[1]") == "expected a record, which begins with '{', found '[1]' at byte 1");
  CHECK(error_of(good + "}").starts_with("expected the end of the line, found '}' at byte "));
  CHECK(error_of("{}") == "expected an input, \"i\", in the record, found the end at byte 3");
  CHECK(error_of(R"({"i":[["w","t",[1]],[[],[]]],"v":"v0.6"})").starts_with("expected a result, \"r\", in the record"));
  CHECK(
      error_of(R"({"i":[["w","t",[1]],[[],[]]],"r":[[1],0]})").starts_with("expected a version, \"v\", in the record"));
  CHECK(error_of(R"({"i":[["w","t",[1]],[[],[]]],"r":[[1],0],"v":"2"})") ==
        "expected a version such as \"v0.6\", found '\"2\"}' at byte 46");
  CHECK(error_of(R"({"i":[["w","t"],[[],[]]],"r":[[1],0],"v":"v0.6"})").starts_with("expected a task of at least"));
  CHECK(error_of(R"({"i":[["w","t",[1]]],"r":[[1],0],"v":"v0.6"})").starts_with("expected a state after the task"));
  CHECK(error_of(R"({"i":[["w","t",[1]],[[]]],"r":[[1],0],"v":"v0.6"})").starts_with("expected the steps of a state"));
  CHECK(error_of(with_steps(R"(["SP",2,0,"x",[1],1])")).starts_with("expected an extent, found '\"x\",[1],1]"));
  CHECK(error_of(with_steps(R"(["SP",2,0,4,[1.5],1])")).starts_with("expected the lengths of a split, found '1.5]"));
  CHECK(error_of(with_steps(R"(["SP",2,0,4,[1]])")).starts_with("expected a split of 6 parts before here"));
  CHECK(
      error_of(with_steps(R"(["SP",2,0,99999999999999999999,[1],1])")).starts_with("expected an extent, found '9999"));
  CHECK(error_of(with_steps(R"([])")).starts_with("expected a step's kind"));
  CHECK(error_of(with_steps(R"(["PR",2,0,"auto_unroll_max_step$5x2"])"), {.unroll = {0}})
            .starts_with("expected the end of the pragma, found 'x2'"));
  CHECK(error_of(with_steps(two_loops, "[[0.5]]")).starts_with("expected costs and an error number"));
  CHECK(error_of(with_steps(two_loops, R"([["fast"],0])")).starts_with("expected costs, found '\"fast\""));
  CHECK(error_of(with_steps(two_loops, "[[01],0]")).starts_with("expected ',' or ']', found '1],0]"));
  std::string deep = R"({"x":)" + std::string(100, '[') + std::string(100, ']') + "}";
  CHECK(error_of(deep).starts_with("expected at most 64 values inside one another"));
  for (std::size_t n = 0; n < good.size(); ++n) CHECK(error_of(good.substr(0, n)) != "no error");  // cut anywhere
}

TEST_CASE("a damaged line ends the reading, with its place and what came before") {
  const std::string good = with_steps(two_loops) + "\n";
  std::istringstream in("# a comment\n" + good + "\n" + good + good.substr(0, 50) + "\n" + good);
  tileseek::record_reader<ansor_record> log(in, "log.json");
  CHECK(log.next().has_value());
  CHECK(log.next().has_value());
  try {
    static_cast<void>(log.next());
    FAIL("the damage was not noticed");
  } catch (const std::runtime_error& e) {
    CHECK(std::string(e.what()).starts_with("log.json:5: expected "));
    CHECK(std::string(e.what()).ends_with("; 2 records came before"));
  }
}

TEST_CASE("a torn last line is dropped and noted") {
  const std::string good = with_steps(two_loops) + "\n";
  std::istringstream in(good + good.substr(0, 50));
  tileseek::record_reader<ansor_record> log(in, "log.json");
  CHECK(log.next().has_value());
  CHECK_FALSE(log.next().has_value());
  CHECK(log.report().damaged == 1);
}

TEST_CASE("or is left out, counted and listed") {
  const std::string good = with_steps(two_loops) + "\n";
  std::istringstream in(good + "nonsense\n" + good + good.substr(0, 50));
  tileseek::record_reader<ansor_record> log(in, "log.json", tileseek::damage::skip);
  std::size_t n = 0;
  while (log.next()) ++n;
  CHECK(n == 2);
  CHECK(log.report().records == 2);
  CHECK(log.report().damaged == 2);
  REQUIRE(log.report().problems.size() == 2);
  CHECK(log.report().problems[0] == "log.json:2: expected a record, which begins with '{', found 'nonsense' at byte 1");
  CHECK(log.report().problems[1].starts_with("log.json:4: the last line is torn and was dropped: expected "));
  CHECK(to_string(log.report()).starts_with("log.json: 2 records, 2 damaged left out\n  log.json:2: "));
}

TEST_CASE("real logs: all records read, failures as another parser counts them, written as they were") {
  for (const std::string name : logs) {
    CAPTURE(name);
    const auto text = recorded_file("tuning_logs/" + name);
    if (!text) return;
    std::string written;
    std::size_t failures = 0;
    const auto records = all_of(*text);
    for (const auto& r : records) {
      written += r.line() + "\n";
      failures += r.result().valid() ? 0U : 1U;
    }
    CHECK(written == *text);
    std::istringstream in(*text);
    std::size_t lines = 0;
    std::size_t failed = 0;
    for (std::string line; std::getline(in, line); ++lines) {
      const auto j = json::parse(line);
      failed += j["r"][1] == 0 ? 0U : 1U;
      CHECK(records[lines].task() == j["i"][0][0]);
      if (j["r"][1] == 0) CHECK(records[lines].result().seconds == j["r"][0].get<std::vector<double>>());
    }
    CHECK(records.size() == lines);
    CHECK(failures == failed);
  }
}

TEST_CASE("real logs: a thousand random moves change the moved tile sizes and nothing else") {
  std::vector<ansor_record> records;
  for (const std::string name : logs) {
    const auto text = recorded_file("tuning_logs/" + name);
    if (!text) return;
    for (auto& r : all_of(*text))
      if (!r.space().names().empty()) records.push_back(std::move(r));
  }
  tileseek::rng random(7);
  std::size_t held = 0;
  std::size_t changed = 0;
  for (int i = 0; i < 1000; ++i) {
    const ansor_record& base = records[random.below(records.size())];
    const auto space = base.space();
    const auto& lattice = space.lattice();
    const auto from = *space.locate(base.values_in(space));
    const auto view = random.below(2) == 0 ? tileseek::tile_view::factor : tileseek::tile_view::inclusive;
    const auto around = lattice.neighbours(from, 1 + random.below(2), view);
    if (around.empty()) continue;
    const auto wanted = space.at(around[random.below(around.size())]);
    const auto moved = base.with(wanted);
    CHECK(moved.values_in(space) == wanted);
    CHECK(moved.family() == base.family());

    auto before = json::parse(base.line());
    auto after = json::parse(moved.line());
    auto& old_steps = before["i"][1][1];
    auto& new_steps = after["i"][1][1];
    REQUIRE(old_steps.size() == new_steps.size());
    for (const auto& s : base.splits()) {
      if (!s.movable) continue;
      const auto lengths = new_steps[s.step][4].get<factors>();
      REQUIRE(lengths.size() == s.lengths.size());
      std::int64_t left = s.extent;
      bool divides = true;
      for (const auto f : lengths) {
        divides = divides && left % f == 0;
        left /= f;
      }
      if (s.divides()) {
        CHECK(divides);
        ++held;
        CHECK(wanted[s.name()] == value([&] {
                factors all{left};
                all.insert(all.end(), lengths.begin(), lengths.end());
                return all;
              }()));
      }
      changed += lengths == s.lengths ? 0U : 1U;
      new_steps[s.step][4] = old_steps[s.step][4];
    }
    CHECK(before == after);
  }
  CHECK(held > 1000);
  CHECK(changed >= 900);
}
