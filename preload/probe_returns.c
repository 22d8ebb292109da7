/* SPDX-License-Identifier: BSD-3-Clause
 * Places that functions return to. Who calls a function is known when it is called: its return address is an instruction's, in
 * whatever image, and gets an int3 then. regtrace-sites is asked once for each such place, for one instruction, from the
 * handler; the place stays patched. */
#include "preload/probe_sites.h"

#include "base/sys.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define PLACES 16384u /* a power of two */
#define AREAS 64u
#define AREA_BYTES ((size_t)64 << 10)
#define INT3 0xcc

struct return_place {
    _Atomic uintptr_t at; /* 0: free */
    _Atomic(const uint8_t *) copy;
    uint8_t bytes[16]; /* what stood there */
    uint8_t displaced, flags;
};

static struct return_place places[PLACES];
static unsigned place_count;
static struct area {
    uint8_t *base;
    size_t used;
} areas[AREAS];
static unsigned area_count;
/* Taken with all signals blocked. */
static _Atomic uint32_t changing;

static unsigned slot_of(uintptr_t at)
{
    return (unsigned)((at * UINT64_C(0x9e3779b97f4a7c15)) >> 50) & (PLACES - 1);
}

/* Its place, or the free one where it would be. */
static struct return_place *look_up(uintptr_t at)
{
    unsigned i = slot_of(at);
    for (;; i = (i + 1) & (PLACES - 1)) {
        uintptr_t there = atomic_load_explicit(&places[i].at, memory_order_acquire);
        if (there == at || there == 0)
            return &places[i];
    }
}

bool probe_return_at(uintptr_t at, struct probe_site *site)
{
    const struct return_place *p = look_up(at);
    const uint8_t *copy = atomic_load_explicit(&p->copy, memory_order_acquire);
    if (atomic_load_explicit(&p->at, memory_order_relaxed) != at || copy == NULL)
        return false;
    *site =
        (struct probe_site){.at = at, .copy = copy, .displaced = p->displaced, .flags = p->flags};
    return true;
}

static void lock(void)
{
    uint32_t was = 0;
    while (!atomic_compare_exchange_strong(&changing, &was, 1)) {
        sys_futex_wait(&changing, 1, 1000000000);
        was = 0;
    }
}

static void unlock(void)
{
    atomic_store(&changing, 0);
    sys_futex_wake(&changing, 1);
}

void probe_returns_forked(void)
{
    atomic_store(&changing, 0);
}

/* What can be read of the longest instruction there. */
static unsigned read_bytes(uintptr_t at, uint8_t bytes[15])
{
    uintptr_t edge = (at | 4095) + 1;
    size_t first = edge - at < 15 ? edge - at : 15;
    struct iovec to = {bytes, 15};
    struct iovec from[2] = {{(void *)at, first}, {(void *)edge, 15 - first}}; /* NOLINT */
    long n = sys_call6(SYS_process_vm_readv, sys_getpid(), (long)&to, 1, (long)from, 2, 0);
    return n > 0 ? (unsigned)n : 0;
}

/* Room for a copy that reaches what the instruction reaches. */
static uint8_t *room_near(uintptr_t at, size_t bytes)
{
    for (unsigned i = 0; i < area_count; i++) {
        struct area *a = &areas[i];
        uintptr_t base = (uintptr_t)a->base, away = base > at ? base - at : at - base;
        if (away < PROBE_REACH - AREA_BYTES && AREA_BYTES - a->used >= bytes) {
            a->used += bytes;
            return a->base + a->used - bytes;
        }
    }
    if (area_count == AREAS)
        return NULL;
    void *p = probe_map_near(at, at, AREA_BYTES);
    if (p == MAP_FAILED)
        return NULL;
    (void)mprotect(p, AREA_BYTES, PROT_READ | PROT_EXEC);
    areas[area_count++] = (struct area){.base = p, .used = bytes};
    return p;
}

/* The copy of the instruction there, as regtrace-sites makes it. */
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
        if (to != NULL && !(probe_copy(answer.plan, &s.one, 0, code, (uintptr_t)to) &&
                            probe_write((uintptr_t)to, code, s.one.bytes)))
            to = NULL;
    }
    probe_answer_free(&answer);
    atomic_store_explicit(&p->copy, to, memory_order_release);
    return to != NULL;
}

static bool patch(uintptr_t at)
{
    struct return_place *p = look_up(at);
    uint8_t bytes[16] = {0};
    unsigned n = read_bytes(at, bytes);
    if (n == 0 || bytes[0] == INT3)
        return n != 0; /* by another thread, meanwhile */
    bool known = atomic_load(&p->at) == at && memcmp(p->bytes, bytes, p->displaced) == 0;
    if (known && atomic_load(&p->copy) == NULL)
        return false; /* asked before */
    if (!known) {
        if (atomic_load(&p->at) == 0 && place_count++ >= PLACES / 2)
            return false;
        memcpy(p->bytes, bytes, sizeof bytes);
        bool made = make(p, at, n);
        atomic_store_explicit(&p->at, at, memory_order_release);
        if (!made)
            return false;
    }
    return probe_write(at, (const uint8_t[]){INT3}, 1);
}

bool probe_return_ensure(uintptr_t at)
{
    if (at == 0)
        return false;
    bool known = atomic_load_explicit(&look_up(at)->at, memory_order_relaxed) == at ||
                 probe_sites_find(probe_sites_now(), at) != NULL;
    if (known && *(const volatile uint8_t *)at == INT3) /* NOLINT: code, as it is returned to */
        return true;
    int cancel;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    uint64_t mask = sys_block_signals();
    lock();
    bool done = patch(at);
    unlock();
    sys_restore_signals(mask);
    (void)pthread_setcancelstate(cancel, NULL);
    return done;
}
