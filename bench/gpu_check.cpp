// All that is to be known of the GPU kernels on one GPU, in one go and in a few minutes: are they right, does a run survive
// hostile ones, how fast does each strategy find a fast one, and how fast is that next to cuBLAS and cuDNN?
//
//   sh bench/gpu_check.sh        builds this with a compiler and the CUDA Toolkit alone, and runs it: see docs/kernels.md
//
// Results are printed as they come; the JSON file is written anew after each part, so that a run that is stopped leaves what
// it has.

#ifdef TILESEEK_HAVE_CUDA
#include <tileseek/measure/cuda.hpp>
#endif
#ifdef TILESEEK_HAVE_OPENCL
#include <tileseek/measure/opencl.hpp>
#endif
#if __has_include(<Eigen/Core>)
#define TILESEEK_HAVE_EIGEN
#include <tileseek/model/level_ridge.hpp>
#include <tileseek/search/dynamic_gradient.hpp>
#endif
#include <tileseek/core.hpp>
#include <tileseek/kernels/gpu/analytic.hpp>
#include <tileseek/kernels/gpu/conv2d.hpp>
#include <tileseek/kernels/gpu/matmul.hpp>
#include <tileseek/kernels/gpu/tensor_matmul.hpp>
#include <tileseek/kernels/shapes.hpp>
#include <tileseek/measure/isolated.hpp>
#include "gpu_libraries.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <iostream>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace tileseek::kernels;
using gpu::tiling;
using tileseek::detail::concat;

constexpr double infinite = std::numeric_limits<double>::infinity();

struct arguments {
  std::string backend = "cuda";
  double seconds = 240;
  std::size_t configurations = 0;  ///< of each kernel that are checked; 0: 200, or 4 in a rehearsal
  std::string only;                ///< tunes shapes with this in their names
  std::string json;
  std::uint64_t seed = 0;
};

/// What has passed of the run's time.
class budget {
 public:
  explicit budget(double seconds) : seconds_(seconds) {}
  [[nodiscard]] double spent() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  }
  [[nodiscard]] double left() const { return tileseek::interrupt_guard::interrupted() ? 0 : seconds_ - spent(); }

 private:
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  double seconds_;
};

// JSON, of which a bare machine has no library.

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20)
      out += concat({"\\u00", static_cast<unsigned char>(c) < 0x10 ? "0" : "1",
                     std::string_view("0123456789abcdef").substr(static_cast<unsigned char>(c) % 16, 1)});
    else
      out += c;
  }
  return out += '"';
}
std::string number(double x) { return std::isfinite(x) ? tileseek::shortest(x) : "null"; }
std::string list(const std::vector<std::string>& items) {
  std::string out;
  for (const auto& item : items) tileseek::detail::append(out, {out.empty() ? "" : ",\n  ", item});
  return "[" + out + "]";
}
std::string object(const std::vector<std::pair<std::string_view, std::string>>& members) {
  std::string out;
  for (const auto& [name, member] : members)
    tileseek::detail::append(out, {out.empty() ? "" : ", ", json_text(name), ": ", member});
  return "{" + out + "}";
}

void say(const std::string& line) { std::cout << line << std::endl; }  // at once: the run may be stopped

/// What is known so far. Members are JSON.
struct report {
  std::string file;
  std::vector<std::pair<std::string_view, std::string>> about;
  std::vector<std::string> clocks, checks, hostile, tuning, left_out;
  bool passed = true;
  bool complete = true;  ///< the time was enough for all parts so far

  void write(const budget& time, bool finished) const {
    if (file.empty()) return;
    auto all = about;
    all.insert(all.end(), {{"seconds", number(time.spent())},
                           {"complete", finished && complete ? "true" : "false"},
                           {"passed", passed ? "true" : "false"},
                           {"clocks", list(clocks)},
                           {"checks", list(checks)},
                           {"hostile", list(hostile)},
                           {"tuning", list(tuning)},
                           {"left_out", list(left_out)}});
    // Renamed into place: whoever reads it never sees half of it.
    const std::string unfinished = file + ".part";
    std::ofstream out(unfinished);
    out << object(all) << '\n';
    out.close();
    if (out && std::rename(unfinished.c_str(), file.c_str()) == 0) return;
    std::remove(unfinished.c_str());
    throw std::runtime_error("--json: '" + file + "' can't be written");
  }
  void leave_out(const std::string& what) {
    say("left out: " + what);
    left_out.push_back(json_text(what));
  }
  /// What the GPU runs at: sampled when it has just worked, or it has slowed down.
  void note_clocks(const budget& time) {
    for (const char* const why : {"clocks_event_reasons.active", "clocks_throttle_reasons.active"}) {  // newer, older
      std::FILE* const from = ::popen(concat({"nvidia-smi --query-gpu=clocks.sm,clocks.mem,temperature.gpu,power.draw,",
                                              why, " --format=csv,noheader 2>/dev/null"})
                                          .c_str(),
                                      "r");
      if (from == nullptr) return;
      std::array<char, 256> line{};
      const bool got = std::fgets(line.data(), line.size(), from) != nullptr;
      if (::pclose(from) != 0 || !got) continue;
      std::string text = line.data();
      while (!text.empty() && text.back() == '\n') text.pop_back();
      say(concat({"clocks: ", text, " (SM, memory, temperature, power, why throttled)"}));
      clocks.push_back(object({{"at", number(time.spent())}, {"nvidia_smi", json_text(text)}}));
      return;
    }
  }
};

