# SPDX-License-Identifier: BSD-3-Clause
"""Which send is received by which receive, and which collective calls of the ranks are one, on MPI_COMM_WORLD."""

import numpy as np
import pandas as pd

WORLD = 1
_LARGE = "_c"  # MPI-4's functions with large counts
SENDS = {"MPI_Send", "MPI_Bsend", "MPI_Ssend", "MPI_Rsend", "MPI_Isend", "MPI_Ibsend", "MPI_Issend", "MPI_Irsend", "MPI_Sendrecv",
         "MPI_Sendrecv_replace", "MPI_Isendrecv", "MPI_Isendrecv_replace"}  # fmt: skip
BLOCKING_RECEIVES = {"MPI_Recv", "MPI_Sendrecv", "MPI_Sendrecv_replace"}
RECEIVES_AT_ONCE = {"MPI_Irecv"}
WAITS = {"MPI_Wait", "MPI_Waitall", "MPI_Waitany", "MPI_Waitsome", "MPI_Mrecv"} | BLOCKING_RECEIVES
# Nobody leaves these before everybody has entered them.
SYNCHRONISING = {"MPI_Barrier", "MPI_Allgather", "MPI_Allgatherv", "MPI_Alltoall", "MPI_Allreduce"}
COLLECTIVES = SYNCHRONISING | {
    "MPI_Bcast", "MPI_Gather", "MPI_Gatherv", "MPI_Scatter", "MPI_Scatterv", "MPI_Reduce", "MPI_Reduce_scatter",
    "MPI_Reduce_scatter_block", "MPI_Scan", "MPI_Exscan", "MPI_Alltoallv", "MPI_Alltoallw", "MPI_Comm_dup", "MPI_Comm_split",
    "MPI_Comm_create",
}  # fmt: skip
MESSAGES = ["sender", "receiver", "tag", "bytes", "send_thread", "send_ns", "sent_ns", "receive_thread", "receive_ns", "received_ns"]


def base(names):
    """Names of functions without what marks their large-count twins."""
    names = np.asarray(names, dtype=object)
    return np.array([n[:-2] if n.endswith(_LARGE) else n for n in names], dtype=object)


def outermost(calls):
    """Calls of the ranks' own processes that lie in no other call, with their plain names, in the order of their begins."""
    calls = calls[(calls["depth"] == 0) & ~calls["nested"] & (calls["process"] == 0)].copy()
    calls["function"] = base(calls["function"].astype(str))
    return calls.sort_values("begin_ns", kind="stable", ignore_index=True)


def around(calls, ranks, threads, times):
    """Rows of `calls` (outermost ones) in which these moments lie, -1: none."""
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
    """Sends on the world communicator, as they were recorded."""
    plain = calls["function"].isin(SENDS) & (calls["comm"] == WORLD).fillna(False) & (calls["peer"] >= 0).fillna(False)
    return calls[plain & ~calls["cut_begin"]]


def _receives(calls, completions):
    """Completed receives on the world communicator with the call that posted each."""
    done = completions[(completions["process"] == 0) & ~completions["unknown"] & (completions["source"] >= 0).fillna(False)]
    done = done.sort_values("time_ns", kind="stable", ignore_index=True)
    at = around(calls, done["rank"], done["thread"], done["time_ns"])
    inside = calls.iloc[np.maximum(at, 0)].reset_index(drop=True)
    blocking = (at >= 0) & inside["function"].isin(BLOCKING_RECEIVES).to_numpy()
    posted = calls[calls["function"].isin(RECEIVES_AT_ONCE)][["rank", "request", "begin_ns", "comm"]]
    posted = pd.merge_asof(done[["rank", "request", "time_ns"]], posted, left_on="time_ns", right_on="begin_ns", by=["rank", "request"])
    comm = np.where(blocking, inside["comm"].astype("float64"), posted["comm"].astype("float64"))
    begin = np.where(blocking, inside["begin_ns"].astype("float64"), posted["begin_ns"].astype("float64"))
    keep = (comm == WORLD) & ~np.isnan(begin)
    exact = np.where(blocking, inside["begin_ns"], posted["begin_ns"].fillna(0).astype(np.int64)).astype(np.int64)
    done = done.assign(receive_ns=exact)[keep]
    return pd.DataFrame({"sender": done["source"].astype(np.int64), "receiver": done["rank"].astype(np.int64),
                         "tag": done["tag"].astype(np.int64), "got": done["bytes"].fillna(0).astype(np.int64),
                         "receive_thread": done["thread"].astype(np.int64), "receive_ns": done["receive_ns"],
                         "received_ns": done["time_ns"]})  # fmt: skip


