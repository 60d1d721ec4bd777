#pragma once
// The expressions in which definitions of search spaces state values and rules, a small part of Python's:
//   numbers, texts, True, False, names;  + - * / // % **;  < <= > >= == != (in chains), in, not in;  and, or, not;
//   a if c else b;  min, max, abs, round, int, float, len;  [1, 2], (1, 2), range(...), list(...), list + list,
//   [2**i for i in range(6) if i != 3].
// Arithmetic is Python's: / gives a real, // and % round towards minus infinity, and integers beyond 2^62 go on as reals.

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include <tileseek/core/format.hpp>
#include <tileseek/core/value.hpp>
#include <tileseek/record/detail/json_text.hpp>

namespace tileseek::detail {

/// Compiled once, evaluated often.
class expression {
 public:
  /// @throws mismatch  "expected ..., found ... in 'the expression'"
  explicit expression(std::string text) : text_(std::move(text)) {
    root_ = choice();
    if (next() != '\0') expected("an operator");
  }

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  /// The names it reads, in the order in which they first appear.
  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }

  /// Its value, given those of the names in their order; a truth value is 1 or 0.
  /// @throws std::runtime_error  it has none: a division by zero, a text where a number is needed, ...
  [[nodiscard]] value operator()(std::span<const value> of_names) const {
    std::vector<operand> known;
    for (const auto& v : of_names) known.push_back(operand_of(v));
    const operand r = evaluate(root_, known);
    if (r.kind == kinds::text) return value(r.text);
    return r.kind == kinds::real ? value(r.real) : value(r.integer);
  }
  /// Whether it is true.
  [[nodiscard]] bool holds(std::span<const value> of_names) const {
    std::vector<operand> known;
    for (const auto& v : of_names) known.push_back(operand_of(v));
    return truth(evaluate(root_, known));
  }
  /// The elements, if it is a list. @throws std::runtime_error  it is none, or has more than 65536
  [[nodiscard]] std::vector<value> list() const {
    std::vector<operand> known(names_.size());
    if (!names_.empty()) wrong({"'", names_.front(), "' has no value here"});
    std::vector<value> out;
    for (const auto& r : elements(root_, known))
      out.push_back(r.kind == kinds::text ? value(r.text) : r.kind == kinds::real ? value(r.real) : value(r.integer));
    return out;
  }

 private:
  enum class kinds { integer, real, text };
  struct operand {
    kinds kind = kinds::integer;
    std::int64_t integer = 0;
    double real = 0;
    std::string_view text;

    [[nodiscard]] double number() const noexcept {
      return kind == kinds::integer ? static_cast<double>(integer) : real;
    }
  };
  enum class ops {
    constant,
    name,
    list,
    negate,
    invert,
    both,
    either,
    conditional,
    add,
    subtract,
    multiply,
    divide,
    floor,
    modulo,
    power,
    less,
    less_equal,
    greater,
    greater_equal,
    equal,
    unequal,
    among,
    not_among,
    call,
    each
  };
  struct node {
    ops op = ops::constant;
    operand constant = {};
    std::size_t slot = 0;              ///< of a name; of each, its variable's; of a call, the function
    std::vector<std::size_t> of = {};  ///< the nodes it is made of
  };
  static constexpr std::string_view functions[] = {"min",   "max", "abs",   "round", "int",
                                                   "float", "len", "range", "list"};
  static constexpr std::size_t most_elements = 65536;
  static constexpr std::size_t most_nodes = 2000;  // evaluation goes as deep as a chain of + is long
  static constexpr std::size_t variable_slots = std::size_t{1} << 20U;  // from here on, slots are of variables

  // ---- reading ----

  [[noreturn, gnu::cold]] void expected(std::string_view what) const {
    const std::string found =
        at_ < text_.size() ? concat({"'", std::string_view(text_).substr(at_, 16), "'"}) : "its end";
    throw mismatch(concat({"expected ", what, ", found ", found, " in '", text_, "'"}), at_);
  }

  [[nodiscard]] char next() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  [[nodiscard]] static bool letter(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (static_cast<unsigned char>(c) & 0x80U) != 0;
  }
  [[nodiscard]] static bool digit(char c) noexcept { return c >= '0' && c <= '9'; }

