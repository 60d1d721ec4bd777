#pragma once
// Records of AutoTVM (log version 0.2): read, searched around, written back.
//
//   std::ifstream file("cpu.log_layer_1.log");
//   tileseek::record_reader<tileseek::autotvm_record> log(file, "cpu.log_layer_1.log");
//   while (auto record = log.next()) use(record->result());
//
// A line is {"input": [TARGET, TEMPLATE, ARGUMENTS, {}], "config": {"index": N, "code_hash": null, "entity": [[KNOB, KIND,
// VALUE], ...]}, "result": [COSTS, ERROR, ALL_COST, TIMESTAMP], "version": 0.2, "tvm_version": "0.8"}. A record keeps its
// line, as those of ansor.hpp do.
//
// A knob of kind "sp" (a split, [-1, 4, 2]: -1 is what is left) becomes one coordinate a factor, "tile_x[1]", "tile_x[2]";
// one of kind "ot" (a number, a truth value, a text) a coordinate of its own; other kinds ("re", an order; "an",
// annotations) a choice among their texts. The log does not say which values a knob may have: the space holds those
// that occur in it, in every combination.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include <tileseek/core/format.hpp>
#include <tileseek/core/measurement.hpp>
#include <tileseek/core/value.hpp>
#include <tileseek/record/detail/json_text.hpp>
#include <tileseek/record/detail/tvm.hpp>
#include <tileseek/record/reader.hpp>
#include <tileseek/record/recording.hpp>
#include <tileseek/space/configuration.hpp>
#include <tileseek/space/domain.hpp>
#include <tileseek/space/space.hpp>

namespace tileseek {

/// One line of an AutoTVM log.
class autotvm_record {
 public:
  /// @throws detail::mismatch  the line is no record; record_reader adds file and line
  explicit autotvm_record(std::string line) : line_(std::move(line)) { read(); }

  /// As it was read; a changed record is the line with the changes.
  [[nodiscard]] const std::string& line() const noexcept { return line_; }

  /// Template and arguments, as text: ["dense.cuda", [["TENSOR", [1, 768], "float32"], ...]]
  [[nodiscard]] std::string task() const {
    return detail::concat({"[", template_.of(line_), ", ", arguments_.of(line_), "]"});
  }
  [[nodiscard]] std::string target() const { return detail::json_cursor(line_, target_.begin).text("a target"); }

  [[nodiscard]] measurement result() const {
    detail::json_cursor c(line_, result_.begin);
    return detail::read_tvm_result(c);
  }

  /// Its number in AutoTVM's own order; -1 for a record that with() made.
  [[nodiscard]] std::int64_t index() const { return detail::json_cursor(line_, index_.begin).integer("an index"); }

  /// Records with the same family have the same input and the same knobs.
  [[nodiscard]] std::string family() const {
    std::string out(input_.of(line_));
    for (const auto& k : knobs_) detail::append(out, {"\n", k.name, " ", k.split ? k.parts.size() : 0});
    return out;
  }

  /// The values that occur in these records, which are of one family. @pre !family.empty()
  [[nodiscard]] static tileseek::space<configuration> space_of(std::span<const autotvm_record* const> family) {
    std::vector<std::pair<configuration, measurement>> seen;
    for (const auto* r : family) seen.emplace_back(r->values(), measurement{});
    return space_of_values(seen);
  }
  [[nodiscard]] tileseek::space<configuration> space() const {
    const autotvm_record* const self = this;
    return space_of({&self, 1});
  }

  [[nodiscard]] configuration values_in(const tileseek::space<configuration>& /*space*/) const { return values(); }

  /// What the knobs are set to.
  [[nodiscard]] configuration values() const {
    configuration out;
    for (const auto& k : knobs_)
      for (std::size_t i = 0; i < k.parts.size(); ++i) out.set(name_of(k, i), value_of(k, k.parts[i]));
    return out;
  }

  /// The record with these values in place of its own. Its result is still the old one (see with_result()), and its index,
  /// which only the template knows, is -1.
  /// @throws std::out_of_range, std::invalid_argument  a coordinate is missing or has a value of another kind
  [[nodiscard]] autotvm_record with(const configuration& c) const {
    if (c == values()) return *this;
    std::vector<std::pair<detail::text_range, std::string>> changes;
    changes.emplace_back(index_, "-1");
    for (const auto& k : knobs_)
      for (std::size_t i = 0; i < k.parts.size(); ++i)
        if (const value& v = c[name_of(k, i)]; v != value_of(k, k.parts[i]))
          changes.emplace_back(k.parts[i], text_of(k, v));
    std::sort(changes.begin(), changes.end(),
              [](const auto& a, const auto& b) { return a.first.begin < b.first.begin; });
    detail::text_edits out(line_);
    for (const auto& [range, text] : changes) out.replace(range, text);
    return autotvm_record(out.finish());
  }

  /// The record with this result. Failures carry the cost 1e9, as AutoTVM writes them.
  /// @param all_cost   seconds spent on the measurement, building included
  /// @param timestamp  seconds since 1970
  [[nodiscard]] autotvm_record with_result(const measurement& m, double all_cost = 0, double timestamp = 0) const {
    detail::text_edits out(line_);
    out.replace(result_, detail::concat(
                             {"[", detail::tvm_result_text(m, "1000000000.0"), ", ", all_cost, ", ", timestamp, "]"}));
    return autotvm_record(out.finish());
  }

