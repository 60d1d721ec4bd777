#include <tileseek/space/configuration.hpp>

#include <doctest/doctest.h>

#include <array>
#include <concepts>
#include <stdexcept>
#include <string>

#include <tileseek/space/space.hpp>

using tileseek::configuration;
using tileseek::space;
using tileseek::value;
using factors = std::vector<std::int64_t>;

static_assert(std::regular<configuration>);

namespace {

/// The same space over a struct and over names.
struct blocking {
  int bm = 32;
  int bn = 32;
  double scale = 0.5;
  std::string order = "ijk";
  bool pack = false;
  std::array<int, 3> k{4, 4, 4};
};

space<blocking> of_struct() {
  using b = blocking;
  return space<b>{}
      .add("bm", &b::bm, tileseek::powers_of_two(8, 64))
      .add(
          "bn", &b::bn, [](int bm) { return tileseek::divisors(bm); }, &b::bm)
      .add("scale", &b::scale, {0.5, 1.5})
      .add("order", &b::order, {"ijk", "kij", "jki"})
      .add("pack", &b::pack, {false, true})
      .tile("k", &b::k, 64)
      .where(
          "fits", [](int bm, int bn) { return bm * bn <= 1024; }, &b::bm, &b::bn)
      .where(
          "order", [](const std::string& o, bool pack) { return pack || o != "kij"; }, &b::order, &b::pack)
      .where(
          "deep", [](std::array<int, 3> k, double s) { return k[1] * s <= 8; }, &b::k, &b::scale)
      .where(
          "inner", [](int k, int bm) { return k <= bm; }, tileseek::inclusive(&b::k, 1), &b::bm)
      .where(
          "outer", [](int k) { return k >= 2; }, tileseek::factor(&b::k, 0));
}

space<configuration> of_names() {
  return space<configuration>{}
      .add("bm", tileseek::powers_of_two(8, 64))
      .add(
          "bn", [](int bm) { return tileseek::divisors(bm); }, "bm")
      .add("scale", {0.5, 1.5})
      .add("order", {"ijk", "kij", "jki"})
      .add("pack", {false, true})
      .tile("k", 64, 3)
      .where(
          "fits", [](int bm, int bn) { return bm * bn <= 1024; }, "bm", "bn")
      .where(
          "order", [](const std::string& o, bool pack) { return pack || o != "kij"; }, "order", "pack")
      .where(
          "deep", [](const factors& k, double s) { return static_cast<double>(k[1]) * s <= 8; }, "k", "scale")
      .where(
          "inner", [](int k, int bm) { return k <= bm; }, tileseek::inclusive("k", 1), "bm")
      .where(
          "outer", [](int k) { return k >= 2; }, tileseek::factor("k", 0));
}

}  // namespace

TEST_CASE("a configuration keeps its order, and an unknown name lists those there are") {
  configuration c;
  c.set("bm", 32);
  c.set("order", "ijk");
  c.set("bm", 64);
  CHECK(c["bm"].as<int>() == 64);
  CHECK(c.contains("order"));
  CHECK(!c.contains("bn"));
  CHECK(c.values().size() == 2);
  CHECK(to_string(c.values()) == "bm=64 order=ijk");
  CHECK_THROWS_WITH_AS((void)c["bn"], "configuration: no parameter 'bn'; there are: bm, order", std::out_of_range);
  CHECK((c == configuration({{"bm", 64}, {"order", "ijk"}})));
}

TEST_CASE("a space of names is the same as that of the struct, point by point") {
  const auto a = of_struct();
  const auto b = of_names();
  REQUIRE(a.size() == b.size());
  CHECK(a.size() > 100);
  CHECK(a.names() == b.names());
  CHECK(a.lattice().fingerprint() == b.lattice().fingerprint());
  for (std::uint64_t r = 0; r < a.size(); ++r) {
    const auto p = a.lattice().unrank(r);
    const auto q = b.lattice().unrank(r);
    REQUIRE(p == q);
    CHECK(a.describe(a.at(*p)) == b.describe(b.at(*q)));
    CHECK(b.locate(b.at(*q)) == q);
    CHECK(b.locate_named(a.named_values_of(a.at(*p))) == p);
    CHECK(a.locate_named(b.at(*q).values()) == p);
  }
}

TEST_CASE("a configuration that names only some parameters is completed by the nearest") {
  const auto s = of_names();
  CHECK(s.contains(s.default_configuration()));
  configuration c;
  c.set("bm", 30);
  c.set("bn", 7);
  c.set("k", factors{1, 7, 9});
  CHECK(!s.locate(c));
  const auto near = s.at(s.nearest(c));
  CHECK(s.contains(near));
  CHECK(near["bm"].as<int>() == 32);
  CHECK(near["bn"].as<int>() == 8);
  CHECK(!s.locate_named({{"bm", 32}}));
  CHECK(!s.contains(configuration{}));
  c.set("k", "not a tile");
  CHECK(!s.locate(c));
  CHECK(s.contains(s.at(s.nearest(c))));
}

TEST_CASE("values of several kinds under one name have no order") {
  const auto s =
      space<configuration>{}.add("a", {1, 0.5, 2}).add("b", {value(1), value("auto")}).add("c", {true, false});
  CHECK(s.size() == 12);
  CHECK(s.lattice().axis(0).ordered);
  CHECK(s.lattice().axis(0).values == std::vector<double>{0.5, 1, 2});
  CHECK(!s.lattice().axis(1).ordered);
  CHECK(s.lattice().axis(1).labels == std::vector<std::string>{"1", "auto"});
  CHECK(!s.lattice().axis(2).ordered);
}

TEST_CASE("errors of named spaces name the thing") {
  const auto message = [](auto make) {
    try {
      make();
    } catch (const std::invalid_argument& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  const auto base = [] { return space<configuration>{}.add("bm", {1, 2}).tile("k", 8, 2); };
  CHECK(message([&] { base().add("bm", {3}); }) == "space: parameter 'bm' is declared twice");
  CHECK(message([&] { base().add("", {3}); }) == "space: a parameter without a name");
  CHECK(message([&] {
          base().where(
              "bad", [](int) { return true; }, "bn");
        }) == "space: rule 'bad' reads 'bn', which is no parameter; add it before what reads it (there are: bm, k)");
  CHECK(message([&] {
          base().add(
              "x", [](int) { return tileseek::values({1}); }, "y");
        }) ==
        "space: the domain of parameter 'x' reads 'y', which is no parameter; add it before what reads it (there are: "
        "bm, k)");
  CHECK(message([&] {
          base().where(
              "bad", [](int) { return true; }, tileseek::factor("bm", 0));
        }) == "space: rule 'bad' reads a level of parameter 'bm', which is no tile axis");
  CHECK(message([&] {
          base().where(
              "bad", [](int) { return true; }, tileseek::factor("k", 2));
        }) == "space: rule 'bad' reads level 2 of tile axis 'k', whose levels are 0 to 1");
  CHECK(message([&] { base().tile("j", 0, 2); }) == "space: tile axis 'j' has extent 0, below 1");
  CHECK(message([&] { base().tile("j", 4, 0); }) == "space: tile axis 'j' has no levels");
  CHECK(message([&] { base().tile("j", std::int64_t{1} << 60, 2); }) ==
        "space: tile axis 'j' has extent 1152921504606846976, which its factors can't hold");
}
