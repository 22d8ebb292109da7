/* SPDX-License-Identifier: BSD-3-Clause
 * What is known of a process's requests and messages of matched probes, by handle. */
#ifndef REGTRACE_TOOLS_EMU_HANDLES_H
#define REGTRACE_TOOLS_EMU_HANDLES_H

#include "base/error.h"

#include <stdint.h>

struct sent;
struct posted;

/* A request, its parameters where it is persistent, or the message of a matched probe: by what kind says. */
struct entry {
    struct entry *next;
    enum { ACTIVE, PARAMETERS, MESSAGE } kind;
    uint64_t handle;
    struct sent *sent;
    struct posted *posted;
    unsigned does;
    uint64_t a, b;
};

struct handles {
    struct entry *buckets[256]; /* of one handle the oldest first */
};

/* Where the oldest of that kind and handle hangs; NULL: there is none. */
struct entry **find_entry(struct handles *p, int kind, uint64_t handle);
RT_MUST_CHECK int add_entry(struct handles *p, const struct entry *what, struct rt_error *e);
/* It is taken out. */
struct entry take_entry(struct entry **at);
void handles_free(struct handles *p);

#endif
