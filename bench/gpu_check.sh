#!/bin/sh
# Checks and times the GPU kernels on this machine's GPU, in 4 minutes, with nothing but a C++20 compiler and the CUDA Toolkit:
#   sh bench/gpu_check.sh                        see docs/kernels.md; figures also go to bench/gpu_check.json
#   sh bench/gpu_check.sh --seconds 120 --only "matmul" --json out.json
#   sh bench/gpu_check.sh --backend opencl       the rehearsal: small shapes on an OpenCL device, which may be a CPU
# Options: --backend cuda|opencl, --seconds N (240; with building), --configurations N (200 of each kernel are checked),
# --only TEXT (tunes shapes with it in their names), --json FILE, --seed N, --help.
# Compiler: CXX (as in CXX="ccache g++"), else g++, else clang++. Toolkit: CUDA_PATH, else where nvcc is, else /usr/local/cuda.
# Eigen 3.4: EIGEN_DIR, else the usual places; without it dynamic_gradient is left out. cuDNN: CUDNN_DIR, else the toolkit and
# the system.
# Exit status: 0 all is as it should be; 1 it is not, or the time was up; 2 nothing was checked (no GPU, no compiler, a wrong option).
set -euf  # words of CXX and flags are split, and no patterns
began=$(date +%s)
root=$(cd "$(dirname "$0")/.." && pwd)
out=$root/build/gpu_check

give_up() {
  echo "gpu_check.sh: $*" >&2
  exit 2
}

no_spaces() {  # WHAT PATH REMEDY
  case $2 in *[[:space:]]*) give_up "$1, '$2', has spaces in its name; $3" ;; esac
}

backend=cuda
seconds=240
option=
for word in "$@"; do
  case $option in
  '')
    case $word in
    --help)
      sed -n '2,/^set/s/^# //p' "$0"
      exit 0
      ;;
    --backend | --seconds | --configurations | --only | --json | --seed) option=$word ;;
    *) give_up "$word: no such option; --help tells which there are, and values are words of their own" ;;
    esac
    continue
    ;;
  --backend) backend=$word ;;
  --seconds | --configurations | --seed)
    if [ "$option$word" != --seed0 ]; then
      case $word in '' | 0* | *[!0-9]* | ??????????*) give_up "$option: '$word' is no whole number from 1 to 999999999" ;; esac
    fi
    [ "$option" != --seconds ] || seconds=$word
    ;;
  esac
  option=
done
[ -z "$option" ] || give_up "$option: a value is missing"
case $backend in cuda | opencl) ;; *) give_up "--backend: '$backend' is neither cuda nor opencl" ;; esac
no_spaces "the folder of tileseek" "$root" "move it"

cxx=${CXX:-}
for try in g++ clang++; do
  if [ -z "$cxx" ] && command -v "$try" >/dev/null; then cxx=$try; fi
done
[ -n "$cxx" ] || give_up "no C++ compiler; install g++ 12 or newer, or name one in CXX"
mkdir -p "$out" || give_up "'$out' can't be made"

compile() {
  # shellcheck disable=SC2086  # words are meant: a launcher may come first
  $cxx -std=c++20 "$@"
}
rm -f "$out/can_use"
{ echo 'int main() {}' | compile -x c++ - -o "$out/can_use" && "$out/can_use"; } ||
  give_up "'$cxx' makes no program of an empty main(); name g++ 12 or newer, or clang++ 14 or newer, in CXX"

# can_use HEADER FLAGS...: whether a program with it compiles and links
can_use() {
  header=$1
  shift
  echo "#include <$header>
int main() {}" | compile -x c++ - "$@" -o "$out/can_use" 2>/dev/null
}

add_flags() { flags="$flags $*"; }
flags="-O2 -march=native -I$root/include"
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
  no_spaces "the folder of Eigen" "$eigen" "name another in EIGEN_DIR"
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
  no_spaces "the CUDA Toolkit" "$cuda" "name another folder in CUDA_PATH"
  no_spaces "CUDNN_DIR" "${CUDNN_DIR:-}" "name another folder"
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
  compile "$out/has_device.cpp" $search $libraries -pthread -ldl -o "$out/has_device" ||
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
esac

# shellcheck disable=SC2086
compile $flags $search "$root/bench/gpu_check.cpp" -o "$out/gpu_check" $libraries -pthread -ldl ||
  give_up "$cxx does not compile bench/gpu_check.cpp; it takes g++ 12 or newer, or clang++ 14 or newer"

# Building counts: what is asked for is when it ends.
left=$((seconds - $(date +%s) + began))
[ "$left" -gt 0 ] || give_up "building took all of the $seconds s; give --seconds more"
echo "built in $((seconds - left)) s with $cxx"
exec "$out/gpu_check" "$@" --seconds "$left"
