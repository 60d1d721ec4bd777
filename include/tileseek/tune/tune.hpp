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

/// The batch a measurer likes best: its batch_size() if it has one, else 1, which serves every search best.
template <class M>
[[nodiscard]] std::size_t preferred_batch(const M& m) {
  if constexpr (requires { { m.batch_size() } -> std::convertible_to<std::size_t>; })
    return std::max<std::size_t>(1, m.batch_size());
  else
    return 1;
}

template <class Config, class M>
[[nodiscard]] std::vector<measurement> measure_batch(M& measurer, std::span<const Config> batch, const measuring& run) {
  if constexpr (RunAwareMeasurer<M, Config>) {
    return measurer.measure(batch, run);
  } else {
    auto results = measurer.measure(batch);
    if (results.size() != batch.size())
      throw std::logic_error("tileseek::tune: the measurer returned " + std::to_string(results.size()) +
                             " measurements for a batch of " + std::to_string(batch.size()));
    return results;
  }
}

template <class Config, class M>
void search(session<Config>& s, M& measurer, std::size_t batch_size) {
  while (const auto batch = s.ask(batch_size)) {
    measuring run;
    run.limits = s.limits();
    run.finished = [&s](std::size_t i, const measurement& m) { s.tell(i, m); };
    run.stop = [&s] { return s.should_stop(); };
    auto results = measure_batch<Config>(measurer, *batch, run);
    for (std::size_t i = 0; i < results.size() && i < batch->size(); ++i)
      if (s.awaits(i)) s.tell(i, std::move(results[i]));
    for (std::size_t i = 0; i < batch->size(); ++i)
      if (s.awaits(i)) {
        if (!s.should_stop())
          throw std::logic_error("tileseek::tune: the measurer left out configuration " + std::to_string(i) + " of its batch");
        return;
      }
  }
}

/// Measures the best again, interleaved with the untuned configuration and the rivals, and fills in who won.
template <class Config, class M>
void hold_contest(session<Config>& s, M& measurer, result<Config>& r) {
  const auto& choices = s.choices();
  const auto& searched = s.searched();
  const auto share = (r.trials + 19) / 20;  // 5 %
  const auto finalists = s.best(std::max(choices.finalists, share), choices.timing.reject_above);
  if (finalists.empty()) return;
  std::vector<Config> configurations;
  std::vector<point> points;
  std::vector<journal_contestant> contestants;
  const point untuned = searched.nearest(searched.default_configuration());
  const auto enter = [&](const std::string& name, const point& p) {
    configurations.push_back(searched.at(p));
    points.push_back(p);
    contestants.push_back({name, searched.named_values_of(configurations.back()), {}});
  };
  enter("default", untuned);
  for (const auto& t : finalists)
    if (t.at != untuned) enter("", t.at);
  for (const auto& v : choices.rivals) contestants.push_back({v.name, {}, {}});

  contest_record record;
  if (const auto recorded = s.recorded(contestants)) {
    for (const auto& c : recorded->contestants) record.seconds.push_back(c.seconds);
  } else {
    measuring run;
    run.limits = choices.timing;
    run.limits.min_samples = run.limits.max_samples = 1;  // a round is a sample
    run.limits.incumbent = std::numeric_limits<double>::infinity();
    const auto began = std::chrono::steady_clock::now();
    rng random(choices.seed ^ 0x66696e616c73ULL);
    record = contest(
        contestants.size(), choices.rounds, random,
        [&](std::size_t i) -> measurement {
          if (i >= configurations.size()) return choices.rivals[i - configurations.size()].measure(run.limits);
          auto one = measure_batch<Config>(measurer, std::span<const Config>(&configurations[i], 1), run);
          return one.empty() ? failure(status::run_failed, "not measured") : std::move(one.front());
        },
        [&](std::size_t rounds) {
          if (choices.catch_interrupt && interrupt_guard::interrupted()) return false;
          return rounds < 6 || std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count() < choices.final_seconds;
        });
    if (record.seconds.front().size() < std::min<std::size_t>(choices.rounds, 6)) return;  // interrupted
    for (std::size_t i = 0; i < contestants.size(); ++i) contestants[i].seconds = record.seconds[i];
    s.record({r.trials, contestants});
  }

  std::vector<std::size_t> ranking;
  for (std::size_t i = 0; i < configurations.size(); ++i) ranking.push_back(i);
  std::stable_sort(ranking.begin(), ranking.end(), [&](auto a, auto b) { return record.median_of(a) < record.median_of(b); });
  const auto winner = ranking.front();
  if (!std::isfinite(record.median_of(winner))) {
    s.note("every finalist failed when it was measured again");
    return;
  }
  const auto against = [&](std::size_t i, std::string name) {
    return compared{std::move(name), record.median_of(i), record.compare(winner, i)};
  };
  r.best = configurations[winner];
  r.best_point = points[winner];
  r.best_values = contestants[winner].configuration;
  r.median_seconds = record.median_of(winner);
  r.rounds = record.seconds[winner].size();
  const auto [range, coverage] = median_interval(record.seconds[winner]);
  r.seconds_interval = range;
  r.interval_coverage = coverage;
  r.untuned = configurations.front();
  r.untuned_values = contestants.front().configuration;
  r.untuned_compared = against(0, "default");
  const auto second = std::find_if(ranking.begin() + 1, ranking.end(), [](std::size_t i) { return i != 0; });
  if (second != ranking.end()) {
    r.runner_up = against(*second, to_string(contestants[*second].configuration));
    if (r.runner_up->against.says == verdict::cannot_tell)
      s.note("the winner and the runner-up can't be told apart in " + std::to_string(r.rounds) +
             " rounds; take either, or raise .rounds to " + std::to_string(4 * r.rounds) + " to halve the interval");
  }
  for (std::size_t i = 0; i < choices.rivals.size(); ++i)
    r.rivals.push_back(against(configurations.size() + i, choices.rivals[i].name));
}

}  // namespace detail

