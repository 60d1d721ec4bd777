#pragma once
// Evolution under a cost model: generations breed without being measured, judged by what the model predicts, and the
// children it likes best are measured, with some random points among them so that it keeps learning about the rest.
//
// (Zheng et al., "Ansor: Generating High-Performance Tensor Programs for Deep Learning", OSDI 2020, section 5.1.)

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include <tileseek/model/boosted_trees.hpp>
#include <tileseek/model/cost_model.hpp>
#include <tileseek/model/features.hpp>
#include <tileseek/model/labels.hpp>
#include <tileseek/search/coroutine.hpp>
#include <tileseek/search/detail/training_set.hpp>
#include <tileseek/search/evolutionary.hpp>

namespace tileseek {

struct guided_evolution_options {
  /// First points, before there is a model; trials told before the first ask count as such.
  std::size_t init_size = 12;
  /// How they are chosen.
  initial_design design = initial_design::maximin;
  /// Points measured between two fits of the model; more when the caller can use more at once. Published: 64.
  std::size_t batch = 4;
  /// Points of a generation, which are predicted, not measured. Published: 2048. Few generations of few points keep
  /// variety among what is measured.
  std::size_t population = 128;
  /// Generations bred before a batch is chosen. Published: 4.
  std::size_t generations = 2;
  /// Probability that a child is a changed parent rather than one of two. Published: 0.85.
  double mutation = 0.85;
  /// Share of the first generation that are the best points measured; the others are random. Published: 0.2.
  double elite = 0.2;
  /// Share of a batch that is drawn at random. Published: 0.05.
  double random_share = 0.05;
  /// Points are judged by the predicted cost less this many deviations, when the model knows how sure it is; at least
  /// 0. Published: 0, and the search then trusts a simple model far too much: with ridge, 3 needs a third fewer
  /// measurements.
  double kappa = 3;
  /// Share of the successful trials that keep their own label; slower ones and failures get the label at that quantile.
  /// In (0, 1].
  double label_quantile = 0.75;

  /// Calls visit(name, member, help) for every option, for an enumeration with the names of its values in their order.
  template <class Visit>
  friend void describe(guided_evolution_options& o, Visit&& visit) {
    visit("init_size", o.init_size, "first points, before there is a model");
    visit("design", o.design, "how the first points are chosen", {"random", "maximin"});
    visit("batch", o.batch, "points measured between two fits of the model");
    visit("population", o.population, "points of a generation, predicted only");
    visit("generations", o.generations, "generations before a batch is chosen");
    visit("mutation", o.mutation, "probability that a child is a changed parent rather than one of two");
    visit("elite", o.elite, "share of the first generation that are the best points measured");
    visit("random_share", o.random_share, "share of a batch that is drawn at random");
    visit("kappa", o.kappa, "deviations below the mean by which points are judged");
    visit("label_quantile", o.label_quantile, "share of the trials whose label is not capped");
  }
};

namespace detail {

/// Points with what the model predicts for them, the best first, those that came first among equals first.
class predicted_population {
 public:
  template <CostModel Model>
  predicted_population(std::vector<point> points, const training_set& known, const Model& model, double kappa) {
    const Eigen::MatrixXd x = known.encoder().encode(points);
    Eigen::VectorXd y;
    if constexpr (UncertainCostModel<Model>) {
      const prediction says = model.predict_with_deviation(x);
      y = says.mean - kappa * says.deviation;
    } else {
      y = model.predict(x);
    }
    std::vector<std::size_t> order(points.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto cost = [&](std::size_t i) { return y[static_cast<Eigen::Index>(i)]; };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return cost(a) < cost(b); });
    for (const auto i : order) {
      points_.push_back(std::move(points[i]));
      costs_.push_back(cost(i));
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return points_.size(); }
  [[nodiscard]] const point& operator[](std::size_t i) const noexcept { return points_[i]; }
  [[nodiscard]] double cost(std::size_t i) const noexcept { return costs_[i]; }
  [[nodiscard]] const point& pick(rng& random) const { return points_[pick_by_rank(points_.size(), random)]; }

