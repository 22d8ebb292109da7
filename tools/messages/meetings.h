/* SPDX-License-Identifier: BSD-3-Clause
 * Meetings: collective calls that belong together because they have the same communicator and
 * number. Tells which rank waited for which in them. */
#ifndef REGTRACE_TOOLS_MESSAGES_MEETINGS_H
#define REGTRACE_TOOLS_MESSAGES_MEETINGS_H

#include "tools/messages/wait_states.h"

struct meetings;

/* Opens the analysis for that many streams; comms and windows must outlive it. windows: calls in
 * these are counted if they are left; NULL: all. told: receives each wait once all calls of its
 * meeting have ended. Returns NULL without memory. */
struct meetings *meetings_open(const struct comms *comms, uint32_t streams,
                               const struct window_span *windows,
                               void (*told)(void *context, const struct wait_state *w),
                               void *context);
enum { NO_MEETING = UINT32_MAX };
/* Takes the enter of a call that has this number on its communicator (index of comms_all());
 * is_root: it is the root of a rooted call. Sets *part; its meeting is NO_MEETING if how many ranks
 * there are is not known. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int meetings_enter(struct meetings *m, const struct stream_record *r, uint32_t comm,
                                 uint64_t number, uint32_t function, bool is_root,
                                 struct meeting_part *part);
/* The thread's call on this communicator has failed if it has this number: a later call has it.
 * Returns true if it was in a meeting. */
bool meetings_failed(struct meetings *m, uint32_t stream, uint32_t comm, uint64_t number);
/* Takes the leave of the thread's call, if it is in a meeting. */
void meetings_leave(struct meetings *m, uint32_t stream, int64_t ns, uint32_t path);
/* The thread's call has no leave in the recording. */
void meetings_forget(struct meetings *m, uint32_t stream);
/* Reports the last waits. Returns the number of calls for which the calls of other ranks are not
 * known. */
uint64_t meetings_end(struct meetings *m);
void meetings_close(struct meetings *m);

#endif
