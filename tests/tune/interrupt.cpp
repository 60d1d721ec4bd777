#include <tileseek/tune/interrupt.hpp>

#include <doctest/doctest.h>

#include <csignal>

#include <sys/wait.h>
#include <unistd.h>

using tileseek::interrupt_guard;

namespace {

/// Runs `child` in a process of its own, where SIGINT is as at the start of a program; gives what waitpid() tells.
template <class Child>
int status_of(const Child& child) {
  const pid_t pid = fork();
  if (pid == 0) {
    std::signal(SIGINT, SIG_DFL);
    child();
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(pid, &status, 0) == pid);
  return status;
}

/// Ends the child with this code unless the condition holds.
void expect(bool condition, int code) {
  if (!condition) _exit(code);
}

bool exited_well(int status) { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }

volatile std::sig_atomic_t own_handler_called = 0;
void own_handler(int) { own_handler_called = 1; }

}  // namespace

TEST_CASE("the first SIGINT is noted, the second has the old behaviour") {
  const int status = status_of([] {
    const interrupt_guard guard;
    expect(!interrupt_guard::interrupted(), 1);
    std::raise(SIGINT);
    expect(interrupt_guard::interrupted(), 2);
    std::raise(SIGINT);
    _exit(3);  // not reached
  });
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGINT);
}

TEST_CASE("the second SIGINT goes to a handler that was there before") {
  CHECK(exited_well(status_of([] {
    std::signal(SIGINT, own_handler);
    const interrupt_guard guard;
    std::raise(SIGINT);
    expect(own_handler_called == 0, 1);
    std::raise(SIGINT);
    expect(own_handler_called == 1, 2);
  })));
}

TEST_CASE("the end of a guard restores what was there, and forgets the interrupt") {
  CHECK(exited_well(status_of([] {
    std::signal(SIGINT, own_handler);
    {
      const interrupt_guard guard;
      std::raise(SIGINT);
      expect(interrupt_guard::interrupted(), 1);
    }
    expect(!interrupt_guard::interrupted(), 2);
    std::raise(SIGINT);
    expect(own_handler_called == 1, 3);
    {
      const interrupt_guard guard;  // the next run is not interrupted by the last one's Ctrl-C
      expect(!interrupt_guard::interrupted(), 4);
      std::raise(SIGINT);
      expect(interrupt_guard::interrupted(), 5);
    }
  })));
}

TEST_CASE("guards nest: an inner one changes nothing") {
  CHECK(exited_well(status_of([] {
    const interrupt_guard outer;
    {
      const interrupt_guard inner;
      std::raise(SIGINT);
    }
    expect(interrupt_guard::interrupted(), 1);
  })));
  const int status = status_of([] {
    const interrupt_guard outer;
    std::raise(SIGINT);
    const interrupt_guard inner;
    expect(interrupt_guard::interrupted(), 1);
    std::raise(SIGINT);
  });
  CHECK(WIFSIGNALED(status));
}

TEST_CASE("a guard that is not enabled, and a process that ignores SIGINT") {
  CHECK(WIFSIGNALED(status_of([] {
    const interrupt_guard guard(false);
    std::raise(SIGINT);
  })));
  CHECK(exited_well(status_of([] {
    std::signal(SIGINT, SIG_IGN);  // as a shell starts a job in the background
    {
      const interrupt_guard guard;
      std::raise(SIGINT);
      std::raise(SIGINT);
      expect(!interrupt_guard::interrupted(), 1);
    }
    std::raise(SIGINT);
  })));
}
