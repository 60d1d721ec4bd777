#include <tileseek/measure/compiled.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <tileseek/search/exhaustive.hpp>
#include <tileseek/tune/tune.hpp>

using tileseek::compilation;
using tileseek::compiled;
using tileseek::in_out;
using tileseek::input;
using tileseek::output;
using tileseek::scalar;
using tileseek::status;

namespace {

/// A folder that goes with the object.
struct scratch {
  std::string name = (std::filesystem::temp_directory_path() / "compiled-XXXXXX").string();
  scratch() { REQUIRE(mkdtemp(name.data()) != nullptr); }
  scratch(const scratch&) = delete;
  ~scratch() { std::filesystem::remove_all(name); }
  [[nodiscard]] std::string write(const std::string& file, const std::string& text) const {
    std::ofstream(name + "/" + file) << text;
    return name + "/" + file;
  }
  [[nodiscard]] std::size_t count(const std::string& extension) const {
    std::size_t n = 0;
    for (const auto& f : std::filesystem::directory_iterator(name)) n += f.path().extension() == extension;
    return n;
  }
};

constexpr int n = 100;

struct tiling {
  int BLOCK = 4;
  std::array<int, 2> m{1, 2};
  bool fast = true;
  double factor = 2;
};

tileseek::space<tiling> tilings() {
  return tileseek::space<tiling>{}
      .add("BLOCK", &tiling::BLOCK, tileseek::range(1, 12))
      .tile("m", &tiling::m, 4)
      .add("fast", &tiling::fast, {true, false})
      .add("factor", &tiling::factor, {1.0, 2.0, 2.5});
}

void scale(const float* x, float* y, int count) {
  for (int i = 0; i < count; ++i) y[i] = 2.5F * x[i];
}

static_assert(tileseek::RunAwareMeasurer<tileseek::compiled_measurer<tiling>, tiling>);

/// Of a source that is compiled without optimising.
compilation of(std::string source, std::string function) {
  return {.source = std::move(source),
          .function = std::move(function),
          .arguments = {input<float>(n), output<float>(n), scalar(n)},
          .truth = scale,
          .flags = {"-O0"}};
}

/// Does what its block says: 1 segfaults, 2 hangs, and so on.
constexpr const char* torture = R"(
#include <stdlib.h>
#if BLOCK == 5
#error five is not supported
#endif
void scale(const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = 2.5f * x[i];
  if (BLOCK == 1) *(volatile int*)0 = 1;
  if (BLOCK == 2) for (volatile int forever = 1; forever;) {}
  if (BLOCK == 3) y[n + 1] = 0;
  if (BLOCK == 4) y[3] = 0.0f / (y[3] - y[3]);
  if (BLOCK == 6) exit(0);
  if (BLOCK == 7) y[9] = 0;
}
)";

}  // namespace

TEST_CASE("parameters become macros: numbers, tiles level by level, truth values, reals that stay real") {
  const scratch s;
  const auto source = s.write("k.c", R"(
void scale(const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = BLOCK * 1000 + m_0 * 100 + m_1 * 10 + fast + factor / 4;
}
)");
  const auto space = tilings();
  auto how = of(source, "scale");
  how.truth = {};
  auto kernel = compiled(space, how);
  const tiling t{7, {2, 2}, false, 2};
  CHECK(kernel.source_of(space, t) ==
        "#define BLOCK 7\n#define m_0 2\n#define m_1 2\n#define fast 0\n#define factor 2.0\n#include \"" +
            std::filesystem::canonical(source).string() +
            "\"\n__attribute__((visibility(\"default\"))) void tileseek_kernel(void* const* argument) {\n"
            "  scale((const float*)argument[0], (float*)argument[1], *(const int*)argument[2]);\n}\n");
  how.truth = [](void* const* a) { std::fill_n(static_cast<float*>(a[1]), n, 7220.5F); };
  CHECK(compiled(space, how).measure(std::vector<tiling>{t}).front().valid());
}

