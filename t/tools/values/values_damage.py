#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs `regtrace values` on tables of values with wrong contents, shapes and types.

Each must give an error or a result, never a crash or a hang.

usage: values_damage.py REGTRACE GOOD_DIR SCRATCH ROUNDS SEED; prints TAP. A failure repeats with
the same seed.
"""
import json
import os
import random
import shutil
import subprocess
import sys

import h5py

TABLES = ("value_hot", "value_instructions", "value_threads")
ODD = (0, 1, 2, 3, 15, 16, 127, 255, 1 << 16, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 47), (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
FLOATS = (0.0, -1.0, 1.0, 1e300, float("inf"), float("-inf"), float("nan"), 5e-324)
LIMIT = 60


def ways(good, scratch):
    """Returns the commands to try, and whether the output of each is JSON."""
    return ((["values", scratch], False), (["values", "-json", scratch], True), (["values", "-by", "image", scratch], False),
            (["values", "-by", "procedure", "-json", scratch], True), (["values", "-invariant", "-least", "1", scratch], False),
            (["values", "-args", scratch], False), (["values", "-contexts", "-most", "0", "-cut", "0", scratch], False),
            (["values", "-diff", good, scratch], False), (["values", "-diff", scratch, good], False))


def try_all(regtrace, good, scratch):
    """Returns the first thing that went wrong, or None."""
    for words, is_json in ways(good, scratch):
        try:
            r = subprocess.run(["bash", "-c", "ulimit -v 4000000; exec \"$@\"", "-", regtrace, *words], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            return f"{words}: took longer than {LIMIT} s"
        if r.returncode not in (0, 1):
            return f"{words}: ended with {r.returncode}: {r.stderr[-300:]}"
        if r.returncode == 1 and not r.stderr and not r.stdout:
            return f"{words}: failed without a word"
        if b"Sanitizer" in r.stderr or b"runtime error" in r.stderr:
            return f"{words}: {r.stderr[-2000:].decode()}"
        if is_json and r.returncode == 0:
            try:
                json.loads(r.stdout)
            except ValueError as e:
                return f"{words}: no JSON: {e}: {r.stdout[-200:]}"
    return None


def odd_number(rng, dtype):
    if dtype.kind == "f":
        return rng.choice(FLOATS)
    value = rng.choice(ODD) if rng.random() < 0.7 else rng.getrandbits(64)
    value &= (1 << 8 * dtype.itemsize) - 1
    return value - (1 << 8 * dtype.itemsize) if dtype.kind == "i" and value >> (8 * dtype.itemsize - 1) else value


def change_contents(rng, table):
    rows = table[...]
    if len(rows) == 0:
        return
    for _ in range(rng.choice((1, 1, 3, 20))):
        name = rng.choice(rows.dtype.names)
        row = rng.randrange(len(rows))
        if rows.dtype[name].kind == "S":
            rows[name][row] = bytes(rng.randrange(256) for _ in range(rng.randrange(rows.dtype[name].itemsize + 1)))
        else:
            rows[name][row] = odd_number(rng, rows.dtype[name])
    if rng.random() < 0.2:
        # some rows twice, and in another order
        rows = rows[[rng.randrange(len(rows)) for _ in rows]]
    table[...] = rows


def change_shape(rng, file, name):
    rows = file[name][...]
    how = rng.randrange(6)
    if how == 0:
        file[name].resize((rng.choice((0, len(rows) + 1, 2 * len(rows) + 5)),))
        return
    del file[name]
    if how == 1:
        return
    if how == 2:
        file[name] = [1.0, 2.0]
    elif how == 3:
        file.create_group(name)
    elif how == 4:  # one field fewer
        kept = list(rows.dtype.names)
        kept.remove(rng.choice(kept))
        file[name] = rows[kept].copy()
    else:  # numbers of other sizes
        file[name] = rows.astype([(n, rows.dtype[n] if rows.dtype[n].kind != "u" else rng.choice(("u1", "u8", "f4", "S3"))) for n in rows.dtype.names])


def flip(rng, path):
    with open(path, "r+b") as f:
        data = bytearray(f.read())
        for _ in range(rng.choice((1, 4, 32))):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        f.seek(0)
        f.write(data)


def damage(rng, path):
    if rng.random() < 0.2:
        flip(rng, path)
        return
    with h5py.File(path, "r+") as file:
        name = rng.choice(TABLES)
        if rng.random() < 0.75:
            change_contents(rng, file[name])
        else:
            change_shape(rng, file, name)


def main():
    regtrace, good, scratch, rounds, seed = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
    rng = random.Random(seed)
    first = try_all(regtrace, good, good)
    print(f"{'' if first is None else 'not '}ok 1 - a good run", flush=True)
    bad = [] if first is None else [first]
    for i in range(rounds):
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.copytree(good, scratch)
        damage(rng, os.path.join(scratch, "rank-00000.h5"))
        why = try_all(regtrace, good, scratch)
        if why:
            bad.append(f"round {i}: {why}")
            shutil.rmtree(f"{scratch}.{i}", ignore_errors=True)
            shutil.copytree(scratch, f"{scratch}.{i}")
    print(f"{'not ' if bad[1:] or (bad and first is None) else ''}ok 2 - {rounds} files with damaged tables of values", flush=True)
    for why in bad[:8]:
        print("# " + why.replace("\n", "\n# "))
    print("1..2")
    return 1 if bad else 0


sys.exit(main())
