#pragma once
// From measured costs to what a model learns. Times of kernels spread over orders of magnitude and only the fast end
// matters: the logarithm makes factors equal, and a cap keeps the model from spending itself on how slow the slow ones
// are.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include <Eigen/Core>

namespace tileseek {

/// Labels of trials, and the cap they share.
struct capped_labels {
  Eigen::VectorXd y;  ///< min(ln seconds, cap); the cap for a failure
  double cap = 0;     ///< ln of seconds

  /// The label of one more cost, without moving the cap.
  [[nodiscard]] static double of(double seconds, double cap) {
    if (!std::isfinite(seconds)) return cap;
    return std::min(std::log(std::max(seconds, 1e-15)),
                    cap);  // no kernel runs for less than a femtosecond: 0 stays finite
  }
};

/// Labels for the costs so far, in seconds; a failure's cost is infinite (or not a number). The cap is the q-quantile
/// of the successes' logarithms: as good as any setting of q between a half and 1, and the failures then look slow, not
/// absurd. Without a success all labels are 0.
/// @param q  share of the successes that keep their own label; 1 caps the failures alone
[[nodiscard]] inline capped_labels label(std::span<const double> seconds, double q = 0.75) {
  std::vector<double> successes;
  for (const double s : seconds)
    if (std::isfinite(s)) successes.push_back(std::log(std::max(s, 1e-15)));
  capped_labels out;
  if (!successes.empty()) {
    const auto last = static_cast<double>(successes.size() - 1);
    const auto place = std::min(last, std::floor(q * static_cast<double>(successes.size())));
    const auto at = successes.begin() + static_cast<std::ptrdiff_t>(std::max(0.0, place));
    std::nth_element(successes.begin(), at, successes.end());
    out.cap = *at;
  }
  out.y.resize(static_cast<Eigen::Index>(seconds.size()));
  for (std::size_t i = 0; i < seconds.size(); ++i)
    out.y[static_cast<Eigen::Index>(i)] = capped_labels::of(seconds[i], out.cap);
  return out;
}

}  // namespace tileseek
