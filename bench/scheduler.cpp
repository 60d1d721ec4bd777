// What a task scheduler saves: sets of tasks, each a search on a recorded kernel space with a weight and a scale of its
// own, share one budget under every scheduler. Prints the tables of docs/scheduling.md.
//
//   scheduler --spaces FOLDER
//
// A search does not depend on its neighbours, so that each is run once for every seed, and what it had found after each
// trial is kept; the schedulers then spend these curves, which takes no time. Everything runs on one thread.
//
// A draw is a set of tasks with their curves, scales (10^-1 to 10) and weights. Its budget is 100 trials a task on
// average; what round robin has reached by then is the goal. Share: trials to reach it over round robin's; a draw
// that does not reach it with three times as many counts with that. Means are geometric.

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <iostream>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <tileseek/core/rng.hpp>
#include <tileseek/core/statistics.hpp>
#include <tileseek/kernels/networks.hpp>
#include <tileseek/schedule.hpp>
#include <tileseek/search/registry.hpp>
#include <tileseek/space.hpp>
#include <tileseek/tune/tasks.hpp>

#include "../examples/open_recording.hpp"
#include "../examples/replay_run.hpp"

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr std::size_t longest = 400;  // trials of a task at most, under every scheduler
constexpr std::size_t patience = 3;   // times round robin's trials

// --- what is scheduled ---

/// One search: the least cost after each trial, in units of the best of its space, and what it hoped to save.
struct curve {
  std::vector<double> best;
  std::vector<double> gap;
  double untuned = 1;  ///< the 90 % quantile of the space
};

struct strategy {
  const char* name;
  std::vector<std::string> options;
  std::size_t batch;
};
const std::vector<strategy> strategies = {{"bayesian", {}, 1},
                                          {"dynamic_gradient", {}, 1},
                                          {"guided_evolution", {"model=level_ridge"}, 16},
                                          {"explore_then", {}, 1},
                                          {"random", {}, 1}};

/// Of one strategy, on all spaces, with all seeds.
std::vector<curve> search(const strategy& s, const std::vector<tileseek::replay>& spaces, std::size_t seeds,
                          std::uint64_t first) {
  std::vector<curve> out;
  for (const auto& space : spaces) {
    std::vector<double> valid;
    for (std::uint64_t i = 0; i < space.size(); ++i)
      if (const double c = space.cost(*space.space().unrank(i)); c < infinite) valid.push_back(c / space.best());
    std::sort(valid.begin(), valid.end());
    for (std::size_t i = 0; i < seeds; ++i) {
      auto run = replay_run(tileseek::make_strategy(s.name, s.options), space, first + i, longest, s.batch);
      for (double& b : run.best) b /= space.best();
      out.push_back({std::move(run.best), std::move(run.gap), valid[valid.size() * 9 / 10]});
    }
  }
  return out;
}

enum class kind { alive, flat, slow, dead };

struct set_type {
  const char* name;
  std::vector<double> weights;  ///< of the tasks; empty: drawn from 1 to 6
  std::size_t tasks;
  std::size_t dead, slow, flat;  ///< of them
  bool equal_scales = false;
  bool dominated = false;  ///< the first task has weight 12 and runs 10 times as long
};

/// @param all  with what the bundled kernels do not compute
set_type network(const char* name, bool all = false) {
  const auto* const of = tileseek::kernels::find_network(name);
  std::vector<double> weights;
  for (const auto& l : of->layers) weights.push_back(l.count);
  if (all)
    for (const auto& o : of->others) weights.push_back(o.count);
  return {name, weights, weights.size(), 0, 0, 0};
}

std::vector<set_type> set_types() {
  return {network("resnet50"),
          network("mobilenet_v2"),
          network("bert_base", true),
          {"5 tasks", {}, 5, 0, 0, 0},
          {"12 alike", std::vector<double>(12, 1.0), 12, 0, 0, 0, true},
          {"1 of 10 dominates", {}, 10, 0, 0, 0, false, true},
          {"8 of 20 flat", {}, 20, 0, 0, 8},
          {"3 dead, 3 slow of 20", {}, 20, 3, 3, 0},
          {"1 dead, 1 slow, 4 flat of 15", {}, 15, 1, 1, 4}};
}

/// The cost of a trial of this task.
struct drawn_task {
  const curve* of = nullptr;
  kind how = kind::alive;
  double scale = 1;  ///< seconds of the best of the space
  double weight = 1;
  double error = 1;  ///< factor by which an estimate of the reachable latency is off, in [1/e, e] to some power

