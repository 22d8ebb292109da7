# SPDX-License-Identifier: BSD-3-Clause
"""Reads a run: all rank files of a folder, on one clock, as pandas frames."""

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
    """Returns the rank files that `path` names, sorted by rank, the rank's own file first."""
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
    """A run, which regtrace.open() opens.

    Frames begin with the columns `rank` and `process` (0: the rank's own; 1, 2, ...: its further
    processes, forked or exec'ed). Times are int64 ns since the origin that open() was given.

    Arguments select what a method reads. rank: a number or several. thread: a number or several.
    window: an ordinal, several, or a span as text, "4-9". Methods raise RegtraceError, whose text
    names the remedy, and warn with IncompleteWarning if a frame lacks something.
    """

    def __init__(self, path, origin="run"):
        if origin not in _ORIGINS:
            raise RegtraceError(f"origin {origin!r} is not one of {', '.join(_ORIGINS)}")
        self.path = os.fspath(path)
        self.origin = origin
        self.refresh()

    def __repr__(self):
        return f"<regtrace run {self.path!r}: {len(self.files)} processes>"

    def refresh(self):
        """Reads the folder again. Returns self.

        Finds new files, changed states, and better calibration of a run that goes on.
        """
        self.files, seen = [], {}
        for path in _find(self.path):
            file = RankFile(path, 0)
            file.process = seen.get(file.rank, 0)
            seen[file.rank] = file.process + 1
            self.files.append(file)
        first = min(self.files, key=lambda f: f.first_ns)
        self.origin_ns = first.first_ns  # start of the run, CLOCK_MONOTONIC on rank 0's node
        epoch = first.clock.realtime_minus_monotonic
        self.origin_realtime_ns = None if epoch is None else self.origin_ns + epoch
        if self.origin == "realtime" and epoch is None:
            raise RegtraceError(f"{self.path} has no calibration: use origin='run'")
        self._shift = {"run": -self.origin_ns, "monotonic": 0, "realtime": epoch}[self.origin]
        return self

    # --- the run itself ---------------------------------------------------------------------------

    @property
    def ranks(self):
        """Returns a row per traced process."""
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
        """Returns the sorted ranks of the world that have no file."""
        size = max(f.size for f in self.files)
        return sorted(set(range(size)) - {f.rank for f in self.files})

    def attributes(self, rank=0, process=0):
        """Returns the attributes of a process's file, by name.

        They are program, arguments, chains ("chain.0"), options and so on (share/doc/schema.md).
        """
        for f in self._chosen(rank):
            if f.process == process:
                return dict(f.attributes)
        raise RegtraceError(f"rank {rank} has no process {process}: see run.ranks")

    def event_names(self):
        """Returns the names by event code, of all files.

        They are those of all kinds of events, and of the MPI functions that were called.
        """
        names = {}
        for f in self.files:
            if f.attributes.get("state") == "open":
                f.reload()
            names.update(f.names)
        return names

    # --- frames -----------------------------------------------------------------------------------

    def windows(self, rank=None, thread=None, window=None):
        """Returns a row per thread and window.

        stop_ns is NA while the window is open; instruction counts are NA if unknown.
        """
        frame = self._each(rank, frames.windows)
        return _only(frame, thread=thread, ordinal=window)

    def threads(self, rank=None):
        """Returns a row per thread: what it recorded, what it lost, how long it waited."""
        return self._each(rank, frames.threads)

    def fired(self, rank=None, thread=None):
        """Returns a row per fired alarm, including ignored ones."""
        return _only(self._each(rank, frames.fired), thread=thread)

    def losses(self, rank=None):
        """Returns a row per loss: what the files lack, and why. No rows: they lack nothing."""
        return self._each(rank, frames.losses)

    def events(self, rank=None, window=None, thread=None, code=None):
        """Returns the raw records, ordered by time.

        code: a number, a name ("MPI_Send" selects its enter and its leave), a pattern ("MPI_*"), or
        a list of those. For large runs use iter_events().
        """
        parts = list(self.iter_events(rank, window, thread, code, level=4))
        if not parts:
            f = self.files[0]
            return self._labelled(f, frames.events(f, f.no_rows("events")))
        return _joined(parts).sort_values("time_ns", kind="stable", ignore_index=True)

    def iter_events(self, rank=None, window=None, thread=None, code=None, *, level=3):
        """Yields the raw records as frames of at most half a million rows, rank by rank.

        Rows are in the order of the files: those of a thread are ordered by time, threads
        interleave. level: stacklevel of warnings.
        """
        chosen = None if code is None else codes.select(code, self.event_names(), level)
        for f in self._chosen(rank):
            for block in frames.raw_blocks(f, window=window, thread=thread, code=chosen):
                yield self._labelled(f, frames.events(f, block))

    def mpi_calls(self, rank=None, window=None, thread=None, function=None):
        """Returns a row per MPI call, made of its enter and its leave, ordered by begin.

        - bytes: what the call puts in, or offers room for (mpi-functions.md says which); 0 for
          PROC_NULL
        - peer, tag: NA if the call has none; may be regtrace.ANY_SOURCE, ANY_TAG, PROC_NULL, ROOT
        - comm: 1 world, 2 self, 0 none, others as in comms()
        - request: opaque, 0 none
        - path: where the call was made, a number of paths(); 0 unknown
        - depth > 0, nested: the call was made inside another call
        - cut_begin, cut_end: the call's real begin or end lies outside the window, and the time is
          that of the window's edge

        function: a name, a pattern or a list, as code of events(). mpi_open() has the edges without
        a partner: the rank was killed in the call, or records were dropped.
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
        """Returns a row per enter or leave of an MPI function without a partner.

        A killed rank was in such a call, or losses lie within it.
        """
        function = None if function is None else codes.select(function, self.event_names())
        return self._each(rank, lambda f: frames.mpi_calls(f, function=function, window=window, thread=thread)[1])

    def mpi_messages(self, rank=None, window=None, thread=None):
        """Returns a row per completed request or receive: source, tag and bytes as matched.

        Requests of sends and the like have NA. If `unknown` is true, the request was made outside
        the window, and these columns hold only if it was a receive.
        """
        return self._each(rank, lambda f: frames.mpi_messages(f, window=window, thread=thread))

    def comms(self, rank=None):
        """Returns a row per communicator: id, the rank in it, size, id of its parent."""
        return self._each(rank, lambda f: pd.DataFrame(f.table("comms")[["id", "rank", "size", "parent"]])
                          .rename(columns={"rank": "comm_rank"}))  # fmt: skip

    def regions(self, rank=None, window=None, thread=None):
        """Returns a row per named region (regtrace_region_begin, or a preset of MPI_Pcontrol)."""
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
        """Returns a row per call of a function of the program (REGTRACE_FUNCTIONS).

        function: its name, from the images on this machine as they are now; NA if unknown. image,
        offset: its place, as `addr2line -e image offset` takes it. depth: 0 is the outermost
        recorded function.
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

    def paths(self, rank=None):
        """Returns a row per call path: the places that MPI calls were made from.

        path: its number in the file of its rank, as mpi_calls() has it. parent: the path that it
        was called from, 0 if unknown. function, line: of the call, from the images on this machine
        as they are now; NA if unknown. line needs addr2line(1) of binutils, and debug information.
        image, offset: its return address.
        """
        parts, known, changed = [], {}, set()
        for f in self._chosen(rank):
            frame, other = program.paths(f, known)
            parts.append(self._labelled(f, frame))
            changed |= other
        if changed:
            text = f"no names of functions in {', '.join(sorted(changed))}: changed since the run"
            warnings.warn(text, IncompleteWarning, stacklevel=2)
        return _joined(parts)

    def marks(self, rank=None, window=None, thread=None):
        """Returns a row per push, pop or set of a mark."""
        return self._each(rank, lambda f: frames.marks(f, window=window, thread=thread))

    def counters(self, rank=None, window=None, thread=None):
        """Returns a row per event of REGTRACE_EVENTS and window of a thread.

        running: the share of the time in which the kernel let the event count; 1.0 if nothing else
        wanted the counter. Rates are those of the window: per_second, per_cycle (for instructions:
        instructions per cycle), and per_1000_instructions for events that count misses. A rate is
        NaN if the run did not count what it needs.
        """
        return self._each(rank, lambda f: program.counters(f, window=window, thread=thread))

    def samples(self, rank=None, window=None, thread=None):
        """Returns a row per sample (REGTRACE_SAMPLE).

        path: where the sampled function was called, a number of paths(); 0 unknown
        (REGTRACE_CALLPATH). callers: return addresses, the innermost first. link: the return address if the sampled
        function has made no frame. periods: how many periods the sample stands for.
        """
        return self._each(rank, lambda f: program.samples(f, window=window, thread=thread))

    def value_instructions(self, rank=None):
        """Returns a row per instruction of which values were captured (REGTRACE_VALUES).

        A file has them when it is closed.
        """
        return self._each(rank, values.instructions)

    def value_hot(self, rank=None):
        """Returns a row per frequent value of an instruction.

        number: that of the instruction in value_instructions() of the same process.
        """
        return self._each(rank, values.hot)

    # --- channels ---------------------------------------------------------------------------------

    def channels(self, rows="thread"):
        """Returns a row per channel in channels.h5: name, title, kind, number of changes."""
        return self._channels().names(rows)

    def channel(self, name, rows="thread", rank=None):
        """Returns a row per span of time in which a thread or processor shows one state.

        name: of channels(). rows: "thread" or "cpu" (processors). label: the state's, NA if it has
        none. `regtrace emulate` on the run's folder makes the file first.
        """
        file = self._channels()
        file.check_age(self.files)
        frame, origin = file.channel(name, rows)
        for column in ("begin_ns", "end_ns"):
            frame[column] += origin
        return self._shifted(frame if rank is None else _only(frame, rank=rank))

    # --- all ranks together -----------------------------------------------------------------------

    def messages(self):
        """Returns a row per message from rank to rank.

        - send_ns, sent_ns: the sending call begins and ends
        - receive_ns, received_ns: the receive is posted and complete
        - likely: matched within windows, so not sure

        The messages are those that `regtrace emulate` matched, if its file has them. Otherwise they
        are those of MPI_COMM_WORLD of whose sender, receiver and tag as many sends as receives were
        recorded: certain where both ranks were recorded from MPI_Init on, otherwise likely.
        """
        return self._messages(3)

    def mpi_matrix(self, what="bytes"):
        """Returns a square frame of bytes from rank (row) to rank (column).

        what: "bytes", or "messages" for numbers of messages. attrs["source"]:

        - "messages": those that `regtrace emulate` matched
        - "sends": sends as recorded, on MPI_COMM_WORLD alone
        - "messages and sends": matched messages, and sends of the rest
        """
        frame = self._matched()
        if frame is not None:
            frame = self._shifted_messages(frame)
        size = max(max(f.size, f.rank + 1) for f in self.files)
        return analysis.matrix(frame, self._outermost(), size, what)

    def imbalance(self, by="window", window=None):
        """Returns how uneven ranks are: mean, min and max in ns, the ranks of both, and max / mean.

        by="window" or "run": time outside MPI of the threads that call MPI. by="function": time in
        each MPI function, including ranks that did not call it.
        """
        return analysis.imbalance(self.windows(window=window), self._outermost(window), by)

    def window_statistics(self, window=None):
        """Returns a row per window (ordinal) and quantity: mean, min and max over ranks, and who.

        The quantities are duration_ns, mpi_share, calls, bytes and instructions of the threads that
        call MPI.
        """
        return analysis.window_statistics(self.windows(window=window), self._outermost(window))

    def waits(self):
        """Returns a row per wait of a rank for another (for_rank), ordered by begin. kind:

        - "late sender": in a receive or wait, before the message was sent
        - "late receiver": in MPI_Ssend, before the receive was posted
        - "collective": in a collective call, before the last rank of its communicator entered it

        The wait begins with the call (begin_ns). A small wait_ns is error of the clocks and time of
        the call itself: see clock_error_ns of `ranks`, and compare with a call without waiting.
        """
        calls, messages = self._outermost(), self._messages(3)
        likely = int(messages["likely"].sum())
        if likely:
            text = f"{likely} messages are left out: in windows, not sure which send and which receive belong together (`regtrace emulate` matches them)"
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
        """Returns how far the clocks of two nodes may differ, in ns."""
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
        """Returns the frame of messages(). level: stacklevel of warnings."""
        frame, by_emulator = self._matched(), os.path.exists(self._channels().path)
        if frame is not None and (len(frame) or frame.attrs["unmatched"] == (0, 0)):
            if any(frame.attrs["unmatched"]):
                text = "{} sends and {} receives have no partner that the emulator is sure of".format(*frame.attrs["unmatched"])
                warnings.warn(text, IncompleteWarning, stacklevel=level)
            return self._shifted_messages(frame)
        calls = self._outermost()
        frame, left, others, starts = matching.messages(calls, self.mpi_messages(), self._tolerance())
        # Outside windows, other messages of the same sender, receiver and tag come and go.
        whole = matching.whole_ranks(calls)
        frame["likely"] = ~(frame["sender"].isin(whole) & frame["receiver"].isin(whole))
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

    # --- joining the files ------------------------------------------------------------------------

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
    """Joins frames into one; unites categories that differ between ranks."""
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
