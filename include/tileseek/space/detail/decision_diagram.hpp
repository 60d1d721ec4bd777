#pragma once
// The feasible tuples of one group of coordinates as a reduced ordered multi-valued decision diagram: equal
// sub-diagrams are stored once and each edge carries the number of tuples up to and including it, so that counting is
// reading the root, and ranking, unranking (hence uniform sampling) and nearest-tuple queries are walks from the root.
//
// It is built in two steps. Each rule (with the smaller rules that read a part of what it reads) becomes a diagram of
// its own by trying all values of what it reads, which after reduction knows as little of them as matters: of "the
// product of four factors is at most 1024" the number of different products is left. Then one walk over all coordinates
// follows the rules' diagrams and the divisibility of the tile axes side by side; paths that have arrived at the same
// nodes are one. (Srinivasan, Kam, Malik, Brayton, "Algorithms for discrete function manipulation", ICCAD 1990, whose
// conjunction this is; the chain of trees of Rasch et al., ATF, TACO 2021, enumerates without sharing.)

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include <tileseek/core/format.hpp>
#include <tileseek/core/rng.hpp>

namespace tileseek::detail {

/// Numbers of tuples: a group of coupled tile axes easily has more than 2^64.
__extension__ using wide = unsigned __int128;

/// The values of these neighbouring coordinates (all indices into `divisors`) multiply to a divisor of the extent.
struct product_rule {
  std::size_t first = 0;
  std::size_t count = 0;
  std::vector<std::int64_t> divisors;
  std::int64_t extent = 1;
};

/// What a condition reads: a coordinate, or, in a product, the index of the product of this and all later coordinates.
struct diagram_term {
  std::size_t coordinate = 0;
  bool inclusive = false;
  [[nodiscard]] friend bool operator==(const diagram_term&, const diagram_term&) noexcept = default;
};

/// A condition tried for a whole range of one argument: for from <= v < to, clears allowed[v] if it does not hold with
/// arguments[slot] = v. One indirect call for many values.
using scan_function = std::function<void(int* arguments, std::size_t slot, int from, int to, char* allowed)>;

/// A black-box condition, called with an array in which term i is found at `slots[i]`. At least one of `holds` and
/// `scan`.
struct diagram_rule {
  std::vector<diagram_term> terms;
  std::vector<std::size_t> slots;
  const std::function<bool(const int*)>* holds = nullptr;
  const scan_function* scan = nullptr;
};

struct diagram_problem {
  std::vector<int> extents;
  std::vector<product_rule> products;
};

/// Whether the list, which is short, has the number.
[[nodiscard]] inline bool has(std::span<const std::size_t> some, std::size_t x) noexcept {
  for (const auto y : some)
    if (x == y) return true;
  return false;
}

/// Puts a number in its place in a short ascending list, once. Takes a tenth of the code of sort and unique.
inline void insert_once(std::vector<std::size_t>& ascending, std::size_t x) {
  std::size_t at = ascending.size();
  while (at > 0 && ascending[at - 1] > x) --at;
  if (at > 0 && ascending[at - 1] == x) return;
  ascending.push_back(x);
  for (std::size_t i = ascending.size() - 1; i > at; --i) std::swap(ascending[i - 1], ascending[i]);
}

/// The coordinates, split into groups that no rule connects; each sorted, in order of their first member.
[[nodiscard]] inline std::vector<std::vector<std::size_t>> components(
    const diagram_problem& problem, const std::vector<const std::vector<std::size_t>*>& scopes) {
  std::vector<std::size_t> parent(problem.extents.size());
  for (std::size_t c = 0; c < parent.size(); ++c) parent[c] = c;
  const auto root = [&](std::size_t c) {
    while (parent[c] != c) c = parent[c] = parent[parent[c]];
    return c;
  };
  const auto join = [&](std::size_t x, std::size_t y) {
    const auto a = root(x);
    const auto b = root(y);
    parent[std::max(a, b)] = std::min(a, b);
  };
  for (const auto& p : problem.products)
    for (std::size_t i = 1; i < p.count; ++i) join(p.first, p.first + i);
  for (const auto* s : scopes)
    for (const auto c : *s) join(s->front(), c);
  std::vector<std::vector<std::size_t>> out;
  std::vector<std::size_t> where(parent.size());
  for (std::size_t c = 0; c < parent.size(); ++c) {
    if (root(c) == c) {
      where[c] = out.size();
      out.emplace_back();
    }
    out[where[root(c)]].push_back(c);
  }
  return out;
}

/// Nodes with their edges, equal ones stored once, children before parents. Node 0 is the terminal.
struct node_store {
  struct edge {
    std::int32_t value;
    std::uint32_t child;
    [[nodiscard]] friend bool operator==(const edge&, const edge&) noexcept = default;
  };
  static constexpr std::uint32_t dead = ~std::uint32_t{0};  ///< no node: nothing below is feasible