  static constexpr std::size_t slow_start = 30;  ///< trials of a slow task that fail

  [[nodiscard]] double after(std::size_t trials) const {
    if (how == kind::dead) return infinite;
    if (how == kind::slow) trials -= std::min(trials, slow_start);
    if (trials == 0) return infinite;
    const double x = of->best[std::min(trials, of->best.size()) - 1];
    return scale * (how == kind::flat ? 1 + (x - 1) / flatness : x);
  }
  [[nodiscard]] double untuned() const {
    if (how == kind::dead) return 3 * scale;
    return scale * (how == kind::flat ? 1 + (of->untuned - 1) / flatness : of->untuned);
  }
  [[nodiscard]] std::optional<double> gap(std::size_t trials) const {
    if (how != kind::alive || trials == 0) return std::nullopt;
    const double g = of->gap[std::min(trials, of->gap.size()) - 1];
    return g < 0 ? std::nullopt : std::optional<double>(g);
  }

 private:
  static constexpr double flatness = 20;  ///< a flat kernel loses so much less by a bad configuration
};

std::vector<drawn_task> draw(const set_type& type, const std::vector<curve>& curves, tileseek::rng& random) {
  std::vector<drawn_task> out(type.tasks);
  for (std::size_t i = 0; i < out.size(); ++i) {
    auto& t = out[i];
    t.of = &curves[static_cast<std::size_t>(random.below(curves.size()))];
    const double exponent = 2 * random.uniform() - 1;
    t.scale = type.equal_scales ? 1 : std::pow(10, exponent);
    const auto any = static_cast<double>(1 + random.below(6));
    t.weight = type.weights.empty() ? any : type.weights[i];
    t.error = std::exp(2 * random.uniform() - 1);
  }
  // The first ones: their weights and scales are drawn like those of all others.
  for (std::size_t i = 0; i < type.dead + type.slow + type.flat; ++i)
    out[i].how = i < type.dead ? kind::dead : i < type.dead + type.slow ? kind::slow : kind::flat;
  if (type.dominated) {
    out[0].weight = 12;
    out[0].scale = 10;
  }
  return out;
}

// --- who schedules ---

/// Any living task, as likely as its weight or all alike.
struct by_lot {
  bool weighted = false;
  [[nodiscard]] std::optional<std::size_t> next(std::span<const tileseek::task_state> tasks,
                                                tileseek::rng& random) const {
    if (const auto first = tileseek::detail::first_untried(tasks)) return first;
    double sum = 0;
    for (const auto& t : tasks) sum += share(t);
    double left = sum * random.uniform();
    std::optional<std::size_t> chosen;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      if (tasks[i].finished) continue;
      chosen = i;
      left -= share(tasks[i]);
      if (left < 0) break;
    }
    return chosen;
  }

 private:
  [[nodiscard]] double share(const tileseek::task_state& t) const { return t.finished ? 0 : weighted ? t.weight : 1; }
};

struct contestant {
  std::string label;
  std::function<tileseek::any_scheduler()> make;
  double estimate = 0;      ///< the reachable latency is known up to this factor; 0: not at all
  bool sees_models = true;  ///< whether searches with a model tell what they hope to save
};

tileseek::any_scheduler gradient(tileseek::failure_rule failures) {
  tileseek::gradient_options o;
  o.failures = failures;
  return tileseek::gradient(o);
}

std::vector<contestant> contestants(std::size_t longest_round) {
  const auto potential = [longest_round] {
    tileseek::potential_options o;
    o.longest_round = longest_round;
    return tileseek::any_scheduler(tileseek::potential(o));
  };
  return {{"round_robin", [] { return tileseek::round_robin(); }},
          {"random", [] { return tileseek::any_scheduler(by_lot{}, "random"); }},
          {"weight-proportional", [] { return tileseek::any_scheduler(by_lot{true}, "weight-proportional"); }},
          {"gradient, failures as published", [] { return gradient(tileseek::failure_rule::published); }},
          {"gradient", [] { return gradient(tileseek::failure_rule::retried); }},
          {"potential", potential},
          {"potential, told no search's model", potential, 0, false},
          {"potential, estimate within 20 %", potential, 1.2},
          {"potential, estimate within a factor of 2", potential, 2}};
}

// --- a run ---

struct spent {
  double trials_to_goal = 0;  ///< infinite: not within the budget
  double trials_to_1_percent = 0;
  double at_equal_trials = 0;  ///< the objective
};

