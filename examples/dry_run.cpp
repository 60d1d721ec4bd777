// Ranks configurations of a GPU kernel on a machine without a GPU. A strategy searches a static model, which costs
// microseconds a configuration; the best are compiled by NVRTC, which says what registers they take; the model then
// ranks those that keep to the registers.
#ifdef TILESEEK_HAVE_CUDA
#include <tileseek/measure/cuda.hpp>
#endif
#include "on_device.hpp"

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <iostream>
#include <limits>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

namespace gpu = tileseek::kernels::gpu;
using tileseek::detail::concat;

/// @throws std::invalid_argument  there is none of this name
int architecture_of(const std::string& name) {
  for (const int a : gpu::architectures)
    if (name == concat({"sm_", a})) return a;
  throw std::invalid_argument("--arch: there is no " + name + "; there are " + gpu::architecture_names());
}

#ifdef TILESEEK_HAVE_CUDA
using tileseek::fixed;

/// A configuration that compiled.
template <class Config>
struct ranked {
  Config configuration;
  tileseek::cuda_usage used;  ///< shared_bytes with those that the launch asks for
  gpu::analysis of;
  double gflops;
  double load;
};

struct ranking {
  const tuner_options& o;
  const device_problem& problem;
  gpu::multiprocessors on;
  int architecture;
  std::string task;
  double flop;
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();

  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  }
  template <class Config>
  [[nodiscard]] gpu::analysis analyse(const Config& c, int registers = 0) const {
    return problem.analyse(static_cast<gpu::tiling>(c), on, registers);
  }

  /// The best configurations of the model.
  template <class Config>
  [[nodiscard]] std::vector<Config> search(const tileseek::space<Config>& space, tileseek::any_strategy strategy,
                                           std::size_t& evaluated) const {
    tileseek::session<Config> run(space, std::move(strategy),
                                  {.trials = std::max<std::size_t>(20000, 100 * o.trials),
                                   .seconds = o.seconds / 2,
                                   .seed = o.seed,
                                   .progress = tileseek::verbosity::quiet});
    while (const auto batch = run.ask(64)) {
      std::vector<tileseek::measurement> told;
      for (const auto& c : *batch) {
        const auto a = analyse(c);
        const double share = gpu::attainable(a, on);
        // A hundredth of the load decides between what the model holds to be equally fast.
        if (share > 0)
          told.push_back({tileseek::status::ok, {flop / (share * on.flops()) * (1 + 0.01 * gpu::load(a, on))}, {}});
        else
          told.push_back(tileseek::failure(tileseek::status::launch_failed, "no multiprocessor holds a block"));
      }
      run.tell(told);
    }
    evaluated = run.history().size();
    std::vector<Config> out;
    for (const auto& t : run.best(o.trials, std::numeric_limits<double>::infinity())) out.push_back(space.at(t.at));
    return out;
  }

  template <class Config>
  int rank(const tileseek::space<Config>& space, const tileseek::device_kernel<Config>& kernel,
           tileseek::any_strategy strategy) const {
    const tileseek::interrupt_guard guard;
    std::size_t evaluated = 0;
    auto candidates = search(space, std::move(strategy), evaluated);
    const auto untuned = space.default_configuration();
    std::erase(candidates, untuned);
    candidates.insert(candidates.begin(), untuned);
    std::vector<ranked<Config>> all;
    std::map<std::string, std::size_t> rejected;
    std::string complaint;  // of the first that did not compile
    std::size_t compiled = 0;
    const std::size_t chunk = 8 * std::max(1U, std::thread::hardware_concurrency());
    while (compiled < candidates.size() && (compiled == 0 || (!guard.interrupted() && seconds() < o.seconds))) {
      const auto some =
          std::span<const Config>(candidates).subspan(compiled, std::min(chunk, candidates.size() - compiled));
      const auto reports = tileseek::compile_cuda(space, kernel, architecture, some);
      for (std::size_t i = 0; i < some.size(); ++i) {
        auto used = reports[i].usage;
        used.shared_bytes += kernel.geometry(some[i]).shared_bytes;
        if (reports[i].outcome != tileseek::status::ok) {
          ++rejected[std::string(to_string(reports[i].outcome))];
          if (complaint.empty()) complaint = reports[i].note;
          continue;
        }
        const auto a = analyse(some[i], static_cast<int>(used.registers));
        if (used.spilled > 0)
          ++rejected["registers spilled"];
        else if (a.occupancy == 0)
          ++rejected["no multiprocessor holds a block"];
        else
          all.push_back({some[i], used, a, gpu::attainable(a, on) * on.flops() / 1e9, gpu::load(a, on)});
      }
      compiled += some.size();
      if (!o.quiet && !o.json) std::cerr << "compiled " << compiled << " of " << candidates.size() << '\n';
    }
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
      return a.gflops != b.gflops ? a.gflops > b.gflops : a.load < b.load;
    });
    const auto at = std::find_if(all.begin(), all.end(), [&](const auto& r) { return r.configuration == untuned; });
    if (o.json) {
      nlohmann::ordered_json j{{"task", task},
                               {"architecture", o.arch},
                               {"multiprocessors", on.count},
                               {"clock_hz", on.clock},
                               {"peak_gflops", on.flops() / 1e9},
                               {"space_size", space.approximate_size()},
                               {"evaluated", evaluated},
                               {"compiled", compiled},
                               {"rejected", rejected},
                               {"ranked", nlohmann::ordered_json::array()}};
      for (const auto& r : all) j["ranked"].push_back(json_of(space, r));
      j["best"] = all.empty() ? nlohmann::ordered_json(nullptr) : j["ranked"][0]["configuration"];
      j["untuned"] = at == all.end() ? nlohmann::ordered_json(nullptr) : json_of(space, *at);
      std::cout << j << '\n';
    } else {
      std::cout << concat({task, " for ", o.arch, ": ", on.count, " multiprocessors at ", fixed(on.clock / 1e6, 0),
                           " MHz, ", fixed(on.flops() / 1e9, 0), " GFLOP/s\n", tileseek::show_count(evaluated),
                           " configurations by the model, ", tileseek::show_count(compiled), " compiled in ",
                           tileseek::show_clock(seconds())});
      for (const auto& [why, count] : rejected) std::cout << concat({", ", count, " rejected: ", why});
      std::cout << "\n\n";
      table(space, std::span<const ranked<Config>>(all).subspan(0, std::min<std::size_t>(all.size(), 20)));
      if (all.size() > 20) std::cout << concat({"and ", all.size() - 20, " more; --json prints all\n"});
      if (at != all.end()) {
        std::cout << "\nuntuned\n";
        table(space, std::span<const ranked<Config>>(&*at, 1));
      }
      if (!all.empty()) std::cout << "\nbest: " << space.describe(all.front().configuration) << '\n';
    }
    if (!complaint.empty() && !o.quiet) std::cerr << "the first failure: " << complaint << '\n';
    return all.empty() ? 1 : 0;
  }

  template <class Config>
  [[nodiscard]] static nlohmann::ordered_json json_of(const tileseek::space<Config>& space, const ranked<Config>& r) {
    return {{"configuration", tileseek::detail::to_json(space.named_values_of(r.configuration))},
            {"gflops", r.gflops},
            {"registers", r.used.registers},
            {"spilled_bytes", r.used.spilled},
            {"shared_bytes", r.used.shared_bytes},
            {"occupancy", r.of.occupancy},
            {"wave_efficiency", r.of.wave_efficiency},
            {"useful", r.of.useful},
            {"issued", r.of.issued},
            {"fed", r.of.fed},
            {"register_reuse", r.of.register_reuse},
            {"global_intensity", r.of.global_intensity},
            {"shared_intensity", r.of.shared_intensity}};
  }

  template <class Config>
  static void table(const tileseek::space<Config>& space, std::span<const ranked<Config>> rows) {
    const auto line = [](std::initializer_list<std::string> cells) {
      for (const auto& c : cells) std::cout << std::string(c.size() < 10 ? 10 - c.size() : 0, ' ') << c << ' ';
    };
    line({"GFLOP/s <=", "registers", "spilled", "shared", "occupancy", "waves", "useful", "issued", "fed", "FMA/number",
          "FMA/byte", "FMA/wave"});
    std::cout << "configuration\n";
    for (const auto& r : rows) {
      line({fixed(r.gflops, 0), std::to_string(r.used.registers), std::to_string(r.used.spilled),
            std::to_string(r.used.shared_bytes), fixed(r.of.occupancy, 2), fixed(r.of.wave_efficiency, 2),
            fixed(r.of.useful, 2), fixed(r.of.issued, 2), fixed(r.of.fed, 2), fixed(r.of.register_reuse, 1),
            fixed(r.of.global_intensity, 1), fixed(r.of.shared_intensity, 0)});
      std::cout << space.describe(r.configuration) << '\n';
    }
  }
};

#endif

}  // namespace

int dry_run([[maybe_unused]] const tuner_options& o, [[maybe_unused]] const device_problem& problem,
            [[maybe_unused]] const std::string& task, [[maybe_unused]] double flop,
            [[maybe_unused]] tileseek::any_strategy strategy) {
  [[maybe_unused]] const int architecture = architecture_of(o.arch);
#ifdef TILESEEK_HAVE_CUDA
  const ranking r{o, problem, gpu::multiprocessors_of(architecture), architecture, task, flop};
  const auto limits = gpu::limits_of_architecture(architecture);
  if (o.view == "paper")
    return r.rank(problem.tile_sizes_space(limits, r.on), gpu::by_tile_sizes(problem.kernel(limits)),
                  std::move(strategy));
  return r.rank(problem.space(limits), problem.kernel(limits), std::move(strategy));
#else
  throw std::invalid_argument("--dry-run: this was built without NVRTC; install the CUDA toolkit and build it again");
#endif
}
