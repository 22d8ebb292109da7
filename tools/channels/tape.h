/* SPDX-License-Identifier: BSD-3-Clause
 * Sorts shown values by time, and adds to each state its end, which becomes known later. Passes the
 * records on in pieces. A state that is open at the end of a piece is passed on with the end
 * TAPE_OPEN, and again, marked `carried`, when its end is known.
 *
 * A state that another one follows at the same time is left out. If the one before it and the one
 * after it are equal, they become one: clocks that advance in steps give such times.
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
    /* end of a state; TAPE_EVENT: not a state; TAPE_OPEN: comes later; TAPE_LEFT_OUT: skip it */
    int64_t end;
    uint32_t row;
    uint16_t channel;
    bool processor;
    bool carried; /* repeats a state for its end; with TAPE_OPEN the end is still unknown */
};
#define TAPE_EVENT (-1)
#define TAPE_OPEN (-2)
#define TAPE_LEFT_OUT (-3)

/* For tape.c and tape_put() only. */
struct tape {
    struct taped *records;
    size_t count, room;
    size_t *open;          /* by row, threads first: index of its open state */
    size_t *before;        /* and of the state before that */
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

/* A state begins when the row's open one began: leaves that one out. Returns true if the state
 * before it goes on instead. */
bool tape_goes_on(struct tape *t, uint32_t row, uint16_t channel, int64_t time, int64_t value);

/* Adds a record. Times go back by 1 ns at most. state: it ends the row's previous state. */
static inline void tape_put(struct tape *t, bool processor, uint32_t row, uint16_t channel,
                            int64_t time, int64_t value, bool state)
{
    uint32_t of = processor ? t->threads + row : row;
    if (state && t->open[of] != TAPE_NO_STATE && t->records[t->open[of]].time == time &&
        tape_goes_on(t, of, channel, time, value))
        return;
    size_t at = t->count;
    if (at < t->room && at > 0 && t->records[at - 1].time <= time) /* the usual case */
        t->count++;
    else
        at = tape_place(t, time);
    t->records[at] =
        (struct taped){time, value, state ? time : TAPE_EVENT, row, channel, processor, false};
    if (!state)
        return;
    if (t->open[of] != TAPE_NO_STATE)
        t->records[t->open[of]].end = time;
    t->before[of] = t->open[of];
    t->open[of] = at;
}
/* Ends all states and passes on the remaining records. */
void tape_end(struct tape *t, int64_t end);

#endif
