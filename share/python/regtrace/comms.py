# SPDX-License-Identifier: BSD-3-Clause
"""Joins the communicators of all ranks by their identities in /comms (share/doc/schema.md)."""

import pandas as pd

WORLD, SELF = 1, 2
_MANY = 0xFFFF  # shared by all communicators that came after too many


def _rows(file):
    """Returns (rows of communicators with a known identity, whether MPI_COMM_WORLD has a row).

    A row is (id, identity, sides, rank in the communicator, size).
    """
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
    """Returns how many ranks the communicator of these rows has, in both groups together.

    Returns None if two processes claim the same rank in it.
    """
    sides = 2 if rows[0][3] & 1 else 1
    size, who = [0, 0], {}
    for rank, _, _, side, place, told in rows:
        own = 1 if sides == 2 and side & 2 else 0
        if who.setdefault((own, place), rank) != rank:
            return None
        other = own ^ (sides - 1)  # with two groups, `told` is the size of the other group
        size[other] = max(size[other], told)
        size[own] = max(size[own], place + 1)
    return sum(size)


def known(files):
    """Returns a row per rank and communicator: rank, comm, key, members, sides; all int64.

    comm: the number that the rank's file gives the communicator. key: its number on all ranks.
    members: how many ranks it has. sides: how many groups, 1 or 2. A communicator that cannot be
    told from others has no row.
    """
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
