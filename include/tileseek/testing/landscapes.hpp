#pragma once
// Synthetic search spaces with a known optimum, each with one difficulty that real kernels have. They need no device and
// take no time, so that a strategy is tested over many seeds.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tileseek/core/measurement.hpp>
#include <tileseek/core/point.hpp>
#include <tileseek/core/rng.hpp>
#include <tileseek/search/strategy.hpp>
#include <tileseek/space/lattice.hpp>

namespace tileseek::testing {

/// A lattice, what each of its points costs, and the best of them.
struct landscape {
  std::string name;
  lattice space;
  std::function<double(const point&)> cost;  ///< true seconds of a feasible point; infinite where it fails
  point best;                                ///< a point of least cost, the only one except on plateaus
  double best_cost = 0;                      ///< seconds
  double noise = 0;                          ///< standard deviation of a sample, as a share of the true cost
  std::size_t samples = 1;                   ///< taken by one measurement

  /// What measuring p gives. Samples depend on p, `noise` and the seed alone, so that measuring again repeats them.
  [[nodiscard]] measurement measure(const point& p, std::uint64_t seed = 0) const {
    if (!space.feasible(p)) return failure(status::run_failed, "not a point of the landscape");
    const double exact = cost(p);
    if (!std::isfinite(exact)) return failure(status::run_failed, "the landscape fails here");
    measurement m;
    rng random(seed ^ point_hash{}(p));
    for (std::size_t i = 0; i < samples; ++i)
      m.seconds.push_back(noise > 0 ? exact * std::max(0.01, 1 + noise * random.normal()) : exact);
    return m;
  }
};

namespace detail {
[[nodiscard]] inline coordinate numbers(std::string name, int extent) {
  coordinate c{std::move(name), {}, true};
  for (int i = 0; i < extent; ++i) c.values.push_back(i + 1);
  return c;
}
[[nodiscard]] inline std::vector<coordinate> axes(std::size_t dimensions, int extent) {
  std::vector<coordinate> out;
  for (std::size_t d = 0; d < dimensions; ++d) out.push_back(numbers("x" + std::to_string(d), extent));
  return out;
}
/// Off the centre and off the borders, differently on each axis.
[[nodiscard]] inline point off_centre(std::size_t dimensions, int extent) {
  point c;
  for (std::size_t d = 0; d < dimensions; ++d) c.push_back((extent * (d % 2 == 0 ? 2 : 5) + 3) / 7);
  return c;
}
[[nodiscard]] inline double square(double x) { return x * x; }
/// Sum over axes of the squared distance, each in units of its extent; later axes matter less.
[[nodiscard]] inline double bowl(const point& p, const point& c, int extent) {
  double sum = 0;
  for (std::size_t d = 0; d < p.size(); ++d)
    sum += square((p[d] - c[d]) / static_cast<double>(extent)) / (1.0 + static_cast<double>(d));
  return sum;
}
[[nodiscard]] inline std::vector<double> divisors(int n) {
  std::vector<double> out;
  for (int i = 1; i <= n; ++i)
    if (n % i == 0) out.push_back(i);
  return out;
}
constexpr double ms = 1e-3;
}  // namespace detail

/// A bowl: every descent along the axes ends in the optimum.
[[nodiscard]] inline landscape convex(std::size_t dimensions = 4, int extent = 12) {
  const point c = detail::off_centre(dimensions, extent);
  return {"convex", lattice(detail::axes(dimensions, extent), {}, {}),
          [=](const point& p) { return detail::ms * (1 + 8 * detail::bowl(p, c, extent)); }, c, detail::ms};
}

/// A narrow valley at 45 degrees to the axes: along it two coordinates must change at once, one up and one down, and
/// every point on its floor is a minimum along the axes.
[[nodiscard]] inline landscape ridged(std::size_t dimensions = 4, int extent = 12) {
  const point c = detail::off_centre(dimensions, extent);
  return {"ridged", lattice(detail::axes(dimensions, extent), {}, {}),
          [=](const point& p) {
            double walls = 0;
            for (std::size_t d = 0; d + 1 < p.size(); d += 2)
              walls += detail::square(((p[d] - c[d]) + (p[d + 1] - c[d + 1])) / static_cast<double>(extent));
            return detail::ms * (1 + 40 * walls + 2 * detail::bowl(p, c, extent));
          },
          c, detail::ms};
}

/// A wide slope leads to a local minimum 30 % above the optimum, which lies in a small funnel at the other end.
[[nodiscard]] inline landscape deceptive(std::size_t dimensions = 3, int extent = 16) {
  const point trap(dimensions, 1);
  const point c(dimensions, extent - 3);
  return {"deceptive", lattice(detail::axes(dimensions, extent), {}, {}),
          [=](const point& p) {
            const double wide = 1.3 + detail::bowl(p, trap, extent);
            const double funnel = 1 + 20 * detail::bowl(p, c, extent);
            return detail::ms * std::min(wide, funnel);
          },
          c, detail::ms};
}

/// Terraces: most neighbours cost exactly the same.
[[nodiscard]] inline landscape plateaus(std::size_t dimensions = 4, int extent = 12) {
  const point c = detail::off_centre(dimensions, extent);
  return {"plateaus", lattice(detail::axes(dimensions, extent), {}, {}),
          [=](const point& p) { return detail::ms * (1 + 0.25 * std::floor(32 * detail::bowl(p, c, extent))); }, c,
          detail::ms};
}

/// A rule forbids nine points in ten, among them all those next to a feasible one.
[[nodiscard]] inline landscape sparse(std::size_t dimensions = 4, int extent = 14) {
  const point c = detail::off_centre(dimensions, extent);
  std::vector<std::size_t> all;
  for (std::size_t d = 0; d < dimensions; ++d) all.push_back(d);
  const auto weighed = [dimensions](const int* p) {
    int sum = 0;
    for (std::size_t d = 0; d < dimensions; ++d) sum += (2 * static_cast<int>(d) + 3) * p[d];
    return sum % 10;
  };
  const int kept = weighed(c.data());
  return {"sparse",
          lattice(detail::axes(dimensions, extent), {},
                  {{"one in ten", all, [=](const int* p) { return weighed(p) == kept; }}}),
          [=](const point& p) { return detail::ms * (1 + 8 * detail::bowl(p, c, extent)); }, c, detail::ms};
}

/// A bowl seen through measurement noise: 5 samples with a standard deviation of 5 % each.
[[nodiscard]] inline landscape noisy(std::size_t dimensions = 4, int extent = 12) {
  landscape l = convex(dimensions, extent);
  l.name = "noisy";
  l.noise = 0.05;
  l.samples = 5;
  return l;
}

/// Everything near the origin fails, and the optimum lies at the edge of what fails, as the fastest kernels do that just
/// fit into a device's memory.
[[nodiscard]] inline landscape failing(std::size_t dimensions = 4, int extent = 12) {
  const point c = detail::off_centre(dimensions, extent);
  int edge = 0;
  for (const int i : c) edge += i;
  return {"failing", lattice(detail::axes(dimensions, extent), {}, {}),
          [=](const point& p) {
            int sum = 0;
            for (const int i : p) sum += i;
            if (sum < edge) return std::numeric_limits<double>::infinity();
            return detail::ms * (1 + 8 * detail::bowl(p, c, extent));
          },
          c, detail::ms};
}

/// Two tile axes of three levels and an unroll factor. Cost is the squared distance of the factors from the best ones in
/// powers of two, and a term that couples the inner tiles of the two axes as a cache does.
[[nodiscard]] inline landscape tiled() {
  std::vector<coordinate> axes;
  std::vector<tile_axis> tiles;
  const std::pair<const char*, int> extents[] = {{"i", 96}, {"j", 64}};
  for (const auto& [name, extent] : extents) {
    tiles.push_back({name, extent, axes.size(), 3});
    for (int l = 1; l < 3; ++l)
      axes.push_back({std::string(name) + "[" + std::to_string(l) + "]", detail::divisors(extent), true});
  }
  axes.push_back({"unroll", {1, 2, 4, 8, 16}, true});
  landscape l{"tiled", lattice(std::move(axes), std::move(tiles), {}), {}, {}, detail::ms};
  const double factor[] = {8, 4, 4, 8};  // of i[1], i[2], j[1], j[2]
  for (std::size_t d = 0; d < 4; ++d) {
    const auto& v = l.space.axis(d).values;
    l.best.push_back(static_cast<int>(std::lower_bound(v.begin(), v.end(), factor[d]) - v.begin()));
  }
  l.best.push_back(2);
  l.cost = [space = l.space, best = l.best](const point& p) {
    double sum = 0;
    double inner = 0;
    for (std::size_t d = 0; d < 5; ++d) {
      const auto log = [&](int i) { return std::log2(space.axis(d).values[static_cast<std::size_t>(i)]); };
      const double off = log(p[d]) - log(best[d]);
      sum += (d < 4 ? 0.04 : 0.01) * off * off;
      if (d < 4) inner += off;
    }
    return detail::ms * (1 + sum + 0.08 * inner * inner);
  };
  return l;
}

/// Choices without an order; the best value of one depends on the other, and a number beside them.
[[nodiscard]] inline landscape choices(int kinds = 12, int extent = 12) {
  std::vector<coordinate> axes = detail::axes(3, kinds);
  axes[0].ordered = axes[1].ordered = false;
  axes[2] = detail::numbers("x2", extent);
  const point c{kinds / 3, kinds - 2, extent / 2};
  std::vector<double> table(static_cast<std::size_t>(2 * kinds));
  rng random(7);  // any fixed seed
  for (auto& t : table) t = 0.1 + 0.4 * random.uniform();
  table[static_cast<std::size_t>(c[0])] = table[static_cast<std::size_t>(kinds + c[1])] = 0;
  return {"choices", lattice(std::move(axes), {}, {}),
          [=](const point& p) {
            const double apart = table[static_cast<std::size_t>(p[0])] + table[static_cast<std::size_t>(kinds + p[1])];
            const double together = ((p[0] - c[0]) + (p[1] - c[1])) % 3 == 0 ? 0 : 0.3;
            return detail::ms * (1 + apart + together + detail::square((p[2] - c[2]) / static_cast<double>(extent)));
          },
          c, detail::ms};
}

/// One of each.
[[nodiscard]] inline std::vector<landscape> all_landscapes() {
  return {convex(), ridged(), deceptive(), plateaus(), sparse(), noisy(), failing(), tiled(), choices()};
}

/// What a search on a landscape found.
struct descent {
  std::vector<double> curve;  ///< after each evaluation of a new point: the true seconds of the point thought best
  point at;                   ///< the point with the least measured cost; empty when nothing was valid
  std::size_t asks = 0;       ///< calls of ask
  std::size_t repeats = 0;    ///< points asked again
  std::size_t idle = 0;       ///< most asks in a row without a new point
  bool finished = false;      ///< the strategy ended by itself

