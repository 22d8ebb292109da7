/* SPDX-License-Identifier: BSD-3-Clause
 * Derives rows of other tables from events: fired alarms, windows, images, communicators,
 * losses. */
#include "writer/drain.h"

#include "base/format/event_fields.h"
#include "base/toolkit/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ALARM_NONE 0xffffu

static int32_t alarm_number(uint64_t v)
{
    return v == ALARM_NONE ? RT_NO_ALARM : (int32_t)v;
}

static int32_t chain_of(const struct drain *d, int32_t alarm)
{
    return alarm >= 0 && (size_t)alarm < d->alarm_count ? d->alarm_chain[alarm] : -1;
}

/* All ones in the stream mean unknown. So does a value that an int64_t cannot hold. */
static int64_t icount(uint64_t v)
{
    return v > (uint64_t)INT64_MAX ? RT_NULL : (int64_t)v;
}

int drain_add_loss(struct drain *d, enum rt_loss_kind kind, int32_t thread, uint64_t count)
{
    struct rt_loss row = {
        .kind = (uint32_t)kind, .thread = thread, .count = count, .clock = d->last_clock};
    return table_append(&d->file->tables[SCHEMA_LOSSES], &row, 1);
}

int drain_note_close(struct drain *d, const struct rt_fired *f)
{
    if ((f->flags & FIRED_CLOSES) == 0)
        return 0;
    struct broadcast_close *grown =
        array_grown(d->closes, d->close_count, &d->close_room, sizeof *grown);
    if (grown == NULL)
        return -ENOMEM;
    d->closes = grown;
    d->closes[d->close_count++] = (struct broadcast_close){
        .clock = f->clock, .alarm = f->alarm, .api = (f->flags & FIRED_API) != 0};
    return 0;
}

static int add_fired(struct drain *d, const struct rt_event *e, const struct event_slot *more,
                     uint64_t row)
{
    struct rt_fired f = {
        .row = row,
        .clock = e->clock,
        .thread = e->thread,
        .alarm = alarm_number(EVENT_GET(e, EV_FIRED, alarm)),
        .event = (uint32_t)EVENT_GET(e, EV_FIRED, event),
        .flags = (uint32_t)EVENT_GET(e, EV_FIRED, flags),
        .window = e->window,
        .ip = EVENT_GET(e, EV_FIRED, ip),
        .requested = more != NULL ? icount(EVENT_GET_MORE(more, EV_FIRED, requested)) : RT_NULL,
        .actual = more != NULL ? icount(EVENT_GET_MORE(more, EV_FIRED, actual)) : RT_NULL,
        .pass = more != NULL ? EVENT_GET_MORE(more, EV_FIRED, pass) : 0,
    };
    f.chain = chain_of(d, f.alarm);
    int rc = drain_note_close(d, &f);
    return rc != 0 ? rc : table_append(&d->file->tables[SCHEMA_FIRED], &f, 1);
}

static struct open_window *find_open(struct drain *d, int32_t thread, int32_t ordinal)
{
    for (size_t i = d->open_count; i-- > 0;)
        if (d->open[i].w.thread == thread && d->open[i].w.ordinal == ordinal)
            return &d->open[i];
    return NULL;
}

int drain_resume_window(struct drain *d, const struct rt_window *w, uint64_t row)
{
    struct open_window *grown = array_grown(d->open, d->open_count, &d->open_room, sizeof *grown);
    if (grown == NULL)
        return -ENOMEM;
    d->open = grown;
    d->open[d->open_count++] = (struct open_window){.row = row, .w = *w};
    return 0;
}

