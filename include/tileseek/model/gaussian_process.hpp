#pragma once
// Gaussian-process regression as a cost model: rows of numbers in, mean and deviation out. The best model of kernel
// times with few samples. To search the points of a lattice use lattice_process.hpp, which is the same model with
// tables instead of exponentials and candidates kept ready.
//
// Each column is scaled to [0, 1] over the samples; the correlation of two rows is the product over columns of
// (1 + matern52(distance / length)) / 2, so that every column matters alone and together with others (Duvenaud et al.,
// "Additive Gaussian processes", NIPS 2011). Mean and variance are profiled out; lengths and noise are chosen by
// marginal likelihood (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, chapters 2 and 5).

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include <tileseek/core/rng.hpp>
#include <tileseek/model/cost_model.hpp>
#include <tileseek/model/detail/kernel.hpp>
#include <tileseek/model/detail/standardise.hpp>
#include <tileseek/model/detail/text.hpp>
#include <tileseek/model/gaussian_process_options.hpp>

namespace tileseek {

/// A cost model that knows its deviation and takes weights: a sample of weight w is as noisy as the mean of w
/// measurements.
class gaussian_process {
 public:
  /// @throws std::invalid_argument  an option out of its range, by name
  explicit gaussian_process(gaussian_process_options options = {}) : options_(options) { detail::validate(options); }

  void fit(const Eigen::MatrixXd& x, const Eigen::VectorXd& y) { fit(x, y, Eigen::VectorXd::Ones(y.size())); }

  /// With more than `most_active` rows, half of as many best and as many random ones are used. Parameters are swept
  /// over three times at the first fit, and once, from where they are, at a later one to the same number of columns if
  /// the samples have become more by `growth`, or fewer; otherwise they stay.
  /// @pre weights[i] > 0
  void fit(const Eigen::MatrixXd& x, const Eigen::VectorXd& y, const Eigen::VectorXd& weights) {
    if (x.rows() != y.size() || weights.size() != y.size())
      throw std::invalid_argument("gaussian process: " + std::to_string(x.rows()) + " rows, " +
                                  std::to_string(y.size()) + " labels and " + std::to_string(weights.size()) +
                                  " weights; give one label and one weight a row");
    if (parameters_.lengths.size() != static_cast<std::size_t>(x.cols())) {
      parameters_.lengths.assign(static_cast<std::size_t>(x.cols()), options_.start_length);
      parameters_.noise = options_.start_noise;
      chosen_with_ = 0;
    }
    rng random(options_.seed);
    const auto label = detail::standardisation::of(y, weights);
    const std::size_t half = options_.most_active / 2;
    const auto active = detail::best_and_random(y, half, options_.most_active - half, random);
    const auto n = static_cast<Eigen::Index>(active.size());

    low_ = Eigen::VectorXd::Zero(x.cols());
    inverse_range_ = Eigen::VectorXd::Zero(x.cols());
    for (Eigen::Index c = 0; c < x.cols() && n > 0; ++c) {
      low_[c] = x.col(c).minCoeff();
      const double range = x.col(c).maxCoeff() / 2 - low_[c] / 2;  // halves: the range itself may overflow
      if (range > 0) inverse_range_[c] = 1 / range;
    }
    Eigen::MatrixXd chosen(n, x.cols());
    Eigen::VectorXd labels(n);
    noise_share_.resize(n);
    for (Eigen::Index i = 0; i < n; ++i) {
      const auto from = static_cast<Eigen::Index>(active[static_cast<std::size_t>(i)]);
      chosen.row(i) = x.row(from);
      labels[i] = y[from];
      noise_share_[i] = 1 / weights[from];
    }
    x_ = scaled(chosen);
    centre_ = label.centre.size() > 0 ? label.centre[0] : 0;
    unit_ = label.factor.size() > 0 && label.factor[0] > 0 ? 1 / label.factor[0] : 0;
    y_ = unit_ > 0 ? Eigen::VectorXd((labels.array() - centre_) / unit_) : Eigen::VectorXd::Zero(n);
    const auto grown = static_cast<double>(chosen_with_) * (1 + options_.growth);
    if (options_.fit_parameters && n > 1 && unit_ > 0 &&
        (static_cast<double>(y.size()) >= grown || y.size() < chosen_with_)) {
      for (int sweeps = chosen_with_ == 0 ? 3 : 1; sweeps > 0; --sweeps) choose_parameters(random);
      chosen_with_ = y.size();
    }
    condition();
  }

