#pragma once
// A cost model that begins with what another run learnt: the same kernel on another device, or a similar shape.
//
// Older samples are mixed with the new ones at a smaller weight, so that they guide where nothing new is known and are
// outvoted where it is. Times on two devices differ by a factor above all, labels (logarithms) by a constant: the older labels
// are shifted by the median difference between the new labels and what the older samples alone predict for the new rows.

#include <cmath>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include <tileseek/core/statistics.hpp>
#include <tileseek/model/cost_model.hpp>
#include <tileseek/model/detail/text.hpp>

namespace tileseek {

struct pretrained_options {
  double weight = 0.2;  ///< of an older sample; a new one has 1
  bool align = true;    ///< shift the older labels as described above
};

/// A model with older samples. Before the first fit, and after one to no rows, it predicts from the older ones alone.
template <WeightedCostModel Model>
class pretrained {
 public:
  /// @param x  the older samples, encoded as the new ones will be
  /// @param y  their labels
  /// @throws std::invalid_argument  a weight that is not positive, or another number of labels than rows
  pretrained(Model model, Eigen::MatrixXd x, Eigen::VectorXd y, pretrained_options options = {})
      : options_(options), x_(std::move(x)), y_(std::move(y)), older_(std::move(model)) {
    if (!(options_.weight > 0) || !std::isfinite(options_.weight))
      throw std::invalid_argument("pretrained: weight is " + std::to_string(options_.weight) + "; give a positive number");
    if (x_.rows() != y_.size())
      throw std::invalid_argument("pretrained: " + std::to_string(x_.rows()) + " rows and " + std::to_string(y_.size()) + " labels");
    older_.fit(x_, y_);
    now_ = older_;
  }

  void fit(const Eigen::MatrixXd& x, const Eigen::VectorXd& y) {
    if (x.rows() != y.size())
      throw std::invalid_argument("pretrained: " + std::to_string(x.rows()) + " rows and " + std::to_string(y.size()) + " labels");
    if (x.rows() == 0) {
      now_ = older_;
      return;
    }
    if (x.cols() != x_.cols())
      throw std::invalid_argument("pretrained: the older samples have " + std::to_string(x_.cols()) + " columns, the new ones " +
                                  std::to_string(x.cols()) + "; encode both with the same feature_map");
    double shift = 0;
    if (options_.align && x_.rows() > 0) {
      const Eigen::VectorXd difference = y - older_.predict(x);
      shift = median(std::span<const double>(difference.data(), static_cast<std::size_t>(difference.size())));
    }
    Eigen::MatrixXd all_x(x_.rows() + x.rows(), x.cols());
    all_x << x_, x;
    Eigen::VectorXd all_y(all_x.rows());
    all_y << y_.array() + shift, y;
    Eigen::VectorXd weights = Eigen::VectorXd::Ones(all_x.rows());
    weights.head(x_.rows()).setConstant(options_.weight);
    now_.fit(all_x, all_y, weights);
  }

  [[nodiscard]] Eigen::VectorXd predict(const Eigen::MatrixXd& x) const { return now_.predict(x); }

  [[nodiscard]] prediction predict_with_deviation(const Eigen::MatrixXd& x) const
    requires UncertainCostModel<Model>
  {
    return now_.predict_with_deviation(x);
  }

  /// The fitted model with its older samples as text that `load` reads back to equal predictions.
  [[nodiscard]] std::string save() const {
    detail::text_writer out("tileseek-pretrained", 1);
    out.add(options_.weight);
    out.add(options_.align);
    out.line();
    out.add(x_);
    out.add(y_);
    out.add(older_.save());
    out.add(now_.save());
    return std::move(out).take();
  }

  /// @throws std::invalid_argument  the text is damaged, or of another model or version
  [[nodiscard]] static pretrained load(std::string_view text) {
    detail::text_reader in(text, "tileseek-pretrained", 1);
    pretrained_options options;
    options.weight = in.number<double>();
    options.align = in.number<bool>();
    in.require(options.weight > 0, "a weight that is not positive");
    pretrained out(options);
    out.x_ = in.matrix();
    out.y_ = in.vector();
    in.require(out.x_.rows() == out.y_.size(), "a label for each row");
    out.older_ = Model::load(in.text());
    out.now_ = Model::load(in.text());
    in.finish();
    return out;
  }

 private:
  explicit pretrained(pretrained_options options) : options_(options) {}

  pretrained_options options_;
  Eigen::MatrixXd x_;
  Eigen::VectorXd y_;
  Model older_;  ///< of the older samples alone
  Model now_;
};

}  // namespace tileseek
