/* SPDX-License-Identifier: BSD-3-Clause
 * Interface between the reader of regions files (regions.c) and the makers of chains (pinpoints.c,
 * intervals.c). */
#ifndef REGTRACE_CONTROLLER_REGIONS_REGIONS_H
#define REGTRACE_CONTROLLER_REGIONS_REGIONS_H

#include "controller/language/language.h"

/* The region that a chain's windows represent. The spans point into the file; multiplier is empty
 * if the format has none. */
struct region_note {
    const char *label;
    struct span id, weight, multiplier;
};

/* One line of a PinPoints file. Counts are the thread's own, from its first instruction on. */
struct pinpoint {
    unsigned line;
    uint64_t tid, start, end;
    struct span id, weight;
    uint64_t warmup, prolog, epilog; /* instructions for which there is room */
};

/* Makes room for one more row after `count`. Returns the rows, or NULL with the text; the old rows
 * stay valid then. */
void *region_rows(void *rows, size_t count, size_t *room, size_t size, struct rt_error *err);

struct pinpoints {
    const char *path;
    struct pinpoint *rows;
    size_t count, room;
};

/* Remembers one line. Returns 0 or -ENOMEM. The chains are made when all lines are known, because
 * regions limit each other's room. */
int pinpoints_keep(struct pinpoints *all, const struct pinpoint *row, struct rt_error *err);
/* Adds the chains in the order of the file. Returns 0, -EINVAL or -ENOMEM; after a failure the
 * caller drops what was added. */
int pinpoints_add(struct ctl_builder *builder, struct pinpoints *all, struct rt_error *err);

/* One line of DynamoRIO's intervals: instructions counted over all threads. */
struct interval {
    unsigned line;
    uint64_t start, duration;
    uint64_t distance; /* from the end of the interval before, or from the program's start */
    const struct interval *after;
    bool awaited;
};

struct intervals {
    const char *path;
    struct interval *rows;
    size_t count, room;
};

/* As pinpoints_keep() and pinpoints_add(). */
int intervals_keep(struct intervals *all, const struct interval *row, struct rt_error *err);
int intervals_add(struct ctl_builder *builder, struct intervals *all, struct rt_error *err);

/* Adds a chain made of line `line`, and the region that it represents. */
int region_chain_add(struct ctl_builder *builder, const char *path, unsigned line,
                     const struct region_note *note, const char *text, struct rt_error *err);

/* Writes "region 7 weight 0.25", or "region 7 no weight". */
void region_label(char *label, size_t room, const char *before, struct span id, struct span weight);

/* Returns how many characters of a span to show. */
int region_shown(struct span text);

#endif
