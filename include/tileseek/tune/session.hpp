#pragma once
// One run: a strategy's asks, the memory of what was measured, the log, the budget. It measures nothing itself, so that
// a program may keep its own loop:
//
//   tileseek::session s(space, tileseek::droplet{}, {.trials = 200});
//   while (auto batch = s.ask(16)) s.tell(my_cluster(*batch));
//   std::cout << s.finish() << '\n';

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <tileseek/core/format.hpp>
#include <tileseek/measure/contest.hpp>
#include <tileseek/measure/measurer.hpp>
#include <tileseek/record/journal.hpp>
#include <tileseek/report/progress.hpp>
#include <tileseek/search/any_strategy.hpp>
#include <tileseek/space/space.hpp>
#include <tileseek/tune/interrupt.hpp>
#include <tileseek/tune/options.hpp>
#include <tileseek/tune/result.hpp>
#include <tileseek/version.hpp>

namespace tileseek {

namespace detail {
/// The compiler that built the caller, for the log.
[[nodiscard]] constexpr const char* compiler() noexcept {
#if defined(__clang__)
  return "clang " __clang_version__;
#elif defined(__GNUC__)
  return "g++ " __VERSION__;
#else
  return "unknown";
#endif
}

/// What the flags made of the caller, as far as the compiler tells: "optimised, AVX-512, FMA".
[[nodiscard, gnu::cold]] inline std::string compiled_for() {
  std::string out =
#if defined(__OPTIMIZE__)
      "optimised";
#else
      "not optimised";
#endif
  for (const char* const has : {
#if defined(__AVX512F__)
         ", AVX-512",
#elif defined(__AVX2__)
           ", AVX2",
#elif defined(__AVX__)
           ", AVX",
#elif defined(__SSE2__)
           ", SSE2",
#elif defined(__ARM_FEATURE_SVE)
           ", SVE",
#elif defined(__ARM_NEON)
           ", NEON",
#endif
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
             ", FMA",
#endif
#if defined(__FAST_MATH__)
             ", fast math",
#endif
#if defined(__SANITIZE_ADDRESS__)
             ", address sanitizer",
#endif
             ""
       })
    out += has;
  return out;
}
}  // namespace detail

/// The state of a run. Movable. Not safe to use from several threads at once.
///
/// The log is the saved state: a session replays it through the same ask and tell, so that a strategy needs no
/// serialiser. Points found in the log are answered from it; when the strategy asks a point that the log does not hold
/// while the log still holds others, the run says so and tells the rest as a warm start.
///
/// With `options::crashed_after`, what is about to be measured is noted with the log, so that a configuration that takes
/// the run itself down is found out. A resumed run then hands out one by one what was being measured when a run died; what
/// was being measured alone at the last of so many deaths is taken as `crashed`. It is off by default, because a run that
/// is killed and started again and again must end like one that was not: a kill cannot be told from a crash. isolated()
/// needs none of this: it saves the run.
template <class Config>
class session {
 public:
  /// @throws std::invalid_argument  an option has no meaning
  /// @throws std::runtime_error     the log is damaged, belongs to another space, or cannot be written
  [[gnu::cold]] session(const space<Config>& of, any_strategy strategy, options<Config> choices = {})
      : space_(of), strategy_(std::move(strategy)), options_(std::move(choices)), random_(options_.seed) {
    detail::check(options_);
    budget_ = options_.until;
    if (options_.trials) budget_ = max_trials(*options_.trials) || budget_;
    if (options_.seconds) budget_ = max_seconds(*options_.seconds) || budget_;
    if (!budget_.limited()) budget_ = max_trials(100);
    state_.space_size = space_.approximate_size();
    state_.flop = options_.flop;
    if (const double limit = budget_.trial_limit(state_); limit < 1e18)
      state_.trial_limit = static_cast<std::size_t>(limit);
    state_.second_limit = budget_.second_limit();
    observers_.push_back(progress_line(options_.progress));
    for (const auto& o : options_.observers) observers_.push_back(observer(o));
    for (const auto& o : observers_) trials_are_seen_ = trials_are_seen_ || o.sees_trials();
    for (const auto& c : options_.start) {
      if (const auto p = space_.locate(c))
        queue_.push_back(point(*p));
      else
        leave_out("start", c);
    }
    for (const auto& [c, m] : options_.warm_start) {
      if (const auto p = space_.locate(c))
        know({*p, detail::checked(m)});
      else
        leave_out("warm-start", c);
    }
    if (options_.log) open_log();
    if (!known_.empty()) strategy_.tell(lattice(), known_);
    began_ = clock::now();
  }

