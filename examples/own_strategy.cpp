// A strategy of your own, twice: as a struct with ask and tell, and as one straight-line coroutine.
#include <tileseek/core.hpp>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>

// Two members, no base class: steps from the best point along one coordinate.
struct hill_climb {
  tileseek::point best;
  double cost = std::numeric_limits<double>::infinity();

  std::vector<tileseek::point> ask(const tileseek::lattice& space, tileseek::rng& random, std::size_t n) {
    std::vector<tileseek::point> out;
    while (out.size() < n) {
      auto p = best.empty() ? space.sample(random) : best;
      if (!best.empty()) {
        const auto d = static_cast<std::size_t>(random.below(space.dimensions()));
        const auto moved = space.move(best, d, random.below(2) == 0 ? 1 : -1);
        p = moved ? *moved : space.sample(random);
      }
      out.push_back(std::move(p));
    }
    return out;
  }

  void tell(const tileseek::lattice&, std::span<const tileseek::trial> done) {
    for (const auto& t : done)
      if (t.result.cost() < cost) best = t.at, cost = t.result.cost();
  }
};
static_assert(tileseek::SearchStrategy<hill_climb>);

// The same idea as one would write it on paper: descend to a local minimum, start again elsewhere, end after three
// descents that found nothing better.
tileseek::search_routine descend(tileseek::search_context& here) {
  double best = std::numeric_limits<double>::infinity();
  for (int in_vain = 0; in_vain < 3; ++in_vain) {
    const std::vector<tileseek::point> start{here.space().sample(here.random())};
    auto at = (co_yield start).front();
    for (bool moved = true; moved;) {
      moved = false;
      const auto around = co_yield here.space().neighbours(at.at, 1);
      for (const auto& t : around)
        if (t.result.cost() < at.result.cost()) at = t, moved = true;
    }
    if (at.result.cost() < best) best = at.result.cost(), in_vain = -1;
  }
}

struct Tile {
  int rows = 8, columns = 8, unroll = 1;
};

int main() {
  const auto space = tileseek::space<Tile>{}
                         .add("rows", &Tile::rows, tileseek::range(1, 64))
                         .add("columns", &Tile::columns, tileseek::range(1, 64))
                         .add("unroll", &Tile::unroll, {1, 2, 4, 8});
  // A kernel whose time is known, so that the searches can be judged: best at rows=24 columns=40 unroll=4.
  const auto seconds = [](const Tile& t) {
    return 1e-3 * (1 + std::abs(t.rows - 24) / 24.0 + std::abs(t.columns - 40) / 40.0 + std::abs(t.unroll - 4) / 4.0);
  };
  std::cout << tileseek::tune(space, seconds, {.trials = 300, .seed = 1}, hill_climb{}) << "\n\n"
            << tileseek::tune(space, seconds, {.trials = 3000, .seed = 1}, tileseek::coroutine_strategy(descend))
            << '\n';
}