  std::vector<std::uint32_t> begin{0, 0};  ///< the edges of node n are [begin[n], begin[n + 1])
  std::vector<std::uint32_t> depth{0};     ///< level of each node
  std::vector<edge> edges;

  [[nodiscard]] std::size_t size() const noexcept { return depth.size(); }
  [[nodiscard]] std::span<const edge> of(std::uint32_t node) const noexcept {
    return {edges.data() + begin[node], edges.data() + begin[node + 1]};
  }

  /// The edge with this value, or where it would be.
  [[nodiscard]] std::size_t find(std::uint32_t node, int value) const noexcept {
    const std::size_t first = begin[node];
    std::size_t left = begin[node + 1] - first;
    // Most nodes have all values from 0 on.
    if (static_cast<std::size_t>(value) < left && edges[first + static_cast<std::size_t>(value)].value == value)
      return first + static_cast<std::size_t>(value);
    std::size_t at = first;
    while (left > 0) {
      const std::size_t half = left / 2;
      if (edges[at + half].value < value) {
        at += half + 1;
        left -= half + 1;
      } else {
        left = half;
      }
    }
    return at;
  }

  /// The child by this value; `dead` if there is none.
  [[nodiscard]] std::uint32_t child(std::uint32_t node, int value) const noexcept {
    const std::size_t e = find(node, value);
    return e != begin[node + 1] && edges[e].value == value ? edges[e].child : dead;
  }

  /// The node with these edges, made if there is none; `dead` for no edges.
  /// @param likely  a node to compare with first
  std::uint32_t intern(std::uint32_t level, std::span<const edge> with, std::uint32_t likely = 0) {
    if (with.empty()) return dead;
    if (likely != 0) {
      const auto there = of(likely);
      if (std::equal(there.begin(), there.end(), with.begin(), with.end())) return likely;
    }
    std::uint64_t h = 0x9e3779b97f4a7c15ULL + level;
    for (const auto& e : with)
      h = (h ^ ((static_cast<std::uint64_t>(e.child) << 32) | static_cast<std::uint32_t>(e.value))) *
          0xff51afd7ed558ccdULL,
      h ^= h >> 32;
    if (2 * (size() + 1) > slots_.size()) grow();
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t s = h & mask;; s = (s + 1) & mask) {
      const auto [hash, node] = slots_[s];
      if (node == 0) {
        const auto made = static_cast<std::uint32_t>(size());
        edges.insert(edges.end(), with.begin(), with.end());
        begin.push_back(static_cast<std::uint32_t>(edges.size()));
        depth.push_back(level);
        slots_[s] = {h, made};
        return made;
      }
      if (hash != h || depth[node] != level) continue;
      const auto there = of(node);
      if (std::equal(there.begin(), there.end(), with.begin(), with.end())) return node;
    }
  }

  void forget_index() { slots_ = std::vector<slot>(); }

 private:
  struct slot {
    std::uint64_t hash = 0;
    std::uint32_t node = 0;  ///< 0: empty
  };

  void grow() {
    std::vector<slot> bigger(std::max<std::size_t>(64, 2 * slots_.size()));
    for (const auto& old : slots_) {
      if (old.node == 0) continue;
      std::size_t s = old.hash & (bigger.size() - 1);
      while (bigger[s].node != 0) s = (s + 1) & (bigger.size() - 1);
      bigger[s] = old;
    }
    slots_.swap(bigger);
  }

  std::vector<slot> slots_;
};

/// Results by a key of a fixed number of words (open addressing).
class word_map {
 public:
  explicit word_map(std::size_t words = 0) : words_(words) {}

