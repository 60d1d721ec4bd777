// A parameter that is a member of another struct.
#include <tileseek/space/space.hpp>

struct tile {
  int width = 1, height = 1;
};

struct other {
  int width = 1;
};

// expected-error {{tileseek::space::add: the member belongs to another struct than the configurations of this space}}
int main() {
  tileseek::space<tile> space;
#ifndef FIXED
  space.add("width", &other::width, {1, 2, 4});
#else
  space.add("width", &tile::width, {1, 2, 4});
#endif
  return static_cast<int>(space.size());
}
