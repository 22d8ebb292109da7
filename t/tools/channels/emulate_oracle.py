# SPDX-License-Identifier: BSD-3-Clause
"""Computes what channels.h5 must hold from /events of the rank files, by the rules of
share/doc/schema.md alone.

usage: emulate_oracle.py RUN CHANNELS PROGRAM

Compares every row of six channels of threads, and compares three channels of processors with what
threads show there. Prints the differences; exits with 1 if there are any.
"""

import os
import re
import subprocess
import sys

import h5py
import numpy as np


def code(text):
    return ord(text[0]) | ord(text[1]) << 8 | ord(text[2]) << 16


ENTER = {code("ME\0") & 0xFFFF: 0, code("Me\0") & 0xFFFF: 256, code("MB\0") & 0xFFFF: 512}
LEAVE = {code("ML\0") & 0xFFFF: 0, code("Ml\0") & 0xFFFF: 256, code("MD\0") & 0xFFFF: 512}
OPEN, CLOSE = code("RW["), code("RW]")
FUNCTION_ENTER, FUNCTION_LEAVE = code("FEe"), code("FLl")
PUSH, POP, SET = code("KM["), code("KM]"), code("KM=")
BEGIN, END = code("GR["), code("GR]")
NOT_RECORDED = 888888888
WINDOWED = ("mpi.function", "func.name")  # channels that show NOT_RECORDED outside windows
problems = []


def check(good, what):
    if not good:
        problems.append(what)


def times(f, clock):
    """Converts ticks to ns on the node of rank 0: schema.md, "Time"."""
    c, attributes = f["calibration"][:], f.attrs
    rate = float(attributes["nominal_ns_per_tick"]) or 1.0
    if c["monotonic_ns"][-1] > c["monotonic_ns"][0] + 10**6:
        rate = (int(c["monotonic_ns"][-1]) - int(c["monotonic_ns"][0])) / (int(c["ticks"][-1]) - int(c["ticks"][0]))
    away = (clock - c["ticks"][0]).astype(np.int64)
    since = (away * rate).astype(np.int64)
    drift = (since * float(attributes["clock_drift"])).astype(np.int64)
    return since + int(c["monotonic_ns"][0]) + int(attributes["clock_offset_ns"]) + drift


def symbols(program):
    """Returns (addresses, names) of the functions that the program defines, by nm."""
    lines = subprocess.run(["nm", "-n", "--defined-only", program], capture_output=True, text=True, check=True).stdout
    rows = [(int(m[1], 16), m[2]) for m in re.finditer(r"^([0-9a-f]+) [tT] (\S+)$", lines, re.M)]
    return np.array([r[0] for r in rows], dtype=np.int64), [r[1] for r in rows]


def texts(f):
    heap = f["strings"][:].tobytes()
    return {int(r["id"]): heap[r["offset"] : r["offset"] + r["length"]].decode() for r in f["string_index"][:]}


class Shown:
    """The changes of one row: (time, state), the first of them at 0."""

    def __init__(self, known, first=0):
        self.rows = [(0, first)] if known else []
        self.now = first

    def show(self, time, state):
        if state != self.now:
            self.rows.append((time, state))
        self.now = state


