#include <tileseek/search/coroutine.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <vector>

#include <tileseek/testing/landscapes.hpp>

namespace {

using namespace tileseek;

const lattice& line() {
  static const lattice l = testing::convex(1, 20).space;
  return l;
}

trial took(int x, double seconds) {
  measurement m;
  m.seconds = {seconds};
  return {{x}, m};
}

template <class... Ints>
std::vector<point> points(Ints... xs) {  // g++ 12 refuses a braced list inside a co_yield
  std::vector<point> out;
  (out.push_back(point(1, xs)), ...);
  return out;
}

TEST_CASE("a batch is cut to what is asked, and answered in its own order") {
  std::vector<trial> answers;
  std::vector<std::size_t> wanted;
  coroutine_strategy s([&](search_context& here) -> search_routine {
    return [](search_context& c, std::vector<trial>& out, std::vector<std::size_t>& n) -> search_routine {
      n.push_back(c.wanted());
      out = co_yield points(1, 2, 3, 4, 5);
      n.push_back(c.wanted());
      co_yield points(6);
    }(here, answers, wanted);
  });
  rng random;
  CHECK(s.ask(line(), random, 0).empty());
  CHECK_EQ(s.ask(line(), random, 2), points(1, 2));
  CHECK_EQ(s.ask(line(), random, 9), points(3, 4, 5));
  CHECK(s.ask(line(), random, 9).empty());  // waits
  const trial late[] = {took(5, 50), took(1, 10)};
  s.tell(line(), late);
  CHECK(s.ask(line(), random, 9).empty());
  const trial rest[] = {took(2, 20), took(4, 40), took(3, 30)};
  s.tell(line(), rest);
  CHECK(answers.empty());  // it runs inside ask
  CHECK_EQ(s.ask(line(), random, 7), points(6));
  REQUIRE_EQ(answers.size(), 5);
  for (int i = 0; i < 5; ++i) {
    CHECK_EQ(answers[static_cast<std::size_t>(i)].at, point{i + 1});
    CHECK_EQ(answers[static_cast<std::size_t>(i)].result.cost(), 10 * (i + 1));
  }
  CHECK_EQ(wanted, std::vector<std::size_t>{2, 7});
  const trial last[] = {took(6, 1)};
  s.tell(line(), last);
  CHECK(s.ask(line(), random, 9).empty());
  CHECK(s.ask(line(), random, 9).empty());
}

TEST_CASE("a batch may hold a point twice") {
  std::vector<trial> answers;
  coroutine_strategy s([&](search_context& here) {
    return [](search_context&, std::vector<trial>& out) -> search_routine { out = co_yield points(1, 1, 2); }(here,
                                                                                                              answers);
  });
  rng random;
  CHECK_EQ(s.ask(line(), random, 3), points(1, 1, 2));
  const trial done[] = {took(1, 7), took(2, 8)};
  s.tell(line(), done);
  CHECK(s.ask(line(), random, 3).empty());
  REQUIRE_EQ(answers.size(), 3);
  CHECK_EQ(answers[0].result.cost(), 7);
  CHECK_EQ(answers[1].result.cost(), 7);
}

TEST_CASE("a point of the batch that is told before its turn is not asked") {
  std::vector<trial> answers;
  coroutine_strategy s([&](search_context& here) {
    return [](search_context&, std::vector<trial>& out) -> search_routine {
      out = co_yield points(1, 2, 3);
      co_yield points(4);
    }(here, answers);
  });
  rng random;
  CHECK_EQ(s.ask(line(), random, 1), points(1));
  const trial two[] = {took(2, 20), took(1, 10)};
  s.tell(line(), two);
  CHECK_EQ(s.ask(line(), random, 2), points(3));
  const trial last[] = {took(3, 30)};
  s.tell(line(), last);
  CHECK_EQ(s.ask(line(), random, 1), points(4));
  REQUIRE_EQ(answers.size(), 3);
  for (int i = 0; i < 3; ++i) CHECK_EQ(answers[static_cast<std::size_t>(i)].result.cost(), 10 * (i + 1));
}

TEST_CASE("what is told unasked is known, before the start and after; what is not feasible is not") {
  std::vector<std::size_t> unasked;
  std::vector<double> best;
  coroutine_strategy s([&](search_context& here) {
    return [](search_context& c, std::vector<std::size_t>& n, std::vector<double>& b) -> search_routine {
      for (int x = 1; x < 4; ++x) {
        n.push_back(c.unasked().size());
        b.push_back(c.known().best_cost());
        co_yield points(x);
      }
    }(here, unasked, best);
  });
  rng random;
  const trial early[] = {took(9, 5), took(99, 1)};
  s.tell(line(), early);
  CHECK_EQ(s.ask(line(), random, 1), points(1));
  const trial later[] = {took(10, 4), took(1, 6), trial{{1, 1}, {}}};
  s.tell(line(), later);
  CHECK_EQ(s.ask(line(), random, 1), points(2));
  CHECK_EQ(unasked, std::vector<std::size_t>{1, 2});
  CHECK_EQ(best, std::vector<double>{5, 4});
}

TEST_CASE("an empty batch does not stop it") {
  coroutine_strategy s([](search_context& here) {
    return [](search_context&) -> search_routine {
      for (int i = 0; i < 3; ++i) {
        const auto nothing = co_yield std::vector<point>{};
        if (!nothing.empty()) co_return;
      }
      co_yield points(8);
    }(here);
  });
  rng random;
  CHECK_EQ(s.ask(line(), random, 1), points(8));
}

TEST_CASE("it draws from the caller's stream") {
  const auto make = [] {
    return coroutine_strategy([](search_context& here) {
      return [](search_context& c) -> search_routine {
        for (;;) co_yield std::vector<point>(1, c.space().sample(c.random()));
      }(here);
    });
  };
  auto s = make();
  rng random(4);
  rng same(4);
  for (int i = 0; i < 5; ++i) {
    const auto asked = s.ask(line(), random, 1);
    CHECK_EQ(asked.front(), line().sample(same));
    CHECK_EQ(random, same);
    const trial done[] = {{asked.front(), {}}};
    s.tell(line(), done);
  }
}

TEST_CASE("an exception comes out of ask, and ends the search") {
  coroutine_strategy s([](search_context& here) {
    return [](search_context&) -> search_routine {
      co_yield points(1);
      throw std::runtime_error("lost");
    }(here);
  });
  rng random;
  CHECK_EQ(s.ask(line(), random, 1).size(), 1);
  const trial done[] = {took(1, 1)};
  s.tell(line(), done);
  CHECK_THROWS_WITH_AS(static_cast<void>(s.ask(line(), random, 1)), "lost", std::runtime_error);
  CHECK(s.ask(line(), random, 1).empty());
}

search_routine climb(search_context& here) {  // the example of the header
  point best = here.space().sample(here.random());
  for (bool better = true; better;) {
    better = false;
    const auto near = here.space().neighbours(best, 1);
    for (const auto& t : co_yield near)
      if (t.result.cost() < here.known().cost(best)) best = t.at, better = true;
  }
}

TEST_CASE("a climber in ten lines") {
  const auto l = testing::convex();
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const auto d = testing::minimise(coroutine_strategy(climb), l, 1000, seed);
    CHECK(d.finished);
    CHECK_EQ(d.at, l.best);
  }
}

struct walker : coroutine_strategy {
  walker() : coroutine_strategy(walk) {}
  using coroutine_strategy::start_at;
  static search_routine walk(search_context& here) {
    for (int x = here.start() ? here.start()->front() : 0;; ++x) co_yield points(x);
  }
};
static_assert(RestartableStrategy<walker>);
static_assert(!RestartableStrategy<coroutine_strategy>);

TEST_CASE("it can be sent elsewhere, before the start, with points open, and after its end") {
  walker s;
  rng random;
  s.start_at({3});
  CHECK_EQ(s.ask(line(), random, 1), points(3));
  s.start_at({7});  // 3 is open
  CHECK_EQ(s.ask(line(), random, 1), points(7));
  const trial done[] = {took(3, 1), took(7, 1)};
  s.tell(line(), done);
  CHECK_EQ(s.ask(line(), random, 1), points(8));
  walker moved = std::move(s);
  const trial next[] = {took(8, 1)};
  moved.tell(line(), next);
  CHECK_EQ(moved.ask(line(), random, 1), points(9));
}

}  // namespace
