#include <tileseek/search/dynamic_gradient.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace {

using tileseek::dynamic_gradient;
using tileseek::dynamic_gradient_options;
using tileseek::lattice;
using tileseek::measurement;
using tileseek::point;
using tileseek::trial;

lattice box(std::vector<int> extents) {
  std::vector<tileseek::coordinate> axes;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    std::vector<double> values;
    for (int i = 0; i < extents[d]; ++i) values.push_back(i + 1);
    axes.push_back({"p" + std::to_string(d), std::move(values), true});
  }
  return lattice(std::move(axes), {}, {});
}

/// A bowl with its least cost, 1 second, at index 2 of every coordinate.
double bowl(const point& p) {
  double sum = 1;
  for (std::size_t d = 0; d < p.size(); ++d) sum += 0.1 * (static_cast<double>(d) + 1) * (p[d] - 2) * (p[d] - 2);
  return sum;
}

measurement took(double seconds) {
  return std::isfinite(seconds) ? measurement{tileseek::status::ok, {seconds}, {}}
                                : tileseek::failure(tileseek::status::run_failed, "no");
}

struct outcome {
  std::vector<point> asked;  ///< in order
  double best = std::numeric_limits<double>::infinity();
  bool ended = false;
};

/// Runs a strategy; the answers of a batch come back in reverse order, one tell each.
template <class Strategy, class Cost>
outcome run(Strategy& strategy, const lattice& space, Cost cost, std::size_t trials, std::size_t batch,
            std::uint64_t seed) {
  tileseek::rng random(seed);
  outcome out;
  while (out.asked.size() < trials) {
    const auto points = strategy.ask(space, random, batch);
    out.ended = points.empty();
    if (out.ended) break;
    CHECK(points.size() <= batch);
    for (auto p = points.rbegin(); p != points.rend(); ++p) {
      CHECK(space.feasible(*p));
      const double c = cost(*p);
      out.best = std::min(out.best, c);
      const std::vector<trial> told = {{*p, took(c)}};
      strategy.tell(space, told);
    }
    out.asked.insert(out.asked.end(), points.begin(), points.end());
  }
  return out;
}

}  // namespace

static_assert(tileseek::SearchStrategy<dynamic_gradient<>>);

TEST_CASE(
    "dynamic gradient descent finds the bottom of a bowl in nearly every run, and misses it by one step at most") {
  const auto space = box({12, 12, 12, 12});
  int missed = 0;
  for (const std::size_t batch : {std::size_t{1}, std::size_t{5}, std::size_t{64}})
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      dynamic_gradient<> search;
      const double best = run(search, space, bowl, 180 + 4 * batch, batch, seed).best;
      CHECK(best <= 1.1);
      missed += best > 1;
      dynamic_gradient<> published(dynamic_gradient_options::published());
      CHECK(run(published, space, bowl, 250, batch, seed).best == 1);
    }
  CHECK(missed <= 1);
}

TEST_CASE("no point is asked twice, and the search ends when all were") {
  const auto space = box({5, 4, 3});
  for (const bool published : {false, true})
    for (const std::size_t batch : {std::size_t{1}, std::size_t{7}}) {
      dynamic_gradient<> search(published ? dynamic_gradient_options::published() : dynamic_gradient_options{});
      const auto got = run(search, space, bowl, 1000, batch, 3);
      CHECK(got.ended);
      CHECK(got.asked.size() == 60);
      CHECK(std::set<point>(got.asked.begin(), got.asked.end()).size() == 60);
    }
}

TEST_CASE("failures do not stall it") {
  const auto space = box({6, 6, 6});
  const auto nothing_runs = [](const point&) { return std::numeric_limits<double>::infinity(); };
  dynamic_gradient<> search;
  const auto all = run(search, space, nothing_runs, 1000, 4, 1);
  CHECK(all.ended);
  CHECK(all.asked.size() == 216);

  const auto most_fail = [](const point& p) {
    return p[0] + p[1] + p[2] >= 6 && p[0] < 3 ? bowl(p) : std::numeric_limits<double>::infinity();  // 74 of 216 run
  };
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    dynamic_gradient<> again;
    CHECK(run(again, space, most_fail, 120, 1, seed).best == 1);  // at {2, 2, 2}, the border of what runs
  }
}

TEST_CASE("a space of one point") {
  const auto space = box({1, 1});
  dynamic_gradient<> search;
  const auto got = run(search, space, bowl, 10, 3, 1);
  CHECK(got.ended);
  CHECK(got.asked.size() == 1);
}

