# SPDX-License-Identifier: BSD-3-Clause
"""Defines event codes and selects events by them.

A code has model, category and value in its three low bytes (share/doc/schema.md).
"""

import difflib
import enum
import fnmatch
import warnings

import numpy as np

from regtrace.errors import IncompleteWarning, RegtraceError

ANY_SOURCE = -1
ANY_TAG = -1
PROC_NULL = -2
ROOT = -3
ABSENT = -(2**31)  # the call has no peer, or no tag


class Flag(enum.IntFlag):
    """The `flags` column of events."""

    CUT = 0x04  # the real edge lies outside the window
    LATE = 0x08  # the edge came later than requested
    NESTED = 0x10  # made inside another recorded MPI call
    FORTRAN = 0x20  # reached through a Fortran entry point
    PATH = 0x40  # the leave of an MPI call: b is its call path


def code(text):
    """Returns the number of a code from its three bytes as text, for example "RW[" of a window."""
    return ord(text[0]) | ord(text[1]) << 8 | ord(text[2]) << 16


WINDOW_OPEN = code("RW[")
WINDOW_CLOSE = code("RW]")
DROPPED = code("RDd")
MPI_COMPLETE = code("MCc")
MPI_BYTES = code("MCb")
MPI_CALL_PATH = code("MCp")
MPI_CANCELLED = code("MCx")
FUNCTION_ENTER = code("FEe")
FUNCTION_LEAVE = code("FLl")
REGION_BEGIN = code("GR[")
REGION_END = code("GR]")
MARK_TYPE = code("KTt")
MARK_LABEL = code("KTl")
MARK_PUSH = code("KM[")
MARK_POP = code("KM]")
MARK_SET = code("KM=")
COUNTER = code("PCc")
SAMPLE = code("PSs")
SAMPLE_CALLERS = code("PSc")

# A byte holds 256 numbers of MPI functions, so further ones have other categories: category -> its
# first number.
_ENTER = {ord("E"): 0, ord("e"): 256, ord("B"): 512}
_LEAVE = {ord("L"): 0, ord("l"): 256, ord("D"): 512}


def mpi_edges(codes):
    """Returns (edge, function) for an array of codes.

    edge: int8, +1 enter, -1 leave, 0 neither. function: int32, the number of the MPI function.
    """
    codes = np.asarray(codes, dtype=np.uint32)
    category = (codes >> 8) & 0xFF
    function = (codes >> 16) & 0xFF
    edge = np.zeros(len(codes), dtype=np.int8)
    is_mpi = (codes & 0xFF) == ord("M")
    for table, sign in ((_ENTER, 1), (_LEAVE, -1)):
        for letter, first in table.items():
            here = is_mpi & (category == letter)
            edge[here] = sign
            function = np.where(here, function + first, function)
    return edge, function.astype(np.int32)


def select(wanted, names, level=3):
    """Returns the codes that `wanted` selects, sorted, as uint32.

    wanted: a number, a name or pattern ("MPI_Send", "MPI_*", "EV_REGION_*"), or a list of those.
    names: code -> name. An MPI function that the run never called has no name there, so it selects
    nothing, with a warning (level: its stacklevel, for the caller's caller). Raises RegtraceError
    for other names that no kind of event has.
    """
    if isinstance(wanted, (str, int, np.integer)):
        wanted = [wanted]
    found = set()
    for item in wanted:
        if not isinstance(item, str):
            found.add(int(item))
            continue
        hits = {c for c, name in names.items() if fnmatch.fnmatchcase(name, item)}
        if not hits and not any(c in item for c in "*?["):
            near = difflib.get_close_matches(item, set(names.values()), n=3, cutoff=0.6)
            hint = "; near it: " + ", ".join(near) if near else ""
            if not item.startswith(("MPI_", "MPIX_")):
                raise RegtraceError(
                    f"no event is called {item!r}: names are those of run.event_names(){hint}"
                )
            warnings.warn(
                f"nobody called {item} in this run{hint}", IncompleteWarning, stacklevel=level
            )
        found |= hits
    return np.array(sorted(found), dtype=np.uint32)
