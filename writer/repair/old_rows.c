/* SPDX-License-Identifier: BSD-3-Clause
 * Compares rows of /fired and /windows with their events: a row is right if the event that it names
 * says the same.
 *
 * Damage by a killed writer, or by a disk, is at the end of the tables, since rows are appended. */
#include "writer/repair/old_rows.h"

#include "base/format/event_fields.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Returns 1 if the event at `row` has that code, thread and clock, 0 if not, or -errno. */
static int fits(struct rt_rank *old, uint64_t row, uint32_t code, int32_t thread, uint64_t clock,
                struct rt_event *event, struct rt_error *e)
{
    size_t got = 0;
    int rc = rt_rank_read_events(old, row, 1, event, &got, e);
    if (rc != 0)
        return rc;
    return got == 1 && event->code == code && event->thread == thread && event->clock == clock;
}

static int fired_fits(struct rt_rank *old, const struct rt_fired *f, struct rt_error *e)
{
    struct rt_event event;
    int rc = fits(old, f->row, EV_FIRED, f->thread, f->clock, &event, e);
    return rc == 1 ? f->event == EVENT_GET(&event, EV_FIRED, event) &&
                         f->flags == EVENT_GET(&event, EV_FIRED, flags) &&
                         f->window == event.window && f->ip == EVENT_GET(&event, EV_FIRED, ip)
                   : rc;
}

static int window_fits(struct rt_rank *old, const struct rt_window *w, struct rt_error *e)
{
    struct rt_event event;
    int rc = fits(old, w->open_row, EV_WINDOW_OPEN, w->thread, w->start_clock, &event, e);
    if (rc != 1 || w->ordinal != (int32_t)EVENT_GET(&event, EV_WINDOW_OPEN, ordinal) ||
        w->start_late != EVENT_GET(&event, EV_WINDOW_OPEN, late_ticks))
        return rc < 0 ? rc : 0;
    if (w->kind > 3 || !(w->weight >= 0 && w->multiplier >= 0))
        return 0;
    if (w->close_row == RT_NO_ROW)
        return 1;
    return fits(old, w->close_row, EV_WINDOW_CLOSE, w->thread, w->stop_clock, &event, e);
}

int old_rows_begin(struct old_rows *o, struct rt_rank *old, struct rt_error *e)
{
    const struct rt_rank_tables *t = rt_rank_tables(old);
    int rc = 0;
    *o = (struct old_rows){.fired = t->fired_count, .windows = t->window_count};
    while (o->fired > 0 && (rc = fired_fits(old, &t->fired[o->fired - 1], e)) == 0)
        o->fired--;
    if (rc >= 0)
        while (o->windows > 0 && (rc = window_fits(old, &t->windows[o->windows - 1], e)) == 0)
            o->windows--;
    if (rc < 0)
        return rc;
    o->fired_from = o->fired > 0 ? t->fired[o->fired - 1].row + 1 : 0;
    o->windows_from = o->windows > 0 ? t->windows[o->windows - 1].open_row + 1 : 0;
    o->left_out = t->fired_count - o->fired + t->window_count - o->windows;
    return 0;
}

int old_rows_take(struct old_rows *o, struct drain *d, const struct rt_event *e, uint64_t row)
{
    struct drain_chunk nowhere = {0};
    struct drain_thread nobody = {0};
    bool fired = e->code == EV_FIRED && row >= o->fired_from;
    bool opened = e->code == EV_WINDOW_OPEN && row >= o->windows_from;
    /* This close ends a window whose row was made anew: the drain has no other open window that
     * ends in the old file. */
    bool closed = e->code == EV_WINDOW_CLOSE && row >= o->windows_from;
    if (!fired && !opened && !closed)
        return 0;
    if (!closed) {
        o->remade++;
        o->left_out -= o->left_out > 0;
    }
    return drain_derive(d, &nowhere, &nobody, e, NULL, 0, row);
}

void old_rows_tell(const struct old_rows *o, char *text, size_t room)
{
    size_t n = strlen(text);
    if (o->remade > 0)
        n += (size_t)snprintf(text + n, room - n,
                              "%s%" PRIu64 " damaged row%s of its windows and alarms made anew of "
                              "the events, without instruction counts",
                              n > 0 ? "; " : "", o->remade, o->remade == 1 ? "" : "s");
    if (o->left_out > 0 && n < room)
        (void)snprintf(text + n, room - n,
                       "%s%" PRIu64 " damaged row%s of windows or alarms left out",
                       n > 0 ? "; " : "", o->left_out, o->left_out == 1 ? "" : "s");
}
