# SPDX-License-Identifier: BSD-3-Clause
"""Makes a run of N ranks by hand: a halo exchange and a barrier in three windows, with rank 1 late.
For plots and tests."""

import os
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import handmade as hm  # noqa: E402

MS = 2_000_000  # ticks


def one_rank(rank, rng):
    """Returns (events, windows) of a rank. Each call takes a known time."""
    events, windows, clock = [], [], 10_000 + MS
    none = hm.peer_tag(hm.ABSENT, hm.ABSENT)
    for ordinal in range(3):
        opened = clock
        windows.append([ordinal, opened, len(events)])
        events.append(hm.event(clock, hm.code("RW["), window=ordinal, a=ordinal))
        for _ in range(5):
            clock += int(MS * (0.8 + 0.1 * rng.random() + (0.4 if rank == 1 else 0)))
            for function, length, a in (
                (hm.SEND, MS // 10, hm.peer_tag(rank, 4)),
                (hm.RECV, MS // 5, hm.peer_tag(rank, 4)),
                (hm.BARRIER, MS // 4 if rank != 1 else MS // 20, none),
            ):
                events.append(
                    hm.event(clock, hm.mpi(function, True), window=ordinal, a=a, b=1024 | 1 << 48)
                )
                clock += length
                events.append(hm.event(clock, hm.mpi(function, False), window=ordinal))
                clock += 1000
        events.append(hm.event(clock, hm.code("RW]"), window=ordinal, a=ordinal))
        windows[-1] += [clock, len(events) - 1]
        clock += MS
    return events, [
        hm.window(o, 0, start, stop, first, last) for o, start, first, stop, last in windows
    ]


def write_run(folder, size=4):
    os.makedirs(folder, exist_ok=True)
    for rank in range(size):
        events, windows = one_rank(rank, np.random.default_rng(rank))
        hm.write(
            os.path.join(folder, f"rank-{rank:05d}.h5"),
            rank=rank,
            size=size,
            events=events,
            windows=windows,
            threads=[hm.thread(0, 1000)],
        )


if __name__ == "__main__":
    write_run(sys.argv[1], int(sys.argv[2]))
