#include "strategies.hpp"

#include <tileseek/search/registry.hpp>

std::string strategy_names() {
  std::string out;
  for (const auto& s : tileseek::strategies()) out += (out.empty() ? "" : ", ") + std::string(s.name);
  return out;
}

tileseek::any_strategy strategy_named(const std::string& name, const std::vector<std::string>& options) {
  return tileseek::make_strategy(name, options);
}
