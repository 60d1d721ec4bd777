#pragma once
// Records of Ansor, TVM's auto-scheduler (v0.6 and before): read, searched around, written back.
//
//   std::ifstream file("conv2d.json");
//   tileseek::record_reader<tileseek::ansor_record> log(file, "conv2d.json");
//   const auto record = log.next();
//   const auto space = record->space();                       // the tile sizes of this schedule
//   const auto next = record->with(space.sample(random));     // the same schedule with other tile sizes
//   out << next.line() << '\n';
//
// A line is {"i": [TASK, [STAGES, STEPS]], "r": [COSTS, ERROR, ALL_COST, TIMESTAMP], "v": "v0.6"}. A record keeps its line,
// and a changed record is its line with the changed numbers replaced: all else stays, byte by byte, whoever wrote it.
//
// Coordinates are the split steps ["SP", stage, loop, extent, [lengths], 1], which cut a loop of the kernel into tiles; the
// lengths are the inner factors, the outermost is what is left. Such a step becomes a tile axis "spN" (N: its number among
// the steps, from 0), which moves in both views of a lattice; the inclusive view is the paper's, where the step of a
// thread-block's tile keeps the tile of a thread. If the lengths do not divide the extent, TVM rounds up and guards the
// rest: then the axis is loose: each length is a coordinate of its own, "spN[1]", ..., over the divisors of the extent and
// what the records have. Left alone are
//   * splits of an extent of 1 or of an unknown one (0), and those written from the outside in (last number 0);
//   * splits of a fused loop (cooperative fetching and its vectors): their extent follows from other steps, and TVM
//     derives it again when it replays the record;
//   * all other steps; steps that follow a split (FSP, FFSP) take its new lengths by themselves.
// The unroll pragma ["PR", stage, loop, "auto_unroll_max_step$512"] becomes a coordinate "unrollN" on request only.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tileseek/core/format.hpp>
#include <tileseek/core/measurement.hpp>
#include <tileseek/record/detail/json_text.hpp>
#include <tileseek/record/detail/tvm.hpp>
#include <tileseek/record/reader.hpp>
#include <tileseek/record/recording.hpp>
#include <tileseek/space/configuration.hpp>
#include <tileseek/space/domain.hpp>
#include <tileseek/space/space.hpp>

namespace tileseek {

struct ansor_options {
  /// Values of the unroll pragma to choose from, beside what a record has; none: the pragma stays as it is. Ansor tries 0,
  /// 16, 64 and 512 on a CPU, and 1024 as well on a GPU.
  std::vector<std::int64_t> unroll = {};
};

/// One line of an Ansor log.
class ansor_record {
 public:
  /// A split step.
  struct split {
    std::size_t step = 0;  ///< its number among all steps
    std::int64_t stage = 0;
    std::int64_t loop = 0;
    std::int64_t extent = 0;            ///< 0: unknown
    std::vector<std::int64_t> lengths;  ///< the inner factors, outermost first
    bool movable = false;               ///< whether it is a coordinate
    std::size_t at = 0;                 ///< of the list of lengths in the line

    [[nodiscard]] std::string name() const { return detail::concat({"sp", step}); }
    /// Of a loose axis' coordinate, l from 0.
    [[nodiscard]] std::string name(std::size_t l) const { return detail::concat({"sp", step, "[", l + 1, "]"}); }
    [[nodiscard]] bool divides() const {
      std::int64_t left = extent;
      for (const auto f : lengths) {
        if (f < 1 || left % f != 0) return false;
        left /= f;
      }
      return true;
    }
  };

  /// @throws detail::mismatch  the line is no record; record_reader adds file and line
  explicit ansor_record(std::string line, ansor_options options = {})
      : line_(std::move(line)), options_(std::move(options)) {
    read();
  }

  /// As it was read; a changed record is the line with the changes.
  [[nodiscard]] const std::string& line() const noexcept { return line_; }

  /// The kernel and its shape, as in the log: ["matmul", 1000, 800, 700, "float32"]
  [[nodiscard]] std::string task() const { return detail::json_cursor(line_, workload_.begin).text("a workload"); }
  [[nodiscard]] std::string target() const { return detail::json_cursor(line_, target_.begin).text("a target"); }
  /// TASK as text: records of the same task on the same target have the same.
  [[nodiscard]] std::string_view task_text() const { return task_.of(line_); }
  [[nodiscard]] std::string version() const { return detail::json_cursor(line_, version_.begin).text("a version"); }

  [[nodiscard]] measurement result() const {
    detail::json_cursor c(line_, result_.begin);
    return detail::read_tvm_result(c);
  }

