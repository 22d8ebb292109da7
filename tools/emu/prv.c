/* SPDX-License-Identifier: BSD-3-Clause
 * Paraver's traces. What channels show goes to a tape first, since the line of a state stands where it begins and says where it ends. */
#include "tools/emu/prv.h"

#include "tools/emu/by_send.h"
#include "tools/emu/tape.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER = 1 << 20, LINE = 256 };

/* One trace. */
struct side {
    char path[4200];
    int fd, error;
    char *buffer;
    size_t n;
    char (*prefix)[32]; /* by row: "0:1:2:1:", from the processor to the thread */
    uint8_t *prefix_length;
    bool open; /* a line of events, of: */
    uint32_t row;
    int64_t time;
    uint64_t lines;
};

/* Numbers as digits that are written several times. */
struct digits {
    uint64_t value;
    uint8_t n;
    char text[23];
};

struct prv {
    struct replay *replay;
    struct tape *tape;
    struct side sides[2]; /* threads, processors */
    struct digits *types; /* of Paraver, by channel: ":25:" */
    struct digits times[64];
    struct emu_comms *comms;
    struct emu_messages *messages;
    struct by_send waiting; /* messages that were found, and have no line yet */
    struct prv_found *found;
};

/* --- bytes ------------------------------------------------------------------------------------------------------------------- */

static void flush(struct side *s)
{
    for (size_t done = 0; done < s->n && s->error == 0;) {
        ssize_t n = write(s->fd, s->buffer + done, s->n - done);
        if (n < 0 && errno != EINTR)
            s->error = errno;
        done += n > 0 ? (size_t)n : 0;
    }
    s->n = 0;
}

static inline void put_text(struct side *s, const char *text, size_t n)
{
    memcpy(s->buffer + s->n, text, n);
    s->n += n;
}

/* From the last one on; the number of digits. */
static inline unsigned digits_of(uint64_t v, char digits[24])
{
    static const char pairs[] = "000102030405060708091011121314151617181920212223242526272829303132"
                                "3334353637383940414243444546474849"
                                "505152535455565758596061626364656667686970717273747576777879808182"
                                "8384858687888990919293949596979899";
    unsigned at = 24;
    while (v >= 100) {
        at -= 2;
        memcpy(digits + at, pairs + 2 * (v % 100), 2);
        v /= 100;
    }
    if (v >= 10) {
        at -= 2;
        memcpy(digits + at, pairs + 2 * v, 2);
    } else {
        digits[--at] = (char)('0' + v);
    }
    return 24 - at;
}

static inline void put_number(struct side *s, uint64_t v)
{
    char digits[24];
    if (v < 10) {
        s->buffer[s->n++] = (char)('0' + v);
        return;
    }
    unsigned n = digits_of(v, digits);
    for (unsigned i = 0; i < n; i++) /* few, most often */
        s->buffer[s->n + i] = digits[24 - n + i];
    s->n += n;
}

static inline void put_time(struct prv *p, struct side *s, int64_t time)
{
    struct digits *d = &p->times[((uint64_t)time ^ (uint64_t)time >> 6) & 63];
    if (d->value != (uint64_t)time || d->n == 0) {
        char digits[24];
        d->value = (uint64_t)time;
        d->n = (uint8_t)digits_of(d->value, digits);
        memcpy(d->text, digits + 24 - d->n, d->n);
    }
    memcpy(s->buffer + s->n, d->text, sizeof d->text); /* what is behind it is overwritten */
    s->n += d->n;
}

static inline void end_line(struct side *s)
{
    if (s->open)
        s->buffer[s->n++] = '\n';
    s->open = false;
    if (s->n > BUFFER - LINE)
        flush(s);
}

static inline void begin_line(struct side *s, char kind, uint32_t row)
{
    end_line(s);
    s->buffer[s->n++] = kind;
    s->buffer[s->n++] = ':';
    memcpy(s->buffer + s->n, s->prefix[row], sizeof s->prefix[row]);
    s->n += s->prefix_length[row];
    s->lines++;
}

/* Events of one row and time are in one line. */
static void put_event(struct prv *p, struct side *s, const struct taped *t)
{
    if (!s->open || s->row != t->row || s->time != t->time || s->n > BUFFER - LINE) {
        begin_line(s, '2', t->row);
        put_time(p, s, t->time);
        s->open = true;
        s->row = t->row;
        s->time = t->time;
    }
    const struct digits *type = &p->types[t->channel];
    memcpy(s->buffer + s->n, type->text, 8); /* what is behind it is overwritten */
    s->n += type->n;
    put_number(s, (uint64_t)t->value);
}

static void put_state(struct prv *p, struct side *s, const struct taped *t)
{
    if (t->end == t->time || t->value == 0 /* nothing is there */)
        return;
    begin_line(s, '1', t->row);
    put_time(p, s, t->time);
    s->buffer[s->n++] = ':';
    put_time(p, s, t->end);
    s->buffer[s->n++] = ':';
    put_number(s, (uint64_t)t->value);
    s->open = true;
    s->time = -1; /* no event joins it */
}

/* --- what is there --------------------------------------------------------------------------------------------------------------- */

/* "#Paraver (22/11/26 at 21:46):DURATION_ns:" and what comes behind it: the run's date, in UTC. */
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
    if (s->n > BUFFER - LINE)
        flush(s);
}

/* Nodes with their processors; one application, whose tasks are the processes. */
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

