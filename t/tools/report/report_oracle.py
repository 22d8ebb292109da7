#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Computes the numbers of report and dump anew from the rank files, with h5py, and compares; prints
TAP for a run.

usage: report_oracle.py DIR REPORT_JSON DUMP_JSON REPORT_TEXT DUMP_TEXT [FIRST LAST]

With FIRST and LAST, all four outputs cover these windows only.
"""
import collections
import glob
import json
import os
import re
import sys

import h5py
import numpy as np

KINDS = ["region", "warm-up", "prolog", "epilog"]
REASONS = {0: "alarm", 1: "end of program", 2: "end of thread", 3: "fork", 4: "exec", 5: "API", 252: "exited with the process", 253: "size limit", 254: "killed"}
CONTROL_EVENTS = ["start", "stop", "precond", "threadid", "warmup-start", "warmup-stop", "prolog-start", "prolog-stop",
                  "epilog-start", "epilog-stop", "stats-emit", "stats-reset", "stats-emit-reset"]
FIRED_FLAGS = ["bcast", "late", "precond", "ignored", "default_start", "api", "closes"]
UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}

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
        self.main = self.file.count(".") == 1
        self.totals = {n: int(attribute(f, n + "_total")) for n in ("fired", "ignored")}
        self.cost = float(text(f.attrs["event_cost_ticks"]))
        self.chains = [text(f.attrs[f"chain.{i}"]) for i in range(100) if f"chain.{i}" in f.attrs]
        self.fired = f["fired"][:]
        index, heap = f["string_index"][:], f["strings"][:].tobytes()
        self.strings = {int(r["id"]): heap[int(r["offset"]):int(r["offset"]) + int(r["length"])].decode("utf-8", "replace")
                        for r in index}
        self.events = f["events"][:]
        self.windows = f["windows"][:]
        self.threads = f["threads"][:]
        self.alarms = {int(a["alarm"]): text(a["text"]) for a in f["alarms"][:]}
        self.losses = f["losses"][:]
        self.names = {int(r["code"]): (text(r["name"]), text(r["label"])) for r in f["functions"][:]}
        self.points = f["calibration"][:]
        self.paths = f["paths"][:]
        f.close()
        self.places = np.arange(len(self.events))  # row numbers in /events
        if span:
            here = (self.events["window"] >= span[0]) & (self.events["window"] <= span[1])
            self.places = self.places[here]
            self.events = self.events[here]
            self.windows = self.windows[(self.windows["ordinal"] >= span[0]) & (self.windows["ordinal"] <= span[1])]
        first, last = self.points[0], self.points[-1]
        ticks = int(last["ticks"]) - int(first["ticks"])
        nanoseconds = int(last["monotonic_ns"]) - int(first["monotonic_ns"])
        self.rate = nanoseconds / ticks if ticks else 1.0
        self.t0, self.n0 = int(first["ticks"]), int(first["monotonic_ns"])

    def ns(self, ticks):
        return self.n0 + (int(ticks) - self.t0) * self.rate

    def mpi(self):
        """Counts calls, nested calls, outermost ticks and bytes by name, with a plain stack for
        each thread."""
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
    spent = sum(int(w["stop_clock"]) - int(w["start_clock"]) for w in rank.windows if int(w["stop_clock"])) * rank.rate
    received = sum(int(e["b"]) for e in rank.events
                   if rank.names[int(e["code"])][0] == "EV_MPI_BYTES" and not int(e["flags"]) & 4)
    want = {"fired": rank.totals["fired"], "ignored": rank.totals["ignored"], "windows": len(rank.windows),
            "mpi_calls": sum(calls.values()) - sum(nested.values()), "mpi_bytes": sum(size.values()),
            "mpi_bytes_received": received, "interrupted": int(rank.threads["interrupted"].sum())}
    ok({n: r[n] for n in want} == want, f"{rank.file}: counts of the rank", f"{ {n: r[n] for n in want} } {want}")
    ok(rank.totals["fired"] == len(rank.fired) and
       rank.totals["ignored"] == sum(int(x["flags"]) >> 3 & 1 for x in rank.fired), f"{rank.file}: fired and ignored in all")
    ok(close(r["window_ns"], spent), f"{rank.file}: time in windows", f"{r['window_ns']} {spent}")
    cost = rank.cost * rank.rate
    want = {"event_cost_ns": cost, "events_ns": cost * len(rank.events),
            "slow_path_ns": int(rank.threads["own_ticks"].sum()) * rank.rate,
            "wait_ns": int(rank.threads["wait_ticks"].sum()) * rank.rate, "waits": int(rank.threads["waits"].sum())}
    ok(all(close(r["overhead"][n], v, least=1) for n, v in want.items()), f"{rank.file}: own overhead",
       f"{r['overhead']} {want}")
    ok([(t["thread"], t["events"], t["dropped"], t["waits"]) for t in r["threads"]] ==
       [tuple(int(t[n]) for n in ("thread", "rows", "dropped", "waits")) for t in rank.threads], f"{rank.file}: threads")


def opener(k, row):
    """Returns what opened a window: an alarm, else the source that its fired row names.

    For a window that a thread joined, the fired row of the opener counts."""
    if int(row["start_alarm"]) >= 0:
        return "alarm"
    if not row["firing"]:
        row = next((w for w in k.windows if w["ordinal"] == row["ordinal"] and w["firing"]), row)
    before = [f for f in k.fired if f["thread"] == row["thread"] and f["row"] <= row["open_row"]]
    flags = int(max(before, key=lambda f: int(f["row"]))["flags"]) if before else 0
    return "default start" if flags & 16 else "API" if flags & 32 else "unknown"


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
        chain = chain and w["chain_text"] == (k.chains[int(row["chain"])] if int(row["chain"]) >= 0 else None)
        words = (w["kind"], w["opened_by"], w["closed_by"]) == (
            KINDS[int(row["kind"])], opener(k, row), REASONS.get(int(row["reason"])))
        marks = all(w[n] == bool(row[n]) for n in ("bcast", "firing")) and w["truncated"] == (int(row["truncated"]) == 1)
        if not (icounts and alarms and times and chain and words and marks):
            wrong.append((key, icounts, alarms, times, chain, words, marks))
    ok(not wrong, "windows: icounts, alarms, chains, times, kinds, reasons and marks", str(wrong[:3]))


def signed32(word):
    word &= 0xFFFFFFFF
    return word - 2**32 if word & 2**31 else word


def payload(k, name, label, flags, a, b):
    """Decodes the two words of the kinds of events that matter most; returns None for others."""
    if name.startswith("MPI_") and label == "enter":
        want = {n: v for n, v in (("peer", signed32(a)), ("tag", signed32(a >> 32))) if v != -2**31}
        return {**want, "bytes": b & (2**48 - 1), **({"comm": b >> 48} if b >> 48 else {})}
    if name.startswith("MPI_"):
        what = "message" if "probe" in name else "request"
        return {**({what: hex(a)} if a else {}), **({"path" if flags & 64 else "bytes": b} if b else {})}
    if name == "EV_MPI_COMPLETE":
        return {"request": hex(a), **{n: v for n, v in (("source", signed32(b)), ("tag", signed32(b >> 32))) if v != -2**31}}
    if name == "EV_MPI_BYTES":
        return {"request": hex(a), "bytes": b}
    if name == "EV_MPI_MESSAGE":
        return {"message": hex(a)}
    if name == "EV_MPI_RECEIVE":
        return {"source": signed32(a), "tag": signed32(a >> 32), "bytes": b}
    if name == "EV_MPI_COMM":
        return {"comm": a & 0xFFFFFFFF, "rank": a >> 32, "size": b & 0xFFFFFFFF, "parent": b >> 32}
    if name == "EV_MPI_PCONTROL":
        return {"level": signed32(a), **({"name": k.strings[b]} if b else {})}
    if name == "EV_WINDOW_OPEN":
        return {"ordinal": a & 0xFFFFFFFF, "bcast": a >> 32 & 1, "firing": a >> 33 & 1, "late_ticks": b}
    if name == "EV_WINDOW_CLOSE":
        return {"ordinal": a & 0xFFFFFFFF, "reason": REASONS.get(a >> 32, "?"), "late_ticks": b}
    if name in ("EV_REGION_BEGIN", "EV_REGION_END"):
        return {"region": k.strings[a], **({"path": b} if name == "EV_REGION_BEGIN" and b else {})}
    if name == "EV_FIRED":
        alarm = a >> 8 & 0xFFFF
        want = {"event": CONTROL_EVENTS[a & 0xFF], "tid": a >> 24 & 0xFFFFFFFF, "ip": hex(b)}
        if alarm != 0xFFFF:
            want.update({"alarm": alarm, "alarm_text": k.alarms[alarm]})
        want.update({n: 1 for i, n in enumerate(FIRED_FLAGS) if a >> 56 >> i & 1})
        return want
    return None


def fired_row(k, row):
    """Returns what /fired says of the EV_FIRED at this row of /events; there must be one such row
    of /fired."""
    hits = [f for f in k.fired if int(f["row"]) == row]
    if len(hits) != 1:
        return {"row of /fired": len(hits)}
    f, want = hits[0], {}
    if f["chain"] >= 0:
        want = {"chain": int(f["chain"]), "pass": int(f["pass"])}
    want.update({n: int(f[n]) for n in ("requested", "actual") if f[n] >= 0})
    if f["requested"] >= 0 and f["actual"] >= 0:
        want["skid"] = int(f["actual"]) - int(f["requested"])
    return want


def same_event(k, e, row, place, origin):
    name, label = k.names.get(int(row["code"]), ("?", ""))
    flags = int(row["flags"])
    want = {"clock": int(row["clock"]), "code": int(row["code"]), "thread": int(row["thread"]), "name": name, "label": label,
            "window": int(row["window"]) if int(row["window"]) >= 0 else None,
            "cpu": int(row["cpu"]) if int(row["cpu"]) != 65535 else None,
            "cut": bool(flags & 4), "late": bool(flags & 8), "nested": bool(flags & 16), "fortran": bool(flags & 32)}
    data = payload(k, name, label, flags, int(row["a"]), int(row["b"]))
    if name == "EV_FIRED":
        data.update(fired_row(k, place))
    return all(e[n] == v for n, v in want.items()) and close(e["ns"], k.ns(row["clock"]) - origin) and \
        (data is None or e["data"] == data)


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
        for e, place in zip(lines[0], np.argsort(k.events["clock"], kind="stable")):
            row = k.events[place]
            if not same_event(k, e, row, int(k.places[place]), origin):
                wrong.append((k.file, e, row))
                break
    ok(not wrong, "dump: codes, names, threads, windows, times, flags and payloads", str(wrong[:2]))


def check_lines(json_path, text_path):
    """Checks that dump's text lines say the same as its JSON objects."""
    with open(json_path, encoding="utf-8") as f:
        objects = [json.loads(line) for line in f]
    with open(text_path, encoding="utf-8") as f:
        lines = [line.rstrip("\n") for line in f if not line.startswith("#")]
    wrong = []
    for e, line in zip(objects, lines):
        window = "-" if e["window"] is None else str(e["window"])
        head = f"{e['ns'] / 1e9:16.9f} {e['rank']:5d} {e['thread']:4d} {window:>5s}  {e['name']:24s} {e['label']:14s}"
        quoted = {k: v if k in ("ip", "request", "message", "base", "address", "call_site", "a", "b") or not isinstance(v, str)
                  else '"%s"' % v for k, v in e["data"].items()}
        flags = ",".join(n for n in ("cut", "late", "nested", "fortran") if e[n])
        want = head + "".join(f" {k}={v}" for k, v in quoted.items()) + (f" [{flags}]" if flags else "")
        if line[16:] != want[16:] or abs(float(line[:16]) - e["ns"] / 1e9) > 2e-9:
            wrong.append((line, want))
    ok(not wrong and len(lines) == len(objects), "dump: lines for people", str(wrong[:1]))


