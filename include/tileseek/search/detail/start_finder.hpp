#pragma once
// What the local searches share: where to start, and where to start again.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <tileseek/search/coroutine.hpp>
#include <tileseek/search/maximin.hpp>

namespace tileseek::detail {

/// Finds starts for a search coroutine:
///
///   starts.begin(given);
///   for (auto batch = starts.wants(); !batch.empty(); batch = starts.wants()) starts.take(co_yield std::move(batch));
///   if (!starts.found()) co_return;
///
/// The first start is the given point, or else the best of what was told and of `explore` points far apart (told ones
/// count as such); later ones are the best of `restart_from` uniform points. A point that failed is no start, for it
/// does not say which way is down: then more uniform points are drawn, until none is left.
class start_finder {
 public:
  start_finder(search_context& here, std::size_t explore, std::size_t restart_from)
      : here_(here), apart_(here.space()), explore_(explore), restart_from_(std::max<std::size_t>(restart_from, 1)) {
    for (const auto& t : here.unasked()) apart_.keep_away_from(t.at);
  }

  /// @param given  heeded by the first call only
  void begin(std::optional<point> given = std::nullopt) {
    found_.reset();
    given_.reset();
    if (!first_) {
      draws_ = restart_from_;
    } else if (given) {
      given_ = std::move(given);
      draws_ = 0;
    } else {
      draws_ = explore_ - std::min(explore_, here_.known().size());
      if (here_.known().best()) consider(*here_.known().best());
    }
  }

  /// The points to ask next; none when a start is found, or none is to be had.
  [[nodiscard]] std::vector<point> wants() {
    std::vector<point> batch;
    if (given_) {
      if (here_.known().mark(*given_))
        batch.push_back(*given_);
      else
        consider(*given_);
      given_.reset();
    }
    const auto draw = [&] {
      for (; draws_ > 0; --draws_) {
        auto p = first_ ? apart_.next(here_.space(), here_.known(), here_.random())
                        : here_.known().fresh(here_.space(), here_.random());
        if (!p) break;
        batch.push_back(std::move(*p));
      }
    };
    draw();
    if (batch.empty() && !found_) {
      draws_ = restart_from_;
      draw();
    }
    if (batch.empty()) first_ = false;
    return batch;
  }

  void take(const std::vector<trial>& done) {
    for (const auto& t : done) consider(t.at);
  }

  [[nodiscard]] const std::optional<point>& found() const noexcept { return found_; }

 private:
  void consider(const point& p) {
    const double cost = here_.known().cost(p);
    if (std::isfinite(cost) && (!found_ || cost < here_.known().cost(*found_))) found_ = p;
  }

  search_context& here_;
  spreader apart_;
  std::size_t explore_;
  std::size_t restart_from_;
  bool first_ = true;
  std::size_t draws_ = 0;
  std::optional<point> given_;
  std::optional<point> found_;
};

}  // namespace tileseek::detail
