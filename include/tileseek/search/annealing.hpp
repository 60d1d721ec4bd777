#pragma once
// Simulated annealing: a walk from neighbour to neighbour that takes every improvement and, while it is hot, also steps
// that cost more, with probability exp(-(increase of ln cost) / temperature). Cost enters through its logarithm, so
// that the temperature has no unit; it is set in proportion to the spread of the costs seen, so that it fits the space.
//
// (Kirkpatrick, Gelatt, Vecchi, "Optimization by simulated annealing", Science 220, 1983.)

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tileseek/core/statistics.hpp>
#include <tileseek/search/coroutine.hpp>
#include <tileseek/search/detail/start_finder.hpp>

namespace tileseek {

struct annealing_options {
  /// Points far apart (maximin.hpp) measured first; the walk starts at the best of them and of what was told, and they
  /// tell how far costs spread. Trials told before the first ask count as such.
  std::size_t explore = 12;
  /// First temperature, as a share of the spread: the standard deviation of ln cost among the points looked at for a
  /// start.
  double hot = 0.1;
  /// The walk ends when the temperature falls to this share.
  double cold = 0.01;
  /// The temperature is multiplied by this after every step.
  double cooling = 0.98;
  /// Share of the steps that go to any value of a coordinate, not an adjacent one. Without them recorded kernels need a
  /// quarter more measurements.
  double jump = 0.5;
  /// The next walk starts at the best of this many random points.
  std::size_t restart_from = 4;

  /// Calls visit(name, member, help) for every option.
  template <class Visit>
  friend void describe(annealing_options& o, Visit&& visit) {
    visit("explore", o.explore, "points far apart before the first walk, which starts at the best");
    visit("hot", o.hot, "first temperature, as a share of the spread of ln cost");
    visit("cold", o.cold, "temperature at which a walk ends");
    visit("cooling", o.cooling, "factor on the temperature after every step");
    visit("jump", o.jump, "share of steps to any value of a coordinate");
    visit("restart_from", o.restart_from, "random points, of which the best starts the next walk");
  }
};

namespace detail {

/// ln of a cost that may be 0 or infinite.
[[nodiscard]] inline double log_cost(double seconds) { return std::log(std::max(seconds, 1e-300)); }

/// A neighbour along a coordinate drawn at random, one step away or, with probability `jump`, anywhere on it; on an
/// unordered one anywhere. Nothing when several draws found none.
[[nodiscard]] inline std::optional<point> random_neighbour(const lattice& space, const point& x, double jump,
                                                           rng& random) {
  for (std::size_t tries = 0; tries < 4 * space.dimensions(); ++tries) {
    const auto d = static_cast<std::size_t>(random.below(space.dimensions()));
    const int e = space.extent(d);
    if (e < 2) continue;
    if (space.axis(d).ordered && random.uniform() >= jump) {
      if (auto p = space.move(x, d, random.below(2) == 0 ? -1 : +1)) return p;
      continue;
    }
    point p = x;
    p[d] = random.index(e - 1);
    if (p[d] >= x[d]) ++p[d];
    if (space.feasible(p)) return p;
  }
  return std::nullopt;
}

inline search_routine annealing_search(search_context& here, annealing_options o) {
  const lattice& space = here.space();
  history& known = here.known();
  std::vector<point> batch;
  std::vector<point> near;
  std::vector<double> logs;  // of the costs of what was told and of the points looked at for a start
  for (const auto& t : here.unasked())
    if (const double cost = t.result.cost(); std::isfinite(cost)) logs.push_back(log_cost(cost));
  start_finder starts(here, o.explore, o.restart_from);
  std::optional<point> given = here.start();
  for (;;) {
    starts.begin(given);
    for (batch = starts.wants(); !batch.empty(); batch = starts.wants()) {
      const std::vector<trial> done = co_yield std::move(batch);
      starts.take(done);
      for (const auto& t : done)
        if (const double cost = known.cost(t.at); std::isfinite(cost)) logs.push_back(log_cost(cost));
    }
    if (!starts.found()) co_return;
    point x = *starts.found();

    double spread = 1.4826 * median_absolute_deviation(logs);  // the standard deviation, were they normal
    if (!(spread > 1e-6)) spread = 1;
    for (double temperature = o.hot; temperature > o.cold;) {
      near.clear();
      for (std::size_t i = 0; i < std::max<std::size_t>(here.wanted(), 1); ++i)
        if (auto p = random_neighbour(space, x, o.jump, here.random())) near.push_back(std::move(*p));
      if (near.empty()) break;
      for (const auto& p : near)
        if (known.mark(p)) batch.push_back(p);
      co_yield std::move(batch);
      batch.clear();
      for (const auto& p : near) {
        temperature *= o.cooling;
        const double more = log_cost(known.cost(p)) - log_cost(known.cost(x));
        if (more <= 0 || here.random().uniform() < std::exp(-more / (temperature * spread))) {
          x = point(p);
          break;
        }
      }
    }
  }
}

}  // namespace detail

/// Simulated annealing on the lattice, walk after walk until the space is exhausted. When several points are wanted at
/// once, it measures as many neighbours and goes to the first that it accepts.
class annealing : public coroutine_strategy {
 public:
  /// @throws std::invalid_argument  an option out of range
  explicit annealing(annealing_options options = {})
      : coroutine_strategy([o = checked(options)](search_context& here) { return detail::annealing_search(here, o); }) {
  }

  [[nodiscard]] static constexpr std::string_view name() noexcept { return "annealing"; }
  using coroutine_strategy::start_at;

 private:
  [[nodiscard]] static annealing_options checked(const annealing_options& o) {
    const auto refuse = [](const char* option, double is, const char* remedy) {
      throw std::invalid_argument("annealing: option '" + std::string(option) + "' is " + std::to_string(is) + "; " +
                                  remedy);
    };
    if (!(o.cold > 0)) refuse("cold", o.cold, "give a temperature above 0");
    if (!(o.hot > o.cold && std::isfinite(o.hot))) refuse("hot", o.hot, "give a temperature above 'cold'");
    if (o.restart_from == 0) refuse("restart_from", 0, "a walk needs at least 1 point to start from");
    if (!(o.jump >= 0 && o.jump <= 1)) refuse("jump", o.jump, "give a share in [0, 1]");
    if (!(o.cooling > 0 && o.cooling < 1)) refuse("cooling", o.cooling, "give a factor in (0, 1)");
    return o;
  }
};

static_assert(RestartableStrategy<annealing>);

}  // namespace tileseek
