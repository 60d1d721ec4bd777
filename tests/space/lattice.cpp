#include <tileseek/space/lattice.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include <tileseek/space/domain.hpp>

using tileseek::coordinate;
using tileseek::lattice;
using tileseek::lattice_rule;
using tileseek::point;
using tileseek::rng;
using tileseek::tile_axis;
using tileseek::tile_view;

static_assert(std::is_copy_constructible_v<lattice> && std::is_nothrow_move_constructible_v<lattice>);

namespace {

coordinate numbers(std::string name, int extent) {
  coordinate c;
  c.name = std::move(name);
  for (int i = 0; i < extent; ++i) c.values.push_back(i);
  return c;
}

coordinate choice(std::string name, int extent) {
  coordinate c = numbers(std::move(name), extent);
  c.ordered = false;
  for (int i = 0; i < extent; ++i) c.labels.push_back("kind" + std::to_string(i));
  return c;
}

void add_tile(std::vector<coordinate>& axes, std::vector<tile_axis>& tiles, const std::string& name,
              std::int64_t extent, std::size_t levels) {
  tiles.push_back({name, extent, axes.size(), levels});
  const auto of = tileseek::divisors(extent).values;
  for (std::size_t l = 1; l < levels; ++l)
    axes.push_back({name + "[" + std::to_string(l) + "]", std::vector<double>(of.begin(), of.end()), true, {}});
}

/// What a lattice is made of, with the definitions of everything that it computes.
struct definition {
  std::vector<coordinate> axes;
  std::vector<tile_axis> tiles;
  std::vector<lattice_rule> rules;

  [[nodiscard]] double value(const point& p, std::size_t d) const {
    return axes[d].values[static_cast<std::size_t>(p[d])];
  }
  [[nodiscard]] int extent(std::size_t d) const { return static_cast<int>(axes[d].values.size()); }

  [[nodiscard]] bool feasible(const point& p) const {
    for (const auto& t : tiles) {
      double product = 1;
      for (std::size_t l = 1; l < t.levels; ++l) product *= value(p, t.first + l - 1);
      if (std::fmod(static_cast<double>(t.extent), product) != 0) return false;
    }
    return std::all_of(rules.begin(), rules.end(), [&](const lattice_rule& r) { return r.holds(p.data()); });
  }

  /// All feasible points, by trying all tuples.
  [[nodiscard]] std::set<point> all() const {
    std::set<point> out;
    point p(axes.size(), 0);
    for (;;) {
      if (feasible(p)) out.insert(p);
      std::size_t d = 0;
      while (d < p.size() && ++p[d] == extent(d)) p[d++] = 0;
      if (d == p.size()) return out;
    }
  }

  /// The number that coordinate d is in a view: of its value; in the inclusive view of a tile axis, of the tile size.
  [[nodiscard]] double position(const point& p, std::size_t d, tile_view view) const {
    for (const auto& t : tiles) {
      if (view == tile_view::factor || d < t.first || d + 1 >= t.first + t.levels) continue;
      double product = 1;
      for (std::size_t e = d; e + 1 < t.first + t.levels; ++e) product *= value(p, e);
      return static_cast<double>(std::find(axes[d].values.begin(), axes[d].values.end(), product) -
                                 axes[d].values.begin());
    }
    return p[d];
  }

  [[nodiscard]] std::set<point> neighbours(const std::set<point>& points, const point& p, std::size_t hops,
                                           tile_view view) const {
    std::set<point> out;
    // One hop: by coordinate and direction, how far the nearest feasible point is.
    std::map<std::pair<std::size_t, int>, std::pair<double, point>> nearest;
    for (const auto& q : points) {
      std::vector<std::size_t> moved;
      bool adjacent = true;
      for (std::size_t d = 0; d < axes.size(); ++d) {
        const double step = position(q, d, view) - position(p, d, view);
        if (step == 0) continue;
        moved.push_back(d);
        adjacent = adjacent && (!axes[d].ordered || std::fabs(step) == 1);
      }
      if (moved.size() != hops || hops == 0) continue;
      const auto d = moved.front();
      if (hops > 1 ? adjacent : !axes[d].ordered) out.insert(q);
      if (hops > 1 || !axes[d].ordered) continue;
      const double step = position(q, d, view) - position(p, d, view);
      const std::pair key{d, step > 0 ? 1 : -1};
      const auto it = nearest.find(key);
      if (it == nearest.end() || std::fabs(step) < it->second.first) nearest[key] = {std::fabs(step), q};
    }
    for (const auto& [key, q] : nearest) out.insert(q.second);
    return out;
  }

