/* SPDX-License-Identifier: BSD-3-Clause
 * Writes accesses as text or records. It formats text itself, since printf(3) would take longer
 * than the replay. */
#include "isa/memory/replay/trace_out.h"

#include "base/decimal.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { LINE = 384, PIPE = 1 << 20 };

/* --- blocks ----------------------------------------------------------------------------------- */

static struct accesses_record marker(const struct accesses_whose *w, uint8_t kind)
{
    struct accesses_record r = {.kind = kind};
    memcpy(&r, w, sizeof *w);
    return r;
}

/* Writes in words whose accesses follow, and `much`, how many bytes. Returns the text's length. */
static int name_whose(const struct trace_out *o, const struct accesses_whose *w, const char *much,
                      char *to, size_t room)
{
    char handler[40] = "", program[32] = "";
    if (o->program != 0)
        (void)snprintf(program, sizeof program, ", program %u", o->program);
    if (w->signal != 0)
        (void)snprintf(handler, sizeof handler, ", in a handler of signal %u", w->signal);
    return snprintf(to, room, "# rank %d, pid %u, thread %u, window %d%s%s%s", w->rank, w->pid,
                    w->thread, w->window, program, much, handler);
}

/* Says whose accesses follow, after those of another process have come between. */
static int put_whose(const struct trace_out *o)
{
    char line[LINE];
    const struct accesses_record r = marker(&o->continued, ACCESSES_CONTINUED);
    if (o->format == TRACE_BINARY)
        return sys_write_all(o->fd, &r, sizeof r);
    int n = name_whose(o, &o->continued, "", line, sizeof line);
    n += snprintf(line + n, sizeof line - (size_t)n, ", continued\n");
    return sys_write_all(o->fd, line, (size_t)n);
}

/* Contents of the lock file. */
struct shared {
    pid_t last;      /* process that wrote last */
    uint32_t failed; /* a process could not write, and reports it */
};

static int put_among_others(struct trace_out *o, const void *bytes, size_t n)
{
    struct shared s = {.last = 0};
    if (flock(o->lock, LOCK_EX) != 0)
        return -errno;
    (void)!pread(o->lock, &s, sizeof s, 0); /* empty at first */
    int rc = o->within && s.last != getpid() ? put_whose(o) : 0;
    rc = rc != 0 ? rc : sys_write_all(o->fd, bytes, n);
    o->said = rc != 0 && s.failed != 0;
    s.last = getpid();
    s.failed |= rc != 0;
    if (pwrite(o->lock, &s, sizeof s, 0) != (ssize_t)sizeof s && rc == 0)
        rc = -EIO;
    (void)flock(o->lock, LOCK_UN);
    return rc;
}

static int put_block(struct trace_out *o, const void *bytes, size_t n)
{
    int rc = n == 0         ? 0
             : o->lock >= 0 ? put_among_others(o, bytes, n)
                            : sys_write_all(o->fd, bytes, n);
    o->error = -rc;
    return o->error;
}

int trace_out_flush(struct trace_out *o)
{
    int rc = put_block(o, o->buffer, o->used);
    o->used = 0;
    o->within = true;
    o->continued = o->whose;
    return rc;
}

static int make_room(struct trace_out *o)
{
    return sizeof o->buffer - o->used < LINE ? trace_out_flush(o) : 0;
}

/* --- accesses --------------------------------------------------------------------------------- */

static char *put_hex(char *to, uint64_t n, int least)
{
    int digits = n == 0 ? 1 : (67 - __builtin_clzll(n)) / 4;
    digits = digits < least ? least : digits;
    for (int i = digits; i-- > 0; n >>= 4)
        to[i] = "0123456789abcdef"[n & 15];
    return to + digits;
}

static char *put_text(char *to, const replay_access *a)
{
    to = put_hex(to, a->pc, 1);
    *to++ = ' ';
    *to++ = (char)a->kind;
    *to++ = ' ';
    to = decimal_put(to, a->bytes);
    *to++ = ' ';
    to = put_hex(to, a->address, 1);
    *to++ = '\n';
    return to;
}

static char *put_lackey(char *to, const replay_access *a)
{
    *to++ = ' ';
    *to++ = a->kind == ACCESSES_READ ? 'L' : a->kind == ACCESSES_WRITE ? 'S' : 'M';
    *to++ = ' ';
    to = put_hex(to, a->address, 8);
    *to++ = ',';
    to = decimal_put(to, a->bytes);
    *to++ = '\n';
    return to;
}

