# SPDX-License-Identifier: BSD-3-Clause
"""Makes the frames of the program itself in one rank file: functions, samples, counted events."""

import numpy as np
import pandas as pd

from regtrace import codes, events
from regtrace.format import field
from regtrace.frames import nullable, pair_rows, raw
from regtrace.errors import RegtraceError
from regtrace.symbols import Symbols, lines


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
        first, last = np.searchsorted(maps["base"], base), np.searchsorted(maps["base"], base, side="right")
        here = np.flatnonzero((at >= first) & (at < last))
        before = first + np.searchsorted(maps["clock"][first:last], clocks[here], side="right") - 1
        at[here] = np.maximum(before, first)
    bases = maps["base"][np.maximum(at, 0)] if len(maps) else np.zeros(len(at), dtype=np.uint64)
    return maps, at, np.where(at >= 0, addresses - bases, addresses)


def functions(file, known, **filters):
    """Returns (frame with a row per call of a function of the program, alone, changed).

    alone: number of edges without a partner. changed: paths of images that have changed since the
    run. known: cached Symbols by (path, build id), which all files of a run share.
    """
    both = np.array([codes.FUNCTION_ENTER, codes.FUNCTION_LEAVE, codes.DROPPED], dtype=np.uint32)
    rows = raw(file, code=both, **filters)
    edge = np.select([rows["code"] == codes.FUNCTION_ENTER, rows["code"] == codes.FUNCTION_LEAVE], [1, -1], 0)
    b, e, alone, depth = pair_rows(rows, edge, rows["a"], rows["code"] == codes.DROPPED)
    address, texts = rows["a"][b], file.strings()
    maps, at, offset = places(file, address, rows["clock"][b])
    distinct, inverse = np.unique(np.stack([at, offset.astype(np.int64)]), axis=1, return_inverse=True)
    names, paths, changed = [], [], set()
    for i, place in distinct.T.tolist():
        path = texts.get(int(maps["path"][i]), "?") if i >= 0 else None
        if path is not None:
            image = path, texts.get(int(maps["build_id"][i]), "")
            if image not in known:
                known[image] = Symbols(*image)
            if known[image].changed:
                changed.add(path)
        names.append(pd.NA if path is None else known[image].name(place) or pd.NA)
        paths.append(pd.NA if path is None else path)
    inverse = inverse.reshape(-1)
    begin, end = file.clock.ns(rows["clock"][b]), file.clock.ns(rows["clock"][e])
    frame = pd.DataFrame({
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
        "cut_begin": (rows["flags"][b] & codes.Flag.CUT) != 0,
        "cut_end": (rows["flags"][e] & codes.Flag.CUT) != 0,
    })  # fmt: skip
    return frame, len(alone), changed


def paths(file, known):
    """Returns (frame with a row per call path, changed): as functions() has them."""
    try:
        rows = file.table("paths")
    except RegtraceError:
        rows = np.empty(0, dtype=[(name, "u4") for name in ("path", "parent", "image", "build_id")] + [("offset", "u8")])
    texts = file.strings()
    names, images, changed = [], [], set()
    for row in rows:
        image = (texts.get(int(row["image"]), "?"), texts.get(int(row["build_id"]), "")) if row["image"] else None
        name = None
        if image is not None:
            if image not in known:
                known[image] = Symbols(*image)
            if known[image].changed:
                changed.add(image[0])
            name = known[image].name(int(row["offset"]) - 1)
        names.append(name)
        images.append(None if image is None else image[0])
    frame = pd.DataFrame({
        "path": rows["path"],
        "parent": rows["parent"],
        "function": pd.array(names, dtype="string"),
        "line": pd.array(lines(images, rows["offset"], changed), dtype="string"),
        "image": pd.array(images, dtype="string"),
        "offset": rows["offset"],
    })  # fmt: skip
    return frame, changed


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
    return pd.DataFrame({
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
    })  # fmt: skip


def samples(file, **filters):
    """Returns a row per sample, with its callers and the image of its address."""
    rows = raw(file, code=np.array([codes.SAMPLE, codes.SAMPLE_CALLERS], dtype=np.uint32), **filters)
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
    texts = file.strings()
    paths = [texts.get(int(maps["path"][i]), "?") if i >= 0 else pd.NA for i in at]
    return pd.DataFrame({
        "time_ns": file.clock.ns(rows["clock"]),
        "thread": rows["thread"],
        "window": rows["window"],
        "ip": rows["a"],
        "image": pd.array(paths, dtype="string"),
        "offset": offset,
        "periods": field(rows, "EV_SAMPLE", "periods").astype(np.int64),
        "path": np.where(has_path, field(rows, "EV_SAMPLE", "path"), 0).astype(np.uint32),
        "link": [c[0] if c else 0 for c in callers],
        "callers": [c[1:] for c in callers],
    })  # fmt: skip
