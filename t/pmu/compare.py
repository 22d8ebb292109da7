#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares counting by steps with the oracle: compare.py BUILD PART TASK TID [key=value]...

Runs a part of t/pmu/parts under the oracle, and again with icount alarms at some of the counts
that the oracle reports. Each alarm must fire at exactly that count, and where the oracle stood.
TASK is the oracle's name of the thread, TID ours.
- late=SEED:MAX: with the tests' counter and `exact`
- from=N: only counts above N
- every=N: the oracle's distance
- points=N: how many alarms
- twice=1: the same lines again in a second run
- with=CHAINS: adds these chains, whose alarms name places; no count may change
- places=ALARM: checks that it fires whenever the oracle is at one of its places, at that count"""
import contextlib
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time


@contextlib.contextmanager
def scratch_folder():
    """Yields a folder and removes it. A writer may add its last file while that goes on."""
    folder = tempfile.mkdtemp()
    try:
        yield folder
    finally:
        for left in range(1000, -1, -1):
            shutil.rmtree(folder, ignore_errors=left > 0)
            if not os.path.exists(folder):
                break
            time.sleep(0.02)


def environment(folder, **more):
    env = {k: v for k, v in os.environ.items() if not k.startswith("REGTRACE")}
    env.update(LD_BIND_NOW="1", REGTRACE_DIR=folder, REGTRACE_SHM=os.environ.get("REGTRACE_SHM", "/dev/shm"))
    env.update(more)
    return env


def ask_oracle(build, part, task, every, folder):
    """Returns the counts in order, each with its address and image, up to the program's own last
    one."""
    out = os.path.join(folder, "oracle")
    library = build + "/.libs/libregtrace.so"
    subprocess.run([build + "/t/oracle/oracle", "-x", "libregtrace.so", "-e", str(every), "-o", out,
                    "env", "LD_PRELOAD=" + library, "REGTRACE_DEFAULT_START=0", build + "/t/pmu/parts", part],
                   env=environment(folder + "/none"), check=False, timeout=300)
    rows, ended = [], False
    with open(out, encoding="ascii") as f:
        for line in f:
            word = line.split()
            if word[1] == task and word[0] == "at":
                rows.append((int(word[2]), word[4], word[3].split("+")[0]))
            ended = ended or (word[1] == task and word[0] == "count")
    if not ended:
        sys.exit(f"the oracle has seen no thread {task}")
    while rows and rows[-1][2] != "parts":
        rows.pop()
    return rows


def chain_of(counts, tid, late):
    token = ":exact" if late else ""
    chain, before = [], 0
    for n in counts:
        chain.append(f"precond:icount:{n - before}:tid{tid}{token}")
        before = n
    return ",".join(chain) + f",start:icount:1:tid{tid}"


def run_stepped(build, part, chains, late, folder):
    """Returns the lines of the controller's log."""
    log = os.path.join(folder, "fired")
    if os.path.exists(log):
        os.remove(log)
    env = environment(os.path.join(folder, "run"), LD_PRELOAD=build + "/.libs/libregtrace.so",
                      REGTRACE_CONTROL=chains,
                      REGTRACE_CONTROLLER_LOG=log, REGTRACE_PMU="step", REGTRACE_INCLUDE="^parts$")
    if late:
        env["T_REGTRACE_LATE"] = late
    r = subprocess.run(["setarch", "-R", build + "/t/pmu/parts", part], env=env, check=False, timeout=300)
    if r.returncode != 0:
        sys.exit(f"the program ended with {r.returncode}")
    with open(log, encoding="ascii") as f:
        return f.readlines()


def fired_at_counts(lines):
    """Returns requested -> {(reached, address)}: parent and child may both reach a count."""
    fired = {}
    for line in lines:
        m = re.search(r"event precond .*icount (\d+) requested (\d+) ip (0x[0-9a-f]+)", line)
        if m:
            fired.setdefault(int(m[2]), set()).add((int(m[1]), m[3]))
    return fired


def check_places(rows, lines):
    """Checks that the alarm fired at each of its places, at each count that the oracle has there,
    and nowhere else."""
    pattern = re.compile(r"event threadid .*icount (\d+) requested - ip (0x[0-9a-f]+)")
    found = [m for m in map(pattern.search, lines) if m]
    fired = [(int(m[1]), m[2]) for m in found if rows[0][0] <= int(m[1]) <= rows[-1][0]]
    places = {address for _, address in fired}
    expected = [(count, address) for count, address, _ in rows if address in places]
    print(f"{len(places)} places, {len(fired)} times, {len(expected)} expected")
    for count, address in sorted(set(fired) ^ set(expected))[:5]:
        print(f"at {count}: {address}, by {'us' if (count, address) in fired else 'the oracle'} alone")
    return len(places) < 2 or sorted(fired) != sorted(expected)


def main():
    build, part, task, tid = sys.argv[1:5]
    option = dict(a.split("=", 1) for a in sys.argv[5:])
    late = option.get("late", "")
    with scratch_folder() as folder:
        rows = ask_oracle(build, part, task, int(option.get("every", "7")), folder)
        rows = [r for r in rows if r[0] > int(option.get("from", "0"))]
        if "places" in option:
            chains = f"threadid:{option['places']}:tid{tid},repeat"
            sys.exit(check_places(rows, run_stepped(build, part, chains, late, folder)))
        random.seed(int(option.get("seed", "1")))
        rows = sorted(random.sample(rows, min(int(option.get("points", "60")), len(rows))))
        if len(rows) < 5:
            sys.exit(f"the oracle names {len(rows)} places only")
        others = [c for c in option.get("with", "").split(";") if c]
        chains = ";".join([chain_of([r[0] for r in rows], tid, late)] + others)
        fired = fired_at_counts(run_stepped(build, part, chains, late, folder))
        again = fired
        if option.get("twice"):
            again = fired_at_counts(run_stepped(build, part, chains, late, folder))
    wrong = 0
    for count, address, image in rows:
        got = fired.get(count, set())
        # Where a handler returns into our own code, the two runs may stand in different copies of
        # it.
        if not any(c == count and (a == address or image == "libregtrace.so") for c, a in got):
            wrong += 1
            print(f"at {count} the oracle stands at {address} in {image}, the alarm: {got}")
    if again != fired:
        wrong += 1
        print("a second run has other events")
    print(f"{len(rows)} places, {wrong} wrong")
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
