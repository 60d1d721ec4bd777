"""Checks what no compiler checks about the public headers and the tests.

usage: in_order.py SOURCE_ROOT --headers HEADER... --tests TEST...     (as include/ and tests/meson.build list them)

1. The lists are complete: what is under include/ is installed and tested, what is under tests/ is run, and a header's own
   test includes it first: it stands alone.
2. An include points down the floor plan (docs/design.md): a room knows the rooms below it only.
3. Headers that cost half a second each stay out of what everyone includes.
4. tileseek/core.hpp needs the standard library alone.
5. Nothing is included by a relative path, and every header is guarded.
"""
import argparse
import pathlib
import re
import sys

# A room may include itself and rooms of a lower floor.
FLOOR = {"core": 0, "space": 1, "model": 2, "search": 3, "measure": 3, "schedule": 3, "record": 3, "report": 3, "tune": 4,
         "kernels": 5, "testing": 5}
UMBRELLAS = {"tileseek/core.hpp", "tileseek/tileseek.hpp"}  # of several rooms
FREE = {"tileseek/version.hpp"}  # belongs to no room
SLOW = {"filesystem", "iostream", "ranges", "regex", "random"}
THIRD_PARTY = ("Eigen/", "nlohmann/", "CL/", "cuda", "nvrtc", "mpi", "xgboost/")


def room(header: str) -> str:
    return header.split("/")[1].removesuffix(".hpp")


def unlisted(folder: pathlib.Path, present: set[str], listed: list[str]) -> list[str]:
    twice = {name for name in listed if listed.count(name) > 1}
    return [f"{name}: not listed in {folder.name}/meson.build" for name in sorted(present - set(listed))] + \
           [f"{name}: listed twice in {folder.name}/meson.build" for name in sorted(twice)]


def faults_of_tests(folder: pathlib.Path, listed: list[str]) -> list[str]:
    no_tests = {"main", "alone"}
    present = {p.relative_to(folder).with_suffix("").as_posix() for p in folder.rglob("*.cpp")}
    wrong = unlisted(folder, present - no_tests, listed)
    for name in sorted(present - no_tests):
        header = f"tileseek/{name}.hpp"
        if (folder.parent / "include" / header).exists():
            first = re.search(r"^#\s*include\s*[<\"]([^>\"]+)", (folder / f"{name}.cpp").read_text(), re.MULTILINE)
            if not first or first.group(1) != header:
                wrong.append(f"{name}.cpp: does not include {header} first, which is how it is seen to stand alone")
    return wrong


def faults_of_headers(folder: pathlib.Path, listed: list[str]) -> list[str]:
    present = {p.relative_to(folder).as_posix(): p.read_text() for p in folder.rglob("*.hpp")}
    wrong = unlisted(folder, set(present), listed)
    includes = {}
    for header, text in sorted(present.items()):
        includes[header] = re.findall(r"^#\s*include\s*<([^>]+)>", text, re.MULTILINE)
        if re.search(r'^#\s*include\s*"', text, re.MULTILINE):
            wrong.append(f'{header}: write #include <tileseek/...>, not "..."')
        if not text.startswith("#pragma once\n"):
            wrong.append(f"{header}: does not start with #pragma once")
        if header in UMBRELLAS | FREE:
            continue
        for other in includes[header]:
            if not other.startswith("tileseek/") or other in FREE:
                continue
            if other in UMBRELLAS:
                wrong.append(f"{header}: includes the umbrella {other}; name the header it needs")
            elif room(other) != room(header) and FLOOR.get(room(other), 99) >= FLOOR.get(room(header), 99):
                wrong.append(f"{header}: includes {other}, which is not on a floor below")

    def closure(header: str, seen: set[str]) -> set[str]:
        if header not in seen:
            seen.add(header)
            for other in includes.get(header, []):
                closure(other, seen)
        return seen

    for umbrella in sorted(UMBRELLAS & present.keys()):
        reached = closure(umbrella, set())
        wrong += [f"{umbrella}: reaches <{h}>, which is slow to compile" for h in sorted(reached & SLOW)]
        allowed = "Eigen/" if umbrella == "tileseek/tileseek.hpp" else None
        wrong += [f"{umbrella}: reaches <{h}>" for h in sorted(reached)
                  if h.startswith(THIRD_PARTY) and not (allowed and h.startswith(allowed))]
    return wrong


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--headers", nargs="+", required=True)
    parser.add_argument("--tests", nargs="+", required=True)
    given = parser.parse_args()
    faults = faults_of_headers(given.root / "include", given.headers) + faults_of_tests(given.root / "tests", given.tests)
    print("\n".join(faults) or f"{len(given.headers)} headers and {len(given.tests)} tests in order")
    sys.exit(bool(faults))
