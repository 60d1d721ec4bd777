#pragma once
// The run of a tuning example and its report, whatever is tuned where.
#include <tileseek/core.hpp>
#include <tileseek/record/log.hpp>

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

/// Options of every tuner.
struct tuner_options {
  std::string backend = "cpu";
  bool dry_run = false;
  std::string arch = "sm_90";
  std::string view = "full";
  int threads = 1;
  std::string strategy;  ///< empty: see chosen_strategy()
  std::vector<std::string> strategy_options;
  std::size_t trials = 200;
  double seconds = 60;
  std::uint64_t seed = 0;
  std::string log;
  bool json = false;
  bool quiet = false;
};

template <class Config>
nlohmann::ordered_json to_json(const tileseek::result<Config>& r) {
  using tileseek::detail::to_json;
  nlohmann::ordered_json j;
  const auto number = [](double x) {
    return std::isfinite(x) ? nlohmann::ordered_json(x) : nlohmann::ordered_json(nullptr);
  };
  j["space_size"] =
      r.space_counted ? nlohmann::ordered_json(static_cast<std::uint64_t>(r.space_size)) : number(r.space_size);
  j["trials"] = r.trials;
  j["measured"] = r.measured;
  j["replayed"] = r.replayed;
  j["best"] = r.best ? nlohmann::ordered_json(to_json(r.best_values)) : nlohmann::ordered_json(nullptr);
  j["median_seconds"] = number(r.median_seconds);
  j["interval"] = {number(r.seconds_interval.low), number(r.seconds_interval.high)};
  j["gflops"] = number(r.gflops());
  j["default_seconds"] = r.untuned_compared ? number(r.untuned_compared->seconds) : nullptr;
  j["speedup"] = r.untuned_compared ? number(r.untuned_compared->against.ratio) : nullptr;
  j["library"] = nullptr;
  for (const auto& v : r.rivals)
    j["library"] = {{"name", v.name}, {"seconds", number(v.seconds)}, {"ratio", number(v.against.ratio)}};
  j["failures"] = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < tileseek::status_count; ++i) {
    const auto s = static_cast<tileseek::status>(i);
    if (s != tileseek::status::ok && r.by_status[i] > 0) j["failures"][std::string(to_string(s))] = r.by_status[i];
  }
  j["stopped"] = to_string(r.stopped);
  j["log"] = r.log.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(r.log);
  j["notes"] = r.notes;
  return j;
}

/// Tunes and reports. @return the exit status: 1 when no configuration was valid
template <class Config, class Problem>
int run(const tuner_options& o, const tileseek::space<Config>& space, Problem& problem, const std::string& task,
        double flop, tileseek::any_strategy strategy, std::vector<tileseek::rival> rivals) {
  const auto found =
      tileseek::tune(space, problem,
                     {.trials = o.trials,
                      .seconds = o.seconds,
                      .seed = o.seed,
                      .log = o.log.empty() ? nullptr : tileseek::log_file(o.log),
                      .task = task + (o.threads == 1 ? "" : ", " + std::to_string(o.threads) + " threads"),
                      .flop = flop,
                      .rivals = std::move(rivals),
                      .progress = o.quiet || o.json ? tileseek::verbosity::quiet : tileseek::verbosity::automatic},
                     std::move(strategy));
  if (o.json)
    std::cout << to_json(found) << '\n';
  else
    std::cout << found << '\n';
  return found.best ? 0 : 1;
}
