# SPDX-License-Identifier: BSD-3-Clause
"""The communicators of all ranks as one set, by the identities in /comms (share/doc/schema.md)."""

import pandas as pd

WORLD, SELF = 1, 2
_MANY = 0xFFFF  # the number of all that came when there were too many


def _rows(file):
    """(id, identity, sides, rank in it, size) of those of which it is known which they are; and whether the world has a row."""
    table, world = file.table("comms"), False
    if "identity" not in table.dtype.names:  # files of earlier versions
        return [], False
    rows = []
    for r in table:
        number, identity = int(r["id"]), int(r["identity"])
        world |= number == WORLD
        if identity != 0 and number != _MANY:
            rows.append((number, identity, int(r["sides"]), int(r["rank"]), int(r["size"])))
    return rows, world


def _members(rows):
    """How many ranks one identity has, of both groups; None where two processes say they are the same one of it."""
    sides = 2 if rows[0][3] & 1 else 1
    size, who = [0, 0], {}
    for rank, _, _, side, place, told in rows:
        own = 1 if sides == 2 and side & 2 else 0
        if who.setdefault((own, place), rank) != rank:
            return None
        other = own ^ (sides - 1)  # with two groups `size` is the other one's
        size[other] = max(size[other], told)
        size[own] = max(size[own], place + 1)
    return sum(size)


def known(files):
    """One row per rank and communicator that it calls `comm`: `key`, the same number on all ranks that have it, `members`, how many they are,
    and `sides`, its groups. Communicators that nobody can tell from others have no row."""
    found, nameless = [], []
    for f in files:
        if f.process != 0:
            continue
        rows, world = _rows(f)
        found += [(f.rank, *row) for row in rows]
        if not world:
            nameless.append((f.rank, WORLD, 0, f.rank, f.size))
    of_world = next((row[2] for row in found if row[1] == WORLD), 0)
    found += [(rank, number, of_world, sides, place, size) for rank, number, sides, place, size in nameless]
    by_identity = {}
    for row in found:
        by_identity.setdefault(row[2], []).append(row)
    out = []
    for key, rows in enumerate(by_identity.values()):
        members = _members(rows)
        if members is not None:
            out += [(row[0], row[1], key, members, 2 if row[3] & 1 else 1) for row in rows]
    return pd.DataFrame(out, columns=["rank", "comm", "key", "members", "sides"], dtype="int64").drop_duplicates(["rank", "comm"])
