/* SPDX-License-Identifier: BSD-3-Clause
 * Compares two profiles of values: where the samples went, and which instructions have other
 * values. */
#include "tools/values/value_profiles.h"

#include "tools/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DIFFERENT 10.0 /* points of a value's share */

/* A procedure of either profile, identified by its name and its image's name. */
struct diff_pair {
    const char *name, *image;
    double share[2];
};

static double share_of(const struct values_profile *p, const struct values_function *f)
{
    uint64_t all = 0;
    for (size_t i = 0; i < p->function_count; i++)
        all += p->functions[i].samples;
    return all > 0 ? 100 * (double)f->samples / (double)all : 0;
}

static void add_pairs(struct diff_pair *pairs, size_t *count, const struct values_profile *p,
                      const struct values_options *o, int side)
{
    for (size_t i = 0; i < p->function_count; i++) {
        const struct values_function *f = &p->functions[i];
        const char *name = values_function_name(p, (uint32_t)i),
                   *image = addresses_image_name(&p->at, f->image);
        size_t k = 0;
        if (f->samples == 0 || !values_is_wanted(o, p, (uint32_t)i))
            continue;
        while (k < *count &&
               (strcmp(pairs[k].name, name) != 0 || strcmp(pairs[k].image, image) != 0))
            k++;
        if (k == *count)
            pairs[(*count)++] = (struct diff_pair){.name = name, .image = image};
        pairs[k].share[side] += share_of(p, f);
    }
}

static int by_change(const void *a, const void *b)
{
    const struct diff_pair *x = a, *y = b;
    double p = fabs(x->share[1] - x->share[0]), q = fabs(y->share[1] - y->share[0]);
    if (p < q || p > q)
        return p < q ? 1 : -1;
    return strcmp(x->name, y->name);
}

static void print_pairs(FILE *out, struct values_profile *a, const struct values_profile *b,
                        const struct values_options *o)
{
    struct diff_pair *pairs = calloc(a->function_count + b->function_count + 1, sizeof *pairs);
    size_t count = 0;
    a->no_memory |= pairs == NULL;
    if (pairs == NULL)
        return;
    add_pairs(pairs, &count, a, o, 0);
    add_pairs(pairs, &count, b, o, 1);
    qsort(pairs, count, sizeof *pairs, by_change);
    (void)fputs("\n  before %  after %  points  procedure\n", out);
    for (size_t i = 0; i < count; i++) {
        (void)fprintf(out, "  %8.2f %8.2f %+7.2f  ", pairs[i].share[0], pairs[i].share[1],
                      pairs[i].share[1] - pairs[i].share[0]);
        text_write_plain(out, pairs[i].name);
        (void)fprintf(out, " in %s\n", pairs[i].image);
    }
    free(pairs);
}

/* Returns the same place of the same image in b; NULL: nothing was captured there. */
static const struct profile_item *same_place(struct values_profile *b,
                                             const struct values_profile *a, uint32_t item)
{
    const struct address *at = &a->at.items[item];
    uint32_t other;
    for (size_t i = 0; at->image != NO_IMAGE && i < b->at.image_count; i++) {
        const struct address_image *m = &b->at.images[i], *n = &a->at.images[at->image];
        bool same = n->build_id[0] != '\0' ? strcmp(m->build_id, n->build_id) == 0
                                           : strcmp(m->path, n->path) == 0;
        if (!same || addresses_place(&b->at, m->path, m->build_id, at->offset, &other) != 0)
            continue;
        return other < b->item_room && b->items[other].samples > 0 ? &b->items[other] : NULL;
    }
    return NULL;
}

static const struct values_value *find_value(const struct values_list *l, uint64_t value)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->values[i].value == value)
            return &l->values[i];
    return NULL;
}

static double share_in(const struct values_list *l, uint64_t value)
{
    const struct values_value *v = find_value(l, value);
    return v != NULL ? values_share(l, v) : 0;
}

