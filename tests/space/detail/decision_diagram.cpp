#include <tileseek/space/detail/decision_diagram.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <tileseek/core/rng.hpp>

using tileseek::rng;
using tileseek::detail::decision_diagram;
using tileseek::detail::diagram_problem;
using tileseek::detail::diagram_rule;
using tileseek::detail::node_store;
using tileseek::detail::wide;
using tileseek::detail::word_map;

namespace {

using tuple = std::vector<int>;
using predicate = std::function<bool(const int*)>;

diagram_rule rule_of(const std::vector<std::size_t>& coordinates, const predicate& holds) {
  diagram_rule r;
  for (const auto c : coordinates) r.terms.push_back({c, false});
  r.slots = coordinates;
  r.holds = &holds;
  return r;
}

std::vector<std::size_t> all_of(const diagram_problem& p) {
  std::vector<std::size_t> m;
  for (std::size_t d = 0; d < p.extents.size(); ++d) m.push_back(d);
  return m;
}

std::vector<tuple> tuples_of(const decision_diagram& d, std::size_t dimensions) {
  std::vector<tuple> out;
  for (std::uint64_t r = 0; r < d.size(); ++r) {
    out.emplace_back(dimensions, -1);
    d.unrank(r, out.back().data());
    CHECK(d.rank(out.back().data()) == r);
    CHECK(d.contains(out.back().data()));
  }
  return out;
}

}  // namespace

TEST_CASE("components are what rules and products connect") {
  diagram_problem p;
  p.extents.assign(7, 2);
  p.products.push_back({1, 2, {1, 2}, 2});
  const std::vector<std::size_t> a{0, 4};
  const std::vector<std::size_t> b{4, 6};
  const std::vector<std::size_t> nothing;
  using groups = std::vector<std::vector<std::size_t>>;
  CHECK(tileseek::detail::components(p, {&a, &b, &nothing}) == groups{{0, 4, 6}, {1, 2}, {3}, {5}});
  CHECK(tileseek::detail::components(diagram_problem{}, {}).empty());
}

TEST_CASE("equal nodes are stored once") {
  node_store store;
  const std::vector<node_store::edge> both{{0, 0}, {2, 0}};
  const auto a = store.intern(1, both);
  CHECK(store.intern(1, both) == a);
  CHECK(store.intern(1, both, a) == a);
  CHECK(store.intern(2, both) != a);  // of another level
  CHECK(store.intern(1, std::vector<node_store::edge>{{0, 0}}) != a);
  CHECK(store.intern(1, std::vector<node_store::edge>{}) == node_store::dead);
  CHECK(store.child(a, 0) == 0);
  CHECK(store.child(a, 1) == node_store::dead);
  CHECK(store.child(a, 2) == 0);
  CHECK(store.child(a, 3) == node_store::dead);
  std::set<std::uint32_t> different;
  for (int v = 0; v < 500; ++v) different.insert(store.intern(1, std::vector<node_store::edge>{{v, a}}));
  CHECK(different.size() == 500);
  for (int v = 0; v < 500; ++v) CHECK(different.count(store.intern(1, std::vector<node_store::edge>{{v, a}})) == 1);
}

TEST_CASE("a map of words finds what was added, and keys of no words are all the same") {
  word_map map(2);
  for (std::uint32_t i = 0; i < 1000; ++i) {
    const std::uint32_t key[] = {i % 32, i};
    const auto [at, known] = map.find_or_add(key);
    CHECK(!known);
    map[at] = 7 * i;
  }
  for (std::uint32_t i = 0; i < 1000; ++i) {
    const std::uint32_t key[] = {i % 32, i};
    const auto [at, known] = map.find_or_add(key);
    CHECK(known);
    CHECK(map[at] == 7 * i);
  }
  word_map none(0);
  CHECK(!none.find_or_add(nullptr).second);
  CHECK(none.find_or_add(nullptr).second);
}

