#pragma once
// The JSON database of MetaSchedule, TVM's other auto-scheduler: read, searched around, written back. It is a pair of files:
//
//   std::ifstream workloads("database_workload.json"), records("database_tuning_record.json");
//   const auto known = tileseek::metaschedule_workloads(workloads, "database_workload.json");
//   tileseek::record_reader<tileseek::metaschedule_record, std::size_t> log(
//       records, "database_tuning_record.json", tileseek::damage::stop, known.size());
//
// A line of the second is [WORKLOAD, [TRACE, RUN_SECONDS, TARGET, ARGUMENTS]]: the number of a line of the first, what was
// done to its program, and how fast it was then. A record keeps its line, as those of ansor.hpp do.
//
// A trace is [INSTRUCTIONS, DECISIONS], and coordinates are the decisions [instruction, value]:
//   * of SamplePerfectTile, a tile axis "tileN" (N: the number of the instruction), whose innermost factor obeys the limit
//     that the instruction states;
//   * of SampleCategorical, the value behind its index, "choiceN": an ordered number, or a text.
// Others (SampleComputeLocation) are left alone. Annotations take their value from decisions; those that carry a number of
// their own, meta_schedule.parallel, .vectorize and .unroll_explicit, are a coordinate "annotationN" on request.
//
// Behind the instruction EnterPostproc, a trace holds what TVM's postprocessors derived from the decisions: loops split
// by the very numbers, pragmas with the chosen step. A changed record is cut off there, for TVM to derive it anew; with the
// old end it would be the old schedule in part, or none at all.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <limits>
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

/// A line of database_workload.json: ["HASH", "BASE64"].
class metaschedule_workload {
 public:
  /// @throws detail::mismatch  the line is no workload; record_reader adds file and line
  explicit metaschedule_workload(std::string line) : line_(std::move(line)) {
    detail::json_cursor c(line_);
    std::size_t items = 0;
    c.list("a workload, [hash, module]", [&](std::size_t i) {
      ++items;
      if (i == 0)
        hash_ = c.text("a hash in quotes");
      else if (i == 1)
        module_ = c.string("a module in base 64");
      else
        c.skip();
    });
    c.end();
    if (items < 2) c.expected("a hash and a module before here");
    static_cast<void>(module());
  }

  [[nodiscard]] const std::string& line() const noexcept { return line_; }
  /// The structural hash, by which TVM finds the workload.
  [[nodiscard]] const std::string& hash() const noexcept { return hash_; }

  /// The program, as TVM's JSON.
  [[nodiscard]] std::string module() const {
    const auto fail_at = [&](std::size_t at, const char* what) {
      const detail::json_cursor c(line_, at);
      c.expected(what);
    };
    std::string bytes;
    std::uint32_t bits = 0;
    int held = 0;
    std::size_t padding = 0;
    for (std::size_t i = module_.begin + 1; i + 1 < module_.end; ++i) {
      const char c = line_[i];
      if (c == '=' && ++padding <= 2) continue;
      const auto digit = alphabet.find(c);
      if (padding > 0 || digit == std::string_view::npos) fail_at(i, "a character of base 64");
      bits = (bits << 6U) | static_cast<std::uint32_t>(digit);
      held += 6;
      if (held < 8) continue;
      held -= 8;
      bytes += static_cast<char>((bits >> static_cast<unsigned>(held)) & 0xffU);
    }
    // Eight bytes with the length, the least first, then the text.
    std::uint64_t length = 0;
    for (std::size_t i = 8; i-- > 0 && bytes.size() >= 8;) length = length << 8U | static_cast<unsigned char>(bytes[i]);
    if (bytes.size() < 8 || length != bytes.size() - 8) fail_at(module_.begin, "a module as long as it says");
    return bytes.substr(8);
  }

 private:
  static constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

  std::string line_;
  std::string hash_;
  detail::text_range module_;
};

