"""Passes when every code block of a document that names an example (<!-- examples/NAME.cpp -->) is that file."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
blocks = 0
for document in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
    for name, code in re.findall(r"<!-- (\S+) -->\n```\w*\n(.*?)```", document.read_text(), re.S):
        blocks += 1
        if (root / name).read_text() != code:
            sys.exit(f"{document.name}: the code block of {name} differs from the file; copy it again")
if blocks == 0:
    sys.exit("no document shows an example: nothing was compared")
print(f"{blocks} code blocks are the files they show")
