#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""memory.py PROGRAM LOG REPLAY: checks that the replay (regtrace skel replay) has, for each thread
and in order, the accesses of work() that t/preload/memory/programs/memory_basic logged.

A line "array ADDRESS" in the log: checks the accesses to `array` instead, by any function.
Prints how many windows, calls and accesses there were, or the first difference."""
import re
import subprocess
import sys

program, log, replay = sys.argv[1:4]
symbols = {}
for line in subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True).stdout.splitlines():
    words = line.split()
    if len(words) == 4:
        symbols[words[3]] = (int(words[0], 16), int(words[1], 16))

threads, windows, state, bias = {}, set(), None, None
segments = []
for line in open(replay):
    if line[0] != "#":
        state.append(line.split())
        continue
    head = re.match(r"# rank .* thread (\d+), window (\d+), (\d+) bytes(.*)", line)
    if head:
        windows.add((head[1], head[2]))
        state = threads.setdefault(int(head[1]), [])
        segments.append(re.sub(r"^, in a handler of signal \d+", "", head[4]))

expected, array = {}, None
for line in open(log):
    if line.startswith("array "):
        array = int(line.split()[1], 16)
        continue
    thread, address, count, stride = line.split()
    expected.setdefault(int(thread), []).append((int(address, 16), int(count), int(stride)))

total = calls = 0
for thread, list_of_calls in sorted(expected.items()):
    # The program is loaded at an unknown multiple of the page size, so addresses of work() are
    # compared modulo 4096.
    at, size = symbols.get("work", (0, 0))
    extent = symbols["array" if array else "arrays"][1]
    got = [a for a in threads.get(thread, []) if 0 <= int(a[3], 16) - array < extent] if array else \
          [a for a in threads.get(thread, [])
           if (int(a[0], 16) - at) % 4096 < size and abs(int(a[3], 16) - list_of_calls[0][0]) < extent]
    reads = [int(a[3], 16) for a in got if a[1] in "RM"]
    writes = [int(a[3], 16) for a in got if a[1] in "WM"]
    want = [address + 8 * stride * i for address, count, stride in list_of_calls for i in range(count)]
    for what, have in ("reads", reads), ("writes", writes):
        if have != want:
            first = next((i for i, (x, y) in enumerate(zip(have, want)) if x != y), min(len(have), len(want)))
            sys.exit("thread %d: %d %s, %d expected, the first that differs is %d" % (thread, len(have), what, len(want), first))
    total += 2 * len(want)
    calls += len(list_of_calls)
print("%d windows, %d calls, %d accesses, ended early: %d" % (len(windows), calls, total, sum(s != "" for s in segments)))
