# SPDX-License-Identifier: BSD-3-Clause
"""Reads a rank file in any of its states: its tables, and its events in blocks."""

import contextlib
import os
import socket
import time

import h5py
import numpy as np

from regtrace.clock import Clock
from regtrace.errors import RegtraceError

SCHEMA = 1
BLOCK = 64 * 8192  # rows read at once: 64 HDF5 chunks, 20 MiB
NO_ROW = np.uint64(2**64 - 1)
# Tables whose rows each belong to a row of /events, and the column that names that row.
ROW_COLUMNS = {"fired": "row", "windows": "open_row", "maps": "row", "comms": "row"}
# The end of a window whose closing event is not in the file yet.
OPEN_WINDOW = {
    "close_row": NO_ROW,
    "stop_clock": 0,
    "stop_late": 0,
    "stop_icount": -1,
    "stop_requested": -1,
    "stop_alarm": -1,
    "reason": 255,
    "truncated": 0,
}
PATIENCE = 2.0  # s; a file is unreadable for a moment while it is created or closed


def _open_once(path):
    try:
        return h5py.File(path, "r")
    except OSError as plain:
        # A file whose writer lives, or was killed, opens only by SWMR.
        try:
            return h5py.File(path, "r", libver="latest", swmr=True)
        except (OSError, ValueError):
            raise plain from None


def _why(path, problem):
    try:
        size = os.stat(path).st_size
    except OSError as gone:
        return f"{path}: {gone.strerror}"
    if size == 0:
        return (
            f"{path} is empty: its writer had no time to begin it; `regtrace recover` on the "
            "folder may help"
        )
    if not h5py.is_hdf5(path):
        return (
            f"{path} is not an HDF5 file: give the folder of a run, its regtrace.h5 or a rank-*.h5"
        )
    return (
        f"{path} cannot be read ({problem}): cut or damaged; try `regtrace recover` on its folder"
    )


def _text(value):
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    return str(value).rstrip("\0")


