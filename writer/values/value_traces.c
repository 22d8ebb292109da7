/* SPDX-License-Identifier: BSD-3-Clause
 * Makes traces of records of captured values, and counts what the plug-in makes of the traces. */
#include "writer/values/value_traces.h"

#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* By default, an entry of 104 bytes in a trace gives tuples of 224 bytes: with this limit both fit
 * into a frame. */
#define TRACE_MOST (VALUES_FRAME_MOST / 4)
#define QUEUE_MOST                                                                                 \
    (8u << 20) /* of a thread; beyond it, samples with unknown instructions are given up */
#define ENTRY_MOST (sizeof(struct values_entry) + VALUES_MOST * sizeof(uint64_t))
#define ONLY_PLACE (VALUES_NONES + 1u)

int values_begin(struct values **out, const struct values_about *about)
{
    struct values *v = calloc(1, sizeof *v);
    *out = v;
    if (v == NULL)
        return -ENOMEM;
    (void)snprintf(v->plugin, sizeof v->plugin, "%s", about->plugin);
    (void)snprintf(v->path, sizeof v->path, "%s", about->snapshot);
    v->pid = about->pid;
    v->resumed = about->resumed;
    v->progress = about->progress;
    v->child.fd = -1;
    v->trace = malloc(TRACE_MOST + ENTRY_MOST);
    v->captured = calloc(TRACE_MOST / sizeof(struct values_entry) + 1, sizeof *v->captured);
    int rc = v->trace == NULL || v->captured == NULL ? -ENOMEM : 0;
    if (rc == 0)
        rc = value_lists_begin(&v->lists, about->pid);
    if (rc == 0 && v->resumed)
        rc = values_snapshot_read(v);
    rc = rc == -ENOENT || rc == -EBADMSG ? 0 : rc;
    if (about->by_name && strchr(v->plugin, '/') != NULL) {
        v->child.pid = -1;
        rt_error_set(&v->child.why, "a plug-in is not taken by a path that stands in a file");
    }
    if (rc != 0) {
        values_end(v);
        *out = NULL;
    }
    return rc;
}

void values_end(struct values *v)
{
    if (v == NULL)
        return;
    values_child_end(&v->child);
    value_lists_free(&v->lists);
    for (size_t i = 0; i < v->thread_count; i++)
        free(v->threads[i].queue);
    free(v->threads);
    free(v->instructions);
    free(v->images);
    free(v->trace);
    free(v->captured);
    free(v);
}

struct trace_thread *values_thread_of(struct values *v, int32_t thread)
{
    if (v->thread_latest < v->thread_count && v->threads[v->thread_latest].row.thread == thread)
        return &v->threads[v->thread_latest];
    for (v->thread_latest = 0; v->thread_latest < v->thread_count; v->thread_latest++)
        if (v->threads[v->thread_latest].row.thread == thread)
            return &v->threads[v->thread_latest];
    struct trace_thread *grown = realloc(v->threads, (v->thread_count + 1) * sizeof *grown);
    if (grown == NULL)
        return NULL;
    v->threads = grown;
    memset(&grown[v->thread_count], 0, sizeof *grown);
    grown[v->thread_count].row.thread = thread;
    return &grown[v->thread_count++];
}

int values_instruction_room(struct values *v, uint32_t number)
{
    if (number < v->instruction_room)
        return 0;
    uint32_t room = number + number / 2 + 64;
    struct values_instruction *grown = realloc(v->instructions, room * sizeof *grown);
    if (grown == NULL)
        return -ENOMEM;
    memset(grown + v->instruction_room, 0, (room - v->instruction_room) * sizeof *grown);
    v->instructions = grown;
    v->instruction_room = room;
    return 0;
}

static struct values_instruction *instruction_of(struct values *v, uint32_t number)
{
    return number < v->instruction_room && v->instructions[number].known ? &v->instructions[number]
                                                                         : NULL;
}

