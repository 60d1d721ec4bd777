// What a tuner may have to live through: of 200 configurations, 67 crash, hang, leak, compute NaN, write past their
// output, or print garbage into every file they find. Each gets its status, the best of the others wins, and a second
// run with the same log repeats none of them.
#include <tileseek/core.hpp>
#include <tileseek/measure/isolated.hpp>
#include <tileseek/record/log.hpp>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include <unistd.h>

namespace {

using tileseek::status;

struct Kernel {
  int tile = 1, unroll = 1;
};

enum class fault { none, segfault, abort, exit, hang, leak, nan, overflow, garbage };

/// Every third configuration is broken, in one way after another.
fault fault_of(const Kernel& k) {
  const int number = 10 * (k.tile - 1) + k.unroll - 1;
  return number % 3 == 1 ? static_cast<fault>(1 + number / 3 % 8) : fault::none;
}

status expected(fault f) {
  switch (f) {
    case fault::none: return status::ok;
    case fault::hang: return status::timed_out;
    case fault::nan:
    case fault::overflow: return status::wrong_result;
    default: return status::crashed;
  }
}

/// The slower the farther from 12 x 6. Not taken from a clock, so that main() knows who must win: 12 x 7, since 12 x 6
/// itself is broken.
double seconds_of(const Kernel& k) { return 1e-3 * (1 + std::pow(k.tile - 12, 2) + std::pow(k.unroll - 6.2, 2)); }

constexpr std::size_t n = 1000, margin = 64;
constexpr float canary = 12345;

/// "Computes" n numbers.
void run(const Kernel& k, float* out) {
  std::fill_n(out, n, 1.0F);
  switch (fault_of(k)) {
    case fault::none: break;
    case fault::segfault: std::raise(SIGSEGV); break;
    case fault::abort: std::abort();
    case fault::exit: std::exit(0);
    case fault::hang:
      for (volatile bool forever = true; forever;) {
      }
      break;
    case fault::leak:
      for (int mebibytes = 0; mebibytes < 1024; ++mebibytes) std::memset(new char[1 << 20], 1, 4096);
      throw std::bad_alloc();  // not reached where memory is limited
    case fault::nan: out[n / 2] = std::numeric_limits<float>::quiet_NaN(); break;
    case fault::overflow: out[n + 3] = 1; break;
    case fault::garbage:
      for (int file = 0; file < 32; ++file) static_cast<void>(!write(file, "\xff\xfe garbage \n", 13));
      break;
  }
}

/// Lets a kernel run into an output with a margin, and looks at both.
tileseek::measurement measure(const Kernel& k) {
  std::vector<float> out(n + margin, canary);
  run(k, out.data());
  for (std::size_t i = n; i < n + margin; ++i)
    if (out[i] != canary) return tileseek::failure(status::wrong_result, "wrote past the end of its output");
  for (std::size_t i = 0; i < n; ++i)
    if (!(out[i] == 1)) return tileseek::failure(status::wrong_result, "computed " + tileseek::fixed(out[i], 1));
  return {status::ok, {seconds_of(k)}, {}};
}

/// A run, and whether all came as it must.
bool works(const tileseek::space<Kernel>& space, const std::string& log, bool first) {
  const tileseek::isolation choices{.most_seconds = 1, .build_seconds = 0.5, .memory = 256'000'000, .quiet = true};
  auto worker = tileseek::isolated(space, measure, choices);
  const auto r = tileseek::tune(space, worker,
                                {.trials = 200, .log = tileseek::log_file(log), .progress = tileseek::verbosity::quiet},
                                tileseek::random{});
  std::cout << r << "\n\n";
  std::size_t wrong = 0;
  for (const auto& t : r.history) {
    const Kernel k = space.at(t.at);
    if (t.result.outcome == expected(fault_of(k))) continue;
    std::cout << space.describe(k) << ": " << to_string(t.result.outcome) << ' ' << t.result.note << '\n';
    ++wrong;
  }
  return wrong == 0 && r.trials == 200 && r.measured == (first ? 200 : 0) && r.best && r.best->tile == 12 &&
         r.best->unroll == 7 && (first || worker.workers() == 0);
}

}  // namespace

int main() {
  const auto space = tileseek::space<Kernel>{}
                         .add("tile", &Kernel::tile, tileseek::range(1, 20))
                         .add("unroll", &Kernel::unroll, tileseek::range(1, 10));
  std::string folder = "/tmp/torture-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return 1;
  const std::string log = folder + "/log.jsonl";
  const bool survived = works(space, log, true) && works(space, log, false);
  std::remove(log.c_str());
  rmdir(folder.c_str());
  std::cout << (survived ? "200 of 200 as expected, none of them twice\n" : "not as expected\n");
  return survived ? 0 : 1;
}
