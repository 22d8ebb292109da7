/* SPDX-License-Identifier: BSD-3-Clause
 * Makes the items of tracks from what channels show. A replay shows only the top of a stack, so
 * this file keeps the boxes below, from the events that push and pop. */
#include "tools/timeline/running_threads.h"
#include "base/format/event_fields.h"
#include "base/toolkit/array.h"
#include "tools/timeline/tracks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define OUTSIDE INT64_MAX

/* A box that has begun. */
struct box {
    int64_t start;
    uint32_t value; /* number in its lane's values */
    struct track_call call;
    /* Events were lost, so the value is unknown: the box ends where something is known again. */
    bool is_unknown;
};

/* A lane of a thread or a processor. */
struct column {
    struct box *boxes; /* at most one in lanes of states */
    uint32_t depth;
    size_t room;
    uint32_t *tracks; /* by depth: track number + 1 */
    uint32_t track_room;
};

/* A push whose value has not been reported yet. The channel reports its value after the event. If
 * it reports none, the pushed value equals the one on top. */
struct push {
    bool waits;
    uint32_t stream, lane;
    int64_t time;
    struct track_call call;
};

struct known_channels {
    uint32_t mpi, windows, functions, regions, signals, marks, activity, processor, state;
};

struct collector {
    struct timeline *t;
    struct column *cells;  /* by row and lane */
    int64_t *visible_from; /* by row; OUTSIDE: no items are kept */
    struct push push;
    struct known_channels known;
    struct runs runs;
    uint32_t threads, rows; /* rows: threads, then processors */
    /* Threads whose items are kept. While there are any, items of processors are kept too. */
    uint32_t visible;
    int64_t now;
};

static struct column *cell_of(const struct collector *c, uint32_t stream, uint32_t lane)
{
    return &c->cells[(size_t)stream * c->t->lane_count + lane];
}

static void failed(struct collector *c)
{
    c->t->error = ENOMEM;
}

/* --- items ------------------------------------------------------------------------------------ */

static struct track *add_track(struct collector *c, uint32_t stream, uint32_t lane, uint32_t depth)
{
    struct timeline *t = c->t;
    struct track *more = array_grown(t->tracks, t->track_count, &t->track_room, sizeof *more);
    if (more == NULL)
        return NULL;
    t->tracks = more;
    t->tracks[t->track_count] = (struct track){.stream = stream, .lane = lane, .depth = depth};
    return &t->tracks[t->track_count++];
}

static struct track *track_of(struct collector *c, uint32_t stream, uint32_t lane, uint32_t depth)
{
    struct column *cell = cell_of(c, stream, lane);
    if (depth >= cell->track_room) {
        uint32_t room = 2 * depth + 2;
        uint32_t *more = realloc(cell->tracks, room * sizeof *more);
        if (more == NULL)
            return NULL;
        memset(more + cell->track_room, 0, (room - cell->track_room) * sizeof *more);
        cell->tracks = more;
        cell->track_room = room;
    }
    if (cell->tracks[depth] == 0) {
        if (add_track(c, stream, lane, depth) == NULL)
            return NULL;
        cell->tracks[depth] = c->t->track_count;
    }
    return &c->t->tracks[cell->tracks[depth] - 1];
}

static void put_item(struct collector *c, uint32_t stream, uint32_t lane, uint32_t depth,
                     struct item item)
{
    struct timeline *t = c->t;
    uint8_t bytes[ITEM_BYTES];
    int64_t from = c->visible_from[stream], to = t->options.to;
    from = from == OUTSIDE || from > t->options.from ? from : t->options.from;
    if (from == OUTSIDE || item.start > to || item.end < from ||
        (item.end == from && item.start < from))
        return;
    struct track *track = track_of(c, stream, lane, depth);
    if (track == NULL) {
        failed(c);
        return;
    }
    from = from < track->last ? track->last : from;
    item.start = item.start < from ? from : item.start;
    item.end = item.end > to ? to : item.end < item.start ? item.start : item.end;
    t->from = t->items == 0 || item.start < t->from ? item.start : t->from;
    t->to = t->items == 0 || item.end > t->to ? item.end : t->to;
    if (lane == c->known.windows) {
        bool first = t->windows_from >= t->windows_to;
        t->windows_from = first || item.start < t->windows_from ? item.start : t->windows_from;
        t->windows_to = first || item.end > t->windows_to ? item.end : t->windows_to;
    }
    spool_put(t->spool, (uint32_t)(track - t->tracks), bytes,
              item_encode(bytes, t->lanes[lane].kind, track, &item));
    track->items++;
    t->items++;
}

