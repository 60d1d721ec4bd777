#pragma once
// What a strategy has asked for and been told: its memory. It answers whether a point is known, what it cost, which is
// the best, and draws points that are not known yet.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <tileseek/core/point.hpp>
#include <tileseek/core/rng.hpp>
#include <tileseek/space/lattice.hpp>

namespace tileseek {

/// Points a strategy knows, each marked as asked or told. A point told twice counts with its latest result.
class history {
 public:
  /// Notes that the point was, or is about to be, asked. False if it was known before.
  bool mark(const point& p) {
    const auto known_before = known_.size();
    return number_of(p) == known_before;
  }

  void tell(const trial& t) {
    entry& e = entries_[number_of(t.at)];
    if (!e.told) ++told_;
    e.told = true;
    e.cost = t.result.cost();
    e.seconds = t.result.seconds;
    if (best_ && *best_ == t.at && e.cost > best_cost_) {
      find_best();  // the best was measured again and is worse than was thought
    } else if (!best_ || e.cost < best_cost_) {
      best_ = t.at;
      best_cost_ = e.cost;
    }
  }

  void tell(std::span<const trial> done) {
    for (const auto& t : done) tell(t);
  }

  /// Whether the point was asked or told.
  [[nodiscard]] bool knows(const point& p) const { return known_.find(p) != point_index::none; }

  [[nodiscard]] bool told(const point& p) const {
    const auto i = known_.find(p);
    return i != point_index::none && entries_[i].told;
  }

  /// What the point cost in seconds; infinite when it failed and while it is not told.
  [[nodiscard]] double cost(const point& p) const {
    const auto i = known_.find(p);
    return i == point_index::none ? std::numeric_limits<double>::infinity() : entries_[i].cost;
  }

  /// The samples of the point in seconds; none while it is not told.
  [[nodiscard]] std::span<const double> samples(const point& p) const {
    const auto i = known_.find(p);
    if (i == point_index::none) return {};
    return entries_[i].seconds;
  }

  /// The number of points told.
  [[nodiscard]] std::size_t size() const noexcept { return told_; }

  /// The point that costs least; the one told first among equals; nothing before the first tell. It may be a failure
  /// when all are.
  [[nodiscard]] const std::optional<point>& best() const noexcept { return best_; }
  [[nodiscard]] double best_cost() const noexcept { return best_cost_; }

  /// A uniform feasible point that is not known, marked as asked; nothing when none is left.
  ///
  /// Draws until it hits one. When 64 draws in a row hit known points, so that less than about a tenth of the space is
  /// left, it lists what is left, once, and goes through it in random order. Where rules checked by rejection leave few
  /// points of too many ranks to list (more than 2^24), it gives up after 4096 draws in a row.
  [[nodiscard]] std::optional<point> fresh(const lattice& space, rng& random) {
    if (!listed_) {
      const bool listable = space.rank_end() <= (std::uint64_t{1} << 24);
      for (int tries = 0; tries < (listable ? 64 : 4096); ++tries)
        if (auto p = space.sample(random); mark(p)) return p;
      if (!listable) return std::nullopt;
      for (std::uint64_t r = 0; r < space.rank_end(); ++r)
        if (const auto p = space.unrank(r); p && !knows(*p)) left_.push_back(r);
      random.shuffle(std::span(left_));
      listed_ = true;
    }
    while (!left_.empty()) {
      auto p = space.unrank(left_.back());
      left_.pop_back();
      if (p && mark(*p)) return p;
    }
    return std::nullopt;
  }

 private:
  struct entry {
    bool told = false;
    double cost = std::numeric_limits<double>::infinity();
    std::vector<double> seconds{};
  };

  /// The point's place among the known; it is known from now on.
  [[nodiscard]] std::size_t number_of(const point& p) {
    const auto [number, is_new] = known_.add(p);
    if (is_new) entries_.emplace_back();
    return number;
  }

  void find_best() {  // rare; the least point among equals
    best_.reset();
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const entry& e = entries_[i];
      if (e.told && (!best_ || e.cost < best_cost_ || (e.cost == best_cost_ && known_[i] < *best_))) {
        best_ = known_[i];
        best_cost_ = e.cost;
      }
    }
  }

  point_index known_;
  std::vector<entry> entries_;  ///< of each of them
  std::optional<point> best_;
  double best_cost_ = std::numeric_limits<double>::infinity();
  std::size_t told_ = 0;
  std::vector<std::uint64_t> left_;  ///< ranks not known when they were listed, in random order
  bool listed_ = false;
};

}  // namespace tileseek
