/* SPDX-License-Identifier: BSD-3-Clause
 * Finds jumps from undecoded code into the first bytes of some places. It searches for:
 * - any 4 bytes that are the distance from their end to such a byte. They count as a jump if an
 *   instruction that contains them can be decoded.
 * - short jumps.
 * - possible entries of jump tables. They count if an instruction computes the address where
 *   their table begins. Decoding its function then tells which entries are used. */
#include "isa/decode/code_map.h"

#include <stdlib.h>
#include <string.h>

enum {
    ENTRIES = 8192, /* of a table, at most */
    PIECE_BITS = 15,
    PIECES = 1 << 17, /* so many pieces are 4 GB, the reach of distances */
    SPANS = 4,
    /* Words examined at once, one beginning at each byte. */
    BLOCK = 16,
    LONGEST = 15 /* bytes of an instruction */
};

/* Consecutive words that may be entries of one table. */
struct reach_row {
    uint64_t start, next;
};

struct reach_span {
    uint64_t low, end;
};

/* A bit map of addresses, one bit for each piece. */
struct bits {
    uint64_t at[PIECES / 64];
};

struct reach {
    struct code *c;
    const struct address_list *places;
    struct lea_list *uses;
    uint64_t low, high; /* all executable segments lie there */
    /* For each segment: a bit map of the bytes where tables may begin; NULL: nowhere. */
    uint64_t **bases;
    struct reach_span spans[SPANS]; /* all bits of `bases` lie there */
    unsigned span_count;
    struct bits near_places, near_bases; /* pieces of memory that matter */
    struct reach_row rows[4];            /* of the current segment, by address modulo 4 */
};

/* A search for words that lead into a span, relative to their own address or to 0. */
struct reach_search {
    const struct image_segment *s;
    bool relative;
    struct reach_span to;
    const struct bits *near;
    void (*found)(struct reach *r, const struct reach_search *q, uint64_t n, uint64_t to);
};

static bool has_bit(const uint64_t *bits, uint64_t n)
{
    return (bits[n / 64] >> n % 64 & 1) != 0;
}

static void set_bit(uint64_t *bits, uint64_t n)
{
    bits[n / 64] |= UINT64_C(1) << n % 64;
}

static bool is_near(const struct bits *b, uint64_t address)
{
    return has_bit(b->at, address >> PIECE_BITS & (PIECES - 1));
}

static void set_near(struct bits *b, uint64_t low, uint64_t end)
{
    for (uint64_t n = low >> PIECE_BITS; n <= end >> PIECE_BITS; n++)
        set_bit(b->at, n & (PIECES - 1));
}

/* --- search ------------------------------------------------------------------------------- */

typedef uint32_t lanes __attribute__((vector_size(16)));
typedef int32_t signed_lanes __attribute__((vector_size(16)));
typedef int64_t halves __attribute__((vector_size(16)));

static inline signed_lanes words_at(const uint8_t *bytes, lanes from)
{
    lanes words;
    memcpy(&words, bytes, sizeof words);
    return (signed_lanes)(words + from);
}

/* Returns the offset of the first block, from n on, in which a word may lead to the span, or of the
 * end that is too short for a block. It runs for each byte of an image, so it adds and compares
 * four words at once. Sums are modulo 2^32 and shifted so that the last match becomes the greatest
 * number. Of the words at 1 to 3 bytes beyond the others, the distance counts from the place of
 * these others, so some more words match. */
