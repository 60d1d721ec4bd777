#pragma once
// The covariance of the Gaussian processes and the choice of its parameters: what gaussian_process and lattice_process
// share.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <Eigen/Core>

#include <tileseek/core/rng.hpp>
#include <tileseek/model/detail/triangle.hpp>
#include <tileseek/model/gaussian_process_options.hpp>

namespace tileseek {

namespace detail {

inline void validate(const gaussian_process_options& o) {
  const auto need = [](bool holds, const char* name, double value, const char* remedy) {
    if (!holds)
      throw std::invalid_argument(std::string("gaussian process: ") + name + " is " + std::to_string(value) +
                                  "; give " + remedy);
  };
  const auto positive = [&](double v, const char* name) {
    need(v > 0 && std::isfinite(v), name, v, "a positive number");
  };
  positive(o.start_length, "start_length");
  positive(o.length_spread, "length_spread");
  positive(o.shortest_length, "shortest_length");
  positive(o.longest_length, "longest_length");
  positive(o.start_noise, "start_noise");
  positive(o.noise_spread, "noise_spread");
  need(o.least_noise >= 1e-6, "least_noise", o.least_noise, "at least 1e-6");
  positive(o.most_noise, "most_noise");
  need(o.length_step > 1, "length_step", o.length_step, "a factor above 1");
  need(o.noise_step > 1, "noise_step", o.noise_step, "a factor above 1");
  need(o.fit_samples >= 4, "fit_samples", static_cast<double>(o.fit_samples), "at least 4");
  need(o.growth >= 0, "growth", o.growth, "0 (at each observation) or more");
  need(o.kept >= 1, "kept", static_cast<double>(o.kept), "at least 1");
  need(o.most_active > 2 * o.kept, "most_active", static_cast<double>(o.most_active), "more than twice kept");
}

/// Matern's correlation with smoothness 5/2, of a distance in lengths.
[[nodiscard]] inline double matern52(double r) {
  const double s = std::sqrt(5.0) * r;
  return (1 + s + s * s / 3) * std::exp(-s);
}

/// The correlation that one coordinate contributes. Never 0, so that factors can be divided out.
[[nodiscard]] inline double correlation(double distance, double length, kernel_product product) {
  const double k = matern52(distance / length);
  return product == kernel_product::anova ? (1 + k) / 2 : std::max(k, 1e-30);
}

/// One coordinate: where its values lie; an unordered one has distance 1 between any two.
struct kernel_axis {
  std::vector<double> positions;
  bool ordered = true;

  [[nodiscard]] double distance(std::size_t a, std::size_t b) const {
    return ordered ? std::fabs(positions[a] - positions[b]) : a == b ? 0.0 : 1.0;
  }
  [[nodiscard]] Eigen::Index size() const noexcept { return static_cast<Eigen::Index>(positions.size()); }