/// One type for all measurers: each would compile the whole tuner once more.
template <class Config>
struct measurer {
  std::function<std::vector<tileseek::measurement>(std::span<const Config>, const tileseek::measuring&)> call;
  std::size_t batch = 1;

  std::vector<tileseek::measurement> measure(std::span<const Config> all, const tileseek::measuring& how) {
    return call(all, how);
  }
  [[nodiscard]] std::size_t batch_size() const { return batch; }
};

/// The device that all runs on.
struct target {
  std::string backend;
  tileseek::device_limits device;
  gpu::block_limits limits;
  gpu::multiprocessors processors;
  bool rehearsal;  ///< on OpenCL, which may be a CPU: small shapes, short kernels

  explicit target(std::string name) : backend(std::move(name)), rehearsal(backend != "cuda") {
    find();
    limits = gpu::limits_of(device);
    processors.count = static_cast<int>(device.processors);
    if (rehearsal) {
      limits.threads = std::min(limits.threads, 128);
      limits.thread_registers = 80;
      return;
    }
    try {
      processors = gpu::multiprocessors_of(device.architecture, processors.count);
    } catch (const std::invalid_argument& e) {
      say(concat({e.what(), "; features are those of an H100 with ", processors.count, " multiprocessors"}));
    }
  }

  /// @throws std::runtime_error  there is no such device
  void find() {
#ifdef TILESEEK_HAVE_CUDA
    if (backend == "cuda") device = tileseek::cuda_device();
#endif
#ifdef TILESEEK_HAVE_OPENCL
    if (backend == "opencl") device = tileseek::opencl_device();
#endif
    if (device.all_threads == 0) throw std::invalid_argument("--backend: there is no " + backend + " in this program");
  }

  template <class Config>
  [[nodiscard]] measurer<Config> measure(const tileseek::space<Config>& space,
                                         tileseek::device_kernel<Config> kernel) const {
    if (rehearsal) kernel.flags = {"-cl-opt-disable"};  // PoCL compiles ten times as fast
    [[maybe_unused]] const auto erased = [](auto make) {
      const std::shared_ptr<decltype(make())> held(new auto(make()));
      return measurer<Config>{
          [held](std::span<const Config> all, const tileseek::measuring& how) { return held->measure(all, how); },
          held->batch_size()};
    };
#ifdef TILESEEK_HAVE_OPENCL
    if (backend == "opencl") return erased([&] { return tileseek::opencl(space, kernel); });
#endif
#ifdef TILESEEK_HAVE_CUDA
    if (backend == "cuda") return erased([&] { return tileseek::cuda(space, kernel); });
#endif
    throw std::invalid_argument("--backend: there is no " + backend);
  }
};

