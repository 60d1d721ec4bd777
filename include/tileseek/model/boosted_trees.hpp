#pragma once
// Gradient boosting of regression trees on binned inputs: the kind of model that published kernel tuners use. It needs
// more samples than a Gaussian process or ridge regression, takes thousands of them and hundreds of columns in its
// stride, and follows cliffs (a tile that no longer fits a cache) that smooth models round off.
//
// Friedman, "Greedy function approximation: a gradient boosting machine", Annals of Statistics 2001, and "Stochastic
// gradient boosting", 2002; histograms and the regularised gain as in Chen and Guestrin, "XGBoost", KDD 2016, and Ke et
// al., "LightGBM", NIPS 2017. Squared loss.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include <tileseek/core/rng.hpp>
#include <tileseek/model/cost_model.hpp>
#include <tileseek/model/detail/standardise.hpp>
#include <tileseek/model/detail/text.hpp>
#include <tileseek/model/features.hpp>

namespace tileseek {

struct boosted_trees_options {
  std::size_t trees = 50;   ///< 50 of depth 4 fit 400 samples in about 10 ms
  std::size_t depth = 4;    ///< splits between the root and a leaf, at most
  double rate = 0.12;       ///< share of each tree's correction that is applied
  double lambda = 0.5;      ///< samples' worth of zeros that each leaf is averaged with
  double least_weight = 2;  ///< samples (weights) a leaf must hold
  double row_share = 0.8;   ///< of the samples, drawn anew for each tree; 1: all. With fewer than 16 samples always all
  double column_share = 0.5;  ///< of the columns, drawn anew for each tree, at least one; 1: all
  std::size_t bins = 64;      ///< values of a column that can be told apart, at most 256
  std::uint64_t seed = 1;     ///< of the draws
};

/// A cost model of boosted trees; takes weights. The same samples and seed give the same model.
class boosted_trees {
 public:
  /// @throws std::invalid_argument  an option out of its range, by name
  explicit boosted_trees(boosted_trees_options options = {}) : options_(options) {
    const auto need = [](bool holds, const char* name, double value, const char* remedy) {
      if (!holds)
        throw std::invalid_argument(std::string("boosted trees: ") + name + " is " + std::to_string(value) + "; give " +
                                    remedy);
    };
    need(options.trees >= 1, "trees", static_cast<double>(options.trees), "at least 1");
    need(options.depth >= 1 && options.depth <= 16, "depth", static_cast<double>(options.depth), "1 to 16");
    need(options.rate > 0 && options.rate <= 1, "rate", options.rate, "more than 0, at most 1");
    need(options.lambda >= 0 && std::isfinite(options.lambda), "lambda", options.lambda, "0 or more");
    need(options.least_weight > 0, "least_weight", options.least_weight, "a positive number");
    need(options.row_share > 0 && options.row_share <= 1, "row_share", options.row_share, "more than 0, at most 1");
    need(options.column_share > 0 && options.column_share <= 1, "column_share", options.column_share,
         "more than 0, at most 1");
    need(options.bins >= 2 && options.bins <= 256, "bins", static_cast<double>(options.bins), "2 to 256");
  }

  /// The columns it ranks best with.
  [[nodiscard]] static constexpr feature_options features() { return feature_options::for_trees(); }

  void fit(const Eigen::MatrixXd& x, const Eigen::VectorXd& y) { fit(x, y, Eigen::VectorXd::Ones(y.size())); }

  /// @pre weights[i] > 0
  void fit(const Eigen::MatrixXd& x, const Eigen::VectorXd& y, const Eigen::VectorXd& weights) {
    if (x.rows() != y.size() || weights.size() != y.size())
      throw std::invalid_argument("boosted trees: " + std::to_string(x.rows()) + " rows, " + std::to_string(y.size()) +
                                  " labels and " + std::to_string(weights.size()) +
                                  " weights; give one label and one weight a row");
    nodes_.clear();
    roots_.clear();
    losses_.clear();
    columns_ = x.cols();
    const auto label = detail::standardisation::of(y, weights);
    centre_ = y.size() > 0 ? label.centre[0] : 0;
    unit_ = y.size() > 0 && label.factor[0] > 0 ? 1 / label.factor[0] : 0;
    if (!(unit_ > 0)) return;
    training t{bin(x), label.apply(y).col(0), weights, {}, {}, {}, {}};
    rng random(options_.seed);
    for (std::size_t i = 0; i < options_.trees; ++i) {
      draw(t, random);
      if (t.rows.empty() || t.columns.empty()) break;
      grow(t);
      double loss = 0;
      for (Eigen::Index r = 0; r < x.rows(); ++r) {
        t.residual[r] -= follow(roots_.back(), [&](std::uint32_t column) { return x(r, column); });
        loss += weights[r] * t.residual[r] * t.residual[r];
      }
      losses_.push_back(loss / weights.sum());
    }
  }

