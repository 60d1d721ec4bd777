#pragma once
// Measures in a process of its own, so that a kernel that crashes, hangs or eats the memory costs one configuration and
// not the run. POSIX only, and therefore included by name:
//
//   #include <tileseek/measure/isolated.hpp>
//   auto guarded = tileseek::isolated(space, timed, {.memory = 4'000'000'000});
//   tileseek::tune(space, guarded, {.trials = 200});
//
// The worker is forked when the first configuration is measured, and again when it is lost. The tuner's own process
// never calls the measurer: a device that the measurer opens on its first call is opened in the worker alone. Open it
// no earlier, since most (CUDA among them) do not survive a fork; and let rivals that use it be isolated, too. What the
// measurer changes in memory stays in the worker and is forgotten with it.
//
// Points travel to the worker, measurements come back; both are checked, so that a kernel that writes to every file it
// finds is found out. A worker that is lost is killed with all processes of its group. A configuration is blamed for a
// death only in a worker that had measured nothing before: in any other it is measured once more in a new one, because
// an earlier configuration may have damaged the process, or filled its memory. Not so when it hangs, which costs time.
//
// In the worker, all files but the standard ones are closed (the log's lock would otherwise outlive the run), standard
// input is empty, signals have the default behaviour where the program had a handler, no core is dumped, and nothing
// that the program has registered for its exit is run.
//
// Configurations go to the worker one at a time, whatever the batch. A measurer that builds a batch in parallel has the
// isolation inside it: see measure/pipeline.hpp.

#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <tileseek/measure/detail/process.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include <tileseek/core/format.hpp>
#include <tileseek/core/hash.hpp>
#include <tileseek/core/measurement.hpp>
#include <tileseek/core/point.hpp>
#include <tileseek/measure/measurer.hpp>
#include <tileseek/space/space.hpp>

namespace tileseek {

/// Options of isolated(). A configuration may take `build_seconds` and `slack` times what the best one so far took from
/// request to result, at most `most_seconds` in all; and `most_seconds` as long as nothing is known to be valid. When
/// the best one comes from a log, all its samples and a warm-up count as what it took.
struct isolation {
  double most_seconds = 60;   ///< a build and a run in MetaSchedule, which gives 30 s to each. Infinite: no limit
  double build_seconds = 15;  ///< for what is not timed: building, checking, opening the device (Ansor's for a build)
  /// Times the best one's whole time. A configuration that is rejected early takes a warm-up and 3 samples where the best
  /// one took a warm-up and up to 7: whatever is less than 10 times slower is done in time.
  double slack = 10;
  /// Bytes that the worker may allocate beyond what the program has when it is forked; 0: no limit. It is a limit of
  /// addresses (RLIMIT_AS), of which CUDA and the sanitizers reserve far more than they use: leave it at 0 with them.
  std::uint64_t memory = 0;
  bool quiet = false;  ///< what the worker prints is dropped
  /// A new worker after `run_failed` and `wrong_result`: a kernel that went wrong may have left the process, or the
  /// device, in a state in which all others fail. Costs what the measurer's set-up costs.
  bool renew = true;
};

namespace detail {

/// @throws std::invalid_argument  an option has no meaning
[[gnu::cold]] inline void check(const isolation& o) {
  const auto refuse = [](const char* option, double value, const char* remedy) {
    fail<std::invalid_argument>({"isolated: ", option, " is ", value, "; ", remedy});
  };
  if (!(o.most_seconds > 0)) refuse("most_seconds", o.most_seconds, "give more than 0");
  if (!(o.build_seconds >= 0)) refuse("build_seconds", o.build_seconds, "give 0 or more");
  if (!(o.slack >= 1)) refuse("slack", o.slack, "give a factor of at least 1");
}

/// How long a configuration may take from request to result: learnt from the best one so far.
class patience {
 public:
  [[nodiscard]] double allowed(const isolation& choices, const timing_limits& limits) const {
    double whole = whole_;
    if (!std::isfinite(whole)) whole = (1 + limits.max_samples) * limits.incumbent;
    return std::fmin(choices.most_seconds, choices.build_seconds + choices.slack * whole);
  }
  void learn(const measurement& m, process_clock::time_point asked) {
    if (!m.valid() || !(m.cost() < cost_)) return;
    cost_ = m.cost();
    whole_ = std::chrono::duration<double>(process_clock::now() - asked).count();
  }