def follow(rows, ns, name_of, strings, marks):
    """Returns what one thread shows: {channel: changes}."""
    shown = {n: Shown(True, NOT_RECORDED if n in WINDOWED else 0) for n in (*WINDOWED, "region.window", "ovni.state")}
    inside = False
    shown["region.name"] = Shown(False)
    calls, functions, regions, stacks = [], [], [], {}
    for i, r in enumerate(rows):
        c, a, b, t = int(r["code"]), int(r["a"]), int(r["b"]), int(ns[i])
        if i == 0:
            shown["ovni.state"].show(t, 1)
        if (c & 0xFFFF) in ENTER:
            calls.append(ENTER[c & 0xFFFF] + (c >> 16) + 1)
        elif (c & 0xFFFF) in LEAVE:
            check(calls and calls[-1] == LEAVE[c & 0xFFFF] + (c >> 16) + 1, f"a leave of {c:x} without its enter")
            del calls[-1:]
        elif c == FUNCTION_ENTER:
            functions.append(name_of(a))
        elif c == FUNCTION_LEAVE:
            check(functions and functions[-1] == name_of(a), f"a leave of {name_of(a)} without its enter")
            del functions[-1:]
        elif c == OPEN:
            shown["region.window"].show(t, (a & 0xFFFFFFFF) + 1)
            inside = True
        elif c == CLOSE:
            shown["region.window"].show(t, 0)
            inside = False
            calls, functions, regions = [], [], []
            stacks = {k: [] if marks.get(k) == "stack" else v for k, v in stacks.items()}
        elif c == BEGIN:
            regions.append(strings[a])
        elif c == END:
            del regions[-1:]
        elif c in (PUSH, POP, SET):
            stack = stacks.setdefault(a & 0xFFFFFFFF, [])
            if c == PUSH:
                stack.append(b)
            elif c == SET:
                stack[:] = [b]
            elif stack:
                stack.pop()
        last = i + 1 == len(rows)
        none = 0 if inside and not last else NOT_RECORDED
        shown["mpi.function"].show(t, calls[-1] if calls and not last else none)
        shown["func.name"].show(t, functions[-1] if functions and not last else none)
        shown["region.name"].show(t, regions[-1] if regions and not last else 0)
        for k, stack in stacks.items():
            one = shown.setdefault(f"region.mark.{k}", Shown(False))
            one.show(t, stack[-1] if stack and not last else 0)
        if last:
            shown["ovni.state"].show(t, 3)
            shown["region.window"].show(t, 0)
    return {k: v.rows for k, v in shown.items()}


def expect(run, program, marks):
    """Returns {channel: {(rank, thread): changes}} of all rank files, the number of events, and the
    origin."""
    addresses, names = symbols(program)
    every, out = [], {}
    for name in sorted(n for n in os.listdir(run) if n.startswith("rank-")):
        with h5py.File(os.path.join(run, name)) as f:
            rows, strings, maps = f["events"][:], texts(f), f["maps"][:]
            every.append((int(f.attrs["rank"]), rows, times(f, rows["clock"])))
            bases = [int(m["base"]) for m in maps if strings[int(m["path"])] == os.path.realpath(program)]
            check(len(bases) == 1, f"{name}: the program is mapped {len(bases)} times")
            every[-1] += (bases[0] if bases else 0, strings)
    origin = min(int(ns.min()) for _, _, ns, _, _ in every)
    for rank, rows, ns, base, strings in every:
        def name_of(address, base=base):
            at = int(np.searchsorted(addresses, address - base, "right")) - 1
            return names[at] if at >= 0 else "?"
        for thread in np.unique(rows["thread"]):
            here = np.flatnonzero(rows["thread"] == thread)
            for channel, changes in follow(rows[here], ns[here] - origin, name_of, strings, marks).items():
                out.setdefault(channel, {})[rank, int(thread)] = changes
    return out, sum(len(e[1]) for e in every), origin


def compare_threads(want, f, labels):
    """Compares row by row, and functions by their names; returns the number of changes compared."""
    keys = [(int(r["rank"]), int(r["thread"])) for r in f["rows/thread"][:]]
    compared = 0
    for channel, rows in want.items():
        got = f["channels/thread"][channel][:] if channel in f["channels/thread"] else np.empty(0, dtype=f["channels/thread/ovni.state"].dtype)
        check(np.all(np.diff(got["time"]) >= 0), f"{channel}: times go back")
        for number, key in enumerate(keys):
            mine = [(int(r["time"]), int(r["state"])) for r in got[got["row"] == number]]
            if channel in ("func.name", "region.name"):
                mine = [(t, labels.get((channel, s), s) if s not in (0, NOT_RECORDED) else s) for t, s in mine]
            should = rows.get(key, [(0, NOT_RECORDED if channel in WINDOWED else 0)] if not channel.startswith(("region.mark", "region.name")) else [])
            check(mine == should, f"{channel} of rank {key[0]} thread {key[1]}: {mine[:8]} ... is not {should[:8]} ...")
            compared += len(should)
    return compared


