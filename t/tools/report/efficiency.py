# SPDX-License-Identifier: BSD-3-Clause
"""Computes POP's efficiencies of each window from Paraver's files alone, and compares them with
what `regtrace report --efficiency --json` says.

usage: efficiency.py PRV_FOLDER REPORT_JSON

The first thread of each task counts. All communication is taken to be on MPI_COMM_WORLD. Prints
what differs, then "N windows compared"."""
import collections
import json
import re
import sys

FROM_ROOT, TO_ROOT = ("Bcast", "Scatter", "Scatterv"), ("Reduce", "Gather", "Gatherv")
OTHERS = ("Barrier", "Allreduce", "Allgather", "Allgatherv", "Alltoall", "Alltoallv", "Alltoallw", "Reduce_scatter",
          "Reduce_scatter_block", "Scan", "Exscan", "Comm_dup", "Comm_split", "Comm_create", "Cart_create")


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
    with open(f"{folder}/thread.prv", encoding="utf-8") as f:
        for line in f:
            words = line.strip().split(":")
            if words[0] == "3" and words[4] == words[10] == "1":
                messages.append((int(words[3]), int(words[5]), int(words[9]), int(words[12])))
            if words[0] != "2" or words[4] != "1":
                continue
            task, time, values = int(words[3]), int(words[5]), {int(k): int(v) for k, v in zip(words[6::2], words[7::2])}
            if 302 in values:
                peer[task] = values[302] - 1
            if 310 in values and task in part and values[310] == 0:
                part.pop(task).end = time
            elif values.get(310, 0) > 0 and task not in part and task not in windows[values[310] - 1]:
                part[task] = windows[values[310] - 1][task] = Part(time)
            if 25 in values and task in part:
                name = functions.get(str(values[25]))
                if name == "Finalize" and task not in open_call:  # no part of the run, as Init
                    part.pop(task).end = time
                elif name is not None and task not in open_call:
                    open_call[task] = Call(task, name, time, peer.get(task) if 302 in values else None)
                    part[task].calls.append(open_call[task])
            if 25 in values and values[25] in (0, 888888888) and task in open_call:
                call = open_call.pop(task)
                call.end = time
                if call.name in ("Init", "Init_thread"):
                    part[task].begin, part[task].calls = time, []
    return windows, messages


def connect(parts, messages):
    """Fills in what the calls of one window need."""
    meetings = collections.defaultdict(list)
    for task, part in parts.items():
        turn = 0
        for call in part.calls:
            if call.name in FROM_ROOT + TO_ROOT + OTHERS:
                meetings[turn].append(call)
                turn += 1
    for calls in meetings.values():
        for call in calls:
            is_root = call.root == call.task - 1
            if call.name in FROM_ROOT:
                call.needs = [] if is_root else [c for c in calls if c.task - 1 == c.root]
            elif call.name not in TO_ROOT or is_root:
                call.needs = calls
    for sender, sent, receiver, complete in messages:
        sends = [c for c in parts[sender].calls if c.begin == sent] if sender in parts else []
        receives = [c for c in parts[receiver].calls if c.begin <= complete <= c.end] if receiver in parts else []
        for call in receives[:1]:
            call.needs = call.needs + sends[:1]


def replay(parts):
    """Sets the logical times of all calls; returns that of the end."""
    first, ends = min(p.begin for p in parts.values()), []
    steps = []
    for task, part in parts.items():
        for number, call in enumerate(part.calls):
            steps += [(call.begin, 0, task, number), (call.end, 1, task, number)]
    clock = {task: part.begin - first for task, part in parts.items()}
    since = {task: part.begin for task, part in parts.items()}
    for time, is_end, task, number in sorted(steps):
        call = parts[task].calls[number]
        if is_end:
            clock[task] = max([clock[task]] + [c.logical for c in call.needs if c.logical is not None])
        else:
            clock[task] += time - since[task]
            call.logical = clock[task]
        since[task] = time
    for task, part in parts.items():
        ends.append(clock[task] + part.end - since[task])
    return max(ends)


def main(folder, report):
    with open(report, encoding="utf-8") as f:
        run = json.load(f)["runs"][0]
    windows, messages = read(folder)
    said = {w["ordinal"]: w for w in run["windows"]}
    if set(said) != {w for w, parts in windows.items() if any(p.calls for p in parts.values())}:
        print("windows differ:", sorted(said), sorted(windows))
    for ordinal, w in said.items():
        parts = {t: p for t, p in windows[ordinal].items() if p.calls}
        connect(parts, messages)
        length = max(p.end for p in parts.values()) - min(p.begin for p in parts.values())
        useful = [p.end - p.begin - sum(c.end - c.begin for c in p.calls) for p in parts.values()]
        mean, ideal = sum(useful) / len(useful), replay(parts)
        want = {"processes": len(parts), "length_ns": length, "parallel_efficiency": mean / length,
                "load_balance": mean / max(useful), "communication_efficiency": max(useful) / length,
                "serialisation": max(useful) / ideal, "transfer": ideal / length}
        for name, value in want.items():
            if abs(w[name] - value) > 0.005 * value:
                print(f"window {ordinal}: {name} {w[name]}, by Paraver's files {value}")
    print(len(said), "windows compared")


main(*sys.argv[1:])
