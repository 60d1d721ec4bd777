#pragma once
// The contract of ask and tell as checks that any strategy can be put through, with any test framework:
//
//   for (const auto& check : tileseek::testing::conformance())
//     CHECK_EQ(check.run([] { return my_strategy{}; }, {}), "");

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include <tileseek/search/any_strategy.hpp>
#include <tileseek/testing/landscapes.hpp>

namespace tileseek::testing {

namespace detail {
/// A strategy that lies somewhere else after every call.
template <SearchStrategy S>
class restless {
 public:
  explicit restless(S s) : held_(std::make_unique<S>(std::move(s))) {}

  [[nodiscard]] std::vector<point> ask(const lattice& space, rng& random, std::size_t n) {
    auto out = held_->ask(space, random, n);
    held_ = std::make_unique<S>(std::move(*held_));
    return out;
  }
  void tell(const lattice& space, std::span<const trial> done) {
    held_->tell(space, done);
    S here = std::move(*held_);
    *held_ = std::move(here);
  }

 private:
  std::unique_ptr<S> held_;
};
}  // namespace detail

/// Makes the strategy anew: a check needs several in the same state. Made from a callable that returns one.
class strategy_factory {
 public:
  template <class Make>
    requires(!std::same_as<std::remove_cvref_t<Make>, strategy_factory> &&
             SearchStrategy<std::invoke_result_t<const Make&>>)
  strategy_factory(Make make)  // NOLINT(google-explicit-constructor): meant to convert
      : plain_([make] { return any_strategy(make()); }),
        restless_([make] { return any_strategy(detail::restless<std::invoke_result_t<const Make&>>(make())); }) {}

  [[nodiscard]] any_strategy operator()() const { return plain_(); }
  /// The same, moved about all the time.
  [[nodiscard]] any_strategy restless() const { return restless_(); }

 private:
  std::function<any_strategy()> plain_;
  std::function<any_strategy()> restless_;
};

/// What the strategy promises beyond the contract.
struct promises {
  bool exhausts = true;             ///< goes on until every configuration is known; a single descent does not
  std::size_t finds_optimum = 400;  ///< evaluations within which it finds the optimum of a bowl of 1,728 points from
                                    ///< each of 3 seeds; 0 if it promises no such thing
  std::size_t idle = 20;            ///< asks in a row without a new point that it may need
};

/// One check. `run` gives what is wrong in a sentence; nothing when the strategy passes.
struct conformance_check {
  std::string_view name;
  std::function<std::string(const strategy_factory&, const promises&)> run;
};

namespace detail {

[[nodiscard]] inline std::string show(const point& p) {
  std::string out = "(";
  for (const int i : p) out += (out.size() == 1 ? "" : ", ") + std::to_string(i);
  return out + ")";
}

/// A driver that remembers what was asked and complains about points that must not be asked.
struct driver {
  const landscape& on;
  any_strategy strategy;
  rng random;
  std::string complaint;
  std::unordered_set<point, point_hash> known;
  std::size_t idle = 0;
  std::size_t most_idle = 0;

  driver(const landscape& l, any_strategy s, std::uint64_t seed) : on(l), strategy(std::move(s)), random(seed) {}

