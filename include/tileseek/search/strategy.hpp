#pragma once
// The contract of a search strategy. A strategy proposes points and is told what came of them; it owns its search state
// and nothing else: no I/O, no clock, no thread, no random numbers but those it is handed. Hence the same seed and
// tells give the same asks, a log can be replayed, and tests need no device.

#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <tileseek/core/point.hpp>
#include <tileseek/core/rng.hpp>
#include <tileseek/space/lattice.hpp>

namespace tileseek {

/// ask(lattice, random, n) returns at most n feasible points. No points while nothing is outstanding means the search
/// is finished; no points while some are outstanding means it waits for their results.
///
/// tell(lattice, trials) takes results in any grouping and order, among them points that were never asked (a warm
/// start, another tool's records) and failures, whose cost is infinite. A point may be asked that was told before: the
/// session answers it from memory without measuring or counting it.
///
/// The session hands over the same lattice and the same random stream throughout a run.
template <class S>
concept SearchStrategy = std::movable<S> &&
    requires(S s, const lattice& space, rng& random, std::size_t n, std::span<const trial> done) {
  { s.ask(space, random, n) } -> std::same_as<std::vector<point>>;
  { s.tell(space, done) } -> std::same_as<void>;
};

/// A strategy that can be sent elsewhere: start_at(p) makes it drop what it was about to do, keep what it knows, and go
/// on from the feasible point p, which it asks for only if it does not know it.
template <class S>
concept RestartableStrategy = SearchStrategy<S> && requires(S s, point p) {
  { s.start_at(std::move(p)) } -> std::same_as<void>;
};

/// A strategy that can tell what it still hopes for: gap() is the share of the best cost that it thinks it may still save
/// at the most, in [0, 1), as of its last ask; nothing if it has no opinion. A scheduler of several searches makes use of
/// it.
template <class S>
concept ForecastingStrategy = SearchStrategy<S> && requires(const S& s) {
  { s.gap() } -> std::convertible_to<std::optional<double>>;
};

}  // namespace tileseek
