#include <tileseek/report/task_events.hpp>

#include <doctest/doctest.h>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <tileseek/search/random.hpp>
#include <tileseek/tune/tasks.hpp>

#include "../tune/fixture.hpp"

using nlohmann::json;
using tileseek::task_events;

namespace {

std::vector<tileseek::task> two_tasks() {
  tileseek::options<fixture::tile> quiet;
  quiet.progress = tileseek::verbosity::quiet;
  quiet.rounds = 0;
  tileseek::task_description conv;
  conv.name = "conv \"1\"";
  conv.flop = 2e9;
  conv.weight = 3;
  tileseek::task_description dead;
  dead.name = "dead";
  std::vector<tileseek::task> out;
  out.emplace_back(
      conv, fixture::tiles(), [](const fixture::tile&) { return 1e-3; }, tileseek::random{}, quiet);
  out.emplace_back(
      dead, fixture::tiles(),
      [](const fixture::tile&) { return tileseek::failure(tileseek::status::build_failed, ""); }, tileseek::random{},
      quiet);
  return out;
}

}  // namespace

TEST_CASE("every turn is a line: who, how fast, the totals; a start, and an end") {
  const fixture::temporary_file file;
  auto tasks = two_tasks();
  tileseek::tasks_options o;
  o.trials = 12;
  o.observers.push_back(task_events(file.path()));
  const auto r = tune_tasks(tasks, o);
  std::vector<json> lines;
  for (const auto& l : file.lines()) lines.push_back(json::parse(l));
  REQUIRE(lines.size() >= 4);
  CHECK(lines[0] == json::parse(R"({"event":"start","tasks":[{"id":0,"name":"conv \"1\"","flop":2e9,"weight":3.0},
    {"id":1,"name":"dead","flop":null,"weight":1.0}],"trial_limit":12,"second_limit":null})"));
  for (std::size_t i = 1; i + 1 < lines.size(); ++i) CHECK(lines[i]["event"] == "turn");
  auto first = lines[1];
  CHECK(first["total"]["elapsed"].is_number());
  first["total"].erase("elapsed");
  first["total"].erase("seconds_left");
  first.erase("best");
  CHECK(first["gflops"].get<double>() == doctest::Approx(2000));
  first.erase("gflops");
  CHECK(first == json::parse(R"({"event":"turn","id":0,"name":"conv \"1\"","seconds":1e-3,
    "weighted_seconds":3e-3,"trials":4,"replayed":0,"failed":0,"done":null,
    "total":{"trials":4,"replayed":0,"failed":0,"weighted_seconds":3e-3,"without_result":["dead"]}})"));
  CHECK(lines[2]["seconds"].is_null());
  CHECK(lines[2]["best"].is_null());
  CHECK(lines[2]["failed"] == 4);
  const auto& end = lines.back();
  CHECK(end["event"] == "end");
  CHECK(end["stopped"] == "trials");
  REQUIRE(end["tasks"].size() == 2);
  CHECK(end["tasks"][0]["best"] == r.tasks[0].best);
  CHECK(end["total"]["trials"] == 12);
  CHECK(end["total"]["seconds_left"].is_null());
}

TEST_CASE("a stream that is open already stays open") {
  std::FILE* file = std::tmpfile();
  REQUIRE(file != nullptr);
  {
    task_events events(file);
    std::vector<tileseek::task_row> rows(1);
    tileseek::tasks_progress p;
    p.tasks = rows;
    CHECK_FALSE(events(p));
  }
  CHECK(std::ftell(file) > 0);
  CHECK(std::fclose(file) == 0);
}

TEST_CASE("what cannot be written is an error with its name") {
  CHECK_THROWS_WITH_AS(task_events("/no/such/folder/events"),
                       "task_events: '/no/such/folder/events' cannot be written: No such file or directory",
                       std::runtime_error);
#if defined(__linux__)
  task_events full("/dev/full");
  std::vector<tileseek::task_row> rows(1);
  tileseek::tasks_progress p;
  p.tasks = rows;
  CHECK_THROWS_AS((void)full(p), std::runtime_error);
#endif
}
