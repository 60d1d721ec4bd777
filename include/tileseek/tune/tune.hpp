#pragma once
// tune(): a loop over a session's ask and tell, and the final contest.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tileseek/measure/contest.hpp>
#include <tileseek/measure/measurer.hpp>
#include <tileseek/tune/interrupt.hpp>
#include <tileseek/tune/session.hpp>

namespace tileseek {

namespace detail {

/// @throws std::logic_error  the measurer returned another number of results; one that takes part in the run may stop
/// early
[[gnu::cold]] inline void check_size(std::size_t results, std::size_t batch, bool may_stop) {
  if (results > batch || (results < batch && !may_stop))
    fail<std::logic_error>({"tileseek::tune: the measurer returned ", results, " measurements for a batch of ", batch});
}

/// To the end of the run, or of its turn.
template <class Config, class M>
[[gnu::cold]] void search(session<Config>& s, M& measurer, std::size_t batch_size) {
  measuring run;
  run.finished = [&s](std::size_t i, const measurement& m) { s.tell(i, m); };
  run.stop = [&s] { return s.should_stop(); };
  while (const auto batch = s.ask(batch_size)) {
    if (batch->empty()) return;
    run.limits = s.limits();
    auto results = measure_batch<Config>(measurer, *batch, run);
    check_size(results.size(), batch->size(), RunAwareMeasurer<M, Config>);
    for (std::size_t i = 0; i < results.size(); ++i)
      if (s.awaits(i)) s.tell(i, std::move(results[i]));
    for (std::size_t i = 0; i < batch->size(); ++i)
      if (s.awaits(i)) {
        if (!s.should_stop())
          fail<std::logic_error>({"tileseek::tune: the measurer left out configuration ", i, " of its batch"});
        return;
      }
  }
}

/// Measures the best again, interleaved with the untuned configuration and the rivals, and fills in who won.
template <class Config, class M>
[[gnu::cold]] void hold_contest(session<Config>& s, M& measurer, result<Config>& r) {
  const auto& choices = s.choices();
  const auto& searched = s.searched();
  const auto share = (r.trials + 19) / 20;  // 5 %
  std::vector<point> points;
  points.push_back(searched.nearest(searched.default_configuration()));
  for (auto& t : s.best(std::max(choices.finalists, share), choices.timing.reject_above))
    if (t.at != points.front()) points.push_back(std::move(t.at));
  std::vector<Config> configurations;
  journal_contest held{r.trials, choices.rounds, choices.final_seconds, {}};
  auto& contestants = held.contestants;
  contestants = std::vector<journal_contestant>(points.size() + choices.rivals.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    configurations.push_back(searched.at(points[i]));
    contestants[i].configuration = searched.named_values_of(configurations[i]);
  }
  contestants.front().name = "default";
  for (std::size_t i = 0; i < choices.rivals.size(); ++i) contestants[points.size() + i].name = choices.rivals[i].name;

  const auto interrupted = [&choices] { return choices.catch_interrupt && interrupt_guard::interrupted(); };
  contest_record record;
  if (const auto* recorded = s.recorded(contestants)) {
    record.seconds = std::vector<std::vector<double>>(contestants.size());
    for (std::size_t i = 0; i < contestants.size(); ++i) record.seconds[i] = recorded->contestants[i].seconds;
  } else {
    measuring run;
    run.limits = choices.timing;
    run.limits.min_samples = run.limits.max_samples = 1;  // a round is a sample
    run.limits.incumbent = std::numeric_limits<double>::infinity();
    run.stop = interrupted;
    const auto began = std::chrono::steady_clock::now();
    rng random(choices.seed ^ 0x66696e616c73ULL);
    record = contest(
        contestants.size(), choices.rounds, random,
        [&](std::size_t i) -> measurement {
          if (interrupted()) return failure(status::run_failed, "interrupted");
          if (i >= points.size()) return guarded([&] { return choices.rivals[i - points.size()].measure(run.limits); });
          measurement got = failure(status::run_failed, "not measured");
          run.finished = [&got](std::size_t, const measurement& m) { got = m; };
          auto returned = measure_batch<Config>(measurer, std::span<const Config>(&configurations[i], 1), run);
          check_size(returned.size(), 1, RunAwareMeasurer<M, Config>);
          return checked(returned.empty() ? std::move(got) : std::move(returned.front()));
        },
        [&](std::size_t rounds) {
          return !interrupted() &&
                 (rounds < 6 || std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count() <
                                    choices.final_seconds);
        });
    if (interrupted()) {
      s.note("the final contest was interrupted; the best is that of the search");
      return;
    }
    for (std::size_t i = 0; i < contestants.size(); ++i) contestants[i].seconds = record.seconds[i];
    s.record(held);
  }

  std::vector<double> medians;
  for (std::size_t i = 0; i < contestants.size(); ++i) medians.push_back(record.median_of(i));
  const auto ranking = ascending(std::span(medians).first(points.size()));
  const auto winner = ranking.front();
  if (!std::isfinite(medians[winner])) {
    s.note("every finalist failed when it was measured again");
    return;
  }
  const auto against = [&](std::size_t i, std::string name) {
    return compared{std::move(name), medians[i], record.compare(winner, i)};
  };
  r.best = configurations[winner];
  r.best_point = points[winner];
  r.best_values = searched.named_values_of(configurations[winner]);
  r.median_seconds = medians[winner];
  r.rounds = record.seconds[winner].size();
  std::vector<double> valid;
  for (const double seconds : record.seconds[winner])
    if (std::isfinite(seconds)) valid.push_back(seconds);
  if (valid.size() < r.rounds)
    s.note(
        concat({"the winner failed in ", r.rounds - valid.size(), " of ", r.rounds, " rounds of the final contest"}));
  const auto middle = median_interval(valid);
  r.seconds_interval = middle.range;
  r.interval_coverage = middle.coverage;
  r.untuned = configurations.front();
  r.untuned_values = searched.named_values_of(configurations.front());
  r.untuned_compared = against(0, "default");
  std::size_t alike = 0;  // of the next two, those that might be as fast
  double farthest = 1;    // and how far apart the interval lets them be
  std::size_t seen = 0;
  for (const auto next : ranking) {
    if (next == winner || next == 0) continue;
    auto c = against(next, to_string(contestants[next].configuration));
    if (c.against.says == verdict::cannot_tell && std::isfinite(c.seconds)) {
      ++alike;
      farthest = std::fmax(farthest, std::fmax(c.against.range.high, 1 / c.against.range.low));
    }
    if (seen == 0) r.runner_up = std::move(c);
    if (++seen == 2) break;
  }
  if (alike > 0)
    s.note(concat({alike == 2 ? "the best three" : "the winner and another of the best three",
                   " can't be told apart in ", r.rounds, " rounds: they may differ by up to ",
                   fixed(100 * (farthest - 1), 1), " %; take any of them, or raise .rounds to ", 4 * r.rounds,
                   " to halve that, on a machine that does nothing else"}));
  for (std::size_t i = points.size(); i < contestants.size(); ++i) r.rivals.push_back(against(i, contestants[i].name));
}

/// tune() with a measurer.
template <class Config, class M>
[[nodiscard]] result<Config> run(const space<Config>& of, M& measurer, options<Config>& choices,
                                 any_strategy strategy) {
  const interrupt_guard guard(choices.catch_interrupt);
  if (choices.batch == 0) choices.batch = preferred_batch(measurer);
  for (auto& c : conditions_of(measurer)) choices.conditions.push_back(std::move(c));
  const std::size_t batch = choices.batch;
  session<Config> s(of, std::move(strategy), std::move(choices));
  search(s, measurer, batch);
  auto r = s.finish();
  if (s.choices().rounds > 0 && r.best && s.why() != stop::interrupted) {
    hold_contest(s, measurer, r);
    r.notes = std::vector<std::string>(s.notes());
  }
  return r;
}

}  // namespace detail

/// Searches the space with the strategy, measuring with the measurer, until the budget is spent, then measures the best
/// again in an interleaved contest with the untuned configuration and the rivals. Ctrl-C ends it with the best so far.
///
/// @param measurer  a callable Config -> seconds or -> measurement (with the limits as a second parameter if it likes),
/// or
///                  an object with measure(std::span<const Config>) -> std::vector<measurement>
/// @throws std::runtime_error  the log is damaged or belongs to another space
template <class Config, class M, class S>
[[nodiscard]] result<Config> tune(const space<Config>& of, M&& measurer, options<Config> choices, S&& strategy) {
  using measurer_type = std::remove_reference_t<M>;
  static_assert(SearchStrategy<std::remove_cvref_t<S>>,
                "tileseek::tune: a strategy needs ask(const lattice&, rng&, std::size_t) -> std::vector<point> and "
                "tell(const lattice&, std::span<const trial>) -> void");
  constexpr bool measures = Measurer<measurer_type, Config> || RunAwareMeasurer<measurer_type, Config>;
  static_assert(
      measures || TimedFunction<measurer_type, Config>,
      "tileseek::tune: pass a callable of const Config& that returns seconds or a measurement, or an object with "
      "measure(std::span<const Config>) -> std::vector<measurement>");
  if constexpr (!SearchStrategy<std::remove_cvref_t<S>>) {
    return {};  // said above; no flood of errors from below
  } else if constexpr (measures) {
    return detail::run(of, measurer, choices, any_strategy(std::forward<S>(strategy)));
  } else if constexpr (TimedFunction<measurer_type, Config>) {
    auto lifted = each<Config>(std::ref(measurer));
    return detail::run(of, lifted, choices, any_strategy(std::forward<S>(strategy)));
  } else {
    return {};
  }
}

}  // namespace tileseek
