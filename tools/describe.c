/* SPDX-License-Identifier: BSD-3-Clause
 * Decodes the payload words of events; base/format/event_table.def defines their meaning. */
#include "tools/describe.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static void add(struct described *d, const char *key, enum field_kind kind, uint64_t number)
{
    if (d->count < DESCRIBE_FIELDS)
        d->fields[d->count++] = (struct field){.key = key, .kind = kind, .number = (int64_t)number};
}

static void add_int(struct described *d, const char *key, int64_t number)
{
    add(d, key, FIELD_INT, (uint64_t)number);
}

static void add_uint(struct described *d, const char *key, uint64_t number)
{
    add(d, key, FIELD_UINT, number);
}

static void add_hex(struct described *d, const char *key, uint64_t number)
{
    add(d, key, FIELD_HEX, number);
}

static void add_text(struct described *d, const char *key, const char *text)
{
    if (d->count < DESCRIBE_FIELDS)
        d->fields[d->count++] = (struct field){.key = key, .kind = FIELD_TEXT, .text = text};
}

static void add_string(struct described *d, const struct rt_rank *rank, const char *key,
                       uint64_t id)
{
    add_text(d, key, rt_rank_string(rank, (uint32_t)id));
}

/* INT32_MIN: the call has no peer, or no tag. */
static void add_if_there(struct described *d, const char *key, uint64_t word)
{
    int32_t v = (int32_t)(uint32_t)word;
    if (v != INT32_MIN)
        add_int(d, key, v);
}

static void add_bytes_comm(struct described *d, uint64_t word)
{
    add_uint(d, "bytes", word & 0xffffffffffffu);
    if (word >> 48 != 0)
        add_uint(d, "comm", word >> 48);
}

static void describe_enter(struct described *d, const struct rt_event *ev)
{
    add_if_there(d, "peer", ev->a);
    add_if_there(d, "tag", ev->a >> 32);
    add_bytes_comm(d, ev->b);
}

static void describe_leave(struct described *d, const struct rt_event *ev)
{
    const char *name = event_mpi_name(EVENT_MPI_FUNCTION(ev->code));
    if (ev->a != 0)
        add_hex(d, name != NULL && strstr(name, "probe") != NULL ? "message" : "request", ev->a);
    if (ev->b != 0)
        add_bytes_comm(d, ev->b);
}

static void describe_mpi(struct described *d, const struct rt_rank *rank, const struct rt_event *ev)
{
    switch (ev->code) {
    case EV_MPI_COMPLETE:
        add_hex(d, "request", ev->a);
        add_if_there(d, "source", ev->b);
        add_if_there(d, "tag", ev->b >> 32);
        break;
    case EV_MPI_BYTES:
        add_hex(d, "request", ev->a);
        add_uint(d, "bytes", ev->b);
        break;
    case EV_MPI_MESSAGE: add_hex(d, "message", ev->a); break;
    case EV_MPI_RECEIVE:
        add_if_there(d, "source", ev->a);
        add_if_there(d, "tag", ev->a >> 32);
        add_uint(d, "bytes", ev->b);
        break;
    case EV_MPI_STARTED:
    case EV_MPI_CANCELLED: add_hex(d, "request", ev->a); break;
    case EV_MPI_COMM:
        add_uint(d, "comm", (uint32_t)ev->a);
        add_uint(d, "rank", ev->a >> 32);
        add_uint(d, "size", (uint32_t)ev->b);
        add_uint(d, "parent", ev->b >> 32);
        break;
    case EV_MPI_PCONTROL:
        add_int(d, "level", (int32_t)(uint32_t)ev->a);
        if (ev->b != 0)
            add_string(d, rank, "name", ev->b);
        break;
    default: add_hex(d, "a", ev->a); add_hex(d, "b", ev->b);
    }
}

