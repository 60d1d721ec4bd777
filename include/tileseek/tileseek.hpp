#pragma once
// What a tuner includes: spaces, measuring, the strategies without a model, and a tune() that needs no strategy
// named. Needs Eigen. Models and the strategies built on them are included by name, because they cost compile time.
#include <tileseek/core.hpp>
#include <tileseek/tune/default_strategy.hpp>
