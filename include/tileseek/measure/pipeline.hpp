#pragma once
// Builds configurations in parallel and times them one after another.
//
//   auto measurer = tileseek::pipeline(space, build, run);
//
// A CPU that times kernels must not compile at the same time: a batch is built on all cores first, then timed with the
// machine alone. Where the timed device is another one, {.overlap = true} builds the next configurations while one is
// timed, and whole batches ahead when the tuner says what comes next (see PreparingMeasurer). Either way a failed build
// is reported at once and delays no other.
//
// What build() makes, run() finds again by the configuration: in a file named after it, say, which a worker process
// sees, too. So the timing half may be isolated() while compilers run in the tuner's own process.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <concepts>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <tileseek/core/format.hpp>
#include <tileseek/core/measurement.hpp>
#include <tileseek/core/point.hpp>
#include <tileseek/core/value.hpp>
#include <tileseek/measure/measurer.hpp>
#include <tileseek/space/space.hpp>

namespace tileseek {

/// Options of pipeline().
struct pipelining {
  std::size_t jobs = 0;  ///< builds at once; 0: as many as there are cores
  bool overlap = false;  ///< build while timing: only where the timed device is not this CPU
};

/// A callable that makes what a configuration needs to run: nothing when it did, the failure when it did not. It is
/// called from several threads at once. What it throws becomes `build_failed` with the exception's text.
template <class F, class Config>
concept BuildFunction = requires(F& f, const Config& c) {
  { f(c) } -> std::same_as<std::optional<measurement>>;
};

namespace detail {

/// A build that somebody waits for, or may.
struct build_job {
  bool done = false;
  std::optional<measurement> failure;
  std::exception_ptr error;  ///< what must pass: std::bad_alloc
};

/// Threads that do one job after another, in the order they were given. The builds of jobs that were not begun are
/// dropped with the crew.
class build_crew {
 public:
  explicit build_crew(std::size_t size) : size_(size) {}
  build_crew(const build_crew&) = delete;
  build_crew& operator=(const build_crew&) = delete;
  ~build_crew() {
    {
      const std::lock_guard lock(mutex_);
      waiting_.clear();
      over_ = true;
    }
    changed_.notify_all();
    for (auto& t : threads_) t.join();
  }

  template <class Build>
  [[nodiscard]] std::shared_ptr<build_job> add(Build build) {
    auto job = std::make_shared<build_job>();
    {
      const std::lock_guard lock(mutex_);
      waiting_.emplace_back(job, std::move(build));
      if (threads_.size() < size_ && threads_.size() < waiting_.size() + busy_)
        threads_.push_back(std::thread([this] { work(); }));
    }
    changed_.notify_all();
    return job;
  }

  /// Waits a moment for any of the jobs to be done. @return the place of the first one that is; the number of jobs: none
  [[nodiscard]] std::size_t first_done(std::span<const std::shared_ptr<build_job>> jobs) {
    std::unique_lock lock(mutex_);
    const auto find = [&] {
      for (std::size_t i = 0; i < jobs.size(); ++i)
        if (jobs[i] && jobs[i]->done) return i;
      return jobs.size();
    };
    std::size_t found = jobs.size();
    changed_.wait_for(lock, std::chrono::milliseconds(50), [&] { return (found = find()) < jobs.size(); });
    return found;
  }

  /// Forgets a job unless it was begun.
  void cancel(const build_job* job) {
    const std::lock_guard lock(mutex_);
    std::erase_if(waiting_, [job](const auto& w) { return w.first.get() == job; });
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return over_ || !waiting_.empty(); });
      if (over_) return;
      auto [job, build] = std::move(waiting_.front());
      waiting_.pop_front();
      ++busy_;
      lock.unlock();
      std::optional<measurement> failed;
      std::exception_ptr error;
      try {
        failed = build();
      } catch (...) {
        error = std::current_exception();
      }
      build = nullptr;
      lock.lock();
      --busy_;
      job->failure = std::move(failed);
      job->error = error;
      job->done = true;
      changed_.notify_all();
    }
  }

  std::size_t size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<std::shared_ptr<build_job>, std::function<std::optional<measurement>()>>> waiting_;
  std::size_t busy_ = 0;
  bool over_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace detail

/// A measurer that builds in parallel and times serially. See pipeline(). measure() and prepare() belong to one thread;
/// its results are reported from there.
///
/// @tparam M  the measurer that times, or a reference to it
template <class Config, class Build, class M>
class pipeline_measurer {
 public:
  pipeline_measurer(const space<Config>& of, Build build, M&& measurer, const pipelining& choices)
      : space_(of),
        build_(std::make_unique<Build>(std::move(build))),
        measurer_(std::forward<M>(measurer)),
        jobs_(choices.jobs > 0 ? choices.jobs : std::max(1U, std::thread::hardware_concurrency())),
        overlap_(choices.overlap),
        crew_(std::make_unique<detail::build_crew>(jobs_)) {}

  /// Builds are what takes long: a batch keeps all jobs busy, but no more than 8, since a search that hears of its
  /// results late needs more of them (a tenth more with batches of 8).
  [[nodiscard]] std::size_t batch_size() const { return std::min<std::size_t>(jobs_, 8); }
  [[nodiscard]] named_values conditions() const { return detail::conditions_of(measurer_); }