static bool is_before(struct values_place a, struct values_place b)
{
    return a.sequence != b.sequence ? a.sequence < b.sequence : a.slot < b.slot;
}

static int push(struct trace_thread *t, const struct values_waiting *w, const uint8_t *bytes)
{
    size_t need = t->queue_bytes + sizeof *w + w->bytes;
    if (need > t->queue_room) {
        size_t room = 2 * need + 4096;
        uint8_t *grown = realloc(t->queue, room);
        if (grown == NULL)
            return -ENOMEM;
        t->queue = grown;
        t->queue_room = room;
    }
    memcpy(t->queue + t->queue_bytes, w, sizeof *w);
    if (w->bytes > 0)
        memcpy(t->queue + t->queue_bytes + sizeof *w, bytes, w->bytes);
    t->queue_bytes = need;
    return 0;
}

/* Ignores instructions beyond VALUE_INSTRUCTIONS: samples that name them are counted as damaged. */
static int take_code(struct values *v, const struct rt_event *e, const struct event_slot *more,
                     unsigned more_count)
{
    uint8_t code[16];
    if (e->a == 0 || e->a > VALUE_INSTRUCTIONS || more_count == 0)
        return 0;
    uint32_t number = (uint32_t)e->a;
    if (values_instruction_room(v, number) != 0)
        return -ENOMEM;
    struct values_instruction *i = &v->instructions[number];
    if (i->known)
        return 0;
    memcpy(code, &more->clock, 8);
    memcpy(code + 8, &more->a, 8);
    i->known = true;
    i->address = e->b;
    i->clock = e->clock;
    i->length = code[15] < VALUES_CODE ? code[15] : VALUES_CODE;
    memcpy(i->code, code, i->length);
    v->instruction_most = number > v->instruction_most ? number : v->instruction_most;
    return 0;
}

static int take_sample(struct trace_thread *t, const struct rt_event *e,
                       const struct event_slot *more, unsigned more_count, struct values_place end)
{
    uint8_t bytes[8 + 24 * 8];
    struct values_waiting w = {.end = end, .none = VALUES_NONES, .periods = e->a >> 32};
    size_t n = (size_t)(e->a & 0xffff), there = 8;
    memcpy(bytes, &e->b, 8);
    for (unsigned i = 0; i < more_count && i < 8; i++, there += 24) {
        memcpy(bytes + there, &more[i].clock, 8);
        memcpy(bytes + there + 8, &more[i].a, 8);
        memcpy(bytes + there + 16, &more[i].b, 8);
    }
    if ((e->a & VALUES_FIRST) != 0) {
        t->row.damaged += t->sample_open;
        t->sample_open = true;
        t->sample_bytes = 0;
    }
    bool good = t->sample_open && n <= there && t->sample_bytes + n <= sizeof t->sample;
    if (good) {
        memcpy(t->sample + t->sample_bytes, bytes, n);
        t->sample_bytes += n;
    } else {
        t->row.damaged += t->sample_open || (e->a & VALUES_LAST) != 0;
        t->sample_open = false;
    }
    if (!good || (e->a & VALUES_LAST) == 0)
        return 0;
    t->sample_open = false;
    w.bytes = (uint32_t)t->sample_bytes;
    return push(t, &w, t->sample);
}

int values_take(struct values *v, const struct rt_event *e, const struct event_slot *more,
                unsigned more_count, struct values_place end)
{
    struct trace_thread *t = values_thread_of(v, e->thread);
    if (t == NULL)
        return -ENOMEM;
    if (v->resumed && !is_before(t->done, end))
        return 0; /* the snapshot has it */
    v->dirty = true;
    t->row.records++;
    if (e->code == EV_VALUES)
        return take_sample(t, e, more, more_count, end);
    struct values_waiting w = {.end = end, .none = ONLY_PLACE};
    if (e->code == EV_VALUES_NONE) {
        w.none = (uint32_t)e->a < VALUES_NONES ? (uint32_t)e->a : (uint32_t)VALUES_UNKNOWN;
        w.periods = e->a >> 32;
    }
    int rc = e->code == EV_VALUES_CODE ? take_code(v, e, more, more_count) : 0;
    return rc != 0 ? rc : push(t, &w, NULL);
}

