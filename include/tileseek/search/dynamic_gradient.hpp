#pragma once
// Dynamic gradient descent: from a measured configuration, rank its neighbours with a cost model that learns from every
// measurement, measure them a window at a time, and move as soon as one is faster.
//
// After the tuner of Ansor-AF-DS (Accelerated Auto-Tuning of GPU Kernels for Tensor Computations, ICS 2024) and its
// port to TVM, whose names the options keep. Both implementations measured configurations twice, dropped the last
// incomplete window, threw improvements away at an early stop, and compared restarts with a base that was never
// measured; here
//   * a configuration is measured once, and a known neighbour that is faster is moved to at no cost;
//   * every window counts, and an improvement is always kept;
//   * a restart is measured before it is compared with anything, and no base is descended from twice;
//   * hop lists hold each neighbour once, and all of them are feasible;
//   * there is no limit but the caller's: the search goes on with restarts until the space is exhausted.
//
// `dynamic_gradient_options::published()` is the published search with these repairs. The default is tuned for few
// measurements; on ten recorded GPU kernels it needs about 40 % of the measurements of the published form to come
// within 10 % and 5 % of the best (docs/search-quality.md). What made the difference, in this order: 8 spread-out first
// points instead of 64 random ones; a model that learns after every window, not every move; neighbours with any value
// of one parameter; and restarts where the model expects the fastest configuration.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include <tileseek/core/statistics.hpp>
#include <tileseek/model/cost_model.hpp>
#include <tileseek/model/features.hpp>
#include <tileseek/model/labels.hpp>
#include <tileseek/model/level_ridge.hpp>
#include <tileseek/search/coroutine.hpp>
#include <tileseek/search/detail/training_set.hpp>

namespace tileseek {

/// Which configurations a descent step looks at.
enum class descent_neighbours {
  one_and_two_hops,      ///< one or two parameters to an adjacent value: the published neighbourhood
  any_value_or_two_hops  ///< one parameter to any of its values, or two to an adjacent one
};

/// Where the search goes on when a descent has ended and no start is left.
enum class descent_restart {
  random,        ///< at a configuration drawn uniformly
  model_minimum  ///< at the one which the model expects to be the fastest of a drawn pool
};

/// By what a model's predictions order the neighbours.
enum class descent_ranking {
  mean,        ///< the predicted cost
  lower_bound  ///< predicted cost - kappa * its deviation: prefers what the model knows little about
};

struct dynamic_gradient_options {
  /// Descents from the fastest of the first points, before the restarts. Published: 5. One, because a restart at the
  /// model's minimum starts better than the second-best of the first points.
  std::size_t n_start = 1;
  /// First points, before there is a model; warm-start trials count as such. Published: 64, where most budgets would
  /// end. Between 6 and 16 the number matters little.
  std::size_t init_size = 8;
  /// How the first points are chosen.
  initial_design design = initial_design::maximin;
  /// Neighbours measured together, between two decisions. Published: 3.
  std::size_t slide_window_size = 3;
  /// Windows of one descent step, before the place counts as a local minimum; 0: no limit, as published.
  std::size_t max_windows = 4;
  /// Ends a step when the throughput predicted for the best neighbour left is below this share of the base's; in [0,
  /// 1].
  double predict_score_threshold_ratio = 0.6;
  /// Ends a step when the best throughput in a window is below this share of the best so far; in [0, 1].
  double measure_threshold_ratio = 0.6;
  /// Neighbours of a step that are measured before the limit above applies. Published: 9, three windows.
  std::size_t measure_threshold_after = 9;
  descent_neighbours neighbours = descent_neighbours::any_value_or_two_hops;
  /// Goes on to neighbours three hops away when the nearer ones gave nothing. Published; it adds nothing to the
  /// default.
  bool third_hop = false;
  /// Learns and ranks anew after every window; otherwise after every step, as published.
  bool refit_every_window = true;
  descent_restart restart = descent_restart::model_minimum;
  /// Configurations drawn for `model_minimum`, beside the neighbours of the fastest; all of a space that has no more.
  std::size_t restart_pool = 3000;
  /// The coordinates in which tile axes move.
  tile_view view = tile_view::factor;
  descent_ranking ranking = descent_ranking::mean;
  /// Deviations below the mean for `lower_bound`; at least 0. 3 is what `bayesian` uses.
  double kappa = 3;
  /// Moves only to a configuration that is faster at this level of significance (Welch's test on the samples), as
  /// droplet search does; in (0, 1]. 1: whatever is faster. With fewer than two samples on a side there is no test.
  double p_value = 1;
  /// Share of the successful trials that keep their own label; slower ones and failures get the label at that quantile.
  /// In (0, 1].
  double label_quantile = 0.75;
  /// Where the first descent starts; the nearest feasible point to it is the first one measured.
  std::optional<point> start = std::nullopt;
  /// Columns for the model, beside the space's own features; by default those it likes (its static member `features()`,
  /// if it has one).
  std::optional<feature_options> columns = std::nullopt;
  /// The space's own features are all that the model sees, as published, where these are the analytical features of a GPU
  /// kernel (kernels/gpu/analytic.hpp). Then `columns` does not count.
  bool only_features = false;