  /// Where the key's result is; second: whether it was there before (a new one waits to be set).
  [[nodiscard]] std::pair<std::size_t, bool> find_or_add(const std::uint32_t* key) {
    if (2 * (results_.size() + 1) > slots_.size()) grow();
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t s = hash(key) & mask;; s = (s + 1) & mask) {
      if (slots_[s] == 0) {
        for (std::size_t i = 0; i < words_; ++i) keys_.push_back(key[i]);
        results_.push_back(0);
        slots_[s] = static_cast<std::uint32_t>(results_.size());
        return {results_.size() - 1, false};
      }
      const std::size_t at = slots_[s] - 1;
      if (std::equal(key, key + words_, keys_.begin() + static_cast<std::ptrdiff_t>(at * words_))) return {at, true};
    }
  }
  [[nodiscard]] std::uint32_t& operator[](std::size_t at) noexcept { return results_[at]; }

 private:
  [[nodiscard]] std::size_t hash(const std::uint32_t* key) const noexcept {
    std::uint64_t h = 0x9e3779b97f4a7c15ULL;
    for (std::size_t i = 0; i < words_; ++i) h = (h ^ key[i]) * 0xff51afd7ed558ccdULL, h ^= h >> 32;
    return static_cast<std::size_t>(h);
  }
  void grow() {
    slots_ = std::vector<std::uint32_t>(std::max<std::size_t>(16, 2 * slots_.size()), 0);
    for (std::size_t i = 0; i < results_.size(); ++i) {
      std::size_t s = hash(keys_.data() + i * words_) & (slots_.size() - 1);
      while (slots_[s] != 0) s = (s + 1) & (slots_.size() - 1);
      slots_[s] = static_cast<std::uint32_t>(i + 1);
    }
  }

  std::size_t words_;
  std::vector<std::uint32_t> keys_;
  std::vector<std::uint32_t> results_;
  std::vector<std::uint32_t> slots_;  ///< 1 + number of the result; 0: empty
};

class decision_diagram {
 public:
  /// What came of a build: a diagram, or the rule to do without so that the others can be built.
  struct result;

  /// @param rules    conditions on members alone
  /// @param members  the coordinates of this diagram, ascending; with one coordinate of a product, all of it
  /// @param work     steps (values tried) that one rule's diagram, and their conjunction, may take; 0: any number
  /// @throws std::length_error  more than 2^128 - 1 tuples
  [[nodiscard]] static result build(const diagram_problem& problem, const std::vector<diagram_rule>& rules,
                                    const std::vector<std::size_t>& members, std::size_t work);

  /// The diagram of an explicit list of tuples over all coordinates of the problem. Repeats count once.
  [[nodiscard]] static decision_diagram of(const diagram_problem& problem, std::vector<std::vector<int>> tuples) {
    std::sort(tuples.begin(), tuples.end());
    tuples.erase(std::unique(tuples.begin(), tuples.end()), tuples.end());
    decision_diagram d;
    for (std::size_t c = 0; c < problem.extents.size(); ++c) d.order_.push_back(c);
    std::vector<std::vector<node_store::edge>> pool(d.order_.size());
    d.root_ = d.gather(0, tuples, pool);
    d.finish();
    return d;
  }

  /// The number of tuples, 2^64 - 1 if there are more.
  [[nodiscard]] std::uint64_t size() const noexcept {
    constexpr auto most = std::numeric_limits<std::uint64_t>::max();
    return total_ > most ? most : static_cast<std::uint64_t>(total_);
  }
  [[nodiscard]] bool size_fits() const noexcept { return total_ <= std::numeric_limits<std::uint64_t>::max(); }
  [[nodiscard]] double approximate_size() const noexcept { return static_cast<double>(total_); }
  [[nodiscard]] std::size_t edges() const noexcept { return store_.edges.size(); }
  [[nodiscard]] std::size_t nodes() const noexcept { return store_.size(); }
  /// The coordinates from the root down: the last varies fastest as the rank grows.
  [[nodiscard]] std::span<const std::size_t> order() const noexcept { return order_; }

  [[nodiscard]] bool contains(const int* p) const noexcept {
    if (total_ == 0) return false;
    std::uint32_t node = root_;
    for (const auto c : order_) {
      node = store_.child(node, p[c]);
      if (node == node_store::dead) return false;
    }
    return true;
  }

  /// Writes the coordinates of the tuple with this rank into p. @pre rank < number of tuples
  void unrank(std::uint64_t rank, int* p) const noexcept {
    if (size_fits())
      unrank_by(rank, p);
    else
      unrank_by(wide{rank}, p);
  }

  /// The inverse of unrank. @pre the tuple in p is in the diagram, and the number of tuples fits 64 bits
  [[nodiscard]] std::uint64_t rank(const int* p) const noexcept {
    std::uint64_t r = 0;
    std::uint32_t node = root_;
    for (const auto c : order_) {
      const std::size_t e = store_.find(node, p[c]);
      if (e != store_.begin[node]) r += up_to_[e - 1];
      node = store_.edges[e].child;
    }
    return r;
  }