/// So many configurations of a kernel, the default among them, against its reference.
template <class Config>
void check_kernel(const target& on, const arguments& o, const budget& time, double until, report& to,
                  const std::string& name, const tileseek::space<Config>& space,
                  tileseek::device_kernel<Config> kernel) {
  kernel.state = tileseek::caches::warm;
  kernel.limits = {.most_seconds = 20, .build_seconds = 20, .quiet = true};
  tileseek::rng random(o.seed);
  std::vector<Config> all{space.default_configuration()};
  while (all.size() < o.configurations) all.push_back(space.sample(random));
  std::array<std::size_t, tileseek::status_count> counts{};
  std::size_t right = 0, done = 0;
  std::string first;
  tileseek::measuring how;
  how.limits.min_samples = how.limits.max_samples = 1;
  how.limits.incumbent = infinite;
  how.stop = [&] { return time.left() <= 0 || time.spent() > until; };
  how.finished = [&](std::size_t i, const tileseek::measurement& m) {
    ++done;
    ++counts[static_cast<std::size_t>(m.outcome)];
    if (m.outcome == tileseek::status::ok || m.outcome == tileseek::status::rejected_early)
      ++right;
    else if (first.empty())
      first = concat({space.describe(all[i]), ": ", to_string(m.outcome), ", ", m.note.substr(0, 300)});
  };
  const double began = time.spent();
  static_cast<void>(on.measure(space, std::move(kernel)).measure(all, how));
  std::vector<std::pair<std::string_view, std::string>> by_status;
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] > 0) by_status.emplace_back(to_string(static_cast<tileseek::status>(i)), std::to_string(counts[i]));
  say(concat({"check: ", name, ": ", right, " of ", done, " configurations are right, in ",
              tileseek::show_seconds(time.spent() - began), done < all.size() ? "; then the time was up" : "",
              first.empty() ? "" : "\n  first failure: ", first}));
  to.passed = to.passed && right == done;
  to.complete = to.complete && done == all.size();
  to.checks.push_back(object({{"kernel", json_text(name)},
                              {"wanted", std::to_string(all.size())},
                              {"measured", std::to_string(done)},
                              {"right", std::to_string(right)},
                              {"by_status", object(by_status)},
                              {"first_failure", first.empty() ? "null" : json_text(first)},
                              {"seconds", number(time.spent() - began)}}));
}

void check_kernels(const target& on, arguments o, const budget& time, report& to) {
  // Shapes that leave something over in every direction, and even ones; half of the configurations for each.
  o.configurations = (o.configurations + 1) / 2;
  double until = time.spent();
  const auto part = [&] { return until += o.seconds / 30; };  // at most a quarter of the time for eight parts
  for (const auto type : {gpu::element::fp32, gpu::element::fp16})
    for (const auto& s :
         {matmul_shape{.m = 129, .n = 65, .k = 77, .batch = 2}, matmul_shape{.m = 96, .n = 128, .k = 64}})
      check_kernel(on, o, time, part(), to,
                   concat({"matmul ", to_string(type), ", ", s.batch, " x ", s.m, " x ", s.n, " x ", s.k}),
                   gpu::matmul_space(s, type, on.limits), gpu::matmul_kernel(s, type, on.limits));
  for (const auto& s : {conv2d_shape{.batch = 2,
                       .height = 19,
                       .width = 14,
                       .channels_in = 12,
                       .channels_out = 40,
                       .kernel_h = 3,
                       .kernel_w = 3,
                       .stride_h = 2,
                       .stride_w = 1,
                       .padding_h = 1,
                       .padding_w = 1,
                       .groups = 2},
                        conv2d_shape{.height = 14,
                        .width = 14,
                        .channels_in = 16,
                        .channels_out = 32,
                        .kernel_h = 3,
                        .kernel_w = 3,
                        .padding_h = 1,
                        .padding_w = 1,
                        .layout = conv2d_layout::nchw}})
    check_kernel(on, o, time, part(), to,
                 concat({"conv2d fp32, ", s.batch, " x ", s.height, " x ", s.width, " x ", s.channels_in, " to ",
                         s.channels_out, s.layout == conv2d_layout::nhwc ? ", NHWC" : ", NCHW"}),
                 gpu::conv2d_space(s, gpu::element::fp32, on.limits),
                 gpu::conv2d_kernel(s, gpu::element::fp32, on.limits));
  if (on.rehearsal) return to.leave_out("tensor_matmul, which needs an NVIDIA GPU's tensor cores");
  for (const auto& s :
       {matmul_shape{.m = 129, .n = 72, .k = 88, .batch = 2}, matmul_shape{.m = 128, .n = 128, .k = 64}})
    check_kernel(on, o, time, part(), to, concat({"tensor_matmul fp16, ", s.batch, " x ", s.m, " x ", s.n, " x ", s.k}),
                 gpu::tensor_matmul_space(s, on.limits), gpu::tensor_matmul_kernel(s, on.limits));
}

/// A kernel that does what its deed says, with so much shared memory.
struct hostile {
  int deed = 0;
  int floats = 64;  ///< declared
  int dynamic = 0;  ///< bytes asked for at the launch
};

constexpr const char* hostile_text = R"(
KERNEL(hostile, 64)(GLOBAL const float* RESTRICT x, GLOBAL float* RESTRICT y) {
  SHARED(float, much, floats);
  much[(THREAD + 1) % 64] = x[THREAD];
  BARRIER();
  y[THREAD] = much[THREAD];
  if (deed == 1)
    for (volatile int forever = 1; forever;) {}
  if (deed == 2) *(GLOBAL volatile int*)8 = 1;
}
)";

