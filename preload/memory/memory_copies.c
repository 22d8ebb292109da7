/* SPDX-License-Identifier: BSD-3-Clause
 * Looks instrumented copies up by address, and makes the code that leads into them. */
#include "preload/libc/interpose.h"
#include "preload/memory/copy_images.h"
#include "preload/process.h"

#include "base/search.h"

#include <errno.h>
#include <string.h>

__thread uint64_t copy_slots[COPY_SLOTS];

struct copies_image copies_images[MEMORY_IMAGES];
_Atomic uint32_t copies_image_count;

bool memory_copies_wanted(void)
{
    return process.options.text[OPT_memory][0] != '\0';
}

bool memory_copies_exist(void)
{
    return atomic_load_explicit(&copies_image_count, memory_order_acquire) != 0;
}

bool memory_copies_may_come(void)
{
    return strchr(process.options.text[OPT_memory], '@') != NULL;
}

#if defined(__x86_64__)

#define GENERAL __attribute__((target("general-regs-only")))

GENERAL struct copies_image *copies_image_of(uintptr_t at)
{
    uint32_t n = atomic_load_explicit(&copies_image_count, memory_order_acquire);
    for (uint32_t i = 0; i < n; i++)
        if (at >= copies_images[i].from && at < atomic_load(&copies_images[i].to))
            return &copies_images[i];
    return NULL;
}

/* Returns the image whose copies lie there. These regions are few, and near each other. */
static const struct copies_image *owner_of(uintptr_t at)
{
    uint32_t n = atomic_load_explicit(&copies_image_count, memory_order_acquire);
    for (uint32_t i = 0; i < n; i++)
        if (at - (uintptr_t)copies_images[i].code < copies_images[i].own_bytes + LATE_CODE)
            return &copies_images[i];
    return NULL;
}

bool memory_copies_have(uintptr_t at)
{
    return owner_of(at) != NULL;
}

/* --- functions -------------------------------------------------------------------------------- */

GENERAL static const struct copy_function *find(const struct copy_function *list, size_t count,
                                                uint64_t address)
{
    size_t n;
    SEARCH_FIRST(n, count, list[n].address < address);
    return n < count && list[n].address == address ? &list[n] : NULL;
}

const uint8_t *memory_copy_of(uintptr_t function)
{
    const struct copies_image *m = copies_image_of(function);
    const struct copy_function *f =
        m != NULL ? find(m->functions, m->head->function_count, function - m->bias) : NULL;
    return f != NULL ? m->code + f->code : NULL;
}

static const struct copy_function *site_of(const struct copies_image *m, uintptr_t site)
{
    return m != NULL ? find(m->functions + m->head->function_count + m->head->late_count,
                            m->head->site_count, site - m->bias)
                     : NULL;
}

const uint8_t *memory_copy_from(uintptr_t at)
{
    const struct copies_image *m = copies_image_of(at);
    const struct copy_function *f = site_of(m, at);
    return f != NULL && f->bytes != 0 ? m->code + f->code : memory_copy_of(at);
}

bool memory_copy_misses(uintptr_t site)
{
    const struct copy_function *f = site_of(copies_image_of(site), site);
    return f != NULL && f->bytes == 0;
}

static GENERAL uint64_t late_key(uint64_t address, enum copy_question_kind kind)
{
    return address << 2 | (uint64_t)kind;
}

GENERAL struct late_slot *copies_late_slot(const struct copies_image *m, uint64_t address,
                                           enum copy_question_kind kind)
{
    uint64_t key = late_key(address, kind);
    size_t i = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 40) & (LATE_SLOTS - 1);
    for (;; i = (i + 1) & (LATE_SLOTS - 1)) {
        uint64_t there = atomic_load_explicit(&m->late.slots[i].key, memory_order_acquire);
        if (there == key || there == 0)
            return &m->late.slots[i];
    }
}

GENERAL uintptr_t memory_copy_known(uintptr_t at, enum copy_question_kind kind, bool *ask)
{
    const struct copies_image *m = copies_image_of(at);
    *ask = false;
    if (m == NULL)
        return 0;
    if (kind == COPY_ASK_BEHIND) {
        const struct copy_function *f =
            find(m->functions + m->head->function_count, m->head->late_count, at - m->bias);
        if (f != NULL)
            return (uintptr_t)m->code + f->code + COPY_LATE_BEGIN;
    }
    const struct late_slot *s = copies_late_slot(m, at - m->bias, kind);
    if (atomic_load_explicit(&s->key, memory_order_acquire) != 0 && s->process == process.pid)
        return s->code;
    *ask = true;
    return 0;
}

/* --- places ----------------------------------------------------------------------------------- */

/* Returns the index of the first place from that byte of the code on. */
static size_t place_from(const struct copy_place *places, size_t count, uint64_t offset)
{
    size_t n;
    SEARCH_FIRST(n, count, places[n].code < offset);
    return n;
}

