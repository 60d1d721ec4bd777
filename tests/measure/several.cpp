#include <tileseek/measure/several.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <new>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include <unistd.h>

#include <tileseek/measure/isolated.hpp>
#include <tileseek/search/exhaustive.hpp>
#include <tileseek/tune/tune.hpp>

using tileseek::measurement;
using tileseek::measuring;
using tileseek::several;
using tileseek::status;

namespace {

struct kernel {
  int n = 0;
};

std::vector<kernel> some(int count) {
  std::vector<kernel> out;
  for (int i = 0; i < count; ++i) out.push_back({i});
  return out;
}

/// Takes its time, and knows who called it.
struct device {
  int number = 0;
  std::set<std::thread::id> callers{};
  std::vector<int> measured{};
  std::shared_ptr<std::atomic<int>> busy = nullptr;
  std::shared_ptr<std::atomic<int>> most = nullptr;

  std::vector<measurement> measure(std::span<const kernel> batch) {
    std::vector<measurement> out;
    callers.insert(std::this_thread::get_id());
    for (const auto& k : batch) {
      if (busy) {
        const int now = ++*busy;
        if (now > *most) *most = now;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        --*busy;
      }
      if (k.n == 999) throw std::bad_alloc();
      measured.push_back(k.n);
      out.push_back({status::ok, {1.0 + k.n + 1000.0 * number}, {}});
    }
    return out;
  }
  [[nodiscard]] static std::size_t batch_size() { return 2; }
};

static_assert(tileseek::RunAwareMeasurer<tileseek::several_measurer<kernel, device>, kernel>);

}  // namespace

TEST_CASE("a batch is split among the devices, which work side by side; results are in order") {
  const auto busy = std::make_shared<std::atomic<int>>(0);
  const auto most = std::make_shared<std::atomic<int>>(0);
  std::vector<device> devices;
  for (int d = 0; d < 3; ++d) devices.push_back({d, {}, {}, busy, most});
  auto all = several<kernel>(std::move(devices));
  CHECK(all.batch_size() == 6);
  std::vector<std::size_t> told;
  const auto here = std::this_thread::get_id();
  measuring run;
  run.finished = [&](std::size_t i, const measurement&) {
    CHECK(std::this_thread::get_id() == here);
    told.push_back(i);
  };
  const auto r = all.measure(some(10), run);
  REQUIRE(r.size() == 10);
  for (int i = 0; i < 10; ++i) CHECK(r[static_cast<std::size_t>(i)].cost() == 1.0 + i + 1000.0 * (i % 3));
  CHECK(told.size() == 10);
  CHECK(*most > 1);
  CHECK(all.measure(std::vector<kernel>{}).empty());
  CHECK(all.measure(some(1)).size() == 1);
}

TEST_CASE("what passes a measurer passes here, and the next batch is none the worse") {
  auto all = several<kernel>(std::vector<device>(2));
  auto batch = some(4);
  batch[1].n = 999;
  CHECK_THROWS_AS(static_cast<void>(all.measure(batch)), std::bad_alloc);
  CHECK(all.measure(some(4)).size() == 4);
  CHECK_THROWS_WITH_AS(static_cast<void>(several<kernel>(std::vector<device>{})),
                       "several: no measurers; give at least one", std::invalid_argument);
}

TEST_CASE("a result that can't be kept ends the batch, when all have stopped") {
  const auto slow = [](const kernel& k) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    return 1.0 + k.n;
  };
  std::vector<decltype(tileseek::each<kernel>(slow))> timers(3, tileseek::each<kernel>(slow));
  auto all = several<kernel>(std::move(timers));
  measuring run;
  run.finished = [](std::size_t, const measurement&) { throw std::runtime_error("no space left on device"); };
  CHECK_THROWS_WITH_AS(static_cast<void>(all.measure(some(60), run)), "no space left on device", std::runtime_error);
  CHECK(all.measure(some(6)).size() == 6);
}

TEST_CASE("a run that is to end stops all of them, and loses nothing that was measured") {
  const auto space = tileseek::space<kernel>{}.add("n", &kernel::n, tileseek::range(0, 99));
  const auto timed = [](const kernel& k) {
    std::this_thread::sleep_for(std::chrono::milliseconds(k.n < 10 ? 1 : 10));
    return 1.0 + k.n;
  };
  std::vector<decltype(tileseek::each<kernel>(timed))> timers(2, tileseek::each<kernel>(timed));
  auto all = several<kernel>(std::move(timers));
  std::size_t told = 0;
  measuring run;
  run.finished = [&told](std::size_t, const measurement&) { ++told; };
  run.stop = [&told] { return told >= 6; };
  const auto r = all.measure(some(100), run);
  CHECK(r.size() <= told);
  CHECK(told < 100);
  CHECK(told >= 6);
}

TEST_CASE("each keeps its worker process from batch to batch") {
  const auto space = tileseek::space<kernel>{}.add("n", &kernel::n, tileseek::range(0, 99));
  using timer = double (*)(const kernel&);
  const timer process = [](const kernel&) { return static_cast<double>(getpid()); };
  std::vector<decltype(tileseek::isolated(space, timer(process)))> workers;
  for (int i = 0; i < 2; ++i) workers.push_back(tileseek::isolated(space, timer(process)));
  auto all = several<kernel>(std::move(workers));
  std::set<double> processes;
  for (int i = 0; i < 3; ++i)
    for (const auto& r : all.measure(some(4))) processes.insert(r.cost());
  CHECK(processes.size() == 2);
  const auto found = tileseek::tune(space, all, {.trials = 20, .rounds = 0, .progress = tileseek::verbosity::quiet},
                                    tileseek::exhaustive{});
  CHECK(found.trials == 20);
}
