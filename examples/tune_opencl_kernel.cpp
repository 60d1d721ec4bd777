// Tunes an OpenCL kernel of your own: how many threads a block has, and how many elements each of them takes.
#include <iostream>
#include <tileseek/measure/opencl.hpp>
#include <tileseek/tileseek.hpp>
struct Tiling {
  std::size_t BLOCK = 128, ITEMS = 1;
};
const char* const text = R"(kernel void scale(global const float* x, global float* y, int n) {
  for (int i = get_group_id(0) * BLOCK * ITEMS + get_local_id(0), end = i + BLOCK * ITEMS; i < end; i += BLOCK) y[i] = 2 * x[i];
})";
void reference(const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = 2 * x[i];
}
int main() try {
  constexpr int n = 1 << 22;
  const auto block = tileseek::powers_of_two(32, 1024), items = tileseek::powers_of_two(1, 64);
  const auto space = tileseek::space<Tiling>{}.add("BLOCK", &Tiling::BLOCK, block).add("ITEMS", &Tiling::ITEMS, items);
  tileseek::device_kernel<Tiling> k{.source = text, .function = "scale", .truth = reference};
  k.geometry = [](const Tiling& t) { return tileseek::launch{{n / t.BLOCK / t.ITEMS}, {t.BLOCK}}; };
  k.arguments = {tileseek::input<float>(n), tileseek::output<float>(n), tileseek::scalar(n)};
  auto kernel = tileseek::opencl(space, k);
  std::cout << tileseek::tune(kernel.fitting(), kernel, {.trials = 20}) << '\n';
} catch (const std::exception& e) {
  return std::cerr << e.what() << '\n', 2;
}
