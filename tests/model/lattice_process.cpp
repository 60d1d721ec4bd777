#include <tileseek/model/lattice_process.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <unordered_set>
#include <vector>

#include <doctest/doctest.h>

#include <tileseek/model/gaussian_process.hpp>

namespace {

using tileseek::lattice;
using tileseek::lattice_process;
using tileseek::point;

constexpr double infinite = std::numeric_limits<double>::infinity();

/// 5 x 6 x 3 x 4 x 3 = 1,080 points less those that the rule removes; two groups of axes; one axis unordered.
lattice small() {
  return lattice({{"a", {1, 2, 4, 8, 16}},
                  {"b", {0, 1, 2, 3, 4, 5}},
                  {"c", {0, 1, 2}, false},
                  {"d", {1, 3, 5, 7}},
                  {"e", {8, 16, 32}}},
                 {}, {{"a or b small", {0, 1}, [](const int* p) { return p[0] + p[1] < 8; }}});
}

std::vector<point> all_of(const lattice& space) {
  std::vector<point> out;
  for (std::uint64_t r = 0; r < space.rank_end(); ++r)
    if (auto p = space.unrank(r)) out.push_back(*p);
  return out;
}

double seconds(const point& p) {
  if (p[2] == 1 && p[3] == 3) return infinite;
  const double d =
      std::pow(p[0] - 3.0, 2) + 0.5 * std::pow(p[1] - 2.0, 2) + (p[2] == 2 ? 0 : 2) + 0.3 * p[0] * p[3] - p[4];
  return 1e-3 * (1.5 + std::exp(0.2 * d));
}

/// The candidate that a complete evaluation picks.
std::optional<std::size_t> by_brute_force(const lattice_process& model, const std::vector<point>& points,
                                          double kappa) {
  const auto all = model.predict(points);
  std::optional<std::size_t> best;
  double least = infinite;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto at = static_cast<Eigen::Index>(i);
    const double bound = all.mean[at] - kappa * all.deviation[at];
    if (!model.known(points[i]) && bound < least) {
      least = bound;
      best = i;
    }
  }
  return best;
}

/// Both name a candidate with the same bound, up to single precision.
void check_same(const lattice_process& model, const std::vector<point>& points, double kappa,
                std::optional<std::size_t> a, std::optional<std::size_t> b) {
  REQUIRE(a.has_value() == b.has_value());
  if (!a) return;
  const auto both = model.predict(std::vector<point>{points[*a], points[*b]});
  const Eigen::VectorXd bound = both.mean - kappa * both.deviation;
  CHECK(bound[0] == doctest::Approx(bound[1]).epsilon(1e-3));
  CHECK_FALSE(model.known(points[*a]));
}

TEST_CASE("the lazy search finds what a complete evaluation finds, with refits, batches, and new candidates") {
  const lattice space = small();
  const auto points = all_of(space);
  for (const std::uint64_t seed : {1u, 2u}) {
    tileseek::rng random(seed);
    lattice_process model(space);
    model.candidates(points);
    for (int i = 0; i < 5; ++i) {
      const point p = space.sample(random);
      model.observe(p, seconds(p));
    }
    for (int round = 0; round < 24; ++round) {
      if (model.due()) model.refit(random);
      if (round == 10) model.candidates(points);
      std::vector<point> batch;
      for (int b = 0; b < 3; ++b) {
        const auto found = model.least_bound(3);
        check_same(model, points, 3, found, by_brute_force(model, points, 3));
        REQUIRE(found.has_value());
        batch.push_back(model.candidate(*found));
        if (round % 4 == 1) batch.back() = space.sample(random);  // also one that is no good candidate
        model.pretend(batch.back());
        if (round == 11 && b == 1) model.candidates(points);  // while points are pretended
      }
      model.retract();
      for (const auto& p : batch) model.observe(p, seconds(p));
    }
  }
}

TEST_CASE("candidates brought up to date agree with points evaluated one by one") {
  const lattice space = small();
  const auto points = all_of(space);
  tileseek::rng random(4);
  lattice_process model(space);
  model.candidates(points);
  for (int i = 0; i < 60; ++i) {
    const point p = space.sample(random);
    model.observe(p, seconds(p));
    if (i == 30) model.refit(random);
    if (i > 30 && i % 7 == 0) (void)model.least_bound(1);
  }
  const auto lazy = model.predict_candidates();
  const auto exact = model.predict(points);
  CHECK((lazy.mean - exact.mean).cwiseAbs().maxCoeff() < 2e-3);
  CHECK((lazy.deviation - exact.deviation).cwiseAbs().maxCoeff() < 2e-3);
}

