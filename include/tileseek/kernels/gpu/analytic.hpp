#pragma once
// What is known of a tiled product before it runs: how it fills a GPU and what it asks of its memories. These numbers are
// features for cost models (dynamic gradient descent learns from them alone), and rank configurations without a device.
//
//   C. Li, Y. Xu, S. Mahdipour Saravani, P. Sadayappan: Accelerated auto-tuning of GPU kernels for tensor computations.
//   ICS 2024.
//
// Their features, with sizes in bytes, limits of a multiprocessor where theirs were a block's, warps where theirs were
// threads, and rows and columns in their places. Transactions and bank conflicts are those of this kernel.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>

#include <tileseek/core/format.hpp>
#include <tileseek/kernels/gpu/conv2d.hpp>
#include <tileseek/kernels/gpu/matmul.hpp>
#include <tileseek/kernels/gpu/tiled_product.hpp>
#include <tileseek/space/space.hpp>

namespace tileseek::kernels::gpu {

/// What a GPU's multiprocessors hold at a time, and how many there are. The default is an H100.
struct multiprocessors {
  int count = 132;
  int threads = 2048;                     ///< resident on one
  int blocks = 32;                        ///< likewise
  int registers = 65536;                  ///< 32-bit, of one
  std::size_t shared_bytes = 228 * 1024;  ///< of one
  std::size_t reserved_bytes = 1024;      ///< of these, for each block
  double multiply_adds = 128;             ///< of one, fp32, in a clock
  double latency = 4;                     ///< clocks of a multiply-add
  double memory_latency = 500;            ///< clocks of a read of device memory: the order that microbenchmarks find
  double clock = 1.98e9;                  ///< Hz, at most
  double global_bytes = 12.8;             ///< of device memory, for each in a clock: 3.35 TB/s