void values_chunk_begin(struct values *v, int32_t thread, uint64_t sequence)
{
    struct trace_thread *t = v->resumed ? values_thread_of(v, thread) : NULL;
    if (t == NULL || t->begun)
        return;
    t->begun = true;
    uint64_t next = t->done.sequence + (t->done.slot > 0);
    v->lost_chunks += sequence > next ? sequence - next : 0;
}

/* An incomplete sample begins before `end`, and must be taken again after a kill: then this notes
 * nothing. */
int values_chunk_end(struct values *v, int32_t thread, struct values_place end)
{
    struct trace_thread *t = values_thread_of(v, thread);
    if (t == NULL)
        return -ENOMEM;
    if (t->sample_open || !is_before(t->done, end))
        return 0;
    struct values_waiting w = {.end = end, .none = ONLY_PLACE};
    if (t->queue_bytes > 0)
        return push(t, &w, NULL);
    t->done = end;
    return 0;
}

int values_add_image(struct values *v, const struct rt_map *map)
{
    struct values_image *grown = realloc(v->images, (v->image_count + 1) * sizeof *grown);
    if (grown == NULL)
        return -ENOMEM;
    v->images = grown;
    grown[v->image_count++] =
        (struct values_image){map->base, map->clock, map->path, map->build_id};
    return 0;
}

static void say_failure(struct values *v)
{
    char line[1024];
    if (v->told)
        return;
    v->told = true;
    if (v->resumed)
        return; /* recover reports it */
    (void)snprintf(line, sizeof line,
                   "values are counted no more: %.500s (plug-in %.300s); samples from here on are "
                   "without values",
                   v->child.why.text, v->plugin);
    log_line(LOG_ERROR, line);
}

/* Returns the number of the trace's instruction at `pc`, or 0 if there is none. Tuples mostly have
 * the order of the trace, so the search begins at *near. */
static uint32_t find_captured(const struct values *v, uint64_t pc, size_t *near)
{
    for (size_t tried = 0; tried < v->captured_count; tried++) {
        size_t i = (*near + tried) % v->captured_count;
        if (v->instructions[v->captured[i].number].address == pc) {
            *near = i;
            return v->captured[i].number;
        }
    }
    return 0;
}

static int send_trace(struct values *v, struct trace_thread *t)
{
    struct values_frame frame = {.kind = VALUES_TRACE,
                                 .bytes = (uint32_t)v->trace_bytes,
                                 .pid = v->pid,
                                 .has_context =
                                     v->captured_count > 0 && v->captured[0].has_context};
    const struct values_tuple *tuples = NULL;
    size_t count = 0, near = 0;
    int rc = 0;
    if (v->captured_count > 0 && !values_child_process(&v->child, v->plugin, v->progress, &frame,
                                                       v->trace, &tuples, &count)) {
        t->row.unprocessed += v->captured_count;
        say_failure(v);
    }
    for (size_t i = 0; i < count && rc == 0; i++) {
        uint32_t number = find_captured(v, tuples[i].pc, &near);
        t->row.strange += number == 0;
        if (number != 0)
            rc = value_lists_add(&v->lists, number, tuples[i].context, tuples[i].value, 1);
    }
    v->trace_bytes = v->captured_count = 0;
    return rc;
}

