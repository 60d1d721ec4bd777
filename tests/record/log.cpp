#include <tileseek/record/log.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tileseek/measure/isolated.hpp>
#include <tileseek/search/droplet.hpp>
#include <tileseek/search/dynamic_gradient.hpp>
#include <tileseek/search/exhaustive.hpp>
#include <tileseek/search/random.hpp>
#include <tileseek/tune/tasks.hpp>
#include <tileseek/tune/tune.hpp>

#include "tune/fixture.hpp"

using fixture::cost_of;
using fixture::counted;
using fixture::temporary_file;
using fixture::tile;
using fixture::tiles;
using tileseek::log_file;
using tileseek::measurement;
using tileseek::status;
using tileseek::stop;

namespace {

tileseek::options<tile> logged(const temporary_file& file, std::size_t trials, std::size_t batch = 1) {
  auto o = fixture::quiet(trials);
  o.batch = batch;
  o.seed = 5;
  o.log = log_file(file.path());
  return o;
}

tileseek::options<tile> guarded(const temporary_file& file, std::size_t trials, std::size_t batch = 1) {
  auto o = logged(file, trials, batch);
  o.crashed_after = 2;
  return o;
}

using measure_function = std::function<measurement(const tile&)>;

const tileseek::space<tile>& compiled_tiles() {
  static const auto space = [] {
    auto s = tiles();
    CHECK(s.size() == 160);  // counted once for all
    return s;
  }();
  return space;
}

/// All runs go through here: tune() is compiled once.
tileseek::result<tile> run(const tileseek::options<tile>& o, const measure_function& f, tileseek::any_strategy strategy,
                           const tileseek::space<tile>& space = compiled_tiles()) {
  return tune(space, f, o, std::move(strategy));
}
tileseek::result<tile> run(const tileseek::options<tile>& o, counted& measured, tileseek::any_strategy strategy) {
  return run(o, measure_function(std::ref(measured)), std::move(strategy));
}
tileseek::result<tile> run(const tileseek::options<tile>& o, tileseek::any_strategy strategy) {
  return run(o, measure_function(cost_of), std::move(strategy));
}

/// The text of the exception that a run with this log ends with; empty for none.
std::string refused(const temporary_file& file, std::size_t trials = 5) {
  try {
    static_cast<void>(run(logged(file, trials), tileseek::random{}));
  } catch (const std::exception& e) {
    return e.what();
  }
  return {};
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Configurations in a log; fails the test when one is there twice.
std::set<std::string> configurations(const temporary_file& file) {
  std::set<std::string> out;
  for (const auto& line : file.lines()) {
    const auto j = tileseek::detail::json::parse(line);
    if (j.contains("configuration")) CHECK(out.insert(j.at("configuration").dump()).second);
  }
  return out;
}

void same(const tileseek::result<tile>& a, const tileseek::result<tile>& b) {
  CHECK(a.trials == b.trials);
  CHECK(a.best == b.best);
  CHECK(a.median_seconds == b.median_seconds);
  CHECK(a.rounds == b.rounds);
  CHECK(a.stopped == b.stopped);
  CHECK(a.by_status == b.by_status);
  REQUIRE(a.history.size() == b.history.size());
  std::size_t different = 0;
  for (std::size_t i = 0; i < a.history.size(); ++i)
    if (a.history[i].at != b.history[i].at || a.history[i].result.outcome != b.history[i].result.outcome ||
        a.history[i].result.seconds != b.history[i].result.seconds ||
        a.history[i].result.note != b.history[i].result.note)
      ++different;
  CHECK(different == 0);
}

/// Runs to the end; then, for every given prefix of the log, resumes and expects the same end.
void survives_cuts(const std::function<tileseek::any_strategy()>& strategy, std::size_t batch, std::size_t rounds,
                   bool every_byte) {
  temporary_file file;
  auto o = logged(file, every_byte ? 4 : 16, batch);
  o.rounds = rounds;
  const auto undisturbed = run(o, strategy());
  REQUIRE(undisturbed.trials >= 4);
  const std::string whole = file.content();
  const auto all = configurations(file);
  CHECK(all.size() == undisturbed.trials);
  tileseek::rng random(1);
  std::size_t cut = 0;
  std::size_t cuts = 0;
  while (cut <= whole.size()) {
    CAPTURE(cut);
    file.write(whole.substr(0, cut));
    const auto kept =
        static_cast<std::size_t>(std::count(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(cut), '\n'));
    const bool newline_only = cut < whole.size() && whole[cut] == '\n';  // the line is whole but for its end
    counted measured;
    o.log = log_file(file.path());
    const auto r = run(o, measured, strategy());
    same(r, undisturbed);
    CHECK(r.replayed + r.measured == r.trials);
    const std::size_t trial_lines =
        std::min(all.size(), (kept == 0 ? 0 : kept - 1) + (newline_only && kept > 0 ? 1 : 0));
    CHECK(r.replayed == trial_lines);
    if (rounds == 0) {
      CHECK(measured.total == static_cast<int>(r.measured));
      for (const auto& [t, calls] : measured.calls) CHECK(calls == 1);
    }
    CHECK(configurations(file) == all);
    counted none;
    o.log = log_file(file.path());
    const auto again = run(o, none, strategy());
    same(again, undisturbed);
    CHECK(none.total == 0);
    ++cuts;
    // The next byte; or a random one in this line, then the line's end without and with its newline.
    if (every_byte) {
      ++cut;
    } else {
      const auto end = whole.find('\n', cut);
      if (end == std::string::npos) break;
      cut = cuts % 3 == 1 && end > cut + 1 ? cut + 1 + static_cast<std::size_t>(random.below(end - cut - 1))
            : cut < end                    ? end
                                           : end + 1;
    }
  }
  CHECK(cuts > 30);
}

}  // namespace

TEST_CASE("the first line says what was measured under: the machine, the compiler, and what the measurer says") {
  struct on_a_device {
    std::vector<measurement> measure(std::span<const tile> batch) {
      std::vector<measurement> out;
      for (const auto& t : batch) out.push_back(cost_of(t));
      return out;
    }
    [[nodiscard]] static tileseek::named_values conditions() { return {{"caches", tileseek::value("flushed")}}; }
  };
  const temporary_file file;
  auto o = logged(file, 5);
  o.conditions = {{"node", tileseek::value("n17")}};
  static_cast<void>(tileseek::tune(tiles(), on_a_device{}, o, tileseek::random{}));
  const auto under = nlohmann::json::parse(file.content().substr(0, file.content().find('\n'))).at("conditions");
  CHECK(under.at("caches") == "flushed");
  CHECK(under.at("node") == "n17");
  CHECK(!under.at("compiler").get<std::string>().empty());
  CHECK(under.at("compiled_for").get<std::string>().find("optimised") != std::string::npos);
#if defined(__linux__)
  CHECK(under.contains("cpu"));
  CHECK(under.at("load").is_number());
#endif
}

TEST_CASE("a cut log resumes to the same end: random, every byte") {
  survives_cuts([] { return tileseek::random{}; }, 1, 0, true);
}
TEST_CASE("a cut log resumes to the same end: random in batches of 8") {
  survives_cuts([] { return tileseek::random{}; }, 8, 0, false);
}
TEST_CASE("a cut log resumes to the same end: droplet") {
  survives_cuts([] { return tileseek::droplet{}; }, 1, 0, false);
  survives_cuts([] { return tileseek::droplet{}; }, 8, 0, false);
}
TEST_CASE("a cut log resumes to the same end: dynamic gradient") {
  survives_cuts([] { return tileseek::dynamic_gradient{}; }, 1, 0, false);
  survives_cuts([] { return tileseek::dynamic_gradient{}; }, 8, 0, false);
}
TEST_CASE("a cut log resumes to the same end: with the final contest") {
  survives_cuts([] { return tileseek::droplet{}; }, 4, 6, false);
}

TEST_CASE("a run killed 50 times ends like one that was not") {
  temporary_file undisturbed_file;
  temporary_file file;
  const auto expected = run(logged(undisturbed_file, 150, 3), tileseek::droplet{});
  auto o = logged(file, 150, 3);
  // Calls of the measurer are counted by bytes in a file, which survive the kill.
  temporary_file calls;
  tileseek::rng random(9);
  const measure_function slow = [&](const tile& t) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    std::FILE* f = std::fopen(calls.path().c_str(), "ab");
    std::fputc('x', f);
    std::fclose(f);
    return cost_of(t);
  };
  std::size_t kills = 0;
  bool finished = false;
  for (std::size_t start = 0; start < 50 && !finished; ++start) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      static_cast<void>(run(o, slow, tileseek::droplet{}));
      _exit(0);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(500 + random.below(10000)));
    kill(child, SIGKILL);
    int how = 0;
    REQUIRE(waitpid(child, &how, 0) == child);
    if (WIFSIGNALED(how)) ++kills;
    finished = WIFEXITED(how);
    if (WIFEXITED(how)) CHECK(WEXITSTATUS(how) == 0);
  }
  const auto r = run(o, slow, tileseek::droplet{});
  CHECK(kills > 5);
  same(r, expected);
  CHECK(configurations(file) == configurations(undisturbed_file));
  // A kill between measuring and writing costs that one measurement again: no more.
  CHECK(calls.content().size() >= r.trials);
  CHECK(calls.content().size() <= r.trials + kills);
}

