#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""memory_every.py open|close REPLAY ADDRESS WINDOWS: does each window of the replay (regtrace skel replay) write the elements of the array that the
program still had to when it opened, or those that it had written until it closed? Of the latter the last may be missing, which the replay says, and what
comes next in the block that it closes in be there.
WINDOWS has a line for each of them: the part's first element, the one that was next, the one behind the part's last, how many instructions the part
had done, and where that was. Prints what it has found."""
import sys

way, replay, base = sys.argv[1], sys.argv[2], int(sys.argv[3], 16)
windows = [line.split() for line in open(sys.argv[4])]
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
wrong, shown, missing, more = 0, "", 0, 0
for (first, now, end, k, at), found in zip(windows, elements):
    begins, ends = (int(now), int(end)) if way == "open" else (int(first), int(now))
    if way == "close":
        missing, more = max(missing, ends - begins - len(found)), max(more, begins + len(found) - ends)
        ends = begins + len(found)
    if found != list(range(begins, ends)):
        wrong += 1
        shown += f"\n{k} instructions into the part, at {at}, elements {begins} to {ends} were to be written: {found}"
print(f"{len(windows)} windows, {sum(map(len, elements))} elements, at most {missing} missing and {more} more at the end, {wrong} wrong{shown[:2000]}")
