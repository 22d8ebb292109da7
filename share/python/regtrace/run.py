# SPDX-License-Identifier: BSD-3-Clause
"""A run: all rank files of a folder, on one clock, as pandas frames."""

import os
import re
import warnings

import numpy as np
import pandas as pd

from regtrace import analysis, codes, comms, frames, matching, program, values
from regtrace.channels import Channels
from regtrace.errors import IncompleteWarning, RegtraceError
from regtrace.rankfile import RankFile

_NAME = re.compile(r"rank-(\d+)(?:\.(\d+)\.(\d+))?\.h5")
_ORIGINS = ("run", "monotonic", "realtime")


def _find(path):
    """The rank files that `path` means, sorted by rank, the rank's own file first."""
    path = os.fspath(path)
    if not os.path.exists(path):
        raise RegtraceError(f"{path}: no such file or folder; `regtrace run` prints the folder of a run at its end")
    if os.path.isdir(path) or os.path.basename(path) == "regtrace.h5":
        folder = path if os.path.isdir(path) else os.path.dirname(path) or "."
        found = [m for m in map(_NAME.fullmatch, os.listdir(folder)) if m]
        found.sort(key=lambda m: tuple(int(g) if g else -1 for g in m.groups()))
        if not found:
            raise RegtraceError(f"{folder} holds no rank-*.h5: nothing was recorded there, or it is not a run's folder")
        return [os.path.join(folder, m.group()) for m in found]
    return [path]


