/* SPDX-License-Identifier: BSD-3-Clause
 * Sends and receives of processes that record windows alone: kept while windows are open, then joined as far as times and sizes leave one way
 * to do so (shift.h).
 *
 * A stretch is a window of the only thread of a process that uses MPI: all that the process did then is known. Stretches of all processes
 * that overlap are looked at together when none is open; until then they are in memory, 64 bytes a send or receive, 2^26 of them at most. What
 * is not joined is counted by the reason that it was given with. */
#ifndef REGTRACE_TOOLS_MESSAGES_LIKELY_H
#define REGTRACE_TOOLS_MESSAGES_LIKELY_H

#include "tools/messages/messages.h"
#include "tools/messages/ways.h"

/* SMALL: bytes that all libraries send at once, whoever receives. */
enum { LIKELY_SYNCHRONOUS = 1, LIKELY_BUFFERED = 2, LIKELY_SMALL = 1024 };

struct likely_send {
    struct way_key key;
    uint8_t flags;
    bool dropped, cancelling; /* cancelled, or failed; MPI_Cancel was called */
    uint8_t why;              /* emu_unmatched_reason */
    uint32_t stream;
    int64_t ns, end_ns,
        done_ns; /* its call; its buffer is free again: INT64_MAX not in this stretch */
    uint64_t bytes;
};

struct likely_receive {
    struct way_key key;
    uint32_t stream;
    uint32_t wait,
        next_of_wait; /* number of the call that completed it, 0: one that does not wait; the next one's index + 1 */
    uint8_t why;
    bool used;
    int64_t ns, received_ns;
    uint64_t bytes, room;
};

/* A call that has waited for receives, all of them that are of its number. */
struct likely_wait {
    int64_t ns;
    uint32_t first, kept,
        complete; /* receives: index + 1; how many are kept; how many it has completed */
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

/* found: each message that is likely; NULL: nothing is kept. `left` counts what is not. NULL: no memory. */
struct likely *likely_open(const struct emu_comms *comms,
                           void (*found)(void *context, const struct way_key *key,
                                         const struct likely_send *s,
                                         const struct likely_receive *r),
                           void *context, struct emu_unmatched *left);
void likely_close(struct likely *l);

/* MPI is up in that process, `level` as in EV_MPI_READY. */
void likely_level(struct likely *l, uint32_t process, int level);
/* Before all else that a record says. *ended: the process's stretch was open, and is over. 0 or -ENOMEM. */
RT_MUST_CHECK int likely_take(struct likely *l, const struct emu_record *r, uint32_t process,
                              bool *ended);
/* Is everything known that this process does now? `stream`: does it. */
bool likely_is_open(const struct likely *l, uint32_t process, uint32_t stream);
/* From here on it is not, in this stretch. */
void likely_spoil(struct likely *l, uint32_t process);

/* Number of the send in its stretch, 0: it is not kept. */
uint32_t likely_add_send(struct likely *l, uint32_t process, const struct likely_send *what);
struct likely_send *likely_sent(struct likely *l, uint32_t process, uint32_t number);
bool likely_add_receive(struct likely *l, uint32_t process, const struct likely_receive *what);
/* A call that waits has begun; 0: not kept. */
uint32_t likely_add_wait(struct likely *l, uint32_t process, int64_t ns);
/* It has completed a receive; something else that may have taken its time. */
void likely_complete(struct likely *l, uint32_t process, uint32_t wait);
void likely_unclear(struct likely *l, uint32_t process, uint32_t wait);

/* There is no record any more. */
RT_MUST_CHECK int likely_end(struct likely *l);

#endif
