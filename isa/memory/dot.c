/* SPDX-License-Identifier: BSD-3-Clause
 * Prints an analysed function as a graph for dot(1): nested boxes for loops, and blocks with their
 * accesses. */
#include "isa/memory/skel.h"

#include <inttypes.h>

static void print_block(FILE *out, struct function *f, uint32_t block)
{
    const struct block *b = &f->blocks[block];
    char text[512];
    (void)fprintf(out, "b%u [label=\"0x%" PRIx64, block, b->start);
    if (b->copy != 0)
        (void)fprintf(out, ".%u", b->copy + 1u);
    (void)fprintf(out, "\\l");
    for (uint32_t k = 0; k < f->access_count; k++) {
        const struct access *a = &f->accesses[k];
        if (a->block != block)
            continue;
        skel_access(f, a, text, sizeof text);
        (void)fprintf(out, "%s%s\\l", text, a->recorded ? " *" : "");
    }
    for (uint32_t v = 0; v < f->value_count; v++)
        if (f->values[v].recorded && f->values[v].block == block)
            (void)fprintf(out, "record %s.%u\\l", skel_variables[f->values[v].variable],
                          f->values[v].name);
    bool outcome = false;
    for (uint32_t k = 0; k < f->decision_count; k++)
        if (f->decisions[k].block == block) {
            skel_condition(f, f->decisions[k].value, text, sizeof text);
            (void)fprintf(out, "? %s\\l", text);
            outcome = f->decisions[k].recorded;
        }
    (void)fprintf(out, "\"%s];\n", outcome ? ", color=red" : "");
}

static void print_loop(FILE *out, struct function *f, int32_t loop)
{
    if (loop != SKEL_NONE)
        (void)fprintf(out, "subgraph cluster_%d {\n", loop);
    for (uint32_t n = 0; n < f->loop_count; n++)
        if (f->loops[n].parent == loop)
            print_loop(out, f, (int32_t)n);
    for (uint32_t k = 0; k < f->order_count; k++)
        if (f->blocks[f->order[k]].loop == loop)
            print_block(out, f, f->order[k]);
    if (loop != SKEL_NONE)
        (void)fprintf(out, "}\n");
}

void skel_print_dot(FILE *out, struct function *f)
{
    (void)fprintf(out, "digraph \"%s\" {\nnode [shape=box, fontname=monospace];\n", f->name);
    if (f->reason != NULL)
        (void)fprintf(out, "reason [label=\"%s\"];\n", f->reason);
    else
        print_loop(out, f, SKEL_NONE);
    for (uint32_t k = 0; f->reason == NULL && k < f->order_count; k++) {
        const struct block *b = &f->blocks[f->order[k]];
        for (uint32_t s = 0; s < b->succ_count; s++)
            (void)fprintf(out, "b%u -> b%u%s;\n", f->order[k], b->succ[s],
                          b->end == END_BRANCH && s == 0 ? " [label=taken]" : "");
    }
    (void)fprintf(out, "}\n");
}
