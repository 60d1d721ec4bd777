#include <tileseek/measure/arguments.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

using tileseek::argument;
using tileseek::arguments;
using tileseek::caches;
using tileseek::in_out;
using tileseek::input;
using tileseek::output;
using tileseek::scalar;
using tileseek::status;

namespace {

constexpr int n = 1000;

void twice(const float* x, float* y, int count) {
  for (int i = 0; i < count; ++i) y[i] = 2 * x[i];
}

arguments doubling() { return arguments({input<float>(n), output<float>(n), scalar(n)}, twice); }

float* out_of(void* const* a) { return static_cast<float*>(a[1]); }
void run_twice(void* const* a) { twice(static_cast<const float*>(a[0]), out_of(a), *static_cast<const int*>(a[2])); }

/// What is wrong with a kernel that does right, and then something else.
template <class Spoil>
std::string wrong(arguments& data, const Spoil& spoil) {
  const auto m = data.check([&](void* const* a) {
    run_twice(a);
    spoil(a);
  });
  if (!m) return "nothing";
  CHECK(m->outcome == status::wrong_result);
  return m->note;
}
template <class Spoil>
std::string wrong(const Spoil& spoil) {
  auto data = doubling();
  return wrong(data, spoil);
}

}  // namespace

TEST_CASE("inputs are random, the same for a seed, of every type; given values stay") {
  const std::vector<argument> list{input<float>(n),
                                   input<double>(n),
                                   input<std::int8_t>(n),
                                   input<std::uint64_t>(n),
                                   input(std::vector<int>{4, 5, 6}),
                                   scalar(7L)};
  const arguments a(list, {}, 1);
  const arguments b(list, {}, 1);
  const arguments c(list, {}, 2);
  double sum = 0;
  bool differs = false;
  for (std::size_t i = 0; i < n; ++i) {
    CHECK(a.get<float>(0)[i] == b.get<float>(0)[i]);
    differs = differs || a.get<float>(0)[i] != c.get<float>(0)[i];
    CHECK(std::fabs(a.get<float>(0)[i]) <= 1);
    CHECK(std::fabs(a.get<double>(1)[i]) <= 1);
    CHECK(std::abs(a.get<std::int8_t>(2)[i]) <= 8);
    CHECK(a.get<std::uint64_t>(3)[i] <= 15);
    sum += a.get<double>(1)[i];
  }
  CHECK(differs);
  CHECK(std::fabs(sum / n) < 0.1);
  CHECK(a.get<int>(4)[2] == 6);
  CHECK(a.get<long>(5)[0] == 7);
  CHECK(a.declaration() == "const float*, const double*, const signed char*, const unsigned long*, const int*, long");
}

TEST_CASE("a right kernel passes and is timed") {
  auto data = doubling();
  CHECK(wrong(data, [](void* const*) {}) == "nothing");
  for (const auto state : {caches::warm, caches::flushed}) {
    const auto m = data.check_and_time(run_twice, {}, state);
    CHECK(m.valid());
    CHECK(m.seconds.size() >= 3);
  }
}

TEST_CASE("what a kernel may do wrong") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(wrong([&](void* const* a) { out_of(a)[17] = nan; }).find("argument 1: element 17 is NaN, not ") == 0);
  CHECK(wrong([](void* const* a) { out_of(a)[3] = -HUGE_VALF; }).find("argument 1: element 3 is -infinity, not ") == 0);
  CHECK(wrong([](void* const* a) {
          for (int i = 10; i < 30; ++i) out_of(a)[i] += 0.5F;
        }).find("; 20 of 1,000 elements are wrong") != std::string::npos);
  CHECK(wrong([](void* const* a) { out_of(a)[n] = 1; }) == "wrote past the end of argument 1");
  CHECK(wrong([](void* const* a) { out_of(a)[n + 900] = 1; }) == "wrote past the end of argument 1");
  CHECK(wrong([](void* const* a) { out_of(a)[-1] = 1; }) == "wrote before the beginning of argument 1");
  CHECK(wrong([](void* const* a) { static_cast<float*>(a[0])[5] = 9; }) == "changed argument 0, which is an input");
  CHECK(wrong([](void* const* a) { *static_cast<int*>(a[2]) = 0; }) == "changed argument 2, which is an input");
  CHECK(doubling().check([](void* const*) {})->note.find("argument 1: element 0 is NaN") == 0);  // wrote nothing
}

TEST_CASE("results of an earlier kernel, and damage by one, do not help or hurt the next") {
  auto data = doubling();
  CHECK(wrong(data, [](void* const*) {}) == "nothing");
  CHECK(data.check([](void* const*) {})->note.find("NaN") != std::string::npos);
  CHECK(wrong(data, [](void* const* a) { out_of(a)[n + 900] = 1; }) != "nothing");
  CHECK(wrong(data, [](void* const* a) { static_cast<float*>(a[0])[5] = 9; }) != "nothing");
  CHECK(wrong(data, [](void* const*) {}) == "nothing");
}

