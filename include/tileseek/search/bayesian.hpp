#pragma once
// Bayesian optimisation with a Gaussian process: fit the process to all that was measured, measure where its lower
// confidence bound is least, and so on. It needs the fewest measurements of all strategies here, and is what `tune()`
// uses when no strategy is named; a proposal costs a few milliseconds, where building a kernel costs hundreds.
//
// The process (model/lattice_process.hpp) learns capped logarithms of times with a kernel that lets every parameter
// matter alone and together with others. What made the difference on recorded GPU kernels, beside that kernel:
//   * few first points (5) that keep far apart: more of them only delay the first proposals;
//   * a wide bound, mean - 3 deviations: kappa 2 took a tenth more measurements, no exploration twice as many, and
//   expected
//     improvement was slower to the last 5 %;
//   * candidates are all configurations of a space that has few; of a large one a drawn pool, with the surroundings of
//   the
//     best among it.
// A batch is filled by the kriging believer: each proposal is taken to be as fast as expected, so that the next one
// looks elsewhere. Points still being measured are treated in the same way, so that it can be asked at any time.
//
// Srinivas, Krause, Kakade, Seeger, "Gaussian process optimization in the bandit setting", ICML 2010; Ginsbourger, Le
// Riche, Carraro, "Kriging is well-suited to parallelize optimization", 2010.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tileseek/model/gaussian_process_options.hpp>
#include <tileseek/model/lattice_process.hpp>
#include <tileseek/search/coroutine.hpp>
#include <tileseek/search/detail/training_set.hpp>
#include <tileseek/search/history.hpp>
#include <tileseek/search/strategy.hpp>

namespace tileseek {

struct bayesian_options {
  /// First points, before there is a model; warm-start trials count as such. 16 took 1.4 times as many measurements to
  /// 10 %.
  std::size_t start_points = 5;
  /// How the first points are chosen.
  initial_design design = initial_design::maximin;
  /// Deviations below the mean at which a candidate is judged; at least 0.
  double kappa = 3;
  /// Spaces of up to so many configurations have all of them as candidates. 20,000 with 400 measurements take 35 MB.
  std::size_t list_up_to = 20000;
  /// In larger spaces: random candidates in the pool, ...
  std::size_t pool = 1000;
  /// ... beside these, any value of one parameter of so many of the fastest, ...
  std::size_t vary_one = 5;
  /// ... and one step of two parameters of so many of the fastest.
  std::size_t vary_two = 2;
  /// Proposals until the pool is drawn anew; it is, too, after a new best and when the model's parameters are refitted.
  std::size_t redraw_after = 8;
  /// Where to begin; the nearest feasible point to it is the first one measured.
  std::optional<point> start = std::nullopt;
  /// Of the model.
  gaussian_process_options process = {};

  /// Calls visit(name, member, help) for every option that can be written as text.
  template <class Visit>
  friend void describe(bayesian_options& o, Visit&& visit) {
    visit("start_points", o.start_points, "first points, before there is a model");
    visit("design", o.design, "how the first points are chosen", {"random", "maximin"});
    visit("kappa", o.kappa, "deviations below the mean at which a candidate is judged");
    visit("list_up_to", o.list_up_to, "spaces of up to so many configurations have all of them as candidates");
    visit("pool", o.pool, "random candidates in larger spaces");
    visit("vary_one", o.vary_one, "and any value of one parameter of so many of the fastest");
    visit("vary_two", o.vary_two, "and one step of two parameters of so many of the fastest");
    visit("redraw_after", o.redraw_after, "proposals until the pool is drawn anew");
    visit("start", o.start, "indices of the point to begin with");
    visit("product", o.process.product, "how parameters combine in the kernel", {"anova", "plain"});
    visit("fit_parameters", o.process.fit_parameters, "choose the kernel's lengths and noise by likelihood");
    visit("start_length", o.process.start_length, "correlation length before that, of a coordinate in [0, 1]");
    visit("start_noise", o.process.start_noise, "variance of the noise over that of the function before that");
    visit("growth", o.process.growth, "share by which the data grow until they are chosen anew");
  }
};

/// A SearchStrategy; see the top of the file. It may be asked while points are outstanding. It ends when the space is
/// exhausted.
class bayesian {
 public:
  /// @throws std::invalid_argument  an option out of its range, by name
  explicit bayesian(bayesian_options options = {}) : o_(std::move(options)) {
    const auto demand = [](bool holds, const std::string& what) {
      if (!holds) throw std::invalid_argument("bayesian: " + what);
    };
    demand(o_.start_points > 0, "start_points = 0: the model needs a first point; 5 is the default");
    demand(std::isfinite(o_.kappa) && o_.kappa >= 0,
           "kappa is a number of at least 0, not " + std::to_string(o_.kappa));
    demand(o_.pool + o_.vary_one + o_.vary_two > 0,
           "pool, vary_one and vary_two are all 0: there would be no candidates in a large space; pool = 1000 is the "
           "default");
    demand(o_.redraw_after > 0, "redraw_after = 0: a pool gives at least 1 proposal; 8 is the default");
    (void)lattice_process(lattice(), o_.process);  // it knows what its options may be
  }

  [[nodiscard]] static constexpr std::string_view name() noexcept { return "bayesian"; }

