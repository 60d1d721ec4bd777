#pragma once
// What the tests of runs and logs share: a small space with rules, failures and a known cost, a measurer that counts,
// and a file that disappears.

#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include <unistd.h>

#include <tileseek/measure/measurer.hpp>
#include <tileseek/space/space.hpp>
#include <tileseek/tune/options.hpp>

namespace fixture {

struct tile {
  int rows = 4, columns = 4, unroll = 1;
  friend bool operator==(const tile&, const tile&) = default;
  friend auto operator<=>(const tile&, const tile&) = default;
};

/// 8 x 8 x 4 values, of which 160 configurations have at most 32 elements.
inline tileseek::space<tile> tiles() {
  return tileseek::space<tile>{}
      .add("rows", &tile::rows, {1, 2, 3, 4, 6, 8, 12, 16})
      .add("columns", &tile::columns, {1, 2, 3, 4, 6, 8, 12, 16})
      .add("unroll", &tile::unroll, {1, 2, 4, 8})
      .where(
          "at most 32 elements", [](int r, int c) { return r * c <= 32; }, &tile::rows, &tile::columns);
}

/// Deterministic, with several samples, one best (8 x 4, unrolled by 4) and about one failure in nine.
inline tileseek::measurement cost_of(const tile& t) {
  if ((t.rows * 5 + t.columns * 3 + t.unroll) % 9 == 0)
    return tileseek::failure(t.rows > 4 ? tileseek::status::wrong_result : tileseek::status::build_failed,
                             "as expected");
  const auto off = [](int x, int best) { return static_cast<double>((x - best) * (x - best)); };
  const double cost = 1e-3 * (1 + off(t.rows, 8) / 8 + off(t.columns, 4) / 4 + off(t.unroll, 4) / 7);
  return {tileseek::status::ok, {cost, cost * 1.001, cost * 1.002}, {}};
}

/// Measures by cost_of() and counts how often each configuration was asked.
struct counted {
  std::map<tile, int> calls;
  int total = 0;
  tileseek::measurement operator()(const tile& t) {
    ++calls[t];
    ++total;
    return cost_of(t);
  }
};

/// Options for tests: nothing printed, no contest.
inline tileseek::options<tile> quiet(std::size_t trials) {
  tileseek::options<tile> o;
  o.trials = trials;
  o.progress = tileseek::verbosity::quiet;
  o.rounds = 0;
  return o;
}

/// The path of a file that does not exist; whatever is there at the end is removed.
class temporary_file {
 public:
  temporary_file() {
    std::string pattern = std::string(P_tmpdir) + "/tileseek-XXXXXX";
    const int file = mkstemp(pattern.data());
    if (file >= 0) close(file);
    std::remove(pattern.c_str());
    path_ = pattern;
  }
  ~temporary_file() { std::remove(path_.c_str()); }
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string content() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }
  [[nodiscard]] std::vector<std::string> lines() const {
    std::vector<std::string> out;
    std::istringstream in(content());
    for (std::string line; std::getline(in, line);) out.push_back(line);
    return out;
  }

 private:
  std::string path_;
};

}  // namespace fixture
