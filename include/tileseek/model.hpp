#pragma once
// Cost models on Eigen, and the strategies that use them.
#include <tileseek/model/cost_model.hpp>
#include <tileseek/model/features.hpp>
#include <tileseek/model/ridge.hpp>
#include <tileseek/search/dynamic_gradient.hpp>
