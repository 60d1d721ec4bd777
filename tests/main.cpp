// Runs the tests. Unlike doctest's own main(), it fails when a filter matches no test, so that none is lost silently,
// and tells the tests where recorded data lies: TILESEEK_SHARED, else the folder shared/ beside the project.

#define DOCTEST_CONFIG_IMPLEMENT
#include <cstdio>
#include <cstdlib>

#include <doctest/doctest.h>

namespace {

unsigned tests_matched = 0;

struct match_counter final : doctest::IReporter {
  explicit match_counter(const doctest::ContextOptions&) {}
  void test_run_end(const doctest::TestRunStats& run) override { tests_matched = run.numTestCasesPassingFilters; }

  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_case_start(const doctest::TestCaseData&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};
REGISTER_LISTENER("match_counter", 1, match_counter);

}  // namespace

int main(int argc, char** argv) {
  setenv("TILESEEK_SHARED", TILESEEK_DEFAULT_SHARED, /*overwrite=*/0);

  doctest::Context context(argc, argv);
  const int failed = context.run();
  if (context.shouldExit()) return failed;  // only a query, such as --list-test-cases
  if (tests_matched == 0) {
    std::fputs("no test matches\n", stderr);
    return EXIT_FAILURE;
  }
  return failed;
}
