/* SPDX-License-Identifier: BSD-3-Clause
 * Writes Paraver's traces. What channels show goes through a tape first: the line of a state stands
 * at its beginning but also gives its end. */
#include "tools/paraver/prv.h"

#include "tools/messages/by_send.h"
#include "tools/streams/joint_processes.h"
#include "tools/paraver/prv_lines.h"
#include "tools/streams/shares.h"
#include "tools/channels/tape.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* records that one of several processes writes before the next process's turn */
enum { BLOCK = 2048 };

struct prv {
    struct event_replay *replay;
    struct tape *tape;
    struct side sides[2]; /* threads, processors */
    struct digits *types; /* Paraver's event types, by channel: ":25:" */
    struct clock_digits clock;
    struct comms *comms;
    struct messages *messages;
    struct by_send waiting; /* messages that were found but have no line yet */
    struct prv_found *found;
    uint64_t taken; /* records of this block */
    int64_t time;   /* of the last record */
};

/* Writes an event. Events of one row and time share a line. */
static inline void put_event(struct prv *p, struct side *s, const struct taped *t)
{
    const struct digits *type = &p->types[t->channel];
    char *at;
    if (!s->open || s->time != t->time || s->row != t->row ||
        s->written + s->n - s->begun > LONGEST) {
        at = time_text(&p->clock, begin_line(s, '2', t->row), t->time);
        s->row = t->row;
        s->time = t->time;
    } else {
        make_room(s);
        at = s->buffer + s->n;
    }
    memcpy(at, type->text, 8); /* copies more than the digits; the value overwrites the rest */
    at = number(at + type->n, (uint64_t)t->value);
    s->n = (size_t)(at - s->buffer);
}

/* Fills in the end of a state whose line was written before the end was known. */
static void put_end(struct side *s, const struct taped *t)
{
    char text[END_DIGITS + 1];
    uint64_t at = s->ends[t->row];
    if (t->end == TAPE_OPEN || at == NO_END)
        return;
    s->ends[t->row] = NO_END;
    (void)snprintf(text, sizeof text, "%0*" PRId64, END_DIGITS, t->end);
    if (at >= s->written)
        memcpy(s->buffer + (at - s->written), text, END_DIGITS);
    else if (s->error == 0 && pwrite(s->fd, text, END_DIGITS, (off_t)at) != END_DIGITS)
        s->error = errno != 0 ? errno : EIO;
}

static inline void put_state(struct prv *p, struct side *s, const struct taped *t)
{
    if (t->end == t->time || t->end == TAPE_LEFT_OUT || t->value == 0 /* shows nothing */)
        return;
    char *at = time_text(&p->clock, begin_line(s, '1', t->row), t->time);
    *at = ':';
    if (t->end == TAPE_OPEN) {
        s->ends[t->row] = s->written + (uint64_t)(at + 1 - s->buffer);
        memset(at + 1, '0', END_DIGITS);
        at += 1 + END_DIGITS;
    } else {
        at = time_text(&p->clock, at + 1, t->end);
    }
    *at = ':';
    at = number(at + 1, (uint64_t)t->value);
    s->n = (size_t)(at - s->buffer);
    s->time = -1; /* no event joins this line */
}

/* --- headers ---------------------------------------------------------------------------------- */

/* Writes "#Paraver (22/11/26 at 21:46):DURATION_ns:", which begins the first line. The date is the
 * run's, in UTC. */
static void put_header(struct side *s, const struct prv *p, int64_t duration)
{
    char text[96];
    int64_t realtime;
    (void)replay_origin(p->replay, &realtime);
    time_t seconds = (time_t)(realtime / 1000000000);
    struct tm tm;
    (void)gmtime_r(&seconds, &tm);
    s->n += strftime(s->buffer + s->n, 64, "#Paraver (%d/%m/%y at %H:%M):", &tm);
    (void)snprintf(text, sizeof text, "%020" PRId64 "_ns:", duration);
    put_text(s, text, strlen(text));
}

__attribute__((format(printf, 2, 3))) static void put_list(struct side *s, const char *fmt, ...)
{
    char text[64];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    put_text(s, text, (size_t)n);
    make_room(s);
}

/* Writes the nodes with their processors, and one application whose tasks are the processes. */
static void put_threads_header(struct side *s, const struct prv *p)
{
    uint32_t threads, processors, nodes;
    const struct replay_thread *t = replay_threads(p->replay, &threads);
    const struct replay_processor *c = replay_processors(p->replay, &processors);
    (void)replay_nodes(p->replay, &nodes);
    put_list(s, "%u(", nodes);
    for (uint32_t i = 0, n = 0; i < processors; i++) {
        n++;
        if (i + 1 == processors || c[i + 1].node != c[i].node) {
            put_list(s, "%u%s", n, i + 1 == processors ? "" : ",");
            n = 0;
        }
    }
    put_list(s, "):1:%u(", replay_file_count(p->replay));
    for (uint32_t i = 0, n = 0; i < threads; i++) {
        n++;
        if (i + 1 == threads || t[i + 1].file != t[i].file) {
            put_list(s, "%u:%u%s", n, t[i].node + 1, i + 1 == threads ? "" : ",");
            n = 0;
        }
    }
    put_list(s, ")\n");
}