TEST_CASE("it is the Gaussian process over scaled positions") {
  const lattice space({{"a", {1, 2, 4, 8, 16, 32}}, {"b", {0, 1, 2, 3, 4, 5, 6, 7}}}, {}, {});
  tileseek::rng random(5);
  std::vector<point> seen{{0, 0}, {5, 7}};  // the corners, so that ranges are those of the lattice
  for (int i = 0; i < 18; ++i) seen.push_back(space.sample(random));
  std::vector<double> costs;
  lattice_process model(space, {.fit_parameters = false});
  std::vector<point> unique;
  for (const auto& p : seen) {
    if (model.known(p)) continue;
    unique.push_back(p);
    costs.push_back(1e-3 * (1 + p[0] + 2 * p[1]));
    model.observe(p, costs.back());
  }
  model.refit(random);
  const tileseek::feature_map encode(space);
  tileseek::gaussian_process other({.fit_parameters = false});
  other.fit(encode.encode(unique), tileseek::label(costs).y);
  const auto points = all_of(space);
  const auto a = model.predict(points);
  const auto b = other.predict_with_deviation(encode.encode(points));
  CHECK((a.mean - b.mean).cwiseAbs().maxCoeff() < 1e-4);
  CHECK((a.deviation - b.deviation).cwiseAbs().maxCoeff() < 1e-3);
}

TEST_CASE("a pretended point keeps the mean, takes uncertainty, and leaves no trace") {
  const lattice space = small();
  const auto points = all_of(space);
  tileseek::rng random(6);
  lattice_process model(space);
  model.candidates(points);
  for (int i = 0; i < 30; ++i) {
    const point p = space.sample(random);
    model.observe(p, seconds(p));
  }
  model.refit(random);
  const auto before = model.predict(points);
  const auto lazy_before = model.predict_candidates();
  const auto first = model.least_bound(3);
  REQUIRE(first.has_value());
  const point p = model.candidate(*first);
  model.pretend(p);
  model.pretend(space.sample(random));
  CHECK(model.known(p));
  const auto during = model.predict(points);
  const auto lazy_during = model.predict_candidates();
  CHECK((during.mean - before.mean).cwiseAbs().maxCoeff() < 1e-9);
  CHECK((during.deviation.array() <= before.deviation.array() + 1e-12).all());
  const auto at = static_cast<Eigen::Index>(*first);
  CHECK(during.deviation[at] < 0.5 * before.deviation[at]);
  CHECK((lazy_during.deviation - during.deviation).cwiseAbs().maxCoeff() < 2e-3);
  CHECK(model.least_bound(3) != first);
  CHECK_THROWS_AS(model.observe(p, 1.0), std::logic_error);
  model.retract();
  CHECK_FALSE(model.known(p));
  const auto after = model.predict_candidates();
  CHECK((after.mean - lazy_before.mean).cwiseAbs().maxCoeff() < 1e-5);
  CHECK((after.deviation - lazy_before.deviation).cwiseAbs().maxCoeff() < 1e-4);
  CHECK(model.least_bound(3) == first);
}

TEST_CASE("it is due when new, after growth, and when full; it stays within its limits") {
  const lattice space = small();
  tileseek::rng random(7);
  lattice_process model(space, {.fit_samples = 20, .growth = 0.5, .most_active = 60, .kept = 20});
  CHECK_FALSE(model.due());
  model.refit(random);  // without data: nothing
  CHECK_FALSE(model.least_bound(3).has_value());
  const auto points = all_of(space);
  model.candidates(points);
  int refits = 0;
  std::vector<std::size_t> at;
  while (model.observations() < 150) {
    const point p = space.sample(random);
    model.observe(p, seconds(p));
    if (!model.due()) continue;
    model.refit(random);
    ++refits;
    at.push_back(model.observations());
    check_same(model, points, 3, model.least_bound(3), by_brute_force(model, points, 3));
  }
  REQUIRE(at.size() > 6);
  CHECK(std::vector<std::size_t>(at.begin(), at.begin() + 6) == std::vector<std::size_t>{1, 2, 3, 5, 8, 12});
  CHECK(refits < 20);
  const std::size_t before = model.observations();
  model.observe(points[0], 1.0);
  const std::size_t then = model.observations();
  model.observe(points[0], 2.0);
  CHECK(then <= before + 1);
  CHECK(model.observations() == then);
}

TEST_CASE("the optimum of a lattice is found in few observations") {
  const lattice space = small();
  const auto points = all_of(space);
  double best = infinite;
  for (const auto& p : points) best = std::min(best, seconds(p));
  int good = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    tileseek::rng random(seed);
    lattice_process model(space);
    model.candidates(points);
    double found = infinite;
    point p = space.sample(random);
    for (int i = 0; i < 40; ++i) {
      if (i >= 5) {
        if (model.due()) model.refit(random);
        p = model.candidate(model.least_bound(3).value());
      } else {
        p = space.sample(random);
      }
      found = std::min(found, seconds(p));
      model.observe(p, seconds(p));
    }
    good += found <= 1.02 * best;
  }
  CHECK(good >= 5);
}

