#pragma once
// A search space over the user's own struct, described by member pointers: typos do not compile, the winner is a value.
// A rule names the members it reads, so that independent groups of parameters are found by themselves.

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <tileseek/core/format.hpp>
#include <tileseek/core/point.hpp>
#include <tileseek/core/rng.hpp>
#include <tileseek/core/statistics.hpp>
#include <tileseek/core/value.hpp>
#include <tileseek/space/configuration.hpp>
#include <tileseek/space/domain.hpp>
#include <tileseek/space/lattice.hpp>

namespace tileseek {

/// One level of a tile axis as a rule's argument: its factor, or its inclusive tile size (the product of its factor and
/// all inside it). A rule that reads single levels couples fewer coordinates than one that reads the whole array.
template <class Axis>
struct tile_level {
  Axis axis;
  std::size_t level;
  tile_view view;
};

/// The factor at this level (0 is the outermost). `axis` is a member pointer, or a name for a run-time configuration.
template <class Axis>
[[nodiscard]] tile_level<Axis> factor(Axis axis, std::size_t level) {
  return {axis, level, tile_view::factor};
}
/// The tile size at this level: the product of the factors from it inwards.
template <class Axis>
[[nodiscard]] tile_level<Axis> inclusive(Axis axis, std::size_t level) {
  return {axis, level, tile_view::inclusive};
}

namespace detail {

/// Lattices hold numbers as double.
inline constexpr std::int64_t largest_extent = std::int64_t{1} << 53;

template <class T>
concept NamedEnumerator = std::is_enum_v<T> && requires(T v) {
  { to_string(v) } -> std::convertible_to<std::string_view>;
};

/// A parameter's value for logs and reports.
template <class T>
[[nodiscard]] value to_value(const T& v) {
  if constexpr (std::same_as<T, value>)
    return v;
  else if constexpr (NamedEnumerator<T>)
    return value(std::string_view(to_string(v)));
  else if constexpr (std::is_enum_v<T>)
    return value(static_cast<std::underlying_type_t<T>>(v));
  else {
    static_assert(
        std::constructible_from<value, const T&>,
        "tileseek::space: a parameter is a number, a truth value, a text, an enumerator, or a std::array of integers "
        "declared with tile()");
    return value(v);
  }
}

/// A list of values; std::vector<bool> has none that could be referred to.
template <class T>
using value_list = std::vector<std::conditional_t<std::same_as<T, bool>, unsigned char, T>>;

// Readers take one argument of a rule from the indices of a point. They say which terms of it they read, and can be
// told to find them in an array of terms instead. They do not own what they read: the rule does, so that they stay
// trivial.

template <class T>
struct value_reader {
  const value_list<T>* values = nullptr;
  std::size_t coordinate = 0;
  [[nodiscard]] std::conditional_t<std::is_scalar_v<T>, T, const T&> operator()(const int* p) const noexcept {
    if constexpr (std::same_as<T, bool>)
      return (*values)[static_cast<std::size_t>(p[coordinate])] != 0;
    else
      return (*values)[static_cast<std::size_t>(p[coordinate])];
  }
  void note(std::vector<rule_term>& terms) const { terms.push_back({coordinate, false}); }
  void renumber(std::size_t& slot) noexcept { coordinate = slot++; }
};

/// The factors of a tile axis.
struct tile_reader {
  const std::vector<std::int64_t>* divisors = nullptr;
  std::size_t first = 0;
  std::size_t levels = 1;
  [[nodiscard]] std::int64_t extent() const noexcept { return divisors->back(); }
  [[nodiscard]] std::int64_t divisor(int index) const noexcept { return (*divisors)[static_cast<std::size_t>(index)]; }
  [[nodiscard]] std::vector<std::int64_t> factors(const int* p) const {
    std::vector<std::int64_t> out(levels);
    out[0] = extent();
    for (std::size_t l = 1; l < levels; ++l) out[0] /= out[l] = divisor(p[first + l - 1]);
    return out;
  }
  void note(std::vector<rule_term>& terms) const {
    for (std::size_t l = 1; l < levels; ++l) terms.push_back({first + l - 1, false});
  }
  void renumber(std::size_t& slot) noexcept {
    first = slot;
    slot += levels - 1;
  }
};

template <class I, std::size_t L>
struct tile_array_reader : tile_reader {
  [[nodiscard]] std::array<I, L> operator()(const int* p) const noexcept {
    std::array<I, L> out{};
    std::int64_t product = 1;
    for (std::size_t l = 1; l < L; ++l) {
      const std::int64_t f = divisor(p[first + l - 1]);
      product *= f;
      out[l] = static_cast<I>(f);
    }
    out[0] = static_cast<I>(extent() / product);
    return out;
  }
};

/// A parameter of a run-time configuration.
struct named_reader {
  value_reader<value> plain;
  tile_reader tile;
  bool is_tile;
  [[nodiscard]] value operator()(const int* p) const {
    if (!is_tile) return plain(p);
    return value(tile.factors(p));
  }
  void note(std::vector<rule_term>& terms) const { is_tile ? tile.note(terms) : plain.note(terms); }
  void renumber(std::size_t& slot) noexcept { is_tile ? tile.renumber(slot) : plain.renumber(slot); }
};

/// A tile size or factor of a run-time configuration: becomes whatever number the rule's argument is.
struct tile_number {
  std::int64_t number = 0;
  explicit tile_number(std::int64_t n) noexcept : number(n) {}
  template <class T>
    requires std::is_arithmetic_v<T>
  operator T() const noexcept {  // NOLINT(google-explicit-constructor): meant to convert
    return static_cast<T>(number);
  }
};

/// One number of a tile axis: the product of the factors at coordinates [first, last), or the rest of the extent.
template <class I>
struct tile_level_reader {
  const std::vector<std::int64_t>* divisors;
  std::size_t first;
  std::size_t last;
  bool rest;
  [[nodiscard]] I operator()(const int* p) const noexcept {
    std::int64_t product = 1;
    for (std::size_t c = first; c < last; ++c) product *= (*divisors)[static_cast<std::size_t>(p[c])];
    return static_cast<I>(rest ? divisors->back() / product : product);
  }
  void note(std::vector<rule_term>& terms) const {
    if (first < last) terms.push_back({first, last - first > 1});
  }
  void renumber(std::size_t& slot) noexcept {
    if (first == last) return;
    first = slot++;
    last = slot;
  }
};

/// The number behind a value that is one; nothing for a truth value, a text or the factors of a tile axis.
[[nodiscard]] inline std::optional<double> number_of(const value& v) {
  if (const auto* i = std::get_if<std::int64_t>(&v.get())) return static_cast<double>(*i);
  if (const auto* d = std::get_if<double>(&v.get())) return *d;
  return std::nullopt;
}
/// The number that orders a parameter's value; nothing when it has none.
template <class T>
[[nodiscard]] std::optional<double> number_of(const T& v) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<double>(v);
  else
    return std::nullopt;
}

/// A domain's value as the member's type.
/// @throws std::invalid_argument  it does not fit: it is out of range, or a fraction where T is an integer
template <class T, class U>
[[nodiscard]] T convert(const std::string& name, const U& from) {
  if constexpr (std::same_as<T, U>) {
    return from;
  } else if constexpr (std::is_arithmetic_v<T> && std::is_arithmetic_v<U>) {
    if (!fits<T>(from))
      fail<std::invalid_argument>(
          {"space: value ", to_string(value(from)), " of parameter '", name, "' does not fit the member's type"});
    return static_cast<T>(from);
  } else {
    static_assert(std::constructible_from<T, const U&>,
                  "tileseek::space::add: the domain's values cannot be converted to the member's type");
    return T(from);
  }
}

/// A parameter. What depends on its type and on that of the configurations is behind three functions; as plain
/// functions they compile far faster than closures would.
struct parameter {
  std::string name;
  std::string identity;  ///< of the member: its pointer's bytes, by which rules find the parameter; or the name
  std::size_t first = 0;
  std::size_t coordinates = 1;
  std::shared_ptr<const void> values;  ///< value_list<T> of the member's T; of a tile axis, divisors (vector<int64>)
  bool is_tile = false;
  value (*value_at)(const parameter&, std::size_t) = nullptr;  ///< the value with this index; none for a tile axis
  /// Of a configuration, whose type the space knows: sets it to the values at a point, and reads its value.
  void (*write)(const parameter&, void* configuration, const int* p) = nullptr;
  value (*show)(const parameter&, const void* configuration) = nullptr;