def messages(calls, completions, tolerance_ns):
    """(frame of messages, how many sends and receives are left out).

    Messages of one sender, receiver and tag do not overtake each other: the k-th that is sent is the k-th that is received, receives in the
    order in which they were posted. That holds where both sides recorded all of them: a way on which the numbers or the bytes
    differ, or where something is received before it is sent, is left out as a whole.
    """
    out = sends(calls)
    out = pd.DataFrame({"sender": out["rank"].astype(np.int64), "receiver": out["peer"].astype(np.int64), "tag": out["tag"].astype(np.int64),
                        "bytes": out["bytes"].astype(np.int64), "send_thread": out["thread"].astype(np.int64), "send_ns": out["begin_ns"],
                        "sent_ns": out["end_ns"]})  # fmt: skip
    back = _receives(calls, completions).sort_values("receive_ns", kind="stable")
    way = ["sender", "receiver", "tag"]
    out["turn"], back["turn"] = out.groupby(way).cumcount(), back.groupby(way).cumcount()
    both = out.merge(back, on=[*way, "turn"], how="outer", indicator=True)
    wrong = (both["_merge"] != "both") | (both["bytes"] != both["got"]) | (both["received_ns"] + tolerance_ns < both["send_ns"])
    bad = wrong.groupby([both[w] for w in way]).transform("any") if len(both) else wrong
    good = both[~bad.astype(bool)][MESSAGES].astype(np.int64)
    left = int(both["_merge"][bad.astype(bool)].map({"both": 2, "left_only": 1, "right_only": 1}).astype(int).sum())
    return good.sort_values(["send_ns", "sender"], kind="stable", ignore_index=True), left


def _from_start(part):
    """The window has been open since MPI_Init: the sequence has its beginning."""
    first = part.iloc[0]
    return first["function"] in ("MPI_Init", "MPI_Init_thread") and not first["cut_begin"]


def collectives(calls, size, tolerance_ns):
    """(calls of collective functions on the world communicator with the number `turn` of each, how many are left out).

    The k-th of one rank is the k-th of another, where all ranks recorded the same ones: in each window of all ranks those whose
    functions are the same, one by one. Windows in which somebody would leave a barrier that another has not entered are left out.
    """
    kept, left, turn = [], 0, 0
    chosen = calls[calls["function"].isin(COLLECTIVES) & (calls["comm"] == WORLD).fillna(False)]
    for window, part in chosen.groupby("window"):
        of = {rank: p for rank, p in part.groupby("rank")}
        shortest, longest = min(map(len, of.values())), max(map(len, of.values()))
        started = shortest == longest or all(_from_start(p) for _, p in calls[calls["window"] == window].groupby("rank"))
        ranks = sorted(of)
        names = np.array([of[r]["function"].to_numpy()[:shortest] for r in ranks], dtype=object)
        good = len(of) == size and started and (names == names[0]).all()
        if good:
            begin = np.array([of[r]["begin_ns"].to_numpy()[:shortest] for r in ranks])
            end = np.array([of[r]["end_ns"].to_numpy()[:shortest] for r in ranks])
            cut = np.array([(of[r]["cut_begin"] | of[r]["cut_end"]).to_numpy()[:shortest] for r in ranks]).any(axis=0)
            tight = np.isin(names[0], list(SYNCHRONISING)) & ~cut
            good = not (begin.max(axis=0)[tight] > end.min(axis=0)[tight] + tolerance_ns).any()
        left += len(part) - (shortest * len(of) if good else 0)
        if good:
            kept += [of[r].iloc[:shortest].assign(turn=np.arange(turn, turn + shortest)) for r in ranks]
            turn += shortest
    return pd.concat(kept, ignore_index=True) if kept else chosen.iloc[:0].assign(turn=0), left
