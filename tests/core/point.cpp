#include <tileseek/core/point.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <unordered_set>
#include <vector>

using tileseek::point;
using tileseek::point_hash;

TEST_CASE("the hash of a point is the same on every platform") {
  CHECK(point_hash{}({}) == (0xcbf29ce484222325ULL ^ 0xcbf29ce4ULL));
  CHECK(point_hash{}({0}) != point_hash{}({}));
  CHECK(point_hash{}({0, 1}) != point_hash{}({1, 0}));
  CHECK(point_hash{}({1, 2, 3}) == point_hash{}(point{1, 2, 3}));
}

TEST_CASE("points of a grid do not crowd together") {
  constexpr std::size_t buckets = 1024;  // by the low bits, as a table of a power of two has them
  std::vector<int> load(buckets, 0);
  std::unordered_set<std::size_t> different;
  for (int a = 0; a < 16; ++a)
    for (int b = 0; b < 16; ++b)
      for (int c = 0; c < 16; ++c) {
        const auto h = point_hash{}({a, b, c});
        different.insert(h);
        ++load[h % buckets];
      }
  CHECK(different.size() == 4096);
  CHECK(*std::max_element(load.begin(), load.end()) < 20);  // 4 on average
}

TEST_CASE("a point index numbers points as they come, each once") {
  tileseek::point_index index;
  CHECK(index.find({0}) == tileseek::point_index::none);
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < 1000; ++i) {
      const auto [number, is_new] = index.add({i, i % 7});
      CHECK(number == static_cast<std::size_t>(i));
      CHECK(is_new == (round == 0));
    }
  CHECK(index.size() == 1000);
  CHECK(index[17] == point{17, 3});
  CHECK(index.find({999, 5}) == 999);
  CHECK(index.find({999, 6}) == tileseek::point_index::none);
  CHECK(index.add({}).first == 1000);
}
