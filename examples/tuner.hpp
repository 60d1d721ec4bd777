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
  app.add_option("--backend", o.backend, "where it runs")->check(CLI::IsMember(backends()))->capture_default_str();
  app.add_option("--threads", o.threads, "that a kernel uses")->check(CLI::Range(1, 1024))->capture_default_str();
  app.add_option("--strategy", o.strategy, "how it searches: " + strategy_names())->capture_default_str();
  app.add_option("--option", o.strategy_options, "key=value of the strategy; may be repeated")->take_all();
  app.add_option("--trials", o.trials, "configurations to measure at most")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 40))
      ->capture_default_str();
  app.add_option("--seconds", o.seconds, "tuning time at most")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--seed", o.seed, "of all random choices")->capture_default_str();
  app.add_option("--log", o.log, "file to keep results in and to resume from");
  app.add_flag("--json", o.json, "print one JSON object");
  app.add_flag("--quiet", o.quiet, "no progress");
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