  [[nodiscard]] Eigen::VectorXd predict(const Eigen::MatrixXd& x) const {
    Eigen::VectorXd out = Eigen::VectorXd::Constant(x.rows(), centre_);
    if (roots_.empty()) return out;
    if (x.cols() != columns_)
      throw std::invalid_argument("boosted trees: fitted to " + std::to_string(columns_) + " columns, asked about " +
                                  std::to_string(x.cols()) + "; encode both with the same feature_map");
    // A block of rows, side by side, goes through one tree after the other: both stay in the nearest cache.
    constexpr Eigen::Index block = 64;
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> rows;
    for (Eigen::Index from = 0; from < x.rows(); from += block) {
      const Eigen::Index n = std::min(block, x.rows() - from);
      rows = x.middleRows(from, n);
      Eigen::VectorXd sum = Eigen::VectorXd::Zero(n);
      for (const std::uint32_t root : roots_)
        for (Eigen::Index r = 0; r < n; ++r) {
          const double* row = rows.data() + r * columns_;
          sum[r] += follow(root, [row](std::uint32_t column) { return row[column]; });
        }
      out.segment(from, n) += unit_ * sum;
    }
    return out;
  }

  /// The mean squared error on all samples after each tree, in variances of the labels. With `row_share` 1 it never
  /// rises.
  [[nodiscard]] std::span<const double> training_loss() const noexcept { return losses_; }

  /// The fitted model as text that `load` reads back to equal predictions.
  [[nodiscard]] std::string save() const {
    detail::text_writer out("tileseek-boosted-trees", 1);
    const auto& o = options_;
    for (const std::size_t v : {o.trees, o.depth, o.bins}) out.add(v);
    for (const double v : {o.rate, o.lambda, o.least_weight, o.row_share, o.column_share}) out.add(v);
    out.add(o.seed);
    out.line();
    out.add(columns_);
    out.add(centre_);
    out.add(unit_);
    out.line();
    out.add(losses_);
    out.add(roots_);
    out.add(nodes_.size());
    out.line();
    for (const node& n : nodes_) {
      out.add(n.column);
      out.add(n.left);
      out.add(n.value);
      out.line();
    }
    return std::move(out).take();
  }

  /// @throws std::invalid_argument  the text is damaged, or of another model or version
  [[nodiscard]] static boosted_trees load(std::string_view text) {
    detail::text_reader in(text, "tileseek-boosted-trees", 1);
    boosted_trees_options o;
    for (std::size_t* v : {&o.trees, &o.depth, &o.bins}) *v = in.number<std::size_t>();
    for (double* v : {&o.rate, &o.lambda, &o.least_weight, &o.row_share, &o.column_share}) *v = in.number<double>();
    o.seed = in.number<std::uint64_t>();
    boosted_trees out(o);
    out.columns_ = in.number<Eigen::Index>();
    out.centre_ = in.number<double>();
    out.unit_ = in.number<double>();
    out.losses_ = in.numbers<double>();
    out.roots_ = in.numbers<std::uint32_t>();
    const auto n = in.number<std::size_t>();
    for (std::size_t i = 0; i < n; ++i) {
      node one;
      one.column = in.number<std::uint32_t>();
      one.left = in.number<std::uint32_t>();
      one.value = in.number<double>();
      // Children lie behind their parent, so that no damage makes a walk endless.
      in.require(
          one.left == 0 || (one.left > i && one.left < n - 1 && one.column < static_cast<std::uint64_t>(out.columns_)),
          "a node that leads out of the tree");
      out.nodes_.push_back(one);
    }
    for (const std::uint32_t root : out.roots_) in.require(root < n, "a root that is no node");
    in.finish();
    return out;
  }

 private:
  /// An inner node sends rows with column <= value to `left`, others to `left + 1`. A leaf has left == 0.
  struct node {
    std::uint32_t column = 0;
    std::uint32_t left = 0;
    double value = 0;  ///< threshold, or what the leaf adds
  };

