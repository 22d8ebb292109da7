#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares the output of `regtrace split` with the run, both read with h5py alone; prints TAP.

usage: split_oracle.py RUN SPLIT
"""
import glob
import os
import sys

import h5py
import numpy as np

NO_ROW = 2**64 - 1
FIRED = ord("R") | ord("F") << 8 | ord("f") << 16
OPEN = ord("R") | ord("W") << 8 | ord("[") << 16
CLOSE = ord("R") | ord("W") << 8 | ord("]") << 16
DROPPED = ord("R") | ord("D") << 8 | ord("d") << 16
AFFINITY = ord("R") | ord("P") << 8 | ord("a") << 16
MPI = (ord("R") | ord("M") << 8 | ord("i") << 16, ord("R") | ord("M") << 8 | ord("f") << 16)  # up, down
KEPT = ("rank", "size", "confirmed", "host", "boot_id", "pid", "parent_pid", "uid", "pid_start_time", "clock_source",
        "nominal_ns_per_tick", "clock_offset_ns", "clock_error_ns", "clock_drift", "program", "end_reason")

count = failed = 0


def ok(passed, name, detail=""):
    global count, failed
    count += 1
    failed += not passed
    print(f"{'' if passed else 'not '}ok {count} - {name}")
    if not passed:
        print(f"# {detail}")


def same_columns(a, b, without):
    names = [n for n in a.dtype.names if n not in without]
    return len(a) == len(b) and all((a[n] == b[n]).all() for n in names)


def runs_on(f, ordinal):
    """Returns the last affinity event of each thread of the window, from before the window or in
    the window."""
    rows, found = f["events"][:], {}
    for w in f["windows"][f["windows"]["ordinal"] == ordinal]:
        mine = rows[(rows["thread"] == w["thread"]) & (rows["code"] == AFFINITY)]
        mine = mine[(mine["clock"] <= w["start_clock"]) | (mine["window"] == ordinal)]
        found[int(w["thread"])] = [(int(e["a"]), int(e["b"])) for e in mine[-1:]]
    return found


def check_events(what, old, new, ordinal):
    want = old["events"][old["events"]["window"] == ordinal]
    rows = new["events"][:]
    extra = rows["window"] != ordinal
    ok(len(want) > 0 and (rows[~extra] == want).all(), f"{what}: the events are the window's, in their order",
       f"{len(want)} {len(rows)}")
    until = int(np.flatnonzero(old["events"]["window"] == ordinal)[-1])
    mpi = [e[np.isin(e["code"], MPI)]["clock"].tolist() for e in (old["events"][: until + 1], rows)]
    ok(mpi[0] == mpi[1], f"{what}: when MPI came up and went down", str(mpi))
    told = np.isin(rows["code"], (AFFINITY, *MPI))
    ok((rows[extra & ~told]["code"] == FIRED).all() and (extra & ~told).sum() <= len(new["windows"]),
       f"{what}: beside them only what opened it", str(rows[extra][:4]))
    ok(runs_on(old, ordinal) == runs_on(new, ordinal), f"{what}: where its threads may run as it opens",
       f"{runs_on(old, ordinal)} {runs_on(new, ordinal)}")
    before = old["events"][: int(np.flatnonzero(old["events"]["window"] == ordinal)[0])]
    known = set(before[before["code"] == AFFINITY]["clock"].tolist())
    carried = [int(r["thread"]) for r in rows[rows["code"] == AFFINITY] if int(r["clock"]) in known]
    ok(len(carried) == len(set(carried)) and set(carried) <= set(want["thread"].tolist()),
       f"{what}: of before that is the last, and nobody else's", str(carried))
    ok(len(new["tail"]) == 0, f"{what}: nothing in the tail")


def check_windows(what, old, new, ordinal):
    want = old["windows"][old["windows"]["ordinal"] == ordinal]
    rows, events = new["windows"][:], new["events"][:]
    ok(len(rows) > 0 and same_columns(want, rows, ("open_row", "close_row")), f"{what}: the rows of /windows", str(rows))
    good = True
    for was, row in zip(want, rows):
        opening = events[int(row["open_row"])]
        good &= opening["code"] == OPEN and opening["thread"] == row["thread"] and opening["clock"] == row["start_clock"]
        if int(was["close_row"]) == NO_ROW:
            good &= int(row["close_row"]) == NO_ROW
            continue
        closing = events[int(row["close_row"])]
        good &= closing["code"] == CLOSE and closing["thread"] == row["thread"] and closing["clock"] == row["stop_clock"]
    ok(good, f"{what}: which point to their events")
    fired = new["fired"][:]
    ok((events[fired["row"].astype(int)]["code"] == FIRED).all() and (events["code"] == FIRED).sum() == len(fired)
       and int(new.attrs["fired_total"]) == len(fired), f"{what}: the rows of /fired")


def check_threads(what, old, new):
    was = {int(t["thread"]): t for t in old["threads"][:]}
    rows, events = new["threads"][:], new["events"][:]
    last = max(int(events["clock"].max()), int(new["windows"]["stop_clock"].max()))
    good = len(rows) == len(set(rows["thread"].tolist())) and set(events["thread"].tolist()) <= set(rows["thread"].tolist())
    for t in rows:
        o, mine = was[int(t["thread"])], events[events["thread"] == t["thread"]]
        ended = int(o["ended"]) if 0 < int(o["ended"]) <= last else last
        good &= all(t[n] == o[n] for n in ("kernel_tid", "name", "start_image", "start_routine", "started"))
        good &= int(t["ended"]) == max(ended, int(t["started"])) and int(t["state"]) == 3 and int(t["rows"]) == len(mine)
        good &= int(t["dropped"]) == int(mine[mine["code"] == DROPPED]["a"].sum())
    ok(good, f"{what}: a row and an end for each thread", str(rows))


def texts(f):
    heap = f["strings"][:].tobytes()
    return {int(r["id"]): heap[int(r["offset"]):int(r["offset"]) + int(r["length"])] for r in f["string_index"][:]}


def check_tables(what, old, new, ordinal):
    ok(texts(old) == texts(new), f"{what}: all strings")
    ok((old["calibration"][:] == new["calibration"][:]).all(), f"{what}: the calibration")
    ok(set(old["functions"]["code"].tolist()) == set(new["functions"]["code"].tolist()), f"{what}: names of codes")
    ok((old["alarms"][:] == new["alarms"][:]).all(), f"{what}: the alarms")
    ok(same_columns(old["comms"][:], new["comms"][:], ("row",)), f"{what}: communicators")
    last = int(new["windows"]["stop_clock"].max())
    maps = old["maps"][old["maps"]["clock"] <= last]
    ok(same_columns(maps, new["maps"][:], ("row",)), f"{what}: images", f"{len(maps)} {len(new['maps'])}")
    kept = [n for n in KEPT if n in old.attrs]
    ok(all(old.attrs[n] == new.attrs[n] for n in kept) and new.attrs["state"].split(b"\0")[0] == b"closed"
       and int(new.attrs["split.window"]) == ordinal, f"{what}: who it was", str(dict(new.attrs)))
    ok(old["metadata"][:].tobytes() in new["metadata"][:].tobytes(), f"{what}: metadata")


def main():
    run, split = sys.argv[1:3]
    files, split_events = 0, 0
    for path in sorted(glob.glob(os.path.join(run, "rank-*.h5"))):
        with h5py.File(path, "r") as old:
            ordinals = sorted(set(old["windows"]["ordinal"].tolist()))
            for ordinal in ordinals:
                name = os.path.join(split, f"window-{ordinal:05d}", os.path.basename(path))
                what = f"{os.path.basename(path)} window {ordinal}"
                if not os.path.exists(name):
                    ok(False, f"{what} is there")
                    continue
                files += 1
                with h5py.File(name, "r") as new:
                    check_events(what, old, new, ordinal)
                    check_windows(what, old, new, ordinal)
                    check_threads(what, old, new)
                    check_tables(what, old, new, ordinal)
                    split_events += int((new["events"]["window"] == ordinal).sum())
            inside = int(np.isin(old["events"]["window"], ordinals).sum())
            ok(split_events == inside, f"{os.path.basename(path)}: no event of a window is lost or there twice",
               f"{split_events} {inside}")
            split_events = 0
    there = len(glob.glob(os.path.join(split, "window-*", "rank-*.h5")))
    ok(files == there and files > 0, "no file more than that", f"{files} {there}")
    print(f"1..{count}")
    return 1 if failed else 0


sys.exit(main())
