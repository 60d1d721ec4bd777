#pragma once
// Local search: from a point to the first better neighbour, until none is better; then a wider neighbourhood is looked
// at (variable neighbourhood descent), or the point is changed at random in a few coordinates and improved again
// (iterated local search), or the search starts elsewhere.
//
// (Mladenovic, Hansen, "Variable neighborhood search", Computers & OR 24, 1997; Lourenco, Martin, Stuetzle, "Iterated
// local search", Handbook of Metaheuristics, 2003.)

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

#include <tileseek/search/coroutine.hpp>
#include <tileseek/search/detail/start_finder.hpp>

namespace tileseek {

struct local_search_options {
  /// Points far apart (maximin.hpp) measured first; the search starts at the best of them and of what was told. Trials
  /// told before the first ask count as such.
  std::size_t explore = 16;
  /// When no adjacent value is better, try every other value of one coordinate.
  bool values = true;
  /// When that fails too, try this many two-hop neighbours, drawn at random; 0 for none.
  std::size_t pairs = 30;
  /// At a minimum, change this many coordinates of the best point at random and go on from there; 0 starts elsewhere.
  std::size_t kick = 0;
  /// Kicks in a row without a new best after which the search starts elsewhere.
  std::size_t kicks = 8;
  /// Elsewhere is the best of this many random points.
  std::size_t restart_from = 4;

  /// Calls visit(name, member, help) for every option.
  template <class Visit>
  friend void describe(local_search_options& o, Visit&& visit) {
    visit("explore", o.explore, "points far apart before the first descent, which starts at the best");
    visit("values", o.values, "try any value of one coordinate when no adjacent one is better");
    visit("pairs", o.pairs, "two-hop neighbours tried when that fails, too");
    visit("kick", o.kick, "coordinates of the best changed at a minimum; 0: start elsewhere");
    visit("kicks", o.kicks, "kicks without a new best before starting elsewhere");
    visit("restart_from", o.restart_from, "random points, of which the best is elsewhere");
  }
};

/// Options for variable neighbourhood descent: adjacent values, then any value, then pairs; restarts at random.
[[nodiscard]] inline local_search_options variable_neighbourhood_descent() { return {}; }

/// Options for iterated local search: adjacent values only; kicks of two coordinates.
[[nodiscard]] inline local_search_options iterated_local_search() {
  local_search_options o;
  o.values = false;
  o.pairs = 0;
  o.kick = 2;
  return o;
}

namespace detail {

inline search_routine local_search_routine(search_context& here, local_search_options o) {
  const lattice& space = here.space();
  history& known = here.known();
  std::vector<point> batch;
  start_finder starts(here, o.explore, o.restart_from);
  const std::optional<point> given = here.start();
  for (;;) {
    starts.begin(given);
    for (batch = starts.wants(); !batch.empty(); batch = starts.wants()) starts.take(co_yield std::move(batch));
    if (!starts.found()) co_return;
    point x = *starts.found();

    point best = x;
    for (std::size_t kicks = 0;;) {
      // Descend.
      for (int wider = 0; wider < 3;) {
        std::vector<point> near;
        if (wider == 0) near = space.neighbours(x, 1);
        if (wider == 1 && o.values)
          for (std::size_t d = 0; d < space.dimensions(); ++d)
            for (auto& q : space.alternatives(x, d)) near.push_back(std::move(q));
        if (wider == 2 && o.pairs > 0) near = space.neighbours(x, 2);
        here.random().shuffle(std::span(near));
        if (wider == 2) near.resize(std::min(near.size(), o.pairs));
        bool moved = false;
        for (std::size_t i = 0; i < near.size() && !moved;) {
          const std::size_t begin = i;
          const std::size_t at_once = std::max<std::size_t>(here.wanted(), 1);
          for (; i < near.size() && batch.size() < at_once; ++i)
            if (known.mark(near[i])) batch.push_back(near[i]);
          co_yield std::move(batch);
          batch.clear();
          const point* least = &x;
          for (std::size_t k = begin; k < i; ++k)
            if (known.cost(near[k]) < known.cost(*least)) least = &near[k];
          moved = least != &x;
          if (moved) x = point(*least);
        }
        wider = moved ? 0 : wider + 1;
      }
      // At a minimum.
      if (known.cost(x) < known.cost(best)) {
        best = x;
        kicks = 0;
      }
      if (o.kick == 0 || ++kicks > o.kicks) break;
      bool kicked = false;
      for (int tries = 0; tries < 64 && !kicked; ++tries) {
        point q = best;
        for (std::size_t k = 0; k < o.kick && !q.empty(); ++k) {
          const auto d = static_cast<std::size_t>(here.random().below(q.size()));
          q[d] = here.random().index(space.extent(d));
        }
        kicked = space.feasible(q) && known.mark(q);
        if (kicked) x = std::move(q);
      }
      if (!kicked) break;
      batch.push_back(x);
      co_yield std::move(batch);
      batch.clear();
    }
  }
}

}  // namespace detail

/// Local search with neighbourhoods and ways out of a minimum to choose from; goes on until the space is exhausted.
/// When several points are wanted at once, it measures as many neighbours and goes to the best of them.
class local_search : public coroutine_strategy {
 public:
  /// @throws std::invalid_argument  an option out of range
  explicit local_search(local_search_options options = {})
      : coroutine_strategy(
            [o = checked(options)](search_context& here) { return detail::local_search_routine(here, o); }) {}

  [[nodiscard]] static constexpr std::string_view name() noexcept { return "local_search"; }
  using coroutine_strategy::start_at;

 private:
  [[nodiscard]] static local_search_options checked(const local_search_options& o) {
    if (o.restart_from == 0)
      throw std::invalid_argument("local_search: option 'restart_from' is 0; at least 1 point is needed for a start");
    if (o.kick > 0 && o.kicks == 0)
      throw std::invalid_argument(
          "local_search: option 'kicks' is 0 although 'kick' is not; give at least 1, or set 'kick' to 0");
    return o;
  }
};

static_assert(RestartableStrategy<local_search>);

}  // namespace tileseek
