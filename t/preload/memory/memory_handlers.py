#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""memory_handlers.py LOG REPLAY [-miss]: checks that the replay has, once and in segments of
handlers, what each handler wrote that the program of
t/preload/memory/programs/memory_handlers.c knows to have run in a window.

Prints how many windows and handlers there were, how many of these were nested, and the first
error. -miss: leaves out a write of the first of these handlers, to see whether the check finds
that."""
import collections
import re
import sys

WRITES, ELEMENTS = 5, 4096
arrays, windows = {}, []
for line in open(sys.argv[1]):
    words = line.split()
    if words[0] == "window":
        windows.append((int(words[1]), int(words[2])))
    else:
        arrays[words[0]] = int(words[1], 16)

# Most accesses lie elsewhere: the digits of a page's number tell them apart without a split.
pages = {"%x" % (page + n) for page in (address >> 12 for address in arrays.values()) for n in range(8 * ELEMENTS // 4096 + 1)}
seen = {name: collections.Counter() for name in arrays}
signal, wrong, work = 0, None, 0
for line in open(sys.argv[2]):
    if line[0] == "#":
        if " window " in line:
            found = re.search(r"in a handler of signal (\d+)", line)
            signal = int(found[1]) if found else 0
        continue
    work += signal == 0
    if line[line.rindex(" ") + 1:-4] not in pages:
        continue
    pc, kind, size, address = line.split()
    for name, expected in (("ticked", 14), ("nested", 10)):
        offset = int(address, 16) - arrays[name]
        if kind != "R" and 0 <= offset < 8 * ELEMENTS:
            seen[name][offset // 8] += 1
            if "-miss" in sys.argv and windows and (name, offset // 8) == ("ticked", windows[0][0] % ELEMENTS):
                sys.argv.remove("-miss")
                seen[name][offset // 8] -= 1
            if signal != expected and wrong is None:
                wrong = "%s %d is in a segment of signal %d" % (name, offset // 8, signal)

handlers = inner = 0
for first, last in windows:
    for n in range(first, last + 1):
        handlers += 1
        if seen["ticked"][n % ELEMENTS] != WRITES:
            wrong = wrong or "handler %d wrote %d times" % (n, seen["ticked"][n % ELEMENTS])
        if seen["nested"][n % ELEMENTS] not in (0, WRITES):
            wrong = wrong or "the handler in %d wrote %d times" % (n, seen["nested"][n % ELEMENTS])
        inner += seen["nested"][n % ELEMENTS] != 0
if work == 0:
    wrong = wrong or "nothing but handlers"
print("%d windows, %d handlers, %d nested%s" % (len(windows), handlers, inner, ": " + wrong if wrong else ""))
sys.exit(wrong is not None)
