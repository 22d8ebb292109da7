# SPDX-License-Identifier: BSD-3-Clause
"""Writes, with h5py, a run of two ranks whose windows counted given events: no processor has all
these counters.

usage: counted_windows.py DIR EVENT=COUNT...

Each COUNT is the count of one window.

- Rank 0: thread 0 has a window of 2 ms. Thread 1 has a window of 1 ms with a tenth of the counts.
- Rank 1: thread 0 has a window of 3 ms with the same counts as thread 0 of rank 0, and a window
  that was cut off by a kill and counted nothing.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "share"))
import handmade as hm  # noqa: E402
import numpy as np  # noqa: E402

ATTRIBUTES = {
    "boot_id": "synthetic",
    "stream": "",
    "fired_total": np.uint64(0),
    "ignored_total": np.uint64(0),
    "host": "synthetic",
}
if "COUNTED_VALUES" in os.environ:  # an empty value profile of that plug-in
    ATTRIBUTES["values"] = os.environ["COUNTED_VALUES"]
TICKS_PER_MS = 2_000_000  # a tick is 0.5 ns


def main():
    folder, counts = sys.argv[1], [
        (n, int(c)) for n, _, c in (word.rpartition("=") for word in sys.argv[2:])
    ]
    os.makedirs(folder)
    plan = [[(0, 2, 1), (1, 1, 10)], [(0, 3, 1), (0, 9, None)]]  # thread, ms, divisor
    for rank, rows in enumerate(plan):
        events, windows = [], []
        for ordinal, (thread, ms, divisor) in enumerate(rows):
            start, first = 10_000 + ordinal * 40_000_000, len(events)
            stop = start + ms * TICKS_PER_MS
            events.append(
                hm.event(start, hm.code("RW["), thread=thread, window=ordinal, a=ordinal | 1 << 33)
            )
            for i, (_, count) in enumerate(counts if divisor else []):
                events.append(
                    hm.event(
                        stop - 1,
                        hm.code("PCc"),
                        thread=thread,
                        window=ordinal,
                        a=i + 1 | 1000 << 32,
                        b=count // divisor,
                    )
                )
            last = len(events) if divisor else hm.NO_ROW
            if divisor:
                events.append(
                    hm.event(stop, hm.code("RW]"), thread=thread, window=ordinal, a=ordinal)
                )
            windows.append(
                hm.window(
                    ordinal,
                    thread,
                    start,
                    stop,
                    first,
                    last,
                    **({} if divisor else {"truncated": 1, "reason": 254}),
                )
            )
        threads = [hm.thread(t, 1000, 100_000_000, state=3) for t in sorted({r[0] for r in rows})]
        hm.write(
            os.path.join(folder, f"rank-{rank:05d}.h5"),
            rank=rank,
            size=2,
            events=events,
            windows=windows,
            threads=threads,
            strings=[n for n, _ in counts],
            attributes=ATTRIBUTES | {"option.events": ",".join(n for n, _ in counts)},
        )


main()