  /// Starts to build what will be measured next, if builds may overlap with timing.
  /// @throws std::invalid_argument  a configuration is not in the space
  void prepare(std::span<const Config> batch) {
    if (overlap_)
      for (const auto& c : batch) static_cast<void>(job_of(c));
  }

  [[nodiscard]] std::vector<measurement> measure(std::span<const Config> batch) { return measure(batch, measuring{}); }

  /// @throws std::invalid_argument  a configuration is not in the space
  [[nodiscard]] std::vector<measurement> measure(std::span<const Config> batch, const measuring& run) {
    std::vector<std::shared_ptr<detail::build_job>> building;
    for (const auto& c : batch) building.push_back(job_of(c));
    std::vector<std::optional<measurement>> results(batch.size());
    const auto report = [&](std::size_t i, measurement m) {
      results[i] = std::move(m);
      if (run.finished) run.finished(i, *results[i]);
    };
    timing_limits limits = run.limits;
    const auto time = [&](std::size_t i) {
      const measuring one{limits, {}, run.stop};
      auto returned = detail::measure_batch<Config>(measurer_, batch.subspan(i, 1), one);
      if (returned.empty()) return;  // it was told to stop
      if (returned.front().outcome == status::ok)
        limits.incumbent = std::fmin(limits.incumbent, returned.front().cost());
      report(i, std::move(returned.front()));
    };
    std::vector<std::size_t> built;
    std::size_t left = batch.size();
    while (left > 0 && !(run.stop && run.stop())) {
      const std::size_t i = crew_->first_done(building);
      if (i == building.size()) continue;
      --left;
      const auto job = std::exchange(building[i], nullptr);
      if (job->error) {
        for (const auto& c : batch) forget(c);
        std::rethrow_exception(job->error);
      }
      if (job->failure)
        report(i, measurement(*job->failure));
      else if (overlap_)
        time(i);
      else
        built.push_back(i);
    }
    std::sort(built.begin(), built.end());
    for (const auto i : built)
      if (!(run.stop && run.stop())) time(i);
    for (const auto& c : batch) forget(c);
    std::vector<measurement> out;  // as far as it is without a gap; the rest was reported
    for (auto& r : results) {
      if (!r) break;
      out.push_back(std::move(*r));
    }
    return out;
  }

  /// The measurer that times.
  [[nodiscard]] const std::remove_reference_t<M>& timer() const noexcept { return measurer_; }

 private:
  [[nodiscard]] point point_of(const Config& c) const {
    const auto p = space_.locate(c);
    if (!p)
      detail::fail<std::invalid_argument>(
          {"pipeline: ", space_.describe(c), " is not in the space: ", space_.why_not(c)});
    return *p;
  }

  [[nodiscard]] std::shared_ptr<detail::build_job> job_of(const Config& c) {
    auto& job = jobs_by_point_[point_of(c)];
    if (!job)
      job = crew_->add([build = build_.get(), c]() -> std::optional<measurement> {
        try {
          return (*build)(c);
        } catch (const std::bad_alloc&) {
          throw;
        } catch (...) {
          auto m = detail::thrown();
          m.outcome = status::build_failed;
          return m;
        }
      });
    return job;
  }

  void forget(const Config& c) {
    const auto at = jobs_by_point_.find(point_of(c));
    if (at == jobs_by_point_.end()) return;
    crew_->cancel(at->second.get());
    jobs_by_point_.erase(at);
  }

  space<Config> space_;
  std::unique_ptr<Build> build_;  ///< stays where it is when this is moved: threads call it
  M measurer_;
  std::size_t jobs_;
  bool overlap_;
  std::map<point, std::shared_ptr<detail::build_job>> jobs_by_point_;
  std::unique_ptr<detail::build_crew> crew_;  ///< last: it ends first
};

/// A measurer that builds the configurations of the space with `build` on several threads, and measures those that were
/// built with `measurer`, one after another.
///
/// @param build     const Config& -> std::optional<measurement>, see BuildFunction. It may be asked for a configuration
///                  again: it keeps what it has built
/// @param measurer  what tune() takes: a callable, or an object with measure(). A temporary is kept; what has a name is
///                  referred to, and must outlive the result
template <class Config, class Build, class M>
[[nodiscard]] auto pipeline(const space<Config>& of, Build&& build, M&& measurer, const pipelining& choices = {}) {
  using how = detail::keeping<Config, M>;
  using builder = std::decay_t<Build>;
  static_assert(
      BuildFunction<builder, Config>,
      "tileseek::pipeline: pass as second argument a callable of const Config& that builds a configuration and "
      "returns std::optional<tileseek::measurement>: nothing, or the failure");
  static_assert(how::measures || TimedFunction<typename how::type, Config>,
                "tileseek::pipeline: pass as third argument a callable of const Config& that returns seconds or a "
                "measurement, or "
                "an object with measure(std::span<const Config>) -> std::vector<measurement>");
  return pipeline_measurer<Config, builder, typename how::kept>(of, std::forward<Build>(build),
                                                                detail::keep_measurer<Config, M>(measurer), choices);
}

}  // namespace tileseek
