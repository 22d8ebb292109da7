/* SPDX-License-Identifier: BSD-3-Clause
 * Between the readers of regions files (regions.c) and what becomes of PinPoints regions (pinpoints.c). */
#ifndef REGTRACE_CONTROLLER_REGIONS_H
#define REGTRACE_CONTROLLER_REGIONS_H

#include "controller/language.h"

/* What the windows of a chain stand for. Spans of the file; multiplier is empty where the format has none. */
struct region_note {
    const char *label;
    struct span id, weight, multiplier;
};

/* One line of a PinPoints file. Counts are the thread's own, from its first instruction. */
struct pinpoint {
    unsigned line;
    uint64_t tid, start, end;
    struct span id, weight;
    uint64_t warmup, prolog, epilog; /* instructions that there is room for */
};

/* Lines are kept as they come: `rows` with room for one more behind `count`; NULL with the text, and the old ones stay. */
void *region_rows(void *rows, size_t count, size_t *room, size_t size, struct rt_error *err);

struct pinpoints {
    const char *path;
    struct pinpoint *rows;
    size_t count, room;
};

/* Remember one; 0 or -ENOMEM. The chains are made when all are known, since regions leave each other room. */
int pinpoints_keep(struct pinpoints *all, const struct pinpoint *row, struct rt_error *err);
/* Add their chains, in the order of the file. 0, -EINVAL or -ENOMEM; the caller drops what was added. */
int pinpoints_add(struct ctl_builder *builder, struct pinpoints *all, struct rt_error *err);

/* One line of DynamoRIO's intervals: instructions of all threads. */
struct interval {
    unsigned line;
    uint64_t start, duration;
    uint64_t distance; /* from the end of the one before, else from the start of the program */
    const struct interval *after;
    bool awaited;
};

struct intervals {
    const char *path;
    struct interval *rows;
    size_t count, room;
};

/* As with pinpoints. */
int intervals_keep(struct intervals *all, const struct interval *row, struct rt_error *err);
int intervals_add(struct ctl_builder *builder, struct intervals *all, struct rt_error *err);

/* A chain of line `line`, with what it stands for. */
int region_chain_add(struct ctl_builder *builder, const char *path, unsigned line,
                     const struct region_note *note, const char *text, struct rt_error *err);

/* "region 7 weight 0.25", or "region 7 no weight". */
void region_label(char *label, size_t room, const char *before, struct span id, struct span weight);

/* How much of a span is shown. */
int region_shown(struct span text);

#endif
