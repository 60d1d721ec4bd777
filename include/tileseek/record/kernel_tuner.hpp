#pragma once
// Cache files of Kernel Tuner: read, complete or cut off, and written.
//
//   std::ifstream file("convolution_A100.json");
//   const auto cache = tileseek::kernel_tuner_cache::read(file, "convolution_A100.json");
//   const auto recording = cache.record();
//
// A cache is {"device_name": ..., "kernel_name": ..., "tune_params_keys": [...], "tune_params": {NAME: [values], ...}, "cache":
// {"16,1": {NAME: value, ..., "time": 3.87, "times": [...]}, ...}}, times in milliseconds; a text in place of the time is
// a failure. While a run goes on, the file lacks its end. The space are the values of tune_params in every combination;
// the restrictions are not in the file: give the space that a T1 definition makes (t1.hpp) to record().
//
// All is kept as text, so that a cache is written as it was read; a file that Kernel Tuner wrote comes out byte by byte.

#include <algorithm>
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
#include <tileseek/space/domain.hpp>
#include <tileseek/space/space.hpp>

namespace tileseek {

class kernel_tuner_cache {
 public:
  /// @param name  what messages call the file
  /// @throws std::runtime_error  "file:line: expected ...": no cache; an entry that is none (with damage::stop)
  [[nodiscard]] static kernel_tuner_cache read(std::istream& in, const std::string& name,
                                               damage on_damage = damage::stop) {
    kernel_tuner_cache out;
    detail::json_pieces pieces(in, name, "cache");
    out.header_ = pieces.before();
    try {
      out.read_header();
    } catch (const std::exception& e) {
      detail::fail<std::runtime_error>({name, ":", pieces.report().line, ": ", e.what()});
    }
    while (auto entry = pieces.next()) try {
        static_cast<void>(out.trial_of(*entry));
        out.entries_.push_back(std::move(*entry));
      } catch (const detail::mismatch& e) {
        pieces.refuse(*entry, on_damage, e.what());
      }
    out.footer_ = pieces.behind();
    out.report_ = pieces.report();
    return out;
  }

  /// A cache of this recording: its device, its task as the kernel, the values that its trials have.
  [[nodiscard]] static kernel_tuner_cache of(const recording& r) {
    kernel_tuner_cache out;
    nlohmann::ordered_json keys = nlohmann::ordered_json::array();
    nlohmann::ordered_json params = nlohmann::ordered_json::object();
    for (const auto& name : r.space.names()) {
      keys.push_back(name);
      params[name] = nlohmann::ordered_json::array();
      for (const auto& [c, result] : r.trials) {
        auto v = detail::plain_json(c[name]);
        if (std::find(params[name].begin(), params[name].end(), v) == params[name].end())
          params[name].push_back(std::move(v));
      }
    }
    const auto lines = [](const nlohmann::ordered_json& j) { return j.dump(0); };
    out.header_ = {{"device_name", lines(r.device), 0},
                   {"kernel_name", lines(r.task), 0},
                   {"tune_params_keys", lines(keys), 0},
                   {"tune_params", lines(params), 0}};
    out.read_header();
    for (const auto& [c, result] : r.trials) out.add(c, result);
    return out;
  }

  [[nodiscard]] const std::string& device() const noexcept { return device_; }
  [[nodiscard]] const std::string& kernel() const noexcept { return kernel_; }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  /// What came of reading: a cut-off end, damaged entries.
  [[nodiscard]] const read_report& report() const noexcept { return report_; }

  /// The trials, in the space of all values.
  [[nodiscard]] recording record() const { return record(space_); }
  /// The trials, in a space that knows the rules.
  [[nodiscard]] recording record(tileseek::space<configuration> in) const {
    recording out{kernel_, device_, std::move(in), {}};
    for (const auto& e : entries_) out.trials.push_back(trial_of(e));
    return out;
  }

  /// One more entry. Kernel Tuner knows three failures: to compile, to be valid on the device, to run; others count as the
  /// last.
  /// @throws std::out_of_range  c lacks a parameter
  void add(const configuration& c, const measurement& m) {
    nlohmann::ordered_json entry;
    std::string key;
    for (const auto& name : names_) {
      entry[name] = detail::plain_json(c[name]);
      detail::append(key, {key.empty() ? "" : ",", to_string(c[name])});
    }
    if (m.valid()) {
      entry["time"] = detail::milliseconds(detail::average(m.seconds));
      entry["times"] = detail::milliseconds(m.seconds);
    } else {
      entry["time"] = m.outcome == status::build_failed    ? "CompilationFailedConfig"
                      : m.outcome == status::launch_failed ? "InvalidConfig"
                                                           : "RuntimeFailedConfig";
    }
    const std::string quoted = nlohmann::ordered_json(key).dump();
    entries_.push_back({quoted.substr(1, quoted.size() - 2), one_line(entry), 0});
  }

