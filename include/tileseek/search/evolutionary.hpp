#pragma once
// A genetic algorithm. A population of measured points breeds children: coordinates are taken from two parents, a few
// are changed, and the best of parents and children live on. When the population has become idle, a new one starts.
//
// The levels of a tile axis are inherited together, and a mutation moves a prime factor from one level to another, so
// that products are kept.
//
// (Holland, Adaptation in Natural and Artificial Systems, 1975; selection by linear rank: Baker, ICGA 1985; the
// mutation of tiles: Zheng et al., "Ansor", OSDI 2020.)

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tileseek/search/coroutine.hpp>
#include <tileseek/search/maximin.hpp>

namespace tileseek {

struct evolutionary_options {
  /// Points that breed. On recorded kernels 20, with 10 children, need a fifth more measurements.
  std::size_t population = 10;
  /// Children measured before the population changes.
  std::size_t children = 5;
  /// Probability that a coordinate of a child gets another value (for a tile axis: that a factor moves between its
  /// levels).
  double mutation = 0.1;
  /// Generations in a row without a new member of the population after which it starts anew.
  std::size_t patience = 4;

  /// Calls visit(name, member, help) for every option.
  template <class Visit>
  friend void describe(evolutionary_options& o, Visit&& visit) {
    visit("population", o.population, "points that breed");
    visit("children", o.children, "children measured before the population changes");
    visit("mutation", o.mutation, "probability that a coordinate of a child is changed");
    visit("patience", o.patience, "generations without a new member before a fresh start");
  }
};

namespace detail {

/// Makes children. What is inherited together: the levels of a tile axis; every other coordinate alone.
class breeder {
 public:
  explicit breeder(const lattice& space) : space_(space), group_(space.dimensions()) {
    for (std::size_t d = 0; d < group_.size(); ++d) group_[d] = d;
    for (const auto& t : space.tiles())
      for (std::size_t l = 2; l < t.levels; ++l) group_[t.first + l - 1] = t.first;
  }

  /// Each group from either parent, then changed with this probability. The child may not be feasible.
  [[nodiscard]] point child(const point& mother, const point& father, double mutation, rng& random) const {
    point q = mother;
    bool from_father = false;
    for (std::size_t d = 0; d < q.size(); ++d) {
      if (group_[d] == d) from_father = random.below(2) == 1;
      if (from_father) q[d] = father[d];
    }
    return mutated(std::move(q), mutation, random);
  }

  /// Each group changed with this probability.
  [[nodiscard]] point mutated(point q, double mutation, rng& random) const {
    for (std::size_t d = 0; d < q.size(); ++d)
      if (group_[d] == d && random.uniform() < mutation) change(q, d, random);
    return q;
  }

  /// One group changed, drawn uniformly. @pre the space has a dimension
  [[nodiscard]] point mutated(point q, rng& random) const {
    change(q, group_[static_cast<std::size_t>(random.below(q.size()))], random);
    return q;
  }

 private:
  /// A coordinate gets another value; of a tile axis one prime factor moves to another level.
  void change(point& q, std::size_t d, rng& random) const {
    for (const auto& t : space_.tiles())
      if (t.first == d && t.levels > 2) return shift_factor(q, t, random);
    if (space_.extent(d) < 2) return;
    const int to = random.index(space_.extent(d) - 1);
    q[d] = to < q[d] ? to : to + 1;
  }

  /// Moves one prime factor from one level to another.
  void shift_factor(point& q, const tile_axis& t, rng& random) const {
    auto factors = space_.factors(q, t);
    std::vector<std::size_t> sources;
    for (std::size_t l = 0; l < factors.size(); ++l)
      if (factors[l] > 1) sources.push_back(l);
    if (sources.empty()) return;
    const std::size_t from = sources[static_cast<std::size_t>(random.below(sources.size()))];
    std::vector<std::int64_t> primes;  // with repeats: a factor is drawn as often as it is there
    std::int64_t rest = factors[from];
    for (std::int64_t p = 2; p * p <= rest; ++p)
      for (; rest % p == 0; rest /= p) primes.push_back(p);
    if (rest > 1) primes.push_back(rest);
    const std::int64_t prime = primes[static_cast<std::size_t>(random.below(primes.size()))];
    std::size_t to = static_cast<std::size_t>(random.below(factors.size() - 1));
    if (to >= from) ++to;
    factors[from] /= prime;
    factors[to] *= prime;
    for (std::size_t l = 1; l < t.levels; ++l) {
      const auto& values = space_.axis(t.first + l - 1).values;
      q[t.first + l - 1] = static_cast<int>(
          std::lower_bound(values.begin(), values.end(), static_cast<double>(factors[l])) - values.begin());
    }
  }

