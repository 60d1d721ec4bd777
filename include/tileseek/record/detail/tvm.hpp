#pragma once
// What the records of TVM's tuners have in common: error numbers and costs.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <tileseek/core/format.hpp>
#include <tileseek/core/measurement.hpp>
#include <tileseek/record/detail/json_text.hpp>

namespace tileseek::detail {

/// Costs of failures start here: AutoTVM writes 1e9, the others 1e10.
inline constexpr double tvm_no_time = 1e9;

/// How an error number reads, and what it is here.
struct tvm_error {
  const char* name;
  status outcome;
};
inline constexpr tvm_error tvm_errors[] = {
    {"no error", status::ok},
    {"instantiation error", status::build_failed},
    {"compile error on the host", status::build_failed},
    {"compile error on the device", status::build_failed},
    {"run-time error on the device", status::run_failed},
    {"wrong answer", status::wrong_result},
    {"build time-out", status::timed_out},
    {"run time-out", status::timed_out},
    {"unknown error", status::run_failed},
};

/// The costs of a measurement that TVM can hold; none for a failure.
[[nodiscard]] inline std::vector<double> tvm_costs(const measurement& m) {
  std::vector<double> usable;
  if (m.outcome == status::ok || m.outcome == status::rejected_early)
    for (const double s : m.seconds)
      if (s > 0 && s < tvm_no_time) usable.push_back(s);
  return usable;
}

/// The list of costs and the error number, as text. @param none  the cost of a failure
[[nodiscard]] inline std::string tvm_result_text(const measurement& m, const char* none) {
  const auto costs = tvm_costs(m);
  if (!costs.empty()) return json_list(costs) + ", 0";
  switch (m.outcome) {
    case status::build_failed: return concat({"[", none, "], 2"});
    case status::launch_failed:
    case status::run_failed: return concat({"[", none, "], 4"});
    case status::wrong_result: return concat({"[", none, "], 5"});
    case status::timed_out: return concat({"[", none, "], 7"});
    case status::ok:
    case status::rejected_early:
    case status::crashed: break;
  }
  return concat({"[", none, "], 8"});
}

/// What costs (in seconds) and an error number mean.
[[nodiscard]] inline measurement tvm_result(std::vector<double> costs, std::int64_t error) {
  if (error != 0) {
    const auto& e = tvm_errors[error > 0 && error < 8 ? error : 8];
    return failure(e.outcome, e.name);
  }
  for (const double c : costs)
    if (!(c > 0 && c < tvm_no_time)) return failure(status::run_failed, concat({"a recorded cost of ", c, " s"}));
  if (costs.empty()) return failure(status::run_failed, "no cost recorded");
  return {status::ok, std::move(costs), {}};
}

/// Steps over [costs, error, all_cost, timestamp].
inline measurement read_tvm_result(json_cursor& c) {
  std::vector<double> costs;
  std::int64_t error = 0;
  std::size_t items = 0;
  c.list("a result, [costs, error, all_cost, timestamp]", [&](std::size_t i) {
    ++items;
    if (i == 0)
      costs = c.numbers("costs");
    else if (i == 1)
      error = c.integer("an error number");
    else
      c.skip();
  });
  if (items < 2) c.expected("costs and an error number before here");
  return tvm_result(std::move(costs), error);
}

}  // namespace tileseek::detail