/* Returns by how many points of share two samples of the same kind differ once in 370 times: three
 * standard errors, with the share in both together. */
static double by_chance(const struct values_list *a, const struct values_list *b, uint64_t value)
{
    double n = (double)a->total, m = (double)b->total;
    if (n < 1 || m < 1)
        return 100;
    double p = (n * share_in(a, value) + m * share_in(b, value)) / (n + m) / 100;
    return 300 * sqrt(p * (1 - p) * (1 / n + 1 / m));
}

/* Finds the value whose share differs most. Returns false if none differs by DIFFERENT points and
 * by more than chance. */
static bool differs(const struct values_list *a, const struct values_list *b, uint64_t *value)
{
    double most = DIFFERENT;
    bool found = false;
    for (int side = 0; side < 2; side++) {
        const struct values_list *l = side == 0 ? a : b;
        for (size_t i = 0; i < l->count; i++) {
            double d = fabs(share_in(a, l->values[i].value) - share_in(b, l->values[i].value));
            if (d < most || d < by_chance(a, b, l->values[i].value))
                continue;
            found = true;
            most = d;
            *value = l->values[i].value;
        }
    }
    return found;
}

static void print_values(FILE *out, struct values_profile *a, struct values_profile *b,
                         const struct values_options *o, struct values_format *f)
{
    char instruction[256];
    size_t count, shown = 0, alone = 0;
    uint32_t *sorted = values_sorted(o, a, &count);
    for (size_t i = 0; sorted != NULL && i < count; i++) {
        const struct profile_item *q = &a->items[sorted[i]], *r = same_place(b, a, sorted[i]);
        uint64_t value;
        alone += r == NULL;
        if (r == NULL || !differs(&q->list, &r->list, &value))
            continue;
        uint64_t offset = a->at.items[sorted[i]].offset;
        const char *text = values_format_instruction(f, q->code, offset);
        (void)snprintf(instruction, sizeof instruction, "%s", text != NULL ? text : q->code);
        const char *preface = values_format_preface(f, q->code);
        if (preface == NULL)
            continue;
        if (shown++ == 0)
            (void)fprintf(out, "\nInstructions with a value whose share differs by %.0f points:\n",
                          DIFFERENT);
        (void)fputs("  ", out);
        text_write_plain(out, values_function_name(a, q->function));
        (void)fprintf(out, " 0x%" PRIx64 " %s; ", offset, instruction);
        text_write_plain(out, preface);
        (void)fputs(preface[0] != '\0' ? ": " : "", out);
        text_write_plain(out, values_format_value(f, value));
        (void)fprintf(out, " %s%.1f %% of %" PRIu64 " before, %s%.1f %% of %" PRIu64 " after\n",
                      q->list.estimated ? "~" : "", share_in(&q->list, value), q->list.total,
                      r->list.estimated ? "~" : "", share_in(&r->list, value), r->list.total);
    }
    if (shown == 0)
        (void)fputs("\nNo instruction of both has other values.\n", out);
    if (alone > 0)
        (void)fprintf(out, "%zu instructions of the first are not in the second.\n", alone);
    free(sorted);
}

void values_print_difference(FILE *out, struct values_profile *a, struct values_profile *b,
                             const struct values_options *o, struct values_format *f)
{
    (void)fprintf(out, "Before: %" PRIu64 " samples, %" PRIu64 " captured instructions\n",
                  a->samples, a->captured);
    (void)fprintf(out, "After:  %" PRIu64 " samples, %" PRIu64 " captured instructions\n",
                  b->samples, b->captured);
    values_print_counters(out, "before: ", a);
    values_print_counters(out, "after: ", b);
    addresses_print_lacks(out, &a->at);
    if (f->why.text[0] != '\0')
        (void)fprintf(out, "Values are hexadecimal: %s.\n", f->why.text);
    print_pairs(out, a, b, o);
    if (o->by == VALUES_BY_INSTRUCTION)
        print_values(out, a, b, o, f);
}