  [[nodiscard]] tile_reader tile() const {
    return {static_cast<const std::vector<std::int64_t>*>(values.get()), first, coordinates + 1};
  }
  template <class T>
  [[nodiscard]] value_reader<T> reader() const {
    return {static_cast<const value_list<T>*>(values.get()), first};
  }
};

/// All of a space that does not depend on the type of its configurations.
class space_core {
 public:
  /// The index space that strategies search. Counts and compiles it on the first call.
  /// @throws std::invalid_argument  nothing is left by the rules: the message names them
  [[nodiscard]] const tileseek::lattice& lattice() const {
    if (!compiled_) {
      auto all = rules_;
      for (const auto& w : whole_rules_) all[w.place] = w.make(*this);
      tileseek::lattice compiled(coordinates_, tiles_, std::move(all));
      if (!features_.empty()) {
        std::vector<point_feature> known;
        for (const auto& f : features_) known.push_back({f.name, f.make(*this)});
        compiled = compiled.with_features(std::move(known));
      }
      compiled_ = std::move(compiled);
    }
    return *compiled_;
  }

  /// The exact number of configurations. @throws std::length_error  it is not known exactly; see approximate_size()
  [[nodiscard]] std::uint64_t size() const { return lattice().size(); }
  [[nodiscard]] bool counted() const { return lattice().counted(); }
  [[nodiscard]] double approximate_size() const { return lattice().approximate_size(); }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& q : parameters_) out.push_back(std::string(q.name));
    return out;
  }

  /// The point with these values by name; nothing when a parameter is missing or a value is in no domain. Names that
  /// are no parameters are ignored.
  [[nodiscard]] std::optional<point> locate_named(const named_values& values) const {
    point p(coordinates_.size(), 0);
    for (const auto& q : parameters_) {
      bool found = false;
      for (const auto& [name, v] : values)
        if (name == q.name) {
          found = read(q, v, p.data(), true);
          break;
        }
      if (!found) return std::nullopt;
    }
    if (!lattice().feasible(p)) return std::nullopt;
    return p;
  }

 protected:
  space_core() = default;

  [[nodiscard, gnu::cold]] std::string why_not_in(const void* configuration) const {
    point p(coordinates_.size(), 0);
    for (const auto& q : parameters_) {
      const value v = q.show(q, configuration);
      if (!read(q, v, p.data(), true)) return concat({q.name, " has no value ", to_string(v)});
    }
    return lattice().refusal(p);
  }

  /// A rule of the whole configuration.
  struct whole_rule {
    std::size_t place = 0;                                ///< among the rules, where it leaves a gap
    std::function<lattice_rule(const space_core&)> make;  ///< called when all parameters are known
  };

  /// A number for cost models.
  struct feature_of {
    std::string name;
    std::function<std::function<double(const point&)>(const space_core&)> make;  ///< likewise
  };

  void add_feature(feature_of f) {
    for (const auto& other : features_)
      if (other.name == f.name) fail<std::invalid_argument>({"space: feature '", f.name, "' is declared twice"});
    features_.push_back(std::move(f));
    compiled_.reset();
  }

  void write_to(void* configuration, const int* p) const {
    for (const auto& q : parameters_) q.write(q, configuration, p);
  }
  /// The indices of a configuration's values; false when they are asked for exactly and one is in no domain.
  bool read_from(const void* configuration, int* p, bool exactly) const {
    for (const auto& q : parameters_)
      if (!read(q, q.show(q, configuration), p, exactly) && exactly) return false;
    return true;
  }
  [[nodiscard]] std::optional<point> locate_in(const void* configuration) const {
    point p(coordinates_.size(), 0);
    if (!read_from(configuration, p.data(), true) || !lattice().feasible(p)) return std::nullopt;
    return p;
  }
  [[nodiscard]] point nearest_to(const void* configuration) const {
    point p(coordinates_.size(), 0);
    read_from(configuration, p.data(), false);
    return lattice().nearest(p);
  }
  [[nodiscard]] named_values values_in(const void* configuration) const {
    named_values out;
    for (const auto& q : parameters_) out.emplace_back(q.name, q.show(q, configuration));
    return out;
  }

  void declare(const std::string& name, const std::string& id) {
    if (name.empty()) fail<std::invalid_argument>({"space: a parameter without a name"});
    for (const auto& q : parameters_) {
      if (q.name == name) fail<std::invalid_argument>({"space: parameter '", name, "' is declared twice"});
      if (q.identity == id)
        fail<std::invalid_argument>({"space: parameters '", q.name, "' and '", name, "' are the same member"});
    }
    compiled_.reset();
  }

  /// The places of a parameter's values in the order of their numbers, or as given when not all have one.
  /// @throws std::invalid_argument  no values, or one is not a number (NaN)
  [[nodiscard]] static std::vector<std::size_t> order_of(const std::string& name, const std::vector<double>& numbers,
                                                         std::size_t count, bool& ordered) {
    if (count == 0) fail<std::invalid_argument>({"space: parameter '", name, "' has no values"});
    for (const double x : numbers)
      if (x != x) fail<std::invalid_argument>({"space: a value of parameter '", name, "' is not a number"});
    ordered = ordered && numbers.size() == count;
    if (ordered) return ascending(numbers);
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < count; ++i) order.push_back(i);
    return order;
  }

  /// Adds a parameter that is not a tile axis.
  void add_parameter(parameter q, std::size_t count, bool ordered) {
    coordinate c;
    c.name = q.name;
    c.ordered = ordered;
    for (std::size_t i = 0; i < count; ++i) {
      const value v = q.value_at(q, i);
      c.values.push_back(!ordered ? static_cast<double>(i) : number_of(v).value_or(v == value(true) ? 1 : 0));
      if (!ordered) c.labels.push_back(to_string(v));
    }
    q.first = coordinates_.size();
    coordinates_.push_back(std::move(c));
    parameters_.push_back(std::move(q));
  }

  /// Adds a tile axis. @param largest  extent that the member's type holds
  void add_tile(parameter q, std::int64_t extent, std::size_t levels, std::int64_t largest) {
    declare(q.name, q.identity);
    if (extent < 1) fail<std::invalid_argument>({"space: tile axis '", q.name, "' has extent ", extent, ", below 1"});
    if (levels < 1) fail<std::invalid_argument>({"space: tile axis '", q.name, "' has no levels"});
    if (extent > largest)
      fail<std::invalid_argument>(
          {"space: tile axis '", q.name, "' has extent ", extent, ", which its factors can't hold"});
    const auto list = std::make_shared<const std::vector<std::int64_t>>(tileseek::divisors(extent).values);
    q.first = coordinates_.size();
    q.coordinates = levels - 1;
    q.values = list;
    q.is_tile = true;
    if (levels > 1) tiles_.push_back({q.name, extent, q.first, levels});
    for (std::size_t l = 1; l < levels; ++l) {
      coordinate c;
      c.name = concat({q.name, "[", l, "]"});
      for (const auto f : *list) c.values.push_back(static_cast<double>(f));
      coordinates_.push_back(std::move(c));
    }
    parameters_.push_back(std::move(q));
  }

  /// The parameter with this identity. `who` reads it.
  /// @throws std::invalid_argument  there is none
  [[nodiscard]] const parameter& find(const std::string& id, bool named, const std::string& who) const {
    for (const auto& q : parameters_)
      if (q.identity == id) return q;
    std::string known;
    for (const auto& q : parameters_) append(known, {known.empty() ? "" : ", ", q.name});
    fail<std::invalid_argument>(
        {"space: ", who, named ? " reads '" : " reads a member", named ? id : std::string(),
         named ? "', which" : " that",
         " is no parameter; add it before what reads it (there are: ", known.empty() ? "none" : known, ")"});
  }

  template <class I>
  [[nodiscard]] static tile_level_reader<I> level_reader(const parameter& q, std::size_t level, tile_view view,
                                                         const std::string& who) {
    check_level(q, level, who);
    const tile_reader tile = q.tile();
    const std::size_t end = q.first + q.coordinates;
    if (level > 0) {
      const std::size_t at = q.first + level - 1;
      return {tile.divisors, at, view == tile_view::factor ? at + 1 : end, false};
    }
    return {tile.divisors, q.first, view == tile_view::factor ? end : q.first, true};
  }

  /// The part of a rule that does not depend on its predicate. It keeps the terms only if some are tile sizes.
  [[nodiscard]] lattice_rule of_terms(std::string why, std::vector<rule_term> terms) const {
    lattice_rule rule;
    rule.why = std::move(why);
    rule.coordinates = coordinates_of(terms);
    bool sizes = false;
    for (const auto& t : terms) sizes = sizes || t.inclusive;
    for (const auto& q : parameters_)
      for (const auto& t : terms)
        if (t.coordinate - q.first < q.coordinates) {
          rule.reads.push_back(q.values);
          break;
        }
    if (sizes) rule.terms = std::move(terms);
    return rule;
  }

  [[nodiscard]] std::vector<std::size_t> coordinates_of(const std::vector<rule_term>& terms) const {
    std::vector<std::size_t> out;
    for (const auto& t : terms) {
      std::size_t end = t.coordinate + 1;
      if (t.inclusive)
        for (const auto& tile : tiles_)
          if (tile.first <= t.coordinate && t.coordinate + 1 < tile.first + tile.levels)
            end = tile.first + tile.levels - 1;
      for (std::size_t c = t.coordinate; c < end; ++c) insert_once(out, c);
    }
    return out;
  }

  /// Whether the tile axes and rules that lie wholly inside these coordinates allow the point.
  [[nodiscard]] bool may_be_feasible(const point& p, const std::vector<std::size_t>& scope) const {
    for (const auto& t : tiles_) {
      std::int64_t left = t.extent;
      for (std::size_t c = t.first; c + 1 < t.first + t.levels; ++c) {
        if (!has(scope, c)) continue;
        const auto f = static_cast<std::int64_t>(coordinates_[c].values[static_cast<std::size_t>(p[c])]);
        if (left % f != 0) return false;
        left /= f;
      }
    }
    for (const auto& r : rules_) {
      bool inside = static_cast<bool>(r.holds);  // a whole configuration is not known yet
      for (const auto c : r.coordinates) inside = inside && has(scope, c);
      if (inside && !r.holds(p.data())) return false;
    }
    return true;
  }

  std::vector<parameter> parameters_;
  std::vector<coordinate> coordinates_;
  std::vector<tile_axis> tiles_;
  std::vector<lattice_rule> rules_;
  std::vector<whole_rule> whole_rules_;
  std::vector<feature_of> features_;
  mutable std::optional<tileseek::lattice> compiled_;  ///< copies of a lattice share their data

 private:
  static void check_level(const parameter& q, std::size_t level, const std::string& who) {
    if (!q.is_tile)
      fail<std::invalid_argument>(
          {"space: ", who, " reads a level of parameter '", q.name, "', which is no tile axis"});
    if (level > q.coordinates)
      fail<std::invalid_argument>({"space: ", who, " reads level ", level, " of tile axis '", q.name,
                                   "', whose levels are 0 to ", q.coordinates});
  }

  /// Writes the indices of a value: its own, or, inexactly, the nearest; false if there are none.
  [[nodiscard]] bool read(const parameter& q, const value& v, int* p, bool exactly) const {
    if (q.is_tile) {
      const auto* factors = std::get_if<std::vector<std::int64_t>>(&v.get());
      return factors != nullptr && read_factors(q, *factors, p, exactly);
    }
    const coordinate& c = coordinates_[q.first];
    const int extent = static_cast<int>(c.values.size());
    int& index = p[q.first];
    for (index = 0; index < extent; ++index)
      if (q.value_at(q, static_cast<std::size_t>(index)) == v) return true;
    if (exactly) return false;
    index = 0;
    const auto wanted = number_of(v);
    if (!c.ordered || !wanted) return true;
    const auto far = [&](int i) { return std::abs(c.values[static_cast<std::size_t>(i)] - *wanted); };
    for (int i = 1; i < extent; ++i)
      if (far(i) < far(index)) index = i;
    return true;
  }

  /// Inexactly, each inner factor becomes the nearest divisor, and the outermost what is left.
  [[nodiscard]] static bool read_factors(const parameter& q, const std::vector<std::int64_t>& f, int* p, bool exactly) {
    const auto& list = *q.tile().divisors;
    if (f.size() != q.coordinates + 1) return false;
    std::int64_t left = list.back();
    for (std::size_t l = 1; l < f.size(); ++l) {
      std::size_t at = 0;  // the first divisor that is not below
      while (at < list.size() && list[at] < f[l]) ++at;
      if (exactly) {
        if (at == list.size() || list[at] != f[l] || left % f[l] != 0) return false;
        left /= f[l];
      } else if (at == list.size() || (at > 0 && f[l] - list[at - 1] <= list[at] - f[l])) {
        --at;
      }
      p[q.first + l - 1] = static_cast<int>(at);
    }
    return !exactly || f[0] == left;
  }
};

}  // namespace detail

