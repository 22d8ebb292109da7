/* SPDX-License-Identifier: BSD-3-Clause
 * Decides the rest of the code: tries guesses, tells padding from unknown bytes, and marks ranges
 * in which jumps may land anywhere. */
#include "isa/decode/code_map.h"

#include <string.h>

enum { KNOWN = CODE_START | CODE_BODY | CODE_DATA };

static bool is_endbr64(const uint8_t *p)
{
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    return memcmp(p, endbr64, sizeof endbr64) == 0;
}

static bool is_marked(const struct code *c, uint64_t at)
{
    const uint8_t *p = image_at(c->image, at, 4);
    return p != NULL && is_endbr64(p);
}

/* An address that an instruction computes or that lies in data belongs to a function or to data in
 * the text (tables of handwritten code). If the image has .eh_frame, it lists the functions: then
 * only an address with an endbr64 is another function, and one inside a listed range may be a
 * label. */
static void try_address(struct code *c, uint64_t at, bool may_be_function)
{
    if (code_at(c, at) != NULL &&
        ((may_be_function && c->image->range_count == 0) ||
         (may_be_function && code_range_of(c, at) != NULL) || is_marked(c, at)))
        (void)code_try(c, at);
}

/* Tries the stored addresses in ranges whose jumps have unknown targets. */
static void try_words(struct code *c)
{
    for (size_t i = 0; i < c->words.count; i++) {
        const struct code_range *r = code_range_of(c, c->words.at[i]);
        if (r != NULL && r->wild)
            (void)code_try(c, c->words.at[i]);
    }
}

static void try_pointers(struct code *c)
{
    const struct image *m = c->image;
    for (size_t i = 0; i < m->pointer_count; i++)
        try_address(c, m->pointers[i].value, true);
    for (size_t i = 0; i < m->slot_count; i++) {
        const uint8_t *p = image_at(m, m->slots[i].place, 8);
        uint64_t value = 0;
        if (p != NULL)
            memcpy(&value, p, 8);
        if (value != 0)
            try_address(c, value, true);
    }
}

/* endbr64 marks what may be jumped to; its four bytes are hardly ever data. */
static void try_marks(struct code *c)
{
    for (size_t i = 0; i < c->segment_count; i++) {
        const struct code_segment *s = &c->segments[i];
        for (uint64_t at = -s->address & 15; at + 4 <= s->size; at += 16)
            if (is_endbr64(s->bytes + at))
                (void)code_try(c, s->address + at);
    }
}

/* nop, xchg %ax,%ax, and the long forms of 0f 1f; int3; and the lea that linkers fill with. */
static bool does_nothing(const struct form *f, const uint8_t *bytes)
{
    return *bytes == 0xcc || (f->map == ZYDIS_OPCODE_MAP_DEFAULT && f->opcode == 0x90) ||
           (f->map == ZYDIS_OPCODE_MAP_0F && f->opcode == 0x1f) ||
           (f->lea && f->mod == 2 && form_number(bytes + f->disp_offset, f->disp_size, true) == 0);
}

static void mark_target(const struct code *c, uint64_t address)
{
    uint8_t *f = address != 0 ? code_at(c, address) : NULL;
    if (f != NULL)
        *f |= CODE_TARGET;
}

static void mark(const struct code_segment *s, uint64_t from, uint64_t to, uint8_t flags)
{
    for (; from < to; from++)
        s->flags[from] |= flags;
}

/* Returns where padding ends: at the first instruction that does something. Zeros up to the end
 * count as padding too, although `add %al,(%rax)` would do something. */
static uint64_t padding_end(const struct code *c, const struct code_segment *s, uint64_t from,
                            uint64_t to)
{
    uint64_t at = from;
    while (at < to) {
        const struct form *f = form_read(c->forms, s->bytes + at, s->size - at);
        if (f == NULL || f->length > to - at || !does_nothing(f, s->bytes + at))
            break;
        at += f->length;
    }
    uint64_t zero = at;
    while (zero < to && s->bytes[zero] == 0)
        zero++;
    return zero == to ? to : at;
}

static void mark_named(const struct code *c, const struct instruction *i)
{
    struct named named[2];
    unsigned n = code_named(c, i, named);
    mark_target(c, i->target);
    for (unsigned k = 0; k < n; k++)
        if (named[k].computed)
            mark_target(c, named[k].value);
}

/* Decides the bytes between known instructions. After padding, all bytes up to the end of the gap
 * are unsure, and their branches may be real. Returns false if the gap may hold code. */
