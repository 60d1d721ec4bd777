#include <tileseek/search/exhaustive.hpp>

#include <doctest/doctest.h>

#include <tileseek/testing/landscapes.hpp>

namespace {

using namespace tileseek;

TEST_CASE("every configuration in the order of ranks") {
  const auto on = testing::sparse(3, 8);
  exhaustive s;
  rng random;
  std::uint64_t r = 0;
  for (auto batch = s.ask(on.space, random, 10); !batch.empty(); batch = s.ask(on.space, random, 10))
    for (const auto& p : batch) CHECK_EQ(on.space.rank(p), r++);
  CHECK_EQ(r, on.space.size());
  CHECK_EQ(random, rng());  // draws nothing
}

TEST_CASE("what was told is left out, also when it comes later") {
  const auto on = testing::convex(2, 5);
  exhaustive s;
  rng random;
  const trial early[] = {{{0, 0}, {}}, {{3, 3}, {}}, {{9, 9}, {}}};  // the last is no point of the space
  s.tell(on.space, early);
  std::size_t asked = s.ask(on.space, random, 4).size();
  const trial late[] = {{*on.space.unrank(20), {}}};
  s.tell(on.space, late);
  for (auto batch = s.ask(on.space, random, 4); !batch.empty(); batch = s.ask(on.space, random, 4))
    asked += batch.size();
  CHECK_EQ(asked, 22);
}

TEST_CASE("rules checked by rejection are obeyed") {
  std::vector<coordinate> axes;
  for (const char* name : {"a", "b", "c"}) axes.push_back({name, {0, 1, 2, 3, 4, 5, 6, 7}, true});
  const lattice space(axes, {}, {{"sum", {0, 1, 2}, [](const int* p) { return (p[0] + p[1] + p[2]) % 5 == 0; }}}, 10);
  REQUIRE_FALSE(space.counted());
  exhaustive s;
  rng random;
  const auto all = s.ask(space, random, 1000);
  std::size_t expected = 0;
  for (int a = 0; a < 8; ++a)
    for (int b = 0; b < 8; ++b)
      for (int c = 0; c < 8; ++c) expected += (a + b + c) % 5 == 0;
  CHECK_EQ(all.size(), expected);
  for (const auto& p : all) CHECK(space.feasible(p));
}

}  // namespace
