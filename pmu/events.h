/* SPDX-License-Identifier: BSD-3-Clause
 * The parts of the program regtrace-events. */
#ifndef REGTRACE_PMU_EVENTS_H
#define REGTRACE_PMU_EVENTS_H

#include "base/nearest.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EVENT_TERMS 4

/* What the kernel counts for an event: terms that are added up. */
struct event_answer {
    const char *source;
    char text[900]; /* what it means here, or why it cannot be had */
    unsigned terms;
    struct event_term {
        int sign;
        uint32_t type; /* these four: of struct perf_event_attr */
        uint64_t config, config1, config2;
    } term[EVENT_TERMS];
};

/* False with the reason. about: which version, and what it sees of this processor. */
bool events_papi_find(const char *name, struct event_answer *a);
bool events_papi_about(struct event_answer *a);
bool events_pfm_find(const char *name, struct event_answer *a);
bool events_pfm_about(struct event_answer *a);

/* One native event of a preset: a term more, with its full name. False with the reason. */
bool events_pfm_term(const char *name, int sign, struct event_answer *a, char *full, size_t room);

#endif
