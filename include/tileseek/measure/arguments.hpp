#pragma once
// A kernel's arguments: what it reads, what it must compute, and whether it did.
//
//   tileseek::arguments data({tileseek::input<float>(n), tileseek::output<float>(n), tileseek::scalar(n)},
//                            saxpy_reference);
//   measurement m = data.check_and_time([&](void* const* a) { kernel(a); }, limits);
//
// Inputs are random, from a seed. Outputs are poisoned before each checked run, so that nothing left by an earlier
// kernel passes for a result. Around every buffer lies a margin that no kernel may write to, and what is an input must
// not change. What a kernel reads and writes is restored before every timed run.

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <tileseek/core/format.hpp>
#include <tileseek/core/measurement.hpp>
#include <tileseek/core/rng.hpp>
#include <tileseek/measure/measurer.hpp>
#include <tileseek/measure/time.hpp>

namespace tileseek {

/// How far a result x may lie from the reference r: |x - r| <= absolute * s + relative * |r|, where s is the largest
/// finite |r| in the buffer (or 1 if that is 0). A NaN or an infinity must be where the reference has the same.
struct tolerance {
  double relative = 0;
  double absolute = 0;  ///< a share of the buffer's largest element: sums that cancel are no more exact than that
};

/// The tolerance of a type: about 800 roundings of a float (1e-4) or 4 million of a double (1e-9), which a sum of some
/// hundred thousand products in any order keeps to; none for integers.
template <class T>
[[nodiscard]] constexpr tolerance default_tolerance() noexcept {
  if constexpr (!std::floating_point<T>)
    return {0, 0};
  else if constexpr (sizeof(T) <= sizeof(float))
    return {1e-4, 1e-4};
  else
    return {1e-9, 1e-9};
}

/// Element types of arguments: floats and integers. bool and long double are left out.
template <class T>
concept Element = std::same_as<T, float> || std::same_as<T, double> ||
    (std::integral<T> && !std::same_as<T, bool> && sizeof(T) <= 8);

namespace detail {

template <class T>
[[nodiscard]] constexpr const char* name_of_type() noexcept {
  if constexpr (std::same_as<T, float>)
    return "float";
  else if constexpr (std::same_as<T, double>)
    return "double";
  else if constexpr (std::same_as<T, char>)
    return "char";
  else if constexpr (std::same_as<T, signed char>)
    return "signed char";
  else if constexpr (std::same_as<T, unsigned char>)
    return "unsigned char";
  else if constexpr (std::same_as<T, short>)
    return "short";
  else if constexpr (std::same_as<T, unsigned short>)
    return "unsigned short";
  else if constexpr (std::same_as<T, int>)
    return "int";
  else if constexpr (std::same_as<T, unsigned>)
    return "unsigned int";
  else if constexpr (std::same_as<T, long>)
    return "long";
  else if constexpr (std::same_as<T, unsigned long>)
    return "unsigned long";
  else if constexpr (std::same_as<T, long long>)
    return "long long";
  else if constexpr (std::same_as<T, unsigned long long>)
    return "unsigned long long";
  else
    static_assert(!sizeof(T),
                  "tileseek: arguments are of char, short, int, long, long long (signed or not), float or double");
}

/// What can be done with elements of a type that is known at run time alone.
struct element_type {
  const char* name;  ///< as C spells it
  std::size_t size;
  tolerance within;
  void (*randomise)(void*, std::size_t, rng&);
  /// The first element that is not the reference's, and why; empty if there is none.
  std::string (*differ)(const void* got, const void* wanted, std::size_t, const tolerance&);
  /// What is wrong with a result of which no more is known than that it was poisoned: an element that is no number, or,
  /// of integers, nothing written at all.
  std::string (*unwritten)(const void* got, std::size_t);
};

inline constexpr int poison = 0xff;  ///< in every byte: a NaN of each type of float
[[nodiscard]] inline bool is_poison(const void* data, std::size_t bytes) {
  const auto* at = static_cast<const std::byte*>(data);
  return std::all_of(at, at + bytes, [](std::byte b) { return b == std::byte{poison}; });
}

template <Element T>
void randomise(void* to, std::size_t n, rng& random) {
  auto* x = static_cast<T*>(to);
  for (std::size_t i = 0; i < n; ++i) {
    if constexpr (std::floating_point<T>)
      x[i] = static_cast<T>(2 * random.uniform() - 1);
    else if constexpr (std::signed_integral<T>)
      x[i] = static_cast<T>(random.index(17) - 8);
    else
      x[i] = static_cast<T>(random.index(16));
  }
}

template <Element T>
[[nodiscard]] std::string differ(const void* got, const void* wanted, std::size_t n, const tolerance& within) {
  const auto* x = static_cast<const T*>(got);
  const auto* r = static_cast<const T*>(wanted);
  const auto show = [](T a) {
    if constexpr (std::floating_point<T>)
      return std::isfinite(a) ? shortest(a) : std::string(std::isnan(a) ? "NaN" : a < 0 ? "-infinity" : "infinity");
    else
      return concat({a});
  };
  double scale = 0;
  if constexpr (std::floating_point<T>) {
    for (std::size_t i = 0; i < n; ++i)
      if (std::isfinite(r[i])) scale = std::fmax(scale, std::fabs(static_cast<double>(r[i])));
  } else {
    for (std::size_t i = 0; i < n; ++i) scale = std::fmax(scale, std::fabs(static_cast<double>(r[i])));
  }
  const double slack = within.absolute * (scale > 0 ? scale : 1);
  const auto equal = [&](T a, T b) {
    if (a == b) return true;
    const auto p = static_cast<double>(a);
    const auto q = static_cast<double>(b);
    if (std::isnan(q)) return std::isnan(p);
    if (!std::isfinite(p) || !std::isfinite(q)) return false;
    return std::fabs(p - q) <= slack + within.relative * std::fabs(q);
  };
  std::size_t wrong = 0;
  std::size_t first = n;
  for (std::size_t i = 0; i < n; ++i)
    if (!equal(x[i], r[i]) && ++wrong == 1) first = i;
  if (wrong == 0) return {};
  return concat({"element ", first, " is ", show(x[first]), ", not ", show(r[first]), "; ", show_count(wrong), " of ",
                 show_count(n), " elements are wrong"});
}

template <Element T>
[[nodiscard]] std::string unwritten(const void* got, std::size_t n) {
  if constexpr (std::floating_point<T>) {
    const auto* x = static_cast<const T*>(got);
    for (std::size_t i = 0; i < n; ++i)
      if (std::isnan(x[i]))
        return concat({"element ", i, is_poison(x + i, sizeof(T)) ? " was not written" : " is NaN"});
    return {};
  } else {
    return is_poison(got, n * sizeof(T)) ? "nothing was written" : "";
  }
}

template <Element T>
inline constexpr element_type element_of{name_of_type<T>(), sizeof(T),  default_tolerance<T>(),
                                         &randomise<T>,     &differ<T>, &unwritten<T>};

}  // namespace detail

/// One argument of a kernel. See input(), output(), in_out(), scalar().
class argument {
 public:
  enum class role { input, output, in_out, scalar };