TEST_CASE("a tuner with a worker, killed 50 times: no finished trial is lost, and none measured twice") {
  temporary_file undisturbed_file;
  temporary_file file;
  const auto expected = run(logged(undisturbed_file, 120, 3), tileseek::droplet{});
  auto o = logged(file, 120, 3);
  temporary_file calls;
  const auto slow = [&](const tile& t) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    std::FILE* f = std::fopen(calls.path().c_str(), "ab");
    std::fputc('x', f);
    std::fclose(f);
    return cost_of(t);
  };
  const auto start = [&] {
    auto worker = isolated(compiled_tiles(), slow);
    return tune(compiled_tiles(), worker, o, tileseek::any_strategy(tileseek::droplet{}));
  };
  tileseek::rng random(4);
  std::size_t kills = 0;
  std::fflush(stdout);  // or the worker would do so for what it inherits
  for (bool finished = false; kills < 50 && !finished;) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      try {
        static_cast<void>(start());
      } catch (const std::exception& e) {  // a worker that still held the log's lock, for example
        std::fprintf(stderr, "%s\n", e.what());
        _exit(1);
      }
      _exit(0);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(500 + random.below(12000)));
    kill(child, SIGKILL);
    int how = 0;
    REQUIRE(waitpid(child, &how, 0) == child);
    finished = WIFEXITED(how);
    if (finished) CHECK(WEXITSTATUS(how) == 0);
    if (WIFSIGNALED(how)) ++kills;
  }
  const auto r = start();
  CHECK(kills > 5);
  same(r, expected);
  CHECK(configurations(file) == configurations(undisturbed_file));
  CHECK(calls.content().size() >= r.trials);
  CHECK(calls.content().size() <= r.trials + kills);
}

