#pragma once
// One run: a strategy's asks, the memory of what was measured, the log, the budget. It measures nothing itself, so that a
// program may keep its own loop:
//
//   tileseek::session s(space, tileseek::droplet{}, {.trials = 200});
//   while (auto batch = s.ask(16)) s.tell(my_cluster(*batch));
//   std::cout << s.finish() << '\n';

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <deque>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tileseek/search/any_strategy.hpp>
#include <tileseek/space/space.hpp>
#include <tileseek/tune/interrupt.hpp>
#include <tileseek/tune/options.hpp>
#include <tileseek/tune/result.hpp>
#include <tileseek/version.hpp>

namespace tileseek {

namespace detail {
/// The compiler that built the caller, for the log.
[[nodiscard]] constexpr std::string_view compiler() noexcept {
#if defined(__clang__)
  return "clang " __clang_version__;
#elif defined(__GNUC__)
  return "g++ " __VERSION__;
#else
  return "unknown";
#endif
}
}  // namespace detail

/// The state of a run. Movable. Not safe to use from several threads at once.
///
/// The log is the saved state: a session replays it through the same ask and tell, so that a strategy needs no serialiser.
/// Points found in the log are answered from it; when the strategy asks a point that the log does not hold while the log
/// still holds others, the run says so and tells the rest as a warm start.
template <class Config>
class session {
 public:
  /// @throws std::runtime_error  the log is damaged, belongs to another space, or cannot be written
  session(const space<Config>& of, any_strategy strategy, options<Config> choices = {})
      : space_(of), strategy_(std::move(strategy)), options_(std::move(choices)), random_(options_.seed) {
    budget_ = options_.until;
    if (options_.trials) budget_ = max_trials(*options_.trials) || budget_;
    if (options_.seconds) budget_ = max_seconds(*options_.seconds) || budget_;
    state_.space_size = space_.approximate_size();
    if (!budget_.limited()) budget_ = max_trials(100);
    state_.flop = options_.flop;
    const double limit = budget_.trial_limit(state_);
    state_.trial_limit = std::isfinite(limit) ? static_cast<std::size_t>(limit) : 0;
    state_.second_limit = budget_.second_limit();
    options_.observers.insert(options_.observers.begin(), progress_line(options_.progress));
    for (const auto& c : options_.start) {
      if (const auto p = space_.locate(c))
        queue_.push_back(*p);
      else
        note("start configuration " + space_.describe(c) + " is not in the space; it is left out");
    }
    for (const auto& [c, m] : options_.warm_start) {
      if (const auto p = space_.locate(c))
        know({*p, m});
      else
        note("warm-start configuration " + space_.describe(c) + " is not in the space; it is left out");
    }
    if (options_.log) open_log();
    if (!known_.empty()) strategy_.tell(lattice(), known_);
    began_ = clock::now();
  }

  /// The next configurations to measure, at most n; nothing when the run is over (`state()` and `why()` tell the rest).
  /// @pre n > 0, and the whole last batch was told
  /// @throws std::logic_error  results are missing
  [[nodiscard]] std::optional<std::vector<Config>> ask(std::size_t n) {
    if (open_ > 0)
      throw std::logic_error("session: ask() while " + std::to_string(open_) + " results of the last batch have not been told");
    if (n == 0) throw std::invalid_argument("session: ask(0); ask for at least one configuration");
    for (std::size_t idle = 0; stopped_ == stop::running; ++idle) {
      if (check_budget()) break;
      // A strategy that asks known points only is answered from memory, but not for ever.
      if (idle >= 1000) {
        stopped_ = stop::stalled;
        note("the strategy asked known configurations 1000 times in a row");
        break;
      }
      const double left = budget_.trial_limit(state_) - static_cast<double>(state_.trials);
      auto points = next(left < static_cast<double>(n) ? static_cast<std::size_t>(left) : n);
      if (points.empty()) {
        stopped_ = stop::exhausted;
        break;
      }
      const auto trials_before = state_.trials;
      open_batch(std::move(points));
      if (open_ == 0) {
        if (state_.trials != trials_before) idle = 0;
        close_batch();
        continue;
      }
      if (!replay_.empty()) diverge();
      if (check_budget()) {  // the clock may have run out in the earlier run, in the middle of this batch
        open_ = 0;
        break;
      }
      std::vector<Config> out;
      for (const auto i : asked_) out.push_back(space_.at(batch_[i].at));
      return out;
    }
    return std::nullopt;
  }

