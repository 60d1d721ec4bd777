#include <tileseek/measure/detail/process.hpp>

#include <doctest/doctest.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

using tileseek::detail::child_program;
using tileseek::detail::describe_end;
using tileseek::detail::from_now;
using tileseek::detail::run_program;
using fate = tileseek::detail::child_process::fate;

namespace {
std::vector<std::string> shell(const std::string& line) { return {"/bin/sh", "-c", line}; }
}  // namespace

TEST_CASE("a program's end and what it printed on both channels") {
  auto r = run_program(shell("echo out; echo err >&2; exit 3"), 60);
  CHECK(r.output == "out\nerr\n");
  CHECK(describe_end(r.how) == "exited with code 3");
  CHECK(!r.succeeded());
  CHECK(run_program({"true"}, 60).succeeded());
  r = run_program(shell("kill -SEGV $$"), 60);
  CHECK(describe_end(r.how) == "killed by SIGSEGV");
  CHECK(run_program({"cat"}, 60).succeeded());  // its input is empty
}

TEST_CASE("a program that is late is killed with all that it started, also when it has closed its output") {
  for (const auto* line : {"sleep 1000 & sleep 1000", "exec >&- 2>&-; sleep 1000", "trap '' TERM INT; sleep 1000"}) {
    CAPTURE(line);
    const auto r = run_program(shell(line), 0.1);
    CHECK(r.late);
    CHECK(describe_end(r.how) == "killed by SIGKILL, by somebody or for want of memory");
  }
}

TEST_CASE("a program that ended is not waited for, though another one that it started holds its output") {
  const auto r = run_program(shell("sleep 1000 & echo done"), 60);
  CHECK(r.output == "done\n");
  CHECK(r.succeeded());
}

TEST_CASE("of a flood only the first mebibyte is kept") {
  const auto r = run_program(shell("head -c 5000000 /dev/zero"), 60);
  CHECK(r.output.size() == 1 << 20);
  CHECK(r.succeeded());
}

TEST_CASE("a program that there is not") {
  CHECK_THROWS_WITH_AS(static_cast<void>(run_program({"/no/such/program"}, 60)),
                       "the program '/no/such/program' can't be started: No such file or directory",
                       std::runtime_error);
  CHECK_THROWS_AS(static_cast<void>(run_program({}, 60)), std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(run_program({""}, 60)), std::invalid_argument);
}

TEST_CASE("programs are run from several threads at once, each with its own output") {
  std::vector<std::thread> threads;
  std::vector<int> good(4, 0);
  for (std::size_t t = 0; t < good.size(); ++t)
    threads.push_back(std::thread([t, &good] {
      for (int i = 0; i < 25; ++i) {
        const std::string text = std::to_string(100 * t + static_cast<std::size_t>(i));
        const auto r = run_program({"echo", text}, 60);
        good[t] += r.succeeded() && r.output == text + "\n";
      }
    }));
  for (auto& t : threads) t.join();
  for (const int g : good) CHECK(g == 25);
}

TEST_CASE("talking to a program") {
  child_program program;
  program.start({"cat"}, {.input = true});
  CHECK(program.running());
  std::string got;
  for (const std::string& text : {std::string("a\n"), std::string(50'000, 'x') + "\n"}) {
    CHECK(program.write(text, from_now(60)));
    got.clear();
    while (got.size() < text.size()) REQUIRE(program.read(got, from_now(60)) == fate::ready);
    CHECK(got == text);
  }
  CHECK(program.read(got, from_now(0.01)) == fate::late);
  program.end();
  CHECK(!program.running());
}

TEST_CASE("a program that does not listen, and one that is gone: no SIGPIPE, no waiting for ever") {
  child_program program;
  const std::string much(1 << 20, 'x');
  program.start({"sleep", "1000"}, {.input = true});
  CHECK(!program.write(much, from_now(0.05)));
  program.start({"true"}, {.input = true});
  std::string got;
  CHECK(program.read(got, from_now(60)) == fate::gone);
  for (int i = 0; i < 3; ++i) CHECK(!program.write(much, from_now(60)));
  CHECK(program.process().about_to_die());
}

TEST_CASE("limits on memory hold") {
  const auto hog = shell("head -c 300000000 /dev/zero | tail -c 300000000 | wc -c");
  child_program program;
  std::string got;
  program.start(hog, {.memory = 100'000'000});
  while (program.read(got, from_now(60)) == fate::ready) continue;
  CHECK(got != "300000000\n");
}

TEST_CASE("a question that another process answers") {
  using tileseek::detail::in_child;
  int here = 0;
  const auto answer = [&here]() -> std::string {
    ++here;
    return std::string(100'000, 'x') + std::to_string(here);
  };
  CHECK(in_child(answer, 60) == std::string(100'000, 'x') + "1");
  CHECK(here == 0);
  CHECK(in_child([] { return std::string(); }, 60).empty());
  CHECK_THROWS_WITH_AS(static_cast<void>(in_child([]() -> std::string { throw std::runtime_error("no device"); }, 60)),
                       "no device", std::runtime_error);
  CHECK_THROWS_WITH_AS(static_cast<void>(in_child([]() -> std::string { std::abort(); }, 60)),
                       "a process that was asked killed by SIGABRT", std::runtime_error);
  CHECK_THROWS_AS(static_cast<void>(in_child(
                      []() -> std::string {
                        for (;;) pause();
                      },
                      0.1)),
                  std::runtime_error);
}