TEST_CASE("a configuration that kills the run is found out: after its second death the run goes on without it") {
  const auto deadly = [](const tile& t) { return t.rows + t.columns == 7; };
  const measure_function survives = [&](const tile& t) {
    return deadly(t) ? tileseek::failure(status::crashed, "the run died 2 times while measuring this") : cost_of(t);
  };
  for (const std::size_t batch : {1u, 5u, 60u}) {
    CAPTURE(batch);
    temporary_file undisturbed_file;
    const auto expected = run(guarded(undisturbed_file, 60, batch), survives, tileseek::random{});
    const auto crashers = expected.by_status[static_cast<std::size_t>(status::crashed)];
    REQUIRE(crashers >= 4);
    temporary_file file;
    temporary_file calls;
    const measure_function dies = [&](const tile& t) {
      std::FILE* f = std::fopen(calls.path().c_str(), "ab");
      std::fprintf(f, "%s\n", compiled_tiles().describe(t).c_str());
      std::fclose(f);
      if (deadly(t)) _exit(9);
      return cost_of(t);
    };
    std::size_t deaths = 0;
    for (int code = 9; code != 0;) {
      const pid_t child = fork();
      if (child == 0) {
        static_cast<void>(run(guarded(file, 60, batch), dies, tileseek::random{}));
        _exit(0);
      }
      int how = 0;
      REQUIRE(waitpid(child, &how, 0) == child);
      REQUIRE(WIFEXITED(how));
      code = WEXITSTATUS(how);
      REQUIRE((code == 0 || code == 9));
      if (code == 9) ++deaths;
      REQUIRE(deaths <= 2 * crashers);
    }
    // The first of a batch to die may take an innocent one with it: never into the log.
    CHECK(deaths >= crashers + 1);
    CHECK(deaths <= 2 * crashers);
    std::map<std::string, std::size_t> called;
    for (const auto& line : calls.lines()) ++called[line];
    CHECK(called.size() == 60);
    CHECK(calls.lines().size() == 60 - crashers + deaths);  // what did not kill it was measured once
    counted none;
    const auto r = run(guarded(file, 60, batch), none, tileseek::random{});
    CHECK(none.total == 0);
    CHECK(r.replayed == 60);
    same(r, expected);
    CHECK(access((file.path() + ".running").c_str(), F_OK) != 0);
  }
}

TEST_CASE("a run that was killed once blames nobody, and hands out one by one what was being measured") {
  temporary_file file;
  const auto other = file.path() + ".running";
  const auto killed_in_a_batch_of = [&](std::size_t n) {
    const pid_t child = fork();
    if (child == 0) {
      tileseek::session<tile> s(tiles(), tileseek::random{}, guarded(file, 30, n));
      const auto batch = s.ask(n);
      for (std::size_t i = 0; i + 3 < n; ++i) s.tell(i, cost_of((*batch)[i]));
      _exit(0);
    }
    REQUIRE(waitpid(child, nullptr, 0) == child);
    CHECK(access(other.c_str(), F_OK) == 0);
  };
  killed_in_a_batch_of(8);
  {
    tileseek::session<tile> s(tiles(), tileseek::random{}, logged(file, 30, 8));  // asks none one by one
    CHECK(s.ask(8)->size() == 3);
  }
  std::vector<std::size_t> sizes;
  tileseek::session<tile> s(tiles(), tileseek::random{}, guarded(file, 30, 8));
  while (const auto batch = s.ask(8)) {
    sizes.push_back(batch->size());
    for (std::size_t i = 0; i < batch->size(); ++i) s.tell(i, cost_of((*batch)[i]));
  }
  CHECK(sizes == std::vector<std::size_t>{1, 1, 1, 8, 8, 6});
  const auto r = s.finish();
  CHECK(r.notes.empty());
  CHECK(r.trials == 30);
  temporary_file again;
  same(r, run(guarded(again, 30, 8), tileseek::random{}));
}