  lattice space_;
  std::vector<std::size_t> group_;
};

/// An index in [0, n), 0 being n times as likely as n - 1 (selection by linear rank).
[[nodiscard]] inline std::size_t pick_by_rank(std::size_t n, rng& random) {
  std::uint64_t ticket = random.below(n * (n + 1) / 2);
  std::size_t i = 0;
  for (; ticket >= n - i; ++i) ticket -= n - i;
  return i;
}

inline search_routine evolutionary_search(search_context& here, evolutionary_options o) {
  const lattice& space = here.space();
  history& known = here.known();
  const breeder breed(space);
  std::vector<point> population;  // the best first
  std::vector<point> batch;
  spreader apart(space);
  std::size_t idle = 0;
  const auto select = [&] {
    std::stable_sort(population.begin(), population.end(),
                     [&](const point& a, const point& b) { return known.cost(a) < known.cost(b); });
    if (population.size() > o.population) population.resize(o.population);
  };
  std::size_t heard = 0;
  for (;;) {
    // What was told from elsewhere joins the population.
    for (; heard < here.unasked().size(); ++heard) {
      const point& p = here.unasked()[heard].at;
      if (std::isfinite(known.cost(p)) && std::find(population.begin(), population.end(), p) == population.end())
        population.push_back(p);
    }
    select();
    if (idle >= o.patience) {
      population.clear();
      apart = spreader(space);
      idle = 0;
    }
    while (population.size() + batch.size() < o.population) {
      auto p = apart.next(space, known, here.random());
      if (!p) break;
      batch.push_back(std::move(*p));
    }
    const bool founding = !batch.empty();
    if (!founding) {
      const std::size_t wanted = std::max(o.children, here.wanted());
      for (std::size_t tries = 0; batch.size() < wanted && tries < 32 * wanted && !population.empty(); ++tries) {
        const auto& mother = population[pick_by_rank(population.size(), here.random())];
        const auto& father = population[pick_by_rank(population.size(), here.random())];
        point q = breed.child(mother, father, o.mutation, here.random());
        if (space.feasible(q) && known.mark(q)) batch.push_back(std::move(q));
      }
      if (batch.empty())
        if (auto p = known.fresh(space, here.random())) batch.push_back(std::move(*p));
      if (batch.empty()) co_return;
    }
    const std::vector<trial> done = co_yield std::move(batch);
    batch.clear();
    const double admission =
        population.size() < o.population ? std::numeric_limits<double>::infinity() : known.cost(population.back());
    bool joined = false;
    for (const auto& t : done) {
      if (!founding && !(known.cost(t.at) < admission)) continue;
      population.push_back(t.at);
      joined = true;
    }
    select();
    idle = joined ? 0 : idle + 1;
  }
}

}  // namespace detail

/// A genetic algorithm; goes on with fresh populations until the space is exhausted.
class evolutionary : public coroutine_strategy {
 public:
  /// @throws std::invalid_argument  an option out of range
  explicit evolutionary(evolutionary_options options = {})
      : coroutine_strategy(
            [o = checked(options)](search_context& here) { return detail::evolutionary_search(here, o); }) {}

  [[nodiscard]] static constexpr std::string_view name() noexcept { return "evolutionary"; }

 private:
  [[nodiscard]] static evolutionary_options checked(const evolutionary_options& o) {
    const auto refuse = [](const char* option, const std::string& is, const char* remedy) {
      throw std::invalid_argument("evolutionary: option '" + std::string(option) + "' is " + is + "; " + remedy);
    };
    if (o.population < 2)
      refuse("population", std::to_string(o.population), "two parents are needed; 10 is the default");
    if (o.children == 0) refuse("children", "0", "give at least 1; 5 is the default");
    if (!(o.mutation >= 0 && o.mutation <= 1))
      refuse("mutation", std::to_string(o.mutation), "give a probability in [0, 1]");
    if (o.patience == 0) refuse("patience", "0", "give at least 1 generation; 4 is the default");
    return o;
  }
};

static_assert(SearchStrategy<evolutionary>);

}  // namespace tileseek
