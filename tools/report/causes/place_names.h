/* SPDX-License-Identifier: BSD-3-Clause
 * Gives call paths, functions and named regions of rank files numbers that all ranks share. Each is
 * looked up once. */
#ifndef REGTRACE_TOOLS_REPORT_CAUSES_PLACE_NAMES_H
#define REGTRACE_TOOLS_REPORT_CAUSES_PLACE_NAMES_H

#include "tools/causes/history.h"

/* Of a call path: its call site among the addresses, and its node of the call tree; KEY_NONE:
 * unknown. */
struct named_path {
    uint32_t item, node;
};

struct named_region {
    uint32_t same; /* number of the first one with the same name */
    char *text;    /* its name; NULL: it is not the first one */
};

struct report;

/* Set report and comms, the rest is zero at first; free with place_names_free(). */
struct place_names {
    struct report *report;
    const struct comms *comms;
    struct key_table path_keys, function_keys, region_keys; /* high: process */
    struct named_path *paths;
    uint32_t *functions; /* items of the addresses */
    struct named_region *regions;
    size_t path_room, function_room, region_room;
    bool no_memory; /* a path is unknown because there was no memory */
};

struct named_path place_names_path(struct place_names *n, uint32_t process, uint32_t path);
/* Returns the functions for the history; n must outlive it. */
struct history_names place_names_of(struct place_names *n);
/* Returns the name of a region by its number. */
const char *place_names_region(const struct place_names *n, uint32_t number);
void place_names_free(struct place_names *n);

#endif