TEST_CASE("a diagram has exactly the tuples that obey its rules") {
  diagram_problem p;
  p.extents = {4, 3, 5, 2};
  const predicate sum = [](const int* q) { return q[0] + q[2] <= 4; };
  const predicate parity = [](const int* q) { return (q[1] + q[3]) % 2 == 0; };
  const predicate mixed = [](const int* q) { return q[0] * 3 + q[1] != q[3]; };
  const auto made = decision_diagram::build(
      p, {rule_of({0, 2}, sum), rule_of({1, 3}, parity), rule_of({3, 0, 1}, mixed)}, all_of(p), 0);
  REQUIRE(made.built);
  std::set<tuple> expected;
  for (int a = 0; a < 4; ++a)
    for (int b = 0; b < 3; ++b)
      for (int c = 0; c < 5; ++c)
        for (int d = 0; d < 2; ++d) {
          const int q[] = {a, b, c, d};
          const bool in = sum(q) && parity(q) && mixed(q);
          CHECK(made.diagram.contains(q) == in);
          if (in) expected.insert({a, b, c, d});
        }
  const auto got = tuples_of(made.diagram, 4);
  CHECK(std::set<tuple>(got.begin(), got.end()) == expected);
  CHECK(made.diagram.size() == expected.size());
}

TEST_CASE("what no tuple obeys has size 0") {
  diagram_problem p;
  p.extents = {3, 3};
  const predicate less = [](const int* q) { return q[0] < q[1]; };
  const predicate more = [](const int* q) { return q[0] > q[1]; };
  const auto made = decision_diagram::build(p, {rule_of({0, 1}, less), rule_of({0, 1}, more)}, all_of(p), 0);
  REQUIRE(made.built);
  CHECK(made.diagram.size() == 0);
  const int q[] = {0, 1};
  CHECK(!made.diagram.contains(q));
}

TEST_CASE("a product of divisors, read by factor and by product") {
  diagram_problem p;
  p.extents.assign(3, 6);
  p.products.push_back({0, 3, {1, 2, 3, 4, 6, 12}, 12});
  CHECK(decision_diagram::build(p, {}, all_of(p), 1).diagram.size() == 40);  // 12 = 2^2 * 3 in four factors: 10 * 4
  const std::vector<int> divisors{1, 2, 3, 4, 6, 12};
  // The product of the last two is at most 4, and the first is 2 or less: in terms, and by levels.
  const predicate terms = [&](const int* a) { return divisors[static_cast<std::size_t>(a[0])] <= 4 && a[1] <= 1; };
  diagram_rule r;
  r.terms = {{1, true}, {0, false}};
  r.slots = {0, 1};
  r.holds = &terms;
  const predicate levels = [&](const int* q) {
    return divisors[static_cast<std::size_t>(q[1])] * divisors[static_cast<std::size_t>(q[2])] <= 4 && q[0] <= 1;
  };
  const auto a = decision_diagram::build(p, {r}, all_of(p), 0);
  const auto b = decision_diagram::build(p, {rule_of({0, 1, 2}, levels)}, all_of(p), 0);
  const auto one = tuples_of(a.diagram, 3);
  const auto two = tuples_of(b.diagram, 3);
  CHECK(one == two);
  CHECK(!one.empty());
}

