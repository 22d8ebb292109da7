# SPDX-License-Identifier: BSD-3-Clause
"""Makes the frames of the program itself in one rank file: functions, samples, counted events."""

import os

import numpy as np
import pandas as pd

from regtrace import codes, events
from regtrace.format import field
from regtrace.frames import nullable, pair_rows, raw
from regtrace.errors import RegtraceError
from regtrace.places import split, stacks
from regtrace.symbols import Generated


def places(file, addresses, clocks):
    """Finds the image of each address at its clock.

    Returns (rows of /maps, sorted; the row of each address or -1; its offset in the image, or the
    address itself without an image).
    """
    maps = file.table("maps")
    maps = maps[np.lexsort((maps["clock"], maps["base"]))]
    at = np.searchsorted(maps["base"], addresses, side="right") - 1
    # If several images were loaded at one base one after another, take the latest before the event,
    # otherwise the first.
    for base in np.unique(maps["base"][1:][np.diff(maps["base"]) == 0]):
        first, last = np.searchsorted(maps["base"], base), np.searchsorted(
            maps["base"], base, side="right"
        )
        here = np.flatnonzero((at >= first) & (at < last))
        before = first + np.searchsorted(maps["clock"][first:last], clocks[here], side="right") - 1
        at[here] = np.maximum(before, first)
    bases = maps["base"][np.maximum(at, 0)] if len(maps) else np.zeros(len(at), dtype=np.uint64)
    return maps, at, np.where(at >= 0, addresses - bases, addresses)


def images_of(file, maps, at):
    """Returns the image (path, build id) of each row of maps, or None for -1."""
    texts = file.strings()
    images = [
        (texts.get(int(row["path"]), "?"), texts.get(int(row["build_id"]), "")) for row in maps
    ]
    return [images[i] if i >= 0 else None for i in at]


def functions(file, known, **filters):
    """Returns (frame with a row per call of a function of the program, alone).

    alone: number of edges without a partner. known: Places.
    """
    both = np.array([codes.FUNCTION_ENTER, codes.FUNCTION_LEAVE, codes.DROPPED], dtype=np.uint32)
    rows = raw(file, code=both, **filters)
    edge = np.select(
        [rows["code"] == codes.FUNCTION_ENTER, rows["code"] == codes.FUNCTION_LEAVE], [1, -1], 0
    )
    b, e, alone, depth = pair_rows(rows, edge, rows["a"], rows["code"] == codes.DROPPED)
    address = rows["a"][b]
    maps, at, offset = places(file, address, rows["clock"][b])
    distinct, inverse = np.unique(
        np.stack([at, offset.astype(np.int64)]), axis=1, return_inverse=True
    )
    images = images_of(file, maps, distinct[0])
    names = [name or pd.NA for name in known.names(images, distinct[1])]
    paths = [pd.NA if image is None else image[0] for image in images]
    inverse = inverse.reshape(-1)
    begin, end = file.clock.ns(rows["clock"][b]), file.clock.ns(rows["clock"][e])
    frame = pd.DataFrame(
        {
            "thread": rows["thread"][b],
            "window": rows["window"][b],
            "function": pd.array(np.array(names, dtype=object)[inverse], dtype="string"),
            "begin_ns": begin,
            "end_ns": end,
            "duration_ns": end - begin,
            "depth": depth,
            "address": address,
            "image": pd.array(np.array(paths, dtype=object)[inverse], dtype="string"),
            "offset": offset,
            "call_site": rows["b"][b],
            "path": field(rows[e], "EV_FUNCTION_LEAVE", "path").astype(np.uint32),
            "cut_begin": (rows["flags"][b] & codes.Flag.CUT) != 0,
            "cut_end": (rows["flags"][e] & codes.Flag.CUT) != 0,
        }
    )
    return frame, len(alone)


def paths(file, known):
    """Returns a frame with a row per call path. known: Places."""
    try:
        rows = file.table("paths")
    except RegtraceError:
        rows = np.empty(
            0,
            dtype=[(name, "u4") for name in ("path", "parent", "image", "build_id")]
            + [("offset", "u8")],
        )
    texts = file.strings()
    images = [
        (texts.get(int(row["image"]), "?"), texts.get(int(row["build_id"]), ""))
        if row["image"]
        else None
        for row in rows
    ]
    calls = [int(row["offset"]) - 1 for row in rows]  # offset: the return address
    names = known.names(images, calls)
    if None in images:
        generated = Generated(os.path.dirname(file.path), file.attributes.get("host", ""), file.pid)
        names = [
            generated.name(at) if image is None else name
            for name, image, at in zip(names, images, calls)
        ]
        # Offset 0 stands for callers that are not known.
        names = [
            "[cut]" if image is None and at == -1 else name
            for name, image, at in zip(names, images, calls)
        ]
    return pd.DataFrame(
        {
            "path": rows["path"],
            "parent": rows["parent"],
            "function": pd.array(names, dtype="string"),
            "line": pd.array(known.lines(images, calls), dtype="string"),
            "image": pd.array(
                [None if image is None else image[0] for image in images], dtype="string"
            ),
            "offset": rows["offset"],
        }
    )


