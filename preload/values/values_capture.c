/* SPDX-License-Identifier: BSD-3-Clause
 * Captures values of an instruction: registers, memory, addresses, callers. Tracks where the
 * program's vector registers are in the meantime.
 *
 * Built as values_follow.c is. Intel SDM volume 1 chapter 13 has the layout of xsave areas. */
#include "preload/values/values_follow.h"

#if defined(__x86_64__)

#include <asm/prctl.h>
#include <cpuid.h>
#include <sys/syscall.h>

#include "base/sys.h"
#include "preload/values/values.h"

#define RSP 4
#define RBP 5
#define FURTHEST_FRAME ((uint64_t)1 << 24)
#define DEFAULT_MXCSR 0x1f80u

enum component { PART_X87, PART_SSE, PART_YMM, PART_MASKS = 5, PART_ZMM, PART_HIGH_ZMM, PARTS };

static uint32_t part_at[PARTS];

void values_capture_prepare(void)
{
    unsigned a, b, c, d;
    for (unsigned i = PART_YMM; i < PARTS; i++)
        if (__get_cpuid_count(0xd, i, &a, &b, &c, &d) != 0)
            part_at[i] = b;
    part_at[PART_X87] = 32;
    part_at[PART_SSE] = 160;
}

/* --- vector state ----------------------------------------------------------------------------- */

void values_load_vectors(struct values_thread *v)
{
    if (!v->is_live)
        __asm__ volatile("xrstor64 (%0)" ::"r"(v->vectors), "a"((uint32_t)v->components), "d"(0)
                         : "memory");
    v->is_live = true;
}

static bool mend_x87_of(uint64_t *ip, const struct values_code *c)
{
    if (c == NULL || *ip - (uintptr_t)c->thunk >= VALUES_THUNK_BYTES)
        return false;
    *ip = c->answer.address;
    return true;
}

/* The x87's instruction pointer must name the instruction, not its copy. If the last x87
 * instruction faults, some processors leave the pointer at the one before. */
static void mend_x87(struct values_thread *v)
{
    uint64_t *ip = (uint64_t *)(void *)(v->vectors + 8);
    if (!mend_x87_of(ip, v->last_x87))
        (void)mend_x87_of(ip, v->earlier_x87);
}

static void save_vectors(struct values_thread *v)
{
    if (!v->is_live || !v->is_dirty)
        return;
    __asm__ volatile("xsave64 (%0)" ::"r"(v->vectors), "a"((uint32_t)v->components), "d"(0)
                     : "memory");
    v->is_dirty = false;
    mend_x87(v);
}

void values_park(struct values_thread *v)
{
    uint32_t control = DEFAULT_MXCSR;
    if (!v->is_live)
        return;
    save_vectors(v);
    v->is_live = false;
    if ((v->components >> PART_YMM & 1) != 0)
        __asm__ volatile("vzeroupper");
    __asm__ volatile("ldmxcsr %0" ::"m"(control));
}

/* Returns a word of a part, or 0 if the part is in its initial state. */
static uint64_t part_word(const struct values_thread *v, enum component part, uint32_t at)
{
    if (v->vectors == NULL || (v->components >> part & 1) == 0 ||
        (*(const uint64_t *)(const void *)(v->vectors + VALUES_LEGACY_BYTES) >> part & 1) == 0)
        return 0;
    return *(const uint64_t *)(const void *)(v->vectors + part_at[part] + at);
}

static uint64_t vector_word(struct values_thread *v, unsigned index, unsigned lane)
{
    save_vectors(v);
    if (index >= 16)
        return part_word(v, PART_HIGH_ZMM, (index - 16) * 64 + lane * 8);
    if (lane < 2)
        return part_word(v, PART_SSE, index * 16 + lane * 8);
    if (lane < 4)
        return part_word(v, PART_YMM, index * 16 + (lane - 2) * 8);
    return part_word(v, PART_ZMM, index * 32 + (lane - 4) * 8);
}

static uint64_t mask_word(struct values_thread *v, unsigned index)
{
    save_vectors(v);
    return part_word(v, PART_MASKS, index * 8);
}

