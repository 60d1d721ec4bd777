#pragma once
// Every scheduler and every objective by its name: for command lines and configuration files.
//
//   auto scheduler = tileseek::make_scheduler("gradient", tileseek::make_objective("latency_requirements=0.02"));

#include <array>
#include <charconv>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <tileseek/core/format.hpp>
#include <tileseek/schedule/gradient.hpp>
#include <tileseek/schedule/objective.hpp>
#include <tileseek/schedule/potential.hpp>
#include <tileseek/schedule/round_robin.hpp>
#include <tileseek/schedule/scheduler.hpp>

namespace tileseek {

/// A scheduler or an objective of the registry.
struct schedule_help {
  const char* name;    ///< what make_scheduler() or make_objective() takes
  const char* values;  ///< of an objective: what follows the name after "="; empty: nothing
  const char* summary;
};

/// All schedulers, the default first.
[[nodiscard]] inline std::span<const schedule_help> schedulers() noexcept {
  static constexpr std::array<schedule_help, 5> all{
      {{"potential", "", "what is at stake, the trials spent and how the search has gone"},
       {"gradient", "", "the published rule in short rounds, its failures repaired"},
       {"ansor", "", "the published rule as in auto_scheduler: rounds of 64, groups of similar tasks"},
       {"meta_schedule", "", "the published rule as in meta_schedule: rounds of 64"},
       {"round_robin", "", "every task in turn"}}};
  return all;
}

/// All objectives, the default first.
[[nodiscard]] inline std::span<const schedule_help> objectives() noexcept {
  static constexpr std::array<schedule_help, 4> all{
      {{"weighted_sum", "", "the sum of weight times latency"},
       {"latency_requirements", "SECONDS,...", "each network is to take at most so long; one number a network"},
       {"geomean_speedup", "SECONDS,...", "geometric mean of the networks' speed-ups over these latencies"},
       {"early_stopping", "TRIALS", "the sum, of tasks that have improved within so many trials"}}};
  return all;
}

namespace detail {

[[noreturn, gnu::cold]] inline void unknown(const char* what, std::string_view name,
                                            std::span<const schedule_help> all) {
  std::string names;
  for (const auto& h : all) append(names, {names.empty() ? "" : ", ", h.name});
  fail<std::invalid_argument>({"no ", what, " '", name, "'; there are ", names});
}

/// The numbers after the "=" of an objective.
[[nodiscard]] inline std::vector<double> numbers_of(std::string_view name, std::string_view text) {
  std::vector<double> out;
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    const std::string_view one = text.substr(0, comma);
    double x = 0;
    const auto [end, error] = std::from_chars(one.data(), one.data() + one.size(), x);
    if (error != std::errc() || end != one.data() + one.size())
      fail<std::invalid_argument>({name, ": '", one, "' is not a number; write ", name, "=NUMBER,..."});
    out.push_back(x);
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);
  }
  return out;
}

}  // namespace detail

/// The objective with this name: "weighted_sum", or with its numbers, "latency_requirements=0.02".
/// @throws std::invalid_argument  no such objective (the message lists those there are), or numbers that it refuses
[[nodiscard]] inline objective make_objective(std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  if (name == "weighted_sum" && equals == std::string_view::npos) return weighted_sum{};
  const auto numbers = [&] {
    if (equals == std::string_view::npos)
      detail::fail<std::invalid_argument>({name, " needs numbers; write ", name, "=NUMBER,..."});
    return detail::numbers_of(name, text.substr(equals + 1));
  };
  if (name == "latency_requirements") return latency_requirements(numbers());
  if (name == "geomean_speedup") return geomean_speedup(numbers());
  if (name == "early_stopping") {
    const auto given = numbers();
    if (given.size() != 1 || !(given[0] >= 1 && given[0] < 1e15))
      detail::fail<std::invalid_argument>({text, ": give one number of trials, at least 1"});
    return early_stopping(static_cast<std::size_t>(given[0]));
  }
  detail::unknown("objective", text, objectives());
}

/// The scheduler with this name, for this objective; `round_robin` heeds none.
/// @throws std::invalid_argument  no such scheduler; the message lists those there are
[[nodiscard]] inline any_scheduler make_scheduler(std::string_view name, objective of = weighted_sum{}) {
  const auto published = [&of, name](gradient_options o) {
    o.of = std::move(of);
    return any_scheduler(gradient(std::move(o)), std::string(name));
  };
  if (name == "potential") {
    potential_options o;
    o.of = std::move(of);
    return potential(std::move(o));
  }
  if (name == "gradient") return published({});
  if (name == "ansor") return published(gradient_options::ansor());
  if (name == "meta_schedule") return published(gradient_options::meta_schedule());
  if (name == "round_robin") return round_robin();
  detail::unknown("scheduler", name, schedulers());
}

}  // namespace tileseek
