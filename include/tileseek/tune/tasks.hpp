#pragma once
// tune_tasks(): many kernels, one budget. A scheduler says whose turn it is; each task is a session of its own, with
// its own space, measurer, strategy and log.
//
//   std::vector<tileseek::task> tasks;
//   tasks.emplace_back(tileseek::task_description{.name = "dense", .flop = 2e9, .weight = 12}, space, measure,
//                      tileseek::bayesian{});
//   ...
//   std::cout << tileseek::tune_tasks(tasks, {.trials = 2000}) << '\n';

#include <algorithm>
#include <any>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <tileseek/core/format.hpp>
#include <tileseek/core/hash.hpp>
#include <tileseek/core/progress.hpp>
#include <tileseek/core/rng.hpp>
#include <tileseek/core/statistics.hpp>
#include <tileseek/measure/measurer.hpp>
#include <tileseek/record/journal.hpp>
#include <tileseek/report/task_table.hpp>
#include <tileseek/schedule/potential.hpp>
#include <tileseek/schedule/scheduler.hpp>
#include <tileseek/search/any_strategy.hpp>
#include <tileseek/search/history.hpp>
#include <tileseek/tune/interrupt.hpp>
#include <tileseek/tune/options.hpp>
#include <tileseek/tune/result.hpp>
#include <tileseek/tune/session.hpp>
#include <tileseek/tune/tune.hpp>

namespace tileseek {

/// What a task is to its scheduler and in the table.
struct task_description {
  std::string name;         ///< unlike those of the other tasks
  double flop = 0;          ///< floating-point operations of one run; 0: unknown
  double weight = 1;        ///< how often the kernel runs in its network; above 0
  std::string tag{};        ///< tasks with the same tag are alike (one kernel in several shapes); empty: like no other
  std::size_t network = 0;  ///< which network it belongs to, for objectives over several
  std::optional<double> untuned{};  ///< seconds of the kernel in use today: what a task without a valid result costs
  /// Estimate of the seconds that tuning can reach: a vendor library's time for this shape, a roofline. Within 20 % it
  /// saves about a tenth of the trials.
  std::optional<double> reachable{};
};

/// Options of tune_tasks(). When none of the four budgets is given: 100 trials a task on average.
struct tasks_options {
  std::optional<std::size_t> trials{};           ///< of all tasks together, replayed ones included
  std::optional<double> seconds{};               ///< of tuning, all tasks together
  std::optional<std::size_t> trials_per_task{};  ///< caps each task
  std::optional<double> seconds_per_task{};      ///< caps each task's own tuning time
  std::uint64_t seed = 0;                        ///< of the scheduler, and with its name of each task
  std::size_t round = 0;                         ///< trials of a turn; 0: what the scheduler likes best
  /// When so many trials of a task are all invalid, every other batch of it is drawn at random from the whole space,
  /// until one is valid: the search may have begun where nothing runs. As long as a first round; 0: never.
  std::size_t explore_after = 4;
  /// Before each turn of a task, so many others with its tag, those whose FLOP are most like its own, offer it their best
  /// configurations, projected onto its space; what it does not know yet is measured first. 0: never. On recorded kernels
  /// of the same kind, more helped more, up to 3 (see docs/scheduling.md).
  std::size_t transfer = 3;
  std::size_t give_up_after = 256;  ///< trials without one valid result end a task. Kernels that ran after seventy
                                    ///< failures have been seen, and a mistake in a kernel never ends; 0: never
  /// Called after each turn, where true asks to stop, and once at the end.
  std::vector<std::function<bool(const tasks_progress&)>> observers{};
  /// The log of each task that has none of its own, by the task's name: tileseek::tasks_log("run.jsonl"). None: no log.
  std::function<std::shared_ptr<journal>(const std::string&)> log{};
  bool catch_interrupt = true;  ///< Ctrl-C ends the run and returns the best so far (see interrupt_guard)
};

/// The outcome of tune_tasks(). It prints itself: the table, its totals, and what was odd.
struct tasks_result {
  std::vector<task_row> tasks;   ///< in the order of the call
  stop stopped = stop::running;  ///< trials, seconds: the shared budget; exhausted: every task is done; target: by the
                                 ///< objective nothing is worth another trial; interrupted, observer
  double seconds = 0;            ///< of tuning, without the contests
  std::string scheduler;
  std::uint64_t seed = 0;
  std::vector<std::string> notes;  ///< what was odd, with the task's name
  std::vector<std::any> results;   ///< of each task: a result<Config>, see of()