/// Searches the space with the strategy, measuring with the measurer, until the budget is spent, then measures the best
/// again in an interleaved contest with the untuned configuration and the rivals. Ctrl-C ends it with the best so far.
///
/// @param measurer  a callable Config -> seconds or -> measurement (with the limits as a second parameter if it likes), or
///                  an object with measure(std::span<const Config>) -> std::vector<measurement>
/// @throws std::runtime_error  the log is damaged or belongs to another space
template <class Config, class M, class S>
[[nodiscard]] result<Config> tune(const space<Config>& of, M&& measurer, options<Config> choices, S&& strategy) {
  using measurer_type = std::remove_reference_t<M>;
  static_assert(SearchStrategy<std::remove_cvref_t<S>>,
                "tileseek::tune: a strategy needs ask(const lattice&, rng&, std::size_t) -> std::vector<point> and "
                "tell(const lattice&, std::span<const trial>) -> void");
  static_assert(Measurer<measurer_type, Config> || TimedFunction<measurer_type, Config>,
                "tileseek::tune: pass a callable of const Config& that returns seconds or a measurement, or an object with "
                "measure(std::span<const Config>) -> std::vector<measurement>");
  if constexpr (!SearchStrategy<std::remove_cvref_t<S>>) {
    return {};  // said above; no flood of errors from below
  } else if constexpr (Measurer<measurer_type, Config>) {
    const interrupt_guard guard(choices.catch_interrupt);
    if (choices.batch == 0) choices.batch = detail::preferred_batch(measurer);
    const std::size_t batch = choices.batch;
    session<Config> s(of, any_strategy(std::forward<S>(strategy)), std::move(choices));
    detail::search(s, measurer, batch);
    auto r = s.finish();
    if (s.choices().rounds > 0 && r.best && s.why() != stop::interrupted) {
      detail::hold_contest(s, measurer, r);
      r.notes = s.notes();
    }
    return r;
  } else if constexpr (TimedFunction<measurer_type, Config>) {
    auto lifted = each<Config>(std::ref(measurer));
    return tune(of, lifted, std::move(choices), std::forward<S>(strategy));
  } else {
    return {};
  }
}

}  // namespace tileseek
