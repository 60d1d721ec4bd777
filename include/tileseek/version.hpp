#pragma once
// The version of the library, for the preprocessor and for programs. The numbers are those of meson.build; a test
// compares.

#include <string_view>

#define TILESEEK_VERSION_MAJOR 0
#define TILESEEK_VERSION_MINOR 1
#define TILESEEK_VERSION_PATCH 0

namespace tileseek {

/// "major.minor.patch". Versions follow semver.org: while major is 0, a new minor version may break programs.
inline constexpr std::string_view version_string = "0.1.0";

}  // namespace tileseek
