#pragma once
// What the searches that follow a cost model share: the trials to learn from, encoded once, and the first points to
// measure.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include <tileseek/core/point.hpp>
#include <tileseek/core/rng.hpp>
#include <tileseek/model/features.hpp>
#include <tileseek/search/history.hpp>
#include <tileseek/space/lattice.hpp>

namespace tileseek {

/// How the first points are chosen, before there is anything to learn from.
enum class initial_design {
  random,  ///< uniformly
  maximin,  ///< each the farthest of 100 uniform ones from all points before it; the first the middle of the space, where
  ///< no tile is at an extreme: on a space of 241,600 configurations `bayesian` then reaches 0.85 of the best in
  ///< 50 measurements, and 0.79 with a uniform first point
};

namespace detail {

/// The columns that a model likes: its static member features(), if it has one.
template <class Model>
[[nodiscard]] feature_options columns_for() {
  if constexpr (requires { Model::features(); })
    return Model::features();
  else
    return {};
}

/// Trials in the order told, each point once with its latest result, and their rows for a model.
class training_set {
 public:
  training_set(const lattice& space, feature_map encoder) : space_(space), encoder_(std::move(encoder)) {}

  /// Takes a trial in; points that are not of the space are ignored.
  void add(const trial& t) {
    if (!space_.feasible(t.at)) return;
    const bool again = memory_.told(t.at);
    memory_.tell(t);
    const double cost = memory_.cost(t.at);
    if (again) {
      const auto i = std::find(points_.begin(), points_.end(), t.at) - points_.begin();
      costs_[static_cast<std::size_t>(i)] = cost;
      return;
    }
    const auto row = static_cast<Eigen::Index>(points_.size());
    if (row >= rows_.rows())
      rows_.conservativeResize(std::max<Eigen::Index>(64, 2 * row), static_cast<Eigen::Index>(encoder_.columns()));
    rows_.row(row) = encoder_.encode(t.at);
    points_.push_back(t.at);
    costs_.push_back(cost);
  }
  void add(std::span<const trial> done) {
    for (const auto& t : done) add(t);
  }

  [[nodiscard]] std::size_t size() const noexcept { return points_.size(); }
  [[nodiscard]] std::span<const point> points() const noexcept { return points_; }
  /// In seconds, infinite for a failure.
  [[nodiscard]] std::span<const double> costs() const noexcept { return costs_; }
  /// A row per trial.
  [[nodiscard]] auto rows() const { return rows_.topRows(static_cast<Eigen::Index>(points_.size())); }
  [[nodiscard]] const feature_map& encoder() const noexcept { return encoder_; }
  [[nodiscard]] history& memory() noexcept { return memory_; }
  [[nodiscard]] const history& memory() const noexcept { return memory_; }
  [[nodiscard]] const lattice& space() const noexcept { return space_; }

  /// The trials from the least cost up; those told first among equals. At most `count` of them.
  [[nodiscard]] std::vector<std::size_t> best(std::size_t count) const {
    std::vector<std::size_t> order(points_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    count = std::min(count, order.size());
    std::partial_sort(
        order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
        [&](std::size_t a, std::size_t b) { return costs_[a] != costs_[b] ? costs_[a] < costs_[b] : a < b; });
    order.resize(count);
    return order;
  }

 private:
  lattice space_;
  feature_map encoder_;
  history memory_;
  std::vector<point> points_;
  std::vector<double> costs_;
  Eigen::MatrixXd rows_;  ///< with room to grow
};

/// Scaled positions of every coordinate, to measure how far apart points are.
class scaled_space {
 public:
  explicit scaled_space(const lattice& space) {
    for (const auto& axis : space.axes()) {
      positions_.push_back(scaled_positions(axis));
      ordered_.push_back(axis.ordered);
    }
  }

  /// Squared Euclidean distance; an unordered coordinate adds 1 when its values differ.
  [[nodiscard]] double squared_distance(const point& a, const point& b) const {
    double sum = 0;
    for (std::size_t d = 0; d < positions_.size(); ++d) {
      if (a[d] == b[d]) continue;
      const double step =
          ordered_[d] ? positions_[d][static_cast<std::size_t>(a[d])] - positions_[d][static_cast<std::size_t>(b[d])]
                      : 1.0;
      sum += step * step;
    }
    return sum;
  }

 private:
  std::vector<std::vector<double>> positions_;
  std::vector<bool> ordered_;
};

/// Up to `count` points to begin with, none of them known; they are marked. Maximin keeps away from `before`, too.
[[nodiscard]] inline std::vector<point> first_points(const lattice& space, history& memory,
                                                     std::span<const point> before, rng& random, std::size_t count,
                                                     initial_design design) {
  std::vector<point> out;
  if (design == initial_design::random) {
    while (out.size() < count) {
      auto p = memory.fresh(space, random);
      if (!p) break;
      out.push_back(std::move(*p));
    }
    return out;
  }
  constexpr int draws = 100;  // of 20 to 200 the choice made no difference that could be measured
  const scaled_space scaled(space);
  std::vector<point> taken(before.begin(), before.end());
  if (taken.empty() && count > 0) {
    point middle(space.dimensions());
    for (std::size_t d = 0; d < middle.size(); ++d) middle[d] = space.extent(d) / 2;
    middle = space.nearest(middle);
    if (memory.mark(middle)) {
      taken.push_back(middle);
      out.push_back(std::move(middle));
    }
  }
  while (out.size() < count) {
    std::optional<point> farthest;
    double distance = -1;
    for (int i = 0; i < draws && !(farthest && taken.empty()); ++i) {
      point p = space.sample(random);
      if (memory.knows(p)) continue;
      double nearest = std::numeric_limits<double>::infinity();
      for (const auto& q : taken) {
        nearest = std::min(nearest, scaled.squared_distance(p, q));
        if (nearest <= distance) break;
      }
      if (nearest > distance) {
        distance = nearest;
        farthest = std::move(p);
      }
    }
    if (farthest)
      memory.mark(*farthest);
    else
      farthest = memory.fresh(space, random);
    if (!farthest) break;
    taken.push_back(*farthest);
    out.push_back(std::move(*farthest));
  }
  return out;
}

/// Up to `count` different feasible points that are not known: all of them when the space has no more than that.
[[nodiscard]] inline std::vector<point> unknown_points(const lattice& space, const history& memory, rng& random,
                                                       std::size_t count) {
  std::vector<point> out;
  if (space.rank_end() <= count) {
    for (std::uint64_t r = 0; r < space.rank_end(); ++r)
      if (auto p = space.unrank(r); p && !memory.knows(*p)) out.push_back(std::move(*p));
    return out;
  }
  point_index drawn;
  for (std::size_t i = 0; i < count; ++i)
    if (point p = space.sample(random); !memory.knows(p) && drawn.add(p).second) out.push_back(std::move(p));
  return out;
}

/// Every point that differs from p in one coordinate of the view: any value of it, not the adjacent one alone.
[[nodiscard]] inline std::vector<point> any_value_of_one(const lattice& space, const point& p, tile_view view) {
  std::vector<point> out;
  for (std::size_t d = 0; d < space.dimensions(); ++d) {
    if (view == tile_view::factor || !space.axis(d).ordered) {
      for (auto& q : space.alternatives(p, d)) out.push_back(std::move(q));
      continue;
    }
    for (const int direction : {-1, +1})
      for (auto q = space.move(p, d, direction, view); q; q = space.move(out.back(), d, direction, view))
        out.push_back(*q);
  }
  return out;
}

}  // namespace detail
}  // namespace tileseek
