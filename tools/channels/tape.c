/* SPDX-License-Identifier: BSD-3-Clause
 * Sorts shown values by time and passes them on in pieces. */
#include "tools/channels/tape.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST = 1 << 18, A_ROW = 8 }; /* records: minimum of a tape; for each row */

struct tape *tape_open(uint32_t threads, uint32_t processors,
                       void (*take)(void *context, const struct taped *first, size_t count),
                       void *context)
{
    struct tape *t = calloc(1, sizeof *t);
    uint32_t rows = threads + processors;
    if (t == NULL)
        return NULL;
    *t = (struct tape){.threads = threads, .rows = rows, .take = take, .context = context};
    t->room = (size_t)rows * A_ROW > LEAST ? (size_t)rows * A_ROW : LEAST;
    t->records = malloc(t->room * sizeof *t->records);
    t->open = malloc((rows + 1u) * sizeof *t->open);
    t->before = malloc((rows + 1u) * sizeof *t->before);
    t->carried = malloc((rows + 1u) * sizeof *t->carried);
    if (t->records == NULL || t->open == NULL || t->before == NULL || t->carried == NULL) {
        tape_close(t);
        return NULL;
    }
    memset(t->open, 0xff, (rows + 1u) * sizeof *t->open);
    memset(t->before, 0xff, (rows + 1u) * sizeof *t->before);
    return t;
}

void tape_close(struct tape *t)
{
    if (t == NULL)
        return;
    free(t->records);
    free(t->open);
    free(t->before);
    free(t->carried);
    free(t);
}

static uint32_t row_of(const struct tape *t, const struct taped *r)
{
    return r->processor ? t->threads + r->row : r->row;
}

/* Returns the state of a row that may end in the next piece: the open one, or the one before it if
 * tape_goes_on() may open it again. */
static size_t unfinished(const struct tape *t, uint32_t row, size_t cut, int64_t time)
{
    size_t open = t->open[row], before = t->before[row];
    if (open != TAPE_NO_STATE && open >= cut && before < cut && t->records[before].end >= time)
        return before;
    return open;
}

/* Splits a state: the record that is passed on now gets the end TAPE_OPEN, and the returned record
 * continues the state in the next piece. */
static struct taped carry_on(struct tape *t, size_t state, int64_t time)
{
    struct taped *was = &t->records[state], next = *was;
    bool open = was->end == was->time;
    next.time = time > was->time ? time : was->time;
    next.end = open ? next.time : was->end;
    next.carried = true;
    was->end = TAPE_OPEN;
    return next;
}

/* Passes on all records except those that a later record may still precede. */
static void hand_on(struct tape *t)
{
    size_t cut = t->count, n = 0;
    int64_t time = t->records[t->count - 1].time - 1;
    while (cut > t->room / 2 && t->records[cut - 1].time >= time)
        cut--;
    size_t kept = t->count - cut;
    for (uint32_t i = 0; i < t->rows; i++) {
        size_t state = unfinished(t, i, cut, time);
        if (state < cut)
            t->carried[n++] = carry_on(t, state, time);
    }
    t->take(t->context, t->records, cut);
    memmove(t->records + n, t->records + cut, kept * sizeof *t->records);
    memcpy(t->records, t->carried, n * sizeof *t->records);
    t->count = n + kept;
    memset(t->open, 0xff, t->rows * sizeof *t->open);
    memset(t->before, 0xff, t->rows * sizeof *t->before);
    for (size_t i = 0; i < t->count; i++) {
        uint32_t row = row_of(t, &t->records[i]);
        if (t->records[i].end == TAPE_EVENT || t->records[i].end == TAPE_LEFT_OUT)
            continue;
        t->before[row] = t->open[row];
        t->open[row] = i; /* the last state of a row is open */
    }
}

bool tape_goes_on(struct tape *t, uint32_t row, uint16_t channel, int64_t time, int64_t value)
{
    struct taped *open = &t->records[t->open[row]];
    if (open->carried) /* the end of this one has not been passed on */
        return false;
    struct taped *before = t->before[row] == TAPE_NO_STATE ? NULL : &t->records[t->before[row]];
    open->end = TAPE_LEFT_OUT;
    t->open[row] = t->before[row];
    if (before == NULL || before->end != time || before->value != value ||
        before->channel != channel)
        return false;
    before->end = before->time; /* open again */
    t->before[row] = TAPE_NO_STATE;
    return true;
}

size_t tape_place(struct tape *t, int64_t time)
{
    if (t->count == t->room)
        hand_on(t);
    size_t at = t->count++;
    for (; at > 0 && t->records[at - 1].time > time; at--) {
        uint32_t row = row_of(t, &t->records[at - 1]);
        if (t->open[row] == at - 1)
            t->open[row] = at;
        if (t->before[row] == at - 1)
            t->before[row] = at;
        t->records[at] = t->records[at - 1];
    }
    return at;
}

void tape_end(struct tape *t, int64_t end)
{
    for (uint32_t i = 0; i < t->rows; i++)
        if (t->open[i] != TAPE_NO_STATE)
            t->records[t->open[i]].end = end;
    t->take(t->context, t->records, t->count);
    t->count = 0;
}