static int open_side(struct side *s, const char *dir, const char *name, struct rt_error *e)
{
    int rc = share_open(&s->share, name, e);
    if (rc != 0)
        return rc;
    (void)snprintf(s->path, sizeof s->path, "%s/%s.prv", dir, name);
    s->buffer = malloc(BUFFER);
    s->fd = open(s->share != NULL ? share_path(s->share) : s->path,
                 O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (s->buffer != NULL && s->fd >= 0)
        return 0;
    int error = s->buffer == NULL ? ENOMEM : errno;
    rt_error_set(e, "%s: %s", s->path, strerror(error));
    return -error;
}

static int close_side(struct side *s, struct rt_error *e)
{
    int rc = 0;
    if (s->fd >= 0 && s->error == 0 && close(s->fd) != 0)
        s->error = errno;
    if (s->error != 0) {
        rt_error_set(e, "%s: %s", s->path, strerror(s->error));
        rc = -s->error;
    }
    free(s->buffer);
    free((void *)s->prefix);
    free(s->prefix_length);
    free(s->ends);
    share_close(s->share);
    return rc;
}

/* If several processes convert the run, each has written only its own lines: joins them. */
static int join_side(struct side *s, struct rt_error *e)
{
    int fd = s->fd;
    if (s->share == NULL || s->error != 0)
        return 0;
    share_end(s->share, s->written);
    s->fd = -1;
    if (close(fd) == 0)
        return share_join(s->share, s->path, &s->lines, e);
    s->error = errno;
    return 0;
}

static void shows(void *context, bool processor, uint32_t row, uint32_t channel, int64_t time,
                  int64_t value)
{
    struct prv *p = context;
    tape_put(p->tape, processor, row, (uint16_t)channel, time, value, p->types[channel].value == 0);
}

/* Writes the line of a message, with its newline. */
static void message_text(struct prv *p, const struct message *m, char line[256])
{
    const struct side *s = &p->sides[0];
    int64_t realtime, origin = replay_origin(p->replay, &realtime);
    (void)snprintf(line, 256,
                   "3:%s%" PRId64 ":%" PRId64 ":%s%" PRId64 ":%" PRId64 ":%" PRIu64 ":%" PRId32
                   "\n",
                   s->prefix[m->send_stream], m->send_ns - origin, m->sent_ns - origin,
                   s->prefix[m->receive_stream], m->receive_ns - origin, m->received_ns - origin,
                   m->bytes, m->tag);
}

/* Writes the lines of messages that were sent before this time. */
static void put_messages(struct prv *p, int64_t before)
{
    struct side *s = &p->sides[0];
    struct message m;
    char line[256];
    if (by_send_is_empty(&p->waiting, before))
        return;
    while (by_send_next(&p->waiting, before, &m)) {
        p->found->messages++;
        if (!share_is_own(s->share))
            continue;
        end_line(s);
        message_text(p, &m, line);
        put_text(s, line, strlen(line));
        s->lines++;
    }
}

static void found_message(void *context, const struct message *m)
{
    struct prv *p = context;
    by_send_add(&p->waiting, m);
}

static int take_event(void *context, const struct stream_record *r, int64_t time,
                      struct rt_error *e)
{
    struct prv *p = context;
    (void)time;
    return messages_take(p->messages, r, e);
}

/* Ends the block of this process; no line continues in the next block. */
static void next_block(struct prv *p)
{
    for (unsigned i = 0; i < 2; i++) {
        struct side *s = &p->sides[i];
        end_line(s);
        share_next(s->share, s->written + s->n);
    }
    p->taken = 0;
}

static void take(void *context, const struct taped *t, size_t count)
{
    struct prv *p = context;
    int64_t realtime, origin = replay_origin(p->replay, &realtime);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || t[i].time != t[i - 1].time)
            put_messages(p, t[i].time + origin);
        if (t[i].carried) {
            put_end(&p->sides[t[i].processor], &t[i]);
            continue;
        }
        if (p->sides[0].share != NULL) {
            if (++p->taken > BLOCK && t[i].time != p->time)
                next_block(p);
            p->time = t[i].time;
            if (!share_is_own(p->sides[0].share))
                continue;
        }
        if (t[i].end == TAPE_EVENT)
            put_event(p, &p->sides[t[i].processor], &t[i]);
        else
            put_state(p, &p->sides[t[i].processor], &t[i]);
    }
}

/* Writes the first line. Its length does not depend on the values, so mend_first_line() can
 * overwrite it. */
static void put_first_line(struct prv *p, int64_t duration)
{
    uint32_t processors;
    (void)replay_processors(p->replay, &processors);
    for (unsigned i = 0; i < 2; i++)
        put_header(&p->sides[i], p, duration);
    put_threads_header(&p->sides[0], p);
    put_list(&p->sides[1], "1(%u):1:1(%u:1)\n", processors, processors);
}

/* Writes the rest of the buffer, and overwrites the run's date and duration, which are known
 * now. */