def counters(file, **filters):
    """Returns a row per event of REGTRACE_EVENTS and window of a thread, with rates."""
    rows = raw(file, code=np.array([codes.COUNTER], dtype=np.uint32), **filters)
    texts, all_windows = file.strings(), file.table("windows")
    ended = all_windows[all_windows["stop_clock"] != 0]
    span = file.clock.ns(ended["stop_clock"]) - file.clock.ns(ended["start_clock"])
    lengths = dict(zip(zip(ended["thread"].tolist(), ended["ordinal"].tolist()), span.tolist()))
    places = list(zip(rows["thread"].tolist(), rows["window"].tolist()))
    length = np.array([lengths.get(place, 0) for place in places], dtype=np.int64)
    names = [texts.get(int(i), "?") for i in field(rows, "EV_COUNTER", "event")]
    count = rows["b"].astype(np.int64)

    def of_window(which):
        """Returns the first count under one of these names in each row's window, or NaN."""
        first = {}
        for place, name, number in zip(places, names, count.tolist()):
            if events.plain(name) in which:
                first.setdefault(place, number)
        return np.array([first.get(place, 0) or np.nan for place in places], dtype=np.float64)

    misses = np.array([events.is_miss(name) for name in names], dtype=bool)
    per_second = 1e9 * count / np.where(length > 0, length, np.nan)
    per_1000 = np.where(misses, 1000 * count / of_window(events.INSTRUCTIONS), np.nan)
    return pd.DataFrame(
        {
            "time_ns": file.clock.ns(rows["clock"]),
            "thread": rows["thread"],
            "window": rows["window"],
            "event": pd.array(names, dtype="string"),
            "count": count,
            "running": (rows["a"] >> np.uint64(32)).astype(np.int64) / 1000,
            "duration_ns": nullable(length, length == 0),
            "per_second": per_second,
            "per_cycle": count / of_window(events.CYCLES),
            "per_1000_instructions": per_1000,
        }
    )


def samples(file, known=None, **filters):
    """Returns a row per sample, with its callers and the image of its address.

    known: Places; adds the columns of sampled_places().
    """
    rows = raw(
        file, code=np.array([codes.SAMPLE, codes.SAMPLE_CALLERS], dtype=np.uint32), **filters
    )
    # A sample's callers follow it in its thread.
    rows = rows[np.argsort(rows["thread"], kind="stable")]
    first = rows["code"] == codes.SAMPLE
    callers = [[] for _ in range(int(first.sum()))]
    for of, a, b in zip((np.cumsum(first) - 1)[~first], rows["a"][~first], rows["b"][~first]):
        if of >= 0:
            callers[of] += [int(a), int(b)]
    rows = rows[first]
    has_path = (rows["flags"] & codes.Flag.PATH) != 0
    counts = np.where(has_path, 0, field(rows, "EV_SAMPLE", "callers")).astype(np.int64)
    callers = [tuple(c[:n]) for c, n in zip(callers, counts)]
    maps, at, offset = places(file, rows["a"], rows["clock"])
    images = images_of(file, maps, at)
    path = np.where(has_path, field(rows, "EV_SAMPLE", "path"), 0).astype(np.uint32)
    frame = {
        "time_ns": file.clock.ns(rows["clock"]),
        "thread": rows["thread"],
        "window": rows["window"],
        "ip": rows["a"],
        "image": pd.array(
            [None if image is None else image[0] for image in images], dtype="string"
        ),
        "offset": offset,
        "periods": field(rows, "EV_SAMPLE", "periods").astype(np.int64),
        "path": path,
        "link": [c[0] if c else 0 for c in callers],
        "callers": [c[1:] for c in callers],
    }
    if known is not None:
        frame |= sampled_places(file, known, images, frame, rows["clock"])
    return pd.DataFrame(frame)


def sampled_places(file, known, images, frame, clocks):
    """Returns the columns function, file, line and stack of samples.

    frame: their columns. images: of their addresses.
    """
    function = [name or "?" for name in known.names(images, frame["offset"])]
    texts, line = split(known.lines(images, frame["offset"]))
    by_path = stacks(paths(file, known))
    above = [by_path.get(path, "") for path in frame["path"].tolist()]
    # Samples without a path may have return addresses, the innermost first.
    counts = [len(c) for c in frame["callers"]]
    flat = np.array([address for c in frame["callers"] for address in c], dtype=np.uint64)
    maps, at, offset = places(file, flat, np.repeat(clocks, counts))
    names = [name or "?" for name in known.names(images_of(file, maps, at), offset - np.uint64(1))]
    for i, (count, end) in enumerate(zip(counts, np.cumsum(counts))):
        if count:
            above[i] = ";".join(reversed(names[end - count : end]))
    stack = [";".join(filter(None, pair)) for pair in zip(above, function)]
    return {
        "function": pd.array([None if f == "?" else f for f in function], dtype="string"),
        "file": texts,
        "line": line,
        "stack": pd.array(stack, dtype="string"),
    }
