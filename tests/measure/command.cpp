#include <tileseek/measure/command.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <unistd.h>

#include <tileseek/search/exhaustive.hpp>
#include <tileseek/tune/tune.hpp>

using tileseek::command;
using tileseek::measurement;
using tileseek::measuring;
using tileseek::status;

namespace {

struct job {
  int deed = 0, n = 0;
  bool exact = true;
};

const auto jobs = tileseek::space<job>{}
                      .add("deed", &job::deed, tileseek::range(0, 40))
                      .add("n", &job::n, tileseek::range(0, 99))
                      .add("exact", &job::exact, {true, false});

static_assert(tileseek::RunAwareMeasurer<tileseek::command_measurer<job>, job>);

enum deed {
  good,
  crashes,
  exits,
  hangs,
  garbage,
  other_id,
  twice,
  no_id,
  a_number,
  no_seconds,
  odd_status,
  odd_seconds,
  odd_note,
  negative,
  fails,
  one_number,
  closes,
  endless,
  waits_for_another,
  blank_lines,
  breaks_others,
  fragile,
  silent_child,
};

/// A program that does what its configurations say, in a file of its own.
struct worker {
  std::string file = "/tmp/worker-XXXXXX";
  worker() {
    const int f = mkstemp(file.data());
    REQUIRE(f >= 0);
    close(f);
    std::ofstream(file) << R"(
import json, os, signal, subprocess, sys, time
waiting, damaged = [], False
def say(**answer):
    print(json.dumps(answer), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    id, c = request["id"], request["configuration"]
    deed, n = c["deed"], c["n"]
    if deed == 0: say(id=id, seconds=[n + 1.0, n + 1.5], note="as asked")
    if deed == 1: os.kill(os.getpid(), signal.SIGSEGV)
    if deed == 2: sys.exit(5)
    if deed == 3: time.sleep(1000)
    if deed == 4: print("Traceback (most recent call last):", flush=True)
    if deed == 5: say(id=id + 1000, seconds=1)
    if deed == 6: say(id=id, seconds=1); say(id=id, seconds=2)
    if deed == 7: say(seconds=1)
    if deed == 8: print(3, flush=True)
    if deed == 9: say(id=id)
    if deed == 10: say(id=id, status="splendid")
    if deed == 11: say(id=id, seconds=["soon"])
    if deed == 12: say(id=id, seconds=1, note=7)
    if deed == 13: say(id=id, seconds=[1, -1])
    if deed == 14: say(id=id, status="wrong_result", note="off by 3")
    if deed == 15: say(id=id, seconds=0.5)
    if deed == 16: os.close(1); time.sleep(1000)
    if deed == 17: os.write(1, b"x" * (17 << 20)); time.sleep(1000)
    if deed == 18: waiting.append(id)
    if deed == 19: print("\n  \n", flush=True); say(id=id, seconds=1)
    if deed == 20: damaged = True; say(id=id, seconds=1)
    if deed == 21: sys.exit(1) if damaged else say(id=id, seconds=3)
    if deed == 22: subprocess.Popen(["sleep", "1000"]); sys.exit(6)
    if deed == 23: say(id=id, seconds=1, note=json.dumps(request, sort_keys=True))
    if deed != 18 and len(waiting) >= 2:
        for id in reversed(waiting): say(id=id, seconds=id)
        waiting = []
)";
  }
  worker(const worker&) = delete;
  ~worker() { std::remove(file.c_str()); }
  [[nodiscard]] tileseek::command_choices<job> choices(std::size_t ahead = 1) const {
    return {.program = {"python3", file},
            .ahead = ahead,
            .limits = {.most_seconds = 20, .build_seconds = 10, .renew = false}};
  }
};

/// One configuration in a fresh program.
measurement one(const worker& w, int deed, double seconds = 20) {
  auto how = w.choices();
  how.limits.most_seconds = seconds;
  auto m = command(jobs, how);
  const auto r = m.measure(std::vector<job>{{deed, 7, true}});
  REQUIRE(r.size() == 1);
  return r.front();
}

bool starts(const std::string& text, const std::string& with) { return text.compare(0, with.size(), with) == 0; }

}  // namespace

TEST_CASE("answers are results") {
  const worker w;
  auto m = one(w, good);
  CHECK(m.valid());
  CHECK(m.seconds == std::vector<double>{8, 8.5});
  CHECK(m.note == "as asked");
  CHECK(one(w, one_number).seconds == std::vector<double>{0.5});
  CHECK(one(w, blank_lines).valid());
  m = one(w, fails);
  CHECK(m.outcome == status::wrong_result);
  CHECK(m.note == "off by 3");
}

TEST_CASE("what is no result gets a status, and the reason says what came") {
  const worker w;
  CHECK(one(w, crashes).note == "killed by SIGSEGV");
  CHECK(one(w, exits).note == "exited with code 5");
  CHECK(one(w, silent_child).note == "exited with code 6");
  CHECK(one(w, closes).note == "the program closed its output");
  CHECK(one(w, garbage).note == "the program printed what is no answer: Traceback (most recent call last):");
  CHECK(one(w, endless).note == "the program printed a line without end");
  for (const int d : {crashes, exits, silent_child, closes, garbage, endless, other_id, no_id, a_number}) {
    CAPTURE(d);
    CHECK(one(w, d).outcome == status::crashed);
  }
  for (const int d : {no_seconds, odd_status, odd_seconds, odd_note, negative}) {
    CAPTURE(d);
    CHECK(one(w, d).outcome == status::run_failed);
  }
  CHECK(starts(one(w, no_seconds).note, "the program's answer has neither seconds nor a status: {\"id\":"));
  CHECK(starts(one(w, odd_status).note, "the program's answer has an unknown status: "));
  const auto late = one(w, hangs, 0.3);
  CHECK(late.outcome == status::timed_out);
  CHECK(late.note == "no answer within 300 ms");
}

