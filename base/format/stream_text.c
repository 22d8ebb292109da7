/* SPDX-License-Identifier: BSD-3-Clause
 * Strings and metadata of a stream: a lock-free table that signal handlers may add to, and
 * key=value text. */
#include "base/format/stream.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define STRING_MAX STREAM_STRING_MAX

static struct stream_string *entries(const struct stream *s)
{
    return (struct stream_string *)(void *)(s->base + s->header->strings_offset);
}

/* Copies without memcpy(): signal handlers call this, and libc's memcpy() may use vector registers,
 * which code that probes call must not change. */
static void copy_bytes(char *to, const char *from, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        to[i] = from[i];
        __asm__ volatile("" ::: "memory");
    }
}

static bool same_bytes(const char *a, const char *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

static uint32_t cut_length(const char *text)
{
    uint32_t n = 0;
    while (n < STRING_MAX && text[n] != '\0')
        n++;
    if (n == STRING_MAX && text[n] != '\0')
        while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
            n--;
    return n;
}

/* Returns the 32-bit FNV-1a hash, which streams store (struct stream_string). It differs from the
 * low half of the 64-bit one in base/hash.h. */
static uint32_t short_hash(const char *text, uint32_t n)
{
    uint32_t h = 2166136261u;
    for (uint32_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)text[i]) * 16777619u;
    return h;
}

/* Fills the entry, which the caller has claimed. If the string bytes are full, frees the entry
 * again and returns false. */
static bool enter_string(const struct stream *s, struct stream_string *e, const char *text,
                         uint32_t n, uint32_t hash)
{
    struct stream_header *h = s->header;
    uint32_t at = atomic_fetch_add_explicit(&h->string_bytes_used, n + 1, memory_order_relaxed);
    bool room = at <= h->string_bytes && n + 1 <= h->string_bytes - at;
    if (room) {
        char *to = (char *)s->base + h->string_bytes_offset + at;
        copy_bytes(to, text, n);
        to[n] = '\0';
        e->offset = at;
        e->length = n;
        e->hash = hash;
        atomic_fetch_add_explicit(&h->strings_used, 1, memory_order_relaxed);
    } else {
        atomic_fetch_sub_explicit(&h->string_bytes_used, n + 1, memory_order_relaxed);
        e->length = 0;
    }
    atomic_store_explicit(&e->state, room ? STRING_READY : STRING_FREE, memory_order_release);
    return room;
}

uint32_t stream_string_id(const struct stream *s, const char *text)
{
    if (text == NULL || text[0] == '\0')
        return 0;
    struct stream_header *h = s->header;
    uint32_t n = cut_length(text);
    uint32_t hash = short_hash(text, n);
    uint32_t mask = h->string_capacity - 1;
    /* No hash leads to the entries 0 ("") and 1 (the text for a full table). */
    struct stream_string *table = entries(s);
    if (atomic_load_explicit(&table[1].state, memory_order_acquire) == STRING_FREE) {
        table[1].state = STRING_IS_WRITTEN;
        (void)enter_string(s, &table[1], text, n, hash);
        return 1;
    }
    for (uint32_t step = 0; step <= mask && step < 64; step++) {
        uint32_t i = (hash + step) & mask;
        if (i < 2)
            continue;
        struct stream_string *e = &table[i];
        uint32_t state = atomic_load_explicit(&e->state, memory_order_acquire);
        if (state == STRING_FREE &&
            atomic_compare_exchange_strong(&e->state, &state, STRING_IS_WRITTEN)) {
            if (enter_string(s, e, text, n, hash))
                return i;
            break;
        }
        if (state == STRING_READY && e->hash == hash && e->length == n &&
            same_bytes((const char *)s->base + h->string_bytes_offset + e->offset, text, n))
            return i;
    }
    atomic_fetch_add_explicit(&h->strings_lost, 1, memory_order_relaxed);
    return 1;
}

const char *stream_string_text(const struct stream *s, uint32_t id)
{
    if (id == 0)
        return "";
    if (id >= s->header->string_capacity)
        return NULL;
    const struct stream_string *e = &entries(s)[id];
    if (atomic_load_explicit(&e->state, memory_order_acquire) != STRING_READY ||
        e->offset >= s->header->string_bytes || e->length >= s->header->string_bytes - e->offset)
        return NULL;
    return (const char *)s->base + s->header->string_bytes_offset + e->offset;
}

static uint32_t put_escaped(char *to, uint32_t room, const char *text, bool is_key)
{
    uint32_t n = 0;
    for (; *text != '\0'; text++) {
        char escape = *text == '\n' ? 'n' : *text == '\\' ? '\\' : is_key && *text == '=' ? 'e' : 0;
        if (n + 2 > room)
            return UINT32_MAX;
        if (escape != 0)
            to[n++] = '\\';
        to[n++] = escape != 0 ? escape : *text;
    }
    return n;
}

int stream_meta_put(const struct stream *s, const char *key, const char *value)
{
    struct stream_header *h = s->header;
    char *meta = (char *)s->base + h->meta_offset;
    uint32_t used = atomic_load_explicit(&h->meta_used, memory_order_relaxed);
    uint32_t end = h->meta_bytes;
    uint32_t n = used < end ? put_escaped(meta + used, end - used, key, true) : UINT32_MAX;
    if (n == UINT32_MAX || used + n + 1 >= end)
        return -ENOSPC;
    uint32_t at = used + n;
    meta[at++] = '=';
    n = put_escaped(meta + at, end - at, value, false);
    if (n == UINT32_MAX || at + n + 1 > end)
        return -ENOSPC;
    meta[at + n] = '\n';
    atomic_store_explicit(&h->meta_used, at + n + 1, memory_order_release);
    return 0;
}

/* Unescapes one field of [from, end) up to `stop` into `to`. Returns the place after the field. */
static const char *take_field(const char *from, const char *end, char stop, char *to, size_t room)
{
    size_t n = 0;
    while (from < end && *from != stop) {
        char c = *from++;
        if (c == '\\' && from < end) {
            c = *from++;
            c = c == 'n' ? '\n' : c == 'e' ? '=' : c;
        }
        if (n + 1 < room)
            to[n++] = c;
    }
    to[n] = '\0';
    return from < end ? from + 1 : end;
}

void stream_meta_each(const struct stream *s,
                      void (*visit)(void *ctx, const char *key, const char *value), void *ctx)
{
    const struct stream_header *h = s->header;
    uint32_t used =
        atomic_load_explicit(&((struct stream_header *)s->header)->meta_used, memory_order_acquire);
    if (used > h->meta_bytes)
        used = h->meta_bytes;
    const char *at = (const char *)s->base + h->meta_offset;
    const char *end = at + used;
    char key[128];
    static char value[64u << 10]; /* tools and the writer call this from one thread */
    while (at < end) {
        at = take_field(at, end, '=', key, sizeof key);
        at = take_field(at, end, '\n', value, sizeof value);
        visit(ctx, key, value);
    }
}

struct wanted {
    const char *key;
    char *out;
    size_t room;
    bool found;
};

static void take_wanted(void *ctx, const char *key, const char *value)
{
    struct wanted *w = ctx;
    if (strcmp(key, w->key) != 0)
        return;
    (void)snprintf(w->out, w->room, "%s", value);
    w->found = value[0] != '\0';
}

bool stream_meta_get(const struct stream *s, const char *key, char *out, size_t room)
{
    struct wanted w = {.key = key, .out = out, .room = room};
    stream_meta_each(s, take_wanted, &w);
    return w.found;
}