  argument(role r, const detail::element_type& type, std::size_t count, std::vector<std::byte> given = {})
      : role_(r), type_(&type), count_(count), given_(std::move(given)), within_(type.within) {
    if (count == 0) detail::fail<std::invalid_argument>({"argument: 0 elements; give at least 1"});
  }

  /// With another tolerance than the type's, where it is a result.
  [[nodiscard]] argument within(const tolerance& t) && {
    if (!(t.relative >= 0) || !(t.absolute >= 0))
      detail::fail<std::invalid_argument>(
          {"argument: a tolerance of ", t.relative, " and ", t.absolute, "; give 0 or more"});
    within_ = t;
    return std::move(*this);
  }

  [[nodiscard]] role kind() const noexcept { return role_; }
  [[nodiscard]] const detail::element_type& type() const noexcept { return *type_; }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return count_ * type_->size; }
  [[nodiscard]] const std::vector<std::byte>& given() const noexcept { return given_; }
  [[nodiscard]] const tolerance& tolerated() const noexcept { return within_; }
  [[nodiscard]] bool is_result() const noexcept { return role_ == role::output || role_ == role::in_out; }
  /// In C: "const float*", "float*", "int".
  [[nodiscard]] std::string declaration() const {
    if (role_ == role::scalar) return type_->name;
    return detail::concat({role_ == role::input ? "const " : "", type_->name, "*"});
  }

