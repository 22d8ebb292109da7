/* SPDX-License-Identifier: BSD-3-Clause
 * Writes the page: the text that the build made of share/timeline, with the items and their
 * meanings inserted.
 *
 * Tracks with many items have levels of detail: bins of widths that grow by a factor of 4. So,
 * whatever part is shown, about as many bins as pixels are drawn. */
#include "tools/timeline/page.h"

#include "tools/json.h"
#include "tools/timeline/bins.h"
#include "tools/timeline/picture/draw.h"
#include "tools/timeline/packed.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEVELS = 28,
    FEW = 2048,    /* items that need no levels */
    COARSE = 1024, /* bins of the coarsest level, about, at most */
};

struct level {
    struct binner binner;
    struct timeline *timeline;
    uint8_t *bytes;
    size_t size, room;
    uint64_t count, most; /* of bins; a level with more is not worth its size */
    int64_t end;          /* of the last bin */
    int64_t last;         /* last value of a curve */
    bool is_useless;
};

/* A place in the packed bytes. */
struct page_place {
    uint64_t at, size;
};

struct page_entry {
    struct page_place items; /* size 0: the page does not have them */
    struct {
        int64_t width;
        uint64_t count;
        struct page_place place;
    } levels[LEVELS];
    unsigned level_count;
};

struct page {
    struct timeline *t;
    struct packed *packed;
    struct page_entry *entries; /* by track */
    struct page_place messages; /* size 0: none, or too many */
    int64_t widest;
    bool exact; /* the page has all items; otherwise only tracks with few items have theirs */
};

/* --- levels ----------------------------------------------------------------------------------- */

static int put_bin(void *context, const struct bin *bin)
{
    struct level *l = context;
    uint8_t bytes[64], *p = bytes;
    if (l->count++ >= l->most) {
        l->is_useless = true;
        return 0;
    }
    p = number_encode(p, (uint64_t)(bin->first - l->end));
    l->end = bin->first + bin->count;
    if (l->binner.kind == LANE_CURVE) {
        p = number_encode(p, zigzag((int64_t)((uint64_t)bin->value - (uint64_t)l->last)));
        p = number_encode(p, (uint64_t)bin->value - (uint64_t)bin->least);
        p = number_encode(p, (uint64_t)bin->most - (uint64_t)bin->value);
        l->last = bin->value;
    } else {
        p = number_encode(p, (uint64_t)bin->count);
        p = number_encode(p, (uint64_t)bin->value);
        *p++ = bin->share;
        *p++ = bin->all;
    }
    size_t n = (size_t)(p - bytes);
    if (l->size + n > l->room) {
        size_t room = 2 * l->room + 256;
        uint8_t *more = realloc(l->bytes, room);
        if (more == NULL)
            return -ENOMEM;
        l->bytes = more;
        l->room = room;
    }
    memcpy(l->bytes + l->size, bytes, n);
    l->size += n;
    return 0;
}

struct levels {
    struct level all[LEVELS];
    unsigned count;
};

static int put_levels(void *context, const struct item *item)
{
    struct levels *l = context;
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < l->count; i++)
        if (!l->all[i].is_useless)
            rc = binner_put(&l->all[i].binner, item);
    return rc;
}

static bool has_items(const struct page *p, const struct track *t)
{
    return p->exact || t->items <= p->t->options.most / p->t->track_count;
}

static bool needs_levels(const struct page *p, const struct track *t)
{
    return t->items > FEW || !has_items(p, t);
}

/* Returns the most bins that a level may have: 70 % of the track's items if the page has these,
 * since a level must be clearly smaller; else FEW plus the track's share of the items that a page
 * holds. */
static uint64_t most_bins(const struct page *p, const struct track *t)
{
    if (has_items(p, t))
        return t->items / 10 * 7;
    double part = (double)t->items / (double)p->t->items;
    return (uint64_t)(part * (double)p->t->options.most) + FEW;
}

