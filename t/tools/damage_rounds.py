#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs report, dump, check, split, plan and recover on damaged, cut and foreign files.

Each must give an error or a result, never a crash or a hang.

usage: damage_rounds.py REGTRACE GOOD_DIR SCRATCH ROUNDS; prints TAP. The rounds use a fixed seed,
so a failure repeats.
"""
import json
import os
import random
import resource
import shutil
import subprocess
import sys

import h5py

LIMIT = 60
count = 0
failed = 0


def ok(passed, name, detail=""):
    global count, failed
    count += 1
    print(f"{'' if passed else 'not '}ok {count} - {name}", flush=True)
    if not passed:
        failed += 1
        print("# " + str(detail).replace("\n", "\n# "), flush=True)


def fresh(good, scratch):
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.copytree(good, scratch)


def try_all(regtrace, scratch, must_fail):
    """Returns the first thing that went wrong, or None."""
    for words in (["report", "--json", "--wait", "0"], ["report", "--wait", "0"], ["dump", "--json", "--wait", "0"],
                  ["check", "--wait", "0"], ["split", "--wait", "0", "-o", scratch + ".split"],
                  ["plan", "--wait", "0", "-n", "2", "-l", "10"], ["recover"]):
        shutil.rmtree(scratch + ".split", ignore_errors=True)
        try:
            r = subprocess.run([regtrace, *words, scratch], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            return f"{words}: took longer than {LIMIT} s"
        if r.returncode not in (0, 1):
            return f"{words}: ended with {r.returncode}: {r.stderr[-300:]}"
        if r.returncode == 1 and not r.stderr and not r.stdout:
            return f"{words}: failed without a word"
        if must_fail and words[0] in ("report", "dump", "check", "split", "plan") and r.returncode == 0:
            return f"{words}: found nothing wrong"
        try:
            if words[:2] == ["report", "--json"] and r.stdout:
                json.loads(r.stdout)
            if words[:2] == ["dump", "--json"]:
                for line in r.stdout.splitlines():
                    json.loads(line)
        except ValueError as e:
            return f"{words}: no JSON: {e}"
    return None


def overwrite(path, data):
    with open(path, "wb") as f:
        f.write(data)


def foreign(regtrace, good, scratch):
    name = os.path.join(scratch, "rank-00000.h5")
    kinds = {"empty": b"", "text": b"not HDF5\n" * 100, "zeros": bytes(10000), "signature alone": b"\x89HDF\r\n\x1a\n"}
    for kind, data in kinds.items():
        fresh(good, scratch)
        overwrite(name, data)
        ok((why := try_all(regtrace, scratch, True)) is None, f"a rank file that is {kind}", why)
    fresh(good, scratch)
    os.remove(name)
    with h5py.File(name, "w") as f:
        f["events"] = [1.0, 2.0]
    ok((why := try_all(regtrace, scratch, True)) is None, "somebody else's HDF5 file", why)
    fresh(good, scratch)
    os.remove(name)
    os.mkdir(name)
    ok((why := try_all(regtrace, scratch, True)) is None, "a folder in place of a file", why)
    fresh(good, scratch)
    os.remove(name)
    os.symlink("/nonexistent", name)
    ok((why := try_all(regtrace, scratch, True)) is None, "a link to nothing", why)
    fresh(good, scratch)
    os.remove(name)
    os.mkfifo(name)
    ok((why := try_all(regtrace, scratch, True)) is None, "a pipe in place of a file", why)


def circle(regtrace, good, scratch):
    """Tests an object of size 0 in the global heap, on which HDF5 1.10 loops forever.

    The limit is processor time, so other load on the machine does not matter."""
    fresh(good, scratch)
    name = os.path.join(scratch, "regtrace.h5")
    with open(name, "rb") as f:
        data = bytearray(f.read())
    at = data.index(b"GCOL") + 16  # after the header of the heap
    data[at : at + 16] = bytes(16)
    overwrite(name, data)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    why = try_all(regtrace, scratch, False)
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    ok(why is None, "a regtrace.h5 that has no end", why)
    ok(used < 30, "which takes no minute a tool", f"{used} s")
    fresh(good, scratch)
    os.remove(name)
    os.mkfifo(name)
    ok((why := try_all(regtrace, scratch, False)) is None, "a pipe in place of regtrace.h5", why)


def truncated(regtrace, good, scratch):
    name = os.path.join(scratch, "rank-00000.h5")
    size = os.path.getsize(os.path.join(good, "rank-00000.h5"))
    for part in (1, 8, 96, 2048, size // 4, size // 2, size * 3 // 4, size - 512, size - 1):
        fresh(good, scratch)
        os.truncate(name, part)
        ok((why := try_all(regtrace, scratch, True)) is None, f"cut after {part} of {size} bytes", why)


def flipped(regtrace, good, scratch, rounds):
    rng = random.Random(2)
    files = ["rank-00000.h5", "regtrace.h5"]
    bad = []
    for i in range(rounds):
        fresh(good, scratch)
        name = os.path.join(scratch, files[i % 4 == 3])
        with open(name, "r+b") as f:
            data = bytearray(f.read())
            # Headers are at the front of the file: half of the rounds flip bits only there.
            room = len(data) if i % 2 else min(len(data), 8192)
            for _ in range(rng.choice([1, 1, 4, 32])):
                data[rng.randrange(room)] ^= 1 << rng.randrange(8)
            f.seek(0)
            f.write(data)
        why = try_all(regtrace, scratch, False)
        if why:
            bad.append(f"round {i}: {why}")
    ok(not bad, f"{rounds} files with flipped bits", "\n".join(bad[:5]))


def main():
    regtrace, good, scratch, rounds = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    fresh(good, scratch)
    ok((why := try_all(regtrace, scratch, False)) is None, "a good run", why)
    foreign(regtrace, good, scratch)
    circle(regtrace, good, scratch)
    truncated(regtrace, good, scratch)
    flipped(regtrace, good, scratch, rounds)
    print(f"1..{count}")
    return 1 if failed else 0


sys.exit(main())
