// How fast records of other tools are read, and in how much memory: 100 MB of each, from a file.
//
// The lines are made: real forms, random numbers. peak_MB is the most that the process held so far, including what the
// benchmarks before it did; run one alone with --benchmark_filter to see its own.

#include <sys/resource.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include <benchmark/benchmark.h>

#include <tileseek/core/format.hpp>
#include <tileseek/core/rng.hpp>
#include <tileseek/record/ansor.hpp>
#include <tileseek/record/autotvm.hpp>
#include <tileseek/record/metaschedule.hpp>
#include <tileseek/record/reader.hpp>

namespace {

constexpr std::size_t bytes_wanted = 100'000'000;

std::string lengths(tileseek::rng& random, int n) {
  std::string out = "[";
  for (int i = 0; i < n; ++i) tileseek::detail::append(out, {i == 0 ? "" : ", ", std::int64_t{1} << random.below(4)});
  return out + "]";
}

/// A convolution for a GPU, in the spacing of a log that went through Python; about 1,300 bytes.
std::string ansor_line(tileseek::rng& random) {
  std::string out =
      R"({"i": [["[\"conv2d\", 1, 28, 28, 256, 512, 1, 1, [2, 2], [0, 0]]", "cuda -keys=cuda,gpu -arch=sm_86 -max_num_threads=1024 -thread_warp_size=32", [82, 999, 999, 49152, 2147483647, 1024, 255, 32], "", 0, []], [[], [["CHW", 3, "local"])";
  const int extents[] = {1, 256, 16, 16, 512, 1, 1};
  for (int i = 0; i < 7; ++i)
    tileseek::detail::append(
        out, {R"(, ["SP", 3, )", 5 * i, ", ", extents[i], ", ", lengths(random, i < 4 ? 4 : 2), ", 1]"});
  out +=
      R"(, ["RE", 3, [0, 5, 10, 15, 1, 6, 11, 16, 2, 7, 12, 17, 20, 23, 26, 21, 24, 27, 3, 8, 13, 18, 22, 25, 28, 4, 9, 14, 19]], ["FSP", 4, 0, 1, 3], ["FSP", 4, 4, 2, 3], ["FSP", 4, 8, 3, 3], ["FSP", 4, 12, 4, 3], ["RE", 4, [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15]], ["CA", 3, 4, 11], ["CHR", 2, "shared", [3]], ["CA", 3, 4, 14], ["CHR", 1, "shared", [4]], ["CA", 2, 5, 14], ["CI", 1], ["FU", 6, [0, 1, 2, 3]], ["AN", 6, 0, 5], ["FU", 6, [1, 2, 3, 4]], ["AN", 6, 1, 4], ["FU", 6, [2, 3, 4, 5]], ["AN", 6, 2, 6], ["FU", 4, [0, 1, 2, 3]], ["SP", 4, 0, 64, [2], 1], ["AN", 4, 1, 2], ["FFSP", 4, 0, [4, 3, 2, 1], 1, 1], ["AN", 4, 1, 6], ["PR", 5, 0, "auto_unroll_max_step$512"]]]], "r": [[)";
  tileseek::detail::append(out, {1e-3 * random.uniform(), ", ", 1e-3 * random.uniform(),
                                 R"(], 0, 2.48949, 1697658138], "v": "v0.6"})", "\n"});
  return out;
}

std::string autotvm_line(tileseek::rng& random) {
  return tileseek::detail::concat(
      {R"({"input": ["cuda -keys=cuda,gpu -max_num_threads=1024 -model=t4 -thread_warp_size=32", "dense_small_batch.cuda", [["TENSOR", [1, 768], "float32"], ["TENSOR", [768, 768], "float32"], null, "float32"], {}], "config": {"index": )",
       random.below(1000), R"(, "code_hash": null, "entity": [["tile_y", "sp", [-1, )",
       std::int64_t{1} << random.below(5), ", ", std::int64_t{1} << random.below(5),
       R"(]], ["tile_k", "sp", [-1, 8]], ["unroll_explicit", "ot", 1]]}, "result": [[)", 1e-6 * random.uniform(),
       R"(], 0, 1.4589149951934814, 1610298238.3852098], "version": 0.2, "tvm_version": "0.8.dev0"})", "\n"});
}

std::string metaschedule_line(tileseek::rng& random) {
  std::string out = "[0,[[[";
  for (int i = 0; i < 12; ++i)
    tileseek::detail::append(
        out,
        {i == 0 ? "" : ",",
         R"(["GetLoops",["b0"],[],["l1","l2","l3"]],["SamplePerfectTile",["l3"],[5,64],["v6","v7","v8","v9","v10"]],["Split",["l3","v6","v7","v8","v9","v10"],[1],["l11","l12","l13","l14","l15"]])"});
  out += "],[";
  for (int i = 0; i < 12; ++i) {
    const std::int64_t a = std::int64_t{1} << random.below(4);
    tileseek::detail::append(out, {i == 0 ? "[" : ",[", 3 * i + 1, ",[", 64 / a, ",", a, ",1,8,1]]"});
  }
  tileseek::detail::append(out, {"]],[", 1e-6 * random.uniform(),
                                 R"(],{"kind":"cuda","arch":"sm_80"},[["TENSOR","float32",[1,512]]]]])", "\n"});
  return out;
}

/// A file of that many lines, removed at the end.
class made_file {
 public:
  template <class Line>
  explicit made_file(const Line& line)
      : path_((std::filesystem::temp_directory_path() / "tileseek_bench_records").string()) {
    std::ofstream out(path_, std::ios::binary);
    tileseek::rng random(1);
    while (bytes_ < bytes_wanted) {
      const std::string text = line(random);
      out << text;
      bytes_ += text.size();
    }
  }
  made_file(const made_file&) = delete;
  made_file& operator=(const made_file&) = delete;
  ~made_file() { std::remove(path_.c_str()); }

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::string path_;
  std::size_t bytes_ = 0;
};

template <class Record, class Line>
void read_all(benchmark::State& state, const Line& line) {
  const made_file made(line);
  std::size_t valid = 0;
  std::size_t records = 0;
  for (auto _ : state) {
    std::ifstream in(made.path(), std::ios::binary);
    tileseek::record_reader<Record> log(in, made.path());
    while (const auto r = log.next()) valid += r->result().valid() ? 1U : 0U;
    records = log.report().records;
  }
  benchmark::DoNotOptimize(valid);
  state.SetBytesProcessed(static_cast<std::int64_t>(made.bytes()) * static_cast<std::int64_t>(state.iterations()));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["records"] = static_cast<double>(records);
  state.counters["peak_MB"] = static_cast<double>(usage.ru_maxrss) / 1000;
}

void read_ansor(benchmark::State& state) { read_all<tileseek::ansor_record>(state, ansor_line); }
void read_autotvm(benchmark::State& state) { read_all<tileseek::autotvm_record>(state, autotvm_line); }
void read_metaschedule(benchmark::State& state) { read_all<tileseek::metaschedule_record>(state, metaschedule_line); }

BENCHMARK(read_ansor)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(read_autotvm)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(read_metaschedule)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
