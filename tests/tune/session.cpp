#include <tileseek/tune/session.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tileseek/search/exhaustive.hpp>
#include <tileseek/search/random.hpp>

#include "fixture.hpp"

using fixture::cost_of;
using fixture::quiet;
using fixture::tile;
using fixture::tiles;
using tileseek::lattice;
using tileseek::measurement;
using tileseek::point;
using tileseek::rng;
using tileseek::session;
using tileseek::status;
using tileseek::stop;
using tileseek::trial;

namespace {

static_assert(std::is_move_constructible_v<session<tile>>);
static_assert(!std::is_copy_constructible_v<session<tile>>);

/// A strategy made of two functions, for all that a good strategy would not do.
struct scripted {
  std::function<std::vector<point>(const lattice&, rng&, std::size_t)> asks;
  std::function<void(std::span<const trial>)> tells = [](std::span<const trial>) {};
  std::vector<point> ask(const lattice& l, rng& r, std::size_t n) { return asks(l, r, n); }
  void tell(const lattice&, std::span<const trial> done) { tells(done); }
};

std::vector<measurement> measured(const std::vector<tile>& batch) {
  std::vector<measurement> out;
  for (const auto& t : batch) out.push_back(cost_of(t));
  return out;
}

/// Runs it to the end in batches of n.
tileseek::result<tile> finished(session<tile>& s, std::size_t n = 1) {
  while (const auto batch = s.ask(n)) s.tell(measured(*batch));
  return s.finish();
}

measurement seconds(double s) { return {status::ok, {s}, {}}; }

}  // namespace

TEST_CASE("a loop of one's own") {
  session s(tiles(), tileseek::random{}, {.trials = 40, .seed = 1, .progress = tileseek::verbosity::quiet});
  std::set<tile> seen;
  std::size_t batches = 0;
  while (const auto batch = s.ask(16)) {
    CHECK(batch->size() == (batches < 2 ? 16 : 8));  // the last one is cut to the budget
    for (const auto& t : *batch) {
      CHECK(tiles().contains(t));
      CHECK(seen.insert(t).second);
    }
    s.tell(measured(*batch));
    ++batches;
  }
  CHECK(batches == 3);
  CHECK(s.why() == stop::trials);
  CHECK(!s.ask(16));
  const auto r = s.finish();
  CHECK(r.trials == 40);
  CHECK(r.measured == 40);
  CHECK(r.replayed == 0);
  CHECK(r.history.size() == 40);
  CHECK(r.strategy == "random");
  CHECK(r.seed == 1);
  REQUIRE(r.best);
  double least = 1;
  for (const auto& t : seen) least = std::min(least, cost_of(t).cost());
  CHECK(r.median_seconds == least);
  CHECK(cost_of(*r.best).cost() == least);
  CHECK(tiles().at(r.best_point) == *r.best);
  CHECK(r.best_values == tiles().named_values_of(*r.best));
}

TEST_CASE("results are told one by one in any order, and the strategy hears of them in the order of the ask") {
  std::vector<point> heard;
  std::vector<point> asked;
  scripted s{[&](const lattice& l, rng&, std::size_t n) {
               asked.clear();
               for (std::uint64_t r = 0; r < n; ++r) asked.push_back(*l.unrank(r));
               return asked;
             },
             [&](std::span<const trial> done) {
               heard.clear();
               for (const auto& t : done) heard.push_back(t.at);
             }};
  session<tile> run(tiles(), std::move(s), quiet(4));
  const auto batch = run.ask(4);
  REQUIRE(batch);
  for (const std::size_t i : {2u, 0u, 3u, 1u}) {
    CHECK(run.awaits(i));
    CHECK(heard.empty());
    run.tell(i, cost_of((*batch)[i]));
    CHECK(!run.awaits(i));
  }
  CHECK(heard == asked);
  CHECK(run.history().front().at == asked[2]);  // the history is in the order finished
  CHECK(!run.awaits(0));
  CHECK(!run.awaits(17));
}

