# SPDX-License-Identifier: BSD-3-Clause
"""Compares windows with what an observer of the functions' code saw, in the same clock.

Arguments: a run's file, and a file with five numbers on a line for each call. The first two are
the clock before and after the last look that found a function without its probe. The next two
are those of the first such look after the call. The fifth is how long writing the probes took."""

import sys

import h5py

calls = [[int(v) for v in line.split()] for line in open(sys.argv[2])]
with h5py.File(sys.argv[1], "r") as f:
    windows = sorted(
        (int(w["start_clock"]), int(w["stop_clock"])) for w in f["windows"][:] if w["thread"] == 0
    )
    own = {int(t["thread"]): int(t["own_ticks"]) for t in f["threads"][:]}[0]
assert len(windows) == len(calls) > 0, (len(windows), len(calls))
# A look between c and c2 that lies within a window found a function without its probe.
early = sum(start < c and c2 < stop for (start, stop), (c, c2, *_) in zip(windows, calls))
late = sum(c2 < stop for (_, stop), (_, _, _, c2, _) in zip(windows, calls))
writing = sum(call[4] for call in calls)
print(f"begun before its probes were in: {early}; closed after they went: {late}")
print(
    "own overhead has the writing"
    if own >= writing
    else f"own overhead {own}, writing took at least {writing}"
)
