#pragma once
// From points of a lattice to rows of numbers for a cost model. Tables per coordinate are made once, so that encoding a
// point is a handful of look-ups.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include <tileseek/core/point.hpp>
#include <tileseek/core/rng.hpp>
#include <tileseek/space/lattice.hpp>

namespace tileseek {

namespace detail {

/// Whether numbers spread so far that factors between them matter more than differences: positive, and at least 4
/// between the ends.
[[nodiscard]] inline bool spread_by_factors(double low, double high) noexcept { return low > 0 && high / low >= 4; }

/// Moves and stretches numbers to begin at 0 and end at 1; all 0 when they are equal.
[[nodiscard]] inline std::vector<double> to_unit_interval(std::vector<double> v) {
  if (v.empty()) return v;
  const auto [low, high] = std::minmax_element(v.begin(), v.end());
  const double from = *low;
  const double span = *high - from;
  for (double& x : v) x = span > 0 ? (x - from) / span : 0;
  return v;
}

/// Base-2 logarithms of ascending values. A leading 0 before positive ones goes one unit below them, as an eighth goes
/// below a quarter. Values with a negative among them have no logarithm: they are scaled to [0, 1] instead.
[[nodiscard]] inline std::vector<double> logarithms(std::span<const double> values) {
  std::vector<double> out(values.begin(), values.end());
  if (out.empty()) return out;
  const bool zero = out.front() == 0 && out.size() > 1 && out[1] > 0;
  if (!zero && out.front() <= 0) return to_unit_interval(std::move(out));
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = zero && i == 0 ? std::log2(values[1]) - 1 : std::log2(values[i]);
  return out;
}

}  // namespace detail

/// Where each value of an ordered coordinate lies in [0, 1]: the mean of its rank and of its size, the size by
/// logarithm when the largest is at least 4 times the smallest (of the positive ones, if a 0 leads). Rank alone loses
/// how far apart values are, size alone crowds {1, 2, 4, ..., 1024} at one end; the mean was never worse than either.
/// For an unordered coordinate the positions say no more than the index does.
[[nodiscard]] inline std::vector<double> scaled_positions(const coordinate& axis) {
  const std::size_t n = axis.values.size();
  std::vector<double> size = axis.values;
  const std::size_t first = n > 2 && size.front() == 0 ? 1 : 0;
  if (axis.ordered && n > 0 && detail::spread_by_factors(size[first], size.back()))
    size = detail::logarithms(axis.values);
  size = detail::to_unit_interval(std::move(size));
  for (std::size_t i = 0; i < n && n > 1; ++i)
    size[i] = (static_cast<double>(i) / static_cast<double>(n - 1) + size[i]) / 2;
  return size;
}

namespace detail {

/// Features brought into [0, 1], by logarithm when their values spread by factors. The range is that of 256 random points;
/// a point beyond what was drawn may lie outside.
class scaled_features {
 public:
  scaled_features() = default;
  scaled_features(const lattice& space, std::vector<point_feature> features) : features_(std::move(features)) {
    if (features_.empty()) return;
    rng random(0x66656174);  // any fixed seed: the columns must not depend on the run's
    ranges_.resize(features_.size());
    for (int drawn = 0; drawn < 256; ++drawn) {
      const point p = space.sample(random);
      for (std::size_t f = 0; f < features_.size(); ++f) {
        const double v = value(f, p);
        ranges_[f].low = drawn == 0 ? v : std::min(ranges_[f].low, v);
        ranges_[f].high = drawn == 0 ? v : std::max(ranges_[f].high, v);
      }
    }
    for (auto& r : ranges_) r.by_factors = spread_by_factors(r.low, r.high);
  }

  [[nodiscard]] std::size_t size() const noexcept { return features_.size(); }
  [[nodiscard]] const std::string& name(std::size_t f) const noexcept { return features_[f].name; }

  /// @throws std::invalid_argument  the feature is not finite there
  [[nodiscard]] double operator()(std::size_t f, const point& p) const {
    const auto& r = ranges_[f];
    const double v = value(f, p);
    if (!(r.high > r.low)) return 0;
    if (!r.by_factors) return (v - r.low) / (r.high - r.low);
    return std::log2(std::max(v, r.low / 2) / r.low) / std::log2(r.high / r.low);
  }

