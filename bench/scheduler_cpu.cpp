// Schedulers and transfer on kernels of this very machine: small matrix products and convolutions, 20 trials a task.
//
//   scheduler_cpu --repetitions 10
//
// Each repetition tunes the same tasks with each variant, in an order of its own; then the winners of all variants are
// measured again, task by task, interleaved in rounds of random order, so that they are judged by the same minutes.
// Printed: the weighted latency over that of round robin without transfer, geometric means over the repetitions.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <tileseek/kernels/conv2d_problem.hpp>
#include <tileseek/kernels/matmul_problem.hpp>
#include <tileseek/kernels/shapes.hpp>
#include <tileseek/measure/contest.hpp>
#include <tileseek/schedule/registry.hpp>
#include <tileseek/search/registry.hpp>
#include <tileseek/tune/tasks.hpp>

namespace {

using tileseek::kernels::conv2d_blocking;
using tileseek::kernels::conv2d_problem;
using tileseek::kernels::conv2d_shape;
using tileseek::kernels::matmul_blocking;
using tileseek::kernels::matmul_problem;
using tileseek::kernels::matmul_shape;

struct variant {
  const char* scheduler;
  std::size_t transfer;
};
const std::vector<variant> variants = {{"round_robin", 0}, {"round_robin", 3}, {"potential", 0}, {"potential", 3}};

/// The tasks: problems that outlive the runs, and what they are to tune_tasks().
template <class Problem, class Blocking, class Shape>
struct kernels {
  std::vector<Shape> shapes;
  std::vector<std::unique_ptr<Problem>> problems;
  tileseek::space<Blocking> (*space_of)(const Shape&);
  const char* tag;

  kernels(std::vector<Shape> of, tileseek::space<Blocking> (*space)(const Shape&), const char* name)
      : shapes(std::move(of)), space_of(space), tag(name) {
    for (const auto& s : shapes) problems.push_back(std::make_unique<Problem>(s));
  }

  void add_to(std::vector<tileseek::task>& tasks, const std::string& strategy) const {
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      tileseek::task_description about;
      about.name = tag + (" " + std::to_string(i));
      about.flop = shapes[i].flop();
      about.weight = static_cast<double>(1 + tasks.size() % 3);
      about.tag = tag;
      tileseek::options<Blocking> choices;
      choices.rounds = 0;
      tasks.emplace_back(
          about, space_of(shapes[i]), [p = problems[i].get()](const Blocking& b, const auto& l) { return (*p)(b, l); },
          [strategy] { return tileseek::make_strategy(strategy); }, choices);
    }
  }

  /// Adds the weighted latency of each run's winners, measured again; the first of the tasks is the run's `from`-th.
  void judge(const std::vector<tileseek::tasks_result>& runs, std::size_t from, std::vector<double>& objectives,
             tileseek::rng& random) const {
    constexpr std::size_t rounds = 9;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      tileseek::timing_limits once;
      once.min_samples = once.max_samples = 1;
      const auto record = tileseek::contest(
          runs.size(), rounds, random,
          [&](std::size_t r) { return (*problems[i])(*runs[r].of<Blocking>(from + i).best, once); },
          [](std::size_t) { return true; });
      for (std::size_t r = 0; r < runs.size(); ++r)
        objectives[r] += runs[r].tasks[from + i].weight * record.median_of(r);
    }
  }
};

void run(std::size_t repetitions, std::size_t trials, const std::string& strategy) {
  using tileseek::kernels::detail::square;
  const kernels<matmul_problem, matmul_blocking, matmul_shape> products({{.m = 128, .n = 256, .k = 256},
                                                                         {.m = 128, .n = 512, .k = 256},
                                                                         {.m = 128, .n = 256, .k = 512},
                                                                         {.m = 256, .n = 256, .k = 192},
                                                                         {.m = 64, .n = 768, .k = 256},
                                                                         {.m = 196, .n = 128, .k = 384}},
                                                                        tileseek::kernels::matmul_space, "matmul");
  const kernels<conv2d_problem, conv2d_blocking, conv2d_shape> convolutions(
      {square(28, 64, 64, 3, 1), square(14, 128, 128, 3, 1), square(28, 128, 64, 1, 1), square(14, 256, 128, 1, 1)},
      tileseek::kernels::conv2d_space, "conv2d");
  std::vector<double> logs(variants.size());
  std::vector<double> squares(variants.size());
  tileseek::rng random(1);
  for (std::size_t r = 0; r < repetitions; ++r) {
    std::vector<tileseek::tasks_result> runs(variants.size());
    for (std::size_t i = 0; i < variants.size(); ++i) {
      const std::size_t v = (i + r) % variants.size();
      std::vector<tileseek::task> tasks;
      products.add_to(tasks, strategy);
      convolutions.add_to(tasks, strategy);
      tileseek::tasks_options o;
      o.trials = trials * tasks.size();
      o.seed = 1000 + r;
      o.transfer = variants[v].transfer;
      runs[v] = tune_tasks(tasks, o, tileseek::make_scheduler(variants[v].scheduler));
    }
    std::vector<double> objectives(variants.size());
    products.judge(runs, 0, objectives, random);
    convolutions.judge(runs, products.shapes.size(), objectives, random);
    for (std::size_t v = 0; v < variants.size(); ++v) {
      const double x = std::log(objectives[v] / objectives[0]);
      logs[v] += x;
      squares[v] += x * x;
    }
    std::cerr << '.' << std::flush;
  }
  const auto n = static_cast<double>(repetitions);
  std::cout << "\n| scheduler | transfer | weighted latency over round robin's | standard error |\n|---|---|---|---|\n";
  for (std::size_t v = 0; v < variants.size(); ++v) {
    const double mean = logs[v] / n;
    const double variance = n > 1 ? std::fmax(0, squares[v] / n - mean * mean) / (n - 1) : 0;
    std::cout << "| " << variants[v].scheduler << " | " << variants[v].transfer << " | "
              << tileseek::fixed(std::exp(mean), 3) << " | " << tileseek::fixed(std::sqrt(variance), 3) << " |\n";
  }
  std::cout << '\n' << repetitions << " repetitions, " << trials << " trials a task, " << strategy << ".\n";
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t repetitions = 10;
  std::size_t trials = 20;
  std::string strategy = "dynamic_gradient";
  CLI::App app("Compares task schedulers and transfer on small kernels of this machine.");
  const CLI::Range some(std::size_t{1}, std::size_t{1'000'000});
  app.add_option("--repetitions", repetitions, "of all variants")->check(some)->capture_default_str();
  app.add_option("--trials", trials, "trials a task on average")->check(some)->capture_default_str();
  app.add_option("--strategy", strategy, "of all tasks")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    run(repetitions, trials, strategy);
    return 0;
  } catch (const std::exception& e) {
    std::cerr << "scheduler_cpu: " << e.what() << '\n';
    return 2;
  }
}
