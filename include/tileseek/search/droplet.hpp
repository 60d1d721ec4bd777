#pragma once
// Droplet Search: coordinate descent in the space of indices, as water runs downhill.
//
// From a start point it looks along every coordinate in both directions, first one step away, then (nothing better
// found) two steps, three, ...; it moves to a point that is better, and significantly so when there are samples to
// tell, and looks around from there. A point with nothing better along its coordinates ends a descent; the next one
// starts at the best of a few random points, and so on until nothing is left to ask.
//
// (Canesche, Rosario, Borin, Quintao Pereira, "The Droplet Search Algorithm for Kernel Scheduling", ACM TACO 2024. It
// differs from the implementation in TVM, which skips axis moves in more than a few dimensions, wraps round at upper
// borders, drops candidates, gives a point the time of another, takes noise of one sample for an improvement and stops
// after the first descent.)

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

/// Where the first descent starts.
enum class droplet_start {
  best,    ///< at the best of what was told before the first ask and of `explore` points; the origin if there are none
  origin,  ///< at the feasible point nearest to all indices 0: the smallest tiles, nothing unrolled
  random,  ///< at a uniform point
};

struct droplet_options {
  /// Where the first descent starts when `start` does not say.
  droplet_start from = droplet_start::best;
  /// Start at the feasible point nearest to this one.
  std::optional<point> start = std::nullopt;
  /// Points far apart (maximin.hpp) measured before the first descent from `best`; trials told before the first ask
  /// count as such. 12 of them halve the measurements on recorded kernels.
  std::size_t explore = 12;
  /// Candidates compared before a move is made: fewer move sooner, more choose better. Of 1 to 8, 2 to 4 need the fewest
  /// measurements on recorded spaces.
  std::size_t at_once = 3;
  /// Moves along two coordinates at once, tried at each distance after those along one, both ways; 0 for none.
  std::size_t diagonals = 8;
  /// Look from the last coordinate to the first, up before down, as published; otherwise where the last moves led, then
  /// in random order.
  bool fixed_order = false;
  /// Greatest distance looked at, in steps along a coordinate; 0 for no limit.
  std::size_t reach = 0;
  /// A move must be to a point that differs at this level of significance (Welch's t-test), when both have two samples
  /// or more; in (0, 1]. 1: whatever is faster. 0.05 as published.
  double p_value = 0.05;
  /// When the caller can use more points than are left at a distance, go on to the next distance.
  bool speculate = true;
  /// Start again when a descent ends; otherwise the search ends with it.
  bool restart = true;
  /// A descent after the first starts at the best of this many random points.
  std::size_t restart_from = 4;

  /// The published search with its repairs: a single descent, from the origin.
  [[nodiscard]] static droplet_options published() {
    droplet_options o;
    o.from = droplet_start::origin;
    o.fixed_order = true;
    o.restart = false;
    return o;
  }

  /// Calls visit(name, member, help) for every option, for an enumeration with the names of its values in their order.
  template <class Visit>
  friend void describe(droplet_options& o, Visit&& visit) {
    visit("from", o.from, "where the first descent starts", {"best", "origin", "random"});
    visit("start", o.start, "indices of the point to start from");
    visit("explore", o.explore, "points far apart before a first descent from the best");
    visit("at_once", o.at_once, "candidates compared before a move");
    visit("diagonals", o.diagonals, "moves along two coordinates tried at each distance");
    visit("fixed_order", o.fixed_order,
          "look from the last coordinate to the first, not where moves led, then at random");
    visit("reach", o.reach, "greatest distance looked at; 0: no limit");
    visit("p_value", o.p_value, "level of significance of a move; 1: no test");
    visit("speculate", o.speculate, "look farther when the caller can use more points");
    visit("restart", o.restart, "start again when a descent ends");
    visit("restart_from", o.restart_from, "random points, of which the best starts the next descent");
  }
};