TEST_CASE("what is being measured stands in a file beside the log, for as long as the log is open") {
  temporary_file file;
  const auto name = file.path() + ".running";
  const auto running = [&] {
    std::ifstream in(name);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const auto exists = [&] { return access(name.c_str(), F_OK) == 0; };
  const measure_function looks = [&](const tile& t) {
    const auto values = tileseek::detail::to_json(tiles().named_values_of(t)).dump();
    CHECK(running().starts_with("{\"running\":[{\"configuration\":" + values + "}]}"));
    return cost_of(t);
  };
  CHECK(run(guarded(file, 10), looks, tileseek::random{}).trials == 10);
  CHECK(!exists());
  const measure_function gives_up = [&](const tile&) -> measurement {
    CHECK(exists());
    throw std::bad_alloc();
  };
  CHECK_THROWS_AS(static_cast<void>(run(guarded(file, 20), gives_up, tileseek::random{})), std::bad_alloc);
  CHECK(!exists());
  const auto content = file.content();
  // Torn, empty, of another space, of what was finished: none is a suspect.
  const auto finished = tileseek::detail::json::parse(file.lines()[1]).at("configuration").dump();
  for (const std::string& text :
       {std::string("{\"running\":[{\"confi"), std::string(), std::string(R"({"running":[{"configuration":{"x":1}}]})"),
        R"({"running":[{"configuration":)" + finished + R"(,"deaths":7}]})"}) {
    file.write(content);
    std::ofstream(name) << text;
    CHECK(run(guarded(file, 20), tileseek::random{}).by_status[static_cast<std::size_t>(status::crashed)] == 0);
    CHECK(!exists());
  }
  // Nothing is known of a file that is left over when its log is gone.
  temporary_file gone;
  std::ofstream(gone.path() + ".running") << R"({"running":[{"configuration":)" << finished << R"(,"deaths":7}]})";
  CHECK(run(guarded(gone, 160), tileseek::random{}).by_status[static_cast<std::size_t>(status::crashed)] == 0);
  CHECK(access((gone.path() + ".running").c_str(), F_OK) != 0);
}

TEST_CASE("a suspect that the next run does not ask stays one") {
  temporary_file file;
  const auto name = file.path() + ".running";
  static_cast<void>(run(guarded(file, 5), tileseek::random{}));
  const tile last{16, 2, 8};
  const auto values = tileseek::detail::to_json(tiles().named_values_of(last)).dump();
  for (const bool alone : {true, false}) {
    const std::string also = R"(,{"configuration":{"rows":16,"columns":1,"unroll":8},"deaths":1})";
    std::ofstream(name) << R"({"running":[{"configuration":)" << values << R"(,"deaths":1})" << (alone ? "" : also)
                        << "]}";
    auto o = guarded(file, 5);
    o.seed = alone ? 77 : 78;  // another run
    const auto r = run(o, tileseek::exhaustive{});
    CHECK(r.trials == 5);
    std::ifstream in(name);
    const std::string text(std::istreambuf_iterator<char>(in), {});
    CHECK(has(text, values + R"(,"deaths":2,"waiting":true})"));
  }
  // It was not alone when it died last: it has its chance.
  counted measured;
  const auto r = run(guarded(file, 160), measured, tileseek::exhaustive{});
  CHECK(measured.calls.count(last) == 1);
  CHECK(r.by_status[static_cast<std::size_t>(status::crashed)] == 0);
  CHECK(access(name.c_str(), F_OK) != 0);
}

TEST_CASE("a finished run measures nothing when it is started again, however it ended") {
  struct case_of {
    const char* name;
    std::function<void(tileseek::options<tile>&)> change;
    stop why;
  };
  struct after_ten {
    bool on_batch(const tileseek::progress& p) { return p.trials >= 10; }
  };
  const case_of cases[] = {
      {"trials", [](auto& o) { o.trials = 20; }, stop::trials},
      {"exhausted", [](auto& o) { o.trials = 1000; }, stop::exhausted},
      {"target", [](auto& o) { o.until = tileseek::target(3e-3); }, stop::target},
      {"stalled", [](auto& o) { o.until = tileseek::stalled_for(12); }, stop::stalled},
      {"fraction", [](auto& o) { o.until = tileseek::share_of_space(0.2); }, stop::fraction},
      {"observer", [](auto& o) { o.observers = {after_ten{}}; }, stop::observer},
      {"contest", [](auto& o) { o.trials = 20, o.rounds = 6; }, stop::trials},
      {"short contest", [](auto& o) { o.trials = 20, o.rounds = 9, o.final_seconds = 0; }, stop::trials},
  };
  for (const auto& c : cases)
    for (const std::size_t batch : {1u, 8u}) {
      CAPTURE(c.name);
      temporary_file file;
      auto o = logged(file, 100, batch);
      c.change(o);
      const auto first = run(o, tileseek::random{});
      CHECK(first.stopped == c.why);
      const auto before = file.content();
      o.log = log_file(file.path());
      counted none;
      const auto second = run(o, none, tileseek::random{});
      CHECK(none.total == 0);
      same(first, second);
      CHECK(file.content() == before);
      REQUIRE(!second.notes.empty());
      CHECK(has(second.notes.front(), "nothing was measured: all "));
    }
}

TEST_CASE("the seconds of a run count on when it is resumed") {
  temporary_file file;
  auto o = logged(file, 1000, 8);
  o.seconds = 0.1;
  o.trials.reset();
  const measure_function slow = [](const tile& t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(15));
    return cost_of(t);
  };
  const auto first = run(o, slow, tileseek::random{});
  CHECK(first.stopped == stop::seconds);
  CHECK(first.trials <= 7);  // in the middle of a batch
  o.log = log_file(file.path());
  counted none;
  const auto second = run(o, none, tileseek::random{});
  CHECK(none.total == 0);
  CHECK(second.stopped == stop::seconds);
  CHECK(second.trials == first.trials);
  CHECK(second.seconds >= 0.1);
  o.seconds = second.seconds + 0.2;
  o.log = log_file(file.path());
  const auto third = run(o, slow, tileseek::random{});
  CHECK(third.stopped == stop::seconds);
  CHECK(third.trials > second.trials);
  CHECK(third.measured <= 14);
  CHECK(third.seconds >= *o.seconds);
  // A shorter budget ends the replay where it would have ended the run.
  o.seconds = 0.02;
  o.log = log_file(file.path());
  const auto shorter = run(o, none, tileseek::random{});
  CHECK(none.total == 0);
  CHECK(shorter.stopped == stop::seconds);
}

TEST_CASE("more trials go on where the log ends") {
  temporary_file file;
  const auto first = run(logged(file, 13, 4), tileseek::random{});
  counted measured;
  const auto second = run(logged(file, 40, 4), measured, tileseek::random{});
  CHECK(second.replayed == 13);
  CHECK(second.measured == 27);
  CHECK(measured.total == 27);
  for (std::size_t i = 0; i < 13; ++i) CHECK(second.history[i].at == first.history[i].at);
}

TEST_CASE("results told out of order resume to the same state") {
  temporary_file file;
  const auto backwards = [&](std::size_t stop_after) {
    tileseek::session<tile> s(tiles(), tileseek::random{}, logged(file, 30, 6));
    std::size_t told = 0;
    while (const auto batch = s.ask(6))
      for (std::size_t i = batch->size(); i-- > 0;) {
        if (told++ == stop_after) return s.finish();
        s.tell(i, cost_of((*batch)[i]));
      }
    return s.finish();
  };
  const auto first = backwards(1000);
  const auto whole = file.content();
  const auto second = backwards(1000);
  same(first, second);
  CHECK(second.measured == 0);
  file.write("");
  static_cast<void>(backwards(9));  // three results of the second batch
  const auto third = backwards(1000);
  CHECK(third.replayed == 9);
  same(third, first);
}

TEST_CASE("another strategy, seed or batch on the same log starts warm and measures nothing again") {
  temporary_file file;
  const auto first = run(logged(file, 40), tileseek::random{});
  const auto known = configurations(file);
  std::size_t before = 40;
  const auto goes_on = [&](const tileseek::options<tile>& o, tileseek::any_strategy strategy) {
    counted measured;
    const auto r = run(o, measured, std::move(strategy));
    CHECK(r.known == before);
    CHECK(r.replayed == 0);
    CHECK(r.measured == r.trials);
    CHECK(configurations(file).size() == before + r.trials);  // each once
    CHECK(r.median_seconds <= first.median_seconds);
    CHECK(has(r.notes.front(), std::to_string(before) + " results of other runs in the log"));
    before += r.trials;
  };
  goes_on(logged(file, 20), tileseek::droplet{});
  auto o = logged(file, 20);
  o.seed = 6;
  goes_on(o, tileseek::random{});
  goes_on(logged(file, 20, 8), tileseek::random{});
  // The last of them resumes; what was before is its warm start again.
  counted measured;
  const auto r = run(logged(file, 25, 8), measured, tileseek::random{});
  CHECK(r.replayed == 20);
  CHECK(r.known == 80);
  CHECK(measured.total == 5);
  CHECK(known.size() == 40);
}

