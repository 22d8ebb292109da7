# SPDX-License-Identifier: BSD-3-Clause
"""Frames of one rank file, times in ns of rank 0's node; run.py puts the ranks together."""

import numpy as np
import pandas as pd

from regtrace import codes
from regtrace.errors import RegtraceError
from regtrace.pairs import match

# The words of `regtrace report --json`.
KINDS = ["region", "warm-up", "prolog", "epilog"]
REASONS = {0: "alarm", 1: "end of program", 2: "end of thread", 3: "fork", 4: "exec", 5: "API", 252: "exited with the process", 253: "size limit",
           254: "killed", 255: "open"}  # fmt: skip
LOSSES = {1: "dropped", 2: "incomplete", 3: "unthreaded", 4: "strings", 5: "chunks", 6: "stream_gone", 7: "storage"}
CONTROL_EVENTS = ["start", "stop", "precond", "threadid", "warmup-start", "warmup-stop", "prolog-start", "prolog-stop",
                  "epilog-start", "epilog-stop", "stats-emit", "stats-reset", "stats-emit-reset"]  # fmt: skip
FIRED_FLAGS = {"bcast": 1, "late": 2, "precond": 4, "ignored": 8, "default_start": 16, "api": 32, "closes": 64}


def nullable(values, missing, dtype="Int64"):
    """An integer column with NA where `missing`."""
    values = np.array(values).astype(dtype.lower())
    return pd.array(pd.arrays.IntegerArray(values, np.array(missing, dtype=bool)), dtype=dtype)


def named(values, names, unknown):
    """A categorical column of the names of numbers."""
    values = np.asarray(values)
    present, inverse = np.unique(values, return_inverse=True)
    labels = [names.get(int(v), f"{unknown} {int(v)}") for v in present]
    categories = list(dict.fromkeys(labels))
    place = np.array([categories.index(label) for label in labels], dtype=np.int32)
    return pd.Categorical.from_codes(place[inverse] if len(values) else [], categories=categories)


def wanted(values, choice):
    """Mask of the values that are the number, or among the numbers, `choice`; "4" and "4-9" as -window of the tools takes
    them; None = all."""
    if choice is None:
        return np.ones(len(values), dtype=bool)
    if isinstance(choice, str):
        first, last = span(choice)
        return (values >= first) & (values <= last)
    if np.isscalar(choice):
        return values == choice
    return np.isin(values, np.fromiter(choice, dtype=np.int64))


def span(text):
    """First and last of "4" or "4-9"."""
    first, dash, last = text.partition("-")
    last = last if dash else first
    if not (first.isascii() and first.isdigit() and last.isascii() and last.isdigit()) or int(last) < int(first):
        raise RegtraceError(f"{text!r} is no span: a number (from 0) or 'N-M', N not behind M, for example '4-9'")
    return int(first), int(last)


def row_range(file, window):
    """Rows of /events that can belong to the windows: narrower than the file where nothing was lost."""
    if window is None or not file.lossless:
        return 0, None
    rows = file.table("windows")
    rows = rows[wanted(rows["ordinal"], window)]
    if len(rows) == 0:
        return 0, 0
    high = rows["close_row"]
    return int(rows["open_row"].min()), None if (high == np.uint64(2**64 - 1)).any() else int(high.max()) + 1


def raw_blocks(file, window=None, thread=None, code=None):
    """Structured arrays of the events that match."""
    low, high = row_range(file, window)
    for block in file.blocks(low, high):
        keep = wanted(block["thread"], thread) & wanted(block["window"], window)
        if code is not None:
            keep &= np.isin(block["code"], code)
        if keep.all():
            yield block
        elif keep.any():
            yield block[keep]


def raw(file, **filters):
    """All of them in one array."""
    blocks = list(raw_blocks(file, **filters))
    return np.concatenate(blocks) if blocks else file.no_rows("events")


def events(file, rows):
    """The frame of raw events."""
    file.know(rows["code"])
    return pd.DataFrame({
        "time_ns": file.clock.ns(rows["clock"]),
        "thread": rows["thread"],
        "window": rows["window"],
        "code": rows["code"],
        "name": named(rows["code"], file.names, "code"),
        "label": named(rows["code"], file.labels, "?"),
        "cpu": nullable(rows["cpu"], rows["cpu"] == 0xFFFF, "Int32"),
        "flags": rows["flags"],
        "a": rows["a"],
        "b": rows["b"],
    })  # fmt: skip


def alarm_texts(file):
    """The alarms of all chains as they were written."""
    return {int(r["alarm"]): r["text"].decode("utf-8", "replace").rstrip("\0") for r in file.table("alarms")}


def alarm_column(numbers, texts):
    """The alarm's text, NA where there was none."""
    return pd.array([texts.get(int(n), f"alarm {n}") if n >= 0 else pd.NA for n in numbers], dtype="string")


