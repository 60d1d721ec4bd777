#include <tileseek/core/progress.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <set>
#include <string>

using tileseek::stop;

TEST_CASE("every reason to stop has a name of its own") {
  std::set<std::string> names;
  for (const auto s : {stop::running, stop::trials, stop::seconds, stop::target, stop::stalled, stop::fraction,
                       stop::exhausted, stop::interrupted, stop::observer})
    CHECK(names.insert(tileseek::to_string(s)).second);
  CHECK(tileseek::to_string(stop::running) == std::string("running"));
  CHECK(tileseek::to_string(stop::stalled) == std::string("stalled"));
  CHECK(tileseek::to_string(stop::observer) == std::string("observer"));
  static_assert(static_cast<int>(stop::observer) == 8);  // the list above is whole
}

TEST_CASE("progress starts with nothing done, nothing found and no limits") {
  const tileseek::progress p;
  CHECK(p.trials == 0);
  CHECK(p.trial_limit == 0);
  CHECK(p.best == std::numeric_limits<double>::infinity());
  CHECK(p.second_limit == std::numeric_limits<double>::infinity());
  CHECK(p.best_configuration.empty());
}