TEST_CASE("a log whose trials the run does not ask: it says so, tells them, and measures none of them again") {
  temporary_file file;
  const auto first = run(logged(file, 30), tileseek::random{});
  auto lines = file.lines();
  std::string without;
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (i != 11) without += lines[i] + "\n";  // the 11th trial is gone
  file.write(without);
  counted measured;
  const auto r = run(logged(file, 30), measured, tileseek::random{});
  CHECK(r.replayed == 10);
  CHECK(r.known == 19);
  CHECK(r.measured == 20);
  REQUIRE(!r.notes.empty());
  CHECK(has(r.notes.front(), "holds 19 trials that this run does not ask at this point"));
  CHECK(configurations(file).size() == 10 + 19 + 20);
  // And so again: nothing is measured twice.
  counted again;
  static_cast<void>(run(logged(file, 30), again, tileseek::random{}));
  CHECK(configurations(file).size() == 49 + again.calls.size());
}

TEST_CASE("a torn last line is dropped with a note, and only it") {
  temporary_file file;
  static_cast<void>(run(logged(file, 10), tileseek::random{}));
  auto lines = file.lines();
  REQUIRE(lines.size() == 12);
  std::string cut;
  for (std::size_t i = 0; i < 6; ++i) cut += lines[i] + "\n";
  file.write(cut + lines[6].substr(0, 20));
  const auto r = run(logged(file, 10), tileseek::random{});
  CHECK(r.replayed == 5);
  CHECK(r.notes.front() == "the last line of the log '" + file.path() + "', line 7, was torn and is dropped");
  CHECK(configurations(file).size() == 10);
}

TEST_CASE("damage before the last line is an error with file and line, and the file is left alone") {
  temporary_file file;
  static_cast<void>(run(logged(file, 10), tileseek::random{}));
  const auto lines = file.lines();
  const auto with_line = [&](std::size_t number, const std::string& text) {
    std::string out;
    for (std::size_t i = 0; i < lines.size(); ++i) out += (i + 1 == number ? text : lines[i]) + "\n";
    file.write(out);
    const auto before = file.content();
    auto what = refused(file);
    CHECK(file.content() == before);
    return what;
  };
  const std::string line4 = "log '" + file.path() + "', line 4: ";
  CHECK(with_line(4, lines[3].substr(0, 20)) ==
        line4 + "damaged at its byte 21; repair or remove the line, or use another file");
  CHECK(with_line(4, "").starts_with(line4));
  CHECK(with_line(4, std::string(40, '\0')).starts_with(line4));
  CHECK(has(with_line(4, "[1, 2]"), "neither a run, a trial, a contest nor an end"));
  CHECK(has(with_line(4, "{\"other\": 1}"), "line 4: neither a run"));
  CHECK(has(with_line(4, R"({"configuration":{"rows":1},"status":"tired","seconds":[],"elapsed":1})"),
            "unknown status \"tired\""));
  CHECK(has(with_line(4, R"({"configuration":[],"status":"ok","seconds":[1],"elapsed":1})"),
            "a configuration is an object"));
  CHECK(has(with_line(4, R"({"configuration":{"rows":null},"status":"ok","seconds":[1],"elapsed":1})"),
            "line 4: a value is"));
  CHECK(with_line(4, R"({"configuration":{"rows":1},"seconds":[1],"elapsed":1})").starts_with(line4));
  CHECK(with_line(4, R"({"configuration":{"rows":1},"status":"ok","seconds":["x"],"elapsed":1})").starts_with(line4));
  CHECK(has(with_line(1, lines[1]), "line 1: not a tileseek log"));
  CHECK(has(with_line(1, "hello"), "line 1: not a tileseek log"));
  std::string later = lines[0];
  later.replace(later.find("\"schema\":1"), 10, "\"schema\":9");
  CHECK(has(with_line(1, later), "line 1: schema 9 is later than this library's, 1"));
  // A trial of a configuration that is not in the space is left out with a note.
  std::string outside;
  for (std::size_t i = 0; i < lines.size(); ++i)
    outside +=
        (i == 3 ? R"({"configuration":{"rows":5,"columns":1,"unroll":1},"status":"ok","seconds":[1],"elapsed":0})"
                : lines[i]) +
        "\n";
  file.write(outside);
  const auto r = run(logged(file, 10), tileseek::random{});
  CHECK(r.notes.front() == "1 trials of the log '" + file.path() + "' are not in the space; they are left out");
}

TEST_CASE("a file that is no log is never changed, with or without an end of its line") {
  temporary_file file;
  for (const char* text : {"hello", "hello\n", "{\"a\": 1}", "{", "{\"tile",
                           "\x7f"
                           "ELF\x02\x01",
                           "[]", "1", "\n"}) {
    file.write(text);
    CAPTURE(text);
    const auto what = refused(file);
    if (std::string_view(text) == "{" || std::string_view(text) == "{\"tile") {
      CHECK(what.empty());  // the start of ours: torn
    } else {
      CHECK(has(what, "line 1: not a tileseek log; use another file"));
      CHECK(file.content() == text);
    }
  }
}

TEST_CASE("a log of another space is refused and left alone, with or without the end of its line") {
  temporary_file file;
  const auto other = tileseek::space<tile>{}.add("rows", &tile::rows, {1, 2, 3});
  auto o = logged(file, 3);
  static_cast<void>(run(o, cost_of, tileseek::random{}, other));
  const auto before = file.content();
  o.log.reset();
  CHECK(has(refused(file), "line 1: written for another space (parameters [\"rows\"], size 3.0); use another file"));
  CHECK(file.content() == before);
  file.write(before.substr(0, before.find('\n')));
  CHECK(has(refused(file), "line 1: written for another space"));
  CHECK(file.content() == before.substr(0, before.find('\n')));
}

TEST_CASE("an empty file, and the empty name") {
  temporary_file file;
  file.write("");
  const auto r = run(logged(file, 5), tileseek::random{});
  CHECK(r.trials == 5);
  CHECK(r.notes.empty());
  CHECK(file.lines().size() == 7);  // the head, the trials, the end
  CHECK_THROWS_AS(static_cast<void>(log_file("")), std::invalid_argument);
}

