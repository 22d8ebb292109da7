/* SPDX-License-Identifier: BSD-3-Clause
 * Decodes the payload words of events, by base/format/event_fields.def. */
#include "tools/event_description.h"

#include "base/format/enums.h"
#include "base/format/event_fields.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static void add(struct event_description *d, const char *key, enum field_kind kind, uint64_t number)
{
    if (d->count < EVENT_DESCRIPTION_FIELDS)
        d->fields[d->count++] = (struct field){.key = key, .kind = kind, .number = (int64_t)number};
}

static void add_int(struct event_description *d, const char *key, int64_t number)
{
    add(d, key, FIELD_INT, (uint64_t)number);
}

static void add_uint(struct event_description *d, const char *key, uint64_t number)
{
    add(d, key, FIELD_UINT, number);
}

static void add_hex(struct event_description *d, const char *key, uint64_t number)
{
    add(d, key, FIELD_HEX, number);
}

static void add_text(struct event_description *d, const char *key, const char *text)
{
    if (d->count < EVENT_DESCRIPTION_FIELDS)
        d->fields[d->count++] = (struct field){.key = key, .kind = FIELD_TEXT, .text = text};
}

static void add_string(struct event_description *d, const struct rt_rank *rank, const char *key,
                       uint64_t id)
{
    add_text(d, key, rt_rank_string(rank, (uint32_t)id));
}

static const char *named(const char *text)
{
    return text != NULL ? text : "?";
}

static const char *alarm_text(const struct rt_rank *rank, int32_t alarm)
{
    const struct rt_rank_tables *t = rt_rank_tables(rank);
    for (size_t i = 0; i < t->alarm_count; i++)
        if (t->alarms[i].alarm == alarm)
            return t->alarms[i].text;
    return NULL;
}

static void add_alarm(struct event_description *d, const struct rt_rank *rank, uint64_t alarm)
{
    if (alarm == UINT16_MAX)
        return;
    add_uint(d, "alarm", alarm);
    const char *text = alarm_text(rank, (int32_t)alarm);
    if (text != NULL)
        add_text(d, "alarm_text", text);
}

static void add_fired_flags(struct event_description *d, uint64_t flags)
{
    for (uint64_t bit = 1; bit <= flags; bit <<= 1)
        if ((flags & bit) != 0 && fired_flag_text(bit) != NULL)
            add_uint(d, fired_flag_text(bit), 1);
}

static void add_signal(struct event_description *d, uint64_t signal)
{
    const char *name = signal < 65 ? sigabbrev_np((int)signal) : NULL;
    add_uint(d, "signal", signal);
    if (name != NULL)
        add_text(d, "name", name);
}

/* Adds fields that only the table has, since the event's own words have no room for them. */
static void describe_fired_row(struct event_description *d, const struct rt_fired *fired)
{
    if (fired->chain >= 0) {
        add_int(d, "chain", fired->chain);
        add_uint(d, "pass", fired->pass);
    }
    if (fired->requested != RT_NULL)
        add_int(d, "requested", fired->requested);
    if (fired->actual != RT_NULL)
        add_int(d, "actual", fired->actual);
    if (fired->requested != RT_NULL && fired->actual != RT_NULL)
        add_int(d, "skid", fired->actual - fired->requested);
}

enum shown_as {
    UNSIGNED,
    UNSIGNED_OR_NONE, /* 0 is not shown */
    SIGNED,
    HEXADECIMAL,
    PEER, /* a signed number; INT32_MIN is not shown: the call has no peer, or no tag */
    CODE,
    RETURN_ADDRESS,
    RETURN_ADDRESS_OR_NONE,
    STRING,
    STRING_OR_NONE,
    ALARM,
    SIGNAL,
    CONTROL,
    FIRED_FLAGS,
    REASON,
    MEMORY_ENDS,
};

