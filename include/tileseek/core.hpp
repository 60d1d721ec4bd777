#pragma once
// Everything but the cost models and what needs another library: for .cu files and quick builds. A strategy is named
// there: tune(space, measurer, options, tileseek::droplet{}).
#include <tileseek/measure.hpp>
#include <tileseek/report.hpp>
#include <tileseek/search.hpp>
#include <tileseek/space.hpp>
#include <tileseek/tune.hpp>
#include <tileseek/version.hpp>
