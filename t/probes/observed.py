# SPDX-License-Identifier: BSD-3-Clause
"""Compares windows with what an observer saw, in the same clock.

Arguments: a run's file, and a file with a line `last clean c c2, first clean c c2, writing` for
each call."""

import sys

import h5py

calls = [[int(v) for v in line.split()] for line in open(sys.argv[2])]
with h5py.File(sys.argv[1], "r") as f:
    windows = sorted((int(w["start_clock"]), int(w["stop_clock"])) for w in f["windows"][:] if w["thread"] == 0)
    own = {int(t["thread"]): int(t["own_ticks"]) for t in f["threads"][:]}[0]
assert len(windows) == len(calls) > 0, (len(windows), len(calls))
# An observation between c and c2 that lies within a window found a function without its probe.
early = sum(start < c and c2 < stop for (start, stop), (c, c2, *_) in zip(windows, calls))
late = sum(c2 < stop for (_, stop), (_, _, _, c2, _) in zip(windows, calls))
writing = sum(call[4] for call in calls)
print(f"begun before its probes were in: {early}; closed after they went: {late}")
print("own overhead has the writing" if own >= writing else f"own overhead {own}, writing took at least {writing}")