/// The configurations of a kernel: parameters with their values, and rules between them. Build it in one expression:
///
///   const auto space = tileseek::space<Blocking>{}
///       .add("bm", &Blocking::bm, tileseek::powers_of_two(8, 256))
///       .tile("k", &Blocking::k, 1024)
///       .where("fits in L1", [](int bm, int bn) { return 4 * bm * bn <= 32768; }, &Blocking::bm, &Blocking::bn);
///
/// Config is copyable and default-constructible; its default-constructed value is the untuned configuration that
/// results are compared with. With Config = tileseek::configuration, parameters are named by strings throughout. The
/// first query after a change compiles the space, which is not safe to do from two threads at once.
template <class Config>
  requires std::copyable<Config> && std::default_initializable<Config>
class space : public detail::space_core {
  static constexpr bool named = std::same_as<Config, configuration>;

 public:
  /// A parameter with these values.
  /// @throws std::invalid_argument  no values, a value that does not fit the member's type, or a name or member that is
  ///                                already a parameter
  template <class T, class U>
    requires(!named)
  space& add(std::string name, T Config::*member, const domain<U>& of) {
    return add_values<T>(std::move(name), identity(member), of, member_of<T>());
  }
  template <class T>
    requires(!named)
  space& add(std::string name, T Config::*member, std::initializer_list<std::type_identity_t<T>> of) {
    return add(std::move(name), member, tileseek::values(of));
  }
  /// A parameter whose values depend on earlier ones: `of` returns a domain given the values of the members `from`.
  template <class T, class F, class M, class... More>
    requires(!named && std::invocable<const F&, const M&, const More&...>)
  space& add(std::string name, T Config::*member, const F& of, M Config::*from, More Config::*... more) {
    return add_computed<T>(std::move(name), identity(member), member_of<T>(), of, from, more...);
  }

