// Tunes all kernels of a network on this machine under one budget: the next trials go to the kernel that lowers the
// network's latency most.
//
//   tune_network --network bert_base --trials 300 --log bert.jsonl
//
// Started again with the same log, it goes on where it was.
#include <tileseek/kernels/conv2d_problem.hpp>
#include <tileseek/kernels/matmul_problem.hpp>
#include <tileseek/kernels/networks.hpp>
#include <tileseek/record/log.hpp>
#include <tileseek/report/task_events.hpp>
#include <tileseek/schedule/registry.hpp>
#include <tileseek/tune/tasks.hpp>

#include "tuner.hpp"

#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace {

using tileseek::kernels::conv2d_blocking;
using tileseek::kernels::conv2d_problem;
using tileseek::kernels::conv2d_shape;
using tileseek::kernels::matmul_blocking;
using tileseek::kernels::matmul_problem;
using tileseek::kernels::matmul_shape;
using tileseek::kernels::network;
using tileseek::kernels::network_layer;

struct arguments {
  std::string network = "bert_base";
  std::string scheduler = "potential";
  std::string objective = "weighted_sum";
  std::string strategy = "dynamic_gradient";
  std::vector<std::string> strategy_options;
  std::optional<std::size_t> trials;
  std::optional<std::size_t> trials_per_task;
  std::optional<double> seconds;
  int threads = 1;
  std::uint64_t seed = 0;
  std::string log;
  std::string events;
  bool quiet = false;
};

void read(CLI::App& app, arguments& a) {
  const auto list = [](std::string& names, const auto& all) {
    const char* before = ": ";
    for (const auto& one : all) names.append(std::exchange(before, ", ")).append(one.name);
  };
  std::string networks = "what is tuned";
  std::string schedulers = "whose turn it is";
  std::string objectives = "what is lowered";
  list(networks, tileseek::kernels::networks);
  list(schedulers, tileseek::schedulers());
  list(objectives, tileseek::objectives());
  const auto some = CLI::Range(std::size_t{1}, std::size_t{1} << 40);
  app.add_option("--network", a.network, networks)->capture_default_str();
  app.add_option("--scheduler", a.scheduler, schedulers)->capture_default_str();
  app.add_option("--objective", a.objective, objectives + "; with numbers: latency_requirements=0.02 seconds")
      ->capture_default_str();
  app.add_option("--strategy", a.strategy, "how each task is searched: " + strategy_names())->capture_default_str();
  app.add_option("--option", a.strategy_options, "key=value of the strategy; may be repeated")->take_all();
  app.add_option("--trials", a.trials, "of all tasks together; 100 a task if no budget is given")->check(some);
  app.add_option("--trials-per-task", a.trials_per_task, "of one task at most")->check(some);
  app.add_option("--seconds", a.seconds, "tuning time at most")->check(CLI::PositiveNumber);
  app.add_option("--threads", a.threads, "that a kernel uses")->check(CLI::Range(1, 1024))->capture_default_str();
  app.add_option("--seed", a.seed, "of all random choices")->capture_default_str();
  app.add_option("--log", a.log, "file to keep results in and to resume from");
  app.add_option("--events", a.events, "file for what happens, as JSON lines");
  app.add_flag("--quiet", a.quiet, "no progress");
}

/// Operands and reference are made when the first configuration is measured: a task whose trials are all in the log
/// needs none.
template <class Problem, class Shape>
auto when_needed(const Shape& shape, const arguments& a) {
  return [shape, seed = a.seed, threads = a.threads, problem = std::shared_ptr<Problem>()](
             const auto& blocking, const tileseek::timing_limits& limits) mutable {
    if (!problem) problem = std::make_shared<Problem>(shape, seed, threads);
    return (*problem)(blocking, limits);
  };
}

tileseek::task task_of(const network_layer& layer, const arguments& a) {
  tileseek::task_description about;
  about.name = layer.name();
  about.flop = layer.flop();
  about.weight = layer.count;
  about.tag = layer.kernel();
  const auto strategy = [name = a.strategy, options = a.strategy_options] { return strategy_named(name, options); };
  const auto choices = [&a]<class Config>(tileseek::options<Config> o) {
    o.finalists = 3;  // there are many tasks, and each has its contest
    o.final_seconds = 2;
    o.conditions = {{"network", tileseek::value(a.network)}, {"threads", tileseek::value(a.threads)}};
    return o;
  };
  if (const auto* m = std::get_if<matmul_shape>(&layer.shape))
    return {about, tileseek::kernels::matmul_space(*m), when_needed<matmul_problem>(*m, a), strategy,
            choices(tileseek::options<matmul_blocking>{})};
  const auto& c = std::get<conv2d_shape>(layer.shape);
  return {about, tileseek::kernels::conv2d_space(c), when_needed<conv2d_problem>(c, a), strategy,
          choices(tileseek::options<conv2d_blocking>{})};
}

int run(const arguments& a) {
  const network* const what = tileseek::kernels::find_network(a.network);
  if (what == nullptr) throw std::invalid_argument("--network: there is no network " + a.network + "; see --help");
  static_cast<void>(strategy_named(a.strategy, a.strategy_options));  // errors before anything is measured
  auto scheduler = tileseek::make_scheduler(a.scheduler, tileseek::make_objective(a.objective));
  std::vector<tileseek::task> tasks;
  for (const auto& layer : what->layers) tasks.push_back(task_of(layer, a));
  tileseek::tasks_options o;
  o.trials = a.trials;
  o.trials_per_task = a.trials_per_task;
  o.seconds = a.seconds;
  o.seed = a.seed;
  if (!a.log.empty()) o.log = tileseek::tasks_log(a.log);
  if (!a.quiet) o.observers.push_back(tileseek::task_table());
  if (!a.events.empty()) o.observers.push_back(tileseek::task_events(a.events));

  const auto found = tileseek::tune_tasks(tasks, o, std::move(scheduler));
  std::cout << found << "\nNot tuned:";
  const char* before = " ";
  for (const auto& other : what->others) std::cout << std::exchange(before, ", ") << other.count << " x " << other.what;
  std::cout << '\n';
  return found.without_result().empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Tunes all kernels of a network on this machine under one budget.");
  app.option_defaults()->take_last();  // a script's defaults may be followed by the user's choice
  arguments a;
  read(app, a);
  return tuner_main("tune_network", app, argc, argv, [&] { return run(a); });
}
