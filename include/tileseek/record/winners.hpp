#pragma once
// The winners of many runs, for the program that uses them: the best configuration per task, shape and device, with what
// it was measured under. Kept as JSON, and exported as a C++ header that needs nothing of tileseek.
//
//   tileseek::winners known;
//   known.keep(tileseek::winner_of(tileseek::tune(space, timed, {}), "matmul", {{"m", 512}, {"n", 512}}, "Ryzen 9 7950X"));
//   std::ofstream("winners.json") << known;
//   known.write_header(header, "tuned");                                     // a std::ofstream
//
//   #include "winners.hpp"                                                   // in the program
//   constexpr auto& best = tuned::nearest_matmul(500, 640, "Ryzen 9 7950X");   // best.bm, best.order, ...

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <iterator>
#include <limits>
#include <map>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include <tileseek/core/format.hpp>
#include <tileseek/core/statistics.hpp>
#include <tileseek/core/value.hpp>
#include <tileseek/record/log.hpp>

namespace tileseek {

/// The sizes of a problem by name, in the order of the task: {{"m", 512}, {"n", 512}}.
using problem_shape = std::vector<std::pair<std::string, std::int64_t>>;

/// The best configuration known of a task, for one shape on one device.
struct winner {
  std::string task;
  problem_shape shape;
  std::string device;
  named_values configuration;
  double seconds = 0;       ///< median
  interval range = {};      ///< of that median; 0 to 0: unknown
  std::size_t samples = 0;  ///< behind the median
  std::string date;         ///< when it was measured, "2026-11-30T10:33:19Z"
  named_values conditions;  ///< compiler, flags, governor, ...

  /// Whether two are of the same task, shape and device, of which one is kept.
  [[nodiscard]] bool rivals(const winner& o) const { return task == o.task && shape == o.shape && device == o.device; }
};

/// How many times apart two shapes are: the product over their sizes of larger / smaller, 1 for equal ones; infinite
/// when their sizes have other names.
[[nodiscard]] inline double distance(const problem_shape& a, const problem_shape& b) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  if (a.size() != b.size()) return infinite;
  double product = 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].first != b[i].first) return infinite;
    const auto x = static_cast<double>(a[i].second);
    const auto y = static_cast<double>(b[i].second);
    product *= x > y ? x / y : y / x;
  }
  return product;
}

/// What a run of tune() found. @param r  a result<Config>
/// @throws std::invalid_argument  nothing ran
template <class Result>
[[nodiscard]] winner winner_of(const Result& r, std::string task, problem_shape shape, std::string device,
                               named_values conditions = detail::machine()) {
  if (!r.best) detail::fail<std::invalid_argument>({"winner_of: no configuration of '", task, "' was valid"});
  return {std::move(task),    std::move(shape), std::move(device), r.best_values,        r.median_seconds,
          r.seconds_interval, r.rounds,         detail::utc_now(), std::move(conditions)};
}

/// A set of winners, in the order of task, device and shape.
class winners {
 public:
  winners() = default;

  [[nodiscard]] const std::vector<winner>& all() const noexcept { return all_; }

  /// Keeps the faster one of a task, shape and device. @return whether it is the new one
  /// @throws std::invalid_argument  no task, a size below 1, a time that is not positive
  bool keep(winner w) {
    if (w.task.empty()) detail::fail<std::invalid_argument>({"winners: a task without a name"});
    if (!(w.seconds > 0 && std::isfinite(w.seconds)))
      detail::fail<std::invalid_argument>(
          {"winners: ", w.seconds, " seconds for '", w.task, "'; give a positive time"});
    for (const auto& [name, size] : w.shape)
      if (size < 1)
        detail::fail<std::invalid_argument>({"winners: size ", name, " of '", w.task, "' is ", size, ", below 1"});
    for (auto& other : all_)
      if (other.rivals(w)) {
        if (!(w.seconds < other.seconds)) return false;
        other = std::move(w);
        return true;
      }
    const auto before = [](const winner& a, const winner& b) {
      return std::tie(a.task, a.device, a.shape) < std::tie(b.task, b.device, b.shape);
    };
    all_.insert(std::upper_bound(all_.begin(), all_.end(), w, before), std::move(w));
    return true;
  }

