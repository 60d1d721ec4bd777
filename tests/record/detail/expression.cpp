#include <tileseek/record/detail/expression.hpp>

#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using tileseek::value;
using tileseek::detail::expression;

std::string evaluated(const std::string& text, const std::vector<value>& names = {}) {
  try {
    return to_string(expression(text)(names));
  } catch (const std::runtime_error& e) {
    return e.what();
  }
}

std::string listed(const std::string& text) {
  try {
    std::string out;
    for (const auto& v : expression(text).list()) out += (out.empty() ? "" : " ") + to_string(v);
    return out;
  } catch (const std::runtime_error& e) {
    return e.what();
  }
}

}  // namespace

TEST_CASE("expressions calculate as Python does") {
  CHECK(evaluated("2 + 3 * 4") == "14");
  CHECK(evaluated("(2 + 3) * 4") == "20");
  CHECK(evaluated("2**3**2") == "512");
  CHECK(evaluated("-2**2") == "-4");
  CHECK(evaluated("2**-1") == "0.5");
  CHECK(evaluated("7 // 2") == "3");
  CHECK(evaluated("-7 // 2") == "-4");
  CHECK(evaluated("7 // -2") == "-4");
  CHECK(evaluated("-7 % 3") == "2");
  CHECK(evaluated("7 % -3") == "-2");
  CHECK(evaluated("7.5 % 2") == "1.5");
  CHECK(evaluated("-7.5 // 2") == "-4");
  CHECK(evaluated("1 / 4") == "0.25");
  CHECK(evaluated("8 / 4 == 2") == "1");
  CHECK(evaluated("10 - 2 - 3") == "5");
  CHECK(evaluated("2 * - 3") == "-6");
  CHECK(evaluated("1e3 + .5") == "1000.5");
  CHECK(evaluated("9007199254740993") == "9007199254740993");
  CHECK(evaluated("2**61 * 4") == "9223372036854775808");  // beyond 2^62 a real
  CHECK(evaluated("(-1)**3") == "-1");
  CHECK(evaluated("0**5 + 1**99") == "1");
}

TEST_CASE("expressions compare in chains and decide like Python") {
  CHECK(evaluated("1 < 2 < 3") == "1");
  CHECK(evaluated("1 < 3 < 2") == "0");
  CHECK(evaluated("not 1 == 2") == "1");
  CHECK(evaluated("0 or 5") == "5");
  CHECK(evaluated("3 and 0 and 7") == "0");
  CHECK(evaluated("True + True") == "2");
  CHECK(evaluated("1 if 2 > 3 else 4") == "4");
  CHECK(evaluated("2 in [1, 2, 3] and 4 not in (1, 2)") == "1");
  CHECK(evaluated("'abc' == \"abc\"") == "1");
  CHECK(evaluated("'abc' == 3") == "0");
  CHECK(evaluated("1 == 0 or 1 // 1 == 1") == "1");
  CHECK(evaluated("1 == 1 or 1 // 0 == 1") == "1");  // what need not be known is not calculated
}

TEST_CASE("expressions read names in the order in which they appear") {
  const expression e("y * x <= 1024 and (y == 1 or nx % x == 0)");
  CHECK(e.names() == std::vector<std::string>{"y", "x", "nx"});
  CHECK(e.holds(std::vector<value>{8, 128, 256}));
  CHECK_FALSE(e.holds(std::vector<value>{8, 129, 256}));
  CHECK_FALSE(e.holds(std::vector<value>{8, 100, 256}));
  CHECK(evaluated("layout == 'NHWC' and flag", {value("NHWC"), value(true)}) == "1");
  CHECK(evaluated("in_x + notable + iffy", {1, 2, 3}) == "6");  // names that begin like words
}

TEST_CASE("expressions call functions") {
  CHECK(evaluated("max(1, 2.5, 2)") == "2.5");
  CHECK(evaluated("min([4, 3, 5])") == "3");
  CHECK(evaluated("abs(-3) + abs(2)") == "5");
  CHECK(evaluated("int(7 / 2) + float(1)") == "4");
  CHECK(evaluated("round(2.6)") == "3");
  CHECK(evaluated("len(range(10))") == "10");
}

TEST_CASE("expressions list values") {
  CHECK(listed("[1, 2, 4]") == "1 2 4");
  CHECK(listed("(1, 'a', 0.5,)") == "1 a 0.5");
  CHECK(listed("[]") == "");
  CHECK(listed("[1, 2] + list(range(32, 97, 32))") == "1 2 32 64 96");
  CHECK(listed("[2**i for i in range(0, 6)]") == "1 2 4 8 16 32");
  CHECK(listed("[i*i for i in range(1, 10) if i % 3 == 0]") == "9 36 81");
  CHECK(listed("[x for x in [1, 2]] + [y + 1 for y in [5]]") == "1 2 6");
  CHECK(listed("range(5, 0, -2)") == "5 3 1");
}

TEST_CASE("what is no expression, or has no value, is said") {
  CHECK(evaluated("") == "expected a number, a name or '(', found its end in ''");
  CHECK(evaluated("1 +") == "expected a number, a name or '(', found its end in '1 +'");
  CHECK(evaluated("(1") == "expected ',', found its end in '(1'");
  CHECK(evaluated("1 2") == "expected an operator, found '2' in '1 2'");
  CHECK(evaluated("a = 2") == "expected an operator, found '= 2' in 'a = 2'");
  CHECK(evaluated("__import__('os')") ==
        "expected one of the functions min, max, abs, round, int, float, len, range and list, found '__import__('os')' "
        "in '__import__('os')'");
  CHECK(evaluated("abs(1, 2)").starts_with("expected another number of arguments of abs"));
  CHECK(evaluated("'a") == "expected the end of a text without escapes, found its end in ''a'");
  CHECK(evaluated("1 if 2") == "expected 'else', found its end in '1 if 2'");
  CHECK(evaluated("lambda: 1").starts_with("expected a number, a name or '('"));
  CHECK(evaluated("1 // 0") == "a division by zero in '1 // 0'");
  CHECK(evaluated("x") == "'x' has no value in 'x'");
  CHECK(evaluated("'a' + 1") == "a text where a number is needed in ''a' + 1'");
  CHECK(evaluated("'a' < 1") == "a text is compared with a number in ''a' < 1'");
  CHECK(evaluated("[1] + 2") == "a list where a number is needed in '[1] + 2'");
  CHECK(evaluated("min([])") == "min of nothing in 'min([])'");
  CHECK(evaluated("10**400") == "a power out of range in '10**400'");
  CHECK(listed("3") == "a list is needed in '3'");
  CHECK(listed("range(0, 10, 0)") == "a range with step 0 in 'range(0, 10, 0)'");
  CHECK(listed("range(0, 100000)") == "a list of more than 65536 elements in 'range(0, 100000)'");
  CHECK(listed("[n]") == "'n' has no value here in '[n]'");
  CHECK(listed("[[1 for i in [1]] for j in [1]]").starts_with("expected no comprehension inside another one"));
  CHECK(evaluated(std::string(300, '(') + "1" + std::string(300, ')')).starts_with("expected at most 100 expressions"));
  CHECK(evaluated(std::string(300, '-') + "1").starts_with("expected at most 100 expressions"));
  std::string sum = "1";
  for (int i = 0; i < 5000; ++i) sum += "+1";
  CHECK(evaluated(sum).starts_with("expected a shorter expression"));
}
