/* SPDX-License-Identifier: BSD-3-Clause
 * Finds direct calls of some functions without decoding everything. It searches for the bytes of
 * such calls and has the functions around them decoded, which tells whether they are calls. Intel's
 * manual, volume 2: e8 with a 32-bit distance; ff 15 with the 32-bit distance of the word that
 * holds the address. */
#include "isa/plan/site.h"

#include <stdlib.h>

/* Calls that are looked at in an image; more are ignored. Decoding so many functions takes almost
 * no time. */
enum { CALLS_MOST = 2048 };

static bool has_name(const struct image_slot *s, const char *wanted)
{
    const struct image_symbol symbol = {.name = s->name, .version = ""};
    return image_name_matches(&symbol, wanted);
}

bool request_has_slot(const struct request *q, const struct image *m)
{
    for (size_t i = 0; i < m->slot_count; i++)
        if (has_name(&m->slots[i], q->name))
            return true;
    return false;
}

bool request_callees(const struct request *q, const struct image *m, struct callees *callees)
{
    for (size_t i = 0; i < m->symbol_count; i++)
        if (image_is_function(&m->symbols[i]) && image_name_matches(&m->symbols[i], q->name) &&
            !code_append(&callees->functions, m->symbols[i].address))
            return false;
    for (size_t i = 0; i < m->slot_count; i++)
        if (has_name(&m->slots[i], q->name) && !code_append(&callees->slots, m->slots[i].place))
            return false;
    return true;
}

void callees_free(struct callees *callees)
{
    free(callees->functions.at);
    free(callees->slots.at);
}

/* Returns whether the 4 bytes at n are the distance of a call to an address in `to`. */
static bool leads_to(const struct image_segment *s, uint64_t n, const struct address_list *to)
{
    int32_t distance;
    memcpy(&distance, s->bytes + n, sizeof distance);
    return code_has(to, s->address + n + sizeof distance + (uint64_t)(int64_t)distance);
}

/* Adds to c->behind_calls the places after bytes that look like a call to an address in `to`:
 * `begin`, then a distance. Ignores bytes outside of known functions, because only known functions
 * are then decoded. */
static void look_for(struct code *c, const struct image_segment *s, const char *begin,
                     const struct address_list *to)
{
    size_t length = strlen(begin), all = s->size;
    if (to->count == 0)
        return;
    for (uint64_t n = 0; n + length + 4 <= all && c->behind_calls.count < CALLS_MOST; n++) {
        const uint8_t *at = memchr(s->bytes + n, (uint8_t)begin[0], all - n - length - 3);
        if (at == NULL)
            return;
        n = (uint64_t)(at - s->bytes);
        uint64_t next = s->address + n + length + 4;
        if (memcmp(at, begin, length) == 0 && leads_to(s, n + length, to) &&
            code_range_of(c, next) != NULL)
            code_add(c, &c->behind_calls, next);
    }
}

void code_find_calls(struct code *c, struct callees *callees)
{
    const struct image *m = c->image;
    code_sort(&callees->functions);
    code_sort(&callees->slots);
    for (size_t k = 0; k < m->segment_count; k++)
        if (m->segments[k].code) {
            look_for(c, &m->segments[k], "\xe8", &callees->functions);
            look_for(c, &m->segments[k], "\xff\x15", &callees->slots);
        }
    code_sort(&c->behind_calls);
}
