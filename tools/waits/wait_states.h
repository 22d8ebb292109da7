/* SPDX-License-Identifier: BSD-3-Clause
 * Finds which rank waits for which, in MPI calls that are not within another one.
 *
 * - Late sender: a receive or a wait begins before the send of its message does. The latest message
 *   counts for MPI_Waitall, the first for MPI_Waitany and MPI_Waitsome.
 * - Late receiver: MPI_Ssend begins before its receive is posted.
 * - Collective: a rank waits from its enter until the last rank enters the same call, or until its
 *   own leave if that is earlier.
 *
 * All ranks of a communicator give its k-th collective call the number k, inside and outside
 * windows (mpi/numbers.h). So the calls of all ranks belong together that have the same number. In
 * recordings of an older regtrace the calls are counted, as long as all ranks have recorded
 * everything since MPI_Init (recorded_until.h). The rest is counted as unknown. */
#ifndef REGTRACE_TOOLS_WAITS_WAIT_STATES_H
#define REGTRACE_TOOLS_WAITS_WAIT_STATES_H

#include "tools/waits/ideal_times.h"
#include "tools/messages/messages.h"

enum wait_kind { WAIT_LATE_SENDER, WAIT_LATE_RECEIVER, WAIT_AT_COLLECTIVE, WAIT_KINDS };
const char *wait_kind_name(enum wait_kind kind);

/* Where an MPI call was made. */
struct wait_place {
    uint32_t function; /* argument of event_mpi_name(); EVENT_MPI_FUNCTIONS_MOST: unknown */
    uint32_t stream;   /* thread, as in streams.h */
    uint32_t path;     /* call path in the thread's file; 0: unknown */
};

struct wait_state {
    enum wait_kind kind;
    int32_t rank, for_rank; /* ranks in MPI_COMM_WORLD */
    int32_t window;
    int64_t begin_ns, ns; /* begin of the call, as in streams.h; duration, more than 0 */
    /* The thread for which it waited, and when its call that came late began: in a broadcast or a
     * scatter those of the root, if it came after this rank, although for_rank came last. */
    uint32_t for_stream;
    int64_t for_ns;
    /* The call that waited, and the other rank's call that came late: its send, the call that
     * posts its receive, its entry of the collective call. */
    struct wait_place site, cause;
};

struct wait_states;

/* Opens the analysis; streams, comms and windows must outlive it. windows: wait_states_windows() is
 * wanted, of these; NULL: it is not. told: receives each wait once, in an order that is the same
 * each time. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int wait_states_open(struct wait_states **waits, const struct streams *streams,
                                   const struct comms *comms, const struct window_span *windows,
                                   void (*told)(void *context, const struct wait_state *w),
                                   void *context, struct rt_error *e);
/* Take every record, and every message once it is found. wait_states_take() returns 0 or
 * -ENOMEM. */
RT_MUST_CHECK int wait_states_take(struct wait_states *w, const struct stream_record *r,
                                   struct rt_error *e);
void wait_states_message(struct wait_states *w, const struct message *m);
/* Returns where a message that was just found was sent; path 0 if that is not known. */
struct wait_place wait_states_sender(const struct wait_states *w, const struct message *m);
/* Reports the last waits when there are no more records and messages. Sets *left to the number of
 * collective calls, in the windows of wait_states_open(), for which the calls of other ranks are
 * not known. May be called once. */
void wait_states_end(struct wait_states *w, uint64_t *left);
/* Returns the windows that processes have ended or begun, by ordinal; valid until
 * wait_states_close(). NULL without memory. Fills in *all, of those that are wanted. Call it once,
 * at the end. */
const struct ideal_window *wait_states_windows(struct wait_states *w, size_t *count,
                                               struct ideal_run *all);
void wait_states_close(struct wait_states *w);

#endif
