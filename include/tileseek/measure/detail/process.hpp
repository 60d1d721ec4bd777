#pragma once
// Processes that a measurer starts and that may do anything: they are watched, killed with all they started, and reaped.
// POSIX only.

#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#if !defined(__unix__) && !defined(__APPLE__)
#error "This part of tileseek/measure needs fork(): a POSIX system"
#endif

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include <tileseek/core/format.hpp>

namespace tileseek::detail {

using process_clock = std::chrono::steady_clock;

/// So many seconds from now; infinite: 30 years.
[[nodiscard]] inline process_clock::time_point from_now(double seconds) {
  return process_clock::now() +
         std::chrono::duration_cast<process_clock::duration>(std::chrono::duration<double>(std::fmin(seconds, 1e9)));
}

/// "SIGSEGV", or "signal 64".
[[nodiscard, gnu::cold]] inline std::string signal_name(int number) {
  struct named {
    int number;
    const char* name;
  };
  constexpr named names[] = {{SIGABRT, "SIGABRT"}, {SIGALRM, "SIGALRM"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
                             {SIGHUP, "SIGHUP"},   {SIGILL, "SIGILL"},   {SIGINT, "SIGINT"},   {SIGKILL, "SIGKILL"},
                             {SIGPIPE, "SIGPIPE"}, {SIGQUIT, "SIGQUIT"}, {SIGSEGV, "SIGSEGV"}, {SIGSYS, "SIGSYS"},
                             {SIGTERM, "SIGTERM"}, {SIGTRAP, "SIGTRAP"}, {SIGUSR1, "SIGUSR1"}, {SIGUSR2, "SIGUSR2"},
                             {SIGXCPU, "SIGXCPU"}, {SIGXFSZ, "SIGXFSZ"}};
  for (const auto& n : names)
    if (n.number == number) return n.name;
  return concat({"signal ", number});
}

/// What waitpid() said of a process's end, in words.
[[nodiscard, gnu::cold]] inline std::string describe_end(const std::optional<int>& how) {
  if (how && WIFSIGNALED(*how)) {
    const int s = WTERMSIG(*how);
    return concat({"killed by ", signal_name(s), s == SIGKILL ? ", by somebody or for want of memory" : ""});
  }
  if (how && WIFEXITED(*how)) return concat({"exited with code ", WEXITSTATUS(*how)});
  return "died";
}

/// A child process with a group of its own. Its destructor ends it.
class child_process {
 public:
  child_process() = default;
  child_process(child_process&& other) noexcept : id_(std::exchange(other.id_, 0)), owner_(other.owner_) {}
  child_process& operator=(child_process&&) = delete;
  ~child_process() { end(); }

  /// Forks. `run()` runs in the child and must not return; what the child does for itself comes first: its own group
  /// (Ctrl-C is the parent's business, and nothing it starts outlives it), and death with the parent.
  /// @return 0, or errno
  template <class Run>
  [[nodiscard]] int start(const Run& run) {
    end();
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child == 0) {
      ::setpgid(0, 0);
#if defined(__linux__)
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
      if (::getppid() != parent) ::_exit(0);
      run();
      ::_exit(127);
    }
    if (child < 0) return errno;
    ::setpgid(child, child);  // the child does so, too: whoever comes first
    id_ = child;
    owner_ = parent;
    return 0;
  }

  /// Whether there is one, of this very process: a copy of the parent that the program forked is to leave it alone.
  [[nodiscard]] bool running() const noexcept { return id_ > 0 && owner_ == ::getpid(); }
  [[nodiscard]] pid_t id() const noexcept { return id_; }

  /// Whether it has ended, and waits to be reaped.
  [[nodiscard]] bool dead() const noexcept {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | WNOHANG | WNOWAIT) != 0) return errno == ECHILD;
    return info.si_pid == id_;
  }

  /// Whether it has ended, or does so within a quarter of a second: a process closes its files a little before it can be
  /// reaped.
  [[nodiscard, gnu::cold]] bool about_to_die() const noexcept {
    for (int i = 0; i < 250 && !dead(); ++i) ::poll(nullptr, 0, 1);
    return dead();
  }

  enum class fate { ready, late, gone };
  /// Waits for the file, which the process holds the other end of, until the time is up or the process is gone. Looks up every 100 ms: a process that died is not noticed by its pipe when another one
  /// that it started holds that. Looks once more when it is late: this process may have been stopped (Ctrl-Z) while the
  /// other was not.
  [[nodiscard]] fate await(int file, short what, process_clock::time_point until) const {
    for (;;) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - process_clock::now()).count();
      pollfd waiting{file, what, 0};
      const int ready = ::poll(&waiting, 1, left < 0 ? 0 : left < 100 ? static_cast<int>(left) : 100);
      if (ready > 0) return fate::ready;
      if (ready < 0 && errno != EINTR) return fate::gone;
      if (ready < 0) continue;
      if (left <= 0) return fate::late;
      if (dead() && ::poll(&waiting, 1, 0) == 0) return fate::gone;
    }
  }

  /// Kills it with its group, and leaves no zombie. @return what waitpid() says; nothing when somebody else was told
  std::optional<int> end() noexcept {
    if (id_ <= 0) return std::nullopt;
    int how = 0;
    pid_t reaped = 0;
    siginfo_t info{};
    // Somebody may have reaped it already (or nobody has to: SIGCHLD is ignored), and the number may be another's.
    if (running() && ::waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | WNOHANG | WNOWAIT) == 0) {
      ::kill(-id_, SIGKILL);
      ::kill(id_, SIGKILL);  // it may have left its group
      while ((reaped = ::waitpid(id_, &how, 0)) < 0 && errno == EINTR) {
      }
    }
    const bool known = reaped == id_;
    id_ = 0;
    return known ? std::optional<int>(how) : std::nullopt;
  }

 private:
  pid_t id_ = 0;
  pid_t owner_ = 0;
};

