#include <tileseek/search/any_strategy.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <stdexcept>
#include <type_traits>

#include <tileseek/search/droplet.hpp>
#include <tileseek/search/random.hpp>
#include <tileseek/testing/landscapes.hpp>

namespace {

using namespace tileseek;

struct nameless {
  std::unique_ptr<int> movable_only = std::make_unique<int>(0);
  std::vector<point> ask(const lattice&, rng&, std::size_t) { return {}; }
  void tell(const lattice&, std::span<const trial> done) { *movable_only += static_cast<int>(done.size()); }
};

static_assert(std::is_nothrow_move_constructible_v<any_strategy>);
static_assert(!std::is_copy_constructible_v<any_strategy>);
static_assert(std::is_constructible_v<any_strategy, droplet>);
static_assert(!std::is_constructible_v<any_strategy, int>);
static_assert(!std::is_constructible_v<any_strategy, nameless&>);  // would have to be copied

TEST_CASE("it behaves as what it holds") {
  const auto on = testing::convex();
  any_strategy held = droplet{};
  droplet own;
  const auto a = testing::minimise(held, on, 100, 5, 3);
  const auto b = testing::minimise(own, on, 100, 5, 3);
  CHECK_EQ(a.curve, b.curve);
  CHECK_EQ(a.at, b.at);
}

TEST_CASE("its name is the strategy's, or the one given") {
  CHECK_EQ(any_strategy(droplet{}).name(), "droplet");
  CHECK_EQ(any_strategy(tileseek::random{}, "baseline").name(), "baseline");
  CHECK_EQ(any_strategy(nameless{}).name(), "unnamed");
  any_strategy renamed = droplet{};
  renamed.rename("droplet from a log");
  CHECK_EQ(renamed.name(), "droplet from a log");
  any_strategy inner = droplet{};
  CHECK_EQ(any_strategy(std::move(inner)).name(), "droplet");
}

TEST_CASE("it foretells what the strategy does, if it does") {
  struct hopeful : nameless {
    [[nodiscard]] double gap() const { return 0.25; }
  };
  static_assert(ForecastingStrategy<hopeful>);
  static_assert(!ForecastingStrategy<nameless>);
  CHECK_EQ(any_strategy(hopeful{}).gap(), 0.25);
  CHECK_FALSE(any_strategy(nameless{}).gap().has_value());
  CHECK_FALSE(any_strategy().gap().has_value());
}

TEST_CASE("an empty one says so") {
  any_strategy none;
  rng random;
  CHECK_FALSE(none.has_value());
  CHECK_THROWS_WITH_AS(static_cast<void>(none.ask(lattice{}, random, 1)), "any_strategy: holds no strategy",
                       std::logic_error);
  none = tileseek::random{};
  CHECK(none.has_value());
  CHECK_EQ(none.ask(lattice{}, random, 1).size(), 1);
}

}  // namespace