def amount(number, unit):
    return float(number) * UNITS[unit]


def near(value, number, unit):
    """Returns whether the printed number is the value, to the precision of its digits."""
    return abs(value - amount(number, unit)) <= amount(number, unit) * 0.006 + (1 if unit == "ns" else 0)


def check_text(ranks, path):
    """Checks the tables of the text report."""
    with open(path, encoding="utf-8") as f:
        lines = f.read().splitlines()
    mains = [k for k in ranks if k.main]
    mpi = {k.file: k.mpi() for k in ranks}
    functions, wrong = 0, []
    all_ns = sum(sum(mpi[k.file][2].values()) * k.rate for k in mains)
    for line in lines:
        words = line.split()
        if line.startswith("Time in MPI by call site"):
            break
        if not re.match(r"  MPI_\w+ +\d+ ", line) or len(words) != 13:
            continue
        functions += 1
        times = {k.rank: mpi[k.file][2][words[0]] * k.rate for k in mains}
        mean, longest = sum(times.values()) / len(mains), max(times.values())
        good = int(words[1]) == sum(mpi[k.file][0][words[0]] for k in mains) and near(mean * len(mains), *words[2:4])
        good = good and abs(float(words[4][:-1]) - 100 * mean * len(mains) / all_ns) < 0.11 and near(mean, *words[5:7])
        good = good and near(longest, *words[7:9]) and close(times[int(words[9])], longest)
        good = good and (words[10] == "-" or abs(float(words[10]) - longest / mean) < 0.011)
        good = good and near(sum(mpi[k.file][3][words[0]] for k in mains), *words[11:13])
        if not good:
            wrong.append(line)
    ok(not wrong, f"for people: {functions} functions", str(wrong[:2]))
    called = {n for k in mains for n in mpi[k.file][0]}
    ok(functions == len(called), "for people: each function has its line", f"{functions} {sorted(called)}")
    wrong = []
    for k in mains:
        calls, nested, ticks, size = mpi[k.file]
        line = next((x for x in lines if re.match(rf"  {k.rank} +\d+ +\d+ +\d+ ", x) and "closed" in x), "")
        words = line.split()
        spent = sum(int(w["stop_clock"]) - int(w["start_clock"]) for w in k.windows) * k.rate
        if not line or [int(w) for w in words[:2]] != [k.rank, len(k.events)] or int(words[3]) != len(k.windows) or \
                not near(spent, *words[4:6]) or not near(sum(ticks.values()) * k.rate, *words[6:8]) or \
                int(words[9]) != sum(calls.values()) - sum(nested.values()) or not near(sum(size.values()), *words[10:12]):
            wrong.append((k.rank, line))
    ok(not wrong, "for people: each rank", str(wrong[:2]))
    own = sum(int(k.threads["own_ticks"].sum()) * k.rate for k in ranks)
    words = next((x.split() for x in lines if x.startswith("  slow path ")), ["", "", "0", "ns"])
    ok(near(own, *words[2:4]), "for people: the slow path", f"{words} {own}")
    words = next((x.split() for x in lines if x.startswith("  waiting ")), ["", "-1", "ns", "", "-1"])
    ok(near(sum(int(k.threads["wait_ticks"].sum()) * k.rate for k in ranks), *words[1:3]) and
       int(words[4]) == sum(int(k.threads["waits"].sum()) for k in ranks), "for people: the waits", str(words))


