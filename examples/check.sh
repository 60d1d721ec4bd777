#!/bin/sh
# Tests an example from outside, as its user sees it.
#   check.sh works PROGRAM [ARGUMENT...]      exits 0 and prints something
#   check.sh 'works or lacks a device' PROGRAM [ARGUMENT...]     as works, or exits 2 with one line on stderr that says so
#   check.sh refuses PROGRAM [ARGUMENT...]    exits 2, prints nothing but one line on stderr that names the last argument
#   check.sh fails TEXT PROGRAM [ARGUMENT...] exits 1 and says so on stderr, with this text
set -eu

wanted=$1
shift
text=
if [ "$wanted" = fails ]; then
  text=$1
  shift
fi
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
if [ "$wanted" = 'works or lacks a device' ]; then
  wanted=works
  if [ "$code" -eq 2 ] && grep -q 'no [A-Za-z]* device' "$err" && [ "$(wc -l <"$err")" -eq 1 ]; then
    cat "$err"
    exit 77  # skipped, as Meson has it
  fi
fi
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
fails)
  [ "$code" -eq 1 ] || fail "exited with $code, not 1"
  grep -qF -e "$text" "$err" || fail "does not say '$text'"
  cat "$err"
  ;;
*) fail "usage: check.sh works|refuses PROGRAM [ARGUMENT...]" ;;
esac
