/* SPDX-License-Identifier: BSD-3-Clause
 * Interface between the parts of the program regtrace-events. */
#ifndef REGTRACE_PMU_EVENTS_H
#define REGTRACE_PMU_EVENTS_H

#include "base/names/nearest.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EVENT_TERMS 4

/* An event as the kernel counts it: the sum of terms. */
struct event_answer {
    const char *source;
    char text[900]; /* meaning of the event here, or why it is not available */
    unsigned terms;
    struct event_term {
        int sign;
        uint32_t type; /* these four: from struct perf_event_attr */
        uint64_t config, config1, config2;
    } term[EVENT_TERMS];
};

/* Look up an event, or (about) the library's version and what it sees of this processor. Return
 * false with the reason in a->text. */
bool events_papi_find(const char *name, struct event_answer *a);
bool events_papi_about(struct event_answer *a);
bool events_pfm_find(const char *name, struct event_answer *a);
bool events_pfm_about(struct event_answer *a);

/* Adds one native event of a preset as a term, and writes its full name. Returns false with the
 * reason. */
bool events_pfm_term(const char *name, int sign, struct event_answer *a, char *full, size_t room);

#endif
