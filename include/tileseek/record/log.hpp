#pragma once
// The log of a run as JSON lines: append-only, flushed after every result, read back to resume. Needs nlohmann_json,
// and is therefore included by name:
//
//   #include <tileseek/record/log.hpp>
//   tileseek::tune(space, timed, {.trials = 200, .log = tileseek::log_file("run.jsonl")});
//
// The first line of a run describes it; then one line a trial, in the order finished; then, where there was one, the
// final contest; and a line that says why the run ended. A file may hold several runs of one space, one after another.
// Killed at any moment, the file is whole but for its last line, which is dropped when it is torn.
//
// Several tasks may share a file (tasks_log): then each line names its task.
//
// With options::crashed_after, a second file beside it, run.jsonl.running, names what is being measured: if the run dies,
// the next one knows of what (see session). It is removed when the log is closed.

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#if defined(__unix__) || defined(__APPLE__)
#include <sys/file.h>
#endif

#include <nlohmann/json.hpp>

#include <tileseek/core/format.hpp>
#include <tileseek/core/hash.hpp>
#include <tileseek/core/json.hpp>
#include <tileseek/record/journal.hpp>
#include <tileseek/version.hpp>

namespace tileseek {

/// Of the log's lines. A reader accepts its own schema and all earlier ones.
inline constexpr int log_schema = 1;

namespace detail {

[[nodiscard]] inline std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::string out(32, '\0');
  std::tm parts{};
#if defined(_WIN32)
  gmtime_s(&parts, &now);
#else
  gmtime_r(&now, &parts);
#endif
  out.resize(std::strftime(out.data(), out.size(), "%Y-%m-%dT%H:%M:%SZ", &parts));
  return out;
}

/// Conditions of this machine that the operating system tells for nothing.
[[nodiscard]] inline named_values machine() {
  named_values out;
  std::ifstream cpu("/proc/cpuinfo");
  for (std::string line; std::getline(cpu, line);)
    if (line.starts_with("model name")) {
      const auto colon = line.find(':');
      if (colon != std::string::npos && colon + 2 <= line.size())
        out.emplace_back("cpu", value(line.substr(colon + 2)));
      break;
    }
  std::string governor;
  if (std::getline(std::ifstream("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"), governor))
    out.emplace_back("governor", value(governor));
  double load = 0;
  if (std::ifstream("/proc/loadavg") >> load) out.emplace_back("load", value(load));
  return out;
}

struct file_closer {
  void operator()(std::FILE* f) const noexcept { std::fclose(f); }
};

/// A file of JSON lines that one run writes, for one task or for several: opened and locked when its first user comes, closed
/// when its last one goes. Each line is read once, and given to whom it belongs.
class json_file {
 public:
  struct line {
    std::size_t number;
    json content;
  };

  explicit json_file(std::string path) : path_(std::move(path)) {
    if (path_.empty()) throw std::invalid_argument("log_file: an empty file name");
  }

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] bool is_open() const noexcept { return file_ != nullptr; }
  /// Not a device or a pipe, which are written only.
  [[nodiscard]] bool is_regular() const { return std::filesystem::is_regular_file(path_); }

  void open(std::vector<std::string>& notes) {
    if (users_ == 0) {
#if defined(__unix__) || defined(__APPLE__)
      file_.reset(std::fopen(path_.c_str(), "ab+e"));  // e: a process that a measurer starts must not keep the lock
#else
      file_.reset(std::fopen(path_.c_str(), "ab+"));
#endif
      if (!file_) throw error("cannot be opened for writing: ", std::generic_category().message(errno));
      std::setvbuf(file_.get(), nullptr, _IONBF, 0);
      lock(notes);
      given_.clear();
    }
    ++users_;
  }

  void close() noexcept {
    if (users_ == 0 || --users_ > 0) return;
    file_.reset();
    lines_.clear();
  }