static int put(void *context, const replay_access *list, uint64_t count)
{
    struct trace_out *o = context;
    if (o->format == TRACE_COUNT)
        return 0;
    if (o->format == TRACE_BINARY) {
        int rc = trace_out_flush(o);
        return rc != 0 ? rc : put_block(o, list, count * sizeof *list);
    }
    for (uint64_t i = 0; i < count; i++) {
        int rc = make_room(o);
        if (rc != 0)
            return rc;
        char *to = o->buffer + o->used;
        to = o->format == TRACE_LACKEY ? put_lackey(to, &list[i]) : put_text(to, &list[i]);
        o->used = (size_t)(to - o->buffer);
    }
    return 0;
}

/* --- segments --------------------------------------------------------------------------------- */

static const char *end_of(const struct recording_segment *s)
{
    static const char *const ends[] = {
        [MEMORY_CLOSED] = "",
        [MEMORY_JUMPED] = ", left by a jump or an exception before its window's end",
        [MEMORY_NO_ROOM] = ", cut off: its file could not grow",
        [MEMORY_AMID] = ", cut off within a function, whose last accesses are missing",
        [ACCESSES_MISSING] = "",
        [ACCESSES_OPEN] = ", cut off: the thread or process ended in its window, or the file could "
                          "not be written; its last accesses are missing",
    };
    const char *end = s->end < sizeof ends / sizeof *ends ? ends[s->end] : NULL;
    return end != NULL ? end : ", ended for a reason that this regtrace does not know";
}

static int begin(void *context, const struct recording_segment *s)
{
    struct trace_out *o = context;
    const struct accesses_record r = marker(&s->whose, ACCESSES_SEGMENT);
    int rc = make_room(o);
    if (rc != 0)
        return rc;
    if (o->used == 0)
        o->within = false;
    o->whose = s->whose;
    o->begun = true;
    char *to = o->buffer + o->used;
    size_t room = sizeof o->buffer - o->used;
    if (o->format == TRACE_BINARY) {
        memcpy(to, &r, sizeof r);
        o->used += sizeof r;
        return 0;
    }
    char much[32] = "";
    if (s->known)
        (void)snprintf(much, sizeof much, ", %" PRIu64 " bytes", s->bytes);
    int n = name_whose(o, &s->whose, much, to, room);
    n += snprintf(to + n, room - (size_t)n, "%s\n", s->known ? end_of(s) : "");
    o->used += (size_t)n;
    return 0;
}

static int put_missing(struct trace_out *o, const struct recording_sums *sums)
{
    int rc = make_room(o);
    if (rc != 0)
        return rc;
    o->used +=
        (size_t)snprintf(o->buffer + o->used, LINE,
                         "# %" PRIu64 " times a function was not recorded from a place in it on: "
                         "the first is 0x%" PRIx64 "\n",
                         sums->missing_count, sums->missing_first);
    return 0;
}

static int end(void *context, const struct recording_segment *s, const struct recording_sums *sums)
{
    struct trace_out *o = context;
    const struct accesses_record r = {
        .pc = sums->accesses, .address = sums->entered, .bytes = s->end, .kind = ACCESSES_END};
    int rc = make_room(o);
    if (rc != 0)
        return rc;
    char *to = o->buffer + o->used;
    if (o->format == TRACE_BINARY) {
        memcpy(to, &r, sizeof r);
        o->used += sizeof r;
        return 0;
    }
    int n = snprintf(to, LINE, "# %" PRIu64 " accesses, %" PRIu64 " functions entered",
                     sums->accesses, sums->entered);
    if (o->format == TRACE_COUNT)
        n += snprintf(to + n, LINE - (size_t)n,
                      ", %" PRIu64 " values and %" PRIu64 " outcomes recorded", sums->values,
                      sums->outcomes);
    n += snprintf(to + n, LINE - (size_t)n, "%s\n", o->lock >= 0 ? end_of(s) : "");
    o->used += (size_t)n;
    return sums->missing_count != 0 ? put_missing(o, sums) : 0;
}

static int rest(void *context)
{
    return trace_out_flush(context);
}

struct recording_sink trace_out_sink(struct trace_out *o)
{
    return (struct recording_sink){
        .begin = begin, .put = put, .end = end, .rest = rest, .context = o};
}

/* --- open and close --------------------------------------------------------------------------- */

int trace_out_open(struct trace_out *o, enum trace_format format, int fd, const char *lock,
                   struct rt_error *e)
{
    o->format = format;
    o->fd = fd;
    o->error = 0;
    o->said = false;
    o->used = 0;
    o->within = false;
    o->lock = lock != NULL ? open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (lock != NULL && o->lock < 0) {
        int rc = -errno;
        rt_error_set(e, "%s cannot be made: %s", lock, strerror(-rc));
        return rc;
    }
    (void)fcntl(fd, F_SETPIPE_SZ, PIPE); /* fails unless fd is a pipe, which does no harm */
    return 0;
}

void trace_out_close(struct trace_out *o)
{
    if (o->lock >= 0)
        (void)close(o->lock);
    o->lock = -1;
}