TEST_CASE("ask and tell out of turn throw, and leave the run as it was") {
  session<tile> s(tiles(), tileseek::random{}, quiet(10));
  CHECK_THROWS_AS(static_cast<void>(s.ask(0)), std::invalid_argument);
  CHECK_THROWS_AS(s.tell(0, seconds(1)), std::logic_error);
  const auto batch = s.ask(3);
  REQUIRE(batch);
  CHECK_THROWS_WITH_AS(static_cast<void>(s.ask(3)),
                       "session: ask() while 3 results of the last batch have not been told", std::logic_error);
  CHECK_THROWS_WITH_AS(s.tell(std::vector<measurement>(2, seconds(1))), "session: 2 results for a batch of 3",
                       std::invalid_argument);
  CHECK_THROWS_AS(s.tell(std::vector<measurement>(4, seconds(1))), std::invalid_argument);
  CHECK(s.state().trials == 0);
  s.tell(1, seconds(1));
  CHECK_THROWS_WITH_AS(s.tell(1, seconds(2)), "session: tell(1) of a configuration that is not awaited",
                       std::logic_error);
  CHECK_THROWS_AS(s.tell(3, seconds(2)), std::logic_error);
  CHECK_THROWS_WITH_AS(static_cast<void>(s.ask(3)),
                       "session: ask() while 2 results of the last batch have not been told", std::logic_error);
  s.tell(0, seconds(1));
  s.tell(2, seconds(1));
  CHECK_THROWS_AS(s.tell(0, seconds(1)), std::logic_error);
  CHECK(s.state().trials == 3);
  CHECK(finished(s, 4).trials == 10);
}

TEST_CASE("100 trials when no budget is given; 0 trials end at once") {
  auto o = quiet(0);
  session<tile> none(tiles(), tileseek::random{}, o);
  CHECK(!none.ask(1));
  const auto r = none.finish();
  CHECK(r.stopped == stop::trials);
  CHECK(!r.best);
  CHECK(r.trials == 0);
  o.trials.reset();
  session<tile> usual(tiles(), tileseek::random{}, o);
  CHECK(usual.state().trial_limit == 100);
  CHECK(finished(usual).trials == 100);
}

TEST_CASE("whichever budget is spent first ends the run") {
  auto o = quiet(100);
  o.until = tileseek::max_trials(7);
  session<tile> seven(tiles(), tileseek::random{}, o);
  CHECK(seven.state().trial_limit == 7);
  CHECK(finished(seven, 4).trials == 7);

  o = quiet(100);
  o.until = tileseek::target(2e-3);
  session<tile> good(tiles(), tileseek::exhaustive{}, o);
  const auto r = finished(good);
  CHECK(r.stopped == stop::target);
  CHECK(r.trials < 100);
  CHECK(r.history.back().result.cost() <= 2e-3);

  o = quiet(100);
  o.until = tileseek::stalled_for(10);
  session<tile> stalled(tiles(), tileseek::exhaustive{}, o);
  const auto q = finished(stalled);
  CHECK(q.stopped == stop::stalled);
  CHECK(stalled.state().trials == stalled.state().last_improvement + 10);

  o.trials.reset();
  o.until = tileseek::share_of_space(0.25);
  session<tile> quarter(tiles(), tileseek::random{}, o);
  CHECK(finished(quarter, 10).trials == tiles().size() / 4);
  CHECK(quarter.why() == stop::fraction);

  o.until = {};
  o.seconds = 0.2;
  session<tile> clocked(tiles(), tileseek::random{}, o);
  std::size_t asks = 0;
  while (const auto batch = clocked.ask(1)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    clocked.tell(measured(*batch));
    ++asks;
  }
  CHECK(clocked.why() == stop::seconds);
  CHECK(asks <= 4);
  CHECK(asks >= 1);
}

TEST_CASE("a space of more configurations than fit 64 bits has no limit of trials") {
  struct many {
    int a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0;
  };
  auto s = tileseek::space<many>{};
  std::vector<int> thousand;
  for (int i = 0; i < 1000; ++i) thousand.push_back(i);
  s.add("a", &many::a, tileseek::values(thousand)).add("b", &many::b, tileseek::values(thousand));
  s.add("c", &many::c, tileseek::values(thousand)).add("d", &many::d, tileseek::values(thousand));
  s.add("e", &many::e, tileseek::values(thousand)).add("f", &many::f, tileseek::values(thousand));
  s.add("g", &many::g, tileseek::values(thousand));
  session<many> run(s, tileseek::random{},
                    {.until = tileseek::share_of_space(1), .progress = tileseek::verbosity::quiet});
  CHECK(run.state().trial_limit == 0);
  CHECK(run.ask(3)->size() == 3);
  CHECK(run.finish().text().find("about") != std::string::npos);
}