TEST_CASE("the rest of a batch survives, in order, whatever happens") {
  const worker w;
  for (const std::size_t ahead : {1U, 3U, 100U}) {
    CAPTURE(ahead);
    auto how = w.choices(ahead);
    how.limits.most_seconds = 1;
    auto m = command(jobs, how);
    const std::vector<int> deeds{good, crashes, good, garbage, hangs, good, other_id, twice, good, exits, good};
    std::vector<job> batch;
    for (const int d : deeds) batch.push_back({d, static_cast<int>(batch.size()), true});
    std::vector<std::size_t> told;
    measuring run;
    run.finished = [&told](std::size_t i, const measurement&) { told.push_back(i); };
    const auto r = m.measure(batch, run);
    REQUIRE(r.size() == deeds.size());
    CHECK(told.size() == deeds.size());
    for (std::size_t i = 0; i < deeds.size(); ++i) {
      CAPTURE(i);
      const auto expected = deeds[i] == good || deeds[i] == twice ? status::ok
                            : deeds[i] == hangs                   ? status::timed_out
                                                                  : status::crashed;
      CHECK(r[i].outcome == expected);
      if (deeds[i] == good) CHECK(r[i].seconds.front() == static_cast<double>(i) + 1);
    }
  }
}

TEST_CASE("answers may come in any order") {
  const worker w;
  auto m = command(jobs, w.choices(3));
  const auto r =
      m.measure(std::vector<job>{{waits_for_another, 0, true}, {waits_for_another, 1, true}, {good, 2, true}});
  REQUIRE(r.size() == 3);
  CHECK(r[0].cost() == 1);  // its id
  CHECK(r[1].cost() == 2);
  CHECK(r[2].valid());
  CHECK(m.workers() == 1);
}

TEST_CASE("who dies in a damaged program is asked again in a new one") {
  const worker w;
  auto m = command(jobs, w.choices());
  const auto r = m.measure(std::vector<job>{{breaks_others, 0, true}, {fragile, 0, true}, {fragile, 1, true}});
  for (const auto& one_of_them : r) CHECK(one_of_them.valid());
  CHECK(m.workers() == 2);
  auto renewed = w.choices();
  renewed.limits.renew = true;
  auto n = command(jobs, renewed);
  CHECK(n.measure(std::vector<job>{{fails, 0, true}, {good, 0, true}, {good, 1, true}}).size() == 3);
  CHECK(n.workers() == 2);
}

TEST_CASE("a request holds the configuration with its types, the limits, and what else is wanted") {
  const worker w;
  auto how = w.choices();
  how.also = [](const job& j) { return nlohmann::json{{"record", {{"line", j.n}}}}; };
  measuring run;
  run.limits.max_seconds = 3;
  const auto m = command(jobs, how).measure(std::vector<job>{{23, 5, false}}, run).front();
  CHECK(
      m.note ==
      R"({"configuration": {"deed": 23, "exact": false, "n": 5}, "id": 1, "limits": {"incumbent": null, "max_samples": 7, )"
      R"("max_seconds": 3.0, "min_samples": 3, "reject_above": 1.25, "settled": 0.01}, "record": {"line": 5}})");
}

TEST_CASE("a run that is to end asks nothing more, and hears what it has asked") {
  const worker w;
  auto m = command(jobs, w.choices(2));
  std::size_t told = 0;
  measuring run;
  run.finished = [&told](std::size_t, const measurement&) { ++told; };
  run.stop = [&told] { return told >= 3; };
  std::vector<job> batch(10);
  CHECK(m.measure(batch, run).size() == 4);
  CHECK(m.measure(batch, run).empty());
  CHECK(m.measure(std::vector<job>{}).empty());
}

TEST_CASE("a whole run") {
  const worker w;
  const auto space = tileseek::space<job>{}
                         .add("deed", &job::deed, {good, crashes, garbage})
                         .add("n", &job::n, tileseek::range(3, 9))
                         .add("exact", &job::exact, {true});
  auto m = command(space, w.choices(4));
  const auto r =
      tileseek::tune(space, m, {.rounds = 1, .progress = tileseek::verbosity::quiet}, tileseek::exhaustive{});
  REQUIRE(r.best);
  CHECK(r.best->n == 3);
  CHECK(r.trials == 21);
  CHECK(r.by_status[static_cast<std::size_t>(status::crashed)] == 14);
}

TEST_CASE("mistakes are named") {
  const worker w;
  auto how = w.choices();
  how.program = {"/no/such/program"};
  auto m = command(jobs, how);
  CHECK_THROWS_WITH_AS(static_cast<void>(m.measure(std::vector<job>{{}})),
                       "the program '/no/such/program' can't be started: No such file or directory",
                       std::runtime_error);
  how.program.clear();
  CHECK_THROWS_WITH_AS(static_cast<void>(command(jobs, how)),
                       "command: program is empty; name a file and its arguments", std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(command(jobs, w.choices(0))), std::invalid_argument);
}