  [[nodiscard]] std::size_t trials() const noexcept { return detail::sum(tasks, &task_row::trials); }
  [[nodiscard]] std::size_t replayed() const noexcept { return detail::sum(tasks, &task_row::replayed); }
  [[nodiscard]] std::size_t failed() const noexcept { return detail::sum(tasks, &task_row::failed); }
  /// Of the tasks that have a valid result.
  [[nodiscard]] double weighted_seconds() const noexcept { return detail::weighted_seconds(tasks); }
  /// Names of the tasks that have none.
  [[nodiscard]] std::vector<std::string> without_result() const {
    std::vector<std::string> out;
    for (const auto& t : tasks)
      if (!t.valid()) out.push_back(t.name);
    return out;
  }

  /// All that is known of the i-th task, whose configurations are of this type.
  /// @throws std::out_of_range, std::bad_any_cast  there is no such task; it has another type
  template <class Config>
  [[nodiscard]] const result<Config>& of(std::size_t i) const {
    return std::any_cast<const result<Config>&>(results.at(i));
  }

  friend std::ostream& operator<<(std::ostream& out, const tasks_result& r) { return out << r.text(); }
  /// What operator<< prints.
  [[nodiscard, gnu::cold]] std::string text() const;
};

inline std::string tasks_result::text() const {
  std::string s = to_string(std::span<const task_row>(tasks)) + detail::totals(tasks, std::nullopt);
  detail::append(s, {"Elapsed: ", show_clock(seconds), ", stopped by ", to_string(stopped), ", scheduler ", scheduler,
                     ", seed ", seed});
  for (const auto& n : notes) detail::append(s, {"\nnote: ", n});
  return s;
}

namespace detail {

/// A strategy that, when all of its first trials are invalid, alternates with uniform draws until one is valid: local
/// searches that begin where nothing runs would stay there, and some would end.
class until_valid {
 public:
  until_valid(any_strategy of, std::size_t patience) : of_(std::move(of)), patience_(patience) {}

  [[nodiscard]] std::vector<point> ask(const lattice& space, rng& random, std::size_t n) {
    const bool lost = !valid_ && invalid_ >= patience_;
    explores_ = lost && !explores_;
    std::vector<point> out;
    if (!explores_) out = of_.ask(space, random, n);
    if (lost && out.empty())
      while (out.size() < n) {
        auto p = memory_.fresh(space, random);
        if (!p) break;
        out.push_back(std::move(*p));
      }
    return out;
  }
  void tell(const lattice& space, std::span<const trial> done) {
    for (const auto& t : done) {
      valid_ = valid_ || t.result.valid();
      if (valid_ || memory_.told(t.at)) continue;
      memory_.tell(t);
      ++invalid_;
    }
    of_.tell(space, done);
  }
  [[nodiscard]] std::optional<double> gap() const { return of_.gap(); }

