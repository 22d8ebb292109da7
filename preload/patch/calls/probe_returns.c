/* SPDX-License-Identifier: BSD-3-Clause
 * Return sites: the instructions that functions return to.
 *
 * The caller of a function is known when the function is called. The return address is that of an
 * instruction in some image, and gets an int3 then. The handler asks regtrace-isa about that one
 * instruction, once for each site; the site stays patched. */
#include "preload/libc/interpose.h"
#include "preload/patch/calls/probe_calls.h"
#include "preload/patch/code/near.h"
#include "preload/patch/code/probe_code.h"
#include "preload/patch/plans/probe_plans.h"

#include "base/format/recorder.h"
#include "base/sys.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PLACES 16384u /* a power of two */
#define AREAS 64u
#define AREA_BYTES ((size_t)64 << 10)

struct return_place {
    _Atomic uintptr_t at; /* 0: free */
    _Atomic(const uint8_t *) copy;
    uint8_t bytes[16]; /* the original code */
    /* ISA_SITE_OWN: an int3 of the program, without a copy. KEPT: a site of recorded functions,
     * without a copy here. */
    uint8_t displaced, flags;
};
#define KEPT 0x80u

static struct return_place places[PLACES];
static unsigned place_count;
static _Atomic bool some_kept; /* a place is KEPT */
static struct stub_area {
    uint8_t *base;
    size_t used;
} areas[AREAS];
static _Atomic unsigned area_count;
static struct probe_lock returns_lock;

static unsigned slot_of(uintptr_t at)
{
    return (unsigned)((at * UINT64_C(0x9e3779b97f4a7c15)) >> 50) & (PLACES - 1);
}

/* Returns the entry of this address, or the free entry where it would be. */
static struct return_place *look_up(uintptr_t at)
{
    unsigned i = slot_of(at);
    for (;; i = (i + 1) & (PLACES - 1)) {
        uintptr_t there = atomic_load_explicit(&places[i].at, memory_order_acquire);
        if (there == at || there == 0)
            return &places[i];
    }
}

/* Does an int3 at `at` bring threads to us? Sets *copy to NULL if it is an int3 of the program. */
static bool is_watched(const struct return_place *p, uintptr_t at, const uint8_t **copy)
{
    bool there = atomic_load_explicit(&p->at, memory_order_acquire) == at;
    *copy = atomic_load_explicit(&p->copy, memory_order_acquire);
    return there && (*copy != NULL || (p->flags & ISA_SITE_OWN) != 0);
}

bool probe_return_at(uintptr_t at, struct probe_site *site)
{
    const struct return_place *p = look_up(at);
    const uint8_t *copy;
    if (!is_watched(p, at, &copy))
        return false;
    *site =
        (struct probe_site){.at = at, .copy = copy, .displaced = p->displaced, .flags = p->flags};
    return true;
}

bool probe_return_is_copy(uintptr_t at)
{
    unsigned n = atomic_load_explicit(&area_count, memory_order_acquire);
    for (unsigned i = 0; i < n; i++)
        if (at - (uintptr_t)areas[i].base < AREA_BYTES)
            return true;
    return false;
}

void probe_returns_forked(void)
{
    probe_lock_free(&returns_lock);
}

/* Reads up to n bytes from `at`, as they were without our int3s. Returns how many could be read. */
static unsigned read_bytes(uintptr_t at, uint8_t *bytes, unsigned n)
{
    uintptr_t edge = (at | 4095) + 1;
    size_t first = edge - at < n ? edge - at : n;
    long got = sys_read_self(at, bytes, first);
    if (got == (long)first && first < n && sys_read_self(edge, bytes + first, n - first) > 0)
        got = n;
    for (long i = 0; i < got; i++) {
        const struct return_place *p = bytes[i] == PROBE_INT3 ? look_up(at + (uintptr_t)i) : NULL;
        const struct probe_site *s =
            p != NULL ? probe_sites_find(probe_sites_now(), at + (uintptr_t)i) : NULL;
        if (s != NULL && s->jumped == 0)
            bytes[i] = s->byte;
        else if (p != NULL && atomic_load(&p->at) == at + (uintptr_t)i &&
                 atomic_load(&p->copy) != NULL)
            bytes[i] = p->bytes[0];
    }
    return got > 0 ? (unsigned)got : 0;
}

