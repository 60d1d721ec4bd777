#!/usr/bin/env python3
"""Measures for tileseek: reads configurations from standard input, writes results to standard output, a JSON object a
line. What is measured here is a matrix transposition in blocks of rows x columns."""
import json
import sys
import time

N = 256
SOURCE = [[i * N + j for j in range(N)] for i in range(N)]
TRUTH = [list(column) for column in zip(*SOURCE)]


def transpose(rows, columns):
    out = [[None] * N for _ in range(N)]
    for i0 in range(0, N, rows):
        for j0 in range(0, N, columns):
            for j in range(j0, min(N, j0 + columns)):
                out[j][i0:i0 + rows] = [row[j] for row in SOURCE[i0:i0 + rows]]
    return out


def measure(configuration, limits):
    if transpose(**configuration) != TRUTH:
        return {"status": "wrong_result", "note": "not the transpose"}
    seconds = []
    while len(seconds) < limits["min_samples"]:
        start = time.perf_counter()
        transpose(**configuration)
        seconds.append(time.perf_counter() - start)
    return {"seconds": seconds}


for line in sys.stdin:
    request = json.loads(line)
    try:
        answer = measure(request["configuration"], request["limits"])
    except Exception as error:
        answer = {"status": "run_failed", "note": repr(error)}
    print(json.dumps({"id": request["id"], **answer}), flush=True)
