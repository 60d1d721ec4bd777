#include <tileseek/tune/tune.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <tileseek/measure/time.hpp>
#include <tileseek/search/exhaustive.hpp>
#include <tileseek/search/random.hpp>

#include "fixture.hpp"

using fixture::cost_of;
using fixture::quiet;
using fixture::tile;
using fixture::tiles;
using tileseek::measurement;
using tileseek::measuring;
using tileseek::status;
using tileseek::stop;
using tileseek::tune;
using tileseek::verdict;

namespace {

tileseek::options<tile> with_contest(std::size_t trials) {
  auto o = quiet(trials);
  o.rounds = 9;
  return o;
}

}  // namespace

TEST_CASE("tune finds the best of a small space, measures it again and compares it with the default") {
  fixture::counted measured;
  const auto r = tune(tiles(), measured, with_contest(1000), tileseek::random{});
  CHECK(r.stopped == stop::exhausted);
  CHECK(r.trials == tiles().size());
  CHECK(r.trials == 160);
  CHECK(r.best == tile{8, 4, 4});
  CHECK(r.rounds == 9);
  CHECK(r.median_seconds == doctest::Approx(1.001e-3));
  CHECK(r.interval_coverage >= 0.95);
  CHECK(r.untuned == tile{});
  REQUIRE(r.untuned_compared);
  CHECK(r.untuned_compared->against.says == verdict::faster);
  CHECK(r.untuned_compared->against.ratio == doctest::Approx(cost_of(tile{}).cost() / cost_of({8, 4, 4}).cost()));
  REQUIRE(r.runner_up);
  CHECK(r.runner_up->seconds > r.median_seconds);
  CHECK(measured.calls[{8, 4, 4}] == 10);  // once in the search and once a round
  CHECK(measured.calls[tile{}] == 10);
}

TEST_CASE(
    "tune takes a callable by value and by reference, with and without the limits, returning seconds or a "
    "measurement") {
  const auto seconds = [](const tile& t) { return 1e-3 * t.rows; };
  CHECK(tune(tiles(), seconds, quiet(20), tileseek::random{}).trials == 20);
  CHECK(tune(
            tiles(), [](tile t) { return t.rows; }, quiet(20), tileseek::random{})
            .trials == 20);
  std::vector<double> incumbents;
  auto limited = [&](const tile& t, const tileseek::timing_limits& l) {
    incumbents.push_back(l.incumbent);
    return 1.0 + t.rows;
  };
  static_cast<void>(tune(tiles(), limited, quiet(20), tileseek::random{}));
  CHECK(std::is_sorted(incumbents.rbegin(), incumbents.rend()));
  CHECK(incumbents.back() < incumbents.front());
  const std::function<measurement(const tile&)> function = cost_of;
  CHECK(tune(tiles(), function, quiet(20), tileseek::random{}).trials == 20);
  CHECK(tune(tiles(), cost_of, quiet(20), tileseek::random{}).trials == 20);
  auto strategy = tileseek::any_strategy(tileseek::exhaustive{});
  CHECK(tune(tiles(), seconds, quiet(20), std::move(strategy)).strategy == "exhaustive");
}

TEST_CASE("tune with time() rejects what is hopeless") {
  volatile unsigned sink = 0;
  const auto timed = [&](const tile& t, const tileseek::timing_limits& l) {
    return tileseek::time(
        [&] {
          for (int i = 0; i < (t.unroll == 1 ? 1 : 4000); ++i) sink = sink + 1;
        },
        l);
  };
  auto o = quiet(40);
  o.start = {{1, 1, 1}};
  const auto r = tune(tiles(), timed, o, tileseek::random{});
  REQUIRE(r.best);
  CHECK(r.best->unroll == 1);
  CHECK(r.by_status[static_cast<std::size_t>(status::rejected_early)] > 0);
}

TEST_CASE("a measurer asks for the batch it likes best, and the options overrule it") {
  struct eager {
    std::vector<std::size_t>* sizes;
    std::size_t batch_size() const { return 8; }
    std::vector<measurement> measure(std::span<const tile> batch) {
      sizes->push_back(batch.size());
      std::vector<measurement> out;
      for (const auto& t : batch) out.push_back(cost_of(t));
      return out;
    }
  };
  std::vector<std::size_t> sizes;
  auto r = tune(tiles(), eager{&sizes}, quiet(20), tileseek::random{});
  CHECK(r.trials == 20);
  CHECK(sizes == std::vector<std::size_t>{8, 8, 4});
  sizes.clear();
  auto o = quiet(20);
  o.batch = 5;
  r = tune(tiles(), eager{&sizes}, o, tileseek::random{});
  CHECK(sizes == std::vector<std::size_t>{5, 5, 5, 5});
}

