/* SPDX-License-Identifier: BSD-3-Clause
 * Formats lines of Paraver's traces. Only prv.c includes this file: everything is inlined there,
 * since formatting takes most of the time. */
#ifndef REGTRACE_TOOLS_PARAVER_PRV_LINES_H
#define REGTRACE_TOOLS_PARAVER_PRV_LINES_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

struct share;

/* Bytes of the buffer and of the longest text that is written without a check for room. The buffer
 * is small enough that its text is still in the processor's cache when the kernel copies it. */
enum { BUFFER = 1 << 17, LINE = 256 };
/* An event line that has reached so many bytes continues in another line. The limit depends neither
 * on the process that writes the line nor on the buffer, so that the same run gives the same
 * bytes. */
#define LONGEST (1u << 16)

/* One trace. */
struct side {
    char path[4200];
    int fd, error;
    char *buffer;
    size_t n;         /* bytes in the buffer */
    uint64_t written; /* bytes before the buffer's */
    uint64_t begun;   /* bytes before the last line */
    struct share *share;
    char (*prefix)[32]; /* by row: "0:1:2:1:", from the processor to the thread */
    uint8_t *prefix_length;
    bool open; /* a line has begun; row, time: of its events (time -1: none may join it) */
    uint32_t row;
    int64_t time;
    uint64_t lines;
    /* By row: the file offset at which the end of its open state goes, or NO_END. */
    uint64_t *ends;
};
#define NO_END UINT64_MAX
/* digits of a state's end that is filled in later */
#define END_DIGITS 20

/* The digits of a number that is written several times. */
struct digits {
    uint64_t value;
    uint8_t n;
    char text[23];
};

/* A cache of the digits of recent times. high: the digits of a time except the last eight. */
struct clock_digits {
    struct digits times[64], high;
};

static void flush(struct side *s)
{
    for (size_t done = 0; done < s->n && s->error == 0;) {
        ssize_t n = write(s->fd, s->buffer + done, s->n - done);
        if (n < 0 && errno != EINTR)
            s->error = errno;
        done += n > 0 ? (size_t)n : 0;
    }
    s->written += s->n;
    s->n = 0;
}

static inline void put_text(struct side *s, const char *text, size_t n)
{
    memcpy(s->buffer + s->n, text, n);
    s->n += n;
}

static const char pairs[] = "000102030405060708091011121314151617181920212223242526272829303132"
                            "3334353637383940414243444546474849"
                            "505152535455565758596061626364656667686970717273747576777879808182"
                            "8384858687888990919293949596979899";

/* Writes the digits at the end of the array; returns their count. */
static inline unsigned digits_of(uint64_t v, char digits[24])
{
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

/* The functions that return `char *` write at `at` and return where the text ends, so that a line
 * is made without reading and updating s->n in between. */
static inline char *number(char *at, uint64_t v)
{
    char digits[24];
    if (v < 10) {
        *at = (char)('0' + v);
        return at + 1;
    }
    if (v < 100) {
        memcpy(at, pairs + 2 * v, 2);
        return at + 2;
    }
    unsigned n = digits_of(v, digits);
    for (unsigned i = 0; i < n; i++) /* usually few */
        at[i] = digits[24 - n + i];
    return at + n;
}

static void make_digits(struct digits *d, uint64_t value)
{
    char digits[24];
    d->value = value;
    d->n = (uint8_t)digits_of(value, digits);
    memcpy(d->text, digits + 24 - d->n, d->n);
}

/* The first digits of times stay the same for a long time, so they are cached apart. */
static void make_time(struct clock_digits *c, struct digits *d, uint64_t time)
{
    enum { LOW = 100000000 };
    if (time < LOW) {
        make_digits(d, time);
        return;
    }
    uint32_t low = (uint32_t)(time % LOW), first = low / 10000, last = low % 10000;
    if (c->high.n == 0 || c->high.value != time / LOW)
        make_digits(&c->high, time / LOW);
    memcpy(d->text, c->high.text, sizeof d->text);
    char *at = d->text + c->high.n;
    memcpy(at, pairs + 2 * (first / 100), 2);
    memcpy(at + 2, pairs + 2 * (first % 100), 2);
    memcpy(at + 4, pairs + 2 * (last / 100), 2);
    memcpy(at + 6, pairs + 2 * (last % 100), 2);
    d->value = time;
    d->n = (uint8_t)(c->high.n + 8u);
}

static inline char *time_text(struct clock_digits *c, char *at, int64_t time)
{
    struct digits *d = &c->times[((uint64_t)time ^ (uint64_t)time >> 6) & 63];
    if (d->value != (uint64_t)time || d->n == 0)
        make_time(c, d, (uint64_t)time);
    /* copies more than the digits; the next text overwrites the rest */
    memcpy(at, d->text, sizeof d->text);
    return at + d->n;
}

/* Makes room for another line, or for more of one. */
static inline void make_room(struct side *s)
{
    if (s->n > BUFFER - LINE)
        flush(s);
}

static inline void end_line(struct side *s)
{
    if (s->open)
        s->buffer[s->n++] = '\n';
    s->open = false;
    make_room(s);
}

static inline char *begin_line(struct side *s, char kind, uint32_t row)
{
    end_line(s);
    s->begun = s->written + s->n;
    char *at = s->buffer + s->n;
    at[0] = kind;
    at[1] = ':';
    memcpy(at + 2, s->prefix[row], sizeof s->prefix[row]);
    s->lines++;
    s->open = true;
    return at + 2 + s->prefix_length[row];
}

#endif
