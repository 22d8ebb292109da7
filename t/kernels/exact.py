#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares a window's replayed accesses with those that another tool has seen of the program's
functions.

exact.py steps|lackey PROGRAM BIAS EXPECTED REPLAY [-any-order] [-without FUNCTION,...]
- steps: EXPECTED is from t/oracle/accesses. Each thread's accesses must be the same, in order,
  with addresses.
- lackey: EXPECTED is from valgrind --tool=lackey --trace-mem=yes of another run, whose addresses
  differ. Instruction, kind and size must be the same, in order.
- -any-order: ignores addresses and order, for threads that share work as it comes.
- -without: functions that are no part of the window, or have no instrumented copy.

Prints the number of accesses, or the first difference.

Corrects what lackey shows otherwise than the processor does it:
- It shows fused multiply-adds of vectors as one access for each element. Successive ones of one
  instruction are joined.
- It shows locked instructions as a read, followed by their modification."""
import bisect
import collections
import re
import subprocess
import sys

how, program, bias, expected_path, replay_path = sys.argv[1:6]
bias = int(bias, 16)
any_order = "-any-order" in sys.argv
left_out = set(sys.argv[sys.argv.index("-without") + 1].split(",") if "-without" in sys.argv else ())
left_out |= {"open_window", "close_window"}

functions = []
for line in subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True).stdout.splitlines():
    words = line.split()
    if len(words) == 4 and words[2] in "tTwWiu":
        functions.append((int(words[0], 16), int(words[1], 16), words[3]))
functions.sort()
begins = [f[0] for f in functions]
names = {}


def name_of(pc):
    """Returns the function's name. None: `pc` is in no function but in stubs or the entry code."""
    if pc not in names:
        at = pc - bias
        i = bisect.bisect_right(begins, at) - 1
        names[pc] = functions[i][2] if i >= 0 and at < functions[i][0] + functions[i][1] else None
    return names[pc]


def is_meant(pc):
    name = name_of(pc)
    return name is not None and name not in left_out and name != "_start"


def of_replay():
    threads, state = {}, None
    for line in open(replay_path):
        head = re.match(r"# rank .* thread (\d+), window", line)
        if head:
            state = threads.setdefault(int(head[1]), [])
        elif line[0] != "#":
            pc, kind, size, address = line.split()
            if is_meant(int(pc, 16)):
                state.append((int(pc, 16), kind, int(size), int(address, 16)))
    return threads


def of_steps():
    threads = {}
    for line in open(expected_path):
        words = line.split()
        if len(words) == 5 and is_meant(int(words[1], 16)):
            threads.setdefault(int(words[0]), []).append((int(words[1], 16), words[2], int(words[3]), int(words[4], 16)))
    return threads


def fused():
    """Returns the addresses of instructions that lackey shows by elements."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", program], capture_output=True, text=True, check=True).stdout
    return {int(m[1], 16) + bias for m in re.finditer(r"^\s*([0-9a-f]+):\s+vfn?m\w+p[sd]\s", text, re.M)}


def of_lackey():
    """Returns the accesses of all threads as those of one thread: valgrind runs the threads in
    turn."""
    kinds = {"L": "R", "S": "W", "M": "M"}
    edges = {f[2]: f[0] + bias for f in functions}
    found, pc, inside, meant, by_elements = [], 0, False, False, fused()
    for line in open(expected_path, errors="replace"):
        if line[0] == "I":
            pc = int(line[3:line.index(",")], 16)
            if pc == edges["open_window"]:
                # The last thread opens its window first of all.
                found, inside = [], True
            elif pc == edges["close_window"]:
                inside = False
            meant = inside and is_meant(pc)
        elif meant and line[0] == " " and line[1] in kinds:
            address, size = line[3:].split(",")
            address, size, kind = int(address, 16), int(size), kinds[line[1]]
            last = found[-1] if found else None
            if last and kind == "M" and last == [pc, "R", size, address]:
                last[1] = kind
            elif last and pc in by_elements and last[:2] == [pc, kind] and last[3] + last[2] == address:
                last[2] += size
            else:
                found.append([pc, kind, size, address])
    return {0: [tuple(a) for a in found]}


def place(pc):
    name = name_of(pc)
    return "0x%x (%s+0x%x)" % (pc - bias, name, pc - bias - next(f[0] for f in functions if f[2] == name))


def say(access):
    return "%s %s %d %x" % (place(access[0]), access[1], access[2], access[3]) if access else "nothing"


def same(a, b):
    return a == b if how == "steps" else a[:3] == b[:3]


def on_same_stack(wanted, got):
    """Moves the accesses to a stack to where they are expected. The place of a thread's stack
    depends on what other threads map meanwhile. A thread's first access is a push."""
    if not wanted or not got or wanted[0][3] == got[0][3]:
        return got
    base, away = got[0][3], wanted[0][3] - got[0][3]
    return [a[:3] + (a[3] + away,) if abs(a[3] - base) < 4 << 20 else a for a in got]


def differences(thread, wanted, got):
    if thread != 0 and how == "steps":
        got = on_same_stack(wanted, got)
    for n in range(max(len(wanted), len(got))):
        a, b = (x[n] if n < len(x) else None for x in (wanted, got))
        if a is None or b is None or not same(a, b):
            return "thread %d, access %d of %d: %s, replayed (of %d): %s" % (thread, n, len(wanted), say(a), len(got), say(b))
    return None


def compare_counts(wanted, got):
    a, b = (collections.Counter(x[:3] for thread in all_.values() for x in thread) for all_ in (wanted, got))
    for key in sorted(set(a) | set(b)):
        if a[key] != b[key]:
            return "%s %s %d: %d times, replayed %d times" % (place(key[0]), key[1], key[2], a[key], b[key])
    return None


def main():
    got, wanted = of_replay(), of_steps() if how == "steps" else of_lackey()
    if how == "lackey" and not any_order:
        got = {0: [a for thread in got.values() for a in thread]}
    found = compare_counts(wanted, got) if any_order else None
    for thread in sorted(set(wanted) | set(got)) if not any_order else ():
        found = found or differences(thread, wanted.get(thread, []), got.get(thread, []))
    count = sum(map(len, wanted.values()))
    if found is None and count == 0:
        found = "no accesses at all"
    print(found or "%d accesses of %d threads" % (count, len(wanted)))
    return found is not None


sys.exit(main())
