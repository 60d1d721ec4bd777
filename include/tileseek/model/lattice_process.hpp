#pragma once
// A Gaussian process over the points of a lattice, made for searching one: it keeps thousands of candidates ready and
// names the one with the least lower confidence bound after every observation. What a Bayesian search needs of it:
//
//   tileseek::lattice_process model(space);
//   model.observe(p, seconds);                          // results as they come, failures as infinity
//   model.candidates(points);                           // all configurations, or a pool redrawn now and then
//   if (model.due()) model.refit(random);               // after the data grew by 15 %
//   while (batch.size() < n)
//     if (auto i = model.least_bound(3.0)) {            // mean - 3 deviations
//       batch.push_back(model.candidate(*i));
//       model.pretend(batch.back());                    // the next one of the batch looks elsewhere
//     }
//   model.retract();                                    // before the results of the batch are observed
//
// The model. Labels are logarithms of seconds capped at their 75 % quantile (labels.hpp); each coordinate is scaled to
// [0, 1] (scaled_positions), and the space's own features are taken as further coordinates; the correlation of two
// points is the product over coordinates of (1 + matern52(distance / length)) / 2, which lets every coordinate matter
// alone and together with others (Duvenaud et al., "Additive Gaussian processes", NIPS 2011); mean and variance are profiled out, lengths and noise chosen by marginal likelihood
// (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, chapters 2 and 5). Batches: Ginsbourger et
// al., "Kriging is well-suited to parallelize optimization", 2010 (the kriging believer); Desautels et al., JMLR 2014.
//
// The speed. A candidate's mean and variance come from v = L^-1 k, a column per candidate that grows by an entry per
// observation (L: Cholesky factor of the observations' covariance). Growing all columns after each observation reads
// all of them, tens of megabytes. Almost none need it: an observation with innovation r moves a candidate's mean by at
// most |r| deviations and can only shrink the deviation, so that Cauchy's inequality bounds the candidate's lower
// confidence bound from a stale column,
//     bound >= mean - deviation * sqrt(kappa^2 s^2 + sum of the squared innovations since),
// and columns grow only where that is below the best exact bound (as in Minoux's accelerated greedy algorithm, 1978).
// After a refit the means are computed for all candidates at once, and the columns again only as far as needed to rule
// a candidate out. The candidate found is the one a complete update would find, up to rounding.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include <tileseek/core/point.hpp>
#include <tileseek/core/rng.hpp>
#include <tileseek/model/cost_model.hpp>
#include <tileseek/model/detail/kernel.hpp>
#include <tileseek/model/features.hpp>
#include <tileseek/model/gaussian_process_options.hpp>
#include <tileseek/model/labels.hpp>
#include <tileseek/space/lattice.hpp>

namespace tileseek {

/// See the top of the file. Copyable; the same calls give the same answers.
class lattice_process {
 public:
  /// @throws std::invalid_argument  an option out of its range, by name
  explicit lattice_process(const lattice& space, gaussian_process_options options = {})
      : options_(options), own_(space, {space.features().begin(), space.features().end()}) {
    detail::validate(options);
    for (const auto& a : space.axes()) add_axis(a);
    for (std::size_t f = 0; f < own_.size(); ++f) {
      axes_.emplace_back();
      for (std::size_t i = 0; i < feature_levels; ++i)
        axes_.back().positions.push_back(static_cast<double>(i) / (feature_levels - 1));
    }
    parameters_.lengths.assign(axes_.size(), options.start_length);
    parameters_.noise = options.start_noise;
    group_axes();
    make_tables();
  }

  // --- what was measured
  // ------------------------------------------------------------------------------------------------

  /// Takes a result: seconds, infinite for a failure. A point observed before is ignored, so that answers from a memory
  /// do not count twice. Costs O(n^2) and touches no candidate. Labels are capped at the last refit's cap.
  /// @pre no points are pretended (call retract() first)
  /// @throws std::logic_error  some are
  void observe(const point& at, double seconds) {
    if (rows_ > real_rows_)
      throw std::logic_error("lattice_process: observe() while points are pretended; call retract() first");
    if (!points_.add(at).second) return;
    seconds_.push_back(seconds);
    if (!fitted_) return;
    append(levels_of(at), capped_labels::of(seconds, cap_));
    real_rows_ = rows_;
    profile();
  }

  [[nodiscard]] std::size_t observations() const noexcept { return points_.size(); }