TEST_CASE("a rule that needs too much work is named") {
  diagram_problem p;
  p.extents.assign(4, 10);
  const predicate wide_one = [](const int* q) { return (q[0] * 7 + q[1] * 5 + q[2] * 3 + q[3]) % 11 != 0; };
  const predicate narrow = [](const int* q) { return q[0] <= q[1]; };
  const std::vector<diagram_rule> rules{rule_of({0, 1}, narrow), rule_of({0, 1, 2, 3}, wide_one)};
  const auto made = decision_diagram::build(p, rules, all_of(p), 1000);
  CHECK(!made.built);
  CHECK(made.too_much == 1);
  CHECK(decision_diagram::build(p, rules, all_of(p), 100'000).built);
  CHECK(decision_diagram::build(p, {rules[0]}, all_of(p), 1000).diagram.size() == 5500);
}

TEST_CASE("the size of a diagram follows what rules distinguish, not the number of tuples") {
  // Of twelve digits whose sum is at most 20, the sum so far is all that matters.
  diagram_problem p;
  p.extents.assign(12, 10);
  std::vector<predicate> chain;
  // The sum so far as coordinates of their own: s[i + 1] = s[i] + x[i].
  for (int i = 0; i < 12; ++i) p.extents.push_back(21);
  std::vector<diagram_rule> rules;
  chain.reserve(12);
  for (std::size_t i = 0; i < 12; ++i) {
    chain.push_back([i](const int* q) { return q[12 + i] == (i == 0 ? 0 : q[12 + i - 1]) + q[i]; });
    rules.push_back(i == 0 ? rule_of({0, 12}, chain[0]) : rule_of({i, 12 + i - 1, 12 + i}, chain[i]));
  }
  const auto made = decision_diagram::build(p, rules, all_of(p), 1 << 20);
  REQUIRE(made.built);
  // Digits with a sum of at most 20: inclusion and exclusion over digits of 10 or more.
  const auto choose = [](int n, int k) {
    double c = 1;
    for (int i = 0; i < k; ++i) c = c * (n - i) / (i + 1);
    return c;
  };
  CHECK(made.diagram.size() ==
        static_cast<std::uint64_t>(choose(32, 12) - 12 * choose(22, 12) + choose(12, 2) * choose(12, 12)));
  CHECK(made.diagram.nodes() < 3000);
}

TEST_CASE("listed tuples, in any order and repeated") {
  diagram_problem p;
  p.extents = {3, 3, 3};
  const auto d = decision_diagram::of(p, {{2, 1, 0}, {0, 0, 0}, {2, 1, 0}, {2, 1, 2}, {0, 2, 0}});
  CHECK(tuples_of(d, 3) == std::vector<tuple>{{0, 0, 0}, {0, 2, 0}, {2, 1, 0}, {2, 1, 2}});
}

TEST_CASE("more than 2^64 tuples are drawn uniformly") {
  // 22 digits of which neighbours differ: 10 * 9^21 = 1.09e21.
  diagram_problem p;
  p.extents.assign(22, 10);
  std::vector<predicate> differ;
  std::vector<diagram_rule> rules;
  differ.reserve(21);
  for (std::size_t i = 0; i + 1 < 22; ++i) {
    differ.push_back([i](const int* q) { return q[i] != q[i + 1]; });
    rules.push_back(rule_of({i, i + 1}, differ[i]));
  }
  const auto made = decision_diagram::build(p, rules, all_of(p), 0);
  REQUIRE(made.built);
  const auto& d = made.diagram;
  CHECK(!d.size_fits());
  CHECK(d.size() == ~std::uint64_t{0});
  CHECK(d.approximate_size() == doctest::Approx(10 * std::pow(9.0, 21)));
  rng random(1);
  std::map<std::pair<int, int>, int> pairs;
  constexpr int draws = 9000;
  tuple q(22);
  for (int i = 0; i < draws; ++i) {
    d.draw(random, q.data());
    for (std::size_t k = 0; k + 1 < 22; ++k) REQUIRE(q[k] != q[k + 1]);
    ++pairs[{q[0], q[21]}];
  }
  double chi_square = 0;
  for (int a = 0; a < 10; ++a)
    for (int b = 0; b < 10; ++b) {
      const double difference = pairs[{a, b}] - draws / 100.0;  // the ends hardly know of each other
      chi_square += difference * difference / (draws / 100.0);
    }
  CHECK(chi_square < 149);  // 99.9 % quantile at 99 degrees of freedom
  d.unrank(12345678901234567890ULL, q.data());
  CHECK(d.contains(q.data()));
}

TEST_CASE("the cheapest tuple is the cheapest") {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    rng random(seed);
    diagram_problem p;
    p.extents = {4, 4, 4, 4};
    std::vector<tuple> listed;
    for (int i = 0; i < 30; ++i) listed.push_back({random.index(4), random.index(4), random.index(4), random.index(4)});
    const auto d = decision_diagram::of(p, listed);
    double table[4][4];
    for (auto& row : table)
      for (auto& x : row) x = random.uniform();
    const auto cost = [&](std::size_t c, int v) { return table[c][v]; };
    tuple q(4);
    const decision_diagram::by_cost search(d, cost);
    search.cheapest(q.data());
    const auto total = [&](const tuple& t) {
      return table[0][t[0]] + table[1][t[1]] + table[2][t[2]] + table[3][t[3]];
    };
    double least = 1e9;
    for (const auto& t : listed) least = std::min(least, total(t));
    CHECK(total(q) == doctest::Approx(least));
    CHECK(search.least() == doctest::Approx(least));
    CHECK(d.contains(q.data()));
  }
}