  /// The published search: 64 random first points, windows of 3, one and two hops and then three, both thresholds 0.6,
  /// five starts, then random restarts; tile sizes move in the view of the paper.
  [[nodiscard]] static dynamic_gradient_options published() {
    dynamic_gradient_options o;
    o.n_start = 5;
    o.init_size = 64;
    o.design = initial_design::random;
    o.max_windows = 0;
    o.neighbours = descent_neighbours::one_and_two_hops;
    o.third_hop = true;
    o.refit_every_window = false;
    o.restart = descent_restart::random;
    o.view = tile_view::inclusive;
    o.label_quantile = 1;
    return o;
  }

  /// Calls visit(name, member, help) for every option that can be written as text, for an enumeration with the names of
  /// its values in their order. What reads options from text needs nothing else.
  template <class Visit>
  friend void describe(dynamic_gradient_options& o, Visit&& visit) {
    visit("n_start", o.n_start, "descents from the fastest of the first points, before the restarts");
    visit("init_size", o.init_size, "first points, before there is a model");
    visit("design", o.design, "how the first points are chosen", {"random", "maximin"});
    visit("slide_window_size", o.slide_window_size, "neighbours measured together");
    visit("max_windows", o.max_windows, "windows of one step; 0: no limit");
    visit("predict_score_threshold_ratio", o.predict_score_threshold_ratio,
          "a step ends below this share of the base's predicted throughput");
    visit("measure_threshold_ratio", o.measure_threshold_ratio,
          "a step ends with a window below this share of the best throughput");
    visit("measure_threshold_after", o.measure_threshold_after, "neighbours measured before that");
    visit("neighbours", o.neighbours, "what a step looks at", {"one_and_two_hops", "any_value_or_two_hops"});
    visit("third_hop", o.third_hop, "three hops when nearer neighbours gave nothing");
    visit("refit_every_window", o.refit_every_window, "learn after every window, not every step");
    visit("restart", o.restart, "where to go on from a local minimum", {"random", "model_minimum"});
    visit("restart_pool", o.restart_pool, "configurations drawn for restart=model_minimum");
    visit("view", o.view, "coordinates in which tile axes move", {"factor", "inclusive"});
    visit("ranking", o.ranking, "what orders the neighbours", {"mean", "lower_bound"});
    visit("kappa", o.kappa, "deviations below the mean for ranking=lower_bound");
    visit("p_value", o.p_value, "level of significance of a move; 1: no test");
    visit("label_quantile", o.label_quantile, "share of the trials whose label is not capped");
    visit("start", o.start, "indices of the point to start from");
    visit("only_features", o.only_features, "learn from the space's own features alone");
  }
};

namespace detail {

[[nodiscard]] inline dynamic_gradient_options checked(dynamic_gradient_options o, bool knows_deviation) {
  const auto demand = [](bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(std::string("dynamic_gradient: ") + what);
  };
  const auto with = [](const char* text, double value) { return std::string(text) + std::to_string(value); };
  demand(o.init_size > 0, "init_size = 0: the model needs a first point; 8 is the default");
  demand(o.slide_window_size > 0, "slide_window_size = 0: a window holds at least 1 configuration; 3 is the default");
  demand(o.restart_pool > 0 || o.restart == descent_restart::random,
         "restart_pool = 0: restarting at the model's minimum needs candidates; 3000 is the default");
  demand(o.predict_score_threshold_ratio >= 0 && o.predict_score_threshold_ratio <= 1,
         with("predict_score_threshold_ratio is a share in [0, 1], not ", o.predict_score_threshold_ratio).c_str());
  demand(o.measure_threshold_ratio >= 0 && o.measure_threshold_ratio <= 1,
         with("measure_threshold_ratio is a share in [0, 1], not ", o.measure_threshold_ratio).c_str());
  demand(o.kappa >= 0 && std::isfinite(o.kappa), with("kappa is a number of at least 0, not ", o.kappa).c_str());
  demand(o.p_value > 0 && o.p_value <= 1, with("p_value is in (0, 1], where 1 means no test, not ", o.p_value).c_str());
  demand(o.label_quantile > 0 && o.label_quantile <= 1,
         with("label_quantile is a share in (0, 1], not ", o.label_quantile).c_str());
  demand(o.ranking == descent_ranking::mean || knows_deviation,
         "ranking = lower_bound needs a model that knows how sure it is (UncertainCostModel); use mean");
  return o;
}

/// What a descent knows and decides, without the order in which it happens.
template <CostModel Model>
class descent {
 public:
  descent(const lattice& space, const dynamic_gradient_options& options, Model& model)
      : o_(options), model_(model), known_(space, feature_map(space, columns_of(options))) {
    if (o_.only_features && space.features().empty())
      throw std::invalid_argument(
          "dynamic_gradient: only_features, and the space has none; declare some with space.feature(), or leave it "
          "out");
  }