  /// The samples, each entry replaced by the number of its bin.
  struct binned {
    Eigen::Matrix<std::uint8_t, Eigen::Dynamic, Eigen::Dynamic> at;
    std::vector<std::vector<double>> cuts;  ///< per column: bin b holds values up to cuts[b]; the last bin has no cut
  };

  struct bucket {
    double sum = 0;  ///< of weight * residual
    double weight = 0;
  };

  struct training {
    binned data;
    Eigen::VectorXd residual;
    const Eigen::VectorXd& weights;
    std::vector<std::uint32_t> rows;              ///< of this tree; a node's are contiguous
    std::vector<std::uint32_t> columns;           ///< of this tree, ascending
    std::vector<std::uint32_t> order;             ///< scratch for draws
    std::vector<std::vector<bucket>> histograms;  ///< reused, two per level
  };

  template <class Entry>
  [[nodiscard]] double follow(std::uint32_t root, Entry&& entry) const {
    std::uint32_t at = root;
    while (nodes_[at].left != 0) at = nodes_[at].left + (entry(nodes_[at].column) <= nodes_[at].value ? 0U : 1U);
    return nodes_[at].value;
  }

  [[nodiscard]] binned bin(const Eigen::MatrixXd& x) const {
    binned out{Eigen::Matrix<std::uint8_t, Eigen::Dynamic, Eigen::Dynamic>(x.rows(), x.cols()), {}};
    out.cuts.resize(static_cast<std::size_t>(x.cols()));
    std::vector<double> sorted;
    std::vector<double> distinct;
    for (Eigen::Index c = 0; c < x.cols(); ++c) {
      auto& cuts = out.cuts[static_cast<std::size_t>(c)];
      sorted.assign(x.col(c).data(), x.col(c).data() + x.rows());
      std::sort(sorted.begin(), sorted.end());
      distinct = sorted;
      distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
      const auto between = [](double a, double b) {
        const double middle = a / 2 + b / 2;
        return middle < b ? middle : a;  // neighbours in floating point have nothing between them
      };
      if (distinct.size() <= options_.bins) {
        for (std::size_t i = 0; i + 1 < distinct.size(); ++i) cuts.push_back(between(distinct[i], distinct[i + 1]));
      } else {  // at quantiles of the samples
        for (std::size_t b = 1; b < options_.bins; ++b) {
          const double low = sorted[b * sorted.size() / options_.bins - 1];
          const auto next = std::upper_bound(distinct.begin(), distinct.end(), low);
          if (next == distinct.end()) break;
          const double cut = between(low, *next);
          if (cuts.empty() || cut > cuts.back()) cuts.push_back(cut);
        }
      }
      for (Eigen::Index r = 0; r < x.rows(); ++r)
        out.at(r, c) = static_cast<std::uint8_t>(std::lower_bound(cuts.begin(), cuts.end(), x(r, c)) - cuts.begin());
    }
    return out;
  }

  void draw(training& t, rng& random) const {
    const auto n = static_cast<std::size_t>(t.residual.size());
    t.rows.resize(n);
    for (std::size_t i = 0; i < n; ++i) t.rows[i] = static_cast<std::uint32_t>(i);
    if (options_.row_share < 1 && n >= 16) thin(t.rows, options_.row_share, random);
    t.columns.clear();
    for (std::size_t c = 0; c < t.data.cuts.size(); ++c)
      if (!t.data.cuts[c].empty()) t.columns.push_back(static_cast<std::uint32_t>(c));
    if (options_.column_share < 1) thin(t.columns, options_.column_share, random);
  }

  /// Keeps a random share, at least one, in ascending order.
  static void thin(std::vector<std::uint32_t>& v, double share, rng& random) {
    if (v.empty()) return;
    const auto kept =
        std::max<std::size_t>(1, static_cast<std::size_t>(std::lround(share * static_cast<double>(v.size()))));
    for (std::size_t i = 0; i < kept; ++i) std::swap(v[i], v[i + static_cast<std::size_t>(random.below(v.size() - i))]);
    v.resize(kept);
    std::sort(v.begin(), v.end());
  }

  void grow(training& t) {
    const auto root = static_cast<std::uint32_t>(nodes_.size());
    roots_.push_back(root);
    nodes_.emplace_back();
    t.histograms.resize(2 * options_.depth + 2);
    count(t, 0, t.rows.size(), t.histograms[0]);
    split(t, root, 0, t.rows.size(), 0, 0);
  }

