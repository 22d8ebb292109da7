# SPDX-License-Identifier: BSD-3-Clause
"""Compares profiles of MPI calls with the program's own log and with events, by h5py alone.

usage: profiled_calls.py log RUN LOG | events RUN | calls RUN FUNCTION

log: LOG.RANK.THREAD has lines "FUNCTION LINE", one a call; prints what differs, then "N calls
compared". events: all calls are in windows too; prints what differs, then "N sums compared". calls:
prints the calls of a function, its call paths, and the calls without a path."""
import collections
import glob
import os
import sys

import h5py

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "stack"))
from call_sites import lines_of  # noqa: E402


def files(run):
    for name in sorted(glob.glob(os.path.join(run, "rank-*.h5"))):
        with h5py.File(name) as f:
            yield f, {int(r["code"]): r["name"].split(b"\0")[0].decode() for r in f["functions"][:]}


def sound(rows, times):
    """Every row agrees with itself, and its times with it."""
    by_row = collections.defaultdict(int)
    for t in times:
        by_row[int(t["row"])] += int(t["calls"])
    for i, r in enumerate(rows):
        if (
            not int(r["min_ticks"]) * int(r["calls"])
            <= int(r["ticks"])
            <= int(r["max_ticks"]) * int(r["calls"])
        ):
            print("row", i, "has impossible times:", r)
        if by_row[i] != int(r["calls"]):
            print("row", i, "has", r["calls"], "calls, its times", by_row[i])
    for t in times:
        r = rows[int(t["row"])]
        low, high = 2 ** int(t["power"]), 2 ** (int(t["power"]) + 1)
        if int(r["max_ticks"]) < low or int(r["min_ticks"]) >= high:
            print("row", t["row"], "has no call of power", t["power"])


def compare_log(run, log):
    compared = 0
    for f, names in files(run):
        rank, rows, lines = int(f.attrs["rank"]), f["mpi_profile"][:], lines_of(f)
        sound(rows, f["mpi_profile_times"][:])
        got = collections.Counter()
        for r in rows:
            got[int(r["thread"]), names[int(r["code"])], lines[int(r["path"])]] += int(r["calls"])
        for thread in (0, 1):
            try:
                with open(f"{log}.{rank}.{thread}", encoding="ascii") as file:
                    want = collections.Counter(
                        (thread, w[0], int(w[1])) for w in map(str.split, file)
                    )
            except FileNotFoundError:
                continue
            for key, n in want.items():
                compared += n
                if got[key] != n:
                    print(
                        f"rank {rank}: thread, function, line {key}: logged {n} calls, the profile "
                        f"has {got[key]}"
                    )
    print(compared, "calls compared")


def compare_events(run):
    compared = 0
    for f, names in files(run):
        calls, ticks = collections.Counter(), collections.Counter()
        amount, stacks = collections.Counter(), collections.defaultdict(list)
        for e in f["events"][:]:
            code, thread = int(e["code"]), int(e["thread"])
            model, category = chr(code & 0xFF), chr(code >> 8 & 0xFF)
            if model != "M" or category not in "EeBLlD":
                continue
            if category in "EeB":
                stacks[thread].append(e)
                continue
            enter = stacks[thread].pop()
            if stacks[thread]:
                continue
            known = int(enter["b"]) if e["flags"] & 0x40 or not e["b"] else int(e["b"])
            key = (names[code], known >> 48)
            calls[key] += 1
            to_nobody = int(enter["a"]) & 0xFFFFFFFF == 0xFFFFFFFE  # MPI_PROC_NULL
            amount[key] += 0 if to_nobody else known & (2**48 - 1)
            ticks[key] += int(e["clock"]) - int(enter["clock"])
        rows = f["mpi_profile"][:]
        got, got_bytes, got_ticks = (
            collections.Counter(),
            collections.Counter(),
            collections.Counter(),
        )
        for r in rows:
            key = (names[int(r["code"])], int(r["comm"]))
            if not r["nested"]:
                got[key] += int(r["calls"])
                got_bytes[key] += int(r["bytes"])
                got_ticks[key] += int(r["ticks"])
        for key in calls | got:
            compared += 1
            if (calls[key], amount[key]) != (got[key], got_bytes[key]):
                print(
                    f"rank {f.attrs['rank']}: {key}: events have {calls[key]} calls and "
                    f"{amount[key]} bytes, "
                    f"the profile has {got[key]} and {got_bytes[key]}"
                )
            if got_ticks[key] < ticks[key]:
                print(
                    f"rank {f.attrs['rank']}: {key}: the profile has {got_ticks[key]} ticks, "
                    f"events have {ticks[key]}"
                )
    print(compared, "sums compared")


def calls_of(run, function):
    n, paths, without, lost = 0, set(), 0, 0
    for f, names in files(run):
        for r in f["mpi_profile"][:]:
            lost += int(r["calls"]) if r["code"] == 0 else 0
            if names.get(int(r["code"])) == function:
                n += int(r["calls"])
                paths.add(int(r["path"]))
                without += int(r["calls"]) if r["path"] == 0 else 0
    print(n, len(paths - {0}), without, lost)


{"log": compare_log, "events": compare_events, "calls": calls_of}[sys.argv[1]](*sys.argv[2:])
