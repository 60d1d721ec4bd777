#pragma once
// Cost models on Eigen: what to learn from, what to learn with.
#include <tileseek/model/boosted_trees.hpp>
#include <tileseek/model/cost_model.hpp>
#include <tileseek/model/features.hpp>
#include <tileseek/model/gaussian_process.hpp>
#include <tileseek/model/labels.hpp>
#include <tileseek/model/ridge.hpp>
