#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Test program: mpi4py, whose MPI library is loaded RTLD_LOCAL, with an attribute that is deleted
inside MPI_Finalize."""
import array

from mpi4py import MPI

comm = MPI.COMM_WORLD
key = MPI.Comm.Create_keyval(delete_fn=lambda c, k, v: None)
comm.Set_attr(key, "value")
right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
out, room = array.array("d", [comm.rank] * 4), array.array("d", [0] * 4)
comm.Sendrecv(out, right, 3, room, left, 3)
assert room[0] == left
total = array.array("i", [0])
comm.Allreduce(array.array("i", [1]), total)
assert total[0] == comm.size
if comm.rank == 0:
    print("done")