  /// Whether the point was observed, or is pretended.
  [[nodiscard]] bool known(const point& p) const {
    return points_.find(p) != point_index::none ||
           std::find(pretended_.begin(), pretended_.end(), p) != pretended_.end();
  }

  /// Whether refit() should be called: never done, the data grew by `options.growth` since, or the matrix is full.
  [[nodiscard]] bool due() const noexcept {
    if (points_.size() == 0) return false;
    const auto grown = static_cast<double>(fitted_to_) * (1 + options_.growth);
    return !fitted_ || static_cast<double>(points_.size()) >= std::max(grown, static_cast<double>(fitted_to_) + 1) ||
           real_rows_ >= static_cast<Eigen::Index>(options_.most_active);
  }

  /// Chooses the labels' cap, the observations that stay in the matrix, and the parameters anew, and rebuilds the
  /// matrix. Drops pretended points.
  void refit(rng& random) {
    retract();
    if (points_.size() == 0) return;
    const capped_labels labels = label(seconds_);
    const bool same_labels = fitted_ && labels.cap == cap_;
    cap_ = labels.cap;

    std::vector<std::size_t> active(points_.size());
    for (std::size_t i = 0; i < active.size(); ++i) active[i] = i;
    if (active.size() >= options_.most_active)
      active = detail::best_and_random(labels.y, options_.kept, options_.kept, random);

    const kernel_parameters before = parameters_;
    if (options_.fit_parameters && points_.size() > 1) fit_parameters(labels.y, active, random);
    const bool same_kernel = fitted_ && before == parameters_ && active == active_;
    fitted_ = true;
    fitted_to_ = points_.size();
    if (same_kernel && same_labels) return;

    if (!same_kernel) {
      make_tables();
      build_matrix(active);
    }
    y_.resize(static_cast<std::size_t>(rows_));
    for (std::size_t i = 0; i < y_.size(); ++i) y_[i] = labels.y[static_cast<Eigen::Index>(active[i])];
    substitute();
    profile();
    for (std::size_t c = 0; c < candidates_.size() && !same_kernel; ++c) {
      state_[c].column = 0;
      state_[c].deviation = 1;
    }
    recompute_means();
  }

  // --- candidates
  // -------------------------------------------------------------------------------------------------------

  /// Replaces the candidates. Memory: a float per candidate and observation (18,000 and 400: 29 MB), touched as needed.
  /// @pre all are points of the lattice
  void candidates(std::vector<point> points) {
    candidates_ = std::move(points);
    state_.assign(candidates_.size(), {});
    taken_.clear();
    index_candidates();
    columns_.resize(0, 0);
    reserve_columns(rows_);
    front_.clear();
    if (fitted_) recompute_means();
  }

  [[nodiscard]] std::span<const point> candidates() const noexcept { return candidates_; }
  [[nodiscard]] const point& candidate(std::size_t i) const { return candidates_[i]; }

  /// The candidate, neither observed nor pretended, with the least mean - kappa * deviation; the first of equal ones.
  /// Nothing when none is left, or before the first refit().
  [[nodiscard]] std::optional<std::size_t> least_bound(double kappa) {
    if (!fitted_ || candidates_.empty()) return std::nullopt;
    for (;;) {
      const auto best = search(kappa);
      if (!best) return std::nullopt;
      if (!known(candidates_[*best])) return best;
      state_[*best].taken = true;
      taken_.push_back(*best);
    }
  }

  /// Acts as if the point had been measured and had given exactly what is expected there: its surroundings lose their
  /// uncertainty, and the mean stays. For the second and later points of a batch, and for points still being measured.
  void pretend(const point& p) {
    if (known(p)) return;
    pretended_.push_back(p);
    if (!fitted_) return;
    append(levels_of(p), std::nullopt);
  }

  /// Forgets all that was pretended.
  void retract() {
    if (pretended_.empty()) return;
    pretended_.clear();
    for (const std::size_t c : taken_) state_[c].taken = known(candidates_[c]);
    std::erase_if(taken_, [&](std::size_t c) { return !state_[c].taken; });
    if (rows_ == real_rows_) return;
    for (std::size_t c = 0; c < state_.size(); ++c) {
      auto& s = state_[c];
      const float* v = columns_.col(static_cast<Eigen::Index>(c)).data();
      if (s.column > real_rows_) {
        double variance = s.deviation * s.deviation;
        for (Eigen::Index i = real_rows_; i < s.column; ++i) variance += double{v[i]} * v[i];
        s.deviation = std::sqrt(variance);
      }
      if (s.mean_rows > real_rows_) {
        for (Eigen::Index i = real_rows_; i < s.mean_rows; ++i) {
          s.labels -= v[i] * zy_[static_cast<std::size_t>(i)];
          s.ones -= v[i] * z1_[static_cast<std::size_t>(i)];
        }
        s.mean_rows = real_rows_;
      }
      s.column = std::min(s.column, real_rows_);
    }
    truncate(real_rows_);
    profile();
  }

