// Every strategy keeps the contract. A new one is added by one line in `strategies`.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <tileseek/search/annealing.hpp>
#include <tileseek/search/any_strategy.hpp>
#include <tileseek/search/droplet.hpp>
#include <tileseek/search/evolutionary.hpp>
#include <tileseek/search/exhaustive.hpp>
#include <tileseek/search/explore_then.hpp>
#include <tileseek/search/guided_evolution.hpp>
#include <tileseek/search/local_search.hpp>
#include <tileseek/search/maximin.hpp>
#include <tileseek/search/random.hpp>
#include <tileseek/testing/conformance.hpp>

namespace {

using namespace tileseek;

struct candidate {
  std::string name;
  testing::strategy_factory make;
  testing::promises promised = {};
};

const std::vector<candidate>& strategies() {
  static const std::vector<candidate> all = {
      {"random", [] { return tileseek::random{}; }, {.finds_optimum = 0, .idle = 0}},
      {"exhaustive", [] { return exhaustive{}; }, {.finds_optimum = 0, .idle = 0}},
      {"maximin", [] { return maximin{}; }, {.finds_optimum = 0, .idle = 0}},
      {"droplet", [] { return droplet{}; }, {.finds_optimum = 120, .idle = 0}},
      {"droplet, published",
       [] { return droplet{droplet_options::published()}; },
       {.exhausts = false, .finds_optimum = 120, .idle = 0}},
      {"droplet, plain",
       [] { return droplet{{.from = droplet_start::random, .at_once = 1, .diagonals = 0, .speculate = false}}; },
       {.idle = 0}},
      {"annealing", [] { return annealing{}; }, {.idle = 0}},
      {"variable neighbourhood descent",
       [] { return local_search{variable_neighbourhood_descent()}; },
       {.finds_optimum = 200, .idle = 0}},
      {"iterated local search",
       [] { return local_search{iterated_local_search()}; },
       {.finds_optimum = 200, .idle = 0}},
      {"evolutionary", [] { return evolutionary{}; }, {.idle = 0}},
      {"explore_then", [] { return explore_then<>{}; }, {.finds_optimum = 120, .idle = 0}},
      {"evolutionary, then local search",
       [] { return explore_then(evolutionary{}, local_search{}, {.patience = 30}); },
       {.idle = 0}},
      {"guided_evolution", [] { return guided_evolution<>{{.population = 32}}; }, {.finds_optimum = 200, .idle = 0}},
  };
  return all;
}

TEST_CASE("every strategy keeps the contract of ask and tell") {
  for (const auto& s : strategies()) {
    CAPTURE(s.name);
    for (const auto& check : testing::conformance()) {
      CAPTURE(check.name);
      CHECK_EQ(check.run(s.make, s.promised), "");
    }
  }
}

// The suite must be able to fail: each of these breaks one clause.

struct infeasible : tileseek::random {
  std::vector<point> ask(const lattice& space, rng& draws, std::size_t n) {
    auto out = tileseek::random::ask(space, draws, n);
    for (auto& p : out)
      if (!p.empty()) p.back() = space.extent(p.size() - 1);
    return out;
  }
};
struct too_many : tileseek::random {
  std::vector<point> ask(const lattice& space, rng& draws, std::size_t n) {
    return tileseek::random::ask(space, draws, n + 1);
  }
};
struct self_willed {  // random numbers of its own
  rng mine;
  tileseek::random inner;
  explicit self_willed(std::uint64_t seed) : mine(seed) {}
  std::vector<point> ask(const lattice& space, rng&, std::size_t n) { return inner.ask(space, mine, n); }
  void tell(const lattice& space, std::span<const trial> done) { inner.tell(space, done); }
};
struct endless {  // asks known points for ever
  std::vector<point> ask(const lattice& space, rng& random, std::size_t n) {
    std::vector<point> out;
    for (std::size_t i = 0; i < n; ++i) out.push_back(space.sample(random));
    return out;
  }
  void tell(const lattice&, std::span<const trial>) {}
};
struct forgetful {  // a move loses its state
  tileseek::random inner;
  forgetful() = default;
  forgetful(forgetful&&) noexcept {}
  forgetful& operator=(forgetful&&) noexcept { return *this; }
  std::vector<point> ask(const lattice& space, rng& random, std::size_t n) { return inner.ask(space, random, n); }
  void tell(const lattice& space, std::span<const trial> done) { inner.tell(space, done); }
};
struct early_quitter : tileseek::random {  // ends at the first failure
  bool over = false;
  std::vector<point> ask(const lattice& space, rng& draws, std::size_t n) {
    return over ? std::vector<point>{} : tileseek::random::ask(space, draws, n);
  }
  void tell(const lattice& space, std::span<const trial> done) {
    for (const auto& t : done) over = over || !t.result.valid();
    tileseek::random::tell(space, done);
  }
};

std::vector<std::string> failed(const testing::strategy_factory& make, const testing::promises& promised) {
  std::vector<std::string> out;
  for (const auto& check : testing::conformance())
    if (!check.run(make, promised).empty()) out.emplace_back(check.name);
  return out;
}
bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

TEST_CASE("the suite finds what it looks for") {
  const testing::promises none{.finds_optimum = 0, .idle = 50};
  CHECK(contains(failed([] { return infeasible{}; }, none), "asks at most as many feasible points as wanted"));
  CHECK(contains(failed([] { return too_many{}; }, none), "asks at most as many feasible points as wanted"));
  std::uint64_t seed = 0;
  CHECK_EQ(
      failed([&] { return self_willed(++seed); }, none),
      std::vector<std::string>{"the same seed and tells give the same asks", "goes on identically after it was moved"});
  CHECK(contains(failed([] { return endless{}; }, none), "ends when a space is exhausted"));
  CHECK(contains(failed([] { return endless{}; }, none), "ends in a space of one point"));
  CHECK_EQ(failed([] { return forgetful{}; }, none),
           std::vector<std::string>{"goes on identically after it was moved"});
  CHECK(contains(failed([] { return early_quitter{}; }, none), "takes failures and goes on"));
  CHECK_EQ(failed([] { return tileseek::random{}; }, {.finds_optimum = 100}),
           std::vector<std::string>{"finds the bottom of a bowl"});
}

}  // namespace