static int make_prefixes(struct prv *p, struct rt_error *e)
{
    uint32_t threads, processors;
    const struct replay_thread *t = replay_threads(p->replay, &threads);
    (void)replay_processors(p->replay, &processors);
    for (unsigned i = 0; i < 2; i++) {
        struct side *s = &p->sides[i];
        uint32_t rows = i == 0 ? threads : processors;
        s->prefix = calloc(rows + 1u, sizeof *s->prefix);
        s->prefix_length = calloc(rows + 1u, sizeof *s->prefix_length);
        if (s->prefix == NULL || s->prefix_length == NULL) {
            rt_error_set(e, "no memory");
            return -ENOMEM;
        }
        for (uint32_t k = 0, in_file = 0; k < rows; k++) {
            in_file = k > 0 && i == 0 && t[k].file != t[k - 1].file ? 1 : in_file + 1;
            s->prefix_length[k] =
                (uint8_t)snprintf(s->prefix[k], sizeof s->prefix[k],
                                  "0:1:%u:%u:", i == 0 ? t[k].file + 1 : 1, in_file);
        }
    }
    return 0;
}

static int open_side(struct side *s, const char *dir, const char *name, struct rt_error *e)
{
    (void)snprintf(s->path, sizeof s->path, "%s/%s.prv", dir, name);
    s->buffer = malloc(BUFFER);
    s->fd = open(s->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
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
    return rc;
}

static void shows(void *context, bool processor, uint32_t row, uint32_t channel, int64_t time,
                  int64_t value)
{
    struct prv *p = context;
    tape_put(p->tape, processor, row, (uint16_t)channel, time, value, p->types[channel].value == 0);
}

/* Its line, with the end. */
static void message_text(struct prv *p, const struct emu_message *m, char line[256])
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

/* Of messages that were sent before that time. */
static void put_messages(struct prv *p, int64_t before)
{
    struct side *s = &p->sides[0];
    struct emu_message m;
    char line[256];
    while (by_send_next(&p->waiting, before, &m)) {
        end_line(s);
        message_text(p, &m, line);
        put_text(s, line, strlen(line));
        s->lines++;
        p->found->messages++;
    }
}

static void found_message(void *context, const struct emu_message *m)
{
    struct prv *p = context;
    by_send_add(&p->waiting, m);
}

static int take_event(void *context, const struct emu_record *r, int64_t time, struct rt_error *e)
{
    struct prv *p = context;
    (void)time;
    return emu_messages_take(p->messages, r, e);
}

static void take(void *context, const struct taped *t, size_t count)
{
    struct prv *p = context;
    int64_t realtime, origin = replay_origin(p->replay, &realtime);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || t[i].time != t[i - 1].time)
            put_messages(p, t[i].time + origin);
        if (t[i].end == TAPE_EVENT)
            put_event(p, &p->sides[t[i].processor], &t[i]);
        else
            put_state(p, &p->sides[t[i].processor], &t[i]);
    }
}

/* The first line; its length is always the same. */
static void put_first_line(struct prv *p, int64_t duration)
{
    uint32_t processors;
    (void)replay_processors(p->replay, &processors);
    for (unsigned i = 0; i < 2; i++)
        put_header(&p->sides[i], p, duration);
    put_threads_header(&p->sides[0], p);
    put_list(&p->sides[1], "1(%u):1:1(%u:1)\n", processors, processors);
}

/* The run's date and duration, which are known now. */
static void mend_first_line(struct prv *p, int64_t duration)
{
    for (unsigned i = 0; i < 2; i++) {
        struct side *s = &p->sides[i];
        end_line(s);
        flush(s);
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
    struct emu_streams *streams = replay_streams(p->replay);
    int rc = make_prefixes(p, e);
    p->tape = tape_open(threads, processors, take, p);
    p->types = calloc(replay_channel_count(p->replay), sizeof *p->types);
    if (rc == 0 && (p->tape == NULL || p->types == NULL)) {
        rt_error_set(e, "no memory");
        rc = -ENOMEM;
    }
    for (uint32_t k = 0; rc == 0 && k < replay_channel_count(p->replay); k++) {
        struct digits *d = &p->types[k];
        d->value = replay_channel(p->replay, k).paraver;
        d->n = (uint8_t)snprintf(d->text, sizeof d->text, ":%u:", (unsigned)d->value);
    }
    if (rc == 0)
        rc = emu_comms_open(&p->comms, streams, e);
    if (rc == 0)
        rc = emu_messages_open(&p->messages, streams, p->comms, found_message, p, e);
    return rc;
}

static void close_all(struct prv *p)
{
    by_send_free(&p->waiting);
    emu_messages_close(p->messages);
    emu_comms_close(p->comms);
    tape_close(p->tape);
    free(p->types);
}

static void put_late(void *context, size_t i, char line[256])
{
    struct prv *p = context;
    size_t n;
    message_text(p, &by_send_late(&p->waiting, &n)[i], line);
}

/* Both traces are there, but for what follows from the end. */
static int finish(struct prv *p, struct rt_error *e)
{
    size_t late;
    int64_t end = p->found->replay.end;
    int rc = emu_messages_end(p->messages, &p->found->unmatched, e);
    tape_end(p->tape, end);
    put_messages(p, INT64_MAX);
    mend_first_line(p, end);
    if (rc == 0 && p->waiting.no_memory) {
        rt_error_set(e, "no memory for messages");
        rc = -ENOMEM;
    }
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
        put_first_line(p, 0);
        rc = replay_run(p->replay, &sink, &p->found->replay, e);
    }
    if (rc == 0)
        rc = finish(p, e);
    close_all(p);
    return rc;
}

int prv_write(struct replay *r, const char *dir, struct prv_found *found, struct rt_error *e)
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
    for (unsigned i = 0; rc == 0 && i < 2; i++) {
        rc = prv_write_pcf(r, dir, i == 1, e);
        if (rc == 0)
            rc = prv_write_row(r, dir, i == 1, e);
        if (rc == 0)
            rc = prv_write_views(r, dir, i == 1, e);
    }
    return rc;
}
