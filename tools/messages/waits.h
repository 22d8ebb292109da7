/* SPDX-License-Identifier: BSD-3-Clause
 * Which rank waits for which, in MPI calls that are in no other call.
 *
 * Late sender: a receive or a wait begins before the send that it gets does; of MPI_Waitall the latest message counts, of MPI_Waitany and
 * MPI_Waitsome the first. Late receiver: MPI_Ssend begins before its receive is posted. Collective: from a rank's enter to the last one's of
 * the same call, or to its own leave where that is earlier. Collective calls of a communicator have the same order on all its ranks, so the k-th of
 * one is the k-th of all, for as long as all have recorded everything since MPI_Init (whole.h); the rest is counted. */
#ifndef REGTRACE_TOOLS_MESSAGES_WAITS_H
#define REGTRACE_TOOLS_MESSAGES_WAITS_H

#include "tools/messages/messages.h"

enum emu_wait_kind { EMU_LATE_SENDER, EMU_LATE_RECEIVER, EMU_AT_COLLECTIVE, EMU_WAIT_KINDS };
const char *emu_wait_name(enum emu_wait_kind kind);

struct emu_wait {
    enum emu_wait_kind kind;
    uint32_t function;      /* event_mpi_name() */
    int32_t rank, for_rank; /* of the world */
    int32_t window;
    int64_t begin_ns, ns; /* the call's begin, as in streams.h; how long, more than 0 */
};

struct emu_waits;

/* told: each wait once, in an order that is the same from one time to the next. streams, comms: for as long as this. 0 or -ENOMEM. */
RT_MUST_CHECK int emu_waits_open(struct emu_waits **waits, const struct emu_streams *streams,
                                 const struct emu_comms *comms,
                                 void (*told)(void *context, const struct emu_wait *w),
                                 void *context, struct rt_error *e);
/* Every record; and every message, once it is found. take: 0 or -ENOMEM. */
RT_MUST_CHECK int emu_waits_take(struct emu_waits *w, const struct emu_record *r,
                                 struct rt_error *e);
void emu_waits_message(struct emu_waits *w, const struct emu_message *m);
/* There are no more of both: the last are told. left: collective calls of which nobody knows what the others' calls were. Once. */
void emu_waits_end(struct emu_waits *w, uint64_t *left);
void emu_waits_close(struct emu_waits *w);

#endif
