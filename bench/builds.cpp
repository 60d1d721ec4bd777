// How much faster compiled() builds a batch on all cores than one configuration after another, and whether the times
// that are taken afterwards are any different. Rounds of both alternate in random order; ratios of the same round are
// compared. Run it on a machine that does nothing else.
#include <tileseek/core/rng.hpp>
#include <tileseek/core/statistics.hpp>
#include <tileseek/measure/compiled.hpp>
#include <tileseek/measure/contest.hpp>

#include <chrono>
#include <cstddef>
#include <iostream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace {

struct tiles {
  int BI = 32, BJ = 32, BK = 32;
};

constexpr int n = 256;
constexpr std::size_t rounds = 11;

tileseek::compilation matmul(const std::string& file, std::size_t jobs) {
  const auto matrix = tileseek::input<float>(n * n);
  return {.source = file,
          .function = "matmul",
          .arguments = {matrix, matrix, tileseek::output<float>(n * n), tileseek::scalar(n)},
          .jobs = jobs};
}

void report(const char* what, const tileseek::contest_record& r, const char* one, const char* other) {
  const auto c = r.compare(1, 0);
  std::cout << what << ": " << one << ' ' << tileseek::show_seconds(r.median_of(0)) << ", " << other << ' '
            << tileseek::show_seconds(r.median_of(1)) << ", ratio " << tileseek::fixed(c.ratio, 3) << " ["
            << tileseek::fixed(c.range.low, 3) << ", " << tileseek::fixed(c.range.high, 3) << "]\n";
}

}  // namespace

int main(int argc, char** argv) {
  const std::string file = argc > 1 ? argv[1] : "../examples/matmul.c";
  const auto p = tileseek::powers_of_two(1, n);
  const auto space =
      tileseek::space<tiles>{}.add("BI", &tiles::BI, p).add("BJ", &tiles::BJ, p).add("BK", &tiles::BK, p);
  tileseek::rng random(1);
  std::vector<tiles> batch;
  for (int i = 0; i < 24; ++i) batch.push_back(space.at(space.lattice().sample(random)));
  const std::size_t cores = std::thread::hardware_concurrency();
  const auto always = [](std::size_t) { return true; };

  // Each round starts with an empty folder.
  const auto builds = tileseek::contest(
      2, rounds, random,
      [&](std::size_t i) -> tileseek::measurement {
        const std::size_t jobs = i == 0 ? 1 : cores;
        const auto untuned = space.named_values_of(space.default_configuration());
        const tileseek::detail::kernel_source kernel(matmul(file, jobs), untuned);
        auto build = tileseek::pipeline(
            space, [&](const tiles& t) { return kernel.build(space.named_values_of(t)); },
            [](const tiles&) { return 1.0; }, {.jobs = jobs});
        const auto start = std::chrono::steady_clock::now();
        for (const auto& m : build.measure(batch))
          if (!m.valid()) return m;
        return {tileseek::status::ok,
                {std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()},
                {}};
      },
      always);
  report(("24 builds, " + std::to_string(cores) + " at once").c_str(), builds, "one by one", "together");

  // The time of one configuration, measured behind a batch that was built either way.
  const std::vector<tiles> few{{32, 32, 32}, {1, 256, 16}, {8, 128, 8}, {64, 64, 64}};
  const auto times = tileseek::contest(
      3, rounds, random,
      [&](std::size_t i) { return tileseek::compiled(space, matmul(file, i == 1 ? cores : 1)).measure(few).front(); },
      always);
  report("time of a kernel afterwards", times, "built one by one", "together");
  tileseek::contest_record noise;
  noise.seconds = {times.seconds[0], times.seconds[2]};
  report("the machine's own noise", noise, "built one by one", "one by one");
}