static void put_box(struct collector *c, uint32_t stream, uint32_t lane, uint32_t depth,
                    int64_t end)
{
    const struct box *b = &cell_of(c, stream, lane)->boxes[depth];
    put_item(c, stream, lane, depth, (struct item){b->start, end, (int64_t)b->value, b->call});
}

static void pop_box(struct collector *c, uint32_t stream, uint32_t lane, int64_t time)
{
    struct column *cell = cell_of(c, stream, lane);
    if (cell->depth == 0)
        return;
    put_box(c, stream, lane, cell->depth - 1, time);
    cell->depth--;
}

static void push_box(struct collector *c, uint32_t stream, uint32_t lane, int64_t time,
                     int64_t value, struct track_call call)
{
    struct column *cell = cell_of(c, stream, lane);
    if (cell->depth != 0 && cell->boxes[cell->depth - 1].is_unknown)
        pop_box(c, stream, lane, time);
    uint32_t number = key_table_add(&c->t->lanes[lane].values, 0, (uint64_t)value);
    struct box *more = array_grown(cell->boxes, cell->depth, &cell->room, sizeof *more);
    if (more == NULL) {
        failed(c);
        return;
    }
    cell->boxes = more;
    if (number == KEY_NONE)
        failed(c);
    else
        cell->boxes[cell->depth++] = (struct box){time, number, call, false};
}

static void pop_all(struct collector *c, uint32_t stream, uint32_t lane, int64_t time)
{
    while (cell_of(c, stream, lane)->depth != 0)
        pop_box(c, stream, lane, time);
}

static int64_t top_of(const struct collector *c, uint32_t stream, uint32_t lane)
{
    const struct column *cell = cell_of(c, stream, lane);
    return cell->depth == 0 ? 0
                            : lane_value(&c->t->lanes[lane], cell->boxes[cell->depth - 1].value);
}

static bool is_stack(const struct lane *l)
{
    return l->kind == LANE_STACK || l->kind == LANE_CALLS;
}

/* --- what channels show ----------------------------------------------------------------------- */

/* Completes a push after which the channel showed nothing new: the value on top is pushed again. */
static void end_push(struct collector *c)
{
    struct push *p = &c->push;
    if (!p->waits)
        return;
    p->waits = false;
    push_box(c, p->stream, p->lane, p->time, top_of(c, p->stream, p->lane), p->call);
}

static void shows_stack(struct collector *c, uint32_t stream, uint32_t lane, int64_t time,
                        int64_t value)
{
    struct push *p = &c->push;
    if (p->waits && p->stream == stream && p->lane == lane) {
        p->waits = false;
        push_box(c, stream, lane, p->time, value, p->call);
    } else if (value != top_of(c, stream, lane)) {
        pop_all(c, stream, lane, time); /* the stack is unknown or empty */
        if (value == 0)
            return;
        push_box(c, stream, lane, time, value,
                 (struct track_call){.peer = INT32_MIN, .tag = INT32_MIN});
        struct column *cell = cell_of(c, stream, lane);
        if (cell->depth != 0)
            cell->boxes[0].is_unknown = c->t->options.salvaged && value == EMU_BAD;
    }
}