static int open_window(struct drain *d, const struct rt_event *e, const struct event_slot *more,
                       uint64_t row)
{
    struct table *t = &d->file->tables[SCHEMA_WINDOWS];
    struct rt_window w = {
        .open_row = row,
        .close_row = RT_NO_ROW,
        .start_clock = e->clock,
        .start_icount =
            more != NULL ? icount(EVENT_GET_MORE(more, EV_WINDOW_OPEN, actual)) : RT_NULL,
        .start_requested =
            more != NULL ? icount(EVENT_GET_MORE(more, EV_WINDOW_OPEN, requested)) : RT_NULL,
        .stop_icount = RT_NULL,
        .stop_requested = RT_NULL,
        .start_late = EVENT_GET(e, EV_WINDOW_OPEN, late_ticks),
        .ordinal = (int32_t)EVENT_GET(e, EV_WINDOW_OPEN, ordinal),
        .thread = e->thread,
        .start_alarm =
            more != NULL ? alarm_number(EVENT_GET_MORE(more, EV_WINDOW_OPEN, alarm)) : RT_NO_ALARM,
        .stop_alarm = RT_NO_ALARM,
        .kind = (uint16_t)(more != NULL ? EVENT_GET_MORE(more, EV_WINDOW_OPEN, kind) : 0),
        .bcast = (uint8_t)EVENT_GET(e, EV_WINDOW_OPEN, bcast),
        .firing = (uint8_t)EVENT_GET(e, EV_WINDOW_OPEN, firing),
        .reason = RT_WINDOW_OPEN,
    };
    w.chain = chain_of(d, w.start_alarm);
    if (w.chain >= 0 && (size_t)w.chain < d->region_count) {
        const struct drain_region *region = &d->regions[w.chain];
        w.region = region->name;
        w.weight = region->weight;
        w.multiplier = region->multiplier;
    }
    int rc = drain_resume_window(d, &w, table_rows(t));
    return rc != 0 ? rc : table_append(t, &w, 1);
}

static int close_window(struct drain *d, const struct rt_event *e, const struct event_slot *more,
                        uint64_t row)
{
    struct open_window *o =
        find_open(d, e->thread, (int32_t)EVENT_GET(e, EV_WINDOW_CLOSE, ordinal));
    if (o == NULL)
        return 0; /* its opening was dropped: the event itself is in /events */
    o->w.close_row = row;
    o->w.stop_clock = e->clock;
    o->w.stop_late = EVENT_GET(e, EV_WINDOW_CLOSE, late_ticks);
    o->w.reason = (uint8_t)EVENT_GET(e, EV_WINDOW_CLOSE, reason);
    if (more != NULL) {
        o->w.stop_requested = icount(EVENT_GET_MORE(more, EV_WINDOW_CLOSE, requested));
        o->w.stop_icount = icount(EVENT_GET_MORE(more, EV_WINDOW_CLOSE, actual));
        o->w.stop_alarm = alarm_number(EVENT_GET_MORE(more, EV_WINDOW_CLOSE, alarm));
    }
    int rc = table_update(&d->file->tables[SCHEMA_WINDOWS], o->row, &o->w);
    *o = d->open[--d->open_count];
    return rc;
}

void drain_follow_window(struct drain *d, struct drain_chunk *c, const struct rt_event *event)
{
    if (event->code == EV_WINDOW_OPEN)
        c->window = (int32_t)EVENT_GET(event, EV_WINDOW_OPEN, ordinal);
    if (event->code != EV_WINDOW_CLOSE)
        return;
    /* Windows of other kinds (warm-up ...) may enclose the one that ended: the greatest ordinal of
     * the thread's open windows is in force now. */
    c->window = STREAM_NO_WINDOW;
    for (size_t i = 0; i < d->open_count; i++)
        if (d->open[i].w.thread == event->thread &&
            d->open[i].w.ordinal != (int32_t)EVENT_GET(event, EV_WINDOW_CLOSE, ordinal) &&
            d->open[i].w.ordinal > c->window)
            c->window = d->open[i].w.ordinal;
}

static int add_comm(struct drain *d, const struct rt_event *e, const struct event_slot *more,
                    uint64_t row)
{
    struct rt_comm c = {.row = row,
                        .id = (uint32_t)EVENT_GET(e, EV_MPI_COMM, comm),
                        .rank = (uint32_t)EVENT_GET(e, EV_MPI_COMM, rank),
                        .size = (uint32_t)EVENT_GET(e, EV_MPI_COMM, size),
                        .parent = (uint32_t)EVENT_GET(e, EV_MPI_COMM, parent),
                        .identity = more != NULL ? EVENT_GET_MORE(more, EV_MPI_COMM, identity) : 0,
                        .sides =
                            more != NULL ? (uint32_t)EVENT_GET_MORE(more, EV_MPI_COMM, sides) : 0};
    return table_append(&d->file->tables[SCHEMA_COMMS], &c, 1);
}

static int add_map(struct drain *d, const struct rt_event *e, const struct event_slot *more,
                   uint64_t row)
{
    struct rt_map m = {.row = row,
                       .clock = e->clock,
                       .base = EVENT_GET(e, EV_IMAGE, base),
                       .path = (uint32_t)EVENT_GET(e, EV_IMAGE, path),
                       .build_id =
                           more != NULL ? (uint32_t)EVENT_GET_MORE(more, EV_IMAGE, build_id) : 0};
    int rc = d->values != NULL ? values_add_image(d->values, &m) : 0;
    return rc != 0 ? rc : table_append(&d->file->tables[SCHEMA_MAPS], &m, 1);
}

