#!/bin/sh
# Installs what is missing of a list of needs, with apt-get. Does nothing, and asks no registry, when all is there.
#   sh .ci/install_missing.sh NEED:PACKAGE...
# NEED is a program (g++), a pkg-config file (eigen3.pc), a header (doctest/doctest.h) or a file (/etc/x); PACKAGE brings it on Debian.
set -eu

there() {
  case $1 in
  *.pc) command -v pkg-config >/dev/null && pkg-config --exists "${1%.pc}" ;;
  *.h | *.hpp) [ -e "/usr/include/$1" ] || [ -e "/usr/local/include/$1" ] ;;
  /*) [ -e "$1" ] ;;
  *) command -v "$1" >/dev/null ;;
  esac
}

missing=
for need; do
  there "${need%%:*}" || missing="$missing ${need#*:}"
done
[ -n "$missing" ] || exit 0

echo "Missing:$missing" >&2
as_root=
if [ "$(id -u)" != 0 ]; then
  as_root=$(command -v sudo) || {
    echo "Install as root, then start again: apt-get install$missing" >&2
    exit 1
  }
fi
command -v apt-get >/dev/null || {
  echo "This system has no apt-get; install what corresponds to these packages of Debian, then start again." >&2
  exit 1
}
# shellcheck disable=SC2086  # as_root may be empty, missing is a list
{
  $as_root apt-get -qq update
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y install --no-install-recommends $missing
} >&2
