#pragma once
// The options that both Gaussian processes share (gaussian_process for rows of numbers, lattice_process for points).

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tileseek {

/// How the correlations along the coordinates combine into that of two points.
enum class kernel_product {
  anova,  ///< the product of (1 + k) / 2: each coordinate matters alone and together with any others
  plain,  ///< the product of k: two points are alike only if they are alike in every coordinate
};

struct gaussian_process_options {
  kernel_product product = kernel_product::anova;  ///< plain took 1.4 to 1.6 times more evaluations on recorded kernels
  bool fit_parameters = true;  ///< lengths and noise by marginal likelihood; otherwise they stay at their start
  double start_length = 0.5;  ///< correlation length along each coordinate, whose values lie in [0, 1]; also the median
                              ///< of its log-normal prior
  double length_spread = 0.5;  ///< deviation of ln length in its prior
  double shortest_length = 0.03;
  double longest_length = 20;
  double start_noise = 0.01;  ///< variance of the noise over that of the function; also the median of its prior
  double noise_spread = 2;    ///< deviation of ln noise in its prior
  double least_noise = 1e-4;  ///< keeps the matrix well conditioned in single precision
  double most_noise = 0.5;
  double length_step = 1.8;       ///< factor a length is tried at, up and down, twice at most
  double noise_step = 3;          ///< factor the noise is tried at
  std::size_t fit_samples = 120;  ///< parameters are judged on so many observations: half the best, half random
  double growth = 0.15;           ///< share by which the data must grow before parameters are judged again
  std::size_t most_active = 480;  ///< observations in the matrix; when reached, the oldest give way: see kept
  std::size_t kept = 160;         ///< of the best, and as many random others, stay when there are too many
  std::uint64_t seed = 1;         ///< of the order in which parameters are tried, and of the random choices above
};

/// What is chosen by marginal likelihood.
struct kernel_parameters {
  std::vector<double> lengths;  ///< per coordinate
  double noise = 0.01;          ///< over the variance of the function

  [[nodiscard]] friend bool operator==(const kernel_parameters&, const kernel_parameters&) = default;
};

}  // namespace tileseek
