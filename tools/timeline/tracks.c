/* SPDX-License-Identifier: BSD-3-Clause
 * Encodes and decodes items, and makes the texts of rows and values. */
#include "tools/timeline/tracks.h"

#include "tools/tools.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint8_t *put_optional(uint8_t *p, int32_t v)
{
    return number_encode(p, v == INT32_MIN ? 0 : zigzag(v) + 1);
}

size_t item_encode(uint8_t out[ITEM_BYTES], enum lane_kind kind, struct track *t,
                   const struct item *item)
{
    uint8_t *p = number_encode(out, (uint64_t)(item->start - t->last));
    if (kind != LANE_TICKS && kind != LANE_CURVE)
        p = number_encode(p, (uint64_t)(item->end - item->start));
    t->last = item->end;
    p = number_encode(p, kind == LANE_CURVE
                             ? zigzag((int64_t)((uint64_t)item->value - (uint64_t)t->last_value))
                             : (uint64_t)item->value);
    t->last_value = item->value;
    if (kind == LANE_CALLS) {
        p = number_encode(p, item->call.bytes);
        p = put_optional(p, item->call.peer);
        p = put_optional(p, item->call.tag);
        p = number_encode(p, item->call.comm);
    }
    return (size_t)(p - out);
}

struct track_reading {
    enum lane_kind kind;
    struct item item;
    int (*take)(void *context, const struct item *item);
    void *context;
};

static uint64_t number_decode(const uint8_t **p)
{
    uint64_t v = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte = *(*p)++;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return v;
    }
}

static int64_t unzigzag(uint64_t v)
{
    return (int64_t)(v >> 1 ^ (0 - (v & 1)));
}

static int32_t get_optional(const uint8_t **p)
{
    uint64_t v = number_decode(p);
    return v == 0 ? INT32_MIN : (int32_t)unzigzag(v - 1);
}

static int read_piece(void *context, const uint8_t *bytes, size_t n)
{
    struct track_reading *r = context;
    struct item *i = &r->item;
    int rc = 0;
    for (const uint8_t *p = bytes; rc == 0 && p < bytes + n;) {
        i->start = i->end + (int64_t)number_decode(&p);
        i->end = i->start;
        if (r->kind != LANE_TICKS && r->kind != LANE_CURVE)
            i->end += (int64_t)number_decode(&p);
        uint64_t v = number_decode(&p);
        i->value = r->kind == LANE_CURVE ? (int64_t)((uint64_t)i->value + (uint64_t)unzigzag(v))
                                         : (int64_t)v;
        if (r->kind == LANE_CALLS) {
            i->call.bytes = number_decode(&p);
            i->call.peer = get_optional(&p);
            i->call.tag = get_optional(&p);
            i->call.comm = (uint32_t)number_decode(&p);
        }
        rc = r->take(r->context, i);
    }
    return rc;
}

int track_read(struct timeline *t, uint32_t track,
               int (*take)(void *context, const struct item *item), void *context,
               struct rt_error *e)
{
    struct track_reading r = {
        .kind = t->lanes[t->tracks[track].lane].kind, .take = take, .context = context};
    return spool_read(t->spool, track, read_piece, &r, e);
}

/* --- rows ------------------------------------------------------------------------------------- */

void thread_text(const struct timeline *t, uint32_t thread, char out[64])
{
    uint32_t count;
    const struct replay_thread *all = replay_threads(t->replay, &count), *th = &all[thread];
    const struct thread_stream *streams = streams_all(replay_streams(t->replay), &count);
    bool several = false; /* threads of MPI libraries record nothing, so they do not count */
    for (uint32_t i = thread; i-- > 0 && all[i].file == th->file;)
        several |= streams[i].rows != 0;
    for (uint32_t i = thread + 1; i < count && all[i].file == th->file; i++)
        several |= streams[i].rows != 0;
    int n = snprintf(out, 64, "rank %" PRId32, rt_rank_info(th->rank)->rank);
    if (several)
        (void)snprintf(out + n, 64 - (size_t)n, ".%" PRId32, th->number);
}

void processor_text(const struct timeline *t, uint32_t processor, char out[160])
{
    uint32_t count, nodes;
    const struct replay_processor *p = &replay_processors(t->replay, &count)[processor];
    const char *const *hosts = replay_nodes(t->replay, &nodes);
    int n = nodes > 1 ? snprintf(out, 160, "%.100s: ", hosts[p->node]) : 0;
    if (p->number < 0)
        (void)snprintf(out + n, 160 - (size_t)n, "several cpus");
    else
        (void)snprintf(out + n, 160 - (size_t)n, "cpu %" PRId32, p->number);
}

