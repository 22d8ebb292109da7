/* SPDX-License-Identifier: BSD-3-Clause
 * Finds the addresses that an image's code calls or names, or that its data holds: functions
 * without a symbol begin there. A part that a compiler has moved away from a function is not among
 * them, since only that function jumps to it. */
#include "isa/memory/skel.h"

static void claim_of(const struct code *c, uint64_t at, struct address_list *claims)
{
    struct instruction i;
    struct named named[2];
    if (!code_decode(c, at, &i))
        return;
    if (i.form.flow == FLOW_CALL) {
        if (!code_append(claims, i.target))
            return;
    }
    for (unsigned n = code_named(c, &i, named); n > 0; n--)
        if (code_at(c, named[n - 1].value) != NULL && !code_append(claims, named[n - 1].value))
            return;
}

void skel_find_claims(const struct code *c, struct address_list *claims)
{
    for (size_t k = 0; k < c->segment_count; k++) {
        const struct code_segment *s = &c->segments[k];
        for (uint64_t n = code_next_flagged(s, 0, CODE_START); n < s->size;
             n = code_next_flagged(s, n + 1, CODE_START))
            if ((s->flags[n] & CODE_UNSURE) == 0)
                claim_of(c, s->address + n, claims);
    }
    for (size_t k = 0; k < c->words.count; k++)
        if (!code_append(claims, c->words.at[k]))
            break;
    code_sort(claims);
}
