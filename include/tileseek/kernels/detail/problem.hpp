#pragma once
// What the CPU kernels' problems share: random operands, and a result that is checked before it is timed.

#include <cstdint>
#include <initializer_list>
#include <limits>

#include <tileseek/core/format.hpp>
#include <tileseek/core/measurement.hpp>
#include <tileseek/core/rng.hpp>
#include <tileseek/kernels/detail/micro_kernel.hpp>
#include <tileseek/measure/time.hpp>

namespace tileseek::kernels::detail {

/// Fills the operands, uniform in [-1, 1).
inline void randomise(std::initializer_list<floats*> operands, std::uint64_t seed) {
  rng random(seed);
  for (auto* const operand : operands)
    for (float& x : *operand) x = static_cast<float>(2 * random.uniform() - 1);
}

/// `run(out)` computes into the result; `error_of()` is its error in units of what rounding can explain, as of
/// matmul_error().
template <class Run, class Error>
[[nodiscard]] measurement check_and_time(floats& result, const Run& run, const Error& error_of,
                                         const timing_limits& limits) {
  result.assign(result.size(), std::numeric_limits<float>::quiet_NaN());  // so that nothing left by another run passes
  run(result.data());
  if (const double error = error_of(); !(error <= 1))
    return failure(status::wrong_result,
                   tileseek::detail::concat({"the error is ", fixed(error, 2), " times what rounding explains"}));
  return time([&] { run(result.data()); }, limits);
}

}  // namespace tileseek::kernels::detail
