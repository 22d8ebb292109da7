# SPDX-License-Identifier: BSD-3-Clause
"""Compares the waits that the package finds with those that t/share/waits.c made and measured.

usage: waits_check.py RUN LOG. The program wrote LOG.0 to LOG.2.
"""

import sys
import warnings

import regtrace

# label: (kind, ranks that wait, rank that they wait for, function)
WANTED = {
    "recv": ("late sender", [1], 0, "MPI_Recv"),
    "waitall": ("late sender", [1], 2, "MPI_Waitall"),
    "sendrecv": ("late sender", [0], 2, "MPI_Sendrecv"),
    "ssend": ("late receiver", [0], 2, "MPI_Ssend"),
    "barrier": ("collective", [0, 2], 1, "MPI_Barrier"),
    "allreduce": ("collective", [0, 1], 2, "MPI_Allreduce"),
    "root": ("collective", [1, 2], 0, "MPI_Bcast"),
}
problems = []


def check(good, what):
    if not good:
        problems.append(what)


def read(log):
    timed, sent, slept = {}, {}, []
    for rank in range(3):
        with open(f"{log}.{rank}", encoding="ascii") as f:
            for line in f:
                label, *words = line.split()
                numbers = [int(w) for w in words]
                if label == "slept":
                    slept += numbers
                elif label == "sent":
                    sent[rank, numbers[0]] = numbers[1:]
                else:
                    timed[label, rank] = numbers
    return timed, sent, min(slept)


def main(run, log):
    timed, sent, late = read(log)
    slack = late // 50  # the clocks of the tool and the program differ
    warnings.simplefilter("error")
    opened = regtrace.open(run, origin="monotonic")
    waits = opened.waits()
    long = waits[waits["wait_ns"] > late // 2]
    seen = 0
    for label, (kind, who, whom, function) in WANTED.items():
        cause = timed[label, whom]
        for rank in who:
            before, after = timed[label, rank]
            found = long[
                (long["kind"] == kind)
                & (long["rank"] == rank)
                & (long["begin_ns"] >= before - slack)
                & (long["begin_ns"] <= after)
            ]
            # On a busy machine, the rank that should wait may be held up and come late itself.
            waited = cause[0] - before
            check(len(found) <= 1, f"{label} of rank {rank}: {len(found)} waits, not one")
            check(
                len(found) == 1 or waited < late * 3 // 4,
                f"{label} of rank {rank}: no wait where the program has {waited} ns",
            )
            seen += len(found)
            for w in found.itertuples():
                check((w.function, w.for_rank) == (function, whom), f"{label} of rank {rank}: {w}")
                end = w.begin_ns + w.wait_ns  # then the other rank came
                check(
                    cause[0] - slack <= end <= cause[1] + slack,
                    f"{label} of rank {rank} ends at {end}, not in {cause}",
                )
    check(seen >= 1, f"only {seen} of the waits came about")
    # Other long waits are in the program's own barriers between the parts.
    in_parts = [
        w for w in long.itertuples() if w.function != "MPI_Barrier" and w.wait_ns > late * 3 // 4
    ]
    known = [
        w
        for w in in_parts
        if any(
            w.function == f and w.kind == k and w.rank in who for k, who, _, f in WANTED.values()
        )
    ]
    check(known == in_parts, f"long waits that nobody made: {in_parts}")
    early = waits[
        (waits["kind"] == "late sender")
        & (waits["rank"] == 1)
        & (waits["begin_ns"] >= timed["early", 1][0] - slack)
        & (waits["begin_ns"] <= timed["early", 1][1])
    ]
    check(len(early) == 0, f"a wait for a message that was there: {early}")
    for what, place in (("messages", 0), ("bytes", 1)):
        matrix = opened.mpi_matrix(what)
        got = {(s, r): int(matrix.loc[s, r]) for s in range(3) for r in range(3)}
        check(got == {k: v[place] for k, v in sent.items()}, f"{what}: {got} are not {sent}")
    check(len(opened.messages()) == sum(v[0] for v in sent.values()), "messages")
    check(
        opened.mpi_matrix().attrs["source"] == "messages",
        f"the matrix is of {opened.mpi_matrix().attrs['source']}",
    )
    uneven(opened, timed)
    for p in problems:
        print(p)
    print(
        f"{len(waits)} waits, {len(long)} of them long; source of the matrix: "
        f"{opened.mpi_matrix().attrs['source']}"
    )
    return bool(problems)


def uneven(opened, timed):
    """Compares the statistics of the only window with sums of the raw calls, computed here."""
    calls = opened.mpi_calls()
    calls = calls[(calls["depth"] == 0) & (calls["thread"] == 0)]
    windows = opened.windows()
    windows = windows[windows["thread"] == 0]
    spent = {r: int(p["duration_ns"].sum()) for r, p in calls.groupby("rank")}
    whole = {int(w.rank): int(w.duration_ns) for w in windows.itertuples()}
    outside = {r: whole[r] - spent[r] for r in whole}
    row = opened.imbalance("run").iloc[0]
    check(
        row["max_rank"] == max(outside, key=outside.get)
        and row["min_rank"] == min(outside, key=outside.get),
        f"who: {row} {outside}",
    )
    check(
        abs(row["imbalance"] - max(outside.values()) * 3 / sum(outside.values())) < 1e-9,
        f"imbalance: {row}",
    )
    statistics = opened.window_statistics().set_index(["window", "quantity"])
    shares = {r: spent[r] / whole[r] for r in whole}
    row = statistics.loc[0, "mpi_share"]
    check(
        abs(row["max"] - max(shares.values())) < 1e-9
        and abs(row["mean"] - sum(shares.values()) / 3) < 1e-9,
        f"share: {row} {shares}",
    )
    check(statistics.loc[0, "calls"]["max"] == calls.groupby("rank").size().max(), "calls")
    check(
        statistics.loc[0, "duration_ns"]["min_rank"] == min(whole, key=whole.get), "shortest window"
    )
    by_function = opened.imbalance("function").set_index("function")
    one = by_function.loc["MPI_Ssend"]
    check(
        one["max_rank"] == 0 and abs(one["imbalance"] - 3) < 1e-9 and one["calls"] == 1,
        f"MPI_Ssend: {one}",
    )


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
