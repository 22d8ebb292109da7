#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""memory_every.py REPLAY ADDRESS WINDOWS: does each window of the replay (regtrace skel replay) write the elements of the array that the program still
had to when it opened, or those that it had written until it closed? Of the latter the last may be missing, where the replay says so, and what comes next
in the block that it closes in be there. Where one opens as the last is left in mid-block, it may begin behind that block's instruction.
WINDOWS (memory_every.c) has a line for each of them: open or close, the part's first element, the one that was next, the one behind the part's last, how many
instructions the part had done, and where that was. Prints what it has found."""
import sys

replay, base = sys.argv[1], int(sys.argv[2], 16)
windows = [line.split() for line in open(sys.argv[3])]
elements, cut = [[] for _ in windows], [False] * len(windows)
now, names = None, {}
for line in open(replay):
    if line[0] == "#":
        if " window " in line:
            thread, name = (line.split(f" {what} ")[1].split(",")[0] for what in ("thread", "window"))
            if thread != "0":
                now = None
                continue
            now = names.setdefault(name, len(names))
            cut[now] = cut[now] or "cut off" in line  # a handler has a part of its own
        continue
    if now is None:
        continue
    pc, kind, size, address = line.split()
    offset = int(address, 16) - base
    if 0 <= offset < 8 * 4096 and kind != "R":
        elements[now].extend(range(offset // 8, offset // 8 + int(size) // 8))
wrong, shown, missing, more, between = 0, "", 0, 0, 0
for n, ((way, first, now, end, k, at), found) in enumerate(zip(windows, elements)):
    begins, ends = (int(now), int(end)) if way == "open" else (int(first), int(now))
    if way == "close":
        lacks = ends - begins - len(found)
        missing, more = max(missing, lacks), max(more, -lacks)
        if lacks < 1 or cut[n]:
            ends -= lacks
    elif n > 0 and windows[n - 1][0] == "close" and cut[n - 1] and found and found[0] in (begins + 1, begins + 2):
        between = max(between, found[0] - begins)
        begins = found[0]
    if found != list(range(begins, ends)):
        wrong += 1
        shown += f"\n{way}, {k} instructions into the part, at {at}, elements {begins} to {ends} were to be written: {found}"
print(
    f"{len(windows)} windows, {sum(map(len, elements))} elements, at most {missing} missing and {more} more at the end,"
    f" {between} between two, {wrong} wrong{shown[:2000]}"
)
