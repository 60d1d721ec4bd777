#include <tileseek/tune/tasks.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <any>
#include <chrono>
#include <cmath>
#include <concepts>
#include <csignal>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <tileseek/schedule/gradient.hpp>
#include <tileseek/schedule/potential.hpp>
#include <tileseek/schedule/round_robin.hpp>
#include <tileseek/search/exhaustive.hpp>
#include <tileseek/search/local_search.hpp>
#include <tileseek/search/random.hpp>

#include "fixture.hpp"

using fixture::cost_of;
using fixture::tile;
using fixture::tiles;
using tileseek::any_scheduler;
using tileseek::gradient;
using tileseek::gradient_options;
using tileseek::measurement;
using tileseek::point;
using tileseek::potential;
using tileseek::round_robin;
using tileseek::status;
using tileseek::stop;
using tileseek::task;
using tileseek::task_description;
using tileseek::tasks_options;
using tileseek::tune_tasks;

namespace {

tileseek::options<tile> quiet() {
  tileseek::options<tile> o;
  o.progress = tileseek::verbosity::quiet;
  o.rounds = 0;
  return o;
}

task_description described(std::string name, double weight = 1, double flop = 0) {
  task_description d;
  d.name = std::move(name);
  d.weight = weight;
  d.flop = flop;
  return d;
}

tasks_options trials(std::size_t n) {
  tasks_options o;
  o.trials = n;
  return o;
}

/// A task of the fixture that runs `scale` times as long, searched at random. Counts its calls.
task scaled(std::string name, double scale, double weight = 1, std::shared_ptr<std::size_t> calls = {},
            tileseek::options<tile> choices = quiet()) {
  return {described(std::move(name), weight), tiles(),
          [scale, calls](const tile& t) {
            if (calls) ++*calls;
            auto m = cost_of(t);
            for (double& s : m.seconds) s *= scale;
            return m;
          },
          tileseek::random{}, std::move(choices)};
}

/// A task all of whose trials fail.
task failing(std::string name) {
  return {described(std::move(name)), tiles(),
          [](const tile&) { return tileseek::failure(status::build_failed, "no such instruction"); },
          tileseek::random{}, quiet()};
}

/// Asks nothing, as often as it is asked.
struct silent {
  std::vector<point> ask(const tileseek::lattice&, tileseek::rng&, std::size_t) { return {}; }
  void tell(const tileseek::lattice&, std::span<const tileseek::trial>) {}
};

/// Any living task.
struct at_random {
  std::optional<std::size_t> next(std::span<const tileseek::task_state> tasks, tileseek::rng& random) const {
    return tileseek::detail::largest(tasks, random, [](std::size_t) { return 1.0; });
  }
};

/// Round robin that keeps what it was shown last.
struct curious {
  std::shared_ptr<std::vector<tileseek::task_state>> last = std::make_shared<std::vector<tileseek::task_state>>();
  std::optional<std::size_t> next(std::span<const tileseek::task_state> tasks, tileseek::rng& random) {
    last->assign(tasks.begin(), tasks.end());
    return round_robin().next(tasks, random);
  }
};

/// All schedulers, in rounds of `round`.
std::vector<any_scheduler> schedulers(std::size_t round) {
  gradient_options g;
  g.round = round;
  tileseek::potential_options p;
  p.round = round;
  std::vector<any_scheduler> out;
  out.emplace_back(round_robin(round));
  out.emplace_back(gradient(g));
  out.emplace_back(potential(p));
  out.emplace_back(at_random{}, "at_random");
  return out;
}

std::vector<task> three(std::shared_ptr<std::size_t> calls = {}) {
  std::vector<task> out;
  for (const char* name : {"a", "b", "c"}) out.push_back(scaled(name, 1, 1, calls));
  return out;
}

std::vector<std::size_t> trials_of(const tileseek::tasks_result& r) {
  std::vector<std::size_t> out;
  for (const auto& t : r.tasks) out.push_back(t.trials);
  return out;
}

/// A log in memory, which outlives the run that is killed.
struct remembered final : tileseek::journal {
  explicit remembered(std::vector<tileseek::journal_trial> before = {}) : trials(std::move(before)) {}
  tileseek::journal_content open(const tileseek::journal_head&) override {
    tileseek::journal_content content;
    content.trials = trials;
    if (!trials.empty()) content.elapsed = trials.back().elapsed;
    return content;
  }
  void append(const tileseek::journal_trial& t) override { trials.push_back(t); }
  void append(const tileseek::journal_contest&) override {}
  void finish(stop, double) override {}
  const std::string& name() const noexcept override { return name_; }

