#pragma once
// Lets any program measure, in any language: configurations go to its standard input, results come from its standard
// output, one JSON object a line. The protocol is in docs/command.md.
//
//   auto worker = tileseek::command(space, {.program = {"python3", "worker.py"}});
//   tileseek::tune(space, worker, {.trials = 200});
//
// The program is started when the first configuration is measured, and again when it is lost: it may crash, hang, close
// its output, print what is no answer, or answer out of order. A configuration is blamed for a loss only if the program
// was busy with it alone and had measured nothing before; otherwise it is asked once more, alone, in a new process. Not
// so when it hangs, which costs time.
//
// Needs nlohmann_json. POSIX only.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <tileseek/core/format.hpp>
#include <tileseek/core/json.hpp>
#include <tileseek/core/measurement.hpp>
#include <tileseek/measure/detail/process.hpp>
#include <tileseek/measure/isolated.hpp>
#include <tileseek/measure/measurer.hpp>
#include <tileseek/space/space.hpp>

namespace tileseek {

/// Options of command().
template <class Config>
struct command_choices {
  std::vector<std::string> program{};  ///< its file, looked up in $PATH, and its arguments
  /// Configurations that it is given before it has answered the first: more than 1 for a program that builds several at
  /// once, or has several devices.
  std::size_t ahead = 1;
  /// Time limits as for isolated(); from the request, or from the answer before if that came later. `renew` starts the
  /// program anew after `run_failed` and `wrong_result`.
  isolation limits{.renew = false};
  /// What else a request should hold, beside the configuration: a record for another tool to build, say.
  std::function<nlohmann::json(const Config&)> also{};
};

namespace detail {

/// The result that an answer describes.
[[nodiscard, gnu::cold]] inline measurement measurement_of(const json& answer) {
  measurement m;
  const auto refuse = [&answer](const char* why) {
    return failure(status::run_failed,
                   concat({"the program's answer ", why, ": ",
                           answer.dump(-1, ' ', false, json::error_handler_t::replace).substr(0, 200)}));
  };
  if (const auto note = answer.find("note"); note != answer.end()) {
    if (!note->is_string()) return refuse("has a note that is no text");
    m.note = note->get<std::string>().substr(0, longest_note);
  }
  const auto outcome = answer.find("status");
  if (outcome != answer.end() && (!outcome->is_string() || !from_string(outcome->get<std::string>(), m.outcome)))
    return refuse("has an unknown status");
  if (const auto seconds = answer.find("seconds"); seconds != answer.end() && !seconds->is_null()) {
    const json list = seconds->is_array() ? *seconds : json::array({*seconds});
    for (const auto& s : list)
      if (!s.is_number() && !s.is_null()) return refuse("has seconds that are no number");
    m.seconds = seconds_of(list);
  } else if (outcome == answer.end()) {
    return refuse("has neither seconds nor a status");
  }
  return checked(std::move(m));
}

}  // namespace detail

/// A measurer that asks a program. See command(). Not safe to use from several threads at once.
template <class Config>
class command_measurer {
 public:
  /// @throws std::invalid_argument  an option has no meaning
  command_measurer(const space<Config>& of, command_choices<Config> choices)
      : space_(of), choices_(std::move(choices)) {
    detail::check(choices_.limits);
    if (choices_.program.empty() || choices_.program.front().empty())
      detail::fail<std::invalid_argument>({"command: program is empty; name a file and its arguments"});
    if (choices_.ahead == 0) detail::fail<std::invalid_argument>({"command: ahead is 0; give at least 1"});
  }

  [[nodiscard]] std::size_t batch_size() const { return choices_.ahead; }
  [[nodiscard]] named_values conditions() const {
    std::string line;
    for (const auto& word : choices_.program) detail::append(line, {line.empty() ? "" : " ", word});
    return {{"program", value(line)}};
  }
  /// Processes that were started so far.
  [[nodiscard]] std::size_t workers() const noexcept { return workers_; }

  [[nodiscard]] std::vector<measurement> measure(std::span<const Config> batch) { return measure(batch, measuring{}); }

  /// @throws std::runtime_error  the program can't be started
  [[nodiscard]] std::vector<measurement> measure(std::span<const Config> batch, const measuring& run) {
    std::vector<std::optional<measurement>> results(batch.size());
    timing_limits limits = run.limits;
    std::vector<std::size_t> together;  // to be asked, the last one first
    std::vector<std::size_t> alone;     // again, one at a time
    for (std::size_t i = batch.size(); i-- > 0;) together.push_back(i);
    asked_.clear();
    const auto stop = [&run] { return run.stop && run.stop(); };
    while (!(together.empty() && alone.empty() && asked_.empty())) {
      auto& waiting = together.empty() && asked_.empty() ? alone : together;
      const std::size_t most = &waiting == &alone ? 1 : choices_.ahead;
      while (asked_.size() < most && !waiting.empty() && !stop()) {
        ask(batch, waiting.back(), limits);
        waiting.pop_back();
      }
      if (asked_.empty()) break;  // told to stop
      auto [i, m] = answer(limits);
      if (i == nobody) {  // the program is lost
        const auto busy_with = std::exchange(asked_, {});
        i = busy_with.front().place;
        if (busy_with.size() > 1 || (!fresh_ && m.outcome != status::timed_out)) {
          for (const auto& a : busy_with) alone.push_back(a.place);
          continue;
        }
      }
      if (m.valid()) limits.incumbent = std::fmin(limits.incumbent, m.cost());
      results[i] = std::move(m);
      if (run.finished) run.finished(i, *results[i]);
    }
    std::vector<measurement> out;  // as far as it is without a gap; the rest was reported
    for (auto& r : results) {
      if (!r) break;
      out.push_back(std::move(*r));
    }
    return out;
  }

