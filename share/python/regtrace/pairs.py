# SPDX-License-Identifier: BSD-3-Clause
"""Matches enters with their leaves on one thread."""

import numpy as np


def _by_level(edge):
    """Pairs edges of which no leave lacks its enter: an enter with the next edge on its level."""
    depth = np.cumsum(edge)
    level = np.where(edge > 0, depth, depth + 1)
    order = np.argsort(level, kind="stable")
    starts = edge[order] > 0
    closed = np.zeros(len(order), dtype=bool)
    closed[:-1] = starts[:-1] & ~starts[1:] & (level[order][:-1] == level[order][1:])
    at = np.flatnonzero(closed)
    return order[at], order[at + 1]


def _by_stack(edge, key):
    """Pairs edges if some are missing, one by one: a leave ends the nearest enter of its key."""
    stack, begins, ends = [], [], []
    for i in range(len(edge)):
        if edge[i] > 0:
            stack.append(i)
            continue
        for depth in range(len(stack) - 1, -1, -1):
            if key[stack[depth]] == key[i]:
                begins.append(stack[depth])
                ends.append(i)
                del stack[depth:]
                break
    return np.array(begins, dtype=np.int64), np.array(ends, dtype=np.int64)


def match(edge, key, gap):
    """Pairs the edges of one thread, which are in the order of time.

    edge: +1 enter, -1 leave. key: equal in the edges of a pair. gap: true if events were lost
    before the edge; nothing is paired across a gap. Returns (begins, ends, alone, depth): the
    positions of the pairs, ordered by begin, the positions of edges without a partner, and the
    depth of each pair (0: outermost).
    """
    edge = np.asarray(edge, dtype=np.int64)
    key = np.asarray(key)
    begins, ends = [], []
    bounds = np.concatenate(([0], np.flatnonzero(gap), [len(edge)]))
    for low, high in zip(bounds[:-1], bounds[1:]):
        if low == high:
            continue
        part, part_key = edge[low:high], key[low:high]
        whole = np.cumsum(part).min() >= 0
        b, e = _by_level(part) if whole else (None, None)
        if not whole or not np.array_equal(part_key[b], part_key[e]):
            b, e = _by_stack(part, part_key)
        begins.append(b + low)
        ends.append(e + low)
    b = np.concatenate(begins) if begins else np.empty(0, dtype=np.int64)
    e = np.concatenate(ends) if ends else np.empty(0, dtype=np.int64)
    order = np.argsort(b, kind="stable")
    b, e = b[order], e[order]
    alone = np.ones(len(edge), dtype=bool)
    alone[b] = False
    alone[e] = False
    step = np.zeros(len(edge) + 1, dtype=np.int64)
    step[b] = 1
    step[e] = -1
    return b, e, np.flatnonzero(alone), np.cumsum(step)[b] - 1
