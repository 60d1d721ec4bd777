#pragma once
// Simulated annealing: a walk from neighbour to neighbour that takes every improvement and, while it is hot, also steps
// that cost more, with probability exp(-(increase of ln cost) / temperature). Cost enters through its logarithm, so that
// the temperature has no unit; it is set in proportion to the spread of the costs seen, so that it fits the space.
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
#include <tileseek/search/maximin.hpp>

namespace tileseek {

struct annealing_options {
  std::size_t explore = 16;  ///< random points measured first; the walk starts at the best, and they tell the spread of costs
  double hot = 0.3;          ///< first temperature, as a share of the spread (see `spread`) of ln cost
  double cold = 0.01;        ///< the walk ends below this share
  double cooling = 0.97;     ///< the temperature is multiplied by this after every step
  std::size_t restart_from = 4;  ///< the next walk starts at the best of this many random points
};

namespace detail {

/// ln of a cost that may be 0 or infinite.
[[nodiscard]] inline double log_cost(double seconds) { return std::log(std::max(seconds, 1e-300)); }

inline search_routine annealing_search(search_context& here, annealing_options o) {
  const lattice& space = here.space();
  history& known = here.known();
  std::vector<point> batch;
  std::vector<double> logs;  // of the costs of the points that walks started from
  spreader apart(space);
  for (const auto& t : here.unasked()) apart.keep_away_from(t.at);
  for (bool first = true;; first = false) {
    // Start at the best of some random points; a failure is no start.
    std::optional<point> x;
    if (first && here.start()) {
      if (known.mark(*here.start())) batch.push_back(*here.start());
      x = *here.start();
    } else if (first && known.best() && std::isfinite(known.best_cost())) {
      x = *known.best();
    }
    const std::size_t draws = first ? o.explore : o.restart_from;
    do {
      while (batch.size() < std::max<std::size_t>(draws, 1)) {
        auto p = first ? apart.next(space, known, here.random()) : known.fresh(space, here.random());
        if (!p) break;
        batch.push_back(std::move(*p));
      }
      if (batch.empty() && (!x || !std::isfinite(known.cost(*x)))) co_return;
      const std::vector<trial> done = co_yield std::move(batch);
      batch.clear();
      for (const auto& t : done) {
        const double cost = known.cost(t.at);
        if (!std::isfinite(cost)) continue;
        logs.push_back(log_cost(cost));
        if (!x || (cost < known.cost(*x) && !(first && here.start()))) x = t.at;
      }
    } while (!x || !std::isfinite(known.cost(*x)));

    double spread = 1.4826 * median_absolute_deviation(logs);  // the standard deviation, were they normal
    if (!(spread > 1e-6)) spread = 1;
    for (double temperature = o.hot; temperature > o.cold;) {
      auto near = space.neighbours(*x, 1);
      if (near.empty()) break;
      here.random().shuffle(std::span(near));
      near.resize(std::min(near.size(), std::max<std::size_t>(here.wanted(), 1)));
      for (const auto& p : near)
        if (known.mark(p)) batch.push_back(p);
      co_yield std::move(batch);
      batch.clear();
      for (const auto& p : near) {
        temperature *= o.cooling;
        const double more = log_cost(known.cost(p)) - log_cost(known.cost(*x));
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
      : coroutine_strategy([o = checked(options)](search_context& here) { return detail::annealing_search(here, o); }) {}

  [[nodiscard]] static constexpr std::string_view name() noexcept { return "annealing"; }
  using coroutine_strategy::start_at;

 private:
  [[nodiscard]] static annealing_options checked(const annealing_options& o) {
    const auto refuse = [](const char* option, double is, const char* remedy) {
      throw std::invalid_argument("annealing: option '" + std::string(option) + "' is " + std::to_string(is) + "; " + remedy);
    };
    if (!(o.cold > 0)) refuse("cold", o.cold, "give a temperature above 0");
    if (!(o.hot > o.cold)) refuse("hot", o.hot, "give a temperature above 'cold'");
    if (!(o.cooling > 0 && o.cooling < 1)) refuse("cooling", o.cooling, "give a factor in (0, 1)");
    return o;
  }
};

static_assert(RestartableStrategy<annealing>);

}  // namespace tileseek
