#pragma once
// Measuring: the Measurer seam, timing on this CPU, and the interleaved contest of finalists.
#include <tileseek/measure/contest.hpp>
#include <tileseek/measure/measurer.hpp>
#include <tileseek/measure/time.hpp>
