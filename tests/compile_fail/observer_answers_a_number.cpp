// An observer whose answer is no bool would be asked in vain.
#include <tileseek/tune/options.hpp>

struct tile {
  int width = 1, height = 1;
};

struct counting {
#ifndef FIXED
  int on_batch(const tileseek::progress&) { return 1; }
#else
  bool on_batch(const tileseek::progress&) { return true; }
#endif
};

// expected-error {{tileseek::observer: on_batch returns nothing, or a bool}}
int main() {
  tileseek::options<tile> o;
  o.observers.push_back(counting{});
}