 private:
  struct range {
    double low = 0;
    double high = 0;
    bool by_factors = false;
  };

  [[nodiscard]] double value(std::size_t f, const point& p) const {
    const double v = features_[f].value(p);
    if (!std::isfinite(v))
      throw std::invalid_argument("feature '" + features_[f].name +
                                  "': not a finite number at a configuration; give one for every configuration");
    return v;
  }

  std::vector<point_feature> features_;
  std::vector<range> ranges_;
};

}  // namespace detail

/// Which columns a feature_map makes.
struct feature_options {
  bool coordinates = true;  ///< the scaled position of each ordered coordinate (scaled_positions)
  bool log2 = false;        ///< its base-2 logarithm, unscaled
  bool ranks = false;       ///< its index / (extent - 1)
  bool inclusive = true;    ///< log2 of the tile size at each level of a tile axis: its factor times all inside it. The
                            ///< outermost factor is the extent over the size of level 1, so that it needs no column
  bool pairs = false;       ///< log2 of the product of each two ordered coordinates or tile sizes. Trees cut along one
                            ///< column at a time and cannot see a product of two; ridge and Gaussian processes can
  bool one_hot = true;  ///< an unordered coordinate: a 0/1 column per value (one column for two values); otherwise its
                        ///< index, which does for trees
  bool unordered = true;  ///< unordered coordinates have columns

  /// No columns but the space's own features.
  [[nodiscard]] static constexpr feature_options own() {
    return {.coordinates = false, .inclusive = false, .unordered = false};
  }
  /// What trees like: everything that a single threshold should be able to cut.
  [[nodiscard]] static constexpr feature_options for_trees() { return {true, false, false, true, true, false}; }
};

/// Encodes the points of one lattice. Coordinates with a single value make no column.
class feature_map {
 public:
  /// The space's own features are columns, too.
  explicit feature_map(const lattice& space, feature_options options = {})
      : dimensions_(space.dimensions()), own_(space, {space.features().begin(), space.features().end()}) {
    add_coordinates(space, options);
    if (options.inclusive || options.pairs) terms_ = ordered_terms(space, options);
    for (const auto& t : terms_)
      if (t.is_column) names_.push_back("log2 size " + t.name);
    for (std::size_t a = 0; options.pairs && a < terms_.size(); ++a)
      for (std::size_t b = a + 1; b < terms_.size(); ++b) {
        pairs_.push_back({a, b});
        names_.push_back("log2 " + terms_[a].label() + " * " + terms_[b].label());
      }
    for (std::size_t f = 0; f < own_.size(); ++f) names_.push_back(own_.name(f));
  }

  [[nodiscard]] std::size_t columns() const noexcept { return names_.size(); }

  /// A name for each column, for reports.
  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }

  /// One point's row.
  /// @pre p is a point of the lattice (the space's features may need it to be feasible)
  /// @post result.size() == columns()
  [[nodiscard]] Eigen::VectorXd encode(const point& p) const {
    Eigen::VectorXd row(static_cast<Eigen::Index>(columns()));
    std::vector<double> scratch(terms_.size());
    write(p, scratch, [&](Eigen::Index column, double value) { row[column] = value; });
    return row;
  }

  /// A row per point.
  [[nodiscard]] Eigen::MatrixXd encode(std::span<const point> points) const {
    Eigen::MatrixXd x(static_cast<Eigen::Index>(points.size()), static_cast<Eigen::Index>(columns()));
    std::vector<double> scratch(terms_.size());
    for (std::size_t i = 0; i < points.size(); ++i) {
      const auto row = static_cast<Eigen::Index>(i);
      write(points[i], scratch, [&](Eigen::Index column, double value) { x(row, column) = value; });
    }
    return x;
  }

 private:
  /// The columns that depend on one coordinate alone.
  struct block {
    std::size_t coordinate;
    std::size_t width;
    std::vector<double> table;  ///< row-major, extent x width
  };

