#pragma once
// Results of tuning in the T4 format, which several auto-tuners of GPU kernels share: read and written.
//
//   std::ifstream file("gemm_A100_T4.json");
//   const auto results = tileseek::t4_results::read(file, "gemm_A100_T4.json");
//   const auto recording = results.record(definition.space());        // of a T1 definition, t1.hpp
//
// {"results": [{"configuration": {NAME: value, ...}, "times": {"runtimes": [...], ...}, "invalidity": "correct", "measurements":
// [{"name": "time", "value": 12.3, "unit": "ms"}], ...}, ...], "schema_version": "1.0.0"}, times in milliseconds unless the
// measurement says another unit. Entries are kept as text and written as they were read.

#include <cstddef>
#include <istream>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <tileseek/core/format.hpp>
#include <tileseek/core/measurement.hpp>
#include <tileseek/core/value.hpp>
#include <tileseek/record/detail/json_pieces.hpp>
#include <tileseek/record/detail/json_value.hpp>
#include <tileseek/record/reader.hpp>
#include <tileseek/record/recording.hpp>
#include <tileseek/space/configuration.hpp>
#include <tileseek/space/space.hpp>

namespace tileseek {

class t4_results {
 public:
  /// An empty list, to be filled by add().
  t4_results() : footer_{{"schema_version", "\"1.0.0\"", 0}} {}

  /// @param name  what messages call the file
  /// @throws std::runtime_error  "file:line: expected ...": no results; an entry that is none (with damage::stop)
  [[nodiscard]] static t4_results read(std::istream& in, const std::string& name, damage on_damage = damage::stop) {
    t4_results out;
    detail::json_pieces pieces(in, name, "results");
    out.header_ = pieces.before();
    std::vector<std::string> names;
    while (auto entry = pieces.next()) try {
        const auto c = trial_of(*entry).first;
        std::vector<std::string> own;
        for (const auto& [parameter, unused] : c.values()) own.push_back(parameter);
        if (out.entries_.empty()) names = own;
        if (own != names) throw detail::mismatch("expected the parameters of the first configuration", 0);
        out.entries_.push_back(std::move(*entry));
      } catch (const detail::mismatch& e) {
        pieces.refuse(*entry, on_damage, e.what());
      }
    out.footer_ = pieces.behind();
    out.report_ = pieces.report();
    return out;
  }

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  /// What came of reading: a cut-off end, damaged entries.
  [[nodiscard]] const read_report& report() const noexcept { return report_; }

  /// The trials, in the space of the values that occur.
  [[nodiscard]] recording record() const {
    recording out{{}, {}, {}, trials()};
    out.space = space_of_values(out.trials);
    return out;
  }
  /// The trials, in a space that knows the rules.
  [[nodiscard]] recording record(tileseek::space<configuration> in) const { return {{}, {}, std::move(in), trials()}; }

  /// One more result.
  void add(const configuration& c, const measurement& m) {
    json entry;
    entry["configuration"] = json::object();
    for (const auto& [name, v] : c.values()) entry["configuration"][name] = detail::plain_json(v);
    entry["times"]["runtimes"] = detail::milliseconds(m.valid() ? m.seconds : std::vector<double>{});
    entry["invalidity"] = word_of(m.outcome);
    entry["correctness"] = m.outcome == status::wrong_result ? 0 : 1;
    if (m.valid())
      entry["measurements"] = json::array(
          {{{"name", "time"}, {"value", detail::milliseconds(detail::average(m.seconds))}, {"unit", "ms"}}});
    entry["objectives"] = json::array({"time"});
    std::string text;
    for (const char one : entry.dump(4)) {
      text += one;
      if (one == '\n') text += "        ";
    }
    entries_.push_back({{}, std::move(text), 0});
  }

  /// In the lines of a writer that indents by four.
  void write(std::ostream& out) const {
    out << '{';
    bool first = true;
    const auto members = [&](const std::vector<detail::json_piece>& some) {
      for (const auto& m : some) {
        out << (first ? "\n    \"" : ",\n    \"") << m.name << "\": " << m.text;
        first = false;
      }
    };
    members(header_);
    out << (first ? "\n    \"results\": [" : ",\n    \"results\": [");
    for (std::size_t i = 0; i < entries_.size(); ++i)
      out << (i == 0 ? "\n        " : ",\n        ") << entries_[i].text;
    out << (entries_.empty() ? "]" : "\n    ]");
    first = false;
    members(footer_);
    out << "\n}";
  }

 private:
  using json = nlohmann::ordered_json;

  [[nodiscard]] std::vector<std::pair<configuration, measurement>> trials() const {
    std::vector<std::pair<configuration, measurement>> out;
    for (const auto& e : entries_) out.push_back(trial_of(e));
    return out;
  }

  static constexpr std::pair<const char*, status> words[] = {
      {"correct", status::ok},         {"compile", status::build_failed},     {"constraints", status::launch_failed},
      {"runtime", status::run_failed}, {"correctness", status::wrong_result}, {"timeout", status::timed_out}};

  [[nodiscard]] static const char* word_of(status s) {
    for (const auto& [word, meaning] : words)
      if (s == meaning) return word;
    return s == status::rejected_early ? "correct" : "runtime";
  }

  [[nodiscard]] static std::pair<configuration, measurement> trial_of(const detail::json_piece& entry) {
    const auto j = detail::parsed(entry.text);
    const auto demand = [](bool holds, const char* what) {
      if (!holds) throw detail::mismatch(detail::concat({"expected ", what}), 0);
    };
    demand(j.is_object() && j.contains("configuration") && j["configuration"].is_object(),
           "a \"configuration\" in a result");
    demand(j.contains("invalidity") && j["invalidity"].is_string(), "an \"invalidity\" in a result");
    configuration c;
    for (const auto& [name, v] : j["configuration"].items()) {
      demand(!name.empty(), "parameters with names");
      c.set(name, detail::plain_value(v));
    }
    const auto word = j["invalidity"].get<std::string>();
    status outcome = status::run_failed;
    for (const auto& [known, meaning] : words)
      if (word == known) outcome = meaning;
    if (outcome != status::ok) return {std::move(c), failure(outcome, word)};
    std::vector<double> samples;
    if (j.contains("times") && j["times"].is_object() && j["times"].contains("runtimes") &&
        j["times"]["runtimes"].is_array())
      for (const auto& t : j["times"]["runtimes"]) {
        demand(t.is_number(), "numbers in \"runtimes\"");
        samples.push_back(t.get<double>());
      }
    if (samples.empty() && j.contains("measurements") && j["measurements"].is_array())
      for (const auto& m : j["measurements"])
        if (m.is_object() && m.value("name", json()) == "time" && m.contains("value") && m["value"].is_number())
          samples.push_back(m["value"].get<double>() * unit_in_milliseconds(m.value("unit", json())));
    return {std::move(c), detail::result_of_milliseconds(samples)};
  }

  [[nodiscard]] static double unit_in_milliseconds(const json& unit) {
    return unit == "s" || unit == "seconds"         ? 1e3
           : unit == "us" || unit == "microseconds" ? 1e-3
           : unit == "ns" || unit == "nanoseconds"  ? 1e-6
                                                    : 1;
  }

  std::vector<detail::json_piece> header_, entries_, footer_;
  read_report report_;
};

}  // namespace tileseek
