/* SPDX-License-Identifier: BSD-3-Clause
 * The files behind the hand-written wrappers. */
#ifndef REGTRACE_MPI_SPECIAL_H
#define REGTRACE_MPI_SPECIAL_H

#include <stdbool.h>

/* Find this process's clock offset to rank 0's node and store it in the stream's header
 * (clock_offset_ns, clock_error_ns, clock_drift; see base/stream.h). Collective over MPI_COMM_WORLD
 * unless the launcher says that all ranks share a node: then, and on one node, no message but at
 * most one Allgather of 8 bytes, offset 0. `final`: the second measurement, from which the drift
 * follows. Does nothing where MPI refuses. */
void clocksync_measure(int rank, int size, bool final);

/* Does the launcher's environment say that every rank of the job runs on this node? */
bool clocksync_one_node_by_launcher(int size);

#endif