  std::vector<point> ask(std::size_t n) {
    auto out = strategy.ask(on.space, random, n);
    if (out.size() > n)
      complaint = "asked " + std::to_string(out.size()) + " points where at most " + std::to_string(n) + " were wanted";
    idle = out.empty() ? idle : idle + 1;
    for (const auto& p : out) {
      if (!on.space.feasible(p)) complaint = "asked " + show(p) + ", which is not feasible";
      if (known.insert(p).second) idle = 0;
    }
    most_idle = std::max(most_idle, idle);
    return out;
  }
  [[nodiscard]] std::vector<trial> measure(std::span<const point> points) const {
    std::vector<trial> out;
    for (const auto& p : points) out.push_back({p, on.measure(p)});
    return out;
  }
  void tell(std::span<const trial> done) {
    for (const auto& t : done) known.insert(t.at);
    strategy.tell(on.space, done);
  }
};

/// Runs until the strategy ends; complains if it does not, or leaves configurations out that it promised to visit.
[[nodiscard]] inline std::string run_out(driver& d, std::size_t batch, const promises& p,
                                         const std::function<std::vector<trial>(std::span<const point>)>& answer) {
  const auto size = static_cast<std::size_t>(d.on.space.size());
  for (;;) {
    const auto asked = d.ask(batch);
    if (!d.complaint.empty()) return d.complaint;
    if (asked.empty()) break;
    if (d.idle > p.idle)
      return "asked " + std::to_string(d.idle) + " times in a row for nothing new, knowing " +
             std::to_string(d.known.size()) + " of " + std::to_string(size) + " configurations";
    d.tell(answer(asked));
  }
  if (!d.ask(batch).empty()) return "asked again after it had ended";
  if (p.exhausts && d.known.size() != size)
    return "ended with " + std::to_string(d.known.size()) + " of " + std::to_string(size) + " configurations known";
  return {};
}

[[nodiscard]] inline landscape small() { return convex(3, 5); }

[[nodiscard]] inline std::string asks_feasible_points(const strategy_factory& make, const promises& promised) {
  for (const auto& on : all_landscapes())
    for (const std::size_t batch : {std::size_t{1}, std::size_t{7}, std::size_t{64}}) {
      driver d(on, make(), 3);
      while (d.known.size() < 150 && d.complaint.empty() && d.idle <= promised.idle) {
        const auto asked = d.ask(batch);
        if (asked.empty()) break;
        d.tell(d.measure(asked));
      }
      if (d.idle > promised.idle) d.complaint = "asked " + std::to_string(d.idle) + " times in a row for nothing new";
      if (!d.complaint.empty()) return "on '" + on.name + "', asked for " + std::to_string(batch) + ": " + d.complaint;
    }
  return {};
}

[[nodiscard]] inline std::string repeats_itself(const strategy_factory& make, const promises&) {
  for (const auto& on : {convex(), tiled(), failing()})
    for (const std::size_t batch : {std::size_t{1}, std::size_t{7}}) {
      driver a(on, make(), 11);
      driver b(on, make(), 11);
      for (int round = 0; round < 30; ++round) {
        const auto asked = a.ask(batch);
        if (asked != b.ask(batch)) return "the same seed and tells gave other points in round " + std::to_string(round);
        if (asked.empty()) break;
        a.tell(a.measure(asked));
        b.tell(b.measure(asked));
      }
    }
  return {};
}

[[nodiscard]] inline std::string moves(const strategy_factory& make, const promises&) {
  const landscape on = convex();
  for (const std::size_t batch : {std::size_t{1}, std::size_t{5}}) {
    driver a(on, make(), 5);
    driver b(on, make.restless(), 5);
    for (int round = 0; round < 30; ++round) {
      const auto asked = a.ask(batch);
      if (asked != b.ask(batch)) return "moved, it went on differently in round " + std::to_string(round);
      a.tell(a.measure(asked));
      b.tell(b.measure(asked));
    }
  }
  return {};
}

[[nodiscard]] inline std::string takes_points_never_asked(const strategy_factory& make, const promises& promised) {
  const landscape on = small();
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    driver d(on, make(), seed);
    rng other(seed + 100);
    std::vector<point> foreign;
    for (int i = 0; i < 20; ++i) foreign.push_back(on.space.sample(other));  // with repeats
    d.tell(d.measure(foreign));
    bool more = true;
    const auto complaint = run_out(d, 4, promised, [&](std::span<const point> asked) {
      auto done = d.measure(asked);
      if (std::exchange(more, !more)) {
        const point p = on.space.sample(other);
        done.insert(done.begin(), trial{p, on.measure(p)});
        done.push_back({p, on.measure(p)});
      }
      return done;
    });
    if (!complaint.empty()) return "told of points it had not asked, it " + complaint;
  }
  // Before anything was asked, everything is known.
  driver d(on, make(), 4);
  std::vector<point> all;
  for (std::uint64_t r = 0; r < on.space.size(); ++r) all.push_back(*on.space.unrank(r));
  d.tell(d.measure(all));
  return run_out(d, 4, promised, [&](std::span<const point> asked) { return d.measure(asked); });
}

[[nodiscard]] inline std::string takes_points_that_are_not_feasible(const strategy_factory& make, const promises&) {
  const landscape on = sparse();
  driver d(on, make(), 9);
  const auto nonsense = [&](double seconds) {
    measurement m;
    m.seconds = {seconds};
    point refused = on.best;
    refused[0] += refused[0] == 0 ? 1 : -1;
    point outside = on.best;
    outside[1] = on.space.extent(1);
    return std::vector<trial>{{refused, m}, {outside, m}, {point{1}, m}};
  };
  d.tell(nonsense(1e-9));  // better than anything there is
  for (int round = 0; round < 20 && d.complaint.empty(); ++round) {
    const auto asked = d.ask(8);
    d.tell(nonsense(1e-9));
    d.tell(d.measure(asked));
  }
  return d.complaint.empty() ? std::string{} : "told of points that are not feasible, it " + d.complaint;
}

[[nodiscard]] inline std::string takes_tells_in_any_order(const strategy_factory& make, const promises& promised) {
  const landscape on = small();
  driver d(on, make(), 8);
  rng order(77);
  return run_out(d, 16, promised, [&](std::span<const point> asked) {
    auto done = d.measure(asked);
    order.shuffle(std::span(done));
    d.tell({});
    while (done.size() > 1) {  // singly but for the last
      d.tell({&done.back(), 1});
      done.pop_back();
    }
    return done;
  });
}

[[nodiscard]] inline std::string waits(const strategy_factory& make, const promises&) {
  const landscape on = convex();
  driver d(on, make(), 6);
  if (!d.ask(0).empty()) return "asked points where none were wanted";
  std::vector<point> open;
  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < 3; ++i)
      for (auto& p : d.ask(3)) open.push_back(std::move(p));
    if (!d.complaint.empty()) return d.complaint;
    if (open.empty()) return round == 0 ? "asked nothing" : "";
    // Half of what is outstanding, the latest first; all of it every fourth time.
    const std::size_t keep = round % 4 == 3 ? 0 : open.size() / 2;
    const auto done = d.measure(std::span(open).subspan(keep));
    d.tell(done);
    open.resize(keep);
  }
  return {};
}

