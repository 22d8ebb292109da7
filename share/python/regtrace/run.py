# SPDX-License-Identifier: BSD-3-Clause
"""Reads a run: all rank files of a folder, on one clock, as pandas frames."""

import os
import re
import warnings

import numpy as np
import pandas as pd

from regtrace import codes, frames, profile, program, values
from regtrace.errors import IncompleteWarning, RegtraceError
from regtrace.frames import only
from regtrace.places import Places, of_paths
from regtrace.rankfile import RankFile
from regtrace.together import Together

_NAME = re.compile(r"rank-(\d+)(?:\.(\d+)\.(\d+))?\.h5")
_ORIGINS = ("run", "monotonic", "realtime")
_TIMES = (
    "time_ns",
    "start_ns",
    "stop_ns",
    "begin_ns",
    "end_ns",
    "send_ns",
    "sent_ns",
    "receive_ns",
    "received_ns",
)


def _find(path):
    """Returns the rank files that `path` names, sorted by rank, the rank's own file first."""
    path = os.fspath(path)
    if not os.path.exists(path):
        raise RegtraceError(
            f"{path}: no such file or folder; `regtrace run` prints the folder of a run at its end"
        )
    if os.path.isdir(path) or os.path.basename(path) == "regtrace.h5":
        folder = path if os.path.isdir(path) else os.path.dirname(path) or "."
        found = [m for m in map(_NAME.fullmatch, os.listdir(folder)) if m]
        found.sort(key=lambda m: tuple(int(g) if g else -1 for g in m.groups()))
        if not found:
            raise RegtraceError(
                f"{folder} holds no rank-*.h5: nothing was recorded there, or it is not a run's "
                "folder"
            )
        return [os.path.join(folder, m.group()) for m in found]
    return [path]


