#pragma once
// Ridge regression on a quadratic of the inputs. The quickest model to fit and, when few samples are there, a good one:
// a kernel's time near its best is close to a bowl in the logarithms of its tile sizes, and products of two inputs are
// what shared memory and registers depend on.
//
// Hoerl and Kennard, "Ridge regression: biased estimation for nonorthogonal problems", Technometrics 1970. The weight
// of the penalty is the one with the least leave-one-out error, in closed form (Allen's PRESS): the error left out is
// the residual divided by one minus the leverage.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include <tileseek/model/cost_model.hpp>
#include <tileseek/model/detail/standardise.hpp>
#include <tileseek/model/detail/text.hpp>

namespace tileseek {

struct ridge_options {
  bool quadratic = true;   ///< squares and products of two inputs beside the inputs
  double curvature = 0.2;  ///< expected size of a square's or product's coefficient over that of an input's, all of
                           ///< them standardised. On logs of other tuners 0.1 to 0.3 rank best, and 1 is
                           ///< worse than no products where samples are few
  std::size_t largest_expansion = 4096;  ///< columns; products are left out where there would be more (90 inputs)
  double penalty = 0;                    ///< of standardised columns, in samples; 0: chosen by leave-one-out
  std::size_t selection_samples = 200;   ///< penalties are compared on at most so many samples, evenly spaced: more
                                         ///< change the choice little and cost their cube
};

/// Ridge regression with a chosen penalty. A cost model that knows its deviation and takes weights.
class ridge {
 public:
  explicit ridge(ridge_options options = {}) : options_(options) {
    if (!(options.penalty >= 0) || !std::isfinite(options.penalty))
      throw std::invalid_argument("ridge: penalty is " + std::to_string(options.penalty) +
                                  "; give 0 (chosen) or a positive number");
    if (!(options.curvature > 0) || !std::isfinite(options.curvature))
      throw std::invalid_argument("ridge: curvature is " + std::to_string(options.curvature) +
                                  "; give a positive number (or quadratic = false)");
    if (options.selection_samples < 2)
      throw std::invalid_argument("ridge: selection_samples is " + std::to_string(options.selection_samples) +
                                  "; give at least 2");
  }

  void fit(const Eigen::MatrixXd& x, const Eigen::VectorXd& y) { fit(x, y, Eigen::VectorXd::Ones(y.size())); }

  /// @pre weights[i] > 0
  void fit(const Eigen::MatrixXd& x, const Eigen::VectorXd& y, const Eigen::VectorXd& weights) {
    if (x.rows() != y.size() || weights.size() != y.size())
      throw std::invalid_argument("ridge: " + std::to_string(x.rows()) + " rows, " + std::to_string(y.size()) +
                                  " labels and " + std::to_string(weights.size()) +
                                  " weights; give one label and one weight a row");
    *this = ridge(options_);
    if (y.size() == 0) return;
    total_ = weights.sum();
    products_ =
        options_.quadratic && static_cast<std::size_t>(x.cols() * (x.cols() + 3) / 2) <= options_.largest_expansion;
    inputs_ = detail::standardisation::of(x, weights);
    const Eigen::MatrixXd raw = expand(inputs_.apply(x));
    terms_ = detail::standardisation::of(raw, weights);
    terms_.factor.tail(raw.cols() - x.cols()) *= options_.curvature;  // smaller columns are dearer to use
    const Eigen::MatrixXd phi = terms_.apply(raw);

    const auto label = detail::standardisation::of(y, weights);
    mean_ = label.centre[0];
    scale_ = label.factor[0] > 0 ? 1 / label.factor[0] : 0;
    if (scale_ == 0 || phi.cols() == 0) return;  // equal labels, or nothing to tell rows apart by: the mean
    const Eigen::VectorXd root = weights.cwiseSqrt();
    const Eigen::MatrixXd a = root.asDiagonal() * phi;
    const Eigen::VectorXd b = root.cwiseProduct(label.apply(y).col(0));

    choose(a, b, weights);
    solution s = solve(a, b, penalty_);
    coefficients_ = std::move(s.coefficients);
    factor_ = std::move(s.factor);
    if (!s.primal) rows_ = a;
  }

  [[nodiscard]] Eigen::VectorXd predict(const Eigen::MatrixXd& x) const {
    Eigen::VectorXd out = Eigen::VectorXd::Constant(x.rows(), mean_);
    if (coefficients_.size() == 0) return out;
    check(x);
    // The quadratic is folded into one matrix: no expanded row is ever made.
    const Eigen::Index f = inputs_.centre.size();
    const Eigen::VectorXd slopes = coefficients_.cwiseProduct(terms_.factor);
    const Eigen::MatrixXd z = inputs_.apply(x);
    Eigen::VectorXd value = (z * slopes.head(f)).array() - slopes.dot(terms_.centre);
    if (options_.quadratic) {
      Eigen::MatrixXd form = slopes.segment(f, f).asDiagonal();
      Eigen::Index next = 2 * f;
      for (Eigen::Index i = 0; products_ && i < f; ++i)
        for (Eigen::Index j = i + 1; j < f; ++j) form(i, j) = slopes[next++];
      value += (z * form).cwiseProduct(z).rowwise().sum();
    }
    out += scale_ * value;
    return out;
  }

