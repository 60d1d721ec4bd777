// each() of something that cannot be called.
#include <tileseek/measure/measurer.hpp>

struct tile {
  int width = 1, height = 1;
};

// expected-error {{tileseek::each: pass a callable of const Config&}}
int main() {
  const std::vector<tile> batch(2);
#ifndef FIXED
  auto m = tileseek::each<tile>(3.0);
#else
  auto m = tileseek::each<tile>([](const tile&) { return 3.0; });
#endif
  return static_cast<int>(m.measure(batch).size());
}