  // --- what the model thinks
  // --------------------------------------------------------------------------------------------

  /// Mean and deviation (without noise) of the labels at any points of the lattice; ln seconds, capped.
  [[nodiscard]] prediction predict(std::span<const point> points) const {
    const auto n = static_cast<Eigen::Index>(points.size());
    prediction out{Eigen::VectorXd::Zero(n), Eigen::VectorXd::Zero(n)};
    if (!fitted_) return out;
    for (Eigen::Index i = 0; i < n; ++i) {
      const std::vector<double> v = forward(levels_of(points[static_cast<std::size_t>(i)]));
      double variance = 1;
      double mean = mean_;
      for (std::size_t j = 0; j < v.size(); ++j) {
        variance -= v[j] * v[j];
        mean += v[j] * (zy_[j] - mean_ * z1_[j]);
      }
      out.mean[i] = mean;
      out.deviation[i] = scale_ * std::sqrt(std::max(variance, smallest_variance));
    }
    return out;
  }

  /// The same for all candidates, at the cost of growing all their columns: for criteria other than a confidence bound.
  [[nodiscard]] prediction predict_candidates() {
    const auto n = static_cast<Eigen::Index>(candidates_.size());
    prediction out{Eigen::VectorXd::Zero(n), Eigen::VectorXd::Zero(n)};
    if (!fitted_) return out;
    for (std::size_t c = 0; c < candidates_.size(); ++c) {
      advance(c, rows_);
      out.mean[static_cast<Eigen::Index>(c)] = mean_of(state_[c]);
      out.deviation[static_cast<Eigen::Index>(c)] = scale_ * state_[c].deviation;
    }
    return out;
  }

  /// The cap of the labels since the last refit, in ln seconds; all labels are at most that.
  [[nodiscard]] double cap() const noexcept { return cap_; }

  /// Lengths and noise in use. A coordinate with a long length matters little.
  [[nodiscard]] const kernel_parameters& parameters() const noexcept { return parameters_; }

  /// Sets the parameters, as a search on a similar task found them; the next refit() starts from there.
  /// @throws std::invalid_argument  not one length per coordinate, or a number that is not positive
  void start_from(kernel_parameters p) {
    bool good = p.lengths.size() == axes_.size() && p.noise > 0;
    for (const double l : p.lengths) good = good && l > 0 && std::isfinite(l);
    if (!good)
      throw std::invalid_argument("lattice_process: start_from() needs a positive noise and " +
                                  std::to_string(axes_.size()) +
                                  " positive lengths, one per coordinate of the lattice");
    p.noise = std::clamp(p.noise, options_.least_noise, options_.most_noise);
    parameters_ = std::move(p);
    fitted_ = false;
  }

 private:
  static constexpr double smallest_variance = 1e-6;  // single precision knows no less
  static constexpr std::size_t feature_levels = 64;  // closer values are equal to the kernel, whose lengths are longer

  /// What is known of a candidate. With rows i of its column v: deviation^2 = 1 - sum v_i^2 over i < column, an upper
  /// bound of the variance when column < rows_; labels = sum v_i zy_i and ones = sum v_i z1_i over i < mean_rows.
  /// Always column <= mean_rows, or both are complete.
  struct candidate_state {
    double labels = 0;
    double ones = 0;
    double deviation = 1;
    Eigen::Index column = 0;
    Eigen::Index mean_rows = 0;
    bool taken = false;
  };

  // --- the lattice as the kernel sees it ---

