#pragma once
// The lattice: a search space as strategies see it. Points are tuples of indices; the lattice knows which of them are
// feasible, counts them, draws them uniformly, ranks them and finds their neighbours. It never holds the product of its
// coordinates: rules split the coordinates into independent groups, and a group is held as a decision diagram whose
// size follows the rules, not the number of configurations.

#include <algorithm>
#include <bit>
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
#include <utility>
#include <vector>

#include <tileseek/core/format.hpp>
#include <tileseek/core/point.hpp>
#include <tileseek/core/rng.hpp>
#include <tileseek/space/detail/decision_diagram.hpp>
#include <tileseek/space/domain.hpp>

namespace tileseek {

/// One coordinate of a lattice.
struct coordinate {
  std::string name;            ///< of the parameter; "i[2]" for level 2 of a tile axis
  std::vector<double> values;  ///< the number behind each index; ascending when ordered; the index itself for a choice
  bool ordered = true;         ///< an ordered coordinate moves to the adjacent value, an unordered one to any other
  std::vector<std::string> labels = {};  ///< of a choice: what each index means, as a log spells it; else empty
};

/// A multi-level split of an extent. Its level l (1 <= l < levels) is coordinate `first + l - 1`, whose values are the
/// divisors of the extent; level 0, the outermost, is what is left: extent / (product of the others).
struct tile_axis {
  std::string name;
  std::int64_t extent = 1;
  std::size_t first = 0;
  std::size_t levels = 1;
};

/// One number that a rule reads: a coordinate; or, inside a tile axis, the inclusive tile size at its level, the
/// product of its factor and those of all levels inside it, as an index into the divisors of the extent.
using rule_term = detail::diagram_term;

/// A condition between coordinates.
struct lattice_rule {
  std::string why = {};                        ///< in the user's words, for errors
  std::vector<std::size_t> coordinates = {};   ///< all that `holds` reads
  std::function<bool(const int*)> holds = {};  ///< of the indices of a whole point; reads the named coordinates only
  /// For a rule that reads inclusive tile sizes: all its terms. It then costs as many steps as the terms have values,
  /// not as the coordinates have. Empty: the rule reads the coordinates, each for itself.
  std::vector<rule_term> terms = {};
  /// The same condition tried for a range of values by one call, which is faster (see detail::scan_function); needed
  /// with terms. Its arguments are the indices of the terms or, without terms, those of a whole point.
  detail::scan_function scan = {};
  std::vector<std::shared_ptr<const void>> reads = {};  ///< what the two functions refer to without owning it
};

/// The two systems of coordinates in which the levels of a tile axis move. They mean the same points.
enum class tile_view {
  factor,     ///< a move changes one level's factor; the outermost level takes up the slack
  inclusive,  ///< a move changes the tile size at one level (the product of its factor and all inside it) and keeps the
              ///< tile sizes of the other levels; the next level out takes up the slack
};

/// A number computed from a point, by the user or a kernel's author, that tells a cost model something: occupancy, bytes
/// of shared memory, flops per byte.
struct point_feature {
  std::string name;
  std::function<double(const point&)> value;  ///< finite for every feasible point
};

/// An immutable search space over index tuples. Copies share their data. Safe to read from several threads.
///
/// Limits. Rules split the coordinates into groups. In a group, the time to compile a rule follows the number of
/// combinations of what it reads that its smaller rules allow (about 10 ns each), and the memory follows how many of
/// them differ in what they allow below. A rule that needs more than `work` combinations is not built in but checked by
/// rejection (`filters()`): then the space is not `counted()`, a sample takes as many draws (about 0.3 us each) as it
/// takes to find coordinates that such a rule accepts, and `nearest()` is exact as long as a search of 65536 steps
/// ends. When less than 1 draw in 100000 would be accepted, 16 times the work is spent on building in. Remedies: split
/// a rule into several that read less; read one level of a tile axis through factor() or inclusive() rather than its
/// array; do not write a rule over the whole configuration.
class lattice {
 public:
  /// The lattice of no coordinates: one point, the empty one.
  lattice() : lattice({}, {}, {}) {}

  /// @param work  steps (combinations tried) that one rule, and all rules of a group together, may take before a rule
  /// is
  ///              checked by rejection instead of being built in (2^24 steps take 0.1 to 0.2 s)
  /// @throws std::invalid_argument  a coordinate without values, a tile axis whose values are not the divisors of its
  /// extent,
  ///                                a rule over unknown coordinates, or no feasible point: the message names the rules
  lattice(std::vector<coordinate> coordinates, std::vector<tile_axis> tiles, std::vector<lattice_rule> rules,
          std::size_t work = std::size_t{1} << 24)
      : data_(std::make_shared<const data>(std::move(coordinates), std::move(tiles), std::move(rules), work)) {}