/* Shows a value of a lane of states. On processors, drops a state that lasted no time. */
static void shows_state(struct collector *c, uint32_t row, uint32_t lane, int64_t time,
                        int64_t value)
{
    struct column *cell = cell_of(c, row, lane);
    if (row >= c->threads && cell->depth != 0 && cell->boxes[0].start == time)
        cell->depth = 0;
    pop_all(c, row, lane, time);
    if (value != 0)
        push_box(c, row, lane, time, value, (struct track_call){.comm = 0});
}

static void shows_processor(struct collector *c, uint32_t processor, uint32_t lane, int64_t value)
{
    const struct column *cell = cell_of(c, c->threads + processor, lane);
    if (cell->depth == 0 || top_of(c, c->threads + processor, lane) != value)
        shows_state(c, c->threads + processor, lane, c->now, value);
}

static void runs_there(void *context, uint32_t processor, int64_t who, int64_t doing)
{
    struct collector *c = context;
    shows_processor(c, processor, c->t->runs, who);
    shows_processor(c, processor, c->known.activity, who < 0 ? EMU_TOO_MANY_THREADS : doing);
}

static void shows(void *context, bool processor, uint32_t row, uint32_t channel, int64_t time,
                  int64_t value)
{
    struct collector *c = context;
    const struct lane *l = &c->t->lanes[channel];
    if (value == EMU_NOT_RECORDED && is_stack(l))
        value = 0; /* the lane of states shows that nothing is recorded */
    c->now = time > c->now ? time : c->now;
    if (processor)
        return;
    if (channel == c->known.activity)
        runs_does(&c->runs, row, value);
    else if (channel == c->known.processor)
        runs_moves(&c->runs, row, (int32_t)value - 1);
    else if (channel == c->known.state)
        runs_is(&c->runs, row, value == EMU_RUNNING);
    if (l->kind == LANE_NONE || channel == c->t->runs)
        return;
    switch (l->kind) {
    case LANE_TICKS: /* a tick is shown from 1 ns before its event */
        if (value != 0) {
            uint32_t number = key_table_add(&c->t->lanes[channel].values, 0, (uint64_t)value);
            if (number == KEY_NONE)
                failed(c);
            else
                put_item(c, row, channel, 0, (struct item){time + 1, time + 1, number, {0}});
        }
        break;
    case LANE_CURVE:
        if (value != 0 || cell_of(c, row, channel)->tracks != NULL)
            put_item(c, row, channel, 0, (struct item){time, time, value, {0}});
        break;
    case LANE_STATE: shows_state(c, row, channel, time, value); break;
    default: shows_stack(c, row, channel, time, value);
    }
}

/* --- events ----------------------------------------------------------------------------------- */

static void cut_all(struct collector *c, uint32_t stream, int64_t time)
{
    for (uint32_t k = 0; k < c->t->lane_count; k++)
        for (uint32_t d = 0; d < cell_of(c, stream, k)->depth; d++)
            put_box(c, stream, k, d, time);
}

/* Begins or ends keeping the items of a thread, at the edges of selected windows. Processors' items
 * are kept while any thread's are. */
static void becomes_visible(struct collector *c, uint32_t stream, int64_t time, bool visible)
{
    if (!visible)
        cut_all(c, stream, time);
    c->visible_from[stream] = visible ? time : OUTSIDE;
    uint32_t before = c->visible;
    c->visible += visible ? 1 : UINT32_MAX;
    for (uint32_t i = c->threads; (before == 0 || c->visible == 0) && i < c->rows; i++) {
        if (!visible)
            cut_all(c, i, time);
        c->visible_from[i] = visible ? time : OUTSIDE;
    }
}

static void window_closes(struct collector *c, uint32_t stream, int64_t time)
{
    for (uint32_t k = 0; k < c->t->lane_count; k++)
        if (is_stack(&c->t->lanes[k]))
            pop_all(c, stream, k, time);
    if (c->t->options.windows.given && c->visible_from[stream] != OUTSIDE)
        becomes_visible(c, stream, time, false);
}

/* Events of the thread are lost from here on: its channels' next values do not belong to its last
 * event. */
