// How good is what a strategy has found after so many evaluations? Runs every strategy on a folder of recorded search
// spaces, over many seeds, on all cores, and prints the table of docs/search-quality.md.
//
//   search_quality --spaces FOLDER --seeds 50 --markdown table.md --json table.json --plot curves.svg
//
// Share: best recorded time of the space / best found so far, a mean over seeds and spaces. Evaluations to x %: of
// configurations not evaluated before, until one within x % of the best; a median over seeds, a geometric mean over
// spaces; a run that does not get there counts as 1,500. A configuration that fails costs one evaluation.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <tileseek/core/statistics.hpp>
#include <tileseek/search/registry.hpp>

#include "../examples/open_recording.hpp"
#include "../examples/replay_run.hpp"

namespace {

constexpr std::array<std::size_t, 5> counts = {25, 50, 100, 200, 400};
constexpr double never = 1500;  // evaluations that a run counts with when it does not get there

struct contestant {
  std::string label;
  std::string strategy;
  std::vector<std::string> options;
  std::size_t batch = 1;
  std::size_t trials = 1500;
};

/// What is compared: each strategy as it is, and the forms that the table needs.
std::vector<contestant> all_contestants(std::size_t model_trials) {
  const std::vector<std::string> plain_descent = {"explore=1", "values=false", "pairs=0", "kick=0", "restart_from=1"};
  return {
      {"random", "random", {}},
      {"restart descent", "local_search", plain_descent},
      {"maximin", "maximin", {}},
      {"annealing", "annealing", {}},
      {"evolutionary", "evolutionary", {}},
      {"evolutionary, batch 64", "evolutionary", {"population=64", "children=64"}, 64},
      {"guided_evolution", "guided_evolution", {}},
      {"guided_evolution, published",
       "guided_evolution",
       {"model=boosted_trees", "init_size=64", "design=random", "batch=64", "population=2048", "generations=4",
        "kappa=0"},
       64,
       1000},
      {"local_search", "local_search", {}},
      {"local_search, kicks of 2", "local_search", {"values=false", "pairs=0", "kick=2"}},
      {"droplet", "droplet", {}},
      {"droplet, random start", "droplet", {"explore=0", "from=random"}},
      {"explore_then", "explore_then", {}},
      {"explore_then, random 16", "explore_then", {"explorer=random", "explore=16"}},
      {"dynamic_gradient, published", "dynamic_gradient", {"form=published"}},
      {"dynamic_gradient", "dynamic_gradient", {}},
      {"dynamic_gradient, batch 8", "dynamic_gradient", {}, 8},
      {"dynamic_gradient, ridge", "dynamic_gradient", {"model=ridge"}},
      {"dynamic_gradient, boosted trees", "dynamic_gradient", {"model=boosted_trees"}, 1, model_trials},
      {"dynamic_gradient, Gaussian process", "dynamic_gradient", {"model=gaussian_process"}, 1, model_trials},
      {"guided_evolution, ridge", "guided_evolution", {"model=ridge"}},
      {"guided_evolution, level ridge", "guided_evolution", {"model=level_ridge"}},
      {"guided_evolution, Gaussian process", "guided_evolution", {"model=gaussian_process"}, 1, model_trials},
      {"bayesian", "bayesian", {}, 1, model_trials},
      {"bayesian, pool", "bayesian", {"list_up_to=1"}, 1, model_trials},
      {"bayesian, batch 8", "bayesian", {}, 8, model_trials},
  };
}

struct space {
  std::string name;
  tileseek::replay recording;
};

/// Best found so far over best there is, after each evaluation; ends when it stays the same.
using curve = std::vector<float>;

float at(const curve& c, std::size_t evaluations) {
  return c.empty() || evaluations == 0 ? 0.0F : c[std::min(c.size(), evaluations) - 1];
}

double evaluations_to(const curve& c, double share) {
  for (std::size_t i = 0; i < c.size(); ++i)
    if (double{c[i]} >= share - 1e-6) return static_cast<double>(i + 1);
  return never;
}

/// One strategy on one space.
struct cell {
  std::vector<curve> runs;  ///< of each seed
  double search_seconds = 0;
  double evaluations = 0;

