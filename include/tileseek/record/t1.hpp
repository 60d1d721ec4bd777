#pragma once
// Definitions of search spaces in the T1 format, which several auto-tuners of GPU kernels share: read and written.
//
//   std::ifstream file("gemm.T1.json");
//   const auto space = tileseek::t1_definition::read(file, "gemm.T1.json").space();
//
// {"ConfigurationSpace": {"TuningParameters": [{"Name": "x", "Type": "int", "Values": "[2**i for i in range(6)]", "Default":
// 1}, ...], "Conditions": [{"Expression": "x * y <= 1024", "Parameters": ["x", "y"]}, ...]}, ...}. Values and conditions
// are Python's expressions, of which the part that occurs is understood here (detail/expression.hpp); no other program is
// run. What a condition reads follows from its expression; its list of parameters is not needed, and often incomplete.

#include <algorithm>
#include <cstddef>
#include <istream>
#include <iterator>
#include <memory>
#include <ostream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <tileseek/core/format.hpp>
#include <tileseek/core/value.hpp>
#include <tileseek/record/detail/expression.hpp>
#include <tileseek/record/detail/json_text.hpp>
#include <tileseek/record/detail/json_value.hpp>
#include <tileseek/space/configuration.hpp>
#include <tileseek/space/domain.hpp>
#include <tileseek/space/space.hpp>

namespace tileseek {

/// A definition and its document, all of which is kept: what is read is written again, indented by four.
class t1_definition {
 public:
  /// An empty one, to be filled by add() and where().
  t1_definition() {
    document_["ConfigurationSpace"]["TuningParameters"] = json::array();
    document_["ConfigurationSpace"]["Conditions"] = json::array();
  }

  /// @param name  what messages call the file
  /// @throws std::runtime_error  "file:line: expected ..."
  [[nodiscard]] static t1_definition read(std::istream& in, const std::string& name) {
    const std::string text(std::istreambuf_iterator<char>(in), {});
    t1_definition out;
    std::string at;  // what was being read
    try {
      out.document_ = detail::parsed(text);
      const json& all = member(out.document_, "ConfigurationSpace", at);
      for (const auto& p : member(all, "TuningParameters", at)) {
        at = member(p, "Name", at).dump();
        out.read_parameter(p, at);
      }
      if (all.contains("Conditions"))
        for (const auto& c : all["Conditions"]) {
          at = member(c, "Expression", at).dump();
          out.read_condition(c);
        }
    } catch (const detail::mismatch& e) {
      const std::size_t place = at.empty() ? std::min(e.at(), text.size()) : std::min(text.find(at), text.size());
      detail::fail<std::runtime_error>(
          {name, ":", 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(place), '\n'), ": ",
           e.what()});
    } catch (const std::exception& e) {  // an expression without a value, a space that cannot be
      const std::size_t place = std::min(text.find(at), text.size());
      detail::fail<std::runtime_error>(
          {name, ":", 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(place), '\n'), ": ",
           e.what()});
    }
    return out;
  }

  /// One more parameter. @param type  int, uint, float, bool or string  @param values  an expression that gives a list
  t1_definition& add(const std::string& name, const std::string& type, const std::string& values, const value& preset) {
    json p{{"Name", name}, {"Type", type}, {"Values", values}, {"Default", detail::plain_json(preset)}};
    read_parameter(p, name);
    document_["ConfigurationSpace"]["TuningParameters"].push_back(std::move(p));
    return *this;
  }
  /// One more condition over parameters added before.
  t1_definition& where(const std::string& condition) {
    json c{{"Expression", condition}, {"Parameters", detail::expression(condition).names()}};
    read_condition(c);
    document_["ConfigurationSpace"]["Conditions"].push_back(std::move(c));
    return *this;
  }

  /// The space it defines; starts at the defaults.
  [[nodiscard]] const tileseek::space<configuration>& space() const noexcept { return space_; }
  /// The name of the benchmark or the kernel; may be empty.
  [[nodiscard]] std::string kernel() const {
    for (const auto& [section, name] :
         {std::pair("General", "BenchmarkName"), std::pair("KernelSpecification", "KernelName")})
      if (document_.contains(section) && document_[section].is_object() && document_[section].contains(name) &&
          document_[section][name].is_string())
        return document_[section][name].get<std::string>();
    return {};
  }
  void write(std::ostream& out) const { out << document_.dump(4); }

 private:
  using json = nlohmann::ordered_json;

  [[nodiscard]] static const json& member(const json& of, const char* name, const std::string& at) {
    if (!of.is_object() || !of.contains(name))
      throw detail::mismatch(detail::concat({"expected a member \"", name, "\"", at.empty() ? "" : " behind ", at}), 0);
    return of[name];
  }

  void read_parameter(const json& p, const std::string& at) {
    const json& name = member(p, "Name", at);
    const json& listed = member(p, "Values", at);
    const json& type = member(p, "Type", at);
    if (!name.is_string() || !type.is_string())
      throw detail::mismatch(detail::concat({"expected texts as name and type of ", at}), 0);
    domain<value> values{{}, true};
    if (listed.is_array()) {
      for (const auto& v : listed) values.values.push_back(detail::plain_value(v));
    } else if (listed.is_string()) {
      values.values = detail::expression(listed.get<std::string>()).list();
    } else {
      throw detail::mismatch(detail::concat({"expected a list of values of ", at}), 0);
    }
    const bool truth = type == "bool";
    if (truth)
      for (auto& v : values.values) v = value(v.as<bool>());
    for (const auto& v : values.values) values.ordered = values.ordered && detail::number_of(v);
    if (values.values.empty())
      throw detail::mismatch(detail::concat({"expected a value of ", at, ", which has none"}), 0);
    value preset = values.values.front();
    if (p.contains("Default")) {
      const json& d = p["Default"].is_array() && !p["Default"].empty() ? p["Default"].front() : p["Default"];
      preset = detail::plain_value(d);
      if (truth && detail::number_of(preset)) preset = value(preset.as<bool>());
    }
    space_.add(name.get<std::string>(), values);
    start_.set(name.get<std::string>(), std::move(preset));
    space_.starts_at(start_);
  }

  void read_condition(const json& c) {
    const json& text = member(c, "Expression", {});
    if (!text.is_string()) throw detail::mismatch("expected a text as an expression", 0);
    const auto rule = std::make_shared<const detail::expression>(text.get<std::string>());
    if (rule->names().empty()) {
      if (!rule->holds({}))
        throw detail::mismatch(detail::concat({"expected a condition that may hold, found '", rule->text(), "'"}), 0);
      return;
    }
    space_.where_named(rule->text(), rule->names(), [rule](std::span<const value> v) { return rule->holds(v); });
  }

  json document_;
  tileseek::space<configuration> space_;
  configuration start_;
};

}  // namespace tileseek
