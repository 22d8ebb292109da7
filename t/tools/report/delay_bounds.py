# SPDX-License-Identifier: BSD-3-Clause
"""Checks that the delays which delays.c seeds are in the reports, and that each costs what the
program's own log allows.

usage: delay_bounds.py LOG SEEDS REPORT_JSON...

A line of SEEDS is "REPORT RANK NAME KIND ITEM PLACE...": the number of the report, the late rank,
the cost's name in COSTS, and the delay's row: its kind, the late call (between) or the name of what
is recorded, and the late call's places as FUNCTION:LINE.

A recorded moment lies between two times of the log (delays.c, logged.h). Each cost is monotone in
each of its moments, thus its least and its most are at ends of these brackets. A rank that opens its
window late is charged for that in a row of its own, so the cost can be less by that row. Prints NAME
and "as logged", or what differs."""
import array
import itertools
import json
import sys

PHASES, LOGGED, FIELDS = 10, 8, 4
REST, OPENING = 5, 6
# The kernel may change the rate of its clock by 500 ppm; times are rounded to ns.
RATE, ROUNDING_NS = 0.001, 1000


def begin(rank, phase, n):
    return (rank, phase, n, 0, 1)


def end(rank, phase, n):
    return (rank, phase, n, 2, 3)


def opening(rank, phase):
    return (rank, phase, OPENING, 0, 3)


def waits(late, *waiting):
    """Ranks wait from the begins of their calls to that of the late one: all of it is the delay's."""
    return lambda late, *waiting: sum(late - w for w in waiting), (late,) + waiting


def second(send, receive, first, first_end):
    """The ranks met at the first send. The time in it has its part of the wait."""
    return (send - receive) * (send - first_end) / (send - first)


def resting(send, receive, rest, rest_end, opening):
    """The rest has its part of the late rank's time between two calls."""
    return (send - receive) * (rest_end - rest) / (send - opening)


# Name of a cost -> (function of moments, the moments).
COSTS = {
    "chain": waits(begin(2, 0, 1), begin(1, 0, 1)),
    "collective": waits(begin(1, 1, 0), begin(0, 1, 0), begin(2, 1, 0), begin(3, 1, 0)),
    "waitall": waits(begin(2, 2, 2), begin(0, 2, 0)),
    "first": waits(begin(1, 3, 1), begin(0, 3, 1)),
    "second": (second, (begin(1, 3, 2), begin(0, 3, 2), begin(1, 3, 1), end(1, 3, 1))),
    "left": waits(begin(1, 4, 1), begin(0, 4, 1)),
    "right": waits(begin(3, 4, 2), begin(2, 4, 2)),
    "receiver": waits(begin(1, 5, 1), begin(0, 5, 0)),
    "broadcast": waits(begin(0, 6, 0), begin(1, 6, 0), begin(2, 6, 0)),
    "probed": waits(begin(1, 7, 1), begin(0, 7, 0)),
    "matched": waits(begin(1, 8, 1), begin(0, 8, 0)),
    "nonblocking": waits(begin(1, 9, 0), begin(0, 9, 1), begin(2, 9, 1), begin(3, 9, 1)),
    "resting": (
        resting,
        (
            begin(2, 0, 1),
            begin(1, 0, 1),
            begin(2, 0, REST),
            end(2, 0, REST),
            opening(2, 0),
        ),
    ),
}


def bounds(log, name):
    """Returns the least and the most that a cost can be, in ns."""

    def bracket(rank, phase, n, least, most):
        at = ((rank * PHASES + phase) * LOGGED + n) * FIELDS
        return log[at + least], log[at + most]

    cost, moments = COSTS[name]
    costs = [cost(*ends) for ends in itertools.product(*(bracket(*m) for m in moments))]
    return min(costs) * (1 - RATE) - ROUNDING_NS, max(costs) * (1 + RATE) + ROUNDING_NS


def row_label(row):
    """Returns (rank, kind, item, places) of a row, as in a line of SEEDS."""
    if row["kind"] != "between":
        return row["rank"], row["kind"], row.get(row["kind"]), []
    places = [
        f'{p["caller"]}:{p["line"].rpartition(":")[2]}'
        for p in row["to"]["call_path"]
        if p["line"] and "delays.c" in p["line"]
    ]
    return row["rank"], row["kind"], row["to"]["function"], places


def main(log_name, seeds, names):
    reports = []
    for name in names:
        with open(name, encoding="utf-8") as f:
            reports.append(json.load(f))
    with open(log_name, "rb") as f:
        log = array.array("q", f.read())
    with open(seeds, encoding="utf-8") as f:
        lines = [line.split() for line in f]
    for number, rank, name, kind, item, *places in lines:
        want = (int(rank), kind, item, places)
        costs = [r["direct_ns"] for r in reports[int(number)]["delays"] if row_label(r) == want]
        least, most = bounds(log, name)
        least -= sum(
            r["direct_ns"]
            for r in reports[int(number)]["delays"]
            if r["kind"] == "unrecorded" and r["rank"] == int(rank)
        )
        right = len(costs) == 1 and 0 < least <= costs[0] <= most
        print(name, "as logged" if right else f"{costs}, logged are {least:.0f} to {most:.0f}")


main(sys.argv[1], sys.argv[2], sys.argv[3:])
