/* SPDX-License-Identifier: BSD-3-Clause
 * Writes, as tables in C, a function's loops, the loop of each instruction that accesses memory,
 * and the texts of both, for the command that analyses accesses. */
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

static void put_loops(const struct writer *w)
{
    const struct function *f = w->f;
    for (uint32_t n = 0; n < f->loop_count; n++)
        (void)fprintf(w->out, "%s{0x%" PRIx64 ", %d, %u}", n == 0 ? "" : ", ",
                      f->blocks[f->loops[n].head].start, same_head(f, f->loops[n].parent),
                      f->loops[n].depth);
    (void)fputs(f->loop_count == 0 ? "{0}" : "", w->out);
}

static void put_counters(const struct writer *w)
{
    char name[16];
    for (uint32_t n = 0; n < w->f->loop_count; n++) {
        skel_counter(w->f, n, name, sizeof name);
        (void)fprintf(w->out, "%s\"%s\"", n == 0 ? "" : ", ", name);
    }
    (void)fputs(w->f->loop_count == 0 ? "0" : "", w->out);
}

/* Writes the row of an instruction that accesses memory: accesses `first` to `last` - 1 are its
 * own. */
typedef void (*put_place)(const struct writer *w, uint32_t first, uint32_t last);

static void put_loop_of(const struct writer *w, uint32_t first, uint32_t last)
{
    const struct function *f = w->f;
    const struct access *a = &f->accesses[first];
    (void)last;
    (void)fprintf(w->out, "{0x%" PRIx64 ", %d}", f->instructions[a->at].at,
                  same_head(f, f->blocks[a->block].loop));
}

static void put_texts_of(const struct writer *w, uint32_t first, uint32_t last)
{
    char text[TEXT];
    (void)fputc('"', w->out);
    for (uint32_t k = first; k < last; k++) {
        skel_access(w->f, &w->f->accesses[k], text, sizeof text);
        (void)fprintf(w->out, "%s%s", k == first ? "" : "; ", text);
    }
    (void)fputc('"', w->out);
}

/* Writes the rows for original blocks or for duplicates. Duplicates add nothing unless the original
 * is never reached. Returns the number of rows by now. */
static uint32_t put_some(const struct writer *w, bool duplicates, put_place put, uint32_t count)
{
    const struct function *f = w->f;
    for (uint32_t first = 0, last; first < f->access_count; first = last) {
        const struct access *a = &f->accesses[first];
        last = first + 1;
        while (last < f->access_count && f->accesses[last].at == a->at &&
               f->accesses[last].block == a->block)
            last++;
        if ((f->blocks[a->block].copy != 0) != duplicates)
            continue;
        (void)fputs(count++ == 0 ? "" : ", ", w->out);
        put(w, first, last);
    }
    return count;
}

static uint32_t put_places(const struct writer *w, put_place put, const char *none)
{
    uint32_t count = put_some(w, true, put, put_some(w, false, put, 0));
    (void)fputs(count == 0 ? none : "", w->out);
    return count;
}

void source_put_shape(const struct writer *w, uint32_t number)
{
    (void)fprintf(w->out, "static const struct skeleton_loop l_%" PRIu32 "[] = {", number);
    put_loops(w);
    (void)fprintf(w->out, "};\nstatic const struct skeleton_place p_%" PRIu32 "[] = {", number);
    uint32_t count = put_places(w, put_loop_of, "{0}");
    (void)fprintf(w->out, "};\nSHAPE(%" PRIu32 ", %" PRIu32 ", %" PRIu32 ")\n", number,
                  w->f->loop_count, count);
    (void)fprintf(w->out, "static const char *const c_%" PRIu32 "[] = {", number);
    put_counters(w);
    (void)fprintf(w->out, "};\nstatic const char *const a_%" PRIu32 "[] = {", number);
    (void)put_places(w, put_texts_of, "0");
    (void)fprintf(w->out, "};\nTEXT(%" PRIu32 ")\n", number);
}
