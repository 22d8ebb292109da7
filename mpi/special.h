/* SPDX-License-Identifier: BSD-3-Clause
 * What the hand-written wrappers share with other files: the world's rank and size, clock
 * measurement. */
#ifndef REGTRACE_MPI_SPECIAL_H
#define REGTRACE_MPI_SPECIAL_H

#include "base/error.h"

#include <stdbool.h>

/* Rank and size in the world of MPI_Init; -1 before it and after MPI_Finalize, and always with
 * sessions alone. */
extern int mpi_world_rank RT_HIDDEN, mpi_world_size RT_HIDDEN;

/* Measures this process's clock offset to rank 0's node and stores it in the stream's header
 * (clock_offset_ns, clock_error_ns, clock_drift; see base/format/stream.h). If the launcher says
 * that all ranks share a node, the offset is 0 and nothing is sent. Otherwise collective over
 * MPI_COMM_WORLD, but only after every rank has agreed without MPI to take part (agreement.h, 2 s
 * at most): it never waits for a rank that is not traced. `final`: the second measurement, which
 * gives the drift. Does nothing if MPI refuses. */
void clocksync_measure(int rank, int size, bool final);

/* Does the launcher's environment tell that all `size` ranks of the job run on this node? */
bool clocksync_one_node_by_launcher(int size);

#endif
