/* SPDX-License-Identifier: BSD-3-Clause
 * Turns the slots of a chunk into rows. Most slots are one event and nothing else: a short loop
 * takes them. The others may be part of a longer record, or change tables. */
#include "writer/drain.h"

#include "base/format/event_fields.h"

#include <errno.h>

bool drain_any_complete(const struct event_slot *slots, uint32_t i, uint32_t limit, uint16_t mark)
{
    uint64_t head;
    for (; i < limit; i++)
        if (drain_slot_complete(slots + i, mark, &head))
            return true;
    return false;
}

/* --- most slots ------------------------------------------------------------------------------- */

/* Makes rows, `most` at most, of slots that are records of their own and say nothing but that.
 * Returns how many there are before the first other slot. */
static uint32_t plain_rows(const struct drain_taking *k, uint32_t from, uint32_t most,
                           struct rt_event *rows, uint64_t *last_clock)
{
    const uint64_t flags = (uint64_t)(EVENT_FLAG_CONTINUED | EVENT_FLAG_MORE) << 24;
    const uint64_t mark = EVENT_HEAD(0, 0, 0, k->mark), marks = EVENT_HEAD(0, 0, 0, 0xffff);
    const struct event_slot *s = k->slots + from;
    const uint32_t *plain = k->d->plain;
    const int32_t thread = k->tid, window = k->c->window;
    uint64_t last = 0;
    uint32_t n = 0;
    for (; n < most; n++, s++) {
        uint64_t head = __atomic_load_n(&s->head, __ATOMIC_ACQUIRE);
        uint32_t code = EVENT_HEAD_CODE(head);
        if ((head & (marks | flags)) != mark || plain[drain_plain_place(code)] != code)
            break;
        rows[n] = (struct rt_event){
            .clock = s->clock,
            .code = code,
            .thread = thread,
            .window = window,
            .cpu = EVENT_HEAD_CPU(head),
            .flags = EVENT_HEAD_FLAGS(head),
            .a = s->a,
            .b = s->b,
        };
        last = s->clock > last ? s->clock : last;
    }
    *last_clock = last;
    return n;
}

/* Takes such slots from *i on; *i becomes the first other slot. Returns 0 or -ENOMEM. */
static int take_plain(struct drain_taking *k, uint32_t *i)
{
    enum { MOST = 1024 };
    struct drain *d = k->d;
    if (d->discard || k->mark == 0 || k->c->skip > 0 || *i < k->from)
        return 0;
    for (uint32_t n = MOST; n == MOST;) {
        uint32_t most = k->limit - *i < MOST ? k->limit - *i : MOST;
        struct rt_event *rows = rankfile_room(d->file, most);
        uint64_t last;
        if (rows == NULL)
            return -ENOMEM;
        n = plain_rows(k, *i, most, rows, &last);
        if (n == 0)
            break;
        rankfile_added(d->file, n);
        d->last_clock = last > d->last_clock ? last : d->last_clock;
        k->t->last_clock = last > k->t->last_clock ? last : k->t->last_clock;
        k->t->rows += n;
        k->c->row_end = rankfile_next_row(d->file);
        *i += n;
    }
    return 0;
}

/* --- the others ------------------------------------------------------------------------------- */

static int store(struct drain_taking *k, const struct rt_event *e, const struct event_slot *more,
                 unsigned more_count, bool stored_before)
{
    struct drain *d = k->d;
    if (e->clock > d->last_clock)
        d->last_clock = e->clock;
    if (e->clock > k->t->last_clock && !d->discard)
        k->t->last_clock = e->clock;
    if (stored_before) {
        drain_follow_window(d, k->c, e);
        return 0;
    }
    if (d->discard) {
        /* Reports of drops and waits are not events of the program; the thread itself counts the
         * drops. */
        k->t->unstored += e->code != EV_DROPPED && e->code != EV_WAITED;
        return 0;
    }
    uint64_t row = rankfile_next_row(d->file);
    int rc = rankfile_add(d->file, e);
    if (rc == 0)
        rc = drain_derive(d, k->c, k->t, e, more, more_count, row);
    k->t->rows++;
    k->c->row_end = row + 1;
    return rc;
}

/* Takes the record that begins at slot i, which is complete with `head`. Returns the number of its
 * slots, or -errno. */
static int take_record(struct drain_taking *k, uint32_t i, uint64_t head)
{
    const struct event_slot *s = k->slots + i;
    uint32_t n = 1;
    uint64_t next;
    if (EVENT_HEAD_FLAGS(head) & EVENT_FLAG_MORE)
        while (i + n < k->limit && drain_slot_complete(s + n, k->mark, &next) &&
               (EVENT_HEAD_FLAGS(next) & EVENT_FLAG_CONTINUED)) {
            n++;
            if (!(EVENT_HEAD_FLAGS(next) & EVENT_FLAG_MORE))
                break;
        }
    struct rt_event e = {
        .clock = s->clock,
        .code = EVENT_HEAD_CODE(head),
        .thread = k->tid,
        .window = k->c->window,
        .cpu = EVENT_HEAD_CPU(head),
        .flags = EVENT_HEAD_FLAGS(head) & (uint8_t)~EVENT_FLAG_MORE,
        .a = s->a,
        .b = s->b,
    };
    if (e.code == EV_WINDOW_OPEN)
        e.window = (int32_t)EVENT_GET(&e, EV_WINDOW_OPEN, ordinal);
    if (k->d->values != NULL && values_is_record(e.code)) {
        if (k->d->discard) {
            k->t->unstored++;
            return (int)n;
        }
        k->c->values_end = i + n;
        int rc = values_take(k->d->values, &e, s + 1, n - 1,
                             (struct values_place){k->sequence, i + n, 0});
        return rc != 0 ? rc : (int)n;
    }
    bool before = i < k->from;
    if (!before && k->c->skip > 0) {
        k->c->skip--;
        before = true;
    }
    int rc = store(k, &e, s + 1, n - 1, before);
    return rc != 0 ? rc : (int)n;
}

int drain_take_slots(struct drain_taking *k, bool closed)
{
    uint32_t i = k->c->taken;
    int rc = 0;
    while (i < k->limit && rc == 0) {
        uint64_t head;
        rc = take_plain(k, &i);
        if (rc != 0 || i == k->limit)
            break;
        if (!drain_slot_complete(k->slots + i, k->mark, &head)) {
            if (!k->holes || (!closed && !drain_any_complete(k->slots, i, k->limit, k->mark)))
                break;
            k->t->incomplete++;
            i++;
        } else if (EVENT_HEAD_FLAGS(head) & EVENT_FLAG_CONTINUED) {
            i++; /* its first slot is incomplete */
        } else {
            int n = take_record(k, i, head);
            if (n < 0)
                rc = n;
            else
                i += (uint32_t)n;
        }
    }
    k->c->taken = i;
    return rc;
}
