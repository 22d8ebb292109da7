/* SPDX-License-Identifier: BSD-3-Clause
 * Makes chains of PinPoints regions: warm-up, prolog, the region itself and epilog follow each
 * other in one chain.
 *
 * Regions of a thread share the room between them: an epilog takes room first, then the next
 * region's prolog, then its warm-up. If one part ended and the next began at the same count, both
 * would be due at once, in an undefined order. So what follows another region begins one
 * instruction later. */
#include "controller/regions/regions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int pinpoints_keep(struct pinpoints *all, const struct pinpoint *row, struct rt_error *err)
{
    struct pinpoint *rows = region_rows(all->rows, all->count, &all->room, sizeof *rows, err);
    if (rows == NULL)
        return -ENOMEM;
    all->rows = rows;
    all->rows[all->count++] = *row;
    return 0;
}

static int by_place(const void *a, const void *b)
{
    const struct pinpoint *x = *(struct pinpoint *const *)a, *y = *(struct pinpoint *const *)b;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

static uint64_t take(uint64_t *room, uint64_t wanted)
{
    uint64_t taken = wanted < *room ? wanted : *room;
    *room -= taken;
    return taken;
}

static void warn_short(struct ctl_builder *builder, const struct pinpoints *all,
                       const struct pinpoint *p, const char *what, uint64_t asked, uint64_t got)
{
    if (got < asked)
        builder_warn(
            builder,
            "file %.400s line %u: the %s of region %.*s has room for %llu instructions, not "
            "%llu",
            all->path, p->line, what, region_shown(p->id), p->id.at, (unsigned long long)got,
            (unsigned long long)asked);
}

/* Shares the room between two regions of a thread, or before the first one (before == NULL). */
static void share_room(struct ctl_builder *builder, const struct pinpoints *all,
                       struct pinpoint *before, struct pinpoint *p)
{
    uint64_t from = before != NULL ? before->end : 0;
    uint64_t room = p->start > from ? p->start - from : 0;
    if (before != NULL) {
        before->epilog = take(&room, builder->region_epilog);
        warn_short(builder, all, before, "epilog", builder->region_epilog, before->epilog);
    }
    if (before != NULL && room > 0)
        room--; /* do not begin at the count at which the other ends */
    p->prolog = take(&room, builder->region_prolog);
    p->warmup = take(&room, builder->region_warmup);
    warn_short(builder, all, p, "prolog", builder->region_prolog, p->prolog);
    warn_short(builder, all, p, "warm-up", builder->region_warmup, p->warmup);
}

/* `last` ends last of the regions that began before p. Warns if it reaches into p. */
static void warn_overlap(struct ctl_builder *builder, const struct pinpoints *all,
                         const struct pinpoint *last, const struct pinpoint *p)
{
    if (last == NULL || p->start >= last->end)
        return;
    builder_warn(builder,
                 "file %.400s line %u: region %.*s begins before region %.*s of the same "
                 "thread ends; a thread is in one window at a time",
                 all->path, p->line, region_shown(p->id), p->id.at, region_shown(last->id),
                 last->id.at);
}

static int place(struct ctl_builder *builder, struct pinpoints *all, struct rt_error *err)
{
    struct pinpoint **order = calloc(all->count + 1, sizeof(struct pinpoint *));
    if (order == NULL) {
        rt_error_set(err, "out of memory");
        return -ENOMEM;
    }
    for (size_t i = 0; i < all->count; i++)
        order[i] = &all->rows[i];
    qsort(order, all->count, sizeof *order, by_place);
    const struct pinpoint *last = NULL;
    for (size_t i = 0; i < all->count; i++) {
        struct pinpoint *p = order[i];
        struct pinpoint *before = i > 0 && order[i - 1]->tid == p->tid ? order[i - 1] : NULL;
        if (before == NULL)
            last = NULL;
        warn_overlap(builder, all, last, p);
        if (last == NULL || p->end > last->end)
            last = p;
        share_room(builder, all, before, p);
        if (before != NULL && p->start == before->end && p->end > p->start + 1)
            p->start++;
        p->epilog = builder->region_epilog;
    }
    free(order);
    return 0;
}

/* Each part opens a window of its kind, which closes the window before it. A stop of the last
 * part's kind closes the last window. */
static void chain_text(char out[512], const struct pinpoint *p)
{
    const struct {
        const char *start, *stop;
        uint64_t length;
    } parts[] = {{"warmup-start", "", p->warmup},
                 {"prolog-start", "", p->prolog},
                 {"start", "stop", p->end - p->start},
                 {"epilog-start", "epilog-stop", p->epilog}};
    uint64_t distance = p->start - p->prolog - p->warmup;
    const char *stop = "stop";
    int n = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i].length == 0)
            continue;
        n += snprintf(out + n, 512 - (size_t)n, "%s:icount:%llu:tid%llu,", parts[i].start,
                      (unsigned long long)distance, (unsigned long long)p->tid);
        distance = parts[i].length;
        stop = parts[i].stop;
    }
    (void)snprintf(out + n, 512 - (size_t)n, "%s:icount:%llu:tid%llu", stop,
                   (unsigned long long)distance, (unsigned long long)p->tid);
}

int pinpoints_add(struct ctl_builder *builder, struct pinpoints *all, struct rt_error *err)
{
    int status = place(builder, all, err);
    for (size_t i = 0; i < all->count && status == 0; i++) {
        const struct pinpoint *p = &all->rows[i];
        char text[512], label[160];
        const struct region_note note = {label, p->id, p->weight, {"", 0}};
        region_label(label, sizeof label, "", p->id, p->weight);
        chain_text(text, p);
        status = region_chain_add(builder, all->path, p->line, &note, text, err);
    }
    return status;
}
