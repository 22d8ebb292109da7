/* SPDX-License-Identifier: BSD-3-Clause
 * Only the functions that are asked for are decoded, where requests name them: of an image of 50 MB that takes less than reading
 * its symbols. Who else comes into the first bytes of such a function, behind its first instruction, is then known from its own
 * branches, and of all other code from a look at each byte that may be the distance of a direct jump, however it is decoded. */
#include "isa/decode.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST = 4096,     /* of more, all is decoded */
    PATCHED = 4 + 8, /* an endbr64, and what a jump may displace where it matters who comes */
    SHORT = 130,     /* as far a jump of two bytes goes */
    PAGE_BITS = 6    /* places are looked for by so many bits less of their address */
};

struct look {
    const struct code *c;
    const struct addresses *places;
    const struct code_segment *s;
    uint64_t *pages; /* a bit for each piece of the segment that has a place */
};

static bool has_bit(const uint64_t *bits, uint64_t n)
{
    return (bits[n / 64] >> n % 64 & 1) != 0;
}

static void set_bit(uint64_t *bits, uint64_t n)
{
    bits[n / 64] |= UINT64_C(1) << n % 64;
}

/* Something may come there from `from`, outside of what is decoded. */
static void may_come(const struct look *l, uint64_t from, uint64_t target)
{
    const struct addresses *p = l->places;
    const struct code_range *r = code_range_of(l->c, from);
    if (r != NULL && r->wanted)
        return;
    size_t next = code_above(p, target - 1); /* the first not below */
    if (next > 0 && target - p->at[next - 1] < PATCHED)
        *code_at(l->c, target) |= CODE_TARGET;
}

static void look_at(const struct look *l, uint64_t from, uint64_t to)
{
    if (to < l->s->size && has_bit(l->pages, to >> PAGE_BITS))
        may_come(l, l->s->address + from, l->s->address + to);
}

/* With 32 bits of distance: e8, e9, 0f 80 to 0f 8f. */
static void look_far(const struct look *l, const uint8_t *bytes)
{
    static const bool begins[256] = {[0xe8] = true, [0xe9] = true, [0x0f] = true};
    for (uint64_t n = 0; n + 6 <= l->s->size; n++) {
        uint8_t op = bytes[n];
        if (!begins[op])
            continue;
        int32_t distance;
        unsigned behind = op == 0x0f ? 2 : 1;
        if (behind == 2 && (bytes[n + 1] & 0xf0) != 0x80)
            continue;
        memcpy(&distance, bytes + n + behind, sizeof distance);
        look_at(l, n, n + behind + 4 + (uint64_t)(int64_t)distance);
    }
}

/* With 8: 70 to 7f, e0 to e3, eb. */
static void look_near(const struct look *l, const uint8_t *bytes, uint64_t place)
{
    uint64_t at = place - l->s->address, first = at < SHORT ? 0 : at - SHORT;
    for (uint64_t n = first; n + 2 <= l->s->size && n < at + PATCHED + SHORT; n++)
        if ((bytes[n] & 0xf0) == 0x70 || (bytes[n] & 0xfc) == 0xe0 || bytes[n] == 0xeb)
            look_at(l, n, n + 2 + (uint64_t)(int64_t)(int8_t)bytes[n + 1]);
}

static bool mark_pages(struct look *l)
{
    const struct addresses *p = l->places;
    l->pages = calloc((l->s->size >> PAGE_BITS) / 64 + 2, sizeof *l->pages);
    for (size_t i = 0; i < p->count && l->pages != NULL; i++)
        if (p->at[i] - l->s->address < l->s->size) {
            set_bit(l->pages, (p->at[i] - l->s->address) >> PAGE_BITS);
            set_bit(l->pages, (p->at[i] - l->s->address + PATCHED) >> PAGE_BITS);
        }
    return l->pages != NULL;
}

/* Jumps of all other code into the first bytes of these places. */
static void look_for_jumps(struct code *c, const struct addresses *places)
{
    for (size_t k = 0; k < c->segment_count && !c->no_memory; k++) {
        struct look l = {.c = c, .places = places, .s = &c->segments[k]};
        const uint8_t *bytes = image_at(c->image, l.s->address, l.s->size);
        if (bytes == NULL)
            continue;
        c->no_memory = !mark_pages(&l);
        if (!c->no_memory)
            look_far(&l, bytes);
        for (size_t i = 0; i < places->count && !c->no_memory; i++)
            if (places->at[i] - l.s->address < l.s->size)
                look_near(&l, bytes, places->at[i]);
        free(l.pages);
    }
}

/* With those nearby, which short jumps may come from. */
static bool want(struct code *c, const struct addresses *places)
{
    for (size_t i = 0; i < places->count; i++) {
        const struct code_range *r = code_range_of(c, places->at[i]);
        uint64_t low = places->at[i] - SHORT, high = places->at[i] + PATCHED + SHORT;
        if (r == NULL)
            return false;
        size_t first = (size_t)(r - c->ranges);
        while (first > 0 && c->ranges[first - 1].end >= low)
            first--;
        for (size_t k = first; k < c->range_count && c->ranges[k].start < high; k++)
            c->ranges[k].wanted = true;
    }
    return places->count <= MOST;
}

static void follow_wanted(struct code *c)
{
    const struct image *m = c->image;
    for (size_t i = 0; i < c->range_count; i++)
        if (c->ranges[i].wanted)
            code_follow(c, c->ranges[i].start);
    for (size_t i = 0; i < m->symbol_count; i++)
        if (code_is_wanted(c, m->symbols[i].address) && image_is_function(&m->symbols[i]))
            code_follow(c, m->symbols[i].address);
    for (size_t i = 0; i < m->landing_pad_count; i++)
        if (code_is_wanted(c, m->landing_pads[i]))
            code_follow(c, m->landing_pads[i]);
}

struct code *code_open_part(const struct image *m, struct addresses *places)
{
    struct code *c = code_begin(m);
    if (c == NULL)
        return NULL;
    c->partial = true;
    code_sort(places);
    if (!want(c, places)) {
        code_close(c);
        return code_open(m);
    }
    follow_wanted(c);
    while (code_follow_tables(c))
        continue;
    look_for_jumps(c, places);
    return code_finish(c);
}