  /// Adds one sample without choosing parameters, scales or active rows anew. O(n^2).
  /// @pre fitted to at least one row of the same width
  void add(const Eigen::VectorXd& row, double label) {
    if (x_.rows() == 0) throw std::invalid_argument("gaussian process: add() before fit(); fit it to at least one row");
    const Eigen::MatrixXd at = scaled(row.transpose());
    const Eigen::Index n = x_.rows();
    Eigen::VectorXd l = cross(at).row(0).transpose();
    factor_.triangularView<Eigen::Lower>().solveInPlace(l);
    x_.conservativeResize(n + 1, Eigen::NoChange);
    x_.row(n) = at.row(0);
    y_.conservativeResize(n + 1);
    if (!(unit_ > 0)) unit_ = 1;  // so far all labels were equal
    y_[n] = (label - centre_) / unit_;
    noise_share_.conservativeResize(n + 1);
    noise_share_[n] = 1;
    factor_.conservativeResize(n + 1, n + 1);
    factor_.col(n).setZero();
    factor_.row(n).head(n) = l.transpose();
    factor_(n, n) = std::sqrt(std::max(1 + parameters_.noise - l.squaredNorm(), parameters_.noise / 2));
    solve();
  }

  [[nodiscard]] Eigen::VectorXd predict(const Eigen::MatrixXd& x) const { return evaluate(x, false).mean; }

  [[nodiscard]] prediction predict_with_deviation(const Eigen::MatrixXd& x) const { return evaluate(x, true); }

  /// Lengths, in ranges of the columns, and noise. A column with a long length matters little.
  [[nodiscard]] const kernel_parameters& parameters() const noexcept { return parameters_; }

  /// The logarithm of the likelihood of the active samples under the parameters in use, times their prior; up to a
  /// constant that depends on the number of samples alone.
  [[nodiscard]] double log_posterior() const {
    if (x_.rows() == 0) return 0;
    const auto [axes, at] = levels(x_);
    return detail::log_posterior(parameters_, axes, at, y_, noise_share_, options_);
  }

  /// The fitted model as text that `load` reads back to equal predictions.
  [[nodiscard]] std::string save() const {
    detail::text_writer out("tileseek-gaussian-process", 1);
    const auto& o = options_;
    out.add(o.product == kernel_product::anova);
    out.add(o.fit_parameters);
    for (const double v : {o.start_length, o.length_spread, o.shortest_length, o.longest_length, o.start_noise,
                           o.noise_spread, o.least_noise, o.most_noise, o.length_step, o.noise_step, o.growth})
      out.add(v);
    for (const std::size_t v : {o.fit_samples, o.most_active, o.kept}) out.add(v);
    out.add(o.seed);
    out.line();
    out.add(parameters_.lengths);
    out.add(chosen_with_);
    for (const double v : {parameters_.noise, centre_, unit_}) out.add(v);
    out.line();
    out.add(low_);
    out.add(inverse_range_);
    out.add(x_);
    out.add(y_);
    out.add(noise_share_);
    out.add(factor_);
    return std::move(out).take();
  }

  /// @throws std::invalid_argument  the text is damaged, or of another model or version
  [[nodiscard]] static gaussian_process load(std::string_view text) {
    detail::text_reader in(text, "tileseek-gaussian-process", 1);
    gaussian_process_options o;
    o.product = in.number<bool>() ? kernel_product::anova : kernel_product::plain;
    o.fit_parameters = in.number<bool>();
    for (double* v : {&o.start_length, &o.length_spread, &o.shortest_length, &o.longest_length, &o.start_noise,
                      &o.noise_spread, &o.least_noise, &o.most_noise, &o.length_step, &o.noise_step, &o.growth})
      *v = in.number<double>();
    for (std::size_t* v : {&o.fit_samples, &o.most_active, &o.kept}) *v = in.number<std::size_t>();
    o.seed = in.number<std::uint64_t>();
    gaussian_process out(o);
    out.parameters_.lengths = in.numbers<double>();
    out.chosen_with_ = in.number<Eigen::Index>();
    for (double* v : {&out.parameters_.noise, &out.centre_, &out.unit_}) *v = in.number<double>();
    out.low_ = in.vector();
    out.inverse_range_ = in.vector();
    out.x_ = in.matrix();
    out.y_ = in.vector();
    out.noise_share_ = in.vector();
    out.factor_ = in.matrix();
    in.finish();
    const Eigen::Index n = out.x_.rows();
    const Eigen::Index d = out.x_.cols();
    in.require(out.y_.size() == n && out.noise_share_.size() == n && out.factor_.rows() == n && out.factor_.cols() == n,
               "a label, a weight and a row of the matrix for each sample");
    in.require(static_cast<Eigen::Index>(out.parameters_.lengths.size()) == d && out.low_.size() == d &&
                   out.inverse_range_.size() == d,
               "a length and a range for each column");
    if (n > 0) out.solve();
    return out;
  }