/// Spends trials until the goal is reached and `equal` trials are spent, at most `patience` times as many.
spent spend(const contestant& who, const std::vector<drawn_task>& tasks, std::size_t equal, double goal,
            std::uint64_t seed) {
  auto scheduler = who.make();
  tileseek::rng random(seed);
  std::vector<tileseek::task_state> states(tasks.size());
  std::vector<double> worth(tasks.size());
  double objective = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    states[i].weight = tasks[i].weight;
    states[i].untuned = tasks[i].untuned();
    if (who.estimate > 0) states[i].reachable = tasks[i].scale * std::pow(tasks[i].error, std::log(who.estimate));
    worth[i] = tasks[i].weight * tasks[i].untuned();
    objective += worth[i];
  }
  spent out{infinite, infinite, infinite};
  std::size_t trials = 0;
  const auto look = [&] {
    if (trials == equal) out.at_equal_trials = objective;
    // Sums of the same terms in another order may differ in their last digits.
    if (objective <= goal * (1 + 1e-9)) out.trials_to_goal = std::min(out.trials_to_goal, static_cast<double>(trials));
    if (objective <= goal * 1.01)
      out.trials_to_1_percent = std::min(out.trials_to_1_percent, static_cast<double>(trials));
  };
  while (trials < patience * equal && (trials < equal || out.trials_to_goal == infinite)) {
    const auto chosen = scheduler.next(states, random);
    if (!chosen) break;
    auto& s = states[*chosen];
    const auto& t = tasks[*chosen];
    for (std::size_t n = scheduler.round(s); n > 0 && s.history.trials() < longest && trials < patience * equal; --n) {
      const double now = t.after(s.history.trials() + 1);
      s.history.add(now);
      if (now < infinite) {
        objective += t.weight * now - worth[*chosen];
        worth[*chosen] = t.weight * now;
      }
      ++trials;
      look();
    }
    s.history.end_round();
    if (who.sees_models) s.gap = t.gap(s.history.trials());
    s.finished = s.history.trials() >= longest;
  }
  if (trials < equal) out.at_equal_trials = objective;  // nothing was left to do
  return out;
}

// --- what it says ---

struct geometric {
  double sum = 0;
  double count = 0;
  double worst = 0;
  void add(double x) {
    sum += std::log(x);
    ++count;
    worst = std::max(worst, x);
  }
  [[nodiscard]] double mean() const { return count > 0 ? std::exp(sum / count) : 1; }
};

struct cell {
  geometric goal, one_percent, objective;
};

/// Of each set type and each strategy.
struct row {
  std::string label;
  std::vector<cell> types, strategies;
  cell all;
};

std::string fixed(double x) { return tileseek::fixed(x, 3); }

void print(const std::vector<row>& rows, const std::vector<set_type>& types) {
  std::cout
      << "\n| scheduler | trials to round robin's final objective | worst set type | to within 1 % of it | objective "
         "at equal trials | worst set type | worst draw |\n|---|---|---|---|---|---|---|\n";
  for (const auto& r : rows) {
    std::size_t slowest = 0;
    double highest = 0;
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (r.types[i].goal.mean() > r.types[slowest].goal.mean()) slowest = i;
      highest = std::max(highest, r.types[i].objective.mean());
    }
    std::cout << "| " << r.label << " | " << fixed(r.all.goal.mean()) << " | " << fixed(r.types[slowest].goal.mean())
              << " (" << types[slowest].name << ") | " << fixed(r.all.one_percent.mean()) << " | "
              << fixed(r.all.objective.mean()) << " | " << fixed(highest) << " | " << fixed(r.all.objective.worst)
              << " |\n";
  }
  std::cout << "\nTrials to round robin's final objective, to within 1 % of it, and the objective at equal trials:\n\n"
               "| scheduler |";
  for (const auto& t : types) std::cout << ' ' << t.name << " |";
  for (const auto& s : strategies) std::cout << ' ' << s.name << " |";
  std::cout << "\n|---|";
  for (std::size_t i = 0; i < types.size() + strategies.size(); ++i) std::cout << "---|";
  std::cout << '\n';
  for (const auto& r : rows) {
    std::cout << "| " << r.label << " |";
    for (const auto* cells : {&r.types, &r.strategies})
      for (const auto& c : *cells)
        std::cout << ' ' << fixed(c.goal.mean()) << " / " << fixed(c.one_percent.mean()) << " / "
                  << fixed(c.objective.mean()) << " |";
    std::cout << '\n';
  }
}

// --- transfer ---

/// A recording as a task's space and measurer: a kernel on one device is to the same on another as a shape to another.
struct recorded_kernel {
  std::string name;
  const tileseek::replay* recording;
  tileseek::space<tileseek::configuration> space;

