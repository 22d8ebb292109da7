# SPDX-License-Identifier: BSD-3-Clause
"""Computes the delay costs and the critical path of each window from the rank files alone, and
compares them with what `regtrace report --json` says of that window.

usage: delays.py RUN REPORT_JSON...       (one report a window, in order)
       delays.py RUN --all REPORT_JSON   (one report of all windows)

The costs: each wait is followed to its causes by recursion, one wait after the other, through all
windows; what a rank does between its windows is an activity of its own. The path:
longest paths from the first opening on, forward over all calls in the order of time. Main threads
alone; each message has a tag of its own; all collective calls are on MPI_COMM_WORLD, and MPI_Wait
ends the nonblocking call before it. Prints what
differs, then "N windows compared"."""
import collections
import functools
import glob
import json
import subprocess
import sys

import h5py

CUT, PATH = 0x04, 0x40
OPENING, UNRECORDED = "the window's opening", ("unrecorded", "the window's opening")
COLLECTIVE = ("MPI_Barrier", "MPI_Allreduce", "MPI_Bcast", "MPI_Reduce", "MPI_Iallreduce")


def signed(word):
    return (int(word) ^ 0x80000000) - 0x80000000


@functools.lru_cache(None)
def place_of(image, offset):
    """Returns the function and line of a return address, by addr2line; without a line the offset:
    several addresses of one line are one place."""
    asked = ["addr2line", "-f", "-e", image, hex(offset - 1)]
    said = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.split("\n")
    return offset if len(said) < 2 or said[1][-2:] in (":0", ":?") else (said[0], said[1])


def places(rows, path):
    """Returns the places of a path, the outermost first."""
    found = ()
    while path:
        path, image, offset = rows[path]
        found = (place_of(image, offset),) + found
    return found


class Call:
    """A call or an edge: begin and end are the same then."""

    def __init__(self, rank, name, begin, peer=None, tag=None):
        self.rank, self.name, self.begin, self.end, self.peer, self.tag = (
            rank,
            name,
            begin,
            begin,
            peer,
            tag,
        )
        self.path = ()  # places, the outermost first
        self.cause = None  # the call for which it waits
        self.waits_until = begin

    def label(self):
        return (self.name, self.path)


def read(path):
    """Returns (rank, window -> calls with the edges around them), windows in order."""
    with h5py.File(path, "r") as f:
        rank, points, offset, drift = (
            int(f.attrs["rank"]),
            f["calibration"][:],
            int(f.attrs["clock_offset_ns"]),
            float(f.attrs["clock_drift"]),
        )
        names = {
            int(r["code"]): (r["name"].decode(), r["label"].decode()) for r in f["functions"][:]
        }
        every = f["strings"][:].tobytes()
        texts = {
            int(r["id"]): every[int(r["offset"]) :][: int(r["length"])].decode()
            for r in f["string_index"][:]
        }
        rows = {
            int(r["path"]): (int(r["parent"]), texts.get(int(r["image"]), ""), int(r["offset"]))
            for r in f["paths"][:]
        }
        events = f["events"][:]
    first, last = points[0], points[-1]
    rate = (int(last["monotonic_ns"]) - int(first["monotonic_ns"])) / (
        int(last["ticks"]) - int(first["ticks"])
    )
    windows = collections.defaultdict(list)
    for e in events:
        if int(e["thread"]) != 0:
            continue
        ns = (int(e["clock"]) - int(first["ticks"])) * rate + int(first["monotonic_ns"])
        ns += offset + drift * (ns - int(first["monotonic_ns"]))
        name, label = names.get(int(e["code"]), ("?", ""))
        calls = windows[int(e["window"])]
        if name == "EV_WINDOW_OPEN":
            calls.append(Call(rank, OPENING, ns))
        elif name == "EV_WINDOW_CLOSE":
            calls.append(Call(rank, "the window's closing", ns))
        elif name.startswith("MPI_") and label == "enter":
            calls.append(
                Call(rank, name, ns, signed(int(e["a"]) & 0xFFFFFFFF), signed(int(e["a"]) >> 32))
            )
        elif name.startswith("MPI_"):
            calls[-1].end = ns
            if int(e["flags"]) & PATH:
                calls[-1].path = places(rows, int(e["b"]))
    return rank, {number: calls for number, calls in windows.items() if calls}


