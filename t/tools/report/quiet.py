# SPDX-License-Identifier: BSD-3-Clause
"""Compares efficiencies and critical paths with the times between which a program (quiet.c) has
opened and closed its windows.

usage: quiet.py MODE LOG EFFICIENCY_JSON REPORT_JSON

Prints what differs, then "N windows of N processes"."""

import glob
import json
import sys

# Of each window: the ranks that call no MPI in it, and the one with most time, which is one of
# them. Others may have no time outside MPI, as far as the log says.
WITHOUT_MPI = {
    "inside": {0: ({1}, 1), 1: ({0, 1, 2}, 2), 2: ({0}, None), 3: (set(), None)},
    "edges": {1: (set(), None), 2: ({0, 1, 2}, 0), 3: ({0, 1, 2}, None)},
    "elsewhere": {0: ({0, 1, 2}, None)},
}


def read(log):
    """Returns window -> rank -> (begin_least, begin_most, end_least, end_most)."""
    windows = {}
    for path in glob.glob(f"{log}.*"):
        with open(path, encoding="utf-8") as f:
            for line in f:
                window, *times = map(int, line.split())
                windows.setdefault(window, {})[int(path.rpartition(".")[2])] = times
    return windows


def within(what, ns, least, most):
    """The clocks of trace and log may differ in rate, and each time is rounded."""
    if ns is None or not least * 0.999 - 2000 <= ns <= most * 1.001 + 2000:
        print(f"{what}: {ns}, by the log {least} to {most}")


def length(parts):
    begin_least, begin_most, end_least, end_most = zip(*parts)
    return max(end_least) - min(begin_most), max(end_most) - min(begin_least)


def useful(parts, quiet):
    least = sum(p[2] - p[1] for rank, p in parts.items() if rank in quiet)
    return least, sum(p[3] - p[0] for p in parts.values())


def compare_window(number, said, parts, quiet, longest):
    what = f"window {number}"
    if said["processes"] != len(parts):
        print(f"{what}: {said['processes']} processes, by the log {len(parts)}")
    within(f"{what}, length", said["length_ns"], *length(parts.values()))
    within(f"{what}, useful", said["useful_ns"], *useful(parts, quiet))
    mean = said["useful_ns"] / len(parts)
    if abs(said["parallel_efficiency"] * said["length_ns"] - mean) > 2:
        print(f"{what}: parallel efficiency {said['parallel_efficiency']} is not {mean} / length")
    if longest is not None:
        bounds = length([parts[longest]])
        within(f"{what}, most", mean / said["load_balance"], *bounds)
        within(f"{what}, most useful", said["most_useful_ns"], *bounds)
        if said["most_useful_rank"] != longest:
            print(f"{what}: rank {said['most_useful_rank']} has most, by the log {longest}")
        within(f"{what}, ideal", said["transfer"] * said["length_ns"], *bounds)


def compare_path(path, windows, longest):
    found = {w["ordinal"]: w for w in path["windows"] if not w["partial"]}
    if set(found) != set(windows):
        print(f"critical paths of windows {sorted(found)}, by the log {sorted(windows)}")
    for number, rank in longest.items():
        w = found[number]
        if rank is not None and (w["rank"], w["crossings"]) != (rank, 0):
            print(f"window {number}: the path is on rank {w['rank']}, by the log on {rank}")
        if rank is not None:
            bounds = length([windows[number][rank]])
            within(f"window {number}, path", w["stop_ns"] - w["start_ns"], *bounds)


def main(mode, log, efficiency, report):
    windows, quiet = read(log), WITHOUT_MPI[mode]
    with open(efficiency, encoding="utf-8") as f:
        run = json.load(f)["runs"][0]
    with open(report, encoding="utf-8") as f:
        path = json.load(f)["critical_path"]
    said = {w["ordinal"]: w for w in run["windows"]}
    if not set(said) == set(windows) == set(quiet):
        print(f"windows {sorted(said)}, by the log {sorted(windows)}")
    for number, parts in windows.items():
        compare_window(number, said[number], parts, *quiet[number])
    bounds = [useful(parts, quiet[number][0]) for number, parts in windows.items()]
    within("all windows, useful", run["useful_ns"], *map(sum, zip(*bounds)))
    compare_path(path, windows, {number: rank for number, (_, rank) in quiet.items()})
    print(len(said), "windows of", run["processes"], "processes")


main(*sys.argv[1:])