 private:
  any_strategy of_;
  std::size_t patience_;
  history memory_;
  std::size_t invalid_ = 0;  ///< points, counted while none is valid
  bool valid_ = false;
  bool explores_ = false;  ///< in the last batch
};

/// A task during one call of tune_tasks().
class open_task {
 public:
  open_task() = default;
  open_task(const open_task&) = delete;
  open_task& operator=(const open_task&) = delete;
  virtual ~open_task() = default;
  /// Searches until it has so many trials or has taken so many seconds, in all.
  virtual void turn(std::size_t trials, double seconds) = 0;
  /// Has the strategy asked for the next batch, at most so many, and the measurer build it, if it can do so while others
  /// are timed.
  virtual void prepare(std::size_t most) = 0;
  [[nodiscard]] virtual const progress& state() const = 0;
  [[nodiscard]] virtual stop why() const = 0;
  [[nodiscard]] virtual std::optional<double> gap() const = 0;
  [[nodiscard]] virtual const std::vector<trial>& history() const = 0;
  /// The best configuration: a Config, or nothing while there is none.
  [[nodiscard]] virtual std::any best() const = 0;
  /// Has the point nearest to another task's configuration measured next. False if it is known, or of another type.
  virtual bool suggest(const std::any& configuration) = 0;
  /// Holds the final contest, if there is to be one. Adds what is odd to the notes; returns the result<Config>.
  [[nodiscard]] virtual std::any finish(task_row& row, std::vector<std::string>& notes) = 0;
};

template <class Config, class M>
class open_session final : public open_task {
 public:
  open_session(const space<Config>& of, M& measurer, any_strategy strategy, options<Config> choices)
      : measurer_(measurer), s_(of, std::move(strategy), std::move(choices)) {
    s_.end_turn();
  }
  void turn(std::size_t trials, double seconds) override {
    s_.begin_turn(trials, seconds);
    search(s_, measurer_, s_.choices().batch);
    s_.end_turn();
  }
  void prepare(std::size_t most) override {
    const auto batch = s_.ask_ahead(std::min(most, s_.choices().batch));
    if constexpr (PreparingMeasurer<M, Config>)
      if (!batch.empty()) measurer_.prepare(std::span<const Config>(batch));
  }
  [[nodiscard]] const progress& state() const override { return s_.state(); }
  [[nodiscard]] stop why() const override { return s_.why(); }
  [[nodiscard]] std::optional<double> gap() const override { return s_.gap(); }
  [[nodiscard]] const std::vector<trial>& history() const override { return s_.history(); }
  [[nodiscard]] std::any best() const override {
    const auto top = s_.best(1, 1);
    return top.empty() ? std::any() : std::any(s_.searched().at(top.front().at));
  }
  bool suggest(const std::any& configuration) override {
    const auto* const c = std::any_cast<Config>(&configuration);
    return c != nullptr && s_.suggest({s_.searched().nearest(*c)}) > 0;
  }
  [[nodiscard]] std::any finish(task_row& row, std::vector<std::string>& notes) override {
    auto r = s_.finish();
    if (s_.choices().rounds > 0 && r.best && !interrupt_guard::interrupted()) hold_contest(s_, measurer_, r);
    row.seconds = r.median_seconds;
    row.best = r.best ? to_string(r.best_values) : "";
    r.notes = std::vector<std::string>(s_.notes());
    for (const auto& n : r.notes) notes.push_back(concat({row.name, ": ", n}));
    return std::any(std::move(r));
  }

 private:
  M& measurer_;
  session<Config> s_;
};

/// Offers a task the best configurations of up to `most` others of its group that have one.
[[gnu::cold]] inline void transfer(std::size_t to, std::span<const task_state> states,
                                   std::span<const std::unique_ptr<open_task>> open, std::size_t most) {
  if (states[to].group == task_state::no_group) return;
  std::vector<std::size_t> from;
  std::vector<double> unlike;
  for (std::size_t i = 0; i < states.size(); ++i)
    if (i != to && states[i].group == states[to].group && states[i].history.valid()) {
      from.push_back(i);
      unlike.push_back(states[i].flop > 0 && states[to].flop > 0 ? std::abs(std::log(states[i].flop / states[to].flop))
                                                                 : std::numeric_limits<double>::infinity());
    }
  auto order = ascending(unlike);
  if (order.size() > most) order.resize(most);
  for (const auto i : order) open[to]->suggest(open[from[i]]->best());
}

/// The name's own stream, so that a task draws the same numbers whatever its neighbours are.
[[nodiscard]] inline std::uint64_t seed_of(std::string_view name, std::uint64_t seed) noexcept {
  return rng(checksum(name.data(), name.size()) ^ seed)();
}

template <class S>
concept StrategyFactory = std::invocable<S&> && SearchStrategy<std::invoke_result_t<S&>>;

}  // namespace detail

/// A kernel to be tuned with others: what it is, its space, how it is measured, how it is searched. Tasks of one call
/// may have different types of configurations. It may be moved, not copied.
class task {
 public:
  /// @param measurer  as for tune(): a callable Config -> seconds or measurement, or an object with measure(); kept here
  /// @param strategy  one that can be copied, or a callable without parameters that makes one; one that can only be
  ///                  moved serves a single call of tune_tasks()
  /// @param choices   of this task's run, as for tune(). Its budgets end the task, `seed` is mixed with that of the
  ///                  call, and `progress` is quiet unless it is asked for. Its `log` is its own: tasks_options::log has
  ///                  one for all
  /// @throws std::invalid_argument  the description or an option has no meaning
  template <class Config, class M, class S>
  task(task_description about, space<Config> of, M&& measurer, S&& strategy, options<Config> choices = {})
      : about_(std::move(about)) {
    using measurer_type = std::remove_cvref_t<M>;
    using strategy_type = std::remove_cvref_t<S>;
    constexpr bool measures = Measurer<measurer_type, Config> || RunAwareMeasurer<measurer_type, Config>;
    static_assert(
        measures || TimedFunction<measurer_type, Config>,
        "tileseek::task: pass a callable of const Config& that returns seconds or a measurement, or an object "
        "with measure(std::span<const Config>) -> std::vector<measurement>");
    static_assert(SearchStrategy<strategy_type> || detail::StrategyFactory<strategy_type>,
                  "tileseek::task: a strategy needs ask(const lattice&, rng&, std::size_t) -> std::vector<point> and "
                  "tell(const lattice&, std::span<const trial>) -> void; or pass a callable that makes one");
    check(choices);
    if constexpr (measures)
      held_ = std::make_unique<holder<Config, measurer_type>>(std::move(of), std::forward<M>(measurer),
                                                              maker(std::forward<S>(strategy)), std::move(choices));
    else
      held_ = std::make_unique<holder<Config, decltype(each<Config>(std::forward<M>(measurer)))>>(
          std::move(of), each<Config>(std::forward<M>(measurer)), maker(std::forward<S>(strategy)), std::move(choices));
  }

