#pragma once
// A point of a lattice: for each coordinate the index of its value. All that a search strategy knows of a
// configuration.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <tileseek/core/measurement.hpp>

namespace tileseek {

/// One index per coordinate, 0 <= p[d] < lattice.extent(d).
using point = std::vector<int>;

/// Hash of a point, for unordered containers; the same on every platform (FNV-1a over the indices, then mixed).
struct point_hash {
  [[nodiscard]] std::size_t operator()(const point& p) const noexcept {
    std::uint64_t h = 0xcbf29ce484222325ULL;
    for (const int i : p) h = (h ^ static_cast<std::uint32_t>(i)) * 0x100000001b3ULL;
    return static_cast<std::size_t>(h ^ (h >> 32));
  }
};

/// Points, numbered from 0 in the order in which they were first added (open addressing).
class point_index {
 public:
  static constexpr std::size_t none = ~std::size_t{0};

  [[nodiscard]] std::size_t size() const noexcept { return points_.size(); }
  [[nodiscard]] const point& operator[](std::size_t number) const noexcept { return points_[number]; }

  /// The point's number; `none` if it was not added.
  [[nodiscard]] std::size_t find(const point& p) const noexcept {
    return slots_.empty() ? none : slots_[slot_of(p)] - 1;  // wraps: an empty slot is none
  }

  /// The point's number; second: whether it is new.
  std::pair<std::size_t, bool> add(const point& p) {
    if (2 * (points_.size() + 1) > slots_.size()) grow();
    std::size_t& slot = slots_[slot_of(p)];
    if (slot != 0) return {slot - 1, false};
    points_.push_back(p);
    slot = points_.size();
    return {slot - 1, true};
  }

 private:
  /// Where the point is, or is to be. @pre there is an empty slot
  [[nodiscard]] std::size_t slot_of(const point& p) const noexcept {
    std::size_t s = point_hash{}(p);
    for (;; ++s) {
      s &= slots_.size() - 1;
      if (slots_[s] == 0 || points_[slots_[s] - 1] == p) return s;
    }
  }
  void grow() {
    slots_ = std::vector<std::size_t>(slots_.empty() ? 16 : 2 * slots_.size());
    for (std::size_t i = 0; i < points_.size(); ++i) slots_[slot_of(points_[i])] = i + 1;
  }

  std::vector<point> points_;
  std::vector<std::size_t> slots_;  ///< 1 + number; 0: empty
};

/// A point and what came of measuring it.
struct trial {
  point at;
  measurement result;
};

}  // namespace tileseek
