/* SPDX-License-Identifier: BSD-3-Clause
 * The communicators of all ranks of a run as one set.
 *
 * Each process numbers its communicators by itself; identities in /comms (share/doc/schema.md) tell
 * which of them are the same. Processes are files, in the order of streams_all(). A
 * communicator of two groups has two sides; the ranks of one side are the peers of the other. */
#ifndef REGTRACE_TOOLS_MESSAGES_COMM_TABLES_H
#define REGTRACE_TOOLS_MESSAGES_COMM_TABLES_H

#include "tools/streams/streams.h"

enum { NO_COMM = UINT32_MAX, NO_PROCESS = UINT32_MAX };

struct comm {
    uint64_t identity;
    uint32_t sides;    /* 1 or 2 */
    uint32_t size[2];  /* ranks of each side; 0: unknown */
    uint32_t first[2]; /* index of each side's first member */
};

struct comms;

/* Opens the set for all files of these streams. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int comms_open(struct comms **comms, const struct streams *streams,
                             struct rt_error *e);
void comms_close(struct comms *c);

/* Returns all communicators that at least one rank has recorded, in an order that is the same each
 * time. */
const struct comm *comms_all(const struct comms *c, uint32_t *count);

/* Return the number of processes, the process of a stream, and the file of a process. */
uint32_t comms_processes(const struct comms *c);
uint32_t comms_process_of(const struct comms *c, uint32_t stream);
const struct rt_rank *comms_file(const struct comms *c, uint32_t process);
/* Returns the process's rank in MPI_COMM_WORLD. */
int32_t comms_world_rank(const struct comms *c, uint32_t process);

/* Returns the communicator that a process calls `id` (column id of /comms), or NO_COMM if it is
 * not known. Sets *side to the group that the process is in. */
uint32_t comms_find(const struct comms *c, uint32_t process, uint32_t id, uint32_t *side);

/* Returns the process that is that rank of that side, or NO_PROCESS if it has not recorded the
 * communicator. */
uint32_t comms_process(const struct comms *c, uint32_t comm, uint32_t side, int32_t rank);

#endif