  [[nodiscard]] std::vector<point> ask(const lattice& space, rng& random, std::size_t n) {
    if (n == 0) return {};
    learn(space);
    std::vector<point> out;
    const auto hand_out = [&](point p) {
      memory_.mark(p);
      waiting_.push_back(p);
      out.push_back(std::move(p));
    };

    if (o_.start && !started_) {
      started_ = true;
      if (point p = detail::nearest_to(space, *o_.start, "bayesian"); !memory_.knows(p)) hand_out(std::move(p));
    }
    // The first points are chosen together, and the model waits for them: proposals without results are no better than
    // they.
    const std::size_t known = points_.size() + waiting_.size();
    if (known < o_.start_points && n > out.size()) {
      std::vector<point> before = points_;
      before.insert(before.end(), waiting_.begin(), waiting_.end());
      for (auto& p : first_points(space, before, random, std::min(n - out.size(), o_.start_points - known)))
        hand_out(std::move(p));
    }
    if (!out.empty()) return out;
    if (points_.empty() && !waiting_.empty()) return {};

    for (auto& p : proposals(space, random, n)) hand_out(std::move(p));
    return out;
  }

  void tell(const lattice& /*space*/, std::span<const trial> done) {
    told_.insert(told_.end(), done.begin(), done.end());
  }

  /// Share of the best time by which the least confidence bound lay below it at the last proposal; before the first
  /// one, 0.4, which is about what a handful of first points leave to be saved.
  [[nodiscard]] double gap() const noexcept { return gap_; }

 private:
  [[nodiscard]] std::vector<point> first_points(const lattice& space, std::span<const point> before, rng& random,
                                                std::size_t count) {
    return detail::first_points(space, memory_, before, random, count, o_.design);
  }

  /// Takes in what was told since the last ask.
  void learn(const lattice& space) {
    if (!model_) model_.emplace(space, o_.process);
    model_->retract();
    for (const auto& t : told_) {
      if (!space.feasible(t.at)) continue;
      if (const auto w = std::find(waiting_.begin(), waiting_.end(), t.at); w != waiting_.end()) waiting_.erase(w);
      const bool again = memory_.told(t.at);
      const double best = memory_.best_cost();
      memory_.tell(t);
      if (memory_.best_cost() < best) stale_ = true;
      if (again) continue;
      points_.push_back(t.at);
      model_->observe(t.at, memory_.cost(t.at));
    }
    told_.clear();
  }

  [[nodiscard]] std::vector<point> proposals(const lattice& space, rng& random, std::size_t n) {
    if (model_->due()) {
      model_->refit(random);
      stale_ = true;
    }
    if (!listed_ && space.rank_end() <= o_.list_up_to) {
      model_->candidates(detail::unknown_points(space, memory_, random, o_.list_up_to));
      listed_ = true;
    } else if (!listed_ && (stale_ || proposals_ >= o_.redraw_after)) {
      model_->candidates(drawn(space, random));
      proposals_ = 0;
    }
    stale_ = false;
    for (const auto& p : waiting_) model_->pretend(p);
    std::vector<point> out;
    while (out.size() < n) {
      std::optional<point> next;
      if (const auto best = model_->least_bound(o_.kappa)) {
        next = model_->candidate(*best);
        if (out.empty()) foresee(*next);
      } else {  // nothing left in the pool, or nothing known
        next = memory_.fresh(space, random);
        stale_ = true;
      }
      if (!next) break;
      memory_.mark(*next);
      model_->pretend(*next);
      ++proposals_;
      out.push_back(std::move(*next));
    }
    return out;
  }

  /// Notes how far below the best the next one may lie.
  void foresee(const point& next) {
    if (!std::isfinite(memory_.best_cost()) || !(memory_.best_cost() > 0)) return;
    const auto thought = model_->predict(std::span<const point>(&next, 1));
    const double bound = thought.mean[0] - o_.kappa * thought.deviation[0];
    gap_ = 1 - std::exp(std::min(0.0, bound - std::log(memory_.best_cost())));
  }

  [[nodiscard]] std::vector<point> drawn(const lattice& space, rng& random) const {
    std::vector<point> out = detail::unknown_points(space, memory_, random, o_.pool);
    point_index in;
    for (const auto& p : out) in.add(p);
    const auto add = [&](std::vector<point> more) {
      for (auto& p : more)
        if (!memory_.knows(p) && in.add(p).second) out.push_back(std::move(p));
    };
    std::vector<std::size_t> order(points_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::vector<double> costs;
    costs.reserve(order.size());
    for (const auto& p : points_) costs.push_back(memory_.cost(p));
    const std::size_t top = std::min(order.size(), std::max(o_.vary_one, o_.vary_two));
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(top), order.end(),
                      [&](std::size_t a, std::size_t b) { return costs[a] != costs[b] ? costs[a] < costs[b] : a < b; });
    for (std::size_t i = 0; i < top; ++i) {
      if (i < o_.vary_one) add(detail::any_value_of_one(space, points_[order[i]], tile_view::factor));
      if (i < o_.vary_two) add(space.neighbours(points_[order[i]], 2));
    }
    return out;
  }

  bayesian_options o_;
  std::optional<lattice_process> model_;
  history memory_;
  std::vector<point> points_;   ///< told, in order
  std::vector<trial> told_;     ///< not taken in yet
  std::vector<point> waiting_;  ///< asked and not told
  bool started_ = false;
  bool listed_ = false;  ///< the candidates are all configurations
  bool stale_ = true;    ///< the pool has to be drawn anew
  std::size_t proposals_ = 0;
  double gap_ = 0.4;
};

static_assert(ForecastingStrategy<bayesian>);

}  // namespace tileseek
