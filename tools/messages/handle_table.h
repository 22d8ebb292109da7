/* SPDX-License-Identifier: BSD-3-Clause
 * Stores the requests of a process, and its messages of matched probes, by handle. */
#ifndef REGTRACE_TOOLS_MESSAGES_HANDLE_TABLE_H
#define REGTRACE_TOOLS_MESSAGES_HANDLE_TABLE_H

#include "tools/messages/waiting_ends.h"

#include <stdbool.h>
#include <stdint.h>

struct posted;

/* By `kind`: an active request, the parameters of a persistent one, or the message of a matched
 * probe. */
struct handle_entry {
    struct handle_entry *next;
    enum { ACTIVE, PARAMETERS, MESSAGE } kind;
    uint64_t handle;
    int64_t ns;      /* time at which it was created */
    uint32_t stream; /* its thread */
    bool sends;
    struct message_identity sent; /* the message that it sends */
    struct posted *posted;
    bool is_counted; /* a receive that was counted as one without a partner */
    unsigned does;
    uint64_t a, b;
};

struct handles {
    struct handle_entry *buckets[256]; /* newest entries of a handle first */
};

/* Finds the entry that a call which began at `ns` refers to: the newest one of that kind and handle
 * that existed then. Returns the pointer that links to it, or NULL if there is none. Newer entries
 * may exist: a library may give a handle to its next request before an event shows that the wait
 * for the previous request has ended. */
struct handle_entry **handles_find(struct handles *p, int kind, uint64_t handle, int64_t ns);
RT_MUST_CHECK int handles_add(struct handles *p, const struct handle_entry *what,
                              struct rt_error *e);
/* Removes an entry and returns a copy of it. */
struct handle_entry handles_take(struct handle_entry **at);
/* Removes all entries for which `which` returns true. */
void handles_forget(struct handles *p,
                    bool (*which)(const void *context, const struct handle_entry *x),
                    const void *context);
void handles_free(struct handles *p);

#endif
