// All strategies by name: compiled once for all examples, since it takes a while.
#include "tuner.hpp"
#include <tileseek/search/registry.hpp>

#include <string>
#include <vector>

namespace {
/// Those that were there when this was built.
std::vector<std::string> backends() {
  std::vector<std::string> out{"cpu"};
#ifdef TILESEEK_HAVE_OPENCL
  out.push_back("opencl");
#endif
#ifdef TILESEEK_HAVE_CUDA
  out.push_back("cuda");
#endif
  return out;
}

}  // namespace

void read(CLI::App& app, tuner_options& o) {
  app.add_option("--backend", o.backend, "where it runs")->check(CLI::IsMember(backends()))->capture_default_str();
  app.add_option("--threads", o.threads, "that a kernel uses")->check(CLI::Range(1, 1024))->capture_default_str();
  std::string names;
  for (const auto& s : tileseek::strategies())
    names += (names.empty() ? "how it searches: " : ", ") + std::string(s.name);
  app.add_option("--strategy", o.strategy, names)->capture_default_str();
  app.add_option("--option", o.strategy_options, "key=value of the strategy; may be repeated")->take_all();
  app.add_option("--trials", o.trials, "configurations to measure at most")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 40))
      ->capture_default_str();
  app.add_option("--seconds", o.seconds, "tuning time at most")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--seed", o.seed, "of all random choices")->capture_default_str();
  app.add_option("--log", o.log, "file to keep results in and to resume from");
  app.add_flag("--json", o.json, "print one JSON object");
  app.add_flag("--quiet", o.quiet, "no progress");
}

tileseek::any_strategy strategy_of(const tuner_options& o) {
  return tileseek::make_strategy(o.strategy, o.strategy_options);
}