def check_sites(ranks, report):
    """Compares the sums over call sites with those of the events, and the places with /paths."""
    mpi, wrong = [(k, k.mpi()) for k in ranks], []
    for name in {n for _, m in mpi for n in m[0]}:
        sites = [s for s in report["call_sites"] if s["function"] == name]
        outermost = sum(m[0][name] - m[1][name] for _, m in mpi)
        time_ns = sum(m[2][name] * k.rate for k, m in mpi)
        if sum(s["calls"] for s in sites) > outermost or not close(sum(s["total_ns"] for s in sites), time_ns):
            wrong.append((name, outermost, time_ns, sites))
    ok(not wrong, "call sites: calls and times add up to those of the functions", str(wrong[:1]))
    places = {(k.strings[int(p["image"])] if p["image"] else None, hex(int(p["offset"]))) for k in ranks for p in k.paths}
    got = {(s["image"], s["return_offset"]) for s in report["call_sites"] if s["return_offset"]}
    called = any(m[0] for _, m in mpi)  # regions have paths too
    ok(got <= places and (got or not places or not called), "call sites: their places are those of /paths", str(got - places))


def main():
    folder, report_path, dump_path, text_path, lines_path = sys.argv[1:6]
    with open(report_path, encoding="utf-8") as f:
        report = json.load(f)
    span = tuple(map(int, sys.argv[6:8]))
    ranks = [Rank(p, span) for p in sorted(glob.glob(os.path.join(folder, "rank-*.h5")))]
    ok(len(ranks) == len(report["ranks"]), "a rank for each file")
    origin = min(k.ns(t["started"]) for k in ranks for t in k.threads if int(t["started"]))
    ok(close(report["origin_monotonic_ns"], origin), "the origin is the first thread's start")
    ok(report["events"] == sum(len(k.events) for k in ranks), "sum of events")
    for k in ranks:
        check_rank(k, report)
    check_windows(ranks, report, origin)
    check_dump(ranks, dump_path, origin)
    check_lines(dump_path, lines_path)
    check_text(ranks, text_path)
    for f in report["mpi"]:
        times = [next((g["time_ns"] for g in r["functions"] if g["name"] == f["name"]), 0.0)
                 for r in report["ranks"] if r["main"]]
        if not (close(f["max_ns"], max(times)) and close(f["mean_ns"], sum(times) / len(times)) and
                (f["imbalance"] is None or abs(f["imbalance"] - max(times) * len(times) / sum(times)) < 1e-3)):
            ok(False, f"imbalance of {f['name']}", str((f, times)))
    ok(True, "imbalances were compared")
    check_sites(ranks, report)
    print(f"1..{count}")
    return 1 if failed else 0


sys.exit(main())
