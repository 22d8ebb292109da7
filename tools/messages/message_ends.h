/* SPDX-License-Identifier: BSD-3-Clause
 * State of each thread and process that messages.c and message_ends.c share. */
#ifndef REGTRACE_TOOLS_MESSAGES_MESSAGE_ENDS_H
#define REGTRACE_TOOLS_MESSAGES_MESSAGE_ENDS_H

#include "tools/messages/handle_table.h"
#include "tools/messages/likely_messages.h"
#include "tools/messages/messages.h"
#include "tools/messages/posted_receives.h"
#include "tools/messages/queues.h"

enum { FRAMES = 32, NOBODY = INT32_MIN, PROC_NULL = -2 };

/* A send as stored: `sent` if its message may become certain, `likely` (a number,
 * likely_messages.h) if it
 * is likely at best, or neither. */
struct kept_send {
    struct sent *sent;
    uint32_t likely;
};

/* A call that has not ended. */
struct call_frame {
    uint32_t function;
    int64_t ns;
    uint64_t a, b;
    struct kept_send sent;
    uint32_t wait; /* number of the call, if it waits (likely_messages.h) */
    struct posted *posted;
    bool looked; /* its enter event has real arguments */
};

struct message_thread {
    struct call_frame frames[FRAMES];
    uint32_t depth;
    struct posted *matched; /* its EV_MPI_BYTES comes next */
    bool came_up;           /* its last call was MPI_Init */
};

struct message_process {
    int64_t whole; /* everything is recorded up to this time */
    bool is_known; /* MPI is up, or it sent or received before; else its events may still come */
    /* windowed: those posted in a segment (likely_messages.h) after `whole`. */
    struct posted_list posted, windowed;
    struct handles handles;
};

struct messages {
    const struct comms *comms;
    void (*found)(void *context, const struct message *m);
    void *context;
    struct queues *queues;
    struct likely *likely;
    struct message_process *processes;
    struct message_thread *threads; /* by stream */
    unsigned *does;                 /* by number of function */
    struct unmatched left;
};

/* Callbacks for queues_open() and likely_open(). */
void ends_found(void *context, const struct queue_key *key, const struct sent *s,
                const struct received *r);
void ends_found_likely(void *context, const struct queue_key *key, const struct likely_send *s,
                       const struct likely_receive *r);

/* Begin a send, or post a receive, with the arguments a, b of an enter event. They count those that
 * cannot have a partner. Return 0 or -ENOMEM. */
RT_MUST_CHECK int ends_send(struct messages *m, const struct stream_record *r, int64_t ns,
                            uint64_t a, uint64_t b, unsigned does, struct kept_send *out,
                            struct rt_error *e);
RT_MUST_CHECK int ends_post(struct messages *m, const struct stream_record *r, int64_t ns,
                            uint64_t a, uint64_t b, unsigned does, struct posted **out,
                            struct rt_error *e);
/* Note that the call of a send has ended; that the send is complete (dropped: it was never
 * sent). */
void ends_over(struct messages *m, uint32_t process, struct kept_send s, int64_t ns);
void ends_settle(struct messages *m, uint32_t process, struct kept_send s, int64_t ns,
                 bool dropped);
/* Notes that a receive has matched, and passes on all that the order permits. */
RT_MUST_CHECK int ends_match(struct messages *m, uint32_t process, struct posted *p, int64_t now,
                             struct rt_error *e);
/* Removes a receive that has received nothing and will not. Does nothing if p is NULL. */
RT_MUST_CHECK int ends_never(struct messages *m, uint32_t process, struct posted *p, int64_t now,
                             struct rt_error *e);
/* Ends a segment of the process, and gives up what is open in it. */
void ends_window(struct messages *m, const struct stream_record *r);

#endif