  bool accept(std::string_view symbol) {
    static_cast<void>(next());
    const auto rest = std::string_view(text_).substr(at_);
    if (!rest.starts_with(symbol)) return false;
    if (letter(symbol.front()) && rest.size() > symbol.size() &&
        (letter(rest[symbol.size()]) || digit(rest[symbol.size()])))
      return false;  // a longer name
    at_ += symbol.size();
    return true;
  }
  void require(std::string_view symbol) {
    if (!accept(symbol)) expected(concat({"'", symbol, "'"}));
  }
  std::size_t make(ops op, std::vector<std::size_t> of = {}) {
    if (nodes_.size() == most_nodes) expected("a shorter expression");
    nodes_.push_back({op, {}, 0, std::move(of)});
    return nodes_.size() - 1;
  }

  /// Counts what is inside what, so that no expression overruns the stack.
  class nesting {
   public:
    explicit nesting(expression& e) : e_(e) {
      if (++e_.depth_ > 100) e_.expected("at most 100 expressions inside one another");
    }
    nesting(const nesting&) = delete;
    nesting& operator=(const nesting&) = delete;
    ~nesting() { --e_.depth_; }

   private:
    expression& e_;
  };

  std::size_t choice() {
    const nesting inside(*this);
    const std::size_t first = disjunction();
    if (!accept("if")) return first;
    const std::size_t condition = disjunction();
    require("else");
    const std::size_t other = choice();
    return make(ops::conditional, {condition, first, other});
  }
  std::size_t disjunction() {
    std::vector<std::size_t> parts{conjunction()};
    while (accept("or")) parts.push_back(conjunction());
    return parts.size() == 1 ? parts.front() : make(ops::either, std::move(parts));
  }
  std::size_t conjunction() {
    std::vector<std::size_t> parts{inversion()};
    while (accept("and")) parts.push_back(inversion());
    return parts.size() == 1 ? parts.front() : make(ops::both, std::move(parts));
  }
  std::size_t inversion() {
    if (!accept("not")) return comparison();
    const nesting inside(*this);
    return make(ops::invert, {inversion()});
  }
  /// a < b <= c means a < b and b <= c.
  std::size_t comparison() {
    std::size_t left = sum();
    std::vector<std::size_t> parts;
    for (ops op; comparing(op);) {
      const std::size_t right = sum();
      parts.push_back(make(op, {left, right}));
      left = right;
    }
    if (parts.empty()) return left;
    return parts.size() == 1 ? parts.front() : make(ops::both, std::move(parts));
  }
  [[nodiscard]] bool comparing(ops& op) {
    constexpr std::pair<std::string_view, ops> symbols[] = {
        {"<=", ops::less_equal}, {">=", ops::greater_equal}, {"==", ops::equal}, {"!=", ops::unequal},
        {"<", ops::less},        {">", ops::greater},        {"in", ops::among}};
    for (const auto& [symbol, meaning] : symbols)
      if (accept(symbol)) return op = meaning, true;
    if (!accept("not")) return false;
    require("in");
    return op = ops::not_among, true;
  }
  std::size_t sum() {
    std::size_t left = product();
    for (;;) {
      if (accept("+"))
        left = make(ops::add, {left, product()});
      else if (accept("-"))
        left = make(ops::subtract, {left, product()});
      else
        return left;
    }
  }
  std::size_t product() {
    std::size_t left = sign();
    for (;;) {
      if (accept("//"))
        left = make(ops::floor, {left, sign()});
      else if (accept("/"))
        left = make(ops::divide, {left, sign()});
      else if (accept("%"))
        left = make(ops::modulo, {left, sign()});
      else if (!std::string_view(text_).substr(at_).starts_with("**") && accept("*"))
        left = make(ops::multiply, {left, sign()});
      else
        return left;
    }
  }
  std::size_t sign() {
    const nesting inside(*this);
    if (accept("-")) return make(ops::negate, {sign()});
    if (accept("+")) return sign();
    const std::size_t base = atom();
    return accept("**") ? make(ops::power, {base, sign()}) : base;  // from the right, and before a sign on the left
  }

