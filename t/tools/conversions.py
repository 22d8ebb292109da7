#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs every conversion on runs and on damaged copies of them.

Each conversion must give a result or a clear error: no crash, no hang, no sanitizer report.

usage: conversions.py REGTRACE SCRATCH ROUNDS DIR...; prints TAP. The rounds use a fixed seed, so a
failure repeats."""
import os
import random
import shutil
import subprocess
import sys

LIMIT = 120
OUT = "converted"
CONVERSIONS = {
    "prv": ["prv", "-o", OUT],
    "emulate": ["emulate", "-o", OUT],
    "csv": ["export", "-csv", OUT],
    "chrome": ["export", "-chrome", OUT],
    "otf2": ["export", "-otf2", OUT],
    "ovni": ["export", "-ovni", OUT],
    "html": ["timeline", "-o", OUT],
    "svg": ["timeline", "-svg", OUT],
    "report": ["report"],
    "json": ["report", "--json"],
}
WITH_POLICY = ("prv", "emulate", "html", "svg")
REPORTS = (b"Sanitizer", b"runtime error")
count = 0


def ok(why, name):
    global count
    count += 1
    print(f"{'not ' if why else ''}ok {count} - {name}", flush=True)
    if why:
        print("# " + why.replace("\n", "\n# "), flush=True)


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.remove(path)


def convert(regtrace, name, run, damaged):
    """Returns what is wrong with the conversion, or None."""
    words = [
        *CONVERSIONS[name],
        *(["-policy", "salvage"] if damaged and name in WITH_POLICY else []),
        "--wait",
        "0",
        run,
    ]
    try:
        r = subprocess.run(
            [regtrace, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT
        )
    except subprocess.TimeoutExpired:
        return f"{words}: took longer than {LIMIT} s"
    there = os.path.lexists(OUT)
    left = [n for n in os.listdir(".") if n.startswith(OUT + ".")]
    remove(OUT)
    told = r.stderr[-3000:].decode(errors="replace")
    if any(text in r.stderr for text in REPORTS):
        return f"{words}: {told}"
    if r.returncode not in ((0, 1) if damaged else (0,)):
        return f"{words}: ended with {r.returncode}: {told}"
    if r.returncode == 1 and not r.stderr and not r.stdout:
        return f"{words}: failed without a word"
    if left:
        return f"{words}: left {left}"
    if OUT in words and r.returncode == 0 and not there:
        return f"{words}: made nothing"
    return None


def damage(run, scratch, rng):
    """Makes a copy with changed bytes, or a truncated copy; returns the damage in words."""
    remove(scratch)
    shutil.copytree(run, scratch)
    remove(os.path.join(scratch, "regtrace.h5"))
    path = os.path.join(
        scratch,
        rng.choice(
            sorted(n for n in os.listdir(scratch) if n.startswith("rank-") and n.endswith(".h5"))
        ),
    )
    with open(path, "rb") as f:
        data = bytearray(f.read())
    if rng.random() < 0.25:
        data = data[: rng.randrange(len(data))]
        what = f"{os.path.basename(path)} cut to {len(data)} bytes"
    else:
        n = rng.choice((1, 4, 32, 256))
        for _ in range(n):
            data[rng.randrange(len(data))] = rng.randrange(256)
        what = f"{n} bytes of {os.path.basename(path)}"
    with open(path, "wb") as f:
        f.write(data)
    return what


def main():
    regtrace, scratch, rounds, *runs = sys.argv[1:]
    here = [n for n in CONVERSIONS if n != "otf2" or os.environ.get("WITHOUT_OTF2") != "1"]
    for run in runs:
        for name in here:
            ok(convert(regtrace, name, run, False), f"{os.path.basename(run)}: {name}")
    rng = random.Random(20261123)
    for i in range(int(rounds)):
        what = damage(runs[i % len(runs)], scratch, rng)
        wrong = [w for w in (convert(regtrace, name, scratch, True) for name in here) if w]
        ok("\n".join(wrong), f"damaged, {i}: {what}")
    print(f"1..{count}")


main()
