#pragma once
// What a tuner includes: spaces, measuring, the strategies, and a tune() that needs no strategy named. Needs Eigen. The
// other models and the strategies built on them are included by name, because they cost compile time.
#include <tileseek/core.hpp>
#include <tileseek/search/dynamic_gradient.hpp>
#include <tileseek/tune/default_strategy.hpp>
