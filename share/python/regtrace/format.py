# SPDX-License-Identifier: BSD-3-Clause
# fmt: off
# Made by base/format/translate.py; do not edit.
"""The numbers and words of rank files, and the fields in the payload of events."""

import numpy as np

WINDOW_REASONS = {  # why a window ended
    0: "alarm",
    1: "end of program",
    2: "end of thread",
    3: "fork",
    4: "exec",
    5: "API",
    252: "exited with the process",
    253: "size limit",
    254: "killed",
    255: "open",
}
WINDOW_KINDS = {  # what a window is for
    0: "region",
    1: "warm-up",
    2: "prolog",
    3: "epilog",
}
CONTROL_EVENTS = {  # what an alarm does when it fires
    0: "start",
    1: "stop",
    2: "precond",
    3: "threadid",
    4: "warmup-start",
    5: "warmup-stop",
    6: "prolog-start",
    7: "prolog-stop",
    8: "epilog-start",
    9: "epilog-stop",
    10: "stats-emit",
    11: "stats-reset",
    12: "stats-emit-reset",
}
FIRED_FLAGS = {  # bits of the flags of fired alarms
    1: "bcast",
    2: "late",
    4: "precond",
    8: "ignored",
    16: "default_start",
    32: "api",
    64: "closes",
}
LOSSES = {  # why events are not in a file
    1: "dropped",
    2: "incomplete",
    3: "unthreaded",
    4: "strings",
    5: "chunks",
    6: "stream_gone",
    7: "storage",
}
MEMORY_ENDS = {  # how a window's memory trace ended
    0: "with the window",
    1: "left by a jump or an exception",
    2: "no room",
    3: "within a function",
    4: "never begun",
}

