#include <tileseek/measure/pipeline.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <tileseek/measure/isolated.hpp>
#include <tileseek/search/exhaustive.hpp>
#include <tileseek/tune/tune.hpp>

using tileseek::failure;
using tileseek::measurement;
using tileseek::measuring;
using tileseek::pipeline;
using tileseek::status;

namespace {

struct kernel {
  int n = 0;
};

const auto kernels = tileseek::space<kernel>{}.add("n", &kernel::n, tileseek::range(0, 99));

std::vector<kernel> some(int count) {
  std::vector<kernel> out;
  for (int i = 0; i < count; ++i) out.push_back({i});
  return out;
}

using built = std::optional<measurement>;

/// What is going on at once, at most; and how much of it there was.
struct gauge {
  std::atomic<int> now = 0, most = 0, total = 0;
  struct use {
    gauge& g;
    explicit use(gauge& of) : g(of) {
      const int n = ++g.now;
      int seen = g.most;
      while (n > seen && !g.most.compare_exchange_weak(seen, n)) continue;
      ++g.total;
    }
    use(const use&) = delete;
    ~use() { --g.now; }
  };
};

void doze(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

}  // namespace

TEST_CASE("builds run side by side, timing alone: after the whole batch, in its order") {
  gauge builds;
  gauge runs;
  std::vector<int> order;
  int disturbed = 0;
  auto m = pipeline(
      kernels,
      [&](const kernel&) -> built {
        const gauge::use u(builds);
        doze(2);
        return std::nullopt;
      },
      [&](const kernel& k) {
        const gauge::use u(runs);
        disturbed += builds.now;
        order.push_back(k.n);
        return 1.0 + k.n;
      },
      {.jobs = 4});
  CHECK(m.batch_size() == 4);
  const auto r = m.measure(some(24));
  REQUIRE(r.size() == 24);
  for (int i = 0; i < 24; ++i) {
    CHECK(r[static_cast<std::size_t>(i)].seconds == std::vector<double>{1.0 + i});
    CHECK(order[static_cast<std::size_t>(i)] == i);
  }
  CHECK(builds.most > 1);
  CHECK(builds.most <= 4);
  CHECK(builds.total == 24);
  CHECK(runs.most == 1);
  CHECK(disturbed == 0);
}

TEST_CASE("with overlap the next configurations are built while one is timed") {
  std::mutex mutex;
  std::condition_variable changed;
  int built_so_far = 0;
  // The first run ends only when all others were built: without overlap nobody would build them.
  auto m = pipeline(
      kernels,
      [&](const kernel&) -> built {
        const std::lock_guard lock(mutex);
        ++built_so_far;
        changed.notify_all();
        return std::nullopt;
      },
      [&](const kernel& k) -> double {
        std::unique_lock lock(mutex);
        return changed.wait_for(lock, std::chrono::seconds(20), [&] { return built_so_far == 8; }) ? 1.0 + k.n : -1;
      },
      {.jobs = 1, .overlap = true});
  for (const auto& r : m.measure(some(8))) CHECK(r.valid());
}

TEST_CASE("a batch is built ahead, once, if builds may overlap with timing") {
  for (const bool overlap : {false, true}) {
    CAPTURE(overlap);
    gauge builds;
    auto m = pipeline(
        kernels,
        [&](const kernel&) -> built {
          const gauge::use u(builds);
          return std::nullopt;
        },
        [](const kernel&) { return 1.0; }, {.jobs = 2, .overlap = overlap});
    static_assert(tileseek::PreparingMeasurer<decltype(m), kernel>);
    m.prepare(some(5));
    for (int i = 0; overlap && i < 20'000 && builds.total < 5; ++i) doze(1);
    CHECK(builds.total == (overlap ? 5 : 0));
    CHECK(m.measure(some(5)).size() == 5);
    CHECK(builds.total == 5);
  }
}

TEST_CASE("a failed build is reported at once, with its reason, and delays no other") {
  for (const bool overlap : {false, true}) {
    CAPTURE(overlap);
    std::vector<std::size_t> told;
    std::mutex mutex;
    std::condition_variable changed;
    bool failure_was_told = false;
    auto m = pipeline(
        kernels,
        [&](const kernel& k) -> built {
          if (k.n == 1) return failure(status::build_failed, "no such instruction");
          if (k.n == 2) throw std::runtime_error("segmentation fault in the compiler");
          if (k.n == 3) return failure(status::timed_out, "not compiled within 1 s");
          if (k.n == 0) {  // takes until the failures were told
            std::unique_lock lock(mutex);
            if (!changed.wait_for(lock, std::chrono::seconds(20), [&] { return failure_was_told; }))
              return failure(status::build_failed, "nobody heard of the failures");
          }
          return std::nullopt;
        },
        [](const kernel&) { return 1.0; }, {.jobs = 2, .overlap = overlap});
    measuring run;
    run.finished = [&](std::size_t i, const measurement&) {
      told.push_back(i);
      const std::lock_guard lock(mutex);
      if (told.size() == 3) failure_was_told = true;
      changed.notify_all();
    };
    const auto r = m.measure(some(4), run);
    REQUIRE(r.size() == 4);
    CHECK(r[0].valid());
    CHECK(r[1].outcome == status::build_failed);
    CHECK(r[1].note == "no such instruction");
    CHECK(r[2].outcome == status::build_failed);
    CHECK(r[2].note == "segmentation fault in the compiler");
    CHECK(r[3].outcome == status::timed_out);
    CHECK(told.back() == 0);
  }
}

TEST_CASE("what says nothing about the kernel passes, and the next batch is none the worse") {
  bool exhausted = true;
  auto m = pipeline(
      kernels,
      [&](const kernel& k) -> built {
        if (exhausted && k.n == 1) throw std::bad_alloc();
        return std::nullopt;
      },
      [](const kernel&) { return 1.0; }, {.jobs = 1});
  CHECK_THROWS_AS(static_cast<void>(m.measure(some(3))), std::bad_alloc);
  exhausted = false;
  CHECK(m.measure(some(3)).size() == 3);
  CHECK_THROWS_WITH_AS(static_cast<void>(m.measure(std::vector<kernel>{{100}})),
                       "pipeline: n=100 is not in the space: n has no value 100", std::invalid_argument);
}

TEST_CASE("a run that is to end does not wait for what was not begun") {
  for (const bool overlap : {false, true}) {
    CAPTURE(overlap);
    gauge builds;
    bool stop = false;
    auto m = pipeline(
        kernels,
        [&](const kernel&) -> built {
          const gauge::use u(builds);
          doze(1);
          return std::nullopt;
        },
        [&](const kernel& k) {
          stop = k.n == 2;
          return 1.0;
        },
        {.jobs = 1, .overlap = overlap});
    measuring run;
    run.stop = [&] { return stop; };
    CHECK(m.measure(some(100), run).size() == 3);
    stop = false;
    if (overlap) CHECK(builds.total < 100);
    CHECK(m.measure(some(4), run).size() == 3);
  }
}

TEST_CASE("the same configuration twice in a batch is built once and timed twice") {
  gauge builds;
  gauge runs;
  auto m = pipeline(
      kernels,
      [&](const kernel&) -> built {
        const gauge::use u(builds);
        return std::nullopt;
      },
      [&](const kernel&) {
        const gauge::use u(runs);
        return 1.0;
      });
  CHECK(m.measure(std::vector<kernel>{{7}, {7}}).size() == 2);
  CHECK(builds.total == 1);
  CHECK(runs.total == 2);
  CHECK(m.measure(std::vector<kernel>{}).empty());
}

TEST_CASE("timing may be isolated, and the incumbent rejects the slow early, also within a batch") {
  auto m = pipeline(
      kernels, [](const kernel&) -> built { return std::nullopt; },
      tileseek::isolated(kernels, [](const kernel& k, const tileseek::timing_limits& limits) -> measurement {
        if (k.n == 3) std::abort();
        if (k.n > 1.25 * limits.incumbent) return {status::rejected_early, {1.0 * k.n}, {}};
        return {status::ok, {1.0 * k.n}, {}};
      }));
  const auto r = m.measure(std::vector<kernel>{{4}, {3}, {5}, {6}});
  REQUIRE(r.size() == 4);
  CHECK(r[0].valid());
  CHECK(r[1].outcome == status::crashed);
  CHECK(r[2].valid());
  CHECK(r[3].outcome == status::rejected_early);
}

TEST_CASE("a run with a pipeline finds what a run without one finds") {
  const auto cost = [](const kernel& k) { return 1.0 + (k.n - 61) * (k.n - 61); };
  auto m = pipeline(kernels,
                    [](const kernel& k) -> built {
                      if (k.n % 7 == 0) return failure(status::build_failed, "a multiple of 7");
                      return std::nullopt;
                    },
                    cost, {.jobs = 3});
  const auto r =
      tileseek::tune(kernels, m, {.trials = 100, .progress = tileseek::verbosity::quiet}, tileseek::exhaustive{});
  REQUIRE(r.best);
  CHECK(r.best->n == 61);
  CHECK(r.trials == 100);
  CHECK(r.by_status[static_cast<std::size_t>(status::build_failed)] == 15);
}