 private:
  struct level_table {
    std::vector<detail::kernel_axis> axes;
    detail::level_matrix at;
  };

  /// A constant column becomes 0. Rows far outside the samples are as far as can be told: nothing correlates with them.
  [[nodiscard]] Eigen::MatrixXd scaled(const Eigen::MatrixXd& x) const {
    Eigen::MatrixXd z(x.rows(), x.cols());
    for (Eigen::Index c = 0; c < x.cols(); ++c)
      z.col(c) = ((x.col(c) / 2).array() - low_[c] / 2)
                     .cwiseProduct(Eigen::ArrayXd::Constant(x.rows(), inverse_range_[c]))
                     .cwiseMin(1e6)
                     .cwiseMax(-1e6);
    return z;
  }

  /// The distinct values of each column, and which of them each entry is. Columns of kernels have few, so that tables
  /// of correlations between values are much smaller than between rows.
  [[nodiscard]] static level_table levels(const Eigen::MatrixXd& x) {
    level_table out;
    out.axes.resize(static_cast<std::size_t>(x.cols()));
    out.at.resize(x.rows(), x.cols());
    for (Eigen::Index c = 0; c < x.cols(); ++c) {
      auto& positions = out.axes[static_cast<std::size_t>(c)].positions;
      positions.assign(x.col(c).data(), x.col(c).data() + x.rows());
      std::sort(positions.begin(), positions.end());
      positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
      for (Eigen::Index i = 0; i < x.rows(); ++i)
        out.at(i, c) = static_cast<std::uint16_t>(std::lower_bound(positions.begin(), positions.end(), x(i, c)) -
                                                  positions.begin());
    }
    return out;
  }

  void choose_parameters(rng& random) {
    const std::size_t half = options_.fit_samples / 2;
    const auto chosen = detail::best_and_random(y_, half, options_.fit_samples - half, random);
    const auto n = static_cast<Eigen::Index>(chosen.size());
    Eigen::MatrixXd x(n, x_.cols());
    Eigen::VectorXd y(n);
    Eigen::VectorXd share(n);
    for (Eigen::Index i = 0; i < n; ++i) {
      const auto from = static_cast<Eigen::Index>(chosen[static_cast<std::size_t>(i)]);
      x.row(i) = x_.row(from);
      y[i] = y_[from];
      share[i] = noise_share_[from];
    }
    const auto [axes, at] = levels(x);
    parameters_ = detail::sweep(std::move(parameters_), axes, at, y, share, options_, random);
  }

  void condition() {
    const Eigen::Index n = x_.rows();
    const auto [axes, at] = levels(x_);
    factor_ = detail::correlations(axes, at, parameters_, options_.product);
    factor_.diagonal() += parameters_.noise * noise_share_;
    {
      const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>, Eigen::Lower> llt(factor_);
      // The noise keeps the matrix positive; should rounding defeat it all the same, the rows are as good as
      // independent.
      if (llt.info() != Eigen::Success) factor_ = Eigen::MatrixXd::Identity(n, n) * std::sqrt(1 + parameters_.noise);
    }
    factor_.triangularView<Eigen::StrictlyUpper>().setZero();
    solve();
  }

