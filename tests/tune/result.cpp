#include <tileseek/tune/result.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <sstream>
#include <string>

using tileseek::status;
using tileseek::stop;
using tileseek::verdict;

namespace {

struct tile {
  int width = 1;
};

tileseek::result<tile> some() {
  tileseek::result<tile> r;
  r.best = tile{8};
  r.best_values = {{"width", 8}};
  r.median_seconds = 2e-3;
  r.seconds_interval = {1.9e-3, 2.1e-3};
  r.trials = 100;
  r.measured = 60;
  r.replayed = 40;
  r.by_status[static_cast<std::size_t>(status::ok)] = 90;
  r.by_status[static_cast<std::size_t>(status::rejected_early)] = 4;
  r.by_status[static_cast<std::size_t>(status::build_failed)] = 5;
  r.by_status[static_cast<std::size_t>(status::crashed)] = 1;
  r.stopped = stop::trials;
  r.seconds = 75;
  r.space_size = 349853;
  r.strategy = "droplet";
  r.seed = 7;
  return r;
}

}  // namespace

TEST_CASE("a result prints itself") {
  auto r = some();
  std::ostringstream out;
  out << r;
  CHECK(out.str() == r.text());
  CHECK(r.text() ==
        "best       width=8\n"
        "time       2.00 ms\n"
        "trials     100 of 349,853 configurations, 60 measured, 40 from the log\n"
        "not ok     build_failed 5, crashed 1, rejected_early 4\n"
        "search     droplet, seed 7, 1:15, stopped by trials");
  CHECK(r.failed() == 6);
}

TEST_CASE("a result with a contest, a rival, a log and notes") {
  auto r = some();
  r.rounds = 9;
  r.interval_coverage = 0.96;
  r.flop = 2e9;
  r.untuned_values = {{"width", 1}};
  r.untuned_compared = tileseek::compared{"default", 4e-3, {2, {1.9, 2.1}, verdict::faster}};
  r.runner_up = tileseek::compared{"width=4", 2.01e-3, {1.005, {0.99, 1.02}, verdict::cannot_tell}};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  r.rivals = {{"cuBLAS", 1e-3, {0.5, {0.49, 0.51}, verdict::slower}},
              {"broken", std::numeric_limits<double>::infinity(), {nan, {nan, nan}, verdict::cannot_tell}}};
  r.known = 3;
  r.log = "run.jsonl";
  r.notes = {"first", "second"};
  CHECK(r.gflops() == doctest::Approx(1000));
  CHECK(r.text() ==
        "best       width=8\n"
        "time       2.00 ms [1.90 ms, 2.10 ms], median of 9 interleaved rounds, 1000.0 GFLOP/s\n"
        "default    4.00 ms, the best is 2.000 x as fast [1.900, 2.100]: faster (width=1)\n"
        "runner-up  2.01 ms, the best is 1.005 x as fast [0.990, 1.020]: can't tell (width=4)\n"
        "rival      cuBLAS: 1.00 ms, the best is 0.500 x as fast [0.490, 0.510]: slower\n"
        "rival      broken: -, no valid time\n"
        "trials     100 of 349,853 configurations, 60 measured, 40 from the log, 3 known before\n"
        "not ok     build_failed 5, crashed 1, rejected_early 4\n"
        "search     droplet, seed 7, 1:15, stopped by trials\n"
        "log        run.jsonl\n"
        "note       first\n"
        "note       second");
}

TEST_CASE("a result without a best, of a huge space, of a run that was left") {
  auto r = some();
  r.best.reset();
  r.space_size = 1.2345e18;
  r.space_counted = false;
  r.stopped = stop::running;
  r.by_status = {};
  CHECK(r.text() ==
        "best       none: no configuration was valid\n"
        "trials     100 of about 1.23e+18 configurations, 60 measured, 40 from the log\n"
        "search     droplet, seed 7, 1:15, not run to its end");
  r.trials = 0;
  CHECK(r.text().starts_with("best       none: nothing was measured\n"));
  CHECK(tileseek::result<tile>{}.gflops() == 0);
}