static int open_levels(const struct page *p, uint32_t track, struct levels *l)
{
    const struct track *t = &p->t->tracks[track];
    const struct lane *lane = &p->t->lanes[t->lane];
    int rc = 0;
    for (int64_t width = p->widest; rc == 0 && width > 0 && l->count < LEVELS; width /= 4) {
        struct level *v = &l->all[l->count++];
        v->most = most_bins(p, t);
        v->binner = (struct binner){.kind = lane->kind,
                                    .origin = p->t->from,
                                    .width = width,
                                    .take = put_bin,
                                    .context = v};
        rc = binner_open(&v->binner, lane->values.count);
    }
    return rc;
}

/* Writes the levels of a track, the widest bins first. */
static int write_levels(struct page *p, uint32_t track, struct rt_error *e)
{
    struct levels *l = calloc(1, sizeof *l);
    struct page_entry *entry = &p->entries[track];
    int rc = l != NULL ? open_levels(p, track, l) : -ENOMEM;
    if (rc == 0)
        rc = track_read(p->t, track, put_levels, l, e);
    for (unsigned i = 0; l != NULL && i < l->count; i++) {
        struct level *v = &l->all[i];
        if (rc == 0)
            rc = binner_end(&v->binner);
        if (rc == 0 && !v->is_useless) {
            unsigned n = entry->level_count++;
            entry->levels[n].width = v->binner.width;
            entry->levels[n].count = v->count;
            entry->levels[n].place = (struct page_place){packed_size(p->packed), v->size};
            packed_put(p->packed, v->bytes, v->size);
        }
        binner_close(&v->binner);
        free(v->bytes);
    }
    free(l);
    if (rc == -ENOMEM)
        rt_error_set(e, "no memory");
    return rc;
}

static int put_bytes(void *context, const uint8_t *bytes, size_t n)
{
    packed_put(context, bytes, n);
    return 0;
}

static int write_items(struct page *p, uint32_t track, struct rt_error *e)
{
    struct page_entry *entry = &p->entries[track];
    entry->items.at = packed_size(p->packed);
    int rc = spool_read(p->t->spool, track, put_bytes, p->packed, e);
    entry->items.size = packed_size(p->packed) - entry->items.at;
    return rc;
}

/* Writes first what a reader sees first: levels, then the items of tracks with few, then of those
 * with many, and messages. */
static int write_tracks(struct page *p, struct rt_error *e)
{
    const struct timeline *t = p->t;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < t->track_count; i++)
        rc = needs_levels(p, &t->tracks[i]) ? write_levels(p, i, e) : 0;
    for (unsigned many = 0; many < 2; many++)
        for (uint32_t i = 0; rc == 0 && i < t->track_count; i++)
            if ((t->tracks[i].items > FEW) == many && has_items(p, &t->tracks[i]))
                rc = write_items(p, i, e);
    if (rc == 0 && lines_count(t->lines) <= t->options.most) {
        p->messages.at = packed_size(p->packed);
        rc = lines_read(t->lines, put_bytes, p->packed, e);
        p->messages.size = packed_size(p->packed) - p->messages.at;
    }
    return rc;
}

/* --- meanings --------------------------------------------------------------------------------- */

static void write_threads(struct json *j, const struct timeline *t)
{
    uint32_t count;
    const struct replay_thread *threads = replay_threads(t->replay, &count);
    json_array_begin(j, "threads");
    for (uint32_t i = 0; i < count; i++) {
        const struct replay_thread *th = &threads[i];
        json_object_begin(j, NULL);
        json_int(j, "rank", rt_rank_info(th->rank)->rank);
        json_text(j, "file", rt_rank_info(th->rank)->file);
        json_uint(j, "process", th->file);
        json_int(j, "thread", th->number);
        json_uint(j, "pid", th->pid);
        json_uint(j, "tid", th->tid);
        json_uint(j, "node", th->node);
        json_text(j, "name", th->name);
        json_object_end(j);
    }
    json_array_end(j);
}

