#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares a file of `regtrace skel replay -format hdf5` with the records of -format binary.

usage: skel_hdf5.py FILE RECORDS PROGRAM [OTHER]. share/doc/schema.md describes the file. Compares
functions, lines and loops with nm, addr2line and the program's source, and expressions with the
output of `regtrace skel analyze` on standard input, if there is any. OTHER must have the same rows
and tables. Prints what was found."""
import re
import subprocess
import sys

import h5py
import numpy as np
import pandas as pd

name, records, program = sys.argv[1:4]
f = h5py.File(name)
assert f.attrs["schema_version"] == 1 and f.attrs["finished"] == 1
assert f.attrs["program"].decode().endswith(program.lstrip("."))

# Records, by numpy alone.
raw = np.fromfile(records, dtype=np.dtype("<u8,<u8,<u4,u1,V3", align=False))
kinds = raw["f3"]
access = np.isin(kinds, [ord(c) for c in "RWM"])
rows = f["accesses"][()]
assert len(rows) == access.sum() > 0
for column, field in ("pc", "f0"), ("address", "f1"), ("bytes", "f2"), ("kind", "f3"):
    assert (rows[column] == raw[field][access]).all(), column
frame = pd.DataFrame(rows)
assert list(frame.columns) == ["pc", "address", "bytes", "kind"]

begins, ends = np.flatnonzero(kinds == ord("S")), np.flatnonzero(kinds == ord("E"))
segments = f["stretches"][()]
assert len(segments) == len(begins) == len(ends)
first = 0
for s, b, e in zip(segments, begins, ends):
    words = np.frombuffer(raw[b:b + 1].tobytes()[:20], dtype="<i4,<u4,<u4,<i4,<u4")[0]
    assert tuple(words) == (s["rank"], s["pid"], s["thread"], s["window"], s["signal"])
    assert s["first"] == first and s["rows"] == e - b - 1 == raw[e]["f0"]
    assert s["functions"] == raw[e]["f1"] and s["end"] == raw[e]["f2"]
    assert (rows[s["first"]:s["first"] + s["rows"]]["pc"] == raw["f0"][b + 1:e]).all()
    first += s["rows"]

# One dataset for each recording: one after the other, they are all rows.
recordings = sorted(f["recordings"], key=lambda n: [int(x) for x in re.split("[-.]", n)])
assert len(recordings) == len(set(segments["recording"]))
assert (np.concatenate([f["recordings"][n][()] for n in recordings]) == rows).all()

# Descriptions of instructions. Each instruction that has accessed memory has a place.
images, bases = f["images"][()], f["bases"][()]
functions, loops, places = f["functions"][()], f["loops"][()], f["places"][()]
assert len(images) == 1 and images[0]["path"].decode().endswith(program.lstrip("."))
base = {(b["pid"], b["program"]): b["base"] for b in bases}
assert len(base) == len(bases)
place = {p["address"]: p for p in places}
# A function that is also analysed from its middle on has no second row.
assert len(set(functions["name"])) == len(functions), functions
symbols = {}
for line in subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True).stdout.splitlines():
    words = line.split()
    if len(words) == 4 and words[2] in "tT":
        symbols[words[3]] = (int(words[0], 16), int(words[1], 16))
addresses = sorted({int(pc - base[s["pid"], s["program"]]) for s in segments
                    for pc in np.unique(rows["pc"][s["first"]:s["first"] + s["rows"]])})
lines = subprocess.run(["addr2line", "-e", program] + ["%x" % a for a in addresses], capture_output=True, text=True, check=True).stdout.split("\n")
for a, line in zip(addresses, lines):
    p = place[a]
    at, size = symbols[functions[p["function"]]["name"].decode()]
    assert at <= a < at + size, "%x is not in %s" % (a, functions[p["function"]]["name"])
    line = line.split(" ")[0]
    assert p["line"].decode() == line or line.startswith("?"), (p["line"], line)
depths = {}
for p in places:
    chain, loop = [], p["loop"]
    while loop >= 0:
        assert loops[loop]["function"] == p["function"]
        chain.append(loop)
        loop = loops[loop]["parent"]
    if chain:
        assert [loops[x]["depth"] for x in chain] == list(range(len(chain), 0, -1))
    function = functions[p["function"]]["name"].decode()
    depths[function] = max(depths.get(function, 0), len(chain))
assert [depths[n] for n in ("rows", "columns", "add", "walk", "work")] == [2, 2, 2, 1, 0], depths

# The expressions are those of `regtrace skel analyze`, which are on standard input. Exceptions are
# the callers of the functions that open windows: they are analysed from there on, too.
analyzed = {}
for line in sys.stdin:
    m = re.match(r"    0x([0-9a-f]+)  ([RWM] .*?)(   \[.*)?$", line)
    if m and m[2] not in analyzed.setdefault(int(m[1], 16), []):
        analyzed[int(m[1], 16)].append(m[2])
for a in addresses if analyzed else []:
    if functions[place[a]["function"]]["name"] not in (b"main", b"run_part"):
        assert place[a]["expression"].decode() == "; ".join(analyzed[a]), (place[a], analyzed[a])
names = {}
for loop in loops:
    if functions[loop["function"]]["name"] not in (b"main", b"run_part"):
        names.setdefault(loop["function"], []).append(loop["counter"].decode())
assert all(len(set(n)) == len(n) for n in names.values()), names
if analyzed:
    assert names[[f["name"].decode() for f in functions].index("rows")] == ["I", "J"], names

if len(sys.argv) > 4:
    other = h5py.File(sys.argv[4])
    for table in "accesses", "stretches", "images", "bases", "functions", "loops", "places":
        assert (other[table][()] == f[table][()]).all(), table
print("%d accesses, %d segments, %d recordings, %d instructions" % (len(rows), len(segments), len(recordings), len(addresses)))