  /// The correlations between all pairs of values.
  [[nodiscard]] Eigen::MatrixXd table(double length, kernel_product product) const {
    Eigen::MatrixXd t(size(), size());
    for (std::size_t a = 0; a < positions.size(); ++a)
      for (std::size_t b = 0; b <= a; ++b) {
        const auto i = static_cast<Eigen::Index>(a);
        const auto j = static_cast<Eigen::Index>(b);
        t(i, j) = t(j, i) = correlation(distance(a, b), length, product);
      }
    return t;
  }
};

/// Points as indices of values, a row per point.
using level_matrix = Eigen::Matrix<std::uint16_t, Eigen::Dynamic, Eigen::Dynamic>;

/// The product of the coordinates' correlations for all pairs of points; the lower triangle alone is filled.
[[nodiscard]] inline row_matrix correlations(std::span<const kernel_axis> axes, const level_matrix& at,
                                             const kernel_parameters& parameters, kernel_product product) {
  const Eigen::Index n = at.rows();
  row_matrix k = row_matrix::Ones(n, n);
  for (std::size_t d = 0; d < axes.size(); ++d) {
    if (axes[d].size() < 2) continue;
    const Eigen::MatrixXd t = axes[d].table(parameters.lengths[d], product);
    const auto level = at.col(static_cast<Eigen::Index>(d));
    for (Eigen::Index i = 0; i < n; ++i) {
      const double* column = t.col(level[i]).data();
      for (Eigen::Index j = 0; j <= i; ++j) k(i, j) *= column[level[j]];
    }
  }
  return k;
}

/// The logarithm of the likelihood of y with mean and variance at their best (up to a constant). `k` holds correlations
/// in its lower triangle and is overwritten.
[[nodiscard]] inline double log_likelihood(row_matrix& k, const Eigen::VectorXd& y, const Eigen::VectorXd& noise_share,
                                           double noise) {
  const Eigen::Index n = y.size();
  k.diagonal() += noise * noise_share;
  if (!cholesky(k)) return -std::numeric_limits<double>::max();
  Eigen::VectorXd zy = y;
  Eigen::VectorXd z1 = Eigen::VectorXd::Ones(n);
  solve_lower(k, n, zy.data());
  solve_lower(k, n, z1.data());
  const double mean = z1.dot(zy) / z1.squaredNorm();
  double squares = 0;
  double logarithms = 0;
  for (Eigen::Index i = 0; i < n; ++i) {
    squares += (zy[i] - mean * z1[i]) * (zy[i] - mean * z1[i]);
    logarithms += std::log(k(i, i));
  }
  return -0.5 * static_cast<double>(n) * std::log(squares / static_cast<double>(n) + 1e-12) - logarithms;
}

/// The logarithm of the prior of the parameters, up to a constant.
[[nodiscard]] inline double log_prior(const kernel_parameters& p, std::span<const kernel_axis> axes,
                                      const gaussian_process_options& o) {
  double sum = 0;
  for (std::size_t d = 0; d < axes.size(); ++d) {
    if (axes[d].size() < 2) continue;
    const double t = std::log(p.lengths[d] / o.start_length) / o.length_spread;
    sum -= t * t / 2;
  }
  const double t = std::log(p.noise / o.start_noise) / o.noise_spread;
  return sum - t * t / 2;
}

/// What a choice of parameters is worth on these observations.
[[nodiscard]] inline double log_posterior(const kernel_parameters& p, std::span<const kernel_axis> axes,
                                          const level_matrix& at, const Eigen::VectorXd& y,
                                          const Eigen::VectorXd& noise_share, const gaussian_process_options& o) {
  row_matrix k = correlations(axes, at, p, o.product);
  return log_likelihood(k, y, noise_share, p.noise) + log_prior(p, axes, o);
}

/// Improves the parameters by one sweep over them in random order, each tried larger and smaller, as far as the
/// posterior rises. A sweep per 15 % more data follows the data as well as a full maximisation, at a fraction of its
/// cost.
/// @post log_posterior(result) >= log_posterior(p)
[[nodiscard]] inline kernel_parameters sweep(kernel_parameters p, std::span<const kernel_axis> axes,
                                             const level_matrix& at, const Eigen::VectorXd& y,
                                             const Eigen::VectorXd& noise_share, const gaussian_process_options& o,
                                             rng& random) {
  constexpr double gain = 1e-9;  // what counts as a rise, against rounding
  row_matrix k = correlations(axes, at, p, o.product);
  row_matrix scratch = k;
  double current = log_likelihood(scratch, y, noise_share, p.noise) + log_prior(p, axes, o);
  std::vector<std::size_t> order;
  for (std::size_t d = 0; d < axes.size(); ++d)
    if (axes[d].size() > 1) order.push_back(d);
  order.push_back(axes.size());  // the noise
  random.shuffle(std::span<std::size_t>(order));

  const auto try_noise = [&](double factor) {
    kernel_parameters q = p;
    q.noise = std::clamp(p.noise * factor, o.least_noise, o.most_noise);
    if (q.noise == p.noise) return false;
    scratch = k;
    const double value = log_likelihood(scratch, y, noise_share, q.noise) + log_prior(q, axes, o);
    if (!(value > current + gain)) return false;
    current = value;
    p = q;
    return true;
  };
  row_matrix changed = k;
  const auto try_length = [&](std::size_t d, double factor) {
    kernel_parameters q = p;
    q.lengths[d] = std::clamp(p.lengths[d] * factor, o.shortest_length, o.longest_length);
    if (q.lengths[d] == p.lengths[d]) return false;
    // The other coordinates' factors stay: multiply by the new table over the old.
    Eigen::MatrixXd ratio = axes[d].table(q.lengths[d], o.product);
    ratio.array() /= axes[d].table(p.lengths[d], o.product).array();
    const auto level = at.col(static_cast<Eigen::Index>(d));
    for (Eigen::Index i = 0; i < k.rows(); ++i) {
      const double* column = ratio.col(level[i]).data();
      for (Eigen::Index j = 0; j <= i; ++j) changed(i, j) = k(i, j) * column[level[j]];
    }
    scratch = changed;
    const double value = log_likelihood(scratch, y, noise_share, q.noise) + log_prior(q, axes, o);
    if (!(value > current + gain)) return false;
    current = value;
    p = std::move(q);
    k.swap(changed);
    return true;
  };
  for (const std::size_t d : order) {
    if (d == axes.size()) {
      if (!try_noise(o.noise_step)) (void)try_noise(1 / o.noise_step);
      continue;
    }
    for (const double factor : {o.length_step, 1 / o.length_step})
      if (try_length(d, factor)) {
        (void)try_length(d, factor);
        break;
      }
  }
  return p;
}

/// `best` places of the smallest labels and `others` random ones of the rest; all when there are no more. Ascending.
[[nodiscard]] inline std::vector<std::size_t> best_and_random(const Eigen::VectorXd& y, std::size_t best,
                                                              std::size_t others, rng& random) {
  std::vector<std::size_t> places(static_cast<std::size_t>(y.size()));
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
  if (places.size() <= best + others) return places;
  std::sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
    const double ya = y[static_cast<Eigen::Index>(a)];
    const double yb = y[static_cast<Eigen::Index>(b)];
    return ya != yb ? ya < yb : a < b;
  });
  random.shuffle(std::span<std::size_t>(places).subspan(best));
  places.resize(best + others);
  std::sort(places.begin(), places.end());
  return places;
}

}  // namespace detail

}  // namespace tileseek
