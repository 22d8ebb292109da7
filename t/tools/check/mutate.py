#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Breaks invariants of a closed rank file, each in a copy of its run, for the test of `regtrace check`.

usage: mutate.py RUN FILE OUT WHICH...; the copies are OUT/WHICH. Says which were not made, and why.
"""
import os
import shutil
import sys

import h5py
import numpy as np


def rows_named(f, name, label=None):
    codes = [int(r["code"]) for r in f["functions"][:]
             if r["name"].split(b"\0")[0].decode() == name and
             (label is None or r["label"].split(b"\0")[0].decode() == label)]
    return np.nonzero(np.isin(f["events"]["code"], codes))[0]


def whole(data):
    """Recomputes the checksum of a row of /pieces."""
    total = 1
    for name in ("thread", "row", "rows", "first_clock", "last_clock"):
        total = (total ^ int(data[name])) * 0x9E3779B97F4A7C15 % 2**64
        total ^= total >> 32
    data["check"] = total % 2**32


def field(f, table, row, name, value, then=None):
    data = f[table][row]
    data[name] = value
    if then is not None:
        then(data)
    f[table][row] = data


def cut(f, table, n):
    f[table].resize((len(f[table]) - n,))


def add(f, table, **values):
    f[table].resize((len(f[table]) + 1,))
    row = f[table][len(f[table]) - 1]
    for name, value in values.items():
        row[name] = value
    f[table][len(f[table]) - 1] = row


def swap(f, table, one, other):
    rows = f[table][one], f[table][other]
    f[table][other], f[table][one] = rows


def recode(f, at, name, label):
    """Gives the event the code of an event with this name and label."""
    code = f["events"][int(rows_named(f, name, label)[0])]["code"]
    field(f, "events", int(at), "code", int(code))


def skip_ordinals(f, n):
    """Raises the ordinal of the last window by n, in all tables."""
    last = len(f["windows"]) - 1
    old = int(f["windows"][last]["ordinal"])
    field(f, "windows", last, "ordinal", old + n)
    events = f["events"][:]
    for name in ("open_row", "close_row"):
        events["a"][int(f["windows"][last][name])] += n
    events["window"][events["window"] == old] = old + n
    f["events"][:] = events


def killed(f):
    """Makes the file look as if the process was killed: no thread ended before the process."""
    for i in range(len(f["threads"])):
        field(f, "threads", i, "ended", 0)
    f.attrs.modify("end_reason", np.array(b"killed", dtype=f.attrs.get_id("end_reason").dtype))


MUTATIONS = {
    "skipped": lambda f: skip_ordinals(f, 1),
    "skipped-killed": lambda f: (skip_ordinals(f, 1), killed(f)),
    "skipped-more-killed": lambda f: (skip_ordinals(f, 1 + len(f["threads"])), killed(f)),
    "ordinals": lambda f: field(f, "windows", 1, "ordinal", 77),
    "no-stop": lambda f: field(f, "windows", 0, "close_row", 2**64 - 1),
    "open-reason": lambda f: field(f, "windows", 0, "reason", 255),
    "stop-before-start": lambda f: field(f, "windows", 0, "stop_clock", int(f["windows"][0]["start_clock"]) - 5),
    "wrong-open-row": lambda f: field(f, "windows", 0, "open_row", int(f["windows"][0]["open_row"]) + 1),
    "overlap": lambda f: field(f, "windows", 0, "stop_clock", int(f["windows"][1]["start_clock"]) + 5),
    "clock-back": lambda f: field(f, "events", 20, "clock", int(f["events"][20]["clock"]) - 10**12),
    "thread-rows": lambda f: field(f, "threads", 0, "rows", int(f["threads"][0]["rows"]) + 1),
    "thread-recorded": lambda f: field(f, "threads", 0, "recorded", int(f["threads"][0]["recorded"]) + 1),
    "events-cut": lambda f: cut(f, "events", 3),
    "fired-cut": lambda f: cut(f, "fired", 1),
    "windows-cut": lambda f: cut(f, "windows", 1),
    "dropped": lambda f: field(f, "threads", 0, "dropped", 5),
    "leave-lost": lambda f: field(f, "events", int(rows_named(f, "MPI_Allreduce", "leave")[0]), "code",
                                  int(f["events"][int(rows_named(f, "MPI_Isend", "enter")[0])]["code"])),
    "code-unknown": lambda f: field(f, "events", int(rows_named(f, "MPI_Allreduce", "enter")[0]), "code", 0xfefefe),
    "string-unknown": lambda f: field(f, "events", int(rows_named(f, "EV_MPI_PCONTROL")[0]), "b", 3999),
    "alarm-unknown": lambda f: field(f, "fired", 0, "alarm", 99),
    "fired-row": lambda f: field(f, "fired", 0, "row", int(f["fired"][0]["row"]) + 1),
    "thread-twice": lambda f: (f["threads"].resize((len(f["threads"]) + 1,)),
                               f["threads"].__setitem__(len(f["threads"]) - 1, f["threads"][0])),
    "thread-none": lambda f: field(f, "threads", 0, "thread", 55),
    "thread-ends-early": lambda f: (field(f, "threads", 0, "ended", int(f["threads"][0]["started"]) - 1)),
    "stop-and-mark": lambda f: field(f, "windows", 0, "truncated", 1),
    "close-before-open": lambda f: field(f, "windows", 0, "close_row", int(f["windows"][0]["open_row"]) - 1),
    "wrong-close-row": lambda f: field(f, "windows", 0, "close_row", int(f["windows"][0]["close_row"]) - 1),
    "icount-down": lambda f: (field(f, "windows", 0, "start_icount", 9), field(f, "windows", 0, "stop_icount", 8)),
    "ordinal-twice": lambda f: field(f, "windows", 1, "ordinal", int(f["windows"][0]["ordinal"])),
    "window-thread": lambda f: field(f, "windows", 0, "thread", 55),
    "incomplete": lambda f: field(f, "threads", 0, "incomplete", 5),
    "loss-unknown": lambda f: add(f, "losses", kind=99, thread=0, count=1, clock=1),
    "fired-order": lambda f: swap(f, "fired", 0, 1),
    "fired-beyond": lambda f: field(f, "fired", len(f["fired"]) - 1, "row", 10**9),
    "name-unknown": lambda f: field(f, "threads", 0, "name", 3999),
    "map-unknown": lambda f: add(f, "maps", row=0, clock=1, base=1, path=3999),
    "event-thread": lambda f: field(f, "events", 20, "thread", 77),
    # The leave of the last MPI_Allreduce in window 0 becomes a mark, so that the call stays open.
    "open-over-edge": lambda f: recode(f, [r for r in rows_named(f, "MPI_Allreduce", "leave")
                                           if r < int(f["windows"][0]["close_row"])][-1], "EV_MPI_PCONTROL", None),
    "open-at-end": lambda f: field(f, "events", len(f["events"]) - 1, "code",
                                   int(f["events"][int(rows_named(f, "MPI_Allreduce", "enter")[0])]["code"])),
    "opens-inside": lambda f: recode(f, f["windows"][0]["close_row"], "EV_WINDOW_OPEN", None),
    "closes-other": lambda f: field(f, "events", int(f["windows"][1]["close_row"]), "a",
                                    int(f["windows"][0]["ordinal"])),
    "weight-negative": lambda f: field(f, "windows", 0, "weight", -0.5),
    "region-unknown": lambda f: field(f, "windows", 1, "region", 0x40000999),
    "pieces-cut": lambda f: cut(f, "pieces", 1),
    "pieces-torn": lambda f: field(f, "pieces", 0, "rows", int(f["pieces"][0]["rows"]) - 1),
    "pieces-thread": lambda f: field(f, "pieces", 0, "thread", 5, whole),
    "pieces-first": lambda f: field(f, "pieces", 0, "first_clock", 5, whole),
    "pieces-last": lambda f: field(f, "pieces", len(f["pieces"]) - 1, "last_clock", 5, whole),
    "path-parent": lambda f: field(f, "paths", 0, "parent", 7777),
    "path-cycle": lambda f: field(f, "paths", 0, "parent", int(f["paths"][0]["path"])),
    "path-twice": lambda f: add(f, "paths", path=int(f["paths"][0]["path"])),
    "path-image": lambda f: field(f, "paths", 0, "image", 3999),
    "path-unknown": lambda f: field(f, "events", int(rows_named(f, "MPI_Allreduce", "leave")[0]), "b", 7777),
    "kind-unknown": lambda f: field(f, "windows", 0, "kind", 9),
}


def main():
    run, name, out, *mutations = sys.argv[1:]
    for which in dict.fromkeys(mutations):
        shutil.copytree(run, os.path.join(out, which))
        try:
            with h5py.File(os.path.join(out, which, name), "r+") as f:
                MUTATIONS[which](f)
        except Exception as e:
            print(f"{which} was not made: {e!r}")


main()
