# SPDX-License-Identifier: BSD-3-Clause
"""Analyses all ranks together: bytes between ranks, imbalance, waits, statistics of windows."""

import warnings

import numpy as np
import pandas as pd

from regtrace import matching, mpi_functions
from regtrace.errors import IncompleteWarning, RegtraceError

WAIT_COLUMNS = ["kind", "rank", "thread", "window", "function", "begin_ns", "wait_ns", "for_rank"]


def _say(text, level=4):
    warnings.warn(text, IncompleteWarning, stacklevel=level)


def _rows_of(calls, messages, side):
    """Returns the index labels of calls that send ("send") or post ("receive") the messages."""
    who = messages["sender" if side == "send" else "receiver"]
    at = matching.around(calls, who, messages[f"{side}_thread"], messages[f"{side}_ns"])
    return calls.index[at[at >= 0]]


def _unmatched_sends(calls, messages, size):
    """Returns the sends on MPI_COMM_WORLD that are not among the matched messages.

    A frame of sender, receiver and bytes. Warns about what it leaves out.
    """
    starts = calls[calls["function"].isin(mpi_functions.STARTS)]
    if messages is not None:
        sending = _rows_of(calls, messages, "send")
        starts = starts.drop(sending.union(_rows_of(calls, messages, "receive")), errors="ignore")
        calls = calls.drop(sending)
    hint = "; `regtrace emulate` on the run's folder first matches them" if messages is None else ""
    other = len(matching.elsewhere(calls))
    if other:
        _say(f"{other} sends on other communicators than MPI_COMM_WORLD are left out: ranks there are others{hint}", 5)
    if len(starts):
        _say(f"{len(starts)} calls that start persistent sends or receives are left out: each may start several{hint}", 5)
    sent = matching.sends(calls)
    nowhere = sent["peer"] >= size
    if nowhere.any():
        _say(f"{int(nowhere.sum())} sends to ranks that the run does not have are left out", 5)
    sent = sent[~nowhere]
    return pd.DataFrame({"sender": sent["rank"], "receiver": sent["peer"], "bytes": sent["bytes"]}).astype(np.int64)


def matrix(messages, calls, size, what):
    """Returns a frame of size x size: sums from rank (row) to rank (column).

    Sums the matched messages (None: there are none) and, unless all messages are matched, the
    other sends. what: "bytes" or "messages". attrs["source"] names what was summed.
    """
    if what not in ("bytes", "messages"):
        raise RegtraceError(f"a matrix of {what!r}: bytes and messages are legal")
    tables = {}
    if messages is not None and (len(messages) or messages.attrs["unmatched"] == (0, 0)):
        tables["messages"] = messages[["sender", "receiver", "bytes"]]
    if messages is None or messages.attrs["unmatched"] != (0, 0):
        rest = _unmatched_sends(calls, messages, size)
        if len(rest) or not tables:
            tables["sends"] = rest
    table = pd.concat(list(tables.values()), ignore_index=True)
    out = np.zeros((size, size), dtype=np.int64)
    np.add.at(out, (table["sender"].to_numpy(), table["receiver"].to_numpy()), table["bytes"].to_numpy() if what == "bytes" else 1)
    frame = pd.DataFrame(out, index=pd.RangeIndex(size, name="sender"), columns=pd.RangeIndex(size, name="receiver"))
    frame.attrs["source"] = " and ".join(tables)
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
    windows = windows.assign(instructions=icount, duration_ns=windows["duration_ns"].astype(np.int64))
    keys = ["rank", "window"]
    out = windows.rename(columns={"ordinal": "window"}).groupby(keys).agg(
        duration_ns=("duration_ns", "sum"), instructions=("instructions", lambda s: s.sum(skipna=False)))  # fmt: skip
    made = calls.groupby(keys).agg(mpi_ns=("duration_ns", "sum"), calls=("duration_ns", "size"), bytes=("bytes", "sum"))
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
    return {"ranks": len(values), "mean": mean, "min": values.min(), "min_rank": int(ranks[values.argmin()]), "max": values.max(),
            "max_rank": int(ranks[values.argmax()]), "imbalance": values.max() / mean if mean > 0 else np.nan}  # fmt: skip


def imbalance(windows, calls, by):
    """Returns how uneven work is over ranks; see Run.imbalance()."""
    table = per_window(windows, calls)
    if by == "window":
        rows = [{"window": w, **_spread(p["outside_ns"], p["rank"])} for w, p in table.groupby("window")]
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
    return frame.sort_values("max", ascending=False, kind="stable", ignore_index=True) if len(frame) else frame