def seen_at(f, channel, row, moments):
    """Returns what a row of threads shows after everything that happens at each of these times."""
    rows = f["channels/thread"][channel][:]
    rows = rows[rows["row"] == row]
    at = np.searchsorted(rows["time"], moments, "right") - 1
    return np.where(at >= 0, rows["state"][np.maximum(at, 0)], 0) if len(rows) else np.zeros(len(moments), dtype=np.int64)


def compare_processors(f):
    """Checks what processors show: 0 (or not recorded) while no thread runs there, the thread's
    value while one runs, 777 while several run."""
    threads, compared = len(f["rows/thread"]), 0
    for channel in ("mpi.function", "func.name", "region.window"):
        rows = f["channels/cpu"][channel][:]
        check(np.all(np.diff(rows["time"]) >= 0), f"{channel} of processors: times go back")
        for cpu in range(len(f["rows/cpu"])):
            mine = rows[rows["row"] == cpu]
            moments = np.unique(np.concatenate([mine["time"]] + [f["channels/thread"][c]["time"] for c in (channel, "ovni.state", "ovni.cpu")]))
            there = np.array([(seen_at(f, "ovni.state", t, moments) == 1) & (seen_at(f, "ovni.cpu", t, moments) == cpu + 1)
                              for t in range(threads)])  # fmt: skip
            values = np.array([seen_at(f, channel, t, moments) for t in range(threads)])
            should = np.where(there.sum(axis=0) > 1, 777, np.where(there.sum(axis=0) == 0, NOT_RECORDED if channel in WINDOWED else 0, (values * there).sum(axis=0)))
            got = mine["state"][np.maximum(np.searchsorted(mine["time"], moments, "right") - 1, 0)]
            wrong = np.flatnonzero(got != should)
            check(len(wrong) == 0, f"{channel} of processor {cpu}: " + " ".join(f"{got[i]} not {should[i]} at {moments[i]}" for i in wrong[:4]))
            compared += len(moments)
    return compared


def main(run, channels, program):
    with h5py.File(channels) as f:
        labels = {(r["channel"].decode(), int(r["value"])): r["text"].decode() for r in f["labels"][:]}
        marks = {int(n[12:]): f["channels/thread"][n].attrs["kind"].decode() for n in f["channels/thread"] if n.startswith("region.mark.")}
        for channel in WINDOWED:
            check(labels.get((channel, NOT_RECORDED)) == "Not recorded", f"{channel} has no label of what is not recorded")
            check(labels.get((channel, 666)) == "Unknown" and labels.get((channel, 777)) == "Several threads", f"{channel}: labels of 666 and 777")
        want, events, origin = expect(run, program, marks)
        check(set(want) <= set(f["channels/thread"]), f"channels that are not there: {set(want) - set(f['channels/thread'])}")
        check({n for n in f["channels/thread"] if n.startswith("region.mark")} <= set(want), "marks that nobody made")
        check(int(f.attrs["events"]) == events, f"{f.attrs['events']} events are not {events}")
        check(int(f.attrs["origin_ns"]) == origin, f"the origin {f.attrs['origin_ns']} is not {origin}")
        check(int(f.attrs["wrong"]) == 0 and int(f.attrs["finished"]) == 1, "wrong events, or not finished")
        rows, processors = compare_threads(want, f, labels), compare_processors(f)
        for name, channel in f["channels/thread"].items():
            check(np.any(channel["state"] != 0), f"{name} is there and nobody used it")
    for p in problems[:20]:
        print(p)
    print(f"{rows} rows of threads and {processors} moments of processors compared, {len(problems)} differences")
    return 1 if problems or rows < 300 or processors < 300 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
