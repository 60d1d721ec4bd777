#pragma once
// Every configuration once, in the order of their ranks.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <tileseek/search/strategy.hpp>

namespace tileseek {

/// Enumerates the space; ends after the last configuration. Points told without being asked are skipped.
class exhaustive {
 public:
  [[nodiscard]] static constexpr std::string_view name() noexcept { return "exhaustive"; }

  [[nodiscard]] std::vector<point> ask(const lattice& space, rng& /*random*/, std::size_t n) {
    std::vector<point> out;
    for (; out.size() < n && next_ < space.rank_end(); ++next_)
      if (auto p = space.unrank(next_); p && !told_.contains(*p)) out.push_back(std::move(*p));
    return out;
  }

  void tell(const lattice& space, std::span<const trial> done) {
    for (const auto& t : done)
      if (!space.feasible(t.at) || space.rank(t.at) >= next_) told_.insert(t.at);
  }

 private:
  std::uint64_t next_ = 0;
  std::unordered_set<point, point_hash> told_;
};

static_assert(SearchStrategy<exhaustive>);

}  // namespace tileseek
