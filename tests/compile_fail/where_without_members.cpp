// A rule without members that does not take a configuration.
#include <tileseek/space/space.hpp>

struct tile {
  int width = 1, height = 1;
};

// expected-error {{tileseek::space::where: a rule without members is a predicate of const Config&; name the members it reads}}
int main() {
  auto space = tileseek::space<tile>{}.add("width", &tile::width, {1, 2, 4});
#ifndef FIXED
  space.where("small", [](int w) { return w < 4; });
#else
  space.where("small", [](const tile& t) { return t.width < 4; });
#endif
  return static_cast<int>(space.size());
}