/* Returns the byte as it is now; an int3 if it cannot be read. */
static uint8_t byte_now(uintptr_t at)
{
    uint8_t now = PROBE_INT3;
    (void)sys_read_self(at, &now, 1);
    return now;
}

/* Does a call end at this address? Only then is it a return address: a probe at the name of a part
 * of a function (foo.cold) finds another word on top of the stack. Intel's manual, volume 2: e8
 * with 32 bits, or ff /2 with 0 to 5 more bytes after the second. */
static bool follows_call(uintptr_t at)
{
    uint8_t b[7] = {0};
    unsigned n = (at & 4095) < sizeof b ? (unsigned)(at & 4095) : sizeof b;
    if (read_bytes(at - sizeof b, b, sizeof b) != sizeof b &&
        (n == 0 || read_bytes(at - n, b + sizeof b - n, n) != n))
        return false;
    if (b[2] == 0xe8)
        return true;
    for (unsigned length = 2; length <= 7; length++)
        if (length != 5 && b[7 - length] == 0xff && (b[8 - length] >> 3 & 7) == 2)
            return true;
    return false;
}

/* Does this line of /proc/self/maps (LOW-HIGH r-xp OFFSET DEVICE INODE PATH) show code of an image
 * at this address? Other code is left alone: code that the program makes, changes or has mapped
 * twice. */
static bool is_code_line(const char *line, uintptr_t at)
{
    char *end;
    uintptr_t low = strtoul(line, &end, 16);
    uintptr_t high = *end == '-' ? strtoul(end + 1, &end, 16) : 0;
    return at >= low && at < high && strncmp(end, " r-xp ", 6) == 0 && strchr(end, '/') != NULL;
}

/* Called under the lock. */
static bool is_code(uintptr_t at)
{
    static char text[4096];
    size_t n = 0;
    bool found = false;
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    for (ssize_t got; fd >= 0 && !found && (got = read(fd, text + n, sizeof text - 1 - n)) > 0;) {
        n += (size_t)got;
        text[n] = '\0';
        char *line = text, *stop;
        for (; !found && (stop = strchr(line, '\n')) != NULL; line = stop + 1) {
            *stop = '\0';
            found = is_code_line(line, at);
        }
        n -= (size_t)(line - text);
        memmove(text, line, n);
        /* A path fills the buffer: drop the start of its line. */
        if (n == sizeof text - 1)
            n = 0;
    }
    if (fd >= 0)
        (void)close(fd);
    return found;
}

/* Returns room for a copy from which all is in reach that the instruction reaches, or NULL. */
static uint8_t *room_near(uintptr_t at, size_t bytes)
{
    for (unsigned i = 0; i < area_count; i++) {
        struct stub_area *a = &areas[i];
        uintptr_t base = (uintptr_t)a->base, away = base > at ? base - at : at - base;
        if (away < NEAR_REACH - AREA_BYTES && AREA_BYTES - a->used >= bytes) {
            a->used += bytes;
            return a->base + a->used - bytes;
        }
    }
    if (area_count == AREAS)
        return NULL;
    void *p = map_near(at, at, AREA_BYTES, PROT_READ | PROT_EXEC);
    if (p == NULL)
        return NULL;
    areas[area_count] = (struct stub_area){.base = p, .used = bytes};
    atomic_fetch_add(&area_count, 1);
    return p;
}

/* Has regtrace-isa make the copy of the instruction. Returns false if there is none. */
static bool make(struct return_place *p, uintptr_t at, unsigned readable)
{
    static struct probe_answer answer; /* under the lock */
    static struct rt_error why;
    static uint8_t code[256];
    uint8_t *to = NULL;
    if (probe_ask_instruction(at, p->bytes, readable, &answer, &why) == 0) {
        struct isa_site s = probe_plan_site(answer.plan, 0);
        p->displaced = s.one.displaced;
        p->flags = s.flags;
        to = room_near(at, (s.one.bytes + 15u) & ~15u);
        if (to != NULL && !(probe_displaced_copy(answer.plan, &s.one, 0, code, (uintptr_t)to) &&
                            probe_code_write((uintptr_t)to, code, s.one.bytes)))
            to = NULL;
    }
    probe_answer_free(&answer);
    if (to == NULL)
        p->displaced = sizeof p->bytes;
    atomic_store_explicit(&p->copy, to, memory_order_release);
    return to != NULL;
}

