// Tunes the bundled kernels and compares them with OpenBLAS (matmul) and oneDNN (conv2d): one thread, a few trials a
// shape, then interleaved rounds with the library in the same run, by the thread's CPU time. See docs/kernels.md.
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
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <time.h>

namespace {

using namespace tileseek::kernels;

struct arguments {
  std::string only;
  std::string strategy = "bayesian";
  std::size_t trials = 200;
  std::size_t rounds = 21;
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

/// Seconds that this thread has computed: what others do on the machine does not count.
double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// One call, warm: the mean over 5 ms.
template <class Call>
tileseek::measurement time_warm(const Call& call) {
  call();
  const double begin = cpu_seconds();
  double now = begin;
  int calls = 0;
  do {
    call();
    ++calls;
    now = cpu_seconds();
  } while (now - begin < 5e-3);
  tileseek::measurement m;
  m.seconds = {(now - begin) / calls};
  return m;
}

std::size_t size_of_result(const conv2d_shape& s) { return s.output_size(); }
std::size_t size_of_result(const matmul_shape& s) {
  return static_cast<std::size_t>(s.batch) * static_cast<std::size_t>(s.m) * static_cast<std::size_t>(s.n);
}

/// Tunes, then lets the library, the tuned and the untuned configuration compute in turn.
/// @param library  computes into the pointer that it is given
/// @param with  makes a kernel of a configuration: a function of such a pointer
template <class Config, class Problem, class Library, class With>
row compare(const arguments& a, row r, const tileseek::space<Config>& space, Problem& problem, const Library& library,
            const With& with) {
  const auto found = tileseek::tune(
      space, problem,
      {.trials = a.trials, .seed = a.seed, .rounds = 6, .final_seconds = 0, .progress = tileseek::verbosity::quiet},
      tileseek::make_strategy(a.strategy));
  const auto checked = problem.check_and_time(library, {.min_samples = 1, .max_samples = 1});
  if (!found.best) throw std::runtime_error(r.name + ": no configuration was valid");
  if (checked.outcome != tileseek::status::ok) throw std::runtime_error(r.name + ": the library: " + checked.note);
  auto tuned = with(*found.best);
  auto untuned = with(space.default_configuration());
  tileseek::kernels::detail::floats output(size_of_result(problem.shape()));
  tileseek::rng random(a.seed);
  const auto record = tileseek::contest(
      3, a.rounds, random,
      [&](std::size_t i) {
        float* to = output.data();
        return i == 0   ? time_warm([&] { library(to); })
               : i == 1 ? time_warm([&] { tuned(to); })
                        : time_warm([&] { untuned(to); });
      },
      [](std::size_t) { return true; });
  r.flop = problem.shape().flop();
  r.library = record.median_of(0);
  r.tuned = record.median_of(1);
  r.untuned = record.median_of(2);
  r.ratio = record.compare(1, 0);
  r.best = tileseek::to_string(found.best_values);
  return r;
}

row compare_matmul(const arguments& a, const std::string& set, const std::string& name, const matmul_shape& shape) {
  matmul_problem problem(shape, a.seed);
  const openblas_matmul library(1);
  row r;
  r.set = set;
  r.name = name;
  r.implementation = library.name();
  const float *left = problem.a().data(), *right = problem.b().data();
  return compare(
      a, r, matmul_space(shape), problem, [&](float* c) { library(shape, left, right, c); },
      [&](const matmul_blocking& by) {
        return [&, by, product = std::make_shared<matmul>(shape)](float* c) { (*product)(by, left, right, c); };
      });
}

row compare_conv2d(const arguments& a, const std::string& set, const std::string& name, const conv2d_shape& shape) {
  conv2d_problem problem(shape, a.seed);
  onednn_conv2d library(shape, problem.weights().data());
  row r;
  r.set = set;
  r.name = name;
  r.implementation = library.name();
  const float* input = problem.input().data();
  return compare(
      a, r, conv2d_space(shape), problem, [&](float* output) { library(input, output); },
      [&](const conv2d_blocking& by) {
        const auto convolve = std::make_shared<conv2d>(shape);
        convolve->prepare(by, problem.weights().data());
        return [convolve, input](float* output) { (*convolve)(input, output); };
      });
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
