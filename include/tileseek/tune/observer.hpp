#pragma once
// Those who watch a run. They see it after the fact, and can do one thing: ask it to stop.

#include <concepts>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include <tileseek/core/point.hpp>
#include <tileseek/core/progress.hpp>
#include <tileseek/core/value.hpp>

namespace tileseek {

namespace detail {
template <class T>
concept HasOnTrial = requires(T& t, const named_values& c, const measurement& m) {
  t.on_trial(c, m);
};
template <class T>
concept HasOnBatch = requires(T& t, const progress& p) {
  t.on_batch(p);
};
template <class T>
concept HasOnNote = requires(T& t, std::string_view s) {
  t.on_note(s);
};
template <class T>
concept HasOnFinish = requires(T& t, const progress& p, stop s) {
  t.on_finish(p, s);
};
}  // namespace detail

/// Any object with at least one of these members, held by value (copies of an observer share it):
///
///   void on_trial(const named_values& configuration, const measurement& result);   each result as it comes
///   void or bool on_batch(const progress& now);                                    after a tell; true asks to stop
///   void on_note(std::string_view text);                                           something worth saying
///   void on_finish(const progress& now, stop why);                                 once, at the end
///
/// Results that a resumed run takes from its log are shown like those of the first run, so that an observer that stops
/// a run stops it at the same place; `now.replayed` tells how many they are.
class observer {
 public:
  template <class T>
    requires(!std::same_as<std::remove_cvref_t<T>, observer>)
  observer(T&& watching) : held_(std::make_shared<holder<std::remove_cvref_t<T>>>(std::forward<T>(watching))) {
    using W = std::remove_cvref_t<T>;
    static_assert(
        detail::HasOnTrial<W> || detail::HasOnBatch<W> || detail::HasOnNote<W> || detail::HasOnFinish<W>,
        "tileseek::observer: it has none of on_trial(const named_values&, const measurement&), "
        "on_batch(const progress&), on_note(std::string_view), on_finish(const progress&, stop), so that nothing would "
        "ever reach it");
    if constexpr (detail::HasOnBatch<W>) {
      using answer = decltype(std::declval<W&>().on_batch(std::declval<const progress&>()));
      static_assert(std::same_as<answer, void> || std::same_as<answer, bool>,
                    "tileseek::observer: on_batch returns nothing, or a bool: true asks the run to stop");
    }
  }

  /// Whether on_trial() reaches anything.
  [[nodiscard]] bool sees_trials() const { return held_->sees_trials(); }

  void on_trial(const named_values& c, const measurement& m) const { held_->on_trial(c, m); }
  [[nodiscard]] bool on_batch(const progress& p) const { return held_->on_batch(p); }
  void on_note(std::string_view s) const { held_->on_note(s); }
  void on_finish(const progress& p, stop why) const { held_->on_finish(p, why); }

 private:
  struct base {
    base() = default;
    base(const base&) = delete;
    base& operator=(const base&) = delete;
    virtual ~base() = default;
    [[nodiscard]] virtual bool sees_trials() const = 0;
    virtual void on_trial(const named_values& c, const measurement& m) = 0;
    [[nodiscard]] virtual bool on_batch(const progress& p) = 0;
    virtual void on_note(std::string_view s) = 0;
    virtual void on_finish(const progress& p, stop why) = 0;
  };
  template <class T>
  struct holder final : base {
    template <class U>
    explicit holder(U&& u) : it(std::forward<U>(u)) {}
    [[nodiscard]] bool sees_trials() const override { return detail::HasOnTrial<T>; }
    void on_trial([[maybe_unused]] const named_values& c, [[maybe_unused]] const measurement& m) override {
      if constexpr (detail::HasOnTrial<T>) it.on_trial(c, m);
    }
    [[nodiscard]] bool on_batch([[maybe_unused]] const progress& p) override {
      if constexpr (detail::HasOnBatch<T>) {
        if constexpr (std::same_as<decltype(it.on_batch(p)), bool>)
          return it.on_batch(p);
        else
          it.on_batch(p);
      }
      return false;
    }
    void on_note([[maybe_unused]] std::string_view s) override {
      if constexpr (detail::HasOnNote<T>) it.on_note(s);
    }
    void on_finish([[maybe_unused]] const progress& p, [[maybe_unused]] stop why) override {
      if constexpr (detail::HasOnFinish<T>) it.on_finish(p, why);
    }
    T it;
  };

  std::shared_ptr<base> held_;
};

}  // namespace tileseek
