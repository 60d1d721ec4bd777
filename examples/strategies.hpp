#pragma once
// All strategies by name: compiled once for all examples, since it takes a while.
#include <tileseek/search/any_strategy.hpp>

#include <string>
#include <vector>

/// "bayesian, droplet, ..."
std::string strategy_names();

/// @param options  "key=value"
/// @throws std::invalid_argument  there is none of this name, or it lacks an option
tileseek::any_strategy strategy_named(const std::string& name, const std::vector<std::string>& options);