int drain_derive(struct drain *d, struct drain_chunk *c, struct drain_thread *t,
                 const struct rt_event *e, const struct event_slot *more, unsigned more_count,
                 uint64_t row)
{
    int rc = 0;
    const struct event_slot *first = more_count > 0 ? more : NULL;
    switch (e->code) {
    case EV_FIRED: rc = add_fired(d, e, first, row); break;
    case EV_WINDOW_OPEN: rc = open_window(d, e, first, row); break;
    case EV_WINDOW_CLOSE: rc = close_window(d, e, first, row); break;
    case EV_DROPPED:
        t->dropped_reported += EVENT_GET(e, EV_DROPPED, events);
        rc = drain_add_loss(d, RT_LOSS_DROPPED, e->thread, EVENT_GET(e, EV_DROPPED, events));
        break;
    case EV_IMAGE: rc = add_map(d, e, first, row); break;
    case EV_MPI_COMM: rc = add_comm(d, e, first, row); break;
    default:
        if (EVENT_IS_MPI_ENTER(e->code) || EVENT_IS_MPI_LEAVE(e->code))
            rc = rankfile_add_mpi_function(d->file, EVENT_MPI_FUNCTION(e->code));
        if (rc == 0)
            d->plain[drain_plain_place(e->code)] = e->code;
        break;
    }
    drain_follow_window(d, c, e);
    return rc;
}

/* Without a stream nothing more is known: windows end at the last event of the file. */
int drain_close_windows_at(struct drain *d, uint64_t clock)
{
    for (size_t i = 0; i < d->open_count; i++) {
        struct rt_window *w = &d->open[i].w;
        w->stop_clock = clock > w->start_clock ? clock : w->start_clock;
        w->truncated = RT_END_CUT;
        w->reason = RT_WINDOW_KILLED;
        int rc = table_update(&d->file->tables[SCHEMA_WINDOWS], d->open[i].row, w);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* Returns the first broadcast stop after this window opened, or NULL if there is none. */
static const struct broadcast_close *close_of(const struct drain *d, const struct rt_window *w)
{
    const struct broadcast_close *first = NULL;
    uint64_t opened = w->start_clock - w->start_late; /* clock of the event that opened it */
    for (size_t i = 0; i < d->close_count; i++)
        if (d->closes[i].clock > opened && (first == NULL || d->closes[i].clock < first->clock))
            first = &d->closes[i];
    return first;
}

/* Fills in the end of a window whose thread recorded none, because it waited or the process was
 * killed. `last` is the thread's last clock in the file. */
static void end_unrecorded(const struct drain *d, struct rt_window *w, uint64_t last)
{
    uint32_t state = atomic_load(&d->stream->header->state);
    uint64_t ended = atomic_load(&d->stream->header->ended);
    bool in_order = state == STREAM_FINISHED || state == STREAM_EXECED;
    const struct broadcast_close *close = d->discard ? NULL : close_of(d, w);
    uint64_t stop = last;
    w->truncated = RT_END_UNRECORDED;
    if (close != NULL) {
        stop = close->clock;
        w->stop_alarm = close->alarm;
        w->reason = close->api ? RT_WINDOW_API : RT_WINDOW_ALARM;
    } else if (in_order && !d->discard) {
        stop = ended;
        w->reason = RT_WINDOW_EXITED;
    } else {
        w->truncated = RT_END_CUT;
        w->reason = d->discard ? RT_WINDOW_LIMIT : RT_WINDOW_KILLED;
    }
    w->stop_clock = stop > last ? stop : last;
}

/* Ends the windows that are still open after the process has gone: no event records their ends. */
int drain_close_windows(struct drain *d)
{
    int rc = 0;
    for (size_t i = 0; i < d->open_count && rc == 0; i++) {
        struct rt_window *w = &d->open[i].w;
        uint64_t last = w->start_clock;
        for (uint32_t t = 0; t < d->thread_capacity; t++)
            if (d->threads[t].seen && (int32_t)drain_thread_row(d, t)->tid == w->thread &&
                d->threads[t].last_clock > last)
                last = d->threads[t].last_clock;
        end_unrecorded(d, w, last);
        rc = table_update(&d->file->tables[SCHEMA_WINDOWS], d->open[i].row, w);
    }
    d->open_count = 0;
    return rc;
}