TEST_CASE("trials told before the first ask count as first points, and the descent starts at the fastest") {
  const auto space = box({12, 12, 12});
  std::vector<trial> warm;
  for (int i = 0; i < 16; ++i) {
    const point p = {i % 12, (5 * i) % 12, (7 * i) % 12};
    warm.push_back({p, took(bowl(p))});
  }
  warm.push_back({{2, 3, 2}, took(bowl({2, 3, 2}))});  // a neighbour of the bottom
  warm.push_back({{99, 0}, took(1e-9)});               // from another space: ignored
  dynamic_gradient<> search;
  search.tell(space, warm);
  const auto got = run(search, space, bowl, 12, 1, 1);
  CHECK(got.best == 1);
  for (const auto& p : got.asked)
    for (const auto& t : warm) CHECK(p != t.at);
}

TEST_CASE("trials told while it runs are taken into account") {
  const auto space = box({12, 12, 12});
  tileseek::rng random(1);
  dynamic_gradient<> search;
  std::vector<trial> done;
  for (const auto& p : search.ask(space, random, 16)) done.push_back({p, took(bowl(p) + 100)});
  done.push_back({{2, 2, 3}, took(bowl({2, 2, 3}))});
  search.tell(space, done);
  bool found = false;  // the fastest known point is the first base, so that its neighbours come next
  for (int i = 0; i < 6 && !found; ++i) {
    const auto next = search.ask(space, random, 1);
    REQUIRE(next.size() == 1);
    found = next[0] == point{2, 2, 2};
    const std::vector<trial> told = {{next[0], took(bowl(next[0]))}};
    search.tell(space, told);
  }
  CHECK(found);
}

TEST_CASE("it starts where it is told to") {
  const auto space = box({12, 12, 12});
  dynamic_gradient_options options;
  options.start = point{10, 0, 11};
  dynamic_gradient<> search(options);
  const auto got = run(search, space, bowl, 60, 1, 1);
  CHECK(got.asked.front() == point{10, 0, 11});
  CHECK(got.best == 1);

  options.start = point{12, 0, 0};
  dynamic_gradient<> outside(options);
  tileseek::rng random(1);
  CHECK_THROWS_AS((void)outside.ask(space, random, 1), std::invalid_argument);
}

TEST_CASE("the published form begins with 64 points of one batch, the default with 8 that keep apart") {
  const auto space = box({12, 12, 12});
  tileseek::rng random(1);
  dynamic_gradient<> published(dynamic_gradient_options::published());
  CHECK(published.ask(space, random, 1000).size() == 64);
  dynamic_gradient<> search;
  const auto first = search.ask(space, random, 1000);
  REQUIRE(first.size() == 8);
  const tileseek::detail::scaled_space scaled(space);
  double nearest = 1e9;
  for (std::size_t i = 0; i < first.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) nearest = std::min(nearest, scaled.squared_distance(first[i], first[j]));
  CHECK(nearest > 0.1);  // of 8 uniform points the nearest two are typically at 0.05
}

TEST_CASE("windows: a step measures three neighbours at a time, or as many windows as are wanted") {
  const auto space = box({12, 12, 12});
  for (const std::size_t wanted : {std::size_t{1}, std::size_t{8}}) {
    tileseek::rng random(1);
    dynamic_gradient<> search;
    std::vector<trial> first;
    for (const auto& p : search.ask(space, random, 16)) first.push_back({p, took(bowl(p))});
    search.tell(space, first);
    std::size_t window = 0;  // points that are handed out without an answer
    for (;;) {
      const auto more = search.ask(space, random, wanted);
      if (more.empty()) break;
      window += more.size();
    }
    CHECK(window == (wanted == 1 ? 3 : 8));
  }
}

TEST_CASE("with a significance test, noise is not taken for an improvement") {
  const auto space = box({5, 5});
  // Every point has the same mean; samples differ by chance.
  const auto noisy = [](const point& p, tileseek::rng& noise) {
    (void)p;
    measurement m;
    for (int i = 0; i < 5; ++i) m.seconds.push_back(1 + 0.1 * noise.normal());
    return m;
  };
  // Bases are not visible from outside: count how often the neighbourhood moved away from the first base.
  const auto farthest_from_start = [&](double p_value) {
    dynamic_gradient_options options;
    options.start = point{2, 2};
    options.init_size = 1;
    options.neighbours = tileseek::descent_neighbours::one_and_two_hops;
    options.max_windows = 0;
    options.p_value = p_value;
    options.predict_score_threshold_ratio = options.measure_threshold_ratio = 0;
    dynamic_gradient<> search(options);
    tileseek::rng random(4);
    tileseek::rng noise(5);
    int steps = 0;
    for (; steps < 25; ++steps) {
      const auto next = search.ask(space, random, 1);
      if (next.empty()) break;
      if (std::abs(next[0][0] - 2) > 1 || std::abs(next[0][1] - 2) > 1) break;
      const std::vector<trial> told = {{next[0], noisy(next[0], noise)}};
      search.tell(space, told);
    }
    return steps;
  };
  CHECK(farthest_from_start(0.001) == 9);  // the base and its 8 neighbours, all of them
  CHECK(farthest_from_start(1) < 9);       // it moved after a lucky one
}

