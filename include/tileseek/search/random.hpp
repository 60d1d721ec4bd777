#pragma once
// Uniform random search without repetition: the baseline that every other strategy has to beat.

#include <cstddef>
#include <span>
#include <unordered_set>
#include <vector>

#include <tileseek/search/strategy.hpp>

namespace tileseek {

/// Draws feasible configurations uniformly, each at most once. When draws keep hitting known ones (64 in a row, so that less than about
/// a tenth of the space is left), it goes over the ranks from a random one on, and it ends when the space is exhausted.
class random {
 public:
  [[nodiscard]] std::vector<point> ask(const lattice& space, tileseek::rng& rng, std::size_t n) {
    std::vector<point> out;
    while (out.size() < n) {
      auto p = fresh(space, rng);
      if (!p) break;
      out.push_back(std::move(*p));
    }
    return out;
  }

  void tell(const lattice& /*space*/, std::span<const trial> done) {
    for (const auto& t : done) seen_.insert(t.at);
  }

 private:
  [[nodiscard]] std::optional<point> fresh(const lattice& space, tileseek::rng& rng) {
    for (int tries = 0; tries < 64; ++tries)
      if (auto p = space.sample(rng); seen_.insert(p).second) return p;
    const std::uint64_t end = space.rank_end();
    std::uint64_t r = rng.below(end);
    for (std::uint64_t i = 0; i < end; ++i, r = r + 1 == end ? 0 : r + 1)
      if (auto p = space.unrank(r); p && seen_.insert(*p).second) return p;
    return std::nullopt;
  }

  std::unordered_set<point, point_hash> seen_;
};

static_assert(SearchStrategy<random>);

}  // namespace tileseek
