/* SPDX-License-Identifier: BSD-3-Clause
 * The files behind the hand-written wrappers. */
#ifndef REGTRACE_MPI_SPECIAL_H
#define REGTRACE_MPI_SPECIAL_H

#include "base/error.h"

#include <stdbool.h>

/* Of the world that MPI_Init made; -1 before and behind it, and always with sessions alone. */
extern int mpi_world_rank RT_HIDDEN, mpi_world_size RT_HIDDEN;

/* Find this process's clock offset to rank 0's node and store it in the stream's header
 * (clock_offset_ns, clock_error_ns, clock_drift; see base/format/stream.h). Where the launcher says that all ranks
 * share a node: offset 0, nothing is sent. Else collective over MPI_COMM_WORLD, but only after every rank has said
 * without MPI that it takes part (agreement.h, 2 s at most): a rank that is not traced is never waited for. `final`: the
 * second measurement, from which the drift follows. Does nothing where MPI refuses. */
void clocksync_measure(int rank, int size, bool final);

/* Does the launcher's environment say that every rank of the job runs on this node? */
bool clocksync_one_node_by_launcher(int size);

#endif
