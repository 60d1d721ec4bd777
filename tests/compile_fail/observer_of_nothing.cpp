// An observer that no event would ever reach.
#include <tileseek/tune/options.hpp>

struct tile {
  int width = 1, height = 1;
};

struct misspelt {
#ifndef FIXED
  bool on_bach(const tileseek::progress&) { return true; }
#else
  bool on_batch(const tileseek::progress&) { return true; }
#endif
};

// expected-error {{tileseek::observer: it has none of on_trial.*so that nothing would ever reach it}}
int main() {
  tileseek::options<tile> o;
  o.observers.push_back(misspelt{});
}