TEST_CASE("places where no log can be") {
  CHECK_THROWS_WITH_AS(static_cast<void>(log_file("/tmp")->open({})),
                       "log '/tmp': cannot be opened for writing: Is a directory", std::runtime_error);
  CHECK_THROWS_WITH_AS(static_cast<void>(log_file("/nowhere/at/all.jsonl")->open({})),
                       "log '/nowhere/at/all.jsonl': cannot be opened for writing: No such file or directory",
                       std::runtime_error);
  if (access("/dev/full", W_OK) == 0)
    CHECK_THROWS_WITH_AS(static_cast<void>(log_file("/dev/full")->open({})),
                         "log '/dev/full': cannot be written: No space left on device", std::runtime_error);
  if (geteuid() != 0) {  // root may write anywhere
    temporary_file file;
    file.write("");
    chmod(file.path().c_str(), 0444);
    CHECK(has(refused(file), "cannot be opened for writing"));
  }
}

TEST_CASE("a disk that fills up in the middle: the run ends with an error, no half line stays, and it resumes") {
  temporary_file file;
  static_cast<void>(run(logged(file, 10), tileseek::random{}));
  const auto whole = file.content();
  const auto half_way = whole.find('\n', whole.size() / 2) + 30;
  file.write("");
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{half_way, half_way};
    setrlimit(RLIMIT_FSIZE, &limit);
    _exit(has(refused(file, 10), "cannot be written: File too large") ? 0 : 1);
  }
  int how = 0;
  REQUIRE(waitpid(child, &how, 0) == child);
  CHECK(WIFEXITED(how));
  CHECK(WEXITSTATUS(how) == 0);
  const auto content = file.content();
  CHECK(!content.empty());
  CHECK(content.back() == '\n');
  counted measured;
  const auto r = run(logged(file, 10), measured, tileseek::random{});
  CHECK(r.notes.empty());
  CHECK(r.trials == 10);
  CHECK(r.replayed >= 3);
  CHECK(r.replayed < 10);
}

TEST_CASE("a second run on the same log is refused, in this process and in another") {
  temporary_file file;
  auto first = std::make_unique<tileseek::session<tile>>(tiles(), tileseek::random{}, logged(file, 5));
  const auto before = file.content();
  const std::string in_use =
      "log '" + file.path() + "': another run is writing it; wait for its end or use another file";
  CHECK(refused(file) == in_use);
  const pid_t child = fork();
  if (child == 0) _exit(refused(file) == in_use ? 0 : 1);
  int how = 0;
  REQUIRE(waitpid(child, &how, 0) == child);
  CHECK(WIFEXITED(how));
  CHECK(WEXITSTATUS(how) == 0);
  CHECK(file.content() == before);
  // When the session ends, the file is free, even if somebody keeps its options.
  const auto kept = first->choices();
  first.reset();
  CHECK(refused(file).empty());
  // One journal serves one run after another.
  CHECK(run(kept, tileseek::random{}).replayed == 5);
  CHECK(run(kept, tileseek::random{}).replayed == 5);
}

TEST_CASE("notes that are not UTF-8, and awkward ones, are kept readable") {
  temporary_file file;
  const std::string awkward = "line\nbreak \"quoted\" \\ tab\t nul";
  int calls = 0;
  const measure_function noisy = [&](const tile&) {
    ++calls;
    return tileseek::failure(status::build_failed, calls == 1 ? "caf\xe9 \xff\xfe" : awkward);
  };
  static_cast<void>(run(logged(file, 3), noisy, tileseek::random{}));
  const auto r = run(logged(file, 3), tileseek::random{});
  CHECK(r.replayed == 3);
  CHECK(r.history[0].result.note.starts_with("caf"));
  CHECK(r.history[1].result.note == awkward);
}

TEST_CASE("numbers that JSON does not have: failed rounds of a contest, infinite limits, infinite values") {
  temporary_file file;
  tileseek::journal_head head;
  head.strategy = "s";
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinite = std::numeric_limits<double>::infinity();
  {
    const auto log = log_file(file.path());
    static_cast<void>(log->open(head));
    log->append(tileseek::journal_trial{{{"limit", infinite},
                                         {"low", -infinite},
                                         {"x", 0.1},
                                         {"n", 2},
                                         {"name", "NHWC"},
                                         {"flag", true},
                                         {"tile", std::vector<std::int64_t>{8, 4}}},
                                        {status::ok, {0.1, 1e-300, 5}, ""},
                                        0.25});
    log->append(tileseek::journal_contest{1, 9, infinite, {{"default", {{"x", 1}}, {1, nan, 2}}, {"", {}, {}}}});
    log->finish(stop::trials, 0.5);
    log->close();
    CHECK_THROWS_AS(log->finish(stop::trials, 0.5), std::runtime_error);
  }
  const auto log = log_file(file.path());
  const auto content = log->open(head);
  REQUIRE(content.trials.size() == 1);
  const auto& t = content.trials.front();
  CHECK(t.configuration[0].second == tileseek::value(infinite));
  CHECK(t.configuration[1].second == tileseek::value(-infinite));
  CHECK(t.configuration[2].second == tileseek::value(0.1));
  CHECK(t.configuration[4].second == tileseek::value("NHWC"));
  CHECK(t.configuration[5].second == tileseek::value(true));
  CHECK(to_string(t.configuration[6].second) == "8x4");
  CHECK(t.result.seconds == std::vector<double>{0.1, 1e-300, 5});
  CHECK(t.elapsed == 0.25);
  CHECK(content.elapsed == 0.5);
  REQUIRE(content.contests.size() == 1);
  const auto& c = content.contests.front();
  CHECK(c.trials == 1);
  CHECK(c.rounds == 9);
  CHECK(c.limit == infinite);
  REQUIRE(c.contestants.size() == 2);
  CHECK(c.contestants[0].name == "default");
  CHECK(c.contestants[0].seconds[0] == 1);
  CHECK(std::isnan(c.contestants[0].seconds[1]));
  CHECK(c.contestants[1].seconds.empty());
}

