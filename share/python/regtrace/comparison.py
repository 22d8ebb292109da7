# SPDX-License-Identifier: BSD-3-Clause
"""Compares runs, by the figures of `regtrace report` and `regtrace diff`."""

import warnings

import numpy as np
import pandas as pd

from regtrace import toolkit
from regtrace.errors import IncompleteWarning


def _figures(figures):
    """Returns the figures of a window, or of all; those that are not known are NaN."""
    whole = ("processes", "unfinished_processes", "dropped")
    return {
        name: value if name in whole else np.nan if value is None else float(value)
        for name, value in figures.items()
        if name not in ("dir", "why_not", "windows", "windows_ns", "ordinal")
    }


def efficiency_rows(runs, stacklevel):
    """Returns the rows of efficiency()."""
    found = []
    for run in toolkit.ask(runs, "report", "--efficiency", "--json")["runs"]:
        if run["why_not"]:
            warnings.warn(
                f"{run['dir']}: {run['why_not']}", IncompleteWarning, stacklevel=stacklevel + 1
            )
        found += [
            {"run": run["dir"], "window": w.get("ordinal"), **_figures(w)}
            for w in (run, *run["windows"])
        ]
    return pd.DataFrame(found).astype({"window": "Int64"})


def efficiency(*runs):
    """Returns a row per run and window, as Run.efficiency(), of several runs (Run or path).

    `run` is the run's folder. The rows of whole runs have computation_scaling, instruction_scaling
    and ipc_scaling, relative to the first run.
    """
    return efficiency_rows(runs, 2)


def diff(run1, run2):
    """Returns what differs between two runs (Run or path), as `regtrace diff` compares them.

    A row per table and name. Of each quantity there are the values of both runs (QUANTITY_1,
    QUANTITY_2), the difference, and whether it is significant: more than noise. Texts and numbers
    that are not known are NA.
    """
    tables = [
        _flat(table, rows)
        for table, rows in toolkit.ask((run1, run2), "diff", "--json").items()
        if _is_table(rows)
    ]
    frame = (
        pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=["table", "name"])
    )
    for column in frame:
        if column.endswith("_significant"):
            frame[column] = frame[column].astype("boolean")
        elif not column.startswith(("table", "name")):
            frame[column] = pd.to_numeric(frame[column])
    return frame


def _is_table(rows):
    return (
        isinstance(rows, list) and len(rows) > 0 and isinstance(rows[0], dict) and "name" in rows[0]
    )


def _flat(table, rows):
    flat = pd.json_normalize(rows, sep="_").rename(
        columns=lambda name: name.replace("_run_", "_").replace("stands_out", "significant")
    )
    flat.insert(0, "table", table)
    return flat
