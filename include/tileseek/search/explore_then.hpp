#pragma once
// Two strategies one after the other: the first explores, the second exploits what the first found best.
//
// A good descent needs a good start, and a start is found by looking around for a while: with the defaults, 12 points
// far apart, then coordinate descent from the best. On ten recorded kernels that takes 29 measurements to come within
// 10 % of the best; after 16 random points it takes 42, without exploring 66, and random search 164. When an
// exploitation ends or stalls, the next one starts from the next best, and after three new starts are explored for.
//
//   tileseek::explore_then search(tileseek::evolutionary{}, tileseek::droplet{{.restart = false}}, {.explore = 300});
//
// (Canesche, Verma, Quintao Pereira, "Explore as a Storm, Exploit as a Raindrop: On the Benefit of Fine-Tuning Kernel
// Schedulers with Coordinate Descent", 2024: 300 samples of an evolutionary search, then Droplet Search from the best.)

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <tileseek/search/droplet.hpp>
#include <tileseek/search/maximin.hpp>
#include <tileseek/search/strategy.hpp>

namespace tileseek {

struct explore_then_options {
  /// Points the explorer measures first; what was told before the first ask counts as explored. Published: 300.
  std::size_t explore = 12;
  /// Points it measures before each later exploitation. Of 2 to 24, 8 to 16 need the fewest measurements.
  std::size_t explore_again = 12;
  /// Starts taken from each exploration, the best first. 2 to 4 do equally well, 1 a little worse.
  std::size_t best = 3;
  /// An exploitation is given up after this many of its points in a row without a new best of its own; 0: never, for
  /// an exploiter that ends by itself. Droplets given up after 8 take 57 measurements where 24 and more take 46.
  std::size_t patience = 24;

  /// Calls visit(name, member, help) for every option.
  template <class Visit>
  friend void describe(explore_then_options& o, Visit&& visit) {
    visit("explore", o.explore, "points the explorer measures first");
    visit("explore_again", o.explore_again, "points it measures before each later exploitation");
    visit("best", o.best, "starts taken from each exploration");
    visit("patience", o.patience, "points without progress after which an exploitation is given up; 0: none");
  }
};

/// Explorer: any strategy. Exploiter: one that can be sent to a start (RestartableStrategy), which should end, as
/// `droplet` without restarts does, or be given a `patience`. Both are told everything. Ends when the explorer has
/// nothing more to ask.
template <SearchStrategy Explorer = maximin, RestartableStrategy Exploiter = droplet>
class explore_then {
 public:
  /// Points far apart, then a descent of Droplet Search from the best, again and again.
  explicit explore_then(
      explore_then_options options = {}) requires std::same_as<Explorer, maximin> && std::same_as<Exploiter, droplet>
      : explore_then(maximin{}, one_descent(), options) {}

  /// @throws std::invalid_argument  an option out of range
  explore_then(Explorer explorer, Exploiter exploiter, explore_then_options options = {})
      : options_(options), explorer_(std::move(explorer)), exploiter_(std::move(exploiter)), left_(options.explore) {
    const auto demand = [](bool holds, const char* option, const char* remedy) {
      if (!holds) throw std::invalid_argument("explore_then: option '" + std::string(option) + "' is 0; " + remedy);
    };
    demand(options.explore > 0, "explore", "at least 1 point is needed for a start; 12 is the default");
    demand(options.explore_again > 0, "explore_again", "at least 1 point is needed for a start; 12 is the default");
    demand(options.best > 0, "best", "at least 1 start is needed; 3 is the default");
  }

  [[nodiscard]] static constexpr std::string_view name() noexcept { return "explore_then"; }

  [[nodiscard]] std::vector<point> ask(const lattice& space, rng& random, std::size_t n) {
    if (n == 0) return {};
    for (;;) {
      if (exploiting_) {
        const bool stalled = options_.patience > 0 && idle_ >= options_.patience;
        if (!stalled) {
          auto out = exploiter_.ask(space, random, n);
          if (!out.empty() || !open_.empty()) return handed(std::move(out));
        }
        exploiting_ = false;
        if (!next_start()) left_ = options_.explore_again;
        continue;
      }
      if (left_ > 0 && !over_) {
        auto out = explorer_.ask(space, random, std::min(n, left_));
        left_ -= std::min(left_, out.size());
        if (!out.empty()) return handed(std::move(out));
        if (!open_.empty()) return {};
        over_ = true;  // it has ended: exploit what is there, then end
      }
      if (!open_.empty()) return {};
      // The exploration is measured.
      if (!next_start()) {
        if (over_) return {};
        left_ = options_.explore_again;  // nothing valid was found
      }
    }
  }

  void tell(const lattice& space, std::span<const trial> done) {
    explorer_.tell(space, done);
    exploiter_.tell(space, done);
    for (const auto& t : done) {
      const bool asked = open_.erase(t.at) > 0;
      const double cost = t.result.cost();
      if (exploiting_) {
        if (asked) ++idle_;
        if (cost < reached_) {
          reached_ = cost;
          if (asked) idle_ = 0;
        }
        continue;
      }
      if (!asked) left_ -= std::min<std::size_t>(left_, begun_ ? 0 : 1);
      if (std::isfinite(cost) && space.feasible(t.at)) found_.push_back({t.at, cost});
    }
  }

 private:
  struct start {
    point at;
    double cost;
  };

  [[nodiscard]] static droplet one_descent() {
    droplet_options o;
    o.restart = false;
    return droplet(std::move(o));
  }

  [[nodiscard]] std::vector<point> handed(std::vector<point> points) {
    begun_ = true;
    for (const auto& p : points) open_.insert(p);
    return points;
  }

  /// Sends the exploiter to the next of the best points that the last exploration found; false when there is none.
  bool next_start() {
    if (taken_ == 0)
      std::stable_sort(found_.begin(), found_.end(), [](const start& a, const start& b) { return a.cost < b.cost; });
    if (taken_ == std::min(options_.best, found_.size())) {
      found_.clear();
      taken_ = 0;
      return false;
    }
    const start& s = found_[taken_++];
    reached_ = s.cost;
    idle_ = 0;
    exploiting_ = true;
    exploiter_.start_at(s.at);
    return true;
  }

  explore_then_options options_;
  Explorer explorer_;
  Exploiter exploiter_;
  std::size_t left_;          ///< points to explore before the next exploitation
  std::vector<start> found_;  ///< by the last exploration; sorted once the first is taken
  std::size_t taken_ = 0;
  std::unordered_set<point, point_hash> open_;
  bool begun_ = false;
  bool exploiting_ = false;
  bool over_ = false;                                         ///< the explorer has ended
  double reached_ = std::numeric_limits<double>::infinity();  ///< by this exploitation
  std::size_t idle_ = 0;
};

explore_then(explore_then_options)->explore_then<maximin, droplet>;

static_assert(SearchStrategy<explore_then<>>);

}  // namespace tileseek
