/* SPDX-License-Identifier: BSD-3-Clause
 * Meetings: collective calls that belong together because they have the same communicator and
 * number. Tells which rank waited for which in them. A nonblocking call waits in the call that
 * completes its request. */
#ifndef REGTRACE_TOOLS_WAITS_MEETINGS_H
#define REGTRACE_TOOLS_WAITS_MEETINGS_H

#include "tools/waits/wait_states.h"

struct meetings;

/* A call that completes a request of a nonblocking collective call, and the rank that came late. */
struct awaited_meeting {
    uint32_t stream; /* the thread of the call that completes */
    int64_t ns;      /* when that call began */
    int64_t until;   /* when the last rank came */
    int32_t for_rank;
    uint32_t cause_stream; /* as for_stream and for_ns of struct wait_state */
    int64_t cause_ns;
    struct wait_place cause;
};

/* Get what a meeting has found, once all its calls have ended. */
struct meeting_hooks {
    void (*told)(void *context, const struct wait_state *w); /* waits of blocking calls */
    void *context;
    void (*awaited)(void *context, const struct awaited_meeting *a);
    void *awaited_context;
};

/* Opens the analysis for that many streams; comms and windows must outlive it. windows: calls in
 * these are counted if they are left; NULL: all. Returns NULL without memory. */
struct meetings *meetings_open(const struct comms *comms, uint32_t streams,
                               const struct window_span *windows,
                               const struct meeting_hooks *hooks);
enum { NO_MEETING = UINT32_MAX };
/* A collective call that begins. */
struct meeting_call {
    uint32_t stream;
    int64_t begin;
    int32_t window;
    uint32_t comm;   /* index of comms_all() */
    uint64_t number; /* on its communicator */
    uint16_t function;
    bool is_root;  /* the root of a rooted call */
    bool is_later; /* nonblocking */
};
/* Takes the enter of a call. Sets *part; its meeting is NO_MEETING if how many ranks there are is
 * not known. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int meetings_enter(struct meetings *m, const struct meeting_call *call,
                                 struct meeting_part *part);
/* The thread's call on this communicator has failed if it has this number: a later call has it.
 * Returns true if it was in a meeting. */
bool meetings_failed(struct meetings *m, uint32_t stream, uint32_t comm, uint64_t number);
/* Takes the leave of the thread's call, if it is in a meeting. request: that a nonblocking call has
 * made; 0: none. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int meetings_leave(struct meetings *m, uint32_t stream, int64_t ns, uint32_t path,
                                 uint64_t request);
/* A call of the thread, which began at `ns`, completes a request of its process. waits: it may have
 * waited for that. Sets *part to what it depends on. Returns false if the request is not that of a
 * call in a meeting. */
bool meetings_complete(struct meetings *m, uint32_t stream, uint64_t request, int64_t ns,
                       bool waits, struct meeting_part *part);
/* The thread's call has no leave in the recording, and what completes its requests is not seen. */
void meetings_forget(struct meetings *m, uint32_t stream);
/* Reports the last waits. Returns the number of calls for which the calls of other ranks are not
 * known. */
uint64_t meetings_end(struct meetings *m);
void meetings_close(struct meetings *m);

#endif