/// Each hostile kernel between good ones: it must get its status, and they must not suffer.
void check_hostile(const target& on, const budget& time, report& to) {
  using tileseek::status;
  // More than the device has, asked for in such a way that the device refuses it, and nobody before.
  const int most = static_cast<int>(on.device.shared_bytes);
  const hostile too_much = on.rehearsal ? hostile{0, most / 4 + 1024, 0} : hostile{0, 1024, most};
  struct deed {
    hostile what;
    const char* name;
    std::vector<status> expected;
  };
  // A fault is the driver's to report on a GPU, and kills the process on a CPU. Too much shared memory may be found out by the
  // compiler.
  const std::vector<deed> deeds{
      {{0, 64, 0}, "a good one", {status::ok}},
      {{1, 64, 0}, "never ends", {status::timed_out}},
      {{0, 65, 0}, "a good one after it", {status::ok}},
      {{2, 64, 0}, "faults", {status::run_failed, status::crashed}},
      {{0, 66, 0}, "a good one after it", {status::ok}},
      {too_much, "asks for too much shared memory", {status::launch_failed, status::build_failed}},
      {{0, 67, 0}, "a good one after it", {status::ok}},
  };
  const auto space = tileseek::space<hostile>{}
                         .add("deed", &hostile::deed, tileseek::range(0, 2))
                         .add("floats", &hostile::floats, {64, 65, 66, 67, too_much.floats})
                         .add("dynamic", &hostile::dynamic, tileseek::range(0, most));
  tileseek::device_kernel<hostile> kernel;
  kernel.source = concat({gpu::prelude, hostile_text});
  kernel.function = "hostile";
  kernel.geometry = [](const hostile& h) { return tileseek::launch{{1}, {64}, static_cast<std::size_t>(h.dynamic)}; };
  kernel.arguments = {tileseek::input<float>(64), tileseek::output<float>(64)};
  kernel.truth = +[](const float* x, float* y) {
    for (int i = 0; i < 64; ++i) y[(i + 1) % 64] = x[i];
  };
  kernel.limits = {
      .most_seconds = 10, .build_seconds = 10, .quiet = true};  // with the time that it takes to open a GPU
  std::vector<hostile> all;
  for (const auto& d : deeds) all.push_back(d.what);
  std::size_t told = 0;
  tileseek::measuring how;
  how.limits.reject_above = infinite;
  how.stop = [&time] { return time.left() <= 0; };
  how.finished = [&](std::size_t i, const tileseek::measurement& m) {
    ++told;
    const auto& d = deeds[i];
    const bool as_expected = std::find(d.expected.begin(), d.expected.end(), m.outcome) != d.expected.end();
    to.passed = to.passed && as_expected;
    say(concat({"hostile: ", d.name, ": ", to_string(m.outcome), as_expected ? "" : " (NOT AS EXPECTED)",
                m.note.empty() ? "" : "; ", m.note.substr(0, 160)}));
    to.hostile.push_back(object({{"kernel", json_text(d.name)},
                                 {"status", json_text(to_string(m.outcome))},
                                 {"as_expected", as_expected ? "true" : "false"},
                                 {"note", json_text(m.note.substr(0, 300))}}));
  };
  static_cast<void>(on.measure(space, std::move(kernel)).measure(all, how));
  to.complete = to.complete && told == all.size();
}

/// What is tuned.
struct problem {
  std::string name;
  double flop;
  double weight;  ///< its share of the time
  library_problem library;
  tileseek::space<tiling> plain;
  tileseek::space<tiling> informed;  ///< with features from analytic.hpp
  tileseek::device_kernel<tiling> kernel;
};