  /// The lines of this task, or all of them where the file has a single one, whose name is empty.
  [[nodiscard]] std::vector<line> take(const std::string& task, std::vector<std::string>& notes) {
    if (given_.empty() || std::find(given_.begin(), given_.end(), task) != given_.end()) {
      read(notes);
      given_.clear();
    }
    given_.push_back(task);
    std::vector<line> out;
    for (auto& l : lines_) {
      if (l.content.is_null()) continue;  // given to another task
      if (task.empty() || l.content.value("task", "") == task) out.push_back(std::exchange(l, {l.number, nullptr}));
    }
    return out;
  }

  /// Cuts off a torn last line, ends one that lacks its end: the lines that were taken are accepted.
  void mend() {
    if (!std::exchange(to_mend_, false)) return;
    if (std::filesystem::file_size(path_) > whole_) std::filesystem::resize_file(path_, whole_);
    if (std::filesystem::file_size(path_) < whole_) write("\n");
  }

  /// One line, out of this process when it returns. Text that is not UTF-8 (a compiler's message) is repaired, not
  /// refused.
  void put(const json& content) {
    if (!file_) throw error("is closed", "");
    write(content.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
  }

  [[nodiscard]] std::runtime_error error(const char* what, const std::string& why) const {
    return std::runtime_error("log '" + path_ + "': " + what + why);
  }
  [[nodiscard]] std::runtime_error error(std::size_t number, const std::string& why) const {
    return std::runtime_error("log '" + path_ + "', line " + std::to_string(number) + ": " + why);
  }

 private:
  /// Keeps other processes from writing the same log: they would measure everything twice.
  void lock([[maybe_unused]] std::vector<std::string>& notes) {
#if defined(__unix__) || defined(__APPLE__)
    // Waits a little: when a tuner is killed, a process that it had forked just then holds its files for a moment.
    bool in_use = true;
    for (int i = 0; i < 20 && in_use; ++i) {
      if (i > 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      if (::flock(::fileno(file_.get()), LOCK_EX | LOCK_NB) == 0) return;
      in_use = errno == EWOULDBLOCK;
    }
    if (in_use) {
      file_.reset();
      throw error("another run is writing it; wait for its end or use another file", "");
    }
    notes.push_back("the file system of the log '" + path_ +
                    "' has no locks: see to it that no other run writes the same file");
#endif
  }

  void read(std::vector<std::string>& notes) {
    lines_.clear();
    whole_ = 0;
    to_mend_ = true;
    std::ifstream in(path_, std::ios::binary);
    std::string text;
    bool any_head = false;
    bool ended = true;  // with a newline
    for (std::size_t number = 1; ended && std::getline(in, text); ++number) {
      ended = !in.eof();
      json j;
      try {
        j = json::parse(text);
      } catch (const json::parse_error& e) {
        // What was being written when the run was killed; of a first line only if it is ours, not somebody else's file.
        if (!ended && (any_head || is_start_of_log(text))) {
          notes.push_back("the last line of the log '" + path_ + "', line " + std::to_string(number) +
                          ", was torn and is dropped");
          break;
        }
        throw error(number, any_head || (!text.empty() && is_start_of_log(text))
                                ? "damaged at its byte " + std::to_string(e.byte) +
                                      "; repair or remove the line, or use another file"
                                : "not a tileseek log; use another file");
      }
      any_head = any_head || (j.is_object() && j.contains("tileseek"));
      if (!any_head) throw error(number, "not a tileseek log; use another file");
      if (!j.is_object()) throw error(number, "neither a run, a trial, a contest nor an end: " + text.substr(0, 80));
      lines_.push_back({number, std::move(j)});
      whole_ += text.size() + 1;
    }
    if (in.bad()) throw error("cannot be read", "");
  }

  /// Whether a line without an end may be the first line of a log.
  [[nodiscard]] static bool is_start_of_log(std::string_view line) {
    constexpr std::string_view start = "{\"tileseek\":\"";
    return line.substr(0, start.size()) == start.substr(0, line.size());
  }

  /// All of it or nothing: half a line would damage the next one.
  void write(const std::string& text) {
    std::error_code none;
    const auto before = std::filesystem::file_size(path_, none);
    if (std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size()) return;
    const int why = errno;
    if (!none) std::filesystem::resize_file(path_, before, none);
    throw error("cannot be written: ", std::generic_category().message(why));
  }

  std::string path_;
  std::unique_ptr<std::FILE, file_closer> file_;  ///< not buffered: a line is out when it is written
  std::size_t users_ = 0;
  std::uint64_t whole_ = 0;         ///< bytes in whole lines, when it was read
  bool to_mend_ = false;            ///< it was read and not written since
  std::vector<line> lines_;         ///< null: given to whom it belongs
  std::vector<std::string> given_;  ///< tasks that have had theirs
};

}  // namespace detail

/// A journal in a file. See log_file() and tasks_log.
class json_log final : public journal {
 public:
  explicit json_log(std::string path) : json_log(std::make_shared<detail::json_file>(std::move(path)), "") {}
  /// @param task  whose lines in the file these are; empty: all of them
  json_log(std::shared_ptr<detail::json_file> file, std::string task)
      : file_(std::move(file)), task_(std::move(task)) {}
  ~json_log() override { close(); }
  json_log(const json_log&) = delete;
  json_log& operator=(const json_log&) = delete;

