/* SPDX-License-Identifier: BSD-3-Clause
 * Prints profiles of values for people: instructions with their most frequent values, functions,
 * images, arguments. */
#include "tools/values/value_profiles.h"

#include "tools/json.h"

#include <inttypes.h>
#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#define INVARIANT 99.0 /* per cent of the values */

static const char *const reasons[5] = {"in no image", "not told in time how to run them",
                                       "at an instruction that is not followed",
                                       "in the recorder, or where no step could be had",
                                       "periods without a sample, as samples took too much time"};

const char *values_function_name(const struct values_profile *p, uint32_t function)
{
    return p->functions[function].name != NULL ? p->functions[function].name : "(no name)";
}

bool values_is_wanted(const struct values_options *o, const struct values_profile *p,
                      uint32_t function)
{
    return o->function == NULL ||
           regexec(o->function, values_function_name(p, function), 0, NULL, 0) == 0;
}

double values_share(const struct values_list *l, const struct values_value *v)
{
    double share = l->total > 0 ? 100 * v->times / (double)l->total : 0;
    return share < 100 ? share : 100; /* an estimate may be larger */
}

bool values_is_frequent(const struct values_list *l, const struct values_value *v, double cut)
{
    bool sure = !l->estimated || cut <= 0 || v->times >= 2.5 * l->threshold;
    return sure && values_share(l, v) >= cut;
}

size_t values_shown(const struct values_list *l, const struct values_options *o)
{
    size_t n = 0, most = o->most == 0 || o->most > l->count ? l->count : o->most;
    while (n < most && values_is_frequent(l, &l->values[n], o->cut))
        n++;
    return n;
}

bool values_is_invariant(const struct values_list *l, uint64_t least)
{
    return l->count > 0 && l->total >= least && values_share(l, &l->values[0]) >= INVARIANT;
}

static const struct values_profile *sorting;

static int by_place(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const struct profile_item *p = &sorting->items[x], *q = &sorting->items[y];
    if (p->function != q->function) {
        const struct values_function *f = &sorting->functions[p->function],
                                     *g = &sorting->functions[q->function];
        if (f->samples != g->samples)
            return f->samples < g->samples ? 1 : -1;
        int order = strcmp(f->name != NULL ? f->name : "", g->name != NULL ? g->name : "");
        return order != 0 ? order : p->function < q->function ? -1 : 1;
    }
    const struct address *s = &sorting->at.items[x], *t = &sorting->at.items[y];
    return s->offset < t->offset ? -1 : s->offset > t->offset;
}

uint32_t *values_sorted(const struct values_options *o, struct values_profile *p, size_t *count)
{
    size_t items = p->at.count < p->item_room ? p->at.count : p->item_room;
    uint32_t *sorted = malloc((items + 1) * sizeof *sorted);
    *count = 0;
    p->no_memory |= sorted == NULL;
    for (size_t i = 0; i < items && sorted != NULL; i++) {
        const struct profile_item *q = &p->items[i];
        if (q->samples > 0 && values_is_wanted(o, p, q->function) &&
            (!o->invariant || values_is_invariant(&q->list, o->least)))
            sorted[(*count)++] = (uint32_t)i;
    }
    sorting = p;
    if (sorted != NULL && *count > 0)
        qsort(sorted, *count, sizeof *sorted, by_place);
    return sorted;
}

const char *values_context_text(struct values_profile *p, const struct values_value *v, unsigned n)
{
    static char text[300];
    uint32_t item = v->caller[n] - 1;
    if (v->caller[n] == 0) {
        (void)snprintf(text, sizeof text, "0x%" PRIx64, v->context[n]);
        return text;
    }
    const char *name = addresses_name(&p->at, item);
    const struct address *at = &p->at.items[item];
    (void)snprintf(text, sizeof text, "%.240s 0x%" PRIx64,
                   name != NULL ? name : addresses_image_name(&p->at, at->image), at->offset);
    return text;
}

static void print_context(FILE *out, struct values_profile *p, const struct values_value *v)
{
    (void)fputs(" in ", out);
    text_write_plain(out, values_context_text(p, v, 0));
    bool named = v->caller[0] != 0 || v->caller[1] != 0;
    if (named && v->caller[1] == 0 && v->context[1] == 0)
        return;
    (void)fputs(named ? ", " : " ", out);
    text_write_plain(out, values_context_text(p, v, 1));
}

static void print_list(FILE *out, struct values_profile *p, const struct values_list *l,
                       const struct values_options *o, struct values_format *f)
{
    size_t shown = values_shown(l, o);
    values_format_ahead(f, l, shown);
    for (size_t i = 0; i < shown; i++) {
        const struct values_value *v = &l->values[i];
        (void)fprintf(out, "%s(%s%.1f %% ", i > 0 ? " " : "", l->estimated ? "~" : "",
                      values_share(l, v));
        text_write_plain(out, values_format_value(f, v->value));
        if (o->contexts)
            print_context(out, p, v);
        (void)fputc(')', out);
    }
    if (shown == 0)
        (void)fputs(l->count == 0 ? "no values" : "all rare", out);
    (void)fprintf(out, "%s of %" PRIu64 "\n", shown < l->count ? " ..." : "", l->total);
}