std::vector<problem> problems(const target& on, const std::string& only) {
  std::vector<problem> out;
  const auto add = [&](const std::string& name, const auto& shape, double weight, const auto& space,
                       tileseek::device_kernel<tiling> kernel) {
    if (name.find(only) == std::string::npos) return;
    out.push_back({name, shape.flop(), weight, shape, space, space, std::move(kernel)});
    gpu::add_features(out.back().informed, shape, gpu::element::fp32, on.processors);
  };
  // A check of the large product moves and compares 200 MB, which takes longer than computing it.
  for (const int size : on.rehearsal ? std::array{64, 48} : std::array{4096, 1024}) {
    const matmul_shape s{.m = size, .n = size, .k = size};
    add(concat({"matmul ", size}), s, size > 1024 ? 3 : 1, gpu::matmul_space(s, gpu::element::fp32, on.limits),
        gpu::matmul_kernel(s, gpu::element::fp32, on.limits));
  }
  const auto convolution = [&](const char* network, const named_shape<conv2d_shape>& layer) {
    conv2d_shape s = layer.shape;
    if (on.rehearsal) {
      s.height = s.width = std::min(s.height, 12);
      s.channels_in = std::min(s.channels_in, 8);
      s.channels_out = std::min(s.channels_out, 16);
    }
    add(concat({network, " ", layer.name, on.rehearsal ? " cut down" : ""}), s, 1,
        gpu::conv2d_space(s, gpu::element::fp32, on.limits), gpu::conv2d_kernel(s, gpu::element::fp32, on.limits));
  };
  for (const auto i : {2U, 6U, 8U}) convolution("resnet", resnet_shapes[i]);  // 3 x 3 early and late, and 1 x 1
  for (const auto i : {2U, 7U}) convolution("yolo", yolo_shapes[i]);
  if (out.empty()) throw std::invalid_argument("--only: no shape has '" + only + "' in its name");
  return out;
}

struct contender {
  const char* name;
  bool informed;  ///< by the features
  tileseek::any_strategy (*make)();
};

const std::vector<contender>& contenders() {
  static const std::vector<contender> all{
#ifdef TILESEEK_HAVE_EIGEN
      {"dynamic_gradient, features", true, [] { return tileseek::any_strategy(tileseek::dynamic_gradient<>()); }},
      {"dynamic_gradient", false, [] { return tileseek::any_strategy(tileseek::dynamic_gradient<>()); }},
#endif
      {"explore_then", false, [] { return tileseek::any_strategy(tileseek::explore_then()); }},
      {"random", false, [] { return tileseek::any_strategy(tileseek::random()); }},
  };
  return all;
}

/// A search as it went.
struct course {
  struct step {
    double seconds;  ///< since its start
    double cost;
  };
  std::vector<step> steps;  ///< of each trial

  /// In JSON: [trial, seconds since the start, what it costs] of each that was faster than all before.
  [[nodiscard]] std::string improvements() const {
    std::string out;
    double best = infinite;
    for (std::size_t i = 0; i < steps.size(); ++i)
      if (steps[i].cost < best) {
        best = steps[i].cost;
        tileseek::detail::append(out, {out.empty() ? "[" : ", [", i + 1, ", ", steps[i].seconds, ", ", best, "]"});
      }
    return "[" + out + "]";
  }

  /// The first trial that costs at most so much; the number of trials: none.
  [[nodiscard]] std::size_t first_within(double cost) const {
    const auto at = std::find_if(steps.begin(), steps.end(), [cost](const step& s) { return s.cost <= cost; });
    return static_cast<std::size_t>(at - steps.begin());
  }
};

/// Writes down the course.
struct recorder {
  course* to;
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
  void on_trial(const tileseek::named_values&, const tileseek::measurement& m) {
    to->steps.push_back({std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count(), m.cost()});
  }
};

/// What the last table sums up, of a strategy on a problem.
struct outcome {
  bool product;
  std::size_t contender;
  double of_library, of_fastest, trials, seconds;  ///< not a number: there is none
};

