#include <tileseek/space/space.hpp>

#include <tileseek/space.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "known_spaces.hpp"

using tileseek::space;

TEST_CASE("dedispersion has 11,130 configurations") {
  const auto s = dedispersion_space();
  CHECK(s.counted());
  CHECK(s.size() == 11130);
}

TEST_CASE("hotspot has 82,984 configurations, and 349,853 with the blocks per multiprocessor of the full benchmark") {
  CHECK(hotspot_space().size() == 82984);
  CHECK(full_hotspot_space().size() == 349853);
}

namespace {

enum class layout { nchw, nhwc };
[[maybe_unused]] const char* to_string(layout l) { return l == layout::nchw ? "nchw" : "nhwc"; }
enum class plain { zero, one };

struct kernel {
  int a = 3;
  int b = 2;
  std::int8_t small = 1;
  unsigned natural = 1;
  float real = 1;
  bool flag = false;
  std::string text = "x";
  layout form = layout::nchw;
  plain anonymous = plain::zero;
  std::array<int, 3> tile{1, 1, 1};
  std::array<std::int8_t, 2> tiny{1, 1};
  int untouched = 7;
};

template <class Make>
std::string message(const Make& make) {
  try {
    make();
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("parameters of all types are set, found and shown") {
  using k = kernel;
  const auto s =
      space<k>{}
          .add("a", &k::a, tileseek::range(1, 5))
          .add("small", &k::small, tileseek::values({-128, 127}))
          .add("natural", &k::natural, {1U, 4000000000U})
          .add("real", &k::real, tileseek::values({0.1, 0.5}))
          .add("flag", &k::flag, {true, false})
          .add("text", &k::text, {"x", "y"})
          .add("form", &k::form, {layout::nhwc, layout::nchw})
          .add("anonymous", &k::anonymous, tileseek::choice({plain::one, plain::zero}))
          .tile("tile", &k::tile, 12)
          .where(
              "flags", [](bool f, const std::string& t) { return f || t == "x"; }, &k::flag, &k::text)
          .where(
              "forms", [](layout l, plain p) { return l == layout::nchw || p == plain::one; }, &k::form, &k::anonymous);
  CHECK(s.size() == 5 * 2 * 2 * 2 * 3 * 3 * 18);
  std::uint64_t visited = 0;
  std::set<std::string> seen;
  s.for_each([&](const k& c) {
    ++visited;
    if (visited % 7 != 0) return;
    CHECK(c.untouched == 7);
    CHECK(c.tile[0] * c.tile[1] * c.tile[2] == 12);
    const auto p = s.locate(c);
    REQUIRE(p);
    CHECK(s.describe(s.at(*p)) == s.describe(c));
    CHECK(s.locate_named(s.named_values_of(c)) == p);
    CHECK(seen.insert(s.describe(c)).second);
  });
  CHECK(visited == s.size());
  k c = s.at(*s.lattice().unrank(0));
  c.a = 4;
  c.tile = {3, 2, 2};
  c.form = layout::nhwc;
  c.anonymous = plain::one;
  c.flag = true;
  CHECK(s.describe(c).find("a=4") == 0);
  CHECK(s.describe(c).find("flag=true") != std::string::npos);
  CHECK(s.describe(c).find("form=nhwc anonymous=1 tile=3x2x2") != std::string::npos);
  CHECK(s.contains(c));
  CHECK(s.why_not(c).empty());
  c.form = layout::nhwc;
  c.anonymous = plain::zero;
  CHECK(s.why_not(c) == "rule 'forms' refuses it");
  c.anonymous = plain::one;
  c.tile = {2, 2, 2};
  CHECK(!s.contains(c));
  CHECK(s.why_not(c) == "tile has no value 2x2x2");
  CHECK_THROWS_AS((void)s.neighbours(c, 1), std::invalid_argument);
  c.tile = {3, 2, 2};
  for (const auto view : {tileseek::tile_view::factor, tileseek::tile_view::inclusive}) {
    CHECK(s.neighbours(c, 1, view).size() >= 7);
    for (const auto& q : s.neighbours(c, 2, view)) CHECK(s.contains(q));
  }
  CHECK(s.lattice().axis(6).labels == std::vector<std::string>{"nhwc", "nchw"});
}

TEST_CASE("the default configuration is the untuned one, or the nearest that the rules allow") {
  using k = kernel;
  auto s = space<k>{}.add("a", &k::a, tileseek::range(1, 9)).add("b", &k::b, tileseek::range(1, 9));
  CHECK(s.default_configuration().a == 3);
  CHECK(s.default_configuration().b == 2);
  s.where(
      "far", [](int a, int b) { return a + b >= 8 && b <= 2; }, &k::a, &k::b);
  CHECK(s.default_configuration().a == 6);
  CHECK(s.default_configuration().b == 2);
  k start;
  start.a = 100;
  start.untouched = 5;
  s.starts_at(start);
  CHECK(s.default_configuration().a == 9);
  CHECK(s.default_configuration().untouched == 5);
}

TEST_CASE("a computed domain depends on earlier parameters and on the rules between them") {
  using k = kernel;
  const auto s = space<k>{}
                     .add("a", &k::a, tileseek::range(1, 12))
                     .where(
                         "even", [](int a) { return a % 2 == 0; }, &k::a)
                     .add(
                         "b", &k::b,
                         [](int a) {
                           REQUIRE(a % 2 == 0);  // what the rules forbid is not asked for
                           return tileseek::divisors(a);
                         },
                         &k::a)
                     .tile("tile", &k::tile, 8)
                     .add(
                         "natural", &k::natural,
                         [](int b, std::array<int, 3> t) {
                           return b == 12 ? tileseek::values(std::vector<int>{}) : tileseek::range(1, t[1]);
                         },
                         &k::b, &k::tile);
  std::uint64_t expected = 0;
  for (int a = 2; a <= 12; a += 2)
    for (int b = 1; b <= a; ++b)
      for (int f = 1; f <= 8; f *= 2)
        for (int g = 1; f * g <= 8; g *= 2)
          if (a % b == 0 && b != 12) expected += static_cast<std::uint64_t>(f);
  CHECK(s.size() == expected);
  s.for_each([](const k& c) {
    if (c.a % c.b != 0 || static_cast<int>(c.natural) > c.tile[1]) FAIL("outside its domain");
  });
}

TEST_CASE("a rule over the whole configuration sees all parameters, also later ones") {
  using k = kernel;
  const auto s = space<k>{}
                     .add("a", &k::a, tileseek::range(1, 6))
                     .where("whole", [](const k& c) { return c.a + c.b + c.tile[0] <= 9 && c.untouched == 8; })
                     .add("b", &k::b, tileseek::range(1, 6))
                     .tile("tile", &k::tile, 4)
                     .starts_at([] {
                       k c;
                       c.untouched = 8;
                       return c;
                     }());
  std::uint64_t expected = 0;
  for (int a = 1; a <= 6; ++a)
    for (int b = 1; b <= 6; ++b)
      for (int f = 1; f <= 4; f *= 2)
        for (int g = 1; f * g <= 4; g *= 2) expected += a + b + 4 / f / g <= 9;
  CHECK(s.size() == expected);
  CHECK(s.counted());
}

TEST_CASE("features are numbers of the members they name, of a tile axis, or of the whole configuration") {
  struct blocking {
    int threads = 1;
    std::array<int, 3> tile{};
  };
  space<blocking> s;
  s.add("threads", &blocking::threads, {32, 64, 128})
      .tile("tile", &blocking::tile, 12)
      .feature(
          "warps", [](int threads) { return threads / 32; }, &blocking::threads)
      .feature(
          "work", [](int threads, std::array<int, 3> t) { return threads * t[1] * t[2]; }, &blocking::threads,
          &blocking::tile)
      .feature(
          "inner", [](int size) { return size; }, tileseek::inclusive(&blocking::tile, 1))
      .feature("all", [](const blocking& b) { return b.threads + 0.5 * b.tile[0]; })
      .where(
          "rules may come later", [](int threads) { return threads > 32; }, &blocking::threads);
  const auto features = s.lattice().features();
  REQUIRE_EQ(features.size(), 4);
  CHECK_EQ(features[0].name, "warps");
  tileseek::rng random(1);
  for (int i = 0; i < 50; ++i) {
    const auto p = s.lattice().sample(random);
    const blocking b = s.at(p);
    CHECK_EQ(features[0].value(p), b.threads / 32);
    CHECK_EQ(features[1].value(p), b.threads * b.tile[1] * b.tile[2]);
    CHECK_EQ(features[2].value(p), b.tile[1] * b.tile[2]);
    CHECK_EQ(features[3].value(p), b.threads + 0.5 * b.tile[0]);
  }
  // A lattice outlives its space, and so do its features.
  tileseek::lattice kept;
  {
    const space<blocking> brief = s;
    kept = brief.lattice();
  }
  const auto p = kept.sample(random);
  CHECK_EQ(kept.features()[3].value(p), s.lattice().features()[3].value(p));

  space<tileseek::configuration> named;
  named.add("threads", {32, 64})
      .feature(
          "warps", [](int threads) { return threads / 32; }, "threads");
  CHECK_EQ(named.lattice().features()[0].value({1}), 2);

  CHECK_THROWS_WITH_AS(s.feature("warps", [](const blocking&) { return 1.0; }),
                       doctest::Contains("feature 'warps' is declared twice"), std::invalid_argument);
  CHECK_THROWS_WITH_AS(named.feature(
                           "f", [](int x) { return x; }, "block"),
                       doctest::Contains("feature 'f' reads 'block'"), std::invalid_argument);
}

TEST_CASE("rules over levels and over arrays of a tile axis are the same rule") {
  using k = kernel;
  const auto base = [] { return space<k>{}.tile("tile", &k::tile, 48).add("a", &k::a, tileseek::range(1, 8)); };
  const auto levels = base()
                          .where(
                              "1", [](int f, int a) { return f >= a; }, tileseek::factor(&k::tile, 0), &k::a)
                          .where(
                              "2", [](int s, int f) { return s <= 12 && f != 3; }, tileseek::inclusive(&k::tile, 1),
                              tileseek::factor(&k::tile, 2))
                          .where(
                              "3", [](int all) { return all == 48; }, tileseek::inclusive(&k::tile, 0));
  const auto arrays = base()
                          .where(
                              "1", [](std::array<int, 3> t, int a) { return t[0] >= a; }, &k::tile, &k::a)
                          .where(
                              "2", [](std::array<int, 3> t) { return t[1] * t[2] <= 12 && t[2] != 3; }, &k::tile);
  CHECK(levels.size() == arrays.size());
  levels.for_each([&](const k& c) { CHECK(arrays.contains(c)); });
}

TEST_CASE("duplicate values count once, whatever order they are given in") {
  using k = kernel;
  CHECK(space<k>{}.add("a", &k::a, {4, 1, 4, 2, 1}).size() == 3);
  CHECK(space<k>{}.add("a", &k::a, {4, 1, 4, 2, 1}).lattice().axis(0).values == std::vector<double>{1, 2, 4});
  CHECK(space<k>{}.add("text", &k::text, {"y", "x", "y"}).lattice().axis(0).labels ==
        std::vector<std::string>{"y", "x"});
  CHECK(space<k>{}.add("flag", &k::flag, {true, true}).size() == 1);
  CHECK(space<k>{}.size() == 1);
}

TEST_CASE("errors name what is wrong with a space") {
  using k = kernel;
  const auto base = [] { return space<k>{}.add("a", &k::a, {1, 2, 3}); };
  CHECK(message([&] { base().add("a", &k::b, {1}); }) == "space: parameter 'a' is declared twice");
  CHECK(message([&] { base().add("again", &k::a, {1}); }) == "space: parameters 'a' and 'again' are the same member");
  CHECK(message([&] { base().add("", &k::b, {1}); }) == "space: a parameter without a name");
  CHECK(message([&] { base().add("b", &k::b, tileseek::range(5, 1)); }) == "space: parameter 'b' has no values");
  CHECK(message([&] { base().add("b", &k::b, std::initializer_list<int>{}); }) == "space: parameter 'b' has no values");
  CHECK(message([&] {
          base().add(
              "b", &k::b, [](int) { return tileseek::range(5, 1); }, &k::a);
        }) == "space: parameter 'b' has no values");
  CHECK(message([&] { base().add("real", &k::real, {std::nanf("")}); }).find("not a number") != std::string::npos);
  CHECK(message([&] { base().add("real", &k::real, tileseek::choice({std::nanf("")})); }) ==
        "space: a value of parameter 'real' is not a number");
  CHECK(message([&] { base().add("small", &k::small, tileseek::range(100, 200)); }) ==
        "space: value 128 of parameter 'small' does not fit the member's type");
  CHECK(message([&] { base().add("natural", &k::natural, tileseek::range(-1, 1)); }) ==
        "space: value -1 of parameter 'natural' does not fit the member's type");
  CHECK(message([&] { base().add("b", &k::b, tileseek::values({0.5})); }) ==
        "space: value 0.5 of parameter 'b' does not fit the member's type");
  CHECK(message([&] { base().add("b", &k::b, tileseek::values({1e300})); }) ==
        "space: value 1e+300 of parameter 'b' does not fit the member's type");
  CHECK(message([&] { base().add("real", &k::real, tileseek::values({1e300})); }) ==
        "space: value 1e+300 of parameter 'real' does not fit the member's type");
  CHECK(message([&] {
          base().add(
              "b", &k::b, [](int a) { return tileseek::values({a * 0.5}); }, &k::a);
        }) == "space: value 0.5 of parameter 'b' does not fit the member's type");
  CHECK(message([&] { base().tile("tile", &k::tile, 0); }) == "space: tile axis 'tile' has extent 0, below 1");
  CHECK(message([&] { base().tile("tiny", &k::tiny, 256); }) ==
        "space: tile axis 'tiny' has extent 256, which its factors can't hold");
  CHECK(message([&] {
          base().where(
              "stray", [](int b) { return b > 0; }, &k::b);
        }) == "space: rule 'stray' reads a member that is no parameter; add it before what reads it (there are: a)");
  CHECK(message([&] {
          (void)base()
              .where(
                  "never", [](int) { return false; }, &k::a)
              .size();
        }) == "space: rule 'never' removes every configuration");
  CHECK(message([&] { (void)base().where("never", [](const k&) { return false; }).size(); }) ==
        "space: rule 'never' removes every configuration");
  CHECK(message([&] {
          (void)base()
              .add("b", &k::b, {1, 2, 3})
              .where(
                  "fine", [](int a, int b) { return a != b; }, &k::a, &k::b)
              .where(
                  "less", [](int a, int b) { return a < b; }, &k::a, &k::b)
              .where(
                  "more", [](int a, int b) { return a > b; }, &k::a, &k::b)
              .size();
        }) == "space: rules 'less' and 'more' together leave no configuration of 'a', 'b'");
  // A failed call leaves the space as it was.
  auto s = base();
  CHECK_THROWS_AS(s.add("small", &k::small, tileseek::range(100, 200)), std::invalid_argument);
  CHECK(s.size() == 3);
  CHECK(s.add("small", &k::small, {1, 2}).size() == 6);
}

TEST_CASE("seven tile axes of four levels are counted and sampled without being enumerated") {
  struct seven {
    std::array<int, 4> a{}, b{}, c{}, d{}, e{}, f{}, g{};
  };
  using s7 = seven;
  const auto s = space<s7>{}
                     .tile("a", &s7::a, 1024)
                     .tile("b", &s7::b, 1024)
                     .tile("c", &s7::c, 2048)
                     .tile("d", &s7::d, 720)
                     .tile("e", &s7::e, 224)
                     .tile("f", &s7::f, 1024)
                     .tile("g", &s7::g, 4096);
  // Of p^n in four levels: C(n + 3, 3); 720 = 2^4 3^2 5; 224 = 2^5 7.
  const std::uint64_t expected = std::uint64_t{286} * 286 * 364 * (35 * 10 * 4) * (56 * 4) * 286 * 455;
  CHECK(expected > std::uint64_t{1'000'000'000'000'000'000});
  REQUIRE(s.counted());
  CHECK(s.size() == expected);
  tileseek::rng random(1);
  double outer = 0;
  for (int i = 0; i < 2000; ++i) {
    const s7 c = s.sample(random);
    CHECK(c.d[0] * c.d[1] * c.d[2] * c.d[3] == 720);
    CHECK(s.lattice().unrank(s.lattice().rank(*s.locate(c))) == s.locate(c));
    outer += c.g[0] == 1;
  }
  CHECK(outer / 2000 == doctest::Approx(91.0 / 455).epsilon(0.2));  // 2^12 in three levels: C(14, 2)
}

TEST_CASE("a rule over names that only the run knows") {
  using values = std::span<const tileseek::value>;
  tileseek::space<tileseek::configuration> s;
  s.add("a", {1, 2, 3}).add("word", {"x", "y"}).tile("t", 6, 2);
  const std::vector<std::string> names{"t", "a", "word"};
  s.where_named("t[1] is a multiple of a, or x", names, [](values v) {
    return v[2] == tileseek::value("x") || v[0].as<std::vector<std::int64_t>>()[1] % v[1].as<std::int64_t>() == 0;
  });
  CHECK(s.size() == 12 + 4 + 2 + 2);
  CHECK_THROWS_WITH_AS(s.where_named("r", {"b"}, [](values) { return true; }),
                       "space: rule 'r' reads 'b', which is no parameter; add it before what reads it (there are: a, "
                       "word, t)",
                       std::invalid_argument);
}