  /// All split steps, in their order.
  [[nodiscard]] const std::vector<split>& splits() const noexcept { return splits_; }

  /// Records with the same family differ in the values of one space, in what TVM derives from them (the extents of fused
  /// loops), and in nothing else but their results.
  [[nodiscard]] std::string family() const {
    auto blank = derived_;
    for (const auto& n : numbers([](const std::string&) { return false; })) blank.push_back(n.at);
    std::sort(blank.begin(), blank.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
    detail::text_edits out(input_.of(line_));
    for (const auto& at : blank) out.replace({at.begin - input_.begin, at.end - input_.begin}, "#");
    return out.finish();
  }

  /// The tile sizes that the schedule may have. Holds those of all these records, which are of one family. An axis that
  /// some of them do not divide is loose.
  /// @pre !family.empty()
  [[nodiscard]] static tileseek::space<configuration> space_of(std::span<const ansor_record* const> family) {
    tileseek::space<configuration> out;
    const ansor_record& first = *family.front();
    for (std::size_t i = 0; i < first.splits_.size(); ++i) {
      if (!first.splits_[i].movable) continue;
      const bool tile = std::all_of(family.begin(), family.end(), [i](auto* r) { return r->splits_[i].divides(); });
      if (tile)
        out.tile(first.splits_[i].name(), first.splits_[i].extent, first.splits_[i].lengths.size() + 1);
      else
        add_loose(out, family, i);
    }
    for (std::size_t i = 0; i < first.unrolls_.size(); ++i) {
      auto choices = first.options_.unroll;
      for (const auto* r : family) choices.push_back(r->unrolls_[i].value);
      out.add(first.unrolls_[i].name(), tileseek::values(distinct(std::move(choices))));
    }
    out.starts_at(first.values_in(out));
    return out;
  }
  [[nodiscard]] tileseek::space<configuration> space() const {
    const ansor_record* const self = this;
    return space_of({&self, 1});
  }

  /// Where this record is in a space of its family.
  [[nodiscard]] configuration values_in(const tileseek::space<configuration>& space) const {
    const auto names = space.names();
    configuration out;
    for (const auto& s : splits_) {
      if (!s.movable) continue;
      if (std::find(names.begin(), names.end(), s.name()) == names.end()) {
        for (std::size_t l = 0; l < s.lengths.size(); ++l) out.set(s.name(l), value(s.lengths[l]));
        continue;
      }
      std::vector<std::int64_t> factors(1, s.extent);
      for (const auto f : s.lengths) factors[0] /= f;
      factors.insert(factors.end(), s.lengths.begin(), s.lengths.end());
      out.set(s.name(), value(std::move(factors)));
    }
    for (const auto& u : unrolls_) out.set(u.name(), value(u.value));
    return out;
  }

  /// The record with these values in place of its own. Its result is still the old one: see with_result().
  /// @throws std::out_of_range      a coordinate is missing
  /// @throws std::invalid_argument  one is not a number, or has not as many factors as its axis has levels
  [[nodiscard]] ansor_record with(const configuration& c) const {
    detail::text_edits out(line_);
    for (const auto& n : numbers([&](const std::string& axis) { return c.contains(axis); })) {
      if (n.level == 0) {
        out.replace(n.at, detail::concat({c[n.name].as<std::int64_t>()}));
        continue;
      }
      const auto factors = c[n.name].as<std::vector<std::int64_t>>();
      if (factors.size() != n.levels)
        detail::fail<std::invalid_argument>({"ansor_record: ", to_string(c[n.name]), " for the tile axis '", n.name,
                                             "', which has ", n.levels, " levels"});
      out.replace(n.at, detail::concat({factors[n.level]}));
    }
    return ansor_record(out.finish(), options_);
  }

  /// The record with this result. Failures carry the cost 1e10, as TVM writes them.
  /// @param all_cost   seconds spent on the measurement, building included
  /// @param timestamp  seconds since 1970
  [[nodiscard]] ansor_record with_result(const measurement& m, double all_cost = 0, std::int64_t timestamp = 0) const {
    detail::text_edits out(line_);
    out.replace(result_,
                detail::concat({"[", detail::tvm_result_text(m, "1e+10"), ", ", all_cost, ", ", timestamp, "]"}));
    return ansor_record(out.finish(), options_);
  }

 private:
  struct unroll {
    std::size_t step;
    std::int64_t value;
    detail::text_range at;  ///< of the number
    [[nodiscard]] std::string name() const { return detail::concat({"unroll", step}); }
  };
  /// A number in the line that is a coordinate.
  struct number {
    std::string name;
    std::size_t level;   ///< of a tile axis; 0: a coordinate of its own
    std::size_t levels;  ///< of a tile axis
    detail::text_range at;
  };

  /// In the order of the line. @param is_tile  whether the axis of this name is a tile axis or loose
  template <class IsTile>
  [[nodiscard]] std::vector<number> numbers(const IsTile& is_tile) const {
    std::vector<number> out;
    for (const auto& s : splits_) {
      if (!s.movable) continue;
      const bool tile = is_tile(s.name());
      detail::json_cursor c(line_, s.at);
      c.list("lengths", [&](std::size_t l) {
        std::int64_t unused = 0;
        const auto at = integer(c, "a length", unused);
        out.push_back({tile ? s.name() : s.name(l), tile ? l + 1 : 0, s.lengths.size() + 1, at});
      });
    }
    for (const auto& u : unrolls_) out.push_back({u.name(), 0, 0, u.at});
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.at.begin < b.at.begin; });
    return out;
  }