TEST_CASE("options without a meaning are refused") {
  auto o = quiet(10);
  o.timing.min_samples = 0;
  CHECK_THROWS_AS(session<tile>(tiles(), tileseek::random{}, o), std::invalid_argument);
  o = quiet(10);
  o.seconds = -1;
  CHECK_THROWS_WITH_AS(session<tile>(tiles(), tileseek::random{}, o), "budget: seconds must be above 0, and is -1",
                       std::invalid_argument);
}

TEST_CASE("duplicates are answered from memory: not measured, not counted, and told again") {
  std::vector<std::size_t> told;
  std::size_t round = 0;
  scripted s{[&](const lattice& l, rng&, std::size_t) {
               std::vector<point> out;
               if (++round > 4) return out;
               for (const std::uint64_t r : {round, round + 1, round})
                 out.push_back(*l.unrank(r));  // two known, one twice
               return out;
             },
             [&](std::span<const trial> done) {
               told.push_back(done.size());
               for (const auto& t : done) CHECK(t.result.seconds == std::vector<double>{1.0});
             }};
  session<tile> run(tiles(), std::move(s), quiet(20));
  std::set<tile> seen;
  while (const auto batch = run.ask(4)) {
    for (std::size_t i = 0; i < batch->size(); ++i) {
      CHECK(seen.insert((*batch)[i]).second);
      run.tell(i, seconds(1));
    }
  }
  CHECK(seen.size() == 5);
  const auto r = run.finish();
  CHECK(r.trials == 5);
  CHECK(r.measured == 5);
  CHECK(told == std::vector<std::size_t>{2, 3, 3, 3});
}

TEST_CASE("a strategy that asks the same point for ever ends the run") {
  int asks = 0;
  scripted same{[&](const lattice& l, rng&, std::size_t) {
    ++asks;
    return std::vector<point>{*l.unrank(0)};
  }};
  session<tile> s(tiles(), std::move(same), quiet(10));
  const auto r = finished(s);
  CHECK(r.trials == 1);
  CHECK(r.stopped == stop::stalled);
  CHECK(asks == 1001);
  REQUIRE(r.notes.size() == 2);
  CHECK(r.notes[0] == "the strategy asked known configurations 1000 times in a row");
  CHECK(r.notes[1] == "no configuration was valid; the last one: build_failed, as expected");
}

TEST_CASE("a strategy that asks nothing has exhausted the space") {
  scripted nothing{[](const lattice&, rng&, std::size_t) { return std::vector<point>{}; }};
  session<tile> s(tiles(), std::move(nothing), quiet(10));
  CHECK(finished(s).stopped == stop::exhausted);
  session<tile> all(tiles(), tileseek::exhaustive{}, quiet(1000));
  const auto r = finished(all, 50);
  CHECK(r.stopped == stop::exhausted);
  CHECK(r.trials == tiles().size());
}

TEST_CASE("a strategy that breaks its contract is named") {
  scripted outside{[](const lattice& l, rng&, std::size_t) {
    point p = *l.unrank(0);
    p[0] = 1000;
    return std::vector<point>{p};
  }};
  session<tile> s(tiles(), tileseek::any_strategy(std::move(outside), "wild"), quiet(10));
  CHECK_THROWS_WITH_AS(static_cast<void>(s.ask(1)),
                       "session: the strategy 'wild' asked a point that is not in the space", std::logic_error);
  scripted forbidden{[](const lattice&, rng&, std::size_t) { return std::vector<point>{{7, 7, 0}}; }};
  session<tile> f(tiles(), std::move(forbidden), quiet(10));
  CHECK_THROWS_AS(static_cast<void>(f.ask(1)), std::logic_error);
  scripted greedy{[](const lattice& l, rng&, std::size_t n) {
    std::vector<point> out;
    for (std::uint64_t r = 0; r <= n; ++r) out.push_back(*l.unrank(r));
    return out;
  }};
  session<tile> g(tiles(), std::move(greedy), quiet(10));
  CHECK_THROWS_WITH_AS(static_cast<void>(g.ask(3)),
                       "session: the strategy 'unnamed' asked 4 points when at most 3 were wanted", std::logic_error);
}

