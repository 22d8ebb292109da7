/* SPDX-License-Identifier: BSD-3-Clause
 * Queues of messages: in each, the sends and receives of one communicator, sender, receiver and tag
 * wait for each other, in their order. */
#ifndef REGTRACE_TOOLS_MESSAGES_QUEUES_H
#define REGTRACE_TOOLS_MESSAGES_QUEUES_H

#include "tools/messages/messages.h"

struct queue_key {
    uint32_t comm, sender, receiver; /* processes */
    int32_t tag;
};

struct queue;

struct sent {
    struct sent *next;
    struct queue *queue;
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

struct queues;

struct queues *queues_open(void (*found)(void *context, const struct queue_key *key,
                                         const struct sent *s, const struct received *r),
                           void *context, struct unmatched *left);
/* Frees all queues, without counting; queues_end() counts. */
void queues_close(struct queues *q);

/* Adds a send whose call has begun. It is valid until both queues_over() and queues_settle() have
 * been called for it. Returns NULL if there is no memory. */
struct sent *queues_send(struct queues *q, const struct queue_key *key, const struct sent *what);
/* Note that the call of a send has ended; that it can no longer be cancelled, or (dropped) was
 * cancelled or has failed. */
void queues_over(struct queues *q, struct sent *s, int64_t ns);
void queues_settle(struct queues *q, struct sent *s, bool dropped);
/* Adds a matched receive, in the order of posting. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int queues_receive(struct queues *q, const struct queue_key *key,
                                 const struct received *what);
/* Returns whether a partner already waits there for a receive (else a send) that comes now. */
bool queues_expects(const struct queues *q, const struct queue_key *key, bool a_receive);
/* At the end: settles the sends of processes with complete recordings, unless MPI_Cancel was called
 * for them. */
void queues_settle_all(struct queues *q, bool (*whole)(const void *context, uint32_t sender),
                       const void *context);
/* Counts what has no partner. */
void queues_end(struct queues *q);

#endif