static void gap(void *context, uint32_t stream, int64_t time)
{
    struct collector *c = context;
    (void)stream;
    end_push(c);
    c->now = time;
}

static void pushes(struct collector *c, const struct stream_record *r, uint32_t lane, int64_t time,
                   struct track_call call)
{
    c->push = (struct push){true, r->stream, lane, time, call};
}

/* Ends the top box. If that box is unknown, the call that is left here was entered before events
 * were lost, and the box stays. */
static void leaves(struct collector *c, uint32_t stream, uint32_t lane, int64_t time)
{
    const struct column *cell = cell_of(c, stream, lane);
    if (cell->depth != 0 && !cell->boxes[cell->depth - 1].is_unknown)
        pop_box(c, stream, lane, time);
}

static void take_mark(struct collector *c, const struct stream_record *r, int64_t time)
{
    uint32_t type = (uint32_t)r->event.a, lane = c->known.marks + type;
    if (type >= 100 || lane >= c->t->lane_count)
        return;
    c->t->lanes[lane].kind = LANE_STACK;
    if (r->event.code == EV_MARK_PUSH)
        pushes(c, r, lane, time, (struct track_call){.comm = 0});
    else
        leaves(c, r->stream, lane, time);
}

static int event(void *context, const struct stream_record *r, int64_t time, struct rt_error *e)
{
    struct collector *c = context;
    const struct known_channels *k = &c->known;
    const struct track_call none = {.peer = INT32_MIN, .tag = INT32_MIN};
    end_push(c);
    c->now = time;
    if (EVENT_IS_MPI_ENTER(r->event.code) || EVENT_IS_MPI_LEAVE(r->event.code))
        timeline_take_edge(c->t, r->event.code, time);
    if (EVENT_IS_MPI_ENTER(r->event.code))
        pushes(c, r, k->mpi, time,
               (struct track_call){EVENT_GET(&r->event, EV_MPI_ENTER, bytes),
                                   (int32_t)EVENT_GET(&r->event, EV_MPI_ENTER, peer),
                                   (int32_t)EVENT_GET(&r->event, EV_MPI_ENTER, tag),
                                   (uint32_t)EVENT_GET(&r->event, EV_MPI_ENTER, comm)});
    else if (EVENT_IS_MPI_LEAVE(r->event.code))
        leaves(c, r->stream, k->mpi, time);
    else
        switch (r->event.code) {
        case EV_FUNCTION_ENTER: pushes(c, r, k->functions, time, none); break;
        case EV_FUNCTION_LEAVE: leaves(c, r->stream, k->functions, time); break;
        case EV_REGION_BEGIN: pushes(c, r, k->regions, time, none); break;
        case EV_REGION_END: leaves(c, r->stream, k->regions, time); break;
        case EV_SIGNAL_ENTER: pushes(c, r, k->signals, time, none); break;
        case EV_SIGNAL_LEAVE: leaves(c, r->stream, k->signals, time); break;
        case EV_MARK_PUSH:
        case EV_MARK_POP: take_mark(c, r, time); break;
        case EV_WINDOW_OPEN:
            if (c->visible_from[r->stream] == OUTSIDE &&
                window_span_has(&c->t->options.windows,
                                (int32_t)EVENT_GET(&r->event, EV_WINDOW_OPEN, ordinal)))
                becomes_visible(c, r->stream, time, true);
            break;
        case EV_WINDOW_CLOSE: window_closes(c, r->stream, time); break;
        default: break;
        }
    if (c->t->error == 0)
        return lines_take(c->t->lines, r, e);
    rt_error_set(e, "no memory");
    return -c->t->error;
}

/* --- collecting ------------------------------------------------------------------------------- */