TEST_CASE("the inclusive view keeps inner tile sizes and moves to other points than the factor view") {
  // A tile axis of extent 64 with three levels: two coordinates.
  const std::vector<double> divisors = {1, 2, 4, 8, 16, 32, 64};
  const lattice space({{"i[1]", divisors, true}, {"i[2]", divisors, true}}, {{"i", 64, 0, 3}}, {});
  const point p = {1, 2};  // factors 8, 2, 4
  for (const auto view : {tileseek::tile_view::factor, tileseek::tile_view::inclusive}) {
    const auto near = tileseek::detail::any_value_of_one(space, p, view);
    for (const auto& q : near) CHECK(space.feasible(q));
    const bool keeps_outer = std::find(near.begin(), near.end(), point{2, 1}) != near.end();
    CHECK(keeps_outer == (view == tileseek::tile_view::inclusive));  // 8, 4, 2: size of level 1 stays 8
  }
  dynamic_gradient_options options;
  options.view = tileseek::tile_view::inclusive;
  dynamic_gradient<> search(options);
  const auto got = run(
      search, space, [](const point& q) { return 1.0 + q[0] + q[1]; }, 100, 1, 1);
  CHECK(got.ended);
  CHECK(got.asked.size() == space.size());
}

TEST_CASE("ranking by the lower bound prefers what is unknown") {
  dynamic_gradient_options options;
  options.ranking = tileseek::descent_ranking::lower_bound;
  const auto space = box({12, 12, 12});
  dynamic_gradient<> bold(options);
  dynamic_gradient<> plain;
  const auto a = run(bold, space, bowl, 60, 1, 1);
  const auto b = run(plain, space, bowl, 60, 1, 1);
  CHECK(std::equal(a.asked.begin(), a.asked.begin() + 8, b.asked.begin()));  // the first points are the same
  CHECK(a.asked != b.asked);
}

namespace {
/// Knows no deviation and adds nothing: the least that a cost model has to do.
struct mean_model {
  double mean = 0;
  void fit(const Eigen::MatrixXd& /*x*/, const Eigen::VectorXd& y) { mean = y.size() > 0 ? y.mean() : 0; }
  [[nodiscard]] Eigen::VectorXd predict(const Eigen::MatrixXd& x) const {
    return Eigen::VectorXd::Constant(x.rows(), mean);
  }
};
}  // namespace

TEST_CASE("any cost model will do, and the same seed and answers give the same questions") {
  const auto space = box({8, 8, 8});
  dynamic_gradient<mean_model> one;
  dynamic_gradient<mean_model> two;
  const auto a = run(one, space, bowl, 200, 3, 7);
  const auto b = run(two, space, bowl, 200, 3, 7);
  CHECK(a.asked == b.asked);
  dynamic_gradient<mean_model> other_seed;
  CHECK(run(other_seed, space, bowl, 200, 3, 8).asked != a.asked);
}

TEST_CASE("options out of range are named") {
  const auto message = [](auto change, bool uncertain = true) {
    dynamic_gradient_options options;
    change(options);
    try {
      if (uncertain)
        dynamic_gradient<> search(options);
      else
        dynamic_gradient<mean_model> search(options);
    } catch (const std::invalid_argument& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  using o = dynamic_gradient_options;
  CHECK(message([](o& x) { x.init_size = 0; }).starts_with("dynamic_gradient: init_size = 0"));
  CHECK(message([](o& x) { x.slide_window_size = 0; }).starts_with("dynamic_gradient: slide_window_size = 0"));
  CHECK(message([](o& x) { x.restart_pool = 0; }).starts_with("dynamic_gradient: restart_pool = 0"));
  CHECK(message([](o& x) { x.predict_score_threshold_ratio = 1.5; }).find("predict_score_threshold_ratio") !=
        std::string::npos);
  CHECK(message([](o& x) { x.measure_threshold_ratio = std::nan(""); }).find("measure_threshold_ratio") !=
        std::string::npos);
  CHECK(message([](o& x) { x.kappa = -1; }).find("kappa") != std::string::npos);
  CHECK(message([](o& x) { x.p_value = 0; }).find("p_value") != std::string::npos);
  CHECK(message([](o& x) { x.label_quantile = 0; }).find("label_quantile") != std::string::npos);
  CHECK(message([](o& x) { x.ranking = tileseek::descent_ranking::lower_bound; }, false).find("ranking") !=
        std::string::npos);
  CHECK(message([](o&) {}) == "no error");
}