  /// A member of another struct is no parameter: these two only say so.
  template <class T, class Other>
    requires(!named && !std::same_as<Other, Config>)
  space& add(const std::string& /*name*/, T Other::*, std::initializer_list<std::type_identity_t<T>> /*of*/) {
    static_assert(std::same_as<Other, Config>,
                  "tileseek::space::add: the member belongs to another struct than the configurations of this space");
    return *this;
  }
  template <class T, class Other, class... More>
    requires(!named && !std::same_as<Other, Config>)
  space& add(const std::string& /*name*/, T Other::*, const More&... /*more*/) {
    static_assert(std::same_as<Other, Config>,
                  "tileseek::space::add: the member belongs to another struct than the configurations of this space");
    return *this;
  }

  /// The same for run-time configurations.
  template <class U>
  requires named space& add(const std::string& name, const domain<U>& of) {
    return add_values<value>(name, name, of, entry());
  }
  space& add(const std::string& name, std::initializer_list<value> of) requires named {
    domain<value> d{std::vector<value>(of), true};
    for (const auto& v : d.values) d.ordered = d.ordered && detail::number_of(v);
    return add(name, d);
  }
  template <class F, class... Names>
    requires(named && sizeof...(Names) > 0 && (std::convertible_to<Names, std::string> && ...))
  space& add(const std::string& name, const F& of, const Names&... from) {
    return add_computed<value>(name, name, entry(), of, std::string(from)...);
  }

