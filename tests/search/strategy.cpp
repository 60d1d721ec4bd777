#include <tileseek/search/strategy.hpp>

#include <doctest/doctest.h>

#include <span>
#include <vector>

#include <tileseek/search/droplet.hpp>
#include <tileseek/search/random.hpp>

namespace {

using tileseek::lattice;
using tileseek::point;
using tileseek::RestartableStrategy;
using tileseek::rng;
using tileseek::SearchStrategy;
using tileseek::trial;

struct least {  // no more than the contract
  std::vector<point> ask(const lattice&, rng&, std::size_t) { return {}; }
  void tell(const lattice&, std::span<const trial>) {}
};
struct no_tell {
  std::vector<point> ask(const lattice&, rng&, std::size_t) { return {}; }
};
struct asks_one {
  point ask(const lattice&, rng&, std::size_t) { return {}; }
  void tell(const lattice&, std::span<const trial>) {}
};
struct tells_costs {
  std::vector<point> ask(const lattice&, rng&, std::size_t) { return {}; }
  void tell(const lattice&, std::span<const double>) {}
};
struct immovable : least {
  immovable() = default;
  immovable(immovable&&) = delete;
};
struct movable_only : least {
  movable_only() = default;
  movable_only(movable_only&&) = default;
  movable_only& operator=(movable_only&&) = default;
};

static_assert(SearchStrategy<least>);
static_assert(SearchStrategy<movable_only>);
static_assert(!SearchStrategy<no_tell>);
static_assert(!SearchStrategy<asks_one>);
static_assert(!SearchStrategy<tells_costs>);
static_assert(!SearchStrategy<immovable>);
static_assert(!SearchStrategy<const least>);
static_assert(!SearchStrategy<int>);
static_assert(!RestartableStrategy<least>);
static_assert(!RestartableStrategy<tileseek::random>);
static_assert(RestartableStrategy<tileseek::droplet>);

TEST_CASE("the least strategy is one") {
  least s;
  rng random;
  CHECK(s.ask(lattice{}, random, 1).empty());
}

}  // namespace