  [[nodiscard]] double share(std::size_t evals) const {
    double sum = 0;
    for (const auto& r : runs) sum += double{at(r, evals)};
    return sum / static_cast<double>(runs.size());
  }
  /// Squared standard error of that mean.
  [[nodiscard]] double share_error(std::size_t evals) const {
    const double mean = share(evals);
    double sum = 0;
    for (const auto& r : runs) sum += (double{at(r, evals)} - mean) * (double{at(r, evals)} - mean);
    const auto n = static_cast<double>(runs.size());
    return n > 1 ? sum / (n - 1) / n : 0;
  }
  [[nodiscard]] double median_to(double share) const {
    std::vector<double> all;
    for (const auto& r : runs) all.push_back(evaluations_to(r, share));
    return tileseek::median(all);
  }
};

struct row {
  contestant who;
  std::vector<cell> cells;  ///< of each space

  [[nodiscard]] double share(std::size_t evals) const {
    double sum = 0;
    for (const auto& c : cells) sum += c.share(evals);
    return sum / static_cast<double>(cells.size());
  }
  [[nodiscard]] double evaluations_to(double share) const {
    double sum = 0;
    for (const auto& c : cells) sum += std::log(c.median_to(share));
    return std::exp(sum / static_cast<double>(cells.size()));
  }
  [[nodiscard]] std::size_t worst() const {
    std::size_t w = 0;
    for (std::size_t s = 1; s < cells.size(); ++s)
      if (cells[s].share(100) < cells[w].share(100)) w = s;
    return w;
  }
  [[nodiscard]] double milliseconds_an_evaluation() const {
    double seconds = 0;
    double evaluations = 0;
    for (const auto& c : cells) {
      seconds += c.search_seconds;
      evaluations += c.evaluations;
    }
    return evaluations > 0 ? 1000 * seconds / evaluations : 0;
  }
};

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

constexpr double within_10 = 1 / 1.10;
constexpr double within_5 = 1 / 1.05;

const row* find(const std::vector<row>& rows, std::string_view label) {
  for (const auto& r : rows)
    if (r.who.label == label) return &r;
  return nullptr;
}

std::string markdown(const std::vector<row>& rows, const std::vector<space>& spaces, std::size_t seeds) {
  std::string out =
      "| strategy | share at 25 | 50 | 100 | 200 | 400 | evaluations to 10 % | to 5 % | fewer than random | fewer than "
      "restart descent | worst space (share at 100) | search, ms/evaluation "
      "|\n|---|---|---|---|---|---|---|---|---|---|---|---|\n";
  const row* random = find(rows, "random");
  const row* descent = find(rows, "restart descent");
  for (const auto& r : rows) {
    out += "| " + r.who.label;
    for (const auto n : counts) out += " | " + fixed(r.share(n), 3);
    const double to_10 = r.evaluations_to(within_10);
    const double to_5 = r.evaluations_to(within_5);
    out += " | " + fixed(to_10, 1) + " | " + fixed(to_5, 1);
    for (const row* other : {random, descent})
      out += other == nullptr ? " | "
                              : " | " + fixed(other->evaluations_to(within_10) / to_10, 2) + "x / " +
                                    fixed(other->evaluations_to(within_5) / to_5, 2) + "x";
    const std::size_t w = r.worst();
    out += " | " + spaces[w].name + " (" + fixed(r.cells[w].share(100), 3) + ") | " +
           fixed(r.milliseconds_an_evaluation(), 3) + " |\n";
  }

  out += "\nMedian evaluations to 10 % / 5 % on each space:\n\n| strategy |";
  for (const auto& s : spaces) out += " " + s.name + " |";
  out += "\n|---|";
  for (std::size_t s = 0; s < spaces.size(); ++s) out += "---|";
  out += '\n';
  for (const auto& r : rows) {
    out += "| " + r.who.label + " |";
    for (const auto& c : r.cells)
      out += " " + fixed(c.median_to(within_10), 0) + " / " + fixed(c.median_to(within_5), 0) + " |";
    out += '\n';
  }

  if (random != nullptr) {
    out += "\nMeans below random's by more than two standard errors at 100, 200 or 400 evaluations: ";
    std::string below;
    for (const auto& r : rows)
      for (std::size_t s = 0; s < spaces.size() && &r != random; ++s)
        for (const std::size_t n : {std::size_t{100}, std::size_t{200}, std::size_t{400}}) {
          const cell& mine = r.cells[s];
          const cell& base = random->cells[s];
          if (mine.share(n) < base.share(n) - 2 * std::sqrt(mine.share_error(n) + base.share_error(n)))
            below += "\n- " + r.who.label + " on " + spaces[s].name + " at " + std::to_string(n) + ": " +
                     fixed(mine.share(n), 3) + " < " + fixed(base.share(n), 3);
        }
    out += below.empty() ? "none.\n" : below + "\n";
  }

  for (const char* evolution : {"guided_evolution, published", "evolutionary, batch 64"}) {
    const row* slow = find(rows, evolution);
    if (slow == nullptr) continue;
    std::string head = "\nPerformance with an eighth of the evaluations of `" + slow->who.label +
                       "`, as a share of its own (geometric mean over spaces):\n\n| its evaluations |";
    std::string line = "|---|";
    const std::array<std::size_t, 7> its = {64, 128, 256, 384, 512, 768, 1000};
    for (const auto n : its) {
      head += " " + std::to_string(n) + " |";
      line += "---|";
    }
    out += head + "\n" + line + "\n";
    for (const char* label : {"dynamic_gradient, published", "dynamic_gradient", "bayesian"}) {
      const row* fast = find(rows, label);
      if (fast == nullptr) continue;
      out += "| " + std::string(label) + " |";
      for (const auto n : its) {
        double sum = 0;
        for (std::size_t s = 0; s < spaces.size(); ++s)
          sum += std::log(fast->cells[s].share(n / 8) / slow->cells[s].share(n));
        out += " " + fixed(std::exp(sum / static_cast<double>(spaces.size())), 3) + " |";
      }
      out += '\n';
    }
  }
  out +=
      "\n" + std::to_string(seeds) + " seeds; a run that does not get within 10 % or 5 % counts as 1500 evaluations.\n";
  return out;
}

std::string json(const std::vector<row>& rows, const std::vector<space>& spaces, std::size_t seeds, double seconds) {
  std::string out =
      "{\"seeds\": " + std::to_string(seeds) + ", \"seconds\": " + fixed(seconds, 1) + ", \"strategies\": [";
  for (const auto& r : rows) {
    out += std::string(&r == rows.data() ? "" : ",") + "\n  {\"label\": \"" + r.who.label + "\", \"strategy\": \"" +
           r.who.strategy + "\", \"options\": [";
    for (std::size_t i = 0; i < r.who.options.size(); ++i) out += (i == 0 ? "\"" : ", \"") + r.who.options[i] + "\"";
    out += "], \"batch\": " + std::to_string(r.who.batch) +
           ", \"to_10_percent\": " + fixed(r.evaluations_to(within_10), 2) +
           ", \"to_5_percent\": " + fixed(r.evaluations_to(within_5), 2) +
           ", \"ms_an_evaluation\": " + fixed(r.milliseconds_an_evaluation(), 4) + ", \"spaces\": [";
    for (std::size_t s = 0; s < spaces.size(); ++s) {
      const auto& c = r.cells[s];
      out += std::string(s == 0 ? "" : ",") + "\n    {\"space\": \"" + spaces[s].name +
             "\", \"to_10_percent\": " + fixed(c.median_to(within_10), 1) +
             ", \"to_5_percent\": " + fixed(c.median_to(within_5), 1) + ", \"share\": {";
      for (std::size_t i = 0; i < counts.size(); ++i)
        out += (i == 0 ? "\"" : ", \"") + std::to_string(counts[i]) + "\": " + fixed(c.share(counts[i]), 5);
      out += "}}";
    }
    out += "]}";
  }
  return out + "\n]}\n";
}

/// Mean share against evaluations, drawn by gnuplot.
void plot(const std::vector<row>& rows, const std::string& file) {
  std::string script = "set terminal svg size 900,560 font 'sans,12'\nset output '" + file +
                       "'\nset logscale x\nset xrange [5:400]\nset yrange [0.4:1]\nset key bottom right\nset grid\n"
                       "set xlabel 'evaluations'\nset ylabel 'best time / best found'\nplot ";
  std::vector<const row*> drawn;  // one form of each strategy; more lines could not be told apart
  for (const auto& r : rows)
    if (r.who.label.find(',') == std::string::npos || r.who.label == "dynamic_gradient, published") drawn.push_back(&r);
  // As many colours as lines that can be told apart.
  constexpr std::array<const char*, 12> colours = {"#7f7f7f", "#c7c7c7", "#bcbd22", "#8c564b", "#e377c2", "#9467bd",
                                                   "#17becf", "#2ca02c", "#98df8a", "#ffbb78", "#ff7f0e", "#1f77b4"};
  std::string lines;
  for (std::size_t i = 0; i < drawn.size(); ++i)
    lines += std::string(i == 0 ? "" : ", ") + "'-' with lines linewidth 2 linecolor rgb '" +
             colours[i % colours.size()] + "' title '" + drawn[i]->who.label + "' noenhanced";
  script += lines + '\n';
  for (const row* of : drawn) {
    const row& r = *of;
    for (std::size_t n = 5; n <= 400; n += n < 50 ? 1 : n < 150 ? 5 : 25)
      script += std::to_string(n) + ' ' + fixed(r.share(n), 5) + '\n';
    script += "e\n";
  }
  std::FILE* gnuplot = popen("gnuplot", "w");
  if (gnuplot == nullptr || std::fwrite(script.data(), 1, script.size(), gnuplot) != script.size() ||
      pclose(gnuplot) != 0)
    throw std::runtime_error("gnuplot could not draw " + file + "; is it installed?");
}

void write(const std::string& file, const std::string& text) {
  std::ofstream out(file);
  out << text;
  if (!out.flush()) throw std::runtime_error(file + ": cannot be written");
}

std::vector<row> run_all(const std::vector<contestant>& contestants, const std::vector<space>& spaces,
                         std::size_t seeds, std::size_t threads) {
  std::vector<row> rows;
  for (const auto& c : contestants) {
    row r{c, std::vector<cell>(spaces.size())};
    for (auto& one : r.cells) one.runs.resize(seeds);
    rows.push_back(std::move(r));
  }
  std::atomic<std::size_t> next{0};
  std::mutex access;
  std::exception_ptr thrown;
  const auto work = [&] {
    for (;;) {
      const std::size_t job = next++;
      if (job >= rows.size() * spaces.size() * seeds) return;
      const std::size_t seed = job % seeds;
      const std::size_t s = job / seeds % spaces.size();
      row& r = rows[job / seeds / spaces.size()];
      try {
        const double best = spaces[s].recording.best();
        const auto done = replay_run(tileseek::make_strategy(r.who.strategy, r.who.options), spaces[s].recording,
                                     static_cast<std::uint64_t>(seed) + 1, r.who.trials, r.who.batch, best);
        curve c;
        for (const double found : done.best) c.push_back(static_cast<float>(best / found));
        const std::lock_guard lock(access);
        r.cells[s].evaluations += static_cast<double>(c.size());
        r.cells[s].search_seconds += done.search_seconds;
        r.cells[s].runs[seed] = std::move(c);
      } catch (...) {
        const std::lock_guard lock(access);
        thrown = std::current_exception();
      }
    }
  };
  std::vector<std::thread> pool;
  for (std::size_t i = 1; i < threads; ++i) pool.emplace_back(work);
  work();
  for (auto& t : pool) t.join();
  if (thrown) std::rethrow_exception(thrown);
  return rows;
}

}  // namespace

