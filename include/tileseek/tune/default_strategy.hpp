#pragma once
// tune() for those who do not want to choose a strategy.

#include <utility>

#include <tileseek/search/dynamic_gradient.hpp>
#include <tileseek/tune/tune.hpp>

namespace tileseek {

/// tune() with dynamic_gradient in its default form.
template <class Config, class M>
[[nodiscard]] result<Config> tune(const space<Config>& of, M&& measurer, options<Config> choices = {}) {
  return tune(of, std::forward<M>(measurer), std::move(choices), dynamic_gradient<>{});
}

}  // namespace tileseek
