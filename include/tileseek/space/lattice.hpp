#pragma once
// The lattice: a search space as strategies see it. Points are tuples of indices; the lattice knows which of them are
// feasible, counts them, draws them uniformly, ranks them and finds their neighbours. It never holds the product of its
// coordinates: rules split the coordinates into independent groups, and a group is held as a decision diagram whose size
// follows the rules, not the number of configurations.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <tileseek/core/point.hpp>
#include <tileseek/core/rng.hpp>
#include <tileseek/space/detail/decision_diagram.hpp>

namespace tileseek {

/// One coordinate of a lattice.
struct coordinate {
  std::string name;            ///< of the parameter; "i[2]" for level 2 of a tile axis
  std::vector<double> values;  ///< the number behind each index; ascending when ordered; the index itself for a choice
  bool ordered = true;         ///< an ordered coordinate moves to the adjacent value, an unordered one to any other
};

/// A multi-level split of an extent. Its level l (1 <= l < levels) is coordinate `first + l - 1`, whose values are the
/// divisors of the extent; level 0, the outermost, is what is left: extent / (product of the others).
struct tile_axis {
  std::string name;
  std::int64_t extent = 1;
  std::size_t first = 0;
  std::size_t levels = 1;
};

/// A condition between coordinates.
struct lattice_rule {
  std::string why;                        ///< in the user's words, for errors
  std::vector<std::size_t> coordinates;   ///< all that `holds` reads
  std::function<bool(const int*)> holds;  ///< of the indices of a whole point; reads the named coordinates only
};

/// The two systems of coordinates in which the levels of a tile axis move. They mean the same points.
enum class tile_view {
  factor,     ///< a move changes one level's factor; the outermost level takes up the slack
  inclusive,  ///< a move changes the tile size at one level (the product of its factor and all inside it) and keeps the
              ///< tile sizes of the other levels; the next level out takes up the slack
};

/// An immutable search space over index tuples. Copies share their data. Safe to read from several threads.
class lattice {
 public:
  /// The lattice of no coordinates: one point, the empty one.
  lattice() : lattice({}, {}, {}) {}

  /// @param work  steps spent on one group of coupled coordinates before its widest rule is checked by rejection instead
  ///              of being built in (2^24 steps take about 0.2 s)
  /// @throws std::invalid_argument  a coordinate without values, a rule over unknown coordinates, or no feasible point: the
  ///                                message names the rules
  lattice(std::vector<coordinate> coordinates, std::vector<tile_axis> tiles, std::vector<lattice_rule> rules,
          std::size_t work = std::size_t{1} << 24)
      : data_(std::make_shared<const data>(std::move(coordinates), std::move(tiles), std::move(rules), work)) {}

  /// The lattice of exactly these points, as a recorded space has them: no rule needs to be known.
  /// @throws std::invalid_argument  no points, or one outside the coordinates
  [[nodiscard]] static lattice of_points(std::vector<coordinate> coordinates, std::vector<point> points) {
    if (points.empty()) throw std::invalid_argument("lattice: an empty list of points");
    detail::diagram_problem all;
    for (const auto& a : coordinates) all.extents.push_back(static_cast<int>(a.values.size()));
    for (const auto& p : points) {
      bool inside = p.size() == coordinates.size();
      for (std::size_t d = 0; inside && d < p.size(); ++d) inside = p[d] >= 0 && p[d] < all.extents[d];
      if (!inside) throw std::invalid_argument("lattice: a listed point lies outside the coordinates");
    }
    lattice out;
    out.data_ = std::make_shared<const data>(std::move(coordinates), detail::decision_diagram::of(all, std::move(points)));
    return out;
  }

  [[nodiscard]] std::size_t dimensions() const noexcept { return data_->axes.size(); }
  [[nodiscard]] int extent(std::size_t d) const noexcept { return static_cast<int>(data_->axes[d].values.size()); }
  [[nodiscard]] const coordinate& axis(std::size_t d) const noexcept { return data_->axes[d]; }
  [[nodiscard]] std::span<const coordinate> axes() const noexcept { return data_->axes; }
  [[nodiscard]] std::span<const tile_axis> tiles() const noexcept { return data_->tiles; }
  [[nodiscard]] std::span<const lattice_rule> rules() const noexcept { return data_->rules; }

