#pragma once
// A search that knows how another device, or another run, found the same configurations: a cost model is fitted to the
// older trials, and what it expects is one more feature of every point, beside the parameters. The search's own model
// learns from its own measurements what that feature is worth, so that nothing older is ever mixed in with them.
//
//   const auto of = recording.space.lattice();
//   tileseek::tune(space, measure, options, tileseek::informed(of, recording.told()));
//
// With `bayesian` on recorded kernels it takes 0.7 times the measurements to come within 10 % of the best, and hardly
// more where two devices have nothing in common (docs/records.md). What was tried beside it: the older device's best
// configurations as first points are rarely good on the other one, and cost measurements where they are not; ranks or
// capped times in place of the expected ln seconds were no better; boosted trees for the older trials save more where the
// devices agree and lose more where they do not; a prior that lets the feature be dropped sooner made no difference that
// the seeds could tell.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include <tileseek/core/point.hpp>
#include <tileseek/core/rng.hpp>
#include <tileseek/model/cost_model.hpp>
#include <tileseek/model/features.hpp>
#include <tileseek/model/labels.hpp>
#include <tileseek/model/level_ridge.hpp>
#include <tileseek/search/bayesian.hpp>
#include <tileseek/search/detail/training_set.hpp>
#include <tileseek/search/strategy.hpp>
#include <tileseek/space/lattice.hpp>

namespace tileseek {

/// A SearchStrategy over one that takes the space's own features into account. It must be asked about one space.
template <SearchStrategy S = bayesian, CostModel Model = level_ridge>
class informed {
 public:
  /// @param of     the space of the older trials: parameters are those with the same name, at the same value
  /// @param older  trials in it; those with a value that the new space has not are left out
  informed(lattice of, std::vector<trial> older, S search = S(), Model model = Model())
      : of_(std::move(of)), older_(std::move(older)), search_(std::move(search)), model_(std::move(model)) {}

  [[nodiscard]] static constexpr std::string_view name() noexcept { return "informed"; }

  [[nodiscard]] std::vector<point> ask(const lattice& space, rng& random, std::size_t n) {
    learn(space);
    return search_.ask(*space_, random, n);
  }
  void tell(const lattice& space, std::span<const trial> done) {
    learn(space);
    search_.tell(*space_, done);
  }
  [[nodiscard]] auto gap() const requires ForecastingStrategy<S> { return search_.gap(); }

  /// The older trials that are configurations of the new space too; none before the first ask or tell. With none, the
  /// search is the one underneath.
  [[nodiscard]] std::size_t carried_over() const noexcept { return carried_; }

 private:
  void learn(const lattice& space) {
    if (space_) return;
    space_ = space;
    std::vector<point> points;
    std::vector<double> costs;
    for (const auto& t : older_)
      if (auto p = same_values(t.at, space)) {
        points.push_back(std::move(*p));
        costs.push_back(t.result.cost());
      }
    older_.clear();
    carried_ = points.size();
    if (points.empty()) return;
    const Eigen::VectorXd labels = label(costs).y;
    auto encoder = std::make_shared<const feature_map>(space, detail::columns_for<Model>());
    model_.fit(encoder->encode(points), labels);
    std::vector<point_feature> features(space.features().begin(), space.features().end());
    // Around 0, so that it is taken as it is: no logarithm of a logarithm.
    features.push_back({"expected from older trials",
                        [encoder, m = std::make_shared<const Model>(model_), mean = labels.mean()](const point& p) {
                          return m->predict(encoder->encode(std::span<const point>(&p, 1)))[0] - mean;
                        }});
    space_ = space.with_features(std::move(features));
  }

  /// The feasible point of a space with the values of an older one.
  [[nodiscard]] std::optional<point> same_values(const point& p, const lattice& space) const {
    point out(space.dimensions());
    for (std::size_t d = 0; d < out.size(); ++d) {
      const auto& here = space.axis(d);
      const auto there =
          std::find_if(of_.axes().begin(), of_.axes().end(), [&](const coordinate& a) { return a.name == here.name; });
      if (there == of_.axes().end()) return std::nullopt;
      const double wanted =
          there->values[static_cast<std::size_t>(p[static_cast<std::size_t>(there - of_.axes().begin())])];
      const auto at = std::find(here.values.begin(), here.values.end(), wanted);
      if (at == here.values.end()) return std::nullopt;
      out[d] = static_cast<int>(at - here.values.begin());
    }
    if (!space.feasible(out)) return std::nullopt;
    return out;
  }

  lattice of_;
  std::vector<trial> older_;
  S search_;
  Model model_;
  std::optional<lattice> space_;  ///< with the feature
  std::size_t carried_ = 0;
};

static_assert(ForecastingStrategy<informed<>>);

}  // namespace tileseek