  /// The next configurations to measure, at most n; nothing when the run is over (`state()` and `why()` tell the rest);
  /// none when its turn is over, see begin_turn().
  /// @pre n > 0, and the whole last batch was told
  /// @throws std::logic_error  results are missing, or the strategy asks what is not in the space
  [[nodiscard, gnu::cold]] std::optional<std::vector<Config>> ask(std::size_t n) {
    if (open_ > 0)
      detail::fail<std::logic_error>({"session: ask() while ", open_, " results of the last batch have not been told"});
    if (n == 0) detail::fail<std::invalid_argument>({"session: ask(0); ask for at least one configuration"});
    if (over()) waiting_.clear();
    if (!waiting_.empty()) {
      asked_.assign(1, waiting_.front());
      waiting_.erase(waiting_.begin());
      open_ = 1;
      return hand_out();
    }
    for (std::size_t idle = 0; !over(); ++idle) {
      // A strategy that asks known points only is answered from memory, but not for ever.
      if (idle >= 1000) {
        stopped_ = stop::stalled;
        note("the strategy asked known configurations 1000 times in a row");
        break;
      }
      const double trials = static_cast<double>(state_.trials);
      if (trials >= turn_trials_ || state_.seconds >= turn_seconds_) return std::vector<Config>{};
      const double left = std::fmin(budget_.trial_limit(state_), turn_trials_) - trials;
      const std::size_t most = left < static_cast<double>(n) ? static_cast<std::size_t>(left) : n;
      auto points = next(most);
      if (points.empty()) {
        stopped_ = stop::exhausted;
        break;
      }
      const auto trials_before = state_.trials;
      open_batch(std::move(points), most);
      if (open_ == 0) {
        if (state_.trials != trials_before) idle = 0;
        close_batch(state_.trials != trials_before);
        continue;
      }
      if (to_replay_ > 0) diverge();
      if (over()) {  // the clock may have run out in the earlier run, in the middle of this batch
        asked_.clear();
        open_ = 0;
        break;
      }
      if (!suspects_.empty()) try_suspects();
      if (open_ > 0) return hand_out();
    }
    return std::nullopt;
  }

  /// The result of the i-th configuration that the last ask() returned, as soon as it is there, in any order. It is in
  /// the log when this returns. When the batch is complete, the strategy is told in the order of the ask. A result that
  /// claims to be valid and has no finite seconds counts as `run_failed`.
  /// @throws std::logic_error    there is no such configuration, or it was told before
  /// @throws std::runtime_error  the log cannot be written
  [[gnu::cold]] void tell(std::size_t i, measurement m) {
    if (!awaits(i)) detail::fail<std::logic_error>({"session: tell(", i, ") of a configuration that is not awaited"});
    const std::size_t at = asked_[i];
    m = detail::checked(std::move(m));
    state_.seconds = elapsed();
    if (log_) log_->append(journal_trial{named(batch_[at].at), m, state_.seconds});
    if (!suspects_.empty()) std::erase_if(suspects_, [this, at](const suspect& s) { return s.at == batch_[at].at; });
    asked_[i] = told;
    batch_[at].result = m;
    count({batch_[at].at, std::move(m)});
    ++measured_;
    if (--open_ == 0 && waiting_.empty()) close_batch(true);
  }

  /// The results of the whole batch, in its order.
  /// @throws std::invalid_argument  not one result for each configuration
  [[gnu::cold]] void tell(std::span<const measurement> results) {
    if (results.size() != asked_.size())
      detail::fail<std::invalid_argument>({"session: ", results.size(), " results for a batch of ", asked_.size()});
    for (std::size_t i = 0; i < results.size(); ++i) tell(i, results[i]);
  }
  void tell(const std::vector<measurement>& results) { tell(std::span<const measurement>(results)); }