TEST_CASE("a measurer that takes part in the run reports in any order, and may return early when told to stop") {
  struct parallel {
    std::size_t stopped_with = 0;
    std::vector<measurement> measure(std::span<const tile> batch, const measuring& run) {
      for (std::size_t i = batch.size(); i-- > 0;) {
        if (run.stop()) {
          stopped_with = i + 1;
          return {};
        }
        run.finished(i, cost_of(batch[i]));
      }
      return {};
    }
  };
  parallel m;
  auto o = quiet(20);
  o.batch = 6;
  CHECK(tune(tiles(), m, o, tileseek::random{}).trials == 20);
  o.until = tileseek::target(10e-3);
  const auto r = tune(tiles(), m, o, tileseek::random{});
  CHECK(r.stopped == stop::target);
  CHECK(r.history.back().result.cost() <= 10e-3);
  CHECK(r.trials + m.stopped_with == (r.trials + 5) / 6 * 6);
  o.rounds = 6;  // the contest takes what was reported, too
  CHECK(tune(tiles(), m, o, tileseek::random{}).rounds == 6);
}

TEST_CASE("a measurer that returns the wrong number of results is a programmer's error") {
  struct wrong {
    std::size_t results;
    std::vector<measurement> measure(std::span<const tile>) {
      return std::vector<measurement>(results, {status::ok, {1}, ""});
    }
  };
  auto o = quiet(20);
  o.batch = 4;
  CHECK_THROWS_WITH_AS(static_cast<void>(tune(tiles(), wrong{3}, o, tileseek::random{})),
                       "tileseek::tune: the measurer returned 3 measurements for a batch of 4", std::logic_error);
  CHECK_THROWS_AS(static_cast<void>(tune(tiles(), wrong{5}, o, tileseek::random{})), std::logic_error);
  struct forgetful {
    std::vector<measurement> measure(std::span<const tile> batch, const measuring& run) {
      run.finished(0, {status::ok, {1}, ""});
      for (std::size_t i = 2; i < batch.size(); ++i) run.finished(i, {status::ok, {1}, ""});
      return {};
    }
  };
  CHECK_THROWS_WITH_AS(static_cast<void>(tune(tiles(), forgetful{}, o, tileseek::random{})),
                       "tileseek::tune: the measurer left out configuration 1 of its batch", std::logic_error);
}

TEST_CASE("bad_alloc ends the run, any other exception is a failed trial") {
  CHECK_THROWS_AS(static_cast<void>(tune(
                      tiles(), [](const tile&) -> double { throw std::bad_alloc(); }, quiet(5), tileseek::random{})),
                  std::bad_alloc);
  const auto r = tune(
      tiles(), [](const tile&) -> double { throw std::runtime_error("no device"); }, with_contest(5),
      tileseek::random{});
  CHECK(r.failed() == 5);
  CHECK(!r.best);
  CHECK(r.rounds == 0);
  CHECK(r.history.front().result.note == "no device");
}

TEST_CASE("the contest decides by fresh samples: a lucky one of the search does not win") {
  int calls = 0;
  const auto lucky_once = [&](const tile& t) {
    ++calls;
    if (t == tile{1, 1, 2}) return calls <= 160 ? 0.5 : 1.1;  // lucky in the search
    return t == tile{1, 1, 4} ? 0.6 : 1.0 + 0.1 * t.rows;
  };
  auto o = with_contest(1000);
  o.timing.reject_above = 3;
  const auto r = tune(tiles(), lucky_once, o, tileseek::exhaustive{});
  CHECK(r.best == tile{1, 1, 4});
  CHECK(r.median_seconds == 0.6);
  CHECK(r.untuned_compared->against.ratio == doctest::Approx(1.4 / 0.6));
}

TEST_CASE("when the default is the best, it says so") {
  const auto r = tune(
      tiles(), [](const tile& t) { return t == tile{} ? 1.0 : 2.0; }, with_contest(1000), tileseek::random{});
  CHECK(r.best == tile{});
  CHECK(r.untuned_compared->against.ratio == 1);
  CHECK(r.untuned_compared->against.says == verdict::cannot_tell);
  CHECK(!r.runner_up);  // nothing else was within reach
}

TEST_CASE("when the best three can't be told apart, a note says by how much they may differ, and what to do") {
  int calls = 0;
  const auto noisy = [&calls](const tile& t) {
    ++calls;
    return (t.rows == 8 && t.columns == 4 ? 1.0 : 2.0) + 0.1 * (calls * 7 % 13);  // the same noise for all
  };
  const auto alike = tune(tiles(), noisy, with_contest(1000), tileseek::random{});
  const auto told = [](const auto& notes, const std::string& text) {
    return std::count_if(notes.begin(), notes.end(),
                         [&](const std::string& n) { return n.find(text) != std::string::npos; });
  };
  CHECK(told(alike.notes, "the best three can't be told apart in 9 rounds: they may differ by up to ") == 1);
  CHECK(told(alike.notes, " %; take any of them, or raise .rounds to 36") == 1);
  const auto clear = tune(
      tiles(), [](const tile& t) { return 1.0 + t.rows + 20 * t.columns + 400 * t.unroll; }, with_contest(1000),
      tileseek::random{});
  CHECK(told(clear.notes, "told apart") == 0);
}

