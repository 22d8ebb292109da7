/* SPDX-License-Identifier: BSD-3-Clause
 * The communicators of all ranks of a run as one set.
 *
 * Each process has numbers of its own for its communicators; an identity in /comms (share/doc/schema.md) says which of them are the same. Processes
 * are files, by their order in emu_streams_all(). A communicator of two groups has two sides; ranks of one are peers of the other. */
#ifndef REGTRACE_TOOLS_MESSAGES_COMMS_H
#define REGTRACE_TOOLS_MESSAGES_COMMS_H

#include "tools/streams/streams.h"

enum { EMU_NO_COMM = UINT32_MAX, EMU_NO_PROCESS = UINT32_MAX };

struct emu_comm {
    uint64_t identity;
    uint32_t sides;    /* 1 or 2 */
    uint32_t size[2];  /* ranks of each, 0 unknown */
    uint32_t first[2]; /* emu_comms_process() has them from here on */
};

struct emu_comms;

/* Of all files of these streams. 0 or -ENOMEM. */
RT_MUST_CHECK int emu_comms_open(struct emu_comms **comms, const struct emu_streams *streams,
                                 struct rt_error *e);
void emu_comms_close(struct emu_comms *c);

/* All that more than no rank is known of, in an order that is the same from one time to the next. */
const struct emu_comm *emu_comms_all(const struct emu_comms *c, uint32_t *count);

/* Processes, and which one a stream is of. */
uint32_t emu_comms_processes(const struct emu_comms *c);
uint32_t emu_comms_process_of(const struct emu_comms *c, uint32_t stream);
const struct rt_rank *emu_comms_file(const struct emu_comms *c, uint32_t process);
/* Its rank in MPI_COMM_WORLD. */
int32_t emu_comms_world_rank(const struct emu_comms *c, uint32_t process);

/* Which one a process calls `id` (column id of /comms), EMU_NO_COMM: none is known by that. *side: which group the process is in. */
uint32_t emu_comms_find(const struct emu_comms *c, uint32_t process, uint32_t id, uint32_t *side);

/* Who is that rank of that side; EMU_NO_PROCESS: it has not recorded this communicator. */
uint32_t emu_comms_process(const struct emu_comms *c, uint32_t comm, uint32_t side, int32_t rank);

#endif