static uint64_t next_block(const struct reach_search *q, uint64_t n)
{
    const uint8_t *bytes = q->s->bytes;
    uint64_t size = q->to.end - q->to.low + 3;
    if (size > INT32_MAX)
        return n;
    int32_t below = INT32_MAX - (int32_t)size;
    const signed_lanes limit = {below, below, below, below};
    uint32_t each = q->relative ? 1 : 0,
             begin = INT32_MAX - (uint32_t)(q->to.end - 1) + each * (uint32_t)(q->s->address + n);
    const lanes step = {each * BLOCK, each * BLOCK, each * BLOCK, each * BLOCK};
    lanes from = {begin, begin + each * 4, begin + each * 8, begin + each * 12};
    for (; n + BLOCK + 3 <= q->s->size; n += BLOCK, from += step) {
        const uint8_t *b = bytes + n;
        halves any = (halves)((words_at(b, from) > limit) | (words_at(b + 1, from) > limit) |
                              (words_at(b + 2, from) > limit) | (words_at(b + 3, from) > limit));
        if ((any[0] | any[1]) != 0)
            break;
    }
    return n;
}

static void look_through(struct reach *r, const struct reach_search *q)
{
    const uint64_t first = q->s->address, all = q->s->size, low = q->to.low, size = q->to.end - low;
    const uint8_t *bytes = q->s->bytes;
    const bool relative = q->relative;
    for (uint64_t n = 0; n + 4 <= all;) {
        n = next_block(q, n);
        for (uint64_t end = n + BLOCK; n < end && n + 4 <= all; n++) {
            uint32_t word;
            memcpy(&word, bytes + n, sizeof word);
            uint64_t to = relative ? first + n + (uint64_t)(int64_t)(int32_t)word : word;
            if (to - low < size && is_near(q->near, to))
                q->found(r, q, n, to);
        }
    }
}

static void search(struct reach *r, struct reach_search q, bool data)
{
    const struct image *m = r->c->image;
    for (size_t k = 0; k < m->segment_count && !r->c->no_memory; k++) {
        q.s = &m->segments[k];
        for (unsigned i = 0; i < 4; i++)
            r->rows[i].next = UINT64_MAX;
        if (data || q.s->code)
            look_through(r, &q);
    }
}

/* --- jumps -------------------------------------------------------------------------------- */

/* Returns whether `address` is one of the first CODE_PATCHED bytes of a place, except its first
 * byte. */
static bool is_patched(const struct reach *r, uint64_t address)
{
    size_t next = code_above(r->places, address - 1);
    return next > 0 && address - r->places->at[next - 1] < CODE_PATCHED;
}

static void may_come(const struct reach *r, uint64_t target)
{
    uint8_t *f = code_at(r->c, target);
    if (f != NULL)
        *f |= CODE_TARGET;
}

/* The targets of decoded code are known from its instructions. */
static bool is_decoded(const struct reach *r, uint64_t from)
{
    const uint8_t *f = code_at(r->c, from);
    return f != NULL && (*f & (CODE_START | CODE_BODY)) != 0;
}

/* Returns whether an instruction that contains the 4 bytes at `bytes` may jump to `to` or name it.
 * decoded: considers only sure instructions. */
static bool leads(const struct code *c, uint64_t bytes, uint64_t to, bool decoded)
{
    for (uint64_t at = bytes - 1; at > bytes - LONGEST; at--) {
        struct instruction i;
        struct named named[2];
        if ((decoded && !code_is_sure(c, at)) || !code_decode(c, at, &i) || i.next < bytes + 4)
            continue;
        if (i.target == to)
            return true;
        for (unsigned n = code_named(c, &i, named); n > 0; n--)
            if (named[n - 1].value == to && (named[n - 1].computed || !i.form.relative))
                return true;
    }
    return false;
}

/* Finds jumps with an 8-bit distance: opcodes 70 to 7f, e0 to e3, eb. */
static void look_near(const struct reach *r, const struct image_segment *s, uint64_t place)
{
    uint64_t n = place > s->address + CODE_SHORT ? place - CODE_SHORT - s->address : 0;
    for (; n + 2 <= s->size && s->address + n < place + CODE_PATCHED + CODE_SHORT; n++) {
        uint8_t op = s->bytes[n];
        if ((op & 0xf0) != 0x70 && (op & 0xfc) != 0xe0 && op != 0xeb)
            continue;
        uint64_t target = s->address + n + 2 + (uint64_t)(int64_t)(int8_t)s->bytes[n + 1];
        if (is_patched(r, target) && !is_decoded(r, s->address + n))
            may_come(r, target);
    }
}

