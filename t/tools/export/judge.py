#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares an export, by an independent reader, with `regtrace dump --json` of the same ranks.

usage: judge.py FORMAT DUMP EXPORT [from=NS] [to=NS] [windows=FIRST-LAST] [kinds=KIND,...]
[said=TEXT]

Spans must be balanced and nested, and times must never go back. For each thread and name, the
number of beginnings and the time between beginning and end must be the same.

- FORMAT: chrome, csv, otf2 (the text of otf2-print -G followed by that of otf2-print), ovni.
- kinds: compares only spans of these kinds, since a run that lost events does not tell the others.
  All spans must be balanced. No span of the other kinds may go on where events were lost.
- said: what export printed on stderr.

Prints what is wrong and fails; else prints the number of spans."""
import bisect
import collections
import csv
import glob
import json
import os
import re
import struct
import sys

wrong = []
PAIRS = {
    "EV_FUNCTION_ENTER": ("function", 1), "EV_FUNCTION_LEAVE": ("function", -1),
    "EV_REGION_BEGIN": ("region", 1), "EV_REGION_END": ("region", -1),
    "EV_MARK_PUSH": ("mark", 1), "EV_MARK_POP": ("mark", -1),
    "EV_WINDOW_OPEN": ("window", 1), "EV_WINDOW_CLOSE": ("window", -1),
    "EV_SIGNAL_ENTER": ("signal", 1), "EV_SIGNAL_LEAVE": ("signal", -1),
}
COUNTERS = {"EV_COUNTER": "in windows", "EV_MPI_COUNTER": "in MPI calls", "EV_STATS_COUNTER": "since stats-reset"}
# ovni's model of MPI: the category, then the value of the enter. The value of the leave is the
# capital letter, or ] for [.
OVNI_MPI = {
    "U": {"f": "Finalize", "i": "Init", "t": "Init_thread"},
    "W": {"[": "Wait", "a": "Waitall", "s": "Waitsome", "y": "Waitany"},
    "T": {"[": "Test", "a": "Testall", "s": "Testsome", "y": "Testany"},
    "S": {"[": "Send", "b": "Bsend", "r": "Rsend", "s": "Ssend"},
    "R": {"[": "Recv", "s": "Sendrecv", "o": "Sendrecv_replace"},
    "A": {"g": "Allgather", "r": "Allreduce", "a": "Alltoall"},
    "C": {"b": "Barrier", "e": "Exscan", "s": "Scan"},
    "D": {"b": "Bcast", "g": "Gather", "s": "Scatter"},
    "E": {"[": "Reduce", "s": "Reduce_scatter", "b": "Reduce_scatter_block"},
    "s": {"[": "Isend", "b": "Ibsend", "r": "Irsend", "s": "Issend"},
    "r": {"[": "Irecv", "s": "Isendrecv", "o": "Isendrecv_replace"},
    "a": {"g": "Iallgather", "r": "Iallreduce", "a": "Ialltoall"},
    "c": {"b": "Ibarrier", "e": "Iexscan", "s": "Iscan"},
    "d": {"b": "Ibcast", "g": "Igather", "s": "Iscatter"},
    "e": {"[": "Ireduce", "s": "Ireduce_scatter", "b": "Ireduce_scatter_block"},
}
BLOCKING = {"MPI_" + n for n in ("Allgather Allgatherv Allreduce Alltoall Alltoallv Alltoallw Barrier Bcast Exscan Gather Gatherv Reduce "
                                 "Reduce_scatter Reduce_scatter_block Scan Scatter Scatterv").split()}


def complain(text):
    if len(wrong) < 20:
        wrong.append(text)


class Sums:
    """By (rank, thread, kind, name): how often a span begins, and how long it lasts."""

    def __init__(self):
        self.begins = collections.Counter()
        self.time = collections.Counter()
        self.open, self.spans = collections.defaultdict(list), []

    def add(self, key, sign, ns):
        if sign > 0:
            self.open[key].append(ns)
        elif self.open[key]:
            self.spans.append((key, self.open[key].pop(), ns))
        self.begins[key] += sign > 0
        self.time[key] -= sign * ns


class Dump:
    """The spans in the output of regtrace dump --json."""

    def __init__(self, path, start, end, windows):
        self.sums, self.points, self.marks, self.counters = Sums(), [], [], []
        self.collectives = collections.Counter()
        self.unfinished = 0
        labels, titles, self.events = {}, {}, []
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                self.events.append(json.loads(line))
        last, balance = {}, collections.Counter()
        for e in self.events:
            process = (e["rank"], e["pid"])
            if e["name"] == "EV_MARK_TYPE":
                titles[process, e["data"]["type"]] = e["data"]["title"]
            if e["name"] == "EV_MARK_LABEL":
                labels[process, e["data"]["type"], e["data"]["value"]] = e["data"]["label"]
        if windows:
            first, _, to = windows.partition("-")
            self.events = [e for e in self.events if e["window"] is not None and int(first) <= e["window"] <= int(to)]
        for e in self.events:
            process, data, ns = (e["rank"], e["pid"]), e["data"], e["ns"]
            thread = (e["rank"], e["thread"])
            last[thread] = max(ns, last.get(thread, 0))
            kind, sign, name = self.span_of(e, titles, labels)
            ns = min(max(ns, start), end)
            if kind is None:
                if e["name"] == "EV_MARK_SET" and start <= e["ns"] <= end:
                    self.marks.append((thread, ns, titles.get((process, data["type"]), f"mark {data['type']}"), data["value"]))
                if e["name"] in COUNTERS and start <= e["ns"] <= end:
                    self.counters.append((thread, ns, f"{data['event']} {COUNTERS[e['name']]}", data["count"]))
                continue
            key = (*thread, kind, name)
            balance[key] += sign
            if balance[key] < 0:
                balance[key] = 0
                continue
            self.sums.add(key, sign, ns)
            if kind == "mpi" and sign > 0 and name in BLOCKING and e["ns"] <= end:
                self.collectives[data["comm"]] += 1
            if sign > 0 and e["ns"] > end:
                self.sums.begins[key] -= 1
        for key, n in balance.items():
            self.sums.time[key] += n * min(max(last[key[:2]], start), end)
            self.unfinished += n if key[2] != "mark" else 0
        self.named = all("address_name" in e["data"] for e in self.events if e["name"].startswith("EV_FUNCTION"))
        # A span that ends before the selection counts as a span that begins in the selection.
        self.clipped = start > 0

    def span_of(self, e, titles, labels):
        data, process = e["data"], (e["rank"], e["pid"])
        if e["name"].startswith("MPI_") and e["label"] in ("enter", "leave"):
            return "mpi", 1 if e["label"] == "enter" else -1, e["name"]
        if e["name"] not in PAIRS:
            return None, 0, ""
        kind, sign = PAIRS[e["name"]]
        if kind == "function":
            name = data.get("address_name", "")
        elif kind == "region":
            name = data["region"]
        elif kind == "window":
            name = f"window {data['ordinal']}"
        elif kind == "signal":
            name = "SIG" + data["name"]
        else:
            title = titles.get((process, data["type"]), f"mark {data['type']}")
            label = labels.get((process, data["type"], data["value"]), data["value"])
            name = f"{title}: {label}"
        return kind, sign, name


def compare_sums(dump, found, crossing):
    def fold(counter):
        out = collections.Counter()
        for key, n in counter.items():
            if not dump.kinds or key[2] in dump.kinds:
                out[key if key[2] != "function" or dump.named else (*key[:3], "")] += n
        return {k: v for k, v in out.items() if v != 0}

    if dump.kinds:
        check_losses(dump, found)
    expected, got = fold(dump.sums.time), fold(found.time)
    for key in sorted(set(expected) | set(got)):
        if expected.get(key) != got.get(key):
            complain(f"time in {key}: {got.get(key)} ns, of dump {expected.get(key)}")
    begins = sum(fold(found.begins).values()) - crossing
    wanted = sum(fold(dump.sums.begins).values())
    if not dump.clipped and begins + crossing * bool(dump.kinds) != wanted:
        complain(f"{begins} beginnings, of dump {wanted}")
    return begins


def check_losses(dump, found):
    losses = collections.defaultdict(list)
    for e in dump.events:
        if e["name"] == "EV_DROPPED":
            losses[e["rank"], e["thread"]].append(e["ns"])
    for key, begin, end in found.spans:
        times = losses[key[:2]]
        i = bisect.bisect_right(times, begin)
        if key[2] not in dump.kinds and i < len(times) and times[i] < end:
            complain(f"{key} from {begin} to {end} goes on where events were lost, at {times[i]}")


class Stacks:
    """The nested spans of one thread."""

    def __init__(self, where):
        self.where, self.stack, self.last = where, [], -1

    def time(self, ns):
        if ns < self.last:
            complain(f"{self.where}: the time goes back from {self.last} to {ns}")
        self.last = ns

    def pop(self, name=None):
        if not self.stack:
            complain(f"{self.where}: an end without a beginning at {self.last}")
            return None
        top = self.stack.pop()
        if name is not None and top != name:
            complain(f"{self.where}: {name} ends at {self.last}, and {top} is on top")
        return top

    def end(self):
        if self.stack:
            complain(f"{self.where}: {self.stack} never end")


def judge_chrome(dump, path, crossing):
    with open(path, encoding="utf-8") as f:
        trace = json.load(f)
    ranks, threads, found, stacks = {}, {}, Sums(), {}
    counters, marks = [], []
    titles = {m[2] for m in dump.marks}
    for e in trace["traceEvents"]:
        where = (e["pid"], e["tid"])
        if e["ph"] == "M":
            name = e["args"].get("name", "")
            if e["name"] == "process_name":
                ranks[e["pid"]] = int(re.match(r"rank (-?\d+)", name)[1])
            if e["name"] == "thread_name":
                threads[where] = int(re.match(r"thread (\d+)", name)[1])
            continue
        ns = round(e["ts"] * 1000)
        s = stacks.setdefault(where, Stacks(where))
        s.time(ns)
        thread = (ranks[e["pid"]], threads[where])
        if e["ph"] == "B":
            key = (*thread, e["cat"], e["name"])
            s.stack.append(key)
            found.add(key, 1, ns)
        elif e["ph"] == "E":
            key = s.pop()
            if key is not None:
                found.add(key, -1, ns)
        elif e["ph"] == "C":
            name = re.sub(r", thread \d+$", "", e["name"])
            (marks if name in titles else counters).append((thread, ns, name, next(iter(e["args"].values()))))
        elif e["ph"] not in "isf":
            complain(f"unknown phase {e['ph']}")
    for s in stacks.values():
        s.end()
    compare_points(dump, counters, marks)
    return compare_sums(dump, found, crossing)


def compare_points(dump, counters, marks, zeros=True):
    for what, expected, got in (("counters", dump.counters, counters), ("marks", dump.marks, marks)):
        expected = sorted(p for p in expected if zeros or p[3] != 0)
        if expected != sorted(got):
            complain(f"{what}: {len(got)}, of dump {len(expected)}; first {sorted(got)[:1]}, of dump {expected[:1]}")


def unescape(text):
    return re.sub(r"\\(x[0-9a-f]{2}|\\)", lambda m: "\\" if m[1] == "\\" else chr(int(m[1][1:], 16)), text)


def judge_csv(dump, path, start, end):
    def text(value):
        return value if isinstance(value, str) else str(int(value))

    expected = collections.Counter()
    for e in dump.events:
        if not start <= e["ns"] <= end:
            continue
        flags = " ".join(f for f in ("cut", "late", "nested", "fortran") if e[f])
        data = {k: text(v) for k, v in e["data"].items()}
        expected[str(e["ns"]), str(e["rank"]), str(e["pid"]), str(e["thread"]), text(e["window"]) if e["window"] is not None else "",
                 text(e["cpu"]) if e["cpu"] is not None else "", e["name"], e["label"], flags, tuple(sorted(data.items()))] += 1
    got, last, rows = collections.Counter(), 0, 0
    with open(path, encoding="utf-8", newline="") as f:
        lines = f.read()
    if lines.count("\n") != len(dump.events) + 1 and end == NEVER and start == 0:
        complain(f"{lines.count(chr(10))} lines of {len(dump.events)} events")
    for row in csv.DictReader(lines.splitlines(), strict=True):
        head = tuple(unescape(row.pop(k)) for k in ("ns", "rank", "pid", "thread", "window", "cpu", "name", "label", "flags"))
        fields = row.pop("fields")
        data = {k: unescape(v) for k, v in row.items() if v != ""}
        for pair in fields.split(";") if fields else ():
            key, _, value = pair.partition("=")
            data[key] = unescape(value)
        # Leaves out names that dump does not give: addresses without a function's name.
        data = {k: v for k, v in data.items() if not (k.endswith("_name") and re.match(r"(\S+\+)?0x[0-9a-f]+$", v))}
        got[(*head, tuple(sorted(data.items())))] += 1
        if int(head[0]) < last:
            complain(f"the time goes back to {head[0]}")
        last, rows = int(head[0]), rows + 1
    for kind, rest in (("not in dump", got - expected), ("missing", expected - got)):
        for row in list(rest)[:3]:
            complain(f"{kind}: {row}")
    return rows


def judge_otf2(dump, path, crossing):
    regions, threads, groups = {}, {}, {}
    found, stacks, counters, marks = Sums(), {}, [], []
    open_collective, collectives, comms = {}, 0, set()
    titles = {m[2] for m in dump.marks}
    kinds = {"MPI function": "mpi", "signal handler": "signal"}
    with open(path, encoding="utf-8") as f:
        for line in f:
            word = line.split()[0] if line.strip() else ""
            if word == "REGION":
                m = re.match(r'REGION +(\d+)  Name: "(.*)" <\d+> \(Aka\..*Descr\.: "([^"]*)" <\d+>, Role: (\w+)', line)
                regions[int(m[1])] = (kinds.get(m[3], m[3]), m[2])
            elif word == "LOCATION_GROUP":
                m = re.match(r'LOCATION_GROUP +(\d+)  Name: "rank (-?\d+)', line)
                groups[int(m[1])] = int(m[2])
            elif word == "LOCATION":
                m = re.match(r'LOCATION +(\d+)  Name: "thread (\d+).*# Events: (\d+), Group: .* <(\d+)>$', line)
                threads[int(m[1])] = (groups[int(m[4])], int(m[2]))
            elif word in ("COMM", "INTER_COMM"):
                comms.add(int(line.split()[1]))
            if word not in ("ENTER", "LEAVE", "METRIC", "MPI_COLLECTIVE_BEGIN", "MPI_COLLECTIVE_END"):
                continue
            fields = line.split(None, 3)
            where, ns = int(fields[1]), int(fields[2])
            thread = threads[where]
            s = stacks.setdefault(where, Stacks(thread))
            s.time(ns)
            if word == "ENTER" or word == "LEAVE":
                key = (*thread, *regions[int(re.search(r"<(\d+)>$", line.rstrip())[1])])
                if word == "ENTER":
                    s.stack.append(key)
                else:
                    s.pop(key)
                found.add(key, 1 if word == "ENTER" else -1, ns)
            elif word == "METRIC":
                m = re.search(r'Value: \("(.*)" <\d+>; U?INT64; (-?\d+)\)', line)
                (marks if m[1] in titles else counters).append((thread, ns, m[1], int(m[2])))
            elif word == "MPI_COLLECTIVE_BEGIN":
                if where in open_collective or not s.stack or s.stack[-1][3] not in BLOCKING:
                    complain(f"{thread}: a collective begins at {ns} in {s.stack[-1:]}")
                open_collective[where] = s.stack[-1:]
                collectives += 1
            else:
                op = re.search(r"Operation: (\w+), Communicator: .* <(\d+)>,", line)
                top = open_collective.pop(where, None)
                if top is None or top != s.stack[-1:] or "MPI_" + op[1] != top[0][3].upper().replace("MPI_", "MPI_", 1):
                    complain(f"{thread}: {line.strip()} ends {top}, in {s.stack[-1:]}")
                if int(op[2]) not in comms:
                    complain(f"communicator {op[2]} is not defined")
    for s in stacks.values():
        s.end()
    if open_collective:
        complain(f"collectives never end: {open_collective}")
    # Without all ranks, only collectives on MPI_COMM_SELF are exported. Collectives at the edges of
    # a selection are not compared.
    ranks = {e["rank"] for e in dump.events}
    expected = sum(dump.collectives.values()) if ranks == set(range(len(ranks))) else dump.collectives[2]
    if not dump.clipped and collectives != expected:
        complain(f"{collectives} collectives, of dump {expected}")
    compare_points(dump, counters, marks)
    return compare_sums(dump, found, crossing)


def read_ovni_stream(path):
    with open(path, "rb") as f:
        data = f.read()
    if data[:8] != b"ovni" + struct.pack("=I", 1):
        complain(f"{path}: wrong head")
    at = 8
    while at < len(data):
        flags, mcv, clock = struct.unpack_from("=B3sQ", data, at)
        if flags & 0xf0:
            complain(f"{path}: flags {flags:#x}")
        size = (flags & 15) + 1 if flags & 15 else 0
        payload = data[at + 12:at + 12 + size]
        if len(payload) != size:
            complain(f"{path}: an event is cut off")
        yield mcv.decode(), clock, payload
        at += 12 + size


def check_ovni_json(path, meta, looms):
    o = meta["ovni"]
    expected = {"part": "thread", "finished": 1, "require": {"ovni": "1.1.0", "mpi": "1.0.0"}}
    for key, value in expected.items():
        if o.get(key) != value:
            complain(f"{path}: {key} is {o.get(key)}")
    if meta.get("version") != 3 or o["app_id"] <= 0 or "/" in o["loom"] or not o["lib"]["version"] or not o["lib"]["commit"]:
        complain(f"{path}: {meta}")
    if not 0 <= o["rank"] < o["nranks"] or o["tid"] <= 0 or o["pid"] <= 0:
        complain(f"{path}: rank {o['rank']} of {o['nranks']}, tid {o['tid']}")
    cpus = looms.setdefault(o["loom"], [])
    cpus.extend(o.get("loom_cpus", []))


def ovni_types(metas):
    types = {}
    for meta in metas:
        for number, t in meta["ovni"].get("mark", {}).items():
            if int(number) in types:
                complain(f"type {number} is defined twice")
            if not 0 <= int(number) <= 99 or t["chan_type"] not in ("single", "stack") or "0" in t["labels"]:
                complain(f"type {number}: {t}")
            types[int(number)] = t
    return types


def ovni_span(types, number, value):
    t = types[number]
    kind = {"windows": "window", "regions": "region", "functions": "function", "signals": "signal"}.get(t["title"], "mark")
    label = t["labels"].get(str(value))
    if kind != "mark":
        return kind, label
    return kind, f"{t['title']}: {label if label is not None else value}"


def judge_ovni(dump, folder, crossing):
    paths = sorted(glob.glob(os.path.join(folder, "**", "stream.json"), recursive=True))
    metas = [json.load(open(p, encoding="utf-8")) for p in paths]
    looms, found, counters, marks, seen = {}, Sums(), [], [], set()
    for path, meta in zip(paths, metas):
        check_ovni_json(path, meta, looms)
    types = ovni_types(metas)
    titles = {m[2] for m in dump.marks}
    for name, cpus in looms.items():
        if not cpus or sorted(c["index"] for c in cpus) != list(range(len(cpus))) or len({c["phyid"] for c in cpus}) != len(cpus):
            complain(f"loom {name}: processors {cpus}")
    for path, meta in zip(paths, metas):
        o = meta["ovni"]
        if (o["loom"], o["tid"]) in seen:
            complain(f"thread {o['tid']} of {o['loom']} is there twice")
        seen.add((o["loom"], o["tid"]))
        thread = (o["rank"], int(os.path.dirname(path).rpartition(".")[2]))
        stacks, first, last = collections.defaultdict(lambda: Stacks(path)), None, None
        clock = Stacks(path)
        for mcv, ns, payload in read_ovni_stream(os.path.join(os.path.dirname(path), "stream.obs")):
            clock.time(ns)
            if last == "OHe":
                complain(f"{path}: {mcv} after the end")
            first, last = first or (mcv, payload), mcv
            if mcv[0] == "M":
                opens = mcv[2] if mcv[2] in OVNI_MPI[mcv[1]] else {"]": "["}.get(mcv[2], mcv[2].lower())
                key = (*thread, "mpi", "MPI_" + OVNI_MPI[mcv[1]][opens])
                begins, stack = opens == mcv[2], stacks["mpi"]
            elif mcv in ("OM[", "OM]", "OM="):
                value, number = struct.unpack("=qi", payload)
                if value == 0 or (types[number]["chan_type"] == "single") != (mcv == "OM="):
                    complain(f"{path}: {mcv} {value} of type {number}")
                if mcv == "OM=":
                    title = types[number]["title"]
                    (marks if title in titles else counters).append((thread, ns, title, value))
                    continue
                key, begins, stack = (*thread, *ovni_span(types, number, value)), mcv == "OM[", stacks[number]
            else:
                if mcv not in ("OHx", "OHe") or len(payload) != (16 if mcv == "OHx" else 0):
                    complain(f"{path}: {mcv} {payload}")
                continue
            stack.time(ns)
            if begins:
                stack.stack.append(key)
            else:
                stack.pop(key)
            found.add(key, 1 if begins else -1, ns)
        if first is None or first[0] != "OHx" or last != "OHe":
            complain(f"{path}: from {first} to {last}")
        for s in stacks.values():
            s.end()
    has = {"MPI_" + n for values in OVNI_MPI.values() for n in values.values()}
    for key in [k for k in dump.sums.time if k[2] == "mpi" and k[3] not in has]:
        left = dump.sums.begins.pop(key)
        dump.left_out = getattr(dump, "left_out", 0) + left
        del dump.sums.time[key]
    compare_points(dump, counters, marks, zeros=False)
    return compare_sums(dump, found, crossing)


NEVER = 1 << 62


def said_number(said, pattern):
    m = re.search(pattern, said)
    return int(m[1]) if m else 0


def main():
    form, dumped, export = sys.argv[1:4]
    more = dict(a.split("=", 1) for a in sys.argv[4:])
    start, end, said = int(more.get("from", 0)), int(more.get("to", NEVER)), more.get("said", "")
    dump = Dump(dumped, start, end, more.get("windows", ""))
    dump.kinds = more["kinds"].split(",") if "kinds" in more else []
    crossing = said_number(said, r"(\d+) times a region")
    if form == "csv":
        n = judge_csv(dump, export, start, end)
    else:
        n = {"chrome": judge_chrome, "otf2": judge_otf2, "ovni": judge_ovni}[form](dump, export, crossing)
        said_unfinished = said_number(said, r"(\d+) windows, regions and calls have no end")
        if not dump.kinds and start == 0 and end == NEVER and said_unfinished != dump.unfinished:
            complain(f"{said_unfinished} are said to have no end, of dump {dump.unfinished}")
        if form == "ovni" and not dump.clipped and end == NEVER and said_number(said, r"(\d+) calls of MPI functions") != getattr(dump, "left_out", 0):
            complain(f"calls left out: said {said}, of dump {dump.left_out}")
    print("\n".join(wrong) if wrong else n)
    return 1 if wrong else 0


sys.exit(main())
