#include <tileseek/model/features.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using tileseek::feature_map;
using tileseek::feature_options;
using tileseek::lattice;
using tileseek::point;
using tileseek::scaled_positions;

/// i: 12 split over three levels; a power of two; a choice of three; a flag; a constant.
lattice mixed() {
  const std::vector<double> divisors{1, 2, 3, 4, 6, 12};
  return lattice({{"i[1]", divisors},
                  {"i[2]", divisors},
                  {"vec", {1, 2, 4, 8}},
                  {"order", {0, 1, 2}, false},
                  {"flag", {0, 1}, false},
                  {"one", {5}}},
                 {{"i", 12, 0, 3}}, {});
}

feature_options only(bool feature_options::*what) {
  feature_options o{false, false, false, false, false, false};
  o.*what = true;
  return o;
}

TEST_CASE("positions: the mean of rank and size, the size by logarithm when it spreads by 4 or more") {
  const auto check = [](std::vector<double> values, std::vector<double> expected) {
    const auto got = scaled_positions({"x", values, true});
    REQUIRE(got.size() == expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(expected[i]));
  };
  check({1, 2, 4, 8, 16}, {0, 0.25, 0.5, 0.75, 1});  // ranks and logarithms agree
  check({1, 2, 3}, {0, 0.5, 1});                     // by size
  check({1, 2, 16}, {0, (0.5 + 0.25) / 2, 1});       // by logarithm
  check({0, 1, 2, 4, 8}, {0, 0.25, 0.5, 0.75, 1});   // 0 goes where 1/2 would
  check({0, 5, 10}, {0, 0.5, 1});                    // the rest spreads by 2: by size
  check({-8, 0, 8, 64}, {0, (1.0 / 3 + 8.0 / 72) / 2, (2.0 / 3 + 16.0 / 72) / 2, 1});
  check({7}, {0});
  check({}, {});
}

TEST_CASE("the columns of each set") {
  const lattice space = mixed();
  const point p{1, 2, 3, 2, 1, 0};  // i = 2 x 2 x 3, vec = 8
  using names = std::vector<std::string>;
  const feature_map coordinates(space, only(&feature_options::coordinates));
  CHECK(coordinates.names() == names{"i[1]", "i[2]", "vec", "order", "flag"});
  CHECK(coordinates.encode(p)[2] == doctest::Approx(1));
  CHECK(coordinates.encode(p)[3] == doctest::Approx(1));  // the index over the largest
  CHECK(coordinates.encode(p)[4] == doctest::Approx(1));

  const feature_map log2(space, only(&feature_options::log2));
  CHECK(log2.encode(p)[0] == doctest::Approx(1));
  CHECK(log2.encode(p)[1] == doctest::Approx(std::log2(3.0)));
  CHECK(log2.encode(p)[2] == doctest::Approx(3));

  const feature_map ranks(space, only(&feature_options::ranks));
  CHECK(ranks.encode(p)[1] == doctest::Approx(2.0 / 5));

  const feature_map sizes(space, only(&feature_options::inclusive));
  CHECK(sizes.names() == names{"order", "flag", "log2 size i[1]"});
  CHECK(sizes.encode(p)[2] == doctest::Approx(std::log2(6.0)));

  const feature_map one_hot(space, only(&feature_options::one_hot));
  CHECK(one_hot.names() == names{"order = 0", "order = 1", "order = 2", "flag"});
  CHECK(one_hot.encode(p) == (Eigen::VectorXd(4) << 0, 0, 1, 1).finished());

  feature_options pairs = only(&feature_options::pairs);
  const feature_map products(space, pairs);
  CHECK(products.names() == names{"order", "flag", "log2 i[1] * i[2]", "log2 i[1] * vec", "log2 i[2] * vec"});
  CHECK(products.encode(p)[2] == doctest::Approx(std::log2(6.0)));
  CHECK(products.encode(p)[4] == doctest::Approx(std::log2(24.0)));
  pairs.inclusive = true;
  const feature_map with_sizes(space, pairs);
  CHECK(with_sizes.names().back() == "log2 vec * size i[1]");
  CHECK(with_sizes.encode(p)[static_cast<Eigen::Index>(with_sizes.columns()) - 1] == doctest::Approx(std::log2(48.0)));
}

TEST_CASE("many points are rows of single ones, in order") {
  const lattice space =
      mixed().with_features({{"sum", [](const point& p) { return static_cast<double>(p[0] + p[1]); }}});
  for (const auto& options :
       {feature_options{}, feature_options::for_trees(), feature_options{true, true, true, true, true, true}}) {
    const feature_map map(space, options);
    tileseek::rng random(1);
    std::vector<point> points;
    for (int i = 0; i < 20; ++i) points.push_back(space.sample(random));
    const Eigen::MatrixXd x = map.encode(points);
    REQUIRE(x.rows() == 20);
    REQUIRE(static_cast<std::size_t>(x.cols()) == map.columns());
    for (std::size_t i = 0; i < points.size(); ++i)
      CHECK(x.row(static_cast<Eigen::Index>(i)).transpose() == map.encode(points[i]));
    CHECK(x.allFinite());
    CHECK(map.names().back() == "sum");
  }
  CHECK(feature_map(space).encode(std::vector<point>{}).rows() == 0);
}

TEST_CASE("features of one's own are scaled to [0, 1], by logarithm when they spread") {
  std::vector<double> values;
  for (int i = 0; i < 9; ++i) values.push_back(i);
  const auto space = lattice({{"a", values}}, {}, {})
                         .with_features({{"bytes", [](const point& p) { return std::exp2(p[0]); }},
                                         {"linear", [](const point& p) { return 10.0 + p[0]; }},
                                         {"constant", [](const point&) { return 3.0; }}});
  const feature_map map(space, only(&feature_options::pairs));
  CHECK(map.names() == std::vector<std::string>{"bytes", "linear", "constant"});
  for (int i = 0; i < 9; ++i) {
    const Eigen::VectorXd row = map.encode({i});
    CHECK(row[0] == doctest::Approx(i / 8.0));
    CHECK(row[1] == doctest::Approx(i / 8.0));
    CHECK(row[2] == 0);
  }
}

TEST_CASE("own features can be all there is, unordered coordinates included") {
  const auto space =
      lattice({{"a", {1, 2, 4}}, {"choice", {0, 1, 2}, false}}, {}, {}).with_features({{"bytes", [](const point& p) {
                                                                                          return std::exp2(p[0]);
                                                                                        }}});
  CHECK(feature_map(space, feature_options::own()).names() == std::vector<std::string>{"bytes"});
  CHECK(feature_map(space).columns() > 1);
}

TEST_CASE("a feature that is no number is refused by name") {
  const auto space = lattice({{"a", {1, 2}}}, {}, {}).with_features({{"occupancy", [](const point& p) {
                                                                        return p[0] == 1 ? std::nan("") : 1.0;
                                                                      }}});
  const auto broken = [&] { (void)feature_map(space); };
  CHECK_THROWS_WITH_AS(broken(), doctest::Contains("occupancy"), std::invalid_argument);
}

TEST_CASE("a lattice of one point has no columns") {
  const feature_map none{lattice{}};
  CHECK(none.columns() == 0);
  CHECK(none.encode(point{}).size() == 0);
  const feature_map constant(lattice({{"a", {3}}}, {}, {}), feature_options{true, true, true, true, true, true});
  CHECK(constant.columns() == 0);
}

}  // namespace
