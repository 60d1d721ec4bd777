#include <tileseek/measure/measurer.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

using tileseek::each;
using tileseek::measurement;
using tileseek::measuring;
using tileseek::status;
using tileseek::timing_limits;

namespace {

struct tile {
  int width = 1;
};
using batch = std::span<const tile>;

// Minimal models of each concept, and types that miss it by one thing.
struct minimal_measurer {
  std::vector<measurement> measure(batch b) { return std::vector<measurement>(b.size()); }
};
struct minimal_run_aware {
  std::vector<measurement> measure(batch b, const measuring&) { return std::vector<measurement>(b.size()); }
};
struct measures_something_else {
  std::vector<measurement> measure(std::span<const int>) { return {}; }
};
struct measures_doubles {
  std::vector<double> measure(batch) { return {}; }
};
struct const_only {
  std::vector<measurement> measure(batch) const { return {}; }
};
struct takes_mutable {
  std::vector<measurement> measure(std::span<tile>) { return {}; }
};

static_assert(tileseek::Measurer<minimal_measurer, tile>);
static_assert(tileseek::Measurer<const const_only, tile>);
static_assert(!tileseek::Measurer<const minimal_measurer, tile>);
static_assert(!tileseek::Measurer<minimal_measurer, int>);
static_assert(!tileseek::Measurer<measures_something_else, tile>);
static_assert(!tileseek::Measurer<measures_doubles, tile>);
static_assert(!tileseek::Measurer<takes_mutable, tile>);
static_assert(!tileseek::Measurer<minimal_run_aware, tile>);
static_assert(tileseek::RunAwareMeasurer<minimal_run_aware, tile>);
static_assert(!tileseek::RunAwareMeasurer<minimal_measurer, tile>);

[[maybe_unused]] double by_reference(const tile& t) { return t.width; }
static_assert(tileseek::TimedFunction<decltype(by_reference), tile>);
static_assert(tileseek::TimedFunction<double (*)(tile), tile>);
static_assert(tileseek::TimedFunction<float (*)(const tile&), tile>);
static_assert(tileseek::TimedFunction<int (*)(const tile&), tile>);
static_assert(tileseek::TimedFunction<measurement (*)(const tile&), tile>);
static_assert(tileseek::TimedFunction<const measurement& (*)(const tile&), tile>);
static_assert(tileseek::TimedFunction<double (*)(const tile&, const timing_limits&), tile>);
static_assert(tileseek::TimedFunction<measurement (*)(const tile&, timing_limits), tile>);
static_assert(!tileseek::TimedFunction<void (*)(const tile&), tile>);
static_assert(!tileseek::TimedFunction<std::string (*)(const tile&), tile>);
static_assert(!tileseek::TimedFunction<double (*)(tile&), tile>);
static_assert(!tileseek::TimedFunction<double (*)(), tile>);
static_assert(!tileseek::TimedFunction<double (*)(const tile&, int), tile>);
static_assert(!tileseek::TimedFunction<double (*)(const std::string&), tile>);
static_assert(!tileseek::TimedFunction<int, tile>);

using lifted = decltype(each<tile>(by_reference));
static_assert(tileseek::Measurer<lifted, tile>);
static_assert(tileseek::RunAwareMeasurer<lifted, tile>);

const std::vector<tile> three{{1}, {2}, {3}};

template <class F>
measurement one(F f) {
  auto m = each<tile>(std::move(f));
  auto results = m.measure(batch(three).first(1));
  REQUIRE(results.size() == 1);
  return results.front();
}

}  // namespace

TEST_CASE("each: seconds become one sample, a measurement stays as it is") {
  auto m = each<tile>([](const tile& t) { return 0.5 * t.width; });
  const auto r = m.measure(three);
  REQUIRE(r.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(r[i].outcome == status::ok);
    CHECK(r[i].seconds == std::vector<double>{0.5 * three[i].width});
  }
  CHECK(one([](const tile&) { return 3; }).seconds == std::vector<double>{3.0});
  CHECK(one([](const tile&) { return 0.0; }).valid());

  const auto kept = one([](const tile&) { return measurement{status::timed_out, {}, "after 5 s"}; });
  CHECK(kept.outcome == status::timed_out);
  CHECK(kept.note == "after 5 s");
  const auto early = one([](const tile&) { return measurement{status::rejected_early, {2, 3, 4}, "slow"}; });
  CHECK(early.outcome == status::rejected_early);
  CHECK(early.seconds.size() == 3);
}

