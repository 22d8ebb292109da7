/* SPDX-License-Identifier: BSD-3-Clause
 * Reads the samples of a run. */
#include "tools/report/hot/hot.h"

#include "tools/report/calls/call_sites.h"

#include "base/format/event_fields.h"
#include "base/toolkit/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 65536u
#define CALLERS_MOST 256u /* more than any recorder stores: a damaged file may name any parent */

/* The sample of a thread to which its next rows of callers belong. */
struct open_sample {
    int32_t thread;
    uint64_t sample;
    uint32_t left; /* callers that are still to come */
};

struct hot_reading {
    struct hot *h;
    const struct window_span *windows;
    const struct rt_rank *rank;
    struct open_sample *open;
    size_t open_count, latest;
};

static int push_frame(struct hot *h, uint32_t place)
{
    uint32_t *more = array_grown(h->frames, h->frame_count, &h->frame_room, sizeof *more);
    if (more == NULL)
        return -ENOMEM;
    h->frames = more;
    h->frames[h->frame_count++] = place;
    return 0;
}

static int add_place(struct hot *h, uint32_t place)
{
    if (place >= h->place_room) {
        size_t room = 2 * (size_t)place + 1024;
        struct hot_place *more = realloc(h->places, room * sizeof *more);
        if (more == NULL)
            return -ENOMEM;
        memset(more + h->place_room, 0, (room - h->place_room) * sizeof *more);
        h->places = more;
        h->place_room = room;
    }
    return push_frame(h, place);
}

static int add_frame(struct hot_reading *r, uint64_t address, uint64_t clock, uint32_t *place)
{
    return addresses_find(&r->h->at, address, clock, place) == 0 ? add_place(r->h, *place)
                                                                 : -ENOMEM;
}

/* Adds the places of the path that the sampled function was called from. */
static int add_path(struct hot_reading *r, struct hot_sample *s, uint32_t path)
{
    const struct rt_path *p = call_path_find(r->rank, path);
    uint32_t place;
    s->is_sure = true;
    for (; p != NULL && s->count < CALLERS_MOST; p = call_path_find(r->rank, p->parent)) {
        if (call_sites_place(&r->h->at, r->rank, p, &place) != 0 || add_place(r->h, place) != 0)
            return -ENOMEM;
        s->count++;
    }
    r->h->has_callers |= s->count > 1;
    return 0;
}

static struct open_sample *open_of(struct hot_reading *r, int32_t thread, bool make)
{
    if (r->latest < r->open_count && r->open[r->latest].thread == thread)
        return &r->open[r->latest];
    for (r->latest = 0; r->latest < r->open_count; r->latest++)
        if (r->open[r->latest].thread == thread)
            return &r->open[r->latest];
    struct open_sample *more = make ? realloc(r->open, (r->open_count + 1) * sizeof *more) : NULL;
    if (more == NULL)
        return NULL;
    r->open = more;
    r->open[r->open_count] = (struct open_sample){.thread = thread};
    return &r->open[r->open_count++];
}

static int begin_sample(struct hot_reading *r, const struct rt_event *e)
{
    struct hot *h = r->h;
    bool has_path = (e->flags & EVENT_FLAG_PATH) != 0;
    uint32_t callers = has_path ? 0 : (uint32_t)EVENT_GET(e, EV_SAMPLE, callers), place;
    uint32_t weight = (uint32_t)EVENT_GET(e, EV_SAMPLE, periods);
    struct open_sample *o = open_of(r, e->thread, true);
    if (o == NULL)
        return -ENOMEM;
    struct hot_sample *more =
        array_grown(h->samples, h->sample_count, &h->sample_room, sizeof *more);
    if (more == NULL)
        return -ENOMEM;
    h->samples = more;
    *o = (struct open_sample){e->thread, h->sample_count, callers};
    h->samples[h->sample_count++] = (struct hot_sample){h->frame_count, 1, weight, false};
    h->weight += weight;
    h->weight_in_windows += e->window >= 0 ? weight : 0;
    h->has_callers |= callers != 0;
    if (add_frame(r, e->a, e->clock, &place) != 0)
        return -ENOMEM;
    h->places[place].weight += weight;
    return has_path ? add_path(r, &h->samples[h->sample_count - 1],
                               (uint32_t)EVENT_GET(e, EV_SAMPLE, path))
                    : 0;
}

