// A strategy that is never told what came of its points.
#include <tileseek/tune/tune.hpp>

struct tile {
  int width = 1, height = 1;
};

struct forgetful {
  std::vector<tileseek::point> ask(const tileseek::lattice&, tileseek::rng&, std::size_t) { return {}; }
#ifdef FIXED
  void tell(const tileseek::lattice&, std::span<const tileseek::trial>) {}
#endif
};

// expected-error {{tileseek::tune: a strategy needs ask\(const lattice&, rng&, std::size_t\) -> std::vector<point> and tell}}
int main() {
  const auto space = tileseek::space<tile>{}.add("width", &tile::width, {1, 2, 4});
  const auto timed = [](const tile&) { return 1.0; };
  return tileseek::tune(space, timed, {.trials = 3}, forgetful{}).best->width;
}
