#include <tileseek/space/domain.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

using std::vector;

TEST_CASE("values of numbers are ordered and ascending") {
  CHECK(tileseek::values({3, 1, 2}).values == vector<int>{1, 2, 3});
  CHECK(tileseek::values({3, 1, 2}).ordered);
  CHECK(tileseek::values({0.5, 0.25}).values == vector<double>{0.25, 0.5});
  CHECK_THROWS_AS((void)tileseek::values({0.5, std::nan("")}), std::invalid_argument);
}

TEST_CASE("truth values, texts and enumerators have no order") {
  enum class layout { nchw, nhwc };
  CHECK(!tileseek::values({true, false}).ordered);
  CHECK(tileseek::values(vector<std::string>{"b", "a"}).values == vector<std::string>{"b", "a"});
  CHECK(!tileseek::values(vector<std::string>{"b", "a"}).ordered);
  CHECK(!tileseek::values({layout::nhwc, layout::nchw}).ordered);
}

TEST_CASE("a choice has no order, even of numbers, and stays as given") {
  CHECK(!tileseek::choice({129, 1, 128}).ordered);
  CHECK(tileseek::choice({129, 1, 128}).values == vector<int>{129, 1, 128});
  CHECK(tileseek::choice(vector<double>{2, 1}).values == vector<double>{2, 1});
}

TEST_CASE("a range includes its last value if it is met") {
  CHECK(tileseek::range(1, 4).values == vector<int>{1, 2, 3, 4});
  CHECK(tileseek::range(32, 64, 16).values == vector<int>{32, 48, 64});
  CHECK(tileseek::range(0, 10, 4).values == vector<int>{0, 4, 8});
  CHECK(tileseek::range(5, 5).values == vector<int>{5});
  CHECK(tileseek::range(5, 4).values.empty());
  CHECK(tileseek::range(-3, 3, 3).values == vector<int>{-3, 0, 3});
  CHECK_THROWS_WITH((void)tileseek::range(1, 4, 0), "range: step 0 is not positive");
  CHECK_THROWS_AS((void)tileseek::range(1, 4, -1), std::invalid_argument);
}

TEST_CASE("a range reaches the ends of its type") {
  using limits = std::numeric_limits<int>;
  CHECK(tileseek::range(limits::max() - 1, limits::max()).values == vector<int>{limits::max() - 1, limits::max()});
  CHECK(tileseek::range(limits::min(), limits::max(), limits::max()).values ==
        vector<int>{limits::min(), -1, limits::max() - 1});
  CHECK(tileseek::range<std::int8_t>(-128, 127).values.size() == 256);
  CHECK(tileseek::range<std::uint64_t>(0, ~std::uint64_t{0}, std::uint64_t{1} << 63).values.size() == 2);
}

TEST_CASE("powers of two, both ends included if they are powers") {
  CHECK(tileseek::powers_of_two(8, 64).values == vector<int>{8, 16, 32, 64});
  CHECK(tileseek::powers_of_two(3, 20).values == vector<int>{4, 8, 16});
  CHECK(tileseek::powers_of_two(5, 7).values.empty());
  CHECK(tileseek::powers_of_two(1, 1).values == vector<int>{1});
  CHECK(tileseek::powers_of_two(1, std::numeric_limits<int>::max()).values.size() == 31);
  CHECK(tileseek::powers_of_two(8, 4).values.empty());
  CHECK_THROWS_WITH((void)tileseek::powers_of_two(0, 8), "powers_of_two: the least value, 0, is below 1");
}

TEST_CASE("divisors are those that divide") {
  for (int n = 1; n <= 400; ++n) {
    vector<int> expected;
    for (int d = 1; d <= n; ++d)
      if (n % d == 0) expected.push_back(d);
    CHECK(tileseek::divisors(n).values == expected);
  }
  CHECK(tileseek::divisors(2147483647).values == vector<int>{1, 2147483647});
  CHECK(tileseek::divisors(std::int64_t{1} << 62).values.size() == 63);
  CHECK(tileseek::divisors(std::int64_t{735134400}).values.size() == 1344);
  CHECK_THROWS_AS((void)tileseek::divisors(0), std::invalid_argument);
  CHECK_THROWS_WITH((void)tileseek::divisors(-4), "divisors: of -4, which is below 1");
}