  /// The lattice of exactly these points, as a recorded space has them: no rule needs to be known.
  /// @throws std::invalid_argument  no points, or one outside the coordinates
  [[nodiscard]] static lattice of_points(std::vector<coordinate> coordinates, std::vector<point> points) {
    if (points.empty()) detail::fail<std::invalid_argument>({"lattice: an empty list of points"});
    detail::diagram_problem all;
    for (const auto& a : coordinates) all.extents.push_back(static_cast<int>(a.values.size()));
    for (const auto& p : points) {
      bool inside = p.size() == coordinates.size();
      for (std::size_t d = 0; inside && d < p.size(); ++d) inside = p[d] >= 0 && p[d] < all.extents[d];
      if (!inside) detail::fail<std::invalid_argument>({"lattice: a listed point lies outside the coordinates"});
    }
    lattice out;
    out.data_ =
        std::make_shared<const data>(std::move(coordinates), detail::decision_diagram::of(all, std::move(points)));
    return out;
  }

  [[nodiscard]] std::size_t dimensions() const noexcept { return data_->axes.size(); }
  [[nodiscard]] int extent(std::size_t d) const noexcept { return static_cast<int>(data_->axes[d].values.size()); }
  [[nodiscard]] const coordinate& axis(std::size_t d) const noexcept { return data_->axes[d]; }
  [[nodiscard]] std::span<const coordinate> axes() const noexcept { return data_->axes; }
  [[nodiscard]] std::span<const tile_axis> tiles() const noexcept { return data_->tiles; }
  [[nodiscard]] std::span<const lattice_rule> rules() const noexcept { return data_->rules; }

  /// What cost models take in beside the coordinates.
  [[nodiscard]] std::span<const point_feature> features() const noexcept {
    if (!features_) return {};
    return *features_;
  }
  /// The same space with these features in place of those it has.
  [[nodiscard]] lattice with_features(std::vector<point_feature> features) const {
    lattice out = *this;
    out.features_ = std::make_shared<const std::vector<point_feature>>(std::move(features));
    return out;
  }

  [[nodiscard]] bool feasible(const point& p) const {
    if (p.size() != dimensions()) return false;
    for (std::size_t d = 0; d < p.size(); ++d)
      if (p[d] < 0 || p[d] >= extent(d)) return false;
    return obeys_rules(p);
  }

  /// Why a point with indices in the extents is not feasible: "rule 'fits in L1' refuses it". Empty: it is.
  [[nodiscard, gnu::cold]] std::string refusal(const point& p) const {
    std::string out;
    obeys_rules(p, [&out](const auto& by) {
      if constexpr (requires { by.why; })
        out = detail::concat({"rule '", by.why, "' refuses it"});
      else
        out = detail::concat({"the factors of '", by.name, "' do not divide ", by.extent});
    });
    return out;
  }

  /// Whether the number of configurations is known exactly: every rule is built in, and the count fits 64 bits.
  [[nodiscard]] bool counted() const noexcept { return data_->filters.empty() && data_->ranks_fit; }

  /// The exact number of feasible points.
  /// @throws std::length_error  when it is not known (`counted()` is false): use `approximate_size()`
  [[nodiscard]] std::uint64_t size() const {
    if (!counted())
      detail::fail<std::length_error>(
          {"lattice: about ", approximate_size(), " configurations, which are not counted exactly because ",
           data_->filters.empty() ? "64 bits do not hold the number"
                                  : "of " + data_->names_of(data_->filters) + ", checked by rejection",
           "; use approximate_size()"});
    return data_->rank_end;
  }

  /// The number of feasible points: exact up to rounding when every rule is built in, otherwise an estimate from the
  /// share of drawn points that obey the rules which are not.
  [[nodiscard]] double approximate_size() const noexcept { return data_->relaxed_size * data_->acceptance; }

  /// The share of drawn points that obey the rules checked by rejection: 1 when there are none.
  [[nodiscard]] double acceptance() const noexcept { return data_->acceptance; }

