#!/usr/bin/env python3
"""What a worker for retune_log is made of: takes a record from each request and answers with its time. This one builds
nothing: it takes the logarithms of the tile sizes for a time, so that there is something to find."""
import json
import math
import sys

for line in sys.stdin:
    request = json.loads(line)
    steps = json.loads(request["record"])["i"][1][1]
    tiles = [length for step in steps if step[0] == "SP" for length in step[4]]
    seconds = 1e-4 * (1 + sum((math.log2(length) - 1) ** 2 for length in tiles))
    print(json.dumps({"id": request["id"], "seconds": seconds}), flush=True)
