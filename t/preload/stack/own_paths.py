# SPDX-License-Identifier: BSD-3-Clause
"""Compares the call paths of regions and functions with the account of own_paths.c, by h5py and
addr2line alone.

usage: own_paths.py RUN PROGRAM MOST LOG regions|functions

MOST: how many callers were recorded. Prints what differs, then "N compared, M whole". A path that
is not whole has a mark at its root, as many places as were asked for, and does not come to where
the whole ones begin: a start of the program or of a thread. With MOST 1 there are no marks."""
import glob
import os
import re
import subprocess
import sys

import h5py


def texts_of(f):
    every = f["strings"][:].tobytes()
    return {
        int(r["id"]): every[int(r["offset"]) :][: int(r["length"])].decode()
        for r in f["string_index"][:]
    }


def places_of(f, program):
    """Returns path -> (parent, line of the call; None if it is not in the program, place)."""
    texts, found = texts_of(f), {}
    rows = [r for r in f["paths"][:]]
    ours = [r for r in rows if texts.get(int(r["image"])) == program]
    asked = "".join(f"{int(r['offset']) - 1:#x}\n" for r in ours)
    answer = subprocess.run(
        ["addr2line", "-ai", "-e", program], input=asked, capture_output=True, text=True, check=True
    )
    # The outermost of inlined functions: regtrace.h has some.
    last = [
        a.splitlines()[-1] for a in re.split(r"^0x\w+\n", answer.stdout, flags=re.MULTILINE)[1:]
    ]
    lines = [a.split("(")[0].strip().rpartition(":")[2] for a in last]
    line_of = {int(r["path"]): line for r, line in zip(ours, lines)}
    for r in rows:
        place = int(r["image"]), int(r["offset"])
        found[int(r["path"])] = int(r["parent"]), line_of.get(int(r["path"])), place
    return found


def account(path, places):
    """Returns (lines of the program's calls, outermost first; number of all places; the outermost
    one; is there a mark above it?)."""
    lines, count, outermost = [], 0, None
    while path != 0:
        path, line, place = places[path]
        if place == (0, 0):
            return lines, count, outermost, path == 0
        count, outermost = count + 1, place
        if line not in (None, "?", "0"):
            lines.insert(0, line)
    return lines, count, outermost, False


def code(text):
    return ord(text[0]) | ord(text[1]) << 8 | ord(text[2]) << 16


def regions(f, _log):
    """Yields (what the program says of the path, path)."""
    texts = texts_of(f)
    for e in f["events"][:]:
        if e["code"] == code("GR["):
            yield texts[int(e["a"]) & 0xFFFFFFFF], int(e["b"]) & 0xFFFFFFFF


def functions(f, log):
    for thread in (0, 1):
        rows, stack, found = [e for e in f["events"][:] if e["thread"] == thread], [], []
        for e in rows:
            if e["code"] == code("FEe"):
                stack.append(len(found))
                found.append(None)
            elif e["code"] == code("FLl"):
                found[stack.pop()] = int(e["b"])
        with open(f"{log}.{thread}", encoding="ascii") as file:
            said = [line.split()[1] for line in file]
        if len(said) != len(found):
            print(f"thread {thread}: {len(said)} calls logged, {len(found)} recorded")
        yield from zip(said, found)


def main(run, program, most, log, what):
    most, compared, roots = int(most), 0, ([], [])
    (name,) = glob.glob(os.path.join(run, "rank-*.h5"))
    with h5py.File(name) as f:
        places = places_of(f, os.path.realpath(program))
        for said, path in {"regions": regions, "functions": functions}[what](f, log):
            want, (got, count, outermost, is_cut) = said.split(">"), account(path, places)
            full, compared = not is_cut and most > 1, compared + 1
            roots[full].append(outermost)
            # The innermost call is always one of the program.
            if (
                not got
                or count > most
                or (count < most and not full)
                or got != (want if full else want[-len(got) :])
            ):
                print(f"{what}: said {said}, recorded {'>'.join(got)} of {count} places")
    if len(set(roots[True])) > 2 or set(roots[True]) & set(roots[False]):
        print(
            f"whole paths begin at {set(roots[True])}, those that were cut at {set(roots[False])}"
        )
    print(f"{compared} compared, {len(roots[True])} whole")


main(*sys.argv[1:])