  [[nodiscard]] journal_content open(const journal_head& head) override {
    close();
    journal_content content;
    file_->open(content.notes);
    open_ = true;
    bool resumed = false;
    const bool regular = file_->is_regular();
    keeps_attempts_ = regular && task_.empty();
    if (regular) {
      if (keeps_attempts_ && std::filesystem::file_size(name()) > 0) read_attempts(content);
      resumed = read(head, content);
      file_->mend();
    }
    if (!resumed) put(line_of(head));
    return content;
  }

  void close() noexcept override {
    if (attempts_) forget_attempts();
    if (std::exchange(open_, false)) file_->close();
  }

  void append(const journal_trial& t) override {
    detail::json line;
    line["configuration"] = detail::to_json(t.configuration);
    line["status"] = to_string(t.result.outcome);
    line["seconds"] = detail::to_json(t.result.seconds);
    line["elapsed"] = t.elapsed;
    if (!t.result.note.empty()) line["note"] = t.result.note;
    put(line);
    if (!suspects_.empty())
      std::erase_if(suspects_, [&t](const auto& s) { return s.configuration == t.configuration; });
  }

  /// Errors are passed over: what matters is the trial's line, and a full disk will show when that is written.
  void attempt(const std::vector<journal_attempt>& a) override {
    if (!keeps_attempts_) return;
    suspects_.clear();
    for (const auto& one : a)
      if (one.deaths > 0) suspects_.push_back(one);
    if (!attempts_) {
#if defined(__unix__) || defined(__APPLE__)
      attempts_.reset(std::fopen(attempts_name().c_str(), "wbe"));
#else
      attempts_.reset(std::fopen(attempts_name().c_str(), "wb"));
#endif
      attempts_size_ = 0;
      if (attempts_) std::setvbuf(attempts_.get(), nullptr, _IONBF, 0);
    }
    if (attempts_) write_attempts(a);
  }

  void append(const journal_contest& c) override {
    detail::json line;
    line["contest"] = detail::json::array();
    line["trials"] = c.trials;
    line["rounds"] = c.rounds;
    line["limit"] = c.limit;
    for (const auto& one : c.contestants) {
      detail::json j;
      if (!one.name.empty()) j["name"] = one.name;
      if (!one.configuration.empty()) j["configuration"] = detail::to_json(one.configuration);
      j["seconds"] = detail::to_json(one.seconds);
      line["contest"].push_back(std::move(j));
    }
    put(line);
  }

  void finish(stop why, double elapsed) override {
    detail::json line;
    line["stopped"] = to_string(why);
    line["elapsed"] = elapsed;
    put(line);
  }

  [[nodiscard]] const std::string& name() const noexcept override { return file_->path(); }