  /// Whether the result of the i-th configuration of the last batch is still missing.
  [[nodiscard]] bool awaits(std::size_t i) const noexcept { return i < asked_.size() && asked_[i] != told; }

  /// Whether measuring should stop in the middle of a batch: the budget is spent, or Ctrl-C.
  [[nodiscard]] bool should_stop() { return over() || state_.seconds >= turn_seconds_; }

  /// Has these measured next, before the strategy is asked again, in this order; points that are known or waiting are
  /// left out. Returns how many remain. A run that is to be resumed must suggest the same at the same place.
  std::size_t suggest(std::vector<point> points) {
    const auto waiting = [this](const point& p) {
      return std::find(queue_.begin() + static_cast<std::ptrdiff_t>(started_), queue_.end(), p) != queue_.end();
    };
    const std::size_t before = queue_.size();
    for (auto& p : points) {
      const auto number = seen_.find(p);
      // What the log holds and was not asked yet will be answered from it.
      const bool known = number != point_index::none && knowledge_[number].how != knowledge::logged;
      if (!known && !waiting(p)) queue_.push_back(std::move(p));
    }
    return queue_.size() - before;
  }

  /// Asks the strategy for its next batch, at most n, now, and keeps it for ask(): between two turns, so that it can be built
  /// while another run is timed. Suggestions still come first. Returns what of it will have to be measured. Nothing if
  /// there is such a batch already, or one is open.
  [[nodiscard]] std::vector<Config> ask_ahead(std::size_t n) {
    if (stopped_ != stop::running || open_ > 0 || !waiting_.empty() || !ahead_.empty()) return {};
    const double left = budget_.trial_limit(state_) - static_cast<double>(state_.trials);
    if (left < static_cast<double>(n)) n = static_cast<std::size_t>(left);
    if (n == 0) return {};
    const auto began = clock::now();
    ahead_ = next(n);
    if (paused_ && to_replay_ == 0) logged_seconds_ += std::chrono::duration<double>(clock::now() - began).count();
    std::vector<Config> out;
    for (const auto& p : ahead_)
      if (lattice().feasible(p) && seen_.find(p) == point_index::none) out.push_back(space_.at(p));
    return out;
  }

  /// For runs that share a machine: this one has it until it counts so many trials or so many seconds, in all. Then
  /// ask() returns an empty batch, also while the log is replayed, so that a resumed run has the turns of the first one.
  void begin_turn(std::size_t trials, double seconds) {
    turn_trials_ = static_cast<double>(trials);
    turn_seconds_ = seconds;
    if (std::exchange(paused_, false)) began_ = clock::now();
  }
  /// Stops the clock until the next turn: what others do with the machine is not this run's time.
  void end_turn() {
    if (!paused_ && to_replay_ == 0) logged_seconds_ = elapsed();
    paused_ = true;
  }

  /// What a measurer should know: the limits with the incumbent.
  [[nodiscard]] timing_limits limits() const {
    timing_limits l = options_.timing;
    l.incumbent = std::fmin(l.incumbent, state_.best);
    return l;
  }

  [[nodiscard]] const progress& state() const noexcept { return state_; }
  [[nodiscard]] stop why() const noexcept { return stopped_; }
  /// What the strategy thinks it may still save, if it has an opinion: see ForecastingStrategy.
  [[nodiscard]] std::optional<double> gap() const { return strategy_.gap(); }
  [[nodiscard]] const space<Config>& searched() const noexcept { return space_; }
  [[nodiscard]] const options<Config>& choices() const noexcept { return options_; }
  /// All trials so far, in the order they were finished; the warm start is not among them.
  [[nodiscard]] const std::vector<trial>& history() const noexcept { return history_; }

  /// The k best valid configurations known, warm start included, best first; those over `within` times the best left
  /// out.
  [[nodiscard, gnu::cold]] std::vector<trial> best(std::size_t k, double within) const {
    const auto trial_at = [this](std::size_t i) -> const trial& {
      return i < history_.size() ? history_[i] : known_[i - history_.size()];
    };
    std::vector<std::size_t> valid;
    std::vector<double> costs;
    for (std::size_t i = 0; i < history_.size() + known_.size(); ++i) {
      const measurement& m = trial_at(i).result;
      const double cost = m.valid() ? m.cost() : infinite;
      if (cost < infinite && cost <= within * state_.best) {
        valid.push_back(i);
        costs.push_back(cost);
      }
    }
    std::vector<trial> out;
    for (const auto i : detail::ascending(costs))
      if (out.size() < k) out.push_back(trial(trial_at(valid[i])));
    return out;
  }

