/* SPDX-License-Identifier: BSD-3-Clause
 * The receives of a process in the order of posting. In processes without numbers (numbers.h), a
 * matched receive gets its number when no receive before it can still take a message of its
 * sender and tag. */
#ifndef REGTRACE_TOOLS_MESSAGES_POSTED_RECEIVES_H
#define REGTRACE_TOOLS_MESSAGES_POSTED_RECEIVES_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum { POSTED_ANY = -1 };

struct posted {
    struct posted *previous, *next;
    uint32_t comm, comm_id, stream; /* comm_id: in its process */
    /* POSTED_ANY: any, or not recorded. Once it has matched, those of the message. */
    int32_t source, tag;
    int64_t ns, end_ns; /* the call that posts it; end_ns INT64_MAX: not ended */
    int64_t received_ns;
    uint32_t received_stream; /* the thread whose call completes it */
    int32_t window;           /* in which it is complete; until then, in which it is posted */
    uint64_t bytes;
    /* Size of the buffer, if the completion may report no size; else 0. */
    uint64_t room;
    uint64_t number; /* of its message */
    bool has_number;
    bool later;  /* `number` is a mark: EV_MPI_NUMBER_LATER brings the number */
    bool untold; /* source and tag become known when it matches */
    bool partitioned;
    bool matched, concurrent;
};

struct posted_list {
    struct posted *first, *last;
    uint32_t matched; /* matched receives that wait for earlier ones */
};

/* Appends a receive. Returns NULL if there is no memory. */
struct posted *posted_add(struct posted_list *l, const struct posted *what);
/* Removes a receive that has received nothing and will not. */
void posted_remove(struct posted_list *l, struct posted *p);
/* Notes that a receive has matched; its source, tag, bytes and received_ns are those of the
 * message. */
void posted_match(struct posted_list *l, struct posted *p);
/* Removes and returns the first receive that can go on; the caller frees it. Returns NULL if there
 * is none. The caller repeats it until then. */
struct posted *posted_next(struct posted_list *l);
void posted_free(struct posted_list *l);

#endif
