#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares `regtrace skel replay -follow` with a replay after the run: the same accesses of each
thread, in the same order?

usage: skel_follow.py FOLLOWED REPLAYED. Prints the number of accesses, windows and threads."""
import re
import sys


def read(path):
    """Returns the accesses, windows and ends of each thread in order; counts what it reads."""
    threads, windows, current, accesses = {}, {}, None, 0
    for line in open(path):
        if line[0] != "#":
            current.append(line)
            accesses += 1
            continue
        head = re.match(r"# rank (-?\d+), pid (\d+), thread (\d+), window (-?\d+)", line)
        if head:
            handler = re.search(r"in a handler of signal (\d+)", line)
            key = (int(head[1]), int(head[2]), int(head[3])) + (
                (int(handler[1]),) if handler else ()
            )
            current = threads.setdefault(key, [])
            if "continued" not in line:
                current.append("window " + head[4])
                windows[key] = head[4]
            assert windows[key] == head[4], "%s: window %s goes on in %s" % (
                key,
                head[4],
                windows[key],
            )
        else:
            current.append("end " + " ".join(line.replace(",", "").split()[:6]))
    return threads, accesses


followed, _ = read(sys.argv[1])
replayed, accesses = read(sys.argv[2])
assert followed.keys() == replayed.keys(), (followed.keys(), replayed.keys())
for key in replayed:
    if followed[key] != replayed[key]:
        for n, (a, b) in enumerate(zip(followed[key], replayed[key])):
            assert a == b, "%s: %d: %s, not %s" % (key, n, a, b)
    assert len(followed[key]) == len(replayed[key]), key
print(
    "%d accesses, %d windows, %d threads"
    % (accesses, sum(x.startswith("window") for l in replayed.values() for x in l), len(replayed))
)
