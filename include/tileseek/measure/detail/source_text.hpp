#pragma once
// Source text with the values of a configuration put in, and the folder where what is built from it is kept.

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include <stdlib.h>

#include <tileseek/core/format.hpp>
#include <tileseek/core/value.hpp>

namespace tileseek::detail {

/// A compiler's complaints are cut here: the first errors.
inline constexpr std::size_t longest_message = 2000;

/// A configuration as text for a compiler: names and values, tiles level by level.
[[nodiscard, gnu::cold]] inline std::vector<std::pair<std::string, std::string>> source_values(const named_values& c) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& [name, v] : c) {
    if (const auto* factors = std::get_if<std::vector<std::int64_t>>(&v.get())) {
      for (std::size_t i = 0; i < factors->size(); ++i)
        out.emplace_back(concat({name, "_", i}), std::to_string((*factors)[i]));
    } else if (const auto* truth = std::get_if<bool>(&v.get())) {
      out.emplace_back(name, *truth ? "1" : "0");
    } else {
      std::string text = to_string(v);
      if (std::holds_alternative<double>(v.get()) && text.find_first_of(".en") == std::string::npos) text += ".0";
      out.emplace_back(name, std::move(text));
    }
  }
  return out;
}

/// Replaces each {NAME} by its value and takes it from the list.
/// @throws std::invalid_argument  there is no such name, or no closing brace
[[nodiscard, gnu::cold]] inline std::string fill_in(std::string_view text,
                                                    std::vector<std::pair<std::string, std::string>>& values) {
  std::string out;
  std::vector<std::string> used;
  for (;;) {
    const auto open = text.find('{');
    out += text.substr(0, open);
    if (open == std::string_view::npos) break;
    const auto close = text.find('}', open);
    if (close == std::string_view::npos) fail<std::invalid_argument>({"function '", text, "' has a '{' without a '}'"});
    const std::string name(text.substr(open + 1, close - open - 1));
    const auto found = std::find_if(values.begin(), values.end(), [&name](const auto& v) { return v.first == name; });
    if (found == values.end())
      fail<std::invalid_argument>(
          {"the function names {", name, "}, which the space lacks; a tile axis m is {m_0}, {m_1}, ..."});
    out += found->second;
    used.push_back(name);
    text.remove_prefix(close + 1);
  }
  std::erase_if(values, [&used](const auto& v) { return std::find(used.begin(), used.end(), v.first) != used.end(); });
  return out;
}

[[nodiscard]] inline std::optional<std::string> content_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

/// A folder that goes with the object, if it made it.
class object_folder {
 public:
  /// @throws std::runtime_error  it can't be made
  explicit object_folder(std::string name) : name_(std::move(name)) {
    std::error_code why;
    if (name_.empty()) {
      name_ = (std::filesystem::temp_directory_path(why) / "tileseek-XXXXXX").string();
      if (why || ::mkdtemp(name_.data()) == nullptr)
        fail<std::runtime_error>({"no folder '", name_, "' for objects: ",
                                  (why ? why : std::error_code(errno, std::generic_category())).message()});
      own_ = true;
    } else if (std::filesystem::create_directories(name_, why); why) {
      fail<std::runtime_error>({"no folder '", name_, "' for objects: ", why.message()});
    }
    name_ = std::filesystem::absolute(name_, why).string();
  }
  object_folder(const object_folder&) = delete;
  object_folder& operator=(const object_folder&) = delete;
  ~object_folder() {
    std::error_code ignored;
    if (own_) std::filesystem::remove_all(name_, ignored);
  }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  std::string name_;
  bool own_ = false;
};

}  // namespace tileseek::detail
