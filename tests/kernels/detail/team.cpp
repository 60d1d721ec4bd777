#include <tileseek/kernels/detail/team.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

using tileseek::kernels::detail::range;
using tileseek::kernels::detail::team;

TEST_CASE("team: each member does its part, once a call, on a thread of its own, and run() waits for all") {
  for (const int size : {1, 2, 3, 7}) {
    CAPTURE(size);
    team t(size);
    CHECK(t.size() == size);
    std::vector<int> done(static_cast<std::size_t>(size), 0);
    std::vector<std::thread::id> who(static_cast<std::size_t>(size));
    for (int call = 0; call < 200; ++call) {
      t.run([&](int i) {
        ++done[static_cast<std::size_t>(i)];
        who[static_cast<std::size_t>(i)] = std::this_thread::get_id();
      });
      bool all = true;
      for (const int d : done) all = all && d == call + 1;
      REQUIRE(all);
    }
    CHECK(who.front() == std::this_thread::get_id());
    for (std::size_t i = 0; i < who.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) CHECK(who[i] != who[j]);
  }
}

TEST_CASE("team: one that was never used ends, and none without members is made") {
  { team idle(3); }
  CHECK_THROWS_WITH_AS(team(0), "threads is 0, pass at least 1", std::invalid_argument);
}

TEST_CASE("range: parts are contiguous, cover all, and differ by 1 at most") {
  for (const std::ptrdiff_t size : {0, 1, 2, 7, 12, 100})
    for (const std::ptrdiff_t parts : {1, 2, 3, 12}) {
      const range all{5, 5 + size};
      std::ptrdiff_t at = all.begin, least = size, most = 0;
      for (std::ptrdiff_t i = 0; i < parts; ++i) {
        const range p = all.part(i, parts);
        CHECK(p.begin == at);
        at = p.end;
        least = std::min(least, p.size());
        most = std::max(most, p.size());
      }
      CHECK(at == all.end);
      CHECK(most - least <= 1);
    }
}

TEST_CASE("threads_for: one for little work, never more than there are cores") {
  using tileseek::kernels::detail::threads_for;
  const auto cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  CHECK(threads_for(0) == 1);
  CHECK(threads_for(1.9e7) == 1);
  CHECK(threads_for(2.1e7) == std::min(2, cores));
  CHECK(threads_for(1e30) == cores);
}
