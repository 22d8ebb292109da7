/* SPDX-License-Identifier: BSD-3-Clause
 * Finds which rank waits for which, in MPI calls that are not within another one.
 *
 * - Late sender: a receive or a wait begins before the send of its message does. The latest message
 *   counts for MPI_Waitall, the first for MPI_Waitany and MPI_Waitsome.
 * - Late receiver: MPI_Ssend begins before its receive is posted.
 * - Collective: a rank waits from its enter until the last rank enters the same call, or until its
 *   own leave if that is earlier.
 *
 * All ranks of a communicator make its collective calls in the same order. So the k-th call of one
 * rank is the k-th of all, as long as all have recorded everything since MPI_Init (whole.h). The
 * rest is counted. */
#ifndef REGTRACE_TOOLS_MESSAGES_WAIT_STATES_H
#define REGTRACE_TOOLS_MESSAGES_WAIT_STATES_H

#include "tools/messages/messages.h"

enum emu_wait_kind { EMU_LATE_SENDER, EMU_LATE_RECEIVER, EMU_AT_COLLECTIVE, EMU_WAIT_KINDS };
const char *emu_wait_name(enum emu_wait_kind kind);

struct emu_wait {
    enum emu_wait_kind kind;
    uint32_t function;      /* argument of event_mpi_name() */
    int32_t rank, for_rank; /* ranks in MPI_COMM_WORLD */
    int32_t window;
    int64_t begin_ns, ns; /* begin of the call, as in streams.h; duration, more than 0 */
};

struct emu_waits;

/* Opens the analysis; streams and comms must outlive it. told: receives each wait once, in an order
 * that is the same each time. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int emu_waits_open(struct emu_waits **waits, const struct emu_streams *streams,
                                 const struct emu_comms *comms,
                                 void (*told)(void *context, const struct emu_wait *w),
                                 void *context, struct rt_error *e);
/* Take every record, and every message once it is found. emu_waits_take() returns 0 or -ENOMEM. */
RT_MUST_CHECK int emu_waits_take(struct emu_waits *w, const struct emu_record *r,
                                 struct rt_error *e);
void emu_waits_message(struct emu_waits *w, const struct emu_message *m);
/* Reports the last waits when there are no more records and messages. Sets *left to the number of
 * collective calls for which the calls of other ranks are not known. May be called once. */
void emu_waits_end(struct emu_waits *w, uint64_t *left);
void emu_waits_close(struct emu_waits *w);

#endif