  [[nodiscard]] static std::vector<std::int64_t> distinct(std::vector<std::int64_t> v) {
    std::sort(v.begin(), v.end());
    v.erase(std::unique(v.begin(), v.end()), v.end());
    return v;
  }

  static void add_loose(tileseek::space<configuration>& out, std::span<const ansor_record* const> family,
                        std::size_t i) {
    const split& s = family.front()->splits_[i];
    std::int64_t largest = s.extent;  // tile: the loop, or what a record has
    for (std::size_t l = 0; l < s.lengths.size(); ++l) {
      auto sizes = tileseek::divisors(s.extent).values;
      for (const auto* r : family) sizes.push_back(r->splits_[i].lengths[l]);
      out.add(s.name(l), tileseek::values(distinct(std::move(sizes))));
    }
    for (const auto* r : family) {
      std::int64_t tile = 1;
      for (const auto f : r->splits_[i].lengths) tile *= f;
      largest = std::max(largest, tile);
    }
    if (s.lengths.size() == 2) limit_tile(out, s, largest, std::make_index_sequence<2>{});
    if (s.lengths.size() == 3) limit_tile(out, s, largest, std::make_index_sequence<3>{});
    if (s.lengths.size() == 4) limit_tile(out, s, largest, std::make_index_sequence<4>{});
  }

  template <std::size_t... L>
  static void limit_tile(tileseek::space<configuration>& out, const split& s, std::int64_t largest,
                         std::index_sequence<L...> /*levels*/) {
    out.where(
        detail::concat({"the tile of ", s.name(), " is no larger than its loop"}),
        [largest](const auto&... lengths) {
          std::int64_t left = largest;
          ((left /= lengths.template as<std::int64_t>()), ...);
          return left >= 1;
        },
        s.name(L)...);
  }

  void read() {
    detail::json_cursor c(line_);
    c.object("a record, which begins with '{'", [&](std::string_view key) {
      static_cast<void>(c.peek());
      const std::size_t begin = c.at();
      if (key == "i") {
        read_input(c);
        input_ = {begin, c.at()};
      } else if (key == "r") {
        static_cast<void>(detail::read_tvm_result(c));
        result_ = {begin, c.at()};
      } else if (key == "v") {
        version_ = c.string("a version such as \"v0.6\"");
      } else {
        skip_extra(c);
      }
    });
    c.end();
    if (input_.end == 0) c.expected("an input, \"i\", in the record");
    if (result_.end == 0) c.expected("a result, \"r\", in the record");
    if (version_.end == 0) c.expected("a version, \"v\", in the record");
    if (!version_.of(line_).starts_with("\"v0.")) {
      detail::json_cursor at(line_, version_.begin);
      at.expected("a version such as \"v0.6\"");
    }
  }

  /// The artifact of dynamic gradient descent adds its model's score, which may be "nan" without quotes.
  static void skip_extra(detail::json_cursor& c) {
    static_cast<void>(c.accept('-'));
    if (c.accept('n')) {
      if (c.accept('a') && c.accept('n')) return;
      if (c.accept('u') && c.accept('l') && c.accept('l')) return;
      c.expected("a value");
    }
    c.skip();
  }