/* Rounds to the nearest, ties to even, as fstp does by default. */
static uint64_t shift_rounding(uint64_t mantissa, unsigned by)
{
    if (by > 64)
        return 0;
    uint64_t kept = by == 64 ? 0 : mantissa >> by;
    uint64_t lost = by == 64 ? mantissa : mantissa << (64 - by), half = UINT64_C(1) << 63;
    return kept + (lost > half || (lost == half && (kept & 1) != 0));
}

static uint64_t double_of(uint64_t mantissa, unsigned head)
{
    uint64_t sign = (uint64_t)(head >> 15 & 1) << 63, infinite = UINT64_C(0x7ff) << 52;
    int exponent = (int)(head & 0x7fff) - 16383 + 1023;
    if ((head & 0x7fff) == 0x7fff) {
        uint64_t fraction = (mantissa << 1) >> 12;
        bool is_number = (mantissa << 1) == 0;
        return sign | infinite | (is_number ? 0 : fraction | UINT64_C(1) << 51);
    }
    if (mantissa == 0)
        return sign;
    if (exponent >= 0x7ff)
        return sign | infinite;
    if (exponent <= 0)
        return sign | shift_rounding(mantissa, (unsigned)(12 - exponent));
    /* The mantissa's first bit adds 1 to the exponent, as does a carry. */
    return sign | ((((uint64_t)exponent - 1) << 52) + shift_rounding(mantissa, 11));
}

static uint64_t x87_value(struct values_thread *v, unsigned index)
{
    save_vectors(v);
    uint64_t head = part_word(v, PART_X87, index * 16 + 8);
    return double_of(part_word(v, PART_X87, index * 16), (unsigned)head & 0xffff);
}

/* --- memory ----------------------------------------------------------------------------------- */

bool values_read(struct values_thread *v, uintptr_t from, void *to, size_t n)
{
    v->executing = true;
    int done = values_move(to, (const void *)from, n); /* NOLINT: the program's */
    v->executing = false;
    return done != 0;
}

bool values_hits_frame(const struct values_thread *v, uint64_t from, uint64_t n)
{
    return from < v->frame_high && from + n > v->frame_low;
}

bool values_write_word(struct values_thread *v, uint64_t to, uint64_t word)
{
    v->executing = true;
    int done = values_move((void *)to, &word, sizeof word); /* NOLINT: the program's stack */
    v->executing = false;
    return done != 0;
}

static uint64_t segment_base(unsigned segment)
{
    uint64_t base = 0;
    if (segment == 1)
        __asm__("movq %%fs:0, %0" : "=r"(base)); /* the thread's own address, by the ABI */
    else if (segment == 2)
        (void)sys_call6(SYS_arch_prctl, ARCH_GET_GS, (long)&base, 0, 0, 0, 0);
    return base;
}

static uint64_t element_of(struct values_thread *v, unsigned index, unsigned bytes, unsigned n)
{
    uint64_t word = vector_word(v, index, n * bytes / 8);
    return bytes == 8 ? word : (uint64_t)(int64_t)(int32_t)(word >> (n * bytes % 8 * 8));
}

static bool is_left_out(struct values_thread *v, const struct values_address *w, unsigned n)
{
    unsigned bytes = w->bytes == 8 ? 8 : 4;
    if (w->mask == 0)
        return false;
    if (w->mask <= 8)
        return (mask_word(v, w->mask - 1u) >> n & 1) == 0;
    return (int64_t)element_of(v, w->mask - 64u, bytes, n) >= 0;
}

bool values_address(struct values_thread *v, const struct values_address *w, unsigned n,
                    uint64_t *address)
{
    uint64_t a = (uint64_t)w->displacement;
    if (w->base >= 0)
        a += v->regs.r[w->base];
    if (w->element != 0) {
        if (is_left_out(v, w, n))
            return false;
        a += element_of(v, (unsigned)w->index, w->element, n) * w->scale;
    } else if (w->index >= 0) {
        a += v->regs.r[w->index] * w->scale;
    }
    if (w->is_32)
        a = (uint32_t)a;
    *address = a + (w->segment != 0 ? segment_base(w->segment) : 0);
    return true;
}

/* --- what is captured ------------------------------------------------------------------------- */

