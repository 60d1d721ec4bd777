#!/bin/sh
# Checks the sources with clang-format and clang-tidy 14 and the scripts with sh -n (and shellcheck, if it is there).
#   sh .ci/lint.sh           checks; the last line says how many checks passed and failed
#   sh .ci/lint.sh --fix     formats the sources
#   sh .ci/lint.sh --tidy    runs clang-tidy, too
# Kept out of the build: another clang must not keep anyone from building.
set -eu
cd "$(dirname "$0")/.."

sh .ci/install_missing.sh git:git clang-format-14:clang-format-14 clang-tidy-14:clang-tidy-14 eigen3.pc:libeigen3-dev \
  nlohmann_json.pc:nlohmann-json3-dev

sources() {  # tracked and new files that match a pattern, without what git ignores
  git ls-files --cached --others --exclude-standard -- "$@"
}

if [ "${1:-}" = --fix ]; then
  sources '*.hpp' '*.cpp' | xargs clang-format-14 -i
  exit 0
fi

passed=0
failed=0
check() {
  name=$1
  shift
  if "$@"; then
    passed=$((passed + 1))
    echo "ok: $name"
  else
    failed=$((failed + 1))
    echo "FAILED: $name"
  fi
}

check_format() {
  [ -n "$(sources '*.hpp' '*.cpp')" ] || return 1  # no checkout: nothing would be checked
  sources '*.hpp' '*.cpp' | xargs clang-format-14 --dry-run -Werror
}

# All headers in one translation unit: each is read once, which takes a quarter of the time of one unit a header.
check_tidy() {
  mkdir -p build/lint
  (cd include && find . -name '*.hpp' | sort | sed 's,^\./\(.*\),#include <\1>,') >build/lint/all_headers.cpp
  clang-tidy-14 --quiet build/lint/all_headers.cpp -- -std=c++20 -Iinclude -isystem /usr/include/eigen3
}

check_scripts() {
  for script in $(sources '*.sh') .ci/run; do
    case $(head -n 1 "$script") in
    *bash) bash -n "$script" ;;
    *) sh -n "$script" ;;
    esac || return 1
    if command -v shellcheck >/dev/null; then shellcheck "$script" || return 1; fi
  done
}

check "clang-format" check_format
[ "${1:-}" != --tidy ] || check "clang-tidy" check_tidy
check "scripts" check_scripts
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
