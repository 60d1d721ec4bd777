#pragma once
// What every record of another tool becomes: a space, and trials in it. A recording
//   * warms a run up:         options.warm_start = recording.trials
//   * warms a strategy up:    strategy.tell(recording.space.lattice(), recording.told())
//   * trains a cost model:    the same trials through model/features.hpp and model/labels.hpp
//   * stands in for a device: recorded_answers kernel(recording)

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <tileseek/core/format.hpp>
#include <tileseek/core/measurement.hpp>
#include <tileseek/core/point.hpp>
#include <tileseek/core/value.hpp>
#include <tileseek/space/configuration.hpp>
#include <tileseek/space/lattice.hpp>
#include <tileseek/space/space.hpp>

namespace tileseek {

/// Trials of one kernel on one device, in one space.
struct recording {
  std::string task;    ///< kernel and shape, as the tool names them
  std::string device;  ///< target or device, as the tool names it
  tileseek::space<configuration> space;
  std::vector<std::pair<configuration, measurement>> trials;  ///< in the order of the record

  /// The trials as strategies and cost models take them: a configuration measured more than once has all its samples,
  /// and fails only if it never ran. Those outside the space are left out; `outside` says how many there are.
  [[nodiscard]] std::vector<trial> told() const {
    std::vector<trial> out;
    point_index known;
    for (const auto& [c, result] : trials) {
      auto p = space.locate(c);
      if (!p) continue;
      const auto [number, is_new] = known.add(*p);
      if (is_new) {
        out.push_back({std::move(*p), result});
        continue;
      }
      measurement& old = out[number].result;
      if (result.valid() && old.valid())
        old.seconds.insert(old.seconds.end(), result.seconds.begin(), result.seconds.end());
      else if (result.valid())
        old = result;
    }
    return out;
  }

  /// Trials whose configuration is not in the space (a rule refuses it).
  [[nodiscard]] std::size_t outside() const {
    std::size_t n = 0;
    for (const auto& one : trials) n += space.contains(one.first) ? 0U : 1U;
    return n;
  }
};

/// The values that occur in these configurations, in every combination: a space where a record does not say which values
/// there may be.
/// @throws std::out_of_range  a configuration lacks a parameter of the first
[[nodiscard]] inline tileseek::space<configuration> space_of_values(
    std::span<const std::pair<configuration, measurement>> trials) {
  tileseek::space<configuration> out;
  if (trials.empty()) return out;
  for (const auto& [name, unused] : trials.front().first.values()) {
    domain<value> seen{{}, true};
    for (const auto& one : trials) {
      const value& v = one.first[name];
      seen.ordered = seen.ordered && detail::number_of(v).has_value();
      if (std::find(seen.values.begin(), seen.values.end(), v) == seen.values.end()) seen.values.push_back(v);
    }
    out.add(name, seen);
  }
  return out.starts_at(trials.front().first);
}

/// A Measurer that answers from a recording. Its own `lattice()` holds the recorded configurations alone, so that a
/// search in it finds an answer to everything it asks; asked for another one, it says that there is no record of it.
class recorded_answers {
 public:
  /// @throws std::invalid_argument  no trial is in the recording's space
  explicit recorded_answers(const recording& of) : space_(of.space) {
    std::vector<point> points;
    for (auto& t : of.told()) {
      known_.add(t.at);
      points.push_back(std::move(t.at));
      results_.push_back(std::move(t.result));
    }
    if (points.empty())
      detail::fail<std::invalid_argument>(
          {"recorded_answers: the recording of '", of.task, "' has no trial in its space"});
    const auto axes = space_.lattice().axes();
    recorded_ = lattice::of_points({axes.begin(), axes.end()}, std::move(points));
  }

  /// The recorded configurations, on the same coordinates as the recording's space.
  [[nodiscard]] const tileseek::lattice& lattice() const noexcept { return recorded_; }
  [[nodiscard]] std::size_t size() const noexcept { return results_.size(); }

  [[nodiscard]] measurement operator()(const point& p) const {
    const std::size_t i = known_.find(p);
    return i == point_index::none ? failure(status::run_failed, "not in the record") : results_[i];
  }
  [[nodiscard]] std::vector<measurement> measure(std::span<const point> batch) const {
    std::vector<measurement> out;
    for (const auto& p : batch) out.push_back((*this)(p));
    return out;
  }
  [[nodiscard]] std::vector<measurement> measure(std::span<const configuration> batch) const {
    std::vector<measurement> out;
    for (const auto& c : batch) {
      const auto p = space_.locate(c);
      out.push_back((*this)(p ? *p : point{}));
    }
    return out;
  }

 private:
  tileseek::space<configuration> space_;
  tileseek::lattice recorded_;
  point_index known_;
  std::vector<measurement> results_;  ///< by number in known_
};

/// The recordings in a list of records, one for each family: records that differ in nothing but the values of one space.
/// In the order in which the families first appear.
template <class Record>
[[nodiscard]] std::vector<recording> recordings_of(std::span<const Record> records) {
  std::vector<std::vector<const Record*>> families;
  std::map<std::string, std::size_t> place;
  for (const auto& r : records) {
    const auto [at, is_new] = place.try_emplace(r.family(), families.size());
    if (is_new) families.emplace_back();
    families[at->second].push_back(&r);
  }
  std::vector<recording> out;
  for (const auto& family : families) {
    recording one{family.front()->task(), family.front()->target(), Record::space_of(family), {}};
    for (const auto* r : family) one.trials.emplace_back(r->values_in(one.space), r->result());
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace tileseek
