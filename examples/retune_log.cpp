// Goes on where TVM stopped: takes the best record of each task in a log of Ansor, or in the records of MetaSchedule's
// database, and searches the tile sizes around it.
//
//   retune_log conv2d.json --propose 16 > next.json        records for TVM to measure
//   retune_log conv2d.json --trials 64 --worker python3 tvm_worker.py --tasks conv2d.py > measured.json
//   retune_log conv2d.json --replay --known 10             in a log that holds the answers: how soon the best is found
//
// A worker is a program that speaks the protocol of docs/command.md; each request has a member "record", the line to
// build and time. tvm_worker.py is one for TVM. Records that differ from the best one in tile sizes alone are told to the
// strategy. New ones are the best record's line with other tile sizes, and a result: of the worker, or a failure, which
// TVM passes over.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <fstream>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <tileseek/measure/command.hpp>
#include <tileseek/record/ansor.hpp>
#include <tileseek/record/metaschedule.hpp>
#include <tileseek/tune.hpp>
#include "strategies.hpp"

namespace {

using tileseek::configuration;

struct choices {
  std::string log;
  std::string strategy = "dynamic_gradient";
  std::vector<std::string> options;
  std::vector<std::string> worker;
  std::vector<std::int64_t> unroll;
  std::size_t propose = 0;
  std::size_t trials = 64;
  std::size_t known = 10;
  double seconds = 60;
  std::uint64_t seed = 1;
  bool replay = false;
  bool skip_damaged = false;
};

/// The best record of a task and its family, in the order of the log.
template <class Record>
struct task {
  const Record* best = nullptr;
  std::vector<Record> family;
};

template <class Record>
std::vector<task<Record>> tasks_of(const std::vector<Record>& records) {
  std::vector<task<Record>> out;
  std::map<std::string, std::size_t> place;
  for (const auto& r : records) {
    const auto [at, is_new] = place.try_emplace(r.task() + '\n' + r.target(), out.size());
    if (is_new) out.emplace_back();
    auto& best = out[at->second].best;
    if (r.result().valid() && (best == nullptr || r.result().cost() < best->result().cost())) best = &r;
  }
  std::erase_if(out, [](const auto& t) { return t.best == nullptr || t.best->space().names().empty(); });
  for (auto& t : out)
    for (const auto& r : records)
      if (r.family() == t.best->family()) t.family.push_back(r);
  return out;
}

template <class Record>
tileseek::recording recording_of(const task<Record>& t) {
  return tileseek::recordings_of<Record>(t.family).front();
}

/// New records around the best one.
template <class Record>
void propose(const task<Record>& t, const choices& c) {
  const auto known = recording_of(t);
  const auto& lattice = known.space.lattice();
  auto search = strategy_named(c.strategy, c.options);
  const auto told = known.told();
  search.tell(lattice, told);
  tileseek::point_index seen;
  for (const auto& one : told) seen.add(one.at);
  tileseek::rng random(c.seed);
  for (const auto& p : search.ask(lattice, random, c.propose))
    if (seen.add(p).second)
      std::cout << t.best->with(known.space.at(p)).with_result(tileseek::failure(tileseek::status::crashed, "")).line()
                << '\n';
}

/// Has new records measured, and writes them as they are.
/// @return whether any ran
template <class Record>
bool measure(const task<Record>& t, const choices& c) {
  const auto known = recording_of(t);
  struct writer {
    const Record* base;
    std::size_t* ran;
    std::string* failed;  ///< why the first one did
    void on_trial(const tileseek::named_values& values, const tileseek::measurement& m) const {
      if (m.valid())
        ++*ran;
      else if (failed->empty())
        *failed = std::string(to_string(m.outcome)) + ": " + m.note;
      std::cout << base->with(configuration(values)).with_result(m).line() << '\n' << std::flush;
    }
  };
  std::size_t ran = 0;
  std::string failed;
  auto worker =
      tileseek::command(known.space, {.program = c.worker,
                                      .limits = {.most_seconds = c.seconds, .build_seconds = c.seconds, .renew = false},
                                      .also = [&](const configuration& at) {
                                        return nlohmann::json{{"record", t.best->with(at).line()}};
                                      }});
  tileseek::options<configuration> o;
  o.trials = c.trials;
  o.seed = c.seed;
  o.rounds = 0;  // TVM times a record again when it is applied
  o.warm_start = known.trials;
  o.observers = {writer{t.best, &ran, &failed}};
  o.task = t.best->task();
  const auto found = tileseek::tune(known.space, worker, std::move(o), strategy_named(c.strategy, c.options));
  std::cerr << t.best->task() << ": " << tileseek::show_seconds(t.best->result().cost()) << " in the log, "
            << tileseek::show_seconds(found.median_seconds) << " after " << found.measured << " measurements, "
            << found.measured - ran << " failed\n";
  if (!failed.empty()) std::cerr << "the first failure: " << failed << '\n';
  return ran > 0;
}

/// Searches among the recorded configurations of the family; the first ones are known from the start.
template <class Record>
void replay(const task<Record>& t, const choices& c) {
  const auto all = recording_of(t);
  const tileseek::recorded_answers kernel(all);
  const auto& lattice = kernel.lattice();
  auto search = strategy_named(c.strategy, c.options);
  auto told = all.told();
  double best_known = std::numeric_limits<double>::infinity();
  double best = best_known;
  for (const auto& one : told) best = std::min(best, one.result.cost());
  told.resize(std::min(c.known, told.size()));
  tileseek::point_index seen;
  for (const auto& one : told) {
    seen.add(one.at);
    best_known = std::min(best_known, one.result.cost());
  }
  search.tell(lattice, told);
  tileseek::rng random(c.seed);
  const std::size_t first = seen.size();
  double found = best_known;
  while (found > best && seen.size() < kernel.size()) {
    const auto asked = search.ask(lattice, random, 1);
    if (asked.empty()) break;
    std::vector<tileseek::trial> done;
    for (const auto& p : asked) {
      seen.add(p);
      done.push_back({p, kernel(p)});
      found = std::min(found, done.back().result.cost());
    }
    search.tell(lattice, done);
  }
  std::cout << t.best->task() << ": " << kernel.size() << " recorded, " << tileseek::show_seconds(best_known)
            << " the best of the first " << first << ", " << tileseek::show_seconds(found) << " after "
            << seen.size() - first << " more, " << tileseek::show_seconds(best) << " the best of all\n";
}

/// @param how  to read a record
/// @return whether anything came of every task
template <class Record, class... Options>
bool retune(std::istream& file, const choices& c, Options... how) {
  tileseek::record_reader<Record, Options...> log(
      file, c.log, c.skip_damaged ? tileseek::damage::skip : tileseek::damage::stop, how...);
  std::vector<Record> records;
  while (auto r = log.next()) records.push_back(std::move(*r));
  if (!log.report().problems.empty()) std::cerr << log.report() << '\n';
  const auto tasks = tasks_of(records);
  if (tasks.empty()) throw std::runtime_error(c.log + ": no record that ran and has tile sizes to change");
  bool good = true;
  for (const auto& t : tasks) {
    if (c.replay)
      replay(t, c);
    else if (c.propose > 0)
      propose(t, c);
    else
      good = measure(t, c) && good;
  }
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  choices c;
  CLI::App app("Searches around the best records of a TVM tuning log; writes new records.");
  app.add_option("log", c.log, "of Ansor, or database_tuning_record.json")->required();
  app.add_option("--strategy", c.strategy, "its name, as in replay --list")->capture_default_str();
  app.add_option("--option", c.options, "key=value of the strategy; may be repeated")->allow_extra_args(false);
  app.add_option("--unroll", c.unroll, "values of the unroll pragma to try; without, it stays as it is");
  app.add_option("--propose", c.propose, "writes so many records a task, not measured")->check(CLI::Range(1, 1000000));
  app.add_flag("--replay", c.replay, "answers from the log itself");
  app.add_option("--known", c.known, "with --replay: records of a family known from the start")
      ->check(CLI::Range(0, 1000000000))
      ->capture_default_str();
  app.add_option("--trials", c.trials, "measurements a task")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--seconds", c.seconds, "with --worker: what a record may take; the first waits for TVM to start")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--seed", c.seed, "of all random choices")->capture_default_str();
  app.add_flag("--skip-damaged", c.skip_damaged, "leave damaged lines out, and say so");
  app.footer("--worker PROGRAM ARGUMENT...   at the end: a program that measures records");
  try {
    const auto worker = std::find(argv, argv + argc, std::string_view("--worker"));
    app.parse(static_cast<int>(worker - argv), argv);
    if (worker != argv + argc) c.worker.assign(worker + 1, argv + argc);
    if ((c.propose > 0 ? 1 : 0) + (c.worker.empty() ? 0 : 1) + (c.replay ? 1 : 0) != 1)
      throw std::invalid_argument("give one of --propose, --worker and --replay");
    (void)strategy_named(c.strategy, c.options);
    std::ifstream file(c.log);
    if (!file) throw std::runtime_error(c.log + ": cannot be opened");
    bool good = false;
    // A record of Ansor is an object, one of MetaSchedule a list.
    if (file.peek() != '[')
      good = retune<tileseek::ansor_record>(file, c, tileseek::ansor_options{.unroll = c.unroll});
    else if (c.unroll.empty())
      good = retune<tileseek::metaschedule_record>(file, c);
    else
      throw std::invalid_argument("--unroll " + std::to_string(c.unroll.back()) +
                                  ": in MetaSchedule it is one of the decisions already; leave it out");
    return good ? 0 : 1;
  } catch (const CLI::CallForHelp& e) {
    return app.exit(e);
  } catch (const std::exception& e) {
    std::cerr << "retune_log: " << e.what() << '\n';
    return 2;
  }
}