  /// Of this very shape; nullptr if there is none.
  [[nodiscard]] const winner* find(std::string_view task, const problem_shape& shape, std::string_view device) const {
    const winner* const w = nearest(task, shape, device);
    return w != nullptr && w->shape == shape ? w : nullptr;
  }
  /// Of the nearest shape (the least distance(), of equals the first in order); nullptr if there is none with these
  /// sizes.
  [[nodiscard]] const winner* nearest(std::string_view task, const problem_shape& shape,
                                      std::string_view device) const {
    const winner* best = nullptr;
    double least = std::numeric_limits<double>::infinity();
    for (const auto& w : all_)
      if (w.task == task && w.device == device && distance(w.shape, shape) < least) {
        least = distance(w.shape, shape);
        best = &w;
      }
    return best;
  }

  /// JSON, one winner a line.
  friend std::ostream& operator<<(std::ostream& out, const winners& w) {
    out << "{\"winners\": 1, \"of\": [";
    for (std::size_t i = 0; i < w.all_.size(); ++i) out << (i == 0 ? "\n" : ",\n") << to_json(w.all_[i]).dump();
    return out << "\n]}\n";
  }

  /// @param name  what messages call the file
  /// @throws std::runtime_error  "name: what is wrong", with the line where there is one
  [[nodiscard]] static winners read(std::istream& in, const std::string& name) {
    const std::string text(std::istreambuf_iterator<char>(in), {});
    winners out;
    try {
      const auto j = json::parse(text);
      if (!j.is_object() || j.value("winners", json()) != 1 || !j.contains("of") || !j["of"].is_array())
        detail::fail<std::runtime_error>({name, ":1: expected winners of version 1, {\"winners\": 1, \"of\": [...]}"});
      for (const auto& one : j["of"]) out.keep_read(one, detail::concat({name, ": winner ", out.all_.size() + 1}));
    } catch (const json::parse_error& e) {
      const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(e.byte, text.size()));
      detail::fail<std::runtime_error>(
          {name, ":", 1 + std::count(text.begin(), end, '\n'), ": expected JSON; damaged here"});
    } catch (const json::exception& e) {  // a number that no double holds
      detail::fail<std::runtime_error>({name, ": ", e.what()});
    }
    return out;
  }

  /// A C++17 header: namespace `space` with a struct, a constexpr table and a nearest_TASK(sizes..., device) for each task,
  /// nothing else. nearest_TASK gives a reference, to the first of the table if no winner is of this device: ask it for
  /// its `device`.
  /// @throws std::invalid_argument  winners of one task whose sizes or parameters have other names or types; names that
  ///                                become the same in C++
  void write_header(std::ostream& out, const std::string& space) const {
    out << "#pragma once\n// The fastest configurations known. Written by tileseek, which this header does not "
           "need.\n// clang-format off\n\n"
           "#include <string_view>\n\nnamespace "
        << identifier(space) << " {\n";
    std::map<std::string, std::string> known;
    for (std::size_t i = 0; i < all_.size();) {
      std::size_t end = i;
      while (end < all_.size() && all_[end].task == all_[i].task) ++end;
      const std::string task = identifier(all_[i].task);
      if (!known.emplace(task, all_[i].task).second)
        detail::fail<std::invalid_argument>(
            {"winners: tasks '", known[task], "' and '", all_[i].task, "' are both ", task, " in C++"});
      write_table(out, task, i, end);
      i = end;
    }
    out << "\n}  // namespace " << identifier(space) << '\n';
  }

  /// The winners in a header that write_header() wrote: they stand beside the table's rows, as comments.
  /// @throws std::runtime_error  "name:line: what is wrong"
  [[nodiscard]] static winners read_header(std::istream& in, const std::string& name) {
    winners out;
    std::string line;
    for (std::size_t number = 1; std::getline(in, line); ++number) {
      const auto at = line.find(beside_row);
      if (at == std::string::npos) continue;
      const std::string where = detail::concat({name, ":", number});
      const auto j = json::parse(line.substr(at + std::string_view(beside_row).size()), nullptr, false);
      if (j.is_discarded()) detail::fail<std::runtime_error>({where, ": expected JSON behind '//='"});
      out.keep_read(j, where);
    }
    if (out.all_.empty())
      detail::fail<std::runtime_error>({name, ": expected a header that write_header() wrote; no winner found"});
    return out;
  }

 private:
  using json = nlohmann::ordered_json;
  static constexpr const char* beside_row = "  //= ";

  [[nodiscard]] static json to_json(const winner& w) {
    json j;
    j["task"] = w.task;
    j["shape"] = json::object();
    for (const auto& [name, size] : w.shape) j["shape"][name] = size;
    j["device"] = w.device;
    j["configuration"] = detail::to_json(w.configuration);
    j["seconds"] = w.seconds;
    j["range"] = {w.range.low, w.range.high};
    j["samples"] = w.samples;
    j["date"] = w.date;
    j["conditions"] = detail::to_json(w.conditions);
    return j;
  }

  void keep_read(const json& j, const std::string& where) {
    winner w;
    try {
      w.task = j.at("task").get<std::string>();
      for (const auto& [name, size] : j.at("shape").items()) w.shape.emplace_back(name, size.get<std::int64_t>());
      w.device = j.at("device").get<std::string>();
      w.configuration = detail::named_values_of(j.at("configuration"));
      w.seconds = j.at("seconds").get<double>();
      const auto range = j.value("range", std::vector<double>{0, 0});
      if (range.size() == 2) w.range = {range[0], range[1]};
      w.samples = j.value("samples", std::size_t{0});
      w.date = j.value("date", std::string());
      if (j.contains("conditions")) w.conditions = detail::named_values_of(j["conditions"]);
      keep(std::move(w));
    } catch (const std::exception& e) {  // of JSON or of keep()
      detail::fail<std::runtime_error>(
          {where, ": expected a winner with task, shape, device, configuration and seconds: ", e.what()});
    }
  }

  /// Letters, digits and underscores.
  [[nodiscard]] static std::string identifier(std::string_view name) {
    std::string out;
    for (const char c : name) {
      const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
      if (plain || (!out.empty() && out.back() != '_')) out += plain ? c : '_';
    }
    while (!out.empty() && out.back() == '_') out.pop_back();
    if (out.empty() || (out.front() >= '0' && out.front() <= '9')) out.insert(0, "x");
    constexpr std::string_view words[] = {
        "auto",     "bool",      "char",     "class",    "const",    "double",   "enum",   "float",
        "int",      "long",      "new",      "private",  "public",   "register", "short",  "signed",
        "struct",   "switch",    "template", "this",     "union",    "unsigned", "using",  "void",
        "volatile", "while",     "for",      "if",       "else",     "do",       "return", "static",
        "inline",   "default",   "delete",   "operator", "typename", "case",     "break",  "continue",
        "goto",     "namespace", "friend",   "extern",   "export",   "try",      "catch",  "throw",
        "true",     "false",     "and",      "or",       "not",      "xor",      "device", "seconds"};
    if (std::find(std::begin(words), std::end(words), out) != std::end(words)) out += '_';
    return out;
  }

  [[nodiscard]] static std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
      const auto u = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\' || c == '?') {
        out += '\\';
        out += c;
      } else if (u < 0x20 || u > 0x7e) {  // three digits, so that none that follows belongs to it
        out += '\\';
        for (const unsigned shift : {6U, 3U, 0U}) out += static_cast<char>('0' + ((u >> shift) & 7U));
      } else {
        out += c;
      }
    }
    return out += '"';
  }

  /// C++'s type of a value; how many there are of it, 0 for one that is no list.
  [[nodiscard]] static std::pair<std::string, std::size_t> type_of(const value& v) {
    if (const auto* f = std::get_if<std::vector<std::int64_t>>(&v.get())) return {"long long", f->size()};
    constexpr const char* names[] = {"long long", "double", "bool", "const char*"};
    return {names[v.get().index()], 0};
  }

  [[nodiscard]] static std::string literal(const value& v, const std::string& type) {
    if (const auto* s = std::get_if<std::string>(&v.get())) return quoted(*s);
    if (const auto* f = std::get_if<std::vector<std::int64_t>>(&v.get())) {
      std::string out = "{";
      for (const auto x : *f) detail::append(out, {out.size() > 1 ? ", " : "", integer(x)});
      return out += '}';
    }
    if (const auto* i = std::get_if<std::int64_t>(&v.get()); i != nullptr && type == "long long") return integer(*i);
    if (type == "double" && !std::isfinite(v.as<double>()))
      detail::fail<std::invalid_argument>({"winners: ", to_string(v), " cannot be written to a header"});
    return type == "double" ? shortest(v.as<double>()) : to_string(v);
  }
  [[nodiscard]] static std::string integer(std::int64_t x) {
    return x == std::numeric_limits<std::int64_t>::min() ? "(-9223372036854775807LL - 1)" : detail::concat({x, "LL"});
  }

  void write_table(std::ostream& out, const std::string& task, std::size_t begin, std::size_t end) const {
    const winner& first = all_[begin];
    struct field {
      std::string name, type;
      std::size_t list;
    };
    std::vector<field> fields;
    std::vector<std::string> used{"device", "seconds"};
    const auto fresh = [&](const std::string& name) {
      std::string id = identifier(name);
      if (std::find(used.begin(), used.end(), id) != used.end())
        detail::fail<std::invalid_argument>({"winners: two names of task '", first.task, "' are both ", id, " in C++"});
      return used.emplace_back(std::move(id));
    };
    std::vector<std::string> sizes;
    for (const auto& [name, unused] : first.shape) sizes.push_back(fresh(name));
    for (const auto& [name, v] : first.configuration) {
      const auto [type, list] = type_of(v);
      fields.push_back({fresh(name), type, list});
    }
    for (std::size_t i = begin; i < end; ++i)
      check_like(first, all_[i], [&](std::size_t f) { fields[f].type = "double"; });

    out << "\nstruct " << task << " {\n";
    for (const auto& s : sizes) out << "  long long " << s << ";\n";
    out << "  std::string_view device;\n";
    for (const auto& f : fields) {
      out << "  " << f.type << ' ' << f.name;
      if (f.list > 0) out << '[' << f.list << ']';
      out << ";\n";
    }
    out << "  double seconds;  // median\n};\n\ninline constexpr " << task << " of_" << task << "[] = {\n";
    for (std::size_t i = begin; i < end; ++i) {
      const winner& w = all_[i];
      out << "    {";
      for (const auto& [name, size] : w.shape) out << integer(size) << ", ";
      out << quoted(w.device) << ", ";
      for (std::size_t f = 0; f < fields.size(); ++f) out << literal(w.configuration[f].second, fields[f].type) << ", ";
      out << shortest(w.seconds) << "}," << beside_row << to_json(w).dump() << '\n';
    }
    out << "};\n\n/// Of the nearest shape: the least product of larger / smaller over its sizes.\nconstexpr const "
        << task << "& nearest_" << task << '(';
    for (const auto& s : sizes) out << "long long " << s << ", ";
    out << "std::string_view device) {\n  const " << task << "* best = of_" << task
        << ";\n  double least = -1;\n  for (const auto& w : of_" << task
        << ") {\n    if (w.device != device) continue;\n    double apart = 1;\n";
    for (const auto& s : sizes)
      out << "    apart *= w." << s << " > " << s << " ? static_cast<double>(w." << s << ") / static_cast<double>(" << s
          << ") : static_cast<double>(" << s << ") / static_cast<double>(w." << s << ");\n";
    out << "    if (least >= 0 && apart >= least) continue;\n    least = apart;\n    best = &w;\n  }\n  return "
           "*best;\n}\n";
  }

  /// @param is_real  told the number of a parameter that is an integer here and a real there
  template <class IsReal>
  static void check_like(const winner& first, const winner& other, const IsReal& is_real) {
    bool like = first.shape.size() == other.shape.size() && first.configuration.size() == other.configuration.size();
    for (std::size_t i = 0; like && i < first.shape.size(); ++i) like = first.shape[i].first == other.shape[i].first;
    for (std::size_t i = 0; like && i < first.configuration.size(); ++i) {
      const auto& [name, v] = first.configuration[i];
      const auto& [other_name, w] = other.configuration[i];
      const auto a = type_of(v);
      const auto b = type_of(w);
      const bool numbers = a.second == 0 && b.second == 0 && v.get().index() < 2 && w.get().index() < 2;
      like = name == other_name && (a == b || numbers);
      if (like && a != b) is_real(i);
    }
    if (!like)
      detail::fail<std::invalid_argument>(
          {"winners: two of task '", first.task,
           "' differ in the names or types of their sizes or parameters; call them different tasks"});
  }

  std::vector<winner> all_;
};

}  // namespace tileseek