  /// The contest that the log holds for this number of trials, with contestants of these names and configurations, if
  /// it had as many rounds or ended no earlier than this one would; otherwise null.
  [[nodiscard, gnu::cold]] const journal_contest* recorded(const std::vector<journal_contestant>& wanted) const {
    for (auto c = contests_.rbegin(); c != contests_.rend(); ++c) {
      bool same = c->trials == state_.trials && c->contestants.size() == wanted.size() && !wanted.empty();
      for (std::size_t i = 0; same && i < wanted.size(); ++i)
        same = c->contestants[i].name == wanted[i].name && c->contestants[i].configuration == wanted[i].configuration &&
               c->contestants[i].seconds.size() == c->contestants[0].seconds.size();
      if (same && (c->contestants[0].seconds.size() >= options_.rounds ||
                   (c->rounds >= options_.rounds && c->limit >= options_.final_seconds)))
        return &*c;
    }
    return nullptr;
  }
  void record(const journal_contest& c) {
    if (log_) log_->append(c);
  }

  [[nodiscard]] const std::vector<std::string>& notes() const noexcept { return notes_; }
  /// Says something to the observers, and in the result.
  [[gnu::cold]] void note(std::string text) {
    for (const auto& o : observers_) o.on_note(text);
    notes_.push_back(std::move(text));
  }

  /// Ends the run, if it has not ended, and tells what it found, as measured during the search. tune() adds the
  /// contest.
  [[nodiscard, gnu::cold]] result<Config> finish() {
    if (!finished_) {
      finished_ = true;
      if (log_ && measured_ > 0) log_->finish(stopped_, elapsed());
      if (!history_.empty() && !(state_.best < infinite))
        note(detail::concat({"no configuration was valid; the last one: ", to_string(history_.back().result.outcome),
                             history_.back().result.note.empty() ? "" : ", ", history_.back().result.note}));
      if (measured_ == 0 && state_.replayed > 0 && turn_trials_ == infinite)  // in turns, others may have measured
        note(detail::concat(
            {"nothing was measured: all ", state_.replayed, " trials are from the log '", log_->name(), "'"}));
      for (const auto& o : observers_) o.on_finish(state_, stopped_);
    }
    result<Config> r;
    if (const auto top = best(1, 1); !top.empty()) {
      r.best = space_.at(top.front().at);
      r.best_point = top.front().at;
      r.best_values = space_.named_values_of(*r.best);
      r.median_seconds = top.front().result.cost();
      const auto middle = median_interval(top.front().result.seconds);
      r.seconds_interval = middle.range;
      r.interval_coverage = middle.coverage;
    }
    r.trials = state_.trials;
    r.replayed = state_.replayed;
    r.measured = measured_;
    r.known = known_.size();
    for (const auto& t : history_) ++r.by_status[static_cast<std::size_t>(t.result.outcome)];
    r.stopped = stopped_;
    r.seconds = state_.seconds;
    r.space_size = state_.space_size;
    r.space_counted = space_.counted();
    r.flop = options_.flop;
    r.strategy = strategy_.name();
    r.seed = options_.seed;
    if (log_) r.log = log_->name();
    r.history = std::vector<trial>(history_);
    r.notes = std::vector<std::string>(notes_);
    return r;
  }

 private:
  [[gnu::cold]] void leave_out(const char* which, const Config& c) {
    note(detail::concat({which, " configuration ", space_.describe(c), " is left out: ", space_.why_not(c)}));
  }

  using clock = std::chrono::steady_clock;
  static constexpr double infinite = std::numeric_limits<double>::infinity();
  static constexpr std::size_t told = static_cast<std::size_t>(-1);