/// In a child: signals as exec() would have them, whatever handlers the parent had.
inline void forget_signal_handlers() noexcept {
  for (int s = 1; s < NSIG; ++s) {
    struct sigaction was {};
    if (::sigaction(s, nullptr, &was) == 0 && was.sa_handler != SIG_IGN && was.sa_handler != SIG_DFL)
      std::signal(s, SIG_DFL);
  }
  std::signal(SIGTTOU, SIG_IGN);  // or a child that prints to a terminal might be stopped for ever
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// In a child: no core is dumped, and it may allocate so many bytes beyond `in_use`; 0: no limit.
inline void limit_resources(std::uint64_t memory, std::uint64_t in_use) noexcept {
#if defined(__linux__)
  const rlimit no_core{1, 1};  // 0 would not hold back a dump that is piped to a program; no dump is as small as 1
#else
  const rlimit no_core{0, 0};
#endif
  ::setrlimit(RLIMIT_CORE, &no_core);
  if (memory == 0) return;
  const auto most = static_cast<rlim_t>(in_use + (memory & (~std::uint64_t{0} >> 2)));
  const rlimit bytes{most, most};
  ::setrlimit(RLIMIT_AS, &bytes);
}

/// An open file, closed with it.
class file_handle {
 public:
  explicit file_handle(int f = -1) noexcept : f_(f) {}
  file_handle(file_handle&& other) noexcept : f_(std::exchange(other.f_, -1)) {}
  file_handle& operator=(file_handle&& other) noexcept {
    if (this != &other) {
      close();
      f_ = std::exchange(other.f_, -1);
    }
    return *this;
  }
  ~file_handle() { close(); }
  [[nodiscard]] int get() const noexcept { return f_; }
  void close() noexcept {
    if (f_ >= 0) ::close(std::exchange(f_, -1));
  }

 private:
  int f_;
};

/// A pipe's ends, not inherited by what the program starts, and above the standard files, which it may have closed.
/// @throws std::runtime_error  there can be no further file
struct pipe_ends {
  file_handle read;
  file_handle write;

  pipe_ends() {
    int ends[2];
#if defined(__linux__)
    bool made = ::pipe2(ends, O_CLOEXEC) == 0;  // at once: another thread may be about to start a program
#else
    bool made = ::pipe(ends) == 0;
#endif
    int why = errno;
    if (made) {
      for (int& e : ends) {
        const int moved = ::fcntl(e, F_DUPFD_CLOEXEC, 3);
        if (moved < 0) {
          made = false;
          why = errno;
        }
        ::close(std::exchange(e, moved));
      }
      read = file_handle(ends[0]);
      write = file_handle(ends[1]);
    }
    if (!made) fail<std::runtime_error>({"no pipe to a process: ", std::generic_category().message(why)});
  }
};

/// A program that runs in a child process, with pipes to its standard input and from its standard output.
class child_program {
 public:
  struct choices {
    bool input = false;        ///< a pipe to its standard input; else that is empty
    bool errors = false;       ///< its standard error goes where its output goes
    bool quiet = false;        ///< its standard error is dropped
    std::uint64_t memory = 0;  ///< bytes of addresses that it may use; 0: no limit
  };

  /// @throws std::runtime_error  there can be no further process or file; the program can't be started
  void start(const std::vector<std::string>& command, const choices& how) {
    end();
    if (command.empty() || command.front().empty())
      fail<std::invalid_argument>({"no program is named; give its file name and its arguments"});
    std::vector<char*> arguments;
    for (const auto& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    pipe_ends to;
    pipe_ends from;
    pipe_ends started;  // closed by a successful exec; otherwise it carries errno
    int why = process_.start([&] {
      // Only what is safe between fork() and exec() in a program with threads.
      forget_signal_handlers();
      const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
      ::dup2(how.input ? to.read.get() : nothing, STDIN_FILENO);
      ::dup2(from.write.get(), STDOUT_FILENO);
      if (how.errors || how.quiet) ::dup2(how.errors ? from.write.get() : nothing, STDERR_FILENO);
      limit_resources(how.memory, 0);
      ::execvp(arguments.front(), arguments.data());
      const int failed = errno;
      static_cast<void>(!::write(started.write.get(), &failed, sizeof failed));
    });
    started.write.close();
    if (why == 0) {
      int failed = 0;
      ssize_t got = 0;
      while ((got = ::read(started.read.get(), &failed, sizeof failed)) < 0 && errno == EINTR) {
      }
      if (got == sizeof failed) why = failed;
    }
    if (why != 0) {
      process_.end();
      fail<std::runtime_error>(
          {"the program '", command.front(), "' can't be started: ", std::generic_category().message(why)});
    }
    if (how.input) in_ = std::move(to.write);
    out_ = std::move(from.read);
  }

  [[nodiscard]] bool running() const noexcept { return process_.running(); }
  [[nodiscard]] const child_process& process() const noexcept { return process_; }

  /// All of the text to its standard input, or false: it does not listen, or has not read for so long.
  [[nodiscard]] bool write(std::string_view text, process_clock::time_point until) {
    // A closed pipe raises SIGPIPE, which must not end the program; and the handler is the whole program's business.
    sigset_t broken;
    sigset_t before;
    sigemptyset(&broken);
    sigaddset(&broken, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &broken, &before);
    ::fcntl(in_.get(), F_SETFL, O_NONBLOCK);
    bool good = true;
    while (good && !text.empty()) {
      const ssize_t sent = ::write(in_.get(), text.data(), text.size());
      if (sent > 0) {
        text.remove_prefix(static_cast<std::size_t>(sent));
      } else if (sent < 0 && errno == EAGAIN) {
        good = process_.await(in_.get(), POLLOUT, until) == child_process::fate::ready;
      } else if (!(sent < 0 && errno == EINTR)) {
        good = false;
      }
    }
    if (!good) {
      sigset_t pending;  // take what this call caused, if nobody waited for one before
      ::sigpending(&pending);
      int which = 0;
      if (sigismember(&pending, SIGPIPE) == 1 && sigismember(&before, SIGPIPE) == 0) ::sigwait(&broken, &which);
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return good;
  }

  using fate = child_process::fate;
  /// Appends what it has printed since, at least a byte unless the time is up or it has closed its output.
  [[nodiscard]] fate read(std::string& text, process_clock::time_point until) {
    for (;;) {
      if (const fate f = process_.await(out_.get(), POLLIN, until); f != fate::ready) return f;
      std::array<char, 65536> buffer;
      const ssize_t got = ::read(out_.get(), buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return fate::gone;
      text.append(buffer.data(), static_cast<std::size_t>(got));
      return fate::ready;
    }
  }

  std::optional<int> end() noexcept {
    in_.close();
    out_.close();
    return process_.end();
  }

 private:
  child_process process_;
  file_handle in_;
  file_handle out_;
};

/// What a program that was run to its end left behind.
struct finished_program {
  std::optional<int> how;  ///< as waitpid() has it
  bool late = false;       ///< it was killed at the time limit
  std::string output;      ///< standard output and error; the first mebibyte
  [[nodiscard]] bool succeeded() const noexcept { return !late && how && WIFEXITED(*how) && WEXITSTATUS(*how) == 0; }
};

/// Runs a program, at most so long. Safe to use from several threads at once.
/// @throws std::runtime_error  it can't be started
[[nodiscard, gnu::cold]] inline finished_program run_program(const std::vector<std::string>& command, double seconds) {
  constexpr std::size_t most = 1 << 20;
  child_program program;
  program.start(command, {.errors = true});
  const auto until = from_now(seconds);
  finished_program out;
  auto fate = child_program::fate::ready;
  while (fate == child_program::fate::ready) {
    fate = program.read(out.output, until);
    if (out.output.size() > most) out.output.resize(most);
  }
  while (fate == child_program::fate::gone && !program.process().dead())  // it may have closed its output only
    if (process_clock::now() >= until)
      fate = child_program::fate::late;
    else
      ::poll(nullptr, 0, 1);
  out.late = fate == child_program::fate::late;
  out.how = program.end();
  return out;
}

/// What `make` returns in a child process: for questions that must not touch a device in this one.
/// @throws std::runtime_error  what `make` threw, or that there was no answer in time
[[nodiscard, gnu::cold]] inline std::string in_child(const std::function<std::string()>& make, double seconds) {
  constexpr char good = '+';
  constexpr char bad = '-';
  pipe_ends answer;
  child_process child;
  const int why = child.start([&]() noexcept {
    forget_signal_handlers();
    std::string text;
    try {
      text = good + make();
    } catch (const std::exception& e) {
      text = bad + std::string(e.what());
    }
    for (std::string_view left = text; !left.empty();) {
      const ssize_t sent = ::write(answer.write.get(), left.data(), left.size());
      if (sent < 0 && errno != EINTR) ::_exit(1);
      if (sent > 0) left.remove_prefix(static_cast<std::size_t>(sent));
    }
    ::_exit(0);
  });
  if (why != 0) fail<std::runtime_error>({"no process: ", std::generic_category().message(why)});
  answer.write.close();
  std::string out;
  const auto until = from_now(seconds);
  while (child.await(answer.read.get(), POLLIN, until) == child_process::fate::ready) {
    std::array<char, 4096> buffer;
    const ssize_t got = ::read(answer.read.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    out.append(buffer.data(), static_cast<std::size_t>(got));
  }
  const bool itself = child.about_to_die();
  const auto how = child.end();
  if (!out.empty() && out.front() == bad) throw std::runtime_error(out.substr(1));
  if (out.empty() || !itself || !how || !WIFEXITED(*how) || WEXITSTATUS(*how) != 0)
    fail<std::runtime_error>({"a process that was asked ", itself ? describe_end(how) : std::string("did not answer")});
  return out.substr(1);
}

}  // namespace tileseek::detail
