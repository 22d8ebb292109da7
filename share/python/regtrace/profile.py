# SPDX-License-Identifier: BSD-3-Clause
"""Makes frames of profiles of MPI calls (REGTRACE_MODE=profile; share/doc/schema.md)."""

import pandas as pd

from regtrace.errors import RegtraceError


def _rows(file):
    """Returns /mpi_profile and /mpi_profile_times; None without a profile."""
    try:
        return file.table("mpi_profile"), file.table("mpi_profile_times")
    except RegtraceError:
        return None


def _names(rows, names):
    return pd.array([names.get(int(code), pd.NA) for code in rows["code"]], dtype="string")


def calls(file, names):
    """Returns a row per thread, function, communicator and call path. names: event code -> name."""
    found = _rows(file)
    if found is None:
        return pd.DataFrame()
    rows, ns = found[0], file.clock.span_ns
    return pd.DataFrame({
        "thread": rows["thread"], "function": _names(rows, names), "comm": rows["comm"], "nested": rows["nested"] != 0,
        "path": rows["path"], "calls": rows["calls"], "total_ns": ns(rows["ticks"]), "min_ns": ns(rows["min_ticks"]),
        "max_ns": ns(rows["max_ticks"]), "bytes": rows["bytes"],
    })  # fmt: skip


def times(file, names):
    """Returns a row per row of calls() and power of two in which its calls' times lie."""
    found = _rows(file)
    if found is None:
        return pd.DataFrame()
    rows, powers = found
    of = rows[powers["row"]]
    below = file.clock.span_ns(2.0 ** (powers["power"].astype(float) + 1))
    return pd.DataFrame({"thread": of["thread"], "function": _names(of, names), "comm": of["comm"], "path": of["path"],
                         "below_ns": below, "calls": powers["calls"]})  # fmt: skip