def find_causes(ranks):
    """Sets for whom calls wait, and until when. ranks: rank -> calls."""
    sends = {
        (c.rank, c.peer, c.tag): c
        for calls in ranks.values()
        for c in calls
        if c.name in ("MPI_Send", "MPI_Ssend", "MPI_Isend")
    }
    receives = {
        (c.peer, c.rank, c.tag): c
        for calls in ranks.values()
        for c in calls
        if c.name in ("MPI_Recv", "MPI_Irecv")
    }
    for calls in ranks.values():
        open_receives = []
        for c in calls:
            late = []
            if c.name == "MPI_Irecv":
                open_receives.append(c)
            if c.name in ("MPI_Recv", "MPI_Probe", "MPI_Mprobe"):
                late = [sends[c.peer, c.rank, c.tag]]
            if c.name == "MPI_Waitall":
                late = [sends[r.peer, r.rank, r.tag] for r in open_receives if r.peer >= 0]
                open_receives = []
            if c.name == "MPI_Ssend":
                late = [receives[c.rank, c.peer, c.tag]]
            if late:
                c.cause = max(late, key=lambda x: x.begin)
    turns = {rank: [c for c in calls if c.name in COLLECTIVE] for rank, calls in ranks.items()}
    for meeting in zip(*turns.values()):
        last = max(meeting, key=lambda x: x.begin)
        if last.name == "MPI_Iallreduce":
            for c in meeting:
                waits = (x for x in ranks[c.rank] if x.name == "MPI_Wait" and x.begin > c.begin)
                next(waits).cause = last  # no other request is waited for in this way
            continue
        for c in meeting:
            root = next((x for x in meeting if x.rank == c.peer), None)
            c.cause = (
                root if c.name == "MPI_Bcast" and c is not root and root.begin > c.begin else last
            )
    for calls in ranks.values():
        for c in calls:
            until = min(c.cause.begin, c.end) if c.cause is not None else c.begin
            c.waits_until = max(c.begin, until)


def slices(calls, before, begin, end):
    """Returns the activities (None: waiting) of a rank in the given time, before one of its calls."""
    found = collections.Counter()
    found[UNRECORDED] = max(0, min(calls[0].begin, end) - begin)
    for last, c in zip(calls, calls[1:]):
        parts = [(between(last, c), last.end, c.begin)]
        if c is not before:
            parts += [(None, c.begin, c.waits_until), (("call",) + c.label(), c.waits_until, c.end)]
        for activity, a, b in parts:
            found[activity] += max(0, min(b, end) - max(a, begin))
        if c is before:
            return found
    return found


class Costs:
    """Of the waits in one window. ranks: rank -> calls of all windows."""

    def __init__(self, ranks, parts):
        self.ranks, self.direct, self.propagated = (
            ranks,
            collections.Counter(),
            collections.Counter(),
        )
        for calls in parts.values():
            for c in calls:
                if c.waits_until > c.begin:
                    self.follow(c, c.waits_until - c.begin, self.direct)

    def common_time(self, waiting, late):
        """When were the ranks of both calls, before these, at the same time last? What the waiting
        rank did before its window opened does not count."""
        mine, others = self.ranks[waiting.rank], self.ranks[late.rank]
        mine, others = mine[: mine.index(waiting)], others[: others.index(late)]
        times = [max(c.begin for c in mine if c.name == OPENING)]
        met = {
            (id(c.cause)): c.cause.begin
            for c in mine
            if c.waits_until > c.begin and c.cause.begin <= c.end
        }
        for c in mine:
            if id(c.cause) in met and c.cause.rank == late.rank:
                times.append(c.cause.begin)
        for c in others:
            if (
                c.waits_until > c.begin
                and c.cause.begin <= c.end
                and (c.cause.rank == waiting.rank or id(c.cause) in met)
            ):
                times.append(c.cause.begin)
        return max(times)

    def follow(self, wait, cost, to):
        late = wait.cause
        begin, end = self.common_time(wait, late), wait.waits_until
        own = slices(self.ranks[late.rank], late, begin, end)
        other = slices(self.ranks[wait.rank], wait, begin, wait.begin)
        excess = {
            activity: ns - other[activity] for activity, ns in own.items() if ns > other[activity]
        }
        total = sum(excess.values())
        for activity, ns in excess.items():
            part = cost * ns / total
            if activity is not None:
                to[(late.rank,) + activity] += part
                continue
            for c in self.ranks[late.rank]:
                if c is late:
                    break
                waited = max(0, min(c.waits_until, end) - max(c.begin, begin))
                if waited > 0:
                    self.follow(c, part * waited / own[None], self.propagated)


def between(last, c):
    """Returns what a rank does between two calls or edges."""
    return UNRECORDED if c.name == OPENING else ("between",) + last.label() + c.label()


