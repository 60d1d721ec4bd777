#pragma once
// Runs: tune(), the session underneath, budgets, observers and results.
#include <tileseek/tune/budget.hpp>
#include <tileseek/tune/interrupt.hpp>
#include <tileseek/tune/observer.hpp>
#include <tileseek/tune/options.hpp>
#include <tileseek/tune/result.hpp>
#include <tileseek/tune/session.hpp>
#include <tileseek/tune/tune.hpp>