  /// Writes a uniform tuple into p. @pre there is one
  void draw(rng& random, int* p) const noexcept {
    if (size_fits()) return unrank_by(random.below(static_cast<std::uint64_t>(total_)), p);
    const wide reject_under = (wide{0} - total_) % total_;
    for (;;) {
      const wide high = random();
      const wide x = (high << 64) | random();
      if (x >= reject_under) return unrank_by(x % total_, p);
    }
  }

  /// Tuples in the order of their cost, from the cheapest on: a best-first search over the diagram, in which the least
  /// cost below each node is known beforehand, so that it never turns into a dead end. @pre Cost is not negative
  class by_cost {
   public:
    template <class Cost>
    by_cost(const decision_diagram& of, const Cost& cost) : of_(of), cost_of_edge_(of.edges()), least_(of.nodes(), 0) {
      // Children are stored before their parents, hence one pass in storage order.
      for (std::uint32_t n = 1; n < of.store_.size(); ++n) {
        least_[n] = std::numeric_limits<double>::infinity();
        const auto c = of.order_[of.store_.depth[n]];
        for (auto e = of.store_.begin[n]; e < of.store_.begin[n + 1]; ++e) {
          cost_of_edge_[e] = cost(c, of.store_.edges[e].value);
          least_[n] = std::min(least_[n], cost_of_edge_[e] + least_[of.store_.edges[e].child]);
        }
      }
    }
    [[nodiscard]] const decision_diagram& diagram() const noexcept { return of_; }
    [[nodiscard]] double least() const noexcept { return least_[of_.root_]; }
    [[nodiscard]] std::uint32_t root() const noexcept { return of_.root_; }
    [[nodiscard]] double least_below(std::uint32_t node) const noexcept { return least_[node]; }
    template <class Visit>
    void children(std::uint32_t node, const Visit& visit) const {
      for (auto e = of_.store_.begin[node]; e < of_.store_.begin[node + 1]; ++e)
        visit(of_.store_.edges[e].value, of_.store_.edges[e].child, cost_of_edge_[e]);
    }
    /// Writes the cheapest tuple into p; of equally cheap ones the first in rank.
    void cheapest(int* p) const {
      std::uint32_t node = of_.root_;
      for (const auto c : of_.order_) {
        auto best = of_.store_.begin[node];
        for (auto e = best; e < of_.store_.begin[node + 1]; ++e)
          if (through(e) < through(best)) best = e;
        p[c] = of_.store_.edges[best].value;
        node = of_.store_.edges[best].child;
      }
    }

   private:
    [[nodiscard]] double through(std::uint32_t e) const noexcept {
      return cost_of_edge_[e] + least_[of_.store_.edges[e].child];
    }
    const decision_diagram& of_;
    std::vector<double> cost_of_edge_;
    std::vector<double> least_;
  };

 private:
  class conjunction;

  std::uint32_t gather(std::size_t k, std::span<const std::vector<int>> tuples,
                       std::vector<std::vector<node_store::edge>>& pool) {
    if (tuples.empty()) return node_store::dead;
    if (k == order_.size()) return 0;
    auto& edges = pool[k];
    edges.clear();
    while (!tuples.empty()) {
      const int v = tuples.front()[k];
      const auto run = static_cast<std::size_t>(
          std::find_if(tuples.begin(), tuples.end(), [&](const auto& t) { return t[k] != v; }) - tuples.begin());
      edges.push_back({v, gather(k + 1, tuples.first(run), pool)});
      tuples = tuples.subspan(run);
    }
    return store_.intern(static_cast<std::uint32_t>(k), edges);
  }

  /// Counts the tuples once the nodes are there.
  void finish() {
    store_.forget_index();
    if (root_ == node_store::dead) {
      root_ = 0;
      return;
    }
    up_to_ = std::vector<std::uint64_t>(store_.edges.size());
    high_up_to_ = std::vector<std::uint64_t>(store_.edges.size());
    for (std::size_t n = 1; n < store_.size(); ++n) {
      wide sum = 0;
      for (auto e = store_.begin[n]; e < store_.begin[n + 1]; ++e) {
        const wide more = below(store_.edges[e].child);
        if (more > ~wide{0} - sum)
          fail<std::length_error>({"space: more than 2^128 - 1 configurations of coupled parameters"});
        sum += more;
        up_to_[e] = static_cast<std::uint64_t>(sum);
        high_up_to_[e] = static_cast<std::uint64_t>(sum >> 64);
      }
    }
    total_ = below(root_);
    if (size_fits()) high_up_to_ = std::vector<std::uint64_t>();
  }