  /// A multi-level split: L factors (outermost first) whose product is the extent. The outermost is derived from the
  /// others.
  /// @throws std::invalid_argument  extent < 1 or larger than I holds, or a name or member that is already a parameter
  template <std::integral I, std::size_t L>
    requires(!named && L >= 1)
  space& tile(std::string name, std::array<I, L> Config::*member, std::int64_t extent) {
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<I>::max());
    constexpr auto limit = static_cast<std::uint64_t>(detail::largest_extent);
    detail::parameter q;
    q.name = std::move(name);
    q.identity = identity(member);
    q.write = [](const detail::parameter& self, void* c, const int* p) {
      const auto f = self.tile().factors(p);
      for (std::size_t l = 0; l < L; ++l) field<std::array<I, L>>(self, c)[l] = static_cast<I>(f[l]);
    };
    q.show = [](const detail::parameter& self, const void* c) {
      const auto& f = field<std::array<I, L>>(self, c);
      return value(std::vector<std::int64_t>(f.begin(), f.end()));
    };
    add_tile(std::move(q), extent, L, static_cast<std::int64_t>(most < limit ? most : limit));
    return *this;
  }
  space& tile(const std::string& name, std::int64_t extent, std::size_t levels) requires named {
    detail::parameter q;
    q.name = q.identity = name;
    q.write = [](const detail::parameter& self, void* c, const int* p) {
      static_cast<Config*>(c)->set(self.name, value(self.tile().factors(p)));
    };
    q.show = entry().show;  // without the axis: a value that is no factors
    add_tile(std::move(q), extent, levels, detail::largest_extent);
    return *this;
  }

  /// A rule: configurations for which `holds` is false are not in the space. `holds` is called with the values of the
  /// named members (a tile axis as its array, or one level of it through factor() or inclusive()); with none named,
  /// with the whole configuration, which couples all parameters: good for small spaces only (see the limits of
  /// lattice).
  /// @param why  in your words, for errors and reports
  /// @throws std::invalid_argument  a member that is no parameter
  template <class F, class... Members>
  space& where(std::string why, F holds, Members... members) {
    if constexpr (sizeof...(Members) == 0) {
      static_assert(
          std::predicate<const F&, const Config&>,
          "tileseek::space::where: a rule without members is a predicate of const Config&; name the members it "
          "reads, where(why, rule, &Config::a, &Config::b), to have it called with their values");
      whole_rule rule;
      rule.place = rules_.size();
      rule.make = [why = std::move(why), holds = std::move(holds)](const space_core& s) {
        return static_cast<const space&>(s).of_whole(why,
                                                     [holds](const Config& c) { return static_cast<bool>(holds(c)); });
      };
      whole_rules_.push_back(std::move(rule));
      rules_.push_back(lattice_rule{});
    } else {
      const std::string reads = detail::concat({"rule '", why, "'"});
      rules_.push_back(bind(std::move(why), std::move(holds), reader(members, reads)...));
    }
    compiled_.reset();
    return *this;
  }

  /// A rule over parameters whose names only the run knows, as one from a file: `holds` is called with a span of their
  /// values, in the order of the names.
  /// @throws std::invalid_argument  a name that is no parameter
  template <std::predicate<std::span<const value>> F>
  requires named space& where_named(std::string why, const std::vector<std::string>& names, F holds) {
    const std::string reads = detail::concat({"rule '", why, "'"});
    std::vector<detail::named_reader> readers;
    std::vector<rule_term> terms;
    for (const auto& name : names) {
      readers.push_back(reader(name, reads));
      readers.back().note(terms);
    }
    lattice_rule rule = of_terms(std::move(why), std::move(terms));
    rule.holds = [holds = std::move(holds), readers = std::move(readers)](const int* p) {
      std::vector<value> arguments;
      arguments.reserve(readers.size());
      for (const auto& r : readers) arguments.push_back(r(p));
      return static_cast<bool>(holds(std::span<const value>(arguments)));
    };
    rules_.push_back(std::move(rule));
    compiled_.reset();
    return *this;
  }

  /// A number that tells the cost models something about a configuration: occupancy, bytes of shared memory, flops per
  /// byte. `of` is called as a rule of where() is, and gives a finite number for every configuration of the space.
  /// @throws std::invalid_argument  a member that is no parameter, or a second feature with this name
  template <class F, class... Members>
  space& feature(std::string name, F of, Members... members) {
    if constexpr (sizeof...(Members) == 0) {
      static_assert(
          std::is_invocable_r_v<double, const F&, const Config&>,
          "tileseek::space::feature: a feature without members is a function of const Config& that returns a "
          "number; name the members it reads, feature(name, f, &Config::a), to have it called with their values");
      add_feature({std::move(name), [of = std::move(of)](const detail::space_core& s) {
                     return [of, self = static_cast<const space&>(s)](const point& p) {
                       return static_cast<double>(of(self.at(p)));
                     };
                   }});
    } else {
      const std::string reads = detail::concat({"feature '", name, "'"});
      bind_feature(std::move(name), std::move(of), reader(members, reads)...);
    }
    return *this;
  }

  /// The untuned configuration, if it is not the default-constructed one.
  space& starts_at(Config untuned) {
    start_ = std::move(untuned);
    compiled_.reset();
    return *this;
  }

  /// The configuration at a point.
  [[nodiscard]] Config at(const point& p) const {
    Config c = start_;
    write_to(&c, p.data());
    return c;
  }

  /// The point of a configuration; nothing when a value is in no domain or a rule refuses it.
  [[nodiscard]] std::optional<point> locate(const Config& c) const { return locate_in(&c); }
  [[nodiscard]] bool contains(const Config& c) const { return locate(c).has_value(); }
  /// Why a configuration is not in the space: "bm has no value 7" or "rule 'fits in L1' refuses it". Empty: it is.
  [[nodiscard]] std::string why_not(const Config& c) const { return why_not_in(&c); }

  /// The feasible point nearest to a configuration whose values need not be in the space.
  [[nodiscard]] point nearest(const Config& c) const { return nearest_to(&c); }

  /// The untuned configuration, or the feasible one nearest to it.
  [[nodiscard]] Config default_configuration() const { return at(nearest(start_)); }

  /// A uniform configuration.
  [[nodiscard]] Config sample(rng& random) const { return at(lattice().sample(random)); }

  /// Calls f with every configuration, in the order of the ranks.
  template <std::invocable<const Config&> F>
  void for_each(F&& f) const {
    const auto& l = lattice();
    for (std::uint64_t r = 0; r < l.rank_end(); ++r)
      if (const auto p = l.unrank(r)) f(at(*p));
  }

  /// The n-hop neighbours of a configuration of the space; see lattice::neighbours.
  /// @throws std::invalid_argument  c is not in the space
  [[nodiscard]] std::vector<Config> neighbours(const Config& c, std::size_t hops,
                                               tile_view view = tile_view::factor) const {
    const auto p = locate(c);
    if (!p)
      detail::fail<std::invalid_argument>(
          {"space: neighbours of ", describe(c), ", which is not in the space: ", why_not(c)});
    std::vector<Config> out;
    for (const auto& q : lattice().neighbours(*p, hops, view)) out.push_back(at(q));
    return out;
  }

  /// The parameters of a configuration by name.
  [[nodiscard]] named_values named_values_of(const Config& c) const { return values_in(&c); }

  /// "bm=32 bn=64"
  [[nodiscard]] std::string describe(const Config& c) const { return to_string(named_values_of(c)); }

 private:
  /// How a parameter is written to a configuration and read from it.
  struct access {
    void (*write)(const detail::parameter&, void*, const int*);
    value (*show)(const detail::parameter&, const void*);
  };

  /// The member that a parameter is.
  template <class T>
  [[nodiscard]] static T& field(const detail::parameter& q, void* config) {
    T Config::*member;
    std::memcpy(&member, q.identity.data(), sizeof member);
    return static_cast<Config*>(config)->*member;
  }
  template <class T>
  [[nodiscard]] static const T& field(const detail::parameter& q, const void* config) {
    return field<T>(q, const_cast<void*>(config));
  }
  template <class T>
  [[nodiscard]] static access member_of() {
    return {[](const detail::parameter& q, void* c, const int* p) { field<T>(q, c) = q.reader<T>()(p); },
            [](const detail::parameter& q, const void* c) { return detail::to_value(field<T>(q, c)); }};
  }
  /// The entry of a run-time configuration; a value that is in no domain if it has none.
  [[nodiscard]] static access entry() {
    return {[](const detail::parameter& q, void* c, const int* p) {
              static_cast<Config*>(c)->set(q.name, q.reader<value>()(p));
            },
            [](const detail::parameter& q, const void* c) {
              const auto& config = *static_cast<const Config*>(c);
              return config.contains(q.name) ? config[q.name] : value();
            }};
  }

  /// A member pointer as bytes: what tells parameters apart.
  template <class T>
  [[nodiscard]] static std::string identity(T Config::*member) {
    std::string bytes(sizeof member, '\0');
    std::memcpy(bytes.data(), &member, sizeof member);
    return bytes;
  }
  [[nodiscard]] static const std::string& identity(const std::string& name) noexcept { return name; }

  template <class T, class U>
  space& add_values(std::string name, const std::string& id, const domain<U>& of, access how) {
    declare(name, id);
    detail::value_list<T> list;
    for (const auto& v : of.values) list.push_back(detail::convert<T>(name, v));
    install<T>(std::move(name), id, std::move(list), of.ordered, how);
    return *this;
  }

  template <class T>
  void install(std::string name, const std::string& id, detail::value_list<T> list, bool ordered, access how) {
    std::vector<double> numbers;
    for (const auto& v : list)
      if (const auto x = detail::number_of(v)) numbers.push_back(*x);
    const auto values = std::make_shared<detail::value_list<T>>();
    for (const auto i : order_of(name, numbers, list.size(), ordered)) {
      bool known = false;
      for (std::size_t k = ordered && !values->empty() ? values->size() - 1 : 0; k < values->size() && !known; ++k)
        known = (*values)[k] == list[i];
      if (!known) values->push_back(list[i]);
    }
    detail::parameter q;
    q.name = std::move(name);
    q.identity = id;
    q.values = values;
    q.value_at = [](const detail::parameter& self, std::size_t i) {
      return detail::to_value(static_cast<T>((*static_cast<const detail::value_list<T>*>(self.values.get()))[i]));
    };
    q.write = how.write;
    q.show = how.show;
    add_parameter(std::move(q), values->size(), ordered);
  }

  [[nodiscard]] const detail::parameter& find(const std::string& id, const std::string& who) const {
    return space_core::find(id, named, who);
  }

  template <class T>
  [[nodiscard]] auto reader(T Config::*member, const std::string& who) const {
    return find(identity(member), who).template reader<T>();
  }
  template <class I, std::size_t L>
  [[nodiscard]] auto reader(std::array<I, L> Config::*member, const std::string& who) const {
    return detail::tile_array_reader<I, L>{find(identity(member), who).tile()};
  }
  template <class I, std::size_t L>
  [[nodiscard]] auto reader(const tile_level<std::array<I, L> Config::*>& one, const std::string& who) const {
    return level_reader<I>(find(identity(one.axis), who), one.level, one.view, who);
  }
  [[nodiscard]] detail::named_reader reader(const std::string& name, const std::string& who) const {
    const auto& q = find(name, who);
    if (q.is_tile) return {{}, q.tile(), true};
    return {q.template reader<value>(), {}, false};
  }
  template <std::convertible_to<std::string> Name>
  [[nodiscard]] auto reader(const tile_level<Name>& one, const std::string& who) const {
    return level_reader<detail::tile_number>(find(std::string(one.axis), who), one.level, one.view, who);
  }

  template <class F, class... Readers>
  [[nodiscard]] lattice_rule bind(std::string why, F holds, Readers... readers) const {
    static_assert(
        std::is_invocable_r_v<bool, const F&, std::invoke_result_t<const Readers&, const int*>...>,
        "tileseek::space::where: the rule is not a predicate of the values of the members it names, in their order");
    std::vector<rule_term> terms;
    (readers.note(terms), ...);
    lattice_rule rule = of_terms(std::move(why), std::move(terms));
    rule.holds = [holds, readers...](const int* p) { return static_cast<bool>(holds(readers(p)...)); };
    if (!rule.terms.empty()) {
      std::size_t slot = 0;
      (readers.renumber(slot), ...);
    }
    rule.scan = [holds = std::move(holds), readers...](int* arguments, std::size_t slot, int from, int to,
                                                       char* allowed) {
      for (int v = from; v < to; ++v) {
        if (!allowed[v]) continue;
        arguments[slot] = v;
        allowed[v] = static_cast<bool>(holds(readers(arguments)...));
      }
    };
    return rule;
  }

  template <class F, class... Readers>
  void bind_feature(std::string name, F of, Readers... readers) {
    static_assert(
        std::is_invocable_r_v<double, const F&, std::invoke_result_t<const Readers&, const int*>...>,
        "tileseek::space::feature: the feature is no function of the values of the members it names, in their "
        "order, that returns a number");
    std::vector<rule_term> terms;
    (readers.note(terms), ...);
    auto value = [of = std::move(of), owned = of_terms({}, std::move(terms)).reads, readers...](const point& p) {
      return static_cast<double>(of(readers(p.data())...));
    };
    add_feature({std::move(name), [value = std::move(value)](const detail::space_core&) { return value; }});
  }

  /// A rule over the whole configuration as one over all coordinates.
  [[nodiscard]] lattice_rule of_whole(const std::string& why, const std::function<bool(const Config&)>& whole) const {
    lattice_rule out;
    out.why = why;
    std::vector<std::size_t> parameter_at;
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      for (std::size_t k = 0; k < parameters_[i].coordinates; ++k) parameter_at.push_back(i);
    for (std::size_t d = 0; d < coordinates_.size(); ++d) out.coordinates.push_back(d);
    out.holds = [holds = whole, parameters = parameters_, start = start_](const int* p) {
      Config c = start;
      for (const auto& q : parameters) q.write(q, &c, p);
      return holds(c);
    };
    out.scan = [holds = whole, parameters = parameters_, start = start_, parameter_at](
                   int* p, std::size_t slot, int from, int to, char* allowed) {
      while (from < to && !allowed[from]) ++from;  // the others may make no sense in this place
      if (from == to) return;
      p[slot] = from;
      Config c = start;
      for (const auto& q : parameters) q.write(q, &c, p);
      for (int v = from; v < to; ++v) {
        if (!allowed[v]) continue;
        p[slot] = v;
        const auto& q = parameters[parameter_at[slot]];
        q.write(q, &c, p);
        allowed[v] = holds(c);
      }
    };
    return out;
  }

  template <class T, class F, class... Members>
  space& add_computed(std::string name, const std::string& id, access how, const F& of, Members... from) {
    declare(name, id);
    const std::string reads = "the domain of parameter '" + name + "'";
    const auto bound = bind_domain<T>(name, of, reader(from, reads)...);
    const auto& domain_at = bound.first;
    const std::vector<std::size_t>& scope = bound.second;
    // All values that any feasible combination of the earlier parameters allows, and for each combination which.
    constexpr double most = 1e6;
    double count = 1;
    for (const auto c : scope) count *= static_cast<double>(coordinates_[c].values.size());
    if (count > most)
      detail::fail<std::invalid_argument>({"space: the values of parameter '", name, "' depend on ", count,
                                           " combinations of earlier ones; let them depend on fewer, or use a rule"});
    const auto combinations = static_cast<std::size_t>(count);
    std::vector<std::vector<T>> allowed(combinations);
    detail::value_list<T> all;
    point p(coordinates_.size(), 0);
    bool ordered = true;
    for (std::size_t k = 0; k < combinations; ++k) {
      std::size_t rest = k;
      for (const auto c : scope) {
        p[c] = static_cast<int>(rest % coordinates_[c].values.size());
        rest /= coordinates_[c].values.size();
      }
      if (!may_be_feasible(p, scope)) continue;
      auto d = domain_at(p.data());
      ordered = ordered && d.ordered;
      allowed[k] = std::move(d.values);
      for (const auto& v : allowed[k])
        if (std::find(all.begin(), all.end(), v) == all.end()) all.push_back(v);
    }
    std::vector<std::size_t> extents;
    for (const auto c : scope) extents.push_back(coordinates_[c].values.size());
    const auto here = coordinates_.size();
    install<T>(name, id, std::move(all), ordered, how);
    const auto& values = *static_cast<const detail::value_list<T>*>(parameters_.back().values.get());
    const auto width = values.size();
    const auto table = std::make_shared<std::vector<char>>(combinations * width, char{0});  // [combination, value]
    for (std::size_t k = 0; k < combinations; ++k)
      for (const auto& v : allowed[k])
        for (std::size_t i = 0; i < width; ++i)
          if (values[i] == v) (*table)[k * width + i] = 1;
    lattice_rule rule;
    rule.why = detail::concat({name, " has a value that the parameters it depends on allow"});
    rule.coordinates = scope;
    rule.coordinates.push_back(here);
    rule.holds = [scope, extents, table, width, here](const int* q) {
      std::size_t k = 0;
      for (std::size_t i = scope.size(); i-- > 0;) k = k * extents[i] + static_cast<std::size_t>(q[scope[i]]);
      return (*table)[k * width + static_cast<std::size_t>(q[here])] != 0;
    };
    rules_.push_back(std::move(rule));
    return *this;
  }

  template <class T, class F, class... Readers>
  [[nodiscard]] auto bind_domain(const std::string& name, const F& of, Readers... readers) const {
    std::vector<rule_term> terms;
    (readers.note(terms), ...);
    auto domain_at = [name, of, ... read = std::move(readers)](const int* p) {
      const auto d = of(read(p)...);
      domain<T> out;
      out.ordered = d.ordered;
      for (const auto& v : d.values) out.values.push_back(detail::convert<T>(name, v));
      return out;
    };
    return std::pair{std::move(domain_at), coordinates_of(terms)};
  }

  Config start_{};
};

}  // namespace tileseek