namespace detail {

/// Feasible points at `distance` steps from x: along one coordinate, then along two.
class droplet_moves {
 public:
  droplet_moves(const lattice& space, const droplet_options& options) : space_(space), options_(options) {
    for (std::size_t d = space.dimensions(); d-- > 0;) {
      const int e = space.extent(d);
      farthest_ = std::max(farthest_, space.axis(d).ordered ? e - 1 : e / 2);
      if (e < 2) continue;
      movable_.push_back(d);
      for (const int sign : {+1, -1}) directions_.push_back({d, sign, 0});
    }
    if (options.reach > 0 && options.reach < static_cast<std::size_t>(farthest_))
      farthest_ = static_cast<int>(options.reach);
  }

  [[nodiscard]] int farthest() const noexcept { return farthest_; }

  void append(const point& x, int distance, rng& random, std::vector<point>& out) {
    if (!options_.fixed_order) {
      random.shuffle(std::span(directions_));
      std::stable_sort(directions_.begin(), directions_.end(),
                       [](const direction& a, const direction& b) { return a.succeeded > b.succeeded; });
    }
    for (const auto& to : directions_) along(x, to.coordinate, to.sign * distance, out);
    if (distance == 1)  // tile sizes: two factors of one axis change together
      for (const auto& t : space_.tiles())
        for (std::size_t l = 2; l < t.levels; ++l)
          for (const int sign : {+1, -1})
            if (auto q = space_.move(x, t.first + l - 1, sign, tile_view::inclusive)) out.push_back(std::move(*q));
    if (options_.diagonals == 0) return;
    pairs_.clear();
    for (std::size_t i = 0; i < movable_.size(); ++i)
      for (std::size_t j = i + 1; j < movable_.size(); ++j) pairs_.emplace_back(movable_[i], movable_[j]);
    if (!options_.fixed_order) random.shuffle(std::span(pairs_));
    std::size_t tried = 0;
    for (const auto& pair : pairs_) {
      if (tried == options_.diagonals) break;
      ++tried;
      for (const int sign : {+1, -1}) {
        point q = x;
        if (step(q, pair.first, sign * distance) && step(q, pair.second, sign * distance) && space_.feasible(q))
          out.push_back(std::move(q));
      }
    }
  }

  /// A move from x to q was made.
  void made(const point& x, const point& q) {
    ++successes_;
    for (auto& to : directions_)
      if ((q[to.coordinate] - x[to.coordinate]) * to.sign > 0) to.succeeded = successes_;
  }

 private:
  struct direction {
    std::size_t coordinate;
    int sign;
    std::size_t succeeded;  ///< number of the last move that went there; 0 for never
  };

  /// One step goes to the nearest value with which the point is feasible, more steps go exactly there.
  void along(const point& x, std::size_t d, int by, std::vector<point>& out) const {
    if ((by == 1 || by == -1) && space_.axis(d).ordered) {
      if (auto q = space_.move(x, d, by)) out.push_back(std::move(*q));
      return;
    }
    point q = x;
    if (step(q, d, by) && space_.feasible(q)) out.push_back(std::move(q));
  }

  /// An unordered coordinate has no borders: there the steps go round, so that every other value is met once or twice.
  [[nodiscard]] bool step(point& q, std::size_t d, int by) const {
    const int e = space_.extent(d);
    int to = q[d] + by;
    if (!space_.axis(d).ordered) {
      if (by > e / 2 || -by > e / 2) return false;
      to = ((to % e) + e) % e;
    }
    if (to < 0 || to >= e) return false;
    q[d] = to;
    return true;
  }