 private:
  role role_;
  const detail::element_type* type_;
  std::size_t count_;
  std::vector<std::byte> given_;
  tolerance within_;
};

namespace detail {
template <Element T>
[[nodiscard]] argument argument_of(argument::role r, const T* values, std::size_t count) {
  std::vector<std::byte> bytes(count * sizeof(T));
  if (count > 0) std::memcpy(bytes.data(), values, bytes.size());
  return argument(r, element_of<T>, count, std::move(bytes));
}
}  // namespace detail

/// A buffer that the kernel reads: random numbers (floats in [-1, 1), signed integers from -8 to 8, unsigned from 0 to
/// 15), or the given ones.
/// @throws std::invalid_argument  no elements
template <Element T>
[[nodiscard]] argument input(std::size_t count) {
  return argument(argument::role::input, detail::element_of<T>, count);
}
template <Element T>
[[nodiscard]] argument input(const std::vector<T>& values) {
  return detail::argument_of(argument::role::input, values.data(), values.size());
}
/// A buffer that the kernel writes, every element of it.
template <Element T>
[[nodiscard]] argument output(std::size_t count) {
  return argument(argument::role::output, detail::element_of<T>, count);
}
/// A buffer that the kernel reads and writes. Restored before every timed run.
template <Element T>
[[nodiscard]] argument in_out(std::size_t count) {
  return argument(argument::role::in_out, detail::element_of<T>, count);
}
template <Element T>
[[nodiscard]] argument in_out(const std::vector<T>& values) {
  return detail::argument_of(argument::role::in_out, values.data(), values.size());
}
/// A number that is passed by value.
template <Element T>
[[nodiscard]] argument scalar(T value) {
  return detail::argument_of(argument::role::scalar, &value, 1);
}

/// Computes the true results: gets a pointer to each argument, in order, to a scalar's value as well.
using reference_function = std::function<void(void* const*)>;

namespace detail {

template <class P>
[[nodiscard]] P argument_as(void* p) {
  if constexpr (std::is_pointer_v<P>)
    return static_cast<P>(p);
  else
    return *static_cast<const std::remove_cvref_t<P>*>(p);
}

template <class P>
[[nodiscard]] bool argument_is(const argument& a) {
  using element = std::remove_cvref_t<std::remove_pointer_t<P>>;
  return std::is_pointer_v<P> != (a.kind() == argument::role::scalar) &&
         std::string_view(a.type().name) == name_of_type<element>();
}

template <class... P, std::size_t... I>
void call_with(void (*f)(P...), void* const* a, std::index_sequence<I...>) {
  f(argument_as<P>(a[I])...);
}

}  // namespace detail

/// What a kernel is compared with: a function with the kernel's own parameters, or one that takes the pointers
/// (reference_function), or nothing. Without one, outputs must have been written and hold no NaN, and no more is known.
class reference {
 public:
  reference() = default;
  template <class... P>
  reference(void (*f)(P...))  // NOLINT(google-explicit-constructor): meant to convert
      : call_([f](void* const* a) { detail::call_with(f, a, std::index_sequence_for<P...>{}); }),
        fits_([](const std::vector<argument>& a) {
          std::size_t i = 0;
          return a.size() == sizeof...(P) && (detail::argument_is<P>(a[i++]) && ...);
        }) {}
  template <class F>
    requires std::constructible_from<reference_function, F> &&(!std::same_as<std::remove_cvref_t<F>, reference>)
        reference(F f)  // NOLINT(google-explicit-constructor): meant to convert
        : call_(std::move(f)) {}

    explicit operator bool() const noexcept { return static_cast<bool>(call_); }
    void operator()(void* const* a) const { call_(a); }
    /// Whether the function has such parameters, as far as it says.
    [[nodiscard]] bool fits(const std::vector<argument>& a) const { return fits_ == nullptr || fits_(a); }

   private:
    reference_function call_;
    bool (*fits_)(const std::vector<argument>&) = nullptr;
};