/* --- tables ------------------------------------------------------------------------------- */

static bool may_be_entry(const struct reach *r, const struct reach_search *q, uint64_t n)
{
    int32_t word;
    memcpy(&word, q->s->bytes + n, sizeof word);
    return q->s->address + n + (uint64_t)(int64_t)word - r->low < r->high - r->low + 4 * ENTRIES;
}

/* Returns the lowest offset at which a table with an entry at n may begin. */
static uint64_t row_of(struct reach *r, const struct reach_search *q, uint64_t n)
{
    struct reach_row *row = &r->rows[n % 4];
    uint64_t first = n, floor = n > 4 * ENTRIES ? n - 4 * ENTRIES : n % 4;
    while (first > floor && first != row->next && may_be_entry(r, q, first - 4))
        first -= 4;
    if (first == row->next)
        first = row->start;
    *row = (struct reach_row){first, n + 4};
    return first > floor ? first : floor;
}

/* Keeps the spans few, and as short as that allows. */
static void add_to_spans(struct reach *r, uint64_t base)
{
    struct reach_span *nearest = NULL;
    uint64_t least = UINT64_MAX;
    for (unsigned k = 0; k < r->span_count; k++) {
        struct reach_span *s = &r->spans[k];
        uint64_t away = base < s->low ? s->low - base : base >= s->end ? base - s->end : 0;
        if (away < least) {
            nearest = s;
            least = away;
        }
    }
    if (r->span_count < SPANS && least > UINT64_C(1) << PIECE_BITS) {
        r->spans[r->span_count++] = (struct reach_span){base, base + 1};
        return;
    }
    nearest->low = base < nearest->low ? base : nearest->low;
    nearest->end = base >= nearest->end ? base + 1 : nearest->end;
}

static void add_base(struct reach *r, const struct image_segment *s, uint64_t base)
{
    uint64_t **bits = &r->bases[s - r->c->image->segments];
    if (*bits == NULL)
        *bits = calloc(s->size / 64 + 1, sizeof **bits);
    if (*bits == NULL) {
        r->c->no_memory = true;
        return;
    }
    if (has_bit(*bits, base - s->address))
        return;
    set_bit(*bits, base - s->address);
    set_near(&r->near_bases, base - 4, base);
    add_to_spans(r, base);
}

/* The word at n, as a distance from itself, leads to `to`. As an entry of a table it counts from
 * the table's start, which may be any earlier word of its row. Adds each start from which the entry
 * leads to a patched byte. */
static void note_entry(struct reach *r, const struct reach_search *q, uint64_t n, uint64_t to)
{
    uint64_t lowest = to - (n - row_of(r, q, n)), base_of = q->s->address + n - to;
    const struct address_list *p = r->places;
    for (size_t i = code_above(p, lowest - CODE_PATCHED); i < p->count && p->at[i] < to; i++) {
        uint64_t target = p->at[i] + 1, end = p->at[i] + CODE_PATCHED;
        if (target < lowest)
            target = lowest;
        for (target += (to - target) % 4; target < end && target <= to; target += 4)
            add_base(r, q->s, target + base_of);
    }
}

static void found_distance(struct reach *r, const struct reach_search *q, uint64_t n, uint64_t to)
{
    uint64_t at = q->s->address + n;
    if (q->s->code && is_patched(r, to + 4) && !is_decoded(r, at) && leads(r->c, at, to + 4, false))
        may_come(r, to + 4);
    note_entry(r, q, n, to);
}

/* At a fixed address tables hold whole addresses. */
static void found_address(struct reach *r, const struct reach_search *q, uint64_t n, uint64_t to)
{
    uint64_t at = q->s->address + n, whole = 0;
    if (!is_patched(r, to) || (q->s->code && is_decoded(r, at)))
        return;
    if (n + sizeof whole <= q->s->size)
        memcpy(&whole, q->s->bytes + n, sizeof whole);
    if (!q->s->code || whole == to || leads(r->c, at, to, false))
        may_come(r, to);
}