class Run:
    """See regtrace.open(). Frames have the columns `rank` and `process` (0: the rank's own, 1, 2, ...: its further
    processes, forked or exec'ed) in front; every method takes rank= to read some ranks only (a number or several), and those
    of what happens in windows take window=: an ordinal, several, or a span as text, "4-9"."""

    def __init__(self, path, origin="run"):
        if origin not in _ORIGINS:
            raise RegtraceError(f"origin {origin!r} is not one of {', '.join(_ORIGINS)}")
        self.path = os.fspath(path)
        self.origin = origin
        self.refresh()

    def __repr__(self):
        return f"<regtrace run {self.path!r}: {len(self.files)} processes>"

    def refresh(self):
        """Look again: files that came, states that changed, better calibration of a run that goes on."""
        self.files, seen = [], {}
        for path in _find(self.path):
            file = RankFile(path, 0)
            file.process = seen.get(file.rank, 0)
            seen[file.rank] = file.process + 1
            self.files.append(file)
        first = min(self.files, key=lambda f: f.first_ns)
        self.origin_ns = first.first_ns  # start of the run on CLOCK_MONOTONIC of rank 0's node
        epoch = first.clock.realtime_minus_monotonic
        self.origin_realtime_ns = None if epoch is None else self.origin_ns + epoch
        if self.origin == "realtime" and epoch is None:
            raise RegtraceError(f"{self.path} has no calibration: use origin='run'")
        self._shift = {"run": -self.origin_ns, "monotonic": 0, "realtime": epoch}[self.origin]
        return self

    # --- what there is -------------------------------------------------------------------------------

    @property
    def ranks(self):
        """One row per traced process."""
        return self._shifted(pd.DataFrame([{
            "rank": f.rank,
            "process": f.process,
            "file": f.name,
            "size": f.size,
            "world": int(f.attributes.get("world", 0)),
            "confirmed": bool(f.attributes.get("confirmed", 0)),
            "host": f.attributes.get("host", ""),
            "pid": f.pid,
            "program": f.attributes.get("program", ""),
            "state": f.state,
            "end_reason": f.attributes.get("end_reason", ""),
            "start_ns": f.first_ns,
            "events": f.event_count(),
            "clock_offset_ns": int(f.attributes.get("clock_offset_ns", 0)),
            "clock_error_ns": int(f.attributes.get("clock_error_ns", 0)),
        } for f in self.files]))  # fmt: skip

    @property
    def missing(self):
        """Ranks of the world without a file."""
        size = max(f.size for f in self.files)
        return sorted(set(range(size)) - {f.rank for f in self.files})

    def attributes(self, rank=0, process=0):
        """Everything that was written down about a process: program, arguments, chains ("chain.0"), options ..."""
        for f in self._chosen(rank):
            if f.process == process:
                return dict(f.attributes)
        raise RegtraceError(f"rank {rank} has no process {process}: see run.ranks")

    def event_names(self):
        """Names by event code, over all files: all kinds of events, and the MPI functions that were called."""
        names = {}
        for f in self.files:
            if f.attributes.get("state") == "open":
                f.reload()
            names.update(f.names)
        return names

    # --- frames ------------------------------------------------------------------------------------------

    def windows(self, rank=None, thread=None, window=None):
        """One row per thread and window. stop_ns is NA while it is open; icounts are NA where unknown."""
        frame = self._each(rank, frames.windows)
        return _only(frame, thread=thread, ordinal=window)

    def threads(self, rank=None):
        """One row per thread, with what it recorded, lost and waited."""
        return self._each(rank, frames.threads)

    def fired(self, rank=None, thread=None):
        """One row per fired alarm, ignored ones included."""
        return _only(self._each(rank, frames.fired), thread=thread)

    def losses(self, rank=None):
        """What is not in the files, and why. Empty is what you want."""
        return self._each(rank, frames.losses)

    def events(self, rank=None, window=None, thread=None, code=None):
        """The raw records in the order of their clocks. code: a number, a name ("MPI_Send" is its enter and its leave),
        a pattern ("MPI_*"), or a list. Large runs: iter_events()."""
        parts = list(self.iter_events(rank, window, thread, code, level=4))
        if not parts:
            f = self.files[0]
            return self._labelled(f, frames.events(f, f.no_rows("events")))
        return _joined(parts).sort_values("time_ns", kind="stable", ignore_index=True)

    def iter_events(self, rank=None, window=None, thread=None, code=None, *, level=3):
        """The same as frames of at most half a million rows, rank by rank, in the order of the files: rows of a thread
        are in the order of their clocks, threads interleave."""
        chosen = None if code is None else codes.select(code, self.event_names(), level)
        for f in self._chosen(rank):
            for block in frames.raw_blocks(f, window=window, thread=thread, code=chosen):
                yield self._labelled(f, frames.events(f, block))

    def mpi_calls(self, rank=None, window=None, thread=None, function=None):
        """One row per MPI call: enter and leave of a thread paired.

        bytes: what the call puts in, or offers room for (mpi-functions.md says which; none for PROC_NULL); peer and tag: NA where the call has
        none, and regtrace.ANY_SOURCE, PROC_NULL, ROOT; comm: 1 world, 2 self, others as run.comms(), 0 none; request: opaque,
        0 none. depth > 0 and `nested`: made inside another call. cut_begin, cut_end: the call's real
        begin or end lies outside the window, so that times are those of the window's edge.
        Edges without a partner (the rank was killed in the call, or records were dropped) are in mpi_open().
        """
        parts, alone = [], 0
        function = None if function is None else codes.select(function, self.event_names())
        for f in self._chosen(rank):
            calls, edges = frames.mpi_calls(f, function=function, window=window, thread=thread)
            parts.append(self._labelled(f, calls))
            alone += len(edges)
        if alone:
            text = f"{alone} enters or leaves of MPI calls have no partner: see run.mpi_open() and run.losses()"
            warnings.warn(text, IncompleteWarning, stacklevel=2)
        return _joined(parts).sort_values("begin_ns", kind="stable", ignore_index=True)

    def mpi_open(self, rank=None, window=None, thread=None, function=None):
        """Enters and leaves without a partner: calls that a killed rank was in, calls cut apart by losses."""
        function = None if function is None else codes.select(function, self.event_names())
        return self._each(rank, lambda f: frames.mpi_calls(f, function=function, window=window, thread=thread)[1])

    def mpi_messages(self, rank=None, window=None, thread=None):
        """One row per completed request or receive: source and tag as matched, bytes received."""
        return self._each(rank, lambda f: frames.mpi_messages(f, window=window, thread=thread))

    def comms(self, rank=None):
        """Communicators as they became known: id, the rank in it, its size, the id of its parent."""
        return self._each(rank, lambda f: pd.DataFrame(f.table("comms")[["id", "rank", "size", "parent"]])
                          .rename(columns={"rank": "comm_rank"}))  # fmt: skip

    def regions(self, rank=None, window=None, thread=None):
        """One row per named region (regtrace_region_begin and _end, or a preset of MPI_Pcontrol)."""
        parts, alone = [], 0
        for f in self._chosen(rank):
            frame, n = frames.regions(f, window=window, thread=thread)
            parts.append(self._labelled(f, frame))
            alone += n
        if alone:
            text = f"{alone} region edges have no partner and are left out"
            warnings.warn(text, IncompleteWarning, stacklevel=2)
        return _joined(parts).sort_values("begin_ns", kind="stable", ignore_index=True)

    def functions(self, rank=None, window=None, thread=None):
        """One row per call of a function of the program (REGTRACE_FUNCTIONS): enter and leave of a thread paired.

        function: its name, from the images as they are on this machine now; NA where nobody knows. image and offset: where it
        stands in its file, as `addr2line -e image offset` takes it. depth: 0 is the outermost recorded function.
        """
        parts, alone, known, changed = [], 0, {}, set()
        for f in self._chosen(rank):
            frame, n, other = program.functions(f, known, window=window, thread=thread)
            parts.append(self._labelled(f, frame))
            alone += n
            changed |= other
        if alone:
            text = f"{alone} enters or leaves of functions have no partner and are left out"
            warnings.warn(text, IncompleteWarning, stacklevel=2)
        if changed:
            text = f"no names of functions in {', '.join(sorted(changed))}: changed since the run"
            warnings.warn(text, IncompleteWarning, stacklevel=2)
        return _joined(parts).sort_values("begin_ns", kind="stable", ignore_index=True)

    def marks(self, rank=None, window=None, thread=None):
        """One row per push, pop or set of a mark."""
        return self._each(rank, lambda f: frames.marks(f, window=window, thread=thread))

    def counters(self, rank=None, window=None, thread=None):
        """One row per event of REGTRACE_EVENTS and window of a thread. running: the share of the time in which the kernel let
        it count, 1.0 where nothing else wanted the counter. Rates are of that window: per_second, per_cycle (of instructions:
        instructions per cycle), and per_1000_instructions of events that count misses; NaN where what they need was not counted."""
        return self._each(rank, lambda f: program.counters(f, window=window, thread=thread))

    def samples(self, rank=None, window=None, thread=None):
        """One row per sample (REGTRACE_SAMPLE). callers: return addresses, the innermost first; link: what is the
        return address of a function that has made no frame."""
        return self._each(rank, lambda f: program.samples(f, window=window, thread=thread))

    def value_instructions(self, rank=None):
        """One row per instruction that values were captured of (REGTRACE_VALUES). Files have them when they are closed."""
        return self._each(rank, values.instructions)

    def value_hot(self, rank=None):
        """The most frequent values of each instruction (number, as value_instructions() has it in the same process)."""
        return self._each(rank, values.hot)

    # --- channels -------------------------------------------------------------------------------------------

    def channels(self, rows="thread"):
        """Names of the channels that `regtrace emulate` has put into channels.h5, with titles, kinds and numbers of changes."""
        return self._channels().names(rows)

    def channel(self, name, rows="thread", rank=None):
        """What threads (rows="cpu": processors) show, one row per stretch of time: state, and its label where it has one.
        `regtrace emulate` on the run's folder makes the file first."""
        file = self._channels()
        file.check_age(self.files)
        frame, origin = file.channel(name, rows)
        for column in ("begin_ns", "end_ns"):
            frame[column] += origin
        return self._shifted(frame if rank is None else _only(frame, rank=rank))

    # --- all ranks together ----------------------------------------------------------------------------------

    def messages(self):
        """One row per message from rank to rank: its call of sending begins (send_ns) and ends (sent_ns), its receive is posted
        (receive_ns) and complete (received_ns); likely: in windows, not sure. Those that `regtrace emulate` has matched, where its file has them; else those
        of MPI_COMM_WORLD that can be matched with certainty: all sends and receives of a sender, receiver and tag were recorded."""
        return self._messages(3)

    def mpi_matrix(self, what="bytes"):
        """Bytes (what="messages": messages) from rank (row) to rank (column). attrs["source"]: "messages" that `regtrace emulate` has
        matched; "sends" as they were recorded, on MPI_COMM_WORLD alone; "messages and sends": what it has matched, and of the rest the sends."""
        frame = self._matched()
        if frame is not None:
            frame = self._shifted_messages(frame)
        size = max(max(f.size, f.rank + 1) for f in self.files)
        return analysis.matrix(frame, self._outermost(), size, what)

    def imbalance(self, by="window", window=None):
        """How uneven ranks are: mean, min, max and who, and max / mean. by="window" and "run": time outside MPI of the threads
        that call MPI; by="function": time in each MPI function, ranks that did not call it included."""
        return analysis.imbalance(self.windows(window=window), self._outermost(window), by)

    def window_statistics(self, window=None):
        """One row per window (by ordinal) and quantity (duration_ns, mpi_share, calls, bytes, instructions): mean, min and max over ranks,
        and who. Of the threads that call MPI."""
        return analysis.window_statistics(self.windows(window=window), self._outermost(window))

    def waits(self):
        """One row per wait of a rank for another (for_rank). kind: "late sender", in a receive or wait before the message was sent;
        "late receiver", in MPI_Ssend before the receive was posted; "collective", in a collective call before
        the last rank of its communicator entered it. wait_ns begins with the call (begin_ns). Small ones are clock and call, not waiting: see run.ranks'
        clock_error_ns, and compare with the time of a call in which nobody waits."""
        calls, messages = self._outermost(), self._messages(3)
        likely = int(messages["likely"].sum())
        if likely:
            text = f"{likely} messages are left out: in windows, not sure which send and which receive belong together"
            warnings.warn(text, IncompleteWarning, stacklevel=2)
        messages = messages[~messages["likely"]]
        matched, left = matching.collectives(calls, comms.known(self.files), self._tolerance())
        if left:
            text = f"{left} collective calls are left out: not all ranks recorded the same ones, or their communicator is not known"
            warnings.warn(text, IncompleteWarning, stacklevel=2)
        parts = [analysis.late_senders(calls, messages), analysis.late_receivers(calls, messages), analysis.collective_waits(matched)]
        parts = [p for p in parts if len(p)] or parts[:1]
        return pd.concat(parts, ignore_index=True).sort_values(["begin_ns", "rank"], kind="stable", ignore_index=True)

    def _outermost(self, window=None):
        return matching.outermost(self.mpi_calls(window=window))

    def _tolerance(self):
        """Between clocks of two nodes."""
        return 2 * max(int(f.attributes.get("clock_error_ns", 0)) for f in self.files)

    def _channels(self):
        first = self.files[0].path
        return Channels(os.path.join(os.path.dirname(first), "channels.h5"))

    def _matched(self):
        file = self._channels()
        if not os.path.exists(file.path):
            return None
        frame, self._messages_origin = file.messages()
        if frame is not None:
            file.check_age(self.files)
        return frame

    def _messages(self, level):
        """See messages(). level: of the frame that warnings are of."""
        frame, by_emulator = self._matched(), os.path.exists(self._channels().path)
        if frame is not None and (len(frame) or frame.attrs["unmatched"] == (0, 0)):
            if any(frame.attrs["unmatched"]):
                text = "{} sends and {} receives have no partner that the emulator is sure of".format(*frame.attrs["unmatched"])
                warnings.warn(text, IncompleteWarning, stacklevel=level)
            return self._shifted_messages(frame)
        frame, left, others, starts = matching.messages(self._outermost(), self.mpi_messages(), self._tolerance())
        frame["likely"] = False
        if left:
            text = f"{left} sends and receives are left out: their partners were not recorded, or do not fit"
            warnings.warn(text, IncompleteWarning, stacklevel=level)
        if others or starts:
            folder = os.path.dirname(self.files[0].path) or "."
            remedy = "the emulator was not sure of them either" if by_emulator else f"`regtrace emulate {folder}` first, which matches more"
            text = (f"{others} sends and receives that are on other communicators than MPI_COMM_WORLD or of other kinds, and {starts} starts of "
                    f"persistent ones, are left out: {remedy}")  # fmt: skip
            warnings.warn(text, IncompleteWarning, stacklevel=level)
        return frame

    def _shifted_messages(self, frame):
        for column in ("send_ns", "sent_ns", "receive_ns", "received_ns"):
            frame[column] += self._messages_origin + self._shift
        return frame

    # --- putting together --------------------------------------------------------------------------------

    def _chosen(self, rank):
        chosen = [f for f in self.files if rank is None or f.rank in np.atleast_1d(rank)]
        if not chosen:
            have = sorted({f.rank for f in self.files})
            raise RegtraceError(f"no file of rank {rank}: there are ranks {have[0]} to {have[-1]}, see run.ranks")
        return chosen

    def _shifted(self, frame):
        for column in ("time_ns", "start_ns", "stop_ns", "begin_ns", "end_ns"):
            if column in frame:
                frame[column] = frame[column] + self._shift
        return frame

    def _labelled(self, file, frame):
        frame.insert(0, "rank", np.full(len(frame), file.rank, dtype=np.int32))
        frame.insert(1, "process", np.full(len(frame), file.process, dtype=np.int32))
        return self._shifted(frame)

    def _each(self, rank, make):
        return _joined([self._labelled(f, make(f)) for f in self._chosen(rank)])


def _joined(parts):
    """One frame of several; categories that differ between ranks are united."""
    parts = [p for p in parts if len(p)] or parts[:1]
    for column in parts[0].columns:
        if isinstance(parts[0][column].dtype, pd.CategoricalDtype):
            united = pd.api.types.union_categoricals([p[column] for p in parts])
            for p in parts:
                p[column] = pd.Categorical(p[column], categories=united.categories)
    return pd.concat(parts, ignore_index=True)


def _only(frame, **choices):
    for column, choice in choices.items():
        if choice is not None:
            frame = frame[frames.wanted(frame[column].to_numpy(), choice)]
    return frame.reset_index(drop=True)