/// Whether a kernel finds its data in the caches.
enum class caches {
  warm,     ///< as the run before left them: what a kernel in a loop sees
  flushed,  ///< every argument is evicted from all caches before each timed run: what a kernel in a program sees whose
            ///< data comes from elsewhere
};
[[nodiscard]] constexpr std::string_view to_string(caches c) noexcept { return c == caches::warm ? "warm" : "flushed"; }

/// Evicts memory from all caches of the machine. x86-64 and 64-bit ARM have an instruction for it; elsewhere 256 MiB are
/// written to push it out.
inline void evict(const void* data, std::size_t bytes) {
#if defined(__x86_64__) || defined(__aarch64__)
  constexpr std::size_t line = 64;  // on all of the former, and the smallest of the latter
  const auto* at = static_cast<const char*>(data);
  for (std::size_t i = 0; i < bytes; i += line) {
#if defined(__x86_64__)
    __builtin_ia32_clflush(at + i);
#else
    asm volatile("dc civac, %0" : : "r"(at + i) : "memory");
#endif
  }
  if (bytes > 0) {
#if defined(__x86_64__)
    __builtin_ia32_clflush(at + bytes - 1);
    __builtin_ia32_mfence();
#else
    asm volatile("dc civac, %0\n\tdsb sy" : : "r"(at + bytes - 1) : "memory");
#endif
  }
#else
  static_cast<void>(data);
  static std::vector<char> much(bytes > 0 ? std::size_t{256} << 20 : 1);
  volatile char* const to = much.data();
  for (std::size_t i = 0; i < much.size(); i += 32) to[i] = static_cast<char>(to[i] + 1);
#endif
}

/// The arguments of a kernel in memory, and the truth about its results. One object per thread.
class arguments {
 public:
  static constexpr std::size_t margin = 4096;  ///< bytes before and behind each buffer that no kernel may write to

  /// @param truth  what the results are compared with
  /// @param seed   of the random inputs
  /// @throws std::invalid_argument  the reference has other parameters
  explicit arguments(std::vector<argument> list, reference truth = {}, std::uint64_t seed = 0)
      : list_(std::move(list)), truth_(std::move(truth)) {
    if (!truth_.fits(list_))
      detail::fail<std::invalid_argument>(
          {"arguments: the reference has other parameters than (", declaration(), "); give it the kernel's own"});
    std::size_t at = margin;
    for (const auto& a : list_) {
      places_.push_back(at);
      // A margin on both sides; buffers begin on a page, so that how they lie to each other is always the same.
      at += (a.bytes() + 2 * margin + page - 1) / page * page;
    }
    size_ = at + margin;
    memory_.reset(static_cast<std::byte*>(::operator new (size_, std::align_val_t{page})));
    std::memset(memory_.get(), guard, size_);
    rng random(seed);
    for (std::size_t i = 0; i < list_.size(); ++i) {
      pointers_.push_back(memory_.get() + places_[i]);
      originals_.push_back(std::vector<std::byte>(list_[i].bytes(), std::byte{guard}));
      auto& bytes = originals_.back();
      if (!list_[i].given().empty())
        std::memcpy(bytes.data(), list_[i].given().data(), bytes.size());
      else if (list_[i].kind() != argument::role::output)
        list_[i].type().randomise(bytes.data(), list_[i].count(), random);
    }
    restore_all();
  }

  [[nodiscard]] const std::vector<argument>& list() const noexcept { return list_; }
  /// To each argument, in order; to a scalar's value as well.
  [[nodiscard]] void* const* pointers() const noexcept { return pointers_.data(); }
  /// The i-th argument's elements.
  template <Element T>
  [[nodiscard]] T* get(std::size_t i) const {
    return static_cast<T*>(pointers_.at(i));
  }
  [[nodiscard]] bool has_reference() const noexcept { return static_cast<bool>(truth_); }
  /// "const float*, float*, int"
  [[nodiscard]] std::string declaration() const {
    std::string out;
    for (const auto& a : list_) detail::append(out, {out.empty() ? "" : ", ", a.declaration()});
    return out;
  }

  /// Runs the reference, once, if there is one. check() does so itself; a program that forks does so before.
  void know_truth() {
    if (!truth_ || !wanted_.empty()) return;
    restore_all();
    truth_(pointers());
    for (std::size_t i = 0; i < list_.size(); ++i) {
      wanted_.emplace_back();
      if (list_[i].is_result())
        wanted_[i].assign(memory_.get() + places_[i], memory_.get() + places_[i] + list_[i].bytes());
    }
    restore_all();
  }

