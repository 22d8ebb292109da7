/* SPDX-License-Identifier: BSD-3-Clause
 * What is known of a process's requests and messages of matched probes, by handle. */
#ifndef REGTRACE_TOOLS_MESSAGES_HANDLES_H
#define REGTRACE_TOOLS_MESSAGES_HANDLES_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct sent;
struct posted;

/* A request, its parameters where it is persistent, or the message of a matched probe: by what kind says. */
struct entry {
    struct entry *next;
    enum { ACTIVE, PARAMETERS, MESSAGE } kind;
    uint64_t handle;
    int64_t ns; /* since then */
    struct sent *sent;
    uint32_t likely; /* number of its send (likely.h), 0: none */
    bool slow;       /* of a send: whoever awaits it may wait for the receiver */
    struct posted *posted;
    unsigned does;
    uint64_t a, b;
};

struct handles {
    struct entry *buckets[256]; /* of one handle the newest first */
};

/* Whom a call meant that began at `ns`: where the newest of that kind and handle hangs that was there then; NULL: none was. A library gives a
 * handle to the next request before the thread that waited for the last one is heard of again. */
struct entry **find_entry(struct handles *p, int kind, uint64_t handle, int64_t ns);
RT_MUST_CHECK int add_entry(struct handles *p, const struct entry *what, struct rt_error *e);
/* It is taken out. */
struct entry take_entry(struct entry **at);
/* Of all for which that is true. */
void handles_forget(struct handles *p, bool (*which)(const void *context, const struct entry *x),
                    const void *context);
void handles_free(struct handles *p);

#endif