 private:
  struct knob {
    std::string name;
    bool split = false;                     ///< its parts are factors; otherwise it has one part, the value
    bool plain = false;                     ///< a number, a truth value or a text
    std::vector<detail::text_range> parts;  ///< in the line
  };

  [[nodiscard]] static std::string name_of(const knob& k, std::size_t part) {
    return k.split ? detail::concat({k.name, "[", part, "]"}) : k.name;
  }

  /// Whether it is a truth value, a text or a number that is held exactly.
  [[nodiscard]] static bool plain(std::string_view text) {
    const auto j = nlohmann::json::parse(text, nullptr, false);
    if (j.is_number_float()) return text.find_first_of(".eE") != std::string_view::npos;  // else an integer too large
    return j.is_boolean() || j.is_string() || (j.is_number_integer() && j.get<std::int64_t>() == j);
  }

  [[nodiscard]] value value_of(const knob& k, detail::text_range part) const {
    const auto text = part.of(line_);
    if (!k.plain && !k.split) return value(text);
    const auto j = nlohmann::json::parse(text);
    if (j.is_boolean()) return value(j.get<bool>());
    if (j.is_string()) return value(j.get<std::string>());
    if (j.is_number_float()) return value(j.get<double>());
    return value(j.get<std::int64_t>());
  }

  [[nodiscard]] static std::string text_of(const knob& k, const value& v) {
    if (k.split) return detail::concat({v.as<std::int64_t>()});
    if (!k.plain) return v.as<std::string>();
    return std::visit([](const auto& held) { return nlohmann::json(held).dump(); }, v.get());
  }

  void read() {
    detail::json_cursor c(line_);
    bool configured = false;
    c.object("a record, which begins with '{'", [&](std::string_view key) {
      static_cast<void>(c.peek());
      const std::size_t begin = c.at();
      if (key == "input") {
        read_input(c);
        input_ = {begin, c.at()};
      } else if (key == "config") {
        read_config(c);
        configured = true;
      } else if (key == "result") {
        static_cast<void>(detail::read_tvm_result(c));
        result_ = {begin, c.at()};
      } else if (key == "version") {
        if (c.number("the version 0.2") != 0.2) {
          detail::json_cursor at(line_, begin);
          at.expected("the version 0.2");
        }
        versioned_ = true;
      } else {
        c.skip();
      }
    });
    c.end();
    if (input_.end == 0) c.expected("an \"input\" in the record");
    if (!configured) c.expected("a \"config\" in the record");
    if (result_.end == 0) c.expected("a \"result\" in the record");
    if (!versioned_) c.expected("a \"version\" in the record");
  }

  void read_input(detail::json_cursor& c) {
    std::size_t items = 0;
    c.list("an input, [target, template, arguments, {}]", [&](std::size_t i) {
      ++items;
      if (i == 0)
        target_ = c.string("a target");
      else if (i == 1)
        template_ = c.string("the name of a template");
      else if (i == 2)
        arguments_ = c.skip();
      else
        c.skip();
    });
    if (items < 3) c.expected("a target, a template and its arguments before here");
  }

  void read_config(detail::json_cursor& c) {
    knobs_.clear();
    index_ = {};
    bool entity = false;
    c.object("a configuration", [&](std::string_view key) {
      static_cast<void>(c.peek());
      const std::size_t begin = c.at();
      if (key == "index") {
        static_cast<void>(c.integer("an index"));
        index_ = {begin, c.at()};
      } else if (key == "entity") {
        entity = true;
        c.list("a list of knobs", [&](std::size_t) { read_knob(c); });
      } else {
        c.skip();
      }
    });
    if (index_.end == 0 || !entity) c.expected("an \"index\" and an \"entity\" in the configuration");
  }

  void read_knob(detail::json_cursor& c) {
    knob k;
    std::string kind;
    std::size_t items = 0;
    c.list("a knob, [name, kind, value]", [&](std::size_t i) {
      ++items;
      static_cast<void>(c.peek());
      if (i == 0) {
        k.name = c.text("a knob's name");
        if (k.name.empty()) c.expected("a name that is not empty before here");
      } else if (i == 1) {
        kind = c.text("a knob's kind");
      } else if (i == 2 && kind == "sp") {
        k.split = true;
        c.list("the factors of a split", [&](std::size_t) {
          static_cast<void>(c.peek());
          const std::size_t begin = c.at();
          static_cast<void>(c.integer("a factor"));
          k.parts.push_back({begin, c.at()});
        });
      } else if (i == 2) {
        k.parts.push_back(c.skip());
        k.plain = kind == "ot" && plain(k.parts.front().of(line_));
      } else {
        c.skip();
      }
    });
    if (items < 3) c.expected("a name, a kind and a value of a knob before here");
    for (const auto& other : knobs_)
      if (other.name == k.name) c.expected(detail::concat({"one value of the knob '", k.name, "' before here"}));
    knobs_.push_back(std::move(k));
  }

  std::string line_;
  detail::text_range input_, target_, template_, arguments_, index_, result_;
  bool versioned_ = false;
  std::vector<knob> knobs_;
};

}  // namespace tileseek