void tune_problem(const target& on, const arguments& o, const budget& time, double slot, problem& p, int number_of,
                  measurer<library_task>& library, report& to, std::vector<outcome>& outcomes) {
  const double end = time.spent() + slot;
  const double size = p.plain.approximate_size();
  auto measure = on.measure(p.plain, p.kernel);
  // Counts the spaces, computes the truth and starts all processes, which is no strategy's time: a full batch, of which one
  // result will do.
  static_cast<void>(p.informed.approximate_size());
  tileseek::rng random(o.seed);
  const tiling untuned = p.plain.default_configuration();
  std::vector<tiling> batch{untuned};
  while (batch.size() < measure.batch_size()) batch.push_back(p.plain.sample(random));
  bool started = false;
  tileseek::measuring how;
  how.limits.incumbent = infinite;
  how.finished = [&](std::size_t, const tileseek::measurement&) { started = true; };
  how.stop = [&] { return started || time.left() <= 0; };
  static_cast<void>(measure.measure(batch, how));
  how.finished = nullptr;
  how.stop = [&time] { return time.left() <= 0; };
  const double ready = time.spent();

  const auto& all = contenders();
  std::vector<course> courses(all.size());
  std::vector<tileseek::result<tiling>> results;
  // One measurer serves all, and keeps what it compiled: seeds differ, so that no search finds the first points of another
  // one compiled.
  const double search_end = ready + 0.8 * (end - ready);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double seconds = (search_end - time.spent()) / static_cast<double>(all.size() - i);
    if (!(seconds > 0) || time.left() <= 0) break;
    results.push_back(tileseek::tune(all[i].informed ? p.informed : p.plain, measure,
                                     {.seconds = seconds,
                                      .seed = o.seed * all.size() + i,
                                      .rounds = 0,
                                      .progress = tileseek::verbosity::quiet,
                                      .observers = {recorder{&courses[i]}}},
                                     all[i].make()));
  }

  // Once more, in turn with the library and what is not tuned.
  struct entry {
    tiling what{};
    bool is_library = false;
  };
  std::vector<entry> entries{{untuned}, {{}, true}};
  std::vector<std::size_t> entry_of;
  for (const auto& r : results) {
    entry_of.push_back(entries.size());
    if (r.best) entries.push_back({*r.best});
  }
  std::string library_note = "no library";
  how.limits.min_samples = how.limits.max_samples = 1;
  const auto record = tileseek::contest(
      entries.size(), 9, random,
      [&](std::size_t i) -> tileseek::measurement {
        std::vector<tileseek::measurement> got;
        if (entries[i].is_library) {
          const library_task task{number_of};
          got = library.measure(std::span<const library_task>(&task, 1), how);
          if (!got.empty()) library_note = got.front().note;
        } else {
          got = measure.measure(std::span<const tiling>(&entries[i].what, 1), how);
        }
        return got.empty() ? tileseek::failure(tileseek::status::run_failed, "interrupted") : got.front();
      },
      [&](std::size_t round) { return time.left() > 0 && (round < 6 || time.spent() < end); });

  double fastest = infinite;  // in the searches
  for (const auto& c : courses)
    for (const auto& s : c.steps) fastest = std::fmin(fastest, s.cost);
  double winner = infinite;  // in the contest
  for (std::size_t at = 2; at < entries.size(); ++at) winner = std::fmin(winner, record.median_of(at));
  const double library_seconds = record.median_of(1);
  const auto gflops = [&](double seconds) { return std::isfinite(seconds) ? p.flop / seconds * 1e-9 : std::nan(""); };
  const auto shown = [](double x, int digits) { return std::isfinite(x) ? tileseek::fixed(x, digits) : "-"; };
  const auto speed = [&](double seconds) { return shown(gflops(seconds), gflops(seconds) < 100 ? 2 : 0); };
  const auto row = [&](std::string_view who, std::size_t at, const std::string& trials, const std::string& to_95) {
    const auto against = record.compare(at, 1);
    say(concat({"| ", p.name, " | ", who, " | ", trials, " | ", speed(record.median_of(at)), " | ",
                shown(against.ratio, 2),
                std::isfinite(against.ratio)
                    ? concat({" [", shown(against.range.low, 2), ", ", shown(against.range.high, 2), "]"})
                    : "",
                " | ", shown(record.compare(at, 0).ratio, 2), " | ", to_95, " |"}));
  };
  row(library_note, 1, "-", "- | -");
  row("default", 0, "-", "- | -");
  std::vector<std::string> strategies;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto& r = results[i];
    const auto first = courses[i].first_within(fastest / 0.95);
    const bool there = first < courses[i].steps.size() && std::isfinite(fastest);
    outcome sum{
        std::holds_alternative<matmul_shape>(p.library), i, std::nan(""), std::nan(""), std::nan(""), std::nan("")};
    if (there) {
      sum.trials = static_cast<double>(first + 1);
      sum.seconds = courses[i].steps[first].seconds;
    }
    std::vector<std::pair<std::string_view, std::string>> by_status;
    for (std::size_t s = 0; s < r.by_status.size(); ++s)
      if (r.by_status[s] > 0)
        by_status.emplace_back(to_string(static_cast<tileseek::status>(s)), std::to_string(r.by_status[s]));
    std::vector<std::pair<std::string_view, std::string>> members{
        {"strategy", json_text(all[i].name)},
        {"trials", std::to_string(r.trials)},
        {"by_status", object(by_status)},
        {"seconds", number(r.seconds)},
        {"improvements", courses[i].improvements()},
        {"trials_to_95_percent", number(sum.trials)},
        {"seconds_to_95_percent", number(sum.seconds)},
        {"best", r.best ? json_text(p.plain.describe(*r.best)) : "null"},
        {"best_seconds_in_search", number(r.median_seconds)}};
    if (r.best) {
      const std::size_t at = entry_of[i];
      const auto against = record.compare(at, 1);
      sum.of_library = against.ratio;
      sum.of_fastest = winner / record.median_of(at);
      members.insert(members.end(), {{"best_seconds", number(record.median_of(at))},
                                     {"gflops", number(gflops(record.median_of(at)))},
                                     {"library_ratio", number(against.ratio)},
                                     {"library_ratio_low", number(against.range.low)},
                                     {"library_ratio_high", number(against.range.high)},
                                     {"default_ratio", number(record.compare(at, 0).ratio)}});
      row(all[i].name, at, std::to_string(r.trials),
          concat(
              {there ? std::to_string(first + 1) : "not", " | ", there ? tileseek::fixed(sum.seconds, 1) : "reached"}));
    } else {
      say(concat({"| ", p.name, " | ", all[i].name, " | ", r.trials, " | nothing valid | - | - | - | - |"}));
      (r.trials > 0 ? to.passed : to.complete) = false;
    }
    strategies.push_back(object(members));
    outcomes.push_back(sum);
  }
  to.complete = to.complete && results.size() == all.size() && !record.seconds.front().empty();
  to.tuning.push_back(object({{"shape", json_text(p.name)},
                              {"flop", number(p.flop)},
                              {"space_size", number(size)},
                              {"setup_seconds", number(ready - (end - slot))},
                              {"library", json_text(library_note)},
                              {"library_seconds", number(library_seconds)},
                              {"library_gflops", number(gflops(library_seconds))},
                              {"default_seconds", number(record.median_of(0))},
                              {"rounds", std::to_string(record.seconds.front().size())},
                              {"strategies", list(strategies)}}));
}