/// All workloads of a database, by number.
/// @throws std::runtime_error  with file and line: a line is no workload. None can be left out: records count them
[[nodiscard]] inline std::vector<metaschedule_workload> metaschedule_workloads(std::istream& in,
                                                                               const std::string& name) {
  std::vector<metaschedule_workload> out;
  record_reader<metaschedule_workload> lines(in, name);
  while (auto w = lines.next()) out.push_back(std::move(*w));
  return out;
}

struct metaschedule_options {
  bool annotations = false;  ///< whether annotations with a number of their own are coordinates: twice and half of it,
                             ///< four times and a quarter, those which are whole
};

/// A line of database_tuning_record.json.
class metaschedule_record {
 public:
  /// @param workloads  how many there are; a record of another one is refused
  /// @throws detail::mismatch  the line is no record; record_reader adds file and line
  explicit metaschedule_record(std::string line, std::size_t workloads = std::numeric_limits<std::size_t>::max(),
                               metaschedule_options options = {})
      : line_(std::move(line)), workloads_(workloads), options_(options) {
    read();
  }

  /// As it was read; a changed record is the line with the changes.
  [[nodiscard]] const std::string& line() const noexcept { return line_; }

  /// Number of its workload.
  [[nodiscard]] std::size_t workload() const noexcept { return workload_; }
  [[nodiscard]] std::string task() const { return detail::concat({"workload ", workload_, " ", arguments_.of(line_)}); }
  /// The target, as JSON.
  [[nodiscard]] std::string target() const { return std::string(target_.of(line_)); }
  /// Whether its trace holds what postprocessors derived; a changed record's does not.
  [[nodiscard]] bool postprocessed() const noexcept { return postprocessing_.end > 0; }

  [[nodiscard]] measurement result() const {
    detail::json_cursor c(line_, seconds_.begin);
    if (c.peek() == 'n') return failure(status::run_failed, "not measured");
    auto seconds = c.numbers("run times");
    for (const double s : seconds)
      if (s >= detail::tvm_no_time) return failure(status::run_failed, "failed to build or to run");
    return detail::tvm_result(std::move(seconds), 0);
  }

  /// Records with the same family differ in decisions that are coordinates, what was derived from them, and results.
  [[nodiscard]] std::string family() const {
    detail::text_edits out(trace_.of(line_));
    for (const auto& [range, text] : changes([](const decision&) { return "#"; }))
      out.replace({range.begin - trace_.begin, range.end - trace_.begin}, text);
    return detail::concat({workload_, "\n", target_.of(line_), "\n", arguments_.of(line_), "\n", out.finish()});
  }

  /// The decisions that may be taken. Holds those of all these records, which are of one family. @pre !family.empty()
  [[nodiscard]] static tileseek::space<configuration> space_of(std::span<const metaschedule_record* const> family) {
    tileseek::space<configuration> out;
    const metaschedule_record& first = *family.front();
    for (std::size_t i = 0; i < first.decisions_.size(); ++i) {
      const decision& d = first.decisions_[i];
      if (d.kind == kinds::tile) {
        out.tile(d.name(), d.extent(), d.factors.size());
        std::int64_t innermost = d.limit;
        for (const auto* r : family) innermost = std::max(innermost, r->decisions_[i].factors.back());
        if (d.limit > 0 && d.factors.size() > 1)
          out.where(
              detail::concat({"the innermost factor of ", d.name(), " is at most ", innermost}),
              [innermost](std::int64_t f) { return f <= innermost; }, factor(d.name(), d.factors.size() - 1));
        continue;
      }
      domain<value> choices{{}, true};
      for (const auto* r : family)
        for (const auto& v : r->decisions_[i].candidates) {
          choices.ordered = choices.ordered && std::holds_alternative<std::int64_t>(v.get());
          if (std::find(choices.values.begin(), choices.values.end(), v) == choices.values.end())
            choices.values.push_back(v);
        }
      out.add(d.name(), choices);
    }
    return out.starts_at(first.values());
  }
  [[nodiscard]] tileseek::space<configuration> space() const {
    const metaschedule_record* const self = this;
    return space_of({&self, 1});
  }

  [[nodiscard]] configuration values_in(const tileseek::space<configuration>& /*space*/) const { return values(); }

