#!/bin/sh
# Tests an example from outside, as its user sees it.
#   check.sh works PROGRAM [ARGUMENT...]      exits 0 and prints something
#   check.sh refuses PROGRAM [ARGUMENT...]    exits 2, prints nothing but one line on stderr that names the last argument
set -eu

wanted=$1
shift
for last; do :; done
out=$(mktemp)
err=$(mktemp)
trap 'rm -f "$out" "$err"' EXIT

fail() {
  echo "$*" >&2
  echo "--- stdout:" >&2
  cat "$out" >&2
  echo "--- stderr:" >&2
  cat "$err" >&2
  exit 1
}

code=0
"$@" >"$out" 2>"$err" </dev/null || code=$?
case $wanted in
works)
  [ "$code" -eq 0 ] || fail "exited with $code"
  [ -s "$out" ] || fail "printed nothing"
  cat "$out"
  ;;
refuses)
  [ "$code" -eq 2 ] || fail "exited with $code, not 2"
  [ ! -s "$out" ] || fail "printed on stdout"
  [ "$(wc -l <"$err")" -eq 1 ] || fail "did not print one line on stderr"
  grep -qF -e "$last" "$err" || fail "the message does not name $last"
  cat "$err"
  ;;
*) fail "usage: check.sh works|refuses PROGRAM [ARGUMENT...]" ;;
esac
