/* SPDX-License-Identifier: BSD-3-Clause
 * Writes, as comments, a function's loops, and the instructions that access memory, for the command
 * that analyses accesses (tools/memory/stats/skel_shape_lines.h). */
#include "isa/memory/source/source_text.h"

#include <inttypes.h>

enum { TEXT = 512 };

/* Returns the first of the duplicated loops that have the same head. */
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

static void put_number(FILE *out, int32_t n)
{
    if (n < 0)
        (void)fputs(" -", out);
    else
        (void)fprintf(out, " %" PRIx32, (uint32_t)n);
}

static void put_loops(const struct writer *w)
{
    const struct function *f = w->f;
    char counter[16];
    for (uint32_t n = 0; n < f->loop_count; n++) {
        skel_counter(f, n, counter, sizeof counter);
        (void)fprintf(w->out, "/* loop %" PRIx64, f->blocks[f->loops[n].head].start);
        put_number(w->out, same_head(f, f->loops[n].parent));
        (void)fprintf(w->out, " %x %s */\n", f->loops[n].depth, counter);
    }
}

/* Writes the line of an instruction that accesses memory: accesses `first` to `last` - 1 are its
 * own. */
static void put_place(const struct writer *w, uint32_t first, uint32_t last)
{
    struct function *f = w->f;
    const struct access *a = &f->accesses[first];
    char text[TEXT];
    (void)fprintf(w->out, "/* place %" PRIx64, f->instructions[a->at].at);
    put_number(w->out, same_head(f, f->blocks[a->block].loop));
    for (uint32_t k = first; k < last; k++) {
        skel_access(f, &f->accesses[k], text, sizeof text);
        (void)fprintf(w->out, "%s %s", k == first ? "" : ";", text);
    }
    (void)fputs(" */\n", w->out);
}

/* Writes the lines for original blocks or for duplicates. Duplicates add nothing unless the
 * original is never reached. */
static void put_places(const struct writer *w, bool duplicates)
{
    const struct function *f = w->f;
    for (uint32_t first = 0, last; first < f->access_count; first = last) {
        const struct access *a = &f->accesses[first];
        last = first + 1;
        while (last < f->access_count && f->accesses[last].at == a->at &&
               f->accesses[last].block == a->block)
            last++;
        if ((f->blocks[a->block].copy != 0) == duplicates)
            put_place(w, first, last);
    }
}

void source_put_shape(const struct writer *w)
{
    put_loops(w);
    put_places(w, false);
    put_places(w, true);
}
