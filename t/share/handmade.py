# SPDX-License-Identifier: BSD-3-Clause
"""Writes rank files with h5py after share/doc/schema.md, with known contents, without any code of
the writer."""

import os

import h5py
import numpy as np


def utf8(width):
    """Returns the UTF-8 type that the writer uses: HDF5 does not convert ASCII to it."""
    return h5py.string_dtype("utf-8", width)


EVENT = np.dtype([("clock", "u8"), ("code", "u4"), ("thread", "i4"), ("window", "i4"), ("cpu", "u2"), ("flags", "u2"),
                  ("a", "u8"), ("b", "u8")])  # fmt: skip
TAIL = np.dtype([("row", "u8"), *EVENT.descr, ("check", "u4")])
OLD_TAIL = np.dtype([("row", "u8"), *EVENT.descr])  # before there was a check
FIRED = np.dtype([("row", "u8"), ("clock", "u8"), ("thread", "i4"), ("alarm", "i4"), ("chain", "i4"), ("event", "u4"),
                  ("flags", "u4"), ("window", "i4"), ("ip", "u8"), ("requested", "i8"), ("actual", "i8"), ("pass", "u8")])
WINDOW = np.dtype([(n, "u8") for n in ("open_row", "close_row", "start_clock", "stop_clock")]
                  + [(n, "i8") for n in ("start_icount", "stop_icount", "start_requested", "stop_requested")]
                  + [("start_late", "u8"), ("stop_late", "u8"), ("ordinal", "i4"), ("thread", "i4"), ("chain", "i4"),
                     ("start_alarm", "i4"), ("stop_alarm", "i4"), ("kind", "u2"), ("bcast", "u1"), ("firing", "u1"),
                     ("reason", "u1"), ("truncated", "u1"), ("region", "u4"), ("weight", "f8"),
                     ("multiplier", "f8")])  # fmt: skip
THREAD = np.dtype([("thread", "i4"), ("kernel_tid", "u4"), ("name", "u4"), ("start_image", "u4")]
                  + [(n, "u8") for n in ("start_routine", "started", "ended", "rows", "recorded", "dropped", "waits",
                                         "wait_ticks", "incomplete", "own_ticks")]
                  + [("interrupted", "u4"), ("state", "u4"), ("instructions", "u8")])  # fmt: skip
STRING = np.dtype([("id", "u4"), ("length", "u4"), ("offset", "u8")])
COMM = np.dtype([("row", "u8"), ("id", "u4"), ("rank", "u4"), ("size", "u4"), ("parent", "u4")])
CALIBRATION = np.dtype([("ticks", "u8"), ("monotonic_ns", "u8"), ("realtime_ns", "u8"), ("uncertainty", "u8")])
ALARM = np.dtype([("alarm", "i4"), ("chain", "i4"), ("position", "i4"), ("event", utf8(20)), ("type", utf8(20)),
                  ("text", utf8(256))])  # fmt: skip
LOSS = np.dtype([("kind", "u4"), ("thread", "i4"), ("count", "u8"), ("clock", "u8")])
MAP = np.dtype([("row", "u8"), ("clock", "u8"), ("base", "u8"), ("path", "u4"), ("build_id", "u4")])
FUNCTION = np.dtype([("code", "u4"), ("name", utf8(60)), ("label", utf8(64)), ("a", utf8(96)), ("b", utf8(96))])

NO_ROW = 2**64 - 1
ABSENT = 0x80000000  # INT32_MIN in 32 bits
TICK_NS = 0.5  # ns per tick of these files
CUT, NESTED, FORTRAN = 0x04, 0x10, 0x20


def code(text, value=None):
    """Returns a code from its letters: code("RW[") or code("ME", 17)."""
    value = ord(text[2]) if value is None else value
    return ord(text[0]) | ord(text[1]) << 8 | value << 16


# Function numbers in these files. Each 256 numbers have another category: WAIT is in the second,
# LARGE in the third.
SEND, RECV, BARRIER, WAIT, LARGE = 7, 8, 9, 300, 513
NAMES = {SEND: "MPI_Send", RECV: "MPI_Recv", BARRIER: "MPI_Barrier", WAIT: "MPI_Wait", LARGE: "MPI_Send_c"}


