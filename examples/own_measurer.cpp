// A measurer of your own: it gets whole batches, so that it can build in parallel, use several devices or a cluster,
// and it says how each configuration ended. And the loop in your own hands, for programs that cannot give it away.
#include <tileseek/core.hpp>

#include <iostream>

struct Launch {
  int threads = 128, items = 4;
};

// Stands for a device: it refuses what does not fit, and computes nonsense with 7 items.
struct device {
  std::vector<tileseek::measurement> measure(std::span<const Launch> batch) {
    std::vector<tileseek::measurement> results;
    for (const auto& l : batch) results.push_back(run(l));
    return results;
  }
  static std::size_t batch_size() { return 16; }  // what this device likes best

 private:
  static tileseek::measurement run(const Launch& l) {
    if (l.threads * l.items > 8192) return tileseek::failure(tileseek::status::launch_failed, "too many registers");
    if (l.items == 7) return tileseek::failure(tileseek::status::wrong_result, "7 items are not supported");
    const double waves = 1e6 / (l.threads * l.items);
    const double seconds = 1e-6 * (waves / 4 + 0.02 * l.threads + 3 * l.items);
    return {tileseek::status::ok, {seconds, seconds * 1.01, seconds * 0.99}, {}};
  }
};
static_assert(tileseek::Measurer<device, Launch>);

int main() {
  const auto space = tileseek::space<Launch>{}
                         .add("threads", &Launch::threads, tileseek::powers_of_two(32, 1024))
                         .add("items", &Launch::items, tileseek::range(1, 16));
  device gpu;
  std::cout << tileseek::tune(space, gpu, {.trials = 64, .seed = 1}, tileseek::droplet{}) << "\n\n";

  tileseek::session own_loop(space, tileseek::random{}, {.trials = 64, .seed = 1, .batch = 8});
  while (const auto batch = own_loop.ask(8)) own_loop.tell(gpu.measure(*batch));
  std::cout << own_loop.finish() << '\n';
}