  std::size_t atom() {
    const char c = next();
    if (c == '(') {
      ++at_;
      const std::size_t first = choice();
      if (accept(")")) return first;
      return sequence(first, ")");
    }
    if (c == '[') {
      ++at_;
      if (accept("]")) return make(ops::list);
      return bracket();
    }
    if (digit(c) || c == '.') return number();
    if (c == '"' || c == '\'') return text_constant(c);
    if (!letter(c)) expected("a number, a name or '('");
    return word();
  }

  /// A list whose first element was read.
  std::size_t sequence(std::size_t first, std::string_view end) {
    std::vector<std::size_t> parts{first};
    while (!accept(end)) {
      require(",");
      if (accept(end)) break;
      parts.push_back(choice());
    }
    return make(ops::list, std::move(parts));
  }

  /// Behind "[": a list, or "element for name in list if condition". The element stands before the name that it may read:
  /// it is read again when the name is known.
  std::size_t bracket() {
    const std::size_t begin = at_;
    const auto nodes = nodes_.size();
    const auto names = names_;
    const std::size_t first = choice();
    if (!accept("for")) return sequence(first, "]");
    static_cast<void>(next());
    const std::string variable = identifier();
    require("in");
    nodes_.resize(nodes);
    names_ = names;
    const std::size_t from = disjunction();
    const std::size_t behind = at_;
    const std::size_t slot = variable_slots + variables_.size();
    variables_.push_back(variable);
    at_ = begin;
    if (in_element_) expected("no comprehension inside another one");
    in_element_ = true;
    const std::size_t element = choice();
    in_element_ = false;
    at_ = behind;
    const std::size_t condition = accept("if") ? disjunction() : element;
    const bool conditional = condition != element;
    require("]");
    variables_.back().clear();  // out of scope
    const std::size_t made = make(ops::each, {from, element});
    if (conditional) nodes_[made].of.push_back(condition);
    nodes_[made].slot = slot - variable_slots;
    return made;
  }

  std::size_t number() {
    const std::size_t begin = at_;
    while (digit(here())) ++at_;
    bool real = false;
    if (here() == '.') {
      real = true;
      ++at_;
      while (digit(here())) ++at_;
    }
    if ((here() == 'e' || here() == 'E') && at_ > begin) {
      real = true;
      ++at_;
      if (here() == '+' || here() == '-') ++at_;
      while (digit(here())) ++at_;
    }
    const char* const first = text_.data() + begin;
    const char* const last = text_.data() + at_;
    const std::size_t made = make(ops::constant);
    operand& c = nodes_[made].constant;
    if (!real) {
      const auto [end, error] = std::from_chars(first, last, c.integer);
      if (error == std::errc() && end == last) return made;
    }
    c.kind = kinds::real;
    const auto [end, error] = std::from_chars(first, last, c.real);
    if (error == std::errc() && end == last) return made;
    at_ = begin;
    expected("a number");
  }
  [[nodiscard]] char here() const noexcept { return at_ < text_.size() ? text_[at_] : '\0'; }

  std::size_t text_constant(char quote) {
    const std::size_t begin = ++at_;
    while (here() != quote) {
      if (at_ >= text_.size() || here() == '\\') expected("the end of a text without escapes");
      ++at_;
    }
    const std::size_t made = make(ops::constant);
    nodes_[made].constant.kind = kinds::text;
    texts_.push_back(text_.substr(begin, at_ - begin));
    nodes_[made].slot = texts_.size();  // which text: they move when the expression does
    ++at_;
    return made;
  }

