#pragma once
// Reports for people.
#include <tileseek/report/progress.hpp>
#include <tileseek/report/task_table.hpp>