TEST_CASE("spaces of every shape: one point, one axis, a fine grid, a wide choice, failures only, equal costs") {
  tileseek::rng random(8);
  SUBCASE("no coordinates") {
    lattice_process model{lattice{}};
    model.candidates({point{}});
    model.observe({}, 1.0);
    model.refit(random);
    CHECK_FALSE(model.least_bound(3).has_value());
    CHECK(model.predict(std::vector<point>{point{}}).mean[0] == doctest::Approx(0));
  }
  SUBCASE("a fine grid and a wide choice") {
    std::vector<double> fine;
    std::vector<double> wide;
    for (int i = 0; i < 1000; ++i) fine.push_back(i + 1);
    for (int i = 0; i < 300; ++i) wide.push_back(i);
    const lattice space({{"fine", fine}, {"wide", wide, false}}, {}, {});
    lattice_process model(space);
    std::vector<point> pool;
    for (int i = 0; i < 100; ++i) pool.push_back(space.sample(random));
    model.candidates(pool);
    for (int i = 0; i < 20; ++i) {
      const point p = space.sample(random);
      model.observe(p, 1 + std::fabs(p[0] - 300.0) / 300);
      if (model.due()) model.refit(random);
      check_same(model, pool, 2, model.least_bound(2), by_brute_force(model, pool, 2));
    }
  }
  SUBCASE("failures only, then equal costs") {
    const lattice space = small();
    const auto points = all_of(space);
    for (const double cost : {infinite, 2.0, 0.0}) {
      lattice_process model(space);
      model.candidates(points);
      std::unordered_set<point, tileseek::point_hash> asked;
      model.observe(points[0], cost);
      for (int i = 0; i < 12; ++i) {
        if (model.due()) model.refit(random);
        const auto found = model.least_bound(3);
        REQUIRE(found.has_value());
        CHECK(asked.insert(points[*found]).second);
        model.observe(points[*found], cost);
      }
      CHECK(model.predict(points).mean.allFinite());
    }
  }
  SUBCASE("everything known") {
    const lattice space({{"a", {1, 2, 3}}}, {}, {});
    lattice_process model(space);
    model.candidates(all_of(space));
    for (int i = 0; i < 3; ++i) model.observe({i}, i + 1.0);
    model.refit(random);
    CHECK_FALSE(model.least_bound(3).has_value());
  }
}

TEST_CASE("the same calls give the same answers; copies go their own ways") {
  const lattice space = small();
  const auto points = all_of(space);
  const auto run = [&](lattice_process model, tileseek::rng random) {
    std::vector<std::size_t> out;
    for (int i = 0; i < 25; ++i) {
      if (model.due()) model.refit(random);
      out.push_back(model.least_bound(3).value());
      model.observe(points[out.back()], seconds(points[out.back()]));
    }
    return out;
  };
  lattice_process start(space);
  start.candidates(points);
  start.observe(points[17], seconds(points[17]));
  const auto first = run(start, tileseek::rng(9));
  CHECK(run(start, tileseek::rng(9)) == first);
  CHECK(start.observations() == 1);
}

TEST_CASE("parameters of a similar task are a start") {
  const lattice space = small();
  lattice_process model(space);
  tileseek::kernel_parameters p;
  p.lengths.assign(5, 2.0);
  p.noise = 0.1;
  model.start_from(p);
  CHECK(model.parameters() == p);
  p.lengths.pop_back();
  CHECK_THROWS_AS(model.start_from(p), std::invalid_argument);
}

TEST_CASE("a feature of the space tells it what the coordinates hide") {
  // The cost follows how full the last of the blocks is that a and b make: a saw in every coordinate.
  const auto fullness = [](const point& p) { return static_cast<double>((7 * p[0] + 5 * p[1] + 3 * p[2]) % 11); };
  std::vector<double> values;
  for (int i = 0; i < 12; ++i) values.push_back(i + 1);
  const lattice plain({{"a", values}, {"b", values}, {"c", values}}, {}, {});
  const lattice told = plain.with_features({{"fullness", fullness}});
  const auto all = all_of(plain);
  const auto error = [&](const lattice& space) {
    lattice_process model(space);
    tileseek::rng random(1);
    for (int i = 0; i < 80; ++i) {
      const point p = space.sample(random);
      model.observe(p, 1e-3 * std::exp(0.1 * fullness(p)));
      if (model.due()) model.refit(random);
    }
    const auto expected = model.predict(all);
    double sum = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double truth = std::min(std::log(1e-3) + 0.1 * fullness(all[i]), model.cap());
      sum += std::fabs(expected.mean[static_cast<Eigen::Index>(i)] - truth);
    }
    return sum / static_cast<double>(all.size());
  };
  CHECK(error(told) < 0.3 * error(plain));
}

}  // namespace