 private:
  std::vector<point> points_;
  std::vector<double> costs_;
};

/// The unknown points among all generations bred under the model, the best predicted first, at most `count`.
template <CostModel Model>
[[nodiscard]] std::vector<point> bred_under(const Model& model, const training_set& known, const breeder& breed,
                                            const guided_evolution_options& o, std::size_t count, rng& random) {
  const lattice& space = known.space();
  std::vector<point> generation;
  for (const auto i : known.best(static_cast<std::size_t>(o.elite * static_cast<double>(o.population))))
    generation.push_back(known.points()[i]);
  while (generation.size() < o.population) generation.push_back(space.sample(random));
  struct found {
    double cost;
    point at;
  };
  std::vector<found> all;
  std::unordered_set<point, point_hash> listed;
  for (std::size_t g = 0;; ++g) {
    const predicted_population parents(std::move(generation), known, model, o.kappa);
    for (std::size_t i = 0; i < parents.size(); ++i)
      if (!known.memory().knows(parents[i]) && listed.insert(parents[i]).second)
        all.push_back({parents.cost(i), parents[i]});
    if (g == o.generations) break;
    generation.clear();
    for (std::size_t tries = 0; generation.size() < o.population && tries < 8 * o.population; ++tries) {
      const point& mother = parents.pick(random);
      point q = space.dimensions() == 0         ? mother
                : random.uniform() < o.mutation ? breed.mutated(mother, random)
                                                : breed.child(mother, parents.pick(random), 0, random);
      if (space.feasible(q)) generation.push_back(std::move(q));
    }
    if (generation.empty()) break;
  }
  std::stable_sort(all.begin(), all.end(), [](const found& a, const found& b) { return a.cost < b.cost; });
  if (all.size() > count) all.resize(count);
  std::vector<point> out;
  for (auto& f : all) out.push_back(std::move(f.at));
  return out;
}

template <CostModel Model>
search_routine guided_evolution_search(search_context& here, guided_evolution_options o, std::shared_ptr<Model> model) {
  const lattice& space = here.space();
  const breeder breed(space);
  training_set known(space, feature_map(space, columns_for<Model>()));
  std::size_t heard = 0;
  for (;;) {
    for (; heard < here.unasked().size(); ++heard) known.add(here.unasked()[heard]);
    std::vector<point> batch;
    if (known.size() < o.init_size)
      batch = first_points(space, known.memory(), known.points(), here.random(), o.init_size - known.size(), o.design);
    if (batch.empty()) {
      const auto labels = label(known.costs(), o.label_quantile);
      model->fit(known.rows(), labels.y);
      const std::size_t wanted = std::max(o.batch, here.wanted());
      for (auto& p : bred_under(*model, known, breed, o, wanted, here.random())) {
        if (here.random().uniform() < o.random_share) {
          if (auto other = known.memory().fresh(space, here.random())) batch.push_back(std::move(*other));
        } else if (known.memory().mark(p)) {
          batch.push_back(std::move(p));
        }
      }
    }
    if (batch.empty()) {
      auto p = known.memory().fresh(space, here.random());
      if (!p) co_return;
      batch.push_back(std::move(*p));
    }
    const std::vector<trial> done = co_yield std::move(batch);
    known.add(done);
  }
}

}  // namespace detail

/// Evolution guided by any cost model; goes on until the space is exhausted. Boosted trees rank best what they have not
/// seen (docs/search-quality.md), and with them it takes the fewest measurements.
template <CostModel Model = boosted_trees>
class guided_evolution : public coroutine_strategy {
 public:
  /// @throws std::invalid_argument  an option out of range
  explicit guided_evolution(guided_evolution_options options = {}, Model model = Model())
      : coroutine_strategy([o = checked(options), m = std::make_shared<Model>(std::move(model))](search_context& here) {
          return detail::guided_evolution_search<Model>(here, o, m);
        }) {}

  [[nodiscard]] static constexpr std::string_view name() noexcept { return "guided_evolution"; }

 private:
  [[nodiscard]] static guided_evolution_options checked(const guided_evolution_options& o) {
    const auto demand = [](bool holds, const char* option, double is, const char* remedy) {
      if (!holds)
        throw std::invalid_argument("guided_evolution: option '" + std::string(option) + "' is " + std::to_string(is) +
                                    "; " + remedy);
    };
    const auto share = [](double x) { return x >= 0 && x <= 1; };
    demand(o.init_size > 0, "init_size", 0, "the model needs a first point; 12 is the default");
    demand(o.batch > 0, "batch", 0, "give at least 1; 4 is the default");
    demand(o.population > 1, "population", static_cast<double>(o.population),
           "two parents are needed; 128 is the default");
    demand(share(o.mutation), "mutation", o.mutation, "give a probability in [0, 1]");
    demand(share(o.elite), "elite", o.elite, "give a share in [0, 1]");
    demand(o.random_share >= 0 && o.random_share < 1, "random_share", o.random_share, "give a share in [0, 1)");
    demand(o.kappa >= 0 && std::isfinite(o.kappa), "kappa", o.kappa, "give a number of at least 0");
    demand(o.label_quantile > 0 && o.label_quantile <= 1, "label_quantile", o.label_quantile, "give a share in (0, 1]");
    return o;
  }
};

static_assert(SearchStrategy<guided_evolution<>>);

}  // namespace tileseek