  /// A uniform feasible point.
  /// @throws std::runtime_error  when a rule checked by rejection refused ten million points in a row
  [[nodiscard]] point sample(rng& random) const {
    point p(dimensions());
    const auto& all = *data_;
    for (const auto g : all.free_groups) all.groups[g].draw(random, p.data());
    for (const auto& c : all.thinned) draw_allowed(c, random, p);
    return p;
  }

  /// Ranks number the points of the relaxed space, which `filters` (rules checked by rejection) thin out. All of
  /// [0, rank_end()) are feasible when `counted()`. Saturates at 2^64 - 1.
  [[nodiscard]] std::uint64_t rank_end() const noexcept { return data_->rank_end; }

  /// The point with this rank; nothing when a rule that is not built in refuses it.
  /// @pre r < rank_end()
  [[nodiscard]] std::optional<point> unrank(std::uint64_t r) const {
    point p(dimensions());
    for (const auto& g : data_->groups) {
      if (g.size_fits()) {
        g.unrank(r % g.size(), p.data());
        r /= g.size();
      } else {
        g.unrank(r, p.data());
        r = 0;
      }
    }
    if (!data_->passes(data_->filters, p)) return std::nullopt;
    return p;
  }

  /// @post unrank(rank(p)) == p for every feasible p
  /// @throws std::invalid_argument  p is not feasible
  /// @throws std::length_error      64 bits do not hold the ranks
  [[nodiscard]] std::uint64_t rank(const point& p) const {
    if (!data_->ranks_fit) detail::fail<std::length_error>({"lattice: rank in a space of more than 2^64 - 1 points"});
    if (!feasible(p)) detail::fail<std::invalid_argument>({"lattice: rank of a point that is not feasible"});
    std::uint64_t r = 0;
    for (auto g = data_->groups.rbegin(); g != data_->groups.rend(); ++g) r = r * g->size() + g->rank(p.data());
    return r;
  }

  /// Moves coordinate d of p up (+1) or down (-1) to the nearest value with which the whole point is feasible; nothing
  /// when there is none in that direction, or the coordinate is unordered.
  /// @pre p is feasible, direction is +1 or -1
  [[nodiscard]] std::optional<point> move(const point& p, std::size_t d, int direction,
                                          tile_view view = tile_view::factor) const {
    std::optional<point> q;
    if (!axis(d).ordered) return q;
    const auto t = view == tile_view::inclusive ? data_->tile_of[d] : -1;
    for (int to = t < 0 ? p[d] : find(d, inclusive(p, data_->tiles[static_cast<std::size_t>(t)], d));;) {
      to += direction;
      if (to < 0 || to >= extent(d)) return std::nullopt;
      if (!q) q = p;
      if (t < 0) {
        (*q)[d] = to;
        if (obeys_rules_of(d, *q)) return q;
      } else {
        *q = p;
        const step one{d, to};
        if (place(p, *q, {&one, 1}) && obeys_rules(*q)) return q;
      }
    }
  }

  /// All feasible points that differ from p in coordinate d alone, in the order of its values.
  /// @pre p is feasible
  [[nodiscard]] std::vector<point> alternatives(const point& p, std::size_t d) const {
    std::vector<point> out;
    each_alternative(p, d, [&](const point& q) { out.push_back(q); });
    return out;
  }

  /// The n-hop neighbours of p: n moves on n different coordinates, validated once at the end; each point once, p
  /// never. One hop goes to the nearest feasible value in each direction; more hops go to adjacent values. An unordered
  /// coordinate moves to any of its other values.
  /// @pre p is feasible
  [[nodiscard]] std::vector<point> neighbours(const point& p, std::size_t hops,
                                              tile_view view = tile_view::factor) const {
    std::vector<point> out;
    if (hops == 0 || hops > dimensions()) return out;
    if (hops == 1) {
      out.reserve(2 * dimensions());
      for (std::size_t d = 0; d < dimensions(); ++d) {
        if (axis(d).ordered) {
          for (const int direction : {-1, +1})
            if (auto q = move(p, d, direction, view)) out.push_back(std::move(*q));
        } else {
          each_alternative(p, d, [&](const point& q) { out.push_back(q); });
        }
      }
      return out;
    }
    // Different moves on different coordinates of a view lead to different points: none is met twice, nor p itself.
    std::vector<step> steps;
    steps.reserve(hops);
    point q = p;
    hop(p, q, hops, 0, view, steps, out);
    return out;
  }

