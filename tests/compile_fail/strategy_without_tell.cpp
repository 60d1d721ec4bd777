// A strategy that is never told what came of its points is none, and the compiler names the member that is missing.
#include <tileseek/search/strategy.hpp>

struct forgetful {
  std::vector<tileseek::point> ask(const tileseek::lattice&, tileseek::rng&, std::size_t) { return {}; }
#ifdef FIXED
  void tell(const tileseek::lattice&, std::span<const tileseek::trial>) {}
#endif
};
static_assert(tileseek::SearchStrategy<forgetful>);  // expected-error {{static.?assert.*failed}}
// expected-error {{s\.tell\(space, done\)}}

int main() {}