  /// The decisions taken.
  [[nodiscard]] configuration values() const {
    configuration out;
    for (const auto& d : decisions_) out.set(d.name(), d.own());
    return out;
  }

  /// The record with these decisions in place of its own, and without what was derived from those. Its result is still the
  /// old one: see with_result().
  /// @throws std::out_of_range      a decision is missing
  /// @throws std::invalid_argument  one is not among the candidates, or has not as many factors as it needs
  [[nodiscard]] metaschedule_record with(const configuration& c) const {
    detail::text_edits out(line_);
    for (const auto& [range, text] : changes([&](const decision& d) { return d.text(c[d.name()]); }))
      out.replace(range, text);
    return metaschedule_record(out.finish(), workloads_, options_);
  }

  /// The record with this result. Failures have a run time of 1e10 s, as TVM writes them.
  [[nodiscard]] metaschedule_record with_result(const measurement& m) const {
    const auto costs = detail::tvm_costs(m);
    detail::text_edits out(line_);
    out.replace(seconds_, costs.empty() ? "[10000000000]" : detail::json_list(costs));
    return metaschedule_record(out.finish(), workloads_, options_);
  }

 private:
  enum class kinds { tile, choice, annotation };

  /// One that is a coordinate.
  struct decision {
    kinds kind = kinds::tile;
    std::size_t instruction = 0;
    detail::text_range at;  ///< of what is replaced: the list of factors, the index, the annotation's number
    std::vector<std::int64_t> factors;  ///< of a tile
    std::int64_t limit = 0;             ///< of a tile's innermost factor; 0: none
    std::vector<value> candidates;      ///< of a choice, by index; of an annotation, all its values
    std::size_t index = 0;              ///< of what was chosen

    [[nodiscard]] std::string name() const {
      constexpr const char* words[] = {"tile", "choice", "annotation"};
      return detail::concat({words[static_cast<std::size_t>(kind)], instruction});
    }
    [[nodiscard]] std::int64_t extent() const {
      std::int64_t product = 1;
      for (const auto f : factors) product *= f;
      return product;
    }
    [[nodiscard]] value own() const { return kind == kinds::tile ? value(factors) : candidates[index]; }

    [[nodiscard]] std::string text(const value& v) const {
      if (kind == kinds::annotation) return detail::concat({v.as<std::int64_t>()});
      if (kind == kinds::choice) {
        if (v == own()) return detail::concat({index});  // of two equal candidates the one that was chosen
        const auto found = std::find(candidates.begin(), candidates.end(), v);
        if (found == candidates.end())
          detail::fail<std::invalid_argument>(
              {"metaschedule_record: ", to_string(v), " is no candidate of '", name(), "'"});
        return detail::concat({found - candidates.begin()});
      }
      const auto wanted = v.as<std::vector<std::int64_t>>();
      if (wanted.size() != factors.size())
        detail::fail<std::invalid_argument>(
            {"metaschedule_record: ", to_string(v), " for '", name(), "', which has ", factors.size(), " factors"});
      std::string out = "[";
      for (const auto f : wanted) detail::append(out, {out.size() > 1 ? "," : "", f});
      return out += ']';
    }
  };

  /// What is known of an instruction when decisions are read.
  struct instruction {
    std::string_view kind;
    detail::text_range inputs, attributes;
  };

