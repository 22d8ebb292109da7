/* SPDX-License-Identifier: BSD-3-Clause
 * Makes chains of DynamoRIO's intervals. Each chain waits for the one before it, so that of
 * thousands only one is armed.
 *
 * All counts are over all threads together. If all were armed at once, each thread would have to
 * report to each of them again and again. The overshoot of one interval counts towards the next, so
 * they do not drift. */
#include "controller/regions/regions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

int intervals_keep(struct intervals *all, const struct interval *row, struct rt_error *err)
{
    struct interval *rows = region_rows(all->rows, all->count, &all->room, sizeof *rows, err);
    if (rows == NULL)
        return -ENOMEM;
    all->rows = rows;
    all->rows[all->count++] = *row;
    return 0;
}

static int by_place(const void *a, const void *b)
{
    const struct interval *x = *(struct interval *const *)a, *y = *(struct interval *const *)b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

/* Decides which interval waits for which. An interval that begins inside another waits for none: it
 * counts from the program's start. */
static int place(struct ctl_builder *builder, struct intervals *all, struct rt_error *err)
{
    struct interval **order = calloc(all->count + 1, sizeof(struct interval *)), *before = NULL;
    if (order == NULL) {
        rt_error_set(err, "out of memory");
        return -ENOMEM;
    }
    for (size_t i = 0; i < all->count; i++)
        order[i] = &all->rows[i];
    qsort(order, all->count, sizeof *order, by_place);
    for (size_t i = 0; i < all->count; i++) {
        struct interval *row = order[i];
        row->distance = row->start;
        uint64_t end = before == NULL ? 0 : before->start + before->duration;
        if (before != NULL && (end < before->start || row->start < end)) {
            builder_warn(
                builder,
                "file %.400s line %u: the interval that begins at %llu does so before that "
                "of line %u ends, at %llu; threads are in one window at a time",
                all->path, row->line, (unsigned long long)row->start, before->line,
                (unsigned long long)end);
            continue;
        }
        row->after = before;
        row->distance -= end;
        if (before != NULL)
            before->awaited = true;
        before = row;
    }
    free(order);
    return 0;
}

int intervals_add(struct ctl_builder *builder, struct intervals *all, struct rt_error *err)
{
    int status = place(builder, all, err);
    for (size_t i = 0; i < all->count && status == 0; i++) {
        const struct interval *row = &all->rows[i];
        const struct region_note note = {"interval", {"", 0}, {"", 0}, {"", 0}};
        char text[256];
        int n = snprintf(text, sizeof text,
                         "start:icount:%llu:global:bcast,stop:icount:%llu:global:bcast",
                         (unsigned long long)row->distance, (unsigned long long)row->duration);
        if (row->awaited)
            n += snprintf(text + n, sizeof text - (size_t)n, ",name:interval-%u", row->line);
        if (row->after != NULL)
            (void)snprintf(text + n, sizeof text - (size_t)n, ",waitfor:interval-%u",
                           row->after->line);
        status = region_chain_add(builder, all->path, row->line, &note, text, err);
    }
    return status;
}