  [[nodiscard]] const task_description& about() const noexcept { return about_; }

 private:
  friend tasks_result tune_tasks(std::span<task> tasks, tasks_options choices, any_scheduler scheduler);

  using make_strategy = std::function<any_strategy()>;

  template <class S>
  [[nodiscard]] static make_strategy maker(S&& strategy) {
    using strategy_type = std::remove_cvref_t<S>;
    if constexpr (detail::StrategyFactory<strategy_type>) {
      return [make = std::forward<S>(strategy)]() mutable { return any_strategy(make()); };
    } else if constexpr (std::copy_constructible<strategy_type>) {
      return [held = strategy_type(std::forward<S>(strategy))] { return any_strategy(strategy_type(held)); };
    } else {
      auto held = std::make_shared<std::optional<strategy_type>>(std::forward<S>(strategy));
      return [held] {
        if (!*held)
          detail::fail<std::logic_error>(
              {"task: its strategy can only be moved, and an earlier call of tune_tasks() has "
               "it; pass a callable that makes one"});
        any_strategy out(std::move(**held));
        held->reset();
        return out;
      };
    }
  }

  struct base {
    base() = default;
    base(const base&) = delete;
    base& operator=(const base&) = delete;
    virtual ~base() = default;
    [[nodiscard]] virtual std::unique_ptr<detail::open_task> open(const task_description& about,
                                                                  const tasks_options& shared) = 0;
  };
  template <class Config, class M>
  struct holder final : base {
    template <class T>
    holder(space<Config> s, T&& m, make_strategy make, options<Config> o)
        : of(std::move(s)), measurer(std::forward<T>(m)), make_one(std::move(make)), choices(std::move(o)) {}

    [[nodiscard, gnu::cold]] std::unique_ptr<detail::open_task> open(const task_description& about,
                                                                     const tasks_options& shared) override {
      options<Config> o(choices);
      constexpr auto no_limit = std::numeric_limits<std::size_t>::max();
      o.trials = std::min(o.trials.value_or(no_limit), shared.trials_per_task.value_or(no_limit));
      if (shared.seconds_per_task)
        o.seconds = std::fmin(o.seconds.value_or(*shared.seconds_per_task), *shared.seconds_per_task);
      o.seed = detail::seed_of(about.name, o.seed + shared.seed);
      if (o.batch == 0) o.batch = detail::preferred_batch(measurer);
      for (auto& c : detail::conditions_of(measurer)) o.conditions.push_back(std::move(c));
      if (o.task.empty()) o.task = about.name;
      if (o.flop <= 0) o.flop = about.flop;
      if (o.progress == verbosity::automatic) o.progress = verbosity::quiet;
      o.catch_interrupt = shared.catch_interrupt;
      if (!o.log && shared.log) o.log = shared.log(about.name);
      auto strategy = make_one();
      if (shared.explore_after > 0) {
        std::string name = strategy.name();
        strategy = any_strategy(detail::until_valid(std::move(strategy), shared.explore_after), std::move(name));
      }
      return std::make_unique<detail::open_session<Config, M>>(of, measurer, std::move(strategy), std::move(o));
    }

