/* SPDX-License-Identifier: BSD-3-Clause
 * Matches sends and receives of processes that record windows only. They are stored while windows
 * are open, and then matched if times and sizes leave exactly one way to match them (shift.h).
 *
 * A stretch is a window of a process's only thread that uses MPI: all that the process does with
 * MPI in it is known. Overlapping stretches of all processes are matched together when none is open
 * any more. Until then they are in memory: 64 bytes for a send or receive, 2^26 of these at most.
 * Those without a partner are counted by the reason that they came with. */
#ifndef REGTRACE_TOOLS_MESSAGES_LIKELY_MESSAGES_H
#define REGTRACE_TOOLS_MESSAGES_LIKELY_MESSAGES_H

#include "tools/messages/messages.h"
#include "tools/messages/queues.h"

/* SMALL: messages of up to so many bytes are sent at once by all libraries, with or without a
 * receiver. */
enum { LIKELY_SYNCHRONOUS = 1, LIKELY_BUFFERED = 2, LIKELY_SMALL = 1024 };

struct likely_send {
    struct queue_key key;
    uint8_t flags;
    bool dropped, cancelling; /* cancelled, failed or matched; MPI_Cancel was called */
    uint8_t why;              /* unmatched_reason */
    uint32_t stream;
    /* Its call begins and ends; its buffer is free again. INT64_MAX: not in this stretch. */
    int64_t ns, end_ns, done_ns;
    uint64_t bytes;
};

struct likely_receive {
    struct queue_key key;
    uint32_t stream;
    /* wait: number of the call that completed it; 0: that call does not wait. next_of_wait: index +
     * 1 of the next receive of that call; 0: none. */
    uint32_t wait, next_of_wait;
    uint8_t why;
    bool used;
    int64_t ns, received_ns;
    uint64_t bytes, room;
};

/* A call that waited for receives: those that have its number. */
struct likely_wait {
    int64_t ns;
    /* first: index + 1 of its first receive. kept: its receives that are stored. complete: the
     * receives that it completed. */
    uint32_t first, kept, complete;
    bool unclear; /* it may have waited for something else */
};

struct likely_stretch {
    struct likely_stretch *next;
    uint32_t process, stream;
    int32_t window;
    int64_t from, to;
    bool is_open, spoilt;
    struct likely_send *sends;
    struct likely_receive *receives;
    struct likely_wait *waits; /* from 1 on */
    size_t send_count, send_room, receive_count, receive_room, wait_count, wait_room;
};

struct likely;

/* Opens the matching. found: receives each likely message; NULL: nothing is stored. *left counts
 * what is not matched. Returns NULL if there is no memory. */
struct likely *likely_open(const struct comms *comms,
                           void (*found)(void *context, const struct queue_key *key,
                                         const struct likely_send *s,
                                         const struct likely_receive *r),
                           void *context, struct unmatched *left);
void likely_close(struct likely *l);

/* Notes that MPI is up in that process; `level` as in EV_MPI_READY. */
void likely_level(struct likely *l, uint32_t process, int level);
/* Takes a record; must come before everything else that the record causes. Sets *ended if the
 * process's stretch was open and has ended. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int likely_take(struct likely *l, const struct stream_record *r, uint32_t process,
                              bool *ended);
/* Returns whether the process has an open stretch in which everything is known, and `stream` is its
 * thread. */
bool likely_is_open(const struct likely *l, uint32_t process, uint32_t stream);
/* Notes that not everything in the process's open stretch is known. */
void likely_spoil(struct likely *l, uint32_t process);

/* Stores a send. Returns its number in its stretch, or 0 if it is not stored. */
uint32_t likely_add_send(struct likely *l, uint32_t process, const struct likely_send *what);
struct likely_send *likely_sent(struct likely *l, uint32_t process, uint32_t number);
bool likely_add_receive(struct likely *l, uint32_t process, const struct likely_receive *what);
/* Notes that a call that waits has begun. Returns its number, or 0 if it is not stored. */
uint32_t likely_add_wait(struct likely *l, uint32_t process, int64_t ns);
/* Note that the call has completed a receive, or something else that may have taken its time. */
void likely_complete(struct likely *l, uint32_t process, uint32_t wait);
void likely_unclear(struct likely *l, uint32_t process, uint32_t wait);

/* Ends all stretches after the last record. */
RT_MUST_CHECK int likely_end(struct likely *l);

#endif