/* The fields of event_fields.def. The rows of all MPI functions have these codes. */
enum { EV_MPI_ENTER = EVENT_MPI_ENTER(0), EV_MPI_LEAVE = EVENT_MPI_LEAVE(0) };
static const struct field_place {
    uint32_t code;
    bool b; /* in the word b, not a */
    uint8_t first, bits;
    enum shown_as kind;
    const char *key;
} places[] = {
#define FIELD(event, word, field, first, bits, kind)                                               \
    {event, #word[0] == 'b', first, bits, kind, #field},
#define MORE(event, word, field, first, bits)
#include "base/format/event_fields.def"
#undef FIELD
#undef MORE
};

static void add_number(struct event_description *d, const struct field_place *p, uint64_t v)
{
    int64_t number = (int64_t)(v << (64 - p->bits)) >> (64 - p->bits);
    switch (p->kind) {
    case UNSIGNED_OR_NONE:
        if (v == 0)
            break;
        __attribute__((fallthrough));
    case UNSIGNED: add_uint(d, p->key, v); break;
    case PEER:
        if (number == INT32_MIN)
            break;
        __attribute__((fallthrough));
    case SIGNED: add_int(d, p->key, number); break;
    case RETURN_ADDRESS_OR_NONE:
        if (v == 0)
            break;
        __attribute__((fallthrough));
    case RETURN_ADDRESS: add(d, p->key, FIELD_RETURN, v); break;
    case CODE: add(d, p->key, FIELD_CODE, v); break;
    default: add_hex(d, p->key, v);
    }
}

static void add_field(struct event_description *d, const struct rt_rank *rank,
                      const struct field_place *p, uint64_t v)
{
    switch (p->kind) {
    case STRING_OR_NONE:
        if (v == 0)
            break;
        __attribute__((fallthrough));
    case STRING: add_string(d, rank, p->key, v); break;
    case ALARM: add_alarm(d, rank, v); break;
    case SIGNAL: add_signal(d, v); break;
    case CONTROL: add_text(d, p->key, named(control_event_text(v))); break;
    case FIRED_FLAGS: add_fired_flags(d, v); break;
    case REASON: add_text(d, p->key, named(window_reason_text(v))); break;
    case MEMORY_ENDS: add_text(d, p->key, named(memory_end_text(v))); break;
    default: add_number(d, p, v);
    }
}

/* Adds the fields that the code has in event_fields.def; returns whether it has any. */
static bool add_fields(struct event_description *d, const struct rt_rank *rank, uint32_t code,
                       const struct rt_event *ev)
{
    bool any = false;
    for (const struct field_place *p = places; p < places + sizeof places / sizeof *places; p++) {
        bool of_path = p->code == EV_SAMPLE && (strcmp(p->key, "path") == 0);
        bool of_callers = p->code == EV_SAMPLE && (strcmp(p->key, "callers") == 0);
        bool has_path = (ev->flags & EVENT_FLAG_PATH) != 0;
        if (p->code != code || (of_path && !has_path) || (of_callers && has_path))
            continue;
        add_field(d, rank, p, (p->b ? ev->b : ev->a) >> p->first & EVENT_MASK(p->bits));
        any = true;
    }
    return any;
}

static void describe_leave(struct event_description *d, const struct rt_event *ev)
{
    const char *name = event_mpi_name(EVENT_MPI_FUNCTION(ev->code));
    if (ev->a != 0)
        add_hex(d, name != NULL && strstr(name, "probe") != NULL ? "message" : "request",
                EVENT_GET(ev, EV_MPI_LEAVE, request));
    if ((ev->flags & EVENT_FLAG_PATH) != 0)
        add_uint(d, "path", EVENT_GET(ev, EV_MPI_LEAVE, path));
    if (ev->b == 0 || (ev->flags & EVENT_FLAG_PATH) != 0)
        return;
    add_uint(d, "bytes", EVENT_GET(ev, EV_MPI_LEAVE, bytes));
    if (EVENT_GET(ev, EV_MPI_LEAVE, comm) != 0)
        add_uint(d, "comm", EVENT_GET(ev, EV_MPI_LEAVE, comm));
}

void event_describe(struct event_description *d, const struct rt_rank *rank,
                    const struct rt_event *ev, const struct rt_fired *fired)
{
    d->count = 0;
    d->label = "";
    d->name = rt_rank_function(rank, ev->code, &d->label);
    if (EVENT_IS_MPI_LEAVE(ev->code)) {
        describe_leave(d, ev);
    } else {
        uint32_t code = EVENT_IS_MPI_ENTER(ev->code) ? (uint32_t)EV_MPI_ENTER : ev->code;
        if (!add_fields(d, rank, code, ev) && EVENT_MODEL(ev->code) != 'R') {
            add_hex(d, "a", ev->a);
            add_hex(d, "b", ev->b);
        }
    }
    if (ev->code == EV_FIRED && fired != NULL)
        describe_fired_row(d, fired);
}

void event_flags_text(char out[96], uint16_t flags, char separator)
{
    static const struct {
        uint16_t bit;
        const char *name;
    } names[] = {{EVENT_FLAG_CUT, "cut"},
                 {EVENT_FLAG_LATE, "late"},
                 {EVENT_FLAG_NESTED, "nested"},
                 {EVENT_FLAG_FORTRAN, "fortran"}};
    size_t n = 0;
    out[0] = '\0';
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if ((flags & names[i].bit) != 0) {
            if (n > 0)
                out[n++] = separator;
            n += (size_t)snprintf(out + n, 96 - n, "%s", names[i].name);
        }
}