  /// The deviation is that of the Bayesian linear model with this penalty as prior.
  [[nodiscard]] prediction predict_with_deviation(const Eigen::MatrixXd& x) const {
    prediction out{predict(x), Eigen::VectorXd::Zero(x.rows())};
    if (coefficients_.size() == 0) return out;
    constexpr Eigen::Index chunk = 512;  // rows expanded at a time, so that memory stays bounded
    for (Eigen::Index from = 0; from < x.rows(); from += chunk) {
      const Eigen::Index n = std::min(chunk, x.rows() - from);
      const Eigen::MatrixXd phi = terms_.apply(expand(inputs_.apply(x.middleRows(from, n))));
      const auto lower = factor_.triangularView<Eigen::Lower>();
      Eigen::VectorXd variance;
      if (rows_.size() == 0) {
        variance = lower.solve(phi.transpose()).colwise().squaredNorm();
      } else {  // the same by Woodbury's identity, in the space of the samples
        const Eigen::MatrixXd v = lower.solve(rows_ * phi.transpose());
        variance = (phi.rowwise().squaredNorm() - v.colwise().squaredNorm().transpose()) / penalty_;
      }
      out.deviation.segment(from, n) = scale_ * noise_ * (variance.array().cwiseMax(0.0) + 1 / total_).sqrt();
    }
    return out;
  }

  /// The penalty in use, in samples; 0 before a fit.
  [[nodiscard]] double penalty() const noexcept { return penalty_; }

  /// The fitted model as text that `load` reads back to equal predictions.
  [[nodiscard]] std::string save() const {
    detail::text_writer out("tileseek-ridge", 1);
    out.add(options_.quadratic);
    out.add(options_.curvature);
    out.add(options_.largest_expansion);
    out.add(options_.penalty);
    out.add(options_.selection_samples);
    out.add(products_);
    out.line();
    for (const double v : {mean_, scale_, noise_, penalty_, total_}) out.add(v);
    out.line();
    inputs_.save(out);
    terms_.save(out);
    out.add(coefficients_);
    out.add(factor_);
    out.add(rows_);
    return std::move(out).take();
  }

  /// @throws std::invalid_argument  the text is damaged, or of another model or version
  [[nodiscard]] static ridge load(std::string_view text) {
    detail::text_reader in(text, "tileseek-ridge", 1);
    ridge_options options;
    options.quadratic = in.number<bool>();
    options.curvature = in.number<double>();
    options.largest_expansion = in.number<std::size_t>();
    options.penalty = in.number<double>();
    options.selection_samples = in.number<std::size_t>();
    ridge out(options);
    out.products_ = in.number<bool>();
    for (double* v : {&out.mean_, &out.scale_, &out.noise_, &out.penalty_, &out.total_}) *v = in.number<double>();
    out.inputs_ = detail::standardisation::load(in);
    out.terms_ = detail::standardisation::load(in);
    out.coefficients_ = in.vector();
    out.factor_ = in.matrix();
    out.rows_ = in.matrix();
    const Eigen::Index f = out.inputs_.centre.size();
    const Eigen::Index p = out.coefficients_.size();
    in.require(p == 0 || (p == out.width(f) && p == out.terms_.centre.size()), "a coefficient for each term");
    in.require(p == 0 || out.factor_.rows() == (out.rows_.size() == 0 ? p : out.rows_.rows()),
               "a factor of another size");
    in.require(out.factor_.rows() == out.factor_.cols(), "a factor that is not square");
    in.require(out.rows_.size() == 0 || out.rows_.cols() == p, "rows of another width");
    in.finish();
    return out;
  }

 private:
  struct solution {
    Eigen::VectorXd coefficients;
    Eigen::MatrixXd factor;     ///< lower Cholesky factor of A'A + penalty (primal) or AA' + penalty
    Eigen::VectorXd leverages;  ///< of each row, without the mean's share
    bool primal = true;
  };

  [[nodiscard]] Eigen::Index width(Eigen::Index f) const noexcept {
    return !options_.quadratic ? f : products_ ? f * (f + 3) / 2 : 2 * f;
  }

  void check(const Eigen::MatrixXd& x) const {
    if (x.cols() != inputs_.centre.size())
      throw std::invalid_argument("ridge: fitted to " + std::to_string(inputs_.centre.size()) +
                                  " columns, asked about " + std::to_string(x.cols()) +
                                  "; encode both with the same feature_map");
  }

