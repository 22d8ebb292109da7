#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reads Paraver's traces by the description of their format alone; whatever is wrong is an error.

usage: prv.py DIR TRACE WHAT [RUN]
TRACE: thread or cpu
WHAT:  check
       messages
       TYPE       the labels that this type of events shows, row by row
       calls RUN  compares time and number of MPI calls of each thread with /events of the run"""
import re
import sys

sys.dont_write_bytecode = True


def fail(text):
    sys.exit(f"prv.py: {text}")


class Trace:
    def __init__(self, folder, name):
        self.name = name
        self.read_row(f"{folder}/{name}.row")
        self.read_pcf(f"{folder}/{name}.pcf")
        self.file = open(f"{folder}/{name}.prv", encoding="utf-8")
        self.read_header(self.file.readline())

    def read_row(self, path):
        self.levels, lines = {}, open(path, encoding="utf-8").read().split("\n")
        at = 0
        while at < len(lines):
            m = re.fullmatch(r"LEVEL (\w+) SIZE (\d+)", lines[at])
            if m:
                names = lines[at + 1 : at + 1 + int(m[2])]
                if len(names) != int(m[2]) or "" in names:
                    fail(f"{path}: {m[1]} has not {m[2]} names")
                self.levels[m[1]] = names
                at += int(m[2])
            elif lines[at]:
                fail(f"{path}: {lines[at]!r} is none of its lines")
            at += 1

    def read_pcf(self, path):
        self.states, self.types, part, current = {}, {}, None, None
        for line in open(path, encoding="utf-8"):
            line = line.rstrip("\n")
            if re.fullmatch(r"[A-Z_]+", line):
                part = line
                if part == "EVENT_TYPE":
                    current = None
            elif part == "STATES" and line:
                value, text = line.split(None, 1)
                self.states[int(value)] = text
            elif part == "EVENT_TYPE" and line:
                _, kind, text = line.split(None, 2)
                if int(kind) in self.types:
                    fail(f"{path}: type {kind} twice")
                current = self.types[int(kind)] = (text, {})
            elif part == "VALUES" and line:
                value, text = line.split(None, 1)
                current[1][int(value)] = text

    def read_header(self, line):
        m = re.fullmatch(
            r"#Paraver \((\d\d)/(\d\d)/(\d\d) at (\d\d):(\d\d)\):(\d+)_ns:"
            r"(\d+)\(([\d,]+)\):(\d+):(\d+)\(([\d:,]+)\)\n",
            line,
        )
        if not m:
            fail(f"the first line is {line!r}")
        self.duration = int(m[6])
        if len(m[8].split(",")) != int(m[7]) or m[9] != "1":
            fail("nodes do not add up")
        tasks = [tuple(int(n) for n in t.split(":")) for t in m[11].split(",")]
        if len(tasks) != int(m[10]) or any(node < 1 or node > int(m[7]) for _, node in tasks):
            fail("tasks do not add up")
        self.threads = [
            (task + 1, thread + 1) for task, (n, _) in enumerate(tasks) for thread in range(n)
        ]
        if len(self.threads) != len(self.levels["THREAD"]):
            fail(f"{len(self.threads)} threads, and names for {len(self.levels['THREAD'])}")
        if self.name == "thread" and len(self.levels["TASK"]) != len(tasks):
            fail("tasks have not all names")

    def row(self, fields):
        if fields[0] != 0 or fields[1] != 1 or (fields[2], fields[3]) not in self.known:
            fail(f"there is no row {fields}")
        return self.known[fields[2], fields[3]]

    def lines(self):
        """Yields (kind, row, time, rest) of all lines, which must be in the order of time."""
        self.known = {t: i for i, t in enumerate(self.threads)}
        last, ends, states = 0, {}, {}
        for line in self.file:
            f = [int(x) for x in line.split(":")]
            kind, row, time = f[0], self.row(f[1:5]), f[5]
            if time < last or time > self.duration:
                fail(f"{line!r} comes after {last}, of {self.duration}")
            last = time
            if kind == 1:
                end, state = f[6:]
                if (
                    time < ends.get(row, 0)
                    or end <= time
                    or end > self.duration
                    or state not in self.states
                ):
                    fail(f"state {line!r}")
                if time == ends.get(row) and state == states[row]:
                    fail(
                        f"state {line!r} goes on with the one before it: two lines where one says "
                        "it"
                    )
                ends[row], states[row] = end, state
            elif kind == 2:
                pairs = f[6:]
                if len(pairs) % 2 or not pairs or any(t not in self.types for t in pairs[::2]):
                    fail(f"event {line!r}")
            elif kind == 3:
                # A receiver may have been ready long before the send. Differences between the
                # clocks of nodes are not considered.
                if (
                    len(f) != 15
                    or f[6] < time
                    or f[12] < time
                    or f[12] > self.duration
                    or f[11] > f[12]
                ):
                    fail(f"message {line!r}")
            else:
                fail(f"a line of kind {kind}")
            yield kind, row, time, f[6:]


def check(trace):
    counts = {1: 0, 2: 0, 3: 0}
    for kind, *_ in trace.lines():
        counts[kind] += 1
    print(" ".join(f"{n}" for n in counts.values()))


def messages(trace):
    """Prints messages with the marks of type 1 and 2 that held then, as messages.c does."""
    marks, found = ({}, {}), []
    for kind, row, time, rest in trace.lines():
        if kind == 2:
            for t, v in zip(rest[::2], rest[1::2]):
                if t in (101, 102):
                    marks[t - 101].setdefault(row, []).append((time, v))
        elif kind == 3:
            found.append((row, time, trace.row(rest[1:5]), rest))

    def stood(which, row, time):
        return next((v for t, v in reversed(marks[which].get(row, [])) if t <= time), 0)

    for sender, time, receiver, rest in found:
        print(
            "message",
            stood(0, sender, time),
            stood(1, receiver, rest[5]),
            trace.threads[sender][0] - 1,
            trace.threads[receiver][0] - 1,
            rest[8],
            rest[7],
        )


def shown(trace, wanted):
    labels, seen = trace.types[wanted][1], []
    for kind, row, _, rest in trace.lines():
        if kind == 2:
            seen += [
                (row, labels.get(v, str(v))) for t, v in zip(rest[::2], rest[1::2]) if t == wanted
            ]
    for row, text in seen:
        print(row, text)


def calls(trace, run):
    import glob

    import h5py

    length, entered = {}, {}
    for kind, row, time, rest in trace.lines():
        if kind == 1 and rest[1] not in (1, 14):
            length[row] = length.get(row, 0) + rest[0] - time
        if kind == 2:
            entered[row] = entered.get(row, 0) + sum(
                t == 25 and v not in (0, 888888888) for t, v in zip(rest[::2], rest[1::2])
            )
    first = 0
    for path in sorted(glob.glob(f"{run}/rank-*.h5")):
        with h5py.File(path, "r") as f:
            c = f["calibration"][:]
            rate = (int(c["monotonic_ns"][-1]) - int(c["monotonic_ns"][0])) / (
                int(c["ticks"][-1]) - int(c["ticks"][0])
            )
            threads = sorted(set(f["threads"]["thread"]) | set(f["events"]["thread"]))
            events = f["events"][:]
        for i, thread in enumerate(threads):
            depth = total = n = 0
            for e in events[events["thread"] == thread]:
                letter = chr(e["code"] >> 8 & 0xFF)
                if e["code"] & 0xFF != ord("M") or letter not in "EeBLlD":
                    continue
                if letter in "EeB":
                    n += 1
                    total -= int(e["clock"]) if depth == 0 else 0
                    depth += 1
                else:
                    depth -= 1
                    n += depth > 0
                    total += int(e["clock"]) if depth == 0 else 0
            row = first + i
            if entered.get(row, 0) != n or abs(length.get(row, 0) - total * rate) > 2 * n + 10:
                fail(
                    f"row {row}: {entered.get(row, 0)} calls of {length.get(row, 0)} ns; recorded "
                    f"{n} of {total * rate:.0f}"
                )
            print(row, n > 0)
        first += len(threads)


trace = Trace(sys.argv[1], sys.argv[2])
if sys.argv[3] == "check":
    check(trace)
elif sys.argv[3] == "messages":
    messages(trace)
elif sys.argv[3] == "calls":
    calls(trace, sys.argv[4])
else:
    shown(trace, int(sys.argv[3]))
