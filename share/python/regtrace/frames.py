# SPDX-License-Identifier: BSD-3-Clause
"""Makes the frames of one rank file, with times in ns on rank 0's node; run.py joins the ranks."""

import numpy as np
import pandas as pd

from regtrace import codes
from regtrace.errors import RegtraceError
from regtrace.format import CONTROL_EVENTS, FIRED_FLAGS, LOSSES, WINDOW_KINDS, WINDOW_REASONS, field
from regtrace.pairs import match


def nullable(values, missing, dtype="Int64"):
    """Returns an integer column with NA where `missing` is true."""
    values = np.array(values).astype(dtype.lower())
    return pd.array(pd.arrays.IntegerArray(values, np.array(missing, dtype=bool)), dtype=dtype)


def named(values, names, unknown):
    """Returns a categorical column with the names of numbers.

    names: number -> name. A number without a name becomes "UNKNOWN NUMBER".
    """
    values = np.asarray(values)
    present, inverse = np.unique(values, return_inverse=True)
    labels = [names.get(int(v), f"{unknown} {int(v)}") for v in present]
    categories = list(dict.fromkeys(labels))
    place = np.array([categories.index(label) for label in labels], dtype=np.int32)
    return pd.Categorical.from_codes(place[inverse] if len(values) else [], categories=categories)


def wanted(values, choice):
    """Returns a mask of the values that `choice` selects.

    choice: a number, several numbers, a text ("4" or "4-9") as -window of the tools takes it, or
    None for all.
    """
    if choice is None:
        return np.ones(len(values), dtype=bool)
    if isinstance(choice, str):
        first, last = span(choice)
        return (values >= first) & (values <= last)
    if np.isscalar(choice):
        return values == choice
    return np.isin(values, np.fromiter(choice, dtype=np.int64))


def only(frame, **choices):
    """Returns the rows whose columns have the values that wanted() takes."""
    for column, choice in choices.items():
        if choice is not None:
            frame = frame[wanted(frame[column].to_numpy(), choice)]
    return frame.reset_index(drop=True)


def span(text):
    """Returns (first, last) of the text "4" or "4-9"; raises RegtraceError for another."""
    first, dash, last = text.partition("-")
    last = last if dash else first
    if not (first.isascii() and first.isdigit() and last.isascii() and last.isdigit()) or int(
        last
    ) < int(first):
        raise RegtraceError(
            f"{text!r} is no span: a number (from 0) or 'N-M', N not after M, for example '4-9'"
        )
    return int(first), int(last)


def row_range(file, window):
    """Returns the range [low, high) of rows of /events that can belong to the windows.

    Returns (0, None), all rows, if the file lost events. high is None up to the end.
    """
    if window is None or not file.lossless:
        return 0, None
    rows = file.table("windows")
    rows = rows[wanted(rows["ordinal"], window)]
    if len(rows) == 0:
        return 0, 0
    high = rows["close_row"]
    return (
        int(rows["open_row"].min()),
        None if (high == np.uint64(2**64 - 1)).any() else int(high.max()) + 1,
    )


def raw_blocks(file, window=None, thread=None, code=None):
    """Yields the events that match, as structured arrays."""
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
    """Returns all events that match in one structured array."""
    blocks = list(raw_blocks(file, **filters))
    return np.concatenate(blocks) if blocks else file.no_rows("events")


def events(file, rows):
    """Returns the frame of raw events."""
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
    """Returns the texts of the alarms of all chains, as the user wrote them, by number."""
    return {
        int(r["alarm"]): r["text"].decode("utf-8", "replace").rstrip("\0")
        for r in file.table("alarms")
    }


def alarm_column(numbers, texts):
    """Returns a column of the alarms' texts, NA for a negative number (no alarm)."""
    return pd.array(
        [texts.get(int(n), f"alarm {n}") if n >= 0 else pd.NA for n in numbers], dtype="string"
    )