  /// Mean, scale and weights from the factor and the labels.
  void solve() {
    const Eigen::Index n = x_.rows();
    const auto lower = factor_.triangularView<Eigen::Lower>();
    const Eigen::VectorXd zy = lower.solve(y_);
    const Eigen::VectorXd z1 = lower.solve(Eigen::VectorXd::Ones(n));
    mean_ = n > 0 ? z1.dot(zy) / z1.squaredNorm() : 0;
    weights_ = zy - mean_ * z1;
    scale_ = n > 0 ? std::sqrt(weights_.squaredNorm() / static_cast<double>(n) + 1e-12) : 0;
    factor_.transpose().triangularView<Eigen::Upper>().solveInPlace(weights_);
  }

  /// Correlations of scaled rows with the samples.
  [[nodiscard]] Eigen::MatrixXd cross(const Eigen::MatrixXd& z) const {
    Eigen::MatrixXd k = Eigen::MatrixXd::Ones(z.rows(), x_.rows());
    for (Eigen::Index c = 0; c < z.cols(); ++c) {
      if (!(inverse_range_[c] > 0)) continue;
      const auto mine = levels(z.col(c));
      const auto theirs = levels(x_.col(c));
      const double length = parameters_.lengths[static_cast<std::size_t>(c)];
      Eigen::MatrixXd table(mine.axes[0].size(), theirs.axes[0].size());
      for (Eigen::Index j = 0; j < table.cols(); ++j)
        for (Eigen::Index i = 0; i < table.rows(); ++i)
          table(i, j) = detail::correlation(std::fabs(mine.axes[0].positions[static_cast<std::size_t>(i)] -
                                                      theirs.axes[0].positions[static_cast<std::size_t>(j)]),
                                            length, options_.product);
      for (Eigen::Index j = 0; j < k.cols(); ++j) {
        const double* column = table.col(theirs.at(j, 0)).data();
        for (Eigen::Index i = 0; i < k.rows(); ++i) k(i, j) *= column[mine.at(i, 0)];
      }
    }
    return k;
  }

  [[nodiscard]] prediction evaluate(const Eigen::MatrixXd& x, bool with_deviation) const {
    prediction out{Eigen::VectorXd::Constant(x.rows(), centre_), Eigen::VectorXd::Zero(x.rows())};
    if (x_.rows() == 0) return out;
    if (x.cols() != x_.cols())
      throw std::invalid_argument("gaussian process: fitted to " + std::to_string(x_.cols()) +
                                  " columns, asked about " + std::to_string(x.cols()) +
                                  "; encode both with the same feature_map");
    constexpr Eigen::Index chunk =
        512;  // rows at a time, so that memory stays bounded and indices of values fit 16 bits
    for (Eigen::Index from = 0; from < x.rows(); from += chunk) {
      const Eigen::Index n = std::min(chunk, x.rows() - from);
      const Eigen::MatrixXd k = cross(scaled(x.middleRows(from, n)));
      out.mean.segment(from, n).array() += unit_ * (mean_ + (k * weights_).array());
      if (!with_deviation) continue;
      const Eigen::MatrixXd v = factor_.triangularView<Eigen::Lower>().solve(k.transpose());
      out.deviation.segment(from, n) =
          unit_ * scale_ * (1 - v.colwise().squaredNorm().transpose().array()).cwiseMax(0).sqrt();
    }
    return out;
  }

  gaussian_process_options options_;
  kernel_parameters parameters_;
  Eigen::Index chosen_with_ = 0;   ///< samples there were when the parameters were chosen
  Eigen::VectorXd low_;            ///< of each column
  Eigen::VectorXd inverse_range_;  ///< of half the range of each column; 0 for a constant one
  Eigen::MatrixXd x_;              ///< active rows, scaled
  Eigen::VectorXd y_;              ///< their labels, standardised
  Eigen::VectorXd noise_share_;    ///< 1 / weight
  Eigen::MatrixXd factor_;         ///< lower Cholesky factor of the correlations with noise
  Eigen::VectorXd weights_;        ///< what the correlations with the samples are multiplied by
  double centre_ = 0;              ///< of the labels
  double unit_ = 0;                ///< their deviation; 0 when they are equal
  double mean_ = 0;                ///< of the process, standardised
  double scale_ = 0;               ///< its deviation, standardised
};

static_assert(UncertainCostModel<gaussian_process> && WeightedCostModel<gaussian_process>);

}  // namespace tileseek
