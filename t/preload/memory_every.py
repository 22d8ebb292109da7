#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""memory_every.py REPLAY ADDRESS WINDOWS: does each window of the replay (regtrace skel replay) write the elements of the array that the program still
had to? WINDOWS has a line for each of them: the element that was next when it opened, the one behind the part's last, how many instructions
the part had done, and where that was. Prints what it has found."""
import sys

replay, base = sys.argv[1], int(sys.argv[2], 16)
windows = [line.split() for line in open(sys.argv[3])]
elements = [[] for _ in windows]
now = None
for line in open(replay):
    if line[0] == "#":
        if " window " in line:
            now = int(line.split(" window ")[1].split(",")[0])
        continue
    pc, kind, size, address = line.split()
    offset = int(address, 16) - base
    if 0 <= offset < 8 * 4096 and kind != "R":
        elements[now].extend(range(offset // 8, offset // 8 + int(size) // 8))
wrong, shown = 0, ""
for (begins, end, k, at), found in zip(windows, elements):
    if found != list(range(int(begins), int(end))):
        wrong += 1
        shown += f"\n{k} instructions into the part, at {at}, elements {begins} to {end} were left: {found}"
print(f"{len(windows)} windows, {sum(map(len, elements))} elements, {wrong} wrong{shown[:2000]}") #dows)} windows, {sum(map(len, elements))} elements, {wrong} wrong{shown}")