class Run(Together):
    """A run, which regtrace.open() opens.

    Frames begin with the columns `rank` and `process` (0: the rank's own; 1, 2, ...: its further
    processes, forked or exec'ed). Times are int64 ns since the origin that open() was given.

    Arguments select what a method reads. rank: a number or several. thread: a number or several.
    window: an ordinal, several, or a span as text, "4-9". Methods raise RegtraceError, whose text
    names the remedy, and warn with IncompleteWarning if a frame lacks something.
    """

    def __init__(self, path, origin="run", tool=None):
        if origin not in _ORIGINS:
            raise RegtraceError(f"origin {origin!r} is not one of {', '.join(_ORIGINS)}")
        self.path = os.fspath(path)
        self.origin = origin
        self.tool, self._kept = tool, None
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
        return self._shifted(
            pd.DataFrame(
                [
                    {
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
                    }
                    for f in self.files
                ]
            )
        )

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
        return only(frame, thread=thread, ordinal=window)

    def threads(self, rank=None):
        """Returns a row per thread: what it recorded, what it lost, how long it waited."""
        return self._each(rank, frames.threads)

    def fired(self, rank=None, thread=None):
        """Returns a row per fired alarm, including ignored ones."""
        return only(self._each(rank, frames.fired), thread=thread)

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

    def mpi_calls(self, rank=None, window=None, thread=None, function=None, places=False):
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

        places: adds site_function, file, line and stack (functions from main on, joined by ";") of
        the call site, as in paths(); NA if unknown.
        """
        self._warn_of_profile(3)
        parts, alone, known = [], 0, Places()
        function = None if function is None else codes.select(function, self.event_names())
        for f in self._chosen(rank):
            calls, edges = frames.mpi_calls(f, function=function, window=window, thread=thread)
            if places:
                calls = calls.assign(**of_paths(program.paths(f, known), calls["path"]))
            parts.append(self._labelled(f, calls))
            alone += len(edges)
        known.warn(2)
        if alone:
            text = (
                f"{alone} enters or leaves of MPI calls have no partner: see run.mpi_open() and "
                "run.losses()"
            )
            warnings.warn(text, IncompleteWarning, stacklevel=2)
        return _joined(parts).sort_values("begin_ns", kind="stable", ignore_index=True)

    def mpi_profile(self, rank=None, places=False):
        """Returns a row per thread, MPI function, communicator and call path of a profile.

        nested: calls within other calls. function: NA if there was no room. places: as in
        mpi_calls().
        """
        names, known = self.event_names(), Places()
        frame = self._each(rank, lambda f: profile.calls(f, names, known if places else None))
        known.warn(2)
        return frame

    def mpi_profile_times(self, rank=None):
        """Returns how many calls took less than below_ns, and half of that or more, of each row."""
        return self._each(rank, lambda f: profile.times(f, self.event_names()))

    def mpi_open(self, rank=None, window=None, thread=None, function=None):
        """Returns a row per enter or leave of an MPI function without a partner.

        A killed rank was in such a call, or losses lie within it.
        """
        function = None if function is None else codes.select(function, self.event_names())
        return self._each(
            rank, lambda f: frames.mpi_calls(f, function=function, window=window, thread=thread)[1]
        )

    def mpi_messages(self, rank=None, window=None, thread=None):
        """Returns a row per completed request or receive: source, tag and bytes as matched.

        Requests of sends and the like have NA. If `unknown` is true, the request was made outside
        the window, and these columns hold only if it was a receive.
        """
        self._warn_of_profile(3)
        return self._each(rank, lambda f: frames.mpi_messages(f, window=window, thread=thread))

    def comms(self, rank=None):
        """Returns a row per communicator: id, the rank in it, size, id of its parent."""
        return self._each(
            rank,
            lambda f: pd.DataFrame(f.table("comms")[["id", "rank", "size", "parent"]]).rename(
                columns={"rank": "comm_rank"}
            ),
        )

    def regions(self, rank=None, window=None, thread=None):
        """Returns a row per named region (regtrace_region_begin, or a preset of MPI_Pcontrol).

        path: where it was begun, a number of paths(); 0 unknown: before the window, for example.
        """
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
        recorded function. call_site: the return address of the call. path: with REGTRACE_CALLPATH
        above 1 where it was called, a number of paths(); else 0.
        """
        parts, alone, known = [], 0, Places()
        for f in self._chosen(rank):
            frame, n = program.functions(f, known, window=window, thread=thread)
            parts.append(self._labelled(f, frame))
            alone += n
        if alone:
            text = f"{alone} enters or leaves of functions have no partner and are left out"
            warnings.warn(text, IncompleteWarning, stacklevel=2)
        known.warn(2)
        return _joined(parts).sort_values("begin_ns", kind="stable", ignore_index=True)

    def paths(self, rank=None):
        """Returns a row per call path: the places that calls were made from.

        path: its number in the file of its rank, as mpi_calls() has it. parent: the path that it
        was called from, 0: none. function, line: of the call, from the images on this machine as
        they are now; NA if unknown; "[cut]": callers that are not known. line needs addr2line(1) of
        binutils, and debug information. image, offset: its return address.
        """
        known = Places()
        frame = self._each(rank, lambda f: program.paths(f, known))
        known.warn(2)
        return frame

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

    def samples(self, rank=None, window=None, thread=None, places=False):
        """Returns a row per sample (REGTRACE_SAMPLE).

        path: where the sampled function was called, a number of paths(); 0 unknown
        (REGTRACE_CALLPATH). callers: return addresses, the innermost first. link: the return
        address if the sampled function has made no frame. periods: how many periods the sample
        stands for.

        places: adds function, file and line of the sample, NA if unknown, and stack: functions from
        main, or the outermost caller that is known, to the sampled one, joined by ";".
        """
        known = Places() if places else None
        frame = self._each(rank, lambda f: program.samples(f, known, window=window, thread=thread))
        if places:
            known.warn(2)
        return frame

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
        return self._shifted(frame if rank is None else only(frame, rank=rank))

    # --- joining the files ------------------------------------------------------------------------

    def _chosen(self, rank):
        chosen = [f for f in self.files if rank is None or f.rank in np.atleast_1d(rank)]
        if not chosen:
            have = sorted({f.rank for f in self.files})
            raise RegtraceError(
                f"no file of rank {rank}: there are ranks {have[0]} to {have[-1]}, see run.ranks"
            )
        return chosen

    def _shifted(self, frame):
        for column in _TIMES:
            if column in frame:
                frame[column] = frame[column] + self._shift
        return frame

    def _labelled(self, file, frame):
        frame.insert(0, "rank", np.full(len(frame), file.rank, dtype=np.int32))
        frame.insert(1, "process", np.full(len(frame), file.process, dtype=np.int32))
        return self._shifted(frame)

    def _warn_of_profile(self, stacklevel):
        """Warns if the run is a profile without windows: it has no events to make frames of."""
        if all(f.is_profile and not len(f.table("windows")) for f in self.files):
            text = (
                "a profile has no events, so calls, messages and waits are not known one by one: "
                "run.mpi_profile() has the sums of "
                "MPI calls; record windows beside the profile with -control"
            )
            warnings.warn(text, IncompleteWarning, stacklevel=stacklevel)

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