  void add_axis(const coordinate& a) {
    constexpr std::size_t most_levels = 256;
    detail::kernel_axis axis;
    axis.ordered = a.ordered;
    const std::vector<double> positions = scaled_positions(a);
    std::vector<std::uint16_t> level(positions.size());
    if (!a.ordered && positions.size() > 4096)
      throw std::invalid_argument("lattice_process: unordered parameter '" + a.name + "' has " +
                                  std::to_string(positions.size()) +
                                  " values, at most 4096 can be modelled; split it, or make it ordered");
    if (!a.ordered || positions.size() <= most_levels) {
      axis.positions = positions;
      for (std::size_t i = 0; i < level.size(); ++i) level[i] = static_cast<std::uint16_t>(i);
    } else {  // a fine grid: values this close are equal to the kernel, whose lengths are much longer
      for (std::size_t i = 0; i < most_levels; ++i)
        axis.positions.push_back(static_cast<double>(i) / (most_levels - 1));
      for (std::size_t i = 0; i < level.size(); ++i)
        level[i] = static_cast<std::uint16_t>(std::lround(positions[i] * (most_levels - 1)));
    }
    axes_.push_back(std::move(axis));
    level_.push_back(std::move(level));
  }

  /// Coordinates are merged into groups with up to 256 joint values, so that a correlation is a product of three or
  /// four look-ups instead of ten.
  void group_axes() {
    constexpr std::size_t most = 256;
    std::size_t size = 0;
    for (std::size_t d = 0; d < axes_.size(); ++d) {
      const std::size_t n = axes_[d].positions.size();
      if (n < 2) continue;
      if (groups_.empty() || size * n > most) {
        groups_.push_back({{}, 1, {}});
        size = 1;
      }
      groups_.back().axes.push_back(d);
      size *= n;
      groups_.back().size = size;
    }
  }

  void make_tables() {
    for (auto& g : groups_) {
      // Grown axis by axis: joint value = value of the first axis + extent * (of the second + ...).
      Eigen::MatrixXf t = Eigen::MatrixXf::Ones(1, 1);
      for (const std::size_t d : g.axes) {
        const Eigen::MatrixXf one = axes_[d].table(parameters_.lengths[d], options_.product).cast<float>();
        Eigen::MatrixXf next(t.rows() * one.rows(), t.cols() * one.cols());
        for (Eigen::Index j = 0; j < one.cols(); ++j)
          for (Eigen::Index i = 0; i < one.rows(); ++i)
            for (Eigen::Index v = 0; v < t.cols(); ++v)
              for (Eigen::Index u = 0; u < t.rows(); ++u)
                next(i * t.rows() + u, j * t.cols() + v) = one(i, j) * t(u, v);
        t = std::move(next);
      }
      g.table = std::move(t);
    }
  }

  /// Which of the positions of axis d the point has: of a coordinate, or of a feature rounded to one of its levels.
  [[nodiscard]] std::uint16_t level_at(std::size_t d, const point& p) const {
    if (d < level_.size()) return level_[d][static_cast<std::size_t>(p[d])];
    const double at = std::clamp(own_(d - level_.size(), p), 0.0, 1.0);
    return static_cast<std::uint16_t>(std::lround(at * (feature_levels - 1)));
  }

  [[nodiscard]] std::vector<std::uint16_t> levels_of(const point& p) const {
    std::vector<std::uint16_t> out(groups_.size());
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      std::size_t joint = 0;
      for (std::size_t a = groups_[g].axes.size(); a-- > 0;) {
        const std::size_t d = groups_[g].axes[a];
        joint = joint * axes_[d].positions.size() + level_at(d, p);
      }
      out[g] = static_cast<std::uint16_t>(joint);
    }
    return out;
  }

  void index_candidates() {
    at_.resize(candidates_.size() * groups_.size());
    for (std::size_t c = 0; c < candidates_.size(); ++c) {
      const auto levels = levels_of(candidates_[c]);
      std::copy(levels.begin(), levels.end(), at_.begin() + static_cast<std::ptrdiff_t>(c * groups_.size()));
    }
  }

  // --- the matrix ---

