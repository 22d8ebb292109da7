#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares `regtrace skel stats` with the accesses that `regtrace skel replay` writes as text (of a
program at a fixed address).

usage: skel_stats.py TEXT JSON CSV. Computes everything once more, as plainly as possible: sets of
bytes, and a list of lines in the order of their last touches. Takes from JSON the loop and the
function of each instruction. The CSV table must say what JSON says. Prints how much was compared.
"""
import collections
import csv
import json
import re
import sys

text, said, table = sys.argv[1:4]
j = json.load(open(said))
line_bytes, page_bytes = j["line_bytes"], j["page_bytes"]


class Sums:
    def __init__(self):
        self.kinds = collections.Counter()
        self.places = set()  # (process, address, bytes) of accesses
        self.strides = collections.Counter()
        self.cold = 0
        self.reuse = collections.Counter()

    def check(self, row, what):
        k = self.kinds
        touched = {(process, a) for process, address, size in self.places for a in range(address, address + size)}
        lines = {(process, a // line_bytes) for process, a in touched}
        pages = {(process, a // page_bytes) for process, a in touched}
        wanted = {"accesses": sum(k.values()), "loads": k["R"] + k["M"], "stores": k["W"] + k["M"], "footprint_bytes": len(touched),
                  "footprint_lines": len(lines), "footprint_pages": len(pages), "cold": self.cold,
                  "reuse": [self.reuse[n] for n in range(max(self.reuse, default=-1) + 1)]}
        got = {key: row[key] for key in wanted}
        assert got == wanted, (what, got, wanted)

    def check_strides(self, row, what):
        assert row["strides"] == sum(self.strides.values()) and row["strides_exact"], (what, row)
        top = sorted(self.strides.items(), key=lambda s: (-s[1], abs(s[0]), -s[0]))[:3]
        assert [(s["bytes"], s["times"]) for s in row["top_strides"]] == top, (what, row["top_strides"], top)
        for s in row["top_strides"]:
            assert abs(s["percent"] - 100 * s["times"] / row["strides"]) < 1e-6


ENDS = {"left by a jump or an exception": "jumped", "its file could not grow": "no_room", "cut off within a function": "amid", "cut off: the thread or process": "open"}
total, accesses, streams = Sums(), collections.defaultdict(Sums), {}
functions, loops = collections.defaultdict(Sums), collections.defaultdict(Sums)
where = {}
for a in j["accesses"]:
    chain, head = [], a["loop"]
    parents = {x["loop"]: x["parent"] for x in j["loops"] if x["function"] == a["function"]}
    while head is not None:
        chain.append((a["function"], head))
        head = parents[head]
    where[int(a["address"], 16)] = (a["function"], chain)
whose = None
ends = {}
for record in open(text):
    m = re.match(r"# rank (-?\d+), pid (\d+), thread (\d+), window (\d+)(?:,.*handler of signal (\d+))?", record)
    if m:
        new = tuple(int(x or 0) for x in m.groups())
        if new != whose:
            stack, there, last = [], set(), {}
        whose, process = new, new[:2]
        stream = streams.setdefault(whose, Sums())
        # A jump is no final end: recording goes on after it. Any other incomplete end is final.
        end = next((word for said, word in ENDS.items() if said in record), "closed")
        if end not in ("closed", "jumped") or ends.get(whose, "closed") in ("closed", "jumped"):
            ends[whose] = end
    if "a function was not recorded" in record and ends[whose] == "closed":
        ends[whose] = "missing"
    if record[0] == "#":
        continue
    pc, kind, size, address = record.split()
    pc, size, address = int(pc, 16), int(size), int(address, 16)
    function, chain = where[pc]
    key = pc, kind, size
    all_of_it = [total, stream, accesses[key], functions[function]] + [loops[x] for x in chain]
    for s in all_of_it:
        s.kinds[kind] += 1
        s.places.add((process, address, size))
    if key in last:
        accesses[key].strides[address - last[key]] += 1
    last[key] = address
    for line in range(address // line_bytes, (address + max(size, 1) - 1) // line_bytes + 1):
        if line in there:
            distance = stack.index(line)
            del stack[distance]
            for s in all_of_it:
                s.reuse[distance.bit_length()] += 1
        else:
            there.add(line)
            for s in all_of_it:
                s.cold += 1
        stack.insert(0, line)

total.check(j["total"], "total")
assert len(j["streams"]) == len(streams)
for s in j["streams"]:
    key = tuple(s[k] for k in ("rank", "pid", "thread", "window", "signal"))
    streams[key].check(s, key)
    assert s["end"] == ends[key], (key, s["end"], ends[key])
assert len(j["accesses"]) == len(accesses)
for a in j["accesses"]:
    key = int(a["address"], 16), a["kind"], a["bytes"]
    accesses[key].check(a, key)
    accesses[key].check_strides(a, key)
assert len(j["functions"]) == len(functions) and len(j["loops"]) == len(loops), (sorted(functions), sorted(loops), len(j["functions"]))
for f in j["functions"]:
    functions[f["function"]].check(f, f["function"])
for x in j["loops"]:
    loops[x["function"], x["loop"]].check(x, x)

# The CSV table says what JSON says.
rows = list(csv.DictReader(open(table)))
columns = ("scope rank pid program thread window signal end image function loop counter depth address line kind bytes expression accesses loads stores footprint_bytes "
           "footprint_lines footprint_pages strides stride_1 stride_1_times stride_2 stride_2_times stride_3 stride_3_times cold").split()
columns += ["reuse_%d" % (2 ** n // 2) for n in range(34)]
assert list(rows[0]) == columns, list(rows[0])
for scope, of_json in ("total", [j["total"]]), ("stream", j["streams"]), ("function", j["functions"]), ("loop", j["loops"]), ("access", j["accesses"]):
    some = [r for r in rows if r["scope"] == scope]
    assert len(some) == len(of_json)
    for r, o in zip(some, of_json):
        for column in columns:
            if column in o:
                assert r[column] == str("" if o[column] is None else o[column]), (column, r, o)
        assert [int(r[c]) for c in columns[-34:]] == o["reuse"] + [0] * (34 - len(o["reuse"]))
        for n, s in enumerate(o.get("top_strides", []), 1):
            assert (int(r["stride_%d" % n]), int(r["stride_%d_times" % n])) == (s["bytes"], s["times"])
assert len(rows) == 1 + len(j["streams"]) + len(functions) + len(loops) + len(accesses)
print("%d accesses, %d streams, %d functions, %d loops, %d instructions" % (sum(total.kinds.values()), len(streams), len(functions), len(loops), len(accesses)))