  /// Operations a second, if all multiply and add in every clock.
  [[nodiscard]] constexpr double flops() const noexcept { return 2 * count * multiply_adds * clock; }
};

/// Those that multiprocessors_of() and limits_of_architecture() know.
inline constexpr std::array<int, 7> architectures{75, 80, 86, 89, 90, 100, 120};
/// "sm_75, sm_80, ..."
[[nodiscard]] inline std::string architecture_names() {
  std::string out;
  for (const int a : architectures) tileseek::detail::append(out, {out.empty() ? "sm_" : ", sm_", a});
  return out;
}

/// Of an architecture (90: sm_90), by the CUDA C++ programming guide's table of technical specifications; number, clock
/// and memory are those of a GPU of this architecture by its data sheet.
/// @param count  0: as many as that GPU has
/// @throws std::invalid_argument  it is not known
[[nodiscard]] inline multiprocessors multiprocessors_of(int architecture, int count = 0) {
  struct row {
    int architecture, threads, blocks;
    std::size_t shared_kibibytes, reserved_bytes;
    double multiply_adds;
    int count;
    double clock, bytes_per_second;
  };
  static constexpr row known[] = {{75, 1024, 16, 64, 0, 64, 40, 1.59e9, 320e9},            // T4
                                  {80, 2048, 32, 164, 1024, 64, 108, 1.41e9, 1555e9},      // A100
                                  {86, 1536, 16, 100, 1024, 128, 82, 1.695e9, 936e9},      // RTX 3090
                                  {89, 1536, 24, 100, 1024, 128, 128, 2.52e9, 1008e9},     // RTX 4090
                                  {90, 2048, 32, 228, 1024, 128, 132, 1.98e9, 3350e9},     // H100
                                  {100, 2048, 32, 228, 1024, 128, 148, 1.965e9, 8000e9},   // B200
                                  {120, 1536, 24, 100, 1024, 128, 170, 2.407e9, 1792e9}};  // RTX 5090
  for (const row& r : known) {
    if (r.architecture != architecture) continue;
    multiprocessors out;
    out.count = count > 0 ? count : r.count;
    out.threads = r.threads;
    out.blocks = r.blocks;
    out.shared_bytes = r.shared_kibibytes * 1024;
    out.reserved_bytes = r.reserved_bytes;
    out.multiply_adds = r.multiply_adds;
    out.clock = r.clock;
    out.global_bytes = r.bytes_per_second / r.clock / r.count;
    return out;
  }
  tileseek::detail::fail<std::invalid_argument>(
      {"the architecture sm_", architecture, " is not known; there are ", architecture_names()});
}

/// What a block may have on an architecture, without a device.
/// @throws std::invalid_argument  it is not known
[[nodiscard]] inline block_limits limits_of_architecture(int architecture) {
  const auto on = multiprocessors_of(architecture);
  block_limits out;
  out.shared_bytes = on.shared_bytes - on.reserved_bytes;
  out.async_copies = architecture >= 80;
  out.dynamic_shared = true;
  return out;
}

/// Blocks that a multiprocessor runs at a time; 0: none can be launched. Registers are handed out by 8 a thread, to whole
/// warps.
[[nodiscard]] constexpr int resident_blocks(const multiprocessors& on, int threads, int registers,
                                            std::size_t shared_bytes) {
  const int whole = detail::round_up(threads, 32);
  const auto by_memory = static_cast<int>(on.shared_bytes / std::max<std::size_t>(shared_bytes + on.reserved_bytes, 1));
  return std::min({on.threads / whole, on.blocks, on.registers / (detail::round_up(registers, 8) * whole), by_memory});
}

/// The features of a configuration.
struct analysis {
  double wave_efficiency = 0;     ///< share of the multiprocessors that have a block to run, over all waves of blocks
  double useful = 0;              ///< share of the multiply-adds that count: blocks hang over the edges
  double occupancy = 0;           ///< resident warps over the most there can be
  double thread_parallelism = 0;  ///< sums of a thread: multiply-adds that do not wait for each other
  double warp_parallelism = 0;    ///< resident warps of a multiprocessor
  double concurrency = 0;         ///< the product of the two
  double register_reuse = 0;      ///< multiply-adds for each number that comes to registers
  double global_intensity = 0;    ///< multiply-adds for each byte of the sectors fetched from global memory
  double shared_intensity = 0;    ///< multiply-adds for each wavefront of shared memory
  double issued = 0;              ///< share of a thread's instructions that are multiply-adds
  double fed = 0;  ///< share of the time in which a tile is there to be computed: reading it takes a while
};

namespace detail {

/// Wavefronts of shared memory that an access of a warp takes, of so many bytes a thread: as many as one of the 32 banks
/// has different words to deliver.
/// @param of_thread  the address of a thread's bytes
template <class Address>
[[nodiscard]] int wavefronts(int bytes, const Address& of_thread) {
  std::array<int, 128> seen{};  // words: 32 threads, 16 bytes each at most
  std::array<int, 32> of_bank{};
  auto end = seen.begin();
  for (int lane = 0; lane < 32; ++lane)
    for (int b = 0; b < bytes; b += 4) {
      const int word = (of_thread(lane) + b) / 4;
      if (std::find(seen.begin(), end, word) != end) continue;
      *end++ = word;
      ++of_bank[static_cast<std::size_t>(word % 32)];
    }
  return *std::max_element(of_bank.begin(), of_bank.end());
}

[[nodiscard]] inline analysis analyse(const product& p, const tiling& t, const multiprocessors& on, int registers = 0) {
  const int bm = t.m[1] * t.m[2] * t.m[3] * t.m[4], bn = t.n[1] * t.n[2] * t.n[3] * t.n[4], bk = t.k[1];
  const int tm = bm / t.m[2], tn = bn / t.n[2], threads = t.m[2] * t.n[2], warps = ceil_div(threads, 32);
  const int bytes = bytes_of(p.type), pitch = bm + t.row_padding;
  const double blocks = 1.0 * ceil_div(p.rows, bm) * ceil_div(p.columns, bn) * p.count;
  const double tiles = ceil_div(p.depth, bk);
  const int resident =
      resident_blocks(on, threads, registers > 0 ? registers : registers_of(p, tm, tn, threads, bm, bn, bk),
                      shared_bytes(p.type, bm, bn, bk, t.row_padding, t.buffers));
  analysis out;
  out.wave_efficiency = blocks / on.count / std::ceil(blocks / on.count);
  out.useful = 1.0 * p.rows * p.columns * p.depth * p.count / (blocks * tiles * bm * bn * bk);
  out.warp_parallelism = warps * resident;
  out.occupancy = out.warp_parallelism * 32 / on.threads;
  out.thread_parallelism = tm * tn;
  out.concurrency = out.thread_parallelism * out.warp_parallelism;
  out.register_reuse = 1 / (1.0 / tm + 1.0 / tn + 1.0 / p.depth);  // of A, of B, of C

  // Sectors of 32 bytes: a tile's rows are so many stretches of what lies together.
  const auto sectors = [bytes](int rows, int columns, int run) {
    const int stretch = std::min(columns, run);
    return 1.0 * rows * ceil_div(columns, stretch) * ceil_div(stretch * bytes, 32);
  };
  const double fetched = 32 * blocks * tiles * (sectors(bm, bk, p.run_a) + sectors(bk, bn, p.run_b));
  out.global_intensity = 1.0 * p.rows * p.columns * p.depth * p.count / fetched;

  // Of the first warp and one tile: what it reads for its sums, and what it writes of its share.
  const auto widest = [](int inner, int row) {
    return inner % 4 == 0 && row % 4 == 0 ? 4 : inner % 2 == 0 && row % 2 == 0 ? 2 : 1;
  };
  const int read_a = widest(t.m[4], pitch), read_b = widest(t.n[4], bn);
  const int fetch_a = t.background ? 1 : usable_width(t.fetch_width, bk, p.run_a);
  const int fetch_b = usable_width(t.fetch_width, bn, p.run_b);
  const int rows = t.m[3] * t.m[4], columns = t.n[3] * t.n[4];  // of a thread that lie together
  const double reads =
      1.0 * tm / read_a * wavefronts(read_a * bytes, [&](int lane) { return lane / t.lanes % t.m[2] * rows * bytes; }) +
      1.0 * tn / read_b * wavefronts(read_b * bytes, [&](int lane) {
        return (lane / (t.lanes * t.m[2]) * t.lanes + lane % t.lanes) * columns * bytes;
      });
  const int stores_a = ceil_div(bm * bk, threads), fetches_a = ceil_div(bm * bk / fetch_a, threads);
  const int fetches_b = ceil_div(bk * bn / fetch_b, threads);
  const double writes =
      1.0 * stores_a *
          wavefronts(
              bytes,
              [&](int lane) { return (lane % (bk / fetch_a) * fetch_a * pitch + lane / (bk / fetch_a)) * bytes; }) +
      1.0 * fetches_b * wavefronts(fetch_b * bytes, [&](int lane) { return lane * fetch_b * bytes; });
  const double sums = 1.0 * tm * tn * bk;
  out.shared_intensity = 32 * sums / (bk * reads + writes);

  // Of a tile: what is copied in the background does not pass through registers, and a turn of the loop takes 4 more.
  const double copies = fetches_a + fetches_b + (t.background ? 0 : stores_a + fetches_b);
  const double others = bk * (1.0 * tm / read_a + 1.0 * tn / read_b) + copies + 4.0 * ceil_div(bk, t.unroll_depth);
  out.issued = sums / (sums + others);

  // A tile's numbers are on their way while other blocks compute, and with more buffers while this one does.
  const double computed = 1.0 * bm * bn * bk / on.multiply_adds;
  const double busy = computed * std::min<double>(resident, std::ceil(blocks / on.count));
  out.fed = busy / (busy + std::max(0.0, on.memory_latency - busy - (t.buffers - 2) * computed));
  if (resident == 0) out.fed = 0;
  return out;
}

}  // namespace detail

/// The features of a configuration for a product or a convolution.
/// @param registers  of a thread, if a compiler told; 0: estimated
template <class Shape>
[[nodiscard]] analysis analyse(const Shape& shape, element type, const tiling& t, const multiprocessors& on = {},
                               int registers = 0) {
  return detail::analyse(detail::product_of(shape, type), t, on, registers);
}

namespace detail {
/// How fast latency, shared memory (a wavefront a clock), global memory and the instructions between them (4 warps' a
/// clock, of all kinds) let multiply-adds be, over how fast they are.
[[nodiscard]] inline std::array<double, 4> supplies(const analysis& a, const multiprocessors& on) {
  return {32 * a.concurrency / (on.latency * on.multiply_adds), a.shared_intensity / on.multiply_adds,
          a.global_intensity * on.global_bytes / on.multiply_adds, 128 * a.issued / on.multiply_adds};
}
}  // namespace detail

/// The share of the GPU's multiply-adds that a configuration can reach at most: what its waves of blocks, the edges, the
/// latencies of memory and multiply-adds, shared memory, global memory and other instructions allow. For ranking; caches are
/// not in it.
[[nodiscard]] inline double attainable(const analysis& a, const multiprocessors& on) {
  const auto s = detail::supplies(a, on);
  return a.wave_efficiency * a.useful * a.fed * std::min({1.0, s[0], s[1], s[2], s[3]});
}

/// How much of latency, memories and instructions the multiply-adds use at their full rate, added up. Of
/// configurations with the same `attainable` the one with less has more to spare.
[[nodiscard]] inline double load(const analysis& a, const multiprocessors& on) {
  const auto s = detail::supplies(a, on);
  return 1 / s[0] + 1 / s[1] + 1 / s[2] + 1 / s[3];
}

/// Tells the cost models these features of the configurations of a space (matmul_space, conv2d_space, tile_sizes_space).
template <class Config, class Shape>
void add_features(space<Config>& to, const Shape& shape, element type = element::fp32, const multiprocessors& on = {}) {
  const auto add = [&](const char* name, double analysis::*which) {
    to.feature(name, [p = detail::product_of(shape, type), on, which](const Config& c) {
      return detail::analyse(p, static_cast<tiling>(c), on).*which;
    });
  };
  add("wave efficiency", &analysis::wave_efficiency);
  add("occupancy", &analysis::occupancy);
  add("thread parallelism", &analysis::thread_parallelism);
  add("warp parallelism", &analysis::warp_parallelism);
  add("concurrency", &analysis::concurrency);
  add("register reuse", &analysis::register_reuse);
  add("global intensity", &analysis::global_intensity);
  add("shared intensity", &analysis::shared_intensity);
}

}  // namespace tileseek::kernels::gpu
