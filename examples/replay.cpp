// Runs a strategy on a recorded search space, once a seed, and prints how fast it found what.
//
//   replay --space gemm_rtx_3090.csv.xz --strategy bayesian --trials 100 --seeds 10
//   replay --space gemm.csv --strategy dynamic_gradient --option form=published --option n_start=3 --batch 8
//   replay --list
//
// One JSON object a line: the best time in milliseconds after each evaluation (null before the first that ran), and the
// time the search itself took.

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include <tileseek/search/registry.hpp>

#include "open_recording.hpp"
#include "replay_run.hpp"

namespace {

constexpr int usage_error = 2;

/// 15 digits, so that a recorded time prints as it was recorded; JSON has no infinity.
std::string number(double value) {
  if (!std::isfinite(value)) return "null";
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::general, 15).ptr;
  return {text, end};
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      out += escape;
    } else {
      out += c;
    }
  }
  return out + '"';
}

void list() {
  for (const auto& s : tileseek::strategies()) {
    std::cout << s.name << ": " << s.summary << '\n';
    for (const auto& o : s.options)
      std::cout << "  " << o.name << '=' << o.fallback << "  (" << o.values << ")  " << o.help << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string space;
  std::string strategy;
  std::vector<std::string> options;
  std::size_t trials = 100;
  std::size_t seeds = 1;
  std::uint64_t first_seed = 1;
  std::size_t batch = 1;
  bool show_list = false;

  CLI::App app("Runs a strategy on a recorded search space; one line of JSON a seed.");
  app.add_option("--space", space, "the recording: FILE.csv or FILE.csv.xz");
  app.add_option("--strategy", strategy, "its name; see --list");
  app.add_option("--option", options, "key=value; may be repeated; see --list")->allow_extra_args(false);
  const CLI::Range some(std::size_t{1}, std::size_t{100'000'000});
  app.add_option("--trials", trials, "evaluations a seed")->check(some)->capture_default_str();
  app.add_option("--seeds", seeds, "number of seeds")->check(some)->capture_default_str();
  app.add_option("--first-seed", first_seed, "the first of them; the others follow")->capture_default_str();
  app.add_option("--batch", batch, "configurations asked at a time")->check(some)->capture_default_str();
  app.add_flag("--list", show_list, "print the strategies and their options");

  try {
    app.parse(argc, argv);
    if (show_list) {
      list();
      return 0;
    }
    if (space.empty()) throw std::invalid_argument("--space is missing: give the recording, FILE.csv or FILE.csv.xz");
    if (strategy.empty()) throw std::invalid_argument("--strategy is missing: give a name; see --list");
    (void)tileseek::make_strategy(strategy, options);
    const tileseek::replay recording = open_recording(space);
    for (std::size_t s = 0; s < seeds; ++s) {
      const std::uint64_t seed = first_seed + s;
      const replayed run = replay_run(tileseek::make_strategy(strategy, options), recording, seed, trials, batch);
      std::string line = "{\"space\": " + json_string(recording_name(space)) +
                         ", \"strategy\": " + json_string(strategy) + ", \"seed\": " + std::to_string(seed) +
                         ", \"batch\": " + std::to_string(batch) + ", \"best_ms\": [";
      for (std::size_t i = 0; i < run.best.size(); ++i) line += (i == 0 ? "" : ", ") + number(run.best[i] * 1000);
      line += "], \"search_seconds\": " + number(run.search_seconds) + "}\n";
      std::cout << line << std::flush;
    }
    return 0;
  } catch (const CLI::CallForHelp& e) {
    return app.exit(e);
  } catch (const std::exception& e) {  // CLI::ParseError is one
    std::cerr << "replay: " << e.what() << '\n';
    return usage_error;
  }
}