/* Writes the processors on which a thread ran; `row` is their number in tracks. */
static void write_processors(struct json *j, const struct timeline *t)
{
    uint32_t threads, count;
    (void)replay_threads(t->replay, &threads);
    const struct replay_processor *all = replay_processors(t->replay, &count);
    json_array_begin(j, "processors");
    for (uint32_t i = 0; i < count; i++) {
        bool used = false;
        for (uint32_t k = 0; k < t->track_count; k++)
            used |= t->tracks[k].stream == threads + i;
        if (!used)
            continue;
        json_object_begin(j, NULL);
        json_uint(j, "row", threads + i);
        json_uint(j, "node", all[i].node);
        json_int(j, "number", all[i].number);
        json_object_end(j);
    }
    json_array_end(j);
}

static void write_values(struct json *j, const struct timeline *t, uint32_t lane)
{
    struct lane_texts l = lane_texts_open(t, lane);
    uint32_t count = l.texts != NULL && t->lanes[lane].kind != LANE_CURVE ? l.count : 0;
    json_array_begin(j, "values");
    for (uint32_t v = 0; v < count; v++)
        json_text(j, NULL, l.texts[v] != NULL ? l.texts[v] : "?");
    json_array_end(j);
    json_object_begin(j, "short"); /* by number, if it differs */
    for (uint32_t v = 0; v < count; v++) {
        char number[16], room[SHORTER];
        const char *text = l.texts[v] != NULL ? l.texts[v] : "?";
        (void)snprintf(number, sizeof number, "%" PRIu32, v);
        if (lane_short_text(t, lane, text, room) != text)
            json_text(j, number, room);
    }
    json_object_end(j);
    json_array_begin(j, "colours");
    for (uint32_t v = 0; v < count; v++) {
        char room[8];
        json_text(j, NULL, colour_of(t, lane, v, l.texts[v] != NULL ? l.texts[v] : "?", room));
    }
    json_array_end(j);
    lane_texts_free(&l);
}

static void write_lanes(struct json *j, const struct timeline *t)
{
    static const char *const kinds[] = {[LANE_STATE] = "state",
                                        [LANE_STACK] = "stack",
                                        [LANE_CALLS] = "calls",
                                        [LANE_TICKS] = "ticks",
                                        [LANE_CURVE] = "curve"};
    json_array_begin(j, "lanes");
    for (uint32_t k = 0; k < t->lane_count; k++) {
        const struct lane *l = &t->lanes[k];
        if (l->kind == LANE_NONE || !lane_is_used(t, k))
            continue;
        struct replay_channel ch = replay_channel(t->replay, k);
        json_object_begin(j, NULL);
        json_uint(j, "number", k);
        json_text(j, "name", ch.name);
        json_text(j, "title", k == t->runs ? "Thread that runs" : ch.title);
        json_text(j, "kind", kinds[l->kind]);
        write_values(j, t, k);
        json_object_end(j);
    }
    json_array_end(j);
}

static void write_messages(struct json *j, const struct page *p)
{
    const struct unmatched *left = lines_left(p->t->lines);
    uint32_t count;
    const struct comm *comms = comms_all(lines_comms(p->t->lines), &count);
    json_object_begin(j, "messages");
    json_uint(j, "count", lines_count(p->t->lines));
    json_uint(j, "at", p->messages.at);
    json_uint(j, "size", p->messages.size);
    json_array_begin(j, "unmatched");
    for (int i = 0; i < UNMATCHED_REASONS; i++)
        if (left->sends[i] != 0 || left->receives[i] != 0) {
            json_object_begin(j, NULL);
            json_text(j, "why", unmatched_text((enum unmatched_reason)i));
            json_uint(j, "sends", left->sends[i]);
            json_uint(j, "receives", left->receives[i]);
            json_object_end(j);
        }
    json_array_end(j);
    json_array_begin(j, "sizes"); /* of communicators */
    for (uint32_t i = 0; i < count; i++)
        json_uint(j, NULL, comms[i].size[0]);
    json_array_end(j);
    json_object_end(j);
}

