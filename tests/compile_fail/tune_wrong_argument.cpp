// A callable that takes something else than a configuration.
#include <tileseek/search/random.hpp>
#include <tileseek/tune/tune.hpp>

struct tile {
  int width = 1, height = 1;
};

// expected-error {{tileseek::tune: pass a callable of const Config& that returns seconds or a measurement}}
int main() {
  const auto space = tileseek::space<tile>{}.add("width", &tile::width, {1, 2, 4});
#ifndef FIXED
  const auto timed = [](const std::string&) { return 1.0; };
#else
  const auto timed = [](const tile&) { return 1.0; };
#endif
  return tileseek::tune(space, timed, {.trials = 3}, tileseek::random{}).best->width;
}
