#pragma once
// What the tuning examples share: the options on their command lines.
#include "libraries.hpp"
#include "strategies.hpp"
#include "tuner_run.hpp"

#include <CLI/CLI.hpp>

#include <exception>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

/// Those that were there when this was built.
inline std::vector<std::string> backends() {
  std::vector<std::string> out{"cpu"};
#ifdef TILESEEK_HAVE_OPENCL
  out.push_back("opencl");
#endif
#ifdef TILESEEK_HAVE_CUDA
  out.push_back("cuda");
#endif
  return out;
}

inline void read(CLI::App& app, tuner_options& o) {
  auto* backend = app.add_option("--backend", o.backend, "where it runs");
  backend->check(CLI::IsMember(backends()))->capture_default_str();
  auto* threads = app.add_option("--threads", o.threads, "that a kernel uses, on the CPU");
  threads->check(CLI::Range(1, 1024))->capture_default_str();
  auto* dry_run = app.add_flag("--dry-run", o.dry_run,
                               "needs no GPU: searches a static model of one, compiles the best configurations for "
                               "--arch and ranks them");
  dry_run->excludes(backend)->excludes(threads);
  app.add_option("--arch", o.arch, "architecture that a dry run compiles for")->needs(dry_run)->capture_default_str();
  app.add_option("--view", o.view,
                 "of a GPU kernel's space. paper: tile sizes alone, searched by default as dynamic gradient descent's "
                 "authors published it (options form=published, only_features=true)")
      ->check(CLI::IsMember({"full", "paper"}))
      ->capture_default_str();
  app.add_option("--strategy", o.strategy,
                 "how it searches: " + strategy_names() +
                     ". By default dynamic_gradient; evolutionary in a dry run, which evaluates 20000 "
                     "configurations, or 100 times as many as it compiles");
  app.add_option("--option", o.strategy_options, "key=value of the strategy; may be repeated")->take_all();
  app.add_option("--trials", o.trials, "configurations to measure at most; in a dry run, to compile")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 40))
      ->capture_default_str();
  app.add_option("--seconds", o.seconds, "tuning time at most")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--seed", o.seed, "of all random choices")->capture_default_str();
  app.add_option("--log", o.log, "file to keep results in and to resume from")->excludes(dry_run);
  app.add_flag("--json", o.json, "print one JSON object");
  app.add_flag("--quiet", o.quiet, "no progress");
}

/// The strategy of the options, or the default of what they ask for.
/// @throws std::invalid_argument  there is none of this name, or it lacks an option
inline tileseek::any_strategy chosen_strategy(const tuner_options& o) {
  if (!o.strategy.empty()) return strategy_named(o.strategy, o.strategy_options);
  if (o.dry_run) return strategy_named("evolutionary", o.strategy_options);
  auto options = o.strategy_options;
  if (o.view == "paper") options.insert(options.begin(), {"form=published", "only_features=true"});
  return strategy_named("dynamic_gradient", options);
}

/// Reads the command line, then calls `tune` for the exit status. Errors are one line on stderr and status 2.
template <class Tune>
int tuner_main(const std::string& name, CLI::App& app, int argc, char** argv, const Tune& tune) {
  try {
    app.parse(argc, argv);
    return tune();
  } catch (const CLI::Success& e) {
    return app.exit(e);  // --help
  } catch (const std::exception& e) {
    std::cerr << name << ": " << e.what() << '\n';
    return 2;
  }
}
