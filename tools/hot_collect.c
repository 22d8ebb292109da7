/* SPDX-License-Identifier: BSD-3-Clause
 * Reading samples: addresses become places (image and offset), equal ones of all ranks one. */
#include "tools/hot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 65536u

/* The sample that a thread's rows of callers belong to. */
struct open_sample {
    int32_t thread;
    uint64_t sample;
    uint32_t left; /* callers that are still to come */
};

struct reading {
    struct hot *h;
    const struct rt_rank_tables *tables;
    const struct window_span *windows;
    uint32_t *image_of_map;
    struct open_sample *open;
    size_t open_count, latest;
};

static int find_image(struct hot *h, const char *path, const char *build_id, uint32_t *out)
{
    for (size_t i = 0; i < h->image_count; i++)
        if (strcmp(h->images[i].path, path) == 0 && strcmp(h->images[i].build_id, build_id) == 0) {
            *out = (uint32_t)i;
            return 0;
        }
    struct hot_image *more = realloc(h->images, (h->image_count + 1) * sizeof *more);
    struct hot_image copy = {.path = strdup(path), .build_id = strdup(build_id)};
    if (more != NULL)
        h->images = more;
    if (more == NULL || copy.path == NULL || copy.build_id == NULL) {
        free(copy.path);
        free(copy.build_id);
        return -ENOMEM;
    }
    *out = (uint32_t)h->image_count;
    h->images[h->image_count++] = copy;
    return 0;
}

/* A map's build id, "" where it has none. */
static const char *build_id_of(const struct rt_rank *rank, const struct rt_map *m)
{
    return m->build_id != 0 ? rt_rank_string(rank, m->build_id) : "";
}

static size_t slot_of(const struct hot *h, const struct hot_place *p)
{
    uint64_t x = (p->offset * UINT64_C(0x9e3779b97f4a7c15)) ^ p->image;
    size_t i = (size_t)(x ^ x >> 29) & (h->table_size - 1);
    for (; h->table[i] != 0; i = (i + 1) & (h->table_size - 1)) {
        const struct hot_place *q = &h->places[h->table[i] - 1];
        if (q->image == p->image && q->offset == p->offset)
            break;
    }
    return i;
}

static int grow_places(struct hot *h)
{
    size_t size = h->table_size == 0 ? 1024 : 2 * h->table_size;
    struct hot_place *places = realloc(h->places, size / 2 * sizeof *places);
    uint32_t *table = calloc(size, sizeof *table);
    if (places != NULL)
        h->places = places;
    if (places == NULL || table == NULL) {
        free(table);
        return -ENOMEM;
    }
    free(h->table);
    h->table = table;
    h->table_size = size;
    for (size_t i = 0; i < h->place_count; i++)
        h->table[slot_of(h, &h->places[i])] = (uint32_t)i + 1;
    return 0;
}

/* The map with the nearest base below; of several there (unloaded and loaded again) the latest before `clock`. */
static const struct rt_map *find_map(const struct reading *r, uint64_t address, uint64_t clock)
{
    const struct rt_map *found = NULL;
    for (size_t i = 0; i < r->tables->map_count; i++) {
        const struct rt_map *m = &r->tables->maps[i];
        if (m->base <= address && (found == NULL || m->base > found->base ||
                                   (m->base == found->base && m->clock <= clock)))
            found = m;
    }
    return found;
}

static int push_frame(struct hot *h, uint32_t place)
{
    if (h->frame_count == h->frame_room) {
        uint64_t room = 2 * h->frame_room + 4096;
        uint32_t *more = realloc(h->frames, room * sizeof *more);
        if (more == NULL)
            return -ENOMEM;
        h->frames = more;
        h->frame_room = room;
    }
    h->frames[h->frame_count++] = place;
    return 0;
}

static int add_frame(struct reading *r, uint64_t address, uint64_t clock, uint32_t *place)
{
    struct hot *h = r->h;
    const struct rt_map *m = find_map(r, address, clock);
    struct hot_place p = {
        .image = m != NULL ? r->image_of_map[m - r->tables->maps] : UINT32_MAX,
        .offset = m != NULL ? address - m->base : address,
    };
    if (2 * (h->place_count + 1) > h->table_size && grow_places(h) != 0)
        return -ENOMEM;
    size_t slot = slot_of(h, &p);
    if (h->table[slot] == 0) {
        h->places[h->place_count++] = p;
        h->table[slot] = (uint32_t)h->place_count;
    }
    *place = h->table[slot] - 1;
    return push_frame(h, *place);
}

static struct open_sample *open_of(struct reading *r, int32_t thread, bool make)
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

static int begin_sample(struct reading *r, const struct rt_event *e)
{
    struct hot *h = r->h;
    uint32_t callers = (uint32_t)(e->b >> 32), weight = (uint32_t)e->b, place;
    struct open_sample *o = open_of(r, e->thread, true);
    if (o == NULL)
        return -ENOMEM;
    if (h->sample_count == h->sample_room) {
        uint64_t room = 2 * h->sample_room + 1024;
        struct hot_sample *more = realloc(h->samples, room * sizeof *more);
        if (more == NULL)
            return -ENOMEM;
        h->samples = more;
        h->sample_room = room;
    }
    *o = (struct open_sample){e->thread, h->sample_count, callers};
    h->samples[h->sample_count++] = (struct hot_sample){h->frame_count, 1, weight};
    h->weight += weight;
    h->has_callers |= callers != 0;
    if (add_frame(r, e->a, e->clock, &place) != 0)
        return -ENOMEM;
    h->places[place].weight += weight;
    return 0;
}

static int add_caller(struct reading *r, struct open_sample *o, uint64_t address, uint64_t clock)
{
    struct hot *h = r->h;
    struct hot_sample *s = &h->samples[o->sample];
    uint32_t place;
    if (o->left == 0 || address == 0)
        return 0;
    o->left--;
    if (s->first + s->count != h->frame_count) {
        /* Another thread's sample began meanwhile: this one moves behind it. */
        uint64_t from = s->first;
        for (uint32_t i = 0; i < s->count; i++)
            if (push_frame(h, h->frames[from + i]) != 0)
                return -ENOMEM;
        s->first = h->frame_count - s->count;
    }
    /* The call stands before the address to which it returns. */
    if (add_frame(r, address - 1, clock, &place) != 0)
        return -ENOMEM;
    s->count++;
    return 0;
}

static int take_event(struct reading *r, const struct rt_event *e)
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

static int read_all(struct reading *r, struct rt_rank *rank, struct rt_error *e)
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
    struct reading r = {.h = h, .tables = rt_rank_tables(rank), .windows = windows};
    const char *asked = rt_rank_metadata(rank, "option.sample");
    if (asked != NULL && h->asked[0] == '\0')
        (void)snprintf(h->asked, sizeof h->asked, "%s", asked);
    r.image_of_map = calloc(r.tables->map_count + 1, sizeof *r.image_of_map);
    int rc = r.image_of_map == NULL ? -ENOMEM : 0;
    for (size_t i = 0; i < r.tables->map_count && rc == 0; i++)
        rc = find_image(h, rt_rank_string(rank, r.tables->maps[i].path),
                        build_id_of(rank, &r.tables->maps[i]), &r.image_of_map[i]);
    if (rc == 0)
        rc = read_all(&r, rank, e);
    free(r.image_of_map);
    free(r.open);
    if (rc == -ENOMEM)
        rt_error_set(e, "out of memory");
    return rc;
}
