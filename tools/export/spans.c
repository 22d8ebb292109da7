/* SPDX-License-Identifier: BSD-3-Clause
 * Turns events into beginnings and ends of spans, and names spans, marks and counters. */
#include "tools/export/span_walk.h"

#include "base/format/event_fields.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MARK_TYPES = 100 };

static uint32_t number_of(struct export *x, struct names *names, const char *text)
{
    uint32_t n = names_number(names, text);
    if (n == 0)
        export_fail(x, -ENOMEM, "no memory");
    return n;
}

static struct export_process *process_of(const struct export *x, uint32_t stream)
{
    return &x->processes[x->process_of[stream]];
}

/* --- marks ------------------------------------------------------------------------------------ */

static void key_of(const struct export *x, uint32_t stream, uint64_t type, int64_t value,
                   char out[80])
{
    (void)snprintf(out, 80, "%" PRIu32 " %" PRIu64 " %" PRId64, x->process_of[stream], type, value);
}

static void learn_type(struct export *x, const struct stream_record *r)
{
    struct export_process *p = process_of(x, r->stream);
    uint64_t type = EVENT_GET(&r->event, EV_MARK_TYPE, type);
    if (type >= MARK_TYPES)
        return;
    p->known_marks[type] = true;
    p->stacks[type] = (EVENT_GET(&r->event, EV_MARK_TYPE, flags) & 1) != 0;
    p->titles[type] =
        number_of(x, &x->titles,
                  rt_rank_string(p->rank, (uint32_t)EVENT_GET(&r->event, EV_MARK_TYPE, title)));
}

static void learn_label(struct export *x, const struct stream_record *r)
{
    char key[80];
    key_of(x, r->stream, (uint32_t)EVENT_GET(&r->event, EV_MARK_LABEL, type),
           (int64_t)EVENT_GET(&r->event, EV_MARK_LABEL, value), key);
    uint32_t n = number_of(x, &x->mark_keys, key);
    uint32_t text = number_of(x, &x->titles,
                              rt_rank_string(x->all[r->stream].rank,
                                             (uint32_t)EVENT_GET(&r->event, EV_MARK_LABEL, label)));
    if (n >= x->mark_label_room) {
        size_t room = 2 * (size_t)n + 64;
        uint32_t *more = realloc(x->mark_labels, room * sizeof *more);
        if (more == NULL) {
            export_fail(x, -ENOMEM, "no memory");
            return;
        }
        memset(more + x->mark_label_room, 0, (room - x->mark_label_room) * sizeof *more);
        x->mark_labels = more;
        x->mark_label_room = room;
    }
    x->mark_labels[n] = text;
}

const char *export_mark_title(struct export *x, uint32_t stream, uint64_t type, char room[32])
{
    const struct export_process *p = process_of(x, stream);
    if (type < MARK_TYPES && p->known_marks[type])
        return names_text(&x->titles, p->titles[type]);
    (void)snprintf(room, 32, "mark %" PRIu64, type);
    return room;
}

const char *export_mark_label(struct export *x, uint32_t stream, uint64_t type, int64_t value)
{
    char key[80];
    if (x->mark_keys.count == 0)
        return NULL;
    key_of(x, stream, type, value, key);
    uint32_t n = number_of(x, &x->mark_keys, key);
    return n < x->mark_label_room ? names_text(&x->titles, x->mark_labels[n]) : NULL;
}

bool export_mark_is_stack(const struct export *x, uint32_t stream, uint64_t type)
{
    const struct export_process *p = process_of(x, stream);
    return type < MARK_TYPES && p->stacks[type];
}

/* --- spans ------------------------------------------------------------------------------------ */

static void mpi_span(struct export *x, const struct stream_record *r, struct export_span *span)
{
    const struct rt_event *ev = &r->event;
    uint32_t function = EVENT_MPI_FUNCTION(ev->code);
    const char *name = event_mpi_name(function);
    if (name == NULL)
        name = rt_rank_function(x->all[r->stream].rank, ev->code, NULL);
    span->kind = EXPORT_MPI;
    span->name = number_of(x, &x->names[EXPORT_MPI], name);
    span->value = EVENT_MPI_ENTER(function);
    span->peer = INT32_MIN;
    if (EVENT_IS_MPI_ENTER(ev->code)) {
        span->peer = (int32_t)EVENT_GET(ev, EV_MPI_ENTER, peer);
        span->bytes = EVENT_GET(ev, EV_MPI_ENTER, bytes);
        span->comm = (uint32_t)EVENT_GET(ev, EV_MPI_ENTER, comm);
    }
}

