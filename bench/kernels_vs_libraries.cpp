// Tunes the bundled kernels and compares them with OpenBLAS (matmul) and oneDNN (conv2d): one thread, a few trials a
// shape, then interleaved rounds with the library in the same run. See docs/kernels.md.
#include <tileseek/kernels/shapes.hpp>
#include <tileseek/search/registry.hpp>
#include <tileseek/tileseek.hpp>
#include "../examples/libraries.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

namespace {

using namespace tileseek::kernels;

struct arguments {
  std::string only;
  std::string strategy = "bayesian";
  std::size_t trials = 200;
  std::size_t rounds = 15;
  std::uint64_t seed = 0;
  bool json = false;
};

/// What is printed of a shape. Ratios: the library's time divided by ours; above 1, ours is faster.
struct row {
  std::string set;
  std::string name;
  double flop = 0;
  double library = 0;  ///< seconds
  double untuned = 0;
  double tuned = 0;
  tileseek::comparison ratio;
  std::string implementation;
  std::string best;

  [[nodiscard]] double ratio_untuned() const { return library / untuned; }
};

double gflops(const row& r, double seconds) { return r.flop / seconds * 1e-9; }

template <class Space, class Problem>
row compare(const arguments& a, const std::string& set, const std::string& name, const Space& space, Problem& problem,
            const tileseek::rival& library) {
  const auto found = tileseek::tune(space, problem,
                                    {.trials = a.trials,
                                     .seed = a.seed,
                                     .rounds = a.rounds,
                                     .final_seconds = 60,
                                     .rivals = {library},
                                     .progress = tileseek::verbosity::quiet},
                                    tileseek::make_strategy(a.strategy));
  if (!found.best) throw std::runtime_error(name + ": no configuration was valid");
  row r;
  r.set = set;
  r.name = name;
  r.flop = problem.shape().flop();
  r.implementation = library.name;
  r.library = found.rivals.front().seconds;
  r.ratio = found.rivals.front().against;
  r.tuned = found.median_seconds;
  r.untuned = found.untuned_compared ? found.untuned_compared->seconds : r.tuned;  // none: the default won
  r.best = tileseek::to_string(found.best_values);
  return r;
}

row compare_matmul(const arguments& a, const std::string& set, const std::string& name, const matmul_shape& shape) {
  matmul_problem problem(shape, a.seed);
  const openblas_matmul library(1);
  const auto measure = [&](const tileseek::timing_limits& limits) {
    return problem.check_and_time([&](float* c) { library(shape, problem.a().data(), problem.b().data(), c); }, limits);
  };
  return compare(a, set, name, matmul_space(shape), problem, {library.name(), measure});
}

row compare_conv2d(const arguments& a, const std::string& set, const std::string& name, const conv2d_shape& shape) {
  conv2d_problem problem(shape, a.seed);
  onednn_conv2d library(shape, problem.weights().data());
  const auto measure = [&](const tileseek::timing_limits& limits) {
    return problem.check_and_time([&](float* output) { library(problem.input().data(), output); }, limits);
  };
  return compare(a, set, name, conv2d_space(shape), problem, {library.name(), measure});
}

void print(const row& r) {
  std::printf("%-7s %-6s %8.1f %8.1f %8.1f   %5.2f   %5.3f [%5.3f, %5.3f]   %s; %s\n", r.set.c_str(), r.name.c_str(),
              gflops(r, r.library), gflops(r, r.untuned), gflops(r, r.tuned), r.ratio_untuned(), r.ratio.ratio,
              r.ratio.range.low, r.ratio.range.high, r.best.c_str(), r.implementation.c_str());
  std::fflush(stdout);
}

nlohmann::ordered_json to_json(const row& r) {
  return {{"set", r.set},
          {"name", r.name},
          {"flop", r.flop},
          {"library", r.implementation},
          {"library_seconds", r.library},
          {"untuned_seconds", r.untuned},
          {"tuned_seconds", r.tuned},
          {"ratio_untuned", r.ratio_untuned()},
          {"ratio", r.ratio.ratio},
          {"interval", {r.ratio.range.low, r.ratio.range.high}},
          {"best", r.best}};
}

/// Of the ratios of a set, tuned and untuned, and the least tuned one.
void summarise(const std::vector<row>& rows, const std::string& set) {
  double tuned = 0, untuned = 0, least = INFINITY;
  int count = 0;
  for (const auto& r : rows)
    if (set == "conv2d" ? r.set != "matmul" : r.set == set) {
      tuned += std::log(r.ratio.ratio);
      untuned += std::log(r.ratio_untuned());
      least = std::fmin(least, r.ratio.ratio);
      ++count;
    }
  if (count > 0)
    std::printf("%-7s %d shapes: geometric mean of the ratios %.3f tuned, %.3f untuned; least %.3f tuned\n",
                set.c_str(), count, std::exp(tuned / count), std::exp(untuned / count), least);
}

void run(const arguments& a) {
  std::vector<row> rows;
  const auto wanted = [&a](const std::string& set, const std::string& name) {
    return (set + ":" + name).find(a.only) != std::string::npos;
  };
  const auto add = [&](row r) {
    if (!a.json) print(r);
    rows.push_back(std::move(r));
  };
  if (!a.json) std::puts("GFLOP/s          library  untuned    tuned   library's time / ours: untuned, tuned [95 %]");
  auto products = std::vector<named_shape<matmul_shape>>(matmul_shapes.begin(), matmul_shapes.end());
  static constexpr std::array<const char*, 4> squares{"256", "512", "1024", "2048"};
  for (const char* name : squares) {
    const int size = std::stoi(name);
    products.push_back({name, {.m = size, .n = size, .k = size}});
  }
  for (const auto& p : products)
    if (const std::string name(p.name); wanted("matmul", name)) add(compare_matmul(a, "matmul", name, p.shape));
  for (const auto& network : conv2d_networks)
    for (const auto& layer : network.layers)
      if (const std::string set(network.name), name(layer.name); wanted(set, name))
        add(compare_conv2d(a, set, name, layer.shape));
  if (a.json) {
    auto all = nlohmann::ordered_json::array();
    for (const auto& r : rows) all.push_back(to_json(r));
    std::cout << all << '\n';
    return;
  }
  for (const char* set : {"matmul", "resnet", "yolo", "conv2d"}) summarise(rows, set);
}

}  // namespace

int main(int argc, char** argv) {
  choose_openblas_kernels(argv);
  restart_with("OMP_NUM_THREADS", "1", argv);
  CLI::App app("Compares the tuned kernels with OpenBLAS and oneDNN, on one thread.");
  arguments a;
  app.add_option("--only", a.only, "shapes with this in SET:NAME, such as matmul, resnet or yolo:Y1");
  app.add_option("--strategy", a.strategy, "how it searches")->capture_default_str();
  app.add_option("--trials", a.trials, "configurations to measure for a shape")->capture_default_str();
  app.add_option("--rounds", a.rounds, "of the comparison; 6 at least for an interval")->capture_default_str();
  app.add_option("--seed", a.seed, "of all random choices")->capture_default_str();
  app.add_flag("--json", a.json, "print one JSON array");
  CLI11_PARSE(app, argc, argv);
  try {
    run(a);
  } catch (const std::exception& e) {
    std::cerr << "kernels_vs_libraries: " << e.what() << '\n';
    return 1;
  }
}