struct place_list {
    const struct copy_place *list;
    size_t count;
    uint64_t offset; /* offset of the address in the code */
    uintptr_t bias;
};

static bool places_of(uintptr_t at, struct place_list *p)
{
    const struct copies_image *m = owner_of(at);
    if (m == NULL)
        return false;
    uint64_t offset = at - (uintptr_t)m->code;
    bool late = offset >= m->own_bytes;
    *p = (struct place_list){
        .list = late ? m->late.places : m->places,
        .count = late ? atomic_load_explicit(&m->late.places_known, memory_order_acquire)
                      : m->head->place_count,
        .offset = offset,
        .bias = m->bias};
    return true;
}

uintptr_t memory_copy_stands_for(uintptr_t at)
{
    struct place_list p;
    if (!places_of(at, &p))
        return at;
    size_t after = place_from(p.list, p.count, p.offset + 1);
    return after != 0 ? p.list[after - 1].address + p.bias : at;
}

/* Returns the address of a place with this flag that begins exactly there; 0: none. */
static uintptr_t place_with(uintptr_t at, unsigned flag)
{
    struct place_list p;
    if (!places_of(at, &p))
        return 0;
    for (size_t n = place_from(p.list, p.count, p.offset);
         n < p.count && p.list[n].code == p.offset; n++)
        if ((p.list[n].flags & flag) != 0)
            return p.list[n].address + p.bias;
    return 0;
}

uintptr_t memory_copy_return(uintptr_t at)
{
    return place_with(at, COPY_PLACE_RETURNED);
}

uintptr_t memory_copy_leave(uintptr_t at)
{
    return place_with(at, COPY_PLACE_SAME);
}

/* --- the dispatch ----------------------------------------------------------------------------- */

static uint8_t *put(uint8_t *to, const void *bytes, size_t n)
{
    memcpy(to, bytes, n);
    return to + n;
}

/* mov between %rcx and a slot. Opcode 0x89 stores, 0x8b loads. */
static uint8_t *put_slot(uint8_t *to, uint8_t opcode, enum copy_slot slot)
{
    const uint8_t code[] = {0x64, 0x48, opcode, 0x0c, 0x25};
    int32_t at =
        (int32_t)((const char *)&copy_slots[slot] - (const char *)__builtin_thread_pointer());
    return put(put(to, code, sizeof code), &at, sizeof at);
}

enum { STORE = 0x89, LOAD = 0x8b, SLOT = 9, JUMP = 5, DROP = 5 };

unsigned memory_copy_dispatch_bytes(bool call)
{
    return 4 * SLOT + 2 + JUMP + (call ? DROP : 0);
}

/* jrcxz reads no flags, and lea changes none. */
bool memory_copy_dispatch(uint8_t *at, const uint8_t *copy, bool call)
{
    unsigned drop = call ? DROP : 0;
    int64_t away = copy - (at + 3 * SLOT + 2 + drop + JUMP);
    int32_t distance = (int32_t)away;
    if (distance != away)
        return false;
    at = put_slot(at, STORE, COPY_SPILL);
    at = put_slot(at, LOAD, COPY_ENTER);
    at = put(at, (const uint8_t[]){0xe3, (uint8_t)(SLOT + drop + JUMP)}, 2); /* jrcxz */
    at = put_slot(at, LOAD, COPY_SPILL);
    at = put(at, (const uint8_t[]){0x48, 0x8d, 0x64, 0x24, 8}, drop); /* lea 8(%rsp), %rsp */
    at = put(at, (const uint8_t[]){0xe9}, 1);
    at = put(at, &distance, sizeof distance);
    (void)put_slot(at, LOAD, COPY_SPILL);
    return true;
}

#else

int memory_copies_make(const struct probe_image *image, const struct probe_sites *alarms,
                       struct rt_error *e)
{
    (void)image;
    (void)alarms;
    rt_error_set(e, "copies are for x86-64 alone");
    return -ENOTSUP;
}

bool memory_copies_functions(const struct probe_image *image, char regex[COPY_PATTERN_ROOM])
{
    (void)image;
    (void)regex;
    return false;
}

void memory_copies_link(void)
{
}

void memory_copies_expect(void)
{
}

void memory_copies_gone(void)
{
}

void memory_copies_forked(void)
{
}

const uint8_t *memory_copy_of(uintptr_t function)
{
    (void)function;
    return NULL;
}

const uint8_t *memory_copy_from(uintptr_t at)
{
    return memory_copy_of(at);
}

bool memory_copy_misses(uintptr_t site)
{
    (void)site;
    return false;
}

uintptr_t memory_copy_stands_for(uintptr_t at)
{
    return at;
}

#endif