  std::vector<tileseek::journal_trial> trials;
  std::string name_ = "memory";
};

/// Notes whose turns it was.
struct turns {
  std::shared_ptr<std::vector<std::size_t>> seen = std::make_shared<std::vector<std::size_t>>();
  bool operator()(const tileseek::tasks_progress& p) const {
    if (p.turn) seen->push_back(*p.turn);
    return false;
  }
};

}  // namespace

TEST_CASE("a global budget of 3 with rounds of 64 took a whole round: it is never overshot, and the totals are true") {
  for (auto& s : schedulers(64)) {
    const std::string name = s.name();
    CAPTURE(name);
    const auto calls = std::make_shared<std::size_t>(0);
    std::vector<task> one;
    one.push_back(scaled("one", 1, 1, calls));
    auto o = trials(3);
    o.trials_per_task = 10;
    const auto r = tune_tasks(one, o, std::move(s));
    CHECK(*calls == 3);
    CHECK(r.trials() == 3);
    CHECK(r.stopped == stop::trials);
    CHECK_FALSE(r.tasks[0].done());
  }
  for (const std::size_t budget : {1u, 2u, 7u, 50u, 101u})
    for (auto& s : schedulers(8)) {
      const std::string name = s.name();
      CAPTURE(name);
      const auto calls = std::make_shared<std::size_t>(0);
      auto tasks = three(calls);
      const auto r = tune_tasks(tasks, trials(budget), std::move(s));
      CHECK(*calls == budget);
      CHECK(r.trials() == budget);
      CHECK(r.stopped == stop::trials);
    }
}

TEST_CASE("three tasks of at most 101 trials under a budget of 303, in rounds of 6: exactly 101 each") {
  for (auto& s : schedulers(6)) {
    const std::string name = s.name();
    CAPTURE(name);
    auto tasks = three();
    auto o = trials(303);
    o.trials_per_task = 101;
    CHECK(trials_of(tune_tasks(tasks, o, std::move(s))) == std::vector<std::size_t>{101, 101, 101});
  }
}

TEST_CASE("round robin over three tasks of 2 trials, one a round: 2 each, in turn") {
  auto tasks = three();
  auto o = trials(1000);
  o.trials_per_task = 2;
  turns t;
  o.observers.push_back(t);
  const auto r = tune_tasks(tasks, o, round_robin(1));
  CHECK(trials_of(r) == std::vector<std::size_t>{2, 2, 2});
  CHECK(*t.seen == std::vector<std::size_t>{0, 1, 2, 0, 1, 2});
  CHECK(r.stopped == stop::exhausted);
  for (const auto& row : r.tasks) CHECK(row.stopped == stop::trials);
}

TEST_CASE("a cap per task acted as a global one: 20 tasks, 32 each in rounds of 32, and every task is tuned") {
  std::vector<task> tasks;
  for (int i = 0; i < 20; ++i) tasks.push_back(scaled("task " + std::to_string(i), 1 + i));
  tasks_options o;
  o.trials_per_task = 32;
  o.round = 32;
  const auto r = tune_tasks(tasks, o);
  CHECK(trials_of(r) == std::vector<std::size_t>(20, 32));
  CHECK(r.stopped == stop::exhausted);
  for (const auto& row : r.tasks) CHECK(row.valid());
}

TEST_CASE("a strategy that returned nothing brought the run down: it ends its task and nothing else") {
  for (auto& s : schedulers(4)) {
    const std::string name = s.name();
    CAPTURE(name);
    std::vector<task> tasks;
    tasks.push_back(scaled("replayed", 1));
    tasks.emplace_back(described("silent"), tiles(), cost_of, silent{}, quiet());
    tasks.emplace_back(described("silent, too"), tiles(), cost_of, silent{}, quiet());
    auto o = trials(30);
    o.trials_per_task = 10;
    const auto r = tune_tasks(tasks, o, std::move(s));
    CHECK(trials_of(r) == std::vector<std::size_t>{10, 0, 0});
    CHECK(r.tasks[1].stopped == stop::exhausted);
    CHECK(r.stopped == stop::exhausted);
    CHECK(r.without_result() == std::vector<std::string>{"silent", "silent, too"});
  }
}

TEST_CASE("a budget of 0 trials crashed the gradient: nothing is measured") {
  for (auto& s : schedulers(4)) {
    auto tasks = three();
    const auto r = tune_tasks(tasks, trials(0), std::move(s));
    CHECK(r.trials() == 0);
    CHECK(r.stopped == stop::trials);
  }
}

