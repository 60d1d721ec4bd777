#pragma once
// A cost model that begins with what another run learnt: the same kernel on another device, in another run, or for a
// similar shape.
//
// A model fitted to the older samples gives a prediction for each row, and that prediction is one more input of the new
// model (stacking: Wolpert, "Stacked generalization", Neural Networks 1992). The new model finds out from the new
// samples how far to trust it: fully, by a factor, or not at all. Mixing the older samples themselves in at a smaller
// weight was tried and ranked worse than no older samples at all, at any weight, on pairs of recorded runs
// (bench/model_ranking.cpp).

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <Eigen/Core>

#include <tileseek/model/cost_model.hpp>
#include <tileseek/model/detail/text.hpp>

namespace tileseek {

/// How soon new samples have a say.
struct pretrained_options {
  std::size_t least_samples = 4;  ///< with fewer new samples, the older model's predictions shifted by a constant
};

/// A model that knows older samples. Before the first fit it predicts from them alone.
template <CostModel Model>
class pretrained {
 public:
  /// @param older  fitted to the older samples, encoded as the new ones will be
  /// @param model  fitted to the new samples with the older model's prediction as a last column
  explicit pretrained(Model older, Model model = Model{}, pretrained_options options = {})
      : options_(options), older_(std::move(older)), now_(std::move(model)) {}

  void fit(const Eigen::MatrixXd& x, const Eigen::VectorXd& y) {
    if (x.rows() != y.size())
      throw std::invalid_argument("pretrained: " + std::to_string(x.rows()) + " rows and " + std::to_string(y.size()) +
                                  " labels; give one label a row");
    samples_ = static_cast<std::size_t>(x.rows());
    const Eigen::VectorXd expected = older_.predict(x);
    shift_ = samples_ > 0 ? (y - expected).mean() : 0;
    if (stacked()) now_.fit(with(x, expected), y);
  }

  [[nodiscard]] Eigen::VectorXd predict(const Eigen::MatrixXd& x) const {
    const Eigen::VectorXd expected = older_.predict(x);
    if (!stacked()) return expected.array() + shift_;
    return now_.predict(with(x, expected));
  }

  [[nodiscard]] prediction predict_with_deviation(const Eigen::MatrixXd& x) const requires UncertainCostModel<Model> {
    if (stacked()) return now_.predict_with_deviation(with(x, older_.predict(x)));
    prediction out = older_.predict_with_deviation(x);
    out.mean.array() += shift_;
    return out;
  }

  /// Both models as text that `load` reads back to equal predictions.
  [[nodiscard]] std::string save() const {
    detail::text_writer out("tileseek-pretrained", 1);
    out.add(options_.least_samples);
    out.add(samples_);
    out.add(shift_);
    out.line();
    out.add(older_.save());
    out.add(now_.save());
    return std::move(out).take();
  }

  /// @throws std::invalid_argument  the text is damaged, or of another model or version
  [[nodiscard]] static pretrained load(std::string_view text) {
    detail::text_reader in(text, "tileseek-pretrained", 1);
    pretrained_options options;
    options.least_samples = in.number<std::size_t>();
    const auto samples = in.number<std::size_t>();
    const auto shift = in.number<double>();
    auto older = Model::load(in.text());
    auto now = Model::load(in.text());
    in.finish();
    pretrained out(std::move(older), std::move(now), options);
    out.samples_ = samples;
    out.shift_ = shift;
    return out;
  }

 private:
  [[nodiscard]] bool stacked() const noexcept { return samples_ > 0 && samples_ >= options_.least_samples; }

  [[nodiscard]] static Eigen::MatrixXd with(const Eigen::MatrixXd& x, const Eigen::VectorXd& column) {
    Eigen::MatrixXd out(x.rows(), x.cols() + 1);
    out << x, column;
    return out;
  }

  pretrained_options options_;
  Model older_;
  Model now_;
  std::size_t samples_ = 0;
  double shift_ = 0;
};

}  // namespace tileseek
