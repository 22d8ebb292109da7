# SPDX-License-Identifier: BSD-3-Clause
"""Makes frames of what made ranks wait, and of the critical path, by the figures of `regtrace report`."""

import os
import warnings

import numpy as np
import pandas as pd

from regtrace import toolkit
from regtrace.errors import IncompleteWarning, RegtraceError
from regtrace.frames import span
from regtrace.places import split

_PLACE = ["function", "site_function", "file", "line", "stack"]
ACTIVITY = ["activity", "kind", *_PLACE, *(f"from_{name}" for name in _PLACE)]
DELAYS = ["rank", "cost_ns", "share", "direct_ns", "propagated_ns", "waits", *ACTIVITY]
PATH = {
    "activity": ["path_ns", "share", "mean_ns", "imbalance_ns", *ACTIVITY],
    "rank": ["rank", "path_ns", "share"],
    "window": ["window", "start_ns", "stop_ns", "length_ns", "crossings", "broken", "rank", "rank_ns", "dropped"],
}  # fmt: skip
_NO_PROCESS = "fewer than two ranks have windows and MPI"


def _windows(window):
    """Returns the options that select these windows, as methods take them."""
    if window is None:
        return []
    if isinstance(window, str):
        first, last = span(window)
    else:
        numbers = np.unique(np.atleast_1d(window))
        first, last = int(numbers[0]), int(numbers[-1])
        if len(numbers) != last - first + 1:
            raise RegtraceError(
                f"windows {numbers.tolist()} are no span: give a number or a text such as '4-9'"
            )
    return ["--window", f"{first}-{last}"]


def _report(run, window, stacklevel):
    """Returns the report of a run, None if it has no causes; warns of what is missing."""
    report = toolkit.ask([run], "report", "--json", "--wait", "0", *_windows(window))
    if report["delays"] is None:
        why = report["waits_why_not"] or _NO_PROCESS
        warnings.warn(f"waits are not known: {why}", IncompleteWarning, stacklevel=stacklevel + 1)
        return None
    return report


def _call(call):
    """Returns the columns of _PLACE of a call; the edge of a window has no place."""
    path = call["call_path"]
    inner = path[-1] if path else {"caller": None, "line": None}
    stack = ";".join(place["caller"] or "?" for place in path) or None
    return [call["function"], inner["caller"], inner["line"], stack]


def _text(call):
    """Returns a call as the report names it: "MPI_Send in work, a.c:30"."""
    function, caller, line, _ = _call(call)
    place = ", ".join(part for part in (caller, line and os.path.basename(line)) if part)
    return f"{function} in {place}" if place else function


def _activities(rows):
    """Returns the columns of ACTIVITY of rows of the report."""
    nobody, frame = [None] * 4, {name: [] for name in ACTIVITY}
    columns = {"": [], "from_": []}
    for row in rows:
        begin = row.get("from")
        end = row.get("to", row.get("call"))
        if end is None:  # a function or a named region of the program
            name = row.get("region", row.get("function"))
            columns[""].append([name, *nobody[1:]])
            text = f"region {name}" if row["kind"] == "region" else name
        else:
            columns[""].append(_call(end))
            text = f"from {_text(begin)} to {_text(end)}" if begin else _text(end)
        columns["from_"].append(_call(begin) if begin else nobody)
        frame["activity"].append(text)
        frame["kind"].append(row["kind"])
    for prefix, calls in columns.items():
        function, caller, line, stack = zip(*calls) if calls else ((),) * 4
        frame[f"{prefix}file"], frame[f"{prefix}line"] = split(line)
        for name, values in (("function", function), ("site_function", caller), ("stack", stack)):
            frame[f"{prefix}{name}"] = pd.array(values, dtype="string")
    for name in ("activity", "kind"):
        frame[name] = pd.array(frame[name], dtype="string")
    return pd.DataFrame(frame)


def _numbers(rows, names, dtype):
    return {name: np.array([row[name] for row in rows], dtype=dtype) for name in names}


def _share(ns, whole):
    return ns / whole if whole > 0 else np.full(len(ns), np.nan)


def delays(run, window, stacklevel):
    """Returns the frame of Run.delays()."""
    report = _report(run, window, stacklevel + 1)
    rows, unknown = (report["delays"], report["delays_unknown_ns"]) if report else ([], 0.0)
    frame = _activities(rows).assign(
        **_numbers(rows, ["rank", "waits"], np.int64),
        **_numbers(rows, ["direct_ns", "propagated_ns"], np.float64),
    )
    frame["cost_ns"] = frame["direct_ns"] + frame["propagated_ns"]
    frame["share"] = _share(frame["cost_ns"], frame["cost_ns"].sum() + unknown)
    frame = frame[DELAYS]
    frame.attrs["unknown_ns"] = unknown
    if unknown > 0:
        text = f"the causes of {unknown / 1e6:.3f} ms of waiting are not known: see attrs['unknown_ns'] of the frame"
        warnings.warn(text, IncompleteWarning, stacklevel=stacklevel + 1)
    return frame


def _path_rows(path, by):
    """Returns the rows of the critical path by activity, rank or window, without common columns."""
    if by == "activity":
        rows = path["activities"]
        return _activities(rows).assign(
            **_numbers(rows, ["path_ns", "mean_ns", "imbalance_ns"], np.float64)
        )
    if by == "rank":
        rows = path["ranks"]
        return pd.DataFrame(
            {**_numbers(rows, ["rank"], np.int64), **_numbers(rows, ["path_ns"], np.float64)}
        )
    rows = [{"window": row["ordinal"], **row} for row in path["windows"] if not row["partial"]]
    names = ["window", "start_ns", "stop_ns", "crossings", "broken", "rank"]
    return pd.DataFrame(
        {
            **_numbers(rows, names, np.int64),
            **_numbers(rows, ["rank_ns"], np.float64),
            **_numbers(rows, ["dropped"], bool),
        }
    )


def critical_path(run, window, by, stacklevel):
    """Returns the frame of Run.critical_path(), with times of CLOCK_MONOTONIC on rank 0's node."""
    if by not in PATH:
        raise RegtraceError(f"a critical path by {by!r}: {', '.join(PATH)} are legal")
    report = _report(run, window, stacklevel + 1)
    path = (
        report["critical_path"]
        if report
        else {"length_ns": 0.0, "activities": [], "ranks": [], "windows": []}
    )
    partial = sum(row["partial"] for row in path["windows"])
    if partial:
        text = f"{partial} windows are left out: not all ranks have them"
        warnings.warn(text, IncompleteWarning, stacklevel=stacklevel + 1)
    frame = _path_rows(path, by)
    if by == "window":
        frame["length_ns"] = frame["stop_ns"] - frame["start_ns"]
        for name in ("start_ns", "stop_ns"):
            frame[name] += report["origin_monotonic_ns"] if report else 0
    else:
        frame["share"] = _share(frame["path_ns"], path["length_ns"])
    frame = frame[PATH[by]]
    frame.attrs["length_ns"] = path["length_ns"]
    return frame
