# SPDX-License-Identifier: BSD-3-Clause
"""Matches sends with receives on MPI_COMM_WORLD, and collective calls on any communicator."""

import numpy as np
import pandas as pd

from regtrace.comms import SELF, WORLD
from regtrace.mpi_functions import COLLECTIVES, INITIALIZES, RECEIVES_IN_CALL, RECEIVES_LATER, SENDS, STARTS, SYNCHRONIZING

_LARGE = "_c"  # suffix of MPI-4's functions with large counts
MESSAGES = ["sender", "receiver", "tag", "bytes", "send_thread", "send_ns", "sent_ns", "receive_thread", "receive_ns", "received_ns"]


def base(names):
    """Returns the function names without the suffix of their large-count variants."""
    names = np.asarray(names, dtype=object)
    return np.array([n[:-2] if n.endswith(_LARGE) else n for n in names], dtype=object)


def outermost(calls):
    """Returns the calls of the ranks' own processes that lie in no other call, ordered by begin.

    `function` becomes the name without the suffix of large-count variants.
    """
    calls = calls[(calls["depth"] == 0) & ~calls["nested"] & (calls["process"] == 0)].copy()
    calls["function"] = base(calls["function"].astype(str))
    return calls.sort_values("begin_ns", kind="stable", ignore_index=True)


def around(calls, ranks, threads, times):
    """Returns the position in `calls` (outermost ones) of the call in which each moment lies.

    ranks, threads, times (ns): one element per moment. -1 if a moment lies in no call.
    """
    found = np.full(len(times), -1, dtype=np.int64)
    ranks, threads, times = (np.asarray(a, dtype=np.int64) for a in (ranks, threads, times))
    groups = calls.groupby(["rank", "thread"], sort=False).indices
    for (rank, thread), rows in groups.items():
        here = np.flatnonzero((ranks == rank) & (threads == thread))
        begins, ends = calls["begin_ns"].to_numpy()[rows], calls["end_ns"].to_numpy()[rows]
        at = np.searchsorted(begins, times[here], "right") - 1
        inside = (at >= 0) & (times[here] <= ends[np.maximum(at, 0)])
        found[here[inside]] = rows[at[inside]]
    return found


def sends(calls):
    """Returns the sends on MPI_COMM_WORLD as recorded, without those cut at their begin."""
    plain = calls["function"].isin(SENDS) & (calls["comm"] == WORLD).fillna(False) & (calls["peer"] >= 0).fillna(False)
    return calls[plain & ~calls["cut_begin"]]


def elsewhere(calls):
    """Returns the sends that are not on MPI_COMM_WORLD, or not known to be."""
    return calls[calls["function"].isin(SENDS) & (calls["comm"] != WORLD).fillna(True) & (calls["peer"] >= 0).fillna(False)]


def _receives(calls, completions):
    """Returns (completed receives on MPI_COMM_WORLD, number of other completed receives).

    receive_ns is the begin of the call that posted the receive.
    """
    done = completions[(completions["process"] == 0) & ~completions["unknown"] & (completions["source"] >= 0).fillna(False)]
    done = done.sort_values("time_ns", kind="stable", ignore_index=True)
    at = around(calls, done["rank"], done["thread"], done["time_ns"])
    inside = calls.iloc[np.maximum(at, 0)].reset_index(drop=True)
    blocking = (at >= 0) & inside["function"].isin(RECEIVES_IN_CALL).to_numpy()
    posted = calls[calls["function"].isin(RECEIVES_LATER)][["rank", "request", "begin_ns", "comm"]]
    posted = pd.merge_asof(done[["rank", "request", "time_ns"]], posted, left_on="time_ns", right_on="begin_ns", by=["rank", "request"])
    comm = np.where(blocking, inside["comm"].astype("float64"), posted["comm"].astype("float64"))
    begin = np.where(blocking, inside["begin_ns"].astype("float64"), posted["begin_ns"].astype("float64"))
    keep = (comm == WORLD) & ~np.isnan(begin)
    exact = np.where(blocking, inside["begin_ns"], posted["begin_ns"].fillna(0).astype(np.int64)).astype(np.int64)
    done = done.assign(receive_ns=exact)[keep]
    return pd.DataFrame({"sender": done["source"].astype(np.int64), "receiver": done["rank"].astype(np.int64),
                         "tag": done["tag"].astype(np.int64), "got": done["bytes"].fillna(0).astype(np.int64),
                         "receive_thread": done["thread"].astype(np.int64), "receive_ns": done["receive_ns"],
                         "received_ns": done["time_ns"]}), int((~keep).sum())  # fmt: skip


