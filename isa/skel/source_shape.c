/* SPDX-License-Identifier: BSD-3-Clause
 * A function's loops, and which of them each accessing instruction belongs to, as tables of its skeleton's C: for whoever analyses accesses. */
#include "isa/skel/source_text.h"

#include <inttypes.h>

/* Of loops that were duplicated, which have the same head, the first. */
static int32_t same_head(const struct function *f, int32_t loop)
{
    if (loop == SKEL_NONE)
        return SKEL_NONE;
    uint64_t head = f->blocks[f->loops[loop].head].start;
    int32_t first = 0;
    while (f->blocks[f->loops[first].head].start != head)
        first++;
    return first;
}

static void put_loops(const struct writer *w)
{
    const struct function *f = w->f;
    for (uint32_t n = 0; n < f->loop_count; n++)
        (void)fprintf(w->out, "%s{0x%" PRIx64 ", %d, %u}", n == 0 ? "" : ", ",
                      f->blocks[f->loops[n].head].start, same_head(f, f->loops[n].parent),
                      f->loops[n].depth);
    (void)fputs(f->loop_count == 0 ? "{0}" : "", w->out);
}

/* Those of blocks as they are in the program, or of duplicates, which tell nothing new unless the program's own are never reached. */
static uint32_t put_places(const struct writer *w, bool duplicates, uint32_t count)
{
    const struct function *f = w->f;
    uint64_t before = 0;
    for (uint32_t k = 0; k < f->access_count; k++) {
        const struct access *a = &f->accesses[k];
        const struct block *b = &f->blocks[a->block];
        uint64_t pc = f->instructions[a->at].at;
        if ((b->copy != 0) != duplicates || pc == before)
            continue;
        (void)fprintf(w->out, "%s{0x%" PRIx64 ", %d}", count == 0 ? "" : ", ", pc,
                      same_head(f, b->loop));
        count++;
        before = pc;
    }
    return count;
}

void source_put_shape(const struct writer *w, uint32_t number)
{
    (void)fprintf(w->out, "static const struct skeleton_loop l_%" PRIu32 "[] = {", number);
    put_loops(w);
    (void)fprintf(w->out, "};\nstatic const struct skeleton_place p_%" PRIu32 "[] = {", number);
    uint32_t count = put_places(w, true, put_places(w, false, 0));
    (void)fprintf(w->out, "%s};\nSHAPE(%" PRIu32 ", %" PRIu32 ", %" PRIu32 ")\n",
                  count == 0 ? "{0}" : "", number, w->f->loop_count, count);
}