class RankFile:
    """The file of one traced process.

    Each call of table() reads the table anew; the file does not stay open between calls. Methods
    raise RegtraceError, whose text names the remedy.
    """

    def __init__(self, path, process):
        self.path = path
        self.name = os.path.basename(path)
        self.process = process  # 0: the rank's own process; 1, 2, ...: its further ones
        self.reload()

    @contextlib.contextmanager
    def opened(self):
        """Yields the h5py file, which closes at the end of the with block."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                f = _open_once(self.path)
                break
            except OSError as problem:
                if isinstance(problem, PermissionError):
                    raise RegtraceError(f"{self.path}: no permission to read it") from problem
                if (
                    time.monotonic() > until
                    or not os.path.exists(self.path)
                    or not h5py.is_hdf5(self.path)
                ):
                    raise RegtraceError(_why(self.path, problem)) from problem
                time.sleep(0.05)
        try:
            yield f
        except (OSError, KeyError, RuntimeError) as problem:
            raise RegtraceError(_why(self.path, problem)) from problem
        finally:
            f.close()

    def reload(self):
        """Reads the attributes, the clock and the names of the process."""
        with self.opened() as f:
            self.attributes = {
                k: _text(v) if isinstance(v, (bytes, str)) else v for k, v in f.attrs.items()
            }
            if "schema_version" not in self.attributes or "events" not in f:
                raise RegtraceError(f"{self.path} is an HDF5 file, but not one of regtrace's")
            if int(self.attributes["schema_version"]) > SCHEMA:
                raise RegtraceError(
                    f"{self.path} has schema {self.attributes['schema_version']}, this package "
                    f"reads up to {SCHEMA}: "
                    "use the package of the regtrace that wrote it"
                )
            calibration = f["calibration"][:]
            threads = f["threads"][:]
            losses = f["losses"].shape[0]
            self._read_names(f)
        get = self.attributes.get
        self.rank = int(get("rank", -1))
        self.size = int(get("size", -1))
        self.pid = int(get("pid", 0))
        self.lossless = losses == 0
        self.is_profile = get("option.mode") == "profile"
        self.clock = Clock(
            calibration,
            float(get("nominal_ns_per_tick", 1.0)),
            int(get("clock_offset_ns", 0)),
            float(get("clock_drift", 0.0)),
        )
        started = threads["started"][threads["started"] != 0]
        ticks = (
            started.min() if len(started) else (calibration[0]["ticks"] if len(calibration) else 0)
        )
        self.first_ns = int(self.clock.ns(ticks))

    def _read_names(self, f):
        functions = f["functions"][:]
        self.names = {int(r["code"]): _text(r["name"]) for r in functions}
        self.labels = {int(r["code"]): _text(r["label"]) for r in functions}

    def know(self, codes):
        """Reads the names again if a code has none yet.

        In a live file, an MPI function gets its name with its first call.
        """
        if not self.names.keys() >= set(np.unique(codes).tolist()):
            with self.opened() as f:
                self._read_names(f)

    @property
    def state(self):
        """One of "closed", "recovered", "live" and "abandoned".

        An abandoned file has no writer any more: `regtrace recover` finishes it.
        """
        state = self.attributes.get("state", "open")
        if state != "open":
            return state
        pid = int(self.attributes.get("writer_pid", 0))
        if self.attributes.get("host") != socket.gethostname():
            return "live"  # another host: its processes cannot be checked from here
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
                fields = f.read().rpartition(")")[2].split()
        except OSError:
            return "abandoned"
        started = int(self.attributes.get("writer_start_time", 0))
        alive = fields[0] != "Z" and started in (0, int(fields[19]))
        return "live" if alive else "abandoned"

    def table(self, name):
        """Returns a small table as a structured array.

        Of a live file, leaves out rows whose events are not in the file yet.
        """
        with self.opened() as f:
            if name not in f:
                raise RegtraceError(
                    f"{self.path} has no table {name!r}: it was written by another version"
                )
            if name not in ROW_COLUMNS or _text(f.attrs.get("state", b"open")) != "open":
                return f[name][:]
            count = self._count(f)
            return self._seen(f[name][:], ROW_COLUMNS[name], count)

    def no_rows(self, name):
        """Returns an empty array with a table's columns.

        Does not read the table: /events may be larger than memory.
        """
        with self.opened() as f:
            return np.empty(0, dtype=f[name].dtype)

    @staticmethod
    def _seen(rows, column, count):
        """Removes rows, and ends of windows, whose events are not among the `count` events.

        The writer writes them before these events (share/doc/schema.md).
        """
        rows = rows[rows[column] < count]
        if column == "open_row":
            is_open = (rows["close_row"] >= count) & (
                (rows["close_row"] != NO_ROW) | (rows["truncated"] == 0)
            )
            for name, value in OPEN_WINDOW.items():
                rows[name][is_open] = value
        return rows

    def strings(self):
        """Returns the texts by id."""
        with self.opened() as f:
            index = f["string_index"][:]  # before the heap, which then has all its texts
            heap = f["strings"][:].tobytes()
        texts = {0: ""}
        for row in index:
            low = int(row["offset"])
            texts[int(row["id"])] = heap[low : low + int(row["length"])].decode("utf-8", "replace")
        return texts

    def event_count(self):
        """Returns the current number of events, including those in the tail."""
        with self.opened() as f:
            return self._count(f)

    @classmethod
    def _count(cls, f):
        tail = f["tail"][:]  # before the events: rows that leave the tail meanwhile are there
        if tail.shape[0]:
            f["events"].id.refresh()
        n = f["events"].shape[0]
        return n + cls._tail_order(tail, n)[1]

    @staticmethod
    def _check(tail):
        """Returns the right `check` of each row (share/doc/schema.md)."""
        unsigned = {
            name: tail[name].astype(np.uint64) & 0xFFFFFFFF
            for name in ("code", "thread", "window", "cpu", "flags")
        }
        words = (
            tail["row"],
            tail["clock"],
            unsigned["code"] | unsigned["thread"] << 32,
            unsigned["window"] | unsigned["cpu"] << 32 | unsigned["flags"] << 48,
            tail["a"],
            tail["b"],
        )
        total = np.ones(len(tail), dtype=np.uint64)
        for word in words:
            total = (total ^ word) * np.uint64(0x9E3779B97F4A7C15)
            total ^= total >> 32
        return total & 0xFFFFFFFF

    @classmethod
    def _tail_order(cls, tail, n):
        """Finds the rows of the tail that follow n rows of events, up to a missing or torn one.

        Returns (their positions in the tail, how many).
        """
        rows = tail["row"].astype(np.int64)
        fresh = np.flatnonzero(rows >= n)
        fresh = fresh[np.argsort(rows[fresh], kind="stable")]
        dense = rows[fresh] == n + np.arange(len(fresh))
        if "check" in tail.dtype.names:  # older files have none: take their rows as they are
            dense &= cls._check(tail[fresh]) == tail["check"][fresh]
        count = len(fresh) if dense.all() else int(np.argmin(dense))
        return fresh[:count], count

    def blocks(self, low=0, high=None):
        """Yields the events of rows [low, high), in order, as arrays of at most BLOCK rows."""
        with self.opened() as f:
            # Read the tail before the events: rows that leave it meanwhile are then found there.
            tail = f["tail"][:]
            events = f["events"]
            if tail.shape[0]:
                events.id.refresh()
            n = events.shape[0]
            end = n if high is None else min(high, n)
            for first in range(low, end, BLOCK):
                yield events[first : min(first + BLOCK, end)]
            places, count = self._tail_order(tail, n)
            rest = tail[places][
                max(low - n, 0) : count if high is None else max(min(high - n, count), 0)
            ]
            if len(rest):
                block = np.empty(len(rest), dtype=events.dtype)
                for field in events.dtype.names:
                    block[field] = rest[field]
                yield block
