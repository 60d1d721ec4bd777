#include <tileseek/search/guided_evolution.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <vector>

#include <tileseek/search/random.hpp>
#include <tileseek/testing/landscapes.hpp>

namespace {

using namespace tileseek;

/// Knows nothing, and notes what it is fitted to.
struct blank {
  std::shared_ptr<std::vector<Eigen::Index>> rows = std::make_shared<std::vector<Eigen::Index>>();
  void fit(const Eigen::MatrixXd& x, const Eigen::VectorXd&) { rows->push_back(x.rows()); }
  [[nodiscard]] Eigen::VectorXd predict(const Eigen::MatrixXd& x) const { return Eigen::VectorXd::Zero(x.rows()); }
};

/// Expects the same everywhere, and is the less sure the larger the first column.
struct unsure : blank {
  [[nodiscard]] prediction predict_with_deviation(const Eigen::MatrixXd& x) const {
    return {Eigen::VectorXd::Zero(x.rows()), x.col(0)};
  }
};
static_assert(UncertainCostModel<unsure>);

TEST_CASE("it needs fewer evaluations than random search to come within 5 %") {
  for (const auto& l : {testing::convex(3, 10), testing::convex(), testing::failing()}) {
    CAPTURE(l.name);
    std::vector<std::size_t> mine;
    std::vector<std::size_t> random;
    for (std::uint64_t seed = 1; seed <= 7; ++seed) {
      mine.push_back(testing::evaluations_to(1.05 * l.best_cost, guided_evolution<>{}, l, 400, seed));
      random.push_back(testing::evaluations_to(1.05 * l.best_cost, tileseek::random{}, l, 400, seed));
    }
    std::sort(mine.begin(), mine.end());
    std::sort(random.begin(), random.end());
    CHECK_LT(mine[3], random[3]);
  }
}

TEST_CASE("the model is fitted once a batch, to everything told") {
  const auto l = testing::convex();
  blank model;
  guided_evolution_options o;
  o.init_size = 5;
  o.batch = 3;
  o.population = 32;
  guided_evolution<blank> s(o, model);
  rng random(1);
  const trial warm[] = {{l.best, l.measure(l.best)}, {point(4, 0), failure(status::crashed, "")}};
  s.tell(l.space, warm);
  for (int i = 0; i < 9; ++i) {
    const auto asked = s.ask(l.space, random, 1);
    REQUIRE_EQ(asked.size(), 1);
    const trial done[] = {{asked[0], l.measure(asked[0])}};
    s.tell(l.space, done);
  }
  CHECK_EQ(*model.rows, std::vector<Eigen::Index>{5, 8});  // 2 told, 3 first points, then batches of 3
}

TEST_CASE("doubt attracts it, as far as kappa says") {
  const auto l = testing::convex(3, 12);
  const auto mean_of_first_coordinate = [&](double kappa) {
    guided_evolution_options o;
    o.kappa = kappa;
    o.init_size = 4;
    double sum = 0;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      guided_evolution<unsure> s(o);
      rng random(seed);
      for (int i = 0; i < 20; ++i) {
        const auto asked = s.ask(l.space, random, 1);
        REQUIRE_EQ(asked.size(), 1);
        if (i >= 4) sum += asked[0][0];
        const trial done[] = {{asked[0], l.measure(asked[0])}};
        s.tell(l.space, done);
      }
    }
    return sum / (5 * 16);
  };
  CHECK_LT(mean_of_first_coordinate(0), 8);
  CHECK_GT(mean_of_first_coordinate(3), 9);
}

TEST_CASE("options out of range are refused by name") {
  const auto refused = [](auto change, const char* text) {
    guided_evolution_options o;
    change(o);
    CHECK_THROWS_WITH_AS(guided_evolution<blank>{o}, doctest::Contains(text), std::invalid_argument);
  };
  refused([](auto& o) { o.init_size = 0; }, "guided_evolution: option 'init_size'");
  refused([](auto& o) { o.batch = 0; }, "'batch'");
  refused([](auto& o) { o.population = 1; }, "'population'");
  refused([](auto& o) { o.mutation = -1; }, "'mutation'");
  refused([](auto& o) { o.elite = 2; }, "'elite'");
  refused([](auto& o) { o.random_share = 1; }, "'random_share'");
  refused([](auto& o) { o.kappa = -1; }, "'kappa'");
  refused([](auto& o) { o.label_quantile = 0; }, "'label_quantile'");
}

}  // namespace
