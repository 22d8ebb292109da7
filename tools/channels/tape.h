/* SPDX-License-Identifier: BSD-3-Clause
 * Sorts what channels show by time, and adds to each state its end, which is known later. Hands the
 * records on in pieces. A state that is open at the end of a piece is handed on with the end
 * TAPE_OPEN, and again, marked `carried`, when its end is known.
 *
 * Memory: 8 MiB, or 256 bytes a row where that is more. */
#ifndef REGTRACE_TOOLS_CHANNELS_TAPE_H
#define REGTRACE_TOOLS_CHANNELS_TAPE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct taped {
    int64_t time, value;
    int64_t end; /* of a state; TAPE_EVENT: not a state; TAPE_OPEN: comes later */
    uint32_t row;
    uint16_t channel;
    bool processor;
    bool carried; /* repeats a state for its end; with TAPE_OPEN the end is still unknown */
};
#define TAPE_EVENT (-1)
#define TAPE_OPEN (-2)

/* tape.c's own, but for tape_put(). */
struct tape {
    struct taped *records;
    size_t count, room;
    size_t *open;          /* by row, threads first: where its state is */
    struct taped *carried; /* by row: while records are handed on */
    uint32_t threads, rows;
    void (*take)(void *context, const struct taped *first, size_t count);
    void *context;
};
#define TAPE_NO_STATE SIZE_MAX

/* take: gets the next ones, in the order of time. NULL: no memory. */
struct tape *tape_open(uint32_t threads, uint32_t processors,
                       void (*take)(void *context, const struct taped *first, size_t count),
                       void *context) RT_MUST_CHECK;
void tape_close(struct tape *t);

/* Room for one more, and where it belongs. */
size_t tape_place(struct tape *t, int64_t time);

/* Times go back by 1 ns at most. state: it ends the row's state before it. */
static inline void tape_put(struct tape *t, bool processor, uint32_t row, uint16_t channel,
                            int64_t time, int64_t value, bool state)
{
    size_t at = t->count;
    if (at < t->room && at > 0 && t->records[at - 1].time <= time) /* most often */
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
/* All states end, and the rest is handed on. */
void tape_end(struct tape *t, int64_t end);

#endif
