#pragma once
// What happens in a run of several tasks as JSON lines, for programs that watch: dashboards, notebooks, services. Needs
// nlohmann_json, and is therefore included by name.
//
//   tasks_options o;
//   o.observers = {tileseek::task_events("events.jsonl")};
//
// {"event":"start","tasks":[{"id":0,"name":...,"flop":...,"weight":...},...],"trial_limit":...,"second_limit":...}
// {"event":"turn","id":0,"name":...,"seconds":...,"gflops":...,"weighted_seconds":...,"trials":...,"replayed":...,
//  "failed":...,"best":...,"done":...,"total":{...}}                      after each turn: the task whose turn it was
// {"event":"end","stopped":...,"tasks":[{as in turn},...],"total":{"trials":...,"replayed":...,"failed":...,
//  "weighted_seconds":...,"without_result":[names],"elapsed":...,"seconds_left":...}}
//
// What is unknown is null. "done" says why the task has no more turns. A resumed run repeats the turns of its log.

#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>

#include <nlohmann/json.hpp>

#include <tileseek/core/format.hpp>
#include <tileseek/report/task_table.hpp>

namespace tileseek {

/// An observer of tune_tasks() that writes each event as a line, out of this process when it returns. Copies share the
/// file. It serves one run.
class task_events {
 public:
  /// @param path  what was there is lost
  /// @throws std::runtime_error  it cannot be written
  explicit task_events(const std::string& path) : file_(std::fopen(path.c_str(), "wb"), closer{true}), name_(path) {
    if (!file_)
      detail::fail<std::runtime_error>(
          {"task_events: '", path, "' cannot be written: ", std::generic_category().message(errno)});
  }
  /// @param to  stays the caller's
  explicit task_events(std::FILE* to) : file_(to, closer{false}), name_("the stream") {}

  /// Never asks to stop.
  /// @throws std::runtime_error  it cannot be written
  [[gnu::cold]] bool operator()(const tasks_progress& p) {
    if (!*started_) {
      json start{{"event", "start"}, {"tasks", json::array()}};
      for (std::size_t i = 0; i < p.tasks.size(); ++i)
        start["tasks"].push_back({{"id", i},
                                  {"name", p.tasks[i].name},
                                  {"flop", known(p.tasks[i].flop > 0, p.tasks[i].flop)},
                                  {"weight", p.tasks[i].weight}});
      start["trial_limit"] = p.trial_limit ? json(*p.trial_limit) : json(nullptr);
      start["second_limit"] = known(std::isfinite(p.second_limit), p.second_limit);
      put(start);
      *started_ = true;
    }
    json event;
    if (p.turn) {
      event["event"] = "turn";
      event.update(to_json(p.tasks[*p.turn], *p.turn));
    } else {
      event["event"] = "end";
      event["stopped"] = to_string(p.stopped);
      event["tasks"] = json::array();
      for (std::size_t i = 0; i < p.tasks.size(); ++i) event["tasks"].push_back(to_json(p.tasks[i], i));
    }
    json& total = event["total"];
    total["trials"] = p.trials;
    total["replayed"] = p.replayed();
    total["failed"] = detail::sum(p.tasks, &task_row::failed);
    total["weighted_seconds"] = detail::weighted_seconds(p.tasks);
    total["without_result"] = json::array();
    for (const auto& r : p.tasks)
      if (!r.valid()) total["without_result"].push_back(r.name);
    total["elapsed"] = p.seconds;
    const double left = p.seconds_left();
    total["seconds_left"] = known(left > 0, left);
    put(event);
    return false;
  }

 private:
  using json = nlohmann::ordered_json;

  struct closer {
    bool owns = true;
    void operator()(std::FILE* f) const noexcept {
      if (owns && f != nullptr) std::fclose(f);
    }
  };

  [[nodiscard]] static json known(bool is, double x) { return is ? json(x) : json(nullptr); }

  [[nodiscard]] static json to_json(const task_row& r, std::size_t id) {
    return {{"id", id},
            {"name", r.name},
            {"seconds", known(r.valid(), r.seconds)},
            {"gflops", known(r.gflops() > 0, r.gflops())},
            {"weighted_seconds", known(r.valid(), r.weighted_seconds())},
            {"trials", r.trials},
            {"replayed", r.replayed},
            {"failed", r.failed},
            {"best", r.valid() ? json(r.best) : json(nullptr)},
            {"done", r.done() ? json(to_string(r.stopped)) : json(nullptr)}};
  }

  void put(const json& line) {
    const auto text = line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
    if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size() || std::fflush(file_.get()) != 0)
      detail::fail<std::runtime_error>(
          {"task_events: ", name_, " cannot be written: ", std::generic_category().message(errno)});
  }

  std::shared_ptr<std::FILE> file_;
  std::string name_;
  std::shared_ptr<bool> started_ = std::make_shared<bool>(false);
};

}  // namespace tileseek
