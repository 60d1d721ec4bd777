"""Passes when SOURCE does not compile and the compiler says what the source's comments name.

usage: expect.py SOURCE COMPILER [FLAG...]

Every comment of the form  // expected-error {{regex}}  must match somewhere in the diagnostics. A source that compiles
with -DFIXED must do so: then its error comes from the line under test and from nothing else. It brackets that line with
    #ifndef FIXED
    ... the mistake ...
    #endif
"""
import pathlib
import re
import subprocess
import sys

source, *compiler = sys.argv[1:]
text = pathlib.Path(source).read_text()
wanted = re.findall(r"//\s*expected-error\s*\{\{(.*?)\}\}", text)
if not wanted:
    sys.exit(f"{source} has no expected-error comment")


def compile_source(*flags: str) -> subprocess.CompletedProcess:
    return subprocess.run([*compiler, *flags, "-fsyntax-only", source], capture_output=True, text=True)


done = compile_source()
if done.returncode == 0:
    sys.exit(f"{source} compiled, and must not")
# Compilers quote source lines: an expectation must not be met by itself.
said = "\n".join(line for line in done.stderr.splitlines() if "expected-error" not in line)
missing = [regex for regex in wanted if not re.search(regex, said)]
if missing:
    sys.exit(f"no diagnostic matches {missing}:\n{done.stderr}")

if "FIXED" in text:
    fixed = compile_source("-DFIXED")
    if fixed.returncode != 0:
        sys.exit(f"{source} must compile with -DFIXED:\n{fixed.stderr}")
print("\n".join(line for line in said.splitlines() if "error:" in line))
