#pragma once
// Ctrl-C ends a run and keeps what was found. The one piece of global state in the library: a signal has no other
// place.

#include <atomic>
#include <csignal>

namespace tileseek {

/// While one exists, the first SIGINT asks the run to end after the configuration that is being measured; the second
/// one does what SIGINT did before. Guards nest; the outermost restores the handler. Where SIGINT is ignored, as in a
/// job that a shell started in the background, it stays ignored. tune() makes one; a loop of your own around a session
/// needs its own.
class interrupt_guard {
 public:
  explicit interrupt_guard(bool enabled = true) noexcept : enabled_(enabled) {
    if (!enabled_ || depth().fetch_add(1) > 0) return;
    requested().store(0);
    previous() = std::signal(SIGINT, on_signal);
    if (previous() == SIG_IGN) std::signal(SIGINT, SIG_IGN);
  }
  ~interrupt_guard() {
    if (!enabled_ || depth().fetch_sub(1) > 1) return;
    if (previous() != SIG_ERR) std::signal(SIGINT, previous());
    requested().store(0);  // the run that it ended is over; a later one is not to end as well
  }
  interrupt_guard(const interrupt_guard&) = delete;
  interrupt_guard& operator=(const interrupt_guard&) = delete;

  /// Whether SIGINT came since the outermost guard was made; false where there is none.
  [[nodiscard]] static bool interrupted() noexcept { return requested().load() != 0; }

 private:
  using handler = void (*)(int);

  static void on_signal(int signal) noexcept {
    requested().store(1);
    std::signal(signal, previous() == SIG_ERR ? SIG_DFL : previous());
  }

  [[nodiscard]] static std::atomic<int>& requested() noexcept {
    static std::atomic<int> flag{0};
    static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may touch lock-free atomics only");
    return flag;
  }
  [[nodiscard]] static std::atomic<int>& depth() noexcept {
    static std::atomic<int> guards{0};
    return guards;
  }
  [[nodiscard]] static handler& previous() noexcept {
    static handler before = SIG_DFL;
    return before;
  }

  bool enabled_;
};

}  // namespace tileseek
