# SPDX-License-Identifier: BSD-3-Clause
"""Compares the call sites in rank files with the program's own log, by h5py and addr2line alone.

usage: call_sites.py RUN LOG

LOG.RANK.THREAD has lines "FUNCTION LINE", in the order in which calls begin. Prints what differs,
then "N calls compared"."""
import collections
import glob
import os
import subprocess
import sys

import h5py


def text(f, number):
    for row in f["string_index"][:]:
        if row["id"] == number:
            at = int(row["offset"])
            return f["strings"][at : at + int(row["length"])].tobytes().decode()
    return ""


def lines_of(f):
    """Returns path -> line number of the call, -1: unknown."""
    found = {0: -1}
    for row in f["paths"][:]:
        image = text(f, row["image"]) if row["image"] else ""
        line = -1
        if os.path.isfile(image):
            asked = subprocess.run(
                ["addr2line", "-e", image, hex(int(row["offset"]) - 1)],
                capture_output=True,
                text=True,
            )
            number = asked.stdout.split("(")[0].strip().rpartition(":")[2]
            line = int(number) if number.isdigit() else -1
        found[int(row["path"])] = line
    return found


def calls(f):
    """Returns thread -> list of [function, line], in the order of beginnings."""
    names = {int(r["code"]): r["name"].split(b"\0")[0].decode() for r in f["functions"][:]}
    lines, found, stacks, told = (
        lines_of(f),
        collections.defaultdict(list),
        collections.defaultdict(list),
        {},
    )
    for e in f["events"][:]:
        code, thread = int(e["code"]), int(e["thread"])
        model, category = chr(code & 0xFF), chr(code >> 8 & 0xFF)
        if model == "M" and chr(code >> 16 & 0xFF) == "p" and category == "C":
            told[thread] = int(e["a"])
        if model == "M" and category in "EeB":
            call = [names[code], None]
            if not e["flags"] & 4 or not found[thread]:
                found[thread].append(call)
                stacks[thread].append(call)
            else:  # cut: it goes on from the window before
                stacks[thread].append(found[thread][-1])
        if model == "M" and category in "LlD":
            path = int(e["b"]) & 0xFFFFFFFF if e["flags"] & 0x40 else told.pop(thread, 0)
            call = stacks[thread].pop()
            if call[1] is not None and call[1] != lines[path]:
                print("two sites of one call:", call, lines[path])
            call[1] = lines[path]
    return found


def main(run, log):
    compared = 0
    for name in sorted(glob.glob(os.path.join(run, "rank-*.h5"))):
        with h5py.File(name) as f:
            rank, found = int(f.attrs["rank"]), calls(f)
        for thread in (0, 1):
            try:
                with open(f"{log}.{rank}.{thread}", encoding="ascii") as file:
                    want = [[w[0], int(w[1])] for w in map(str.split, file)]
            except FileNotFoundError:
                continue
            got = found.get(thread, [])
            compared += len(want)
            for i in range(max(len(want), len(got))):
                pair = [want[i] if i < len(want) else None, got[i] if i < len(got) else None]
                if pair[0] != pair[1]:
                    print(
                        f"rank {rank} thread {thread} call {i}: logged {pair[0]}, recorded "
                        f"{pair[1]}"
                    )
                    break
    print(compared, "calls compared")


if __name__ == "__main__":
    main(*sys.argv[1:])