TEST_CASE("each: what is no time is a failure that says so") {
  for (const double bad :
       {-1.0, -1e-9, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const auto m = one([bad](const tile&) { return bad; });
    CAPTURE(bad);
    CHECK(m.outcome == status::run_failed);
    CHECK(m.seconds.empty());
    CHECK(m.note.find("seconds") != std::string::npos);
  }
  CHECK(one([](const tile&) { return -1e-9; }).note == "a sample of -1e-09 seconds");
  const auto none = one([](const tile&) { return measurement{status::ok, {}, "forgot"}; });
  CHECK(none.outcome == status::run_failed);
  CHECK(none.note == "no samples: forgot");
  const auto mixed = one([](const tile&) { return measurement{status::rejected_early, {1, -1, 2}, {}}; });
  CHECK(mixed.outcome == status::run_failed);
}

TEST_CASE("each: an exception is a failure with its text, and the next configuration is measured") {
  auto m = each<tile>([](const tile& t) -> double {
    if (t.width == 1) throw std::runtime_error("too wide");
    if (t.width == 2) throw 7;
    return 1;
  });
  const auto r = m.measure(three);
  REQUIRE(r.size() == 3);
  CHECK(r[0].outcome == status::run_failed);
  CHECK(r[0].note == "too wide");
  CHECK(r[1].outcome == status::run_failed);
  CHECK(r[1].note == "threw something that is no std::exception");
  CHECK(r[2].valid());
}

TEST_CASE("each: bad_alloc passes") {
  auto m = each<tile>([](const tile&) -> double { throw std::bad_alloc(); });
  CHECK_THROWS_AS(static_cast<void>(m.measure(three)), std::bad_alloc);
}

TEST_CASE("each: the limits come as the second parameter, with the incumbent of the batch so far") {
  std::vector<double> seen;
  auto m = each<tile>([&seen](const tile& t, const timing_limits& l) {
    seen.push_back(l.incumbent);
    if (t.width == 2) return tileseek::failure(status::crashed, "");
    return measurement{status::ok, {t.width == 1 ? 5.0 : 7.0}, {}};
  });
  measuring run;
  run.limits.incumbent = 6;
  std::vector<tile> batch_of_four = three;
  batch_of_four.push_back({4});
  CHECK(m.measure(batch_of_four, run).size() == 4);
  CHECK(seen == std::vector<double>{6, 5, 5, 5});
  CHECK(run.limits.incumbent == 6);
}

TEST_CASE("each: of two signatures the one with limits is called") {
  struct both {
    double operator()(const tile&) const { return 1; }
    double operator()(const tile&, const timing_limits&) const { return 2; }
  };
  CHECK(one(both{}).seconds == std::vector<double>{2});
}

TEST_CASE("each: reports each result at once and stops between two configurations") {
  std::vector<std::size_t> reported;
  int calls = 0;
  measuring run;
  run.finished = [&](std::size_t i, const measurement& m) {
    CHECK(m.seconds.front() == calls);
    reported.push_back(i);
  };
  run.stop = [&] { return calls == 2; };
  auto m = each<tile>([&](const tile&) { return static_cast<double>(++calls); });
  CHECK(m.measure(three, run).size() == 2);
  CHECK(reported == std::vector<std::size_t>{0, 1});
}

TEST_CASE("each: a callable that cannot be copied, and a reference to one") {
  struct move_only {
    move_only() = default;
    move_only(move_only&&) = default;
    double operator()(const tile&) { return ++calls; }
    int calls = 0;
  };
  auto owned = each<tile>(move_only{});
  CHECK(owned.measure(three).back().seconds.front() == 3);
  move_only mine;
  auto referred = each<tile>(std::ref(mine));
  CHECK(referred.measure(three).size() == 3);
  CHECK(mine.calls == 3);
}

TEST_CASE("limits without a meaning are refused by name") {
  const auto refused = [](auto change) {
    timing_limits l;
    change(l);
    try {
      tileseek::detail::check(l);
    } catch (const std::invalid_argument& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(refused([](timing_limits&) {}).empty());
  CHECK(refused([](timing_limits& l) { l.reject_above = std::numeric_limits<double>::infinity(); }).empty());
  CHECK(refused([](timing_limits& l) { l.reject_above = 0.9; }) ==
        "options: timing.reject_above is 0.9; give a factor of at least 1");
  CHECK(refused([nan](timing_limits& l) { l.reject_above = nan; }).find("reject_above") != std::string::npos);
  CHECK(refused([](timing_limits& l) { l.min_samples = 0; }).find("min_samples is 0") != std::string::npos);
  CHECK(refused([](timing_limits& l) { l.max_samples = 2; }).find("max_samples is 2") != std::string::npos);
  CHECK(refused([](timing_limits& l) { l.settled = -0.1; }).find("settled") != std::string::npos);
  CHECK(refused([nan](timing_limits& l) { l.settled = nan; }).find("settled") != std::string::npos);
  CHECK(refused([](timing_limits& l) { l.max_seconds = 0; }).find("max_seconds") != std::string::npos);
  CHECK(refused([nan](timing_limits& l) { l.incumbent = nan; }).find("incumbent") != std::string::npos);
}
