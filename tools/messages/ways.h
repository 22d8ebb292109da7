/* SPDX-License-Identifier: BSD-3-Clause
 * Ways of messages: of one communicator, sender, receiver and tag. Sends and receives wait there for each other, each in their order. */
#ifndef REGTRACE_TOOLS_MESSAGES_WAYS_H
#define REGTRACE_TOOLS_MESSAGES_WAYS_H

#include "tools/messages/messages.h"

struct way_key {
    uint32_t comm, sender, receiver; /* processes */
    int32_t tag;
};

struct way;

struct sent {
    struct sent *next;
    struct way *way;
    int64_t ns, end_ns; /* its call */
    uint64_t bytes;
    uint32_t stream;
    bool over;       /* the call is */
    bool settled;    /* it can be cancelled no more */
    bool cancelling; /* MPI_Cancel was called for it */
    bool dropped;    /* it was cancelled, or has failed */
    bool concurrent;
};

struct received {
    struct received *next;
    int64_t ns, received_ns;
    uint64_t bytes; /* RECEIVED_ANY: not known, at most `room` */
    uint64_t room;
    uint32_t stream;
    bool concurrent;
};
#define RECEIVED_ANY UINT64_MAX

struct ways;

struct ways *ways_open(void (*found)(void *context, const struct way_key *key, const struct sent *s,
                                     const struct received *r),
                       void *context, struct emu_unmatched *left);
/* What waits is counted before. */
void ways_close(struct ways *w);

/* A call that sends has begun. Its send is gone when it is settled (or dropped) and over. NULL: no memory. */
struct sent *ways_send(struct ways *w, const struct way_key *key, const struct sent *what);
/* Its call is over; it can be cancelled no more, or (dropped) was, or has failed. */
void ways_over(struct ways *w, struct sent *s, int64_t ns);
void ways_settle(struct ways *w, struct sent *s, bool dropped);
/* A receive has matched, in the order of posting. -ENOMEM. */
RT_MUST_CHECK int ways_receive(struct ways *w, const struct way_key *key,
                               const struct received *what);
/* Does a receive (else a send) that comes now have a partner there, waiting? */
bool ways_expects(const struct ways *w, const struct way_key *key, bool a_receive);
/* At the end: sends of processes whose recording is whole, and that nobody has tried to cancel, are settled. */
void ways_settle_all(struct ways *w, bool (*whole)(const void *context, uint32_t sender),
                     const void *context);
/* Count what is left. */
void ways_end(struct ways *w);

#endif
