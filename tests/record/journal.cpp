#include <tileseek/record/journal.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <tileseek/search/random.hpp>
#include <tileseek/tune/tune.hpp>

#include "tune/fixture.hpp"

using fixture::quiet;
using fixture::tile;
using fixture::tiles;

namespace {

static_assert(std::is_abstract_v<tileseek::journal>);
static_assert(!std::is_copy_constructible_v<tileseek::journal>);

/// A journal in memory: the seam needs no file.
struct remembered final : tileseek::journal {
  tileseek::journal_content open(const tileseek::journal_head& h) override {
    events += "open ";
    const bool same = h.same_run(head);
    head = h;
    tileseek::journal_content content;
    (same ? content.trials : content.earlier) = trials;
    return content;
  }
  void append(const tileseek::journal_trial& t) override {
    if (trials.size() == fail_at) throw std::runtime_error("full");
    trials.push_back(t);
  }
  void append(const tileseek::journal_contest& c) override {
    events += "contest ";
    contest = c;
  }
  void finish(tileseek::stop why, double elapsed) override {
    events += std::string(to_string(why)) + " ";
    CHECK(elapsed >= 0);
  }
  void close() noexcept override { events += "close "; }
  const std::string& name() const noexcept override { return name_; }

  tileseek::journal_head head;
  std::vector<tileseek::journal_trial> trials;
  tileseek::journal_contest contest;
  std::string events;
  std::size_t fail_at = 1000;
  std::string name_ = "memory";
};

}  // namespace

TEST_CASE("two heads are the same run when they ask the same") {
  tileseek::journal_head a;
  a.fingerprint = 1;
  a.strategy = "droplet";
  a.seed = 2;
  a.batch = 8;
  auto b = a;
  b.task = "another name";
  b.conditions = {{"device", "another"}};
  CHECK(a.same_run(b));
  for (const int what : {0, 1, 2, 3}) {
    b = a;
    if (what == 0) b.fingerprint = 2;
    if (what == 1) b.strategy = "random";
    if (what == 2) b.seed = 3;
    if (what == 3) b.batch = 1;
    CHECK(!a.same_run(b));
  }
}

TEST_CASE("a session opens its journal, writes each trial and the end, and closes it") {
  const auto log = std::make_shared<remembered>();
  auto o = quiet(10);
  o.log = log;
  o.task = "product";
  o.seed = 4;
  o.batch = 2;
  o.rounds = 6;
  o.conditions = {{"device", "none"}};
  const auto r = tune(tiles(), fixture::cost_of, o, tileseek::random{});
  CHECK(log->events == "open trials contest close ");
  CHECK(log->head.task == "product");
  CHECK(log->head.parameters == std::vector<std::string>{"rows", "columns", "unroll"});
  CHECK(log->head.strategy == "random");
  CHECK(log->head.seed == 4);
  CHECK(log->head.batch == 2);
  CHECK(log->head.space_size == 160);
  CHECK(log->head.conditions.size() == 3);  // and the compiler
  REQUIRE(log->trials.size() == 10);
  for (std::size_t i = 0; i < 10; ++i) {
    CHECK(log->trials[i].configuration == tiles().named_values_of(tiles().at(r.history[i].at)));
    CHECK(log->trials[i].result.seconds == r.history[i].result.seconds);
    if (i > 0) CHECK(log->trials[i].elapsed >= log->trials[i - 1].elapsed);
  }
  CHECK(log->contest.trials == 10);
  CHECK(log->contest.contestants.front().name == "default");
  CHECK(r.log == "memory");

  log->events.clear();
  const auto again = tune(tiles(), fixture::cost_of, o, tileseek::random{});
  CHECK(log->events == "open contest close ");  // this journal gave no contest back
  CHECK(again.replayed == 10);
  CHECK(again.measured == 0);
}

TEST_CASE("a journal that cannot be written ends the run, and is closed") {
  const auto log = std::make_shared<remembered>();
  log->fail_at = 3;
  auto o = quiet(10);
  o.log = log;
  CHECK_THROWS_WITH_AS(static_cast<void>(tune(tiles(), fixture::cost_of, o, tileseek::random{})), "full",
                       std::runtime_error);
  CHECK(log->events == "open close ");
  CHECK(log->trials.size() == 3);
}