  /// The result of the i-th configuration that the last ask() returned, as soon as it is there, in any order. It is in the
  /// log when this returns. When the batch is complete, the strategy is told in the order of the ask.
  /// @throws std::logic_error  there is no such configuration, or it was told before
  void tell(std::size_t i, measurement m) {
    if (i >= asked_.size() || batch_[asked_[i]].answered)
      throw std::logic_error("session: tell(" + std::to_string(i) + ") of a configuration that is not awaited");
    auto& e = batch_[asked_[i]];
    e.answered = true;
    e.result = std::move(m);
    if (options_.log) options_.log->append(journal_trial{named(e.at), e.result, elapsed()});
    state_.seconds = elapsed();
    count(e.at, e.result);
    ++measured_;
    --open_;
    if (open_ == 0) close_batch();
  }

  /// The results of the whole batch, in its order.
  /// @throws std::invalid_argument  not one result for each configuration
  void tell(std::span<const measurement> results) {
    if (results.size() != asked_.size())
      throw std::invalid_argument("session: " + std::to_string(results.size()) + " results for a batch of " +
                                  std::to_string(asked_.size()));
    for (std::size_t i = 0; i < results.size(); ++i) tell(i, results[i]);
  }
  void tell(const std::vector<measurement>& results) { tell(std::span<const measurement>(results)); }

  /// Whether the result of the i-th configuration of the last batch is still missing.
  [[nodiscard]] bool awaits(std::size_t i) const noexcept { return i < asked_.size() && !batch_[asked_[i]].answered; }

  /// Whether measuring should stop in the middle of a batch: the clock, Ctrl-C.
  [[nodiscard]] bool should_stop() {
    if (stopped_ != stop::running) return true;
    state_.seconds = elapsed();
    if (options_.catch_interrupt && interrupt_guard::interrupted()) stopped_ = stop::interrupted;
    if (const auto why = budget_.spent(state_); why == stop::seconds) stopped_ = *why;
    return stopped_ != stop::running;
  }

  /// What a measurer should know: the limits with the incumbent.
  [[nodiscard]] timing_limits limits() const {
    timing_limits l = options_.timing;
    l.incumbent = std::min(l.incumbent, state_.best);
    return l;
  }

  [[nodiscard]] const progress& state() const noexcept { return state_; }
  [[nodiscard]] stop why() const noexcept { return stopped_; }
  [[nodiscard]] const space<Config>& searched() const noexcept { return space_; }
  [[nodiscard]] const options<Config>& choices() const noexcept { return options_; }
  /// All trials so far, in the order they were finished; the warm start is not among them.
  [[nodiscard]] const std::vector<trial>& history() const noexcept { return history_; }

  /// The k best valid configurations known, warm start included, best first; those over `within` times the best left out.
  [[nodiscard]] std::vector<trial> best(std::size_t k, double within) const {
    std::vector<trial> valid;
    for (const auto* list : {&history_, &known_})
      for (const auto& t : *list)
        if (t.result.valid() && std::isfinite(t.result.cost()) && t.result.cost() <= within * state_.best) valid.push_back(t);
    std::stable_sort(valid.begin(), valid.end(), [](const trial& a, const trial& b) { return a.result.cost() < b.result.cost(); });
    if (valid.size() > k) valid.erase(valid.begin() + static_cast<std::ptrdiff_t>(k), valid.end());
    return valid;
  }

  /// The contest that the log holds for this number of trials, with contestants of these names and configurations.
  [[nodiscard]] std::optional<journal_contest> recorded(const std::vector<journal_contestant>& wanted) const {
    for (auto c = contests_.rbegin(); c != contests_.rend(); ++c) {
      const bool same = c->trials == state_.trials && c->contestants.size() == wanted.size() &&
                        std::equal(wanted.begin(), wanted.end(), c->contestants.begin(), [](const auto& a, const auto& b) {
                          return a.name == b.name && a.configuration == b.configuration;
                        });
      if (same) return *c;
    }
    return std::nullopt;
  }
  void record(const journal_contest& c) {
    if (options_.log) options_.log->append(c);
  }

