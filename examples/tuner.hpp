#pragma once
// What the tuning examples share: the options on their command lines.
#include <tileseek/search/any_strategy.hpp>
#include "libraries.hpp"
#include "tuner_run.hpp"

#include <CLI/CLI.hpp>

#include <exception>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

/// Adds these options to a program's own.
void read(CLI::App& app, tuner_options& o);

/// The strategy they name.
/// @throws std::invalid_argument  there is none of this name, or it lacks an option
tileseek::any_strategy strategy_of(const tuner_options& o);

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