  void fit_parameters(const Eigen::VectorXd& y, const std::vector<std::size_t>& active, rng& random) {
    Eigen::VectorXd of_active(static_cast<Eigen::Index>(active.size()));
    for (std::size_t i = 0; i < active.size(); ++i)
      of_active[static_cast<Eigen::Index>(i)] = y[static_cast<Eigen::Index>(active[i])];
    const std::size_t half = options_.fit_samples / 2;
    const auto chosen = detail::best_and_random(of_active, half, options_.fit_samples - half, random);
    const auto n = static_cast<Eigen::Index>(chosen.size());
    detail::level_matrix at(n, static_cast<Eigen::Index>(axes_.size()));
    Eigen::VectorXd label(n);
    for (Eigen::Index i = 0; i < n; ++i) {
      const std::size_t from = chosen[static_cast<std::size_t>(i)];
      label[i] = of_active[static_cast<Eigen::Index>(from)];
      const point& p = points_[active[from]];
      for (std::size_t d = 0; d < axes_.size(); ++d) at(i, static_cast<Eigen::Index>(d)) = level_at(d, p);
    }
    parameters_ = detail::sweep(std::move(parameters_), axes_, at, label, Eigen::VectorXd::Ones(n), options_, random);
  }

  [[nodiscard]] float correlation(const std::uint16_t* a, const std::uint16_t* b) const {
    float k = 1;
    for (std::size_t g = 0; g < groups_.size(); ++g) k *= groups_[g].table(a[g], b[g]);
    return k;
  }

  void build_matrix(const std::vector<std::size_t>& active) {
    active_ = active;
    const auto n = static_cast<Eigen::Index>(active.size());
    observed_.clear();
    for (const std::size_t i : active) {
      const auto levels = levels_of(points_[i]);
      observed_.insert(observed_.end(), levels.begin(), levels.end());
    }
    detail::row_matrix k(n, n);
    const std::size_t g = groups_.size();
    for (Eigen::Index i = 0; i < n; ++i) {
      for (Eigen::Index j = 0; j < i; ++j)
        k(i, j) = correlation(observed_.data() + static_cast<std::size_t>(i) * g,
                              observed_.data() + static_cast<std::size_t>(j) * g);
      k(i, i) = 1 + parameters_.noise;
    }
    // The noise keeps the matrix positive; should rounding defeat it all the same, the points are as good as
    // independent.
    const bool positive = detail::cholesky(k);
    rows_ = n;
    real_rows_ = n;
    reserve_rows(n);
    for (Eigen::Index i = 0; i < n; ++i)
      for (Eigen::Index j = 0; j <= i; ++j) {
        factor_(i, j) = positive ? k(i, j) : i == j ? std::sqrt(1 + parameters_.noise) : 0.0;
        factor_float_(i, j) = static_cast<float>(factor_(i, j));
      }
    reserve_columns(n);
  }

  void reserve_rows(Eigen::Index n) {
    if (factor_.rows() >= n) return;
    const Eigen::Index wanted = n + n / 4 + 64;
    factor_.conservativeResize(wanted, wanted);
    factor_float_.conservativeResize(wanted, wanted);
  }

  void reserve_columns(Eigen::Index n) {
    const auto c = static_cast<Eigen::Index>(candidates_.size());
    if (columns_.cols() == c && columns_.rows() >= n) return;
    const Eigen::Index wanted = n + n / 4 + 64;
    if (columns_.cols() == c)
      columns_.conservativeResize(wanted, c);
    else
      columns_.resize(wanted, c);
  }

  /// L^-1 k for a point: what its row of L would be.
  [[nodiscard]] std::vector<double> forward(const std::vector<std::uint16_t>& at) const {
    std::vector<double> v(static_cast<std::size_t>(rows_));
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = correlation(at.data(), observed_.data() + i * groups_.size());
    detail::solve_lower(factor_, rows_, v.data());
    return v;
  }

  /// Adds a row for a point; without a label it gets the mean's.
  void append(const std::vector<std::uint16_t>& at, std::optional<double> label) {
    const std::vector<double> l = forward(at);
    double variance = 1 + parameters_.noise;
    double labels = 0;
    double ones = 0;
    for (std::size_t i = 0; i < l.size(); ++i) {
      variance -= l[i] * l[i];
      labels += l[i] * zy_[i];
      ones += l[i] * z1_[i];
    }
    const double diagonal = std::sqrt(std::max(variance, parameters_.noise / 2));
    reserve_rows(rows_ + 1);
    for (Eigen::Index i = 0; i <= rows_; ++i) {
      factor_(rows_, i) = i < rows_ ? l[static_cast<std::size_t>(i)] : diagonal;
      factor_float_(rows_, i) = static_cast<float>(factor_(rows_, i));
    }
    const double y = label ? *label : mean_ * (1 - ones) + labels;
    y_.push_back(y);
    zy_.push_back((y - labels) / diagonal);
    z1_.push_back((1 - ones) / diagonal);
    observed_.insert(observed_.end(), at.begin(), at.end());
    ++rows_;
    reserve_columns(rows_);
    if (label)
      active_.push_back(points_.size() - 1);
    else
      innovations();
  }