TEST_CASE("a small task comes to the end of its space, and the others have the rest") {
  std::vector<task> tasks = three();
  tasks.emplace_back(
      described("tiny", 1000), tileseek::space<tile>{}.add("rows", &tile::rows, {1, 2, 4}),
      [](const tile&) { return 5.0; }, tileseek::random{}, quiet());
  const auto r = tune_tasks(tasks, trials(200));
  CHECK(r.tasks[3].trials == 3);
  CHECK(r.tasks[3].stopped == stop::exhausted);
  CHECK(r.trials() == 200);
}

TEST_CASE(
    "a task whose first round failed was never tried again: it is, with fresh exploration, until it is given up") {
  // Where the search begins, nothing runs: 32 of 160 configurations do.
  const auto rarely = [](const tile& t) {
    return t.unroll == 8 && t.rows >= 2 ? cost_of({8, 4, 4}) : tileseek::failure(status::launch_failed, "");
  };
  for (auto& s : schedulers(4)) {
    const std::string name = s.name();
    CAPTURE(name);
    std::vector<task> tasks = three();
    tasks.emplace_back(
        described("rare"), tiles(), rarely, [] { return tileseek::exhaustive{}; }, quiet());
    tasks.push_back(failing("dead"));
    auto o = trials(400);
    o.give_up_after = 40;
    const auto r = tune_tasks(tasks, o, std::move(s));
    CHECK(r.tasks[3].valid());
    CHECK(r.tasks[4].trials <= 40);
    if (r.tasks[4].trials == 40) {
      CHECK(r.tasks[4].stopped == stop::stalled);
      CHECK(std::any_of(r.notes.begin(), r.notes.end(), [](const std::string& n) {
        return n == "dead: given up after 40 trials without a valid result";
      }));
    }
    CHECK(r.without_result() == std::vector<std::string>{"dead"});
    CHECK(r.trials() == 400);
  }
}

TEST_CASE("fresh exploration: a search that ends where nothing runs goes on elsewhere") {
  const auto only_large = [](const tile& t) {
    return t.rows >= 8 ? cost_of({8, 4, 4}) : tileseek::failure(status::run_failed, "");
  };
  const auto run = [&](std::size_t explore_after) {
    std::vector<task> tasks;
    // Asks the four smallest configurations, and no more.
    struct four {
      int asked = 0;
      std::vector<point> ask(const tileseek::lattice& of, tileseek::rng&, std::size_t) {
        if (asked == 4) return {};
        return {*of.unrank(static_cast<std::uint64_t>(asked++))};
      }
      void tell(const tileseek::lattice&, std::span<const tileseek::trial>) {}
    };
    tasks.emplace_back(described("lost"), tiles(), only_large, four{}, quiet());
    auto o = trials(60);
    o.explore_after = explore_after;
    return tune_tasks(tasks, o);
  };
  CHECK_FALSE(run(0).tasks[0].valid());
  CHECK(run(0).tasks[0].trials == 4);
  CHECK(run(4).tasks[0].valid());
  CHECK(run(4).tasks[0].trials > 4);
  CHECK(run(4).tasks[0].trials < 60);  // and then the search is its own again, and ends
}

TEST_CASE("a task that only fails does not eat the budget of the others") {
  for (auto& s : schedulers(4)) {
    if (s.name() == "round_robin" || s.name() == "at_random") continue;
    const std::string name = s.name();
    CAPTURE(name);
    std::vector<task> tasks = three();
    tasks.push_back(failing("dead"));
    tasks_options o = trials(300);
    o.give_up_after = 0;
    const auto r = tune_tasks(tasks, o, std::move(s));
    CHECK(r.tasks[3].trials > 4);
    CHECK(r.tasks[3].trials < 150);  // the others have found their best; it is thought to be ten times as slow
    CHECK_FALSE(r.tasks[3].done());
  }
}

TEST_CASE("only failures, by all schedulers: the run ends all the same") {
  for (auto& s : schedulers(4)) {
    std::vector<task> tasks;
    for (const char* name : {"a", "b"}) tasks.push_back(failing(name));
    const auto r = tune_tasks(tasks, trials(100), std::move(s));
    CHECK(r.trials() == 100);
    CHECK(r.failed() == 100);
    CHECK(r.weighted_seconds() == 0);
    CHECK(r.without_result().size() == 2);
    CHECK(r.text().find("without the 2 of 2 tasks that have no valid result: a, b") != std::string::npos);
  }
}