  [[nodiscard]] double cost() const { return curve.empty() ? std::numeric_limits<double>::infinity() : curve.back(); }
  /// Evaluations until the point thought best costs at most this many seconds; SIZE_MAX if never.
  [[nodiscard]] std::size_t evaluations_to(double seconds) const {
    for (std::size_t i = 0; i < curve.size(); ++i)
      if (curve[i] <= seconds) return i + 1;
    return std::numeric_limits<std::size_t>::max();
  }
};

/// Runs a strategy as a session does: points already measured are answered from memory and cost nothing. Ends after
/// `budget` new points, when the strategy ends, after 1000 asks in a row without a new point, or when the point thought
/// best costs at most `enough` seconds.
template <SearchStrategy S>
[[nodiscard]] descent minimise(S& strategy, const landscape& on, std::size_t budget, std::uint64_t seed = 1,
                               std::size_t batch = 1, double enough = -std::numeric_limits<double>::infinity()) {
  descent out;
  rng random(seed);
  std::unordered_map<point, measurement, point_hash> memo;
  std::vector<trial> done;
  double least = std::numeric_limits<double>::infinity();
  std::size_t idle = 0;
  while (memo.size() < budget && idle < 1000 && out.cost() > enough) {
    const auto asked = strategy.ask(on.space, random, std::min(batch, budget - memo.size()));
    if (asked.empty()) {
      out.finished = true;
      break;
    }
    ++out.asks;
    ++idle;
    done.clear();
    for (const auto& p : asked) {
      const auto known = memo.find(p);
      if (known != memo.end()) {
        ++out.repeats;
        done.push_back({p, known->second});
        continue;
      }
      idle = 0;
      done.push_back({p, on.measure(p, seed)});
      memo.emplace(p, done.back().result);
      const double cost = done.back().result.cost();
      if (cost < least) {
        least = cost;
        out.at = p;
      }
      out.curve.push_back(out.at.empty() && !std::isfinite(least) ? std::numeric_limits<double>::infinity()
                                                                  : on.cost(out.at));
    }
    out.idle = std::max(out.idle, idle);
    strategy.tell(on.space, done);
  }
  return out;
}

/// The same with a strategy made for the occasion: minimise(droplet{}, convex(), 100).
template <SearchStrategy S>
[[nodiscard]] descent minimise(S&& strategy, const landscape& on, std::size_t budget, std::uint64_t seed = 1,
                               std::size_t batch = 1) requires(!std::is_lvalue_reference_v<S>) {
  S mine = std::move(strategy);
  return minimise<S>(mine, on, budget, seed, batch);
}

/// Evaluations until the point thought best costs at most `seconds`; SIZE_MAX if `budget` of them do not suffice.
template <SearchStrategy S>
[[nodiscard]] std::size_t evaluations_to(double seconds, S strategy, const landscape& on, std::size_t budget,
                                         std::uint64_t seed = 1) {
  return minimise<S>(strategy, on, budget, seed, 1, seconds).evaluations_to(seconds);
}

}  // namespace tileseek::testing