static int add_caller(struct hot_reading *r, struct open_sample *o, uint64_t address,
                      uint64_t clock)
{
    struct hot *h = r->h;
    struct hot_sample *s = &h->samples[o->sample];
    uint32_t place;
    if (o->left == 0 || address == 0)
        return 0;
    o->left--;
    if (s->first + s->count != h->frame_count) {
        /* Another thread's sample began since: move this one to the end, so that it can grow. */
        uint64_t from = s->first;
        for (uint32_t i = 0; i < s->count; i++)
            if (push_frame(h, h->frames[from + i]) != 0)
                return -ENOMEM;
        s->first = h->frame_count - s->count;
    }
    /* The call precedes its return address. */
    if (add_frame(r, address - 1, clock, &place) != 0)
        return -ENOMEM;
    s->count++;
    return 0;
}

static int take_event(struct hot_reading *r, const struct rt_event *e)
{
    if (!window_span_has(r->windows, e->window))
        return 0;
    if (e->code == EV_SAMPLE)
        return begin_sample(r, e);
    if (e->code != EV_SAMPLE_CALLERS)
        return 0;
    struct open_sample *o = open_of(r, e->thread, false);
    int rc = o != NULL ? add_caller(r, o, e->a, e->clock) : 0;
    return o != NULL && rc == 0 ? add_caller(r, o, e->b, e->clock) : rc;
}

static int read_all(struct hot_reading *r, struct rt_rank *rank, struct rt_error *e)
{
    struct rt_event *rows = malloc(BLOCK * sizeof *rows);
    uint64_t first = 0;
    size_t got = 0;
    int rc = rows == NULL ? -ENOMEM : 0;
    do {
        if (rc == 0)
            rc = rt_rank_read_events(rank, first, BLOCK, rows, &got, e);
        for (size_t i = 0; i < got && rc == 0; i++)
            rc = take_event(r, &rows[i]);
        first += got;
    } while (rc == 0 && got != 0);
    free(rows);
    return rc;
}

int hot_collect(struct hot *h, struct rt_rank *rank, const struct window_span *windows,
                struct rt_error *e)
{
    struct hot_reading r = {.h = h, .windows = windows, .rank = rank};
    const char *asked = rt_rank_metadata(rank, "option.sample");
    if (asked != NULL && h->asked[0] == '\0')
        (void)snprintf(h->asked, sizeof h->asked, "%s", asked);
    int rc = addresses_begin_rank(&h->at, rank);
    if (rc == 0 && asked != NULL && asked[0] != '\0')
        rc = read_all(&r, rank, e);
    free(r.open);
    if (rc == -ENOMEM)
        rt_error_set(e, "out of memory");
    return rc;
}

static int collect_file(struct hot *h, const struct rt_run *run, size_t i,
                        const struct rank_list *ranks, const struct window_span *windows,
                        const struct skipped_files *skipped)
{
    struct rt_rank *rank = NULL;
    struct rt_error e = {{0}};
    int rc = rt_rank_open(&rank, run, i, &e);
    if (rc == 0 && rank_list_has(ranks, rt_rank_info(rank)->rank))
        rc = hot_collect(h, rank, windows, &e);
    rt_rank_close(rank);
    if (rc != 0)
        skipped->skip(skipped->context, rt_run_file(run, i), e.text);
    return rc;
}

int hot_collect_run(struct hot *h, const struct rt_run *run, const struct rank_list *ranks,
                    const struct window_span *windows, const struct skipped_files *skipped)
{
    struct progress p;
    int rc = 0;
    progress_begin(&p, "reading samples");
    for (size_t i = 0; i < rt_run_count(run); i++) {
        int one = collect_file(h, run, i, ranks, windows, skipped);
        rc = one != 0 ? one : rc;
        progress_update(&p, i + 1, rt_run_count(run));
    }
    progress_end(&p);
    return h->sample_count == 0 || hot_resolve(h) == 0 ? rc : -ENOMEM;
}