static void print_item(FILE *out, struct values_profile *p, uint32_t item,
                       const struct values_options *o, struct values_format *f)
{
    const struct profile_item *q = &p->items[item];
    uint64_t offset = p->at.items[item].offset;
    const char *instruction = values_format_instruction(f, q->code, offset);
    (void)fprintf(out, "  %10" PRIu64 "  0x%-10" PRIx64 " %-38s ", q->samples, offset,
                  instruction != NULL ? instruction : q->code);
    if (q->line != NULL)
        text_write_plain(out, q->line);
    (void)fputc('\n', out);
    if (q->list.total == 0)
        return;
    const char *preface = values_format_preface(f, q->code);
    if (preface == NULL)
        return;
    (void)fprintf(out, "%14s", "");
    text_write_plain(out, preface);
    (void)fputs(preface[0] != '\0' ? ": " : "", out);
    print_list(out, p, &q->list, o, f);
}

static double part(uint64_t n, uint64_t of)
{
    return of > 0 ? 100.0 * (double)n / (double)of : 0;
}

static uint64_t samples_of_all(const struct values_profile *p)
{
    uint64_t all = 0;
    for (size_t i = 0; i < p->function_count; i++)
        all += p->functions[i].samples;
    return all;
}

/* Prints that a list is empty, and why if that is known. */
static void print_none(FILE *out, const char *what, const struct values_profile *p)
{
    (void)fprintf(out, "\nNo %s%s.\n", what,
                  p->samples == 0
                      ? ": no sample was taken (a shorter period: regtrace run -values-sample)"
                  : p->captured == 0
                      ? ": the instructions that samples came to have nothing that the plug-in "
                        "captures (more are followed with regtrace run -values-follow 8)"
                      : "");
}

static void print_instructions(FILE *out, struct values_profile *p, const struct values_options *o,
                               struct values_format *f)
{
    size_t count;
    uint32_t *sorted = values_sorted(o, p, &count), last = UINT32_MAX;
    uint64_t all = samples_of_all(p);
    for (size_t i = 0; sorted != NULL && i < count; i++) {
        uint32_t function = p->items[sorted[i]].function;
        const struct values_function *n = &p->functions[function];
        if (function != last) {
            (void)fputc('\n', out);
            text_write_plain(out, values_function_name(p, function));
            (void)fprintf(out, " in %s: captured %" PRIu64 " times, %.1f %%\n",
                          addresses_image_name(&p->at, n->image), n->samples,
                          part(n->samples, all));
        }
        last = function;
        print_item(out, p, sorted[i], o, f);
    }
    if (count == 0 && o->invariant)
        (void)fputs("\nNo instruction has the same value nearly always.\n", out);
    else if (count == 0)
        print_none(out, "instruction to list", p);
    free(sorted);
}

static int by_samples(const void *a, const void *b)
{
    const struct values_function *x = *(const struct values_function *const *)a,
                                 *y = *(const struct values_function *const *)b;
    if (x->samples != y->samples)
        return x->samples < y->samples ? 1 : -1;
    return strcmp(x->name != NULL ? x->name : "", y->name != NULL ? y->name : "");
}

static void print_procedures(FILE *out, struct values_profile *p, const struct values_options *o)
{
    const struct values_function **rows = calloc(p->function_count + 1, sizeof(void *));
    size_t count = 0;
    uint64_t all = samples_of_all(p);
    for (size_t i = 0; rows != NULL && i < p->function_count; i++)
        if (p->functions[i].samples > 0 && values_is_wanted(o, p, (uint32_t)i))
            rows[count++] = &p->functions[i];
    p->no_memory |= rows == NULL;
    if (rows == NULL)
        return;
    qsort(rows, count, sizeof(void *), by_samples);
    (void)fputs("\n    captured       %  periods       procedure\n", out);
    for (size_t i = 0; i < count; i++) {
        (void)fprintf(out, "  %10" PRIu64 "  %6.2f  %-12" PRIu64 "  ", rows[i]->samples,
                      part(rows[i]->samples, all), rows[i]->periods);
        text_write_plain(out, rows[i]->name != NULL ? rows[i]->name : "(no name)");
        (void)fprintf(out, " in %s\n", addresses_image_name(&p->at, rows[i]->image));
    }
    free(rows);
}