int main(int argc, char** argv) {
  std::string folder;
  std::string markdown_file;
  std::string json_file;
  std::string plot_file;
  std::vector<std::string> only_strategies;
  std::vector<std::string> only_spaces;
  std::vector<std::string> not_spaces;
  std::size_t seeds = 50;
  std::size_t model_trials = 400;
  std::size_t threads = std::max(1U, std::thread::hardware_concurrency());
  CLI::App app("Compares the search strategies on recorded spaces.");
  const CLI::Range some(std::size_t{1}, std::size_t{1'000'000});
  app.add_option("--spaces", folder, "folder of recordings, *.csv or *.csv.xz")->required();
  app.add_option("--seeds", seeds, "runs of each strategy on each space")->check(some)->capture_default_str();
  app.add_option(
         "--model-trials", model_trials,
         "evaluations of bayesian and of rows that name boosted trees or a Gaussian process; of others up to 1500")
      ->check(some)
      ->capture_default_str();
  app.add_option("--threads", threads, "runs at a time")->check(some)->capture_default_str();
  app.add_option("--only", only_strategies, "strategies whose label contains this; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--on", only_spaces, "spaces whose name contains this; may be repeated")->allow_extra_args(false);
  app.add_option("--not-on", not_spaces, "but not spaces whose name contains this; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--markdown", markdown_file, "file for the tables, beside standard output");
  app.add_option("--json", json_file, "file for the figures");
  app.add_option("--plot", plot_file, "file for the curves, .svg; needs gnuplot");
  CLI11_PARSE(app, argc, argv);

  try {
    const auto has_part = [](const std::string& name, const std::vector<std::string>& parts) {
      return std::any_of(parts.begin(), parts.end(), [&](const auto& p) { return name.find(p) != std::string::npos; });
    };
    const auto wanted = [&](const std::vector<std::string>& parts, const std::string& name) {
      return parts.empty() || has_part(name, parts);
    };
    std::vector<std::string> files;
    for (const auto& f : std::filesystem::directory_iterator(folder)) {
      const std::string path = f.path().string();
      if ((path.ends_with(".csv") || path.ends_with(".csv.xz")) && wanted(only_spaces, recording_name(path)) &&
          !has_part(recording_name(path), not_spaces))
        files.push_back(path);
    }
    std::sort(files.begin(), files.end());
    std::vector<space> spaces;
    for (const auto& f : files) spaces.push_back({recording_name(f), open_recording(f)});
    if (spaces.empty()) throw std::runtime_error(folder + ": no recordings (*.csv, *.csv.xz) with such a name");
    std::vector<contestant> contestants;
    for (const auto& c : all_contestants(model_trials))
      if (wanted(only_strategies, c.label)) contestants.push_back(c);

    const auto begin = std::chrono::steady_clock::now();
    const auto rows = run_all(contestants, spaces, seeds, threads);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const std::string table = markdown(rows, spaces, seeds);
    std::cout << table << "\nIt took " << fixed(seconds, 0) << " s on " << threads << " threads.\n";
    if (!markdown_file.empty()) write(markdown_file, table);
    if (!json_file.empty()) write(json_file, json(rows, spaces, seeds, seconds));
    if (!plot_file.empty()) plot(rows, plot_file);
    return 0;
  } catch (const std::exception& e) {
    std::cerr << "search_quality: " << e.what() << '\n';
    return 2;
  }
}