TEST_CASE("failures are told with infinite cost and counted by reason") {
  std::size_t infinite = 0;
  std::size_t finite = 0;
  scripted s{[](const lattice& l, rng&, std::size_t n) {
               static std::uint64_t next = 0;
               std::vector<point> out;
               while (out.size() < n) out.push_back(*l.unrank(next++));
               return out;
             },
             [&](std::span<const trial> done) {
               for (const auto& t : done)
                 ++(t.result.cost() == std::numeric_limits<double>::infinity() ? infinite : finite);
             }};
  session<tile> run(tiles(), std::move(s), quiet(9));
  const auto batch = run.ask(9);
  REQUIRE(batch);
  const status all[] = {status::build_failed, status::launch_failed, status::run_failed,
                        status::wrong_result, status::timed_out,     status::crashed};
  for (std::size_t i = 0; i < 6; ++i) run.tell(i, tileseek::failure(all[i], "why"));
  run.tell(6, {status::rejected_early, {9, 9, 9}, "slow"});
  run.tell(7, seconds(std::numeric_limits<double>::quiet_NaN()));  // claims to be valid
  run.tell(8, seconds(5));
  const auto r = run.finish();
  CHECK(infinite == 7);
  CHECK(finite == 2);
  for (const auto why : all) CHECK(r.by_status[static_cast<std::size_t>(why)] == (why == status::run_failed ? 2 : 1));
  CHECK(r.by_status[static_cast<std::size_t>(status::rejected_early)] == 1);
  CHECK(r.by_status[static_cast<std::size_t>(status::ok)] == 1);
  CHECK(r.failed() == 7);
  CHECK(run.state().failed == 7);
  CHECK(r.median_seconds == 5);
  CHECK(r.history[7].result.note == "a sample of nan seconds");
}

TEST_CASE("no valid configuration: no best") {
  session<tile> s(tiles(), tileseek::random{}, quiet(5));
  while (const auto batch = s.ask(2))
    for (std::size_t i = 0; i < batch->size(); ++i) s.tell(i, {status::rejected_early, {1}, ""});
  const auto r = s.finish();
  CHECK(!r.best);
  CHECK(r.trials == 5);
  CHECK(r.text().starts_with("best       none: no configuration was valid"));
}

TEST_CASE("start configurations are measured first; one that is not in the space is noted") {
  auto o = quiet(5);
  o.start = {{8, 4, 4}, {16, 16, 1}, {1, 1, 8}, {8, 4, 4}};
  session<tile> s(tiles(), tileseek::random{}, o);
  REQUIRE(s.notes().size() == 1);
  CHECK(s.notes().front() ==
        "start configuration rows=16 columns=16 unroll=1 is left out: rule 'at most 32 elements' refuses it");
  const auto first = s.ask(5);
  REQUIRE(first);
  CHECK(*first == std::vector<tile>{{8, 4, 4}, {1, 1, 8}});
  s.tell(measured(*first));
  CHECK(finished(s).trials == 5);

  session<tile> one_by_one(tiles(), tileseek::random{}, o);
  CHECK(one_by_one.ask(1) == std::vector<tile>{{8, 4, 4}});
}

TEST_CASE("a warm start is told before the first ask, not measured, not counted, and may win") {
  std::size_t told = 0;
  bool asked = false;
  scripted s{[&](const lattice& l, rng& r, std::size_t) {
               asked = true;
               return std::vector<point>{l.sample(r)};
             },
             [&](std::span<const trial> done) {
               if (!asked) told += done.size();
             }};
  auto o = quiet(20);
  o.warm_start = {{{8, 4, 4}, seconds(1e-9)},
                  {{16, 16, 1}, seconds(1)},
                  {{1, 1, 1}, tileseek::failure(status::crashed, "known to crash")},
                  {{8, 4, 4}, seconds(1e-12)}};  // said twice: the first counts
  o.start = {{8, 4, 4}};
  session<tile> run(tiles(), std::move(s), o);
  CHECK(told == 2);
  REQUIRE(run.notes().size() == 1);
  CHECK(run.notes().front().starts_with("warm-start configuration rows=16 columns=16 unroll=1 is left out: rule "));
  CHECK(run.limits().incumbent == 1e-9);
  while (const auto batch = run.ask(1)) {
    CHECK(batch->front() != tile{8, 4, 4});
    CHECK(batch->front() != tile{1, 1, 1});
    run.tell(measured(*batch));
  }
  const auto r = run.finish();
  CHECK(r.trials == 20);
  CHECK(r.known == 2);
  CHECK(r.best == tile{8, 4, 4});
  CHECK(r.median_seconds == 1e-9);
}