  [[nodiscard]] training_set& known() noexcept { return known_; }

  /// Takes in what was told without being asked, once.
  void hear(const search_context& here) {
    for (; heard_ < here.unasked().size(); ++heard_) known_.add(here.unasked()[heard_]);
  }

  /// The point of the options to start from, if it is not known.
  [[nodiscard]] std::vector<point> given_start() const {
    if (!o_.start) return {};
    const point p = start();
    return known_.memory().told(p) ? std::vector<point>{} : std::vector<point>{p};
  }

  [[nodiscard]] std::vector<point> first(rng& random) {
    if (known_.size() >= o_.init_size) return {};
    return first_points(known_.space(), known_.memory(), known_.points(), random, o_.init_size - known_.size(),
                        o_.design);
  }

  /// The bases of the first descents, in their order.
  [[nodiscard]] std::vector<point> starts() const {
    std::vector<point> out;
    if (o_.start) out.push_back(start());
    for (const auto i : known_.best(o_.n_start))
      if (out.size() < std::max<std::size_t>(1, o_.n_start) &&
          std::find(out.begin(), out.end(), known_.points()[i]) == out.end())
        out.push_back(known_.points()[i]);
    return out;
  }

  /// Points to measure for a new base, the most promising first: one that is drawn, or as many as the caller can use of
  /// those the model picks. None when the space is exhausted.
  [[nodiscard]] std::vector<point> restarts(rng& random, std::size_t wanted) {
    std::vector<point> out;
    const std::size_t count = o_.restart == descent_restart::random ? 1 : std::max<std::size_t>(1, wanted);
    if (o_.restart == descent_restart::model_minimum) {
      out = unknown_points(known_.space(), known_.memory(), random, o_.restart_pool);
      add_around_best(out);
      learn();
      rank(out);
      if (out.size() > count) out.resize(count);
    }
    while (out.size() < count) {
      auto p = known_.memory().fresh(known_.space(), random);
      if (!p) break;
      if (std::find(out.begin(), out.end(), *p) == out.end()) out.push_back(std::move(*p));
    }
    return out;
  }

  void set_base(point p) {
    bases_.insert(p);
    base_ = std::move(p);
    base_cost_ = known_.memory().cost(base_);
  }
  [[nodiscard]] bool was_base(const point& p) const { return bases_.contains(p); }

  /// The neighbours to look at that were no base yet; stage 0 the near ones, stage 1 those three hops away.
  [[nodiscard]] std::vector<point> neighbourhood(int stage) const {
    const lattice& space = known_.space();
    std::vector<point> out;
    std::unordered_set<point, point_hash> listed;
    const auto list = [&](std::vector<point> points) {
      for (auto& p : points)
        if (!was_base(p) && listed.insert(p).second) out.push_back(std::move(p));
    };
    list(stage == 1 ? space.neighbours(base_, 3, o_.view) : around(base_));
    return out;
  }

  /// Removes the known ones from a list of neighbours; the fastest of them if a move to it is accepted.
  [[nodiscard]] std::optional<point> take_known(std::vector<point>& neighbours) const {
    std::vector<point> unknown;
    std::vector<point> known;
    for (auto& p : neighbours) (known_.memory().told(p) ? known : unknown).push_back(std::move(p));
    neighbours = std::move(unknown);
    return better(known);
  }

  /// The fastest of these points that is accepted as the next base; the first one among equals.
  [[nodiscard]] std::optional<point> better(std::span<const point> points) const {
    std::optional<point> best;
    double cost = base_cost_;
    for (const auto& p : points)
      if (const double c = known_.memory().cost(p); c < cost && accepted(p)) {
        cost = c;
        best = p;
      }
    return best;
  }