  /// A journal that is closed when nobody holds it here any more.
  class open_journal {
   public:
    explicit open_journal(std::shared_ptr<journal> of = {}) noexcept : of_(std::move(of)) {}
    open_journal(open_journal&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
    open_journal& operator=(open_journal&& other) noexcept {
      of_.swap(other.of_);
      return *this;
    }
    ~open_journal() {
      if (of_) of_->close();
    }
    [[nodiscard]] explicit operator bool() const noexcept { return of_ != nullptr; }
    [[nodiscard]] journal* operator->() const noexcept { return of_.get(); }

   private:
    std::shared_ptr<journal> of_;
  };

  /// A configuration that was being measured when a run died.
  struct suspect {
    point at;
    std::size_t deaths;
    bool guilty;  ///< nothing else was being measured at the last of them, and there were enough
  };

  /// What is known of a point.
  struct knowledge {
    enum {
      asked,
      counted,
      known,
      logged
    } how;              ///< in the open batch; a trial; told at the start; in the log, not asked yet
    std::size_t place;  ///< in batch_, history_, known_, logged_
  };

  [[nodiscard]] const tileseek::lattice& lattice() const { return space_.lattice(); }
  [[nodiscard]] named_values named(const point& p) const { return space_.named_values_of(space_.at(p)); }

  /// Seconds of tuning so far: while the log is replayed, as it was then; afterwards, the earlier runs' time and the
  /// clock's.
  [[nodiscard]] double elapsed() const {
    if (to_replay_ > 0) return state_.seconds;
    if (paused_) return logged_seconds_;
    return logged_seconds_ + std::chrono::duration<double>(clock::now() - began_).count();
  }

  /// Whether the run has ended or ends here.
  [[nodiscard, gnu::cold]] bool over() {
    if (stopped_ != stop::running) return true;
    state_.seconds = elapsed();
    if (options_.catch_interrupt && interrupt_guard::interrupted())
      stopped_ = stop::interrupted;
    else if (const auto why = budget_.spent(state_))
      stopped_ = *why;
    return stopped_ != stop::running;
  }

  /// Points from the queue of start configurations and suggestions, then those asked ahead, then from the strategy.
  [[nodiscard]] std::vector<point> next(std::size_t n) {
    std::vector<point> points;
    while (started_ < queue_.size() && points.size() < n) points.push_back(point(queue_[started_++]));
    if (points.empty() && !ahead_.empty()) {
      const auto end = ahead_.begin() + static_cast<std::ptrdiff_t>(std::min(n, ahead_.size()));
      points.assign(std::make_move_iterator(ahead_.begin()), std::make_move_iterator(end));
      ahead_.erase(ahead_.begin(), end);
    }
    if (points.empty()) points = strategy_.ask(lattice(), random_, n);
    return points;
  }

  /// Answers what is known; what is left in asked_ is to be measured.
  [[gnu::cold]] void open_batch(std::vector<point> points, std::size_t most) {
    if (points.size() > most)
      detail::fail<std::logic_error>({"session: the strategy '", strategy_.name(), "' asked ", points.size(),
                                      " points when at most ", most, " were wanted"});
    batch_.clear();
    asked_.clear();
    std::vector<std::size_t> replayed;  // ascending: counted in the order they were finished
    for (auto& p : points) {
      if (!lattice().feasible(p))
        detail::fail<std::logic_error>(
            {"session: the strategy '", strategy_.name(), "' asked a point that is not in the space"});
      const auto [number, is_new] = learn(p, knowledge{knowledge::asked, batch_.size()});
      const auto [how, place] = knowledge_[number];
      if (is_new)
        asked_.push_back(batch_.size());
      else if (how == knowledge::asked)
        continue;  // twice in one batch: one answer serves both
      trial t{std::move(p), {}};
      if (how == knowledge::counted) t.result = history_[place].result;
      if (how == knowledge::known) t.result = known_[place].result;
      if (how == knowledge::logged) {
        t.result = logged_[place].result;
        detail::insert_once(replayed, place);
      }
      batch_.push_back(std::move(t));
    }
    open_ = asked_.size();
    for (const auto i : replayed) {
      state_.seconds = std::fmax(state_.seconds, logged_elapsed_[i]);
      ++state_.replayed;
      count(std::move(logged_[i]));
    }
    to_replay_ -= replayed.size();
    if (to_replay_ == 0 && !replayed.empty()) began_ = clock::now();
  }

