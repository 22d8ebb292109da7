#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The report's and the dump's numbers computed anew with h5py from the rank files; prints TAP for a run.

usage: oracle.py DIR REPORT_JSON DUMP_JSON [FIRST LAST], the latter where both were made of some windows only
"""
import collections
import glob
import json
import os
import sys

import h5py
import numpy as np

count = 0
failed = 0


def ok(passed, name, detail=""):
    global count, failed
    count += 1
    print(f"{'' if passed else 'not '}ok {count} - {name}")
    if not passed:
        failed += 1
        print(f"# {detail}")


def text(value):
    if isinstance(value, bytes):
        return value.split(b"\0")[0].decode("utf-8", "replace")
    return str(value)


def attribute(f, *names):
    for n in names:
        if n in f.attrs:
            return f.attrs[n]
    raise KeyError(f"{names} in {list(f.attrs)}")


class Rank:
    def __init__(self, path, span=None):
        f = h5py.File(path, "r")
        self.file = os.path.basename(path)
        self.rank = int(attribute(f, "rank"))
        self.events = f["events"][:]
        self.windows = f["windows"][:]
        self.threads = f["threads"][:]
        self.alarms = {int(a["alarm"]): text(a["text"]) for a in f["alarms"][:]}
        self.losses = f["losses"][:]
        self.names = {int(r["code"]): (text(r["name"]), text(r["label"])) for r in f["functions"][:]}
        self.points = f["calibration"][:]
        f.close()
        if span:
            self.events = self.events[(self.events["window"] >= span[0]) & (self.events["window"] <= span[1])]
            self.windows = self.windows[(self.windows["ordinal"] >= span[0]) & (self.windows["ordinal"] <= span[1])]
        first, last = self.points[0], self.points[-1]
        ticks = int(last["ticks"]) - int(first["ticks"])
        nanoseconds = int(last["monotonic_ns"]) - int(first["monotonic_ns"])
        self.rate = nanoseconds / ticks if ticks else 1.0
        self.t0, self.n0 = int(first["ticks"]), int(first["monotonic_ns"])

    def ns(self, ticks):
        return self.n0 + (int(ticks) - self.t0) * self.rate

    def mpi(self):
        """Calls, nested calls, outermost ticks and bytes by name, by a plain stack of each thread."""
        calls, nested = collections.Counter(), collections.Counter()
        ticks, size = collections.Counter(), collections.Counter()
        stacks = collections.defaultdict(list)
        for e in self.events:
            name, label = self.names.get(int(e["code"]), ("?", ""))
            stack = stacks[int(e["thread"])]
            if name in ("EV_WINDOW_OPEN", "EV_WINDOW_CLOSE", "EV_DROPPED"):
                stack.clear()
            if not name.startswith("MPI_"):
                continue
            if label == "enter":
                calls[name] += 1
                if stack:
                    nested[name] += 1
                elif int(e["a"]) & 0xFFFFFFFF != 2**32 - 2:  # MPI_PROC_NULL: no message
                    size[name] += int(e["b"]) & (2**48 - 1)
                stack.append((name, int(e["clock"])))
            elif stack and stack[-1][0] == name:
                _, start = stack.pop()
                if not stack:
                    ticks[name] += int(e["clock"]) - start
        return calls, nested, ticks, size


def close(a, b, tolerance=2e-3, least=2000):
    return abs(a - b) <= max(tolerance * max(abs(a), abs(b)), least)


def check_rank(rank, report):
    r = next((x for x in report["ranks"] if x["file"] == rank.file), None)
    ok(r is not None, f"{rank.file} is in the report")
    if r is None:
        return
    ok(r["rank"] == rank.rank and r["events"] == len(rank.events), f"{rank.file}: rank and number of events",
       f"{r['events']} {len(rank.events)}")
    lost = int(sum(int(x["count"]) for x in rank.losses if int(x["kind"]) in (1, 2, 3, 7)))
    ok(r["lost"] == lost, f"{rank.file}: lost", f"{r['lost']} {lost}")
    calls, nested, ticks, size = rank.mpi()
    got = {f["name"]: f for f in r["functions"]}
    ok({n: f["calls"] for n, f in got.items()} == dict(calls), f"{rank.file}: calls by function",
       f"{ {n: f['calls'] for n, f in got.items()} } {dict(calls)}")
    ok(all(f["nested"] == nested[n] and f["bytes"] == size[n] for n, f in got.items()),
       f"{rank.file}: nested calls and bytes by function")
    bad = [n for n, f in got.items() if not close(f["time_ns"], ticks[n] * rank.rate)]
    ok(not bad, f"{rank.file}: time by function", str([(n, got[n]["time_ns"], ticks[n] * rank.rate) for n in bad]))
    ok(close(r["mpi_ns"], sum(ticks.values()) * rank.rate), f"{rank.file}: time in MPI")


def check_windows(ranks, report, origin):
    want = {}
    for k in ranks:
        for w in k.windows:
            want[(k.rank, k.file, int(w["thread"]), int(w["ordinal"]))] = (k, w)
    pids = {(r["rank"], r["pid"]): r["file"] for r in report["ranks"]}
    got = {(w["rank"], pids[(w["rank"], w["pid"])], w["thread"], w["ordinal"]): w for w in report["windows"]}
    ok(set(got) == set(want) and len(got) == len(report["windows"]), "windows: the same ones",
       f"{len(got)} {len(want)}")
    wrong = []
    for key, w in got.items():
        if key not in want:
            continue
        k, row = want[key]
        icounts = all((w[n] is None and int(row[n]) == -1) or w[n] == int(row[n])
                      for n in ("start_icount", "stop_icount", "start_requested", "stop_requested"))
        alarms = (w["start_alarm"] == k.alarms.get(int(row["start_alarm"])) and
                  w["stop_alarm"] == k.alarms.get(int(row["stop_alarm"])))
        times = close(w["start_ns"], k.ns(row["start_clock"]) - origin) and (
            w["stop_ns"] is None or close(w["stop_ns"], k.ns(row["stop_clock"]) - origin))
        chain = w["chain"] == (int(row["chain"]) if int(row["chain"]) >= 0 else None)
        if not (icounts and alarms and times and chain):
            wrong.append((key, icounts, alarms, times, chain))
    ok(not wrong, "windows: icounts, alarms, chains and times", str(wrong[:3]))


def check_dump(ranks, path, origin):
    by_rank = collections.defaultdict(list)
    with open(path, encoding="utf-8") as f:
        for line in f:
            e = json.loads(line)
            by_rank[(e["rank"], e["pid"])].append(e)
    total = sum(len(v) for v in by_rank.values())
    ok(total == sum(len(k.events) for k in ranks), "dump: one line an event", f"{total}")
    ordered = all(all(a["clock"] <= b["clock"] for a, b in zip(v, v[1:])) for v in by_rank.values())
    ok(ordered, "dump: in the order of time")
    wrong = []
    for k in ranks:
        lines = [v for (r, _), v in by_rank.items() if r == k.rank and len(v) == len(k.events)]
        if not lines:
            wrong.append((k.file, "not there"))
            continue
        rows = k.events[np.argsort(k.events["clock"], kind="stable")]
        for e, row in zip(lines[0], rows):
            name = k.names.get(int(row["code"]), ("?", ""))[0]
            if (e["clock"], e["code"], e["thread"]) != (int(row["clock"]), int(row["code"]), int(row["thread"])) or \
                    e["name"] != name or not close(e["ns"], k.ns(row["clock"]) - origin):
                wrong.append((k.file, e, name))
                break
    ok(not wrong, "dump: codes, names, threads and times", str(wrong[:2]))


def main():
    folder, report_path, dump_path = sys.argv[1:4]
    with open(report_path, encoding="utf-8") as f:
        report = json.load(f)
    span = tuple(map(int, sys.argv[4:6]))
    ranks = [Rank(p, span) for p in sorted(glob.glob(os.path.join(folder, "rank-*.h5")))]
    ok(len(ranks) == len(report["ranks"]), "a rank for each file")
    origin = min(k.ns(t["started"]) for k in ranks for t in k.threads if int(t["started"]))
    ok(close(report["origin_monotonic_ns"], origin), "the origin is the first thread's start")
    ok(report["events"] == sum(len(k.events) for k in ranks), "sum of events")
    for k in ranks:
        check_rank(k, report)
    check_windows(ranks, report, origin)
    check_dump(ranks, dump_path, origin)
    for f in report["mpi"]:
        times = [next((g["time_ns"] for g in r["functions"] if g["name"] == f["name"]), 0.0)
                 for r in report["ranks"] if r["main"]]
        if not (close(f["max_ns"], max(times)) and close(f["mean_ns"], sum(times) / len(times)) and
                (f["imbalance"] is None or abs(f["imbalance"] - max(times) * len(times) / sum(times)) < 1e-3)):
            ok(False, f"imbalance of {f['name']}", str((f, times)))
    ok(True, "imbalances were compared")
    print(f"1..{count}")
    return 1 if failed else 0


sys.exit(main())
