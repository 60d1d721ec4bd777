// What the record of one device is worth on another: evaluations until a search is within 10 % of the best, alone and
// informed by all that was recorded on the other device. Every ordered pair of the recordings that have the same parameters.
//
//   transfer RECORDING.csv.xz... --seeds 100 --strategy bayesian
//
// A run that does not get there counts as 1,000.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <tileseek/core/format.hpp>
#include <tileseek/core/statistics.hpp>
#include <tileseek/search/any_strategy.hpp>
#include <tileseek/search/bayesian.hpp>
#include <tileseek/search/dynamic_gradient.hpp>
#include <tileseek/search/informed.hpp>

#include "../examples/open_recording.hpp"
#include "../examples/replay_run.hpp"

namespace {

constexpr std::size_t most = 1000;

struct device {
  std::string name;
  tileseek::replay recording;
};

bool same_parameters(const tileseek::lattice& a, const tileseek::lattice& b) {
  if (a.dimensions() != b.dimensions()) return false;
  for (std::size_t d = 0; d < a.dimensions(); ++d)
    if (a.axis(d).name != b.axis(d).name) return false;
  return true;
}

std::vector<tileseek::trial> all_trials(const tileseek::replay& of) {
  std::vector<tileseek::trial> out;
  for (std::uint64_t r = 0; r < of.space().rank_end(); ++r)
    if (auto p = of.space().unrank(r)) out.push_back({*p, of(*p)});
  return out;
}

/// How many evaluations it takes, for each seed.
template <class Make>
std::vector<double> evaluations(const Make& strategy, const tileseek::replay& on, std::uint64_t first,
                                std::uint64_t seeds) {
  std::vector<double> out;
  for (std::uint64_t s = first; s < first + seeds; ++s)
    out.push_back(static_cast<double>(replay_run(strategy(), on, s, most, 1, 1.1 * on.best()).best.size()));
  return out;
}

double mean(const std::vector<double>& v) {
  double sum = 0;
  for (const double x : v) sum += x;
  return sum / static_cast<double>(v.size());
}

/// Standard error of the ratio of two means.
double error_of_ratio(const std::vector<double>& a, const std::vector<double>& b) {
  const auto relative = [](const std::vector<double>& v) {
    double sum = 0;
    for (const double x : v) sum += (x - mean(v)) * (x - mean(v));
    const auto n = static_cast<double>(v.size());
    return n > 1 ? sum / (n - 1) / n / (mean(v) * mean(v)) : 0;
  };
  return mean(a) / mean(b) * std::sqrt(relative(a) + relative(b));
}

template <class S>
void table(const std::vector<device>& devices, std::uint64_t first, std::uint64_t seeds) {
  std::cout << "| known | searched | alone, mean | informed, mean | ratio | standard error | medians | ratio |\n"
               "|---|---|---|---|---|---|---|---|\n";
  std::map<std::string, std::vector<double>> alone;
  double of_means = 0;
  double of_medians = 0;
  std::size_t pairs = 0;
  for (const auto& from : devices)
    for (const auto& to : devices) {
      if (&from == &to || !same_parameters(from.recording.space(), to.recording.space())) continue;
      auto& a = alone[to.name];
      if (a.empty()) a = evaluations([] { return S(); }, to.recording, first, seeds);
      const auto older = all_trials(from.recording);
      const auto h =
          evaluations([&] { return tileseek::informed<S>(from.recording.space(), older); }, to.recording, first, seeds);
      const double medians = tileseek::median(h) / tileseek::median(a);
      ++pairs;
      of_means += std::log(mean(h) / mean(a));
      of_medians += std::log(medians);
      std::cout << "| " << from.name << " | " << to.name << " | " << tileseek::fixed(mean(a), 1) << " | "
                << tileseek::fixed(mean(h), 1) << " | " << tileseek::fixed(mean(h) / mean(a), 2) << " | "
                << tileseek::fixed(error_of_ratio(h, a), 2) << " | " << tileseek::fixed(tileseek::median(a), 1)
                << " to " << tileseek::fixed(tileseek::median(h), 1) << " | " << tileseek::fixed(medians, 2) << " |\n"
                << std::flush;
    }
  if (pairs == 0) throw std::invalid_argument("no two of these recordings have the same parameters");
  const auto geometric = [&](double sum) { return tileseek::fixed(std::exp(sum / static_cast<double>(pairs)), 2); };
  std::cout << "| geometric mean | | | | " << geometric(of_means) << " | | | " << geometric(of_medians) << " |\n";
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> files;
  std::string strategy = "bayesian";
  std::uint64_t seeds = 100;
  std::uint64_t first = 1;
  CLI::App app("What the record of one device is worth on another.");
  app.add_option("recordings", files, "files of recorded spaces")->required();
  app.add_option("--strategy", strategy, "bayesian or dynamic_gradient")
      ->check(CLI::IsMember({"bayesian", "dynamic_gradient"}))
      ->capture_default_str();
  app.add_option("--seeds", seeds, "runs of each")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--first-seed", first, "the seeds are this one and those after it")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    std::vector<device> devices;
    for (const auto& f : files) devices.push_back({recording_name(f), open_recording(f)});
    if (strategy == "bayesian")
      table<tileseek::bayesian>(devices, first, seeds);
    else
      table<tileseek::dynamic_gradient<>>(devices, first, seeds);
    return 0;
  } catch (const std::exception& e) {
    std::cerr << "transfer: " << e.what() << '\n';
    return 2;
  }
}