  [[nodiscard]] bool feasible(const point& p) const {
    if (p.size() != dimensions()) return false;
    for (std::size_t d = 0; d < p.size(); ++d)
      if (p[d] < 0 || p[d] >= extent(d)) return false;
    return obeys_rules(p);
  }

  /// Whether the number of configurations is known exactly: every rule is built in, and the count fits 64 bits.
  [[nodiscard]] bool counted() const noexcept { return data_->filters.empty() && data_->ranks_fit; }

  /// The exact number of feasible points.
  /// @throws std::length_error  when it is not known (`counted()` is false): use `approximate_size()`
  [[nodiscard]] std::uint64_t size() const {
    if (!counted())
      throw std::length_error("lattice: about " + std::to_string(approximate_size()) +
                              " configurations, too many to count exactly; use approximate_size()");
    return data_->rank_end;
  }

  /// The number of feasible points: exact up to rounding when `counted()`, otherwise an estimate from the share of drawn
  /// points that obey the rules which are not built in.
  [[nodiscard]] double approximate_size() const noexcept { return data_->relaxed_size * data_->acceptance; }

  /// A uniform feasible point.
  /// @throws std::runtime_error  when a rule checked by rejection refused ten million points in a row
  [[nodiscard]] point sample(rng& random) const {
    point p(dimensions());
    for (std::size_t tries = 0; tries < 10'000'000; ++tries) {
      for (const auto& g : data_->groups) g.unrank(random.below(g.size()), p.data());
      if (passes_filters(p)) return p;
    }
    throw std::runtime_error("lattice: no configuration found that obeys " + data_->filter_names() +
                             " in 10000000 draws; narrow the values of the parameters it reads");
  }

  /// Ranks number the points of the relaxed space, which `filters` (rules checked by rejection) thin out. All of
  /// [0, rank_end()) are feasible when `counted()`. Saturates at 2^64 - 1.
  [[nodiscard]] std::uint64_t rank_end() const noexcept { return data_->rank_end; }

  /// The point with this rank; nothing when a rule that is not built in refuses it.
  /// @pre r < rank_end(), and the ranks fit 64 bits
  [[nodiscard]] std::optional<point> unrank(std::uint64_t r) const {
    point p(dimensions());
    for (const auto& g : data_->groups) {
      g.unrank(r % g.size(), p.data());
      r /= g.size();
    }
    if (!passes_filters(p)) return std::nullopt;
    return p;
  }

  /// @post unrank(rank(p)) == p for every feasible p
  /// @throws std::invalid_argument  p is not feasible
  [[nodiscard]] std::uint64_t rank(const point& p) const {
    if (!feasible(p)) throw std::invalid_argument("lattice: rank of a point that is not feasible");
    std::uint64_t r = 0;
    for (auto g = data_->groups.rbegin(); g != data_->groups.rend(); ++g) r = r * g->size() + g->rank(p.data());
    return r;
  }

  /// Moves coordinate d of p up (+1) or down (-1) to the nearest value with which the whole point is feasible; nothing when
  /// there is none in that direction, or the coordinate is unordered.
  /// @pre p is feasible, direction is +1 or -1
  [[nodiscard]] std::optional<point> move(const point& p, std::size_t d, int direction,
                                          tile_view view = tile_view::factor) const {
    if (!axis(d).ordered) return std::nullopt;
    point q = p;
    for (int to = position(p, d, view) + direction; to >= 0 && to < extent(d); to += direction) {
      q = p;
      const step one{d, to};
      if (place(q, {&one, 1}, view) && obeys_rules(q)) return q;
    }
    return std::nullopt;
  }