TEST_CASE("parameters become template arguments where the function names them") {
  const scratch s;
  const auto source = s.write("k.cpp", R"(
template <int Block, int Inner>
static void scale(const float* x, float* y, int n) {
  static_assert(Block == 7 && Inner == 2 && factor == 2.5 && fast);
  for (int i = 0; i < n; ++i) y[i] = 2.5f * x[i];
}
)");
  const auto space = tilings();
  auto kernel = compiled(space, of(source, "scale<{BLOCK}, {m_1}>"));
  const auto r = kernel.measure(std::vector<tiling>{{7, {2, 2}, true, 2.5}, {8, {2, 2}, true, 2.5}});
  CHECK(r[0].valid());
  CHECK(r[1].outcome == status::build_failed);
  CHECK(r[1].note.find("static") != std::string::npos);
  CHECK_THROWS_WITH_AS(static_cast<void>(compiled(space, of(source, "scale<{BLCOK}>"))),
                       "the function names {BLCOK}, which the space lacks; a tile axis m is {m_0}, {m_1}, ...",
                       std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(compiled(space, of(source, "scale<{BLOCK>"))), std::invalid_argument);
}

TEST_CASE("every way to go wrong gets its status, the rest their times") {
  const scratch s;
  const auto space = tileseek::space<tiling>{}.add("BLOCK", &tiling::BLOCK, tileseek::range(1, 8));
  auto how = of(s.write("torture.c", torture), "scale");
  how.limits = {.most_seconds = 1, .build_seconds = 0.5};
  auto kernel = compiled(space, how);
  std::vector<tiling> all;
  for (int b = 1; b <= 8; ++b) all.push_back({b, {1, 2}, true, 2});
  const auto r = kernel.measure(all);
  REQUIRE(r.size() == 8);
  CHECK(r[0].outcome == status::crashed);
  CHECK(r[0].note == "killed by SIGSEGV");
  CHECK(r[1].outcome == status::timed_out);
  CHECK(r[2].note == "wrote past the end of argument 1");
  CHECK(r[3].note.find("element 3 is NaN") != std::string::npos);
  CHECK(r[4].outcome == status::build_failed);
  CHECK(r[4].note.find("five is not supported") != std::string::npos);
  CHECK(r[5].outcome == status::crashed);
  CHECK(r[6].note.find("argument 1: element 9 is 0, not ") == 0);
  CHECK(r[7].valid());
  const auto best = tileseek::tune(space, kernel, {.progress = tileseek::verbosity::quiet}, tileseek::exhaustive{});
  REQUIRE(best.best);
  CHECK(best.best->BLOCK == 8);
}

TEST_CASE("objects are kept, and found again by source, included files, flags and compiler") {
  const scratch s;
  const scratch kept;
  const auto space = tileseek::space<tiling>{}.add("BLOCK", &tiling::BLOCK, tileseek::range(1, 8));
  const std::vector<tiling> one{{3, {1, 2}, true, 2}};
  const auto text = std::string(
      "#include \"factor.h\"\nvoid scale(const float* x, float* y, int n) {\n"
      "  for (int i = 0; i < n; ++i) y[i] = FACTOR * x[i];\n}\n");
  const auto objects = [&](const std::string& source, const std::string& factor, const std::string& flag) {
    static_cast<void>(s.write("factor.h", "#define FACTOR " + factor + "\n"));
    auto how = of(s.write("k.c", source), "scale");
    how.flags.push_back(flag);
    how.folder = kept.name + "/objects";
    CHECK(compiled(space, how).measure(one).front().valid() == (factor == "2.5f"));
    std::size_t count = 0;
    for (const auto& f : std::filesystem::directory_iterator(how.folder)) count += f.path().extension() == ".so";
    return count;
  };
  CHECK(objects(text, "2.5f", "-O0") == 1);
  CHECK(objects(text, "2.5f", "-O0") == 1);
  CHECK(objects(text, "3.5f", "-O0") == 2);  // a stale one would have been right
  CHECK(objects(text, "2.5f", "-O1") == 3);
  CHECK(objects(text + "\n", "2.5f", "-O1") == 4);
  CHECK(objects(text, "2.5f", "-O0") == 4);
}

