#pragma once
// Columns with mean 0 and variance 1, whatever they were: huge, constant, or absent.

#include <algorithm>
#include <cmath>

#include <Eigen/Core>

#include <tileseek/model/detail/text.hpp>

namespace tileseek::detail {

/// For each column a shift and a factor: (x - centre) * factor. A column that does not vary becomes 0.
struct standardisation {
  Eigen::VectorXd centre;
  Eigen::VectorXd factor;

  /// Weighted mean and deviation of each column. Sums are taken relative to the largest entry, so that nothing
  /// overflows.
  [[nodiscard]] static standardisation of(const Eigen::MatrixXd& x, const Eigen::VectorXd& weights) {
    standardisation s{Eigen::VectorXd::Zero(x.cols()), Eigen::VectorXd::Zero(x.cols())};
    const double total = weights.sum();
    if (!(total > 0)) return s;
    for (Eigen::Index c = 0; c < x.cols(); ++c) {
      const double largest = x.col(c).cwiseAbs().maxCoeff();
      if (!(largest > 0)) continue;
      const Eigen::VectorXd unit = x.col(c) / largest;
      const double mean = unit.dot(weights) / total;
      const double deviation = std::sqrt((unit.array() - mean).square().matrix().dot(weights) / total);
      s.centre[c] = mean * largest;
      if (deviation > 1e-9) s.factor[c] = 1 / deviation / largest;
    }
    return s;
  }

  /// @post each entry within +-1e6: a row far outside what was learnt must not overflow a square
  [[nodiscard]] Eigen::MatrixXd apply(const Eigen::MatrixXd& x) const {
    Eigen::MatrixXd z(x.rows(), x.cols());
    for (Eigen::Index c = 0; c < x.cols(); ++c)
      z.col(c) = ((x.col(c).array() - centre[c]) * factor[c]).cwiseMin(1e6).cwiseMax(-1e6);
    return z;
  }

  void save(text_writer& out) const {
    out.add(centre);
    out.add(factor);
  }

  [[nodiscard]] static standardisation load(text_reader& in) {
    standardisation s;
    s.centre = in.vector();
    s.factor = in.vector();
    in.require(s.centre.size() == s.factor.size(), "a centre and a factor for each column");
    return s;
  }
};

}  // namespace tileseek::detail
