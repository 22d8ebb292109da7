# SPDX-License-Identifier: BSD-3-Clause
"""Analyses all ranks together: bytes between ranks, imbalance, statistics of windows."""

import warnings

import numpy as np
import pandas as pd

from regtrace.errors import IncompleteWarning, RegtraceError

_LARGE = "_c"  # suffix of MPI-4's functions with large counts


def outermost(calls):
    """Returns the calls of the ranks' own processes that lie in no other call, ordered by begin.

    `function` becomes the name without the suffix of large-count variants.
    """
    calls = calls[(calls["depth"] == 0) & ~calls["nested"] & (calls["process"] == 0)].copy()
    names = calls["function"].astype(str)
    calls["function"] = names.where(~names.str.endswith(_LARGE), names.str[: -len(_LARGE)])
    return calls.sort_values("begin_ns", kind="stable", ignore_index=True)


def _say(text):
    warnings.warn(text, IncompleteWarning, stacklevel=4)


def matrix(messages, unmatched, size, what):
    """Returns a frame of size x size: sums from rank (row) to rank (column).

    Sums the messages, and the sends among the unmatched. what: "bytes" or "messages".
    attrs["source"] names what was summed.
    """
    if what not in ("bytes", "messages"):
        raise RegtraceError(f"a matrix of {what!r}: bytes and messages are legal")
    sends = unmatched[unmatched["is_send"] != 0]
    nowhere = (sends["receiver"] < 0) | (sends["receiver"] >= size)
    if nowhere.any():
        _say(
            f"{int(nowhere.sum())} sends to ranks that are not known, or that the run does not "
            "have, are left out"
        )
    tables = {"messages": messages, "sends": sends[~nowhere]}
    out = np.zeros((size, size), dtype=np.int64)
    for table in tables.values():
        np.add.at(
            out,
            (table["sender"].to_numpy(), table["receiver"].to_numpy()),
            table["bytes"].to_numpy() if what == "bytes" else 1,
        )
    frame = pd.DataFrame(
        out, index=pd.RangeIndex(size, name="sender"), columns=pd.RangeIndex(size, name="receiver")
    )
    frame.attrs["source"] = (
        " and ".join(name for name, table in tables.items() if len(table)) or "messages"
    )
    return frame


def _of_mpi_threads(windows, calls):
    """Returns the finished windows of threads that call MPI.

    If no thread of a rank calls MPI, all finished windows of that rank count.
    """
    windows = windows[(windows["process"] == 0) & windows["stop_ns"].notna()].copy()
    calling = set(zip(calls["rank"], calls["thread"]))
    ranks = {rank for rank, _ in calling}
    keep = [(r, t) in calling or r not in ranks for r, t in zip(windows["rank"], windows["thread"])]
    return windows[np.array(keep, dtype=bool)]


def per_window(windows, calls):
    """Returns a row per rank and window, summed over the threads that call MPI.

    outside_ns is the time outside MPI, mpi_share that in MPI as a part of duration_ns.
    """
    windows = _of_mpi_threads(windows, calls)
    icount = windows["stop_icount"].astype("Float64") - windows["start_icount"].astype("Float64")
    windows = windows.assign(
        instructions=icount, duration_ns=windows["duration_ns"].astype(np.int64)
    )
    keys = ["rank", "window"]
    out = (
        windows.rename(columns={"ordinal": "window"})
        .groupby(keys)
        .agg(
            duration_ns=("duration_ns", "sum"),
            instructions=("instructions", lambda s: s.sum(skipna=False)),
        )
    )
    made = calls.groupby(keys).agg(
        mpi_ns=("duration_ns", "sum"), calls=("duration_ns", "size"), bytes=("bytes", "sum")
    )
    out = out.join(made)
    for column in ("mpi_ns", "calls", "bytes"):
        out[column] = out[column].fillna(0).astype(np.int64)
    out["outside_ns"] = out["duration_ns"] - out["mpi_ns"]
    out["mpi_share"] = out["mpi_ns"] / out["duration_ns"].where(out["duration_ns"] > 0)
    return out.reset_index()


def _spread(values, ranks):
    """Returns mean, minimum and maximum over ranks, the ranks of both, and max / mean."""
    values, ranks = np.asarray(values, dtype=np.float64), np.asarray(ranks)
    mean = values.mean()
    return {
        "ranks": len(values),
        "mean": mean,
        "min": values.min(),
        "min_rank": int(ranks[values.argmin()]),
        "max": values.max(),
        "max_rank": int(ranks[values.argmax()]),
        "imbalance": values.max() / mean if mean > 0 else np.nan,
    }


def imbalance(windows, calls, by):
    """Returns how uneven work is over ranks; see Run.imbalance()."""
    table = per_window(windows, calls)
    if by == "window":
        rows = [
            {"window": w, **_spread(p["outside_ns"], p["rank"])} for w, p in table.groupby("window")
        ]
        return pd.DataFrame(rows)
    if by == "run":
        p = table.groupby("rank")["outside_ns"].sum()
        return pd.DataFrame([_spread(p.to_numpy(), p.index.to_numpy())] if len(p) else [])
    if by != "function":
        raise RegtraceError(f"imbalance by {by!r}: run, window and function are legal")
    ranks = np.array(sorted(table["rank"].unique()))
    rows = []
    for function, p in calls.groupby("function"):
        spent = p.groupby("rank")["duration_ns"].sum().reindex(ranks, fill_value=0)
        rows.append({"function": function, "calls": len(p), **_spread(spent.to_numpy(), ranks)})
    frame = pd.DataFrame(rows)
    return (
        frame.sort_values("max", ascending=False, kind="stable", ignore_index=True)
        if len(frame)
        else frame
    )


def window_statistics(windows, calls):
    """Returns a row per window and quantity, over the ranks of which the quantity is known."""
    table, rows = per_window(windows, calls), []
    for window, p in table.groupby("window"):
        for quantity in ("duration_ns", "mpi_share", "calls", "bytes", "instructions"):
            known = p[p[quantity].notna()]
            if len(known):
                rows.append(
                    {
                        "window": window,
                        "quantity": quantity,
                        **_spread(known[quantity].astype(float), known["rank"]),
                    }
                )
    return pd.DataFrame(rows)
