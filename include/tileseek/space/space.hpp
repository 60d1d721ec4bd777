#pragma once
// A search space over the user's own struct, described by member pointers: typos do not compile, the winner is a value.
// A rule names the members it reads, so that independent groups of parameters are found by themselves.

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
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
  template <class I>
  void factors(const int* p, I* out) const noexcept {
    std::int64_t product = 1;
    for (std::size_t l = 1; l < levels; ++l) {
      const std::int64_t f = divisor(p[first + l - 1]);
      product *= f;
      out[l] = static_cast<I>(f);
    }
    out[0] = static_cast<I>(extent() / product);
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
    factors(p, out.data());
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
    std::vector<std::int64_t> out(tile.levels);
    tile.factors(p, out.data());
    return value(std::move(out));
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
class space {
  static constexpr bool named = std::same_as<Config, configuration>;

 public:
  /// A parameter with these values.
  /// @throws std::invalid_argument  no values, a value that does not fit the member's type, or a name or member that is
  ///                                already a parameter
  template <class T, class U>
    requires(!named)
  space& add(std::string name, T Config::*member, const domain<U>& of) {
    return add_values<T>(std::move(name), identity(member), of, field<T>(member));
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
    return add_computed<T>(std::move(name), identity(member), field<T>(member), of, from, more...);
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
    return add_values<value>(name, name, of, named_field(name));
  }
  space& add(const std::string& name, std::initializer_list<value> of) requires named {
    domain<value> d{std::vector<value>(of), true};
    const auto number = [](const value& v) { return v.get().index() < 2; };
    d.ordered = std::all_of(d.values.begin(), d.values.end(), number);
    return add(name, d);
  }
  template <class F, class... Names>
    requires(named && sizeof...(Names) > 0 && (std::convertible_to<Names, std::string> && ...))
  space& add(const std::string& name, const F& of, const Names&... from) {
    return add_computed<value>(name, name, named_field(name), of, std::string(from)...);
  }

  /// A multi-level split: L factors (outermost first) whose product is the extent. The outermost is derived from the
  /// others.
  /// @throws std::invalid_argument  extent < 1 or larger than I holds, or a name or member that is already a parameter
  template <std::integral I, std::size_t L>
    requires(!named && L >= 1)
  space& tile(std::string name, std::array<I, L> Config::*member, std::int64_t extent) {
    const auto set = [member](Config& c, const std::vector<std::int64_t>& f) {
      for (std::size_t l = 0; l < L; ++l) (c.*member)[l] = static_cast<I>(f[l]);
    };
    const auto get = [member](const Config& c) {
      return std::vector<std::int64_t>((c.*member).begin(), (c.*member).end());
    };
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<I>::max());
    constexpr auto limit = static_cast<std::uint64_t>(detail::largest_extent);
    return add_tile(std::move(name), identity(member), extent, L,
                    static_cast<std::int64_t>(most < limit ? most : limit), set, get);
  }
  space& tile(const std::string& name, std::int64_t extent, std::size_t levels) requires named {
    const auto set = [name](Config& c, const std::vector<std::int64_t>& f) { c.set(name, value(f)); };
    const auto get = [name](const Config& c) {
      // A configuration that does not name the axis: no factors, hence nowhere exactly, and nearest to all in the
      // outermost.
      const auto* f = c.contains(name) ? std::get_if<std::vector<std::int64_t>>(&c[name].get()) : nullptr;
      return f == nullptr ? std::vector<std::int64_t>{} : *f;
    };
    return add_tile(name, name, extent, levels, detail::largest_extent, set, get);
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
      user_rule rule;
      rule.whole = [why = std::move(why), holds = std::move(holds)](const space& s) {
        return s.of_whole(why, [holds](const Config& c) { return static_cast<bool>(holds(c)); });
      };
      rules_.push_back(std::move(rule));
    } else {
      const std::string reads = "rule '" + why + "'";
      rules_.push_back({bind(std::move(why), std::move(holds), reader(members, reads)...), nullptr});
    }
    compiled_.reset();
    return *this;
  }

  /// The untuned configuration, if it is not the default-constructed one.
  space& starts_at(Config untuned) {
    start_ = std::move(untuned);
    compiled_.reset();
    return *this;
  }

  /// The index space that strategies search. Counts and compiles it on the first call.
  /// @throws std::invalid_argument  nothing is left by the rules: the message names them
  [[nodiscard]] const tileseek::lattice& lattice() const {
    if (!compiled_) {
      std::vector<lattice_rule> all;
      all.reserve(rules_.size());
      for (const auto& r : rules_) all.push_back(r.whole ? r.whole(*this) : r.on_values);
      compiled_ = std::make_shared<const tileseek::lattice>(coordinates_, tiles_, std::move(all));
    }
    return *compiled_;
  }

  /// The exact number of configurations. @throws std::length_error  it is not known exactly; see approximate_size()
  [[nodiscard]] std::uint64_t size() const { return lattice().size(); }
  [[nodiscard]] bool counted() const { return lattice().counted(); }
  [[nodiscard]] double approximate_size() const { return lattice().approximate_size(); }

  /// The configuration at a point.
  [[nodiscard]] Config at(const point& p) const {
    Config c = start_;
    for (const auto& q : parameters_) q.write(c, p.data());
    return c;
  }

  /// The point of a configuration; nothing when a value is in no domain or a rule refuses it.
  [[nodiscard]] std::optional<point> locate(const Config& c) const {
    point p(coordinates_.size(), 0);
    for (const auto& q : parameters_)
      if (!q.read(c, p.data(), true)) return std::nullopt;
    if (!lattice().feasible(p)) return std::nullopt;
    return p;
  }
  [[nodiscard]] bool contains(const Config& c) const { return locate(c).has_value(); }

  /// The feasible point nearest to a configuration whose values need not be in the space.
  [[nodiscard]] point nearest(const Config& c) const {
    point p(coordinates_.size(), 0);
    for (const auto& q : parameters_) q.read(c, p.data(), false);
    return lattice().nearest(p);
  }

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
    if (!p) throw std::invalid_argument("space: neighbours of " + describe(c) + ", which is not in the space");
    std::vector<Config> out;
    for (const auto& q : lattice().neighbours(*p, hops, view)) out.push_back(at(q));
    return out;
  }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& q : parameters_) out.push_back(q.name);
    return out;
  }

  /// The parameters of a configuration by name.
  [[nodiscard]] named_values named_values_of(const Config& c) const {
    named_values out;
    for (const auto& q : parameters_) out.emplace_back(q.name, q.show(c));
    return out;
  }

  /// The point with these values by name; nothing when a parameter is missing or a value is in no domain. Names that
  /// are no parameters are ignored.
  [[nodiscard]] std::optional<point> locate_named(const named_values& values) const {
    point p(coordinates_.size(), 0);
    for (const auto& q : parameters_) {
      const auto it = std::find_if(values.begin(), values.end(), [&](const auto& v) { return v.first == q.name; });
      if (it == values.end() || !q.parse(it->second, p.data())) return std::nullopt;
    }
    if (!lattice().feasible(p)) return std::nullopt;
    return p;
  }

  /// "bm=32 bn=64"
  [[nodiscard]] std::string describe(const Config& c) const { return to_string(named_values_of(c)); }

 private:
  struct parameter {
    std::string name;
    std::string identity;  ///< of the member: a parameter is found by it when a rule names the member
    std::size_t first = 0;
    std::size_t coordinates = 1;
    std::shared_ptr<const void>
        values;  ///< value_list<T> of the member's T; the divisors of a tile axis (vector<int64>)
    bool is_tile = false;
    std::function<void(Config&, const int*)> write;
    std::function<bool(const Config&, int*, bool)> read;  ///< exactly, or to the nearest index
    std::function<value(const Config&)> show;
    std::function<bool(const value&, int*)> parse;
  };

  /// A rule of named members, or of the whole configuration.
  struct user_rule {
    lattice_rule on_values;
    std::function<lattice_rule(const space&)> whole;  ///< made when all parameters are known
  };

  template <class T>
  struct accessor {
    std::function<T(const Config&)> get;
    std::function<void(Config&, const T&)> set;
  };

  template <class T>
  [[nodiscard]] static accessor<T> field(T Config::*member) {
    return {[member](const Config& c) { return c.*member; }, [member](Config& c, const T& v) { c.*member = v; }};
  }
  [[nodiscard]] static accessor<value> named_field(const std::string& name) {
    return {[name](const Config& c) { return c.contains(name) ? c[name] : value(); },
            [name](Config& c, const value& v) { c.set(name, v); }};
  }

  /// A member pointer as bytes: what tells parameters apart.
  template <class T>
  [[nodiscard]] static std::string identity(T Config::*member) {
    std::string bytes(sizeof member, '\0');
    const auto* from = reinterpret_cast<const char*>(&member);
    std::copy(from, from + sizeof member, bytes.begin());
    return bytes;
  }
  [[nodiscard]] static const std::string& identity(const std::string& name) noexcept { return name; }

  void declare(const std::string& name, const std::string& id) {
    if (name.empty()) throw std::invalid_argument("space: a parameter without a name");
    for (const auto& q : parameters_) {
      if (q.name == name) throw std::invalid_argument("space: parameter '" + name + "' is declared twice");
      if (q.identity == id)
        throw std::invalid_argument("space: parameters '" + q.name + "' and '" + name + "' are the same member");
    }
    compiled_.reset();
  }

  /// @throws std::invalid_argument  the value does not fit: it is out of range, or a fraction where T is an integer
  template <class T, class U>
  [[nodiscard]] static T convert(const std::string& name, const U& from) {
    if constexpr (std::same_as<T, U>) {
      return from;
    } else if constexpr (std::is_arithmetic_v<T> && std::is_arithmetic_v<U>) {
      if (!detail::fits<T>(from))
        throw std::invalid_argument("space: value " + to_string(value(from)) + " of parameter '" + name +
                                    "' does not fit the member's type");
      return static_cast<T>(from);
    } else {
      static_assert(std::constructible_from<T, const U&>,
                    "tileseek::space::add: the domain's values cannot be converted to the member's type");
      return T(from);
    }
  }

  template <class T, class U>
  space& add_values(std::string name, const std::string& id, const domain<U>& of, accessor<T> access) {
    declare(name, id);
    detail::value_list<T> list;
    for (const auto& v : of.values) list.push_back(convert<T>(name, v));
    install<T>(std::move(name), id, std::move(list), of.ordered, std::move(access));
    return *this;
  }

  /// The number that orders a value; nothing when it has none.
  template <class T>
  [[nodiscard]] static std::optional<double> number(const T& v) {
    if constexpr (std::is_arithmetic_v<T>) {
      return static_cast<double>(v);
    } else if constexpr (std::same_as<T, value>) {
      if (v.get().index() > 1) return std::nullopt;  // a truth value or a text
      return v.template as<double>();
    } else {
      return std::nullopt;
    }
  }

  template <class T>
  void install(std::string name, const std::string& id, detail::value_list<T> list, bool ordered, accessor<T> access) {
    if (list.empty()) throw std::invalid_argument("space: parameter '" + name + "' has no values");
    for (const auto& v : list) {
      const auto x = number(v);
      ordered = ordered && x;
      if (x && *x != *x) throw std::invalid_argument("space: a value of parameter '" + name + "' is not a number");
    }
    if (ordered)
      std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return *number(a) < *number(b); });
    detail::value_list<T> once;
    for (const auto& v : list)
      if (once.empty() || (ordered ? !(once.back() == v) : std::find(once.begin(), once.end(), v) == once.end()))
        once.push_back(v);
    const auto values = std::make_shared<const detail::value_list<T>>(std::move(once));
    coordinate c;
    c.name = name;
    c.ordered = ordered;
    for (std::size_t i = 0; i < values->size(); ++i) {
      c.values.push_back(ordered ? *number((*values)[i]) : static_cast<double>(i));
      if (!ordered) c.labels.push_back(to_string(detail::to_value(static_cast<T>((*values)[i]))));
    }
    parameter q;
    q.name = std::move(name);
    q.identity = id;
    q.first = coordinates_.size();
    q.values = values;
    const auto at = q.first;
    q.write = [values, at, access](Config& config, const int* p) {
      access.set(config, detail::value_reader<T>{values.get(), at}(p));
    };
    q.read = [values, at, access, ordered](const Config& config, int* p, bool exactly) {
      const T v = access.get(config);
      const auto it = std::find(values->begin(), values->end(), v);
      if (it != values->end()) {
        p[at] = static_cast<int>(it - values->begin());
        return true;
      }
      if (exactly) return false;
      p[at] = 0;
      const auto wanted = number(v);
      if (!ordered || !wanted) return true;
      const auto far = [&](int i) {
        const double x = *number((*values)[static_cast<std::size_t>(i)]);
        return x < *wanted ? *wanted - x : x - *wanted;
      };
      for (int i = 1; i < static_cast<int>(values->size()); ++i)
        if (far(i) < far(p[at])) p[at] = i;
      return true;
    };
    q.show = [access](const Config& config) { return detail::to_value(access.get(config)); };
    q.parse = [values, at](const value& v, int* p) {
      for (std::size_t i = 0; i < values->size(); ++i)
        if (detail::to_value(static_cast<T>((*values)[i])) == v) {
          p[at] = static_cast<int>(i);
          return true;
        }
      return false;
    };
    coordinates_.push_back(std::move(c));
    parameters_.push_back(std::move(q));
  }

  using factors = std::vector<std::int64_t>;

  space& add_tile(std::string name, const std::string& id, std::int64_t extent, std::size_t levels, std::int64_t most,
                  std::function<void(Config&, const factors&)> set, std::function<factors(const Config&)> get) {
    declare(name, id);
    if (extent < 1)
      throw std::invalid_argument("space: tile axis '" + name + "' has extent " + std::to_string(extent) + ", below 1");
    if (levels < 1) throw std::invalid_argument("space: tile axis '" + name + "' has no levels");
    if (extent > most)
      throw std::invalid_argument("space: tile axis '" + name + "' has extent " + std::to_string(extent) +
                                  ", which its factors can't hold");
    const auto list = std::make_shared<const factors>(tileseek::divisors(extent).values);
    const auto first = coordinates_.size();
    parameter q;
    q.name = name;
    q.identity = id;
    q.first = first;
    q.coordinates = levels - 1;
    q.values = list;
    q.is_tile = true;
    q.write = [list, first, levels, set = std::move(set)](Config& c, const int* p) {
      factors f(levels);
      detail::tile_reader{list.get(), first, levels}.factors(p, f.data());
      set(c, f);
    };
    // Inexactly, each inner factor becomes the nearest divisor, and the outermost what is left.
    const auto read = [list, first, levels](const factors& f, int* p, bool exactly) {
      if (f.size() != levels) return false;
      std::int64_t left = list->back();
      for (std::size_t l = 1; l < f.size(); ++l) {
        auto it = std::lower_bound(list->begin(), list->end(), f[l]);
        if (exactly) {
          if (it == list->end() || *it != f[l] || left % f[l] != 0) return false;
          left /= f[l];
        } else if (it == list->end() || (it != list->begin() && f[l] - *std::prev(it) <= *it - f[l])) {
          --it;
        }
        p[first + l - 1] = static_cast<int>(it - list->begin());
      }
      return !exactly || f[0] == left;
    };
    q.read = [read, get](const Config& c, int* p, bool exactly) { return read(get(c), p, exactly); };
    q.show = [get](const Config& c) { return value(get(c)); };
    q.parse = [read](const value& v, int* p) {
      const auto* f = std::get_if<factors>(&v.get());
      return f != nullptr && read(*f, p, true);
    };
    if (levels > 1) tiles_.push_back({name, extent, first, levels});
    for (std::size_t l = 1; l < levels; ++l)
      coordinates_.push_back(
          {name + "[" + std::to_string(l) + "]", std::vector<double>(list->begin(), list->end()), true});
    parameters_.push_back(std::move(q));
    return *this;
  }

  /// The parameter with this identity. `who` reads it.
  /// @throws std::invalid_argument  there is none
  [[nodiscard]] const parameter& find(const std::string& id, const std::string& who) const {
    for (const auto& q : parameters_)
      if (q.identity == id) return q;
    std::string known;
    for (const auto& q : parameters_) known += (known.empty() ? "" : ", ") + q.name;
    throw std::invalid_argument(
        "space: " + who + " reads " + (named ? "'" + id + "', which" : std::string("a member that")) +
        " is no parameter; add it before what reads it (there are: " + (known.empty() ? "none" : known) + ")");
  }

  [[nodiscard]] static detail::tile_reader tile_reader_of(const parameter& q) {
    return {static_cast<const factors*>(q.values.get()), q.first, q.coordinates + 1};
  }
  template <class T>
  [[nodiscard]] static detail::value_reader<T> value_reader_of(const parameter& q) {
    return {static_cast<const detail::value_list<T>*>(q.values.get()), q.first};
  }

  template <class T>
  [[nodiscard]] auto reader(T Config::*member, const std::string& who) const {
    return value_reader_of<T>(find(identity(member), who));
  }
  template <class I, std::size_t L>
  [[nodiscard]] auto reader(std::array<I, L> Config::*member, const std::string& who) const {
    return detail::tile_array_reader<I, L>{tile_reader_of(find(identity(member), who))};
  }
  template <class I, std::size_t L>
  [[nodiscard]] auto reader(const tile_level<std::array<I, L> Config::*>& one, const std::string& who) const {
    return level_reader<I>(find(identity(one.axis), who), one.level, one.view, who);
  }
  [[nodiscard]] detail::named_reader reader(const std::string& name, const std::string& who) const {
    const auto& q = find(name, who);
    if (q.is_tile) return {{}, tile_reader_of(q), true};
    return {value_reader_of<value>(q), {}, false};
  }
  template <std::convertible_to<std::string> Name>
  [[nodiscard]] auto reader(const tile_level<Name>& one, const std::string& who) const {
    return level_reader<detail::tile_number>(find(std::string(one.axis), who), one.level, one.view, who);
  }

  template <class I>
  [[nodiscard]] static detail::tile_level_reader<I> level_reader(const parameter& q, std::size_t level, tile_view view,
                                                                 const std::string& who) {
    if (!q.is_tile)
      throw std::invalid_argument("space: " + who + " reads a level of parameter '" + q.name +
                                  "', which is no tile axis");
    if (level > q.coordinates)
      throw std::invalid_argument("space: " + who + " reads level " + std::to_string(level) + " of tile axis '" +
                                  q.name + "', whose levels are 0 to " + std::to_string(q.coordinates));
    const detail::tile_reader tile = tile_reader_of(q);
    const std::size_t end = q.first + q.coordinates;
    if (level > 0) {
      const std::size_t at = q.first + level - 1;
      return {tile.divisors, at, view == tile_view::factor ? at + 1 : end, false};
    }
    return {tile.divisors, q.first, view == tile_view::factor ? end : q.first, true};
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

  /// The part of a rule that does not depend on its predicate. It keeps the terms only if some are tile sizes.
  [[nodiscard]] lattice_rule of_terms(std::string why, std::vector<rule_term> terms) const {
    lattice_rule rule;
    rule.why = std::move(why);
    rule.coordinates = coordinates_of(terms);
    for (const auto& q : parameters_)
      if (std::any_of(terms.begin(), terms.end(),
                      [&](const rule_term& t) { return t.coordinate - q.first < q.coordinates; }))
        rule.reads.push_back(q.values);
    if (std::any_of(terms.begin(), terms.end(), [](const rule_term& t) { return t.inclusive; }))
      rule.terms = std::move(terms);
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
      for (std::size_t c = t.coordinate; c < end; ++c) out.push_back(c);
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

  /// A rule over the whole configuration as one over all coordinates.
  [[nodiscard]] lattice_rule of_whole(const std::string& why, const std::function<bool(const Config&)>& whole) const {
    lattice_rule out;
    out.why = why;
    std::vector<std::size_t> parameter_at;
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      parameter_at.insert(parameter_at.end(), parameters_[i].coordinates, i);
    for (std::size_t d = 0; d < coordinates_.size(); ++d) out.coordinates.push_back(d);
    out.holds = [holds = whole, parameters = parameters_, start = start_](const int* p) {
      Config c = start;
      for (const auto& q : parameters) q.write(c, p);
      return holds(c);
    };
    out.scan = [holds = whole, parameters = parameters_, start = start_, parameter_at](
                   int* p, std::size_t slot, int from, int to, char* allowed) {
      while (from < to && !allowed[from]) ++from;  // the others may make no sense in this place
      if (from == to) return;
      p[slot] = from;
      Config c = start;
      for (const auto& q : parameters) q.write(c, p);
      for (int v = from; v < to; ++v) {
        if (!allowed[v]) continue;
        p[slot] = v;
        parameters[parameter_at[slot]].write(c, p);
        allowed[v] = holds(c);
      }
    };
    return out;
  }

  template <class T, class F, class... Members>
  space& add_computed(std::string name, const std::string& id, accessor<T> access, const F& of, Members... from) {
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
      throw std::invalid_argument("space: the values of parameter '" + name + "' depend on " + shortest(count) +
                                  " combinations of earlier ones; let them depend on fewer, or use a rule");
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
    install<T>(name, id, std::move(all), ordered, std::move(access));
    const auto& values = *std::static_pointer_cast<const detail::value_list<T>>(parameters_.back().values);
    const auto table =
        std::make_shared<std::vector<std::vector<bool>>>(combinations, std::vector<bool>(values.size(), false));
    for (std::size_t k = 0; k < combinations; ++k)
      for (const auto& v : allowed[k])
        (*table)[k][static_cast<std::size_t>(std::find(values.begin(), values.end(), v) - values.begin())] = true;
    lattice_rule rule;
    rule.why = "'" + name + "' has a value that the parameters it depends on allow";
    rule.coordinates = scope;
    rule.coordinates.push_back(here);
    rule.holds = [scope, extents, table, here](const int* q) {
      std::size_t k = 0;
      for (std::size_t i = scope.size(); i-- > 0;) k = k * extents[i] + static_cast<std::size_t>(q[scope[i]]);
      return static_cast<bool>((*table)[k][static_cast<std::size_t>(q[here])]);
    };
    rules_.push_back({std::move(rule), nullptr});
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
      for (const auto& v : d.values) out.values.push_back(convert<T>(name, v));
      return out;
    };
    return std::pair{std::move(domain_at), coordinates_of(terms)};
  }

  /// Whether the tile axes and rules that lie wholly inside these coordinates allow the point.
  [[nodiscard]] bool may_be_feasible(const point& p, const std::vector<std::size_t>& scope) const {
    const auto inside = [&](std::size_t c) { return std::binary_search(scope.begin(), scope.end(), c); };
    for (const auto& t : tiles_) {
      std::int64_t left = t.extent;
      for (std::size_t c = t.first; c + 1 < t.first + t.levels; ++c) {
        if (!inside(c)) continue;
        const auto f = static_cast<std::int64_t>(coordinates_[c].values[static_cast<std::size_t>(p[c])]);
        if (left % f != 0) return false;
        left /= f;
      }
    }
    return std::all_of(rules_.begin(), rules_.end(), [&](const user_rule& r) {
      const auto& reads = r.on_values.coordinates;
      return r.whole || !std::all_of(reads.begin(), reads.end(), inside) || r.on_values.holds(p.data());
    });
  }

  std::vector<parameter> parameters_;
  std::vector<coordinate> coordinates_;
  std::vector<tile_axis> tiles_;
  std::vector<user_rule> rules_;
  Config start_{};
  mutable std::shared_ptr<const tileseek::lattice> compiled_;
};

}  // namespace tileseek