  /// The feasible point nearest to `wanted`, which need not be feasible: least sum over coordinates of the distance in
  /// index as a share of the extent (0 or 1 for an unordered one). Exact unless rules are checked by rejection and
  /// refuse so many near points that the search gives up after 65536 steps; then the nearest of up to 1024 drawn
  /// points, improved one coordinate at a time.
  /// @pre wanted has one index per coordinate, each within its extent
  [[nodiscard]] point nearest(const point& wanted) const {
    if (feasible(wanted)) return wanted;
    const auto cost = [&](std::size_t d, int i) { return distance(d, i, wanted[d]); };
    point p(dimensions());
    for (const auto g : data_->free_groups)
      detail::decision_diagram::by_cost(data_->groups[g], cost).cheapest(p.data());
    for (const auto& c : data_->thinned)
      if (!cheapest_allowed(c, cost, p)) approach(c, cost, p);
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

  /// A number that changes when names, values, tile axes, rules' texts or the count change: what a log is checked
  /// against.
  [[nodiscard]] std::uint64_t fingerprint() const noexcept { return data_->fingerprint; }

  /// The rules that are checked by rejection instead of being built in.
  [[nodiscard]] const std::vector<std::size_t>& filters() const noexcept { return data_->filters; }

 private:
  struct step {
    std::size_t coordinate;
    int to;  ///< index of the value in the view's coordinates
  };

  /// Groups that filters connect, and those filters.
  struct cluster {
    std::vector<std::size_t> groups;
    std::vector<std::size_t> filters;
  };

  struct data {
    std::vector<coordinate> axes;
    std::vector<tile_axis> tiles;
    std::vector<lattice_rule> rules;
    std::vector<std::ptrdiff_t> tile_of;             ///< of each coordinate; -1 for none
    std::vector<std::vector<std::size_t>> rules_of;  ///< of each coordinate: the rules that read it
    std::vector<detail::decision_diagram> groups;
    std::vector<std::size_t> filters;
    std::vector<std::size_t> free_groups;  ///< that no filter reads
    std::vector<cluster> thinned;          ///< the others
    std::uint64_t rank_end = 1;
    bool ranks_fit = true;
    double relaxed_size = 1;
    double acceptance = 1;  ///< of all filters
    double scarcest = 1;    ///< of one cluster, the least: its inverse is what a sample costs
    std::uint64_t fingerprint = 0;

    data(std::vector<coordinate> coordinates, std::vector<tile_axis> tile_axes, std::vector<lattice_rule> all_rules,
         std::size_t work)
        : axes(std::move(coordinates)), tiles(std::move(tile_axes)), rules(std::move(all_rules)) {
      index();
      constexpr std::size_t draws = std::size_t{1} << 19;
      constexpr double too_few = 1e-5;
      build_groups(work);
      estimate_acceptance(draws);
      if (scarcest < too_few) {
        build_groups(16 * work);
        estimate_acceptance(8 * draws);
        if (acceptance <= 0)
          detail::fail<std::invalid_argument>(
              {"space: ", names_of(filters), " refused ", show_count(8 * draws),
               " random configurations and can't be built in; narrow the values of the parameters it "
               "reads, or split it into rules that read fewer"});
      }
      fingerprint = hash();
    }

    data(std::vector<coordinate> coordinates, detail::decision_diagram listed) : axes(std::move(coordinates)) {
      std::vector<std::size_t> all(axes.size());
      for (std::size_t d = 0; d < all.size(); ++d) all[d] = d;
      const auto shared = std::make_shared<const detail::decision_diagram>(listed);
      rules.push_back(
          {"is a listed configuration", std::move(all), [shared](const int* p) { return shared->contains(p); }});
      index();
      groups.push_back(std::move(listed));
      summarise();
      fingerprint = hash();
    }

    /// Checks what was given and notes what belongs together.
    void index() {
      for (const auto& a : axes) {
        if (a.values.empty()) detail::fail<std::invalid_argument>({"space: parameter '", a.name, "' has no values"});
        for (const double v : a.values)
          if (v != v)
            detail::fail<std::invalid_argument>({"space: a value of parameter '", a.name, "' is not a number"});
      }
      tile_of = std::vector<std::ptrdiff_t>(axes.size(), -1);
      rules_of = std::vector<std::vector<std::size_t>>(axes.size());
      for (std::size_t t = 0; t < tiles.size(); ++t) {
        const auto& tile = tiles[t];
        const auto wrong = [&](const char* what) {
          detail::fail<std::invalid_argument>({"space: tile axis '", tile.name, "' ", what});
        };
        if (tile.levels < 1 || tile.extent < 1) wrong("has no levels or an extent below 1");
        if (tile.first + tile.levels - 1 > axes.size()) wrong("has levels that are no coordinates");
        if (tile.levels == 1) continue;
        std::vector<double> expected;
        for (const auto divisor : tileseek::divisors(tile.extent).values)
          expected.push_back(static_cast<double>(divisor));
        for (std::size_t d = tile.first; d + 1 < tile.first + tile.levels; ++d) {
          if (axes[d].values != expected) wrong("has a level whose values are not the divisors of its extent");
          if (tile_of[d] >= 0) wrong("shares a coordinate with another one");
          tile_of[d] = static_cast<std::ptrdiff_t>(t);
        }
      }
      for (std::size_t r = 0; r < rules.size(); ++r) {
        for (const auto c : rules[r].coordinates) {
          if (c >= axes.size())
            detail::fail<std::invalid_argument>({"space: rule '", rules[r].why, "' reads an unknown coordinate"});
          if (rules_of[c].empty() || rules_of[c].back() != r) rules_of[c].push_back(r);
        }
        for (const auto& t : rules[r].terms)
          if (t.coordinate >= axes.size() || (t.inclusive && tile_of[t.coordinate] < 0))
            detail::fail<std::invalid_argument>(
                {"space: rule '", rules[r].why, "' reads a level of what is no tile axis"});
        if (!rules[r].terms.empty() && !rules[r].scan)
          detail::fail<std::invalid_argument>({"space: rule '", rules[r].why, "' has terms but no scan"});
      }
    }

    [[nodiscard]] std::string names_of(const std::vector<std::size_t>& some) const {
      std::string names = some.size() > 1 ? "rules " : "rule ";
      for (std::size_t i = 0; i < some.size(); ++i)
        detail::append(names, {i == 0 ? "'" : i + 1 == some.size() ? " and '" : ", '", rules[some[i]].why, "'"});
      return names;
    }

    void build_groups(std::size_t work) {
      groups.clear();
      filters.clear();
      detail::diagram_problem all;
      for (const auto& a : axes) all.extents.push_back(static_cast<int>(a.values.size()));
      all.products = std::vector<detail::product_rule>(tiles.size());
      for (std::size_t t = 0; t < tiles.size(); ++t) all.products[t] = product_of(tiles[t]);
      std::vector<std::size_t> every;
      for (std::size_t r = 0; r < rules.size(); ++r) {
        if (!rules[r].coordinates.empty())
          every.push_back(r);
        else if (!rules[r].holds(nullptr))  // a rule that reads nothing holds or does not
          detail::fail<std::invalid_argument>({"space: ", names_of({r}), " removes every configuration"});
      }
      std::vector<std::vector<std::size_t>> pending = detail::components(all, scopes(every));
      while (!pending.empty()) {
        for (auto& members : pending)  // groups are in the order of their first coordinate
          if (members.front() < pending.back().front()) members.swap(pending.back());
        const auto members = std::move(pending.back());
        pending.pop_back();
        std::vector<std::size_t> inside;
        for (const auto r : every)
          if (detail::has(members, rules[r].coordinates.front()) && !detail::has(filters, r)) inside.push_back(r);
        auto made = build(all, inside, members, inside.empty() ? 0 : work);
        if (made.built) {
          if (made.diagram.size() == 0) refuse(all, std::move(inside), members, work);
          groups.push_back(std::move(made.diagram));
          continue;
        }
        detail::insert_once(filters, inside[made.too_much]);
        inside.erase(inside.begin() + static_cast<std::ptrdiff_t>(made.too_much));
        for (auto& part : detail::components(all, scopes(inside)))
          if (detail::has(members, part.front())) pending.push_back(std::move(part));
      }
      summarise();
    }

    [[nodiscard]] detail::decision_diagram::result build(const detail::diagram_problem& all,
                                                         const std::vector<std::size_t>& some,
                                                         const std::vector<std::size_t>& members,
                                                         std::size_t work) const {
      std::vector<detail::diagram_rule> conditions(some.size());
      for (std::size_t i = 0; i < some.size(); ++i) {
        const std::size_t r = some[i];
        detail::diagram_rule& c = conditions[i];
        if (rules[r].scan) c.scan = &rules[r].scan;
        if (rules[r].terms.empty()) {
          c.holds = &rules[r].holds;
          for (const auto d : rules[r].coordinates) c.terms.push_back({d, false});
          c.slots = rules[r].coordinates;
        } else {
          for (const auto& t : rules[r].terms)
            c.terms.push_back({t.coordinate, t.inclusive}), c.slots.push_back(c.slots.size());
        }
      }
      return detail::decision_diagram::build(all, conditions, members, work);
    }

    [[nodiscard]] detail::product_rule product_of(const tile_axis& t) const {
      detail::product_rule p;
      p.first = t.first;
      p.count = t.levels - 1;
      if (p.count > 0)
        for (const double v : axes[t.first].values) p.divisors.push_back(static_cast<std::int64_t>(v));
      p.extent = t.extent;
      return p;
    }

    [[nodiscard]] std::vector<const std::vector<std::size_t>*> scopes(const std::vector<std::size_t>& of) const {
      std::vector<const std::vector<std::size_t>*> out;
      for (const auto r : of) out.push_back(&rules[r].coordinates);
      return out;
    }

    /// Nothing is left: says which rules did it, leaving out those without which nothing is left either.
    [[noreturn]] void refuse(const detail::diagram_problem& all, std::vector<std::size_t> guilty,
                             const std::vector<std::size_t>& members, std::size_t work) const {
      for (std::size_t i = guilty.size(); i-- > 0 && guilty.size() > 1;) {
        auto others = guilty;
        others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
        if (const auto made = build(all, others, members, work); made.built && made.diagram.size() == 0)
          guilty = std::move(others);
      }
      if (guilty.size() == 1)
        detail::fail<std::invalid_argument>({"space: ", names_of(guilty), " removes every configuration"});
      std::string parameters;
      for (std::size_t d = 0; d < axes.size(); ++d) {
        bool read = false;
        for (const auto r : guilty) read = read || detail::has(rules_of[d], r);
        if (read) detail::append(parameters, {parameters.empty() ? "'" : ", '", axes[d].name, "'"});
      }
      detail::fail<std::invalid_argument>(
          {"space: ", names_of(guilty), " together leave no configuration of ", parameters});
    }

    /// What follows from groups and filters.
    void summarise() {
      rank_end = 1;
      ranks_fit = true;
      relaxed_size = 1;
      std::vector<std::size_t> group_of(axes.size(), 0);
      for (std::size_t g = 0; g < groups.size(); ++g) {
        relaxed_size *= groups[g].approximate_size();
        ranks_fit = ranks_fit && groups[g].size_fits() &&
                    groups[g].size() <= std::numeric_limits<std::uint64_t>::max() / rank_end;
        rank_end = ranks_fit ? rank_end * groups[g].size() : std::numeric_limits<std::uint64_t>::max();
        for (const auto d : groups[g].order()) group_of[d] = g;
      }
      // Filters connect groups as rules connect coordinates.
      free_groups.clear();
      thinned.clear();
      detail::diagram_problem of_groups;
      of_groups.extents = std::vector<int>(groups.size(), 1);
      std::vector<std::vector<std::size_t>> reads(filters.size());
      for (std::size_t i = 0; i < filters.size(); ++i)
        for (const auto d : rules[filters[i]].coordinates) reads[i].push_back(group_of[d]);
      std::vector<const std::vector<std::size_t>*> connected;
      for (const auto& r : reads) connected.push_back(&r);
      for (auto& together : detail::components(of_groups, connected)) {
        cluster c;
        for (std::size_t i = 0; i < filters.size(); ++i)
          if (detail::has(together, reads[i].front())) c.filters.push_back(filters[i]);
        if (c.filters.empty()) {
          free_groups.push_back(together.front());
        } else {
          c.groups = std::move(together);
          thinned.push_back(std::move(c));
        }
      }
    }

    void draw(const cluster& c, rng& random, point& p) const noexcept {
      for (const auto g : c.groups) groups[g].draw(random, p.data());
    }
    [[nodiscard]] bool passes(const std::vector<std::size_t>& some, const point& p) const {
      for (const auto f : some)
        if (!rules[f].holds(p.data())) return false;
      return true;
    }

    void estimate_acceptance(std::size_t most_draws) {
      acceptance = 1;
      scarcest = 1;
      rng random(0x636f756e74);  // fixed: the estimate must not depend on the run's seed
      point p(axes.size());
      for (const auto& c : thinned) {
        std::size_t drawn = 0;
        std::size_t accepted = 0;
        while ((drawn < 4096 || accepted < 16) && drawn < most_draws) {
          draw(c, random, p);
          ++drawn;
          if (passes(c.filters, p)) ++accepted;
        }
        const double share = static_cast<double>(accepted) / static_cast<double>(drawn);
        acceptance *= share;
        scarcest = std::min(scarcest, share);
      }
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
      number(axes.size());
      for (const auto& a : axes) {
        bytes(a.name);
        number(a.ordered ? 1 : 0);
        number(a.values.size());
        for (const double v : a.values) number(std::bit_cast<std::uint64_t>(v + 0.0));  // -0 is 0
        for (const auto& l : a.labels) bytes(l);
      }
      number(tiles.size());
      for (const auto& t : tiles) {
        bytes(t.name);
        number(static_cast<std::uint64_t>(t.extent));
        number(t.levels);
      }
      number(rules.size());
      for (const auto& r : rules) bytes(r.why);
      number(ranks_fit ? rank_end : std::bit_cast<std::uint64_t>(relaxed_size));
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

  [[nodiscard]] bool obeys_rules(const point& p) const {
    return obeys_rules(p, [](const auto&) {});
  }
  /// Calls broken() with the first tile axis or rule that refuses the point.
  template <class Broken>
  bool obeys_rules(const point& p, const Broken& broken) const {
    for (const auto& t : data_->tiles)
      if (t.levels > 2 && !divides(p, t)) return broken(t), false;  // two levels: every divisor divides
    for (const auto& r : data_->rules)
      if (!r.holds(p.data())) return broken(r), false;
    return true;
  }

  /// Whether a point that was feasible before coordinate d changed still is.
  [[nodiscard]] bool obeys_rules_of(std::size_t d, const point& p) const {
    if (const auto t = data_->tile_of[d]; t >= 0 && !divides(p, data_->tiles[static_cast<std::size_t>(t)]))
      return false;
    for (const auto r : data_->rules_of[d])
      if (!data_->rules[r].holds(p.data())) return false;
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

  template <class Visit>
  void each_alternative(const point& p, std::size_t d, const Visit& visit) const {
    point q = p;
    for (q[d] = 0; q[d] < extent(d); ++q[d])
      if (q[d] != p[d] && obeys_rules_of(d, q)) visit(q);
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

  /// Makes the steps from p in the inclusive view, the other tile sizes staying as they are; false when a tile axis
  /// would need a factor that is no divisor.
  /// @pre q equals p
  [[nodiscard]] bool place(const point& p, point& q, std::span<const step> steps) const {
    std::ptrdiff_t placed = -1;  // steps are in the order of coordinates: those of one tile axis stand together
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const auto t = data_->tile_of[steps[i].coordinate];
      if (t < 0) {
        q[steps[i].coordinate] = steps[i].to;
        continue;
      }
      if (t == placed) continue;
      placed = t;
      const tile_axis& tile = data_->tiles[static_cast<std::size_t>(t)];
      std::int64_t before = 1;  // tile sizes before and after the steps, from the inside out
      std::int64_t inside = 1;
      for (std::size_t d = tile.first + tile.levels - 1; d-- > tile.first;) {
        before *= divisor(d, p[d]);
        std::int64_t size = before;
        for (std::size_t j = i; j < steps.size(); ++j)
          if (steps[j].coordinate == d) size = divisor(d, steps[j].to);
        if (size % inside != 0) return false;
        if (size / inside != divisor(d, p[d])) q[d] = find(d, size / inside);
        inside = size;
      }
    }
    return true;
  }

  void hop(const point& p, point& q, std::size_t hops, std::size_t from, tile_view view, std::vector<step>& steps,
           std::vector<point>& out) const {
    if (steps.size() == hops) {
      if (view == tile_view::inclusive) {
        q = p;
        if (!place(p, q, steps)) return;
      }
      if (obeys_rules(q)) out.push_back(q);
      return;
    }
    for (std::size_t d = from; d + (hops - steps.size()) <= dimensions(); ++d) {
      const int here = position(p, d, view);
      const auto go = [&](int to) {
        if (to < 0 || to >= extent(d) || to == here) return;
        steps.push_back({d, to});
        if (view == tile_view::factor) q[d] = to;
        hop(p, q, hops, d + 1, view, steps, out);
        steps.pop_back();
      };
      if (axis(d).ordered) {
        go(here - 1);
        go(here + 1);
      } else {
        for (int to = 0; to < extent(d); ++to) go(to);
      }
      if (view == tile_view::factor) q[d] = p[d];
    }
  }

  /// Sets the cluster's coordinates of p to the cheapest that its filters allow: tuples of all its groups in the order
  /// of their cost until one passes. False when that takes too many steps.
  template <class Cost>
  [[nodiscard]] bool cheapest_allowed(const cluster& c, const Cost& cost, point& p) const {
    struct state {
      double bound;  ///< what a tuple from here on costs at least
      double cost;
      std::uint32_t part;
      std::uint32_t node;
      std::uint32_t parent;
      int value;
    };
    std::vector<detail::decision_diagram::by_cost> parts;
    std::vector<std::size_t> order;
    for (const auto g : c.groups) {
      parts.emplace_back(data_->groups[g], cost);
      order.insert(order.end(), data_->groups[g].order().begin(), data_->groups[g].order().end());
    }
    std::vector<double> rest(parts.size() + 1, 0);  // least cost of this part and those behind it
    for (std::size_t i = parts.size(); i-- > 0;) rest[i] = rest[i + 1] + parts[i].least();
    std::vector<state> states(1, state{rest[0], 0, 0, parts[0].root(), 0, 0});
    std::vector<std::uint32_t> open(1, 0);
    // The least bound first; of equal ones the newest, which is nearest to its end.
    const auto later = [&states](std::uint32_t a, std::uint32_t b) {
      return states[a].bound != states[b].bound ? states[a].bound > states[b].bound : a < b;
    };
    for (int steps = 0; steps < 65536 && !open.empty(); ++steps) {
      std::pop_heap(open.begin(), open.end(), later);
      const std::uint32_t at = open.back();
      open.pop_back();
      const state s = states[at];
      if (s.part == parts.size()) {
        std::uint32_t up = at;
        for (std::size_t i = order.size(); i-- > 0; up = states[up].parent) p[order[i]] = states[up].value;
        if (data_->passes(c.filters, p)) return true;
        continue;
      }
      parts[s.part].children(s.node, [&](int value, std::uint32_t child, double more) {
        state next{0, s.cost + more, s.part, child, at, value};
        next.bound = next.cost + rest[s.part + 1];
        if (child == 0) {
          if (++next.part < parts.size()) next.node = parts[next.part].root();
        } else {
          next.bound += parts[s.part].least_below(child);
        }
        open.push_back(static_cast<std::uint32_t>(states.size()));
        states.push_back(next);
        std::push_heap(open.begin(), open.end(), later);
      });
    }
    return false;
  }

  /// The same without the guarantee: the nearest of 1024 drawn tuples, then better ones by changing single coordinates.
  template <class Cost>
  void approach(const cluster& c, const Cost& cost, point& p) const {
    const auto total = [&](const point& q) {
      double sum = 0;
      for (const auto g : c.groups)
        for (const auto d : data_->groups[g].order()) sum += cost(d, q[d]);
      return sum;
    };
    rng random(0x6e656172);  // any fixed seed: the answer must not depend on who asks
    draw_allowed(c, random, p);
    const std::size_t draws = std::size_t{1} << (data_->scarcest > 1e-3 ? 10 : 4);
    double least = std::numeric_limits<double>::infinity();
    point q = p;
    const auto keep_better = [&] {
      const double sum = total(q);
      if (!(sum < least)) return false;
      least = sum;
      p = q;
      return true;
    };
    for (std::size_t i = 0; i < draws; ++i) {
      if (i > 0) draw_allowed(c, random, q);
      keep_better();
    }
    for (bool moved = true; moved;) {
      moved = false;
      for (const auto g : c.groups)
        for (const auto d : data_->groups[g].order()) {
          q = p;
          for (q[d] = 0; q[d] < extent(d); ++q[d])
            if (q[d] != p[d] && obeys_rules_of(d, q) && keep_better()) moved = true;
        }
    }
  }

  void draw_allowed(const cluster& c, rng& random, point& p) const {
    constexpr std::size_t most = 10'000'000;
    for (std::size_t tries = 0; tries < most; ++tries) {
      data_->draw(c, random, p);
      if (data_->passes(c.filters, p)) return;
    }
    detail::fail<std::runtime_error>({"lattice: no configuration found that obeys ", data_->names_of(c.filters), " in ",
                                      show_count(most), " draws; narrow the values of the parameters it reads"});
  }

  std::shared_ptr<const data> data_;
  std::shared_ptr<const std::vector<point_feature>> features_;  ///< null: none
};

}  // namespace tileseek