  /// Every argument as it was in the beginning, outputs poisoned: all bits are a pattern that is a NaN of each float.
  void restore_all() {
    for (std::size_t i = 0; i < list_.size(); ++i) {
      std::memcpy(pointers_[i], originals_[i].data(), originals_[i].size());
      if (list_[i].kind() == argument::role::output) std::memset(pointers_[i], detail::poison, list_[i].bytes());
    }
  }
  /// What the kernel reads and writes as it was in the beginning.
  void restore() {
    for (std::size_t i = 0; i < list_.size(); ++i)
      if (list_[i].kind() == argument::role::in_out)
        std::memcpy(pointers_[i], originals_[i].data(), originals_[i].size());
  }
  void evict_all() const {
    for (std::size_t i = 0; i < list_.size(); ++i) evict(pointers_[i], list_[i].bytes());
  }

  /// Runs the kernel once and looks at all it has left. Nothing: it is right.
  template <class Run>
  [[nodiscard]] std::optional<measurement> check(Run&& run) {
    know_truth();
    restore_all();
    run(pointers());
    std::string wrong = first_mistake();
    if (wrong.empty()) return std::nullopt;
    std::memset(memory_.get(), guard, size_);  // it may have written anywhere
    restore_all();
    return failure(status::wrong_result, std::move(wrong));
  }

  /// Checks the kernel, then times it: `run(pointers)` runs it once.
  template <class Run>
  [[nodiscard]] measurement check_and_time(Run&& run, const timing_limits& limits = {}, caches state = caches::warm) {
    if (auto wrong = check(run)) return std::move(*wrong);
    const auto once = [&] { run(pointers()); };
    bool in_place = false;
    for (const auto& a : list_) in_place = in_place || a.kind() == argument::role::in_out;
    if (!in_place && state == caches::warm) return time(once, limits);
    return time(once, limits, [&] {
      restore();
      if (state == caches::flushed) evict_all();
    });
  }

 private:
  static constexpr std::size_t page = 4096;
  static constexpr int guard = 0x5a;

  [[nodiscard]] std::string first_mistake() const {
    for (std::size_t i = 0; i < list_.size(); ++i) {
      const argument& a = list_[i];
      const auto* begin = static_cast<const std::byte*>(pointers_[i]);
      const auto* end = begin + a.bytes();
      const auto* next =
          i + 1 < list_.size() ? static_cast<const std::byte*>(pointers_[i + 1]) - margin : memory_.get() + size_;
      const auto touched = [](const std::byte* from, const std::byte* to) {
        return std::any_of(from, to, [](std::byte b) { return b != std::byte{guard}; });
      };
      if (touched(end, next)) return detail::concat({"wrote past the end of argument ", i});
      if (touched(begin - margin, begin)) return detail::concat({"wrote before the beginning of argument ", i});
      if (!a.is_result() && std::memcmp(begin, originals_[i].data(), a.bytes()) != 0)
        return detail::concat({"changed argument ", i, ", which is an input"});
    }
    for (std::size_t i = 0; i < list_.size(); ++i) {
      const argument& a = list_[i];
      if (!a.is_result()) continue;
      std::string wrong;
      if (!wanted_.empty())
        wrong = a.type().differ(pointers_[i], wanted_[i].data(), a.count(), a.tolerated());
      else if (a.kind() == argument::role::output)
        wrong = a.type().unwritten(pointers_[i], a.count());
      if (!wrong.empty()) return detail::concat({"argument ", i, ": ", wrong});
    }
    return {};
  }

  struct release {
    void operator()(std::byte* p) const { ::operator delete (p, std::align_val_t{page}); }
  };

  std::vector<argument> list_;
  reference truth_;
  std::vector<std::size_t> places_;  ///< of each argument in the memory
  std::size_t size_ = 0;
  std::unique_ptr<std::byte, release> memory_;
  std::vector<void*> pointers_;
  std::vector<std::vector<std::byte>> originals_;
  std::vector<std::vector<std::byte>> wanted_;  ///< the true results; empty until they are known
};

}  // namespace tileseek