# Of each event: field -> word (a or b), first bit, number of bits.
FIELDS = {
    "EV_FIRED": {
        "event": ("a", 0, 8),
        "alarm": ("a", 8, 16),
        "tid": ("a", 24, 32),
        "flags": ("a", 56, 8),
        "ip": ("b", 0, 64),
    },
    "EV_WINDOW_OPEN": {
        "ordinal": ("a", 0, 32),
        "bcast": ("a", 32, 1),
        "firing": ("a", 33, 1),
        "late_ticks": ("b", 0, 64),
    },
    "EV_WINDOW_CLOSE": {
        "ordinal": ("a", 0, 32),
        "reason": ("a", 32, 32),
        "late_ticks": ("b", 0, 64),
    },
    "EV_DROPPED": {
        "events": ("a", 0, 64),
        "ticks": ("b", 0, 64),
    },
    "EV_WAITED": {
        "ticks": ("a", 0, 64),
    },
    "EV_FORK": {
        "pid": ("a", 0, 64),
    },
    "EV_EXEC": {
        "path": ("a", 0, 32),
    },
    "EV_IMAGE": {
        "path": ("a", 0, 32),
        "base": ("b", 0, 64),
    },
    "EV_AFFINITY": {
        "processors": ("a", 0, 32),
        "first": ("a", 32, 32),
        "sum": ("b", 0, 64),
    },
    "EV_MEMORY": {
        "bytes": ("a", 0, 64),
        "end": ("b", 0, 64),
    },
    "EV_INTERRUPTED": {
        "calls": ("a", 0, 64),
    },
    "EV_MPI_READY": {
        "rank": ("a", 0, 32),
        "size": ("a", 32, 32),
        "thread_level": ("b", 0, 8),
        "abi": ("b", 8, 24),
        "numbered": ("b", 32, 1),
        "all_numbered": ("b", 33, 1),
    },
    "EV_MPI_ENTER": {
        "peer": ("a", 0, 32),
        "tag": ("a", 32, 32),
        "bytes": ("b", 0, 48),
        "comm": ("b", 48, 16),
    },
    "EV_MPI_LEAVE": {
        "request": ("a", 0, 64),
        "path": ("b", 0, 32),
        "bytes": ("b", 0, 48),
        "comm": ("b", 48, 16),
    },
    "EV_MPI_COMPLETE": {
        "request": ("a", 0, 64),
        "source": ("b", 0, 32),
        "tag": ("b", 32, 32),
    },
    "EV_MPI_BYTES": {
        "request": ("a", 0, 64),
        "bytes": ("b", 0, 64),
    },
    "EV_MPI_STARTED": {
        "request": ("a", 0, 64),
    },
    "EV_MPI_MESSAGE": {
        "message": ("a", 0, 64),
    },
    "EV_MPI_RECEIVE": {
        "source": ("a", 0, 32),
        "tag": ("a", 32, 32),
        "bytes": ("b", 0, 64),
    },
    "EV_MPI_CANCELLED": {
        "request": ("a", 0, 64),
    },
    "EV_MPI_CALL_PATH": {
        "path": ("a", 0, 32),
    },
    "EV_MPI_SEND_NUMBER": {
        "peer": ("a", 0, 32),
        "tag": ("a", 32, 32),
        "number": ("b", 0, 47),
        "comm": ("b", 48, 16),
    },
    "EV_MPI_RECEIVE_NUMBER": {
        "source": ("a", 0, 32),
        "tag": ("a", 32, 32),
        "number": ("b", 0, 47),
        "later": ("b", 47, 1),
        "comm": ("b", 48, 16),
    },
    "EV_MPI_NUMBER_LATER": {
        "mark": ("a", 0, 64),
        "number": ("b", 0, 64),
    },
    "EV_MPI_COLLECTIVE_NUMBER": {
        "number": ("a", 0, 64),
        "comm": ("b", 0, 16),
    },
    "EV_MPI_COMM": {
        "comm": ("a", 0, 32),
        "rank": ("a", 32, 32),
        "size": ("b", 0, 32),
        "parent": ("b", 32, 32),
    },
    "EV_MPI_PCONTROL": {
        "level": ("a", 0, 32),
        "name": ("b", 0, 32),
    },
    "EV_FUNCTION_ENTER": {
        "address": ("a", 0, 64),
        "call_site": ("b", 0, 64),
    },
    "EV_FUNCTION_LEAVE": {
        "address": ("a", 0, 64),
        "path": ("b", 0, 32),
    },
    "EV_REGION_BEGIN": {
        "region": ("a", 0, 32),
        "path": ("b", 0, 32),
    },
    "EV_REGION_END": {
        "region": ("a", 0, 32),
    },
    "EV_MARK_TYPE": {
        "type": ("a", 0, 32),
        "flags": ("a", 32, 32),
        "title": ("b", 0, 32),
    },
    "EV_MARK_LABEL": {
        "type": ("a", 0, 32),
        "label": ("a", 32, 32),
        "value": ("b", 0, 64),
    },
    "EV_MARK_PUSH": {
        "type": ("a", 0, 64),
        "value": ("b", 0, 64),
    },
    "EV_MARK_POP": {
        "type": ("a", 0, 64),
        "value": ("b", 0, 64),
    },
    "EV_MARK_SET": {
        "type": ("a", 0, 64),
        "value": ("b", 0, 64),
    },
    "EV_THREADID": {
        "alarm": ("a", 0, 64),
        "tid": ("b", 0, 64),
    },
    "EV_STATS_EMIT": {
        "alarm": ("a", 0, 64),
        "tid": ("b", 0, 64),
    },
    "EV_STATS_RESET": {
        "alarm": ("a", 0, 64),
        "tid": ("b", 0, 64),
    },
    "EV_STATS_EMIT_RESET": {
        "alarm": ("a", 0, 64),
        "tid": ("b", 0, 64),
    },
    "EV_SIGNAL_ENTER": {
        "signal": ("a", 0, 64),
        "ip": ("b", 0, 64),
    },
    "EV_SIGNAL_LEAVE": {
        "signal": ("a", 0, 64),
    },
    "EV_SAMPLE": {
        "ip": ("a", 0, 64),
        "periods": ("b", 0, 32),
        "callers": ("b", 32, 32),
        "path": ("b", 32, 32),
    },
    "EV_SAMPLE_CALLERS": {
        "caller": ("a", 0, 64),
        "next": ("b", 0, 64),
    },
    "EV_COUNTER": {
        "event": ("a", 0, 32),
        "count": ("b", 0, 64),
        "running_per_mille": ("a", 32, 32),
    },
    "EV_MPI_COUNTER": {
        "event": ("a", 0, 32),
        "count": ("b", 0, 64),
        "running_per_mille": ("a", 32, 32),
    },
    "EV_STATS_COUNTER": {
        "event": ("a", 0, 32),
        "count": ("b", 0, 64),
        "running_per_mille": ("a", 32, 32),
    },
}


def field(words, event, name):
    """Returns a field of events.

    words: rows of /events, or what else has the unsigned 64-bit words a and b; event: a name of
    FIELDS. Returns unsigned 64-bit numbers."""
    word, first, bits = FIELDS[event][name]
    return words[word] >> np.uint64(first) & np.uint64((1 << bits) - 1)
