// The header's version is the build's.

#include <tileseek/version.hpp>

#include <string>

#include <doctest/doctest.h>

TEST_CASE("the version of the header is that of meson.build") {
  const std::string numbers = std::to_string(TILESEEK_VERSION_MAJOR) + '.' + std::to_string(TILESEEK_VERSION_MINOR) +
                              '.' + std::to_string(TILESEEK_VERSION_PATCH);
  CHECK(numbers == TILESEEK_MESON_VERSION);
  CHECK(tileseek::version_string == TILESEEK_MESON_VERSION);
}
