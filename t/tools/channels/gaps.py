#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares the channels of t/tools/channels/gap.c with what they must show, derived by hand.

usage: gaps.py DIR, where DIR holds channels.h5. Prints a line for each channel: ok, or what
differs."""
import sys

import h5py

UNKNOWN = 666
OUTSIDE = 888888888  # shown outside windows: not recorded
CALL = 7 + 1  # function N is shown as N + 1

with h5py.File(f"{sys.argv[1]}/rank-00000.h5", "r") as f:
    events = f["events"][:]
    names = {int(r["code"]): r["name"].decode() for r in f["functions"][:]}
    c = f["calibration"][:]
    rate = (int(c["monotonic_ns"][-1]) - int(c["monotonic_ns"][0])) / (int(c["ticks"][-1]) - int(c["ticks"][0]))
first = int(events["clock"][0])
times = [(int(e["clock"]) - first) * rate for e in events]
rows = [names.get(int(e["code"]), "MPI") for e in events]
gaps = [(times[i] - int(events[i]["b"]) * rate, times[i]) for i, n in enumerate(rows) if n == "EV_DROPPED"]


def at(name, number=0):
    """Returns the time of the event with this name and number, counted from 0, since the first
    event."""
    return times[[i for i, n in enumerate(rows) if n == name][number]]


calls = [t for t, n in zip(times, rows) if n.startswith("MPI_")]
enters = [at("EV_FUNCTION_ENTER", i) for i in range(2)]
leaves = [at("EV_FUNCTION_LEAVE", i) for i in range(3)]
opens = [at("EV_WINDOW_OPEN", i) for i in range(2)]
closes = [at("EV_WINDOW_CLOSE", i) for i in range(2)]
(a, b), (c, d) = gaps
WANT = {
    # Functions are numbered in the order in which they come: 1, and after the gap 2. What lies
    # below function 2 on the stack is unknown, and shown as 0 (nothing).
    "func.name": [(0, OUTSIDE), (opens[0], 0), (enters[0], 1), (a, UNKNOWN), (enters[1], 2), (leaves[1], 0), (closes[0], OUTSIDE),
                  (opens[1], 0), (c, UNKNOWN), (closes[1], OUTSIDE)],
    # The leave of a call that was entered in the gap says that nothing is open now.
    "mpi.function": [(0, OUTSIDE), (opens[0], 0), (calls[0], CALL), (a, UNKNOWN), (calls[1], 0), (closes[0], OUTSIDE), (opens[1], 0),
                     (c, UNKNOWN), (calls[2], CALL), (calls[3], 0), (closes[1], OUTSIDE)],
    # 14: not recorded; 1: running; 0: unknown.
    "mpi.activity": [(opens[0], 1), (calls[0], "call"), (a, 14), (b, 0), (calls[1], 1), (closes[0], 14), (opens[1], 1), (c, 14), (d, 0),
                     (calls[2], "call"), (calls[3], 1), (closes[1], 14)],
    "region.window": [(opens[0], 1), (closes[0], 0), (opens[1], 2), (c, UNKNOWN), (d, 3), (closes[1], 0)],
    "region.pcontrol": [(at("EV_MPI_PCONTROL"), 1), (a, UNKNOWN)],
    "region.name": [(at("EV_REGION_BEGIN"), 1), (c, UNKNOWN), (closes[1], 0)],
}
with h5py.File(f"{sys.argv[1]}/channels.h5", "r") as f:
    for name, want in WANT.items():
        got = [(int(r["time"]), int(r["state"])) for r in f[f"channels/thread/{name}"][:]]
        got = [g for i, g in enumerate(got) if i > 0 or g[1] != 0]
        if name == "mpi.activity":
            got = got[1:] if got[0] == (0, 14) else got
        if got and got[-1][1] == UNKNOWN and name not in ("region.pcontrol",):
            got = got[:-1]  # the thread is dead
        same = len(got) >= len(want) and all(abs(g[0] - w[0]) < 1000 and (g[1] == w[1] or w[1] == "call" and g[1] > 1) for g, w in zip(got, want))
        print(name, "ok" if same else f"got {got} want {[(round(t), v) for t, v in want]}")