def opener(window, fired, all_windows):
    """Who opened a window: an alarm, else the fired row before it says, of the thread that others have joined."""
    if window["start_alarm"] >= 0:
        return "alarm"
    firing = all_windows[(all_windows["ordinal"] == window["ordinal"]) & (all_windows["firing"] != 0)]
    if not window["firing"] and len(firing):
        window = firing[0]
    before = fired[(fired["thread"] == window["thread"]) & (fired["row"] <= window["open_row"])]
    flags = int(before[np.argmax(before["row"])]["flags"]) if len(before) else 0
    return "default start" if flags & 16 else "API" if flags & 32 else "unknown"


def region_columns(file, rows):
    """What a window stands for: the id, weight and multiplier of its region, NA where it has none. Files of earlier versions
    have no such columns."""
    if "region" not in rows.dtype.names:
        none = [pd.NA] * len(rows)
        return {"region": pd.array(none, dtype="string"), "weight": pd.array(none, dtype="Float64"),
                "multiplier": pd.array(none, dtype="Float64")}  # fmt: skip
    texts = file.strings() if (rows["region"] != 0).any() else {}
    return {"region": pd.array([texts.get(int(i), "?") if i else pd.NA for i in rows["region"]], dtype="string")} | {
        n: pd.array([float(v) if v > 0 else pd.NA for v in rows[n]], dtype="Float64") for n in ("weight", "multiplier")
    }


def windows(file):
    """One row per thread and window."""
    rows = file.table("windows")
    fired_rows = file.table("fired") if (rows["start_alarm"] < 0).any() else rows[:0]
    texts = alarm_texts(file)
    start, is_open = file.clock.ns(rows["start_clock"]), rows["stop_clock"] == 0
    stop = np.where(is_open, 0, file.clock.ns(rows["stop_clock"]))
    frame = {
        "ordinal": rows["ordinal"],
        "thread": rows["thread"],
        "kind": [KINDS[k] if k < len(KINDS) else f"kind {k}" for k in rows["kind"]],
        "start_ns": start,
        "stop_ns": nullable(stop, is_open),
        "duration_ns": nullable(np.where(is_open, 0, stop - start), is_open),
        "chain": nullable(rows["chain"], rows["chain"] < 0, "Int32"),
        "start_alarm": alarm_column(rows["start_alarm"], texts),
        "stop_alarm": alarm_column(rows["stop_alarm"], texts),
        "opened_by": [opener(r, fired_rows, rows) for r in rows],
        "closed_by": [REASONS.get(int(r), f"reason {r}") for r in rows["reason"]],
        "bcast": rows["bcast"] != 0,
        "firing": rows["firing"] != 0,
        "truncated": rows["truncated"] == 1,  # 2: the thread waited, and its end was not recorded
        "start_late_ns": file.clock.span_ns(rows["start_late"]),
        "stop_late_ns": file.clock.span_ns(rows["stop_late"]),
    }
    for name in ("start_icount", "stop_icount", "start_requested", "stop_requested"):
        frame[name] = nullable(rows[name], rows[name] < 0)
    frame |= region_columns(file, rows)
    return pd.DataFrame(frame)


def counted(rows):
    """Instructions of threads, and where nobody counted them. Files of earlier versions have no such column."""
    there = "instructions" in rows.dtype.names
    values = rows["instructions"].astype(np.int64) if there else np.zeros(len(rows), dtype=np.int64)
    return values, values == 0


def threads(file):
    """One row per thread."""
    rows = file.table("threads")
    texts = file.strings()
    ended = rows["ended"] == 0
    return pd.DataFrame({
        "thread": rows["thread"],
        "kernel_tid": rows["kernel_tid"],
        "name": [texts.get(int(i), "?") for i in rows["name"]],
        "start_image": [texts.get(int(i), "?") for i in rows["start_image"]],
        "start_routine": rows["start_routine"],
        "start_ns": nullable(file.clock.ns(rows["started"]), rows["started"] == 0),
        "end_ns": nullable(np.where(ended, 0, file.clock.ns(rows["ended"])), ended),
        "instructions": nullable(*counted(rows)),
        "events": rows["rows"],
        "dropped": rows["dropped"],
        "incomplete": rows["incomplete"],
        "waits": rows["waits"],
        "wait_ns": file.clock.span_ns(rows["wait_ticks"]),
        "own_ns": file.clock.span_ns(rows["own_ticks"]),
        "interrupted": rows["interrupted"],
    })  # fmt: skip


