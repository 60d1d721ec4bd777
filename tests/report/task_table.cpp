#include <tileseek/report/task_table.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>
#endif

using tileseek::stop;
using tileseek::task_row;
using tileseek::task_table;
using tileseek::tasks_progress;
using tileseek::verbosity;

namespace {

task_row row(std::string name, double seconds, std::size_t trials) {
  task_row r;
  r.name = std::move(name);
  r.seconds = seconds;
  r.trials = trials;
  return r;
}

std::vector<task_row> two() {
  std::vector<task_row> rows{row("conv", 1e-3, 4), row("dead", HUGE_VAL, 4)};
  rows[0].flop = 2e9;
  rows[0].weight = 3;
  rows[1].failed = 4;
  rows[1].stopped = stop::stalled;
  return rows;
}

tasks_progress after(const std::vector<task_row>& rows, double seconds, stop stopped = stop::running) {
  tasks_progress p;
  p.tasks = rows;
  for (const auto& r : rows) p.trials += r.trials;
  p.trial_limit = 20;
  p.seconds = seconds;
  p.stopped = stopped;
  return p;
}

/// What `use` makes a table print.
template <class Use>
std::string printed(verbosity how, const Use& use) {
  std::FILE* file = std::tmpfile();
  REQUIRE(file != nullptr);
  task_table table(how, file);
  use(table);
  std::string out(static_cast<std::size_t>(std::ftell(file)), '\0');
  std::rewind(file);
  CHECK(std::fread(out.data(), 1, out.size(), file) == out.size());
  std::fclose(file);
  return out;
}

const std::string table_of_two =
    "ID | Name |       FLOP | Weight | Speed (GFLOPS) | Latency (us) | Weighted Latency (us) | Trials | Done\n"
    " 0 | conv | 2000000000 |      3 |        2000.00 |      1000.00 |               3000.00 |      4 |\n"
    " 1 | dead |          - |      1 |              - |            - |                     - |      4 | stalled\n"
    "Total trials: 8 of 20, 4 failed\n"
    "Total weighted latency: 3000.00 us, without the 1 of 2 tasks that have no valid result: dead\n"
    "Elapsed: 40 s, ETA: 1:00\n";

}  // namespace

TEST_CASE("plain: a table now and then, none while a log is replayed, none at the end") {
  auto rows = two();
  const auto out = printed(verbosity::plain, [&](task_table& t) {
    rows[0].replayed = rows[1].replayed = 4;
    CHECK_FALSE(t(after(rows, 40)));
    rows[0].replayed = rows[1].replayed = 0;
    CHECK_FALSE(t(after(rows, 40)));
    CHECK_FALSE(t(after(rows, 69)));
    CHECK_FALSE(t(after(rows, 70)));
    CHECK_FALSE(t(after(rows, 80, stop::trials)));
  });
  const auto second = out.find("ID |", 1);
  REQUIRE(second != std::string::npos);
  CHECK(out.substr(0, second) == table_of_two + "\n");
  CHECK(out.find("Elapsed: 1:10, ETA: 1:45\n\n") != std::string::npos);
  CHECK(out.find("ID |", second + 1) == std::string::npos);
}

TEST_CASE("live: in place, and gone at the end") {
  const auto rows = two();
  const auto out = printed(verbosity::live, [&](task_table& t) {
    CHECK_FALSE(t(after(rows, 40)));
    CHECK_FALSE(t(after(rows, 40)));
    CHECK_FALSE(t(after(rows, 40, stop::trials)));
  });
  const std::string back = "\x1b[6F\x1b[J";
  CHECK(out == table_of_two + back + table_of_two + back);
}

TEST_CASE("quiet: nothing") {
  const auto rows = two();
  CHECK(printed(verbosity::quiet, [&](task_table& t) { CHECK_FALSE(t(after(rows, 40))); }).empty());
}

TEST_CASE("a limit of seconds tells the time to go, too; without any limit there is nothing to tell") {
  const auto rows = two();
  auto p = after(rows, 40);
  p.second_limit = 50;
  CHECK(p.seconds_left() == 10);
  p.second_limit = HUGE_VAL;
  p.trial_limit.reset();
  CHECK(p.seconds_left() == 0);
  CHECK(after(rows, 40, stop::trials).seconds_left() == 0);
}

#if defined(__linux__)
TEST_CASE("on a small terminal: as many tasks as fit, those without a result and those that weigh most, cut to width") {
  const int master = posix_openpt(O_RDWR | O_NOCTTY);
  REQUIRE(master >= 0);
  REQUIRE(grantpt(master) == 0);
  REQUIRE(unlockpt(master) == 0);
  const int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
  REQUIRE(slave >= 0);
  winsize size{};
  size.ws_row = 9;
  size.ws_col = 40;
  REQUIRE(ioctl(slave, TIOCSWINSZ, &size) == 0);
  std::FILE* file = fdopen(slave, "w");
  REQUIRE(file != nullptr);
  std::vector<task_row> rows;
  for (int i = 0; i < 6; ++i) rows.push_back(row("task " + std::to_string(i), 1e-3 * (i == 1 ? 9 : i == 4 ? 8 : 1), 4));
  rows[5].seconds = HUGE_VAL;
  task_table table(verbosity::automatic, file);
  CHECK_FALSE(table(after(rows, 40)));
  std::string out(4096, '\0');
  const auto n = read(master, out.data(), out.size());
  REQUIRE(n > 0);
  out.resize(static_cast<std::size_t>(n));
  std::fclose(file);
  close(master);
  CHECK(std::count(out.begin(), out.end(), '\n') == 8);
  for (const char* shown : {"1 | task 1", "4 | task 4", "5 | task 5", "and 3 tasks that weigh less"})
    CHECK(out.find(shown) != std::string::npos);
  for (const char* hidden : {"task 0", "task 2", "task 3"}) CHECK(out.find(hidden) == std::string::npos);
  std::size_t longest = 0;
  for (std::size_t at = 0; at < out.size();) {
    const auto end = out.find("\r\n", at);
    longest = std::max(longest, end - at);
    at = end + 2;
  }
  CHECK(longest == 39);
}
#endif