static bool settle_gap(struct code *c, const struct code_segment *s, uint64_t from, uint64_t to)
{
    const bool dynamic = c->image->dynamic_type;
    uint64_t at = padding_end(c, s, from, to);
    mark(s, from, at, CODE_PADDING);
    if (at == to)
        return true;
    mark(s, at, to, CODE_UNSURE);
    while (at < to) {
        const struct form *f = form_read(c->forms, s->bytes + at, s->size - at);
        if (f != NULL && (f->flow != FLOW_NEXT || f->relative || !dynamic)) {
            struct instruction i = instruction_of(f, s->bytes + at, s->address + at);
            mark_named(c, &i);
        }
        at += f != NULL ? f->length : 1;
    }
    return false;
}

/* Returns the first byte from n on about which nothing is known. */
static uint64_t next_unknown(const struct code_segment *s, uint64_t n, uint64_t end)
{
    for (; n < end; n += sizeof(uint64_t)) {
        uint64_t eight;
        memcpy(&eight, s->flags + n, sizeof eight);
        /* Set the lowest bit of each byte that has one of the flags. */
        eight = (eight | eight >> 1 | eight >> 5) & CODE_EACH(1);
        _Static_assert(KNOWN == (1 | 1 << 1 | 1 << 5), "the flags that are looked at");
        if (eight != CODE_EACH(1)) {
            n += (unsigned)__builtin_ctzll(~eight & CODE_EACH(1)) / 8;
            break;
        }
    }
    return n < end ? n : end;
}

static void settle(struct code *c, const struct code_segment *s, uint64_t first, uint64_t end)
{
    for (uint64_t at = first; (at = next_unknown(s, at, end)) < end;) {
        uint64_t from = at;
        at = code_next_flagged(s, at, KNOWN);
        at = at < end ? at : end;
        struct code_range *r = code_range_of(c, s->address + from);
        if (!settle_gap(c, s, from, at) && r != NULL)
            r->wild = true;
    }
}

/* Decides each wanted range, and the bytes between it and the next range. */
static void settle_wanted(struct code *c)
{
    for (size_t i = 0; i < c->range_count; i++) {
        uint64_t first = c->ranges[i].start,
                 next = i + 1 < c->range_count ? c->ranges[i + 1].start : c->ranges[i].end;
        for (size_t k = 0; k < c->segment_count && c->ranges[i].wanted; k++) {
            const struct code_segment *s = &c->segments[k];
            uint64_t from = first - s->address, to = next - s->address;
            if (from < s->size)
                settle(c, s, from, to < s->size ? to : s->size);
        }
    }
}

void code_count(struct code *c)
{
    struct code_counts *n = &c->counts;
    for (size_t i = 0; i < c->segment_count; i++) {
        const struct code_segment *s = &c->segments[i];
        bool sure = false;
        n->bytes += s->size;
        for (uint64_t at = 0; at < s->size; at++) {
            uint8_t f = s->flags[at];
            if ((f & CODE_START) != 0)
                sure = (f & CODE_UNSURE) == 0;
            if ((f & CODE_DATA) != 0)
                n->data++;
            else if ((f & CODE_PADDING) != 0)
                n->padding++;
            else if ((f & (CODE_START | CODE_BODY)) != 0 && sure)
                n->sure++;
            else
                n->unsure++;
        }
    }
}

/* Code that has an address may jump there. */
static void mark_targets(struct code *c, const struct address_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        mark_target(c, list->at[i]);
}

void code_sweep(struct code *c)
{
    code_sort(&c->code_refs);
    code_sort(&c->maybe);
    uint64_t main = code_find_main(c);
    if (main != 0)
        code_follow(c, main);
    code_follow_computed(c);
    try_pointers(c);
    for (size_t i = 0; i < c->code_refs.count; i++)
        try_address(c, c->code_refs.at[i], false);
    try_words(c);
    for (size_t i = 0; i < c->maybe.count; i++)
        (void)code_try(c, c->maybe.at[i]);
    if (!c->partial)
        try_marks(c);
    code_follow_computed(c);
    c->forms->guessing = true;
    mark_targets(c, &c->code_refs);
    mark_targets(c, &c->words);
    if (c->partial) {
        settle_wanted(c);
        return;
    }
    for (size_t i = 0; i < c->segment_count; i++)
        settle(c, &c->segments[i], 0, c->segments[i].size);
}