  /// All feasible points that differ from p in coordinate d alone, in the order of its values.
  [[nodiscard]] std::vector<point> alternatives(const point& p, std::size_t d) const {
    std::vector<point> out;
    point q = p;
    for (q[d] = 0; q[d] < extent(d); ++q[d])
      if (q[d] != p[d] && obeys_rules(q)) out.push_back(q);
    return out;
  }

  /// The n-hop neighbours of p: n moves on n different coordinates, validated once at the end; each point once, p never.
  /// One hop goes to the nearest feasible value in each direction; more hops go to adjacent values. An unordered
  /// coordinate moves to any of its other values.
  /// @pre p is feasible
  [[nodiscard]] std::vector<point> neighbours(const point& p, std::size_t hops,
                                              tile_view view = tile_view::factor) const {
    std::vector<point> out;
    if (hops == 0 || hops > dimensions()) return out;
    if (hops == 1) {
      for (std::size_t d = 0; d < dimensions(); ++d) {
        if (axis(d).ordered) {
          for (const int direction : {-1, +1})
            if (auto q = move(p, d, direction, view)) out.push_back(std::move(*q));
        } else {
          for (auto& q : alternatives(p, d)) out.push_back(std::move(q));
        }
      }
      return out;
    }
    std::unordered_set<point, point_hash> seen{p};
    std::vector<step> steps;
    hop(p, hops, 0, view, steps, [&](point& q) {
      if (seen.insert(q).second) out.push_back(q);
    });
    return out;
  }

