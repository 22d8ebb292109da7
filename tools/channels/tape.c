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
    t->carried = malloc((rows + 1u) * sizeof *t->carried);
    if (t->records == NULL || t->open == NULL || t->carried == NULL) {
        tape_close(t);
        return NULL;
    }
    memset(t->open, 0xff, (rows + 1u) * sizeof *t->open);
    return t;
}

void tape_close(struct tape *t)
{
    if (t == NULL)
        return;
    free(t->records);
    free(t->open);
    free(t->carried);
    free(t);
}

static size_t *open_of(const struct tape *t, const struct taped *r)
{
    return &t->open[r->processor ? t->threads + r->row : r->row];
}

/* Splits the open state of a row: the record that is passed on now gets the end TAPE_OPEN, and the
 * returned record continues the state in the next piece. */
static struct taped carry_on(struct tape *t, const size_t *open, int64_t time)
{
    struct taped *was = &t->records[*open], next = *was;
    next.time = next.end = time > was->time ? time : was->time;
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
    for (uint32_t i = 0; i < t->rows; i++)
        if (t->open[i] != TAPE_NO_STATE && t->open[i] < cut)
            t->carried[n++] = carry_on(t, &t->open[i], time);
    t->take(t->context, t->records, cut);
    memmove(t->records + n, t->records + cut, kept * sizeof *t->records);
    memcpy(t->records, t->carried, n * sizeof *t->records);
    t->count = n + kept;
    memset(t->open, 0xff, t->rows * sizeof *t->open);
    for (size_t i = 0; i < t->count; i++)
        if (t->records[i].end == t->records[i].time)
            *open_of(t, &t->records[i]) = i;
}

size_t tape_place(struct tape *t, int64_t time)
{
    if (t->count == t->room)
        hand_on(t);
    size_t at = t->count++;
    for (; at > 0 && t->records[at - 1].time > time; at--) {
        size_t *moved = open_of(t, &t->records[at - 1]);
        if (*moved == at - 1)
            *moved = at;
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
