#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Mini-application in Python: pi by mpi4py, whose MPI library is dlopen'ed RTLD_LOCAL.

usage: pi.py [INTERVALS]    The output depends on the argument and the number of ranks alone.
"""
import sys

from mpi4py import MPI


def main():
    world = MPI.COMM_WORLD
    rank, size = world.Get_rank(), world.Get_size()
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    MPI.Pcontrol(1)
    parts = [4.0 / (1.0 + ((i + 0.5) / n) ** 2) for i in range(rank, n, size)]
    mine = sum(parts) / n
    gathered = world.gather(mine, root=0)
    MPI.Pcontrol(0)
    message = world.sendrecv({"rank": rank}, dest=(rank + 1) % size, source=(rank - 1) % size)
    # mpi4py runs this attribute's callback inside MPI_Finalize.
    keyval = MPI.Comm.Create_keyval(delete_fn=lambda comm, key, value: None)
    MPI.COMM_SELF.Set_attr(keyval, "kept")
    if rank == 0:
        print(f"pi {sum(gathered):.12f}, from {message['rank']}, ranks {size}")


main()