static const char *control_event_name(unsigned event)
{
    static const char *const names[] = {
        "start",       "stop",         "precond",         "threadid",     "warmup-start",
        "warmup-stop", "prolog-start", "prolog-stop",     "epilog-start", "epilog-stop",
        "stats-emit",  "stats-reset",  "stats-emit-reset"};
    return event < sizeof names / sizeof *names ? names[event] : "?";
}

static const char *alarm_text(const struct rt_rank *rank, int32_t alarm)
{
    const struct rt_rank_tables *t = rt_rank_tables(rank);
    for (size_t i = 0; i < t->alarm_count; i++)
        if (t->alarms[i].alarm == alarm)
            return t->alarms[i].text;
    return NULL;
}

static void describe_fired(struct described *d, const struct rt_rank *rank,
                           const struct rt_event *ev)
{
    uint64_t alarm = (ev->a >> 8) & 0xffff, flags = ev->a >> 56;
    add_text(d, "event", control_event_name((unsigned)(ev->a & 0xff)));
    if (alarm != UINT16_MAX) {
        add_uint(d, "alarm", alarm);
        const char *text = alarm_text(rank, (int32_t)alarm);
        if (text != NULL)
            add_text(d, "alarm_text", text);
    }
    add_uint(d, "tid", (ev->a >> 24) & 0xffffffffu);
    static const char *const names[] = {"bcast",         "late", "precond", "ignored",
                                        "default_start", "api",  "closes"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if ((flags >> i & 1) != 0)
            add_uint(d, names[i], 1);
    add(d, "ip", FIELD_CODE, ev->b);
}

/* Adds fields that only the table has, since the event's own words have no room for them. */
static void describe_fired_row(struct described *d, const struct rt_fired *fired)
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

static const char *memory_end(uint64_t end)
{
    static const char *const ends[] = {"with the window", "left by a jump or an exception",
                                       "no room", "within a function", "never begun"};
    return end < sizeof ends / sizeof *ends ? ends[end] : "?";
}

static const char *close_reason(uint64_t reason)
{
    static const char *const names[] = {"alarm", "end of program", "end of thread",
                                        "fork",  "exec",           "API"};
    return reason < 6 ? names[reason] : "?";
}

static void describe_own(struct described *d, const struct rt_rank *rank, const struct rt_event *ev)
{
    switch (ev->code) {
    case EV_FIRED: describe_fired(d, rank, ev); break;
    case EV_WINDOW_OPEN:
        add_uint(d, "ordinal", (uint32_t)ev->a);
        add_uint(d, "bcast", ev->a >> 32 & 1);
        add_uint(d, "firing", ev->a >> 33 & 1);
        add_uint(d, "late_ticks", ev->b);
        break;
    case EV_WINDOW_CLOSE:
        add_uint(d, "ordinal", (uint32_t)ev->a);
        add_text(d, "reason", close_reason(ev->a >> 32));
        add_uint(d, "late_ticks", ev->b);
        break;
    case EV_DROPPED:
        add_uint(d, "events", ev->a);
        add_uint(d, "ticks", ev->b);
        break;
    case EV_WAITED: add_uint(d, "ticks", ev->a); break;
    case EV_FORK: add_uint(d, "pid", ev->a); break;
    case EV_EXEC: add_string(d, rank, "path", ev->a); break;
    case EV_IMAGE:
        add_string(d, rank, "path", ev->a);
        add_hex(d, "base", ev->b);
        break;
    case EV_AFFINITY:
        add_uint(d, "processors", (uint32_t)ev->a);
        add_uint(d, "first", ev->a >> 32);
        add_hex(d, "sum", ev->b);
        break;
    case EV_MEMORY:
        add_uint(d, "bytes", ev->a);
        add_text(d, "end", memory_end(ev->b));
        break;
    case EV_INTERRUPTED: add_uint(d, "calls", ev->a); break;
    case EV_MPI_READY:
        add_int(d, "rank", (int32_t)(uint32_t)ev->a);
        add_uint(d, "size", ev->a >> 32);
        add_uint(d, "thread_level", ev->b & 0xff);
        add_uint(d, "abi", ev->b >> 8);
        break;
    default: break;
    }
}

static void describe_samples(struct described *d, const struct rt_rank *rank,
                             const struct rt_event *ev)
{
    switch (ev->code) {
    case EV_SAMPLE:
        add(d, "ip", FIELD_CODE, ev->a);
        add_uint(d, "periods", (uint32_t)ev->b);
        add_uint(d, "callers", ev->b >> 32);
        break;
    case EV_COUNTER:
    case EV_MPI_COUNTER:
    case EV_STATS_COUNTER:
        add_string(d, rank, "event", ev->a);
        add_uint(d, "count", ev->b);
        add_uint(d, "running_per_mille", ev->a >> 32);
        break;
    case EV_SAMPLE_CALLERS:
        add(d, "caller", FIELD_RETURN, ev->a);
        if (ev->b != 0)
            add(d, "next", FIELD_RETURN, ev->b);
        break;
    default: add_hex(d, "a", ev->a); add_hex(d, "b", ev->b);
    }
}

static void describe_marks(struct described *d, const struct rt_rank *rank,
                           const struct rt_event *ev)
{
    switch (ev->code) {
    case EV_REGION_BEGIN:
    case EV_REGION_END: add_string(d, rank, "region", ev->a); break;
    case EV_MARK_TYPE:
        add_uint(d, "type", (uint32_t)ev->a);
        add_uint(d, "flags", ev->a >> 32);
        add_string(d, rank, "title", ev->b);
        break;
    case EV_MARK_LABEL:
        add_uint(d, "type", (uint32_t)ev->a);
        add_string(d, rank, "label", ev->a >> 32);
        add_int(d, "value", (int64_t)ev->b);
        break;
    case EV_MARK_PUSH:
    case EV_MARK_POP:
    case EV_MARK_SET:
        add_uint(d, "type", ev->a);
        add_int(d, "value", (int64_t)ev->b);
        break;
    case EV_SIGNAL_ENTER:
    case EV_SIGNAL_LEAVE: {
        const char *name = ev->a < 65 ? sigabbrev_np((int)ev->a) : NULL;
        add_uint(d, "signal", ev->a);
        if (name != NULL)
            add_text(d, "name", name);
        if (ev->code == EV_SIGNAL_ENTER)
            add(d, "ip", FIELD_CODE, ev->b);
        break;
    }
    case EV_FUNCTION_ENTER:
    case EV_FUNCTION_LEAVE:
        add(d, "address", FIELD_CODE, ev->a);
        add(d, "call_site", FIELD_RETURN, ev->b);
        break;
    case EV_THREADID:
    case EV_STATS_EMIT:
    case EV_STATS_RESET:
    case EV_STATS_EMIT_RESET:
        add_uint(d, "alarm", ev->a);
        add_uint(d, "tid", ev->b);
        break;
    default: add_hex(d, "a", ev->a); add_hex(d, "b", ev->b);
    }
}

void event_describe(struct described *d, const struct rt_rank *rank, const struct rt_event *ev,
                    const struct rt_fired *fired)
{
    d->count = 0;
    d->label = "";
    d->name = rt_rank_function(rank, ev->code, &d->label);
    if (EVENT_IS_MPI_ENTER(ev->code))
        describe_enter(d, ev);
    else if (EVENT_IS_MPI_LEAVE(ev->code))
        describe_leave(d, ev);
    else if (EVENT_MODEL(ev->code) == 'M')
        describe_mpi(d, rank, ev);
    else if (EVENT_MODEL(ev->code) == 'R')
        describe_own(d, rank, ev);
    else if (EVENT_MODEL(ev->code) == 'P')
        describe_samples(d, rank, ev);
    else
        describe_marks(d, rank, ev);
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
