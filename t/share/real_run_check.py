# SPDX-License-Identifier: BSD-3-Clause
"""What the Python package reads of a real run of stencil (3 phases of 20 iterations, 4 ranks), against what the program does
and what `regtrace report --json` says. Arguments: the run's folder, the report. Prints what is wrong."""

import json
import os
import sys
import warnings

SOURCE = os.environ.get("REGTRACE_SOURCE", os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(SOURCE, "share", "python"))
import regtrace  # noqa: E402

PHASES, ITERATIONS, RANKS = 3, 20, 4
A_RANK = {"MPI_Irecv": 4, "MPI_Isend": 4, "MPI_Waitall": 1, "MPI_Allreduce": 1}  # an iteration


def main():
    run = regtrace.open(sys.argv[1])
    with open(sys.argv[2], encoding="utf-8") as f:
        report = json.load(f)
    wrong = []

    def same(got, want, what):
        if got != want:
            wrong.append(f"{what}: got {got}, want {want}")

    warnings.simplefilter("error")
    ranks, windows, calls = run.ranks, run.windows(), run.mpi_calls()
    same(list(ranks["rank"]), list(range(RANKS)), "ranks")
    same(set(ranks["state"]), {"closed"}, "states")
    same(set(ranks["end_reason"]), {"finished"}, "end reasons")
    same(run.missing, [], "missing ranks")
    same(len(run.losses()), 0, "losses")
    same(len(run.mpi_open()), 0, "edges without a partner")

    # Against the program.
    same(len(windows), RANKS * PHASES, "windows")
    same(set(windows["opened_by"]), {"alarm"}, "who opened windows")
    want = {(r, w, f): n * ITERATIONS for r in range(RANKS) for w in range(PHASES) for f, n in A_RANK.items()}
    same(calls.groupby(["rank", "window", "function"], observed=True).size().to_dict(), want, "calls")
    sends = calls[(calls["function"] == "MPI_Isend") & (calls["peer"] >= 0)]
    receives = calls[(calls["function"] == "MPI_Irecv") & (calls["peer"] >= 0)]
    there = sends.groupby(["rank", "peer", "bytes"]).size().to_dict()
    back = receives.groupby(["peer", "rank", "bytes"]).size().to_dict()
    same(there, back, "messages sent and received")
    same(len(there) > 0, True, "messages between ranks")
    inside = calls.merge(windows, left_on=["rank", "window"], right_on=["rank", "ordinal"])
    within = (inside["begin_ns"] >= inside["start_ns"]) & (inside["end_ns"] <= inside["stop_ns"])
    same(bool(within.all()), True, "calls inside their windows")
    names = run.events(rank=0, code="EV_MPI_PCONTROL")
    same(len(names) >= PHASES, True, "Pcontrol marks in windows")

    # Against the report, which reads with other code.
    same(run.origin_ns, report["origin_monotonic_ns"], "origin")
    same(len(run.events()), report["events"], "events")
    theirs = [(w["rank"], w["thread"], w["ordinal"], w["start_ns"], w["stop_ns"], w["start_alarm"], w["kind"], w["closed_by"])
              for w in report["windows"]]  # fmt: skip
    columns = ["rank", "thread", "ordinal", "start_ns", "stop_ns", "start_alarm", "kind", "closed_by"]
    same(sorted(windows[columns].itertuples(index=False, name=None)), sorted(theirs), "windows of the report")
    ours = calls.groupby(["rank", "function"], observed=True).agg(n=("bytes", "size"), time=("duration_ns", "sum"),
                                                                  bytes=("bytes", "sum"))  # fmt: skip
    for rank in report["ranks"]:
        for function in rank["functions"]:
            row = ours.loc[rank["rank"], function["name"]]
            what = f"{function['name']} of rank {rank['rank']}"
            same((int(row["n"]), int(row["bytes"])), (function["calls"], function["bytes"]), what)
            if abs(row["time"] - function["time_ns"]) > row["n"]:  # each call is rounded
                wrong.append(f"{what}: {row['time']} ns, the report has {function['time_ns']}")
    for text in wrong:
        print(text)
    return 1 if wrong else 0


sys.exit(main())
