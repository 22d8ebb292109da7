#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes synthetic runs with known totals for tests of the tools, with h5py; no program was run for
them.

usage: synthetic_windows.py DIR KIND

KIND (all: rank 0, a tick is 0.5 ns, MPI calls are MPI_Barrier of known length):
  uniform     thread 0 executed 1,000,000 instructions in 4 ms; a uniform alarm opened 4 windows
              of 10,000 instructions
  weights     thread 0 executed 10,000,000; regions 1, 2, 3 of weight 0.5, 0.3, 0.2, and a warm-up
              window of region 1
  multipliers threads 0 and 1; two global regions of multiplier 40 and 60
  uncounted   as uniform, but nobody counted the thread's instructions
  phases      as uniform, but MPI_Pcontrol opened the windows
  truncated   as uniform, and the program was killed in the last window
  whole       the same program recorded from start to end: 100 calls, 250,000 ns
  count       a counting run: no window, thread 0 executed 1,000,000
  TOTALS      as count, for plan: the instructions of each thread; commas separate ranks, +
              separates the threads of a rank. A trailing ! after a rank: the rank was killed. A
              trailing ? after a thread: the thread did not end.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "share"))
import numpy as np  # noqa: E402
import handmade as hm  # noqa: E402

START, LIFE = 1000, 8_000_000  # ticks
CALL = 2000  # ticks of the first window's calls
ATTRIBUTES = {
    "boot_id": "synthetic",
    "stream": "",
    "fired_total": np.uint64(0),
    "ignored_total": np.uint64(0),
    "host": "synthetic",
}
NONE = hm.peer_tag(hm.ABSENT, hm.ABSENT)


class Rank:
    def __init__(self):
        self.events, self.windows, self.clock = [], [], START + 5000

    def window(self, ordinal, ticks, icount, calls, call_ticks, thread=0, clock=None, **other):
        """Adds a window of `ticks` ticks and (first, last) instructions, with `calls` calls of
        call_ticks each."""
        clock = self.clock if clock is None else clock
        first, begin = len(self.events), clock
        self.events.append(
            hm.event(begin, hm.code("RW["), thread=thread, window=ordinal, a=ordinal | 1 << 33)
        )
        for _ in range(calls):
            clock += 10
            self.events.append(
                hm.event(clock, hm.mpi(hm.BARRIER, True), thread=thread, window=ordinal, a=NONE)
            )
            clock += call_ticks
            self.events.append(
                hm.event(clock, hm.mpi(hm.BARRIER, False), thread=thread, window=ordinal)
            )
        end = begin + ticks
        assert clock <= end
        last = hm.NO_ROW
        if not other.get("truncated"):
            last = len(self.events)
            self.events.append(
                hm.event(end, hm.code("RW]"), thread=thread, window=ordinal, a=ordinal)
            )
        self.windows.append(
            hm.window(
                ordinal,
                thread,
                begin,
                end,
                first,
                last,
                start_icount=icount[0],
                stop_icount=icount[1],
                **other,
            )
        )
        self.clock = end + 1000


def threads(rank, totals, **other):
    rows = []
    for tid, total in enumerate(totals):
        mine = sum(1 for e in rank.events if e["thread"] == tid)
        rows.append(
            hm.thread(
                tid,
                START,
                START + LIFE,
                rows=mine,
                recorded=mine,
                state=3,
                instructions=total,
                **other,
            )
        )
    return rows


def alarm(kind, text):
    return [(0, 0, 0, b"start", kind, text)]


def uniform(kind):
    """Makes 4 windows of 50,000 ns. Window i has 5 * (i + 1) calls of 500 * (i + 1) ns."""
    rank = Rank()
    for i in range(4):
        killed = kind == "truncated" and i == 3
        rank.window(
            i,
            100_000,
            (250_000 * i, 250_000 * i + 10_000),
            5 * (i + 1),
            1000 * (i + 1),
            start_alarm=0,
            chain=0,
            truncated=killed,
            reason=254 if killed else 0,
        )
    texts = (
        (b"pcontrol", b"start:pcontrol:solve")
        if kind == "phases"
        else (b"uniform", b"uniform:250000:10000:4")
    )
    return rank, [0 if kind == "uncounted" else 1_000_000], alarm(*texts), ()


def weights():
    """Makes region r: 100,000 instructions in r * 100,000 ns, with 10 * r calls of 1000 ns."""
    rank = Rank()
    rank.window(0, 50_000, (0, 50_000), 7, 2000, kind=1, region=1, weight=0.5)
    for r, weight in ((1, 0.5), (2, 0.3), (3, 0.2)):
        rank.window(
            r,
            200_000 * r,
            (1_000_000 * r, 1_000_000 * r + 100_000),
            10 * r,
            2000,
            region=r,
            weight=weight,
        )
    return rank, [10_000_000], (), ("1", "2", "the third")


def multipliers():
    """Makes two global regions of 10,000 ns.

    In each, thread t executes 1000 * (t + 1) instructions and makes one call of 500 ns."""
    rank = Rank()
    for r, multiplier in ((0, 40.0), (1, 60.0)):
        at = rank.clock
        for tid in (0, 1):
            rank.window(
                r,
                20_000,
                (5000 * r, 5000 * r + 1000 * (tid + 1)),
                1,
                1000,
                thread=tid,
                clock=at,
                bcast=1,
                firing=1 - tid,
                region=r + 1,
                weight=0.5,
                multiplier=multiplier,
            )
    return rank, [101_000, 199_000], (), ("a", "b")


def whole():
    rank = Rank()
    rank.window(0, 7_000_000, (-1, -1), 100, 5000, reason=1)
    return rank, [0], (), ()


def one(folder, kind):
    rank, totals, alarms, strings = (
        weights()
        if kind == "weights"
        else multipliers()
        if kind == "multipliers"
        else whole()
        if kind == "whole"
        else (Rank(), [1_000_000], (), ())
        if kind == "count"
        else uniform(kind)
    )
    hm.write(
        os.path.join(folder, "rank-00000.h5"),
        events=rank.events,
        windows=rank.windows,
        alarms=alarms,
        strings=strings,
        threads=threads(rank, totals),
        start_ticks=START,
        attributes=ATTRIBUTES | ({"end_reason": "killed"} if kind == "truncated" else {}),
    )


def totals(folder, text):
    ranks = text.split(",")
    for number, spec in enumerate(ranks):
        killed, rank = spec.endswith("!"), Rank()
        rows = []
        for tid, count in enumerate(spec.rstrip("!").split("+")):
            lives = count.endswith("?")
            rows.append(
                hm.thread(
                    tid,
                    START,
                    0 if lives else START + LIFE,
                    state=2 if lives else 3,
                    instructions=int(count.rstrip("?")),
                )
            )
        hm.write(
            os.path.join(folder, f"rank-{number:05d}.h5"),
            rank=number,
            size=len(ranks),
            events=rank.events,
            windows=(),
            threads=rows,
            start_ticks=START,
            attributes=ATTRIBUTES
            | {"end_reason": "killed" if killed else "finished", "option.count": "1"},
        )


def main():
    folder, kind = sys.argv[1:3]
    os.makedirs(folder, exist_ok=True)
    if kind[0].isdigit():
        totals(folder, kind)
    else:
        one(folder, kind)


main()
