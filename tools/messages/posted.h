/* SPDX-License-Identifier: BSD-3-Clause
 * The receives of a process in the order of posting. One that has matched goes on to its way when none before it can still match the same. */
#ifndef REGTRACE_TOOLS_MESSAGES_POSTED_H
#define REGTRACE_TOOLS_MESSAGES_POSTED_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum { POSTED_ANY = -1 };

struct posted {
    struct posted *previous, *next;
    uint32_t comm, stream;
    int32_t source, tag; /* POSTED_ANY: any, or not recorded; when it has matched, of the message */
    int64_t ns, end_ns;  /* the call that posts it; INT64_MAX: not over */
    int64_t received_ns;
    uint64_t bytes;
    uint64_t room; /* of one whose completion may tell nothing, else 0 */
    uint32_t wait; /* what has waited for it (likely.h), 0: none */
    bool matched, concurrent;
    bool windowed, untold,
        probed; /* in the other list; source and tag are not known before; of a matched probe */
};

struct posted_list {
    struct posted *first, *last;
    uint32_t matched; /* those that wait for others */
};

/* Behind all others. NULL: no memory. */
struct posted *posted_add(struct posted_list *l, const struct posted *what);
/* It has not received anything, and will not. */
void posted_remove(struct posted_list *l, struct posted *p);
/* It has: source, tag, bytes and received_ns are those of the message. */
void posted_match(struct posted_list *l, struct posted *p);
/* The first that can go on, and is no longer in the list: to be freed. NULL: none. To be asked until there is none. */
struct posted *posted_next(struct posted_list *l);
void posted_free(struct posted_list *l);

#endif