/// Of each strategy over all shapes.
void sum_up(const std::vector<outcome>& outcomes) {
  const auto mean = [&](std::size_t who, const auto& of, const auto& counts) -> std::string {
    double sum = 0;
    std::size_t n = 0;
    for (const auto& s : outcomes)
      if (s.contender == who && counts(s) && std::isfinite(of(s)) && of(s) > 0) {
        sum += std::log(of(s));
        ++n;
      }
    return n == 0 ? "-" : concat({tileseek::fixed(std::exp(sum / static_cast<double>(n)), 2), " (", n, ")"});
  };
  const auto any = [](const outcome&) { return true; };
  say("\nGeometric means, and of how many shapes:\n"
      "| strategy | of cuBLAS | of cuDNN | of the fastest found | trials to 95 % | seconds to 95 % |\n"
      "|---|---|---|---|---|---|");
  for (std::size_t i = 0; i < contenders().size(); ++i)
    say(concat({"| ", contenders()[i].name, " | ",
                mean(
                    i, [](const outcome& s) { return s.of_library; }, [](const outcome& s) { return s.product; }),
                " | ",
                mean(
                    i, [](const outcome& s) { return s.of_library; }, [](const outcome& s) { return !s.product; }),
                " | ",
                mean(
                    i, [](const outcome& s) { return s.of_fastest; }, any),
                " | ",
                mean(
                    i, [](const outcome& s) { return s.trials; }, any),
                " | ",
                mean(
                    i, [](const outcome& s) { return s.seconds; }, any),
                " |"}));
}

void tune_all(const target& on, const arguments& o, const budget& time, std::vector<problem> all, report& to) {
  std::vector<library_problem> computed;
  for (const auto& p : all) computed.push_back(p.library);
  const auto numbers = tileseek::space<library_task>{}.add("problem", &library_task::problem,
                                                           tileseek::range(0, static_cast<int>(all.size()) - 1));
  auto isolated = tileseek::isolated(numbers, libraries(std::move(computed), on.device.cache_bytes),
                                     {.most_seconds = 30, .build_seconds = 30});
  std::vector<std::string> missing(all.size(), on.rehearsal ? "no library" : "");  // and why
  measurer<library_task> library{[&](std::span<const library_task> task, const tileseek::measuring& how) {
    const std::string& why = missing[static_cast<std::size_t>(task.front().problem)];
    if (!why.empty()) return std::vector{tileseek::failure(tileseek::status::launch_failed, why)};
    return isolated.measure(task, how);
  }};
  say("\n| shape | who | trials | GFLOP/s | of the library | of the default | trials to 95 % | seconds to 95 % |\n"
      "|---|---|---|---|---|---|---|---|");
  double weights = 0;
  for (const auto& p : all) weights += p.weight;
  std::vector<outcome> outcomes;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (time.left() <= 0) {
      to.leave_out(all[i].name + ": the time was up");
      to.complete = false;
      continue;
    }
    // The library's first call loads it, and tells whether there is one.
    const library_task task{static_cast<int>(i)};
    const auto loaded = library.measure(std::span<const library_task>(&task, 1), {});
    if (!loaded.empty() && !loaded.front().valid()) missing[i] = loaded.front().note;
    const double slot = time.left() * all[i].weight / weights;
    weights -= all[i].weight;
    tune_problem(on, o, time, slot, all[i], static_cast<int>(i), library, to, outcomes);
    to.note_clocks(time);
    to.write(time, false);
  }
  sum_up(outcomes);
}