static void add_entry(struct values *v, const struct values_captured *c)
{
    struct values_instruction *i = &v->instructions[c->number];
    struct values_entry e = {.pc = i->address,
                             .context = {c->context[0], c->context[1]},
                             .code_bytes = i->length,
                             .count = c->count};
    memcpy(e.code, i->code, sizeof e.code);
    memcpy(v->trace + v->trace_bytes, &e, sizeof e);
    v->trace_bytes += sizeof e;
    memcpy(v->trace + v->trace_bytes, c->values, c->count * sizeof c->values[0]);
    v->trace_bytes += c->count * sizeof c->values[0];
    v->captured[v->captured_count++] = *c;
}

enum readiness { READY, NOT_YET, DAMAGED };

/* Tells whether all of a sample can be read and names known instructions. */
static enum readiness look_at(struct values *v, const uint8_t *bytes, size_t count)
{
    struct values_captured c;
    for (size_t at = 0, n; at < count; at += n) {
        n = values_get(bytes + at, count - at, &c);
        if (n == 0 || c.number == 0 || c.number > VALUE_INSTRUCTIONS)
            return DAMAGED;
        if (instruction_of(v, c.number) == NULL)
            return NOT_YET;
    }
    return READY;
}

static void count_sample(struct values *v, struct trace_thread *t, const struct values_waiting *w,
                         const uint8_t *bytes)
{
    struct values_captured c;
    t->row.samples++;
    for (size_t at = 0, n; at < w->bytes; at += n) {
        n = values_get(bytes + at, w->bytes - at, &c);
        v->instructions[c.number].samples++;
        v->instructions[c.number].periods += w->periods;
        t->row.captured++;
        add_entry(v, &c);
    }
}

/* Each counts as one sample, but VALUES_SKIPPED counts periods. */
static void count_none(struct trace_thread *t, uint32_t why, uint64_t periods)
{
    t->row.unknown += why == VALUES_UNKNOWN;
    t->row.unlearned += why == VALUES_UNLEARNED;
    t->row.not_run += why == VALUES_NOT_RUN;
    t->row.busy += why == VALUES_BUSY;
    t->row.skipped += why == VALUES_SKIPPED ? periods : 0;
}

static int process_thread(struct values *v, struct trace_thread *t, bool final)
{
    size_t at = 0;
    int rc = 0;
    struct values_place done = t->done;
    bool give_up = final || t->queue_bytes > QUEUE_MOST;
    while (at < t->queue_bytes && rc == 0) {
        struct values_waiting w;
        memcpy(&w, t->queue + at, sizeof w);
        const uint8_t *bytes = t->queue + at + sizeof w;
        enum readiness ready = w.none == VALUES_NONES ? look_at(v, bytes, w.bytes) : READY;
        if (ready == NOT_YET && !give_up)
            break;
        if (w.none != VALUES_NONES)
            count_none(t, w.none, w.periods);
        else if (ready == READY)
            count_sample(v, t, &w, bytes);
        else
            t->row.damaged++;
        done = w.end;
        at += sizeof w + w.bytes;
        if (v->trace_bytes + VALUES_FOLLOW_MOST * ENTRY_MOST > TRACE_MOST)
            rc = send_trace(v, t);
    }
    if (rc == 0)
        rc = send_trace(v, t);
    if (rc == 0) /* from here on these records are done */
        t->done = done;
    memmove(t->queue, t->queue + at, t->queue_bytes - at);
    t->queue_bytes -= at;
    return rc;
}

int values_process(struct values *v, bool final)
{
    int rc = 0;
    for (size_t i = 0; i < v->thread_count && rc == 0; i++) {
        struct trace_thread *t = &v->threads[i];
        if (t->queue_bytes > 0)
            rc = process_thread(v, t, final);
        if (final) {
            t->row.damaged += t->sample_open;
            t->sample_open = false;
        }
    }
    return rc;
}

bool values_is_saved(const struct values *v, int32_t thread, struct values_place end)
{
    for (size_t i = 0; i < v->thread_count; i++)
        if (v->threads[i].row.thread == thread)
            return !is_before(v->threads[i].saved, end);
    return false;
}
