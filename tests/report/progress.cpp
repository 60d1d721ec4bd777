#include <tileseek/report/progress.hpp>

#include <doctest/doctest.h>

#include <cstdio>
#include <string>

using tileseek::progress;
using tileseek::progress_line;
using tileseek::verbosity;

namespace {

progress some() {
  progress p;
  p.trials = 20;
  p.trial_limit = 100;
  p.seconds = 40;
  p.best = 13.2e-3;
  return p;
}

/// What `use` makes a progress line print.
template <class Use>
std::string printed(verbosity how, const Use& use) {
  std::FILE* file = std::tmpfile();
  REQUIRE(file != nullptr);
  progress_line line(how, file);
  use(line);
  std::string out(static_cast<std::size_t>(std::ftell(file)), '\0');
  std::rewind(file);
  CHECK(std::fread(out.data(), 1, out.size(), file) == out.size());
  std::fclose(file);
  return out;
}

}  // namespace

TEST_CASE("progress as a line: trials, best, rate, elapsed, time to go") {
  progress p = some();
  CHECK(to_string(p) == "20/100 trials  best 13.2 ms  40 s elapsed  2:40 to go");
  p.failed = 3;
  p.flop = 264e6;
  CHECK(to_string(p) == "20/100 trials, 3 failed  best 13.2 ms  20.0 GFLOP/s  40 s elapsed  2:40 to go");
  p.second_limit = 100;  // the clock ends it before the trials do
  CHECK(to_string(p).ends_with("40 s elapsed  1:00 to go"));
  p.seconds = 101;
  CHECK(to_string(p).ends_with("1:41 elapsed"));
  p.trials = 100;  // the last trial leaves nothing to wait for, whatever the clock would still allow
  p.second_limit = 200;
  CHECK(to_string(p).ends_with("1:41 elapsed"));
}

TEST_CASE("progress without a limit, without a best, and all from the log") {
  progress p;
  p.flop = 1e9;
  CHECK(to_string(p) == "0 trials  best -  0 s elapsed");
  p = some();
  p.trial_limit = 0;
  CHECK(to_string(p) == "20 trials  best 13.2 ms  40 s elapsed");
  p = some();
  p.replayed = 20;  // nothing was measured yet: no rate to go by
  CHECK(to_string(p) == "20/100 trials (20 from the log)  best 13.2 ms  40 s elapsed");
}

TEST_CASE("a plain line a batch, none for what is replayed") {
  const auto out = printed(verbosity::plain, [](progress_line& line) {
    progress p = some();
    p.replayed = 20;
    line.on_batch(p);
    p.trials = 21;
    line.on_batch(p);
    line.on_note("mind the gap");
    line.on_finish(p, tileseek::stop::trials);
  });
  CHECK(out == "21/100 trials (20 from the log)  best 13.2 ms  40 s elapsed  2:30 to go\nnote: mind the gap\n");
}

TEST_CASE("a live line is redrawn, and closed before anything else is printed") {
  const auto out = printed(verbosity::live, [](progress_line& line) {
    line.on_batch(some());
    line.on_note("mind the gap");
    line.on_batch(some());
    line.on_finish(some(), tileseek::stop::trials);
    line.on_finish(some(), tileseek::stop::trials);
  });
  const std::string drawn = "\r" + to_string(some()) + "\x1b[K";
  CHECK(out == drawn + "\nnote: mind the gap\n" + drawn + "\n");
}

TEST_CASE("quiet prints nothing, and automatic is plain where there is no terminal") {
  const auto use = [](progress_line& line) {
    line.on_batch(some());
    line.on_note("unheard");
    line.on_finish(some(), tileseek::stop::trials);
  };
  CHECK(printed(verbosity::quiet, use).empty());
  CHECK(printed(verbosity::automatic, use) == printed(verbosity::plain, use));
}