int run(arguments o) {
  // SIGTERM is like Ctrl-C, also where a shell had SIGINT ignored; timeout(1) sends it twice.
  const auto inherited = std::signal(SIGINT, SIG_DFL);  // or the guard would not listen
  const tileseek::interrupt_guard guard;
  static const auto interrupt = std::signal(SIGINT, SIG_IGN);  // the guard's handler
  if (inherited != SIG_IGN) std::signal(SIGINT, interrupt);
  std::signal(SIGTERM, [](int) {
    std::signal(SIGTERM, SIG_IGN);
    std::signal(SIGINT, interrupt);
    std::raise(SIGINT);
  });
  const budget time(o.seconds);
  const target on(o.backend);
  auto tuned = problems(on, o.only);
  if (o.configurations == 0) o.configurations = on.rehearsal ? 4 : 200;
  report to;
  to.file = o.json;
  to.about = {{"device", json_text(on.device.name)},
              {"backend", json_text(o.backend)},
              {"architecture", std::to_string(on.device.architecture)},
              {"processors", std::to_string(on.device.processors)},
              {"tileseek", json_text(tileseek::version_string)},
              {"compiler", json_text(tileseek::detail::compiler())},
              {"seed", std::to_string(o.seed)},
              {"budget_seconds", number(o.seconds)}};
  to.write(time, false);  // at once: a file that can't be written is found before anything has run
  say(concat({"device: ", on.device.name, ", ", on.device.processors, " multiprocessors; ",
              tileseek::fixed(o.seconds, 0), " s", on.rehearsal ? "; a rehearsal: small shapes, no library" : ""}));
  to.note_clocks(time);
#ifndef TILESEEK_HAVE_EIGEN
  to.leave_out("dynamic_gradient, which needs Eigen 3.4 (headers alone: unpack it and name its folder in EIGEN_DIR)");
#endif
  check_kernels(on, o, time, to);
  to.write(time, false);
  check_hostile(on, time, to);
  to.write(time, false);
  tune_all(on, o, time, std::move(tuned), to);
  to.write(time, true);
  say(concat({to.passed ? "all that was checked is as it should be" : "NOT ALL IS AS IT SHOULD BE, see above", ", in ",
              tileseek::show_clock(time.spent()),
              to.complete ? "" : "; NOT COMPLETE: the time was up, or it was interrupted",
              o.json.empty() ? "" : "; all figures: ", o.json}));
  return to.passed && to.complete ? 0 : 1;
}

arguments read(int argc, char** argv) {
  arguments o;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (i + 1 == argc) throw std::invalid_argument(name + ": a value is missing, or there is no such option");
    const std::string value = argv[++i];
    const auto at_least = [&](double least) {
      char* end = nullptr;
      const double x = std::strtod(value.c_str(), &end);
      if (value.empty() || *end != '\0' || !(x >= least) || x > 1e9)
        throw std::invalid_argument(
            concat({name, ": '", value, "' is no number from ", tileseek::shortest(least), " to 1e9"}));
      return x;
    };
    if (name == "--backend")
      o.backend = value;
    else if (name == "--seconds")
      o.seconds = at_least(1);
    else if (name == "--configurations")
      o.configurations = static_cast<std::size_t>(std::ceil(at_least(1)));
    else if (name == "--only")
      o.only = value;
    else if (name == "--json")
      o.json = value;
    else if (name == "--seed")
      o.seed = static_cast<std::uint64_t>(at_least(0));
    else
      throw std::invalid_argument(
          name +
          ": no such option; there are --backend cuda|opencl, --seconds, --configurations, --only, --json, --seed");
  }
  return o;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(read(argc, argv));
  } catch (const std::exception& e) {
    std::cerr << "gpu_check: " << e.what() << '\n';
    return 2;
  }
}