/* --- lanes ------------------------------------------------------------------------------------ */

bool lane_is_used(const struct timeline *t, uint32_t lane)
{
    for (uint32_t i = 0; i < t->track_count; i++)
        if (t->tracks[i].lane == lane)
            return true;
    return false;
}

static void take_label(void *context, int64_t value, const char *text)
{
    struct lane_texts *l = context;
    uint32_t number = key_table_find(&l->timeline->lanes[l->lane].values, 0, (uint64_t)value);
    if (number < l->count && l->texts[number] == NULL) {
        l->texts[number] = strdup(text);
        l->incomplete |= l->texts[number] == NULL;
    }
}

static char *text_of_number(const struct timeline *t, uint32_t lane, int64_t value)
{
    char room[64];
    bool window = strcmp(replay_channel(t->replay, lane).name, "region.window") == 0;
    bool state = strcmp(replay_channel(t->replay, lane).name, "mpi.activity") == 0;
    if (lane == t->runs && value < 0)
        (void)snprintf(room, sizeof room, "%" PRId64 " threads", -value);
    else if (lane == t->runs)
        thread_text(t, (uint32_t)value - 1, room);
    else if (state && value == EMU_TOO_MANY_THREADS)
        (void)snprintf(room, sizeof room, "Several threads");
    else
        (void)snprintf(room, sizeof room, window ? "window %" PRId64 : "%" PRId64, value - window);
    return strdup(room);
}

struct lane_texts lane_texts_open(const struct timeline *t, uint32_t lane)
{
    uint32_t count = t->lanes[lane].values.count;
    struct lane_texts l = {
        .texts = calloc(count + 1u, sizeof *l.texts), .count = count, .timeline = t, .lane = lane};
    if (l.texts == NULL) {
        tool_warning("timeline", "no memory: the names of a row are left out");
        return l;
    }
    replay_labels(t->replay, lane, take_label, &l);
    for (uint32_t i = 0; i < count; i++) {
        int64_t value = lane_value(&t->lanes[lane], i);
        if (t->options.salvaged && lane != t->runs && value == EMU_BAD) {
            free(l.texts[i]);
            l.texts[i] = strdup("unknown: events are missing or wrong");
        }
        if (l.texts[i] == NULL)
            l.texts[i] = text_of_number(t, lane, value);
        l.incomplete |= l.texts[i] == NULL;
    }
    if (l.incomplete)
        tool_warning("timeline", "no memory for a name: a number or a question mark stands for it");
    return l;
}

const char *lane_short_text(const struct timeline *t, uint32_t lane, const char *text,
                            char room[SHORTER])
{
    const char *name = replay_channel(t->replay, lane).name;
    if (strcmp(name, "func.name") != 0 && strcmp(name, "sample.function") != 0)
        return text;
    shorter_name(text, room);
    return strcmp(room, text) == 0 ? text : room;
}

void lane_texts_free(struct lane_texts *l)
{
    for (uint32_t i = 0; l->texts != NULL && i < l->count; i++)
        free(l->texts[i]);
    free(l->texts);
}

/* --- timelines -------------------------------------------------------------------------------- */

void timeline_close(struct timeline *t)
{
    if (t == NULL)
        return;
    for (uint32_t k = 0; t->lanes != NULL && k < t->lane_count; k++)
        key_table_free(&t->lanes[k].values);
    free(t->lanes);
    free(t->tracks);
    spool_close(t->spool);
    lines_close(t->lines);
    free(t);
}

uint64_t timeline_items(const struct timeline *t)
{
    return t->items;
}

bool timeline_span(const struct timeline *t, int64_t *from, int64_t *to)
{
    *from = t->from;
    *to = t->to;
    return t->items != 0;
}

/* Returns the number of an MPI function, or one that no function has if the table lacks it. */
static uint32_t number_of(const char *name)
{
    uint32_t f = 0;
    while (f < event_mpi_functions && strcmp(event_mpi_name(f), name) != 0)
        f++;
    return f;
}

void timeline_take_edge(struct timeline *t, uint32_t code, int64_t time)
{
    static uint32_t finalize;
    if (finalize == 0)
        finalize = number_of("MPI_Finalize");
    uint32_t f = EVENT_MPI_FUNCTION(code);
    if (EVENT_IS_MPI_LEAVE(code) && event_mpi_initializes(f))
        t->init_end = time;
    if (EVENT_IS_MPI_ENTER(code) && f == finalize && time < t->finalize_begin)
        t->finalize_begin = time;
}
