#pragma once
// tune() for those who do not want to choose a strategy.

#include <utility>

#include <tileseek/search/bayesian.hpp>
#include <tileseek/tune/tune.hpp>

namespace tileseek {

/// tune() with `bayesian`, which needs the fewest measurements (docs/search-quality.md).
template <class Config, class M>
[[nodiscard]] result<Config> tune(const space<Config>& of, M&& measurer, options<Config> choices = {}) {
  return tune(of, std::forward<M>(measurer), std::move(choices), bayesian{});
}

}  // namespace tileseek
