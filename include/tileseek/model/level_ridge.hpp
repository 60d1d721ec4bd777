#pragma once
// Ridge regression on a quadratic of the inputs and, beside it, a free effect for each value an input takes. A
// parameter of a kernel takes a handful of values, and one of them often stands out for a reason that no smooth curve
// has: a block of 32 threads is a warp, a tile of 3 does not divide. With the free effects, dynamic gradient descent
// needs half the measurements that it needs with the quadratic alone on recorded convolution kernels, and the model
// costs less than a millisecond to fit.
//
// Hoerl and Kennard, "Ridge regression: biased estimation for nonorthogonal problems", Technometrics 1970.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include <tileseek/model/cost_model.hpp>
#include <tileseek/model/detail/text.hpp>

namespace tileseek {

struct level_ridge_options {
  /// Of the squared coefficients, in samples; above 0. Between 0.1 and 1 it makes no difference that could be measured.
  double penalty = 0.3;
  /// An input with 3 to so many different values gets an effect for each; with 2, the straight line has them already.
  std::size_t most_levels = 16;
  /// Products of two inputs are left out where there would be more columns than that (about 90 inputs).
  std::size_t largest_expansion = 4096;
};

/// A cost model that knows its deviation and takes weights. Inputs within [0, 1], as a feature_map gives them, are
/// taken as they are; others are scaled by the range of the samples.
class level_ridge {
 public:
  /// @throws std::invalid_argument  the penalty is not a positive number
  explicit level_ridge(level_ridge_options options = {}) : options_(options) {
    if (!(options.penalty > 0) || !std::isfinite(options.penalty))
      throw std::invalid_argument("level_ridge: penalty is " + std::to_string(options.penalty) +
                                  "; give a positive number, such as 0.3");
  }

  void fit(const Eigen::MatrixXd& x, const Eigen::VectorXd& y) { fit(x, y, Eigen::VectorXd::Ones(y.size())); }

  /// @pre weights[i] > 0
  void fit(const Eigen::MatrixXd& x, const Eigen::VectorXd& y, const Eigen::VectorXd& weights) {
    if (x.rows() != y.size() || weights.size() != y.size())
      throw std::invalid_argument("level_ridge: " + std::to_string(x.rows()) + " rows, " + std::to_string(y.size()) +
                                  " labels and " + std::to_string(weights.size()) +
                                  " weights; give one label and one weight a row");
    *this = level_ridge(options_);
    if (y.size() == 0) return;
    learn_columns(x);
    total_ = weights.sum();
    mean_ = weights.dot(y) / total_;
    Eigen::MatrixXd phi = expand(x);
    if (phi.cols() == 0) return;
    centre_ = (weights.transpose() * phi).transpose() / total_;
    phi.rowwise() -= centre_.transpose();
    const Eigen::VectorXd root = weights.cwiseSqrt();
    const Eigen::MatrixXd a = root.asDiagonal() * phi;
    const Eigen::VectorXd b = root.cwiseProduct((y.array() - mean_).matrix());

    // In the space of the columns or of the samples, whichever is smaller.
    const bool primal = a.cols() <= a.rows();
    const Eigen::Index n = std::min(a.rows(), a.cols());
    Eigen::MatrixXd gram = Eigen::MatrixXd::Zero(n, n);
    gram.selfadjointView<Eigen::Lower>().rankUpdate(primal ? Eigen::MatrixXd(a.transpose()) : a);
    gram.diagonal().array() += options_.penalty + 1e-14 * gram.diagonal().maxCoeff();  // the latter for a tiny penalty
    const Eigen::LLT<Eigen::MatrixXd, Eigen::Lower> llt(gram);
    coefficients_ =
        primal ? Eigen::VectorXd(llt.solve(a.transpose() * b)) : Eigen::VectorXd(a.transpose() * llt.solve(b));
    factor_ = llt.matrixL();
    if (!primal) rows_ = a;
    noise_ = std::sqrt((b - a * coefficients_).squaredNorm() / total_);
  }

  [[nodiscard]] Eigen::VectorXd predict(const Eigen::MatrixXd& x) const { return evaluate(x, false).mean; }

  /// The deviation is that of the Bayesian linear model with this penalty as prior.
  [[nodiscard]] prediction predict_with_deviation(const Eigen::MatrixXd& x) const { return evaluate(x, true); }

  /// The fitted model as text that `load` reads back to equal predictions.
  [[nodiscard]] std::string save() const {
    detail::text_writer out("tileseek-level-ridge", 1);
    out.add(options_.penalty);
    out.add(options_.most_levels);
    out.add(options_.largest_expansion);
    out.add(products_);
    for (const double v : {mean_, noise_, total_}) out.add(v);
    out.line();
    out.add(low_);
    out.add(high_);
    for (const auto& l : levels_) out.add(l);
    out.add(centre_);
    out.add(coefficients_);
    out.add(factor_);
    out.add(rows_);
    return std::move(out).take();
  }