/* Prepares a site. Writes nothing if the program itself has an int3 there. */
static bool prepare(struct return_place *p, uintptr_t at, unsigned readable)
{
    bool own = p->bytes[0] == PROBE_INT3;
    p->flags = 0;
    p->displaced = sizeof p->bytes; /* no copy: compare all bytes to reuse the answer */
    if (!follows_call(at) || !is_code(at))
        return false;
    if (!own)
        return make(p, at, readable);
    p->flags = ISA_SITE_OWN;
    p->displaced = 1;
    return true;
}

static bool patch(uintptr_t at)
{
    struct return_place *p = look_up(at);
    uint8_t bytes[16] = {0};
    unsigned n = read_bytes(at, bytes, 15);
    if (n == 0)
        return false;
    bool known = atomic_load(&p->at) == at && memcmp(p->bytes, bytes, p->displaced) == 0;
    if (known && atomic_load(&p->copy) == NULL)
        return (p->flags & ISA_SITE_OWN) != 0; /* the earlier answer holds */
    if (!known) {
        if (atomic_load(&p->at) == 0 && place_count++ >= PLACES / 2)
            return false;
        atomic_store_explicit(&p->copy, NULL, memory_order_release);
        memcpy(p->bytes, bytes, sizeof bytes);
        bool made = prepare(p, at, n);
        atomic_store_explicit(&p->at, at, memory_order_release);
        if (!made)
            return false;
    }
    return byte_now(at) == PROBE_INT3 ||
           probe_text_write_once(at, (const uint8_t[]){PROBE_INT3}, 1);
}

const struct probe_site *probe_return_site(const struct probe_sites *all, uintptr_t at)
{
    enum { ENDBR64 = 4 };
    const struct probe_site *s = probe_sites_find(all, at), *after;
    if (s == NULL && (after = probe_sites_find(all, at + ENDBR64)) != NULL &&
        after->after == ENDBR64)
        s = after;
    return s;
}

bool probe_return_is_kept(uintptr_t at)
{
    if (!atomic_load(&some_kept))
        return false;
    const struct return_place *p = look_up(at);
    return atomic_load_explicit(&p->at, memory_order_acquire) == at && (p->flags & KEPT) != 0;
}

bool probe_return_keep(uintptr_t at)
{
    struct probe_locked locked = probe_lock(&returns_lock);
    struct return_place *p = look_up(at);
    bool is = atomic_load(&p->at) == at;
    if (is || place_count < PLACES / 2) {
        if (!is) {
            place_count++;
            p->displaced = sizeof p->bytes;
        }
        p->flags |= KEPT;
        atomic_store(&some_kept, true);
        atomic_store_explicit(&p->at, at, memory_order_release);
        is = true;
    }
    probe_unlock(&returns_lock, locked);
    return is;
}

bool probe_return_ensure(uintptr_t at)
{
    if (at == 0 || probe_return_site(probe_sites_now(), at) != NULL)
        return at != 0; /* it is a site already */
    const uint8_t *copy;
    if (is_watched(look_up(at), at, &copy) && byte_now(at) == PROBE_INT3)
        return true;
    uint64_t began = clock_ticks();
    struct probe_locked locked = probe_lock(&returns_lock);
    bool done = patch(at);
    probe_unlock(&returns_lock, locked);
    recorder_count_own_time(&recorder_self, began);
    return done;
}

void probe_returns_rest(void)
{
    struct probe_locked locked = probe_lock(&returns_lock);
    for (unsigned i = 0; i < PLACES && place_count != 0; i++) {
        uintptr_t at = atomic_load(&places[i].at);
        if (at != 0 && atomic_load(&places[i].copy) != NULL && byte_now(at) == PROBE_INT3)
            (void)probe_text_write_once(at, places[i].bytes, 1);
    }
    probe_unlock(&returns_lock, locked);
}