    space<Config> of;
    M measurer;
    make_strategy make_one;
    options<Config> choices;
  };

  /// @throws std::invalid_argument
  template <class Config>
  void check(const options<Config>& choices) const {
    const auto demand = [this](bool holds, const char* what, double value, const char* remedy) {
      if (!holds)
        detail::fail<std::invalid_argument>({"task '", about_.name, "': ", what, " is ", value, "; ", remedy});
    };
    const auto positive = [](double x) { return x > 0 && std::isfinite(x); };
    if (about_.name.empty()) detail::fail<std::invalid_argument>({"task: no name; give one that no other task has"});
    demand(about_.flop >= 0 && std::isfinite(about_.flop), "flop", about_.flop, "give the operations of one run, or 0");
    demand(positive(about_.weight), "weight", about_.weight, "give a number above 0, or leave the task out");
    demand(positive(about_.untuned.value_or(1)), "untuned", about_.untuned.value_or(1), "give seconds above 0");
    demand(positive(about_.reachable.value_or(1)), "reachable", about_.reachable.value_or(1), "give seconds above 0");
    detail::check(choices);
  }

  task_description about_;
  std::unique_ptr<base> held_;
};

/// Tunes the tasks in turns under one budget: the scheduler chooses a task, which goes on with its search for a round.
/// Every task has one round first, shorter if the budget is small. Then, for tasks whose options say so, the final
/// contest between the best of each. The budget is never overshot, and every trial is counted once.
///
/// While a task's configurations are timed, the first batch of the one that is likely to be next is built, where the
/// measurer can do both at a time (see PreparingMeasurer).
///
/// With logs, a run that was killed makes the choices it would have made. All state belongs to the call: tasks and
/// scheduler may be used again.
///
/// @param scheduler  a copy of it serves the call; `potential` by default
/// @throws std::invalid_argument  no tasks, two of one name, or an option has no meaning
/// @throws std::logic_error       what session and any_scheduler throw
/// @throws std::runtime_error     a log is damaged or belongs to another space
[[nodiscard, gnu::cold]] inline tasks_result tune_tasks(std::span<task> tasks, tasks_options choices = {},
                                                        any_scheduler scheduler = potential{}) {
  if (tasks.empty()) detail::fail<std::invalid_argument>({"tune_tasks: no tasks"});
  for (const auto& limit : {choices.seconds, choices.seconds_per_task})
    if (limit && !(*limit > 0))
      detail::fail<std::invalid_argument>({"tune_tasks: a budget of ", *limit, " seconds; give more than 0"});
  for (std::size_t i = 0; i < tasks.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (tasks[i].about().name == tasks[j].about().name)
        detail::fail<std::invalid_argument>({"tune_tasks: two tasks are named '", tasks[i].about().name,
                                             "'; a task draws and is reported by its name"});
  if (!choices.trials && !choices.seconds && !choices.trials_per_task && !choices.seconds_per_task)
    choices.trials = 100 * tasks.size();

  const interrupt_guard guard(choices.catch_interrupt);
  rng random(choices.seed);
  tasks_result out;
  out.scheduler = scheduler.name();
  out.seed = choices.seed;
  std::vector<task_state> states;
  std::vector<std::unique_ptr<detail::open_task>> open;
  std::vector<std::string_view> tags;
  for (auto& t : tasks) {
    const auto& about = t.about();
    open.push_back(t.held_->open(about, choices));
    task_row row;
    row.name = about.name;
    row.flop = about.flop;
    row.weight = about.weight;
    row.seconds = open.back()->state().best;
    row.best = open.back()->state().best_configuration;
    out.tasks.push_back(std::move(row));
    task_state state;
    state.weight = about.weight;
    state.flop = about.flop;
    state.network = about.network;
    state.untuned = about.untuned;
    state.reachable = about.reachable;
    state.history = task_history(open.back()->state().best);
    if (!about.tag.empty()) {
      const auto known = std::find(tags.begin(), tags.end(), about.tag);
      state.group = static_cast<std::size_t>(known - tags.begin());
      if (known == tags.end()) tags.push_back(about.tag);
    }
    states.push_back(std::move(state));
  }

  const auto limit = choices.trials.value_or(std::numeric_limits<std::size_t>::max());
  const double second_limit = choices.seconds.value_or(std::numeric_limits<double>::infinity());
  std::size_t trials = 0;
  const auto show = [&](std::optional<std::size_t> turn) {
    tasks_progress now;
    now.tasks = out.tasks;
    now.turn = turn;
    now.trials = trials;
    now.trial_limit = choices.trials;
    now.seconds = out.seconds;
    now.second_limit = second_limit;
    if (!turn) now.stopped = out.stopped;
    bool asked_to_stop = false;
    for (const auto& watch : choices.observers) asked_to_stop = watch(now) || asked_to_stop;
    return asked_to_stop;
  };
  while (out.stopped == stop::running) {
    if (choices.catch_interrupt && interrupt_guard::interrupted()) {
      out.stopped = stop::interrupted;
      break;
    }
    if (trials >= limit || out.seconds >= second_limit) {
      out.stopped = trials >= limit ? stop::trials : stop::seconds;
      break;
    }
    const auto chosen = scheduler.next(states, random);
    if (!chosen) {
      const auto finished = [](const task_state& t) { return t.finished; };
      out.stopped = std::all_of(states.begin(), states.end(), finished) ? stop::exhausted : stop::target;
      break;
    }
    auto& state = states[*chosen];
    auto& row = out.tasks[*chosen];
    auto& running = *open[*chosen];

    std::size_t round = choices.round > 0 ? choices.round : scheduler.round(state);
    if (state.history.rounds() == 0) {  // so that a small budget reaches every task
      const auto untried = static_cast<std::size_t>(std::count_if(
          states.begin(), states.end(), [](const auto& t) { return !t.finished && t.history.rounds() == 0; }));
      round = std::min(round, std::max<std::size_t>(1, (limit - trials) / untried));
    }
    round = std::min(round, limit - trials);
    if (!state.history.valid() && choices.give_up_after > row.trials)
      round = std::min(round, choices.give_up_after - row.trials);

    if (choices.transfer > 0) detail::transfer(*chosen, states, open, choices.transfer);
    if (limit - trials > round) {
      // Who is next if this task is not? Its batch can be built while this one's is timed. It is asked for whether or not
      // somebody builds it, so that the choices are the same.
      state.finished = true;
      const auto next = scheduler.peek(states, random);
      state.finished = false;
      if (next && *next < states.size() && !states[*next].finished)
        open[*next]->prepare(choices.round > 0 ? choices.round : scheduler.round(states[*next]));
    }
    const progress counted = running.state();
    const double until = counted.seconds + (second_limit - out.seconds);
    running.turn(counted.trials + round, until);

    const progress& now = running.state();
    if (now.seconds >= until) out.stopped = stop::seconds;  // perhaps in the middle of a batch: no turn may follow
    for (std::size_t i = counted.trials; i < now.trials; ++i) {
      const measurement& m = running.history()[i].result;
      if (m.outcome == status::rejected_early && state.history.valid())
        state.history.add(std::fmax(m.cost(), state.history.best()));  // slow, and no failure
      else
        state.history.add(m.valid() ? m.cost() : std::numeric_limits<double>::infinity());
    }
    state.history.end_round();
    trials += now.trials - counted.trials;
    out.seconds += now.seconds - counted.seconds;
    row.seconds = now.best;
    row.trials = now.trials;
    row.replayed = now.replayed;
    row.failed = now.failed;
    row.best = now.best_configuration;
    if (running.why() != stop::interrupted) row.stopped = running.why();
    if (!row.done() && !state.history.valid() && choices.give_up_after > 0 && row.trials >= choices.give_up_after) {
      row.stopped = stop::stalled;
      out.notes.push_back(
          detail::concat({row.name, ": given up after ", row.trials, " trials without a valid result"}));
    }
    state.gap = running.gap();
    state.finished = row.done();

    if (show(*chosen)) out.stopped = stop::observer;
  }

  std::size_t untried = 0;
  for (const auto& row : out.tasks) untried += row.trials == 0 && !row.done();
  if (untried > 0 && (out.stopped == stop::trials || out.stopped == stop::seconds))
    out.notes.push_back(
        detail::concat({"the budget ended before ", untried, " of ", tasks.size(), " tasks had a trial; give at least ",
                        tasks.size() * default_round, " trials"}));
  for (std::size_t i = 0; i < open.size(); ++i) out.results.push_back(open[i]->finish(out.tasks[i], out.notes));
  static_cast<void>(show(std::nullopt));
  return out;
}

}  // namespace tileseek