def opener(window, fired, all_windows):
    """Returns who opened a window: "alarm", "default start", "API" or "unknown".

    Without an alarm, the flags of the last fired row before the window tell. If the thread joined
    a broadcast, that is a row of the thread that fired it.
    """
    if window["start_alarm"] >= 0:
        return "alarm"
    firing = all_windows[
        (all_windows["ordinal"] == window["ordinal"]) & (all_windows["firing"] != 0)
    ]
    if not window["firing"] and len(firing):
        window = firing[0]
    before = fired[(fired["thread"] == window["thread"]) & (fired["row"] <= window["open_row"])]
    flags = int(before[np.argmax(before["row"])]["flags"]) if len(before) else 0
    return "default start" if flags & 16 else "API" if flags & 32 else "unknown"


def region_columns(file, rows):
    """Returns the columns of the windows' regions: id, weight and multiplier; NA without a region.

    Files of earlier versions lack these columns.
    """
    if "region" not in rows.dtype.names:
        none = [pd.NA] * len(rows)
        return {"region": pd.array(none, dtype="string"), "weight": pd.array(none, dtype="Float64"),
                "multiplier": pd.array(none, dtype="Float64")}  # fmt: skip
    texts = file.strings() if (rows["region"] != 0).any() else {}
    return {
        "region": pd.array(
            [texts.get(int(i), "?") if i else pd.NA for i in rows["region"]], dtype="string"
        )
    } | {
        n: pd.array([float(v) if v > 0 else pd.NA for v in rows[n]], dtype="Float64")
        for n in ("weight", "multiplier")
    }


def windows(file):
    """Returns a row per thread and window."""
    rows = file.table("windows")
    fired_rows = file.table("fired") if (rows["start_alarm"] < 0).any() else rows[:0]
    texts = alarm_texts(file)
    start, is_open = file.clock.ns(rows["start_clock"]), rows["stop_clock"] == 0
    stop = np.where(is_open, 0, file.clock.ns(rows["stop_clock"]))
    frame = {
        "ordinal": rows["ordinal"],
        "thread": rows["thread"],
        "kind": [WINDOW_KINDS.get(int(k), f"kind {k}") for k in rows["kind"]],
        "start_ns": start,
        "stop_ns": nullable(stop, is_open),
        "duration_ns": nullable(np.where(is_open, 0, stop - start), is_open),
        "chain": nullable(rows["chain"], rows["chain"] < 0, "Int32"),
        "start_alarm": alarm_column(rows["start_alarm"], texts),
        "stop_alarm": alarm_column(rows["stop_alarm"], texts),
        "opened_by": [opener(r, fired_rows, rows) for r in rows],
        "closed_by": [WINDOW_REASONS.get(int(r), f"reason {r}") for r in rows["reason"]],
        "bcast": rows["bcast"] != 0,
        "firing": rows["firing"] != 0,
        "truncated": rows["truncated"] == 1,  # 2: the thread waited, so its end was not recorded
        "start_late_ns": file.clock.span_ns(rows["start_late"]),
        "stop_late_ns": file.clock.span_ns(rows["stop_late"]),
    }
    for name in ("start_icount", "stop_icount", "start_requested", "stop_requested"):
        frame[name] = nullable(rows[name], rows[name] < 0)
    frame |= region_columns(file, rows)
    return pd.DataFrame(frame)


def counted(rows):
    """Returns (instructions of the threads, mask of those that were not counted).

    Files of earlier versions lack the column.
    """
    there = "instructions" in rows.dtype.names
    values = rows["instructions"].astype(np.int64) if there else np.zeros(len(rows), dtype=np.int64)
    return values, values == 0


