#pragma once
// Real logs of other tools, where they are: in the folder that TILESEEK_SHARED names.

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include <doctest/doctest.h>

/// The text of a file under $TILESEEK_SHARED/data; nothing, and a message, where it is absent.
inline std::optional<std::string> recorded_file(const std::string& name) {
  const char* shared = std::getenv("TILESEEK_SHARED");
  std::ifstream in(std::string(shared != nullptr ? shared : ".") + "/data/" + name, std::ios::binary);
  if (!in) {
    MESSAGE("skipped: no file data/" << name << "; set TILESEEK_SHARED to the folder that holds it");
    return std::nullopt;
  }
  return std::string(std::istreambuf_iterator<char>(in), {});
}