TEST_CASE("the k best, those far from the best left out") {
  session<tile> s(tiles(), tileseek::exhaustive{}, quiet(6));
  const auto batch = s.ask(6);
  REQUIRE(batch);
  const double costs[] = {3, 1, 1.2, 1, 9, 1.3};
  for (std::size_t i = 0; i < 6; ++i) s.tell(i, i == 4 ? tileseek::failure(status::crashed, "") : seconds(costs[i]));
  const auto best_costs = [&](std::size_t k, double within) {
    std::vector<double> out;
    for (const auto& t : s.best(k, within)) out.push_back(t.result.cost());
    return out;
  };
  CHECK(best_costs(10, 10) == std::vector<double>{1, 1, 1.2, 1.3, 3});
  CHECK(best_costs(10, 1.25) == std::vector<double>{1, 1, 1.2});
  CHECK(best_costs(1, 1.25) == std::vector<double>{1});
  CHECK(best_costs(0, 1.25).empty());
  CHECK(s.best(1, 1).front().at == s.history()[1].at);  // of equals the first
}

TEST_CASE("observers see each trial, each batch and the end, and can stop the run") {
  struct watcher {
    std::vector<std::string>* seen;
    void on_trial(const tileseek::named_values& c, const measurement&) { seen->push_back(to_string(c)); }
    bool on_batch(const tileseek::progress& p) {
      seen->push_back("batch " + std::to_string(p.trials));
      return p.trials >= 4;
    }
    void on_note(std::string_view n) { seen->emplace_back(n); }
    void on_finish(const tileseek::progress& p, stop why) {
      seen->push_back(tileseek::to_string(why) + std::to_string(p.trials));
    }
  };
  std::vector<std::string> seen;
  auto o = quiet(100);
  o.observers = {watcher{&seen}};
  o.start = {{1, 1, 1}, {2, 1, 1}, {99, 1, 1}};
  session<tile> s(tiles(), tileseek::random{}, o);
  const auto r = finished(s, 2);
  static_cast<void>(s.finish());  // told once
  CHECK(r.stopped == stop::observer);
  CHECK(r.trials == 4);
  REQUIRE(seen.size() == 8);
  CHECK(seen[0].starts_with("start configuration rows=99"));
  CHECK(seen[1] == "rows=1 columns=1 unroll=1");
  CHECK(seen[2] == "rows=2 columns=1 unroll=1");
  CHECK(seen[3] == "batch 2");
  CHECK(seen[6] == "batch 4");
  CHECK(seen[7] == "observer4");
}

TEST_CASE("a measurer learns the incumbent and the user's limits") {
  auto o = quiet(10);
  o.timing.max_samples = 11;
  session<tile> s(tiles(), tileseek::random{}, o);
  CHECK(s.limits().incumbent == std::numeric_limits<double>::infinity());
  CHECK(s.limits().max_samples == 11);
  const auto batch = s.ask(3);
  REQUIRE(batch);
  s.tell(0, seconds(3));
  CHECK(s.limits().incumbent == 3);
  s.tell(1, {status::rejected_early, {1, 1, 1}, ""});  // hopeless things are no incumbents
  CHECK(s.limits().incumbent == 3);
  s.tell(2, seconds(2));
  CHECK(s.limits().incumbent == 2);
  CHECK(s.state().best_configuration == to_string(tiles().named_values_of((*batch)[2])));
}

TEST_CASE("should_stop is true as soon as the budget is spent, in the middle of a batch") {
  auto o = quiet(100);
  o.until = tileseek::target(1);
  session<tile> s(tiles(), tileseek::random{}, o);
  REQUIRE(s.ask(8));
  s.tell(0, seconds(2));
  CHECK(!s.should_stop());
  s.tell(1, seconds(1));
  CHECK(s.should_stop());
  CHECK(s.why() == stop::target);
  const auto r = s.finish();
  CHECK(r.trials == 2);
  CHECK(r.stopped == stop::target);
}

TEST_CASE("a run that is left says so") {
  session<tile> s(tiles(), tileseek::random{}, quiet(100));
  s.tell(measured(*s.ask(4)));
  const auto r = s.finish();
  CHECK(r.stopped == stop::running);
  CHECK(r.text().find("not run to its end") != std::string::npos);
}

TEST_CASE("a session moves") {
  session<tile> first(tiles(), tileseek::random{}, quiet(12));
  auto batch = first.ask(4);
  REQUIRE(batch);
  session<tile> second = std::move(first);
  second.tell(measured(*batch));
  CHECK(finished(second, 4).trials == 12);
}

TEST_CASE("the same seed gives the same run, another seed another") {
  const auto history_of = [](std::uint64_t seed) {
    auto o = quiet(30);
    o.seed = seed;
    session<tile> s(tiles(), tileseek::random{}, o);
    std::vector<point> out;
    for (const auto& t : finished(s, 3).history) out.push_back(t.at);
    return out;
  };
  CHECK(history_of(1) == history_of(1));
  CHECK(history_of(1) != history_of(2));
}

