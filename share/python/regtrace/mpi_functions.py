# SPDX-License-Identifier: BSD-3-Clause
"""What MPI functions do. Made from mpi/functions.list by mpi/generate.py: do not edit.

Names are without the suffix _c of large-count variants.
"""
# fmt: off

# Calls that send a message.
SENDS = frozenset({
    "MPI_Bsend",
    "MPI_Ibsend",
    "MPI_Irsend",
    "MPI_Isend",
    "MPI_Isendrecv",
    "MPI_Isendrecv_replace",
    "MPI_Issend",
    "MPI_Rsend",
    "MPI_Send",
    "MPI_Sendrecv",
    "MPI_Sendrecv_replace",
    "MPI_Ssend",
})

# Calls that receive a message before they return.
RECEIVES_IN_CALL = frozenset({
    "MPI_Recv",
    "MPI_Sendrecv",
    "MPI_Sendrecv_replace",
})

# Calls that begin to receive a message.
RECEIVES_LATER = frozenset({
    "MPI_Irecv",
})

# Calls that start persistent requests.
STARTS = frozenset({
    "MPI_Start",
    "MPI_Startall",
})

# Calls that may wait for a sender.
WAITS = frozenset({
    "MPI_Mrecv",
    "MPI_Recv",
    "MPI_Sendrecv",
    "MPI_Sendrecv_replace",
    "MPI_Wait",
    "MPI_Waitall",
    "MPI_Waitany",
    "MPI_Waitsome",
})

# No rank leaves these before every rank has entered.
SYNCHRONIZING = frozenset({
    "MPI_Allgather",
    "MPI_Allgatherv",
    "MPI_Allreduce",
    "MPI_Alltoall",
    "MPI_Barrier",
})

# Calls that may wait for other ranks of their communicator.
COLLECTIVES = frozenset({
    "MPI_Allgather",
    "MPI_Allgatherv",
    "MPI_Allreduce",
    "MPI_Alltoall",
    "MPI_Alltoallv",
    "MPI_Alltoallw",
    "MPI_Barrier",
    "MPI_Bcast",
    "MPI_Cart_create",
    "MPI_Cart_sub",
    "MPI_Comm_create",
    "MPI_Comm_dup",
    "MPI_Comm_dup_with_info",
    "MPI_Comm_split",
    "MPI_Comm_split_type",
    "MPI_Dist_graph_create",
    "MPI_Dist_graph_create_adjacent",
    "MPI_Exscan",
    "MPI_File_open",
    "MPI_Gather",
    "MPI_Gatherv",
    "MPI_Graph_create",
    "MPI_Intercomm_merge",
    "MPI_Reduce",
    "MPI_Reduce_scatter",
    "MPI_Reduce_scatter_block",
    "MPI_Scan",
    "MPI_Scatter",
    "MPI_Scatterv",
    "MPI_Win_allocate",
    "MPI_Win_allocate_shared",
    "MPI_Win_create",
    "MPI_Win_create_dynamic",
    "MPI_Win_fence",
    "MPI_Win_free",
})

# Calls that initialize MPI.
INITIALIZES = frozenset({
    "MPI_Init",
    "MPI_Init_thread",
})