def critical_path(ranks):
    """Returns (length, its begin, activity -> time, rank -> time)."""
    first = min(calls[0].begin for calls in ranks.values())
    longest = {
        calls[0]: (calls[0].begin - first, None, None) for calls in ranks.values()
    }  # length at the end, from where, what
    begins = {}
    before = {c: last for calls in ranks.values() for last, c in zip(calls, calls[1:])}
    steps = sorted(
        [(c.begin, 0, c.rank, c) for c in before] + [(c.end, 1, c.rank, c) for c in before],
        key=lambda s: s[:3],
    )
    for _, is_end, _, c in steps:
        if not is_end:
            begins[c] = longest[before[c]][0] + c.begin - before[c].end
            continue
        crosses = c.cause in begins and c.waits_until > c.begin and c.cause.begin <= c.end
        works = c.waits_until if crosses else c.begin  # a path that stays has all of the call
        ways = [
            (
                begins[c] + c.end - works,
                before[c],
                [
                    (between(before[c], c), c.begin - before[c].end),
                    (("call",) + c.label(), c.end - works),
                ],
            )
        ]
        if crosses:
            x = c.cause
            ways.append(
                (
                    begins[x] + c.end - x.begin,
                    before[x],
                    [
                        (between(before[x], x), x.begin - before[x].end),
                        (("call",) + c.label(), c.end - x.begin),
                    ],
                )
            )
        longest[c] = max(ways, key=lambda w: w[0])
    c = last = max((calls[-1] for calls in ranks.values()), key=lambda x: x.end)
    activities, on_rank = collections.Counter(), collections.Counter()
    while longest[c][1] is not None:
        _, source, ((gap, gap_ns), (call, call_ns)) = longest[c]
        activities[gap] += gap_ns
        activities[call] += call_ns
        on_rank[source.rank] += gap_ns
        on_rank[c.rank] += call_ns
        c = source
    return last.end - c.end, activities, on_rank


def label(row):
    def of(call):
        return (
            call["function"],
            tuple(
                place_of(place["image"] or "", int(place["return_offset"], 16))
                for place in call["call_path"]
            ),
        )

    if row["kind"] == "unrecorded":
        return ("unrecorded", row["until"])
    if row["kind"] == "between":
        return ("between",) + of(row["from"]) + of(row["to"])
    return ("call",) + of(row["call"])


def compare(what, got, want):
    """Times of one activity may differ by rounding to ns, for each wait and call."""
    for key in set(got) | set(want):
        a, b = got.get(key, 0), want.get(key, 0)
        if abs(a - b) > 2000 + 1e-4 * abs(b):
            print(f"{what}: {key}: {a}, by the rank files {b}")


def phases_of(ranks):
    """Returns the ranks' calls by phase. Windows that overlap by more than 1 % of the shorter one
    are one phase. ranks: rank -> window -> calls."""
    phases, last, end = [], 0, 0
    for number in sorted(next(iter(ranks.values()))):
        parts = {rank: windows[number] for rank, windows in ranks.items()}
        first = min(calls[0].begin for calls in parts.values())
        until = max(calls[-1].begin for calls in parts.values())
        if phases and end - first > min(last, until - first) / 100:
            phases[-1] = {rank: calls + parts[rank] for rank, calls in phases[-1].items()}
            end = max(end, until)
        else:
            phases.append(parts)
            end = until
        last = until - first
    return phases


def compare_report(what, report, costs, phases):
    rows = {(d["rank"],) + label(d): d for d in report["delays"]}
    compare(f"{what}, direct", {k: d["direct_ns"] for k, d in rows.items()}, costs.direct)
    compare(
        f"{what}, propagated", {k: d["propagated_ns"] for k, d in rows.items()}, costs.propagated
    )
    length, activities, on_rank, means = 0, *(collections.Counter() for _ in range(3))
    for parts in phases:
        ns, by_activity, by_rank = critical_path(parts)
        length += ns
        activities.update(by_activity)
        on_rank.update(by_rank)
        for calls in parts.values():
            for activity, ns in slices(calls, None, calls[0].begin, 1e30).items():
                means[activity] += ns / len(parts)
    path = report["critical_path"]
    on_path = path["activities"]
    compare(f"{what}, path", {"length": path["length_ns"]}, {"length": length})
    compare(f"{what}, path", {label(a): a["path_ns"] for a in on_path}, activities)
    compare(f"{what}, by rank", {r["rank"]: r["path_ns"] for r in path["ranks"]}, on_rank)
    compare(
        f"{what}, mean",
        {label(a): a["mean_ns"] for a in on_path},
        {k: means[k] for k in activities if activities[k] > 0},
    )


def main(run, reports):
    ranks = dict(read(path) for path in sorted(glob.glob(f"{run}/rank-*.h5")))
    whole = {
        rank: [c for calls in windows.values() for c in calls] for rank, windows in ranks.items()
    }
    find_causes(whole)
    is_whole = reports[0] == "--all"
    for number, name in enumerate(reports[is_whole:]):
        with open(name, encoding="utf-8") as f:
            report = json.load(f)
        parts = {rank: windows[number] for rank, windows in ranks.items()}
        if is_whole:
            phases = phases_of(ranks)
            compare_report("all windows", report, Costs(whole, whole), phases)
            print(sum(len(windows) for windows in ranks.values()) // len(ranks), "windows compared")
            print("windows overlap" if len(phases) < len(next(iter(ranks.values()))) else "apart")
            return
        compare_report(f"window {number}", report, Costs(whole, parts), [parts])
    print(len(reports), "windows compared")


main(sys.argv[1], sys.argv[2:])