  /// Inputs, squares, then products of two.
  [[nodiscard]] Eigen::MatrixXd expand(const Eigen::MatrixXd& z) const {
    const Eigen::Index f = z.cols();
    Eigen::MatrixXd out(z.rows(), width(f));
    out.leftCols(f) = z;
    if (!options_.quadratic) return out;
    out.middleCols(f, f) = z.cwiseAbs2();
    Eigen::Index next = 2 * f;
    for (Eigen::Index i = 0; products_ && i < f; ++i)
      for (Eigen::Index j = i + 1; j < f; ++j) out.col(next++) = z.col(i).cwiseProduct(z.col(j));
    return out;
  }

  /// Solves in the space of the terms or of the samples, whichever is smaller.
  [[nodiscard]] static solution solve(const Eigen::MatrixXd& a, const Eigen::VectorXd& b, double penalty,
                                      bool leverages = false) {
    solution out;
    out.primal = a.cols() <= a.rows();
    const Eigen::Index n = std::min(a.rows(), a.cols());
    Eigen::MatrixXd gram = Eigen::MatrixXd::Zero(n, n);
    gram.selfadjointView<Eigen::Lower>().rankUpdate(out.primal ? Eigen::MatrixXd(a.transpose()) : a);
    // Rounding of the products needs a floor of its own, or a tiny penalty leaves an indefinite matrix.
    gram.diagonal().array() += penalty + 1e-14 * gram.diagonal().maxCoeff();
    const Eigen::LLT<Eigen::MatrixXd, Eigen::Lower> llt(gram);
    out.factor = llt.matrixL();
    if (out.primal) {
      out.coefficients = llt.solve(a.transpose() * b);
      if (leverages) out.leverages = llt.matrixL().solve(a.transpose()).colwise().squaredNorm();
    } else {
      out.coefficients = a.transpose() * llt.solve(b);
      if (leverages) {  // A A' (A A' + p)^-1 = 1 - p (A A' + p)^-1
        const Eigen::MatrixXd inverse = llt.matrixL().solve(Eigen::MatrixXd::Identity(n, n));
        out.leverages = 1 - penalty * inverse.colwise().squaredNorm().transpose().array();
      }
    }
    return out;
  }

  /// Sets the penalty to the one with the least leave-one-out error, and the noise to that error: residuals would
  /// flatter it when there are as many terms as samples. Powers of 10, first far apart, then beside the best; of equal
  /// ones the first.
  void choose(const Eigen::MatrixXd& all_a, const Eigen::VectorXd& all_b, const Eigen::VectorXd& all_weights) {
    const Eigen::Index n = std::min(all_b.size(), static_cast<Eigen::Index>(options_.selection_samples));
    Eigen::MatrixXd a(n, all_a.cols());
    Eigen::VectorXd b(n);
    Eigen::VectorXd share(n);
    for (Eigen::Index i = 0; i < n; ++i) {
      const Eigen::Index from = i * all_b.size() / n;
      a.row(i) = all_a.row(from);
      b[i] = all_b[from];
      share[i] = all_weights[from];
    }
    const double weight = share.sum();
    double least = std::numeric_limits<double>::max();
    const auto consider = [&](double penalty) {
      const solution s = solve(a, b, penalty, true);
      const Eigen::ArrayXd kept = (1 - s.leverages.array() - share.array() / weight).cwiseMax(1e-10);
      const double error = ((b - a * s.coefficients).array() / kept).square().sum() / weight;
      if (!(error < least * (1 - 1e-9))) return;
      least = error;
      penalty_ = penalty;
    };
    if (options_.penalty > 0) {
      consider(options_.penalty);
      penalty_ = options_.penalty;
    } else {
      penalty_ = 1;
      for (const int exponent : {4, 2, 0, -2, -8}) consider(std::pow(10.0, exponent));
      const double centre = penalty_;
      consider(centre * 10);
      consider(centre / 10);
    }
    noise_ = std::sqrt(std::min(least, 1e12));
  }

  ridge_options options_;
  bool products_ = false;
  double mean_ = 0;
  double scale_ = 0;  ///< of the labels
  double noise_ = 0;  ///< root mean square of the leave-one-out errors, in scales
  double penalty_ = 0;
  double total_ = 1;  ///< sum of the weights
  detail::standardisation inputs_;
  detail::standardisation terms_;
  Eigen::VectorXd coefficients_;  ///< of the standardised terms; empty when the mean is the answer
  Eigen::MatrixXd factor_;        ///< as in solution
  Eigen::MatrixXd rows_;          ///< the weighted, standardised terms of the samples when `factor_` is in their space
};

static_assert(UncertainCostModel<ridge> && WeightedCostModel<ridge>);

}  // namespace tileseek
