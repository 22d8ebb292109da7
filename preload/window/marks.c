/* SPDX-License-Identifier: BSD-3-Clause
 * Caches what the program says about marks until the process records, and records it again in every
 * child of fork, which has its own file. */
#include "preload/window/marks.h"
#include "preload/libc/interpose.h"
#include "preload/process.h"
#include "preload/thread.h"
#include "preload/window/triggers.h"

#include "base/format/event_fields.h"
#include "base/log.h"
#include "base/spin.h"
#include "base/sys.h"

#include <string.h>
#include <sys/mman.h>

enum { ROOM = 256 << 10, TEXT_AT = sizeof(struct mark_meaning) };

static _Atomic(unsigned char *) kept; /* meanings, one after another; mapped for the first */
static _Atomic uint32_t kept_bytes;
static spin_lock appending; /* a lock, held with signals blocked */
/* number of this stream among this process's and its parents' */
static _Atomic uint32_t stream_number = 1;

static unsigned char *room(void)
{
    unsigned char *at = atomic_load_explicit(&kept, memory_order_acquire), *none = NULL;
    if (at != NULL)
        return at;
    at = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
              0);
    if (at == MAP_FAILED)
        return NULL;
    if (!atomic_compare_exchange_strong(&kept, &none, at)) {
        (void)munmap(at, ROOM); /* another thread, or a handler, was first */
        at = none;
    }
    return at;
}

/* Returns the meaning at *at and advances *at; NULL at the end. */
static struct mark_meaning *next(unsigned char *from, uint32_t *at)
{
    uint32_t end = atomic_load_explicit(&kept_bytes, memory_order_acquire);
    if (from == NULL || *at >= end)
        return NULL;
    struct mark_meaning *m = (struct mark_meaning *)(void *)(from + *at);
    *at += m->bytes;
    return m;
}

static struct mark_meaning *find(unsigned char *from, const struct mark_meaning *wanted,
                                 const char *text)
{
    uint32_t at = 0;
    for (struct mark_meaning *m; (m = next(from, &at)) != NULL;)
        if (m->code == wanted->code && m->type == wanted->type && m->value == wanted->value &&
            strncmp((char *)m + TEXT_AT, text, STREAM_STRING_MAX - 1) == 0)
            return m;
    return NULL;
}

static struct mark_meaning *append(unsigned char *to, const struct mark_meaning *wanted,
                                   const char *text)
{
    uint32_t n = (uint32_t)strnlen(text, STREAM_STRING_MAX - 1);
    uint32_t bytes = (TEXT_AT + n + 1 + 7) & ~7u, at = atomic_load(&kept_bytes);
    if (at + bytes > ROOM)
        return NULL;
    struct mark_meaning *m = (struct mark_meaning *)(void *)(to + at);
    *m = *wanted;
    m->bytes = bytes;
    memcpy((char *)m + TEXT_AT, text, n);
    atomic_store_explicit(&kept_bytes, at + bytes, memory_order_release);
    return m;
}

static struct mark_meaning *keep(const struct mark_meaning *wanted, const char *text)
{
    static _Atomic bool told;
    unsigned char *to = room();
    if (to == NULL)
        return NULL;
    uint64_t mask = sys_block_signals();
    spin_take(&appending);
    struct mark_meaning *m = find(to, wanted, text);
    m = m != NULL ? m : append(to, wanted, text);
    spin_give(&appending);
    sys_restore_signals(mask);
    if (m == NULL && !atomic_exchange(&told, true))
        log_line(LOG_WARNING, "more meanings of marks are said than are kept (256 KiB): files of "
                              "forked children lack the others");
    return m;
}

static void tell(struct recorder_thread *t, const struct mark_meaning *m, const char *text)
{
    uint64_t id = stream_string_id(&recorder_stream, text);
    if (m->code == EV_MARK_TYPE)
        (void)recorder_emit(
            t, m->code,
            EVENT_PUT(EV_MARK_TYPE, type, m->type) | EVENT_PUT(EV_MARK_TYPE, flags, m->value), id);
    else
        (void)recorder_emit(t, m->code,
                            EVENT_PUT(EV_MARK_LABEL, type, m->type) |
                                EVENT_PUT(EV_MARK_LABEL, label, id),
                            (uint64_t)m->value);
}

void marks_mean(uint32_t code, int type, long value, const char *text)
{
    struct mark_meaning wanted = {.code = code, .type = (uint32_t)type, .value = value};
    if (!process.traced || type < 0 || type >= 100 || recorder_self.in_toolkit)
        return;
    struct preload_thread *pt = thread_self();
    if (text != NULL && !text_is_readable(pt, text))
        return;
    text = text != NULL ? text : "";
    struct mark_meaning *m = keep(&wanted, text);
    if (pt == NULL)
        return;
    if (m != NULL)
        atomic_store(&m->told, atomic_load(&stream_number));
    tell(&recorder_self, &wanted, text);
}

void marks_tell_all(struct recorder_thread *t)
{
    unsigned char *from = atomic_load_explicit(&kept, memory_order_acquire);
    uint32_t at = 0, number = atomic_load(&stream_number);
    for (struct mark_meaning *m; (m = next(from, &at)) != NULL;)
        if (atomic_exchange(&m->told, number) != number)
            tell(t, m, (char *)m + TEXT_AT);
}

void marks_forked(void)
{
    atomic_store(&appending, 0); /* its holder is not here */
    atomic_fetch_add(&stream_number, 1);
}
