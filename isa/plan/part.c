/* SPDX-License-Identifier: BSD-3-Clause
 * Decodes only the functions that requests name: for an image of 50 MB that takes less time than
 * reading its symbols. Jumps into the first bytes of such a function, after its first instruction,
 * come from its own branches, which are then known, or from other code, which
 * isa/decode/incoming_jumps.c searches for them. Functions with a table that may lead there are
 * decoded too. */
#include "isa/decode/code_map.h"

#include <stdlib.h>

enum { MOST = 4096 /* for more places everything is decoded */ };

/* Marks the functions of the places as wanted, and those nearby, which may hold short jumps to
 * them. Returns false if everything must be decoded. */
static bool want(struct code *c, const struct address_list *places)
{
    for (size_t i = 0; i < places->count; i++) {
        const struct code_range *r = code_range_of(c, places->at[i]);
        uint64_t low = places->at[i] - CODE_SHORT, high = places->at[i] + CODE_PATCHED + CODE_SHORT;
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

/* Follows what is known to be code in wanted ranges. */
static void follow_wanted(struct code *c)
{
    const struct image *m = c->image;
    for (size_t i = 0; i < c->range_count; i++) {
        const struct code_range *r = &c->ranges[i];
        if (!r->wanted)
            continue;
        code_follow(c, r->start);
        for (size_t k = image_symbols_from(m, r->start);
             k < m->symbol_count && m->symbols[k].address < r->end; k++)
            if (image_is_function(&m->symbols[k]))
                code_follow(c, m->symbols[k].address);
    }
    for (size_t i = 0; i < m->landing_pad_count; i++)
        if (code_is_wanted(c, m->landing_pads[i]))
            code_follow(c, m->landing_pads[i]);
    code_follow_computed(c);
}

/* Decodes the functions with a table that may lead to these places. If a use is in no function, or
 * in no sure instruction, every possible entry of its table counts. */
static void follow_uses(struct code *c, const struct address_list *places,
                        const struct lea_list *uses)
{
    for (size_t i = 0; i < uses->count; i++) {
        struct code_range *r = code_range_of(c, uses->at[i].at);
        if (r != NULL)
            r->wanted = true;
    }
    if (uses->count != 0)
        follow_wanted(c);
    code_mark_entries(c, places, uses);
}

struct code *code_open_part(const struct image *m, struct address_list *places,
                            struct callees *callees)
{
    struct lea_list uses = {.count = 0};
    struct code *c = code_begin(m);
    if (c == NULL)
        return NULL;
    c->partial = true;
    code_find_calls(c, callees);
    for (size_t i = 0; i < c->behind_calls.count; i++)
        code_add(c, places, c->behind_calls.at[i]);
    code_sort(places);
    if (!want(c, places)) {
        code_close(c);
        return code_open(m);
    }
    follow_wanted(c);
    code_find_jumps(c, places, &uses);
    follow_uses(c, places, &uses);
    free(uses.at);
    return code_finish(c);
}