  [[nodiscard]] std::string identifier() {
    if (!letter(here())) expected("a name");
    const std::size_t begin = at_;
    while (letter(here()) || digit(here())) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  std::size_t word() {
    const std::size_t begin = at_;
    const std::string name = identifier();
    for (const char* reserved : {"and", "or", "not", "if", "else", "for", "in", "lambda"})
      if (name == reserved) {
        at_ = begin;
        expected("a number, a name or '('");
      }
    if (name == "True" || name == "False") {
      const std::size_t made = make(ops::constant);
      nodes_[made].constant.integer = name == "True" ? 1 : 0;
      return made;
    }
    if (accept("(")) return call(name, begin);
    const std::size_t made = make(ops::name);
    for (std::size_t i = variables_.size(); i-- > 0;)
      if (variables_[i] == name) {
        nodes_[made].slot = variable_slots + i;
        return made;
      }
    const auto known = static_cast<std::size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
    if (known == names_.size()) names_.push_back(name);
    nodes_[made].slot = known;
    return made;
  }

  std::size_t call(const std::string& name, std::size_t begin) {
    const auto which =
        static_cast<std::size_t>(std::find(std::begin(functions), std::end(functions), name) - std::begin(functions));
    if (which == std::size(functions)) {
      at_ = begin;
      expected("one of the functions min, max, abs, round, int, float, len, range and list");
    }
    std::vector<std::size_t> arguments;
    if (!accept(")")) arguments = nodes_[sequence(choice(), ")")].of;
    const std::size_t n = arguments.size();
    if (n == 0 || (which >= 2 && which != 7 && n != 1) || n > 64 || (which == 7 && n > 3))
      expected(concat({"another number of arguments of ", name, " before here"}));
    const std::size_t made = make(ops::call, std::move(arguments));
    nodes_[made].slot = which;
    return made;
  }

  // ---- evaluating ----

  [[noreturn, gnu::cold]] void wrong(std::initializer_list<piece> what) const {
    throw std::runtime_error(concat({concat(what), " in '", text_, "'"}));
  }

  [[nodiscard]] static operand operand_of(const value& v) {
    if (const auto* i = std::get_if<std::int64_t>(&v.get())) return {kinds::integer, *i, 0, {}};
    if (const auto* d = std::get_if<double>(&v.get())) return {kinds::real, 0, *d, {}};
    if (const auto* b = std::get_if<bool>(&v.get())) return {kinds::integer, *b ? 1 : 0, 0, {}};
    if (const auto* s = std::get_if<std::string>(&v.get())) return {kinds::text, 0, 0, *s};
    fail<std::runtime_error>({"an expression reads ", to_string(v), ", which is neither number nor text"});
  }
  [[nodiscard]] static operand of(bool b) noexcept { return {kinds::integer, b ? 1 : 0, 0, {}}; }
  [[nodiscard]] static operand of(double x) noexcept { return {kinds::real, 0, x, {}}; }
  [[nodiscard]] static operand of(std::int64_t i) noexcept { return {kinds::integer, i, 0, {}}; }
  [[nodiscard]] static bool truth(const operand& a) noexcept {
    return a.kind == kinds::text ? !a.text.empty() : a.kind == kinds::real ? a.real != 0 : a.integer != 0;
  }
  void need_numbers(const operand& a, const operand& b) const {
    if (a.kind == kinds::text || b.kind == kinds::text) wrong({"a text where a number is needed"});
  }

  /// An integer if both are and it fits, else a real.
  template <class Whole>
  [[nodiscard]] static operand either_kind(const operand& a, const operand& b, double real, const Whole& whole) {
    constexpr double limit = 4611686018427387904.0;  // 2^62
    if (a.kind == kinds::integer && b.kind == kinds::integer && std::fabs(real) < limit)
      return of(whole(a.integer, b.integer));
    return of(real);
  }

  [[nodiscard]] operand arithmetic(ops op, const operand& a, const operand& b) const {
    need_numbers(a, b);
    const double x = a.number();
    const double y = b.number();
    const bool whole = a.kind == kinds::integer && b.kind == kinds::integer;
    switch (op) {
      case ops::add: return either_kind(a, b, x + y, [](auto i, auto j) { return i + j; });
      case ops::subtract: return either_kind(a, b, x - y, [](auto i, auto j) { return i - j; });
      case ops::multiply: return either_kind(a, b, x * y, [](auto i, auto j) { return i * j; });
      case ops::power: return power(a, b);
      default: break;
    }
    if (y == 0) wrong({"a division by zero"});
    if (op == ops::divide) return of(x / y);
    if (!whole || std::fabs(x) > 9e18 || std::fabs(y) > 9e18) {
      const double quotient = std::floor(x / y);
      if (op == ops::floor) return of(quotient);
      const double rest = std::fmod(x, y);
      return of(rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest);
    }
    std::int64_t quotient = a.integer / b.integer;
    std::int64_t rest = a.integer % b.integer;
    if (rest != 0 && (rest < 0) != (b.integer < 0)) {
      --quotient;
      rest += b.integer;
    }
    return of(op == ops::floor ? quotient : rest);
  }

  [[nodiscard]] operand power(const operand& a, const operand& b) const {
    const double real = std::pow(a.number(), b.number());
    if (!(std::fabs(real) <= std::numeric_limits<double>::max())) wrong({"a power out of range"});
    if (a.kind != kinds::integer || b.kind != kinds::integer || b.integer < 0 ||
        std::fabs(real) >= 4611686018427387904.0)
      return of(real);
    std::int64_t out = 1;
    if (a.integer == 1 || b.integer == 0) return of(out);
    if (a.integer == -1 || a.integer == 0)
      return of(a.integer == 0 ? std::int64_t{0} : b.integer % 2 == 0 ? out : -out);
    for (std::int64_t i = 0; i < b.integer; ++i) out *= a.integer;  // at most 62 times
    return of(out);
  }

  [[nodiscard]] bool compares(ops op, const operand& a, const operand& b) const {
    if (op == ops::equal || op == ops::unequal) {
      const bool same = (a.kind == kinds::text) == (b.kind == kinds::text) &&
                        (a.kind == kinds::text ? a.text == b.text : order(a, b) == 0);
      return same == (op == ops::equal);
    }
    if ((a.kind == kinds::text) != (b.kind == kinds::text)) wrong({"a text is compared with a number"});
    const int o = a.kind == kinds::text ? a.text.compare(b.text) : order(a, b);
    switch (op) {
      case ops::less: return o < 0;
      case ops::less_equal: return o <= 0;
      case ops::greater: return o > 0;
      default: return o >= 0;
    }
  }
  [[nodiscard]] static int order(const operand& a, const operand& b) noexcept {
    if (a.kind == kinds::integer && b.kind == kinds::integer)
      return a.integer < b.integer ? -1 : a.integer > b.integer ? 1 : 0;
    return a.number() < b.number() ? -1 : a.number() > b.number() ? 1 : 0;
  }

  [[nodiscard]] operand evaluate(std::size_t at, std::vector<operand>& known) const {
    const node& n = nodes_[at];
    switch (n.op) {
      case ops::constant: {
        operand c = n.constant;
        if (c.kind == kinds::text) c.text = texts_[n.slot - 1];
        return c;
      }
      case ops::name:
        if (n.slot >= variable_slots) return known[names_.size() + n.slot - variable_slots];
        if (n.slot >= known.size()) wrong({"'", names_[n.slot], "' has no value"});
        return known[n.slot];
      case ops::negate: {
        const operand a = evaluate(n.of[0], known);
        return arithmetic(ops::subtract, of(std::int64_t{0}), a);
      }
      case ops::invert: return of(!truth(evaluate(n.of[0], known)));
      case ops::both:
      case ops::either: {  // the first that decides, as it is
        operand last;
        for (const auto part : n.of) {
          last = evaluate(part, known);
          if (truth(last) == (n.op == ops::either)) break;
        }
        return last;
      }
      case ops::conditional: return evaluate(truth(evaluate(n.of[0], known)) ? n.of[1] : n.of[2], known);
      case ops::among:
      case ops::not_among: {
        const operand a = evaluate(n.of[0], known);
        bool found = false;
        for (const auto& e : elements(n.of[1], known)) found = found || compares(ops::equal, a, e);
        return of(found == (n.op == ops::among));
      }
      case ops::less:
      case ops::less_equal:
      case ops::greater:
      case ops::greater_equal:
      case ops::equal:
      case ops::unequal: return of(compares(n.op, evaluate(n.of[0], known), evaluate(n.of[1], known)));
      case ops::call: return evaluate_call(n, known);
      case ops::list:
      case ops::each: wrong({"a list where a number is needed"});
      default: return arithmetic(n.op, evaluate(n.of[0], known), evaluate(n.of[1], known));
    }
  }

  [[nodiscard]] operand evaluate_call(const node& n, std::vector<operand>& known) const {
    const auto& function = functions[n.slot];
    if (n.slot >= 7) wrong({"a list where a number is needed"});
    if (function == "len") return of(static_cast<std::int64_t>(elements(n.of[0], known).size()));
    std::vector<operand> arguments;
    if (n.of.size() == 1 && n.slot < 2)
      arguments = elements(n.of[0], known);
    else
      for (const auto part : n.of) arguments.push_back(evaluate(part, known));
    if (arguments.empty()) wrong({function, " of nothing"});
    operand out = arguments.front();
    for (const auto& a : arguments) {
      need_numbers(a, a);
      if (function == "min" ? order(a, out) < 0 : function == "max" && order(a, out) > 0) out = a;
    }
    if (function == "abs")
      return order(out, of(std::int64_t{0})) < 0 ? arithmetic(ops::subtract, of(std::int64_t{0}), out) : out;
    if (function == "float") return of(out.number());
    if (function == "int" || function == "round") {
      if (out.kind == kinds::integer) return out;
      const double x = function == "int" ? std::trunc(out.real) : std::nearbyint(out.real);
      if (!(std::fabs(x) < 9e18)) wrong({"a number too large for an integer"});
      return of(static_cast<std::int64_t>(x));
    }
    return out;
  }

  [[nodiscard]] std::vector<operand> elements(std::size_t at, std::vector<operand>& known) const {
    const node& n = nodes_[at];
    std::vector<operand> out;
    if (n.op == ops::list) {
      for (const auto part : n.of) out.push_back(evaluate(part, known));
    } else if (n.op == ops::add) {
      out = elements(n.of[0], known);
      const auto more = elements(n.of[1], known);
      out.insert(out.end(), more.begin(), more.end());
    } else if (n.op == ops::each) {
      const auto from = elements(n.of[0], known);
      const std::size_t place = names_.size() + n.slot;
      if (known.size() <= place) known.resize(place + 1);
      for (const auto& e : from) {
        known[place] = e;
        if (n.of.size() < 3 || truth(evaluate(n.of[2], known))) out.push_back(evaluate(n.of[1], known));
      }
    } else if (n.op == ops::call && functions[n.slot] == "list") {
      out = elements(n.of[0], known);
    } else if (n.op == ops::call && functions[n.slot] == "range") {
      out = numbers_in_range(n, known);
    } else {
      wrong({"a list is needed"});
    }
    if (out.size() > most_elements) wrong({"a list of more than ", most_elements, " elements"});
    return out;
  }

  [[nodiscard]] std::vector<operand> numbers_in_range(const node& n, std::vector<operand>& known) const {
    std::int64_t numbers[3] = {0, 0, 1};
    for (std::size_t i = 0; i < n.of.size(); ++i) {
      const operand a = evaluate(n.of[i], known);
      if (a.kind != kinds::integer || std::abs(a.integer) > (std::int64_t{1} << 53))
        wrong({"a range of what are no integers"});
      numbers[n.of.size() == 1 ? 1 : i] = a.integer;
    }
    const auto [first, end, step] = std::array{numbers[0], numbers[1], numbers[2]};
    if (step == 0) wrong({"a range with step 0"});
    std::vector<operand> out;
    for (std::int64_t i = first; step > 0 ? i < end : i > end; i += step) {
      out.push_back(of(i));
      if (out.size() > most_elements) break;  // the caller refuses it
    }
    return out;
  }

  std::string text_;
  std::vector<std::string> names_;
  std::vector<std::string> variables_;  ///< of comprehensions; empty names are out of scope
  std::vector<std::string> texts_;
  std::vector<node> nodes_;
  std::size_t root_ = 0;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool in_element_ = false;  ///< of a comprehension, read for the second time
};

}  // namespace tileseek::detail