  /// Tuples below an edge and its elder siblings.
  template <class Count>
  [[nodiscard]] Count up_to(std::size_t edge) const noexcept {
    if constexpr (std::same_as<Count, wide>)
      return wide{high_up_to_[edge]} << 64 | up_to_[edge];
    else
      return up_to_[edge];
  }
  /// Tuples below a node.
  [[nodiscard]] wide below(std::uint32_t node) const noexcept {
    return node == 0 ? 1 : up_to<wide>(store_.begin[node + 1] - 1);
  }

  template <class Count>
  void unrank_by(Count rank, int* p) const noexcept {
    std::uint32_t node = root_;
    for (const auto c : order_) {
      const std::size_t first = store_.begin[node];
      std::size_t at = first;  // the first edge that more tuples than the rank lie up to
      for (std::size_t left = store_.begin[node + 1] - first; left > 0;) {
        const std::size_t half = left / 2;
        if (rank < up_to<Count>(at + half)) {
          left = half;
        } else {
          at += half + 1;
          left -= half + 1;
        }
      }
      if (at != first) rank -= up_to<Count>(at - 1);
      p[c] = store_.edges[at].value;
      node = store_.edges[at].child;
    }
  }

  std::vector<std::size_t> order_;
  node_store store_;
  std::vector<std::uint64_t> up_to_;       ///< of each edge: tuples below it and its elder siblings, the low 64 bits
  std::vector<std::uint64_t> high_up_to_;  ///< the high ones, when there are more than 64 bits can count
  std::uint32_t root_ = 0;
  wide total_ = 0;
};

struct decision_diagram::result {
  decision_diagram diagram;
  bool built = false;
  std::size_t too_much = 0;  ///< when not built: index of the rule to leave out
};

