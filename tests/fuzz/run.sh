#!/bin/sh
# Looks for inputs that break a reader, with clang's libFuzzer.
#   sh tests/fuzz/run.sh [SECONDS [TARGET...]]      each target for so long, 60 by default; without targets, all
# A finding is left in build/fuzz/ and ends the run. Add it to corpus/TARGET/ with its repair.
set -eu
cd "$(dirname "$0")/../.."
seconds=${1:-60}
[ $# -eq 0 ] || shift
if [ $# -eq 0 ]; then
  cd tests/fuzz/corpus
  set -- *
  cd ../../..
fi
mkdir -p build/fuzz
"${CXX:-clang++}" -std=c++20 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -DTILESEEK_FUZZ \
  -I include tests/fuzz/readers.cpp -o build/fuzz/readers
for target; do
  mkdir -p "build/fuzz/$target"
  echo "== $target"
  TILESEEK_FUZZ=$target build/fuzz/readers -max_total_time="$seconds" -timeout=5 -rss_limit_mb=1024 -max_len=4096 \
    -verbosity=0 -print_final_stats=1 -artifact_prefix="build/fuzz/$target-" "build/fuzz/$target" "tests/fuzz/corpus/$target"
done
