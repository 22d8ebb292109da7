#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""memory_vectors.py LOG REPLAY: checks that the replay (regtrace skel replay) has, in order, the
accesses to `room` that the functions run_*() of t/preload/memory/programs/memory_vectors made and
logged. Prints how many there were of each instruction, or the first that differs."""
import sys

log, replay = sys.argv[1:3]
lines = open(log).read().splitlines()
middle = int(lines[0].split()[1], 16)
expected, names = [], []
for line in lines[1:]:
    *name, kind, size, offset = line.split()
    expected.append((kind, int(size), int(offset)))
    names.append(" ".join(name))
got = []
for line in open(replay):
    if line[0] == "#":
        continue
    pc, kind, size, address = line.split()
    offset = int(address, 16) - middle
    if -2048 <= offset < 2048:
        got.append((kind, int(size), offset, pc))
# Leave out the writes by which the program prepares what it compares: memset() by libc, and one
# store.
got = [g for g in got if not (g[0] == "W" and 1536 <= g[2] < 1664)]
for n, (want, have) in enumerate(zip(expected, got)):
    if want != have[:3]:
        sys.exit(f"number {n}, {names[n]}: {want} expected, {have}")
if len(expected) != len(got):
    sys.exit(f"{len(expected)} expected, {len(got)}")
for name in dict.fromkeys(names):
    print(name, names.count(name))
