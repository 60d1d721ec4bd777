#!/bin/sh
# Checks and times the GPU kernels on this machine's GPU, in 4 minutes, with nothing but a C++20 compiler and the CUDA Toolkit:
#   sh bench/gpu_check.sh                        see docs/kernels.md; figures also go to bench/gpu_check.json
#   sh bench/gpu_check.sh --seconds 120 --only "matmul" --json out.json
#   sh bench/gpu_check.sh --backend opencl       the rehearsal: small shapes on an OpenCL device, which may be a CPU
# Compiler: CXX, else g++, else clang++. Toolkit: CUDA_PATH, else where nvcc is, else /usr/local/cuda. Eigen 3.4: EIGEN_DIR,
# else the usual places; without it dynamic_gradient is left out. cuDNN: CUDNN_DIR, else the toolkit and the system.
# Exit status: 0 all is as it should be; 1 it is not, or the time was up; 2 nothing was checked (no GPU, no compiler, a wrong option).
set -eu
began=$(date +%s)
root=$(cd "$(dirname "$0")/.." && pwd)
out=$root/build/gpu_check

give_up() {
  echo "gpu_check.sh: $*" >&2
  exit 2
}

backend=cuda
seconds=240
previous=
for word in "$@"; do
  case $previous in
  --backend) backend=$word ;;
  --seconds) seconds=$word ;;
  esac
  previous=$word
done
case $seconds in '' | *[!0-9]*) give_up "--seconds: '$seconds' is no whole number" ;; esac

cxx=${CXX:-}
for try in g++ clang++; do
  if [ -z "$cxx" ] && command -v "$try" >/dev/null; then cxx=$try; fi
done
[ -n "$cxx" ] || give_up "no C++ compiler; install g++ 12 or newer, or name one in CXX"
mkdir -p "$out"

# can_use HEADER FLAGS...: whether a program with it compiles and links
can_use() {
  header=$1
  shift
  echo "#include <$header>
int main() {}" | "$cxx" -std=c++20 -x c++ - "$@" -o "$out/can_use" 2>/dev/null
}

add_flags() { flags="$flags $*"; }  # paths with spaces are not supported
flags="-std=c++20 -O2 -march=native -I$root/include"
case $cxx in
*clang*) ;;
*) add_flags -fvect-cost-model=dynamic ;;  # the references are three times as fast
esac

eigen=
if [ -n "${EIGEN_DIR:-}" ] && [ ! -f "$EIGEN_DIR/Eigen/Core" ]; then give_up "no Eigen/Core in EIGEN_DIR, '$EIGEN_DIR'"; fi
for folder in "${EIGEN_DIR:-}" "${CONDA_PREFIX:+$CONDA_PREFIX/include/eigen3}" \
  "$root/build/eigen3" /usr/include/eigen3 /usr/local/include/eigen3; do
  if [ -z "$eigen" ] && [ -n "$folder" ] && [ -f "$folder/Eigen/Core" ]; then eigen=$folder; fi
done
if [ -n "$eigen" ]; then
  add_flags "-isystem $eigen"
else
  echo "gpu_check.sh: no Eigen, so dynamic_gradient is left out; install it (Debian: libeigen3-dev) or unpack Eigen 3.4
  (https://gitlab.com/libeigen/eigen, headers alone) and name the folder that holds Eigen/Core in EIGEN_DIR" >&2
fi

case $backend in
cuda)
  cuda=${CUDA_PATH:-}
  if [ -z "$cuda" ] && nvcc=$(command -v nvcc); then cuda=$(dirname "$(dirname "$(readlink -f "$nvcc")")"); fi
  cuda=${cuda:-/usr/local/cuda}
  [ -f "$cuda/include/nvrtc.h" ] || give_up "no CUDA Toolkit in '$cuda' (include/nvrtc.h); name its folder in CUDA_PATH"
  export CUDA_PATH="$cuda"  # kernels include its headers
  lib=$cuda/lib64
  [ -d "$lib" ] || lib=$cuda/lib
  search="-isystem $cuda/include -L$lib -Wl,-rpath,$lib"
  if [ -n "${CUDNN_DIR:-}" ]; then search="-isystem $CUDNN_DIR/include -L$CUDNN_DIR/lib -Wl,-rpath,$CUDNN_DIR/lib $search"; fi
  libraries="-lnvrtc -lcudart_static -lrt"
  # shellcheck disable=SC2086  # words are meant
  can_use nvrtc.h $search $libraries -pthread -ldl ||
    give_up "no NVRTC or static CUDA runtime in '$lib' (libnvrtc.so, libcudart_static.a); install the whole CUDA Toolkit"
  echo '#include <cuda_runtime_api.h>
int main() { int n = 0; return cudaGetDeviceCount(&n) == cudaSuccess && n > 0 ? 0 : 1; }' >"$out/has_device.cpp"
  # shellcheck disable=SC2086
  "$cxx" -std=c++20 "$out/has_device.cpp" $search $libraries -pthread -ldl -o "$out/has_device" ||
    give_up "no CUDA runtime in '$cuda'; install the whole CUDA Toolkit"
  "$out/has_device" || give_up "no CUDA device; --backend opencl is the rehearsal without one"
  add_flags -DTILESEEK_HAVE_CUDA
  # shellcheck disable=SC2086
  if can_use cublas_v2.h $search -lcublas; then
    add_flags -DTILESEEK_HAVE_CUBLAS
    libraries="$libraries -lcublas"
  else
    echo "gpu_check.sh: no cuBLAS in the toolkit, so there is nothing to compare products with" >&2
  fi
  # shellcheck disable=SC2086
  if can_use cudnn.h $search -lcudnn; then
    add_flags -DTILESEEK_HAVE_CUDNN
    libraries="$libraries -lcudnn"
  else
    echo "gpu_check.sh: no cuDNN, so there is nothing to compare convolutions with; CUDNN_DIR names its folder" >&2
  fi
  set -- --json "$root/bench/gpu_check.json" "$@"
  ;;
opencl)
  search=
  libraries=-lOpenCL
  can_use CL/cl.h $libraries || give_up "no OpenCL headers or loader (Debian: opencl-headers, ocl-icd-opencl-dev)"
  add_flags -DTILESEEK_HAVE_OPENCL
  ;;
*) give_up "--backend: '$backend' is neither cuda nor opencl" ;;
esac

# shellcheck disable=SC2086
"$cxx" $flags $search "$root/bench/gpu_check.cpp" -o "$out/gpu_check" $libraries -pthread -ldl ||
  give_up "$cxx does not compile bench/gpu_check.cpp; it takes g++ 12 or newer, or clang++ 14 or newer"

# Building counts: what is asked for is when it ends.
left=$((seconds - $(date +%s) + began))
[ "$left" -gt 0 ] || give_up "building took all of the $seconds s; give --seconds more"
echo "built in $((seconds - left)) s with $cxx"
exec "$out/gpu_check" "$@" --seconds "$left"
