/* SPDX-License-Identifier: BSD-3-Clause
 * The last calls of each thread that may turn out to have waited, or to have made others wait: some
 * thousand a thread. A call is reported when it is forgotten, or at the end. */
#ifndef REGTRACE_TOOLS_WAITS_WAITING_CALLS_H
#define REGTRACE_TOOLS_WAITS_WAITING_CALLS_H

#include "tools/waits/wait_states.h"

/* A call that receives messages, waits for them or for other ranks, or sends a message. */
struct waiting_call {
    int64_t begin, end; /* end INT64_MAX: not ended */
    int64_t until;      /* it could not end earlier; INT64_MIN: not known */
    int64_t cause_ns;   /* time within the other rank's call that came late */
    uint32_t cause_stream;
    struct wait_place cause; /* path 0: not known yet */
    int32_t for_rank, window;
    uint32_t path;
    uint16_t function;
    uint8_t kind; /* enum wait_kind */
};

struct waiting_calls;

/* Opens the calls of that many streams; comms must outlive it. told: receives each wait. Returns
 * NULL without memory. */
struct waiting_calls *waiting_calls_open(const struct comms *comms, uint32_t streams,
                                         void (*told)(void *context, const struct wait_state *w),
                                         void *context);
/* The thread begins a call. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int waiting_calls_enter(struct waiting_calls *w, uint32_t stream, int64_t ns,
                                      int32_t window, uint32_t function);
/* The thread's open call ends, or has no end in the recording. */
void waiting_calls_leave(struct waiting_calls *w, uint32_t stream, int64_t ns, uint32_t path);
void waiting_calls_forget(struct waiting_calls *w, uint32_t stream);
/* Returns the thread's call in which this time lies; NULL: none is known. It is valid until the
 * thread's next enter. */
struct waiting_call *waiting_calls_at(const struct waiting_calls *w, uint32_t stream, int64_t ns);
/* Returns whether a call that waits has to wait until this time, by what is known so far: all that
 * it completes counts for MPI_Waitall, the first for MPI_Waitany. */
bool waiting_call_needs(const struct waiting_call *c, int64_t ns);
/* The call could not end before another rank's call at this time. */
void waiting_calls_until(const struct waiting_calls *w, struct waiting_call *c, enum wait_kind kind,
                         int32_t for_rank, uint32_t stream, int64_t ns);
/* The call completes a request of a meeting, and could not end before its last rank came. */
void waiting_calls_await(const struct waiting_calls *w, struct waiting_call *c, int32_t for_rank,
                         int64_t until, uint32_t cause_stream, int64_t cause_ns,
                         const struct wait_place *cause);
/* Reports the calls that are left. */
void waiting_calls_end(struct waiting_calls *w);
void waiting_calls_close(struct waiting_calls *w);

#endif
