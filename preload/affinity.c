/* SPDX-License-Identifier: BSD-3-Clause
 * Asks the kernel where a thread may run, and emits an event when that has changed. */
#include "preload/affinity.h"
#include "preload/thread.h"

#include "base/format/event_fields.h"
#include "base/sys.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

static struct affinity_mask begun;
static uint64_t begun_hash;

static void ask(struct affinity_mask *m)
{
    long n = sys_call6(SYS_sched_getaffinity, 0, sizeof m->words, (long)m->words, 0, 0, 0);
    m->used = n > 0 ? (uint32_t)n / sizeof m->words[0] : 0;
}

/* Returns a hash of the mask. It is never 0, which means that the thread has not asked yet. */
static uint64_t hash_of(const struct affinity_mask *m)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    for (uint32_t i = 0; i < m->used; i++) {
        sum = (sum ^ m->words[i]) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 32;
    }
    return sum != 0 ? sum : 1;
}

static bool has(const struct affinity_mask *m, uint32_t processor)
{
    return processor / 64 < m->used && (m->words[processor / 64] >> processor % 64 & 1) != 0;
}

void affinity_process_begins(void)
{
    ask(&begun);
    begun_hash = begun.used != 0 ? hash_of(&begun) : 0;
}

void affinity_list(char *text, size_t room)
{
    size_t n = 0;
    text[0] = '\0';
    for (uint32_t first = 0; first < 64 * begun.used; first++) {
        if (!has(&begun, first))
            continue;
        uint32_t last = first;
        while (has(&begun, last + 1))
            last++;
        char range[32];
        int bytes = last == first
                        ? snprintf(range, sizeof range, "%s%u", n > 0 ? "," : "", first)
                        : snprintf(range, sizeof range, "%s%u-%u", n > 0 ? "," : "", first, last);
        if (bytes < 0 || n + (size_t)bytes >= room)
            return;
        memcpy(text + n, range, (size_t)bytes + 1);
        n += (size_t)bytes;
        first = last;
    }
}

static void emit(struct recorder_thread *t, struct preload_thread *pt, uint64_t hash)
{
    const struct affinity_mask *m = &pt->affinity.asked;
    uint32_t count = 0, first = 0;
    for (uint32_t i = m->used; i-- > 0;)
        for (uint64_t word = m->words[i]; word != 0; word &= word - 1)
            count++;
    while (first < 64 * m->used && !has(m, first))
        first++;
    uint64_t dropped = t->dropped;
    (void)recorder_emit_long(t, EV_AFFINITY,
                             EVENT_PUT(EV_AFFINITY, processors, count) |
                                 EVENT_PUT(EV_AFFINITY, first, first),
                             hash, NULL, 0);
    if (t->dropped > dropped)
        return;
    pt->affinity.told = hash;
    if (t->row != NULL)
        t->row->affinities++;
}

void affinity_forked(struct recorder_thread *t, struct preload_thread *pt)
{
    (void)t;
    pt->affinity.told = 0;
}

void affinity_tell(struct recorder_thread *t, struct preload_thread *pt)
{
    ask(&pt->affinity.asked);
    if (pt->affinity.asked.used == 0)
        return;
    uint64_t hash = hash_of(&pt->affinity.asked);
    if (pt->affinity.told == 0 && hash == begun_hash)
        pt->affinity.told = hash;
    else if (hash != pt->affinity.told)
        emit(t, pt, hash);
}
