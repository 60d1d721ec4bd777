#include <tileseek/record/t1.hpp>

#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "recorded_logs.hpp"

namespace {

using tileseek::t1_definition;
using tileseek::value;

t1_definition read(const std::string& text) {
  std::istringstream in(text);
  return t1_definition::read(in, "x.T1.json");
}

std::string written(const t1_definition& definition) {
  std::ostringstream out;
  definition.write(out);
  return out.str();
}

std::string error_of(const std::string& text) {
  try {
    static_cast<void>(read(text));
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "no error";
}

std::string with(const std::string& parameters, const std::string& conditions = "") {
  return "{\n\"ConfigurationSpace\": {\n\"TuningParameters\": [\n" + parameters + "\n],\n\"Conditions\": [\n" +
         conditions + "\n]\n}\n}";
}

constexpr const char* two =
    "{\"Name\": \"x\", \"Type\": \"int\", \"Values\": \"[1, 2, 4]\", \"Default\": 2},\n"
    "{\"Name\": \"pad\", \"Type\": \"bool\", \"Values\": \"[0, 1]\", \"Default\": [1]}";

}  // namespace

TEST_CASE("a definition becomes a space with its rules and defaults") {
  const auto d = read(with(two, "{\"Expression\": \"not pad or x > 1\", \"Parameters\": [\"x\"]}"));
  CHECK(d.space().size() == 5);
  CHECK(to_string(d.space().default_configuration().values()) == "x=2 pad=true");
  CHECK_FALSE(d.space().contains(tileseek::configuration({{"x", value(1)}, {"pad", value(true)}})));
  REQUIRE(d.space().lattice().rules().size() == 1);
  CHECK(d.space().lattice().rules()[0].why == "not pad or x > 1");
}

TEST_CASE("values may be listed, computed, reals and texts") {
  const auto d = read(
      with("{\"Name\": \"a\", \"Type\": \"int\", \"Values\": \"[2**i for i in range(3)] + list(range(10, 31, 10))\"},\n"
           "{\"Name\": \"b\", \"Type\": \"float\", \"Values\": \"[0.5, 1]\"},\n"
           "{\"Name\": \"c\", \"Type\": \"string\", \"Values\": \"['u', 'v']\"},\n"
           "{\"Name\": \"d\", \"Type\": \"int\", \"Values\": [3, 1]}"));
  CHECK(d.space().size() == 6 * 2 * 2 * 2);
  CHECK(d.space().lattice().axis(0).values == std::vector<double>{1, 2, 4, 10, 20, 30});
  CHECK(d.space().lattice().axis(2).labels == std::vector<std::string>{"u", "v"});
  CHECK(d.space().lattice().axis(3).values == std::vector<double>{1, 3});
}

TEST_CASE("a definition can be made, written and read") {
  t1_definition made;
  made.add("x", "int", "[1, 2, 4]", value(2)).add("y", "int", "range(1, 4)", value(1)).where("x * y <= 8");
  CHECK(made.space().size() == 8);
  const auto again = read(written(made));
  CHECK(written(again) == written(made));
  CHECK(again.space().lattice().fingerprint() == made.space().lattice().fingerprint());
  CHECK_THROWS_AS(made.where("z > 1"), std::invalid_argument);
}

TEST_CASE("what is wrong with a definition is said with its place") {
  CHECK(error_of("{\n\"a\": 1,\n}").starts_with("x.T1.json:3: expected JSON"));
  CHECK(error_of("{}") == "x.T1.json:1: expected a member \"ConfigurationSpace\"");
  CHECK(error_of(with("{\"Type\": \"int\"}")) == "x.T1.json:1: expected a member \"Name\"");
  CHECK(error_of(with(std::string(two) + ",\n{\"Name\": \"z\", \"Type\": \"int\"}")) ==
        "x.T1.json:6: expected a member \"Values\" behind \"z\"");
  CHECK(error_of(with(std::string(two) + ",\n{\"Name\": \"z\", \"Type\": \"int\", \"Values\": \"[1, 2\"}")) ==
        "x.T1.json:6: expected ',', found its end in '[1, 2'");
  CHECK(error_of(with(std::string(two) + ",\n{\"Name\": \"z\", \"Type\": \"int\", \"Values\": \"[]\"}"))
            .starts_with("x.T1.json:6: expected a value of \"z\""));
  CHECK(error_of(with(std::string(two) + ",\n{\"Name\": \"x\", \"Type\": \"int\", \"Values\": \"[1]\"}"))
            .ends_with("space: parameter 'x' is declared twice"));
  CHECK(error_of(with(two, "{\"Expression\": \"x >\"}")) ==
        "x.T1.json:8: expected a number, a name or '(', found its end in 'x >'");
  CHECK(error_of(with(two, "{\"Expression\": \"y > 1\"}"))
            .starts_with("x.T1.json:8: space: rule 'y > 1' reads 'y', which"));
  CHECK(error_of(with(two, "{\"Expression\": \"1 > 2\"}"))
            .starts_with("x.T1.json:8: expected a condition that may hold"));
}

TEST_CASE("real definitions have as many configurations as another program counts") {
  const std::pair<const char*, std::uint64_t> known[] = {
      {"convolution_milo", 4362}, {"dedispersion_milo", 11130}, {"gemm_milo", 116928}, {"hotspot_milo", 82984}};
  for (const auto& one : known) {
    const std::string name = one.first;
    CAPTURE(name);
    const auto text = recorded_file("space_definitions/" + name + ".T1.json");
    if (!text) return;
    const auto d = read(*text);
    CHECK(d.space().size() == one.second);
    CHECK(written(d) == *text);
    CHECK_FALSE(d.kernel().empty());
  }
}
