#include <tileseek/kernels/matmul.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace tileseek::kernels;

// Numbers of both signs between 2^-22 and 2 with 23 random bits, so that sums round; the same on every platform.
std::vector<float> numbers(std::size_t count, std::uint32_t seed) {
  std::vector<float> out(count);
  for (float& x : out) {
    seed = seed * 1664525u + 1013904223u;
    x = static_cast<float>((seed >> 8 & 0x7fffffu) + 1u) / 4194304.0f * ((seed >> 31) ? 1.0f : -1.0f);
  }
  return out;
}

struct problem {
  matmul_shape shape;
  std::vector<float> a;
  std::vector<float> b;
  std::vector<double> reference;

  explicit problem(matmul_shape s)
      : shape(s),
        a(numbers(static_cast<std::size_t>(s.batch) * static_cast<std::size_t>(s.m) * static_cast<std::size_t>(s.k),
                  1)),
        b(numbers(static_cast<std::size_t>(s.batch) * static_cast<std::size_t>(s.k) * static_cast<std::size_t>(s.n),
                  2)),
        reference(static_cast<std::size_t>(s.batch) * static_cast<std::size_t>(s.m) * static_cast<std::size_t>(s.n)) {
    matmul_reference(shape, a.data(), b.data(), reference.data());
  }

  // Runs into poisoned memory with canaries before and after C, then into an allocation of C's exact size for the
  // sanitizer.
  void check(matmul& product, const matmul_blocking& blocking) const {
    CAPTURE(shape.m);
    CAPTURE(shape.n);
    CAPTURE(shape.k);
    CAPTURE(blocking.m[1]);
    CAPTURE(blocking.m[2]);
    CAPTURE(blocking.n[1]);
    CAPTURE(blocking.n[2]);
    CAPTURE(blocking.k[1]);
    CAPTURE(blocking.k[2]);
    CAPTURE(static_cast<int>(blocking.order));
    CAPTURE(blocking.pack_a);
    constexpr std::size_t guard = 128;
    constexpr float canary = 12345.0f;
    const std::size_t size = reference.size();
    std::vector<float> guarded(size + 2 * guard, canary);
    std::fill_n(guarded.begin() + guard, size, std::numeric_limits<float>::quiet_NaN());
    product(blocking, a.data(), b.data(), guarded.data() + guard);
    const bool right = matmul_matches(shape, a.data(), b.data(), guarded.data() + guard, reference.data());
    CHECK(right);
    bool intact = true;
    for (std::size_t i = 0; i < guard; ++i)
      intact = intact && guarded[i] == canary && guarded[guard + size + i] == canary;
    CHECK(intact);
    const auto exact = std::make_unique<float[]>(size);
    product(blocking, a.data(), b.data(), exact.get());
    bool same = true;
    for (std::size_t i = 0; i < size; ++i) same = same && exact[i] == guarded[guard + i];
    CHECK(same);
  }
};