TEST_CASE("a session that shares its machine has turns: none is longer than granted, and its clock stands in between") {
  session<tile> s(tiles(), tileseek::random{}, quiet(20));
  s.end_turn();
  std::vector<std::size_t> sizes;
  for (const std::size_t until : {3u, 3u, 8u, 100u}) {
    s.begin_turn(until, 1e9);
    while (const auto batch = s.ask(4)) {
      if (batch->empty()) break;
      sizes.push_back(batch->size());
      for (std::size_t i = 0; i < batch->size(); ++i) s.tell(i, cost_of((*batch)[i]));
    }
    s.end_turn();
    CHECK(s.should_stop() == (s.why() != stop::running));
    const double before = s.state().seconds;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    CHECK(s.should_stop() == (s.why() != stop::running));
    CHECK(s.state().seconds == before);
  }
  CHECK(sizes == std::vector<std::size_t>{3, 4, 1, 4, 4, 4});
  CHECK(s.why() == stop::trials);
}

TEST_CASE("a turn ends by the clock, in the middle of a batch too") {
  session<tile> s(tiles(), tileseek::random{}, quiet(20));
  s.begin_turn(10, 1e9);
  REQUIRE(s.ask(4)->size() == 4);
  CHECK_FALSE(s.should_stop());
  s.begin_turn(10, 1e-12);
  CHECK(s.should_stop());
  CHECK(s.why() == stop::running);
}

TEST_CASE("suggestions are measured next, in their order, without those that are known or waiting") {
  const auto space = tiles();
  auto o = quiet(20);
  o.start = {tile{8, 4, 4}};
  tileseek::session<tile> s(space, tileseek::exhaustive{}, o);
  const auto a = *space.locate({2, 2, 2});
  const auto b = *space.locate({1, 8, 1});
  CHECK(s.suggest({a, *space.locate({8, 4, 4}), a, b}) == 2);
  std::vector<tile> asked;
  while (asked.size() < 4) {
    const auto batch = s.ask(2);
    REQUIRE(batch);
    for (const auto& c : *batch) {
      asked.push_back(c);
    }
    for (std::size_t i = 0; i < batch->size(); ++i) s.tell(i, cost_of((*batch)[i]));
  }
  CHECK(std::vector<tile>(asked.begin(), asked.begin() + 3) == std::vector<tile>{{8, 4, 4}, {2, 2, 2}, {1, 8, 1}});
  CHECK(s.suggest({a, b}) == 0);
  CHECK(s.history()[1].at == a);
}

TEST_CASE("a batch that was asked ahead is the next one, in parts if need be, after suggestions") {
  const auto space = tiles();
  tileseek::session<tile> ahead(space, tileseek::random{}, quiet(7));
  tileseek::session<tile> plain(space, tileseek::random{}, quiet(7));
  const auto batch = ahead.ask_ahead(5);
  CHECK(batch.size() == 5);
  CHECK(ahead.ask_ahead(5).empty());  // there is one
  CHECK(batch == *plain.ask(5));
  ahead.begin_turn(3, HUGE_VAL);
  auto now = ahead.ask(5);
  REQUIRE(now);
  CHECK(*now == std::vector<tile>(batch.begin(), batch.begin() + 3));
  for (std::size_t i = 0; i < 3; ++i) ahead.tell(i, cost_of((*now)[i]));
  now = ahead.ask(5);
  REQUIRE(now);
  CHECK(now->empty());                                        // its turn is over
  CHECK(ahead.suggest({*space.locate(batch.front())}) == 0);  // known
  const tile other = batch.back() == tile{1, 1, 1} ? tile{1, 1, 2} : tile{1, 1, 1};
  CHECK(ahead.suggest({*space.locate(other)}) == 1);
  ahead.begin_turn(7, HUGE_VAL);
  now = ahead.ask(5);
  REQUIRE(now);
  CHECK(*now == std::vector<tile>{other});
  ahead.tell(0, cost_of(other));
  now = ahead.ask(5);
  REQUIRE(now);
  CHECK(*now == std::vector<tile>(batch.begin() + 3, batch.end()));
  for (std::size_t i = 0; i < 2; ++i) ahead.tell(i, cost_of((*now)[i]));
  CHECK(ahead.ask_ahead(5).size() == 1);  // no more than the budget has
}
