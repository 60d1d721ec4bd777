#pragma once
// What makes one kernel source OpenCL C and CUDA C++. A kernel's text follows it.

namespace tileseek::kernels::gpu {

/// Defines, for both languages:
///
///   KERNEL(name, threads)(GLOBAL const float* RESTRICT a, ...) { ... }     a kernel, run by blocks of so many threads
///   INLINE int f(LOCAL const float* x) { ... }                            a function, and a pointer to shared memory
///   SHARED(float, name, size);                shared memory of a block, aligned to 16 bytes; once, at a kernel's top.
///                                             With DYNAMIC_SHARED (CUDA) its size is that of the launch
///   ALIGNED float x[4];                                                   a thread's own, aligned to 16 bytes
///   THREAD, BLOCK(axis), BARRIER()                                        indices, and waiting for the block
///   MOVE(4, float, LOCAL, to, , from)         copies 4 floats in one access, from a thread's own to shared memory.
///                                             1, 2, 4 of float and 1, 2, 4, 8 of half_bits, aligned to their size
///   half_to_float(half_bits)                  a 16-bit float as storage: all that OpenCL has without an extension
///   COPY_ASYNC(bytes, to, from, valid), COMMIT_ASYNC(), WAIT_ASYNC(n)
///       copies 4, 8 or 16 bytes from global to shared memory in the background, or writes zeros unless valid; ends a
///       group of copies; waits until at most the n last groups are under way (PTX ISA: cp.async). The copy is made
///       at once below compute capability 8.0 and in OpenCL
inline constexpr const char* prelude = R"(
#define JOIN_(a, b, c) a##b##c
#define JOIN(a, b, c) JOIN_(a, b, c)
#define MOVE(w, type, to_space, to, from_space, from) \
  (*(to_space JOIN(type, _, w)*)(to) = *(const from_space JOIN(type, _, w)*)(from))

#ifdef __OPENCL_VERSION__
#define KERNEL(name, threads) __kernel __attribute__((reqd_work_group_size(threads, 1, 1))) void name
#define INLINE static inline __attribute__((always_inline))
#define GLOBAL __global
#define LOCAL __local
#define SHARED(type, name, size) __local type name[size] __attribute__((aligned(16)))
#define ALIGNED __attribute__((aligned(16)))
#define RESTRICT restrict
#define THREAD ((int)get_local_id(0))
#define BLOCK(axis) ((int)get_group_id(axis))
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
typedef float float_1;
typedef float2 float_2;
typedef float4 float_4;
typedef ushort half_bits;
typedef ushort half_bits_1;
typedef ushort2 half_bits_2;
typedef ushort4 half_bits_4;
typedef ushort8 half_bits_8;
INLINE float half_to_float(half_bits x) { return vload_half(0, (const half*)&x); }
#else
#define KERNEL(name, threads) extern "C" __global__ void __launch_bounds__(threads) name
#define INLINE __device__ __forceinline__
#define GLOBAL
#define LOCAL
#ifdef DYNAMIC_SHARED
#define SHARED(type, name, size) extern __shared__ __align__(16) type name[]
#else
#define SHARED(type, name, size) __shared__ __align__(16) type name[size]
#endif
#define ALIGNED __align__(16)
#define RESTRICT __restrict__
#define THREAD ((int)threadIdx.x)
#define BLOCK(axis) ((int)((axis) == 0 ? blockIdx.x : (axis) == 1 ? blockIdx.y : blockIdx.z))
#define BARRIER() __syncthreads()
typedef float float_1;
typedef float2 float_2;
typedef float4 float_4;
typedef unsigned short half_bits;
typedef unsigned short half_bits_1;
typedef unsigned int half_bits_2;
typedef uint2 half_bits_4;
typedef uint4 half_bits_8;
INLINE float half_to_float(half_bits x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
  return y;
}
#if __CUDA_ARCH__ >= 800
#define COPY_ASYNC(bytes, to, from, valid) copy_async<bytes>(to, from, valid)
#define COMMIT_ASYNC() asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT_ASYNC(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")
template <int Bytes>
INLINE void copy_async(void* to, const void* from, bool valid) {
  const unsigned shared = (unsigned)__cvta_generic_to_shared(to);
  const int live = valid ? Bytes : 0;
  if constexpr (Bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(from), "r"(live) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(from), "n"(Bytes), "r"(live)
                 : "memory");
}
#endif
#endif
#ifndef COPY_ASYNC
INLINE void copy_at_once(int words, LOCAL unsigned* to, GLOBAL const unsigned* from, int valid) {
#pragma unroll
  for (int i = 0; i < words; ++i) to[i] = valid ? from[i] : 0;
}
#define COPY_ASYNC(bytes, to, from, valid) \
  copy_at_once((bytes) / 4, (LOCAL unsigned*)(to), (GLOBAL const unsigned*)(from), valid)
#define COMMIT_ASYNC()
#define WAIT_ASYNC(n)
#endif
)";

}  // namespace tileseek::kernels::gpu