std::string complaint(const matmul_blocking& blocking, matmul_shape shape = {.m = 4, .n = 4, .k = 4}) {
  try {
    matmul(shape).prepare(blocking);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return {};
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

int divisors(int x) {
  int count = 0;
  for (int d = 1; d <= x; ++d) count += x % d == 0;
  return count;
}

constexpr matmul_order orders[] = {matmul_order::n_outside, matmul_order::m_outside};

}  // namespace

TEST_CASE("matmul: every micro-kernel is right on ragged shapes") {
  for (const matmul_shape shape :
       {matmul_shape{1, 1, 1}, {7, 13, 5}, {17, 19, 1}, {33, 65, 29}, {16, 64, 8}, {1, 67, 9}, {31, 1, 6}}) {
    const problem p(shape);
    matmul product(shape);
    for (int rows = 1; rows <= 16; ++rows)
      for (int vectors = 1; vectors <= 4; ++vectors)
        for (const int unroll : {1, 2}) {
          if (!micro_kernel_exists(rows, vectors)) continue;
          const bool odd = (rows + vectors + unroll) % 2 != 0;
          for (const bool pack_a : {false, true})
            p.check(product, {{1, 2, rows}, {1, 1, vectors}, {1, 3, unroll}, orders[odd ? 1 : 0], pack_a});
        }
  }
}

TEST_CASE("matmul: every blocking is right on every shape") {
  const std::vector<matmul_blocking> blockings = {
      {},
      {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
      {{1, 1, 12}, {1, 3, 1}, {1, 5, 2}},
      {{1, 3, 4}, {1, 2, 2}, {1, 4, 2}},
      {{1, 1000, 6}, {1, 1000, 1}, {1, 1000, 2}},
      {{1, 2000000000, 6}, {1, 2000000000, 2}, {1, 2000000000, 2}},
      {{1, 2, 9}, {1, 1, 1}, {1, 31, 1}},
  };
  for (const matmul_shape shape : {matmul_shape{1, 1, 1},
                                   {2, 3, 5},
                                   {7, 13, 5},
                                   {33, 65, 129},
                                   {1, 37, 41},
                                   {41, 1, 37},
                                   {37, 41, 1},
                                   {64, 64, 64},
                                   {61, 67, 71},
                                   {1, 1, 97},
                                   {97, 1, 1},
                                   {1, 97, 1},
                                   {12, 32, 256}}) {
    const problem p(shape);
    matmul product(shape);
    for (matmul_blocking blocking : blockings)
      for (const matmul_order order : orders)
        for (const bool pack_a : {false, true}) {
          blocking.order = order;
          blocking.pack_a = pack_a;
          p.check(product, blocking);
        }
  }
}

TEST_CASE("matmul: batches and any number of threads are right") {
  for (const matmul_shape shape : {matmul_shape{17, 33, 9, 1}, {33, 17, 9, 2}, {5, 70, 30, 3}, {2, 3, 4, 7}}) {
    const problem p(shape);
    for (const int threads : {1, 2, 3, 5}) {
      CAPTURE(threads);
      matmul product(shape, threads);
      CHECK(product.threads() == threads);
      for (const matmul_order order : orders)
        for (const bool pack_a : {false, true}) p.check(product, {{1, 2, 3}, {1, 1, 2}, {1, 4, 2}, order, pack_a});
    }
  }
}

TEST_CASE("matmul: an invalid blocking is refused with the field, its value and a remedy") {
  CHECK(complaint({}).empty());
  CHECK(contains(complaint({.m = {1, 1, 7}}), "blocking.m[2] is 7, pass"));
  CHECK(contains(complaint({.m = {1, 1, 17}}), "blocking.m[2] is 17"));
  CHECK(contains(complaint({.m = {1, 0, 4}}), "blocking.m[1] is 0, pass at least 1"));
  CHECK(contains(complaint({.m = {-3, 1, 4}}), "blocking.m[0] is -3"));
  CHECK(contains(complaint({.n = {1, 1, 5}}), "blocking.n[2] is 5, pass fewer vectors"));
  CHECK(contains(complaint({.m = {1, 1, 12}, .n = {1, 1, 4}}), "blocking.m[2] = 12"));
  CHECK(contains(complaint({.n = {1, 0, 1}}), "blocking.n[1] is 0"));
  CHECK(contains(complaint({.k = {1, 8, 3}}), "blocking.k[2] is 3, pass 1 or 2"));
  CHECK(contains(complaint({.k = {0, 8, 1}}), "blocking.k[0] is 0"));
  CHECK(contains(complaint({.order = static_cast<matmul_order>(9)}), "blocking.order is 9"));
  CHECK_THROWS_WITH_AS(matmul({.m = 1, .n = 0, .k = 1}), "matmul: shape.n is 0, pass at least 1",
                       std::invalid_argument);

  CHECK_THROWS_WITH_AS(matmul({.batch = -2}), "matmul: shape.batch is -2, pass at least 1", std::invalid_argument);
  CHECK_THROWS_WITH_AS(matmul({}, 0), "matmul: threads is 0, pass at least 1", std::invalid_argument);

  // Refused before C is touched.
  float a = 2, b = 3, c = 5;
  matmul product({.m = 1, .n = 1, .k = 1});
  CHECK_THROWS_AS(product({.k = {1, 1, 5}}, &a, &b, &c), std::invalid_argument);
  CHECK(c == 5.0f);
  product({}, &a, &b, &c);
  CHECK(c == 6.0f);
}

TEST_CASE("matmul: micro-kernels fit in the registers, and small ones always exist") {
  for (int rows = -1; rows <= 20; ++rows)
    for (int vectors = -1; vectors <= 20; ++vectors)
      if (micro_kernel_exists(rows, vectors)) {
        CHECK(rows >= 1);
        CHECK(vectors >= 1);
        CHECK(rows * vectors + vectors + 1 <= vector_registers);
      }
  for (const int rows : {1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 14}) CHECK(micro_kernel_exists(rows, 1));
  for (const int rows : {1, 2, 3, 4, 5, 6}) CHECK(micro_kernel_exists(rows, 2));
  CHECK(unroll_exists(1));
  CHECK(unroll_exists(2));
  CHECK(!unroll_exists(0));
  CHECK(!unroll_exists(3));
}

TEST_CASE("matmul: sizes of panels and blocks") {
  const matmul_blocking by{.m = {2, 8, 6}, .n = {3, 5, 2}, .k = {1, 32, 4}};
  CHECK(a_panel_bytes(by.m, by.k) == 4 * 6 * 128);
  CHECK(a_block_bytes(by.m, by.k) == 4 * 48 * 128);
  CHECK(b_panel_bytes(by.n, by.k) == 4 * 2 * vector_lanes * 128);
  CHECK(b_block_bytes(by.n, by.k) == 4 * 10 * vector_lanes * 128);
  CHECK(matmul_shape{3, 4, 5}.flop() == 120.0);
  CHECK(matmul_shape{3, 4, 5, 6}.flop() == 720.0);
  CHECK(matmul_shape{100000, 100000, 100000}.flop() == 2e15);
}

TEST_CASE("matmul: padded extents cover the size, stay near it and have more divisors") {
  for (int size = 1; size <= 5000; size += size < 300 ? 1 : 97) {
    const int extent = padded_extent(size);
    CAPTURE(size);
    CAPTURE(extent);
    CHECK(extent >= size);
    CHECK(extent <= size + (size <= 2 ? 0 : std::max(1, size / 8)));
    CHECK((size < 96 || extent % 12 == 0));
    if (size < 96) CHECK(divisors(extent) >= divisors(size));
    if (size >= 96) CHECK(divisors(extent) >= 12);
  }
  CHECK(padded_extent(1) == 1);
  CHECK(padded_extent(7) == 8);
  CHECK(padded_extent(1021) == 1080);
  CHECK(padded_extent(1024) == 1080);
  CHECK_THROWS_WITH_AS(static_cast<void>(padded_extent(0)), "padded_extent: size is 0, pass at least 1",
                       std::invalid_argument);

  const auto extents = matmul_extents({.m = 1024, .n = 100 * vector_lanes - 1, .k = 13});
  CHECK(extents.m == 1080);
  CHECK(extents.n == padded_extent(100));
  CHECK(extents.k == 14);
}

TEST_CASE("matmul_reference: a product worked by hand") {
  const std::vector<float> a = {1, 2, 3, 4, 5, 6};     // 2 x 3
  const std::vector<float> b = {7, 8, 9, 10, 11, 12};  // 3 x 2
  std::vector<double> c(4, -1.0);
  matmul_reference({.m = 2, .n = 2, .k = 3}, a.data(), b.data(), c.data());
  CHECK(c == std::vector<double>{58, 64, 139, 154});
  // The same numbers as three products of 1 x 2 and 2 x 1.
  c.resize(3);
  matmul_reference({.m = 1, .n = 1, .k = 2, .batch = 3}, a.data(), b.data(), c.data());
  CHECK(c == std::vector<double>{23, 67, 127});
}

TEST_CASE("matmul_reference: sums run along k in order, whatever the blocks and the number of threads") {
  for (const auto& shape :
       {matmul_shape{.m = 3, .n = 1030, .k = 517, .batch = 9}, matmul_shape{.m = 129, .n = 5, .k = 3}}) {
    const problem p(shape);
    std::vector<double> plain(p.reference.size(), 0.0);
    const auto m = static_cast<std::size_t>(shape.m), n = static_cast<std::size_t>(shape.n);
    const auto k = static_cast<std::size_t>(shape.k);
    for (std::size_t r = 0; r < m * static_cast<std::size_t>(shape.batch); ++r)
      for (std::size_t q = 0; q < k; ++q)
        for (std::size_t j = 0; j < n; ++j)
          plain[r * n + j] += static_cast<double>(p.a[r * k + q]) * static_cast<double>(p.b[(r / m * k + q) * n + j]);
    CHECK(p.reference == plain);
  }
}

TEST_CASE("matmul_matches: refuses NaN, infinity, a wrong element and a missing product") {
  const problem p({.m = 9, .n = 17, .k = 200});
  std::vector<float> c(p.reference.size());
  matmul product(p.shape);
  product({}, p.a.data(), p.b.data(), c.data());
  const auto matches = [&] { return matmul_matches(p.shape, p.a.data(), p.b.data(), c.data(), p.reference.data()); };
  REQUIRE(matches());
  CHECK(matmul_error(p.shape, p.a.data(), p.b.data(), c.data(), p.reference.data()) > 0);
  for (const std::size_t at : {std::size_t{0}, std::size_t{77}, c.size() - 1}) {
    const float was = c[at];
    for (const float wrong : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::infinity(), was + 0.1f, was - 0.1f}) {
      c[at] = wrong;
      CHECK(!matches());
    }
    const std::size_t row = at / 17, column = at % 17;
    c[at] = was - p.a[row * 200 + 5] * p.b[5 * 17 + column];
    CHECK(!matches());
    c[at] = was;
    CHECK(matches());
  }
  c[3] = std::numeric_limits<float>::quiet_NaN();
  CHECK(std::isinf(matmul_error(p.shape, p.a.data(), p.b.data(), c.data(), p.reference.data())));
}

TEST_CASE("matmul_matches: refuses a wrong element of any product of a batch") {
  const problem p({.m = 2, .n = 3, .k = 40, .batch = 3});
  std::vector<float> c(p.reference.size());
  matmul product(p.shape);
  product({}, p.a.data(), p.b.data(), c.data());
  const auto matches = [&] { return matmul_matches(p.shape, p.a.data(), p.b.data(), c.data(), p.reference.data()); };
  CHECK(matches());
  for (float& x : c) {
    const float was = std::exchange(x, x + 0.1f);
    CHECK(!matches());
    x = was;
  }
}

TEST_CASE("matmul_error: zeros are exact, and anything else is wrong there") {
  const matmul_shape shape{.m = 2, .n = 2, .k = 2};
  const std::vector<float> zero(4, 0.0f);
  const std::vector<double> reference(4, 0.0);
  CHECK(matmul_error(shape, zero.data(), zero.data(), zero.data(), reference.data()) == 0.0);
  const std::vector<float> off = {0.0f, 0.0f, 1e-20f, 0.0f};
  CHECK(!matmul_matches(shape, zero.data(), zero.data(), off.data(), reference.data()));
}