  [[nodiscard, gnu::cold]] const suspect* suspect_at(const point& p) const {
    for (const auto& s : suspects_)
      if (s.at == p) return &s;
    return nullptr;
  }

  /// Tells what is known to kill the run. With other suspects in it, the batch is handed out one by one.
  [[gnu::cold]] void try_suspects() {
    const auto all = asked_;
    std::vector<std::size_t> rest;
    bool one_by_one = false;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const suspect* const s = suspect_at(batch_[all[i]].at);
      if (s != nullptr && s->guilty) {
        tell(i, failure(status::crashed, detail::concat({"the run died ", s->deaths, " times while measuring this"})));
      } else {
        rest.push_back(all[i]);
        one_by_one = one_by_one || s != nullptr;
      }
    }
    if (open_ == 0) return;
    asked_ = std::move(rest);
    if (!one_by_one) return;
    waiting_.assign(asked_.begin() + 1, asked_.end());
    asked_.resize(1);
    open_ = 1;
  }

  /// The configurations in asked_, noted before they run.
  [[nodiscard, gnu::cold]] std::vector<Config> hand_out() {
    std::vector<Config> out;
    for (const auto i : asked_) out.push_back(space_.at(batch_[i].at));
    if (!log_ || options_.crashed_after == 0) return out;
    std::vector<journal_attempt> attempts;
    auto others = suspects_;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const suspect* const s = suspect_at(batch_[asked_[i]].at);
      attempts.push_back({space_.named_values_of(out[i]), s == nullptr ? 0 : s->deaths, true});
      if (s != nullptr) std::erase_if(others, [s](const suspect& o) { return o.at == s->at; });
    }
    for (const auto& o : others) attempts.push_back({named(o.at), o.deaths, false});
    log_->attempt(attempts);
    return out;
  }

  [[gnu::cold]] void close_batch(bool news) {
    asked_.clear();
    strategy_.tell(lattice(), batch_);
    if (!news) return;
    for (const auto& o : observers_)
      if (o.on_batch(state_) && stopped_ == stop::running) stopped_ = stop::observer;
  }

  /// Knows this of the point, unless something is known of it; its number, and whether it is new.
  std::pair<std::size_t, bool> learn(const point& p, knowledge k) {
    const auto added = seen_.add(p);
    if (added.second) knowledge_.push_back(k);
    return added;
  }

  /// A trial is finished: counts it once.
  [[gnu::cold]] void count(trial t) {
    const knowledge now{knowledge::counted, history_.size()};
    knowledge_[learn(t.at, now).first] = now;
    ++state_.trials;
    if (t.result.outcome != status::ok && t.result.outcome != status::rejected_early) ++state_.failed;
    improve(t);
    if (trials_are_seen_) {
      const auto values = named(t.at);
      for (const auto& o : observers_) o.on_trial(values, t.result);
    }
    history_.push_back(std::move(t));
  }

  void improve(const trial& t) {
    if (!t.result.valid() || !(t.result.cost() < state_.best)) return;
    state_.best = t.result.cost();
    state_.last_improvement = state_.trials;
    state_.best_configuration = to_string(named(t.at));
  }

  /// A result that is told and not counted.
  [[gnu::cold]] void know(trial t) {
    const knowledge now{knowledge::known, known_.size()};
    const auto [number, is_new] = learn(t.at, now);
    if (!is_new && knowledge_[number].how != knowledge::logged) return;
    knowledge_[number] = now;
    improve(t);
    known_.push_back(std::move(t));
  }