  /// What is replaced by what, in the order of the line: the decisions by text(decision), the postprocessing by nothing.
  template <class Text>
  [[nodiscard]] std::vector<std::pair<detail::text_range, std::string>> changes(const Text& text) const {
    std::vector<std::pair<detail::text_range, std::string>> out;
    if (postprocessed()) out.emplace_back(postprocessing_, "");
    for (const auto& d : decisions_) out.emplace_back(d.at, text(d));
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.first.begin < b.first.begin; });
    return out;
  }

  void read() {
    detail::json_cursor c(line_);
    std::size_t items = 0;
    c.list("a record, [workload, [trace, run times, target, arguments]]", [&](std::size_t i) {
      ++items;
      if (i == 0)
        read_workload(c);
      else if (i == 1)
        read_body(c);
      else
        c.skip();
    });
    c.end();
    if (items < 2) c.expected("a workload's number and a record before here");
  }

  void read_workload(detail::json_cursor& c) {
    static_cast<void>(c.peek());
    const std::size_t begin = c.at();
    const std::int64_t number = c.integer("the number of a workload");
    workload_ = static_cast<std::size_t>(number);
    if (number < 0 || workload_ >= workloads_) {
      const detail::json_cursor at(line_, begin);
      at.expected("the number of one of the workloads");
    }
  }

  void read_body(detail::json_cursor& c) {
    std::size_t items = 0;
    c.list("[trace, run times, target, arguments]", [&](std::size_t i) {
      ++items;
      static_cast<void>(c.peek());
      const std::size_t begin = c.at();
      if (i == 0) {
        read_trace(c);
        trace_ = {begin, c.at()};
      } else if (i == 1) {
        if (c.peek() == 'n')
          c.skip();
        else
          static_cast<void>(c.numbers("run times"));
        seconds_ = {begin, c.at()};
      } else if (i == 2) {
        target_ = c.skip();
      } else if (i == 3) {
        arguments_ = c.skip();
      } else {
        c.skip();
      }
    });
    if (items < 4) c.expected("a trace, run times, a target and arguments before here");
  }

  void read_trace(detail::json_cursor& c) {
    std::vector<instruction> instructions;
    std::size_t items = 0;
    c.list("a trace, [instructions, decisions]", [&](std::size_t i) {
      ++items;
      if (i == 0)
        read_instructions(c, instructions);
      else if (i == 1)
        c.list("a list of decisions", [&](std::size_t) { read_decision(c, instructions); });
      else
        c.skip();
    });
    if (items < 2) c.expected("instructions and decisions before here");
  }

  void read_instructions(detail::json_cursor& c, std::vector<instruction>& out) {
    std::size_t end = c.at();  // of the instruction before
    c.list("a list of instructions", [&](std::size_t n) {
      static_cast<void>(c.peek());
      const std::size_t begin = n == 0 ? c.at() : end;
      instruction one;
      std::size_t items = 0;
      c.list("an instruction, [kind, inputs, attributes, outputs]", [&](std::size_t i) {
        ++items;
        if (i == 0)
          one.kind = c.string("an instruction's kind").of(line_);
        else if (i == 1)
          one.inputs = c.skip();
        else if (i == 2)
          one.attributes = c.skip();
        else
          c.skip();
      });
      if (items < 3) c.expected("a kind, inputs and attributes before here");
      if (one.kind == "\"EnterPostproc\"") derived_from_ = std::min(derived_from_, n);
      if (n == derived_from_) postprocessing_.begin = begin;
      end = c.at();
      if (n >= derived_from_) postprocessing_.end = end;
      if (options_.annotations && n < derived_from_ && one.kind == "\"Annotate\"") read_annotation(one, n);
      out.push_back(one);
    });
  }

  /// Annotate takes [block, value] and the attribute [name].
  void read_annotation(const instruction& one, std::size_t n) {
    const auto name = one.attributes.of(line_);
    bool known = false;
    for (const char* word : {"meta_schedule.parallel", "meta_schedule.vectorize", "meta_schedule.unroll_explicit"})
      known = known || name == detail::concat({"[\"", word, "\"]"});
    if (!known) return;
    decision d;
    d.kind = kinds::annotation;
    d.instruction = n;
    detail::json_cursor c(line_, one.inputs.begin);
    bool number = false;
    c.list("inputs", [&](std::size_t i) {
      const char next = c.peek();
      const std::size_t begin = c.at();
      if (i != 1 || next < '0' || next > '9') {
        c.skip();
        return;
      }
      const std::int64_t own = c.integer("a number");
      d.at = {begin, c.at()};
      number = own >= 1 && own <= std::numeric_limits<std::int32_t>::max();
      for (const std::int64_t by : {4, 2})
        if (own % by == 0) d.candidates.push_back(value(own / by));
      d.index = d.candidates.size();
      for (const std::int64_t by : {1, 2, 4}) d.candidates.push_back(value(number ? own * by : own));
    });
    if (number) decisions_.push_back(std::move(d));
  }

  /// [instruction, value]
  void read_decision(detail::json_cursor& c, const std::vector<instruction>& instructions) {
    decision d;
    bool coordinate = false;
    std::size_t items = 0;
    c.list("a decision, [instruction, value]", [&](std::size_t i) {
      ++items;
      static_cast<void>(c.peek());
      const std::size_t begin = c.at();
      if (i == 0) {
        const std::int64_t n = c.integer("the number of an instruction");
        d.instruction = static_cast<std::size_t>(n);
        if (n < 0 || d.instruction >= std::min(instructions.size(), derived_from_)) {
          const detail::json_cursor at(line_, begin);
          at.expected("the number of an instruction that decides something");
        }
      } else if (i == 1) {
        const instruction& made = instructions[d.instruction];
        if (made.kind == "\"SamplePerfectTile\"") {
          d.factors = c.integers("the factors of a tile");
          d.limit = innermost_limit(made);
          coordinate = sensible(d.factors);
        } else if (made.kind == "\"SampleCategorical\"") {
          d.kind = kinds::choice;
          d.candidates = candidates(made);
          const std::int64_t chosen = c.integer("the index of a candidate");
          d.index = static_cast<std::size_t>(chosen);
          if (chosen < 0 || d.index >= d.candidates.size()) {
            const detail::json_cursor at(line_, begin);
            at.expected("the index of one of the candidates");
          }
          coordinate = true;
        } else {
          c.skip();
        }
        d.at = {begin, c.at()};
      } else {
        c.skip();
      }
    });
    if (items < 2) c.expected("an instruction and a value before here");
    for (const auto& other : decisions_)
      if (coordinate && other.kind == d.kind && other.instruction == d.instruction)
        c.expected(detail::concat({"one decision on instruction ", d.instruction, " before here"}));
    if (coordinate) decisions_.push_back(std::move(d));
  }

  /// SamplePerfectTile has the attributes [n, max_innermost_factor].
  [[nodiscard]] std::int64_t innermost_limit(const instruction& made) const {
    detail::json_cursor c(line_, made.attributes.begin);
    std::int64_t limit = 0;
    c.list("attributes", [&](std::size_t i) {
      if (i == 1)
        limit = c.integer("the largest innermost factor");
      else
        c.skip();
    });
    return std::max<std::int64_t>(limit, 0);
  }

  /// SampleCategorical has the attributes [candidates, probabilities].
  [[nodiscard]] std::vector<value> candidates(const instruction& made) const {
    std::vector<value> out;
    detail::json_cursor c(line_, made.attributes.begin);
    c.list("attributes", [&](std::size_t i) {
      if (i != 0) {
        c.skip();
        return;
      }
      c.list("candidates", [&](std::size_t) {
        const auto text = c.skip().of(line_);
        const auto j = nlohmann::json::parse(text, nullptr, false);
        const bool whole = j.is_number_integer() && j.get<std::int64_t>() == j;
        out.push_back(whole ? value(j.get<std::int64_t>()) : value(text));
      });
    });
    return out;
  }

  /// Whether all are positive, and their product is the extent of a loop.
  [[nodiscard]] static bool sensible(const std::vector<std::int64_t>& factors) {
    std::int64_t product = 1;
    for (const auto f : factors) {
      if (f < 1 || f > std::numeric_limits<std::int32_t>::max() / product) return false;
      product *= f;
    }
    return product > 1 && factors.size() <= 8;
  }

  std::string line_;
  std::size_t workloads_;
  metaschedule_options options_;
  std::size_t workload_ = 0;
  detail::text_range trace_, seconds_, target_, arguments_;
  std::size_t derived_from_ = std::numeric_limits<std::size_t>::max();  ///< number of EnterPostproc
  detail::text_range postprocessing_;  ///< from the comma before EnterPostproc to the end of the last instruction
  std::vector<decision> decisions_;
};

}  // namespace tileseek