/// Builds a diagram from rules.
class decision_diagram::conjunction {
 public:
  conjunction(const diagram_problem& problem, const std::vector<diagram_rule>& rules,
              const std::vector<std::size_t>& members, std::size_t work)
      : problem_(problem),
        rules_(rules),
        work_(work),
        tables_(problem.products.size()),
        tile_of_(problem.extents.size(), none),
        variables_(rules.size()),
        conditions_(rules.size()) {
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      const auto& p = problem.products[t];
      if (p.count == 0 || !has(members, p.first)) continue;
      for (std::size_t i = 0; i < p.count; ++i) tile_of_[p.first + i] = t;
      tables_[t] = table_of(p);
    }
    choose_order(members);
  }

  [[nodiscard]] result run() {
    result out;
    for (std::size_t r = 0; r < rules_.size(); ++r)
      for (const auto& t : rules_[r].terms) insert_once(variables_[r], variable_of(t));
    std::vector<std::size_t> own;  // rules with a diagram of their own
    for (std::size_t r = 0; r < rules_.size(); ++r)
      if (largest(r)) own.push_back(r);
    automata_ = std::vector<automaton>(own.size());
    for (std::size_t i = 0; i < own.size(); ++i)
      if (!tabulate(own[i], automata_[i])) {
        out.too_much = own[i];
        return out;
      }
    out.diagram.order_ = order_;
    out.built = conjoin(out.diagram);
    if (out.built)
      out.diagram.finish();
    else
      out.too_much = biggest();
    return out;
  }

 private:
  static constexpr std::size_t none = ~std::size_t{0};
  static constexpr std::uint32_t dead = node_store::dead;

  /// A product of divisors as a table; a state is the index of the divisor reached so far, 0 at first.
  struct product_table {
    std::size_t n = 0;
    std::vector<int> next;   ///< [state, divisor] -> state; -1: does not divide
    std::vector<char> part;  ///< [state, divisor]: whether the divisor is a multiple of the state
  };
  /// A term by its place in the order: 2 * level, + 1 for a product.
  using variable = std::size_t;
  /// The diagram of a rule over its variables.
  struct automaton {
    std::size_t rule = 0;
    std::vector<variable> variables;
    node_store store;
    std::uint32_t root = 0;
  };

  [[nodiscard]] static product_table table_of(const product_rule& p) {
    const auto n = p.divisors.size();
    product_table t;
    t.n = n;
    t.next = std::vector<int>(n * n, -1);
    t.part = std::vector<char>(n * n, 0);
    for (std::size_t s = 0; s < n; ++s)
      for (std::size_t f = 0; f < n; ++f) {
        t.part[s * n + f] = p.divisors[f] % p.divisors[s] == 0;
        if ((p.extent / p.divisors[s]) % p.divisors[f] != 0) continue;
        const auto product = p.divisors[s] * p.divisors[f];
        t.next[s * n + f] =
            static_cast<int>(std::lower_bound(p.divisors.begin(), p.divisors.end(), product) - p.divisors.begin());
      }
    return t;
  }

  /// All coordinates of a tile axis stand together, the innermost first, so that the product of what is placed is an
  /// inclusive tile size. Among axes, the rule that reads the fewest combinations of what is not placed yet comes
  /// first: it cuts before much has been tried. In a rule, what has most values comes last: those are tried in one go.
  /// Ties keep the user's order.
  void choose_order(const std::vector<std::size_t>& members) {
    level_of_ = std::vector<std::size_t>(problem_.extents.size(), none);
    std::vector<char> done(rules_.size(), 0);
    for (std::size_t left = rules_.size(); left > 0; --left) {
      double least = std::numeric_limits<double>::infinity();
      std::size_t best = none;
      for (std::size_t r = 0; r < rules_.size(); ++r) {
        if (done[r]) continue;
        double combinations = 0;
        for (const auto& t : rules_[r].terms)
          if (!placed(t.coordinate)) combinations += std::log2(static_cast<double>(problem_.extents[t.coordinate]));
        if (best == none || combinations < least) least = combinations, best = r;
      }
      done[best] = 1;
      for (;;) {
        std::size_t next = none;
        for (const auto& t : rules_[best].terms)
          if (!placed(t.coordinate) && (next == none || has_fewer(t.coordinate, next))) next = t.coordinate;
        if (next == none) break;
        place(next);
      }
    }
    for (const auto c : members)
      if (!placed(c)) place(c);
  }

  [[nodiscard]] bool placed(std::size_t c) const noexcept { return level_of_[c] != none; }
  [[nodiscard]] bool has_fewer(std::size_t a, std::size_t b) const noexcept {
    return problem_.extents[a] != problem_.extents[b] ? problem_.extents[a] < problem_.extents[b] : a < b;
  }
  /// With all of its tile axis.
  void place(std::size_t c) {
    const auto t = tile_of_[c];
    std::size_t first = c;
    std::size_t last = c;
    while (t != none && first > 0 && tile_of_[first - 1] == t) --first;
    while (t != none && last + 1 < tile_of_.size() && tile_of_[last + 1] == t) ++last;
    for (std::size_t i = last + 1; i-- > first;) {
      level_of_[i] = order_.size();
      order_.push_back(i);
    }
  }

  [[nodiscard]] bool innermost(std::size_t c) const noexcept {
    return c + 1 == tile_of_.size() || tile_of_[c + 1] != tile_of_[c];
  }

  [[nodiscard]] variable variable_of(const diagram_term& t) const noexcept {
    return 2 * level_of_[t.coordinate] + (t.inclusive && !innermost(t.coordinate) ? 1 : 0);
  }

  [[nodiscard]] bool within(std::size_t r, std::size_t s) const {
    for (const auto v : variables_[r])
      if (!has(variables_[s], v)) return false;
    return true;
  }
  /// Whether no other rule reads all that rule r reads; of rules that read the same, the last.
  [[nodiscard]] bool largest(std::size_t r) const {
    for (std::size_t s = 0; s < rules_.size(); ++s)
      if (s != r && within(r, s) && (!within(s, r) || s > r)) return false;
    return true;
  }

  // --- a rule's own diagram ---

  struct condition {
    const diagram_rule* rule = nullptr;
    std::vector<int> arguments = {};
    std::vector<std::size_t> last_slots = {};  ///< those of the variable that is read last
  };
  struct column {
    int extent = 0;
    std::size_t tile = none;
    bool inclusive = false;
    std::vector<std::pair<std::size_t, std::size_t>> writes;  ///< condition, slot
    std::vector<std::size_t> due;                             ///< conditions that have all they read here
    std::vector<char> allowed;
    std::vector<node_store::edge> edges;
    std::uint32_t latest = 0;  ///< the node made here last
  };

  [[nodiscard]] bool tabulate(std::size_t r, automaton& a) {
    a.rule = r;
    a.variables = variables_[r];
    columns_ = std::vector<column>(a.variables.size());
    bool prunes = false;
    double all = 1;
    for (std::size_t i = 0; i < a.variables.size(); ++i) {
      auto& here = columns_[i];
      const auto c = order_[a.variables[i] / 2];
      here.extent = problem_.extents[c];
      here.tile = tile_of_[c];
      here.inclusive = a.variables[i] % 2 == 1;
      here.allowed = std::vector<char>(static_cast<std::size_t>(here.extent));
      here.edges = std::vector<node_store::edge>(static_cast<std::size_t>(here.extent));
      prunes = prunes || (i > 0 && here.tile != none && here.tile == columns_[i - 1].tile);
      all *= here.extent;
    }
    for (std::size_t s = 0; s < rules_.size(); ++s) {
      if (!within(s, r)) continue;
      prunes = prunes || s != r;
      const auto& rule = rules_[s];
      std::size_t slots = 0;
      for (const auto slot : rule.slots) slots = std::max(slots, slot + 1);
      condition& next = conditions_[s];
      next.rule = &rule;
      next.arguments = std::vector<int>(slots, 0);
      next.last_slots.clear();
      std::size_t last = 0;
      for (std::size_t t = 0; t < rule.terms.size(); ++t) {
        const auto at = static_cast<std::size_t>(
            std::lower_bound(a.variables.begin(), a.variables.end(), variable_of(rule.terms[t])) - a.variables.begin());
        columns_[at].writes.push_back({s, rule.slots[t]});
        if (at > last) next.last_slots.clear();
        if (at >= last && !has(next.last_slots, rule.slots[t])) next.last_slots.push_back(rule.slots[t]);
        last = std::max(last, at);
      }
      columns_[last].due.push_back(s);
    }
    if (work_ != 0 && !prunes && all > static_cast<double>(work_)) return false;
    steps_ = 0;
    gave_up_ = false;
    a.root = enumerate(a.store, 0, 0);
    a.store.forget_index();
    return !gave_up_;
  }

  /// Clears what the condition, which has all it reads, forbids.
  static void try_all(condition& c, int extent, char* allowed) {
    int* const arguments = c.arguments.data();
    const auto slot = c.last_slots.front();
    if (c.rule->scan != nullptr && c.last_slots.size() == 1)
      return (*c.rule->scan)(arguments, slot, 0, extent, allowed);
    for (int v = 0; v < extent; ++v) {
      if (!allowed[v]) continue;
      for (const auto s : c.last_slots) arguments[s] = v;
      if (c.rule->scan != nullptr)
        (*c.rule->scan)(arguments, slot, v, v + 1, allowed);
      else if (!(*c.rule->holds)(arguments))
        allowed[v] = 0;
    }
  }

  /// Tries all values of the columns from k on. `state`: what is known to divide the product of the current tile axis.
  std::uint32_t enumerate(node_store& store, std::size_t k, int state) {
    column& here = columns_[k];  // the recursion is at most once in each
    if (work_ != 0 && (steps_ += static_cast<std::size_t>(here.extent)) > work_) {
      gave_up_ = true;
      return dead;
    }
    char* const allowed = here.allowed.data();
    const int* next = nullptr;
    if (here.tile == none) {
      std::fill(here.allowed.begin(), here.allowed.end(), char{1});
    } else {
      const product_table& table = tables_[here.tile];
      if (k > 0 && here.tile != columns_[k - 1].tile) state = 0;
      const auto row = static_cast<std::size_t>(state) * table.n;
      next = table.next.data() + row;
      for (std::size_t v = 0; v < table.n; ++v) allowed[v] = here.inclusive ? table.part[row + v] : next[v] >= 0;
    }
    for (const auto d : here.due) try_all(conditions_[d], here.extent, allowed);
    node_store::edge* end = here.edges.data();
    const bool last = k + 1 == columns_.size();
    for (int v = 0; v < here.extent; ++v) {
      if (!allowed[v]) continue;
      std::uint32_t below = 0;
      if (!last) {
        for (const auto& [c, slot] : here.writes) conditions_[c].arguments[slot] = v;
        below = enumerate(store, k + 1, next == nullptr || here.inclusive ? v : next[v]);
        if (gave_up_) return dead;
        if (below == dead) continue;
      }
      *end++ = {v, below};
    }
    if (end == here.edges.data()) return dead;
    return here.latest = store.intern(static_cast<std::uint32_t>(k), {here.edges.data(), end}, here.latest);
  }

  // --- all together ---

  struct level {
    std::vector<std::size_t> steps;         ///< automata that read here: 2 * its index, + 1 if it reads the product
    std::vector<std::size_t> open;          ///< automata begun above and not at their end: part of the key
    bool tile_open = false;                 ///< a tile axis begun above goes on here
    word_map known{};                       ///< key -> node
    std::vector<std::uint32_t> before{};    ///< where the automata of the steps stood
    std::vector<node_store::edge> edges{};  ///< of the node being made
  };

  [[nodiscard]] bool conjoin(decision_diagram& d) {
    levels_ = std::vector<level>(order_.size());
    nodes_.clear();
    for (std::size_t i = 0; i < automata_.size(); ++i) {
      const auto& a = automata_[i];
      nodes_.push_back(a.root);
      if (a.root == dead) return d.root_ = dead, true;
      for (const auto v : a.variables) levels_[v / 2].steps.push_back(2 * i + v % 2);
      for (std::size_t k = a.variables.front() / 2 + 1; k <= a.variables.back() / 2; ++k) levels_[k].open.push_back(i);
    }
    std::size_t longest = 0;
    for (std::size_t k = 0; k < order_.size(); ++k) {
      auto& here = levels_[k];
      const auto t = tile_of_[order_[k]];
      here.tile_open = k > 0 && t != none && tile_of_[order_[k - 1]] == t;
      const auto words = here.open.size() + (here.tile_open ? 1 : 0);
      longest = std::max(longest, words);
      here.known = word_map(words);
      here.before = std::vector<std::uint32_t>(here.steps.size());
    }
    key_ = std::vector<std::uint32_t>(longest);
    steps_ = 0;
    gave_up_ = false;
    limited_ = work_ != 0 && !automata_.empty();
    d.root_ = descend(d.store_, 0, 0);
    return !gave_up_;
  }

  std::uint32_t descend(node_store& store, std::size_t k, int state) {
    if (k == order_.size()) return 0;
    level& here = levels_[k];  // the recursion is at most once in each
    std::size_t words = 0;
    for (const auto a : here.open) key_[words++] = nodes_[a];
    if (here.tile_open)
      key_[words++] = static_cast<std::uint32_t>(state);
    else
      state = 0;
    const auto [at, known] = here.known.find_or_add(key_.data());
    if (known) return here.known[at];
    here.edges.clear();
    const int extent = problem_.extents[order_[k]];
    if (limited_ && (steps_ += static_cast<std::size_t>(extent)) > work_) gave_up_ = true;
    const auto tile = tile_of_[order_[k]];
    const product_table* const table = tile == none ? nullptr : &tables_[tile];
    for (std::size_t i = 0; i < here.steps.size(); ++i) here.before[i] = nodes_[here.steps[i] / 2];
    for (int v = 0; v < extent && !gave_up_; ++v) {
      int next = v;
      if (table != nullptr)
        next = table->next[static_cast<std::size_t>(state) * table->n + static_cast<std::size_t>(v)];
      if (next < 0) continue;
      for (std::size_t i = 0; i < here.steps.size(); ++i) nodes_[here.steps[i] / 2] = here.before[i];
      bool alive = true;
      for (std::size_t i = 0; i < here.steps.size() && alive; ++i) {
        const auto a = here.steps[i] / 2;
        nodes_[a] = automata_[a].store.child(nodes_[a], here.steps[i] % 2 != 0 ? next : v);
        alive = nodes_[a] != dead;
      }
      if (!alive) continue;
      const std::uint32_t below = descend(store, k + 1, next);
      if (below != dead) here.edges.push_back({v, below});
    }
    for (std::size_t i = 0; i < here.steps.size(); ++i) nodes_[here.steps[i] / 2] = here.before[i];
    return here.known[at] = gave_up_ ? dead : store.intern(static_cast<std::uint32_t>(k), here.edges);
  }

  /// The rule whose diagram is the biggest.
  [[nodiscard]] std::size_t biggest() const {
    const automaton* most = &automata_.front();
    for (const auto& a : automata_)
      if (a.store.size() > most->store.size()) most = &a;
    return most->rule;
  }

  const diagram_problem& problem_;
  const std::vector<diagram_rule>& rules_;
  std::size_t work_;
  std::vector<product_table> tables_;
  std::vector<std::size_t> tile_of_;              ///< of each coordinate: index into tables_, or none
  std::vector<std::size_t> order_;                ///< coordinates from the root down
  std::vector<std::size_t> level_of_;             ///< of each coordinate
  std::vector<std::vector<variable>> variables_;  ///< of each rule
  std::vector<automaton> automata_;

  std::size_t steps_ = 0;
  bool gave_up_ = false;
  bool limited_ = false;
  std::vector<column> columns_;
  std::vector<condition> conditions_;
  std::vector<level> levels_;
  std::vector<std::uint32_t> nodes_;  ///< where each automaton stands
  std::vector<std::uint32_t> key_;
};

inline decision_diagram::result decision_diagram::build(const diagram_problem& problem,
                                                        const std::vector<diagram_rule>& rules,
                                                        const std::vector<std::size_t>& members, std::size_t work) {
  return conjunction(problem, rules, members, work).run();
}

}  // namespace tileseek::detail