static void mend_first_line(struct prv *p, int64_t duration)
{
    for (unsigned i = 0; i < 2; i++) {
        struct side *s = &p->sides[i];
        end_line(s);
        flush(s);
        if (!joint_is_first())
            continue;
        put_header(s, p, duration);
        if (s->error == 0 && pwrite(s->fd, s->buffer, s->n, 0) != (ssize_t)s->n)
            s->error = errno;
        s->n = 0;
    }
}

static int open_all(struct prv *p, struct rt_error *e)
{
    uint32_t threads, processors;
    (void)replay_threads(p->replay, &threads);
    (void)replay_processors(p->replay, &processors);
    struct streams *streams = replay_streams(p->replay);
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < 2; i++)
        rc = prv_prefixes(p->replay, i == 1, &p->sides[i].prefix, &p->sides[i].prefix_length, e);
    for (unsigned i = 0; rc == 0 && i < 2; i++) {
        uint32_t rows = i == 1 ? processors : threads;
        p->sides[i].ends = malloc((rows + 1u) * sizeof *p->sides[i].ends);
        if (p->sides[i].ends == NULL)
            rc = -ENOMEM;
        else
            memset(p->sides[i].ends, 0xff, (rows + 1u) * sizeof *p->sides[i].ends);
    }
    p->tape = tape_open(threads, processors, take, p);
    p->types = calloc(replay_channel_count(p->replay), sizeof *p->types);
    if (rc == -ENOMEM || (rc == 0 && (p->tape == NULL || p->types == NULL))) {
        rt_error_set(e, "no memory");
        rc = -ENOMEM;
    }
    for (uint32_t k = 0; rc == 0 && k < replay_channel_count(p->replay); k++) {
        struct digits *d = &p->types[k];
        d->value = replay_channel(p->replay, k).paraver;
        d->n = (uint8_t)snprintf(d->text, sizeof d->text, ":%u:", (unsigned)d->value);
    }
    if (rc == 0)
        rc = comms_open(&p->comms, streams, e);
    if (rc == 0)
        rc = messages_open(&p->messages, streams, p->comms, found_message, p, e);
    return rc;
}

static void close_all(struct prv *p)
{
    by_send_free(&p->waiting);
    messages_close(p->messages);
    comms_close(p->comms);
    tape_close(p->tape);
    free(p->types);
}

static void put_late(void *context, size_t i, char line[256])
{
    struct prv *p = context;
    size_t n;
    message_text(p, &by_send_late(&p->waiting, &n)[i], line);
}

/* Completes both traces with all that follows from the end of the run: late messages, ends of
 * states, the first line and the lines of other processes. */
static int finish(struct prv *p, struct rt_error *e)
{
    size_t late;
    int64_t end = p->found->replay.end;
    int rc = messages_end(p->messages, &p->found->unmatched, e);
    tape_end(p->tape, end);
    put_messages(p, INT64_MAX);
    mend_first_line(p, end);
    if (rc == 0 && p->waiting.no_memory) {
        rt_error_set(e, "no memory for messages");
        rc = -ENOMEM;
    }
    for (unsigned i = 0; rc == 0 && i < 2; i++)
        rc = join_side(&p->sides[i], e);
    if (rc == 0 && p->sides[0].error == 0 && p->sides[1].error == 0)
        joint_delivered();
    if (rc != 0 || !joint_is_first())
        return rc;
    (void)by_send_late(&p->waiting, &late);
    if (rc == 0 && late != 0 && p->sides[0].error == 0)
        rc = prv_merge_late(p->sides[0].path, late, put_late, p, e);
    p->found->messages += late;
    p->sides[0].lines += late;
    return rc;
}

static int write_traces(struct prv *p, struct rt_error *e)
{
    struct replay_sink sink = {.shows = shows, .event = take_event, .context = p};
    int rc = open_all(p, e);
    if (rc == 0) {
        if (joint_is_first())
            put_first_line(p, 0);
        rc = replay_run(p->replay, &sink, &p->found->replay, e);
    }
    if (rc == 0)
        rc = finish(p, e);
    close_all(p);
    return rc;
}

int prv_write(struct event_replay *r, const char *dir, struct prv_found *found, struct rt_error *e)
{
    struct prv p = {.replay = r, .sides = {{.fd = -1}, {.fd = -1}}, .found = found};
    *found = (struct prv_found){.lines = 0};
    int rc = open_side(&p.sides[0], dir, "thread", e);
    if (rc == 0)
        rc = open_side(&p.sides[1], dir, "cpu", e);
    if (rc == 0)
        rc = write_traces(&p, e);
    for (unsigned i = 0; i < 2; i++) {
        found->lines += p.sides[i].lines;
        int closed = close_side(&p.sides[i], rc == 0 ? e : NULL);
        rc = rc != 0 ? rc : closed;
    }
    for (unsigned i = 0; rc == 0 && joint_is_first() && i < 2; i++) {
        rc = prv_write_pcf(r, dir, i == 1, e);
        if (rc == 0)
            rc = prv_write_row(r, dir, i == 1, e);
        if (rc == 0)
            rc = prv_write_views(r, dir, i == 1, e);
    }
    return rc;
}