TEST_CASE("values of every kind come back: an infinite one, a text, a truth value, a tile") {
  struct kinds {
    double limit = 1;
    std::string order = "ijk";
    bool pad = false;
    std::array<int, 2> k{8, 1};
    float scale = 0.5F;
  };
  const auto space = tileseek::space<kinds>{}
                         .add("limit", &kinds::limit, {0.1, 1.0, std::numeric_limits<double>::infinity()})
                         .add("order", &kinds::order, {"ijk", "ikj"})
                         .add("pad", &kinds::pad, {false, true})
                         .add("scale", &kinds::scale, {0.1F, 0.5F})
                         .tile("k", &kinds::k, 8);
  temporary_file file;
  tileseek::journal_head head;
  {
    const auto log = log_file(file.path());
    static_cast<void>(log->open(head));
    space.for_each([&](const kinds& c) { log->append(tileseek::journal_trial{space.named_values_of(c), {}, 0}); });
  }
  std::set<tileseek::point> found;
  for (const auto& t : log_file(file.path())->open(head).trials) {
    const auto p = space.locate_named(t.configuration);
    REQUIRE(p);
    found.insert(*p);
  }
  CHECK(found.size() == space.size());
}

TEST_CASE("the contest of the log is used again, unless more rounds are wanted") {
  temporary_file file;
  auto o = logged(file, 20);
  o.rounds = 6;
  const auto first = run(o, tileseek::random{});
  const auto again = [&](std::size_t rounds, double limit = 10) {
    counted measured;
    o.rounds = rounds;
    o.final_seconds = limit;
    o.log = log_file(file.path());
    const auto r = run(o, measured, tileseek::random{});
    CHECK(r.measured == 0);
    CHECK(r.best == first.best);
    return std::pair(measured.total, r.rounds);
  };
  CHECK(again(6) == std::pair<int, std::size_t>(0, 6));
  CHECK(again(3) == std::pair<int, std::size_t>(0, 6));  // more is as good
  const auto [calls, rounds] = again(12);
  CHECK(calls > 0);
  CHECK(rounds == 12);
  CHECK(again(12) == std::pair<int, std::size_t>(0, 12));
  CHECK(again(30, 0).second == 6);  // ended by the clock
  CHECK(again(30, 0) == std::pair<int, std::size_t>(0, 6));
  CHECK(again(30, 10).second == 30);
}

TEST_CASE("the first line tells what the run is") {
  temporary_file file;
  auto o = logged(file, 3, 2);
  o.task = "product";
  o.conditions = {{"device", "H200"}, {"cpu", "mine"}};
  static_cast<void>(run(o, tileseek::random{}));
  const auto head = tileseek::detail::json::parse(file.lines().front());
  CHECK(head.at("tileseek") == tileseek::version_string);
  CHECK(head.at("schema") == 1);
  CHECK(head.at("task") == "product");
  CHECK(head.at("space").at("parameters") == std::vector<std::string>{"rows", "columns", "unroll"});
  CHECK(head.at("space").at("fingerprint").get<std::string>().size() == 16);
  CHECK(head.at("strategy") == "random");
  CHECK(head.at("seed") == 5);
  CHECK(head.at("batch") == 2);
  CHECK(head.at("started").get<std::string>().size() == 20);
  CHECK(head.at("conditions").at("device") == "H200");
  CHECK(head.at("conditions").at("cpu") == "mine");  // what the user says counts
  CHECK(head.at("conditions").contains("compiler"));
}

TEST_CASE("a log of 100,000 trials resumes without quadratic effort") {
  const auto space = tileseek::space<tile>{}
                         .add("rows", &tile::rows, tileseek::range(0, 99))
                         .add("columns", &tile::columns, tileseek::range(0, 99))
                         .add("unroll", &tile::unroll, tileseek::range(0, 99));
  temporary_file file;
  const auto once = [&](std::size_t trials) {
    return run(
        logged(file, trials, 1000),
        [](const tile& t) {
          return measurement{status::ok, {1.0 + t.rows + t.unroll}, {}};
        },
        tileseek::random{}, space);
  };
#if defined(__SANITIZE_ADDRESS__)
  constexpr std::size_t many = 3'000;
#else
  constexpr std::size_t many = 100'000;
#endif
  CHECK(once(many).measured == many);
  const auto r = once(many + 10);
  CHECK(r.replayed == many);
  CHECK(r.measured == 10);
}

namespace {

/// Three tasks in turns: two of one kind, and one of another, which sometimes fails. Throws in the measurement of this number.
tileseek::tasks_result run_tasks(const std::string& path, std::size_t dies_at, std::size_t& measured,
                                 std::uint64_t seed = 1) {
  struct lane {
    int width = 1;
    int depth = 1;
  };
  tileseek::options<tile> quiet;
  quiet.progress = tileseek::verbosity::quiet;
  quiet.rounds = 0;
  const auto count = [&measured, dies_at] {
    if (measured++ == dies_at) throw std::bad_alloc();  // passes all the way up, as a crash does
  };
  const auto described = [](const char* name, double weight, const char* tag) {
    tileseek::task_description d;
    d.name = name;
    d.weight = weight;
    d.tag = tag;
    return d;
  };
  std::vector<tileseek::task> tasks;
  for (const char* name : {"a", "b 3x3/2"})
    tasks.emplace_back(
        described(name, name[0] == 'a' ? 1 : 3, "tile"), tiles(),
        [count](const tile& t) {
          count();
          return cost_of(t);
        },
        tileseek::random{}, quiet);
  tileseek::options<lane> lanes;
  lanes.progress = tileseek::verbosity::quiet;
  lanes.rounds = 0;
  tasks.emplace_back(
      described("lanes", 2, "lane"),
      tileseek::space<lane>{}
          .add("width", &lane::width, tileseek::range(1, 30))
          .add("depth", &lane::depth, tileseek::range(1, 9)),
      [count](const lane& l) {
        count();
        return l.width % 4 == 0 ? tileseek::failure(tileseek::status::build_failed, "no")
                                : tileseek::measurement{tileseek::status::ok, {1e-3 / l.width / l.depth}, {}};
      },
      tileseek::random{}, lanes);
  tileseek::tasks_options o;
  o.trials = 60;
  o.seed = seed;
  o.transfer = 2;
  o.log = tileseek::tasks_log(path);
  return tileseek::tune_tasks(tasks, o);
}

std::string table_of(const tileseek::tasks_result& r) {
  return to_string(std::span<const tileseek::task_row>(r.tasks)) + r.tasks[0].best + r.tasks[1].best + r.tasks[2].best;
}

}  // namespace