TEST_CASE("a budget smaller than the number of tasks was refused: it is spent fairly, and said") {
  for (auto& s : schedulers(8)) {
    if (s.name() == "at_random") continue;
    const std::string name = s.name();
    CAPTURE(name);
    auto tasks = three();
    const auto two = tune_tasks(tasks, trials(2), std::move(s));
    CHECK(trials_of(two) == std::vector<std::size_t>{1, 1, 0});
    REQUIRE(two.notes.size() == 1);
    CHECK(two.notes[0] == "the budget ended before 1 of 3 tasks had a trial; give at least 12 trials");
  }
  for (auto& s : schedulers(8)) {
    if (s.name() == "at_random") continue;
    auto tasks = three();
    CHECK(trials_of(tune_tasks(tasks, trials(8), std::move(s))) == std::vector<std::size_t>{2, 3, 3});
  }
}

TEST_CASE("a second call went on with the first one's history: all state belongs to one call") {
  const gradient scheduler;
  std::vector<task> tasks;
  for (int i = 0; i < 4; ++i) tasks.push_back(scaled("task " + std::to_string(i), 1 + i));
  turns first, second;
  auto o = trials(120);
  o.observers.push_back(first);
  const auto a = tune_tasks(tasks, o, scheduler);
  o.observers = {second};
  const auto b = tune_tasks(tasks, o, scheduler);
  CHECK(*first.seen == *second.seen);
  CHECK(trials_of(a) == trials_of(b));
  CHECK(a.weighted_seconds() == b.weighted_seconds());
}

TEST_CASE("a resumed run makes the choices of an undisturbed one, and measures nothing twice") {
  constexpr std::size_t kinds = 4;
  const auto run = [](std::vector<std::shared_ptr<remembered>> logs, std::size_t killed_after, any_scheduler scheduler,
                      const std::shared_ptr<std::vector<std::size_t>>& seen, std::size_t& measured) {
    std::vector<task> tasks;
    for (std::size_t i = 0; i < kinds; ++i) {
      auto choices = quiet();
      choices.log = logs[i];
      choices.batch = i == 3 ? 3 : 1;
      auto about = described("task " + std::to_string(i), 1 + static_cast<double>(i));
      about.tag = i < 3 ? "alike" : "";
      tasks.emplace_back(
          about, tiles(),
          [&measured, killed_after, i](const tile& t) {
            if (measured++ == killed_after) throw std::bad_alloc();  // passes all the way up, as a crash does
            auto m = cost_of(t);
            for (double& s : m.seconds) s *= 1 + 2 * static_cast<double>(i);
            return i == 2 && t.rows > 3 ? tileseek::failure(status::build_failed, "") : m;
          },
          tileseek::random{}, choices);
    }
    turns t;
    t.seen = seen;
    auto o = trials(150);
    o.observers.push_back(t);
    return tune_tasks(tasks, o, std::move(scheduler));
  };
  const auto make = [](std::size_t kind) {
    return kind == 0   ? any_scheduler(round_robin())
           : kind == 1 ? any_scheduler(gradient())
                       : any_scheduler(potential());
  };
  const auto logs = [] {
    std::vector<std::shared_ptr<remembered>> out;
    for (std::size_t i = 0; i < kinds; ++i) out.push_back(std::make_shared<remembered>());
    return out;
  };
  for (std::size_t kind = 0; kind < 3; ++kind) {
    CAPTURE(kind);
    auto undisturbed = std::make_shared<std::vector<std::size_t>>();
    std::size_t measured = 0;
    const auto whole = run(logs(), 1000, make(kind), undisturbed, measured);
    CHECK(measured == 150);
    for (const std::size_t killed_after : {0u, 2u, 17u, 40u, 77u, 149u}) {
      CAPTURE(killed_after);
      const auto kept = logs();
      auto before = std::make_shared<std::vector<std::size_t>>();
      auto after = std::make_shared<std::vector<std::size_t>>();
      std::size_t first = 0;
      std::size_t second = 0;
      CHECK_THROWS_AS((void)run(kept, killed_after, make(kind), before, first), std::bad_alloc);
      const auto resumed = run(kept, 1000, make(kind), after, second);
      CHECK(*after == *undisturbed);
      CHECK(second == 150 - killed_after);
      CHECK(resumed.replayed() == killed_after);
      CHECK(trials_of(resumed) == trials_of(whole));
      CHECK(resumed.weighted_seconds() == whole.weighted_seconds());
      CHECK(resumed.notes.empty());
    }
  }
}

namespace {

/// All turns of the first task, then all of the next.
struct one_after_another {
  std::optional<std::size_t> next(std::span<const tileseek::task_state> tasks, tileseek::rng&) const {
    for (std::size_t i = 0; i < tasks.size(); ++i)
      if (!tasks[i].finished) return i;
    return std::nullopt;
  }
};

task tagged(std::string name, const char* tag, tileseek::space<tile> of = tiles(), double flop = 0) {
  auto about = described(std::move(name), 1, flop);
  about.tag = tag;
  return {about, std::move(of), cost_of, tileseek::random{}, quiet()};
}

}  // namespace

