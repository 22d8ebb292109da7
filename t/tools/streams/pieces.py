#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares /pieces of rank files with their /events, by h5py and the rules of schema.md alone.

usage: pieces.py FILE...
           prints a line for each file: "closed 1200 of 1200 events in 31 pieces of 5 threads"
       pieces.py FILE without|torn|lie
           changes it. without: removes the table; torn: changes `rows` of one row;
           lie: changes the thread of one row, and its check
"""
import sys

import h5py
import numpy as np

LONGEST = 65536


def check_of(p):
    total = 1
    for word in (int(p["thread"]) % 2**32, int(p["row"]), int(p["rows"]), int(p["first_clock"]), int(p["last_clock"])):
        total = (total ^ word) * 0x9E3779B97F4A7C15 % 2**64
        total ^= total >> 32
    return total % 2**32


def wanted(events):
    """Yields (thread, row, rows, first clock, last clock) of each sequence of one thread's events,
    split at LONGEST."""
    edges = [0, *(np.flatnonzero(np.diff(events["thread"])) + 1).tolist(), len(events)]
    for low, high in zip(edges, edges[1:]):
        for first in range(low, high, LONGEST):
            last = min(first + LONGEST, high) - 1
            yield (int(events["thread"][first]), first, last - first + 1,
                   int(events["clock"][first]), int(events["clock"][last]))


def look(path):
    try:
        f = h5py.File(path, "r")
    except OSError:
        f = h5py.File(path, "r", libver="latest", swmr=True)
    with f:
        # Read /pieces first: what the writer adds between the two reads is then not missed.
        pieces = f["pieces"][:]
        f["events"].refresh()
        events, state = f["events"][:], f.attrs["state"].split(b"\0")[0].decode()
    found = [tuple(int(p[n]) for n in ("thread", "row", "rows", "first_clock", "last_clock")) for p in pieces]
    want = list(wanted(events))
    if state == "open":
        want = want[:len(found)]
    covered = sum(p[2] for p in found)
    good = found == want and all(check_of(p) == int(p["check"]) for p in pieces)
    # An open file may lack the events that were written last, and the last sequence.
    if state == "open":
        good = good and covered <= len(events)
    print(f"{state} {covered} of {len(events)} events in {len(found)} pieces of {len({p[0] for p in found})} threads"
          f"{'' if good else ': WRONG'}")
    return good


def change(path, how):
    with h5py.File(path, "r+") as f:
        if how == "without":
            del f["pieces"]
            return True
        at = len(f["pieces"]) // 2
        row = f["pieces"][at]
        if how == "torn":
            row["rows"] += 1
        else:
            row["thread"] += 1
            row["check"] = check_of(row)
        f["pieces"][at] = row
    return True


if len(sys.argv) == 3 and sys.argv[2] in ("without", "torn", "lie"):
    change(*sys.argv[1:])
    sys.exit(0)
sys.exit(not all([look(path) for path in sys.argv[1:]]))
