#!/usr/bin/env python3
"""Seconds that the library costs whoever compiles with it: python3 bench/compile_time.py [--check] [--rounds N]

Prints, for g++ and clang++ (those that are there) and each case, the median of 5 compilations at -O2, the fastest and the
slowest of them, and the budget. Cases take turns, so that a busy moment of the machine does not hit one case alone. With
--check it exits 1 if a median is over its budget.
"""
import argparse
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
# name -> (what is compiled, budget in seconds)
CASES = {
    "#include <tileseek/core.hpp>": ("#include <tileseek/core.hpp>\nint main() {}\n", 3.5),
    "#include <tileseek/tileseek.hpp>": ("#include <tileseek/tileseek.hpp>\nint main() {}\n", None),
    "examples/hello.cpp": (ROOT / "examples/hello.cpp", 7.0),
}


def eigen_flags() -> list[str]:
    done = subprocess.run(["pkg-config", "--cflags", "eigen3"], capture_output=True, text=True)
    return done.stdout.split() if done.returncode == 0 else ["-I/usr/include/eigen3"]


def seconds(compiler: str, source: pathlib.Path, flags: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run([compiler, "-std=c++20", "-O2", "-I", ROOT / "include", *flags, "-c", source, "-o", "/dev/null"],
                   check=True)
    return time.perf_counter() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit 1 if a median is over its budget")
    parser.add_argument("--rounds", type=int, default=5, help="compilations of each case (default: %(default)s)")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    compilers = [c for c in ("g++", "clang++") if shutil.which(c)]
    if not compilers:
        sys.exit("compile_time: neither g++ nor clang++ is installed")
    flags = eigen_flags()

    samples = {(c, name): [] for c in compilers for name in CASES}
    with tempfile.TemporaryDirectory() as folder:
        sources = {}
        for i, (name, (what, _)) in enumerate(CASES.items()):
            sources[name] = what
            if isinstance(what, str):
                sources[name] = pathlib.Path(folder) / f"case{i}.cpp"
                sources[name].write_text(what)
        for _ in range(options.rounds):
            for (compiler, name), taken in samples.items():
                taken.append(seconds(compiler, sources[name], flags))

    over = False
    width = max(map(len, CASES))
    print(f"{'compiler':9} {'what':{width}} {'median s':>8} {'min':>6} {'max':>6} {'budget':>7}")
    for (compiler, name), taken in samples.items():
        budget = CASES[name][1]
        middle = statistics.median(taken)
        late = budget is not None and middle > budget
        over |= late
        print(f"{compiler:9} {name:{width}} {middle:8.2f} {min(taken):6.2f} {max(taken):6.2f} "
              f"{'' if budget is None else f'{budget:.1f}':>7}{'  over budget' if late else ''}")
    return int(options.check and over)


if __name__ == "__main__":
    sys.exit(main())