TEST_CASE("the best configurations of tasks with the same tag are measured first, projected onto the space") {
  const auto small = tileseek::space<tile>{}
                         .add("rows", &tile::rows, {1, 2, 6})
                         .add("columns", &tile::columns, {1, 2, 6})
                         .add("unroll", &tile::unroll, {1, 2});
  struct other {
    int rows = 1;
  };
  const auto run = [&](std::size_t transfer) {
    std::vector<task> tasks;
    tasks.push_back(tagged("donor", "alike"));
    tasks.push_back(tagged("small", "alike", small));
    tasks.push_back(tagged("stranger", "unlike"));
    tasks.push_back(tagged("nobody", ""));
    auto about = described("other type");
    about.tag = "alike";
    tileseek::options<other> o;
    o.rounds = 0;
    tasks.emplace_back(
        about, tileseek::space<other>{}.add("rows", &other::rows, tileseek::range(1, 99)),
        [](const other& c) { return 1.0 / c.rows; }, tileseek::random{}, o);
    tasks_options shared;
    shared.trials_per_task = 8;
    shared.transfer = transfer;
    return tune_tasks(tasks, shared, one_after_another{});
  };
  const auto with = run(1);
  const auto without = run(0);
  REQUIRE(with.of<tile>(0).best);
  const auto projected = small.nearest(*with.of<tile>(0).best);
  CHECK(with.of<tile>(1).history.front().at == projected);
  CHECK(without.of<tile>(1).history.front().at != projected);
  CHECK(trials_of(with) == std::vector<std::size_t>(5, 8));
  for (const std::size_t i : {0u, 2u, 3u})
    for (std::size_t k = 0; k < 8; ++k) CHECK(with.of<tile>(i).history[k].at == without.of<tile>(i).history[k].at);
  for (std::size_t k = 0; k < 8; ++k) CHECK(with.of<other>(4).history[k].at == without.of<other>(4).history[k].at);
}

TEST_CASE("those most alike offer first, each its best, and what is known is not offered") {
  std::vector<task> tasks;
  tasks.push_back(tagged("far", "alike", tiles(), 1e6));
  tasks.push_back(tagged("near", "alike", tiles(), 9e3));
  tasks.push_back(tagged("last", "alike", tiles(), 1e4));
  tasks_options o;
  o.trials_per_task = 20;
  o.transfer = 1;
  const auto one = tune_tasks(tasks, o, one_after_another{});
  CHECK(one.of<tile>(2).history.front().at == one.of<tile>(1).best_point);
  o.transfer = 2;
  const auto two = tune_tasks(tasks, o, one_after_another{});
  CHECK(two.of<tile>(2).history[0].at == two.of<tile>(1).best_point);
  if (two.of<tile>(0).best_point != two.of<tile>(1).best_point)
    CHECK(two.of<tile>(2).history[1].at == two.of<tile>(0).best_point);
  std::set<point> seen;
  for (const auto& t : two.of<tile>(2).history) CHECK(seen.insert(t.at).second);
}

namespace {

/// Notes what it is told to build and what it is asked to measure, in the order of all tasks.
struct foresighted {
  std::shared_ptr<std::vector<std::pair<std::string, std::vector<tile>>>> events;
  std::string name;
  void prepare(std::span<const tile> batch) { events->emplace_back("build " + name, to_vector(batch)); }
  std::vector<measurement> measure(std::span<const tile> batch) {
    events->emplace_back("time " + name, to_vector(batch));
    std::vector<measurement> out;
    for (const auto& t : batch) out.push_back(cost_of(t));
    return out;
  }
  [[nodiscard]] std::size_t batch_size() const { return 3; }

  static std::vector<tile> to_vector(std::span<const tile> batch) { return {batch.begin(), batch.end()}; }
};

/// The same without foresight.
struct short_sighted {
  foresighted it;
  std::vector<measurement> measure(std::span<const tile> batch) { return it.measure(batch); }
  [[nodiscard]] std::size_t batch_size() const { return 3; }
};
static_assert(tileseek::PreparingMeasurer<foresighted, tile>);
static_assert(!tileseek::PreparingMeasurer<short_sighted, tile>);

template <class M>
foresighted run_three(std::size_t budget, any_scheduler scheduler, const char* tag) {
  foresighted all{std::make_shared<std::vector<std::pair<std::string, std::vector<tile>>>>(), ""};
  std::vector<task> tasks;
  for (const char* name : {"a", "b", "c"}) {
    auto about = described(name);
    about.tag = tag;
    foresighted one{all.events, name};
    if constexpr (std::same_as<M, foresighted>)
      tasks.emplace_back(about, tiles(), one, tileseek::random{}, quiet());
    else
      tasks.emplace_back(about, tiles(), short_sighted{one}, tileseek::random{}, quiet());
  }
  CHECK(tune_tasks(tasks, trials(budget), std::move(scheduler)).trials() == budget);
  return all;
}

}  // namespace

