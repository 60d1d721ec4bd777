#pragma once
// A point of a lattice: for each coordinate the index of its value. All that a search strategy knows of a
// configuration.

#include <cstddef>
#include <cstdint>
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

/// A point and what came of measuring it.
struct trial {
  point at;
  measurement result;
};

}  // namespace tileseek