  /// The feasible point nearest to `wanted`, which need not be feasible: least sum over coordinates of the distance in
  /// index as a share of the extent (0 or 1 for an unordered one). Exact unless rules are checked by rejection.
  /// @pre wanted has one index per coordinate, each within its extent
  [[nodiscard]] point nearest(const point& wanted) const {
    if (feasible(wanted)) return wanted;
    point p(dimensions());
    const auto cost = [&](std::size_t d, int i) { return distance(d, i, wanted[d]); };
    for (const auto& g : data_->groups) g.nearest(cost, p.data());
    if (passes_filters(p)) return p;
    const auto total = [&](const point& q) {
      double sum = 0;
      for (std::size_t d = 0; d < q.size(); ++d) sum += cost(d, q[d]);
      return sum;
    };
    rng random(0x6e656172);  // any fixed seed: the answer must not depend on who asks
    p = sample(random);
    for (int i = 0; i < 256; ++i)
      if (auto q = sample(random); total(q) < total(p)) p = std::move(q);
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t d = 0; d < dimensions(); ++d)
        for (auto& q : alternatives(p, d))
          if (total(q) < total(p)) p = std::move(q), moved = true;
    }
    return p;
  }

  /// The factors of tile axis t at p, outermost first; the outermost is 0 when the inner ones do not divide the extent.
  [[nodiscard]] std::vector<std::int64_t> factors(const point& p, const tile_axis& t) const {
    std::vector<std::int64_t> f(t.levels, 1);
    std::int64_t product = 1;
    for (std::size_t l = 1; l < t.levels; ++l) {
      f[l] = divisor(t.first + l - 1, p[t.first + l - 1]);
      product = product > t.extent ? product : product * f[l];
    }
    f[0] = product > 0 && t.extent % product == 0 ? t.extent / product : 0;
    return f;
  }

  /// A number that changes when names, values, tile axes, rules' texts or the count change: what a log is checked against.
  [[nodiscard]] std::uint64_t fingerprint() const noexcept { return data_->fingerprint; }

  /// The rules that are checked by rejection instead of being built in.
  [[nodiscard]] const std::vector<std::size_t>& filters() const noexcept { return data_->filters; }

 private:
  struct step {
    std::size_t coordinate;
    int to;  ///< index of the value in the view's coordinates
  };

  struct data {
    std::vector<coordinate> axes;
    std::vector<tile_axis> tiles;
    std::vector<lattice_rule> rules;
    std::vector<std::ptrdiff_t> tile_of;  ///< of each coordinate; -1 for none
    std::vector<detail::decision_diagram> groups;
    std::vector<std::size_t> filters;
    std::uint64_t rank_end = 1;
    bool ranks_fit = true;
    double relaxed_size = 1;
    double acceptance = 1;
    std::uint64_t fingerprint = 0;

    data(std::vector<coordinate> coordinates, std::vector<tile_axis> tile_axes, std::vector<lattice_rule> all_rules,
         std::size_t work)
        : axes(std::move(coordinates)), tiles(std::move(tile_axes)), rules(std::move(all_rules)) {
      for (const auto& a : axes)
        if (a.values.empty()) throw std::invalid_argument("space: parameter '" + a.name + "' has no values");
      for (const auto& r : rules)
        for (const auto c : r.coordinates)
          if (c >= axes.size()) throw std::invalid_argument("space: rule '" + r.why + "' reads an unknown coordinate");
      tile_of.assign(axes.size(), -1);
      for (std::size_t t = 0; t < tiles.size(); ++t)
        for (std::size_t l = 1; l < tiles[t].levels; ++l) tile_of[tiles[t].first + l - 1] = static_cast<std::ptrdiff_t>(t);
      build_groups(work);
      summarise();
    }

    data(std::vector<coordinate> coordinates, detail::decision_diagram listed) : axes(std::move(coordinates)) {
      tile_of.assign(axes.size(), -1);
      std::vector<std::size_t> all(axes.size());
      for (std::size_t d = 0; d < all.size(); ++d) all[d] = d;
      const auto shared = std::make_shared<const detail::decision_diagram>(listed);
      rules.push_back({"is a listed configuration", std::move(all), [shared](const int* p) { return shared->contains(p); }});
      groups.push_back(std::move(listed));
      summarise();
    }

    void summarise() {
      for (const auto& g : groups) {
        relaxed_size *= static_cast<double>(g.size());
        ranks_fit = ranks_fit && g.size() <= std::numeric_limits<std::uint64_t>::max() / rank_end;
        rank_end = ranks_fit ? rank_end * g.size() : std::numeric_limits<std::uint64_t>::max();
      }
      if (!filters.empty()) estimate_acceptance();
      fingerprint = hash();
    }

    [[nodiscard]] std::string filter_names() const {
      std::string names;
      for (const auto f : filters) names += (names.empty() ? "rule '" : ", '") + rules[f].why + "'";
      return names;
    }

    void build_groups(std::size_t work) {
      detail::diagram_problem all;
      for (const auto& a : axes) all.extents.push_back(static_cast<int>(a.values.size()));
      for (const auto& t : tiles) all.products.push_back(product_of(t));
      std::vector<std::size_t> built_in;
      for (std::size_t r = 0; r < rules.size(); ++r) built_in.push_back(r);
      std::vector<std::vector<std::size_t>> pending = detail::components(all, scopes(built_in));
      while (!pending.empty()) {
        const auto members = std::move(pending.back());
        pending.pop_back();
        std::vector<std::size_t> inside;
        for (const auto r : built_in)
          if (!rules[r].coordinates.empty() && contains(members, rules[r].coordinates.front())) inside.push_back(r);
        std::vector<detail::diagram_rule> conditions;
        for (const auto r : inside) conditions.push_back({&rules[r].coordinates, &rules[r].holds});
        auto diagram = detail::decision_diagram::build(all, conditions, members, inside.empty() ? 0 : work);
        if (diagram) {
          if (diagram->size() == 0) refuse(inside, members);
          groups.push_back(std::move(*diagram));
          continue;
        }
        const auto widest = *std::max_element(inside.begin(), inside.end(), [&](std::size_t a, std::size_t b) {
          return breadth(rules[a]) < breadth(rules[b]);
        });
        filters.push_back(widest);
        std::erase(built_in, widest);
        std::erase(inside, widest);
        for (auto& part : detail::components(all, scopes(inside)))
          if (contains(members, part.front())) pending.push_back(std::move(part));
      }
      for (const auto r : built_in)  // a rule that reads nothing holds or does not
        if (rules[r].coordinates.empty() && !rules[r].holds(nullptr)) refuse({r}, {});
      std::sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) { return a.first() < b.first(); });
      std::sort(filters.begin(), filters.end());
    }

    [[nodiscard]] detail::product_rule product_of(const tile_axis& t) const {
      detail::product_rule p;
      for (std::size_t l = 1; l < t.levels; ++l) p.coordinates.push_back(t.first + l - 1);
      if (!p.coordinates.empty())
        for (const double v : axes[t.first].values) p.divisors.push_back(static_cast<std::int64_t>(std::llround(v)));
      p.extent = t.extent;
      return p;
    }

    [[nodiscard]] std::vector<const std::vector<std::size_t>*> scopes(const std::vector<std::size_t>& of) const {
      std::vector<const std::vector<std::size_t>*> out;
      for (const auto r : of) out.push_back(&rules[r].coordinates);
      return out;
    }

    [[nodiscard]] static bool contains(const std::vector<std::size_t>& sorted, std::size_t c) {
      return std::binary_search(sorted.begin(), sorted.end(), c);
    }

    [[nodiscard]] double breadth(const lattice_rule& r) const {
      double product = 1;
      for (const auto c : r.coordinates) product *= static_cast<double>(axes[c].values.size());
      return product;
    }

    /// Nothing is left: says which rules did it.
    [[noreturn]] void refuse(const std::vector<std::size_t>& inside, const std::vector<std::size_t>& members) const {
      std::string names;
      for (const auto r : inside) names += (names.empty() ? "'" : ", '") + rules[r].why + "'";
      if (inside.size() == 1) throw std::invalid_argument("space: rule " + names + " removes every configuration");
      std::string parameters;
      for (const auto m : members) parameters += (parameters.empty() ? "'" : ", '") + axes[m].name + "'";
      throw std::invalid_argument("space: rules " + names + " together leave no configuration of " + parameters);
    }

    void estimate_acceptance() {
      rng random(0x636f756e74);  // fixed: the estimate must not depend on the run's seed
      point p(axes.size());
      std::size_t drawn = 0;
      std::size_t accepted = 0;
      while ((drawn < 4096 || accepted == 0) && drawn < 1'000'000) {
        for (const auto& g : groups) g.unrank(random.below(g.size()), p.data());
        ++drawn;
        accepted += std::all_of(filters.begin(), filters.end(), [&](std::size_t f) { return rules[f].holds(p.data()); });
      }
      if (accepted == 0)
        throw std::invalid_argument("space: " + filter_names() +
                                    " refused 1000000 random configurations; narrow the values of the parameters it reads");
      acceptance = static_cast<double>(accepted) / static_cast<double>(drawn);
    }

    [[nodiscard]] std::uint64_t hash() const noexcept {
      std::uint64_t h = 0xcbf29ce484222325ULL;  // FNV-1a
      const auto bytes = [&](std::string_view s) {
        for (const char c : s) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
        h = (h ^ 0xffU) * 0x100000001b3ULL;
      };
      const auto number = [&](std::uint64_t x) {
        for (int i = 0; i < 8; ++i, x >>= 8) h = (h ^ (x & 0xffU)) * 0x100000001b3ULL;
      };
      for (const auto& a : axes) {
        bytes(a.name);
        number(a.ordered ? 1 : 0);
        for (const double v : a.values) number(static_cast<std::uint64_t>(std::llround(v * 1024)));
      }
      for (const auto& t : tiles) {
        bytes(t.name);
        number(static_cast<std::uint64_t>(t.extent));
        number(t.levels);
      }
      for (const auto& r : rules) bytes(r.why);
      number(rank_end);
      return h;
    }
  };

  [[nodiscard]] std::int64_t divisor(std::size_t d, int i) const noexcept {
    return static_cast<std::int64_t>(data_->axes[d].values[static_cast<std::size_t>(i)]);
  }

  [[nodiscard]] double distance(std::size_t d, int a, int b) const noexcept {
    if (a == b) return 0;
    return axis(d).ordered ? std::abs(a - b) / static_cast<double>(extent(d)) : 1.0;
  }

  [[nodiscard]] bool passes_filters(const point& p) const {
    for (const auto f : data_->filters)
      if (!data_->rules[f].holds(p.data())) return false;
    return true;
  }

  [[nodiscard]] bool obeys_rules(const point& p) const {
    for (const auto& t : data_->tiles)
      if (t.levels > 2 && !divides(p, t)) return false;  // two levels: every divisor divides
    for (const auto& r : data_->rules)
      if (!r.holds(p.data())) return false;
    return true;
  }

  [[nodiscard]] bool divides(const point& p, const tile_axis& t) const noexcept {
    std::int64_t left = t.extent;
    for (std::size_t d = t.first; d + 1 < t.first + t.levels; ++d) {
      const std::int64_t f = divisor(d, p[d]);
      if (left % f != 0) return false;
      left /= f;
    }
    return true;
  }

  /// Index of coordinate d's value in the view: of the factor, or of the inclusive tile size among the same divisors.
  [[nodiscard]] int position(const point& p, std::size_t d, tile_view view) const {
    const auto t = data_->tile_of[d];
    if (view == tile_view::factor || t < 0) return p[d];
    return find(d, inclusive(p, data_->tiles[static_cast<std::size_t>(t)], d));
  }

  [[nodiscard]] std::int64_t inclusive(const point& p, const tile_axis& t, std::size_t d) const noexcept {
    std::int64_t size = 1;
    for (std::size_t e = d; e + 1 < t.first + t.levels; ++e) size *= divisor(e, p[e]);
    return size;
  }

  /// Index of a divisor, -1 if the number is none.
  [[nodiscard]] int find(std::size_t d, std::int64_t value) const noexcept {
    const auto& v = axis(d).values;
    const auto it = std::lower_bound(v.begin(), v.end(), static_cast<double>(value));
    return it != v.end() && *it == static_cast<double>(value) ? static_cast<int>(it - v.begin()) : -1;
  }

  /// Sets the view's coordinates named by `steps`, the others staying as they are in the view; false when a tile axis
  /// would need a factor that is no divisor.
  [[nodiscard]] bool place(point& p, std::span<const step> steps, tile_view view) const {
    if (view == tile_view::factor) {
      for (const auto& s : steps) p[s.coordinate] = s.to;
      return true;
    }
    const point before = p;
    for (const auto& s : steps) {
      const auto t = data_->tile_of[s.coordinate];
      if (t < 0) {
        p[s.coordinate] = s.to;
        continue;
      }
      const tile_axis& tile = data_->tiles[static_cast<std::size_t>(t)];
      // Sizes of all levels after the moves, from the inside out; then the factors between them.
      std::int64_t inside = 1;
      for (std::size_t d = tile.first + tile.levels - 1; d-- > tile.first;) {
        std::int64_t size = inclusive(before, tile, d);
        for (const auto& other : steps)
          if (other.coordinate == d) size = divisor(d, other.to);
        if (size % inside != 0) return false;
        p[d] = find(d, size / inside);
        if (p[d] < 0) return false;
        inside = size;
      }
    }
    return true;
  }

  template <class Visit>
  void hop(const point& p, std::size_t hops, std::size_t from, tile_view view, std::vector<step>& steps, Visit&& visit) const {
    if (steps.size() == hops) {
      point q = p;
      if (place(q, steps, view) && obeys_rules(q)) visit(q);
      return;
    }
    for (std::size_t d = from; d + (hops - steps.size()) <= dimensions(); ++d) {
      const int here = position(p, d, view);
      const auto go = [&](int to) {
        if (to < 0 || to >= extent(d) || to == here) return;
        steps.push_back({d, to});
        hop(p, hops, d + 1, view, steps, visit);
        steps.pop_back();
      };
      if (axis(d).ordered) {
        go(here - 1);
        go(here + 1);
      } else {
        for (int to = 0; to < extent(d); ++to) go(to);
      }
    }
  }

  std::shared_ptr<const data> data_;
};

}  // namespace tileseek