static uint64_t cut(uint64_t word, unsigned bytes)
{
    return bytes >= 8 ? word : word & ((UINT64_C(1) << 8 * bytes) - 1);
}

static bool memory_value(struct values_thread *v, const struct values_answer *a,
                         const struct values_item *i, uint64_t *word)
{
    uint64_t at;
    *word = 0;
    return values_address(v, &a->where, i->lane, &at) &&
           values_read(v, at, word, i->size < 8 ? i->size : 8);
}

void values_capture_before(struct values_thread *v, const struct values_answer *a)
{
    struct values_before *b = &v->before;
    b->known = 0;
    for (unsigned n = 0; n < a->item_count; n++) {
        const struct values_item *i = &a->items[n];
        bool known = false;
        /* VALUES_STORED: notes the address, before the instruction changes the registers that it is
         * computed from. */
        if (i->source == VALUES_ADDRESS)
            known = values_address(v, &a->where, i->lane, &b->words[n]);
        else if (i->source == VALUES_LOADED)
            known = memory_value(v, a, i, &b->words[n]);
        else if (i->source == VALUES_STORED && !values_address(v, &a->where, i->lane, &b->words[n]))
            continue;
        b->known |= (uint8_t)((known || i->source == VALUES_STORED) << n);
    }
}

static uint64_t value_after(struct values_thread *v, const struct values_item *i)
{
    uint64_t word = 0;
    switch ((enum values_source)i->source) {
    case VALUES_GENERAL: word = v->regs.r[i->index]; break;
    case VALUES_VECTOR: word = vector_word(v, i->index, i->lane); break;
    case VALUES_MASK: word = mask_word(v, i->index); break;
    case VALUES_X87: word = x87_value(v, i->index); break;
    default: break;
    }
    return cut(word >> i->shift, i->size);
}

/* Finds the caller's frame. Returns false unless it lies above the last one and its return address
 * is in code. */
static bool next_frame(struct values_thread *v, uint64_t *frame, uint64_t *caller)
{
    uint64_t words[2], below = *caller == 0 ? v->regs.r[RSP] : *frame + sizeof words;
    uint64_t at = *caller == 0 ? v->regs.r[RBP] : *frame;
    if (*caller != 0 && !values_read(v, *frame, &at, sizeof at))
        return false;
    if (at < below || at - below > FURTHEST_FRAME || at % 8 != 0 ||
        !values_read(v, at, words, sizeof words) || !values_is_code(words[1]))
        return false;
    *frame = at;
    *caller = words[1];
    return true;
}

static void put_context(struct values_thread *v, struct values_captured *c)
{
    int wanted = values_context();
    uint64_t frame = 0, caller = 0;
    c->has_context = wanted != VALUES_CONTEXT_NONE;
    c->context[0] = c->context[1] = 0;
    if (wanted >= 0)
        c->context[0] = v->regs.r[wanted];
    for (int n = 0; wanted < VALUES_CONTEXT_NONE && n < (wanted == VALUES_CONTEXT_CALLERS ? 2 : 1);
         n++)
        if (next_frame(v, &frame, &caller))
            c->context[n] = caller;
        else
            break;
}

void values_capture_after(struct values_thread *v, const struct values_code *code)
{
    const struct values_answer *a = &code->answer;
    struct values_captured *c = &v->list[v->captured];
    if (!a->is_selected || v->captured >= VALUES_FOLLOW_MOST)
        return;
    c->number = code->index + 1;
    c->count = 0;
    for (unsigned n = 0; n < a->item_count; n++) {
        const struct values_item *i = &a->items[n];
        uint64_t word = v->before.words[n];
        bool early = i->source == VALUES_ADDRESS || i->source == VALUES_LOADED;
        if ((early || i->source == VALUES_STORED) && (v->before.known >> n & 1) == 0)
            continue;
        if (i->source == VALUES_STORED) {
            uint64_t at = word;
            word = 0;
            if (!values_read(v, at, &word, i->size < 8 ? i->size : 8))
                continue;
        }
        c->values[c->count++] = early || i->source == VALUES_STORED ? word : value_after(v, i);
    }
    put_context(v, c);
    v->captured++;
}

#endif
