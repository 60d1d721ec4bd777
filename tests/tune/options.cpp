#include <tileseek/tune/options.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace {

struct tile {
  int width = 1;
};
using options = tileseek::options<tile>;

static_assert(std::is_aggregate_v<options>);
static_assert(std::is_copy_constructible_v<options>);

template <class Change>
std::string refused(Change change) {
  options o;
  change(o);
  try {
    tileseek::detail::check(o);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return {};
}

}  // namespace

TEST_CASE("options are named at the call, in the order of the documentation") {
  const options o{.trials = 200,
                  .seconds = 60,
                  .until = tileseek::target(1e-3),
                  .seed = 1,
                  .batch = 8,
                  .task = "matmul",
                  .flop = 2e9,
                  .timing = {.max_samples = 9},
                  .start = {{3}},
                  .warm_start = {{{4}, {tileseek::status::ok, {1.0}, {}}}},
                  .finalists = 4,
                  .rounds = 25,
                  .final_seconds = 1,
                  .rivals = {{"library", [](const tileseek::timing_limits&) { return tileseek::measurement{}; }}},
                  .progress = tileseek::verbosity::quiet,
                  .catch_interrupt = false,
                  .conditions = {{"device", "H200"}}};
  CHECK(o.trials == 200u);
  CHECK(o.until.limited());
  CHECK(o.timing.max_samples == 9);
  CHECK(o.timing.min_samples == 3);
  CHECK(o.start.front().width == 3);
  CHECK_NOTHROW(tileseek::detail::check(o));
}

TEST_CASE("the defaults have a meaning") {
  const options o;
  CHECK_NOTHROW(tileseek::detail::check(o));
  CHECK(!o.trials);
  CHECK(!o.seconds);
  CHECK(!o.until.limited());
  CHECK(o.batch == 0);
  CHECK(o.log == nullptr);
}

TEST_CASE("an option without a meaning is refused by name, with its value") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(refused([](options& o) { o.flop = -1; }) == "options: flop is -1; give the operations of one run, or 0");
  CHECK(refused([nan](options& o) { o.flop = nan; }).find("flop is nan") != std::string::npos);
  CHECK(refused([](options& o) { o.flop = std::numeric_limits<double>::infinity(); }).find("flop is inf") !=
        std::string::npos);
  CHECK(refused([](options& o) { o.final_seconds = -1; }) == "options: final_seconds is -1; give 0 or more");
  CHECK(refused([nan](options& o) { o.final_seconds = nan; }).find("final_seconds") != std::string::npos);
  CHECK(refused([](options& o) { o.final_seconds = std::numeric_limits<double>::infinity(); }).empty());
  CHECK(refused([](options& o) { o.timing.reject_above = 0; }).find("timing.reject_above is 0") != std::string::npos);
  CHECK(refused([](options& o) {
          o.rivals.push_back({"cuBLAS", {}});
        }) == "options: rival 'cuBLAS' has nothing to measure");
}
