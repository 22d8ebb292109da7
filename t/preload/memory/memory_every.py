#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""memory_every.py REPLAY ADDRESS WINDOWS: checks each window of the replay (regtrace skel replay).
A window that opens must write the elements of the array that the program still had to write
then. A window that closes must write those that the program had written until then.

Exceptions:
- The last element before a close may be missing if the replay says that the window is cut off.
- The elements that come next in the basic block in which a window closes may be there.
- A window that opens where the last one left the middle of a block may begin after that block's
  instruction.

WINDOWS (by memory_every.c) has a line for each window: open or close, the part's first element,
the element that was next, the element after the part's last, how many instructions the part had
executed, and the address of the instruction. Prints what it has found."""
import sys

replay, base = sys.argv[1], int(sys.argv[2], 16)
windows = [line.split() for line in open(sys.argv[3])]
elements, cut = [[] for _ in windows], [False] * len(windows)
now, names = None, {}
for line in open(replay):
    if line[0] == "#":
        if " window " in line:
            thread, name = (
                line.split(f" {what} ")[1].split(",")[0] for what in ("thread", "window")
            )
            if thread != "0":
                now = None
                continue
            now = names.setdefault(name, len(names))
            cut[now] = cut[now] or "cut off" in line  # a handler has its own segment
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
    elif (
        n > 0
        and windows[n - 1][0] == "close"
        and cut[n - 1]
        and found
        and found[0] in (begins + 1, begins + 2)
    ):
        between = max(between, found[0] - begins)
        begins = found[0]
    if found != list(range(begins, ends)):
        wrong += 1
        shown += (
            f"\n{way}, {k} instructions into the part, at {at}, elements {begins} to {ends} were "
            f"to be written: {found}"
        )
print(
    f"{len(windows)} windows, {sum(map(len, elements))} elements, at most {missing} missing and "
    f"{more} more at the end,"
    f" {between} between two, {wrong} wrong{shown[:2000]}"
)