def fired(file):
    """One row per fired alarm."""
    rows = file.table("fired")
    frame = {
        "time_ns": file.clock.ns(rows["clock"]),
        "thread": rows["thread"],
        "event": [CONTROL_EVENTS[e] if e < len(CONTROL_EVENTS) else f"event {e}" for e in rows["event"]],
        "alarm": alarm_column(rows["alarm"], alarm_texts(file)),
        "chain": nullable(rows["chain"], rows["chain"] < 0, "Int32"),
        "pass": rows["pass"],
        "window": rows["window"],
        "ip": rows["ip"],
        "requested": nullable(rows["requested"], rows["requested"] < 0),
        "actual": nullable(rows["actual"], rows["actual"] < 0),
    }
    for name, bit in FIRED_FLAGS.items():
        frame[name] = (rows["flags"] & bit) != 0
    return pd.DataFrame(frame)


def losses(file):
    """What is not in the file."""
    rows = file.table("losses")
    return pd.DataFrame({
        "kind": [LOSSES.get(int(k), f"kind {k}") for k in rows["kind"]],
        "thread": nullable(rows["thread"], rows["thread"] < 0, "Int32"),
        "count": rows["count"],
        "time_ns": nullable(file.clock.ns(rows["clock"]), rows["clock"] == 0),
    })  # fmt: skip


def pair_rows(rows, edge, key, lost):
    """Match enters and leaves thread by thread. rows hold the edges and the EV_DROPPED marks (`lost`) among them.
    Returns positions in rows: begins, ends, alone; and the depths of the pairs."""
    begins, ends, alone, depths = [], [], [], []
    for thread in np.unique(rows["thread"]):
        here = np.flatnonzero(rows["thread"] == thread)
        is_edge = edge[here] != 0
        gaps_before = np.cumsum(lost[here])[is_edge]
        at = here[is_edge]
        gap = np.diff(gaps_before, prepend=0) > 0
        b, e, a, d = match(edge[at], key[at], gap)
        begins.append(at[b])
        ends.append(at[e])
        alone.append(at[a])
        depths.append(d)
    join = lambda parts: np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)  # noqa: E731
    b, e, d = join(begins), join(ends), join(depths)
    order = np.lexsort((d, rows["clock"][b]))
    return b[order], e[order], join(alone), d[order]


def signed32(words):
    """The low 32 bits as a signed number."""
    return (words & np.uint64(0xFFFFFFFF)).astype(np.uint32).view(np.int32)


def mpi_rows(file, **filters):
    """Enters and leaves of MPI functions, with the drop marks: (rows, edge, function)."""
    parts = []
    for block in raw_blocks(file, **filters):
        edge, _ = codes.mpi_edges(block["code"])
        parts.append(block[(edge != 0) | (block["code"] == codes.DROPPED)])
    rows = np.concatenate(parts) if parts else file.no_rows("events")
    return (rows, *codes.mpi_edges(rows["code"]))


def mpi_names(file):
    """Function number -> name, from the file's own table."""
    numbers = np.array(sorted(file.names), dtype=np.uint32)
    edge, function = codes.mpi_edges(numbers)
    return {int(f): file.names[int(c)] for c, e, f in zip(numbers, edge, function) if e > 0}


def mpi_calls(file, function=None, **filters):
    """(frame of complete calls, frame of edges that have no partner). function: the codes of the functions wanted."""
    rows, edge, number = mpi_rows(file, **filters)
    file.know(rows["code"])
    names = mpi_names(file)
    b, e, alone, depth = pair_rows(rows, edge, number, rows["code"] == codes.DROPPED)
    if function is not None:
        chosen, numbers = codes.mpi_edges(function)
        numbers = numbers[chosen != 0]
        keep = np.isin(number[b], numbers)
        b, e, depth = b[keep], e[keep], depth[keep]
        alone = alone[np.isin(number[alone], numbers)]
    enter, leave = rows[b], rows[e]
    peer, tag = signed32(enter["a"]), signed32(enter["a"] >> np.uint64(32))
    begin, end = file.clock.ns(enter["clock"]), file.clock.ns(leave["clock"])
    cut = (enter["flags"] & codes.Flag.CUT) != 0
    facts = np.where(leave["b"] != 0, leave["b"], enter["b"])  # unknown at the enter: in the leave
    size = np.where(peer == codes.PROC_NULL, 0, facts & np.uint64(2**48 - 1)).astype(np.int64)  # no message
    calls = pd.DataFrame({
        "thread": enter["thread"],
        "window": enter["window"],
        "function": named(number[b], names, "MPI function"),
        "begin_ns": begin,
        "end_ns": end,
        "duration_ns": end - begin,
        "bytes": nullable(size, cut),
        "peer": nullable(peer, peer == codes.ABSENT, "Int32"),
        "tag": nullable(tag, tag == codes.ABSENT, "Int32"),
        "comm": nullable((facts >> np.uint64(48)).astype(np.int32), cut, "Int32"),
        "request": leave["a"],
        "depth": depth,
        "nested": (enter["flags"] & codes.Flag.NESTED) != 0,
        "fortran": (enter["flags"] & codes.Flag.FORTRAN) != 0,
        "cut_begin": cut,
        "cut_end": (leave["flags"] & codes.Flag.CUT) != 0,
    })  # fmt: skip
    single = rows[np.sort(alone)]
    edges = pd.DataFrame({
        "thread": single["thread"],
        "window": single["window"],
        "function": named(number[np.sort(alone)], names, "MPI function"),
        "edge": np.where(edge[np.sort(alone)] > 0, "enter", "leave"),
        "time_ns": file.clock.ns(single["clock"]),
    })  # fmt: skip
    return calls, edges