def messages(calls, completions, tolerance_ns):
    """Returns (frame of messages with the columns MESSAGES, left, others, starts).

    left: sends and receives that are left out because they do not match.
    others: sends and receives that this does not look at.
    starts: calls that start persistent requests, which this does not look at either.

    Messages of one sender, receiver and tag do not overtake each other: the k-th send matches the
    k-th receive, in the order in which receives were posted. That holds only if both sides
    recorded all of them. So a queue is left out as a whole if its numbers of sends and receives or
    its bytes differ, or if a message is received before it is sent. tolerance_ns: how far the
    clocks of two nodes may differ.
    """
    out = sends(calls)
    out = pd.DataFrame({"sender": out["rank"].astype(np.int64), "receiver": out["peer"].astype(np.int64), "tag": out["tag"].astype(np.int64),
                        "bytes": out["bytes"].astype(np.int64), "send_thread": out["thread"].astype(np.int64), "send_ns": out["begin_ns"],
                        "sent_ns": out["end_ns"]})  # fmt: skip
    back, others = _receives(calls, completions)
    back, others = back.sort_values("receive_ns", kind="stable"), others + len(elsewhere(calls))
    way = ["sender", "receiver", "tag"]
    out["turn"], back["turn"] = out.groupby(way).cumcount(), back.groupby(way).cumcount()
    both = out.merge(back, on=[*way, "turn"], how="outer", indicator=True)
    wrong = (both["_merge"] != "both") | (both["bytes"] != both["got"]) | (both["received_ns"] + tolerance_ns < both["send_ns"])
    bad = wrong.groupby([both[w] for w in way]).transform("any") if len(both) else wrong
    good = both[~bad.astype(bool)][MESSAGES].astype(np.int64)
    left = int(both["_merge"][bad.astype(bool)].map({"both": 2, "left_only": 1, "right_only": 1}).astype(int).sum())
    return good.sort_values(["send_ns", "sender"], kind="stable", ignore_index=True), left, others, int(calls["function"].isin(STARTS).sum())


def _from_start(calls):
    """Returns the (window, rank) pairs whose window was open at MPI_Init.

    Their sequences of calls lack nothing at the beginning.
    """
    first = calls.drop_duplicates(["window", "rank"])
    first = first[first["function"].isin(INITIALIZES) & ~first["cut_begin"]]
    return set(zip(first["window"], first["rank"]))


def whole_ranks(calls):
    """Returns the ranks of which every call since MPI_Init is in one window."""
    windows = calls.groupby("rank")["window"].nunique()
    return {rank for _, rank in _from_start(calls) if windows[rank] == 1}


def _one_by_one(of, is_tight, tolerance_ns):
    """Returns whether the k-th call of each rank can be one operation, for as many as all have.

    of: rank -> calls. The functions must be the same. If `is_tight` (one group), no rank may leave
    a synchronizing call before all have entered it, within tolerance_ns.
    """
    count = min(map(len, of.values()))
    column = lambda name: np.array([p[name].to_numpy()[:count] for p in of.values()])  # noqa: E731
    names, begin, end = column("function"), column("begin_ns"), column("end_ns")
    if not (names == names[0]).all():
        return False
    cut = (column("cut_begin") | column("cut_end")).any(axis=0)
    tight = np.isin(names[0].astype(str), list(SYNCHRONIZING)) & ~cut & is_tight
    return not (begin.max(axis=0)[tight] > end.min(axis=0)[tight] + tolerance_ns).any()


def collectives(calls, comms, tolerance_ns):
    """Returns (matched calls of collective functions, number of those left out).

    comms: of comms.known(). The column `turn` is the same number in all calls of one operation.

    On a communicator, the k-th call of one rank matches the k-th call of another if all its ranks
    recorded the same calls. So this takes each window that all these ranks have, if their functions
    are the same one by one. It leaves out windows in which a rank would leave a barrier before
    another has entered it. (With two groups this is not checked: no rank waits for its own group.)
    """
    kept, turn = [], 0
    chosen = calls[calls["function"].isin(COLLECTIVES) & (calls["comm"] != SELF).fillna(True)]
    chosen = chosen.assign(rank=chosen["rank"].astype(np.int64), comm=chosen["comm"].fillna(0).astype(np.int64))
    chosen = chosen.merge(comms, on=["rank", "comm"], how="left")
    left = int(chosen["key"].isna().sum())
    chosen = chosen[chosen["members"] > 1]
    whole = _from_start(calls)
    for (_, window), part in chosen.groupby(["key", "window"]):
        of = {rank: p for rank, p in part.groupby("rank")}
        shortest, longest = min(map(len, of.values())), max(map(len, of.values()))
        good = len(of) == int(part["members"].iloc[0]) and (shortest == longest or all((window, r) in whole for r in of))
        good = good and _one_by_one(of, part["sides"].iloc[0] == 1, tolerance_ns)
        left += len(part) - (shortest * len(of) if good else 0)
        if good:
            kept += [p.iloc[:shortest].assign(turn=np.arange(turn, turn + shortest)) for p in of.values()]
            turn += shortest
    return pd.concat(kept, ignore_index=True) if kept else chosen.iloc[:0].assign(turn=0), left
