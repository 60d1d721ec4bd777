#include <tileseek/measure/isolated.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tileseek/measure/time.hpp>
#include <tileseek/search/exhaustive.hpp>
#include <tileseek/tune/tune.hpp>

#include "tune/fixture.hpp"

using tileseek::isolated;
using tileseek::isolation;
using tileseek::measurement;
using tileseek::measuring;
using tileseek::status;
using tileseek::timing_limits;

namespace {

constexpr bool address_sanitizer =
#if defined(__SANITIZE_ADDRESS__)
    true;
#elif !defined(__has_feature)
    false;
#elif __has_feature(address_sanitizer)
    true;
#else
    false;
#endif

struct job {
  int deed = 0, n = 0;
};

tileseek::space<job> jobs() {
  return tileseek::space<job>{}
      .add("deed", &job::deed, tileseek::range(0, 30))
      .add("n", &job::n, tileseek::range(0, 299));
}

enum deed {
  good,
  segfault,
  stack_overflow,
  aborts,
  exits_0,
  exits_3,
  terminates,
  divides,
  hangs,
  stops,
  throws,
  throws_seven,
  no_memory,
  nan_time,
  garbage,
  closes,
  huge_note,
  leaks,
  breaks_others,  // returns a time, and leaves the process damaged
  fragile,        // dies in a damaged process
  child_hangs,    // with a process of its own
  child_stays,    // dies, and a process of its own keeps the channel open
  threads_end,    // ends its thread, which is the only one
};

bool damaged = false;

int overflow(int depth) {
  std::array<char, 4096> frame{};
  volatile char* const first = frame.data();
  *first = static_cast<char>(depth);
  return depth == 0 ? *first : overflow(depth + 1) + *first;
}

[[noreturn]] void sleep_for_ever() {
  for (;;) pause();
}

void write_everywhere() {
  const std::string text(200, '\x55');
  for (int f = 0; f < 64; ++f)
    if (f != STDOUT_FILENO && f != STDERR_FILENO) static_cast<void>(!write(f, text.data(), text.size()));
}

measurement run(const job& j, const timing_limits&) {
  switch (j.deed) {
    case segfault: std::raise(SIGSEGV); break;
    case stack_overflow: return {status::ok, {1.0 + overflow(1)}, {}};
    case aborts: std::abort();
    case exits_0: std::exit(0);
    case exits_3: std::exit(3);
    case terminates: std::terminate();
    case divides: std::raise(SIGFPE); break;
    case hangs: sleep_for_ever();
    case stops: std::raise(SIGSTOP); break;
    case throws: throw std::runtime_error("too wide");
    case throws_seven: throw 7;
    case no_memory: throw std::bad_alloc();
    case nan_time: return {status::ok, {1, std::numeric_limits<double>::quiet_NaN()}, {}};
    case garbage: write_everywhere(); break;
    case closes:
      for (int f = 0; f < 64; ++f) close(f);
      sleep_for_ever();
    case huge_note: return {status::build_failed, {}, std::string(10'000'000, 'x')};
    case leaks:
      for (;;) std::memset(new char[1 << 20], 1, 1 << 20);
    case breaks_others: damaged = true; break;
    case fragile:
      if (damaged) std::abort();
      break;
    case child_hangs:
      if (fork() == 0) sleep_for_ever();
      sleep_for_ever();
    case child_stays:
      if (fork() == 0) {
        std::this_thread::sleep_for(std::chrono::seconds(20));
        _exit(0);
      }
      std::raise(SIGSEGV);
      break;
    case threads_end: pthread_exit(nullptr);
    default: break;
  }
  return {status::ok, {0.1 + j.n, 0.2 + j.n, 0.3 + j.n}, "fine"};
}

/// What is not said to hang has all the time it needs, even under a sanitizer on a busy machine.
constexpr isolation patient{.most_seconds = 60, .build_seconds = 60, .quiet = true};
constexpr isolation hasty{.most_seconds = 0.25, .build_seconds = 0.25, .quiet = true};

bool fine(const measurement& m, int n) {
  return m.outcome == status::ok && m.seconds == std::vector<double>{0.1 + n, 0.2 + n, 0.3 + n} && m.note == "fine";
}

/// The only one of a batch of five that is not good; the others must be.
measurement among_good(deed what, const isolation& choices, std::size_t workers = 3) {
  auto m = isolated(jobs(), run, choices);
  const std::vector<job> batch{{good, 1}, {good, 2}, {what, 3}, {good, 4}, {good, 5}};
  const auto results = m.measure(batch);
  REQUIRE(results.size() == 5);
  for (const int i : {0, 1, 3, 4}) CHECK(fine(results[static_cast<std::size_t>(i)], i + 1));
  CHECK(m.workers() == workers);
  return results[2];
}

std::size_t open_files() {
  std::size_t n = 0;
  DIR* const folder = opendir("/dev/fd");
  while (readdir(folder) != nullptr) ++n;
  closedir(folder);
  return n;
}

bool has_children() { return waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD; }

/// Whether the process is gone, or a zombie, within 5 s.
bool ends(pid_t id) {
  for (int i = 0; i < 500; ++i) {
    if (kill(id, 0) != 0 && errno == ESRCH) return true;
    if (std::FILE* const f = std::fopen(("/proc/" + std::to_string(id) + "/stat").c_str(), "r")) {
      char state = 0;
      const bool read = std::fscanf(f, "%*d %*s %c", &state) == 1;
      std::fclose(f);
      if (read && (state == 'Z' || state == 'X')) return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

/// Memory that workers share with the test.
template <class T>
class shared {
 public:
  shared() : at_(mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    REQUIRE(at_ != MAP_FAILED);
    new (at_) T();
  }
  ~shared() { munmap(at_, sizeof(T)); }
  shared(const shared&) = delete;
  shared& operator=(const shared&) = delete;
  T& operator*() const { return *static_cast<T*>(at_); }
  T* operator->() const { return static_cast<T*>(at_); }

 private:
  void* at_;
};

/// Runs it in a process of its own; its exit code.
template <class F>
int code_of(const F& f) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) _exit(f());
  int how = 0;
  REQUIRE(waitpid(child, &how, 0) == child);
  return WIFEXITED(how) ? WEXITSTATUS(how) : -WTERMSIG(how);
}

struct batch_measurer {
  std::vector<measurement> measure(std::span<const job> batch) {
    return std::vector<measurement>(batch.size(), {status::ok, {7}, {}});
  }
};
struct reporting_measurer {
  std::vector<measurement> measure(std::span<const job> batch, const measuring& run) {
    for (std::size_t i = 0; i < batch.size(); ++i) run.finished(i, {status::ok, {run.limits.incumbent}, {}});
    return {};
  }
};
struct forgetful_measurer {
  std::vector<measurement> measure(std::span<const job>) { return {}; }
};

using isolated_function = decltype(isolated(jobs(), run));
static_assert(tileseek::Measurer<isolated_function, job>);
static_assert(tileseek::RunAwareMeasurer<isolated_function, job>);
static_assert(!std::is_copy_constructible_v<isolated_function>);
static_assert(std::is_move_constructible_v<isolated_function>);

}  // namespace

TEST_CASE("results come back as they are, from one other process") {
  const auto awkward = [](const job& j) -> measurement {
    if (j.n == 0) return {status::ok, {0.1, 5e-324, 1e308, 0}, std::string("nul \0 and \xff", 11)};
    if (j.n == 1) return {status::rejected_early, {3, 2, 1}, ""};
    if (j.n == 2) return tileseek::failure(status::launch_failed, "no");
    if (j.n == 3) return {status::ok, std::vector<double>(300'000, 1.5), {}};
    return {status::ok, {static_cast<double>(getpid())}, {}};
  };
  auto m = isolated(jobs(), awkward, patient);
  CHECK(m.worker() == 0);  // not before it is needed
  const std::vector<job> batch{{0, 0}, {0, 1}, {0, 2}, {0, 3}, {0, 4}};
  const auto r = m.measure(batch);
  REQUIRE(r.size() == 5);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto expected = awkward(batch[i]);
    CHECK(r[i].outcome == expected.outcome);
    CHECK(r[i].seconds == expected.seconds);
    CHECK(r[i].note == expected.note);
  }
  CHECK(m.worker() > 0);
  CHECK(r[4].seconds.front() == m.worker());
  CHECK(m.worker() != getpid());
  CHECK(m.workers() == 1);
}

TEST_CASE("a worker that was started beforehand is the one that measures") {
  auto m = isolated(jobs(), [](const job&) { return 1.0; });
  m.start();
  const auto id = m.worker();
  CHECK(id > 0);
  m.start();
  CHECK(m.measure(std::vector{job{0, 1}}).front().outcome == status::ok);
  CHECK(m.worker() == id);
  CHECK(m.workers() == 1);
}

TEST_CASE("a death costs the configuration that died, and the note says how") {
  struct expected {
    deed what;
    const char* note;
  };
  for (const auto& e : {expected{segfault, "killed by SIGSEGV"}, expected{stack_overflow, "killed by SIGSEGV"},
                        expected{aborts, "killed by SIGABRT"}, expected{exits_0, "exited with code 0"},
                        expected{exits_3, "exited with code 3"}, expected{terminates, "killed by SIGABRT"},
                        expected{divides, "killed by SIGFPE"}, expected{closes, "closed the worker's channel"},
                        expected{no_memory, "out of memory (std::bad_alloc)"},
                        expected{garbage, "wrote garbage into the worker's channel"}}) {
    const auto m = among_good(e.what, patient);
    CAPTURE(e.note);
    CHECK(m.outcome == status::crashed);
    CHECK(m.note == e.note);
    CHECK(m.seconds.empty());
  }
  CHECK(among_good(threads_end, patient).outcome == status::crashed);
  auto less = patient;
  less.most_seconds = 10;  // the process that keeps the channel open lives for 20
  CHECK(among_good(child_stays, less).note == "killed by SIGSEGV");
  CHECK(!has_children());
}

TEST_CASE("a hang ends at the limit") {
  for (const deed what : {hangs, stops, child_hangs}) {
    auto m = isolated(jobs(), run, hasty);
    const auto r = m.measure(std::vector<job>{{what, 0}});
    CHECK(r.front().outcome == status::timed_out);
    CHECK(r.front().note == "no result within 250 ms");
    CHECK(m.worker() == 0);
  }
  auto m = isolated(jobs(), run, {.most_seconds = 1, .quiet = true});
  const auto r = m.measure(std::vector<job>{{good, 1}, {hangs, 3}, {good, 4}});
  CHECK(fine(r[0], 1));
  CHECK(r[1].outcome == status::timed_out);
  CHECK(fine(r[2], 4));
  CHECK(m.workers() == 2);  // not tried again
}

TEST_CASE("what a worker started is killed with it") {
  const shared<std::atomic<pid_t>> child;
  const auto f = [&](const job&) -> double {
    const pid_t id = fork();
    if (id == 0) sleep_for_ever();
    child->store(id);
    sleep_for_ever();
  };
  auto m = isolated(jobs(), f, hasty);
  CHECK(m.measure(std::vector<job>{{}}).front().outcome == status::timed_out);
  REQUIRE(child->load() > 0);
  CHECK(ends(child->load()));
}

TEST_CASE("memory: what a configuration may take, beyond what the program holds") {
  if (address_sanitizer) {
    MESSAGE("skipped: AddressSanitizer reserves terabytes of addresses, so that RLIMIT_AS cannot be used with it");
    return;
  }
  const std::vector<char> much(200'000'000, 'x');  // of the program itself
  auto limited = patient;
  limited.memory = 64'000'000;
  const auto m = among_good(leaks, limited);
  CHECK(m.outcome == status::crashed);
  CHECK(m.note == "out of memory (std::bad_alloc); the limit is 64000000 bytes");
  const auto half = [&much](const job&) -> double { return std::string(30'000'000, much.back()).back(); };
  CHECK(isolated(jobs(), half, limited).measure(std::vector<job>{{}}).front().valid());
  // What one leaves behind is not the next one's fault.
  const auto leak_half = [](const job&) -> double {
    std::memset(new char[40'000'000], 1, 40'000'000);
    return 1;
  };
  auto leaky = isolated(jobs(), leak_half, limited);
  for (const auto& r : leaky.measure(std::vector<job>{{0, 1}, {0, 2}, {0, 3}, {0, 4}})) CHECK(r.valid());
  CHECK(leaky.workers() == 4);
}

TEST_CASE("what is no time is a failure, and so is an exception; a new worker follows, if wanted") {
  CHECK(among_good(nan_time, patient, 2).outcome == status::run_failed);
  CHECK(among_good(nan_time, patient, 2).note.starts_with("a sample of nan seconds"));
  CHECK(among_good(throws, patient, 2).outcome == status::run_failed);
  CHECK(among_good(throws, patient, 2).note == "too wide");
  CHECK(among_good(throws_seven, patient, 2).note == "threw something that is no std::exception");
  auto lasting = patient;
  lasting.renew = false;
  CHECK(among_good(throws, lasting, 1).note == "too wide");
  const auto what = among_good(huge_note, patient, 1);
  CHECK(what.outcome == status::build_failed);
  CHECK(what.note == std::string(65'536, 'x') + "... (9934464 more bytes)");
}

TEST_CASE("nobody is blamed for the damage that an earlier one left behind") {
  auto m = isolated(jobs(), run, patient);
  const auto r = m.measure(std::vector<job>{{good, 1}, {breaks_others, 2}, {fragile, 3}, {good, 4}, {fragile, 5}});
  REQUIRE(r.size() == 5);
  for (int i = 0; i < 5; ++i) CHECK(fine(r[static_cast<std::size_t>(i)], i + 1));
  CHECK(m.workers() == 2);
}

TEST_CASE("a measurer of batches, one that reports, and one that forgets") {
  auto plain = isolated(jobs(), batch_measurer{}, patient);
  CHECK(plain.measure(std::vector<job>{{}, {0, 1}}).back().seconds == std::vector<double>{7});
  reporting_measurer mine;
  auto reporting = isolated(jobs(), mine, patient);
  measuring run;
  run.limits.incumbent = 6;
  const auto r = reporting.measure(std::vector<job>{{}, {0, 1}}, run);
  CHECK(r.at(1).seconds == std::vector<double>{6});
  auto forgetful = isolated(jobs(), forgetful_measurer{}, patient);
  CHECK(forgetful.measure(std::vector<job>{{}}).front().note == "the measurer returned no measurement");
}

TEST_CASE("callables: one with a name is referred to, a temporary is kept") {
  struct move_only {
    explicit move_only(double s) : seconds(std::make_unique<double>(s)) {}
    double operator()(const job&) const { return *seconds; }
    std::unique_ptr<double> seconds;
  };
  auto kept = isolated(jobs(), move_only(3), patient);
  CHECK(kept.measure(std::vector<job>{{}}).front().seconds == std::vector<double>{3});
  move_only mine(1);
  auto referred = isolated(jobs(), mine, patient);
  *mine.seconds = 4;  // before the worker is forked
  CHECK(referred.measure(std::vector<job>{{}}).front().seconds == std::vector<double>{4});
  auto moved = std::move(referred);
  CHECK(moved.workers() == 1);
  *mine.seconds = 5;  // after: not seen
  CHECK(moved.measure(std::vector<job>{{}}).front().seconds == std::vector<double>{4});
  CHECK(moved.workers() == 1);
}

TEST_CASE("the limits travel: the incumbent of the batch so far, and early rejection") {
  const auto incumbent = [](const job& j, const timing_limits& l) -> measurement {
    return {j.n == 2 ? status::wrong_result : status::ok, {j.n == 1 ? 5.0 : 7.0}, std::to_string(l.incumbent)};
  };
  measuring run;
  run.limits.incumbent = 6;
  auto m = isolated(jobs(), incumbent, patient);
  const auto r = m.measure(std::vector<job>{{0, 0}, {0, 1}, {0, 2}, {0, 3}}, run);
  CHECK(r[0].note == "6.000000");
  CHECK(r[1].note == "6.000000");
  CHECK(r[2].note == "5.000000");
  CHECK(r[3].note == "5.000000");
  const auto timed = [](const job&, const timing_limits& l) {
    return tileseek::time([] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }, l);
  };
  auto slow = isolated(jobs(), timed, patient);
  run.limits.incumbent = 1e-3;
  const auto rejected = slow.measure(std::vector<job>{{}}, run).front();
  CHECK(rejected.outcome == status::rejected_early);
  CHECK(rejected.seconds.size() == 3);
}

TEST_CASE("results are reported at once, and the run can stop between two") {
  std::vector<std::size_t> reported;
  measuring run_of;
  run_of.finished = [&](std::size_t i, const measurement& m) {
    CHECK(fine(m, static_cast<int>(i)));
    reported.push_back(i);
  };
  run_of.stop = [&] { return reported.size() == 2; };
  auto m = isolated(jobs(), run, patient);
  CHECK(m.measure(std::vector<job>{{good, 0}, {good, 1}, {good, 2}}, run_of).size() == 2);
  CHECK(reported == std::vector<std::size_t>{0, 1});
}

TEST_CASE("the time that is allowed follows the best") {
  const auto f = [](const job& j) -> double {
    std::this_thread::sleep_for(std::chrono::milliseconds(j.n));
    return j.n;
  };
  auto m = isolated(jobs(), f, {.most_seconds = 50, .build_seconds = 2, .slack = 20});
  CHECK(m.allowed() == 50);
  timing_limits from_log;
  from_log.incumbent = 0.1;  // 8 runs of it, at most
  CHECK(m.allowed(from_log) == doctest::Approx(2 + 20 * 0.8));
  from_log.incumbent = 100;
  CHECK(m.allowed(from_log) == 50);
  static_cast<void>(m.measure(std::vector<job>{{0, 250}}));
  const double first = m.allowed();
  CHECK(first >= 2 + 20 * 0.25);
  static_cast<void>(m.measure(std::vector<job>{{0, 280}}));
  CHECK(m.allowed() == first);  // no better
  static_cast<void>(m.measure(std::vector<job>{{0, 1}}));
  CHECK(m.allowed() >= 2 + 20 * 0.001);
  CHECK(m.allowed() < first);
}

TEST_CASE("options without a meaning, and a configuration that is not in the space") {
  const auto refused = [](const isolation& o) {
    try {
      static_cast<void>(isolated(jobs(), run, o));
    } catch (const std::invalid_argument& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinite = std::numeric_limits<double>::infinity();
  CHECK(refused({}).empty());
  CHECK(refused({.most_seconds = infinite}).empty());
  CHECK(refused({.most_seconds = 0}) == "isolated: most_seconds is 0; give more than 0");
  CHECK(refused({.most_seconds = nan}).find("most_seconds") != std::string::npos);
  CHECK(refused({.build_seconds = -1}) == "isolated: build_seconds is -1; give 0 or more");
  CHECK(refused({.slack = 0.5}) == "isolated: slack is 0.5; give a factor of at least 1");
  CHECK(fine(isolated(jobs(), run, {.most_seconds = infinite}).measure(std::vector<job>{{good, 1}}).front(), 1));
  auto m = isolated(jobs(), run, patient);
  CHECK_THROWS_WITH_AS(static_cast<void>(m.measure(std::vector<job>{{0, 999}})),
                       "isolated: deed=0 n=999 is not in the space: n has no value 999", std::invalid_argument);
}

TEST_CASE("after 200 deaths: no file left open, no zombie") {
  const std::size_t before = open_files();
  {
    auto m = isolated(jobs(), run, patient);
    std::vector<job> batch;
    for (int i = 0; i < 200; ++i) batch.push_back({i % 2 == 0 ? aborts : exits_3, i});
    for (const auto& r : m.measure(batch)) CHECK(r.outcome == status::crashed);
    CHECK(m.workers() == 200);
    CHECK(open_files() == before);
    CHECK(fine(m.measure(std::vector<job>{{good, 1}}).front(), 1));
    CHECK(open_files() == before + 1);
  }
  CHECK(open_files() == before);
  CHECK(!has_children());
}

TEST_CASE("a worker holds no file of the program: the log's lock ends with the log") {
  const fixture::temporary_file file;
  int log = open(file.path().c_str(), O_RDWR | O_CREAT, 0600);
  REQUIRE(log > 2);
  REQUIRE(flock(log, LOCK_EX | LOCK_NB) == 0);
  const auto files = [](const job&) { return static_cast<double>(open_files()); };
  auto m = isolated(jobs(), files, patient);
  // ".", "..", three standard ones, the channel, and the listing itself
  CHECK(m.measure(std::vector<job>{{}}).front().seconds == std::vector<double>{7});
  close(log);
  log = open(file.path().c_str(), O_RDWR, 0600);
  CHECK(flock(log, LOCK_EX | LOCK_NB) == 0);
  close(log);
}

TEST_CASE(
    "the standard files: what is printed comes once, or not at all when quiet; the program may have closed them") {
  for (const bool quiet : {false, true}) {
    const fixture::temporary_file file;
    const int code = code_of([&] {
      if (std::freopen(file.path().c_str(), "w", stdout) == nullptr) return 1;
      if (std::freopen("/dev/zero", "r", stdin) == nullptr) return 1;  // not for the kernel
      std::printf("tuner\n");                                          // in the buffer
      const auto prints = [](const job& j) -> double {
        std::printf("kernel\n");
        if (j.n == 2) std::exit(0);
        return std::fgetc(stdin) == EOF ? 1 : 2;
      };
      auto choices = patient;
      choices.quiet = quiet;
      auto m = isolated(jobs(), prints, choices);
      const auto r = m.measure(std::vector<job>{{0, 1}});
      std::fflush(stdout);
      return r.front().seconds == std::vector<double>{1} ? 0 : 2;
    });
    CHECK(code == 0);
    CHECK(file.content() == (quiet ? "tuner\n" : "tuner\nkernel\n"));
  }
  CHECK(code_of([] {
          for (int f = 0; f < 3; ++f) close(f);
          auto m = isolated(jobs(), run, patient);
          return fine(m.measure(std::vector<job>{{good, 1}}).front(), 1) ? 0 : 1;
        }) == 0);
}

#if defined(__GLIBC__)
TEST_CASE("what the program registered for its exit is not run by a kernel that calls exit()") {
  const fixture::temporary_file file;
  static const char* path = nullptr;
  path = file.path().c_str();
  CHECK(code_of([] {
          std::atexit([] { std::fclose(std::fopen(path, "w")); });
          auto m = isolated(jobs(), run, patient);
          return m.measure(std::vector<job>{{exits_3, 1}}).front().note == "exited with code 3" ? 0 : 1;
        }) == 0);
  CHECK(access(path, F_OK) != 0);
}
#endif

TEST_CASE("the worker has default signals, whatever the program has") {
  CHECK(code_of([] {
          std::signal(SIGTERM, [](int) {});
          sigset_t all;
          sigfillset(&all);
          sigprocmask(SIG_SETMASK, &all, nullptr);
          const auto f = [](const job&) -> double {
            std::raise(SIGTERM);
            return 1;
          };
          auto m = isolated(jobs(), f, patient);
          return m.measure(std::vector<job>{{}}).front().note == "killed by SIGTERM" ? 0 : 1;
        }) == 0);
  // Nobody is told of its end.
  CHECK(code_of([] {
          std::signal(SIGCHLD, SIG_IGN);
          auto m = isolated(jobs(), run, patient);
          const auto r = m.measure(std::vector<job>{{aborts, 1}, {good, 2}});
          return r[0].outcome == status::crashed && fine(r[1], 2) ? 0 : 1;
        }) == 0);
}

TEST_CASE("a tuner that is killed takes its worker along") {
  const shared<std::atomic<pid_t>> worker;
  const auto f = [&](const job& j) -> double {
    worker->store(getpid());
    if (j.n == 1) sleep_for_ever();
    return 1;
  };
  for (const int n : {0, 1}) {  // idle, and busy
    worker->store(0);
    const pid_t tuner = fork();
    if (tuner == 0) {
      auto m = isolated(jobs(), f, patient);
      static_cast<void>(m.measure(std::vector<job>{{0, n}}));
      sleep_for_ever();
    }
    while (worker->load() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    kill(tuner, SIGKILL);
    REQUIRE(waitpid(tuner, nullptr, 0) == tuner);
    CHECK(ends(worker->load()));
  }
}

TEST_CASE("a tuner that is stopped for a while, as by Ctrl-Z, does not take its worker for late") {
  const shared<std::atomic<int>> begun;
  const auto f = [&](const job&) -> double {
    begun->store(1);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return 1;
  };
  const pid_t tuner = fork();
  if (tuner == 0) {
    auto m = isolated(jobs(), f, {.most_seconds = 0.4, .quiet = true});
    _exit(m.measure(std::vector<job>{{}}).front().valid() ? 0 : 1);
  }
  while (begun->load() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  kill(tuner, SIGSTOP);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  kill(tuner, SIGCONT);
  int how = 0;
  REQUIRE(waitpid(tuner, &how, 0) == tuner);
  CHECK(WIFEXITED(how));
  CHECK(WEXITSTATUS(how) == 0);
}

TEST_CASE("a fork of the tuner has workers of its own") {
  auto m = isolated(jobs(), run, patient);
  CHECK(fine(m.measure(std::vector<job>{{good, 1}}).front(), 1));
  const pid_t worker = m.worker();
  CHECK(code_of([&] {
          auto copy = std::move(m);
          const auto r = copy.measure(std::vector<job>{{good, 2}, {aborts, 3}, {good, 4}});
          return fine(r[0], 2) && r[1].outcome == status::crashed && fine(r[2], 4) && copy.worker() != worker ? 0 : 1;
        }) == 0);
  CHECK(fine(m.measure(std::vector<job>{{good, 5}}).front(), 5));
  CHECK(m.worker() == worker);
  CHECK(m.workers() == 1);
}

TEST_CASE("a worker that is killed 50 times at random: each configuration is answered once, with its own result") {
  struct state {
    std::atomic<pid_t> worker{0};
    std::array<std::atomic<int>, 300> begun{};
  };
  const shared<state> seen;
  const auto f = [&](const job& j) -> measurement {
    seen->worker.store(getpid());
    ++seen->begun[static_cast<std::size_t>(j.n)];
    std::this_thread::sleep_for(std::chrono::microseconds(500));
    return run({good, j.n}, {});
  };
  auto m = isolated(jobs(), f, patient);
  std::atomic<bool> over{false};
  int kills = 0;
  std::thread killer([&] {
    tileseek::rng random(3);
    while (!over.load() && kills < 50) {
      std::this_thread::sleep_for(std::chrono::microseconds(random.below(6000)));
      const pid_t victim = seen->worker.exchange(0);
      if (victim > 0 && kill(victim, SIGKILL) == 0) ++kills;
    }
  });
  std::vector<job> batch;
  for (int i = 0; i < 300; ++i) batch.push_back({good, i});
  std::vector<std::size_t> reported;
  measuring told;
  told.finished = [&](std::size_t i, const measurement&) { reported.push_back(i); };
  const auto results = m.measure(batch, told);
  over.store(true);
  killer.join();
  REQUIRE(results.size() == 300);
  int lost = 0;
  int begun = 0;
  for (std::size_t i = 0; i < 300; ++i) {
    CHECK(reported[i] == i);
    const bool crashed = results[i].outcome == status::crashed;
    if (crashed) CHECK(results[i].note.starts_with("killed by SIGKILL"));
    if (!crashed) CHECK(fine(results[i], static_cast<int>(i)));
    lost += crashed;
    begun += seen->begun[i].load();
  }
  CHECK(kills > 10);
  CHECK(lost < kills);
  CHECK(begun <= 300 + kills);
}

TEST_CASE("tune: a run with crashers and hangs finds the best of the rest, and the finalists run isolated, too") {
  const pid_t tuner = getpid();
  const auto f = [tuner](const job& j) -> double {
    if (getpid() == tuner) return 0;  // never here
    if (j.n % 10 == 3) std::abort();
    if (j.n == 25) sleep_for_ever();
    return 1e-3 * (1 + std::abs(j.n - 13));  // 13 itself crashes
  };
  const auto space = tileseek::space<job>{}.add("n", &job::n, tileseek::range(0, 29));
  tileseek::options<job> o;
  o.progress = tileseek::verbosity::quiet;
  o.rounds = 6;
  auto m = isolated(space, f, {.most_seconds = 1, .build_seconds = 0.5, .quiet = true});
  const auto r = tileseek::tune(space, m, o, tileseek::exhaustive{});
  CHECK(r.trials == 30);
  CHECK(r.by_status[static_cast<std::size_t>(status::crashed)] == 3);
  CHECK(r.by_status[static_cast<std::size_t>(status::timed_out)] == 1);
  REQUIRE(r.best);
  CHECK((r.best->n == 12 || r.best->n == 14));
  CHECK(r.median_seconds == 2e-3);
}
