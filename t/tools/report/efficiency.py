# SPDX-License-Identifier: BSD-3-Clause
"""Computes POP's efficiencies of each window from Paraver's files alone, and compares them with
what `regtrace report --efficiency --json` says.

usage: efficiency.py PRV_FOLDER REPORT_JSON

Windows of tasks that drift apart overlap: what these take on an ideal network is not compared, but
all windows together are. The first thread of each task counts, in windows that it opens after its
MPI_Init and before its MPI_Finalize; a task that shows neither has both outside its windows. All
communication is taken to be on MPI_COMM_WORLD; MPI_Wait ends the nonblocking collective call before
it. Prints what differs, then "N windows compared"."""
import collections
import json
import re
import sys

FROM_ROOT, TO_ROOT = ("Bcast", "Scatter", "Scatterv"), ("Reduce", "Gather", "Gatherv")
OTHERS = (
    "Barrier",
    "Allreduce",
    "Allgather",
    "Allgatherv",
    "Alltoall",
    "Alltoallv",
    "Alltoallw",
    "Reduce_scatter",
    "Reduce_scatter_block",
    "Scan",
    "Exscan",
    "Comm_dup",
    "Comm_split",
    "Comm_create",
    "Cart_create",
)


LATER = tuple("I" + name.lower() for name in FROM_ROOT + TO_ROOT + OTHERS)

OPENS, BEGINS, ENDS, CLOSES = range(4)


class Call:
    def __init__(self, task, name, begin, root):
        self.task, self.name, self.begin, self.end, self.root = task, name, begin, None, root
        self.logical = self.turn = None
        self.needs = []  # calls whose beginnings this call waits for


class Part:
    """A task's part of a window."""

    def __init__(self, begin):
        self.begin, self.end, self.calls = begin, None, []


def read(folder):
    """Returns (window -> task -> Part, messages: (send task, its time, receive task, complete))."""
    with open(f"{folder}/thread.pcf", encoding="utf-8") as f:
        functions = dict(re.findall(r"^(\d+) +MPI_(\w+)$", f.read(), re.M))
    windows, messages, open_call, part, peer = collections.defaultdict(dict), [], {}, {}, {}
    initialized, finalizes = {}, {}
    with open(f"{folder}/thread.prv", encoding="utf-8") as f:
        for line in f:
            words = line.strip().split(":")
            if words[0] == "3" and words[4] == words[10] == "1":
                messages.append((int(words[3]), int(words[5]), int(words[9]), int(words[12])))
            if words[0] != "2" or words[4] != "1":
                continue
            task, time, values = (
                int(words[3]),
                int(words[5]),
                {int(k): int(v) for k, v in zip(words[6::2], words[7::2])},
            )
            if 302 in values:
                peer[task] = values[302] - 1
            if 310 in values and task in part and values[310] == 0:
                part.pop(task).end = time
            elif (
                values.get(310, 0) > 0 and task not in part and task not in windows[values[310] - 1]
            ):
                part[task] = windows[values[310] - 1][task] = Part(time)
            if 25 in values and task in part:
                name = functions.get(str(values[25]))
                if name == "Finalize" and task not in open_call:  # no part of the run, as Init
                    part.pop(task).end = finalizes[task] = time
                elif name is not None and task not in open_call:
                    open_call[task] = Call(
                        task, name, time, peer.get(task) if 302 in values else None
                    )
                    part[task].calls.append(open_call[task])
            if 25 in values and values[25] in (0, 888888888) and task in open_call:
                call = open_call.pop(task)
                call.end = time
                if call.name in ("Init", "Init_thread"):
                    part[task].begin, part[task].calls = time, []
                    initialized[task] = time
    return {
        ordinal: {t: p for t, p in parts.items() if in_mpi(p, initialized.get(t), finalizes.get(t))}
        for ordinal, parts in windows.items()
    }, messages


def in_mpi(part, initialized, finalizes):
    is_after = initialized is None or part.begin >= initialized
    return is_after and (finalizes is None or part.begin < finalizes)


def connect(parts, messages):
    """Fills in what the calls of one window need."""
    meetings = collections.defaultdict(list)
    for task, part in parts.items():
        turn = 0
        for call in part.calls:
            if call.name in FROM_ROOT + TO_ROOT + OTHERS + LATER:
                meetings[turn].append(call)
                turn += 1
    for calls in meetings.values():
        for call in calls:
            is_root = call.root == call.task - 1
            name, needing = call.name, call
            if name in LATER:
                name = name[1:].capitalize()
                waits = [
                    c for c in parts[call.task].calls if c.name == "Wait" and c.begin > call.begin
                ]
                needing = waits[0] if waits else call
            if name in FROM_ROOT:
                needs = [] if is_root else [c for c in calls if c.task - 1 == c.root]
            else:
                needs = calls if name not in TO_ROOT or is_root else []
            needing.needs = needing.needs + needs
    for sender, sent, receiver, complete in messages:
        sends = [c for c in parts[sender].calls if c.begin == sent] if sender in parts else []
        receives = (
            [c for c in parts[receiver].calls if c.begin <= complete <= c.end]
            if receiver in parts
            else []
        )
        for call in receives[:1]:
            call.needs = call.needs + sends[:1]


