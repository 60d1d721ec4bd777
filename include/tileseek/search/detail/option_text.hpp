#pragma once
// Options from text. An options struct is described once, by a function `describe(options, visit)` beside it that calls
// visit(name, member, help) for each member, for an enumeration with the names of its values in their order; from that
// come `key=value`, the list of names in an error, and the help. Numbers go through from_chars, whatever the locale.

#include <charconv>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

#include <tileseek/core/point.hpp>

namespace tileseek {

/// One option of a strategy as a reader sees it.
struct option_help {
  std::string name;
  std::string fallback;  ///< the value it has when it is not given
  std::string
      values;  ///< what may be written: "number", "whole number", "true|false", "random|maximin", "indices i,j,..."
  std::string help;
};

namespace detail {

using value_names = std::initializer_list<std::string_view>;

[[nodiscard]] inline std::string joined(value_names names) {
  std::string out;
  for (const auto n : names) out.append(out.empty() ? "" : "|").append(n);
  return out;
}

template <class T>
[[nodiscard]] std::string kind_of(value_names names) {
  if constexpr (std::is_enum_v<T>)
    return joined(names);
  else if constexpr (std::same_as<T, bool>)
    return "true|false";
  else if constexpr (std::integral<T>)
    return "whole number";
  else if constexpr (std::floating_point<T>)
    return "number";
  else
    return "indices i,j,...";
}

/// The whole text as a number, or nothing.
template <class T>
[[nodiscard]] std::optional<T> parsed(std::string_view text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return value;
}

template <class T>
[[nodiscard]] std::optional<T> value_of(std::string_view text, value_names names) {
  if constexpr (std::is_enum_v<T>) {
    int i = 0;
    for (const auto n : names) {
      if (n == text) return static_cast<T>(i);
      ++i;
    }
    return std::nullopt;
  } else if constexpr (std::same_as<T, bool>) {
    if (text == "true" || text == "1") return true;
    if (text == "false" || text == "0") return false;
    return std::nullopt;
  } else if constexpr (std::integral<T> || std::floating_point<T>) {
    return parsed<T>(text);
  } else {  // std::optional<point>
    point p;
    for (bool more = true; more;) {
      const std::size_t comma = text.find(',');
      const auto i = parsed<int>(text.substr(0, comma));
      if (!i || *i < 0) return std::nullopt;
      p.push_back(*i);
      more = comma != std::string_view::npos;
      if (more) text.remove_prefix(comma + 1);
    }
    return T(std::move(p));
  }
}

template <class T>
[[nodiscard]] std::string text_of(const T& value, value_names names) {
  if constexpr (std::is_enum_v<T>) {
    const auto i = static_cast<std::size_t>(value);
    return i < names.size() ? std::string(names.begin()[i]) : std::string();
  } else if constexpr (std::same_as<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::integral<T> || std::floating_point<T>) {
    char digits[64];
    const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
    return error == std::errc() ? std::string(digits, end) : std::string();
  } else {
    std::string out;
    if (value)
      for (const int i : *value) out += (out.empty() ? "" : ",") + std::to_string(i);
    return out.empty() ? "none" : out;
  }
}

/// Sets one option of `options` from text.
/// @throws std::invalid_argument  no such option (the message lists those there are), or a value that is none
template <class Options>
void set_option(Options& options, std::string_view owner, std::string_view key, std::string_view text) {
  bool found = false;
  std::string all;
  describe(options, [&]<class T>(std::string_view name, T& member, std::string_view /*help*/, value_names names = {}) {
    all.append(all.empty() ? "" : ", ").append(name);
    if (name != key) return;
    found = true;
    const std::optional<T> value = value_of<T>(text, names);
    if (!value)
      throw std::invalid_argument(std::string(owner) + ": option " + std::string(key) + " is '" + std::string(text) +
                                  "'; give " + kind_of<T>(names));
    member = *value;
  });
  if (!found)
    throw std::invalid_argument(std::string(owner) + ": no option '" + std::string(key) + "'; there " +
                                (all.empty() ? "are none" : "are " + all));
}

/// The options with their values in `options`.
template <class Options>
[[nodiscard]] std::vector<option_help> list_options(Options options) {
  std::vector<option_help> out;
  describe(options, [&]<class T>(std::string_view name, T& member, std::string_view help, value_names names = {}) {
    out.push_back({std::string(name), text_of(member, names), kind_of<T>(names), std::string(help)});
  });
  return out;
}

}  // namespace detail
}  // namespace tileseek