TEST_CASE("rivals are measured interleaved with the rest; one that throws or lies just loses") {
  auto o = with_contest(50);
  int rounds = 0;
  o.rivals = {
      {"fast",
       [&](const tileseek::timing_limits& l) {
         ++rounds;
         CHECK(l.max_samples == 1);
         return measurement{status::ok, {1e-6}, {}};
       }},
      {"throws", [](const tileseek::timing_limits&) -> measurement { throw std::runtime_error("no such library"); }},
      {"lies", [](const tileseek::timing_limits&) {
         return measurement{status::ok, {-1}, {}};
       }}};
  const auto r = tune(tiles(), cost_of, o, tileseek::random{});
  CHECK(rounds == 9);
  REQUIRE(r.rivals.size() == 3);
  CHECK(r.rivals[0].against.says == verdict::slower);
  CHECK(r.rivals[1].against.says == verdict::cannot_tell);
  CHECK(r.text().find("rival      throws: -, no valid time") != std::string::npos);
  CHECK(r.text().find("rival      lies: -, no valid time") != std::string::npos);
  REQUIRE(r.best);
  CHECK(r.median_seconds > 1e-6);  // a rival is no configuration
}

TEST_CASE("finalists that fail in the contest") {
  int calls = 0;
  const auto breaks = [&](const tile& t) { return ++calls > 50 ? tileseek::failure(status::crashed, "") : cost_of(t); };
  const auto r = tune(tiles(), breaks, with_contest(50), tileseek::random{});
  REQUIRE(r.best);  // that of the search
  CHECK(r.rounds == 0);
  CHECK(r.notes == std::vector<std::string>{"every finalist failed when it was measured again"});
  int once = 0;
  const auto r2 = tune(
      tiles(),
      [&](const tile& t) {
        if (t == tile{8, 4, 4} && ++once == 3) return tileseek::failure(status::crashed, "");
        return cost_of(t);
      },
      with_contest(1000), tileseek::random{});
  CHECK(r2.best == tile{8, 4, 4});
  CHECK(std::count(r2.notes.begin(), r2.notes.end(), "the winner failed in 1 of 9 rounds of the final contest") == 1);
}

TEST_CASE("no contest when none is wanted, at least 6 rounds however slow, and as many finalists as said") {
  fixture::counted measured;
  CHECK(tune(tiles(), measured, quiet(30), tileseek::random{}).rounds == 0);
  CHECK(measured.total == 30);
  auto o = with_contest(30);
  o.final_seconds = 0;
  CHECK(tune(tiles(), cost_of, o, tileseek::random{}).rounds == 6);
  o.rounds = 3;
  CHECK(tune(tiles(), cost_of, o, tileseek::random{}).rounds == 3);
  o = with_contest(1000);
  o.finalists = 2;  // 5 % of 160 are 8
  o.timing.reject_above = 1e9;
  measured = {};
  static_cast<void>(tune(tiles(), measured, o, tileseek::random{}));
  CHECK(measured.total == 160 + 9 * (8 + 1));
}

TEST_CASE("Ctrl-C while a configuration is measured: its result counts, the rest is left, no contest") {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGINT, SIG_DFL);
    int calls = 0;
    auto o = with_contest(100);
    o.batch = 8;
    const auto r = tune(
        tiles(),
        [&](const tile& t) {
          if (++calls == 13) std::raise(SIGINT);
          return cost_of(t);
        },
        o, tileseek::random{});
    const bool well = calls == 13 && r.trials == 13 && r.stopped == stop::interrupted && r.best && r.rounds == 0;
    // A later run starts afresh.
    const auto again = tune(tiles(), cost_of, quiet(20), tileseek::random{});
    // In the contest, it keeps the best of the search.
    calls = 0;
    const auto late = tune(
        tiles(),
        [&](const tile& t) {
          if (++calls == 45) std::raise(SIGINT);
          return cost_of(t);
        },
        with_contest(40), tileseek::random{});
    const bool kept =
        calls == 45 && late.best && late.rounds == 0 && late.stopped == stop::trials && late.notes.size() == 1;
    // The second one ends the process.
    calls = 0;
    if (well && again.trials == 20 && kept)
      static_cast<void>(tune(
          tiles(),
          [&](const tile& t) {
            if (++calls > 3) {
              std::raise(SIGINT);
              std::raise(SIGINT);
            }
            return cost_of(t);
          },
          quiet(100), tileseek::random{}));
    _exit(well ? kept ? 3 : 2 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(!WIFEXITED(status));
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGINT);
}

TEST_CASE("Ctrl-C is left alone when the options say so") {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGINT, SIG_DFL);
    auto o = quiet(10);
    o.catch_interrupt = false;
    static_cast<void>(tune(
        tiles(),
        [](const tile& t) {
          std::raise(SIGINT);
          return cost_of(t);
        },
        o, tileseek::random{}));
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
}

TEST_CASE("the best batch of a measurer") {
  struct nothing {};
  struct four {
    int batch_size() const { return 4; }
  };
  struct zero {
    std::size_t batch_size() const { return 0; }
  };
  CHECK(tileseek::detail::preferred_batch(nothing{}) == 1);
  CHECK(tileseek::detail::preferred_batch(four{}) == 4);
  CHECK(tileseek::detail::preferred_batch(zero{}) == 1);
}