  const lattice& space_;
  const droplet_options& options_;
  int farthest_ = 0;
  std::vector<direction> directions_;
  std::size_t successes_ = 0;
  std::vector<std::size_t> movable_;
  std::vector<std::pair<std::size_t, std::size_t>> pairs_;
};

/// Whether a is cheaper than b beyond doubt. With fewer than two samples on a side the plain comparison decides.
[[nodiscard]] inline bool significantly_less(const history& known, const point& a, const point& b, double level) {
  const double cost_a = known.cost(a);
  const double cost_b = known.cost(b);
  if (!(cost_a < cost_b)) return false;
  const auto sa = known.samples(a);
  const auto sb = known.samples(b);
  if (level >= 1 || sa.size() < 2 || sb.size() < 2 || !std::isfinite(cost_b)) return true;
  return welch_p_value(sa, sb) <= level;
}

inline search_routine droplet_search(search_context& here, droplet_options o) {
  const lattice& space = here.space();
  history& known = here.known();
  droplet_moves moves(space, o);
  std::vector<point> batch;
  std::vector<point> candidates;
  start_finder starts(here, o.explore, o.restart_from);
  std::optional<point> given = here.start();
  if (!given && o.start) given = nearest_to(space, *o.start, "droplet");
  if (!given && o.from == droplet_start::random) given = space.sample(here.random());
  if (!given && (o.from == droplet_start::origin || (o.explore == 0 && known.size() == 0)))
    given = space.nearest(point(space.dimensions(), 0));
  do {
    starts.begin(given);
    for (batch = starts.wants(); !batch.empty(); batch = starts.wants()) starts.take(co_yield std::move(batch));
    if (!starts.found()) co_return;
    point x = *starts.found();

    for (int distance = 1; distance <= moves.farthest();) {
      candidates.clear();
      moves.append(x, distance, here.random(), candidates);
      bool moved = false;
      for (std::size_t next = 0; next < candidates.size() && !moved;) {
        const std::size_t begin = next;
        const std::size_t at_once = std::max(o.at_once, o.speculate ? here.wanted() : 0);
        while (batch.size() < at_once) {
          if (next == candidates.size()) {
            if (!o.speculate || batch.size() >= here.wanted() || distance >= moves.farthest()) break;
            moves.append(x, ++distance, here.random(), candidates);
            continue;
          }
          const point& p = candidates[next++];
          if (known.mark(p)) batch.push_back(p);
        }
        co_yield std::move(batch);
        batch.clear();
        const point* best = nullptr;
        for (std::size_t i = begin; i < next; ++i)
          if (significantly_less(known, candidates[i], best != nullptr ? *best : x, best != nullptr ? 1.0 : o.p_value))
            best = &candidates[i];
        if (best != nullptr) {
          moves.made(x, *best);
          x = point(*best);
          moved = true;
        }
      }
      distance = moved ? 1 : distance + 1;
    }
  } while (o.restart);
}

}  // namespace detail

/// Droplet Search. A strategy that is told all it asked for goes on until the space is exhausted or, without restarts,
/// until its descent ends.
class droplet : public coroutine_strategy {
 public:
  /// @throws std::invalid_argument  an option out of range
  explicit droplet(droplet_options options = {})
      : coroutine_strategy(
            [o = checked(std::move(options))](search_context& here) { return detail::droplet_search(here, o); }) {}

  [[nodiscard]] static constexpr std::string_view name() noexcept { return "droplet"; }
  using coroutine_strategy::start_at;

 private:
  [[nodiscard]] static droplet_options checked(droplet_options o) {
    const auto refuse = [](const char* option, const std::string& is, const char* remedy) {
      throw std::invalid_argument("droplet: option '" + std::string(option) + "' is " + is + "; " + remedy);
    };
    if (o.at_once == 0) refuse("at_once", "0", "a move needs at least 1 candidate");
    if (!(o.p_value > 0 && o.p_value <= 1))
      refuse("p_value", std::to_string(o.p_value), "it is in (0, 1], where 1 means no test");
    if (o.restart && o.restart_from == 0) refuse("restart_from", "0", "give at least 1, or set 'restart' to false");
    return o;
  }
};

static_assert(RestartableStrategy<droplet>);

}  // namespace tileseek
