#pragma once
// Threads that wait for work: starting one for every call would take longer than a small kernel.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace tileseek::kernels::detail {

/// A fixed number of threads, the caller among them, that do one thing at a time.
class team {
 public:
  /// @throws std::invalid_argument  size < 1
  /// @throws std::system_error  a thread cannot be started
  explicit team(int size) {
    if (size < 1) throw std::invalid_argument("threads is " + std::to_string(size) + ", pass at least 1");
    try {
      for (int i = 1; i < size; ++i) others_.emplace_back([this, i] { serve(i); });
    } catch (...) {
      dismiss();
      throw;
    }
  }
  ~team() { dismiss(); }
  team(const team&) = delete;
  team& operator=(const team&) = delete;

  [[nodiscard]] int size() const noexcept { return static_cast<int>(others_.size()) + 1; }

  /// Calls work(0) ... work(size - 1), each on its own thread, and returns when all have. `work` must not throw.
  template <class Work>
  void run(const Work& work) {
    if (others_.empty()) return work(0);
    work_ = std::cref(work);
    busy_.store(size() - 1);
    order_.fetch_add(1);
    order_.notify_all();
    work(0);
    for (int left = busy_.load(); left != 0; left = busy_.load()) busy_.wait(left);
  }

 private:
  void serve(int i) {
    for (unsigned seen = 0;;) {
      order_.wait(seen);
      seen = order_.load();
      if (!work_) return;
      work_(i);
      if (busy_.fetch_sub(1) == 1) busy_.notify_one();
    }
  }

  void dismiss() {
    work_ = nullptr;
    order_.fetch_add(1);
    order_.notify_all();
    for (auto& t : others_) t.join();
  }

  std::function<void(int)> work_;
  std::atomic<unsigned> order_{0};  ///< counts what was asked for
  std::atomic<int> busy_{0};        ///< threads that have not finished
  std::vector<std::thread> others_;
};

/// Threads for a calculation that is done once: one core for every 10 million operations, some milliseconds, next to which
/// starting a thread is nothing.
[[nodiscard]] inline int threads_for(double operations) {
  const double cores = std::max(1U, std::thread::hardware_concurrency());
  return static_cast<int>(std::clamp(operations / 1e7, 1.0, cores));
}

/// Part `i` of `parts` of what counts from `begin` to `end`: contiguous, and equal up to 1.
struct range {
  std::ptrdiff_t begin;
  std::ptrdiff_t end;
  [[nodiscard]] std::ptrdiff_t size() const noexcept { return end - begin; }
  [[nodiscard]] range part(std::ptrdiff_t i, std::ptrdiff_t parts) const noexcept {
    return {begin + size() * i / parts, begin + size() * (i + 1) / parts};
  }
};

}  // namespace tileseek::kernels::detail
