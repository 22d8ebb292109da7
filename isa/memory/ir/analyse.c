/* SPDX-License-Identifier: BSD-3-Clause
 * Analyses one function: runs all steps, from its blocks to what is recorded, and counts what they
 * found. Parses names of plans. */
#include "isa/memory/skel.h"

#include <string.h>

bool skel_plan_parse(const char *name, enum skel_plan *out)
{
    static const char *const names[] = {"skeleton", "registers", "addresses"};
    for (unsigned n = 0; n < sizeof names / sizeof *names; n++)
        if (strcmp(name, names[n]) == 0) {
            *out = (enum skel_plan)n;
            return true;
        }
    return false;
}

void skel_analyse(struct function *f)
{
    graph_build(f);
    if (f->reason == NULL)
        loops_find(f);
    if (f->reason == NULL)
        values_build(f);
    if (f->reason != NULL)
        return;
    if (f->plan == PLAN_SKELETON)
        constants_find(f);
    demand_find(f);
    cut_find(f);
    if (f->reason == NULL)
        linear_resolve(f);
}

void skel_count(const struct function *f, struct skel_counts *n)
{
    n->functions++;
    n->bytes += f->end - f->start;
    if (f->reason != NULL)
        return;
    n->analysed++;
    n->instructions += f->instruction_count;
    n->loops += f->loop_count;
    n->accesses += f->access_count;
    for (uint32_t k = 0; k < f->access_count; k++) {
        n->recorded += f->accesses[k].recorded || f->accesses[k].lanes != NULL;
    }
    for (uint32_t v = 0; v < f->value_count; v++) {
        const struct value *x = &f->values[v];
        n->recorded += x->recorded && !(f->direct && value_is_passed(f, v));
        n->inductions += f->inductions[v].known;
    }
    for (uint32_t k = 0; k < f->argument_count; k++)
        n->recorded += f->arguments[k].recorded;
    n->decisions += f->decision_count;
    for (uint32_t k = 0; k < f->decision_count; k++)
        n->outcomes += f->decisions[k].recorded;
}