def threads(file):
    """Returns a row per thread."""
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
    """Returns a row per fired alarm."""
    rows = file.table("fired")
    frame = {
        "time_ns": file.clock.ns(rows["clock"]),
        "thread": rows["thread"],
        "event": [CONTROL_EVENTS.get(int(e), f"event {e}") for e in rows["event"]],
        "alarm": alarm_column(rows["alarm"], alarm_texts(file)),
        "chain": nullable(rows["chain"], rows["chain"] < 0, "Int32"),
        "pass": rows["pass"],
        "window": rows["window"],
        "ip": rows["ip"],
        "requested": nullable(rows["requested"], rows["requested"] < 0),
        "actual": nullable(rows["actual"], rows["actual"] < 0),
    }
    for bit, name in FIRED_FLAGS.items():
        frame[name] = (rows["flags"] & bit) != 0
    return pd.DataFrame(frame)


def losses(file):
    """Returns a row per loss: what the file lacks."""
    rows = file.table("losses")
    return pd.DataFrame({
        "kind": [LOSSES.get(int(k), f"kind {k}") for k in rows["kind"]],
        "thread": nullable(rows["thread"], rows["thread"] < 0, "Int32"),
        "count": rows["count"],
        "time_ns": nullable(file.clock.ns(rows["clock"]), rows["clock"] == 0),
    })  # fmt: skip


def pair_rows(rows, edge, key, lost):
    """Matches enters with leaves, thread by thread.

    rows: the edges, and the EV_DROPPED events among them (`lost` is true); nothing is paired across
    those. edge and key: as for pairs.match(). Returns (begins, ends, alone, depths): positions in
    rows of the pairs, ordered by the clock of their begin, and of edges without a partner; depths
    of the pairs.
    """
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
    join = (
        lambda parts: np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)
    )  # noqa: E731
    b, e, d = join(begins), join(ends), join(depths)
    order = np.lexsort((d, rows["clock"][b]))
    return b[order], e[order], join(alone), d[order]


def signed32(words):
    """Returns the low 32 bits of each word as a signed number."""
    return (words & np.uint64(0xFFFFFFFF)).astype(np.uint32).view(np.int32)


def mpi_rows(file, **filters):
    """Returns (rows, edge, function) of the enters and leaves of MPI functions.

    EV_DROPPED and EV_MPI_CALL_PATH events are among the rows. edge and function: as of
    codes.mpi_edges().
    """
    parts = []
    for block in raw_blocks(file, **filters):
        edge, _ = codes.mpi_edges(block["code"])
        parts.append(
            block[(edge != 0) | np.isin(block["code"], (codes.DROPPED, codes.MPI_CALL_PATH))]
        )
    rows = np.concatenate(parts) if parts else file.no_rows("events")
    return (rows, *codes.mpi_edges(rows["code"]))


def mpi_paths(rows, leaves):
    """Returns the call path of each leave (positions in rows of mpi_rows()); 0: unknown."""
    in_leave = (rows["flags"] & codes.Flag.PATH) != 0
    path = np.where(in_leave, field(rows, "EV_MPI_LEAVE", "path"), 0).astype(np.uint32)
    is_leave = codes.mpi_edges(rows["code"])[0] < 0
    for at in np.flatnonzero(
        rows["code"] == codes.MPI_CALL_PATH
    ):  # few: it belongs to the next leave
        after = np.flatnonzero(is_leave[at:] & (rows["thread"][at:] == rows["thread"][at]))
        if len(after) and not in_leave[at + after[0]]:
            path[at + after[0]] = rows["a"][at]
    return path[leaves]


def mpi_names(file):
    """Returns function number -> name, from the file's own table."""
    numbers = np.array(sorted(file.names), dtype=np.uint32)
    edge, function = codes.mpi_edges(numbers)
    return {int(f): file.names[int(c)] for c, e, f in zip(numbers, edge, function) if e > 0}