 private:
  /// Takes what is there; true when its last run is the one of `head`, which then goes on.
  [[nodiscard]] bool read(const journal_head& head, journal_content& content) {
    bool same_run = false;
    for (auto& l : file_->take(task_, content.notes)) {
      try {
        if (l.content.contains("tileseek")) {
          same_run = check_head(l.content, head);
          set_aside(content);
        } else if (task_.empty() && l.content.contains("task")) {
          throw std::runtime_error("written by a run of several tasks; use another file");
        } else {
          take(l.content, content);
        }
      } catch (const detail::json::exception& e) {
        throw file_->error(l.number, std::string(e.what()) + "; repair or remove the line, or use another file");
      } catch (const std::runtime_error& e) {
        throw file_->error(l.number, e.what());
      }
    }
    if (!same_run) set_aside(content);
    return same_run;
  }

  /// What was read so far belongs to earlier runs.
  static void set_aside(journal_content& content) {
    for (auto& t : content.trials) content.earlier.push_back(std::move(t));
    content.trials.clear();
    content.contests.clear();
    content.elapsed = 0;
  }

  /// Whether the run described by this line is the same. @throws std::runtime_error  another space, a later schema
  [[nodiscard]] static bool check_head(const detail::json& j, const journal_head& head) {
    if (const int schema = j.at("schema").get<int>(); schema > log_schema)
      throw std::runtime_error("schema " + std::to_string(schema) + " is later than this library's, " +
                               std::to_string(log_schema) + "; use a newer tileseek, or another file");
    const auto& space = j.at("space");
    if (space.at("fingerprint").get<std::string>() != detail::hexadecimal(head.fingerprint))
      throw std::runtime_error("written for another space (parameters " + space.at("parameters").dump() + ", size " +
                               space.at("size").dump() + "); use another file");
    journal_head there;
    there.fingerprint = head.fingerprint;
    there.strategy = j.at("strategy").get<std::string>();
    there.seed = j.at("seed").get<std::uint64_t>();
    there.batch = j.at("batch").get<std::size_t>();
    return there.same_run(head);
  }

  static void take(const detail::json& j, journal_content& content) {
    if (j.contains("configuration")) {
      journal_trial t;
      t.configuration = detail::named_values_of(j.at("configuration"));
      if (!from_string(j.at("status").get<std::string>(), t.result.outcome))
        throw std::runtime_error("unknown status " + j.at("status").dump() + "; repair or remove the line");
      t.result.seconds = detail::seconds_of(j.at("seconds"));
      t.result.note = j.value("note", std::string());
      t.elapsed = j.at("elapsed").get<double>();
      content.elapsed = std::max(content.elapsed, t.elapsed);
      content.trials.push_back(std::move(t));
    } else if (j.contains("contest")) {
      journal_contest c;
      c.trials = j.at("trials").get<std::size_t>();
      c.rounds = j.at("rounds").get<std::size_t>();
      c.limit = j.at("limit").is_null() ? HUGE_VAL : j.at("limit").get<double>();
      for (const auto& one : j.at("contest")) {
        journal_contestant k;
        k.name = one.value("name", std::string());
        if (one.contains("configuration")) k.configuration = detail::named_values_of(one.at("configuration"));
        k.seconds = detail::seconds_of(one.at("seconds"));
        c.contestants.push_back(std::move(k));
      }
      content.contests.push_back(std::move(c));
    } else if (j.contains("stopped")) {
      content.elapsed = std::max(content.elapsed, j.at("elapsed").get<double>());
    } else {
      throw std::runtime_error("neither a run, a trial, a contest nor an end: " + j.dump().substr(0, 80));
    }
  }

  [[nodiscard]] static detail::json line_of(const journal_head& head) {
    detail::json line;
    line["tileseek"] = version_string;
    line["schema"] = log_schema;
    if (!head.task.empty()) line["task"] = head.task;
    line["space"] = {{"fingerprint", detail::hexadecimal(head.fingerprint)},
                     {"size", head.space_size},
                     {"parameters", head.parameters}};
    line["strategy"] = head.strategy;
    line["seed"] = head.seed;
    line["batch"] = head.batch;
    line["started"] = detail::utc_now();
    line["conditions"] = detail::to_json(detail::machine());
    line["conditions"].update(detail::to_json(head.conditions));
    return line;
  }

