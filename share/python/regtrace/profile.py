# SPDX-License-Identifier: BSD-3-Clause
"""Makes frames of profiles of MPI calls (REGTRACE_MODE=profile; share/doc/schema.md)."""

import numpy as np
import pandas as pd

from regtrace.errors import RegtraceError
from regtrace.places import of_paths
from regtrace.program import paths

_NONE = (
    np.empty(
        0,
        dtype=[("thread", "i4")]
        + [(name, "u4") for name in ("path", "code", "comm", "nested")]
        + [(name, "u8") for name in ("calls", "ticks", "min_ticks", "max_ticks", "bytes")],
    ),
    np.empty(0, dtype=[("row", "u4"), ("power", "u4"), ("calls", "u8")]),
)


def _rows(file):
    """Returns /mpi_profile and /mpi_profile_times, without rows if the run has no profile."""
    try:
        return file.table("mpi_profile"), file.table("mpi_profile_times")
    except RegtraceError:
        return _NONE


def _names(rows, names):
    return pd.array([names.get(int(code), pd.NA) for code in rows["code"]], dtype="string")


def calls(file, names, known=None):
    """Returns a row per thread, function, communicator and call path.

    names: event code -> name. known: Places, for the columns of the call sites.
    """
    rows, ns = _rows(file)[0], file.clock.span_ns
    frame = pd.DataFrame(
        {
            "thread": rows["thread"],
            "function": _names(rows, names),
            "comm": rows["comm"],
            "nested": rows["nested"] != 0,
            "path": rows["path"],
            "calls": rows["calls"],
            "total_ns": ns(rows["ticks"]),
            "min_ns": ns(rows["min_ticks"]),
            "max_ns": ns(rows["max_ticks"]),
            "bytes": rows["bytes"],
        }
    )
    return frame if known is None else frame.assign(**of_paths(paths(file, known), rows["path"]))


def times(file, names):
    """Returns a row per row of calls() and power of two in which its calls' times lie."""
    rows, powers = _rows(file)
    of = rows[powers["row"]]
    below = file.clock.span_ns(2.0 ** (powers["power"].astype(float) + 1))
    return pd.DataFrame(
        {
            "thread": of["thread"],
            "function": _names(of, names),
            "comm": of["comm"],
            "path": of["path"],
            "below_ns": below,
            "calls": powers["calls"],
        }
    )
