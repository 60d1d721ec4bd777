// Tunes the bundled single-precision matrix product on this machine and compares the winner with OpenBLAS, if it is
// there.
#include <tileseek/kernels/gpu/matmul.hpp>
#include "on_device.hpp"
#include "tuner.hpp"

#include <string>
#include <vector>

namespace {

using tileseek::kernels::matmul_problem;
using tileseek::kernels::matmul_shape;

struct arguments {
  matmul_shape shape{1024, 1024, 1024};
  tuner_options tuner;
};

void read(CLI::App& app, arguments& a) {
  const auto size = [&app](const char* option, int& to, const char* what) {
    app.add_option(option, to, what)->check(CLI::Range(1, 65536))->capture_default_str();
  };
  size("--m", a.shape.m, "rows of A and C");
  size("--n", a.shape.n, "columns of B and C");
  size("--k", a.shape.k, "columns of A, rows of B");
  size("--batch", a.shape.batch, "products of this shape in one call");
  read(app, a.tuner);
}

/// What a user would take instead.
std::vector<tileseek::rival> rivals([[maybe_unused]] matmul_problem& problem, [[maybe_unused]] int threads) {
#ifdef TILESEEK_HAVE_OPENBLAS
  const openblas_matmul product(threads);
  const auto measure = [&problem, product](const tileseek::timing_limits& limits) {
    return problem.check_and_time(
        [&](float* c) { product(problem.shape(), problem.a().data(), problem.b().data(), c); }, limits);
  };
  return {{product.name(), measure}};
#else
  return {};
#endif
}

int run(const arguments& a) {
  const auto& s = a.shape;
  const std::string batch = s.batch == 1 ? "" : std::to_string(s.batch) + " x ";
  const std::string task =
      "matmul " + batch + std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k) + " float";
  using namespace tileseek::kernels;
  if (for_gpu(a.tuner))
    return run_on_device(a.tuner,
                         device_problem_of(
                             s, [](const auto&... of) { return gpu::matmul_space(of...); },
                             [](const auto&... of) { return gpu::matmul_kernel(of...); }),
                         task, s.flop(), chosen_strategy(a.tuner));
  matmul_problem problem(s, a.tuner.seed, a.tuner.threads);
  return run(a.tuner, matmul_space(s), problem, task, s.flop(), chosen_strategy(a.tuner),
             rivals(problem, a.tuner.threads));
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
  return tuner_main("tune_matmul", app, argc, argv, [&a] { return run(a); });
}
