#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes synthetic runs of known noise for regtrace diff, with h5py; no program was run for them.

usage: synthetic.py DIR KIND SEED

In each window of each rank: 3 MPI_Barrier of 1000 ns and 2 MPI_Send of 2000 ns and 100 bytes, with
300 ns before each and a noise of 5 % that the seed determines. MPI calls of odd windows take ten
times as long. All times are whole ns.

KIND
  base     2 ranks, 10 windows
  slower   MPI_Barrier takes 1.3 times as long
  larger   MPI_Send has 101 bytes
  more     one MPI_Send more, in window 4 alone
  late     MPI_Barrier takes 40 times as long in window 6 alone
  four     as base, with 4 ranks
  fewer    7 windows, and rank 1 has no window 3
  cut      as base; the process of rank 0 was killed in window 9
  one      one window
  hostile  as base; windows are those of regions with tags of HTML in their names
"""
import os
import random
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
REGION = "</td><script>alert(1)</script> &amp; \"r\""
NONE = hm.peer_tag(hm.ABSENT, hm.ABSENT)


def calls_of(kind, ordinal):
    """Yields function, ns and bytes of each call of a window."""
    barrier = 1300 if kind == "slower" else 40000 if kind == "late" and ordinal == 6 else 1000
    for _ in range(3):
        yield hm.BARRIER, barrier, 0
    for _ in range(3 if kind == "more" and ordinal == 4 else 2):
        yield hm.SEND, 2000, 101 if kind == "larger" else 100


def rank_file(path, kind, noise, rank, size, ordinals):
    events, windows, clock = [], [], START + 5000
    for ordinal in ordinals:
        first, begin = len(events), clock
        events.append(hm.event(clock, hm.code("RW["), window=ordinal, a=ordinal | 1 << 33))
        for function, ns, size_ in calls_of(kind, ordinal):
            clock += 2 * round(300 * noise.gauss(1, 0.05))
            peer = hm.peer_tag(-2, 0) if function == hm.BARRIER else hm.peer_tag(1 - rank % 2, 0)
            events.append(
                hm.event(
                    clock,
                    hm.mpi(function, True),
                    window=ordinal,
                    a=peer if size_ else NONE,
                    b=size_,
                )
            )
            clock += 2 * round(ns * (10 if ordinal % 2 else 1) * noise.gauss(1, 0.05))
            events.append(hm.event(clock, hm.mpi(function, False), window=ordinal))
        clock += 100
        killed = kind == "cut" and rank == 0 and ordinal == ordinals[-1]
        if not killed:
            events.append(hm.event(clock, hm.code("RW]"), window=ordinal, a=ordinal))
        windows.append(
            hm.window(
                ordinal,
                0,
                begin,
                clock,
                first,
                hm.NO_ROW if killed else len(events) - 1,
                truncated=killed,
                reason=254 if killed else 0,
                region=kind == "hostile",
            )
        )
        clock += 1000
    thread = hm.thread(0, START, clock, rows=len(events), recorded=len(events), state=3)
    hm.write(
        path,
        rank=rank,
        size=size,
        events=events,
        windows=windows,
        threads=[thread],
        start_ticks=START,
        attributes=ATTRIBUTES,
        strings=[REGION] if kind == "hostile" else [],
    )


def main():
    folder, kind, seed = sys.argv[1:4]
    os.makedirs(folder, exist_ok=True)
    noise = random.Random(int(seed))
    size = 4 if kind == "four" else 2
    for rank in range(size):
        ordinals = range(7) if kind == "fewer" else range(1) if kind == "one" else range(10)
        ordinals = [o for o in ordinals if not (kind == "fewer" and rank == 1 and o == 3)]
        rank_file(os.path.join(folder, f"rank-{rank:05d}.h5"), kind, noise, rank, size, ordinals)


main()
