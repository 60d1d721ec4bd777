// Tunes a kernel for a few shapes and keeps the winners in a C++ header, for programs that do without tileseek.
//
//   keep_winners tuned_matmul.hpp       adds to the winners that are in the file
//   keep_winners                        prints the header
#include <tileseek/record/winners.hpp>
#include <tileseek/tileseek.hpp>

#include <cstddef>
#include <exception>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "blocked_matmul.hpp"

struct Blocking {
  int bm = 32, bn = 32, bk = 32;
};

int main(int argc, char** argv) try {
  tileseek::winners known;
  if (std::ifstream file(argc > 1 ? argv[1] : ""); file) known = tileseek::winners::read_header(file, argv[1]);
  const std::string device = "this CPU";  // the user's own name for it
  for (const int n : {64, 128, 256}) {
    const auto size = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
    std::vector<float> a(size, 0.5F), b(size, 0.25F), c(size);
    const auto space = tileseek::space<Blocking>{}
                           .add("bm", &Blocking::bm, tileseek::powers_of_two(4, n))
                           .add("bn", &Blocking::bn, tileseek::powers_of_two(4, n))
                           .add("bk", &Blocking::bk, tileseek::powers_of_two(4, n));
    const auto timed = [&](const Blocking& k, const tileseek::timing_limits& limits) {
      return tileseek::time([&] { multiply(n, k.bm, k.bn, k.bk, a, b, c); }, limits);
    };
    const auto found = tileseek::tune(space, timed, {.trials = 30, .seed = 1, .final_seconds = 1});
    known.keep(tileseek::winner_of(found, "matmul", {{"n", n}}, device));
  }
  if (argc < 2) {
    known.write_header(std::cout, "tuned");
    return 0;
  }
  std::ofstream out(argv[1]);
  known.write_header(out, "tuned");
  std::cout << known.all().size() << " winners in " << argv[1] << '\n';
  return out.flush() ? 0 : 1;
} catch (const std::exception& e) {
  std::cerr << "keep_winners: " << e.what() << '\n';
  return 2;
}