  [[gnu::cold]] void open_log() {
    journal_head head;
    head.task = options_.task;
    head.fingerprint = lattice().fingerprint();
    head.parameters = space_.names();
    head.space_size = state_.space_size;
    head.strategy = strategy_.name();
    head.seed = options_.seed;
    head.batch = options_.batch;
    head.conditions = named_values(options_.conditions);
    const std::string compiler = "compiler";
    head.conditions.emplace_back(compiler, value(detail::compiler()));
    const std::string flags = "compiled_for";
    head.conditions.emplace_back(flags, value(detail::compiled_for()));
    // Closed with the session, so that the file is free for others even if somebody keeps the journal.
    log_ = open_journal(options_.log);
    auto content = log_->open(head);
    for (auto& n : content.notes) note(std::move(n));
    const auto told_before = known_.size();
    std::size_t lost = 0;
    for (auto* list : {&content.earlier, &content.trials})
      for (auto& t : *list) {
        const auto p = space_.locate_named(t.configuration);
        if (!p) {
          ++lost;
        } else if (list == &content.earlier) {
          know({*p, std::move(t.result)});
        } else if (learn(*p, knowledge{knowledge::logged, logged_.size()}).second) {
          logged_.push_back({*p, std::move(t.result)});
          logged_elapsed_.push_back(t.elapsed);
        }
      }
    to_replay_ = logged_.size();
    if (lost > 0)
      note(detail::concat({lost, " trials of the log '", log_->name(), "' are not in the space; they are left out"}));
    if (known_.size() > told_before)
      note(detail::concat({known_.size() - told_before, " results of other runs in the log '", log_->name(),
                           "' are told as a warm start"}));
    if (options_.crashed_after > 0) suspect_all(content.attempts);
    contests_ = std::move(content.contests);
    logged_seconds_ = content.elapsed;
  }

  [[gnu::cold]] void suspect_all(const std::vector<journal_attempt>& attempts) {
    std::size_t running = 0;
    for (const auto& a : attempts) {
      const auto p = space_.locate_named(a.configuration);
      if (!p || seen_.find(*p) != point_index::none) continue;  // it was finished
      if (a.running) ++running;
      suspects_.push_back({*p, a.deaths + (a.running ? 1 : 0), a.running});
    }
    for (auto& s : suspects_) s.guilty = s.guilty && running == 1 && s.deaths >= options_.crashed_after;
  }

  /// The strategy asks what the log does not hold, and the log holds what it did not ask.
  [[gnu::cold]] void diverge() {
    note(detail::concat(
        {"the log '", log_->name(), "' holds ", to_replay_,
         " trials that this run does not ask at this point (another compiler or library version?); they are "
         "told as a warm start"}));
    const auto told_before = known_.size();
    for (auto& t : logged_) {  // what was replayed is moved from
      const auto number = seen_.find(t.at);
      if (number != point_index::none && knowledge_[number].how == knowledge::logged) know(std::move(t));
    }
    to_replay_ = 0;
    began_ = clock::now();
    strategy_.tell(lattice(), std::span<const trial>(known_).subspan(told_before));
  }

  space<Config> space_;
  any_strategy strategy_;
  options<Config> options_;
  budget budget_;
  rng random_;
  progress state_;
  stop stopped_ = stop::running;
  bool finished_ = false;
  clock::time_point began_;
  double logged_seconds_ = 0;  ///< of tuning before `began_`
  bool paused_ = false;        ///< between two turns
  double turn_trials_ = infinite;
  double turn_seconds_ = infinite;
  std::vector<observer> observers_;  ///< the progress line, then the options'
  bool trials_are_seen_ = false;
  std::vector<point> queue_;  ///< start configurations and suggestions
  std::size_t started_ = 0;   ///< of them, asked
  std::vector<point> ahead_;  ///< asked, and not opened yet
  point_index seen_;
  std::vector<knowledge> knowledge_;    ///< of each of them
  std::vector<trial> logged_;           ///< the log's trials of this run
  std::vector<double> logged_elapsed_;  ///< seconds of tuning when each was written
  std::size_t to_replay_ = 0;           ///< of them, not asked yet
  std::vector<trial> known_;
  std::vector<trial> history_;
  std::vector<trial> batch_;          ///< the last ask of the strategy
  std::vector<std::size_t> asked_;    ///< places in the batch that the caller is to measure; `told` when it has
  std::size_t open_ = 0;              ///< of them, not told yet
  std::vector<std::size_t> waiting_;  ///< places in the batch that the caller is to measure after those
  std::vector<suspect> suspects_;
  std::size_t measured_ = 0;
  std::vector<journal_contest> contests_;
  std::vector<std::string> notes_;
  open_journal log_;
};

}  // namespace tileseek
