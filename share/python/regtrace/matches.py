# SPDX-License-Identifier: BSD-3-Clause
"""Makes frames of the calls of ranks that belong together, as `regtrace emulate` matches them."""

import dataclasses
import warnings

import numpy as np
import pandas as pd

from regtrace import program
from regtrace.errors import IncompleteWarning
from regtrace.frames import nullable
from regtrace.places import of_paths

MESSAGES = [
    "sender",
    "receiver",
    "tag",
    "bytes",
    "send_thread",
    "send_window",
    "send_ns",
    "sent_ns",
    "receive_thread",
    "receive_window",
    "receive_ns",
    "received_ns",
]
UNMATCHED = [
    "end",
    "reason",
    "rank",
    "thread",
    "window",
    "time_ns",
    "sender",
    "receiver",
    "tag",
    "bytes",
]
WAITS = [
    "kind",
    "rank",
    "thread",
    "window",
    "function",
    "begin_ns",
    "wait_ns",
    "for_rank",
    "path",
    "for_thread",
    "for_function",
    "for_path",
]


@dataclasses.dataclass
class Matches:
    """The tables of channels.h5 about matches (share/doc/schema.md).

    Times are ns of CLOCK_MONOTONIC on rank 0's node. threads: /rows/thread. collectives_left:
    collective calls of which the calls of other ranks are not known.
    """

    threads: pd.DataFrame
    messages: pd.DataFrame
    unmatched: pd.DataFrame
    waits: pd.DataFrame
    collectives_left: int

    def _threads_of(self, rows):
        return self.threads["thread"].to_numpy()[rows]

    def warn(self, stacklevel):
        """Warns of sends and receives without a partner."""
        sends = int((self.unmatched["is_send"] != 0).sum())
        if len(self.unmatched):
            text = (
                f"{sends} sends and {len(self.unmatched) - sends} receives have no partner: see "
                "run.unmatched()"
            )
            warnings.warn(text, IncompleteWarning, stacklevel=stacklevel + 1)

    def message_frame(self):
        threads = {
            f"{side}_thread": self._threads_of(self.messages[f"{side}_row"])
            for side in ("send", "receive")
        }
        return self.messages.assign(**threads)[MESSAGES].sort_values(
            ["send_ns", "sender"], kind="stable", ignore_index=True
        )

    def unmatched_frame(self):
        frame = self.unmatched.assign(
            end=pd.Categorical.from_codes(
                self.unmatched["is_send"].astype(int), ["receive", "send"]
            ),
            rank=self.threads["rank"].to_numpy()[self.unmatched["row"]],
            thread=self._threads_of(self.unmatched["row"]),
            **{
                name: nullable(self.unmatched[name], self.unmatched[name] < 0)
                for name in ("sender", "receiver", "tag")
            },
        )
        return frame[UNMATCHED].sort_values(["time_ns", "rank"], kind="stable", ignore_index=True)

    def wait_frame(self, names, files=None, known=None):
        """Returns the waits, with the columns of of_paths() if `known` is Places.

        names: event code -> name. files: the rank files.
        """
        waits = self.waits.sort_values(["begin_ns", "rank"], kind="stable", ignore_index=True)
        frame = waits.assign(
            thread=self._threads_of(waits["row"]),
            for_thread=self._threads_of(waits["for_row"]),
            function=_named(waits["code"], names),
            for_function=_named(waits["for_code"], names),
        )[WAITS]
        if known is None:
            return frame
        # Several programs of one process, by exec, have files of one pid: the first one calls MPI.
        paths = {(f.rank, f.pid): program.paths(f, known) for f in reversed(files)}
        return pd.concat(
            [frame, self._sites(waits, paths, ""), self._sites(waits, paths, "for_")], axis=1
        )

    def _sites(self, waits, paths, prefix):
        owner, parts = self.threads.loc[waits[f"{prefix}row"], ["rank", "pid"]], []
        for (rank, pid), table in paths.items():
            here = np.flatnonzero((owner["rank"] == rank) & (owner["pid"] == pid))
            columns = of_paths(table, waits[f"{prefix}path"].to_numpy()[here], prefix)
            parts.append(pd.DataFrame(columns, index=here))
        return pd.concat(parts).reindex(waits.index)


def _named(codes, names):
    return pd.array([names.get(code, pd.NA) for code in codes.tolist()], dtype="string")
