/* SPDX-License-Identifier: BSD-3-Clause
 * Writes a run as the JSON trace events that chrome://tracing and Perfetto open ("Trace Event
 * Format", the JSON object form): B and E for spans, C for counters, i for points, s and f for
 * messages, M for names; one event a line. */
#include "tools/event_description.h"
#include "tools/export/export.h"
#include "tools/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct chrome {
    struct export *x;
    const char *path;
    FILE *out;
    bool any;
};

/* Returns our own process number. The kernel's may be the same on another node. */
static uint32_t pid_of(const struct chrome *c, uint32_t stream)
{
    return c->x->process_of[stream] + 1;
}

static void object_begin(struct chrome *c, struct json *j, const char *phase, uint32_t pid,
                         uint32_t tid)
{
    (void)fputs(c->any ? "," : " ", c->out);
    c->any = true;
    *j = (struct json){.out = c->out};
    json_object_begin(j, NULL);
    json_text(j, "ph", phase);
    json_uint(j, "pid", pid);
    json_uint(j, "tid", tid);
}

static void event_begin(struct chrome *c, struct json *j, const char *phase, uint32_t stream,
                        int64_t ns)
{
    object_begin(c, j, phase, pid_of(c, stream), stream + 1);
    json_micros(j, "ts", ns);
}

static void named(struct chrome *c, const char *what, uint32_t pid, uint32_t tid, const char *name)
{
    struct json j;
    object_begin(c, &j, "M", pid, tid);
    json_text(&j, "name", what);
    json_object_begin(&j, "args");
    json_text(&j, "name", name);
    json_object_end(&j);
    json_object_end(&j);
}

static void sorted(struct chrome *c, const char *what, uint32_t pid, uint32_t tid, uint32_t index)
{
    struct json j;
    object_begin(c, &j, "M", pid, tid);
    json_text(&j, "name", what);
    json_object_begin(&j, "args");
    json_uint(&j, "sort_index", index);
    json_object_end(&j);
    json_object_end(&j);
}

/* Labels a process with its program, pid and host, as other subcommands name them. */
static void labelled(struct chrome *c, uint32_t process)
{
    const struct rt_rank_info *info = rt_rank_info(c->x->processes[process].rank);
    char text[300];
    struct json j;
    (void)snprintf(text, sizeof text, "%.100s, process %" PRIu32 " on %.100s", info->program,
                   info->pid, info->host);
    object_begin(c, &j, "M", process + 1, c->x->processes[process].first_stream + 1);
    json_text(&j, "name", "process_labels");
    json_object_begin(&j, "args");
    json_text(&j, "labels", text);
    json_object_end(&j);
    json_object_end(&j);
}

static void *begin(struct export *x, const char *path)
{
    struct chrome *c = calloc(1, sizeof *c);
    char title[160];
    if (c == NULL) {
        export_fail(x, -ENOMEM, "no memory");
        return NULL;
    }
    *c = (struct chrome){.x = x, .path = path, .out = export_create(x, path)};
    x->text = c->out;
    if (c->out == NULL)
        return c;
    (void)fputs("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n", c->out);
    for (uint32_t i = 0; i < x->process_count; i++) {
        export_process_title(x, i, title);
        named(c, "process_name", i + 1, x->processes[i].first_stream + 1, title);
        labelled(c, i);
        sorted(c, "process_sort_index", i + 1, x->processes[i].first_stream + 1, i);
    }
    for (uint32_t i = 0; i < x->count; i++) {
        export_thread_title(x, i, title);
        named(c, "thread_name", pid_of(c, i), i + 1, title);
        sorted(c, "thread_sort_index", pid_of(c, i), i + 1, i);
    }
    return c;
}

/* Writes an address and the name of its function. For a return address, the call lies before the
 * address, so the byte before it decides. */
static void put_place(struct chrome *c, struct json *j, const struct stream_record *r,
                      const struct field *f)
{
    char key[40];
    uint32_t number;
    uint64_t address = (uint64_t)f->number - (f->kind == FIELD_RETURN ? 1 : 0);
    json_hex(j, f->key, (uint64_t)f->number);
    if (f->number == 0)
        return;
    int rc = function_numbers_find(c->x->functions, r->stream, address, r->event.clock, &number,
                                   &c->x->e);
    if (rc != 0) {
        c->x->rc = rc;
        return;
    }
    (void)snprintf(key, sizeof key, "%s_name", f->key);
    json_text(j, key, function_numbers_name(c->x->functions, number));
}

static void put_args(struct chrome *c, struct json *j, const struct stream_record *r)
{
    struct event_description d;
    event_describe(&d, c->x->all[r->stream].rank, &r->event, NULL);
    if (d.count == 0 && r->event.flags == 0)
        return;
    json_object_begin(j, "args");
    for (unsigned i = 0; i < d.count; i++) {
        const struct field *f = &d.fields[i];
        if (f->kind == FIELD_INT)
            json_int(j, f->key, f->number);
        else if (f->kind == FIELD_UINT)
            json_uint(j, f->key, (uint64_t)f->number);
        else if (f->kind == FIELD_TEXT)
            json_text(j, f->key, f->text);
        else if (f->kind == FIELD_HEX)
            json_hex(j, f->key, (uint64_t)f->number);
        else
            put_place(c, j, r, f);
    }
    if (r->event.flags != 0) {
        char flags[96];
        event_flags_text(flags, r->event.flags, ' ');
        json_text(j, "event_flags", flags);
    }
    json_object_end(j);
}

