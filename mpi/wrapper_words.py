# SPDX-License-Identifier: BSD-3-Clause
"""Pieces of C code that wrappers of both languages have, for generate.py."""

THREAD = "struct recorder_thread *t = &recorder_self;"


def parameters(n):
    return ", ".join(f"mpi_word a{i}" for i in range(n)) or "void"


def types(n):
    return ", ".join(["mpi_word"] * n) or "void"


def outside(lines):
    """The same lines where the call's enter event is not recorded."""
    return [line.replace("(t, window, ", "(t, STREAM_NO_WINDOW, ") for line in lines]


def window_of(lines):
    """C code that keeps the window of the call's enter event, if the lines need it."""
    return (
        ["const int32_t window = t->window;"]
        if any("(t, window, " in line for line in lines)
        else []
    )


def profile_add(number, kind, comm, amount):
    """C code that adds a call to the profile."""
    what = f"mpi_profile_what({number}, depth, {kind}, result == 0)"
    return f"mpi_profile_add(t, call.return_at, end - call.begin, {what}, {comm}, {amount});"
