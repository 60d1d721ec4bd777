#pragma once
// Uniform random search without repetition: the baseline that every other strategy has to beat.

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <tileseek/search/history.hpp>
#include <tileseek/search/strategy.hpp>

namespace tileseek {

/// Draws feasible configurations uniformly, each at most once and none that was told; ends when the space is exhausted.
class random {
 public:
  [[nodiscard]] static constexpr std::string_view name() noexcept { return "random"; }

  [[nodiscard]] std::vector<point> ask(const lattice& space, tileseek::rng& rng, std::size_t n) {
    std::vector<point> out;
    while (out.size() < n) {
      auto p = history_.fresh(space, rng);
      if (!p) break;
      out.push_back(std::move(*p));
    }
    return out;
  }

  void tell(const lattice& /*space*/, std::span<const trial> done) {
    for (const auto& t : done) history_.mark(t.at);
  }

 private:
  history history_;
};

static_assert(SearchStrategy<random>);

}  // namespace tileseek