TEST_CASE("tolerances: relative, absolute as a share of the largest, another than the type's; exact for integers") {
  const auto off = [](auto r, double by, argument out) {
    using type = decltype(r);
    arguments data({std::move(out)}, [r](void* const* a) {
      static_cast<type*>(a[0])[0] = r;
      static_cast<type*>(a[0])[1] = 100;
    });
    return !data.check([=](void* const* a) {
      static_cast<type*>(a[0])[0] = static_cast<type>(r + by);
      static_cast<type*>(a[0])[1] = 100;
    });
  };
  CHECK(off(0.0F, 0.009, output<float>(2)));
  CHECK(!off(0.0F, 0.011, output<float>(2)));
  CHECK(off(50.0F, 0.014, output<float>(2)));
  CHECK(!off(50.0F, 0.016, output<float>(2)));
  CHECK(off(50.0, 1.4e-7, output<double>(2)));
  CHECK(!off(50.0, 1.6e-7, output<double>(2)));
  CHECK(off(50.0, 4, output<double>(2).within({.relative = 0.1})));
  CHECK(!off(50.0, 6, output<double>(2).within({.relative = 0.1})));
  CHECK(off(50, 0, output<int>(2)));
  CHECK(!off(50, 1, output<int>(2)));
}

TEST_CASE("a NaN and an infinity must be where the reference has them") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  arguments data({output<float>(3)}, [nan](void* const* a) {
    auto* y = static_cast<float*>(a[0]);
    y[0] = nan, y[1] = HUGE_VALF, y[2] = 1;
  });
  const auto right = [&data](float x, float y, float z) {
    return !data.check([=](void* const* a) {
      auto* out = static_cast<float*>(a[0]);
      out[0] = x, out[1] = y, out[2] = z;
    });
  };
  CHECK(right(nan, HUGE_VALF, 1));
  CHECK(!right(1, HUGE_VALF, 1));
  CHECK(!right(nan, -HUGE_VALF, 1));
  CHECK(!right(nan, 1, 1));
  CHECK(!right(nan, HUGE_VALF, nan));
}

TEST_CASE("what is read and written is restored before every run, timed or not") {
  int started_fresh = 0;
  int runs = 0;
  const auto increment = [&](void* const* a) {
    ++runs;
    started_fresh += *static_cast<int*>(a[0]) == 41;
    ++*static_cast<int*>(a[0]);
  };
  arguments data({in_out(std::vector<int>{41})}, [](void* const* a) { ++*static_cast<int*>(a[0]); });
  CHECK(data.check_and_time(increment).valid());
  CHECK(runs > 4);
  CHECK(started_fresh == runs);
}

TEST_CASE("without a reference, outputs must have been written, and be numbers") {
  arguments data({output<float>(4), output<unsigned char>(4)});
  const auto note = [&data](float x, int written, unsigned char byte) {
    const auto m = data.check([=](void* const* a) {
      for (int i = 0; i < written; ++i) static_cast<float*>(a[0])[i] = x;
      if (byte != 0) static_cast<unsigned char*>(a[1])[2] = byte;
    });
    return m ? m->note : "nothing";
  };
  CHECK(note(1, 4, 1) == "nothing");
  CHECK(note(1, 3, 1) == "argument 0: element 3 was not written");
  CHECK(note(std::nanf(""), 4, 1) == "argument 0: element 0 is NaN");
  CHECK(note(1, 4, 0) == "argument 1: nothing was written");
}

TEST_CASE("mistakes in the description") {
  CHECK_THROWS_WITH_AS(static_cast<void>(input<float>(0)), "argument: 0 elements; give at least 1",
                       std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(input(std::vector<float>{})), std::invalid_argument);
  CHECK_THROWS_WITH_AS(static_cast<void>(output<float>(1).within({.relative = -1})),
                       "argument: a tolerance of -1 and 0; give 0 or more", std::invalid_argument);
  for (const auto& list : {std::vector<argument>{input<float>(n), output<float>(n)},
                           {input<float>(n), output<double>(n), scalar(n)},
                           {input<float>(n), output<float>(n), scalar(1.0F)},
                           {input<float>(n), output<float>(n), input<int>(1)}})
    CHECK_THROWS_AS(arguments(list, twice), std::invalid_argument);
  CHECK_THROWS_WITH_AS(arguments({input<float>(1)}, twice),
                       "arguments: the reference has other parameters than (const float*); give it the kernel's own",
                       std::invalid_argument);
}

TEST_CASE("eviction leaves the data alone, whatever its size and place") {
  std::vector<char> data(10'000, 'x');
  for (const std::size_t size : {0U, 1U, 63U, 64U, 65U, 9'999U}) tileseek::evict(data.data() + 1, size);
  CHECK(data == std::vector<char>(10'000, 'x'));
}