  [[nodiscard]] const std::vector<std::string>& notes() const noexcept { return notes_; }
  /// Says something to the observers, and in the result.
  void note(std::string text) {
    for (const auto& o : options_.observers) o.on_note(text);
    notes_.push_back(std::move(text));
  }

  /// Ends the run, if it has not ended, and tells what it found, as measured during the search. tune() adds the contest.
  [[nodiscard]] result<Config> finish() {
    if (!finished_) {
      finished_ = true;
      if (options_.log && measured_ > 0) options_.log->finish(stopped_, elapsed());
      if (measured_ == 0 && state_.replayed > 0)
        note("nothing was measured: all " + std::to_string(state_.replayed) + " trials are from the log '" + options_.log->name() + "'");
      for (const auto& o : options_.observers) o.on_finish(state_, stopped_);
    }
    result<Config> r;
    if (const auto top = best(1, 1); !top.empty()) {
      r.best = space_.at(top.front().at);
      r.best_point = top.front().at;
      r.best_values = space_.named_values_of(*r.best);
      r.median_seconds = top.front().result.cost();
      const auto [range, coverage] = median_interval(top.front().result.seconds);
      r.seconds_interval = range;
      r.interval_coverage = coverage;
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
    if (options_.log) r.log = options_.log->name();
    r.history = history_;
    r.notes = notes_;
    return r;
  }

 private:
  using clock = std::chrono::steady_clock;
  struct entry {
    point at;
    bool answered = false;
    measurement result;
  };

  [[nodiscard]] const tileseek::lattice& lattice() const { return space_.lattice(); }
  [[nodiscard]] named_values named(const point& p) const { return space_.named_values_of(space_.at(p)); }

  /// Seconds of tuning so far: while the log is replayed, as it was then; afterwards, the earlier runs' time and the clock's.
  [[nodiscard]] double elapsed() const {
    if (!replay_.empty()) return state_.seconds;
    return logged_seconds_ + std::chrono::duration<double>(clock::now() - began_).count();
  }

  [[nodiscard]] bool check_budget() {
    state_.seconds = elapsed();
    if (options_.catch_interrupt && interrupt_guard::interrupted()) stopped_ = stop::interrupted;
    if (stopped_ == stop::running)
      if (const auto why = budget_.spent(state_)) stopped_ = *why;
    return stopped_ != stop::running;
  }

  /// Points from the queue of start configurations, then from the strategy.
  [[nodiscard]] std::vector<point> next(std::size_t n) {
    std::vector<point> points;
    for (; !queue_.empty() && points.size() < n; queue_.pop_front()) points.push_back(std::move(queue_.front()));
    if (points.empty()) points = strategy_.ask(lattice(), random_, n);
    return points;
  }

  void open_batch(std::vector<point> points) {
    batch_.clear();
    asked_.clear();
    for (auto& p : points) {
      entry e{std::move(p), false, {}};
      if (const auto known = memo_.find(e.at); known != memo_.end()) {
        e.answered = true;
        e.result = known->second;
      } else if (const auto logged = replay_.find(e.at); logged != replay_.end()) {
        e.answered = true;
        e.result = std::move(logged->second.result);
        state_.seconds = logged->second.elapsed;
        replay_.erase(logged);
        if (replay_.empty()) began_ = clock::now();
        ++state_.replayed;
        count(e.at, e.result);
      } else if (std::any_of(batch_.begin(), batch_.end(), [&](const entry& other) { return other.at == e.at; })) {
        continue;  // asked twice in one batch: one answer serves both
      } else {
        asked_.push_back(batch_.size());
      }
      batch_.push_back(std::move(e));
    }
    open_ = asked_.size();
  }

  void close_batch() {
    std::vector<trial> done;
    for (auto& e : batch_) done.push_back({std::move(e.at), std::move(e.result)});
    const bool measured_some = !asked_.empty();
    batch_.clear();
    asked_.clear();
    strategy_.tell(lattice(), done);
    if (!measured_some) return;  // replayed: nobody needs to see the past again
    for (const auto& o : options_.observers)
      if (o.on_batch(state_) && stopped_ == stop::running) stopped_ = stop::observer;
  }

  /// A trial is finished: counts it once.
  void count(const point& p, const measurement& m) {
    memo_.emplace(p, m);
    history_.push_back({p, m});
    ++state_.trials;
    if (m.outcome != status::ok && m.outcome != status::rejected_early) ++state_.failed;
    improve(p, m);
    if (options_.observers.size() > 1) {  // the first is the progress line, which does not look at single trials
      const auto values = named(p);
      for (const auto& o : options_.observers) o.on_trial(values, m);
    }
  }

  void improve(const point& p, const measurement& m) {
    if (!m.valid() || !(m.cost() < state_.best)) return;
    state_.best = m.cost();
    state_.last_improvement = state_.trials;
    state_.best_configuration = to_string(named(p));
  }

  void know(trial t) {
    if (!memo_.emplace(t.at, t.result).second) return;
    improve(t.at, t.result);
    known_.push_back(std::move(t));
  }

  void open_log() {
    journal_head head;
    head.task = options_.task;
    head.fingerprint = lattice().fingerprint();
    head.parameters = space_.names();
    head.space_size = state_.space_size;
    head.strategy = strategy_.name();
    head.seed = options_.seed;
    head.batch = options_.batch;
    head.conditions = options_.conditions;
    head.conditions.emplace_back("compiler", value(detail::compiler()));
    auto content = options_.log->open(head);
    for (auto& n : content.notes) note(std::move(n));
    const auto told = known_.size();
    std::size_t lost = 0;
    for (auto& t : content.earlier) {
      if (const auto p = space_.locate_named(t.configuration))
        know({*p, std::move(t.result)});
      else
        ++lost;
    }
    for (auto& t : content.trials) {
      if (const auto p = space_.locate_named(t.configuration))
        replay_.emplace(*p, std::move(t));
      else
        ++lost;
    }
    if (lost > 0)
      note(std::to_string(lost) + " trials of the log '" + options_.log->name() + "' are not in the space; they are left out");
    if (known_.size() > told)
      note(std::to_string(known_.size() - told) + " results of other runs in the log '" + options_.log->name() +
           "' are told as a warm start");
    contests_ = std::move(content.contests);
    logged_seconds_ = content.elapsed;
  }

  /// The strategy asks what the log does not hold, and the log holds what it did not ask.
  void diverge() {
    note("the log '" + options_.log->name() + "' holds " + std::to_string(replay_.size()) +
         " trials that this run does not ask at this point (another compiler or library version?); they are told as a warm start");
    std::vector<trial> rest;
    for (auto& [p, t] : replay_) rest.push_back({p, std::move(t.result)});
    replay_.clear();
    began_ = clock::now();
    std::sort(rest.begin(), rest.end(), [](const trial& a, const trial& b) { return a.at < b.at; });
    for (const auto& t : rest) know(t);
    strategy_.tell(lattice(), rest);
  }

  space<Config> space_;
  any_strategy strategy_;
  options<Config> options_;
  budget budget_;
  rng random_;
  progress state_;
  stop stopped_ = stop::running;
  clock::time_point began_;
  double logged_seconds_ = 0;
  std::deque<point> queue_;
  std::unordered_map<point, measurement, point_hash> memo_;
  std::unordered_map<point, journal_trial, point_hash> replay_;
  std::vector<trial> known_;
  std::vector<trial> history_;
  std::vector<entry> batch_;        ///< the last ask of the strategy
  std::vector<std::size_t> asked_;  ///< places in the batch that the caller is to measure
  std::size_t open_ = 0;            ///< of them, not told yet
  std::size_t measured_ = 0;
  std::vector<journal_contest> contests_;
  std::vector<std::string> notes_;
  bool finished_ = false;
};

}  // namespace tileseek
