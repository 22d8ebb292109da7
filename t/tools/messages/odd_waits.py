# SPDX-License-Identifier: BSD-3-Clause
"""Compares the waits of a run of odd_calls.c with the begins and ends of its calls, of which the
program says which belong together.

usage: odd_waits.py RUN failed|thread: prints how many waits agree, or what does not.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.environ['REGTRACE_SOURCE'], 'share/python'))
import regtrace

run = regtrace.open(sys.argv[1], tool=os.path.join(os.environ['REGTRACE_BUILD'], 'regtrace'))
calls = run.mpi_calls().sort_values('begin_ns')
calls['end_ns'] = calls['begin_ns'] + calls['duration_ns']
waits = run.waits()


def of(rank, function):
    rows = calls[(calls['rank'] == rank) & (calls['function'] == function)]
    return list(zip(rows['begin_ns'], rows['end_ns']))


want = set()


def collective(function, chosen):
    meetings = zip(
        *([call for i, call in enumerate(of(r, function)) if chosen(i)] for r in (0, 1, 2))
    )
    for meeting in meetings:
        last = max(begin for begin, _ in meeting)
        late = [begin for begin, _ in meeting].index(last)
        for rank, (begin, end) in enumerate(meeting):
            if min(end, last) > begin:
                want.add((rank, function, begin, min(end, last) - begin, late))


if sys.argv[2] == 'failed':
    functions = ['MPI_Barrier', 'MPI_Allreduce', 'MPI_Bcast', 'MPI_Reduce']
    collective('MPI_Barrier', lambda i: True)
    collective('MPI_Allreduce', lambda i: i % 2 == 1)  # each other one fails
else:
    functions = ['MPI_Wait']
    for (begin, end), (sent, _) in zip(of(0, 'MPI_Wait'), of(1, 'MPI_Send')):
        if min(end, sent) > begin:
            want.add((0, 'MPI_Wait', begin, min(end, sent) - begin, 1))
rows = waits[waits['function'].isin(functions)]
got = set(zip(rows['rank'], rows['function'], rows['begin_ns'], rows['wait_ns'], rows['for_rank']))
for what, which in (('missing', want - got), ('invented', got - want)):
    for wait in sorted(which)[:3]:
        print(what, *wait)
if want == got:
    print('agree' if len(want) > 2 else 'too few')