  void truncate(Eigen::Index n) {
    rows_ = n;
    const auto size = static_cast<std::size_t>(n);
    y_.resize(size);
    zy_.resize(size);
    z1_.resize(size);
    observed_.resize(size * groups_.size());
  }

  /// L^-1 y and L^-1 1.
  void substitute() {
    zy_ = y_;
    z1_.assign(y_.size(), 1.0);
    detail::solve_lower(factor_, rows_, zy_.data());
    detail::solve_lower(factor_, rows_, z1_.data());
  }

  /// Mean and scale at their best for the real rows.
  void profile() {
    double top = 0;
    double bottom = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(real_rows_); ++i) {
      top += z1_[i] * zy_[i];
      bottom += z1_[i] * z1_[i];
    }
    mean_ = bottom > 0 ? top / bottom : 0;
    double sum = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(real_rows_); ++i) sum += square(zy_[i] - mean_ * z1_[i]);
    scale_ = std::sqrt(sum / static_cast<double>(std::max<Eigen::Index>(real_rows_, 1)) + 1e-12);
    innovations();
  }

  /// later_[i]: sum of the squared innovations of rows i and later.
  void innovations() {
    later_.assign(static_cast<std::size_t>(rows_) + 1, 0.0);
    for (std::size_t i = static_cast<std::size_t>(rows_); i-- > 0;)
      later_[i] = later_[i + 1] + square(zy_[i] - mean_ * z1_[i]);
  }

  // --- candidates ---

  [[nodiscard]] double mean_of(const candidate_state& s) const noexcept { return mean_ * (1 - s.ones) + s.labels; }

  /// labels and ones of all candidates, for the real rows, from the weights K^-1 y and K^-1 1.
  void recompute_means() {
    const auto n = static_cast<std::size_t>(real_rows_);
    std::vector<double> wy = zy_;
    std::vector<double> w1 = z1_;
    detail::solve_transposed(factor_, real_rows_, wy.data());
    detail::solve_transposed(factor_, real_rows_, w1.data());
    const std::size_t groups = groups_.size();
    for (std::size_t c = 0; c < candidates_.size(); ++c) {
      double labels = 0;
      double ones = 0;
      const tables here = tables_of(c);
      for (std::size_t i = 0; i < n; ++i) {
        const double k = here(observed_.data() + i * groups);
        labels += k * wy[i];
        ones += k * w1[i];
      }
      state_[c].labels = labels;
      state_[c].ones = ones;
      state_[c].mean_rows = real_rows_;
    }
  }

  /// For one candidate the column of each group's table.
  struct tables {
    static constexpr std::size_t in_place = 16;
    const float* first[in_place];
    std::size_t n;
    const lattice_process* model;  ///< for the groups beyond `in_place`
    const std::uint16_t* at;
    [[nodiscard]] float operator()(const std::uint16_t* other) const {
      float k = 1;
      for (std::size_t g = 0; g < n; ++g) k *= first[g][other[g]];
      for (std::size_t g = n; g < model->groups_.size(); ++g) k *= model->groups_[g].table(other[g], at[g]);
      return k;
    }
  };

  [[nodiscard]] tables tables_of(std::size_t c) const {
    tables t;
    t.model = this;
    t.at = at_.data() + c * groups_.size();
    t.n = std::min(groups_.size(), tables::in_place);
    for (std::size_t g = 0; g < t.n; ++g) t.first[g] = groups_[g].table.col(t.at[g]).data();
    return t;
  }

  /// Grows a candidate's column to `to` rows.
  void advance(std::size_t c, Eigen::Index to) {
    auto& s = state_[c];
    if (s.column >= to) return;
    const tables here = tables_of(c);
    float* v = columns_.col(static_cast<Eigen::Index>(c)).data();
    double removed = 0;
    const Eigen::Index stride = factor_float_.outerStride();
    for (Eigen::Index i = s.column; i < to; ++i) {
      const float* row = factor_float_.data() + i * stride;
      float k = here(observed_.data() + static_cast<std::size_t>(i) * groups_.size());
      k -= Eigen::Map<const Eigen::VectorXf>(row, i).dot(Eigen::Map<const Eigen::VectorXf>(v, i));
      v[i] = k / row[i];
      removed += double{v[i]} * v[i];
      if (i >= s.mean_rows) {
        s.labels += v[i] * zy_[static_cast<std::size_t>(i)];
        s.ones += v[i] * z1_[static_cast<std::size_t>(i)];
      }
    }
    s.deviation = std::sqrt(std::max(s.deviation * s.deviation - removed, smallest_variance));
    s.column = to;
    s.mean_rows = std::max(s.mean_rows, to);
  }

  /// The candidate with the least bound that is not marked as taken.
  [[nodiscard]] std::optional<std::size_t> search(double kappa) {
    // width[i]: deviations by which the bound of a candidate whose mean is complete for i rows may lie below that mean.
    std::vector<double> width(later_.size());
    for (std::size_t i = 0; i < width.size(); ++i) width[i] = std::sqrt(later_[i] + square(kappa * scale_));
    const auto bound = [&](const candidate_state& s) {
      return mean_of(s) - s.deviation * width[static_cast<std::size_t>(s.mean_rows)];
    };

    std::optional<std::size_t> best;
    double least = std::numeric_limits<double>::infinity();
    constexpr Eigen::Index chunk = 32;  // rows at a time, so that a hopeless candidate is dropped early
    const auto examine = [&](std::size_t c) {
      auto& s = state_[c];
      if (s.taken) return;
      for (double b = bound(s); b <= least; b = bound(s)) {
        if (s.column == rows_) {
          if (b < least || c < *best) {
            least = b;
            best = c;
          }
          return;
        }
        advance(c, std::min(rows_, s.column + chunk));
      }
    };
    for (const std::size_t c : front_) examine(c);  // who was good is good: a low bar from the start
    waiting_.clear();
    for (std::size_t c = 0; c < state_.size(); ++c)
      if (!state_[c].taken)
        if (const double b = bound(state_[c]); b <= least) waiting_.push_back({b, c});
    const auto later = [](const waiting& a, const waiting& b) {
      return a.bound != b.bound ? a.bound > b.bound : a.candidate > b.candidate;
    };
    std::make_heap(waiting_.begin(), waiting_.end(), later);
    front_.clear();
    while (!waiting_.empty() && waiting_.front().bound <= least) {
      std::pop_heap(waiting_.begin(), waiting_.end(), later);
      const std::size_t c = waiting_.back().candidate;
      waiting_.pop_back();
      examine(c);
      if (front_.size() < 32 && state_[c].column == rows_) front_.push_back(c);
    }
    return best;
  }

  [[nodiscard]] static constexpr double square(double x) noexcept { return x * x; }

  struct group {
    std::vector<std::size_t> axes;
    std::size_t size;
    Eigen::MatrixXf table;
  };

  struct waiting {
    double bound;
    std::size_t candidate;
  };

  gaussian_process_options options_;
  detail::scaled_features own_;                    ///< the space's own features
  std::vector<detail::kernel_axis> axes_;          ///< of the coordinates, then of the features
  std::vector<std::vector<std::uint16_t>> level_;  ///< per axis: the level of each index
  std::vector<group> groups_;
  kernel_parameters parameters_;

  point_index points_;
  std::vector<double> seconds_;
  std::vector<point> pretended_;
  std::size_t fitted_to_ = 0;
  bool fitted_ = false;
  double cap_ = 0;

  Eigen::Index rows_ = 0;                ///< of the matrix, pretended ones included
  Eigen::Index real_rows_ = 0;           ///< without them
  std::vector<std::size_t> active_;      ///< the observation behind each real row
  std::vector<std::uint16_t> observed_;  ///< joint levels of each row's point
  detail::row_matrix factor_;            ///< L; room for more rows
  Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> factor_float_;  ///< L for the candidates
  std::vector<double> y_;
  std::vector<double> zy_;     ///< L^-1 y
  std::vector<double> z1_;     ///< L^-1 1
  std::vector<double> later_;  ///< see innovations()
  double mean_ = 0;
  double scale_ = 1;

  std::vector<point> candidates_;
  std::vector<candidate_state> state_;
  std::vector<std::size_t> taken_;  ///< candidates with the mark
  std::vector<std::uint16_t> at_;   ///< joint levels of each candidate
  Eigen::MatrixXf columns_;         ///< v of each candidate
  std::vector<std::size_t> front_;  ///< the best of the last search
  std::vector<waiting> waiting_;
};

}  // namespace tileseek
