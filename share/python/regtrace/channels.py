# SPDX-License-Identifier: BSD-3-Clause
"""Reads channels.h5 of `regtrace emulate`: states of threads and processors over time."""

import contextlib
import difflib
import os
import warnings

import h5py
import numpy as np
import pandas as pd

from regtrace.errors import IncompleteWarning, RegtraceError
from regtrace.matches import Matches
from regtrace.rankfile import SCHEMA

ROWS = ("thread", "cpu")
_TIMES = ("send_ns", "sent_ns", "receive_ns", "received_ns", "time_ns", "begin_ns")


def _text(value):
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _plain(rows):
    """Returns a table as a frame, with its texts as str."""
    frame = pd.DataFrame({n: rows[n] for n in rows.dtype.names})
    for name in frame:
        if rows.dtype[name].kind == "S":
            frame[name] = [_text(v) for v in frame[name]]
    return frame


class Channels:
    """The channels.h5 of a run's folder, or another file of `regtrace emulate -output`."""

    def __init__(self, path):
        self.path = path

    @contextlib.contextmanager
    def opened(self):
        if not os.path.exists(self.path):
            folder = os.path.dirname(self.path) or "."
            raise RegtraceError(f"{self.path} is not there: `regtrace emulate {folder}` makes it")
        try:
            with h5py.File(self.path, "r") as f:
                if "channels" not in f or int(f.attrs.get("finished", 0)) != 1:
                    raise RegtraceError(f"{self.path} is not a file of `regtrace emulate`")
                if int(f.attrs["schema_version"]) > SCHEMA:
                    raise RegtraceError(
                        f"{self.path} has schema {f.attrs['schema_version']}, this package reads "
                        f"up to {SCHEMA}: use the "
                        "package of the regtrace that wrote it"
                    )
                yield f
        except (OSError, KeyError, RuntimeError) as problem:
            raise RegtraceError(
                f"{self.path} cannot be read ({problem}): `regtrace emulate` makes it anew"
            ) from problem

    def check_age(self, files):
        """Warns if the rank files have another number of events than the file was made from."""
        with self.opened() as f:
            have = {(int(r["rank"]), int(r["pid"])) for r in f["rows/thread"][:]}
            events = int(f.attrs["events"])
        now = sum(file.event_count() for file in files if (file.rank, file.pid) in have)
        if now != events:
            warnings.warn(
                f"{self.path} is of {events} events, the rank files have {now}: `regtrace emulate` "
                "makes it anew",
                IncompleteWarning,
                stacklevel=4,
            )

    def names(self, rows):
        with self.opened() as f:
            group = f["channels"][_side(rows)]
            return pd.DataFrame(
                [
                    {
                        "name": n,
                        "title": _text(d.attrs["title"]),
                        "kind": _text(d.attrs["kind"]),
                        "changes": d.shape[0],
                    }
                    for n, d in group.items()
                ],
                columns=["name", "title", "kind", "changes"],
            )

    def channel(self, name, rows):
        """Returns (a row per span of time in which one state shows, origin in ns).

        The spans of a thread or processor follow each other up to the end of the run. Times are ns
        since the file's origin. rows: "thread" or "cpu".
        """
        with self.opened() as f:
            group = f["channels"][_side(rows)]
            if name not in group:
                near = difflib.get_close_matches(name, list(group), n=3, cutoff=0.5)
                hint = f"; near it: {', '.join(near)}" if near else ""
                raise RegtraceError(
                    f"nothing in {self.path} shows {name!r} of {rows}s: run.channels() has the "
                    f"names{hint}"
                )
            changes, end = group[name][:], int(f.attrs["end_ns"])
            where = _plain(f["rows"][rows][:])
            labels = f["labels"][:]
            labels = {
                int(r["value"]): _text(r["text"])
                for r in labels[labels["channel"] == name.encode()]
            }
        order = np.lexsort((np.arange(len(changes)), changes["time"], changes["row"]))
        changes = changes[order]
        stop = np.full(len(changes), end, dtype=np.int64)
        same = changes["row"][1:] == changes["row"][:-1]
        stop[:-1][same] = changes["time"][1:][same]
        where = where.set_index("row").loc[changes["row"]].reset_index(drop=True)
        states = changes["state"]
        frame = pd.DataFrame(
            {
                "begin_ns": changes["time"],
                "end_ns": stop,
                "duration_ns": stop - changes["time"],
                "state": states,
                "label": pd.array([labels.get(int(s), pd.NA) for s in states], dtype="string"),
            }
        )
        front = ["rank", "thread"] if rows == "thread" else ["host", "number"]
        return pd.concat([where[front], frame], axis=1), self.origin()

    def origin(self):
        """Returns the file's time 0, in ns of CLOCK_MONOTONIC on rank 0's node."""
        with self.opened() as f:
            return int(f.attrs["origin_ns"])

    def has_matches(self, counts):
        """Returns whether the file is there, with the matches of these rank files as they are now.

        counts: (rank, pid) of each file -> number of its events.
        """
        if not os.path.exists(self.path):
            return False
        with self.opened() as f:
            if (
                not {"messages", "unmatched", "waits"} <= f.keys()
                or _text(f.attrs.get("messages", "")) != "all"
            ):
                return False
            have = {(int(r["rank"]), int(r["pid"])) for r in f["rows/thread"][:]}
            events = int(f.attrs["events"])
        with_events = {file for file, count in counts.items() if count}
        return with_events <= have <= counts.keys() and sum(counts.values()) == events

    def matches(self):
        """Returns a Matches, whose times are ns of CLOCK_MONOTONIC on rank 0's node."""
        with self.opened() as f:
            if not {"messages", "unmatched", "waits"} <= f.keys():
                raise RegtraceError(
                    f"{self.path} was made by another version of regtrace: `regtrace emulate` of "
                    "this one makes it anew"
                )
            threads, origin = _plain(f["rows/thread"][:]), int(f.attrs["origin_ns"])
            messages, unmatched, waits = (
                _plain(f[name][:]) for name in ("messages", "unmatched", "waits")
            )
            reasons = _text(f["unmatched"].attrs["reasons"]).split("; ")
            kinds = _text(f["waits"].attrs["kinds"]).split("; ")
            left = int(f["waits"].attrs["unmatched_collectives"])
        for frame in (messages, unmatched):
            frame["bytes"] = frame["bytes"].astype(np.int64)
        for frame in (messages, unmatched, waits):
            for column in frame.columns.intersection(_TIMES):
                frame[column] += origin
        unmatched["reason"] = pd.Categorical.from_codes(unmatched["reason"], reasons)
        waits["kind"] = pd.Categorical.from_codes(waits["kind"], kinds)
        return Matches(threads, messages, unmatched, waits, left)


def _side(rows):
    if rows not in ROWS:
        raise RegtraceError(f"rows {rows!r} are not one of {', '.join(ROWS)}")
    return rows