  void put(detail::json line) {
    if (!open_) throw file_->error("is closed", "");
    if (!task_.empty()) line["task"] = task_;
    file_->put(line);
  }

  [[nodiscard]] std::string attempts_name() const { return name() + ".running"; }

  void read_attempts(journal_content& content) const {
    try {
      std::ifstream in(attempts_name(), std::ios::binary);
      if (!in) return;
      const auto line = detail::json::parse(in);
      for (const auto& one : line.at("running"))
        content.attempts.push_back({detail::named_values_of(one.at("configuration")),
                                    one.value("deaths", std::size_t{0}), !one.value("waiting", false)});
    } catch (const std::exception&) {
      content.attempts.clear();  // torn: it was being written, so that nothing ran
    }
  }

  /// Over what was there before, which is blotted out with spaces where it is longer: one write, and nothing to cut off.
  void write_attempts(const std::vector<journal_attempt>& a) {
    detail::json list = detail::json::array();
    for (const auto& one : a) {
      detail::json j;
      j["configuration"] = detail::to_json(one.configuration);
      if (one.deaths > 0) j["deaths"] = one.deaths;
      if (!one.running) j["waiting"] = true;
      list.push_back(std::move(j));
    }
    detail::json line;
    line["running"] = std::move(list);
    auto text = line.dump(-1, ' ', false, detail::json::error_handler_t::replace);
    attempts_size_ = std::max(attempts_size_, text.size());
    text.resize(attempts_size_, ' ');
    std::rewind(attempts_.get());
    static_cast<void>(std::fwrite(text.data(), 1, text.size(), attempts_.get()));
  }

  /// Nothing runs any more; who was suspected and not measured since stays so.
  void forget_attempts() noexcept {
    try {
      for (auto& s : suspects_) s.running = false;
      if (!suspects_.empty()) write_attempts(suspects_);
    } catch (const std::exception&) {  // no memory: it would have to be suspected anew
      suspects_.clear();
    }
    attempts_.reset();
    std::error_code ignored;
    if (suspects_.empty()) std::filesystem::remove(attempts_name(), ignored);
  }

  std::shared_ptr<detail::json_file> file_;
  std::string task_;
  bool open_ = false;
  bool keeps_attempts_ = false;
  std::unique_ptr<std::FILE, detail::file_closer> attempts_;  ///< open from the first attempt on
  std::size_t attempts_size_ = 0;                             ///< bytes written there at most
  std::vector<journal_attempt> suspects_;  ///< of the last attempt: those with deaths, not finished since
};

/// A log in this file, which is made if there is none: for options::log. A run that finds its own trials in it goes on
/// from them; results of other runs of the same space are told as a warm start.
/// @throws std::invalid_argument  an empty name. Opening, which tune() does, throws std::runtime_error with file and
/// line when
///                                the log is damaged before its last line, belongs to another space, or is in use
[[nodiscard]] inline std::shared_ptr<journal> log_file(std::string path) {
  return std::make_shared<json_log>(std::move(path));
}

/// One file for all tasks of tune_tasks(): for tasks_options::log. Their lines are mixed and name their task, which goes
/// on from its own. options::crashed_after has no effect, which needs a file a task.
///
///   tileseek::tune_tasks(tasks, {.trials = 2000, .log = tileseek::tasks_log("network.jsonl")});
class tasks_log {
 public:
  /// @throws std::invalid_argument  an empty name. For errors in the file see log_file()
  explicit tasks_log(std::string path) : file_(std::make_shared<detail::json_file>(std::move(path))) {}
  /// @param task  its name; not empty
  [[nodiscard]] std::shared_ptr<journal> operator()(const std::string& task) const {
    return std::make_shared<json_log>(file_, task);
  }

 private:
  std::shared_ptr<detail::json_file> file_;
};

}  // namespace tileseek