TEST_CASE("while a task is timed, the next one's first batch is built: with round robin, always the right one") {
  const auto all = run_three<foresighted>(36, round_robin(6), "");
  const auto& e = *all.events;
  std::size_t turns_seen = 0;
  std::size_t built = 0;
  for (std::size_t i = 0; i + 1 < e.size(); ++i) {
    if (e[i].first.starts_with("time")) continue;
    ++built;
    CHECK(e[i].second.size() == 3);
    // Then this turn's two batches, and before the next turn's first one, perhaps what that builds.
    std::size_t next = i + 1;
    while (next + 1 < e.size() && e[next].first != "time" + e[i].first.substr(5)) ++next;
    CHECK(e[next].second == e[i].second);
    CHECK(next - i <= 4);
    ++turns_seen;
  }
  CHECK(built == 5);  // six turns, and nobody is next after the last one
  CHECK(turns_seen == 5);
}

TEST_CASE("building ahead changes no choice and overshoots no budget, whoever schedules, and with transfer") {
  for (const std::size_t budget : {1u, 2u, 4u, 13u, 50u, 101u})
    for (const char* tag : {"", "alike"}) {
      auto with = schedulers(4);
      auto without = schedulers(4);
      for (std::size_t i = 0; i < with.size(); ++i) {
        CAPTURE(budget);
        CAPTURE(i);
        auto events = *run_three<foresighted>(budget, std::move(with[i]), tag).events;
        std::erase_if(events, [](const auto& e) { return e.first.starts_with("build"); });
        CHECK(events == *run_three<short_sighted>(budget, std::move(without[i]), tag).events);
      }
    }
}

TEST_CASE("a scheduler that cannot be copied is not asked ahead") {
  struct moved {
    std::unique_ptr<round_robin> it = std::make_unique<round_robin>();
    std::optional<std::size_t> next(std::span<const tileseek::task_state> tasks, tileseek::rng& random) {
      return it->next(tasks, random);
    }
  };
  const auto all = run_three<foresighted>(30, moved{}, "");
  for (const auto& e : *all.events) CHECK(e.first.starts_with("time"));
}

TEST_CASE("the same seed, the same run; a task draws the same whatever its neighbours are") {
  const auto histories = [](std::uint64_t seed, std::vector<std::string> names) {
    std::vector<task> tasks;
    for (const auto& n : names) tasks.push_back(scaled(n, 1));
    auto o = trials(20 * names.size());
    o.seed = seed;
    const auto r = tune_tasks(tasks, o, round_robin(4));
    std::vector<std::vector<point>> out;
    for (std::size_t i = 0; i < names.size(); ++i) {
      out.emplace_back();
      for (const auto& t : r.of<tile>(i).history) out.back().push_back(t.at);
    }
    return out;
  };
  const auto a = histories(1, {"x", "y"});
  CHECK(a == histories(1, {"x", "y"}));
  CHECK(a != histories(2, {"x", "y"}));
  CHECK(a[0] != a[1]);
  CHECK(histories(1, {"z", "y", "x"})[2] == a[0]);
}

TEST_CASE("tasks of different kinds in one call, with different types of configurations, measurers and strategies") {
  struct lanes {
    int width = 1;
  };
  struct by_batch {
    std::vector<measurement> measure(std::span<const lanes> batch) {
      std::vector<measurement> out;
      for (const auto& l : batch) out.push_back({status::ok, {1.0 / l.width}, {}});
      return out;
    }
    [[nodiscard]] std::size_t batch_size() const { return 3; }
  };
  std::vector<task> tasks;
  tasks.push_back(scaled("tiles", 1));
  tasks.emplace_back(described("lanes"), tileseek::space<lanes>{}.add("width", &lanes::width, {1, 2, 4, 8, 16}),
                     by_batch{}, [] { return tileseek::local_search{}; });
  const auto r = tune_tasks(tasks, trials(60));
  CHECK(r.trials() == 60);
  REQUIRE(r.of<lanes>(1).best);
  CHECK(r.of<lanes>(1).best->width == 16);
  CHECK(r.of<tile>(0).trials == 55);
  CHECK_THROWS_AS((void)r.of<tile>(1), std::bad_any_cast);
  CHECK_THROWS_AS((void)r.of<tile>(2), std::out_of_range);
  // lanes kept the contest, tiles did not
  CHECK(r.of<lanes>(1).rounds == 9);
  CHECK(r.of<tile>(0).rounds == 0);
}

