#pragma once
// Parameters' values and results between JSON and ours.

#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include <tileseek/core/format.hpp>
#include <tileseek/core/measurement.hpp>
#include <tileseek/core/value.hpp>
#include <tileseek/record/detail/json_text.hpp>

namespace tileseek::detail {

/// A value as it is; what is neither number, truth value nor text as the text of its JSON.
[[nodiscard]] inline value plain_value(const nlohmann::ordered_json& j) {
  if (j.is_boolean()) return value(j.get<bool>());
  if (j.is_string()) return value(j.get<std::string>());
  if (j.is_number_integer() && j.get<std::int64_t>() == j) return value(j.get<std::int64_t>());
  if (j.is_number_float()) return value(j.get<double>());
  return value(j.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

[[nodiscard]] inline nlohmann::ordered_json plain_json(const value& v) {
  return std::visit([](const auto& held) { return nlohmann::ordered_json(held); }, v.get());
}

/// @throws mismatch  it is not JSON
[[nodiscard]] inline nlohmann::ordered_json parsed(const std::string& text) {
  try {
    return nlohmann::ordered_json::parse(text);
  } catch (const nlohmann::json::parse_error& e) {
    throw mismatch(concat({"expected JSON, found an error at byte ", e.byte, " of it"}), e.byte);
  } catch (const nlohmann::json::exception&) {
    throw mismatch("expected numbers that a double holds", 0);
  }
}

/// Samples in milliseconds as a result, or the failure that one of them is: Kernel Tuner's old caches keep 1e20 for it.
[[nodiscard]] inline measurement result_of_milliseconds(const std::vector<double>& samples) {
  constexpr double no_time = 1e15;
  measurement m;
  for (const double t : samples) {
    if (!(t > 0 && t < no_time)) return failure(status::run_failed, concat({"a recorded time of ", t, " ms"}));
    m.seconds.push_back(t / 1000);
  }
  return m.seconds.empty() ? failure(status::run_failed, "no time recorded") : m;
}

/// @pre not empty
[[nodiscard]] inline double average(const std::vector<double>& of) {
  return std::accumulate(of.begin(), of.end(), 0.0) / static_cast<double>(of.size());
}

/// Milliseconds that read back as these seconds, with as few digits as it takes.
[[nodiscard]] inline double milliseconds(double seconds) {
  double best = seconds * 1000;
  double t = best;
  for (int i = 0; i < 3; ++i) t = std::nextafter(t, 0.0);
  for (int i = 0; i < 7; ++i, t = std::nextafter(t, HUGE_VAL))
    if (t / 1000 == seconds && (best / 1000 != seconds || shortest(t).size() < shortest(best).size())) best = t;
  return best;
}

[[nodiscard]] inline std::vector<double> milliseconds(const std::vector<double>& seconds) {
  std::vector<double> out;
  for (const double s : seconds) out.push_back(milliseconds(s));
  return out;
}

}  // namespace tileseek::detail