  void read_input(detail::json_cursor& c) {
    has_state_ = false;  // a second input, as JSON allows, replaces the first
    splits_.clear();
    derived_.clear();
    unrolls_.clear();
    c.list("the input, [task, state]", [&](std::size_t i) {
      static_cast<void>(c.peek());
      const std::size_t begin = c.at();
      if (i == 0) {
        std::size_t items = 0;
        c.list("a task", [&](std::size_t k) {
          ++items;
          if (k == 0)
            workload_ = c.string("a workload key");
          else if (k == 1)
            target_ = c.string("a target");
          else
            c.skip();
        });
        if (items < 3) c.expected("a task of at least a workload key, a target and hardware parameters before here");
        task_ = {begin, c.at()};
      } else if (i == 1) {
        bool any = false;
        c.list("a state, [stages, steps]", [&](std::size_t k) {
          if (k != 1) {
            c.skip();
            return;
          }
          any = true;
          read_steps(c);
        });
        if (!any) c.expected("the steps of a state before here");
        has_state_ = true;
      } else {
        c.skip();
      }
    });
    if (!has_state_) c.expected("a state after the task");
  }

  void read_steps(detail::json_cursor& c) {
    std::vector<std::pair<std::int64_t, std::int64_t>> fused;  // stage and loop
    c.list("a list of steps", [&](std::size_t step) {
      std::string_view kind;
      split s;
      std::int64_t stage = 0;
      detail::text_range extent;
      bool inner_to_outer = false;
      std::size_t items = 0;
      c.list("a step", [&](std::size_t k) {
        items = k + 1;
        if (k == 0) {
          kind = c.string("a step's kind").of(line_);
        } else if (kind == "\"SP\"" && k <= 5) {
          if (k == 1) s.stage = c.integer("a stage");
          if (k == 2) s.loop = c.integer("a loop");
          if (k == 3) extent = integer(c, "an extent", s.extent);
          if (k == 4) {
            static_cast<void>(c.peek());
            s.at = c.at();
            s.lengths = c.integers("the lengths of a split");
          }
          if (k == 5) inner_to_outer = c.integer("1 or 0") == 1;
        } else if (kind == "\"FU\"" && k == 1) {
          stage = c.integer("a stage");
        } else if (kind == "\"FU\"" && k == 2) {
          const auto loops = c.integers("the loops to fuse");
          if (!loops.empty()) fused.emplace_back(stage, loops.front());
        } else if (kind == "\"PR\"" && k == 3) {
          read_pragma(c, step);
        } else {
          c.skip();
        }
      });
      if (kind.empty()) c.expected("a step's kind before here");
      if (kind != "\"SP\"") return;
      if (items < 6) c.expected("a split of 6 parts before here");
      s.step = step;
      const bool of_fused = std::find(fused.begin(), fused.end(), std::pair(s.stage, s.loop)) != fused.end();
      if (of_fused) derived_.push_back(extent);
      s.movable = s.extent > 1 && s.extent <= largest_extent && inner_to_outer && !s.lengths.empty() &&
                  s.lengths.size() <= most_lengths && sensible(s) && !of_fused;
      splits_.push_back(std::move(s));
    });
  }

  /// Reads an integer. @return where it is
  static detail::text_range integer(detail::json_cursor& c, const char* what, std::int64_t& out) {
    static_cast<void>(c.peek());
    const std::size_t begin = c.at();
    out = c.integer(what);
    return {begin, c.at()};
  }

  /// Whether all lengths are positive and their product is not out of all proportion.
  [[nodiscard]] static bool sensible(const split& s) {
    std::int64_t product = 1;
    for (const auto f : s.lengths) {
      if (f < 1 || f > largest_extent / product) return false;
      product *= f;
    }
    return true;
  }

  void read_pragma(detail::json_cursor& c, std::size_t step) {
    constexpr std::string_view unrolling = "\"auto_unroll_max_step$";
    const auto quoted = c.string("a pragma");
    if (options_.unroll.empty() || !quoted.of(line_).starts_with(unrolling)) return;
    const detail::text_range digits{quoted.begin + unrolling.size(), quoted.end - 1};
    detail::json_cursor inside(std::string_view(line_).substr(0, digits.end), digits.begin);
    const std::int64_t steps = inside.integer("a number of steps to unroll");
    inside.end("the end of the pragma");
    unrolls_.push_back({step, steps, digits});
  }

  // TVM counts loops in 32 bits, and cuts one into at most 4 parts by itself.
  static constexpr std::int64_t largest_extent = std::numeric_limits<std::int32_t>::max();
  static constexpr std::size_t most_lengths = 7;

  std::string line_;
  ansor_options options_;
  detail::text_range input_, task_, workload_, target_, result_, version_;
  bool has_state_ = false;
  std::vector<split> splits_;
  std::vector<detail::text_range> derived_;  ///< extents of fused loops
  std::vector<unroll> unrolls_;
};

}  // namespace tileseek
