#!/bin/sh
# Builds tileseek and passes its tests, on a machine that has never seen it: installs what a fresh Debian 12 lacks.
#   sh tests/run.sh                    with g++
#   CXX=clang++ sh tests/run.sh        with another compiler
#   sh tests/run.sh --sanitize         with AddressSanitizer and UndefinedBehaviorSanitizer
# Further arguments go to `meson setup`, for example -Dwerror=true. The last line says how many passed and failed.
set -eu
cd "$(dirname "$0")/.."

CXX=${CXX:-g++}
export CXX
build=build/tests-$(basename "${CXX%% *}")
sanitize=
case ${1:-} in
--sanitize)
  sanitize=yes
  build=$build-sanitize
  shift
  ;;
-h | --help)
  sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
  exit 0
  ;;
esac

case $CXX in
*clang*) compiler=clang ;;
*) compiler=g++ ;;
esac
sh .ci/install_missing.sh "${CXX%% *}:$compiler" g++:g++ meson:meson ninja:ninja-build pkg-config:pkg-config \
  cmake:cmake eigen3.pc:libeigen3-dev nlohmann_json.pc:nlohmann-json3-dev doctest/doctest.h:doctest-dev \
  CLI11.pc:libcli11-dev benchmark.pc:libbenchmark-dev openblas.pc:libopenblas-dev liblzma.pc:liblzma-dev \
  CL/cl.h:opencl-c-headers OpenCL.pc:ocl-icd-opencl-dev /etc/OpenCL/vendors/pocl.icd:pocl-opencl-icd

# Examples and benchmarks are built once, without sanitizers: what they share with users' programs is in the unit tests.
once=enabled
[ -z "$sanitize" ] || once=disabled
set -- -Dtests=enabled -Djson=enabled "-Dexamples=$once" "-Dbench=$once" "$@"
if [ -n "$sanitize" ]; then
  # shellcheck disable=SC2086  # CXX may carry flags
  if ! echo 'int main() {}' | $CXX -fsanitize=address,undefined -x c++ - -o /dev/null 2>/dev/null; then
    sh .ci/install_missing.sh sanitizer-runtime:libclang-rt-14-dev
  fi
  flags='-fno-sanitize-recover=all -g1'
  # clang 14 cannot compile a coroutine with it ("Cannot represent a difference across sections").
  # Eigen adds offsets to the null pointer of a matrix without columns; what is read out of bounds shows anyway.
  [ "$compiler" = g++ ] || flags="$flags -fno-sanitize=function,pointer-overflow"
  set -- --buildtype=debug -Ddebug=false -Db_sanitize=address,undefined -Db_lundef=false -Dxgboost=disabled \
    "-Dcpp_args=$flags" "$@"
else
  # Not optimised: the tests compile in half the time, and what is timed (examples, benchmarks) asks for its own level.
  set -- --buildtype=debug -Ddebug=false "$@"
fi

log=$build/meson-logs/meson-log.txt
if [ -f "$build/build.ninja" ]; then
  set -- --reconfigure "$@"
fi
meson setup "$build" "$@" || {
  [ ! -f "$log" ] || cat "$log"
  echo "0 passed, 1 failed (configuring)"
  exit 1
}
# -k0: everything is built, whatever fails, so that all errors show at once.
meson compile -C "$build" --ninja-args=-k0 || {
  echo "0 passed, 1 failed (building)"
  exit 1
}

code=0
meson test -C "$build" --no-rebuild --print-errorlogs ${sanitize:+--timeout-multiplier 4} || code=$?
awk '
  /^(Ok|Expected Fail): / { passed += $NF }
  /^(Fail|Unexpected Pass|Timeout): / { failed += $NF }
  /^Skipped: / { skipped += $NF }
  END { printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped }
' "$build/meson-logs/testlog.txt"
exit "$code"
