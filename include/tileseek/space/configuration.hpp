#pragma once
// A configuration whose parameters are known at run time only: from a file, or from a program's arguments.

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <tileseek/core/value.hpp>

namespace tileseek {

/// Name -> value, in the order of the space. Use it as the Config of a space: space<configuration>.
class configuration {
 public:
  configuration() = default;
  explicit configuration(named_values values) : values_(std::move(values)) {}

  /// @throws std::out_of_range  no parameter has this name: the message lists those there are
  [[nodiscard]] const value& operator[](std::string_view name) const {
    for (const auto& [n, v] : values_)
      if (n == name) return v;
    std::string names;
    for (const auto& [n, v] : values_) detail::append(names, {names.empty() ? "" : ", ", n});
    detail::fail<std::out_of_range>({"configuration: no parameter '", name, "'; there are: ", names});
  }

  [[nodiscard]] bool contains(std::string_view name) const noexcept {
    for (const auto& [n, v] : values_)
      if (n == name) return true;
    return false;
  }

  /// Sets a value, adding the name at the end if it is new.
  void set(std::string_view name, value v) {
    for (auto& [n, old] : values_)
      if (n == name) {
        old = std::move(v);
        return;
      }
    values_.emplace_back(std::string(name), std::move(v));
  }

  [[nodiscard]] const named_values& values() const noexcept { return values_; }
  [[nodiscard]] friend bool operator==(const configuration&, const configuration&) = default;

 private:
  named_values values_;
};

}  // namespace tileseek
