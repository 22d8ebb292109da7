#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""memory_anywhere.py REPLAY ADDRESS [N]: checks that each window of the replay (regtrace skel
replay) writes only consecutive elements of the array of t/preload/memory_anywhere.

Prints how many windows, elements and gaps there were, and where the first gap is. N: leaves out
the N-th write of an element, to see whether the check finds that."""
import sys

SIZE = 4096
replay, base = sys.argv[1], int(sys.argv[2], 16)
left_out = int(sys.argv[3]) if len(sys.argv) > 3 else 0
windows, elements, gaps, last, now, shown = set(), 0, 0, None, None, ""
for line in open(replay):
    if line[0] == "#":
        if " window " in line:
            thread, window = (line.split(f" {what} ")[1].split(",")[0] for what in ("thread", "window"))
            if (thread, window) != now:
                last, now = None, (thread, window)
            windows.add(window)
        continue
    pc, kind, size, address = line.split()
    offset = int(address, 16) - base
    if not 0 <= offset < 8 * SIZE or kind == "R":
        continue
    left_out -= 1
    if left_out == 0:
        continue
    n = offset // 8
    if last is not None and n != (last + 1) % SIZE:
        gaps += 1
        shown = shown or f", the first from {last} to {n} in window {window} at {pc}"
    count = int(size) // 8  # a vector has several elements
    last = (n + count - 1) % SIZE
    elements += count
print(f"{len(windows)} windows, {elements} elements, {gaps} gaps{shown}")