 private:
  double cost_ = std::numeric_limits<double>::infinity();
  double whole_ = std::numeric_limits<double>::infinity();  ///< seconds from its request to its result
};

#if defined(MSG_NOSIGNAL)
inline constexpr int no_signal = MSG_NOSIGNAL;
#else
inline constexpr int no_signal = 0;  // the socket says so itself, see worker_process::start()
#endif

/// All of it, or false.
[[nodiscard]] inline bool send_all(int channel, const void* data, std::size_t size) noexcept {
  const auto* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t sent = ::send(channel, at, size, no_signal);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

/// All of it, or false when the other side is gone.
[[nodiscard]] inline bool receive_all(int channel, void* data, std::size_t size) noexcept {
  auto* at = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t got = ::recv(channel, at, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

/// What goes to the worker; `coordinates` indices (int) follow. Both sides are the same program: no byte order.
struct worker_request {
  std::uint64_t number;
  std::uint64_t coordinates;
  timing_limits limits;
};
static_assert(std::is_trivially_copyable_v<worker_request>);

/// What comes back; `samples` doubles and `note` bytes follow.
struct worker_reply {
  std::uint64_t key;  ///< of this worker: nobody writes it by accident
  std::uint64_t number;
  std::uint64_t samples;
  std::uint64_t note;
  std::uint64_t body;  ///< checksum of what follows
  std::int32_t outcome;
  std::int32_t last;    ///< the worker ends itself
  std::uint64_t check;  ///< checksum of what is above
};
static_assert(std::is_trivially_copyable_v<worker_reply> && sizeof(worker_reply) == 56);

/// Longer notes (a compiler's ten thousandth error) are cut: they go into the log.
inline constexpr std::size_t longest_note = 65'536;

/// The worker's answer. @return false: the tuner is gone
[[nodiscard]] inline bool reply(int channel, std::uint64_t key, std::uint64_t number, const measurement& m, bool last) {
  std::string cut;  // allocates only when it must: there may be no memory left
  if (m.note.size() > longest_note) {
    cut = m.note.substr(0, longest_note);
    append(cut, {"... (", m.note.size() - longest_note, " more bytes)"});
  }
  const std::string& note = cut.empty() ? m.note : cut;
  worker_reply head{key,          number, m.seconds.size(), note.size(), 0, static_cast<std::int32_t>(m.outcome),
                    last ? 1 : 0, 0};
  const std::size_t bytes = m.seconds.size() * sizeof(double);
  head.body = checksum(note.data(), note.size(), checksum(m.seconds.data(), bytes));
  head.check = checksum(&head, offsetof(worker_reply, check));
  return send_all(channel, &head, sizeof head) && send_all(channel, m.seconds.data(), bytes) &&
         send_all(channel, note.data(), note.size());
}

/// A forked process that answers one request after another, and what can become of it.
class worker_process {
 public:
  worker_process() = default;
  worker_process(worker_process&&) noexcept = default;
  worker_process& operator=(worker_process&&) = delete;

  [[nodiscard]] bool running() const noexcept { return process_.running(); }
  [[nodiscard]] pid_t id() const noexcept { return process_.id(); }
  /// Whether it has measured nothing yet.
  [[nodiscard]] bool fresh() const noexcept { return answered_ == 0; }

  /// Forks. `serve(channel, key)` runs in the worker.
  /// @throws std::runtime_error  there can be no further process, or file
  template <class Serve>
  void start(const isolation& choices, const Serve& serve) {
    end();
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) refused("no channel to a worker: ", errno);
    for (int& e : ends) {
      // Above the standard files, which the program may have closed; and what either side starts, a compiler, say, must
      // not keep it open.
      ::close(std::exchange(e, ::fcntl(e, F_DUPFD_CLOEXEC, 3)));
#if defined(SO_NOSIGPIPE)
      const int on = 1;
      ::setsockopt(e, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
    }
    const int made = ends[0] < 0 || ends[1] < 0 ? errno : 0;
    channel_ = file_handle(ends[0]);
    const file_handle theirs(ends[1]);
    if (made != 0) refused("no channel to a worker: ", made);
    const auto now = clock::now().time_since_epoch().count();
    key_ = checksum(&now, sizeof now, checksum(&ends, sizeof ends) ^ static_cast<std::uint64_t>(::getpid()));
    answered_ = 0;
    std::fflush(stdout);  // or what is in its buffer would be printed by both
    const int why = process_.start([&] {
      settle(theirs.get(), choices);
      serve(theirs.get(), key_);  // does not return
    });
    if (why != 0) {
      channel_.close();
      refused("no worker process: ", why);
    }
  }

  /// Sends the request and waits for the reply to it, at most so long. When there is none, the worker is gone and the
  /// measurement says why.
  [[nodiscard]] measurement ask(const point& p, const timing_limits& limits, double seconds) {
    const worker_request head{answered_, p.size(), limits};
    const auto end_at = from_now(seconds);
    static_cast<void>(send_all(channel_.get(), &head, sizeof head) &&
                      send_all(channel_.get(), p.data(), p.size() * sizeof(int)));  // or the reply will be missing
    worker_reply got{};
    auto f = receive(&got, sizeof got, end_at);
    if (f != fate::answered) return lost(f, seconds);
    if (got.key != key_ || got.number != answered_ || got.check != checksum(&got, offsetof(worker_reply, check)) ||
        got.outcome < 0 || got.outcome >= static_cast<std::int32_t>(status_count))
      return lost(fate::garbage, seconds);
    measurement m;
    m.outcome = static_cast<status>(got.outcome);
    m.seconds.resize(got.samples);
    m.note.resize(got.note);
    const std::size_t bytes = m.seconds.size() * sizeof(double);
    if ((f = receive(m.seconds.data(), bytes, end_at)) != fate::answered) return lost(f, seconds);
    if ((f = receive(m.note.data(), m.note.size(), end_at)) != fate::answered) return lost(f, seconds);
    if (got.body != checksum(m.note.data(), m.note.size(), checksum(m.seconds.data(), bytes)))
      return lost(fate::garbage, seconds);
    ++answered_;
    if (got.last != 0) end();
    return m;
  }

  /// Kills it. @return what waitpid() says, if it does
  std::optional<int> end() noexcept {
    channel_.close();
    return process_.end();
  }

 private:
  using clock = process_clock;
  enum class fate { answered, late, closed, garbage };

  [[noreturn]] static void refused(const char* what, int why) {
    fail<std::runtime_error>({"isolated: ", what, std::generic_category().message(why)});
  }

  /// Makes this process, just forked, a worker.
  static void settle(int channel, const isolation& choices) noexcept {
    forget_signal_handlers();
    const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    ::dup2(nothing, STDIN_FILENO);
    if (choices.quiet) {
      ::dup2(nothing, STDOUT_FILENO);
      ::dup2(nothing, STDERR_FILENO);
    }
    close_all_but(channel);
    limit_resources(choices.memory, address_space());
#if defined(__GLIBC__)
    // A kernel that calls exit() would run what the tuner registered for its own; this comes first.
    ::on_exit([](int code, void*) { ::_exit(code); }, nullptr);
#endif
  }

  static void close_all_but(int channel) noexcept {
    std::vector<int> open;
    if (DIR* const folder = ::opendir("/dev/fd")) {
      while (const dirent* const entry = ::readdir(folder)) open.push_back(std::atoi(entry->d_name));
      ::closedir(folder);
    } else {
      for (int f = 3; f < 1024; ++f) open.push_back(f);
    }
    for (const int f : open)
      if (f > 2 && f != channel) ::close(f);
  }

  /// Bytes of addresses in use; 0 where the system does not tell.
  [[nodiscard]] static std::uint64_t address_space() noexcept {
    std::uint64_t pages = 0;
    if (const int f = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC); f >= 0) {
      char text[32] = {};
      if (::read(f, text, sizeof text - 1) > 0) pages = std::strtoull(text, nullptr, 10);
      ::close(f);
    }
    return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  }

  [[nodiscard]] fate receive(void* data, std::size_t size, clock::time_point end_at) const {
    auto* at = static_cast<char*>(data);
    while (size > 0) {
      if (const auto f = process_.await(channel_.get(), POLLIN, end_at); f != child_process::fate::ready)
        return f == child_process::fate::late ? fate::late : fate::closed;
      const ssize_t got = ::recv(channel_.get(), at, size, 0);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return fate::closed;
      at += got;
      size -= static_cast<std::size_t>(got);
    }
    return fate::answered;
  }

  /// Ends the worker and says how the configuration lost it.
  [[nodiscard, gnu::cold]] measurement lost(fate f, double seconds) {
    const bool itself = f == fate::closed && process_.about_to_die();
    const auto how = end();
    if (f == fate::late) return failure(status::timed_out, concat({"no result within ", show_seconds(seconds)}));
    if (f == fate::garbage) return failure(status::crashed, "wrote garbage into the worker's channel");
    return failure(status::crashed, itself ? describe_end(how) : std::string("closed the worker's channel"));
  }

  child_process process_;
  file_handle channel_;
  std::uint64_t key_ = 0;
  std::uint64_t answered_ = 0;
};

}  // namespace detail

/// A measurer that lets another one measure in a worker process. See isolated(). Not safe to use from several threads at
/// once; where the thread that calls measure() ends, Linux ends the worker, and the next call starts a new one.
///
/// @tparam M  the other measurer, or a reference to it
template <class Config, class M>
class isolated_measurer {
 public:
  /// @throws std::invalid_argument  an option has no meaning
  isolated_measurer(const space<Config>& of, M&& measurer, const isolation& choices)
      : space_(of), measurer_(std::forward<M>(measurer)), choices_(choices) {
    detail::check(choices_);
  }

  [[nodiscard]] std::vector<measurement> measure(std::span<const Config> batch) { return measure(batch, measuring{}); }

  /// @throws std::invalid_argument  a configuration is not in the space
  /// @throws std::runtime_error     no worker process can be started
  [[nodiscard]] std::vector<measurement> measure(std::span<const Config> batch, const measuring& run) {
    std::vector<measurement> out;
    timing_limits limits = run.limits;
    for (std::size_t i = 0; i < batch.size() && !(run.stop && run.stop()); ++i) {
      const auto p = space_.locate(batch[i]);
      if (!p)
        detail::fail<std::invalid_argument>(
            {"isolated: ", space_.describe(batch[i]), " is not in the space: ", space_.why_not(batch[i])});
      out.push_back(measure_one(*p, limits));
      if (out.back().outcome == status::ok) limits.incumbent = std::fmin(limits.incumbent, out.back().cost());
      if (run.finished) run.finished(i, out.back());
    }
    return out;
  }

  /// Starts the worker unless there is one; measure() does so by itself. For a program with threads: a lock that one of
  /// them holds at that moment stays locked in the worker.
  /// @throws std::runtime_error  no worker process can be started
  void start() {
    if (worker_.running()) return;
    worker_.start(choices_, [this](int channel, std::uint64_t key) { serve(channel, key); });
    ++workers_;
  }

  /// Seconds that the next configuration may take.
  [[nodiscard]] double allowed(const timing_limits& limits = {}) const { return patience_.allowed(choices_, limits); }

  [[nodiscard]] named_values conditions() const { return detail::conditions_of(measurer_); }

  /// The process that measures now; 0 for none.
  [[nodiscard]] pid_t worker() const noexcept { return worker_.id(); }
  /// Processes that were started so far.
  [[nodiscard]] std::size_t workers() const noexcept { return workers_; }

 private:
  [[nodiscard]] measurement measure_one(const point& p, const timing_limits& limits) {
    for (;;) {
      start();
      const bool fresh = worker_.fresh();
      const auto began = detail::process_clock::now();
      measurement m = detail::checked(worker_.ask(p, limits, allowed(limits)));
      if (m.outcome == status::crashed && !worker_.running() && !fresh) continue;  // not its fault, perhaps
      patience_.learn(m, began);
      if (choices_.renew && (m.outcome == status::run_failed || m.outcome == status::wrong_result)) worker_.end();
      return m;
    }
  }

  /// The worker's life. noexcept: what is thrown here must not unwind the tuner's frames, of which it has a copy.
  [[noreturn]] void serve(int channel, std::uint64_t key) noexcept {
    detail::worker_request head{};
    measurement no_memory = out_of_memory();  // while there is some
    while (detail::receive_all(channel, &head, sizeof head)) {
      point p(head.coordinates);
      if (!detail::receive_all(channel, p.data(), p.size() * sizeof(int))) break;
      measurement m;
      bool last = false;
      try {
        m = call(space_.at(p), head.limits);
      } catch (const std::bad_alloc&) {
        m = std::move(no_memory);
        last = true;
      }
      std::fflush(stdout);
      if (!detail::reply(channel, key, head.number, m, last) || last) break;
    }
    ::_exit(0);
  }

  /// @throws std::bad_alloc
  [[nodiscard]] measurement call(const Config& c, const timing_limits& limits) {
    try {
      const std::span<const Config> one(&c, 1);
      std::optional<measurement> got;
      const measuring run{limits, [&got](std::size_t, const measurement& m) { got = m; }, {}};
      auto returned = detail::measure_batch<Config>(measurer_, one, run);
      if (!returned.empty()) return std::move(returned.front());
      if (got) return std::move(*got);
      return failure(status::run_failed, "the measurer returned no measurement");
    } catch (...) {
      return detail::thrown();
    }
  }

  [[nodiscard]] measurement out_of_memory() const {
    std::string note = "out of memory (std::bad_alloc)";
    if (choices_.memory > 0) detail::append(note, {"; the limit is ", choices_.memory, " bytes"});
    return failure(status::crashed, std::move(note));
  }

  space<Config> space_;
  M measurer_;  ///< or a reference to it
  isolation choices_;
  detail::worker_process worker_;
  std::size_t workers_ = 0;
  detail::patience patience_;
};

/// Measures the configurations of the space in a worker process: a measurer for tune().
///
/// A crash (whatever ends the process, std::bad_alloc, closing or garbling the channel) becomes `crashed`, no result in
/// time `timed_out`, an exception `run_failed`; the note names the signal, the exit code or the limit.
///
/// @param measurer  what tune() takes: a callable, or an object with measure(). A temporary is kept; what has a name is
///                  referred to, and must outlive the result
/// @throws std::invalid_argument  an option has no meaning
template <class Config, class M>
[[nodiscard]] auto isolated(const space<Config>& of, M&& measurer, const isolation& choices = {}) {
  using how = detail::keeping<Config, M>;
  static_assert(
      how::measures || TimedFunction<typename how::type, Config>,
      "tileseek::isolated: pass a callable of const Config& that returns seconds or a measurement, or an object with "
      "measure(std::span<const Config>) -> std::vector<measurement>");
  return isolated_measurer<Config, typename how::kept>(of, detail::keep_measurer<Config, M>(measurer), choices);
}

}  // namespace tileseek