  [[nodiscard]] double distance(const point& p, const point& q) const {
    double sum = 0;
    for (std::size_t d = 0; d < p.size(); ++d)
      sum += p[d] == q[d] ? 0 : axes[d].ordered ? std::fabs(p[d] - q[d]) / extent(d) : 1;
    return sum;
  }
};

/// A random space of at most `most` tuples. Rules are of the kinds that kernels have, and arbitrary ones.
definition random_definition(rng& random, double most) {
  definition made;
  double tuples = 1;
  while (made.axes.size() < 7) {
    const auto size = made.axes.size();
    definition grown = made;
    const std::string name = "x" + std::to_string(size);
    switch (random.below(4)) {
      case 0: {
        constexpr int extents[] = {1, 2, 6, 8, 12, 16};
        const int extent = extents[random.below(6)];
        add_tile(grown.axes, grown.tiles, name, extent, 1 + random.below(4));
        break;
      }
      case 1: grown.axes.push_back(choice(name, 1 + random.index(4))); break;
      default: grown.axes.push_back(numbers(name, 1 + random.index(7))); break;
    }
    for (std::size_t d = size; d < grown.axes.size(); ++d) tuples *= grown.extent(d);
    if (tuples > most) break;
    made = std::move(grown);
  }
  if (made.axes.empty()) made.axes.push_back(numbers("x", 3));
  for (auto left = random.below(5); left > 0; --left) {
    lattice_rule r;
    const auto reads = 1 + random.below(std::min<std::size_t>(4, made.axes.size()));
    while (r.coordinates.size() < reads) {
      const auto d = static_cast<std::size_t>(random.below(made.axes.size()));
      if (std::find(r.coordinates.begin(), r.coordinates.end(), d) == r.coordinates.end()) r.coordinates.push_back(d);
    }
    const auto kind = random.below(4);
    const auto seed = random();
    double widest = 1;
    for (const auto d : r.coordinates) widest *= made.axes[d].values.back() + 1;
    const double limit = widest * random.uniform();
    r.why = "rule " + std::to_string(made.rules.size());
    r.holds = [kind, seed, limit, c = r.coordinates, axes = made.axes](const int* p) {
      double product = 1;
      std::uint64_t mixed = seed;
      for (const auto d : c) {
        product *= axes[d].values[static_cast<std::size_t>(p[d])] + 1;
        mixed = (mixed ^ static_cast<std::uint64_t>(p[d])) * std::uint64_t{0x9e3779b97f4a7c15};
        mixed ^= mixed >> 29;
      }
      switch (kind) {
        case 0: return product <= limit;
        case 1: return product >= limit / 4;
        case 2: return p[c.front()] >= p[c.back()] || product < limit / 2;
        default: return mixed % 4 != 0;
      }
    };
    made.rules.push_back(std::move(r));
  }
  return made;
}

/// Whether a statistic of the chi-square distribution is beyond its 99.9 % quantile (Wilson and Hilferty's
/// approximation).
bool improbable(double chi_square, double freedom) {
  const double a = 2 / (9 * freedom);
  return chi_square > freedom * std::pow(1 - a + 3.09 * std::sqrt(a), 3);
}

std::string message_of(const definition& d, std::size_t work = std::size_t{1} << 24) {
  try {
    const lattice l(d.axes, d.tiles, d.rules, work);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "";
}

constexpr tile_view both_views[] = {tile_view::factor, tile_view::inclusive};

}  // namespace

TEST_CASE("the lattice of no coordinates has one point") {
  const lattice l;
  CHECK(l.size() == 1);
  CHECK(l.dimensions() == 0);
  CHECK(l.feasible({}));
  CHECK(!l.feasible({0}));
  CHECK(l.unrank(0) == point{});
  CHECK(l.rank({}) == 0);
  CHECK(l.neighbours({}, 1).empty());
  rng random(1);
  CHECK(l.sample(random).empty());
}

TEST_CASE("random spaces agree with brute force, whatever work is allowed") {
  std::size_t relaxed = 0;
  std::size_t empty = 0;
  for (std::uint64_t seed = 0; seed < 80; ++seed) {
    CAPTURE(seed);
    rng random(seed);
    const definition made = random_definition(random, 2000);
    const std::set<point> all = made.all();
    const std::size_t work = seed % 4 == 0 ? 1 + random.below(40) : seed % 4 == 1 ? 50 + random.below(500) : 1 << 20;
    if (all.empty()) {
      ++empty;
      const std::string message = message_of(made, work);
      CAPTURE(message);
      CHECK(message.find("rule") != std::string::npos);
      continue;
    }
    const lattice l(made.axes, made.tiles, made.rules, work);
    if (!l.filters().empty()) ++relaxed;
    if (seed % 4 >= 2) CHECK(l.filters().empty());

    // Counting, ranks.
    if (l.counted()) CHECK(l.size() == all.size());
    if (!l.counted()) CHECK_THROWS_AS((void)l.size(), std::length_error);
    std::set<point> seen;
    for (std::uint64_t r = 0; r < l.rank_end(); ++r) {
      const auto p = l.unrank(r);
      CHECK((p.has_value() || !l.counted()));
      if (!p) continue;
      CHECK(l.rank(*p) == r);
      CHECK(seen.insert(*p).second);
    }
    CHECK(seen == all);

    // Feasibility of any tuple, and nearest points.
    for (int i = 0; i < 20; ++i) {
      point wanted(made.axes.size());
      for (std::size_t d = 0; d < wanted.size(); ++d) wanted[d] = random.index(made.extent(d));
      CHECK(l.feasible(wanted) == (all.count(wanted) == 1));
      CHECK(l.refusal(wanted).empty() == l.feasible(wanted));
      if (all.count(wanted) == 0) CHECK_THROWS_AS((void)l.rank(wanted), std::invalid_argument);
      const point near = l.nearest(wanted);
      REQUIRE(all.count(near) == 1);
      double least = std::numeric_limits<double>::infinity();
      for (const auto& p : all) least = std::min(least, made.distance(p, wanted));
      CHECK(made.distance(near, wanted) == doctest::Approx(least));
      if (all.count(wanted) == 1) CHECK(near == wanted);
    }

    // Moves.
    for (int i = 0; i < 3; ++i) {
      const point p = l.sample(random);
      REQUIRE(all.count(p) == 1);
      for (const auto view : both_views) {
        std::set<point> nearer;
        for (std::size_t hops = 0; hops <= 3; ++hops) {
          const auto got = l.neighbours(p, hops, view);
          const std::set<point> unique(got.begin(), got.end());
          CHECK(unique.size() == got.size());
          CHECK(unique == made.neighbours(all, p, hops, view));
          CHECK(unique.count(p) == 0);
          for (const auto& q : unique) CHECK(nearer.insert(q).second);  // no point is at two distances
        }
        for (std::size_t d = 0; d < l.dimensions(); ++d)
          for (const int direction : {-1, 1}) {
            const auto q = l.move(p, d, direction, view);
            if (!l.axis(d).ordered) CHECK(!q);
            if (q) CHECK(made.neighbours(all, p, 1, view).count(*q) == 1);
            if (q) CHECK((made.position(*q, d, view) - made.position(p, d, view)) * direction > 0);
          }
      }
      for (std::size_t d = 0; d < l.dimensions(); ++d) {
        std::vector<point> expected;
        point q = p;
        for (q[d] = 0; q[d] < made.extent(d); ++q[d])
          if (q[d] != p[d] && all.count(q) == 1) expected.push_back(q);
        CHECK(l.alternatives(p, d) == expected);
      }
    }
  }
  // The cases above are of all kinds.
  CHECK(relaxed > 8);
  CHECK(empty > 3);
  CHECK(empty < 40);
}

TEST_CASE("samples are uniform, with rules built in and with rules checked by rejection") {
  int improbable_ones = 0;
  int tests = 0;
  for (std::uint64_t seed = 1000; seed < 1060; ++seed) {
    CAPTURE(seed);
    rng random(seed);
    const definition made = random_definition(random, 300);
    const std::set<point> all = made.all();
    if (all.size() < 2) continue;
    const lattice l(made.axes, made.tiles, made.rules, seed % 2 == 0 ? 1 : 1 << 20);
    std::map<point, int> drawn;
    const double draws = 20.0 * static_cast<double>(all.size());
    for (int i = 0; i < static_cast<int>(draws); ++i) ++drawn[l.sample(random)];
    double chi_square = 0;
    for (const auto& p : all) {
      const double difference = drawn[p] - 20.0;
      chi_square += difference * difference / 20;
    }
    CHECK(drawn.size() == all.size());
    ++tests;
    improbable_ones += improbable(chi_square, static_cast<double>(all.size() - 1));
    if (!l.filters().empty()) {
      CHECK(l.approximate_size() > 0.5 * static_cast<double>(all.size()));
      CHECK(l.approximate_size() < 2.0 * static_cast<double>(all.size()));
      CHECK(l.acceptance() < 1.0 + 1e-12);
    } else {
      CHECK(l.approximate_size() == doctest::Approx(static_cast<double>(all.size())));
      CHECK(l.acceptance() == 1);
    }
  }
  CHECK(tests > 30);
  CHECK(improbable_ones <= 1);  // 0.1 % of them, by chance
}

TEST_CASE("a space of more than 2^64 points in independent groups is sampled and estimated") {
  std::vector<coordinate> axes;
  for (int d = 0; d < 20; ++d) axes.push_back(numbers("x" + std::to_string(d), 10));
  const lattice l(axes, {}, {});
  CHECK(!l.counted());
  CHECK(l.approximate_size() == doctest::Approx(1e20));
  CHECK_THROWS_AS((void)l.size(), std::length_error);
  CHECK(l.rank_end() == std::numeric_limits<std::uint64_t>::max());
  rng random(3);
  std::vector<int> counts(10);
  for (int i = 0; i < 5000; ++i) {
    const point p = l.sample(random);
    CHECK(l.feasible(p));
    ++counts[static_cast<std::size_t>(p[19])];
  }
  double chi_square = 0;
  for (const int c : counts) chi_square += (c - 500.0) * (c - 500.0) / 500;
  CHECK(!improbable(chi_square, 9));
  CHECK_THROWS_AS((void)l.rank(point(20, 0)), std::length_error);
  CHECK(l.unrank(12345678901234567890ULL).has_value());
}

TEST_CASE("a single group of more than 2^64 points is sampled uniformly and estimated") {
  // The sum of 20 digits is even: exactly half of 10^20 points.
  std::vector<coordinate> axes;
  std::vector<lattice_rule> rules;
  for (std::size_t d = 0; d < 40; ++d) axes.push_back(numbers("x" + std::to_string(d), d % 2 == 0 ? 10 : 2));
  for (std::size_t d = 0; d + 2 < 40; d += 2)  // x[d + 1] is the parity so far
    rules.push_back({"parity " + std::to_string(d), {d + 1, d + 2, d + 3}, [d](const int* p) {
                       return p[d + 3] == (p[d + 1] + p[d + 2]) % 2;
                     }});
  rules.push_back({"starts", {0, 1}, [](const int* p) { return p[1] == p[0] % 2; }});
  rules.push_back({"ends even", {39}, [](const int* p) { return p[39] == 0; }});
  const lattice l(axes, {}, rules);
  CHECK(l.filters().empty());
  CHECK(!l.counted());
  CHECK(l.approximate_size() == doctest::Approx(5e19));
  const std::string why = [&] {
    try {
      return std::to_string(l.size());
    } catch (const std::length_error& e) {
      return std::string(e.what());
    }
  }();
  CHECK(why.find("64 bits") != std::string::npos);
  rng random(4);
  std::vector<int> counts(10);
  for (int i = 0; i < 5000; ++i) {
    const point p = l.sample(random);
    CHECK(l.feasible(p));
    ++counts[static_cast<std::size_t>(p[0])];
  }
  double chi_square = 0;
  for (const int c : counts) chi_square += (c - 500.0) * (c - 500.0) / 500;
  CHECK(!improbable(chi_square, 9));
  const point wanted(40, 1);
  CHECK(l.feasible(l.nearest(wanted)));
}

TEST_CASE("tile axes count the ordered factorisations of their extent") {
  // 2^6 in 4 levels: C(6 + 3, 3); 12 = 2^2 * 3 in 3 levels: C(4, 2) * 3.
  definition made;
  add_tile(made.axes, made.tiles, "i", 64, 4);
  CHECK(lattice(made.axes, made.tiles, {}).size() == 84);
  add_tile(made.axes, made.tiles, "j", 12, 3);
  const lattice l(made.axes, made.tiles, {});
  CHECK(l.size() == 84 * 18);
  rng random(5);
  for (int i = 0; i < 100; ++i) {
    const point p = l.sample(random);
    for (const auto& t : l.tiles()) {
      std::int64_t product = 1;
      for (const auto f : l.factors(p, t)) product *= f;
      CHECK(product == t.extent);
    }
  }
  point broken(5, 0);
  broken[3] = broken[4] = 5;  // 12 * 12 does not divide 12
  CHECK(l.factors(broken, l.tiles()[1]).front() == 0);
  CHECK(!l.feasible(broken));
  CHECK(l.refusal(broken) == "the factors of 'j' do not divide 12");
}

TEST_CASE("rules over inclusive tile sizes agree with the same rules over single levels") {
  for (const std::size_t work : {std::size_t{1}, std::size_t{60}, std::size_t{1} << 20}) {
    CAPTURE(work);
    definition made;
    add_tile(made.axes, made.tiles, "i", 24, 4);
    add_tile(made.axes, made.tiles, "j", 16, 3);
    made.axes.push_back(numbers("u", 4));
    const auto size = [axes = made.axes](const int* p, std::size_t first, std::size_t last) {
      double product = 1;
      for (std::size_t d = first; d < last; ++d) product *= axes[d].values[static_cast<std::size_t>(p[d])];
      return product;
    };
    const auto fits = [](double i, double inner, double j, int u) { return i * j + inner * u <= 40; };
    lattice_rule r{"fits", {0, 1, 2, 3, 4, 5}, [=](const int* p) {
                     return fits(size(p, 0, 3), size(p, 1, 2), size(p, 3, 5), p[5]);
                   }};
    made.rules.push_back(r);
    made.rules.push_back({"odd", {2, 3}, [](const int* p) { return (p[2] + p[3]) % 3 != 1; }});
    const auto all = made.all();
    CHECK(lattice(made.axes, made.tiles, made.rules).size() == all.size());
    // Terms: the whole of i inside level 0, its level 2 alone, j inside level 0, u.
    made.rules[0].terms = {{0, true}, {1, false}, {3, true}, {5, false}};
    made.rules[0].scan = [=, axes = made.axes](int* a, std::size_t slot, int from, int to, char* allowed) {
      const auto at = [&](std::size_t d, int i) { return axes[d].values[static_cast<std::size_t>(i)]; };
      for (int v = from; v < to; ++v) {
        if (!allowed[v]) continue;
        a[slot] = v;
        allowed[v] = fits(at(0, a[0]), at(1, a[1]), at(3, a[2]), a[3]);
      }
    };
    const lattice l(made.axes, made.tiles, made.rules, work);
    std::set<point> seen;
    for (std::uint64_t k = 0; k < l.rank_end(); ++k)
      if (auto p = l.unrank(k)) CHECK(seen.insert(*p).second);
    CHECK(seen == all);
  }
}

TEST_CASE("a space with three rules over all tile axes of a convolution is counted exactly") {
  // As a GPU convolution has them: four axes of five levels, three of three; threads, shared memory, registers.
  definition made;
  const int spatial[] = {1, 64, 28, 28};
  const int reduction[] = {32, 3, 3};
  for (const int e : spatial) add_tile(made.axes, made.tiles, "s" + std::to_string(made.axes.size()), e, 5);
  for (const int e : reduction) add_tile(made.axes, made.tiles, "r" + std::to_string(made.axes.size()), e, 3);
  const auto axes = made.axes;
  const auto rule = [&](const char* why, std::vector<tileseek::rule_term> terms, auto holds) {
    lattice_rule r;
    r.why = why;
    for (const auto& t : terms)
      for (std::size_t d = t.coordinate; d < (t.inclusive ? (t.coordinate / 4 + 1) * 4 : t.coordinate + 1) && d < 16;
           ++d)
        r.coordinates.push_back(d);
    for (const auto& t : terms)
      if (t.coordinate >= 16) r.coordinates.push_back(t.coordinate), r.coordinates.push_back(t.coordinate + 1);
    const auto divisors = [axes](std::size_t d, int i) { return axes[d].values[static_cast<std::size_t>(i)]; };
    r.holds = [=](const int* p) {
      std::vector<double> v;
      for (const auto& t : terms) {
        double product = divisors(t.coordinate, p[t.coordinate]);
        const std::size_t end = t.coordinate < 16 ? (t.coordinate / 4 + 1) * 4 : t.coordinate + 2;
        for (std::size_t d = t.coordinate + 1; t.inclusive && d < end; ++d) product *= divisors(d, p[d]);
        v.push_back(product);
      }
      return holds(v);
    };
    r.scan = [=](int* a, std::size_t slot, int from, int to, char* allowed) {
      for (int x = from; x < to; ++x) {
        if (!allowed[x]) continue;
        a[slot] = x;
        std::vector<double> v;
        for (std::size_t t = 0; t < terms.size(); ++t) v.push_back(divisors(terms[t].coordinate, a[t]));
        allowed[x] = holds(v);
      }
    };
    r.terms = std::move(terms);
    made.rules.push_back(std::move(r));
  };
  const auto product = [](const std::vector<double>& v) {
    double x = 1;
    for (const double f : v) x *= f;
    return x;
  };
  rule("threads", {{1, false}, {5, false}, {9, false}, {13, false}}, [=](const auto& v) { return product(v) <= 256; });
  rule("shared memory", {{1, true}, {5, true}, {9, true}, {13, true}, {16, true}, {18, true}, {20, true}},
       [](const auto& v) {
         const double input = v[0] * v[4] * (v[2] + v[5] - 1) * (v[3] + v[6] - 1);
         return 4 * (input + v[1] * v[4] * v[5] * v[6]) <= 16384;
       });
  rule("registers", {{2, true}, {6, true}, {10, true}, {14, true}}, [=](const auto& v) { return product(v) <= 64; });
  const lattice l(made.axes, made.tiles, made.rules);
  CHECK(l.filters().empty());
  REQUIRE(l.counted());
  // The share of feasible points among those of the tile axes alone, drawn, agrees with the count.
  const lattice free(made.axes, made.tiles, {});
  rng random(6);
  const int draws = 20000;
  int hits = 0;
  for (int i = 0; i < draws; ++i) hits += l.feasible(free.sample(random));
  const double share = static_cast<double>(l.size()) / static_cast<double>(free.size());
  CHECK(hits > draws * share - 4 * std::sqrt(draws * share));
  CHECK(hits < draws * share + 4 * std::sqrt(draws * share));
  for (int i = 0; i < 30; ++i) {
    const point p = l.sample(random);
    REQUIRE(l.feasible(p));
    CHECK(l.unrank(l.rank(p)) == p);
    for (const auto& q : l.neighbours(p, 2, tile_view::inclusive)) CHECK(l.feasible(q));
    CHECK(l.feasible(l.nearest(free.sample(random))));
  }
}

TEST_CASE("a rule that hardly any point obeys is built in with more work instead of being refused") {
  // One point of 10^6 obeys; 100 steps are not enough, 1600 times as many are not allowed, 16 times are.
  std::vector<coordinate> axes;
  for (int d = 0; d < 6; ++d) axes.push_back(numbers("x" + std::to_string(d), 10));
  const std::vector<lattice_rule> rules{
      {"is 271828", {0, 1, 2, 3, 4, 5}, [](const int* p) {
         return ((((p[0] * 10 + p[1]) * 10 + p[2]) * 10 + p[3]) * 10 + p[4]) * 10 + p[5] == 271828;
       }}};
  const lattice l(axes, {}, rules, 200'000);
  REQUIRE(l.counted());
  CHECK(l.size() == 1);
  CHECK(l.unrank(0) == point{2, 7, 1, 8, 2, 8});
  CHECK(l.nearest(point(6, 0)) == point{2, 7, 1, 8, 2, 8});
}

TEST_CASE("a relaxed space is searched for its nearest point from near to far") {
  // Not built in with 1000 steps, hence checked by rejection, and 1 % of the points obey.
  std::vector<coordinate> axes;
  for (int d = 0; d < 4; ++d) axes.push_back(numbers("x" + std::to_string(d), 20));
  const auto holds = [](const int* p) { return (p[0] * 7 + p[1] * 11 + p[2] * 13 + p[3] * 17) % 97 == 5; };
  const lattice l(axes, {}, {{"modulus", {0, 1, 2, 3}, holds}}, 1000);
  REQUIRE(l.filters().size() == 1);
  rng random(8);
  for (int i = 0; i < 20; ++i) {
    point wanted(4);
    for (auto& x : wanted) x = random.index(20);
    int least = 1000;
    point p(4);
    for (p[0] = 0; p[0] < 20; ++p[0])
      for (p[1] = 0; p[1] < 20; ++p[1])
        for (p[2] = 0; p[2] < 20; ++p[2])
          for (p[3] = 0; p[3] < 20; ++p[3]) {
            int sum = 0;
            for (std::size_t d = 0; d < 4; ++d) sum += std::abs(p[d] - wanted[d]);
            if (sum < least && holds(p.data())) least = sum;
          }
    const point near = l.nearest(wanted);
    int sum = 0;
    for (std::size_t d = 0; d < 4; ++d) sum += std::abs(near[d] - wanted[d]);
    CHECK(sum == least);
  }
}

TEST_CASE("a relaxed space whose near points are all refused still gives a feasible one") {
  std::vector<coordinate> axes;
  for (int d = 0; d < 8; ++d) axes.push_back(numbers("x" + std::to_string(d), 32));
  const auto holds = [](const int* p) {
    int sum = 0;
    for (int d = 0; d < 8; ++d) sum += p[d];
    return sum >= 160;
  };
  const lattice l(axes, {}, {{"far away", {0, 1, 2, 3, 4, 5, 6, 7}, holds}}, 1000);
  REQUIRE(l.filters().size() == 1);
  const point near = l.nearest(point(8, 0));
  CHECK(l.feasible(near));
  CHECK(near == l.nearest(point(8, 0)));
  int sum = 0;
  for (const int x : near) sum += x;
  CHECK(sum == 160);
}

TEST_CASE("rules over different parameters are rejected independently") {
  // Each is obeyed by one of 1000; both by one of a million: redrawing everything until both hold would take 500 times
  // as long as redrawing one.
  std::vector<coordinate> axes;
  for (int d = 0; d < 6; ++d) axes.push_back(numbers("x" + std::to_string(d), 10));
  int calls = 0;
  const auto is_777 = [&calls](std::size_t first) {
    return [first, &calls](const int* p) { return ++calls, p[first] == 7 && p[first + 1] == 7 && p[first + 2] == 7; };
  };
  const lattice l(axes, {}, {{"a", {0, 1, 2}, is_777(0)}, {"b", {3, 4, 5}, is_777(3)}}, 100);
  REQUIRE(l.filters().size() == 2);
  calls = 0;
  rng random(9);
  for (int i = 0; i < 20; ++i) CHECK(l.sample(random) == point(6, 7));
  CHECK(calls < 20 * 20000);
}

TEST_CASE("the lattice of listed points has exactly these") {
  std::vector<coordinate> axes{numbers("a", 4), choice("b", 3)};
  const lattice l = lattice::of_points(axes, {{3, 1}, {0, 2}, {3, 1}, {1, 0}});
  CHECK(l.size() == 3);
  CHECK(l.feasible({0, 2}));
  CHECK(!l.feasible({0, 0}));
  CHECK(l.neighbours({1, 0}, 2) == std::vector<point>{{0, 2}});
  CHECK(l.nearest({2, 2}) == point{0, 2});
  for (std::uint64_t r = 0; r < 3; ++r) CHECK(l.rank(*l.unrank(r)) == r);
  CHECK_THROWS_AS((void)lattice::of_points(axes, {}), std::invalid_argument);
  CHECK_THROWS_AS((void)lattice::of_points(axes, {{4, 0}}), std::invalid_argument);
  CHECK_THROWS_AS((void)lattice::of_points(axes, {{0, 0, 0}}), std::invalid_argument);
}

TEST_CASE("errors name what is wrong") {
  definition made;
  made.axes = {numbers("a", 4), numbers("b", 4), numbers("c", 4)};
  const auto with = [&](std::vector<lattice_rule> rules) {
    definition d = made;
    d.rules = std::move(rules);
    return message_of(d);
  };
  CHECK(with({{"never", {1}, [](const int*) { return false; }}}) == "space: rule 'never' removes every configuration");
  CHECK(with({{"constant", {}, [](const int*) { return false; }}}) ==
        "space: rule 'constant' removes every configuration");
  CHECK(with({{"constant", {}, [](const int*) { return true; }}}).empty());
  // Only the guilty are named, with what they read.
  CHECK(with({{"harmless", {0, 2}, [](const int* p) { return p[0] + p[2] < 6; }},
              {"small", {0, 1}, [](const int* p) { return p[0] + p[1] < 2; }},
              {"large", {1}, [](const int* p) { return p[1] > 2; }}}) ==
        "space: rules 'small' and 'large' together leave no configuration of 'a', 'b'");
  CHECK(with({{"stray", {7}, [](const int*) { return true; }}}) == "space: rule 'stray' reads an unknown coordinate");
  CHECK(with({{"termless", {0}, [](const int*) { return true; }, {{0, false}}, {}}}) ==
        "space: rule 'termless' has terms but no scan");
  made.axes[1].values.clear();
  CHECK(with({}) == "space: parameter 'b' has no values");
  made.axes[1].values = {1, std::numeric_limits<double>::quiet_NaN()};
  CHECK(with({}) == "space: a value of parameter 'b' is not a number");
  made.axes[1].values = {1, 2, 3};
  made.tiles = {{"b", 4, 1, 2}};
  CHECK(with({}) == "space: tile axis 'b' has a level whose values are not the divisors of its extent");
  made.tiles = {{"b", 4, 2, 3}};
  CHECK(with({}) == "space: tile axis 'b' has levels that are no coordinates");
}

TEST_CASE("the fingerprint changes with each ingredient") {
  std::set<std::uint64_t> prints;
  definition base;
  base.axes = {numbers("a", 4), choice("b", 3)};
  add_tile(base.axes, base.tiles, "t", 12, 3);
  base.rules = {{"rule", {0, 1}, [](const int* p) { return p[0] != p[1]; }}};
  const auto print = [](const definition& d) { return lattice(d.axes, d.tiles, d.rules).fingerprint(); };
  prints.insert(print(base));
  CHECK(prints.count(print(base)) == 1);
  const auto differs = [&](auto change) {
    definition d = base;
    change(d);
    return prints.insert(print(d)).second;
  };
  CHECK(differs([](definition& d) { d.axes[0].name = "z"; }));
  CHECK(differs([](definition& d) { d.axes[0].values[3] = 3.0001; }));
  CHECK(differs([](definition& d) { d.axes[0].values[3] = 1e300; }));
  CHECK(differs([](definition& d) { d.axes[0].ordered = false; }));
  CHECK(differs([](definition& d) { d.axes[1].labels[2] = "another"; }));
  CHECK(differs([](definition& d) { d.axes[0].values.push_back(4); }));
  CHECK(differs([](definition& d) { d.tiles[0].name = "u"; }));
  CHECK(differs([](definition& d) { d.rules[0].why = "another"; }));
  CHECK(differs([](definition& d) { d.rules[0].holds = [](const int* p) { return p[0] == p[1]; }; }));  // another count
  CHECK(differs([](definition& d) { d.rules.clear(); }));
  CHECK(differs([](definition& d) { std::swap(d.axes[0], d.axes[1]); }));
}
