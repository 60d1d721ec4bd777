#pragma once
// Task schedulers: which of several kernels the next trials of a shared budget go to. tune/tasks.hpp runs them.
#include <tileseek/schedule/gradient.hpp>
#include <tileseek/schedule/objective.hpp>
#include <tileseek/schedule/potential.hpp>
#include <tileseek/schedule/registry.hpp>
#include <tileseek/schedule/round_robin.hpp>
#include <tileseek/schedule/scheduler.hpp>
#include <tileseek/schedule/task_history.hpp>