def window_statistics(windows, calls):
    """Returns a row per window and quantity, over the ranks of which the quantity is known."""
    table, rows = per_window(windows, calls), []
    for window, p in table.groupby("window"):
        for quantity in ("duration_ns", "mpi_share", "calls", "bytes", "instructions"):
            known = p[p[quantity].notna()]
            if len(known):
                rows.append({"window": window, "quantity": quantity, **_spread(known[quantity].astype(float), known["rank"])})
    return pd.DataFrame(rows)


def _waits_of(calls, at, wait, cause, kind):
    """Returns a row per call that waits, with WAIT_COLUMNS.

    at: position of each wait in `calls`, -1: in no call. wait: ns. cause: the rank waited for. If
    a call has several waits, the longest counts; MPI_Waitany and MPI_Waitsome go on with the first
    message, so their shortest counts.
    """
    rows = pd.DataFrame({"at": at, "wait_ns": wait, "for_rank": cause})
    rows = rows[rows["at"] >= 0].sort_values("wait_ns", kind="stable")
    first = calls["function"].to_numpy()[rows["at"]] if len(rows) else np.empty(0, dtype=object)
    first = np.isin(first, ["MPI_Waitany", "MPI_Waitsome"])
    rows = pd.concat([rows[first].groupby("at", as_index=False).first(), rows[~first].groupby("at", as_index=False).last()])
    rows = rows[rows["wait_ns"] > 0]
    call = calls.iloc[rows["at"].to_numpy()].reset_index(drop=True)
    return pd.DataFrame({"kind": kind, "rank": call["rank"], "thread": call["thread"], "window": call["window"], "function": call["function"],
                         "begin_ns": call["begin_ns"], "wait_ns": rows["wait_ns"].to_numpy(dtype=np.int64), "for_rank": rows["for_rank"].to_numpy()},
                        columns=WAIT_COLUMNS)  # fmt: skip


def late_senders(calls, messages):
    """Returns the waits of receives and wait calls for a message that is sent later.

    A call that gets several messages waits for the latest; MPI_Waitany and MPI_Waitsome wait for
    the first only.
    """
    at = matching.around(calls, messages["receiver"], messages["receive_thread"], messages["received_ns"])
    call = calls.iloc[np.maximum(at, 0)].reset_index(drop=True)
    at = np.where(call["function"].isin(mpi_functions.WAITS), at, -1) if len(at) else at
    wait = np.minimum(messages["send_ns"].to_numpy(), call["end_ns"].to_numpy()) - call["begin_ns"].to_numpy()
    return _waits_of(calls, at, wait, messages["sender"].to_numpy(), "late sender")


def late_receivers(calls, messages):
    """Returns the waits of synchronous sends (MPI_Ssend) for their receives to be posted.

    Whether other sends wait is not known.
    """
    at = matching.around(calls, messages["sender"], messages["send_thread"], messages["send_ns"])
    call = calls.iloc[np.maximum(at, 0)].reset_index(drop=True)
    at = np.where(call["function"] == "MPI_Ssend", at, -1) if len(at) else at
    wait = np.minimum(messages["receive_ns"].to_numpy(), call["end_ns"].to_numpy()) - call["begin_ns"].to_numpy()
    return _waits_of(calls, at, wait, messages["receiver"].to_numpy(), "late receiver")


def collective_waits(matched):
    """Returns the waits in collective calls, which matching.collectives() matched.

    A wait lasts from a rank's enter to the last rank's enter, or to its own leave if that comes
    first (a broadcast's root does not wait). Leaves out calls that a window cut at the begin on
    any rank.
    """
    if len(matched) == 0:
        return pd.DataFrame(columns=WAIT_COLUMNS)
    last = matched.loc[matched.groupby("turn")["begin_ns"].idxmax()].set_index("turn")
    enter = last["begin_ns"].loc[matched["turn"]].to_numpy()
    who = last["rank"].loc[matched["turn"]].to_numpy()
    cut = matched.groupby("turn")["cut_begin"].transform("any").to_numpy()
    wait = np.minimum(enter, matched["end_ns"].to_numpy()) - matched["begin_ns"].to_numpy()
    frame = matched.assign(kind="collective", wait_ns=wait, for_rank=who)[(wait > 0) & ~cut]
    return frame[WAIT_COLUMNS].reset_index(drop=True)