static const char *category(enum export_kind kind)
{
    static const char *const names[EXPORT_KINDS] = {"window", "region",   "mark",
                                                    "mpi",    "function", "signal"};
    return names[kind];
}

static void check(struct chrome *c)
{
    if (ferror(c->out) != 0)
        export_fail(c->x, -EIO, "%s could not be written: %s", c->path, strerror(errno));
}

static void enter(void *state, uint32_t stream, int64_t ns, const struct export_span *span,
                  const struct stream_record *r)
{
    struct chrome *c = state;
    struct json j;
    event_begin(c, &j, "B", stream, ns);
    json_text(&j, "name", export_name(c->x, span->kind, span->name));
    json_text(&j, "cat", category(span->kind));
    if (r != NULL)
        put_args(c, &j, r);
    json_object_end(&j);
    check(c);
}

static void leave(void *state, uint32_t stream, int64_t ns, const struct export_span *span,
                  const struct stream_record *r)
{
    struct chrome *c = state;
    struct json j;
    (void)span, (void)r;
    event_begin(c, &j, "E", stream, ns);
    json_object_end(&j);
}

/* A counter's track belongs to a process and a name, so the name contains the thread. */
static void put_counter(struct chrome *c, uint32_t stream, int64_t ns, const char *title,
                        const char *key, int64_t value)
{
    char name[400];
    struct json j;
    (void)snprintf(name, sizeof name, "%.300s, thread %" PRId32, title, c->x->all[stream].number);
    event_begin(c, &j, "C", stream, ns);
    json_text(&j, "name", name);
    json_object_begin(&j, "args");
    json_int(&j, key, value);
    json_object_end(&j);
    json_object_end(&j);
    check(c);
}

static void put_instant(struct chrome *c, uint32_t stream, int64_t ns, const char *name,
                        const struct stream_record *r)
{
    struct json j;
    event_begin(c, &j, "i", stream, ns);
    json_text(&j, "name", name);
    json_text(&j, "s", "t");
    put_args(c, &j, r);
    json_object_end(&j);
    check(c);
}

static void set_mark(struct chrome *c, uint32_t stream, int64_t ns, const struct stream_record *r)
{
    char room[32], text[1400];
    int64_t value = (int64_t)r->event.b;
    const char *title = export_mark_title(c->x, stream, r->event.a, room);
    const char *label = export_mark_label(c->x, stream, r->event.a, value);
    put_counter(c, stream, ns, title, "value", value);
    if (label == NULL)
        return;
    (void)snprintf(text, sizeof text, "%s: %s", title, label);
    put_instant(c, stream, ns, text, r);
}

static void point(void *state, uint32_t stream, int64_t ns, const struct stream_record *r)
{
    struct chrome *c = state;
    const char *label;
    char title[300];
    if (export_counter_title(c->x, stream, &r->event, title)) {
        put_counter(c, stream, ns, title, "count", (int64_t)r->event.b);
        return;
    }
    switch (r->event.code) {
    case EV_MARK_SET: set_mark(c, stream, ns, r); break;
    case EV_FIRED:
    case EV_DROPPED:
    case EV_WAITED:
    case EV_FORK:
    case EV_EXEC:
    case EV_INTERRUPTED:
    case EV_MPI_PCONTROL:
    case EV_SAMPLE:
    case EV_THREADID:
    case EV_STATS_EMIT:
    case EV_STATS_RESET:
    case EV_STATS_EMIT_RESET:
        (void)rt_rank_function(c->x->all[stream].rank, r->event.code, &label);
        put_instant(c, stream, ns, label, r);
        break;
    default: break;
    }
}

static void message(void *state, uint32_t stream, int64_t ns, const struct export_message *m,
                    bool received)
{
    struct chrome *c = state;
    const struct export *x = c->x;
    struct json j;
    event_begin(c, &j, received ? "f" : "s", stream, ns);
    if (received)
        json_text(&j, "bp", "e");
    json_uint(&j, "id", (uint64_t)(m - x->messages.all) + 1);
    json_text(&j, "name", "message");
    json_text(&j, "cat", "message");
    json_object_begin(&j, "args");
    json_int(&j, "from_rank", export_info(x, m->send_stream)->rank);
    json_int(&j, "to_rank", export_info(x, m->receive_stream)->rank);
    json_int(&j, "tag", m->tag);
    json_uint(&j, "bytes", m->bytes);
    json_object_end(&j);
    json_object_end(&j);
    check(c);
}

static void finish(void *state)
{
    struct chrome *c = state;
    if (c->out != NULL)
        (void)fputs("]}\n", c->out);
    export_close_file(c->x, c->out, c->path);
    free(c);
}

const struct export_format export_chrome = {
    .option = "chrome",
    .shares_text = true,
    .one_stack = true,
    .begin = begin,
    .enter = enter,
    .leave = leave,
    .point = point,
    .message = message,
    .finish = finish,
};