  void count(const training& t, std::size_t begin, std::size_t end, std::vector<bucket>& out) const {
    out.assign(t.columns.size() * options_.bins, bucket{});
    for (std::size_t c = 0; c < t.columns.size(); ++c) {
      bucket* h = out.data() + c * options_.bins;
      const std::uint8_t* at = t.data.at.col(t.columns[c]).data();
      for (std::size_t i = begin; i < end; ++i) {
        const std::uint32_t r = t.rows[i];
        bucket& b = h[at[r]];
        b.sum += t.weights[r] * t.residual[r];
        b.weight += t.weights[r];
      }
    }
  }

  /// Splits the node over t.rows[begin, end), whose histogram is t.histograms[mine], or makes it a leaf.
  void split(training& t, std::uint32_t at, std::size_t begin, std::size_t end, std::size_t level, std::size_t mine) {
    double sum = 0;
    double weight = 0;
    for (std::size_t i = begin; i < end; ++i) {
      sum += t.weights[t.rows[i]] * t.residual[t.rows[i]];
      weight += t.weights[t.rows[i]];
    }
    const auto score = [&](double s, double w) { return s * s / (w + options_.lambda); };
    // Shrinking the parts' means by lambda may cost more than the cut gains: only a rise of the score is one.
    double best = score(sum, weight) + 1e-9 * weight;
    std::size_t column = 0;
    std::size_t cut = 0;
    bool found = false;
    for (std::size_t c = 0; c < t.columns.size() && level < options_.depth; ++c) {
      const bucket* h = t.histograms[mine].data() + c * options_.bins;
      const std::size_t cuts = t.data.cuts[t.columns[c]].size();
      double left_sum = 0;
      double left_weight = 0;
      for (std::size_t b = 0; b < cuts; ++b) {
        if (!(h[b].weight > 0)) continue;
        left_sum += h[b].sum;
        left_weight += h[b].weight;
        if (left_weight < options_.least_weight) continue;
        if (weight - left_weight < options_.least_weight) break;
        const double gain = score(left_sum, left_weight) + score(sum - left_sum, weight - left_weight);
        if (gain > best) {
          best = gain;
          column = c;
          cut = b;
          found = true;
        }
      }
    }
    const auto first = t.rows.begin();
    std::size_t middle = begin;
    if (found) {
      const std::uint8_t* bins = t.data.at.col(t.columns[column]).data();
      middle = static_cast<std::size_t>(std::stable_partition(first + static_cast<std::ptrdiff_t>(begin),
                                                              first + static_cast<std::ptrdiff_t>(end),
                                                              [&](std::uint32_t r) { return bins[r] <= cut; }) -
                                        first);
    }
    if (middle == begin ||
        middle == end) {  // also when differences of histograms left a trace of weight where nothing is
      nodes_[at].value = options_.rate * sum / (weight + options_.lambda);
      return;
    }
    const auto left = static_cast<std::uint32_t>(nodes_.size());
    nodes_.resize(nodes_.size() + 2);
    nodes_[at] = {t.columns[column], left, t.data.cuts[t.columns[column]][cut]};

    // Count the smaller part; the larger is the difference, in the parent's place.
    const std::size_t smaller = 2 * level + 1;
    const std::size_t larger = 2 * level + 2;
    const bool left_smaller = middle - begin <= end - middle;
    if (level + 1 < options_.depth) {
      if (left_smaller)
        count(t, begin, middle, t.histograms[smaller]);
      else
        count(t, middle, end, t.histograms[smaller]);
      t.histograms[larger].swap(t.histograms[mine]);  // nobody needs the parent's any more
      for (std::size_t i = 0; i < t.histograms[larger].size(); ++i) {
        t.histograms[larger][i].sum -= t.histograms[smaller][i].sum;
        t.histograms[larger][i].weight -= t.histograms[smaller][i].weight;
      }
    }
    split(t, left, begin, middle, level + 1, left_smaller ? smaller : larger);
    split(t, left + 1, middle, end, level + 1, left_smaller ? larger : smaller);
  }

  boosted_trees_options options_;
  std::vector<node> nodes_;
  std::vector<std::uint32_t> roots_;
  std::vector<double> losses_;
  Eigen::Index columns_ = 0;
  double centre_ = 0;  ///< of the labels
  double unit_ = 0;    ///< their deviation; 0 when they are equal
};

static_assert(WeightedCostModel<boosted_trees>);

}  // namespace tileseek
