# SPDX-License-Identifier: BSD-3-Clause
"""Reads runs that regtrace recorded, as pandas frames.

    import regtrace
    run = regtrace.open("regtrace-app-1234")  # the run's folder, its regtrace.h5, or one rank file
    run.ranks                                 # one row per traced process
    run.windows()                             # one row per thread and window
    run.mpi_calls(rank=0)                     # one row per MPI call
    run.events(window=3, code="MPI_Send")     # the raw records

All times are int64 nanoseconds on one clock for all ranks; `origin` of open() chooses time 0.
"""

import sys

try:
    import h5py  # noqa: F401
    import numpy  # noqa: F401
    import pandas  # noqa: F401
except ModuleNotFoundError as _missing:
    if _missing.name not in ("h5py", "numpy", "pandas"):
        raise
    raise ModuleNotFoundError(
        f"regtrace: {sys.executable} has no {_missing.name}: install python3-h5py and "
        "python3-pandas, or use a Python that has "
        "them, perhaps /usr/bin/python3", name=_missing.name) from None  # fmt: skip

from regtrace.codes import ANY_SOURCE, ANY_TAG, PROC_NULL, ROOT, Flag
from regtrace.comparison import diff, efficiency
from regtrace.errors import IncompleteWarning, RegtraceError
from regtrace.run import Run

__all__ = [
    "ANY_SOURCE",
    "ANY_TAG",
    "PROC_NULL",
    "ROOT",
    "Flag",
    "IncompleteWarning",
    "RegtraceError",
    "Run",
    "diff",
    "efficiency",
    "open",
]
__version__ = "0.1.0"


def open(path, origin="run", tool=None):
    """Opens a run: its folder, its regtrace.h5 or one of its rank files. Returns a Run.

    origin: time 0. "run": the start of the run's earliest thread, as in `regtrace report`;
    "monotonic": that of CLOCK_MONOTONIC on rank 0's node; "realtime": the Unix epoch.
    tool: the command regtrace, which waits() and others start; by default the one that this package
    was installed with, or that of PATH.

    Each method reads the files anew, so a run that is still going on shows more each time. Raises
    RegtraceError, whose text names the remedy.
    """
    return Run(path, origin, tool)
