#pragma once
// What a cost model is: something that learns labels from rows of numbers and predicts the labels of other rows. The
// rows come from a feature_map (features.hpp), the labels, logarithms of times, from capped_labels (labels.hpp).

#include <concepts>

#include <Eigen/Core>

namespace tileseek {

/// A model of the cost. `fit` replaces what was learnt before by these samples (a row of x and an entry of y each);
/// `predict` gives one number a row, small for fast configurations.
///
/// Every model takes any finite input: one row, no rows, no columns, constant columns, equal labels, repeated rows; and
/// predicts finite numbers. Unfitted, or fitted to no rows, it predicts 0.
template <class M>
concept CostModel = std::movable<M> &&
    requires(M m, const M& fitted, const Eigen::MatrixXd& x, const Eigen::VectorXd& y) {
  { m.fit(x, y) } -> std::same_as<void>;
  { fitted.predict(x) } -> std::convertible_to<Eigen::VectorXd>;
};

/// Predictions that know how sure they are, one entry a row.
struct prediction {
  Eigen::VectorXd mean;
  Eigen::VectorXd deviation;  ///< standard deviation of the mean's error, in the unit of the labels, without noise
};

/// A cost model that also says how sure it is.
template <class M>
concept UncertainCostModel = CostModel<M> && requires(const M& fitted, const Eigen::MatrixXd& x) {
  { fitted.predict_with_deviation(x) } -> std::same_as<prediction>;
};

/// A cost model whose samples can count for more or less than one: what `pretrained` needs to mix in older data.
template <class M>
concept WeightedCostModel = CostModel<M> &&
    requires(M m, const Eigen::MatrixXd& x, const Eigen::VectorXd& y, const Eigen::VectorXd& weights) {
  { m.fit(x, y, weights) } -> std::same_as<void>;
};

}  // namespace tileseek