TEST_CASE("without any budget: 100 trials a task") {
  auto tasks = three();
  CHECK(tune_tasks(tasks).trials() == 300);
}

TEST_CASE("a budget of seconds counts each task's own time") {
  const auto sleepy = [](const tile& t) {
    const auto began = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - began < std::chrono::milliseconds(2)) {
    }
    return cost_of(t);
  };
  const auto run = [&](tasks_options o) {
    std::vector<task> tasks;
    for (const char* name : {"a", "b", "c"})
      tasks.emplace_back(described(name), tiles(), sleepy, tileseek::random{}, quiet());
    return tune_tasks(tasks, o, round_robin(4));
  };
  tasks_options o;
  o.seconds = 0.1;
  const auto shared = run(o);
  CHECK(shared.stopped == stop::seconds);
  CHECK(shared.seconds >= 0.1);
  CHECK(shared.trials() >= 1);
  CHECK(shared.trials() <= 51);  // at most 50 fit, and the one that was being measured
  double sum = 0;
  for (std::size_t i = 0; i < 3; ++i) sum += shared.of<tile>(i).seconds;
  CHECK(sum == doctest::Approx(shared.seconds));
  o.seconds.reset();
  o.seconds_per_task = 0.03;
  const auto each = run(o);
  CHECK(each.stopped == stop::exhausted);
  for (const auto& row : each.tasks) {
    CHECK(row.stopped == stop::seconds);
    CHECK(row.trials >= 1);
    CHECK(row.trials <= 16);
  }
}

TEST_CASE("observers see every turn, and can end the run") {
  auto tasks = three();
  auto o = trials(100);
  std::size_t turns_seen = 0;
  std::size_t ends_seen = 0;
  o.observers.push_back([&](const tileseek::tasks_progress& p) {
    CHECK(p.tasks.size() == 3);
    CHECK(p.trial_limit == 100);
    std::size_t sum = 0;
    for (const auto& row : p.tasks) sum += row.trials;
    CHECK(sum == p.trials);
    if (!p.turn) {
      ++ends_seen;
      CHECK(p.stopped == stop::observer);
      return false;
    }
    ++turns_seen;
    CHECK(p.stopped == stop::running);
    CHECK(*p.turn < 3);
    return p.trials >= 20;
  });
  const auto r = tune_tasks(tasks, o);
  CHECK(r.stopped == stop::observer);
  CHECK(r.trials() == 20);
  CHECK(turns_seen == 5);
  CHECK(ends_seen == 1);
}

TEST_CASE("Ctrl-C ends the run after the configuration that is being measured, and the best so far is told") {
  std::vector<task> tasks;
  int calls = 0;
  for (const char* name : {"a", "b"})
    tasks.emplace_back(
        described(name), tiles(),
        [&calls](const tile& t) {
          if (++calls == 10) std::raise(SIGINT);
          return cost_of(t);
        },
        tileseek::random{}, quiet());
  const auto r = tune_tasks(tasks, trials(100));
  CHECK(r.stopped == stop::interrupted);
  CHECK(r.trials() == 10);
  CHECK(calls == 10);
  for (const auto& row : r.tasks) {
    CHECK(row.valid());
    CHECK_FALSE(row.done());
  }
}

TEST_CASE("an objective that is met ends the run") {
  auto tasks = three();
  tileseek::potential_options p;
  p.of = tileseek::latency_requirements({1.0});
  const auto r = tune_tasks(tasks, trials(100), potential(p));
  CHECK(r.stopped == stop::target);
  CHECK(r.trials() < 50);
}