static enum lane_kind kind_of(const struct replay_channel *ch)
{
    static const char *const shown[] = {"region.", "mpi.activity", "mpi.function", "func.",
                                        "sample.", "ovni.flush",   "pmu.",         "ovni.tid"};
    size_t i = 0, n = sizeof shown / sizeof shown[0];
    while (i < n && strncmp(ch->name, shown[i], strlen(shown[i])) != 0)
        i++;
    if (i == n)
        return LANE_NONE;
    if (strncmp(ch->name, "pmu.", 4) == 0)
        return LANE_CURVE;
    if (strcmp(ch->name, "ovni.tid") == 0)
        return LANE_STATE;
    if (strcmp(ch->name, "mpi.function") == 0)
        return LANE_CALLS;
    return ch->kind == EMU_PUNCTUAL ? LANE_TICKS : ch->kind == EMU_STACK ? LANE_STACK : LANE_STATE;
}

static void name_channel(struct collector *c, uint32_t channel, const char *name)
{
    struct {
        const char *name;
        uint32_t *channel;
    } known[] = {{"mpi.function", &c->known.mpi},      {"region.window", &c->known.windows},
                 {"func.name", &c->known.functions},   {"region.name", &c->known.regions},
                 {"region.signal", &c->known.signals}, {"region.mark.0", &c->known.marks},
                 {"mpi.activity", &c->known.activity}, {"ovni.cpu", &c->known.processor},
                 {"ovni.state", &c->known.state},      {"ovni.tid", &c->t->runs}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(name, known[i].name) == 0)
            *known[i].channel = channel;
}

static int prepare(struct collector *c, struct rt_error *e)
{
    struct timeline *t = c->t;
    t->lane_count = replay_channel_count(t->replay);
    t->lanes = calloc(t->lane_count, sizeof *t->lanes);
    c->cells = calloc((size_t)c->rows * t->lane_count, sizeof *c->cells);
    c->visible_from = malloc((c->rows + 1u) * sizeof *c->visible_from);
    bool good = runs_open(&c->runs, c->threads, c->rows - c->threads);
    if (t->lanes == NULL || c->cells == NULL || c->visible_from == NULL || !good) {
        rt_error_set(e, "no memory");
        return -ENOMEM;
    }
    for (uint32_t k = 0; k < t->lane_count; k++) {
        struct replay_channel ch = replay_channel(t->replay, k);
        t->lanes[k] = (struct lane){.kind = kind_of(&ch), .channel = k};
        name_channel(c, k, ch.name);
    }
    for (uint32_t i = 0; i < c->rows; i++)
        c->visible_from[i] = t->options.windows.given ? OUTSIDE : 0;
    return 0;
}

int timeline_collect(struct timeline **timeline, struct event_replay *r,
                     const struct timeline_options *options, const char *dir,
                     struct replay_found *found, struct rt_error *e)
{
    struct timeline *t = calloc(1, sizeof *t);
    struct collector c = {.t = t};
    uint32_t processors;
    (void)replay_threads(r, &c.threads);
    (void)replay_processors(r, &processors);
    c.rows = c.threads + processors;
    c.runs.tell = runs_there;
    c.runs.context = &c;
    *timeline = t;
    if (t == NULL) {
        rt_error_set(e, "no memory");
        return -ENOMEM;
    }
    t->replay = r;
    t->options = *options;
    t->finalize_begin = INT64_MAX;
    struct replay_sink sink = {.shows = shows, .event = event, .gap = gap, .context = &c};
    int rc = prepare(&c, e);
    if (rc == 0)
        rc = spool_open(&t->spool, dir, e);
    if (rc == 0)
        rc = lines_open(&t->lines, r, dir, e);
    if (rc == 0)
        rc = replay_run(r, &sink, found, e);
    if (rc == 0) {
        end_push(&c);
        for (uint32_t i = 0; i < c.rows; i++)
            cut_all(&c, i, c.now);
        rc = spool_end(t->spool, e);
    }
    if (rc == 0)
        rc = lines_end(t->lines, e);
    for (size_t i = 0; c.cells != NULL && i < (size_t)c.rows * t->lane_count; i++) {
        free(c.cells[i].boxes);
        free(c.cells[i].tracks);
    }
    free(c.cells);
    free(c.visible_from);
    runs_close(&c.runs);
    return rc;
}