  /// @throws std::invalid_argument  the text is damaged, or of another model or version
  [[nodiscard]] static level_ridge load(std::string_view text) {
    detail::text_reader in(text, "tileseek-level-ridge", 1);
    level_ridge_options options;
    options.penalty = in.number<double>();
    options.most_levels = in.number<std::size_t>();
    options.largest_expansion = in.number<std::size_t>();
    level_ridge out(options);
    out.products_ = in.number<bool>();
    for (double* v : {&out.mean_, &out.noise_, &out.total_}) *v = in.number<double>();
    out.low_ = in.vector();
    out.high_ = in.vector();
    in.require(out.low_.size() == out.high_.size(), "a range for each input");
    for (Eigen::Index c = 0; c < out.low_.size(); ++c) out.levels_.push_back(in.numbers<double>());
    out.centre_ = in.vector();
    out.coefficients_ = in.vector();
    out.factor_ = in.matrix();
    out.rows_ = in.matrix();
    const Eigen::Index p = out.coefficients_.size();
    in.require(p == 0 || (p == out.width() && p == out.centre_.size()), "a coefficient for each column");
    in.require(p == 0 || out.factor_.rows() == (out.rows_.size() == 0 ? p : out.rows_.rows()),
               "a factor of another size");
    in.require(out.factor_.rows() == out.factor_.cols(), "a factor that is not square");
    in.require(out.rows_.size() == 0 || out.rows_.cols() == p, "rows of another width");
    in.finish();
    return out;
  }

 private:
  void learn_columns(const Eigen::MatrixXd& x) {
    const Eigen::Index f = x.cols();
    products_ = static_cast<std::size_t>(f * (f + 3) / 2) <= options_.largest_expansion;
    low_.resize(f);
    high_.resize(f);
    levels_.assign(static_cast<std::size_t>(f), {});
    for (Eigen::Index c = 0; c < f; ++c) {
      low_[c] = std::min(0.0, x.col(c).minCoeff());
      high_[c] = std::max(1.0, x.col(c).maxCoeff());
      auto& values = levels_[static_cast<std::size_t>(c)];
      values.assign(x.col(c).data(), x.col(c).data() + x.rows());
      std::sort(values.begin(), values.end());
      values.erase(std::unique(values.begin(), values.end()), values.end());
      if (values.size() < 3 || values.size() > options_.most_levels) values.clear();
    }
  }

  [[nodiscard]] Eigen::Index width() const noexcept {
    const Eigen::Index f = low_.size();
    Eigen::Index w = products_ ? f * (f + 3) / 2 : 2 * f;
    for (const auto& l : levels_) w += static_cast<Eigen::Index>(l.size());
    return w;
  }

  /// Inputs in [-1, 1], their squares, products of two, and a 0/1 column for each level.
  [[nodiscard]] Eigen::MatrixXd expand(const Eigen::MatrixXd& x) const {
    const Eigen::Index f = x.cols();
    Eigen::MatrixXd out(x.rows(), width());
    for (Eigen::Index c = 0; c < f; ++c) {
      const double middle = low_[c] / 2 + high_[c] / 2;
      const double half = high_[c] / 2 - low_[c] / 2;  // halves first: the range itself may overflow
      out.col(c) = ((x.col(c).array() - middle) / half).cwiseMax(-1e3).cwiseMin(1e3);
    }
    out.middleCols(f, f) = out.leftCols(f).cwiseAbs2();
    Eigen::Index next = 2 * f;
    for (Eigen::Index i = 0; products_ && i < f; ++i)
      for (Eigen::Index j = i + 1; j < f; ++j) out.col(next++) = out.col(i).cwiseProduct(out.col(j));
    for (Eigen::Index c = 0; c < f; ++c)
      for (const double level : levels_[static_cast<std::size_t>(c)])
        out.col(next++) = (x.col(c).array() == level).cast<double>();
    return out;
  }

  [[nodiscard]] prediction evaluate(const Eigen::MatrixXd& x, bool with_deviation) const {
    prediction out{Eigen::VectorXd::Constant(x.rows(), mean_), Eigen::VectorXd::Zero(x.rows())};
    if (coefficients_.size() == 0) return out;
    if (x.cols() != low_.size())
      throw std::invalid_argument("level_ridge: fitted to " + std::to_string(low_.size()) + " columns, asked about " +
                                  std::to_string(x.cols()) + "; encode both with the same feature_map");
    constexpr Eigen::Index chunk = 512;  // rows expanded at a time, so that memory stays bounded
    for (Eigen::Index from = 0; from < x.rows(); from += chunk) {
      const Eigen::Index n = std::min(chunk, x.rows() - from);
      Eigen::MatrixXd phi = expand(x.middleRows(from, n));
      phi.rowwise() -= centre_.transpose();
      out.mean.segment(from, n) += phi * coefficients_;
      if (!with_deviation) continue;
      const auto lower = factor_.triangularView<Eigen::Lower>();
      Eigen::VectorXd variance;
      if (rows_.size() == 0) {
        variance = lower.solve(phi.transpose()).colwise().squaredNorm();
      } else {  // the same by Woodbury's identity, in the space of the samples
        const Eigen::MatrixXd v = lower.solve(rows_ * phi.transpose());
        variance = (phi.rowwise().squaredNorm() - v.colwise().squaredNorm().transpose()) / options_.penalty;
      }
      out.deviation.segment(from, n) = noise_ * (variance.array().cwiseMax(0.0) + 1 / total_).sqrt();
    }
    return out;
  }

  level_ridge_options options_;
  bool products_ = false;
  double mean_ = 0;   ///< of the labels
  double noise_ = 0;  ///< deviation of the residuals
  double total_ = 1;  ///< sum of the weights
  Eigen::VectorXd low_;
  Eigen::VectorXd high_;
  std::vector<std::vector<double>> levels_;  ///< of each input, ascending; none for too few or too many
  Eigen::VectorXd centre_;                   ///< mean of each column over the samples
  Eigen::VectorXd coefficients_;             ///< empty when the mean is the answer
  Eigen::MatrixXd factor_;                   ///< lower Cholesky factor of A'A + penalty, or of AA' + penalty
  Eigen::MatrixXd rows_;                     ///< A, when the factor is in the space of the samples
};

static_assert(UncertainCostModel<level_ridge> && WeightedCostModel<level_ridge>);

}  // namespace tileseek