def mpi_messages(file, **filters):
    """Completed receives and requests. Receives have source, tag and bytes as matched, other requests none of them; where
    `unknown` is true the request was made outside its window, and they hold only if it was a receive."""
    rows = raw(file, code=np.array([codes.MPI_COMPLETE, codes.MPI_BYTES], dtype=np.uint32), **filters)
    rows = rows[np.argsort(rows["thread"], kind="stable")]
    is_head = rows["code"] == codes.MPI_COMPLETE
    head = np.flatnonzero(is_head)
    follows = np.zeros(len(rows) + 1, dtype=bool)
    follows[:-1] = ~is_head
    has_bytes = follows[head + 1]
    count = np.zeros(len(head), dtype=np.int64)
    count[has_bytes] = rows["b"][head[has_bytes] + 1].astype(np.int64)
    one = rows[head]
    source, tag = signed32(one["b"]), signed32(one["b"] >> np.uint64(32))
    frame = pd.DataFrame({
        "time_ns": file.clock.ns(one["clock"]),
        "thread": one["thread"],
        "window": one["window"],
        "source": nullable(source, source == codes.ABSENT, "Int32"),
        "tag": nullable(tag, tag == codes.ABSENT, "Int32"),
        "bytes": nullable(count, ~has_bytes),
        "unknown": (one["flags"] & codes.Flag.CUT) != 0,
        "request": one["a"],
    })  # fmt: skip
    return frame.sort_values("time_ns", kind="stable", ignore_index=True)


def regions(file, **filters):
    """Named regions, begin and end in one row."""
    both = np.array([codes.REGION_BEGIN, codes.REGION_END, codes.DROPPED], dtype=np.uint32)
    rows = raw(file, code=both, **filters)
    edge = np.select([rows["code"] == codes.REGION_BEGIN, rows["code"] == codes.REGION_END], [1, -1], 0)
    b, e, alone, depth = pair_rows(rows, edge, rows["a"], rows["code"] == codes.DROPPED)
    texts = file.strings()
    begin, end = file.clock.ns(rows["clock"][b]), file.clock.ns(rows["clock"][e])
    frame = pd.DataFrame({
        "thread": rows["thread"][b],
        "window": rows["window"][b],
        "name": named(rows["a"][b], texts, "string"),
        "begin_ns": begin,
        "end_ns": end,
        "duration_ns": end - begin,
        "depth": depth,
        "cut_begin": (rows["flags"][b] & codes.Flag.CUT) != 0,
        "cut_end": (rows["flags"][e] & codes.Flag.CUT) != 0,
    })  # fmt: skip
    return frame, len(alone)


def marks(file, **filters):
    """Pushed, popped and set values of marks, with their titles and labels."""
    texts = file.strings()
    named_types = raw(file, code=np.array([codes.MARK_TYPE, codes.MARK_LABEL], dtype=np.uint32))
    titles, labels = {}, {}
    for row in named_types:
        a, b = int(row["a"]), int(row["b"])
        if row["code"] == codes.MARK_TYPE:
            titles[a & 0xFFFFFFFF] = texts.get(b, "?")
        else:
            labels[a & 0xFFFFFFFF, b] = texts.get(a >> 32, "?")
    actions = {codes.MARK_PUSH: "push", codes.MARK_POP: "pop", codes.MARK_SET: "set"}
    rows = raw(file, code=np.array(list(actions), dtype=np.uint32), **filters)
    kinds, values = rows["a"].astype(np.int64), rows["b"].view(np.int64) if len(rows) else np.empty(0, np.int64)
    return pd.DataFrame({
        "time_ns": file.clock.ns(rows["clock"]),
        "thread": rows["thread"],
        "window": rows["window"],
        "action": [actions[int(c)] for c in rows["code"]],
        "type": kinds,
        "title": pd.array([titles.get(int(k), pd.NA) for k in kinds], dtype="string"),
        "value": values,
        "label": pd.array([labels.get((int(k), int(v) & (2**64 - 1)), pd.NA) for k, v in zip(kinds, values)],
                          dtype="string"),
    })  # fmt: skip
