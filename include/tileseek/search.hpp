#pragma once
// The strategies that need no cost model, and what strategies are made of.
#include <tileseek/search/annealing.hpp>
#include <tileseek/search/any_strategy.hpp>
#include <tileseek/search/coroutine.hpp>
#include <tileseek/search/droplet.hpp>
#include <tileseek/search/evolutionary.hpp>
#include <tileseek/search/exhaustive.hpp>
#include <tileseek/search/explore_then.hpp>
#include <tileseek/search/local_search.hpp>
#include <tileseek/search/random.hpp>
#include <tileseek/search/strategy.hpp>
