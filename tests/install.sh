#!/bin/sh
# Installs the library into a folder of its own and builds a program with what is there: through pkg-config, through CMake
# (if there is one), and as a Meson subproject.
#   sh tests/install.sh SOURCE SCRATCH_FOLDER COMPILER...
set -eu

source=$1
scratch=$2
shift 2
CXX="$*"
export CXX
unset CXXFLAGS CPPFLAGS LDFLAGS DESTDIR 2>/dev/null || true

fail() {
  echo "install: $*" >&2
  exit 1
}

# Runs a command; shows what it printed only if it fails.
quietly() {
  "$@" >"$scratch/log" 2>&1 || {
    cat "$scratch/log" >&2
    fail "failed: $*"
  }
}

rm -rf "$scratch"
mkdir -p "$scratch"
scratch=$(cd "$scratch" && pwd)
prefix=$scratch/prefix

cat >"$scratch/consumer.cpp" <<'CPP'
#include <tileseek/tileseek.hpp>
#include <tileseek/version.hpp>

#include <cstdio>

int main() {
  std::printf("tileseek %d.%d.%d\n", TILESEEK_VERSION_MAJOR, TILESEEK_VERSION_MINOR, TILESEEK_VERSION_PATCH);
}
CPP

quietly meson setup "$scratch/build" "$source" --prefix "$prefix" \
  -Dtests=disabled -Dexamples=disabled -Dbench=disabled
quietly meson install -C "$scratch/build" --no-rebuild
version=$(meson introspect "$scratch/build" --projectinfo | sed 's/.*"version": "\([^"]*\)".*/\1/')

installed=$(cd "$prefix/include" && find . -type f | sort)
expected=$(cd "$source/include" && find . -name '*.hpp' | sort)
[ "$installed" = "$expected" ] || fail "installed headers differ from those under include/:
$installed"

run() {
  said=$("$1")
  [ "$said" = "tileseek $version" ] || fail "$1 says '$said', not 'tileseek $version'"
}

# pkg-config: nothing but include paths reaches the user.
PKG_CONFIG_PATH=$prefix/share/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
export PKG_CONFIG_PATH
flags=$(pkg-config --cflags tileseek)
for flag in $flags; do
  case $flag in
  -I*) ;;
  *) fail "pkg-config hands the user $flag" ;;
  esac
done
[ "$(pkg-config --modversion tileseek)" = "$version" ] || fail "pkg-config has another version"
# shellcheck disable=SC2086  # both are lists
quietly $CXX -std=c++20 $flags "$scratch/consumer.cpp" -o "$scratch/by_pkg_config"
run "$scratch/by_pkg_config"
echo "pkg-config: found, compiles, runs"

# CMake, from a prefix that has been moved: the package file finds its headers relative to itself.
if command -v cmake >/dev/null 2>&1; then
  mkdir "$scratch/cmake"
  mv "$prefix" "$scratch/moved"
  cat >"$scratch/cmake/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.16)
project(consumer CXX)
find_package(tileseek 0.1 REQUIRED CONFIG)
get_target_property(found tileseek::tileseek INTERFACE_INCLUDE_DIRECTORIES)
get_filename_component(found "${found}" REALPATH)
get_filename_component(wanted "${CMAKE_PREFIX_PATH}/include" REALPATH)
if(NOT found STREQUAL wanted)
  message(FATAL_ERROR "tileseek::tileseek includes from ${found}, not from ${wanted}")
endif()
add_executable(consumer ../consumer.cpp)
target_link_libraries(consumer tileseek::tileseek)
CMAKE
  quietly cmake -G Ninja -S "$scratch/cmake" -B "$scratch/cmake/build" -DCMAKE_PREFIX_PATH="$scratch/moved"
  quietly cmake --build "$scratch/cmake/build"
  run "$scratch/cmake/build/consumer"
  echo "CMake: found, compiles, runs"
else
  echo "CMake: not installed, not tried"
fi

# Meson subproject: no target of tileseek's own comes along.
mkdir -p "$scratch/meson/subprojects/tileseek"
for part in meson.build meson_options.txt include tests examples bench; do
  cp -R "$source/$part" "$scratch/meson/subprojects/tileseek/"
done
cat >"$scratch/meson/meson.build" <<'MESON'
project('consumer', 'cpp', default_options: ['cpp_std=c++20'])
executable('consumer', '../consumer.cpp', dependencies: dependency('tileseek', version: '>=0.1', fallback: 'tileseek'))
MESON
unset PKG_CONFIG_PATH
quietly meson setup "$scratch/meson/build" "$scratch/meson" --wrap-mode=forcefallback
targets=$(meson introspect "$scratch/meson/build" --targets | grep -o '"name": "[^"]*"')
[ "$targets" = '"name": "consumer"' ] || fail "as a subproject, tileseek adds targets: $targets"
quietly meson compile -C "$scratch/meson/build"
run "$scratch/meson/build/consumer"
echo "Meson subproject: compiles, runs, adds no target"