  /// A sum of logarithms: of one coordinate, or of the levels of a tile axis from one level inwards.
  struct sum {
    std::string name;
    std::size_t first;
    std::size_t last;  ///< one past
    bool is_column;    ///< otherwise it only takes part in pairs
    [[nodiscard]] std::string label() const { return is_column ? "size " + name : name; }
  };

  struct pair {
    std::size_t a;
    std::size_t b;
  };

  void add_coordinates(const lattice& space, const feature_options& options) {
    for (std::size_t d = 0; d < dimensions_; ++d) {
      const auto& axis = space.axis(d);
      const std::size_t n = axis.values.size();
      if (n < 2 || !(axis.ordered || options.unordered)) continue;
      std::vector<std::vector<double>> columns;
      const auto add = [&](std::string name, std::vector<double> column) {
        names_.push_back(std::move(name));
        columns.push_back(std::move(column));
      };
      std::vector<double> ranks(n);
      for (std::size_t i = 0; i < n; ++i) ranks[i] = static_cast<double>(i) / static_cast<double>(n - 1);
      if (!axis.ordered) {
        if (!options.one_hot || n == 2) add(axis.name, std::move(ranks));
        for (std::size_t v = 0; options.one_hot && n > 2 && v < n; ++v) {
          std::vector<double> is_it(n, 0.0);
          is_it[v] = 1;
          add(axis.name + " = " + std::to_string(v), std::move(is_it));
        }
      } else {
        if (options.coordinates) add(axis.name, scaled_positions(axis));
        if (options.log2) add("log2 " + axis.name, detail::logarithms(axis.values));
        if (options.ranks) add("rank " + axis.name, std::move(ranks));
      }
      block b{d, columns.size(), std::vector<double>(n * columns.size())};
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t c = 0; c < b.width; ++c) b.table[i * b.width + c] = columns[c][i];
      if (b.width > 0) blocks_.push_back(std::move(b));
    }
  }

  [[nodiscard]] std::vector<sum> ordered_terms(const lattice& space, const feature_options& options) {
    std::vector<sum> terms;
    for (const auto& axis : space.axes())
      logarithms_.push_back(axis.ordered ? detail::logarithms(axis.values) : std::vector<double>{});
    if (options.pairs)
      for (std::size_t d = 0; d < dimensions_; ++d)
        if (space.axis(d).ordered && space.extent(d) > 1) terms.push_back({space.axis(d).name, d, d + 1, false});
    if (options.inclusive)
      for (const auto& t : space.tiles())
        for (std::size_t l = 1; l + 1 < t.levels; ++l)  // the innermost level's size is its factor
          if (space.extent(t.first) > 1)
            terms.push_back({space.axis(t.first + l - 1).name, t.first + l - 1, t.first + t.levels - 1, true});
    return terms;
  }

  template <class Write>
  void write(const point& p, std::vector<double>& scratch, Write&& put) const {
    Eigen::Index column = 0;
    for (const auto& b : blocks_) {
      const double* from = b.table.data() + static_cast<std::size_t>(p[b.coordinate]) * b.width;
      for (std::size_t c = 0; c < b.width; ++c) put(column++, from[c]);
    }
    for (std::size_t t = 0; t < terms_.size(); ++t) {
      double total = 0;
      for (std::size_t d = terms_[t].first; d < terms_[t].last; ++d)
        total += logarithms_[d][static_cast<std::size_t>(p[d])];
      scratch[t] = total;
      if (terms_[t].is_column) put(column++, total);
    }
    for (const auto& [a, b] : pairs_) put(column++, scratch[a] + scratch[b]);
    for (std::size_t f = 0; f < own_.size(); ++f) put(column++, own_(f, p));
  }

  std::size_t dimensions_;
  std::vector<block> blocks_;
  std::vector<std::vector<double>> logarithms_;  ///< per coordinate; empty for an unordered one
  std::vector<sum> terms_;
  std::vector<pair> pairs_;
  detail::scaled_features own_;
  std::vector<std::string> names_;
};

}  // namespace tileseek
