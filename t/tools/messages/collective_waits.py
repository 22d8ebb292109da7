# SPDX-License-Identifier: BSD-3-Clause
"""Compares the waits of a run of collective_waits.c with the begins and ends of its calls, of which
its log says which belong together and which call waits for which.

usage: collective_waits.py RUN FOLDER_OF_LOGS: prints how many waits agree, or what does not.
"""
import collections
import glob
import os
import sys

sys.path.insert(0, os.path.join(os.environ["REGTRACE_SOURCE"], "share/python"))
import regtrace

run = regtrace.open(sys.argv[1], tool=os.path.join(os.environ["REGTRACE_BUILD"], "regtrace"))
table = run.mpi_calls().sort_values("begin_ns")
waits = run.waits()

calls = collections.defaultdict(list)  # rank, function -> (begin, end), by time
for rank, function, begin, ns in zip(
    table["rank"], table["function"], table["begin_ns"], table["duration_ns"]
):
    calls[rank, function].append((begin, begin + ns))

members = collections.defaultdict(dict)  # meeting -> rank -> (begin of its call, call that waits)
for name in glob.glob(f"{sys.argv[2]}/log.*"):
    rank = int(name.rpartition(".")[2])
    with open(name, encoding="utf-8") as f:
        for line in f:
            meeting, function, n, waiting, waiting_n = line.split()
            begin = calls[rank, function][int(n)][0]
            members[meeting][rank] = (begin, waiting, int(waiting_n))

lasts = collections.defaultdict(list)  # rank, function, ordinal -> (begin of the last call, rank)
for meeting in members.values():
    last = max((begin, rank) for rank, (begin, _, _) in meeting.items())
    for rank, (_, waiting, n) in meeting.items():
        if waiting != "-":
            lasts[rank, waiting, n].append(last)

want, functions = set(), set()
for (rank, function, n), late in lasts.items():
    begin, end = calls[rank, function][n]
    until, other = max(late)
    functions.add(function)
    if min(end, until) > begin:
        want.add((rank, function, begin, min(end, until) - begin, other))
rows = waits[waits["function"].isin(functions)]
got = set(zip(rows["rank"], rows["function"], rows["begin_ns"], rows["wait_ns"], rows["for_rank"]))
for what, which in (("missing", want - got), ("invented", got - want)):
    for wait in sorted(which)[:3]:
        print(what, *wait)
if want == got:
    print(len(want), "waits agree, in", " ".join(sorted({w[1] for w in want})))