def mpi(function, enter):
    letter = ("E" if enter else "L", "e" if enter else "l", "B" if enter else "D")[function // 256]
    return code("M" + letter, function % 256)


def peer_tag(peer, tag):
    return (peer & 0xFFFFFFFF) | (tag & 0xFFFFFFFF) << 32


def event(clock, code_, thread=0, window=0, a=0, b=0, flags=0, cpu=1):
    return np.array((clock, code_, thread, window, cpu, flags, a, b), dtype=EVENT)


def tail_row(row, e):
    """Returns a row of /tail for an event, with its check, in plain integers."""
    clock, code_, thread, window_, cpu, flags, a, b = (int(v) for v in e.item())
    total = 1
    for word in (row, clock, code_ + thread % 2**32 * 2**32, window_ % 2**32 + cpu * 2**32 + flags * 2**48, a, b):
        total = (total ^ word) * 0x9E3779B97F4A7C15 % 2**64
        total ^= total // 2**32
    return (row, *e.item(), total % 2**32)


def functions():
    rows = [(code("RW["), b"EV_WINDOW_OPEN", b"window opens"), (code("RW]"), b"EV_WINDOW_CLOSE", b"window closes"),
            (code("RDd"), b"EV_DROPPED", b"events dropped"), (code("MCc"), b"EV_MPI_COMPLETE", b"request completes"),
            (code("MCb"), b"EV_MPI_BYTES", b"bytes"), (code("GR["), b"EV_REGION_BEGIN", b"region begins"),
            (code("GR]"), b"EV_REGION_END", b"region ends"), (code("KTt"), b"EV_MARK_TYPE", b"mark type"),
            (code("KTl"), b"EV_MARK_LABEL", b"mark label"), (code("KM="), b"EV_MARK_SET", b"mark set"),
            (code("KM["), b"EV_MARK_PUSH", b"mark push"), (code("KM]"), b"EV_MARK_POP", b"mark pop")]  # fmt: skip
    for number, name in NAMES.items():
        rows.append((mpi(number, True), name.encode(), b"enter"))
        rows.append((mpi(number, False), name.encode(), b"leave"))
    return np.array([(*r, b"", b"") for r in rows], dtype=FUNCTION)


def window(ordinal, thread, start, stop, open_row, close_row, **other):
    row = np.zeros(1, dtype=WINDOW)[0]
    for name in ("start_icount", "stop_icount", "start_requested", "stop_requested", "start_alarm", "stop_alarm", "chain"):
        row[name] = -1
    row["ordinal"], row["thread"], row["start_clock"], row["stop_clock"] = ordinal, thread, start, stop
    row["open_row"], row["close_row"], row["firing"] = open_row, close_row, 1
    for name, value in other.items():
        row[name] = value
    return row


def thread(tid, started, ended=0, **other):
    row = np.zeros(1, dtype=THREAD)[0]
    row["thread"], row["started"], row["ended"], row["kernel_tid"] = tid, started, ended, 4000 + tid
    for name, value in other.items():
        row[name] = value
    return row


def rows(list_, dtype):
    return np.array([r if isinstance(r, tuple) else r.item() for r in list_], dtype=dtype)


def write(path, rank=0, size=1, events=(), tail=(), windows=(), threads=(), fired=(), alarms=(), losses=(), comms=(),
          strings=(), start_ticks=1000, attributes=None, live=False, tail_type=TAIL):  # fmt: skip
    """Writes a rank file.

    Tick t is TICK_NS * (t - start_ticks) ns after 5,000,000,000 on CLOCK_MONOTONIC. `live`: leaves
    the file open for SWMR writing and returns it."""
    heap, index = b"", []
    for i, text in enumerate(strings, start=1):
        index.append((i, len(text.encode()), len(heap)))
        heap += text.encode()
    points = [(start_ticks, 5_000_000_000, 1_600_000_005_000_000_000, 10),
              (start_ticks + 4_000_000, 5_002_000_000, 1_600_000_005_002_000_000, 10)]  # fmt: skip
    tables = {
        "events": (events, EVENT, 8192), "tail": (tail, tail_type, 1024), "fired": (fired, FIRED, 256),
        "windows": (windows, WINDOW, 256), "threads": (threads, THREAD, 16), "comms": (comms, COMM, 64),
        "string_index": (index, STRING, 128), "calibration": (points, CALIBRATION, 64), "alarms": (alarms, ALARM, 16),
        "losses": (losses, LOSS, 64), "maps": ([], MAP, 64), "functions": (functions(), FUNCTION, 64),
    }  # fmt: skip
    f = h5py.File(path, "w", libver="latest")
    for name, (content, dtype, chunk) in tables.items():
        if not isinstance(content, np.ndarray):
            content = rows(content, dtype)
        f.create_dataset(name, data=content, maxshape=(None,), chunks=(chunk,))
    metadata = "".join(f"{k}={v}\n" for k, v in (attributes or {}).items() if isinstance(v, str)).encode()
    for name, content in (("strings", heap), ("metadata", metadata)):
        data = np.frombuffer(content, dtype="u1")
        f.create_dataset(name, data=data, maxshape=(None,), chunks=(4096,))
    plain = {"schema_version": np.uint32(1), "regtrace_version": "0.1.0", "host": os.uname().nodename, "pid": np.uint32(4000),
             "rank": np.int32(rank), "size": np.int32(size), "confirmed": np.int32(1), "clock_source": np.uint32(0),
             "nominal_ns_per_tick": TICK_NS, "clock_offset_ns": np.int64(0), "clock_error_ns": np.int64(0),
             "clock_drift": 0.0, "writer_pid": np.uint32(os.getpid()), "writer_start_time": np.uint64(0),
             "state": "closed", "end_reason": "finished", "program": "handmade"}  # fmt: skip
    plain.update(attributes or {})
    for name, value in plain.items():
        if isinstance(value, str):
            value = np.array(value.encode(), dtype=utf8(max(len(value), 16)))
        f.attrs.create(name, value)
    if live:
        f.swmr_mode = True
        return f
    f.close()
    return None
