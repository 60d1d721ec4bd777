#include <tileseek/core/hash.hpp>

#include <doctest/doctest.h>

using tileseek::detail::checksum;
using tileseek::detail::hexadecimal;

TEST_CASE("a checksum is FNV-1a's, goes on from another, and tells texts apart by where they end") {
  // From the authors' test vectors.
  CHECK(checksum("", 0) == 0xcbf29ce484222325ULL);
  CHECK(checksum("a", 1) == 0xaf63dc4c8601ec8cULL);
  CHECK(checksum("foobar", 6) == 0x85944171f73967e8ULL);
  CHECK(checksum("bar", 3, checksum("foo", 3)) == checksum("foobar", 6));
  using std::string_view;
  CHECK(checksum(string_view("c"), checksum(string_view("ab"), 0)) !=
        checksum(string_view("bc"), checksum(string_view("a"), 0)));
}

TEST_CASE("sixteen digits") {
  CHECK(hexadecimal(0) == "0000000000000000");
  CHECK(hexadecimal(0xfedcba9876543210ULL) == "fedcba9876543210");
}