  /// The fastest of these trials, the first one among equals.
  /// @pre done is not empty
  [[nodiscard]] static point fastest(std::span<const trial> done) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < done.size(); ++i)
      if (done[i].result.cost() < done[best].result.cost()) best = i;
    return done[best].at;
  }

  [[nodiscard]] std::optional<point> better_of(std::span<const trial> done) const {
    std::vector<point> points;
    for (const auto& t : done) points.push_back(t.at);
    return better(points);
  }

  /// Fits the model to all that is known, if there is anything new.
  void learn() {
    if (known_.size() == learnt_) return;
    learnt_ = known_.size();
    const auto labels = label(known_.costs(), o_.label_quantile);
    cap_ = labels.cap;
    model_.fit(known_.rows(), labels.y);
  }

  /// Orders points by what the model says, those that come first among equals first, and keeps the predicted means.
  void rank(std::vector<point>& points) {
    means_.clear();
    if (points.empty()) return;
    const Eigen::MatrixXd x = known_.encoder().encode(points);
    Eigen::VectorXd mean;
    Eigen::VectorXd score;
    if constexpr (UncertainCostModel<Model>) {
      if (o_.ranking == descent_ranking::lower_bound) {
        const prediction says = model_.predict_with_deviation(x);
        mean = says.mean;
        score = says.mean - o_.kappa * says.deviation;
      }
    }
    if (mean.size() == 0) {
      mean = model_.predict(x);
      score = mean;
    }
    std::vector<Eigen::Index> order(points.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<Eigen::Index>(i);
    std::stable_sort(order.begin(), order.end(), [&](Eigen::Index a, Eigen::Index b) { return score[a] < score[b]; });
    std::vector<point> sorted;
    sorted.reserve(points.size());
    for (const auto i : order) {
      sorted.push_back(std::move(points[static_cast<std::size_t>(i)]));
      means_.push_back(mean[i]);
    }
    points = std::move(sorted);
  }

  void begin_stage(std::vector<point>& neighbours) {
    windows_ = tried_ = 0;
    rank(neighbours);
  }

  /// The next windows of a ranked list: as many as the caller can use at once, each with a head that is worth
  /// measuring. They leave the list. None: the step ends.
  [[nodiscard]] std::vector<point> next_windows(std::vector<point>& ranked, std::size_t wanted) {
    const std::size_t window = o_.slide_window_size;
    std::size_t take = std::max(window, wanted);
    if (o_.max_windows > 0) take = std::min(take, (o_.max_windows - std::min(o_.max_windows, windows_)) * window);
    take = std::min(take, ranked.size());
    if (o_.predict_score_threshold_ratio > 0 && take > 0) {
      // Throughput goes as exp(-label). The base counts with its own label if that is faster than what the model makes
      // of it.
      const point here[] = {base_};
      const Eigen::VectorXd says = model_.predict(known_.encoder().encode(here));
      const double limit =
          std::min(says[0], capped_labels::of(base_cost_, cap_)) - std::log(o_.predict_score_threshold_ratio);
      for (std::size_t head = 0; head < take; head += window)
        if (means_[head] > limit) take = head;
    }
    const auto cut = ranked.begin() + static_cast<std::ptrdiff_t>(take);
    std::vector<point> out(ranked.begin(), cut);
    ranked.erase(ranked.begin(), cut);
    means_.erase(means_.begin(), means_.begin() + static_cast<std::ptrdiff_t>(take));
    windows_ += (take + window - 1) / window;
    tried_ += take;
    return out;
  }

  /// Whether these results are so far from the best that the step is given up.
  [[nodiscard]] bool hopeless(std::span<const trial> window) const {
    if (tried_ < o_.measure_threshold_after || o_.measure_threshold_ratio == 0) return false;
    double best = std::numeric_limits<double>::infinity();
    for (const auto& t : window) best = std::min(best, known_.memory().cost(t.at));
    return best * o_.measure_threshold_ratio > known_.memory().best_cost();
  }

 private:
  /// Adds the neighbours of the fastest point that were not measured, because its step ended before: a drawn pool would
  /// hardly have them.
  void add_around_best(std::vector<point>& pool) const {
    const lattice& space = known_.space();
    if (!known_.memory().best() || space.rank_end() <= o_.restart_pool) return;
    std::unordered_set<point, point_hash> in(pool.begin(), pool.end());
    for (auto& p : around(*known_.memory().best()))
      if (!known_.memory().knows(p) && in.insert(p).second) pool.push_back(std::move(p));
  }

  /// The near neighbours of a point; some twice.
  [[nodiscard]] std::vector<point> around(const point& p) const {
    const lattice& space = known_.space();
    std::vector<point> out = o_.neighbours == descent_neighbours::any_value_or_two_hops
                                 ? any_value_of_one(space, p, o_.view)
                                 : space.neighbours(p, 1, o_.view);
    for (auto& q : space.neighbours(p, 2, o_.view)) out.push_back(std::move(q));
    return out;
  }

  [[nodiscard]] static feature_options columns_of(const dynamic_gradient_options& o) {
    if (o.only_features) return feature_options::own();
    return o.columns.value_or(columns_for<Model>());
  }

  [[nodiscard]] point start() const { return nearest_to(known_.space(), *o_.start, "dynamic_gradient"); }

  [[nodiscard]] bool accepted(const point& p) const {
    if (o_.p_value >= 1) return true;
    const auto base = known_.memory().samples(base_);
    const auto other = known_.memory().samples(p);
    return base.size() < 2 || other.size() < 2 || welch_p_value(base, other) <= o_.p_value;
  }

  const dynamic_gradient_options& o_;
  Model& model_;
  training_set known_;
  std::size_t heard_ = 0;
  std::size_t learnt_ = 0;
  double cap_ = 0;
  point base_;
  double base_cost_ = std::numeric_limits<double>::infinity();
  std::unordered_set<point, point_hash> bases_;
  std::vector<double> means_;  ///< of the list ranked last, in its order
  std::size_t windows_ = 0;
  std::size_t tried_ = 0;
};

template <CostModel Model>
search_routine descend(search_context& here, std::shared_ptr<const dynamic_gradient_options> options,
                       std::shared_ptr<Model> model) {
  descent<Model> state(here.space(), *options, *model);
  std::vector<point> batch;

  // The first points.
  state.hear(here);
  batch = state.given_start();
  if (batch.empty()) batch = state.first(here.random());
  while (!batch.empty()) {
    const std::vector<trial> answers = co_yield std::move(batch);
    state.known().add(answers);
    state.hear(here);
    batch = state.first(here.random());
  }

  const std::vector<point> starts = state.starts();
  std::size_t started = 0;
  std::optional<point> next;
  for (;;) {
    // A base: where the last step led, else a start, else a restart.
    for (; !next && started < starts.size(); ++started)
      if (!state.was_base(starts[started])) next = starts[started];
    if (!next) {
      batch = state.restarts(here.random(), here.wanted());
      if (batch.empty()) co_return;
      const std::vector<trial> answers = co_yield std::move(batch);
      state.known().add(answers);
      state.hear(here);
      next = state.fastest(answers);
    }
    state.set_base(*next);
    next.reset();

    // A step: the near neighbours, then those three hops away.
    state.learn();
    for (int stage = 0; stage < (options->third_hop ? 2 : 1) && !next; ++stage) {
      std::vector<point> list = state.neighbourhood(stage);
      next = state.take_known(list);
      if (next) break;
      state.begin_stage(list);
      for (;;) {
        batch = state.next_windows(list, here.wanted());
        if (batch.empty()) break;
        const std::vector<trial> answers = co_yield std::move(batch);
        state.known().add(answers);
        state.hear(here);
        next = state.better_of(answers);
        if (next || state.hopeless(answers)) break;
        if (options->refit_every_window) {
          state.learn();
          state.rank(list);
        }
      }
    }
  }
}

}  // namespace detail

/// Dynamic gradient descent as a SearchStrategy, over any cost model. Asked for more than a window, it hands out
/// several windows at once. Trials told without being asked enter the model and count as first points, and the fastest
/// of them is a start; failures rank behind everything that ran. It ends when the space is exhausted.
template <CostModel Model = level_ridge>
class dynamic_gradient : public coroutine_strategy {
 public:
  /// @throws std::invalid_argument  an option out of its range, by name
  explicit dynamic_gradient(dynamic_gradient_options options = {}, Model model = Model())
      : coroutine_strategy([o = std::make_shared<const dynamic_gradient_options>(
                                detail::checked(std::move(options), UncertainCostModel<Model>)),
                            m = std::make_shared<Model>(std::move(model))](search_context& here) {
          return detail::descend<Model>(here, o, m);
        }) {}

  [[nodiscard]] static constexpr std::string_view name() noexcept { return "dynamic_gradient"; }
};

static_assert(SearchStrategy<dynamic_gradient<>>);

}  // namespace tileseek