  [[nodiscard]] static std::optional<tileseek::point> find(const tileseek::replay& r,
                                                           const tileseek::configuration& c) {
    tileseek::point p;
    for (const auto& axis : r.space().axes()) {
      const double x = *tileseek::detail::number_of(c[axis.name]);
      p.push_back(static_cast<int>(std::find(axis.values.begin(), axis.values.end(), x) - axis.values.begin()));
    }
    return r.space().feasible(p) ? std::optional<tileseek::point>(p) : std::nullopt;
  }
};

/// What a family of recordings, tuned together, comes to with and without transfer: over the sum of the optima.
void compare_transfer(const std::vector<std::string>& names, const std::vector<tileseek::replay>& spaces,
                      std::size_t repetitions, std::uint64_t first) {
  const auto family = [](const std::string& name) { return name.substr(0, name.find('_')); };
  std::vector<recorded_kernel> kernels;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (std::count_if(names.begin(), names.end(), [&](const auto& n) { return family(n) == family(names[i]); }) < 2)
      continue;
    recorded_kernel k{names[i], &spaces[i], {}};
    for (const auto& axis : spaces[i].space().axes()) {
      tileseek::domain<tileseek::value> values;
      for (const double x : axis.values) values.values.emplace_back(x);
      k.space.add(axis.name, values);
    }
    k.space.where("recorded", [r = k.recording](const tileseek::configuration& c) {
      return recorded_kernel::find(*r, c).has_value();
    });
    kernels.push_back(std::move(k));
  }
  std::cout << "\nTransfer between recordings of one kernel on several devices: weighted latency over that of the "
               "optima.\n\n| scheduler | strategy | trials a task | no transfer | 1 | 3 |\n|---|---|---|---|---|---|\n";
  for (const char* scheduler : {"round_robin", "potential"})
    for (const char* strategy : {"explore_then", "dynamic_gradient"})
      for (const std::size_t trials : {std::size_t{30}, std::size_t{100}}) {
        std::cout << "| " << scheduler << " | " << strategy << " | " << trials << " |";
        for (const std::size_t transfer : {std::size_t{0}, std::size_t{1}, std::size_t{3}}) {
          geometric over;
          for (std::size_t r = 0; r < repetitions; ++r) {
            tileseek::rng random(first + r);
            std::vector<tileseek::task> tasks;
            double optimum = 0;
            for (const auto& k : kernels) {
              tileseek::task_description about;
              about.name = k.name;
              about.tag = family(k.name);
              about.weight = static_cast<double>(1 + random.below(6));
              const double scale = std::pow(10, 2 * random.uniform() - 1) / k.recording->best();
              optimum += about.weight * scale * k.recording->best();
              tileseek::options<tileseek::configuration> choices;
              choices.rounds = 0;
              tasks.emplace_back(
                  about, k.space,
                  [of = k.recording, scale](const tileseek::configuration& c) {
                    auto m = (*of)(*recorded_kernel::find(*of, c));
                    for (double& s : m.seconds) s *= scale;
                    return m;
                  },
                  [strategy] { return tileseek::make_strategy(strategy); }, choices);
            }
            tileseek::tasks_options o;
            o.trials = trials * tasks.size();
            o.seed = first + r;
            o.transfer = transfer;
            double sum = 0;
            for (const auto& row : tune_tasks(tasks, o, tileseek::make_scheduler(scheduler)).tasks)
              sum += row.weighted_seconds();
            over.add(sum / optimum);
          }
          std::cout << ' ' << fixed(over.mean()) << " |";
        }
        std::cout << '\n' << std::flush;
      }
}

/// Seconds to choose one of so many tasks, when between two choices a task has had its round.
double time_to_choose(tileseek::any_scheduler scheduler, std::size_t tasks) {
  tileseek::rng random(1);
  std::vector<tileseek::task_state> states(tasks);
  const auto play = [&](std::size_t i) {
    auto& h = states[i].history;
    for (std::size_t n = scheduler.round(states[i]); n > 0; --n)
      h.add(1 + static_cast<double>(i % 7) + 1 / (1 + static_cast<double>(h.trials())) + 0.1 * random.uniform());
    h.end_round();
  };
  for (std::size_t i = 0; i < tasks; ++i) play(i);
  constexpr int choices = 2000;
  std::vector<double> seconds;
  for (int i = 0; i < choices; ++i) {
    const auto began = std::chrono::steady_clock::now();
    const auto chosen = scheduler.next(states, random);
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
    play(*chosen);
  }
  return tileseek::median(seconds);
}

