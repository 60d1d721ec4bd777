#include <tileseek/tune/observer.hpp>

#include <doctest/doctest.h>

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using tileseek::measurement;
using tileseek::named_values;
using tileseek::observer;
using tileseek::progress;
using tileseek::stop;

namespace {

struct all_events {
  std::vector<std::string>* seen;
  void on_trial(const named_values& c, const measurement& m) {
    seen->push_back(to_string(c) + "/" + std::string(to_string(m.outcome)));
  }
  bool on_batch(const progress& p) {
    seen->push_back("batch " + std::to_string(p.trials));
    return p.trials > 5;
  }
  void on_note(std::string_view s) { seen->push_back(std::string(s)); }
  void on_finish(const progress&, stop s) { seen->push_back(tileseek::to_string(s)); }
};

struct batch_without_answer {
  int* batches;
  void on_batch(const progress&) const { ++*batches; }
};
struct notes_only {
  std::string* text;
  void on_note(std::string_view s) { *text += s; }
};
struct counts_itself {
  int batches = 0;
  bool on_batch(const progress&) { return ++batches == 3; }
};
struct only_moves {
  only_moves() = default;
  only_moves(only_moves&&) = default;
  void on_note(std::string_view) {}
};
struct misspelt {
  void on_bach(const progress&);
};

static_assert(tileseek::detail::HasOnTrial<all_events> && tileseek::detail::HasOnBatch<all_events> &&
              tileseek::detail::HasOnNote<all_events> && tileseek::detail::HasOnFinish<all_events>);
static_assert(!tileseek::detail::HasOnTrial<notes_only> && !tileseek::detail::HasOnBatch<notes_only>);
static_assert(!tileseek::detail::HasOnBatch<misspelt> && !tileseek::detail::HasOnFinish<misspelt>);
static_assert(std::is_copy_constructible_v<observer> && std::is_copy_assignable_v<observer>);

}  // namespace

TEST_CASE("every event reaches its member") {
  std::vector<std::string> seen;
  const observer o = all_events{&seen};
  CHECK(o.sees_trials());
  o.on_trial({{"bm", 32}}, tileseek::failure(tileseek::status::crashed, ""));
  progress p;
  p.trials = 5;
  CHECK(!o.on_batch(p));
  p.trials = 6;
  CHECK(o.on_batch(p));
  o.on_note("mind the gap");
  o.on_finish(p, stop::target);
  CHECK(seen == std::vector<std::string>{"bm=32/crashed", "batch 5", "batch 6", "mind the gap", "target"});
}

TEST_CASE("events without a member are passed over") {
  int batches = 0;
  std::string text;
  const std::vector<observer> list{batch_without_answer{&batches}, notes_only{&text}, only_moves{}};
  for (const auto& o : list) {
    CHECK(!o.sees_trials());
    o.on_trial({}, {});
    CHECK(!o.on_batch({}));
    o.on_note("x");
    o.on_finish({}, stop::trials);
  }
  CHECK(batches == 1);
  CHECK(text == "x");
}

TEST_CASE("copies of an observer share what it holds") {
  const observer first = counts_itself{};
  const observer second = first;
  CHECK(!first.on_batch({}));
  CHECK(!second.on_batch({}));
  CHECK(first.on_batch({}));
  observer other = notes_only{nullptr};
  other = first;
  CHECK(!other.on_batch({}));
}
