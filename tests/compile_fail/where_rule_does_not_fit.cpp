// A rule that does not take the values of the members it names.
#include <tileseek/space/space.hpp>

struct tile {
  int width = 1, height = 1;
};

// expected-error {{tileseek::space::where: the rule is not a predicate of the values of the members it names, in their order}}
int main() {
  auto space = tileseek::space<tile>{}.add("width", &tile::width, {1, 2, 4}).add("height", &tile::height, {1, 2, 4});
#ifndef FIXED
  space.where(
      "small", [](int w) { return w < 4; }, &tile::width, &tile::height);
#else
  space.where(
      "small", [](int w, int h) { return w * h < 4; }, &tile::width, &tile::height);
#endif
  return static_cast<int>(space.size());
}
