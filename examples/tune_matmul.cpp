// Tunes the bundled single-precision matrix product on this machine and compares the winner with OpenBLAS, if it is
// there.
#include <tileseek/kernels/matmul_problem.hpp>
#include <tileseek/record/log.hpp>
#include <tileseek/search/registry.hpp>
#include <tileseek/tileseek.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#ifdef TILESEEK_HAVE_OPENBLAS
#include <cblas.h>
#include <unistd.h>
#endif

namespace {

using tileseek::kernels::matmul_blocking;
using tileseek::kernels::matmul_problem;
using tileseek::kernels::matmul_shape;

struct arguments {
  matmul_shape shape{1024, 1024, 1024};
  std::string backend = "cpu";
  std::string strategy = "dynamic_gradient";
  std::vector<std::string> strategy_options;
  std::size_t trials = 200;
  double seconds = 60;
  std::uint64_t seed = 0;
  std::string log;
  bool json = false;
  bool quiet = false;
};

void read(CLI::App& app, arguments& a) {
  app.add_option("--m", a.shape.m, "rows of A and C")->check(CLI::Range(1, 65536))->capture_default_str();
  app.add_option("--n", a.shape.n, "columns of B and C")->check(CLI::Range(1, 65536))->capture_default_str();
  app.add_option("--k", a.shape.k, "columns of A, rows of B")->check(CLI::Range(1, 65536))->capture_default_str();
  app.add_option("--backend", a.backend, "where it runs")->check(CLI::IsMember({"cpu"}))->capture_default_str();
  std::string names;
  for (const auto& s : tileseek::strategies())
    names += (names.empty() ? "how it searches: " : ", ") + std::string(s.name);
  app.add_option("--strategy", a.strategy, names)->capture_default_str();
  app.add_option("--option", a.strategy_options, "key=value of the strategy; may be repeated")->take_all();
  app.add_option("--trials", a.trials, "configurations to measure at most")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 40))
      ->capture_default_str();
  app.add_option("--seconds", a.seconds, "tuning time at most")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--seed", a.seed, "of all random choices")->capture_default_str();
  app.add_option("--log", a.log, "file to keep results in and to resume from");
  app.add_flag("--json", a.json, "print one JSON object");
  app.add_flag("--quiet", a.quiet, "no progress");
}

#ifdef TILESEEK_HAVE_OPENBLAS
/// OpenBLAS chooses its kernels when it is loaded, and a release that does not know a CPU takes those of 2004. Then it
/// is told what this CPU can do, and the program starts again: a comparison with the wrong kernels would flatter us
/// fivefold.
void choose_openblas_kernels(char** argv) {
#if defined(__AVX512F__)
  const char* const able = "SkylakeX";
#elif defined(__AVX2__)
  const char* const able = "Haswell";
#else
  const char* const able = nullptr;
#endif
  if (able == nullptr || std::getenv("OPENBLAS_CORETYPE") != nullptr ||
      std::string(openblas_get_corename()) != "Prescott")
    return;
  setenv("OPENBLAS_CORETYPE", able, 1);
  execv("/proc/self/exe", argv);  // returns only if it fails; then the report names the kernels that were used
}
#endif

/// What a user would take instead.
std::vector<tileseek::rival> rivals([[maybe_unused]] matmul_problem& problem) {
#ifdef TILESEEK_HAVE_OPENBLAS
  openblas_set_num_threads(1);
  const auto sgemm = [&problem](const tileseek::timing_limits& limits) {
    const matmul_shape s = problem.shape();
    return problem.check_and_time(
        [&](float* c) {
          cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, s.m, s.n, s.k, 1, problem.a().data(), s.k,
                      problem.b().data(), s.n, 0, c, s.n);
        },
        limits);
  };
  return {{"OpenBLAS sgemm, one thread, " + std::string(openblas_get_corename()) + " kernels", sgemm}};
#else
  return {};
#endif
}

nlohmann::ordered_json to_json(const tileseek::result<matmul_blocking>& r) {
  using tileseek::detail::to_json;
  nlohmann::ordered_json j;
  const auto number = [](double x) {
    return std::isfinite(x) ? nlohmann::ordered_json(x) : nlohmann::ordered_json(nullptr);
  };
  j["space_size"] =
      r.space_counted ? nlohmann::ordered_json(static_cast<std::uint64_t>(r.space_size)) : number(r.space_size);
  j["trials"] = r.trials;
  j["measured"] = r.measured;
  j["replayed"] = r.replayed;
  j["best"] = r.best ? nlohmann::ordered_json(to_json(r.best_values)) : nlohmann::ordered_json(nullptr);
  j["median_seconds"] = number(r.median_seconds);
  j["interval"] = {number(r.seconds_interval.low), number(r.seconds_interval.high)};
  j["gflops"] = number(r.gflops());
  j["default_seconds"] = r.untuned_compared ? number(r.untuned_compared->seconds) : nullptr;
  j["speedup"] = r.untuned_compared ? number(r.untuned_compared->against.ratio) : nullptr;
  j["library"] = nullptr;
  for (const auto& v : r.rivals)
    j["library"] = {{"name", v.name}, {"seconds", number(v.seconds)}, {"ratio", number(v.against.ratio)}};
  j["failures"] = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < tileseek::status_count; ++i) {
    const auto s = static_cast<tileseek::status>(i);
    if (s != tileseek::status::ok && r.by_status[i] > 0) j["failures"][std::string(to_string(s))] = r.by_status[i];
  }
  j["stopped"] = to_string(r.stopped);
  j["log"] = r.log.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(r.log);
  j["notes"] = r.notes;
  return j;
}

int run(const arguments& a) {
  const auto space = tileseek::kernels::matmul_space(a.shape);
  auto strategy = tileseek::make_strategy(a.strategy, a.strategy_options);
  matmul_problem problem(a.shape, a.seed);
  const auto found =
      tileseek::tune(space, problem,
                     {.trials = a.trials,
                      .seconds = a.seconds,
                      .seed = a.seed,
                      .log = a.log.empty() ? nullptr : tileseek::log_file(a.log),
                      .task = "matmul " + std::to_string(a.shape.m) + "x" + std::to_string(a.shape.n) + "x" +
                              std::to_string(a.shape.k) + " float",
                      .flop = a.shape.flop(),
                      .rivals = rivals(problem),
                      .progress = a.quiet || a.json ? tileseek::verbosity::quiet : tileseek::verbosity::automatic},
                     std::move(strategy));
  if (a.json)
    std::cout << to_json(found) << '\n';
  else
    std::cout << found << '\n';
  return found.best ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
#ifdef TILESEEK_HAVE_OPENBLAS
  choose_openblas_kernels(argv);
#endif
  CLI::App app("Tunes a single-precision matrix product C(m x n) = A(m x k) B(k x n) on this machine.");
  app.option_defaults()->take_last();  // a script's defaults may be followed by the user's choice
  arguments a;
  read(app, a);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);  // --help
  } catch (const CLI::ParseError& e) {
    std::cerr << "tune_matmul: " << e.what() << '\n';
    return 2;
  }
  try {
    return run(a);
  } catch (const std::exception& e) {
    std::cerr << "tune_matmul: " << e.what() << '\n';
    return 2;
  }
}
