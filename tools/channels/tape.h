/* SPDX-License-Identifier: BSD-3-Clause
 * Sorts shown values by time, and adds to each state its end, which becomes known later. Passes the
 * records on in pieces. A state that is open at the end of a piece is passed on with the end
 * TAPE_OPEN, and again, marked `carried`, when its end is known.
 *
 * Memory: 8 MiB, or 256 bytes a row if that is more. */
#ifndef REGTRACE_TOOLS_CHANNELS_TAPE_H
#define REGTRACE_TOOLS_CHANNELS_TAPE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct taped {
    int64_t time, value;
    int64_t end; /* end of a state; TAPE_EVENT: not a state; TAPE_OPEN: comes later */
    uint32_t row;
    uint16_t channel;
    bool processor;
    bool carried; /* repeats a state for its end; with TAPE_OPEN the end is still unknown */
};
#define TAPE_EVENT (-1)
#define TAPE_OPEN (-2)

/* For tape.c and tape_put() only. */
struct tape {
    struct taped *records;
    size_t count, room;
    size_t *open;          /* by row, threads first: index of its open state */
    struct taped *carried; /* one for each row, used while records are passed on */
    uint32_t threads, rows;
    void (*take)(void *context, const struct taped *first, size_t count);
    void *context;
};
#define TAPE_NO_STATE SIZE_MAX

/* Opens a tape. take: receives the next records in the order of time. Returns NULL if there is no
 * memory. */
struct tape *tape_open(uint32_t threads, uint32_t processors,
                       void (*take)(void *context, const struct taped *first, size_t count),
                       void *context) RT_MUST_CHECK;
void tape_close(struct tape *t);

/* Makes room for one more record where its time belongs; returns its index. */
size_t tape_place(struct tape *t, int64_t time);

/* Adds a record. Times go back by 1 ns at most. state: it ends the row's previous state. */
static inline void tape_put(struct tape *t, bool processor, uint32_t row, uint16_t channel,
                            int64_t time, int64_t value, bool state)
{
    size_t at = t->count;
    if (at < t->room && at > 0 && t->records[at - 1].time <= time) /* the usual case */
        t->count++;
    else
        at = tape_place(t, time);
    t->records[at] =
        (struct taped){time, value, state ? time : TAPE_EVENT, row, channel, processor, false};
    if (!state)
        return;
    size_t *open = &t->open[processor ? t->threads + row : row];
    if (*open != TAPE_NO_STATE)
        t->records[*open].end = time;
    *open = at;
}
/* Ends all states and passes on the remaining records. */
void tape_end(struct tape *t, int64_t end);

#endif
