/* SPDX-License-Identifier: BSD-3-Clause
 * Between messages.c and message_ends.c: what is known of each thread and process. */
#ifndef REGTRACE_TOOLS_MESSAGES_MESSAGE_ENDS_H
#define REGTRACE_TOOLS_MESSAGES_MESSAGE_ENDS_H

#include "tools/messages/handles.h"
#include "tools/messages/likely.h"
#include "tools/messages/messages.h"
#include "tools/messages/posted.h"
#include "tools/messages/ways.h"

enum { FRAMES = 32, NOBODY = INT32_MIN, PROC_NULL = -2 };

/* Where a send is kept: of those that may be sure, or by its number of those that are likely at best (likely.h); neither: nowhere. */
struct kept_send {
    struct sent *sent;
    uint32_t likely;
};

/* A call that is open. */
struct frame {
    uint32_t function;
    int64_t ns;
    uint64_t a, b;
    struct kept_send sent;
    uint32_t wait; /* number of the call, if it waits (likely.h) */
    struct posted *posted;
    bool looked; /* at all that it is about */
};

struct thread {
    struct frame frames[FRAMES];
    uint32_t depth;
    struct posted *matched; /* its bytes come next */
    bool came_up;           /* MPI_Init was its last call */
};

struct process {
    int64_t whole; /* until then */
    bool is_known; /* MPI has come up, or it sends and receives without; else it may be late */
    struct posted_list posted,
        windowed; /* windowed: while not everything is known, in a stretch (likely.h) */
    struct handles handles;
};

struct emu_messages {
    const struct emu_comms *comms;
    void (*found)(void *context, const struct emu_message *m);
    void *context;
    struct ways *ways;
    struct likely *likely;
    struct process *processes;
    struct thread *threads; /* by stream */
    unsigned *does;         /* by number of function */
    struct emu_unmatched left;
};

/* Whom ways_open() and likely_open() tell. */
void ends_found(void *context, const struct way_key *key, const struct sent *s,
                const struct received *r);
void ends_found_likely(void *context, const struct way_key *key, const struct likely_send *s,
                       const struct likely_receive *r);

/* A send begins, a receive is posted, by the arguments of an enter event (a, b). What cannot have a partner is counted. All: 0 or -ENOMEM. */
RT_MUST_CHECK int ends_send(struct emu_messages *m, const struct emu_record *r, int64_t ns,
                            uint64_t a, uint64_t b, unsigned does, struct kept_send *out,
                            struct rt_error *e);
RT_MUST_CHECK int ends_post(struct emu_messages *m, const struct emu_record *r, int64_t ns,
                            uint64_t a, uint64_t b, unsigned does, struct posted **out,
                            struct rt_error *e);
/* Its call is over; it is complete (dropped: it was never sent). */
void ends_over(struct emu_messages *m, uint32_t process, struct kept_send s, int64_t ns);
void ends_settle(struct emu_messages *m, uint32_t process, struct kept_send s, int64_t ns,
                 bool dropped);
/* What has been received: it is told as far as the order lets it. */
RT_MUST_CHECK int ends_match(struct emu_messages *m, uint32_t process, struct posted *p,
                             int64_t now, struct rt_error *e);
/* A receive has not received anything, and will not. NULL: nothing happens. */
RT_MUST_CHECK int ends_never(struct emu_messages *m, uint32_t process, struct posted *p,
                             int64_t now, struct rt_error *e);
/* The window of a process is over in which not everything before was known: what is open there is given up. */
void ends_window(struct emu_messages *m, const struct emu_record *r);

#endif