static void print_images(FILE *out, struct values_profile *p, const struct values_options *o)
{
    struct values_function *rows = calloc(p->at.image_count + 1, sizeof *rows);
    const struct values_function **order = calloc(p->at.image_count + 1, sizeof(void *));
    uint64_t all = samples_of_all(p);
    p->no_memory |= rows == NULL || order == NULL;
    for (size_t i = 0; rows != NULL && i < p->function_count; i++) {
        const struct values_function *f = &p->functions[i];
        size_t row = f->image == NO_IMAGE ? p->at.image_count : f->image;
        if (!values_is_wanted(o, p, (uint32_t)i))
            continue;
        rows[row].image = f->image;
        rows[row].name = f->image == NO_IMAGE ? NULL : p->at.images[f->image].path;
        rows[row].samples += f->samples;
        rows[row].periods += f->periods;
    }
    for (size_t i = 0; rows != NULL && order != NULL && i <= p->at.image_count; i++)
        order[i] = &rows[i];
    if (rows != NULL && order != NULL) {
        qsort(order, p->at.image_count + 1, sizeof(void *), by_samples);
        (void)fputs("\n    captured       %  periods       image\n", out);
        for (size_t i = 0; i <= p->at.image_count; i++)
            if (order[i]->samples > 0)
                (void)fprintf(out, "  %10" PRIu64 "  %6.2f  %-12" PRIu64 "  %s\n",
                              order[i]->samples, part(order[i]->samples, all), order[i]->periods,
                              order[i]->name != NULL ? order[i]->name : "(no image)");
    }
    free(order);
    free(rows);
}

static void print_arguments(FILE *out, struct values_profile *p, const struct values_options *o)
{
    struct values_format plain = {0};
    uint32_t last = UINT32_MAX;
    if (p->argument_count == 0)
        print_none(out, "arguments to list", p);
    for (size_t i = 0; i < p->argument_count; i++) {
        const struct values_argument *a = &p->arguments[i];
        if (!values_is_wanted(o, p, a->function))
            continue;
        if (a->function != last)
            (void)fprintf(out, "\n%s in %s\n", values_function_name(p, a->function),
                          addresses_image_name(&p->at, p->functions[a->function].image));
        last = a->function;
        if (a->number == 0)
            (void)fputs("    returns: ", out);
        else
            (void)fprintf(out, "    argument %" PRIu32 ": ", a->number);
        print_list(out, p, &a->list, o, &plain);
    }
}

void values_print_counters(FILE *out, const char *which, const struct values_profile *p)
{
    double cpi = values_cycles_per_instruction(p);
    if (!isnan(cpi))
        (void)fprintf(out, "  %scycles per instruction in windows: %.3f (%s, %s)\n", which, cpi,
                      p->cycles.event, p->instructions.event);
}

static void print_lacks(FILE *out, const struct values_profile *p)
{
    for (int i = 0; i < 5; i++)
        if (p->without[i] > 0)
            (void)fprintf(out, "  without values: %" PRIu64 " %s\n", p->without[i], reasons[i]);
    if (p->damaged > 0)
        (void)fprintf(out, "  damaged: %" PRIu64 "\n", p->damaged);
    if (p->unprocessed > 0)
        (void)fprintf(out,
                      "  %" PRIu64 " captured instructions are without values, as the plug-in's "
                      "process had failed: %s\n",
                      p->unprocessed, p->failed != NULL ? p->failed : "not known why");
    if (p->strange > 0)
        (void)fprintf(out, "  %" PRIu64 " values of addresses that were not captured\n",
                      p->strange);
    if (p->lost_chunks > 0)
        (void)fprintf(out,
                      "  values in up to %" PRIu64 " chunks of the stream were lost with a killed "
                      "writer\n",
                      p->lost_chunks);
    if (p->open_files > 0)
        (void)fprintf(out,
                      "  files that are not closed: %" PRIu64 "; values are in a file when it is "
                      "(those of killed writers after `regtrace recover`)\n",
                      p->open_files);
}

void values_print_text(FILE *out, struct values_profile *p, const struct values_options *o,
                       struct values_format *f)
{
    bool estimated = false, had_format = f->why.text[0] == '\0';
    for (size_t i = 0; i < p->item_room; i++)
        estimated |= p->items[i].list.estimated;
    (void)fputs("Values of ", out);
    text_write_plain(out, p->plugin);
    (void)fprintf(out, ": %" PRIu64 " samples, %" PRIu64 " captured instructions, %" PRIu64 " %s\n",
                  p->samples, p->captured, p->ranks, p->ranks == 1 ? "process" : "processes");
    if (p->of_more)
        (void)fputs("  of whole processes: values are not known by window\n", out);
    values_print_counters(out, "", p);
    print_lacks(out, p);
    addresses_print_lacks(out, &p->at);
    if (f->why.text[0] != '\0')
        (void)fprintf(out, "Values are hexadecimal: %s.\n", f->why.text);
    if (estimated)
        (void)fputs("~: estimated, from a sample of the values of an instruction that had too many "
                    "different ones.\n",
                    out);
    if (o->arguments)
        print_arguments(out, p, o);
    else if (o->by == VALUES_BY_IMAGE)
        print_images(out, p, o);
    else if (o->by == VALUES_BY_PROCEDURE)
        print_procedures(out, p, o);
    else
        print_instructions(out, p, o, f);
    if (had_format && f->why.text[0] != '\0')
        (void)fprintf(out, "\nValues are hexadecimal from somewhere above on: %s.\n", f->why.text);
}
