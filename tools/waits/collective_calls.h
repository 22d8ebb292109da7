/* SPDX-License-Identifier: BSD-3-Clause
 * Collective calls as the threads make them: their numbers, their requests, and the communicators
 * that they make. Brings them to meetings.h and to the ideal network. */
#ifndef REGTRACE_TOOLS_WAITS_COLLECTIVE_CALLS_H
#define REGTRACE_TOOLS_WAITS_COLLECTIVE_CALLS_H

#include "tools/waits/meetings.h"

struct collective_calls;

/* Opens the analysis for that many streams; comms, windows and steps must outlive it. windows: as
 * in meetings_open(). steps: NULL if the ideal network is not wanted. Returns NULL without
 * memory. */
struct collective_calls *collective_calls_open(const struct comms *comms, uint32_t streams,
                                               const struct window_span *windows,
                                               struct ideal_steps *steps,
                                               const struct meeting_hooks *hooks);
/* Take the enter of any MPI call, and the leave of an outermost one. is_nested: it is within
 * another one; then it waits for nobody, but has its number. Return 0 or -ENOMEM. */
RT_MUST_CHECK int collective_calls_enter(struct collective_calls *c, const struct stream_record *r,
                                         uint32_t function, bool is_nested);
RT_MUST_CHECK int collective_calls_leave(struct collective_calls *c, const struct stream_record *r,
                                         uint32_t path);
/* Take EV_MPI_COLLECTIVE_NUMBER; EV_MPI_COMM in an outermost call; EV_MPI_READY: `came_up`: of
 * MPI_Init in a window. Return 0 or -ENOMEM. */
RT_MUST_CHECK int collective_calls_number(struct collective_calls *c,
                                          const struct stream_record *r);
RT_MUST_CHECK int collective_calls_made_comm(struct collective_calls *c,
                                             const struct stream_record *r);
void collective_calls_ready(struct collective_calls *c, const struct stream_record *r,
                            bool came_up);
/* Takes EV_MPI_COMPLETE in the thread's call of that function, which began at `begin`. */
void collective_calls_complete(struct collective_calls *c, const struct stream_record *r,
                               uint32_t function, int64_t begin);
/* A window of the thread opens. The recording gives the numbers of its calls anew. */
void collective_calls_window(struct collective_calls *c, uint32_t stream);
/* The thread's window closes, or events are missing. */
void collective_calls_forget(struct collective_calls *c, uint32_t stream);
/* Reports the last waits. Returns the number of calls for which those of other ranks are not
 * known. */
uint64_t collective_calls_end(struct collective_calls *c);
void collective_calls_close(struct collective_calls *c);

#endif
