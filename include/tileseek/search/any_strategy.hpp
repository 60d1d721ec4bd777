#pragma once
// A strategy of any kind as one type, for those who choose it at run time. Erased by value: it owns what it holds.

#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <tileseek/core/format.hpp>
#include <tileseek/search/strategy.hpp>

namespace tileseek {

/// Holds a strategy; it may be moved, not copied. Asking an empty one (default-constructed or moved from) throws.
///
///   tileseek::any_strategy s = tileseek::droplet{};
class any_strategy {
 public:
  any_strategy() = default;

  /// @param name  what `name()` gives; by default the strategy's own name() if it has one, else "unnamed"
  template <class S>
    requires(!std::same_as<std::remove_cvref_t<S>, any_strategy> && SearchStrategy<std::remove_cvref_t<S>> &&
             std::constructible_from<std::remove_cvref_t<S>, S>)
  any_strategy(S&& strategy, std::string name = {})  // NOLINT(google-explicit-constructor): meant to convert
      : held_(std::make_unique<holder<std::remove_cvref_t<S>>>(std::forward<S>(strategy))), name_(std::move(name)) {
    if (!name_.empty()) return;
    if constexpr (requires(const std::remove_cvref_t<S>& s) { std::string_view(s.name()); })
      name_ = std::string_view(static_cast<holder<std::remove_cvref_t<S>>&>(*held_).strategy.name());
    else
      name_ = "unnamed";
  }

  [[nodiscard]] std::vector<point> ask(const lattice& space, rng& random, std::size_t n) {
    return held().ask(space, random, n);
  }
  void tell(const lattice& space, std::span<const trial> done) { held().tell(space, done); }

  /// What a ForecastingStrategy tells; nothing for others.
  [[nodiscard]] std::optional<double> gap() const { return held_ ? held_->gap() : std::nullopt; }

  /// Empty for an empty one.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  void rename(std::string name) { name_ = std::move(name); }
  [[nodiscard]] bool has_value() const noexcept { return held_ != nullptr; }

 private:
  struct base {
    base() = default;
    base(const base&) = delete;
    base& operator=(const base&) = delete;
    virtual ~base() = default;
    [[nodiscard]] virtual std::vector<point> ask(const lattice& space, rng& random, std::size_t n) = 0;
    virtual void tell(const lattice& space, std::span<const trial> done) = 0;
    [[nodiscard]] virtual std::optional<double> gap() const = 0;
  };
  template <class S>
  struct holder final : base {
    template <class T>
    explicit holder(T&& s) : strategy(std::forward<T>(s)) {}
    [[nodiscard]] std::vector<point> ask(const lattice& space, rng& random, std::size_t n) override {
      return strategy.ask(space, random, n);
    }
    void tell(const lattice& space, std::span<const trial> done) override { strategy.tell(space, done); }
    [[nodiscard]] std::optional<double> gap() const override {
      if constexpr (ForecastingStrategy<S>)
        return strategy.gap();
      else
        return std::nullopt;
    }
    S strategy;
  };

  [[nodiscard]] base& held() {
    if (!held_) detail::fail<std::logic_error>({"any_strategy: holds no strategy"});
    return *held_;
  }

  std::unique_ptr<base> held_;
  std::string name_;
};

static_assert(SearchStrategy<any_strategy>);

}  // namespace tileseek
