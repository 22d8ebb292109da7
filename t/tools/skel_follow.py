#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares `regtrace skel replay -follow` with a replay after the run: the same accesses of each
thread, in the same order?

usage: skel_follow.py FOLLOWED REPLAYED. In FOLLOWED, each line begins with the time at which it
came. Prints the number of accesses, windows and threads."""
import re
import sys


def read(path, timed):
    threads, windows, current, first, last = {}, {}, None, None, None
    for line in open(path):
        if timed:
            time, line = line.split(" ", 1)
            first, last = first or float(time), float(time)
        head = re.match(r"# rank (-?\d+), pid (\d+), thread (\d+), window (-?\d+)", line)
        if head:
            handler = re.search(r"in a handler of signal (\d+)", line)
            key = (int(head[1]), int(head[2]), int(head[3])) + ((int(handler[1]),) if handler else ())
            current = threads.setdefault(key, [])
            if "continued" not in line:
                current.append("window " + head[4])
                windows[key] = head[4]
            assert windows[key] == head[4], "%s: window %s goes on in %s" % (key, head[4], windows[key])
        elif line.startswith("#"):
            current.append("end " + " ".join(line.replace(",", "").split()[:6]))
        else:
            current.append(line)
    return threads, first, last


followed, first, last = read(sys.argv[1], True)
replayed, _, _ = read(sys.argv[2], False)
assert followed.keys() == replayed.keys(), (followed.keys(), replayed.keys())
for key in replayed:
    for n, (a, b) in enumerate(zip(followed[key], replayed[key])):
        assert a == b, "%s: %d: %s, not %s" % (key, n, a, b)
    assert len(followed[key]) == len(replayed[key]), key
everything = [x for list_of in replayed.values() for x in list_of]
print("%d accesses, %d windows, %d threads" % (sum(x[0] not in "we" or not re.match("window|end", x) for x in everything),
                                               sum(x.startswith("window") for x in everything), len(replayed)))
