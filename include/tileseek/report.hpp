#pragma once
// Reports for people.
#include <tileseek/report/progress.hpp>
