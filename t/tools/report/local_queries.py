#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes a synthetic run of one rank and one window, with h5py; no program was run for it.

usage: local_queries.py DIR NAME=NS..., for instance MPI_Barrier=1000 MPI_Wtime=20 MPI_Wtime=20:
the MPI calls of the window, one after the other, and how long each takes."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "share"))
import numpy as np  # noqa: E402
import handmade as hm  # noqa: E402

START = 1000  # ticks of 0.5 ns
ATTRIBUTES = {
    "boot_id": "synthetic",
    "stream": "",
    "fired_total": np.uint64(0),
    "ignored_total": np.uint64(0),
    "host": "synthetic",
}


def main():
    folder, calls = sys.argv[1], [call.split("=") for call in sys.argv[2:]]
    numbers = {name: 20 + i for i, name in enumerate(sorted({name for name, _ in calls}))}
    hm.NAMES.update({number: name for name, number in numbers.items()})
    os.makedirs(folder)
    clock = begin = START + 5000
    events = [hm.event(clock, hm.code("RW["), a=1 << 33)]
    for name, ns in calls:
        clock += 600
        events.append(hm.event(clock, hm.mpi(numbers[name], True)))
        clock += 2 * int(ns)
        events.append(hm.event(clock, hm.mpi(numbers[name], False)))
    clock += 100
    events.append(hm.event(clock, hm.code("RW]")))
    hm.write(
        os.path.join(folder, "rank-00000.h5"),
        events=events,
        windows=[hm.window(0, 0, begin, clock, 0, len(events) - 1, reason=0)],
        threads=[hm.thread(0, START, clock, rows=len(events), recorded=len(events), state=3)],
        start_ticks=START,
        attributes=ATTRIBUTES,
    )


main()
