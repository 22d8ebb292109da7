# SPDX-License-Identifier: BSD-3-Clause
"""Compares what the Python package reads of a real run with `regtrace report --json`, which reads
with other code.

Also compares a run of stencil (3 phases of 20 iterations, 4 ranks) with what that program does.
Arguments: the run's folder, the report, "stencil" or any other name. Prints what is wrong."""

import json
import os
import sys
import warnings

SOURCE = os.environ.get(
    "REGTRACE_SOURCE", os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
)
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(SOURCE, "share", "python"))
import regtrace  # noqa: E402

PHASES, ITERATIONS, RANKS = 3, 20, 4
A_RANK = {"MPI_Irecv": 4, "MPI_Isend": 4, "MPI_Waitall": 1, "MPI_Allreduce": 1}  # per iteration


wrong = []


def same(got, want, what):
    if got != want:
        wrong.append(f"{what}: got {got}, want {want}")


def against_stencil(run, windows, calls):
    ranks = run.ranks
    same(list(ranks["rank"]), list(range(RANKS)), "ranks")
    same(set(ranks["state"]), {"closed"}, "states")
    same(set(ranks["end_reason"]), {"finished"}, "end reasons")
    same(run.missing, [], "missing ranks")
    same(len(windows), RANKS * PHASES, "windows")
    same(set(windows["opened_by"]), {"alarm"}, "who opened windows")
    want = {
        (r, w, f): n * ITERATIONS
        for r in range(RANKS)
        for w in range(PHASES)
        for f, n in A_RANK.items()
    }
    same(
        calls.groupby(["rank", "window", "function"], observed=True).size().to_dict(), want, "calls"
    )
    sends = calls[(calls["function"] == "MPI_Isend") & (calls["peer"] >= 0)]
    receives = calls[(calls["function"] == "MPI_Irecv") & (calls["peer"] >= 0)]
    there = sends.groupby(["rank", "peer", "bytes"]).size().to_dict()
    back = receives.groupby(["peer", "rank", "bytes"]).size().to_dict()
    same(there, back, "messages sent and received")
    same(len(there) > 0, True, "messages between ranks")
    marks = run.events(rank=0, code="EV_MPI_PCONTROL")
    same(len(marks) >= PHASES, True, "Pcontrol marks in windows")


def against_report(run, windows, calls, report):
    same(run.origin_ns, report["origin_monotonic_ns"], "origin")
    same(len(run.events()), report["events"], "events")
    same(run.missing, report["missing"], "missing ranks")
    columns = [
        "rank",
        "thread",
        "ordinal",
        "start_ns",
        "stop_ns",
        "start_alarm",
        "kind",
        "opened_by",
        "closed_by",
        "bcast",
    ]
    ours = windows[columns].astype(object).where(windows[columns].notna(), None)
    theirs = [tuple(w[c] for c in columns) for w in report["windows"]]
    same(
        sorted(map(str, ours.itertuples(index=False, name=None))),
        sorted(map(str, theirs)),
        "windows of the report",
    )
    key = ["rank", "process", "function"]
    count = calls.groupby(key, observed=True).agg(n=("bytes", "size"), bytes=("bytes", "sum"))
    outer = calls[calls["depth"] == 0].groupby(key, observed=True)["duration_ns"].sum()
    process = {f.name: (f.rank, f.process) for f in run.files}
    listed = 0
    for rank in report["ranks"]:
        for function in rank["functions"]:
            at = (*process[rank["file"]], function["name"])
            row, time = count.loc[at], float(outer.get(at, 0))
            same(
                (int(row["n"]), int(row["bytes"])),
                (function["calls"], function["bytes"]),
                f"calls and bytes of {at}",
            )
            listed += function["calls"]
            # Each call is rounded, and so are the digits of the JSON.
            if abs(time - function["time_ns"]) > row["n"] + 1e-8 * time:
                wrong.append(f"time of {at}: {time} ns, the report has {function['time_ns']}")
    same(len(calls), listed, "calls of all functions")


def main():
    run = regtrace.open(sys.argv[1])
    with open(sys.argv[2], encoding="utf-8") as f:
        report = json.load(f)
    warnings.simplefilter("error")
    windows, calls = run.windows(), run.mpi_calls()
    same(len(run.losses()), 0, "losses")
    same(len(run.mpi_open()), 0, "edges without a partner")
    same(len(calls) > 0, True, "calls at all")
    keys = ["rank", "process", "thread", "window"]
    inside = calls.merge(windows.rename(columns={"ordinal": "window"}), on=keys, how="left")
    within = (inside["begin_ns"] >= inside["start_ns"]) & (inside["end_ns"] <= inside["stop_ns"])
    same(int((~within.fillna(False).astype(bool)).sum()), 0, "calls outside their windows")
    if sys.argv[3] == "stencil":
        against_stencil(run, windows, calls)
    against_report(run, windows, calls, report)
    for text in wrong:
        print(text)
    return 1 if wrong else 0


sys.exit(main())
