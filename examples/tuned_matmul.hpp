#pragma once
// The fastest configurations known. Written by tileseek, which this header does not need.
// clang-format off

#include <string_view>

namespace tuned {

struct matmul {
  long long n;
  std::string_view device;
  long long bm;
  long long bn;
  long long bk;
  double seconds;  // median
};

inline constexpr matmul of_matmul[] = {
    {64LL, "this CPU", 8LL, 64LL, 64LL, 0.000298454},  //= {"task":"matmul","shape":{"n":64},"device":"this CPU","configuration":{"bm":8,"bn":64,"bk":64},"seconds":0.000298454,"range":[0.000298268,0.004541935],"samples":9,"date":"2026-11-30T10:38:35Z","conditions":{"cpu":"Intel(R) Xeon(R) Processor","load":1.65}}
    {128LL, "this CPU", 4LL, 64LL, 16LL, 0.002449955},  //= {"task":"matmul","shape":{"n":128},"device":"this CPU","configuration":{"bm":4,"bn":64,"bk":16},"seconds":0.002449955,"range":[0.002436652,0.006750329],"samples":9,"date":"2026-11-30T10:38:20Z","conditions":{"cpu":"Intel(R) Xeon(R) Processor","load":1.5}}
    {256LL, "this CPU", 256LL, 32LL, 32LL, 0.021450742000000002},  //= {"task":"matmul","shape":{"n":256},"device":"this CPU","configuration":{"bm":256,"bn":32,"bk":32},"seconds":0.021450742000000002,"range":[0.020239812,0.067182984],"samples":6,"date":"2026-11-30T10:38:47Z","conditions":{"cpu":"Intel(R) Xeon(R) Processor","load":1.95}}
};

/// Of the nearest shape: the least product of larger / smaller over its sizes.
constexpr const matmul& nearest_matmul(long long n, std::string_view device) {
  const matmul* best = of_matmul;
  double least = -1;
  for (const auto& w : of_matmul) {
    if (w.device != device) continue;
    double apart = 1;
    apart *= w.n > n ? static_cast<double>(w.n) / static_cast<double>(n) : static_cast<double>(n) / static_cast<double>(w.n);
    if (least >= 0 && apart >= least) continue;
    least = apart;
    best = &w;
  }
  return *best;
}

}  // namespace tuned