static void write_index(struct json *j, const struct page *p)
{
    json_array_begin(j, "tracks");
    for (uint32_t i = 0; i < p->t->track_count; i++) {
        const struct track *t = &p->t->tracks[i];
        const struct page_entry *e = &p->entries[i];
        json_array_begin(j, NULL);
        json_uint(j, NULL, t->stream);
        json_uint(j, NULL, t->lane);
        json_uint(j, NULL, t->depth);
        json_uint(j, NULL, t->items);
        json_uint(j, NULL, e->items.at);
        json_uint(j, NULL, e->items.size);
        for (unsigned k = 0; k < e->level_count; k++) {
            json_int(j, NULL, e->levels[k].width);
            json_uint(j, NULL, e->levels[k].count);
            json_uint(j, NULL, e->levels[k].place.at);
            json_uint(j, NULL, e->levels[k].place.size);
        }
        json_array_end(j);
    }
    json_array_end(j);
}

static void write_meta(FILE *out, const struct page *p, uint64_t bytes)
{
    struct json j = {.out = out, .in_html = true};
    uint32_t nodes;
    int64_t realtime;
    (void)replay_origin(p->t->replay, &realtime);
    const char *const *names = replay_nodes(p->t->replay, &nodes);
    json_object_begin(&j, NULL);
    json_text(&j, "title", p->t->options.title);
    json_uint(&j, "events", replay_event_count(p->t->replay));
    json_uint(&j, "items", p->t->items);
    json_bool(&j, "exact", p->exact);
    json_int(&j, "from", p->t->from);
    json_int(&j, "to", p->t->to);
    if (p->t->init_end > p->t->from && p->t->init_end < p->t->finalize_begin &&
        p->t->finalize_begin < p->t->to) {
        json_int(&j, "init_end", p->t->init_end);
        json_int(&j, "finalize_begin", p->t->finalize_begin);
    }
    json_int(&j, "realtime", realtime);
    json_uint(&j, "bytes", bytes);
    json_array_begin(&j, "nodes");
    for (uint32_t i = 0; i < nodes; i++)
        json_text(&j, NULL, names[i]);
    json_array_end(&j);
    write_threads(&j, p->t);
    write_processors(&j, p->t);
    write_lanes(&j, p->t);
    write_index(&j, p);
    write_messages(&j, p);
    json_object_end(&j);
}

/* --- the page --------------------------------------------------------------------------------- */

static void choose_widths(struct page *p)
{
    const struct timeline *t = p->t;
    int64_t span = t->to - t->from + 1;
    p->exact = timeline_is_exact(t);
    p->widest = 1;
    while (p->widest < span / COARSE)
        p->widest *= 4;
}

/* Writes the items, `between`, and what the items mean. */
static int write_parts(struct timeline *t, FILE *out, const char *between, struct rt_error *e)
{
    struct page p = {.t = t, .entries = calloc(t->track_count + 1u, sizeof *p.entries)};
    if (p.entries == NULL) {
        rt_error_set(e, "no memory");
        return -ENOMEM;
    }
    choose_widths(&p);
    int rc = packed_open(&p.packed, out, e);
    if (rc == 0) {
        rc = write_tracks(&p, e);
        uint64_t bytes = packed_size(p.packed);
        int closed = packed_close(p.packed, rc == 0 ? e : NULL);
        rc = rc != 0 ? rc : closed;
        (void)fputs(between, out);
        if (rc == 0)
            write_meta(out, &p, bytes);
    }
    free(p.entries);
    return rc;
}

int timeline_write_page(struct timeline *t, FILE *out, struct rt_error *e)
{
    (void)fputs(timeline_page_before_data, out);
    int rc = write_parts(t, out, timeline_page_before_meta, e);
    (void)fputs(timeline_page_end, out);
    return rc;
}

int timeline_write_data(struct timeline *t, FILE *out, struct rt_error *e)
{
    (void)fputs("<script id=\"data\" type=\"text/plain\">", out);
    int rc = write_parts(t, out, "</script>\n<script id=\"meta\" type=\"application/json\">", e);
    (void)fputs("</script>\n", out);
    return rc;
}

bool timeline_is_exact(const struct timeline *t)
{
    return t->items <= t->options.most;
}