TEST_CASE("without a folder nothing is left behind") {
  const scratch s;
  const auto space = tileseek::space<tiling>{}.add("BLOCK", &tiling::BLOCK, tileseek::range(1, 8));
  const char* const before = std::getenv("TMPDIR");
  const std::optional<std::string> was = before == nullptr ? std::nullopt : std::optional<std::string>(before);
  setenv("TMPDIR", s.name.c_str(), 1);
  {
    auto kernel = compiled(space, of(s.write("torture.c", torture), "scale"));
    CHECK(kernel.measure(std::vector<tiling>{{8, {1, 2}, true, 2}}).front().valid());
    CHECK(std::distance(std::filesystem::directory_iterator(s.name), {}) == 2);
  }
  CHECK(std::distance(std::filesystem::directory_iterator(s.name), {}) == 1);
  was ? setenv("TMPDIR", was->c_str(), 1) : unsetenv("TMPDIR");
}

TEST_CASE("a compiler that takes too long, and one that fails without a word") {
  const scratch s;
  const auto space = tileseek::space<tiling>{}.add("BLOCK", &tiling::BLOCK, tileseek::range(1, 8));
  const std::vector<tiling> one{{8, {1, 2}, true, 2}};
  auto how = of(s.write("k.c", torture), "scale");
  how.compiler = s.write("slow", "#!/bin/sh\ncase $* in *shared*) sleep 1000;; *) exec cc \"$@\";; esac\n");
  std::filesystem::permissions(how.compiler, std::filesystem::perms::owner_all);
  how.compile_seconds = 0.3;
  auto m = compiled(space, how).measure(one).front();
  CHECK(m.outcome == status::timed_out);
  CHECK(m.note == "not compiled within 300 ms");
  how.compiler = "false";
  m = compiled(space, how).measure(one).front();
  CHECK(m.outcome == status::build_failed);
  CHECK(m.note == "false exited with code 1: ");
}

TEST_CASE("mistakes in the description are named") {
  const scratch s;
  const auto space = tilings();
  const auto source = s.write("k.c", torture);
  CHECK_THROWS_AS(static_cast<void>(compiled(space, of(s.name + "/none.c", "scale"))), std::runtime_error);
  CHECK_THROWS_AS(static_cast<void>(compiled(space, of(s.name, "scale"))), std::runtime_error);
  CHECK_THROWS_AS(static_cast<void>(compiled(space, of(source, ""))), std::invalid_argument);
  auto how = of(source, "scale");
  how.compile_seconds = 0;
  CHECK_THROWS_WITH_AS(static_cast<void>(compiled(space, how)), "compiled: compile_seconds is 0; give more than 0",
                       std::invalid_argument);
  how = of(source, "scale");
  how.compiler = "/no/such/compiler";
  CHECK_THROWS_AS(static_cast<void>(compiled(space, how)), std::runtime_error);
  how = of(source, "scale");
  how.folder = "/proc/no/such/folder";
  CHECK_THROWS_AS(static_cast<void>(compiled(space, how)), std::runtime_error);
  how = of(source, "scale");
  how.arguments = {in_out<float>(n), scalar(n)};
  CHECK_THROWS_AS(static_cast<void>(compiled(space, how)), std::invalid_argument);
}

TEST_CASE("what it measures under is known, so that the log can say it") {
  const scratch s;
  auto how = of(s.write("k.c", torture), "scale");
  how.flags = {"-O2", "-funroll-loops"};
  how.state = tileseek::caches::flushed;
  const auto kernel = compiled(tilings(), how);
  const auto text = to_string(kernel.conditions());
  for (const auto* part : {"kernel_flags=-O2 -funroll-loops", "caches=flushed", "checked=true", "kernel_compiler="})
    CHECK(text.find(part) != std::string::npos);
}
