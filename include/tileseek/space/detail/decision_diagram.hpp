#pragma once
// The feasible tuples of one group of coordinates as a reduced ordered multi-valued decision diagram: equal sub-diagrams
// are stored once, each edge carries the number of tuples up to and including it, so that counting is reading the root,
// and ranking, unranking (hence uniform sampling) and nearest-tuple queries are walks from the root.
// (Srinivasan, Kam, Malik, Brayton, "Algorithms for discrete function manipulation", ICCAD 1990; the chain of trees of
// Rasch et al., ATF, TACO 2021, is the same without sharing.)

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tileseek::detail {

/// The values of these coordinates (all indices into `divisors`) multiply to a divisor of the extent.
struct product_rule {
  std::vector<std::size_t> coordinates;
  std::vector<std::int64_t> divisors;
  std::int64_t extent = 1;
};

/// A black-box condition on some coordinates.
struct diagram_rule {
  const std::vector<std::size_t>* coordinates;
  const std::function<bool(const int*)>* holds;
};

struct diagram_problem {
  std::vector<int> extents;
  std::vector<product_rule> products;
};

/// The coordinates, split into groups that no rule connects; each sorted, in order of their first member.
[[nodiscard]] inline std::vector<std::vector<std::size_t>> components(
    const diagram_problem& problem, const std::vector<const std::vector<std::size_t>*>& scopes) {
  std::vector<std::size_t> parent(problem.extents.size());
  std::iota(parent.begin(), parent.end(), std::size_t{0});
  const auto root = [&](std::size_t c) {
    while (parent[c] != c) c = parent[c] = parent[parent[c]];
    return c;
  };
  const auto join = [&](const std::vector<std::size_t>& together) {
    for (const auto c : together) {
      const auto a = root(c);
      const auto b = root(together.front());
      parent[std::max(a, b)] = std::min(a, b);
    }
  };
  for (const auto& p : problem.products) join(p.coordinates);
  for (const auto* s : scopes) join(*s);
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

class decision_diagram {
 public:
  /// Nothing when more than `work` steps (edges tried) are needed; 0 means no limit.
  /// @throws std::length_error  more than 2^64 - 1 tuples in one group
  [[nodiscard]] static std::optional<decision_diagram> build(const diagram_problem& problem,
                                                             const std::vector<diagram_rule>& rules,
                                                             const std::vector<std::size_t>& members, std::size_t work) {
    builder b(problem, rules, members, work);
    decision_diagram d;
    if (!b.run(d)) return std::nullopt;
    return d;
  }

  /// The diagram of an explicit list of tuples over all coordinates of the problem. Repeats count once.
  [[nodiscard]] static decision_diagram of(const diagram_problem& problem, std::vector<std::vector<int>> tuples) {
    std::vector<std::size_t> members(problem.extents.size());
    std::iota(members.begin(), members.end(), std::size_t{0});
    std::sort(tuples.begin(), tuples.end());
    tuples.erase(std::unique(tuples.begin(), tuples.end()), tuples.end());
    const std::vector<diagram_rule> none;
    builder b(problem, none, members, 0);
    decision_diagram d;
    b.run(d, tuples);
    return d;
  }

  [[nodiscard]] std::uint64_t size() const noexcept { return total_; }
  [[nodiscard]] std::size_t first() const noexcept { return *std::min_element(order_.begin(), order_.end()); }
  [[nodiscard]] std::size_t edges() const noexcept { return edges_.size(); }

  [[nodiscard]] bool contains(const int* p) const noexcept {
    if (total_ == 0) return false;
    std::size_t node = root_;
    for (const auto c : order_) {
      const auto [begin, end] = nodes_[node];
      const auto last = edges_.begin() + end;
      const auto e = std::lower_bound(edges_.begin() + begin, last, p[c],
                                      [](const edge& x, int value) { return x.value < value; });
      if (e == last || e->value != p[c]) return false;
      node = e->child;
    }
    return true;
  }

  /// Writes the coordinates of the tuple with this rank into p. @pre rank < size()
  void unrank(std::uint64_t rank, int* p) const noexcept {
    std::size_t node = root_;
    for (const auto c : order_) {
      const auto [begin, end] = nodes_[node];
      const auto first = edges_.begin() + begin;
      const auto e = std::upper_bound(first, edges_.begin() + end, rank,
                                      [](std::uint64_t r, const edge& x) { return r < x.up_to; });
      if (e != first) rank -= std::prev(e)->up_to;
      p[c] = e->value;
      node = e->child;
    }
  }

  /// The inverse of unrank. @pre the tuple in p is in the diagram
  [[nodiscard]] std::uint64_t rank(const int* p) const noexcept {
    std::uint64_t r = 0;
    std::size_t node = root_;
    for (const auto c : order_) {
      const auto [begin, end] = nodes_[node];
      const auto first = edges_.begin() + begin;
      const auto e = std::lower_bound(first, edges_.begin() + end, p[c],
                                      [](const edge& x, int value) { return x.value < value; });
      if (e != first) r += std::prev(e)->up_to;
      node = e->child;
    }
    return r;
  }

  /// Writes the tuple with the least sum of cost(coordinate, value) into p: a shortest path. @pre size() > 0
  template <class Cost>
  void nearest(const Cost& cost, int* p) const {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    // Children are stored before their parents, hence one pass in storage order.
    std::vector<double> least(nodes_.size(), infinite);
    std::vector<std::uint32_t> via(nodes_.size(), 0);
    least[0] = 0;  // the terminal node
    for (std::size_t n = 1; n < nodes_.size(); ++n)
      for (auto e = nodes_[n].first; e < nodes_[n].second; ++e) {
        const double through = cost(order_[depth_[n]], edges_[e].value) + least[edges_[e].child];
        if (through < least[n]) least[n] = through, via[n] = e;
      }
    std::size_t node = root_;
    for (const auto c : order_) {
      const edge& e = edges_[via[node]];
      p[c] = e.value;
      node = e.child;
    }
  }

 private:
  struct edge {
    std::int32_t value;
    std::uint32_t child;
    std::uint64_t up_to;  ///< tuples below this edge and its elder siblings
  };

  std::vector<std::size_t> order_;                                ///< coordinates from the root down
  std::vector<std::pair<std::uint32_t, std::uint32_t>> nodes_;    ///< edges [first, second); node 0 is the terminal
  std::vector<std::uint32_t> depth_;                              ///< of each node
  std::vector<edge> edges_;
  std::size_t root_ = 0;
  std::uint64_t total_ = 0;

  class builder {
   public:
    builder(const diagram_problem& problem, const std::vector<diagram_rule>& rules,
            const std::vector<std::size_t>& members, std::size_t work)
        : problem_(problem), rules_(rules), work_(work), point_(problem.extents.size(), 0) {
      for (const auto& p : problem.products)
        if (!p.coordinates.empty() && std::binary_search(members.begin(), members.end(), p.coordinates.front()))
          products_.push_back(table_of(p));
      choose_order(members);
      plan();
    }

    /// From sorted tuples without repeats, in the coordinates' own order.
    void run(decision_diagram& d, std::span<const std::vector<int>> tuples) {
      std::sort(order_.begin(), order_.end());
      start(d);
      const auto root = gather(0, tuples);
      d.root_ = root.node;
      d.total_ = root.count;
    }

    [[nodiscard]] bool run(decision_diagram& d) {
      start(d);
      std::vector<int> states(products_.size(), 0);
      memo_.reserve(order_.size());
      for (const auto& l : levels_) memo_.emplace_back(l.keys);
      const auto root = descend(0, states);
      if (gave_up_) return false;
      if (root.count > 0) {
        d.root_ = root.node;
        d.total_ = root.count;
      }
      return true;
    }

   private:
    struct found {
      std::uint32_t node = 0;
      std::uint64_t count = 0;
      bool known = false;
    };
    /// What was found below a level for each key: a plain table when the keys are few, a hash map otherwise.
    class memo {
     public:
      explicit memo(std::uint64_t keys) : table_(keys <= 65536 ? keys : 0) {}
      [[nodiscard]] const found* find(std::uint64_t key) const {
        if (!table_.empty()) return table_[key].known ? &table_[key] : nullptr;
        const auto it = map_.find(key);
        return it == map_.end() ? nullptr : &it->second;
      }
      void insert(std::uint64_t key, found f) {
        f.known = true;
        if (!table_.empty())
          table_[key] = f;
        else
          map_.emplace(key, f);
      }

     private:
      std::vector<found> table_;
      std::unordered_map<std::uint64_t, found> map_;
    };
    struct product_table {
      const product_rule* rule;
      std::vector<int> next;  ///< [state x divisor] -> state, -1: does not divide; a state is the divisor reached so far
    };
    struct level {
      std::vector<const std::function<bool(const int*)>*> due;  ///< rules whose last coordinate this is
      std::vector<std::size_t> products;                        ///< products that this coordinate is a factor of
      std::vector<std::size_t> frontier;                        ///< earlier coordinates that rules here or below read
      std::vector<std::size_t> open;                            ///< products begun above with a factor here or below
      std::uint64_t keys = 0;  ///< number of different memo keys; 0: paths cannot meet here, or the keys do not fit
    };
    [[nodiscard]] static product_table table_of(const product_rule& p) {
      const auto n = p.divisors.size();
      product_table t{&p, std::vector<int>(n * n, -1)};
      for (std::size_t s = 0; s < n; ++s)
        for (std::size_t f = 0; f < n; ++f) {
          if ((p.extent / p.divisors[s]) % p.divisors[f] != 0) continue;
          const auto product = p.divisors[s] * p.divisors[f];
          t.next[s * n + f] =
              static_cast<int>(std::lower_bound(p.divisors.begin(), p.divisors.end(), product) - p.divisors.begin());
        }
      return t;
    }

    void start(decision_diagram& d) {
      out_ = &d;
      d.order_ = order_;
      d.nodes_.emplace_back(0, 0);
      d.depth_.push_back(0);
      pool_.resize(order_.size());
    }

    found gather(std::size_t k, std::span<const std::vector<int>> tuples) {
      if (k == order_.size() || tuples.empty()) return {0, tuples.empty() ? 0U : 1U, true};
      auto& edges = pool_[k];
      edges.clear();
      std::uint64_t count = 0;
      while (!tuples.empty()) {
        const int v = tuples.front()[k];
        const auto run = static_cast<std::size_t>(
            std::find_if(tuples.begin(), tuples.end(), [&](const auto& t) { return t[k] != v; }) - tuples.begin());
        const found below = gather(k + 1, tuples.first(run));
        count += below.count;
        edges.push_back({v, below.node, count});
        tuples = tuples.subspan(run);
      }
      return {intern(static_cast<std::uint32_t>(k), edges), count, true};
    }

    /// From the last coordinate back: the one that leaves the narrowest frontier (the product of the extents of the
    /// coordinates above that rules below still read), so that as many paths as possible meet; ties keep the user's order.
    void choose_order(const std::vector<std::size_t>& members) {
      std::vector<std::vector<std::size_t>> scopes;
      for (const auto& r : rules_) scopes.push_back(*r.coordinates);
      for (const auto& p : products_) scopes.push_back(p.rule->coordinates);
      std::vector<bool> placed(point_.size(), false);
      std::vector<std::size_t> rest = members;
      std::vector<bool> marked(point_.size());
      while (!rest.empty()) {
        double best_width = std::numeric_limits<double>::infinity();
        std::size_t best = 0;
        for (std::size_t i = 0; i < rest.size(); ++i) {
          std::fill(marked.begin(), marked.end(), false);
          double width = 0;
          for (const auto& s : scopes) {
            const bool below = std::any_of(s.begin(), s.end(), [&](std::size_t c) { return placed[c] || c == rest[i]; });
            if (!below) continue;
            for (const auto c : s)
              if (!placed[c] && c != rest[i] && !marked[c]) {
                marked[c] = true;
                width += std::log2(static_cast<double>(problem_.extents[c]));
              }
          }
          if (width <= best_width) best_width = width, best = i;
        }
        placed[rest[best]] = true;
        order_.push_back(rest[best]);
        rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(best));
      }
      std::reverse(order_.begin(), order_.end());
    }

    void plan() {
      std::vector<std::size_t> at(point_.size(), 0);
      for (std::size_t k = 0; k < order_.size(); ++k) at[order_[k]] = k;
      levels_.resize(order_.size());
      const auto note_frontier = [&](const std::vector<std::size_t>& scope) {
        std::size_t last = 0;
        for (const auto c : scope) last = std::max(last, at[c]);
        for (const auto c : scope)
          for (std::size_t k = at[c] + 1; k <= last; ++k) levels_[k].frontier.push_back(c);
        return last;
      };
      for (const auto& r : rules_) levels_[note_frontier(*r.coordinates)].due.push_back(r.holds);
      for (std::size_t p = 0; p < products_.size(); ++p) {
        std::size_t begun = order_.size();
        std::size_t last = 0;
        for (const auto c : products_[p].rule->coordinates) {
          levels_[at[c]].products.push_back(p);
          begun = std::min(begun, at[c]);
          last = std::max(last, at[c]);
        }
        for (std::size_t k = begun + 1; k <= last; ++k) levels_[k].open.push_back(p);
      }
      for (std::size_t k = 0; k < levels_.size(); ++k) {
        auto& f = levels_[k].frontier;
        std::sort(f.begin(), f.end());
        f.erase(std::unique(f.begin(), f.end()), f.end());
        // When all of the path is still read, no two paths meet and a look-up would never hit.
        if (k == 0 || f.size() == k) continue;
        double keys = 1;
        for (const auto c : f) keys *= problem_.extents[c];
        for (const auto p : levels_[k].open) keys *= static_cast<double>(products_[p].rule->divisors.size());
        if (keys < 0x1p62) levels_[k].keys = static_cast<std::uint64_t>(keys);
      }
    }

    found descend(std::size_t k, std::vector<int>& states) {
      if (k == order_.size()) return {0, 1, true};
      const level& here = levels_[k];
      std::uint64_t key = 0;
      if (here.keys != 0) {
        for (const auto c : here.frontier)
          key = key * static_cast<std::uint64_t>(problem_.extents[c]) + static_cast<std::uint64_t>(point_[c]);
        for (const auto p : here.open)
          key = key * products_[p].rule->divisors.size() + static_cast<std::uint64_t>(states[p]);
        if (const found* known = memo_[k].find(key)) return *known;
      }
      auto& edges = pool_[k];  // one buffer a level: the recursion is at most once in each
      edges.clear();
      std::uint64_t count = 0;
      const auto c = order_[k];
      const int extent = problem_.extents[c];
      const int saved_state = here.products.empty() ? 0 : states[here.products.front()];
      for (int v = 0; v < extent && !gave_up_; ++v) {
        if (work_ != 0 && ++steps_ > work_) {
          gave_up_ = true;
          break;
        }
        if (!here.products.empty()) {
          const auto p = here.products.front();
          const auto n = products_[p].rule->divisors.size();
          const int next = products_[p].next[static_cast<std::size_t>(saved_state) * n + static_cast<std::size_t>(v)];
          if (next < 0) continue;
          states[p] = next;
        }
        point_[c] = v;
        bool holds = true;
        for (const auto* rule : here.due)
          if (!(*rule)(point_.data())) {
            holds = false;
            break;
          }
        if (!holds) continue;
        const found below = descend(k + 1, states);
        if (below.count == 0) continue;
        if (below.count > std::numeric_limits<std::uint64_t>::max() - count)
          throw std::length_error("space: more than 2^64 - 1 configurations in one group of coupled parameters");
        count += below.count;
        edges.push_back({v, below.node, count});
      }
      if (!here.products.empty()) states[here.products.front()] = saved_state;
      found result{0, count, true};
      if (count > 0 && !gave_up_) result.node = intern(static_cast<std::uint32_t>(k), edges);
      if (here.keys != 0 && !gave_up_) memo_[k].insert(key, result);
      return result;
    }

    /// The node with these edges, made if there is none.
    std::uint32_t intern(std::uint32_t k, const std::vector<edge>& edges) {
      std::uint64_t h = 0x9e3779b97f4a7c15ULL + k;
      for (const auto& e : edges) {
        h = (h ^ static_cast<std::uint32_t>(e.value)) * 0xff51afd7ed558ccdULL;
        h = ((h >> 31) ^ h ^ e.child) * 0xc4ceb9fe1a85ec53ULL;
      }
      h ^= h >> 32;
      if (2 * (out_->nodes_.size() + 1) > slots_.size()) grow();
      for (std::size_t s = h & (slots_.size() - 1);; s = (s + 1) & (slots_.size() - 1)) {
        if (slots_[s].node == 0) {
          const auto begin = static_cast<std::uint32_t>(out_->edges_.size());
          out_->edges_.insert(out_->edges_.end(), edges.begin(), edges.end());
          const auto node = static_cast<std::uint32_t>(out_->nodes_.size());
          out_->nodes_.emplace_back(begin, static_cast<std::uint32_t>(out_->edges_.size()));
          out_->depth_.push_back(k);
          slots_[s] = {h, node};
          return node;
        }
        if (slots_[s].hash != h || out_->depth_[slots_[s].node] != k) continue;
        const auto [begin, end] = out_->nodes_[slots_[s].node];
        if (end - begin == edges.size() &&
            std::equal(edges.begin(), edges.end(), out_->edges_.begin() + begin, [](const edge& a, const edge& b) {
              return a.value == b.value && a.child == b.child;
            }))
          return slots_[s].node;
      }
    }

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

    struct slot {
      std::uint64_t hash = 0;
      std::uint32_t node = 0;  ///< 0: empty
    };

    const diagram_problem& problem_;
    const std::vector<diagram_rule>& rules_;
    std::size_t work_;
    std::size_t steps_ = 0;
    bool gave_up_ = false;
    std::vector<int> point_;
    std::vector<product_table> products_;
    std::vector<std::size_t> order_;
    std::vector<level> levels_;
    std::vector<memo> memo_;
    std::vector<std::vector<edge>> pool_;
    std::vector<slot> slots_;
    decision_diagram* out_ = nullptr;
  };
};

}  // namespace tileseek::detail