TEST_CASE("the scheduler hears what a search with a model hopes for, and who is alike") {
  struct hopeful : tileseek::random {
    [[nodiscard]] double gap() const { return 0.25; }
  };
  std::vector<task> tasks;
  const char* const tags[] = {"conv", "", "dense", "conv"};
  for (std::size_t i = 0; i < 4; ++i) {
    auto d = described("task " + std::to_string(i), 2, 3e9);
    d.tag = tags[i];
    d.network = i;
    d.reachable = 1e-4;
    d.untuned = 1e-2;
    if (i == 0)
      tasks.emplace_back(d, tiles(), cost_of, hopeful{}, quiet());
    else
      tasks.emplace_back(d, tiles(), cost_of, tileseek::random{}, quiet());
  }
  const auto seen = std::make_shared<std::vector<tileseek::task_state>>();
  (void)tune_tasks(tasks, trials(17), curious{seen});
  REQUIRE(seen->size() == 4);
  CHECK((*seen)[0].gap == 0.25);
  CHECK_FALSE((*seen)[1].gap.has_value());
  CHECK((*seen)[0].group == (*seen)[3].group);
  CHECK((*seen)[0].group != (*seen)[2].group);
  CHECK((*seen)[1].group == tileseek::task_state::no_group);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto& t = (*seen)[i];
    CHECK(t.network == i);
    CHECK(t.weight == 2);
    CHECK(t.flop == 3e9);
    CHECK(t.reachable == 1e-4);
    CHECK(t.untuned == 1e-2);
    CHECK(t.history.trials() == 4);
    CHECK(t.history.rounds() == 1);
  }
}

TEST_CASE("what was known before counts as known, and not as a trial") {
  auto choices = quiet();
  choices.warm_start = {{tile{8, 4, 4}, cost_of({8, 4, 4})}};
  std::vector<task> tasks;
  tasks.push_back(scaled("warm", 1, 1, {}, choices));
  tasks.push_back(failing("dead"));
  const auto r = tune_tasks(tasks, trials(40));
  CHECK(r.tasks[0].seconds == cost_of({8, 4, 4}).cost());
  CHECK(r.trials() == 40);
  const curious scheduler;
  (void)tune_tasks(tasks, trials(1), scheduler);
  CHECK((*scheduler.last)[0].history.best() == cost_of({8, 4, 4}).cost());
  CHECK((*scheduler.last)[0].history.trials() == 0);
  CHECK_FALSE((*scheduler.last)[1].history.valid());
}

TEST_CASE("the table") {
  std::vector<task> tasks;
  tasks.emplace_back(
      described("conv", 3, 2e9), tiles(), [](const tile&) { return 1e-3; }, tileseek::random{}, quiet());
  tasks.push_back(failing("dead"));
  auto o = trials(8);
  o.trials_per_task = 4;
  o.seed = 7;
  const auto r = tune_tasks(tasks, o, round_robin(4));
  std::ostringstream out;
  out << r;
  CHECK(out.str() ==
        "ID | Name |       FLOP | Weight | Speed (GFLOPS) | Latency (us) | Weighted Latency (us) | Trials | Done\n"
        " 0 | conv | 2000000000 |      3 |        2000.00 |      1000.00 |               3000.00 |      4 | trials\n"
        " 1 | dead |          - |      1 |              - |            - |                     - |      4 | trials\n"
        "Total trials: 8, 4 failed\n"
        "Total weighted latency: 3000.00 us, without the 1 of 2 tasks that have no valid result: dead\n"
        "Elapsed: 0 s, stopped by trials, scheduler round_robin, seed 7\n"
        "note: dead: no configuration was valid; the last one: build_failed, no such instruction");
}

TEST_CASE("what makes no sense is refused by name") {
  const auto refused = [](auto change) {
    auto d = described("x");
    change(d);
    CHECK_THROWS_AS(task(d, tiles(), cost_of, tileseek::random{}), std::invalid_argument);
  };
  refused([](auto& d) { d.name = ""; });
  refused([](auto& d) { d.weight = 0; });
  refused([](auto& d) { d.weight = std::nan(""); });
  refused([](auto& d) { d.flop = -1; });
  refused([](auto& d) { d.untuned = 0.0; });
  refused([](auto& d) { d.reachable = -1.0; });
  std::vector<task> none;
  CHECK_THROWS_WITH_AS((void)tune_tasks(none), "tune_tasks: no tasks", std::invalid_argument);
  std::vector<task> twins;
  twins.push_back(scaled("twin", 1));
  twins.push_back(scaled("twin", 2));
  CHECK_THROWS_WITH_AS((void)tune_tasks(twins),
                       "tune_tasks: two tasks are named 'twin'; a task draws and is reported by its name",
                       std::invalid_argument);
  auto tasks = three();
  tasks_options o;
  o.seconds = 0.0;
  CHECK_THROWS_AS((void)tune_tasks(tasks, o), std::invalid_argument);
  // A strategy that can only be moved serves once.
  std::vector<task> once;
  once.emplace_back(described("once"), tiles(), cost_of, tileseek::any_strategy(tileseek::random{}), quiet());
  CHECK(tune_tasks(once, trials(5)).trials() == 5);
  CHECK_THROWS_AS((void)tune_tasks(once, trials(5)), std::logic_error);
}