  /// Writes a complete file, in the lines of Kernel Tuner.
  void write(std::ostream& out) const {
    out << "{\n";
    for (const auto& m : header_) out << '"' << m.name << "\": " << m.text << ",\n";
    out << "\"cache\": {";
    for (std::size_t i = 0; i < entries_.size(); ++i)
      out << (i == 0 ? "\n\"" : ",\n\"") << entries_[i].name << "\": " << entries_[i].text;
    out << '}';
    for (const auto& m : footer_) out << ",\n\"" << m.name << "\": " << m.text;
    out << "\n}";
  }

 private:
  void read_header() {
    nlohmann::ordered_json params;
    bool keys = false;
    for (const auto& m : header_) {
      const auto j = detail::parsed(m.text);
      if (m.name == "device_name" && j.is_string()) device_ = j.get<std::string>();
      if (m.name == "kernel_name" && j.is_string()) kernel_ = j.get<std::string>();
      if (m.name == "tune_params") params = j;
      if (m.name != "tune_params_keys") continue;
      if (!j.is_array()) throw detail::mismatch("expected a list of names in \"tune_params_keys\"", 0);
      keys = true;
      for (const auto& name : j) {
        if (!name.is_string()) throw detail::mismatch("expected a list of names in \"tune_params_keys\"", 0);
        names_.push_back(name.get<std::string>());
      }
    }
    if (!keys || !params.is_object())
      throw detail::mismatch("expected \"tune_params_keys\" and \"tune_params\" before here", 0);
    for (const auto& name : names_) {
      if (!params.contains(name) || !params[name].is_array())
        throw detail::mismatch(detail::concat({"expected a list of values of '", name, "' in \"tune_params\""}), 0);
      domain<value> values{{}, true};
      for (const auto& v : params[name]) {
        values.values.push_back(detail::plain_value(v));
        values.ordered = values.ordered && detail::number_of(values.values.back());
      }
      space_.add(name, values);
    }
  }

  [[nodiscard]] std::pair<configuration, measurement> trial_of(const detail::json_piece& entry) const {
    const auto j = detail::parsed(entry.text);
    if (!j.is_object()) throw detail::mismatch("expected an object for each configuration", 0);
    configuration c;
    for (const auto& name : names_) {
      if (!j.contains(name))
        throw detail::mismatch(detail::concat({"expected a value of '", name, "' in \"", entry.name, "\""}), 0);
      c.set(name, detail::plain_value(j[name]));
    }
    for (const char* member : {"__error__", "time"})
      if (j.contains(member) && j[member].is_string()) return {std::move(c), failure_of(j[member].get<std::string>())};
    if (!j.contains("time") || !j["time"].is_number())
      throw detail::mismatch(detail::concat({"expected a \"time\", a number or a text, in \"", entry.name, "\""}), 0);
    std::vector<double> samples{j["time"].get<double>()};
    if (j.contains("times") && j["times"].is_array() && !j["times"].empty()) {
      samples.clear();
      for (const auto& t : j["times"]) {
        if (!t.is_number())
          throw detail::mismatch(detail::concat({"expected numbers in \"times\" of \"", entry.name, "\""}), 0);
        samples.push_back(t.get<double>());
      }
    }
    return {std::move(c), detail::result_of_milliseconds(samples)};
  }

  [[nodiscard]] static measurement failure_of(const std::string& word) {
    if (word == "CompilationFailedConfig") return failure(status::build_failed, word);
    if (word == "InvalidConfig") return failure(status::launch_failed, word);
    return failure(status::run_failed, word);
  }

  /// With a space behind ',' and ':', as Python writes it.
  [[nodiscard]] static std::string one_line(const nlohmann::ordered_json& object) {
    std::string out = "{";
    for (const auto& [name, j] : object.items()) {
      std::string text = j.dump();
      if (j.is_array()) {
        text = "[";
        for (const auto& e : j) detail::append(text, {text.size() > 1 ? ", " : "", e.dump()});
        text += ']';
      }
      detail::append(out, {out.size() > 1 ? ", " : "", nlohmann::ordered_json(name).dump(), ": ", text});
    }
    return out += '}';
  }

  std::string device_, kernel_;
  std::vector<std::string> names_;
  tileseek::space<configuration> space_;
  std::vector<detail::json_piece> header_, entries_, footer_;
  read_report report_;
};

}  // namespace tileseek
