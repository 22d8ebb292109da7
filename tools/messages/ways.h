/* SPDX-License-Identifier: BSD-3-Clause
 * Queues of messages: in each, the sends and receives of one communicator, sender, receiver and tag
 * wait for each other, in their order. */
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
    int64_t ns, end_ns; /* its call begins and ends */
    uint64_t bytes;
    uint32_t stream;
    bool over;       /* the call has ended */
    bool settled;    /* it can no longer be cancelled */
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
/* Frees all queues, without counting; ways_end() counts. */
void ways_close(struct ways *w);

/* Adds a send whose call has begun. It is valid until both ways_over() and ways_settle() have been
 * called for it. Returns NULL if there is no memory. */
struct sent *ways_send(struct ways *w, const struct way_key *key, const struct sent *what);
/* Note that the call of a send has ended; that it can no longer be cancelled, or (dropped) was
 * cancelled or has failed. */
void ways_over(struct ways *w, struct sent *s, int64_t ns);
void ways_settle(struct ways *w, struct sent *s, bool dropped);
/* Adds a matched receive, in the order of posting. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int ways_receive(struct ways *w, const struct way_key *key,
                               const struct received *what);
/* Returns whether a partner already waits there for a receive (else a send) that comes now. */
bool ways_expects(const struct ways *w, const struct way_key *key, bool a_receive);
/* At the end: settles the sends of processes with complete recordings, unless MPI_Cancel was called
 * for them. */
void ways_settle_all(struct ways *w, bool (*whole)(const void *context, uint32_t sender),
                     const void *context);
/* Counts what has no partner. */
void ways_end(struct ways *w);

#endif
