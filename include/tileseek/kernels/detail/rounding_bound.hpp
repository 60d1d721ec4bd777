#pragma once
// How far rounding can take a sum of products of floats from the truth.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>

namespace tileseek::kernels::detail {

/// A sum of k products in floats is off by at most gamma_k * sum_p |a_p| |b_p|, gamma_k = k u / (1 - k u), u = 2^-24
/// (N. Higham: Accuracy and stability of numerical algorithms, 2nd ed. 2002, eq. 3.13), whatever the order of summation.
/// Here k + 1 instead of k leaves room for the reference's own rounding, the sum is bounded by the norms of a and b
/// (Cauchy-Schwarz), and k times the smallest float is added for underflow. A missing product is of the order of
/// norm * norm / k, so it shows for k up to about sqrt(1 / u) = 4096.
class rounding_bound {
 public:
  /// @throws std::invalid_argument  k is so large that the bound says nothing; `what` says what k is
  rounding_bound(const char* what, std::ptrdiff_t k) {
    const double roundings =
        (static_cast<double>(k) + 1) * 0.5 * static_cast<double>(std::numeric_limits<float>::epsilon());
    if (roundings >= 1)
      throw std::invalid_argument(std::string(what) + " is " + std::to_string(k) + ", floats cannot sum that many");
    gamma_ = roundings / (1 - roundings);
    underflow_ = static_cast<double>(k) * static_cast<double>(std::numeric_limits<float>::denorm_min());
  }

  /// The larger of `worst` and this error in units of the bound; infinite once an error is no number.
  /// @param norms  of a times b's
  [[nodiscard]] double larger(double worst, double error, double norms) const {
    if (!std::isfinite(error)) return std::numeric_limits<double>::infinity();
    return std::max(worst, std::abs(error) / (gamma_ * norms + underflow_));
  }

 private:
  double gamma_;
  double underflow_;
};

}  // namespace tileseek::kernels::detail
