/* SPDX-License-Identifier: BSD-3-Clause
 * Gives call paths, functions and named regions of rank files numbers that all ranks share. Each is
 * looked up once. */
#ifndef REGTRACE_TOOLS_REPORT_CAUSES_PLACE_NAMES_H
#define REGTRACE_TOOLS_REPORT_CAUSES_PLACE_NAMES_H

#include "tools/causes/history.h"
#include "tools/name_numbers.h"
#include "tools/report/calls/path_places.h"

struct report;

/* Set report and comms, the rest is zero at first; free with place_names_free(). */
struct place_names {
    struct report *report;
    const struct comms *comms;
    struct path_places *paths;      /* by process; NULL: none is known yet */
    uint32_t path_count;            /* processes */
    struct key_table function_keys; /* high: process, low: address */
    uint32_t *functions;            /* items of the addresses */
    size_t function_room;
    struct key_table region_keys; /* high: process, low: string */
    uint32_t *regions;            /* numbers of the names */
    size_t region_room;
    struct names region_names;
    bool no_memory; /* a path is unknown because there was no memory */
};

struct path_place place_names_path(struct place_names *n, uint32_t process, uint32_t path);
/* Returns the functions for the history; n must outlive it. */
struct history_names place_names_of(struct place_names *n);
/* Returns the name of a region by its number. */
const char *place_names_region(const struct place_names *n, uint32_t number);
void place_names_free(struct place_names *n);

#endif