def replay(tasks):
    """Sets the logical times of all calls; returns how long they take. tasks: parts of each in order. A
    task's clock goes on between its parts, and begins with the time of its first one."""
    steps, clock, since, opened, closed = [], {}, {}, [], []
    for task, parts in tasks.items():
        for part in parts:
            steps += [(part.begin, OPENS, task, None), (part.end, CLOSES, task, None)]
            for call in part.calls:
                steps += [(call.begin, BEGINS, task, call), (call.end, ENDS, task, call)]
    for time, kind, task, call in sorted(steps, key=lambda s: s[:3]):
        if task not in clock:
            clock[task] = time
        elif kind != ENDS:
            clock[task] += time - since[task]
        since[task] = time
        if kind == OPENS:
            opened.append(clock[task])
        elif kind == BEGINS:
            call.logical = clock[task]
        elif kind == ENDS:
            clock[task] = max(
                [clock[task]] + [c.logical for c in call.needs if c.logical is not None]
            )
        else:
            closed.append(clock[task])
    return max(closed) - min(opened)


def phases_of(windows):
    """Returns the parts of each phase, in which some task is in a window, and its length."""
    parts = sorted(
        ((p.begin, p.end, task, p) for w in windows.values() for task, p in w.items()),
        key=lambda x: x[:3],
    )
    phases, until = [], None
    for begin, end, task, part in parts:
        if until is None or begin >= until:
            phases.append((collections.defaultdict(list), [begin, end]))
        phase, span = phases[-1]
        phase[task].append(part)
        until = span[1] = max(span[1], end)
    return [(phase, span[1] - span[0]) for phase, span in phases]


def shares(processes, length, useful, ideal):
    mean, most = sum(useful) / processes, max(useful)
    return {
        "processes": processes,
        "length_ns": length,
        "parallel_efficiency": mean / length,
        "load_balance": mean / most,
        "communication_efficiency": most / length,
        "serialisation": most / ideal,
        "transfer": ideal / length,
    }


def useful_time(part):
    return part.end - part.begin - sum(c.end - c.begin for c in part.calls)


def compare(what, said, want):
    for name, value in want.items():
        if said[name] is None or abs(said[name] - value) > 0.005 * value:
            print(f"{what}: {name} {said[name]}, by Paraver's files {value}")


def compare_all(run, windows, messages):
    whole, useful, length, ideal = {}, collections.Counter(), 0, 0
    for parts in windows.values():
        for task, part in parts.items():
            whole.setdefault(task, Part(0)).calls += part.calls
            useful[task] += useful_time(part)
    for task in whole.values():
        task.calls.sort(key=lambda c: c.begin)
        for call in task.calls:
            call.needs, call.logical = [], None
    connect(whole, messages)
    for phase, ns in phases_of(windows):
        length += ns
        ideal += replay(phase)
    compare("all windows", run, shares(len(useful), length, useful.values(), ideal))


def overlapping(windows):
    """Returns the windows that overlap with the one before or after by more than 1 % of the shorter."""
    found, last, until = set(), None, None
    for ordinal, parts in sorted(windows.items()):
        begin, end = min(p.begin for p in parts.values()), max(p.end for p in parts.values())
        if last is not None and until - begin > min(last[1], end - begin) / 100:
            found |= {last[0], ordinal}
        last, until = (ordinal, end - begin), end if until is None else max(until, end)
    return found


def main(folder, report):
    with open(report, encoding="utf-8") as f:
        run = json.load(f)["runs"][0]
    windows, messages = read(folder)
    said = {w["ordinal"]: w for w in run["windows"]}
    counted = {ordinal: parts for ordinal, parts in windows.items() if parts}
    if set(said) != set(counted):
        print("windows differ:", sorted(said), sorted(counted))
    overlap = overlapping(counted)
    for ordinal, w in said.items():
        parts = counted[ordinal]
        connect(parts, messages)
        length = max(p.end for p in parts.values()) - min(p.begin for p in parts.values())
        want = shares(
            len(parts),
            length,
            [useful_time(p) for p in parts.values()],
            replay({task: [part] for task, part in parts.items()}),
        )
        if ordinal in overlap:
            del want["serialisation"], want["transfer"]
            if w["serialisation"] is not None or w["transfer"] is not None:
                print(f"window {ordinal} overlaps, but serialisation and transfer are said")
        compare(f"window {ordinal}", w, want)
    compare_all(run, counted, messages)
    print(len(said), "windows compared" + (", which overlap" if overlap else ""))


main(*sys.argv[1:])