def mpi_calls(file, function=None, **filters):
    """Returns (frame of complete MPI calls, frame of edges without a partner).

    function: the codes of the wanted functions, None for all.
    """
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
    peer, tag = (signed32(field(enter, "EV_MPI_ENTER", name)) for name in ("peer", "tag"))
    begin, end = file.clock.ns(enter["clock"]), file.clock.ns(leave["clock"])
    cut = (enter["flags"] & codes.Flag.CUT) != 0
    # The leave has the bytes and the communicator if they were not known at the enter.
    has_facts = (leave["b"] != 0) & ((leave["flags"] & codes.Flag.PATH) == 0)
    facts = {"b": np.where(has_facts, leave["b"], enter["b"])}
    # A call with MPI_PROC_NULL has no message.
    size = np.where(peer == codes.PROC_NULL, 0, field(facts, "EV_MPI_ENTER", "bytes")).astype(
        np.int64
    )
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
        "comm": nullable(field(facts, "EV_MPI_ENTER", "comm").astype(np.int32), cut, "Int32"),
        "request": leave["a"],
        "path": mpi_paths(rows, e),
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
    """Returns a row per completed receive or request.

    Receives have source, tag and bytes as matched; in other requests they are NA. If `unknown` is
    true, the request was made outside the window, and they hold only if it was a receive.
    """
    rows = raw(
        file, code=np.array([codes.MPI_COMPLETE, codes.MPI_BYTES], dtype=np.uint32), **filters
    )
    rows = rows[np.argsort(rows["thread"], kind="stable")]
    is_head = rows["code"] == codes.MPI_COMPLETE
    head = np.flatnonzero(is_head)
    follows = np.zeros(len(rows) + 1, dtype=bool)
    follows[:-1] = ~is_head
    has_bytes = follows[head + 1]
    count = np.zeros(len(head), dtype=np.int64)
    count[has_bytes] = rows["b"][head[has_bytes] + 1].astype(np.int64)
    one = rows[head]
    source, tag = (signed32(field(one, "EV_MPI_COMPLETE", name)) for name in ("source", "tag"))
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
    """Returns (frame with a row per named region, number of edges without a partner)."""
    both = np.array([codes.REGION_BEGIN, codes.REGION_END, codes.DROPPED], dtype=np.uint32)
    rows = raw(file, code=both, **filters)
    edge = np.select(
        [rows["code"] == codes.REGION_BEGIN, rows["code"] == codes.REGION_END], [1, -1], 0
    )
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
        "path": field(rows[b], "EV_REGION_BEGIN", "path").astype(np.uint32),
        "depth": depth,
        "cut_begin": (rows["flags"][b] & codes.Flag.CUT) != 0,
        "cut_end": (rows["flags"][e] & codes.Flag.CUT) != 0,
    })  # fmt: skip
    return frame, len(alone)


def marks(file, **filters):
    """Returns a row per push, pop or set of a mark, with the type's title and the value's label."""
    texts = file.strings()
    named_types = raw(file, code=np.array([codes.MARK_TYPE, codes.MARK_LABEL], dtype=np.uint32))
    titles, labels = {}, {}
    for row in named_types:
        kind, value = int(field(row, "EV_MARK_LABEL", "type")), int(row["b"])
        if row["code"] == codes.MARK_TYPE:
            titles[kind] = texts.get(int(field(row, "EV_MARK_TYPE", "title")), "?")
        else:
            labels[kind, value] = texts.get(int(field(row, "EV_MARK_LABEL", "label")), "?")
    actions = {codes.MARK_PUSH: "push", codes.MARK_POP: "pop", codes.MARK_SET: "set"}
    rows = raw(file, code=np.array(list(actions), dtype=np.uint32), **filters)
    kinds = rows["a"].astype(np.int64)
    values = rows["b"].view(np.int64) if len(rows) else np.empty(0, np.int64)
    texts = [labels.get((int(k), int(v) & (2**64 - 1)), pd.NA) for k, v in zip(kinds, values)]
    return pd.DataFrame({
        "time_ns": file.clock.ns(rows["clock"]),
        "thread": rows["thread"],
        "window": rows["window"],
        "action": [actions[int(c)] for c in rows["code"]],
        "type": kinds,
        "title": pd.array([titles.get(int(k), pd.NA) for k in kinds], dtype="string"),
        "value": values,
        "label": pd.array(texts, dtype="string"),
    })  # fmt: skip