TEST_CASE("one file for several tasks: cut off at any byte, a resumed run ends with the same table") {
  const temporary_file whole_file;
  std::size_t measured = 0;
  const auto whole = run_tasks(whole_file.path(), 1000, measured);
  CHECK(measured == 60);
  const std::string content = whole_file.content();
  const auto all = whole_file.lines();
  CHECK(all.size() == 3 + 60 + 3);  // heads, trials, ends
  for (std::size_t cut = 0; cut < content.size(); cut += cut < 1500 ? 97 : 411) {
    CAPTURE(cut);
    const temporary_file file;
    file.write(content.substr(0, cut));
    measured = 0;
    const auto resumed = run_tasks(file.path(), 1000, measured);
    CHECK(table_of(resumed) == table_of(whole));
    CHECK(resumed.replayed() + measured == 60);
    std::size_t trial_lines = 0;
    for (const auto& l : file.lines()) trial_lines += l.find("\"configuration\"") != std::string::npos;
    CHECK(trial_lines == 60);
  }
  measured = 0;
  const auto again = run_tasks(whole_file.path(), 1000, measured);
  CHECK(measured == 0);
  CHECK(again.replayed() == 60);
  CHECK(table_of(again) == table_of(whole));
}

TEST_CASE("one file for several tasks: killed by a crash again and again") {
  const temporary_file file;
  std::size_t measured = 0;
  for (int i = 0; i < 5; ++i) {
    measured = 0;
    CHECK_THROWS_AS((void)run_tasks(file.path(), 9, measured), std::bad_alloc);
  }
  measured = 0;
  const auto resumed = run_tasks(file.path(), 1000, measured);
  CHECK(resumed.replayed() == 45);
  CHECK(measured == 15);
  const temporary_file undisturbed;
  measured = 0;
  CHECK(table_of(run_tasks(undisturbed.path(), 1000, measured)) == table_of(resumed));
}

TEST_CASE("one file for several tasks: another seed's results are a warm start of each") {
  const temporary_file file;
  std::size_t measured = 0;
  (void)run_tasks(file.path(), 1000, measured, 1);
  const auto r = run_tasks(file.path(), 1000, measured, 2);
  CHECK(r.replayed() == 0);
  CHECK(std::count_if(r.notes.begin(), r.notes.end(), [](const std::string& n) {
          return n.find("are told as a warm start") != std::string::npos;
        }) == 3);
}

TEST_CASE("one file for several tasks: damage is an error with its line; a single run refuses the file, and keeps it") {
  const temporary_file file;
  std::size_t measured = 0;
  (void)run_tasks(file.path(), 1000, measured);
  const auto content = file.content();
  counted c;
  auto o = fixture::quiet(5);
  o.log = log_file(file.path());
  CHECK_THROWS_WITH_AS((void)run(o, c, tileseek::random{}), doctest::Contains("line 3: written for another space"),
                       std::runtime_error);
  CHECK(file.content() == content);
  const temporary_file alone;
  {
    tileseek::task_description d;
    d.name = "alone";
    std::vector<tileseek::task> one;
    one.emplace_back(d, tiles(), cost_of, tileseek::random{}, fixture::quiet(5));
    tileseek::tasks_options t;
    t.log = tileseek::tasks_log(alone.path());
    (void)tileseek::tune_tasks(one, t);
  }
  o.log = log_file(alone.path());
  CHECK_THROWS_WITH_AS((void)run(o, c, tileseek::random{}),
                       doctest::Contains("line 2: written by a run of several tasks"), std::runtime_error);
  auto lines = file.lines();
  lines[20] = "{\"configuration\": oops";
  std::string damaged;
  for (const auto& l : lines) damaged += l + "\n";
  file.write(damaged);
  const auto message = [&] {
    try {
      (void)run_tasks(file.path(), 1000, measured);
    } catch (const std::runtime_error& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  CHECK(message().find("line 21: damaged at its byte") != std::string::npos);
  CHECK(file.content() == damaged);
  // The same name, and another space.
  const temporary_file other;
  other.write(content);
  tileseek::task_description d;
  d.name = "lanes";
  std::vector<tileseek::task> tasks;
  tasks.emplace_back(d, tiles(), cost_of, tileseek::random{}, fixture::quiet(5));
  tileseek::tasks_options t;
  t.trials = 5;
  t.log = tileseek::tasks_log(other.path());
  CHECK_THROWS_WITH_AS((void)tileseek::tune_tasks(tasks, t), doctest::Contains("written for another space"),
                       std::runtime_error);
}

TEST_CASE("one file for several tasks is one run's: a second one is refused while the first works") {
  const temporary_file file;
  const tileseek::tasks_log mine(file.path());
  const tileseek::tasks_log theirs(file.path());
  tileseek::journal_head head;
  const auto a = mine("a");
  const auto b = mine("b");
  const auto c = theirs("c");
  (void)a->open(head);
  (void)b->open(head);
  CHECK_THROWS_WITH_AS((void)c->open(head), doctest::Contains("another run is writing it"), std::runtime_error);
  a->close();
  CHECK_THROWS_AS((void)c->open(head), std::runtime_error);  // b is at work
  b->append(
      tileseek::journal_trial{{{"x", tileseek::value(1)}}, tileseek::failure(tileseek::status::crashed, ""), 1.0});
  b->close();
  CHECK_THROWS_AS(b->append(tileseek::journal_trial{}), std::runtime_error);
  CHECK(c->open(head).trials.empty());
  c->close();
  CHECK(b->open(head).trials.size() == 1);  // what it wrote itself, read again
}