[[nodiscard]] inline std::string takes_failures(const strategy_factory& make, const promises& promised) {
  for (const status s : {status::build_failed, status::timed_out}) {
    const landscape on = small();
    driver d(on, make(), 2);
    const auto complaint = run_out(d, 7, promised, [&](std::span<const point> asked) {
      std::vector<trial> done;
      for (const auto& p : asked) done.push_back({p, failure(s, "always")});
      return done;
    });
    if (!complaint.empty()) return "told of failures only, it " + complaint;
  }
  // Failures first, then a space that works.
  const landscape on = small();
  driver d(on, make(), 2);
  std::size_t failures = 0;
  return run_out(d, 1, promised, [&](std::span<const point> asked) {
    if (++failures > 40) return d.measure(asked);
    return std::vector<trial>{{asked.front(), failure(status::crashed, "at first")}};
  });
}

[[nodiscard]] inline std::string ends_in_a_space_of_one_point(const strategy_factory& make, const promises& promised) {
  const landscape one{
      "one", lattice({{"x", {4}, true}, {"y", {1}, false}}, {}, {}), [](const point&) { return 1e-3; }, {0, 0}, 1e-3};
  const landscape empty{"nothing varies", lattice(), [](const point&) { return 1e-3; }, {}, 1e-3};
  promises all = promised;
  all.exhausts = true;  // one point is asked by every strategy
  for (const auto* on : {&one, &empty})
    for (const std::size_t batch : {std::size_t{1}, std::size_t{64}}) {
      driver d(*on, make(), 1);
      const auto complaint = run_out(d, batch, all, [&](std::span<const point> asked) { return d.measure(asked); });
      if (!complaint.empty()) return "where there is one configuration, it " + complaint;
    }
  return {};
}

[[nodiscard]] inline std::string exhausts(const strategy_factory& make, const promises& promised) {
  const std::vector<landscape> spaces = {small(), sparse(3, 8), choices(3, 4), failing(2, 8), plateaus(2, 9)};
  for (const auto& on : spaces)
    for (const std::size_t batch : {std::size_t{1}, std::size_t{7}, std::size_t{64}}) {
      driver d(on, make(), 21);
      const auto complaint =
          run_out(d, batch, promised, [&](std::span<const point> asked) { return d.measure(asked); });
      if (!complaint.empty()) return "on '" + on.name + "', asked for " + std::to_string(batch) + ", it " + complaint;
    }
  return {};
}

[[nodiscard]] inline std::string finds_the_bottom_of_a_bowl(const strategy_factory& make, const promises& promised) {
  if (promised.finds_optimum == 0) return {};
  const landscape on = convex(3, 12);
  for (const std::size_t batch : {std::size_t{1}, std::size_t{8}})
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      any_strategy s = make();
      const descent d = minimise(s, on, promised.finds_optimum, seed, batch);
      if (d.at != on.best)
        return "in " + std::to_string(d.curve.size()) + " evaluations from seed " + std::to_string(seed) + ", " +
               std::to_string(batch) + " at a time, it came to " + show(d.at) + ", not to " + show(on.best);
    }
  return {};
}

}  // namespace detail

/// All checks, in an order that finds the grossest faults first.
[[nodiscard]] inline std::span<const conformance_check> conformance() {
  static const std::vector<conformance_check> checks = {
      {"asks at most as many feasible points as wanted", detail::asks_feasible_points},
      {"the same seed and tells give the same asks", detail::repeats_itself},
      {"goes on identically after it was moved", detail::moves},
      {"takes points it never asked", detail::takes_points_never_asked},
      {"takes points that are not feasible", detail::takes_points_that_are_not_feasible},
      {"takes tells in any grouping and order", detail::takes_tells_in_any_order},
      {"waits for outstanding points", detail::waits},
      {"takes failures and goes on", detail::takes_failures},
      {"ends in a space of one point", detail::ends_in_a_space_of_one_point},
      {"ends when a space is exhausted", detail::exhausts},
      {"finds the bottom of a bowl", detail::finds_the_bottom_of_a_bowl},
  };
  return checks;
}

}  // namespace tileseek::testing