static void found_base(struct reach *r, const struct reach_search *q, uint64_t n, uint64_t to)
{
    const struct image_segment *s, *first = r->c->image->segments;
    uint64_t base = q->relative ? to + 4 : to;
    s = image_segment_of(r->c->image, base);
    if (s == NULL || r->bases[s - first] == NULL ||
        !has_bit(r->bases[s - first], base - s->address))
        return;
    uint64_t at = q->s->address + n;
    if (leads(r->c, at, base, true) || !leads(r->c, at, base, false))
        return;
    if (image_grow((void **)&r->uses->at, r->uses->count, sizeof *r->uses->at) != 0)
        r->c->no_memory = true;
    else
        r->uses->at[r->uses->count++] = (struct lea){at, base};
}

static void mark_entries(const struct reach *r, uint64_t base)
{
    for (uint64_t n = 0; n < ENTRIES; n++) {
        const uint8_t *p = image_at(r->c->image, base + 4 * n, 4);
        int32_t word;
        if (p == NULL)
            return;
        memcpy(&word, p, sizeof word);
        uint64_t target = base + (uint64_t)(int64_t)word;
        if (code_at(r->c, target) == NULL)
            return;
        if (is_patched(r, target))
            may_come(r, target);
    }
}

void code_mark_entries(struct code *c, const struct address_list *places,
                       const struct lea_list *uses)
{
    struct reach r = {.c = c, .places = places};
    for (size_t i = 0; i < uses->count; i++)
        if (!leads(c, uses->at[i].at, uses->at[i].value, true))
            mark_entries(&r, uses->at[i].value);
}

/* --- all ---------------------------------------------------------------------------------- */

static void find_uses(struct reach *r)
{
    for (unsigned k = 0; k < r->span_count; k++) {
        struct reach_search q = {.to = r->spans[k], .near = &r->near_bases, .found = found_base};
        if (!r->c->image->dynamic_type)
            search(r, q, false);
        q.relative = true;
        q.to.low -= 4;
        q.to.end -= 4;
        search(r, q, false);
    }
}

static void find_all(struct reach *r)
{
    const struct image *m = r->c->image;
    const struct address_list *p = r->places;
    for (size_t k = 0; k < m->segment_count; k++) {
        const struct image_segment *s = &m->segments[k];
        if (!s->code)
            continue;
        r->low = s->address < r->low ? s->address : r->low;
        r->high = s->address + s->size > r->high ? s->address + s->size : r->high;
        for (size_t i = 0; i < p->count; i++)
            look_near(r, s, p->at[i]);
    }
    for (size_t i = 0; i < p->count; i++)
        set_near(&r->near_places, p->at[i] - 4, p->at[i] + CODE_PATCHED + 4 * ENTRIES);
    struct reach_search q = {.to = {p->at[0], p->at[p->count - 1] + CODE_PATCHED},
                             .near = &r->near_places,
                             .found = found_address};
    if (!m->dynamic_type)
        search(r, q, true);
    q.relative = true;
    q.to.low -= 4;
    q.to.end += 4 * ENTRIES;
    q.found = found_distance;
    search(r, q, true);
    find_uses(r);
}

void code_find_jumps(struct code *c, const struct address_list *places, struct lea_list *uses)
{
    struct reach *r = calloc(1, sizeof *r);
    uint64_t **bases = calloc(c->image->segment_count + 1, sizeof *bases);
    if (r != NULL && bases != NULL && places->count != 0) {
        *r = (struct reach){
            .c = c, .places = places, .uses = uses, .bases = bases, .low = UINT64_MAX};
        find_all(r);
    }
    c->no_memory = c->no_memory || r == NULL || bases == NULL;
    for (size_t k = 0; bases != NULL && k < c->image->segment_count; k++)
        free(bases[k]);
    free(bases);
    free(r);
}
