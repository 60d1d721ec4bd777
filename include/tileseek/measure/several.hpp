#pragma once
// Several devices of the same kind measure side by side, each with a measurer and a thread of its own.
//
//   std::vector<tileseek::cuda_measurer<Tiling>> gpus;
//   for (std::size_t d = 0; d < 4; ++d) gpus.push_back(tileseek::cuda(space, kernel_on(d)));
//   auto all = tileseek::several<Tiling>(std::move(gpus));
//
// They must be alike: a search compares what one has measured with what another has. The final contest is held on the
// first one alone.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include <tileseek/core/format.hpp>
#include <tileseek/core/measurement.hpp>
#include <tileseek/core/value.hpp>
#include <tileseek/measure/measurer.hpp>
#include <tileseek/measure/pipeline.hpp>

namespace tileseek {

/// A measurer that splits each batch among others. See several().
template <class Config, class M>
class several_measurer {
 public:
  /// @throws std::invalid_argument  no measurers
  explicit several_measurer(std::vector<M> measurers) : shared_(std::make_unique<shared>()) {
    if (measurers.empty()) detail::fail<std::invalid_argument>({"several: no measurers; give at least one"});
    for (auto& m : measurers) {
      shared_->measurers.push_back(std::move(m));
      shared_->threads.push_back(std::make_unique<detail::build_crew>(1));
    }
  }

  /// What all of them together like best.
  [[nodiscard]] std::size_t batch_size() const {
    std::size_t all = 0;
    for (const auto& m : shared_->measurers) all += detail::preferred_batch(m);
    return all;
  }
  [[nodiscard]] named_values conditions() const {
    auto out = detail::conditions_of(shared_->measurers.front());
    out.emplace_back("devices", value(shared_->measurers.size()));
    return out;
  }

  [[nodiscard]] std::vector<measurement> measure(std::span<const Config> batch) { return measure(batch, measuring{}); }

  /// The i-th configuration goes to measurer i modulo their number; results are reported from the calling thread.
  [[nodiscard]] std::vector<measurement> measure(std::span<const Config> batch, const measuring& run) {
    const std::size_t n = shared_->measurers.size();
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::pair<std::size_t, measurement>> reported;
    std::size_t working = 0;
    std::atomic<bool> stop = false;

    std::vector<std::shared_ptr<detail::build_job>> jobs;
    for (std::size_t k = 0; k < n && k < batch.size(); ++k) {
      {
        const std::lock_guard lock(mutex);
        ++working;
      }
      jobs.push_back(shared_->threads[k]->add([&, k]() -> std::optional<measurement> {
        std::vector<Config> share;
        for (std::size_t i = k; i < batch.size(); i += n) share.push_back(batch[i]);
        const auto tell = [&](std::size_t i, const measurement& m) {
          const std::lock_guard lock(mutex);
          reported.emplace_back(k + i * n, m);
          changed.notify_one();
        };
        std::exception_ptr error;
        try {
          const measuring mine{run.limits, tell, [&stop] { return stop.load(); }};
          auto& measurer = shared_->measurers[k];
          auto returned = detail::measure_batch<Config>(measurer, std::span<const Config>(share), mine);
          if constexpr (!RunAwareMeasurer<M, Config>)
            for (std::size_t i = 0; i < returned.size(); ++i) tell(i, returned[i]);
        } catch (...) {
          error = std::current_exception();
          stop = true;  // the others need not go on
        }
        {
          const std::lock_guard lock(mutex);
          --working;
          changed.notify_one();
        }
        if (error) std::rethrow_exception(error);
        return std::nullopt;
      }));
    }

    std::vector<std::optional<measurement>> results(batch.size());
    std::exception_ptr thrown;
    std::unique_lock lock(mutex);
    while (working > 0 || !reported.empty()) {
      changed.wait_for(lock, std::chrono::milliseconds(50), [&] { return working == 0 || !reported.empty(); });
      const auto now = std::exchange(reported, {});
      lock.unlock();
      // What is thrown here (the log's disk is full) waits until nobody works on this batch any more.
      try {
        for (const auto& [i, m] : now) {
          results[i] = m;
          if (run.finished && !thrown) run.finished(i, m);
        }
        if (run.stop && run.stop()) stop = true;
      } catch (...) {
        thrown = std::current_exception();
        stop = true;
      }
      lock.lock();
    }
    lock.unlock();
    if (thrown) std::rethrow_exception(thrown);
    for (std::size_t k = 0; k < jobs.size(); ++k) {
      while (shared_->threads[k]->first_done(std::span(&jobs[k], 1)) != 0) continue;
      if (jobs[k]->error) std::rethrow_exception(jobs[k]->error);
    }
    std::vector<measurement> out;  // as far as it is without a gap; the rest was reported
    for (auto& r : results) {
      if (!r) break;
      out.push_back(std::move(*r));
    }
    return out;
  }

 private:
  /// Stays where it is when the measurer is moved. A measurer is always called from the same thread: a worker process
  /// ends with the thread that started it.
  struct shared {
    std::vector<M> measurers;
    std::vector<std::unique_ptr<detail::build_crew>> threads;  ///< one each; last, so that they end first
  };
  std::unique_ptr<shared> shared_;
};

/// A measurer that splits each batch among these.
/// @throws std::invalid_argument  no measurers
template <class Config, class M>
[[nodiscard]] several_measurer<Config, M> several(std::vector<M> measurers) {
  static_assert(Measurer<M, Config> || RunAwareMeasurer<M, Config>,
                "tileseek::several: pass a vector of objects with measure(std::span<const Config>)");
  return several_measurer<Config, M>(std::move(measurers));
}

}  // namespace tileseek
