#!/bin/sh
# From an empty clone to a tuned kernel: installs what a fresh Debian 12 lacks, builds one example, and tunes a
# 1024 x 1024 x 1024 matrix product on this CPU for a minute at most.
#   sh examples/quickstart.sh [OPTION OF tune_matmul...]        for example --trials 50 or --help
# The results go to build/quickstart/matmul-1024.jsonl. Started again, it replays them and goes on from there.
set -eu
cd "$(dirname "$0")/.."
build=build/quickstart

sh .ci/install_missing.sh "${CXX:-g++}:g++" meson:meson ninja:ninja-build pkg-config:pkg-config \
  eigen3.pc:libeigen3-dev nlohmann_json.pc:nlohmann-json3-dev CLI11.pc:libcli11-dev openblas.pc:libopenblas-dev

# Shows what was printed only when something goes wrong.
quietly() {
  mkdir -p "$build"
  "$@" >"$build/quickstart.log" 2>&1 || {
    cat "$build/quickstart.log" >&2
    exit 1
  }
}

echo "Building $build/examples/tune_matmul ..."
[ -f "$build/build.ninja" ] ||
  quietly meson setup "$build" --buildtype=release -Dtests=disabled -Dexamples=enabled -Dbench=disabled -Djson=enabled
quietly meson compile -C "$build" tune_matmul

exec "$build/examples/tune_matmul" --m 1024 --n 1024 --k 1024 --backend cpu --strategy dynamic_gradient \
  --trials 200 --seconds 60 --seed 1 --log "$build/matmul-1024.jsonl" "$@"
