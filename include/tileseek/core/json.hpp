#pragma once
// Values and samples as JSON: what logs, programs that measure and reports share. Needs nlohmann_json.

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include <tileseek/core/format.hpp>
#include <tileseek/core/value.hpp>

namespace tileseek::detail {

using json = nlohmann::ordered_json;

/// What JSON has no number for is an object: {"real": "inf"}.
[[nodiscard]] inline json to_json(const value& v) {
  if (const auto* x = std::get_if<double>(&v.get()); x != nullptr && !std::isfinite(*x))
    return json{{"real", shortest(*x)}};
  return std::visit([](const auto& held) { return json(held); }, v.get());
}

[[nodiscard]] inline json to_json(const named_values& values) {
  json out = json::object();
  for (const auto& [name, v] : values) out[name] = to_json(v);
  return out;
}

/// A number, or null for what JSON cannot hold.
[[nodiscard]] inline json to_json(const std::vector<double>& seconds) {
  json out = json::array();
  for (const double s : seconds) out.push_back(std::isfinite(s) ? json(s) : json(nullptr));
  return out;
}

[[nodiscard]] inline value value_of(const json& j) {
  switch (j.type()) {
    case json::value_t::boolean: return value(j.get<bool>());
    case json::value_t::number_integer:
    case json::value_t::number_unsigned: return value(j.get<std::int64_t>());
    case json::value_t::number_float: return value(j.get<double>());
    case json::value_t::string: return value(j.get<std::string>());
    case json::value_t::array: return value(j.get<std::vector<std::int64_t>>());
    case json::value_t::object: return value(j.at("real") == "-inf" ? -HUGE_VAL : HUGE_VAL);
    default:
      throw std::runtime_error("a value is a number, a truth value, a text or a list of integers, not " + j.dump());
  }
}

[[nodiscard]] inline named_values named_values_of(const json& j) {
  if (!j.is_object()) throw std::runtime_error("a configuration is an object, not " + j.dump());
  named_values out;
  for (const auto& [name, v] : j.items()) out.emplace_back(name, value_of(v));
  return out;
}

[[nodiscard]] inline std::vector<double> seconds_of(const json& j) {
  std::vector<double> out;
  for (const auto& s : j) out.push_back(s.is_null() ? std::numeric_limits<double>::quiet_NaN() : s.get<double>());
  return out;
}

}  // namespace tileseek::detail
