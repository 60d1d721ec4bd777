#pragma once
// What a tuner includes: spaces, measuring, all strategies, and a tune() that needs no strategy named. Needs Eigen.
#include <tileseek/core.hpp>
#include <tileseek/model.hpp>
#include <tileseek/tune/default_strategy.hpp>