void run(const std::string& folder, std::size_t draws, std::size_t seeds, std::size_t trials, std::size_t round,
         std::uint64_t first) {
  using clock = std::chrono::steady_clock;
  const auto seconds_since = [](clock::time_point t) {
    return std::chrono::duration<double>(clock::now() - t).count();
  };
  std::vector<std::string> files;
  for (const auto& f : std::filesystem::directory_iterator(folder)) {
    const std::string path = f.path().string();
    if (path.ends_with(".csv") || path.ends_with(".csv.xz")) files.push_back(path);
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) throw std::runtime_error(folder + ": no recordings (*.csv, *.csv.xz)");
  std::vector<tileseek::replay> spaces;
  std::vector<std::string> names;
  for (const auto& f : files) {
    spaces.push_back(open_recording(f));
    names.push_back(recording_name(f));
  }

  const auto types = set_types();
  std::vector<row> rows;
  const auto all = contestants(round);
  for (const auto& c : all)
    rows.push_back({c.label, std::vector<cell>(types.size()), std::vector<cell>(strategies.size()), {}});
  double searched = 0;
  double scheduled = 0;
  for (std::size_t s = 0; s < strategies.size(); ++s) {
    const auto began = clock::now();
    const auto curves = search(strategies[s], spaces, seeds, first);
    searched += seconds_since(began);
    const auto then = clock::now();
    for (std::size_t k = 0; k < types.size(); ++k)
      for (std::size_t d = 0; d < draws; ++d) {
        const std::uint64_t seed = first + (s * types.size() + k) * draws + d;
        tileseek::rng random(seed);
        const auto tasks = draw(types[k], curves, random);
        const std::size_t equal = trials * tasks.size();
        const double goal = spend(all.front(), tasks, equal, 0, seed).at_equal_trials;
        for (std::size_t i = 0; i < all.size(); ++i) {
          const auto r = spend(all[i], tasks, equal, goal, seed);
          const auto share = [equal](double n) {
            return std::min(static_cast<double>(patience), n / static_cast<double>(equal));
          };
          for (cell* c : {&rows[i].types[k], &rows[i].strategies[s], &rows[i].all}) {
            c->goal.add(share(r.trials_to_goal));
            c->one_percent.add(share(r.trials_to_1_percent));
            c->objective.add(r.at_equal_trials / goal);
          }
        }
      }
    scheduled += seconds_since(then);
    std::cerr << strategies[s].name << ": " << tileseek::show_clock(seconds_since(began)) << '\n';
  }
  print(rows, types);
  std::cout << '\n'
            << spaces.size() << " recorded spaces, " << seeds << " seeds from " << first << " on for each of "
            << strategies.size() << " strategies; " << draws << " draws of each set type with each; " << trials
            << " trials a task, rounds of at most " << round << ". The searches took " << tileseek::show_clock(searched)
            << ", the scheduling " << tileseek::show_clock(scheduled) << ".\n";
  std::cout << "\nTo choose one of 1,000 tasks:";
  for (const auto& c : all)
    if (c.estimate == 0 && c.sees_models)
      std::cout << ' ' << c.label << ' ' << tileseek::show_seconds(time_to_choose(c.make(), 1000)) << ';';
  std::cout << '\n';
  compare_transfer(names, spaces, draws, first);
}

}  // namespace

int main(int argc, char** argv) {
  std::string folder;
  std::size_t draws = 30;
  std::size_t seeds = 24;
  std::size_t trials = 100;
  std::size_t round = 8;
  std::uint64_t first = 1000;
  CLI::App app("Compares task schedulers on searches of recorded spaces.");
  const CLI::Range some(std::size_t{1}, std::size_t{1'000'000});
  app.add_option("--spaces", folder, "folder of recordings, *.csv or *.csv.xz")->required();
  app.add_option("--draws", draws, "sets of each type with each strategy")->check(some)->capture_default_str();
  app.add_option("--seeds", seeds, "searches of each strategy on each space")->check(some)->capture_default_str();
  app.add_option("--trials", trials, "trials a task on average")->check(some)->capture_default_str();
  app.add_option("--round", round, "trials of a turn of `potential` at most")->check(some)->capture_default_str();
  app.add_option("--first", first, "first seed, of searches and draws")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    run(folder, draws, seeds, trials, round, first);
    return 0;
  } catch (const std::exception& e) {
    std::cerr << "scheduler: " << e.what() << '\n';
    return 2;
  }
}