 private:
  static constexpr auto nobody = static_cast<std::size_t>(-1);
  static constexpr std::size_t longest_answer = 16 << 20;

  struct request {
    std::size_t place;  ///< in the batch
    std::uint64_t number;
    detail::process_clock::time_point since;
  };
  struct reply {
    std::size_t place;
    measurement result;
  };

  void ask(std::span<const Config> batch, std::size_t place, const timing_limits& limits) {
    if (!program_.running()) {
      program_.start(choices_.program,
                     {.input = true, .quiet = choices_.limits.quiet, .memory = choices_.limits.memory});
      received_.clear();
      fresh_ = true;
      ++workers_;
    }
    nlohmann::json line = choices_.also ? choices_.also(batch[place]) : nlohmann::json::object();
    line["id"] = ++number_;
    line["configuration"] = detail::to_json(space_.named_values_of(batch[place]));
    const auto number = [](double x) { return std::isfinite(x) ? nlohmann::json(x) : nlohmann::json(nullptr); };
    line["limits"] = {{"incumbent", number(limits.incumbent)},
                      {"reject_above", number(limits.reject_above)},
                      {"min_samples", limits.min_samples},
                      {"max_samples", limits.max_samples},
                      {"settled", limits.settled},
                      {"max_seconds", number(limits.max_seconds)}};
    asked_.push_back({place, number_, detail::process_clock::now()});
    // A program that does not read, or is gone, will not answer either.
    static_cast<void>(program_.write(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n",
                                     detail::from_now(patience_.allowed(choices_.limits, limits))));
  }

  /// The next answer; place `nobody`: the program was lost, and why.
  [[nodiscard]] reply answer(const timing_limits& limits) {
    const double allowed = patience_.allowed(choices_.limits, limits);
    const auto since = std::max(asked_.front().since, last_answer_);
    const auto until = since + (detail::from_now(allowed) - detail::process_clock::now());
    for (;;) {
      const auto end = received_.find('\n');
      if (end != std::string::npos) {
        const std::string line = received_.substr(0, end);
        received_.erase(0, end + 1);
        if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
        return understand(line);
      }
      if (received_.size() > longest_answer) return lost(status::crashed, "the program printed a line without end");
      const auto f = program_.read(received_, until);
      if (f == detail::child_process::fate::late)
        return lost(status::timed_out, detail::concat({"no answer within ", show_seconds(allowed)}));
      if (f == detail::child_process::fate::gone) {
        const bool itself = program_.process().about_to_die();
        const auto how = program_.end();
        return lost(status::crashed, itself ? detail::describe_end(how) : std::string("the program closed its output"));
      }
    }
  }

  [[nodiscard]] reply understand(const std::string& line) {
    const auto garbage = [&] {
      return lost(status::crashed, "the program printed what is no answer: " + line.substr(0, 200));
    };
    const auto j = nlohmann::json::parse(line, nullptr, false);
    if (!j.is_object() || !j.contains("id") || !j["id"].is_number_integer()) return garbage();
    const auto number = j["id"].get<std::int64_t>();
    const auto at = std::find_if(asked_.begin(), asked_.end(), [number](const request& r) {
      return number >= 0 && r.number == static_cast<std::uint64_t>(number);
    });
    if (at == asked_.end()) return garbage();
    measurement m = detail::measurement_of(j);
    patience_.learn(m, std::max(at->since, last_answer_));
    last_answer_ = detail::process_clock::now();
    const std::size_t place = at->place;
    asked_.erase(at);
    fresh_ = false;
    if (choices_.limits.renew && asked_.empty() &&
        (m.outcome == status::run_failed || m.outcome == status::wrong_result))
      program_.end();
    return {place, std::move(m)};
  }

  [[nodiscard]] reply lost(status outcome, std::string why) {
    program_.end();
    return {nobody, failure(outcome, std::move(why))};
  }

  space<Config> space_;
  command_choices<Config> choices_;
  detail::child_program program_;
  detail::patience patience_;
  std::string received_;  ///< and not understood yet
  std::vector<request> asked_;
  std::uint64_t number_ = 0;  ///< of the last request: no two have the same
  detail::process_clock::time_point last_answer_{};
  bool fresh_ = true;  ///< the program has answered nothing yet
  std::size_t workers_ = 0;
};

/// A measurer that asks a program, which measures configurations of this space.
/// @throws std::invalid_argument  an option has no meaning
template <class Config>
[[nodiscard]] command_measurer<Config> command(const space<Config>& of, command_choices<Config> choices) {
  return command_measurer<Config>(of, std::move(choices));
}

}  // namespace tileseek