static void mark_span(struct export *x, const struct stream_record *r, struct export_span *span)
{
    char room[32], text[1400];
    int64_t value = (int64_t)r->event.b;
    const char *title = export_mark_title(x, r->stream, r->event.a, room);
    const char *label = export_mark_label(x, r->stream, r->event.a, value);
    if (label != NULL)
        (void)snprintf(text, sizeof text, "%s: %s", title, label);
    else
        (void)snprintf(text, sizeof text, "%s: %" PRId64, title, value);
    *span = (struct export_span){.kind = EXPORT_MARK,
                                 .name = number_of(x, &x->names[EXPORT_MARK], text),
                                 .type = (uint32_t)r->event.a,
                                 .value = value};
}

static void text_span(struct export *x, enum export_kind kind, const char *text, int64_t value,
                      struct export_span *span)
{
    span->kind = kind;
    span->name = number_of(x, &x->names[kind], text);
    span->value = value;
}

static void window_span_of(struct export *x, const struct stream_record *r,
                           struct export_span *span)
{
    char text[32];
    int32_t ordinal = (int32_t)EVENT_GET(&r->event, EV_WINDOW_OPEN, ordinal);
    (void)snprintf(text, sizeof text, "window %" PRId32, ordinal);
    text_span(x, EXPORT_WINDOW, text, ordinal, span);
}

static void signal_span(struct export *x, const struct stream_record *r, struct export_span *span)
{
    char text[48];
    const char *name = r->event.a < 65 ? sigabbrev_np((int)r->event.a) : NULL;
    if (name != NULL)
        (void)snprintf(text, sizeof text, "SIG%s", name);
    else
        (void)snprintf(text, sizeof text, "signal %" PRIu64, r->event.a);
    text_span(x, EXPORT_SIGNAL, text, (int64_t)r->event.a, span);
}

static void function_span(struct export *x, const struct stream_record *r, struct export_span *span)
{
    span->kind = EXPORT_FUNCTION;
    int rc = function_numbers_find(x->functions, r->stream, r->event.a, r->event.clock, &span->name,
                                   &x->e);
    if (rc != 0)
        x->rc = rc;
}

enum span_edge export_span_of(struct export *x, const struct stream_record *r,
                              struct export_span *span)
{
    uint32_t code = r->event.code;
    const struct rt_rank *rank = x->all[r->stream].rank;
    *span = (struct export_span){.kind = EXPORT_KINDS};
    if (EVENT_IS_MPI_ENTER(code) || EVENT_IS_MPI_LEAVE(code)) {
        mpi_span(x, r, span);
        return EVENT_IS_MPI_ENTER(code) ? SPAN_BEGINS : SPAN_ENDS;
    }
    switch (code) {
    case EV_FUNCTION_ENTER:
    case EV_FUNCTION_LEAVE:
        function_span(x, r, span);
        return code == EV_FUNCTION_ENTER ? SPAN_BEGINS : SPAN_ENDS;
    case EV_REGION_BEGIN:
    case EV_REGION_END:
        text_span(x, EXPORT_REGION, rt_rank_string(rank, (uint32_t)r->event.a), 0, span);
        return code == EV_REGION_BEGIN ? SPAN_BEGINS : SPAN_ENDS;
    case EV_MARK_PUSH:
    case EV_MARK_POP: mark_span(x, r, span); return code == EV_MARK_PUSH ? SPAN_BEGINS : SPAN_ENDS;
    case EV_WINDOW_OPEN:
    case EV_WINDOW_CLOSE:
        window_span_of(x, r, span);
        return code == EV_WINDOW_OPEN ? SPAN_BEGINS : SPAN_ENDS;
    case EV_SIGNAL_ENTER:
    case EV_SIGNAL_LEAVE:
        signal_span(x, r, span);
        return code == EV_SIGNAL_ENTER ? SPAN_BEGINS : SPAN_ENDS;
    case EV_MARK_TYPE: learn_type(x, r); break;
    case EV_MARK_LABEL: learn_label(x, r); break;
    case EV_IMAGE: function_numbers_moved(x->functions, r->stream); break;
    default: break;
    }
    return SPAN_NONE;
}

const char *export_name(const struct export *x, enum export_kind kind, uint32_t number)
{
    const char *text = kind == EXPORT_FUNCTION ? function_numbers_name(x->functions, number)
                                               : names_text(&x->names[kind], number);
    return text != NULL ? text : "?";
}

bool export_counter_title(const struct export *x, uint32_t stream, const struct rt_event *ev,
                          char out[300])
{
    const char *where = ev->code == EV_COUNTER         ? "in windows"
                        : ev->code == EV_MPI_COUNTER   ? "in MPI calls"
                        : ev->code == EV_STATS_COUNTER ? "since stats-reset"
                                                       : NULL;
    if (where == NULL)
        return false;
    (void)snprintf(out, 300, "%s %s", rt_rank_string(x->all[stream].rank, (uint32_t)ev->a), where);
    return true;
}
