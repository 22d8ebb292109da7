/* SPDX-License-Identifier: BSD-3-Clause
 * Turns places into functions and lines, and prints the tables. */
#include "tools/report/hot/hot.h"

#include "base/identity.h"
#include "pmu/pmu.h"
#include "tools/json.h"
#include "tools/report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Finds or creates the row of that name; takes ownership of the name. Returns UINT32_MAX without
 * memory. */
static uint32_t find_row(struct hot_row **rows, size_t *count, char *name, uint32_t image)
{
    for (size_t i = 0; i < *count; i++) {
        const struct hot_row *r = &(*rows)[i];
        bool same = name == NULL ? r->name == NULL : r->name != NULL && strcmp(r->name, name) == 0;
        if (same && r->image == image) {
            free(name);
            return (uint32_t)i;
        }
    }
    struct hot_row *more = realloc(*rows, (*count + 1) * sizeof *more);
    if (more == NULL) {
        free(name);
        return UINT32_MAX;
    }
    *rows = more;
    more[*count] = (struct hot_row){.name = name, .image = image, .last = UINT64_MAX};
    return (uint32_t)(*count)++;
}

static bool is_own(const struct hot *h, uint32_t image)
{
    static const char name[] = "libregtrace.so";
    return image != NO_IMAGE &&
           strncmp(identity_base_name(h->at.images[image].path), name, sizeof name - 1) == 0;
}

static int name_place(struct hot *h, uint32_t item)
{
    struct hot_place *p = &h->places[item];
    const struct address *at = &h->at.items[item];
    struct image_symbols *s =
        at->image != NO_IMAGE ? addresses_symbols(&h->at.images[at->image]) : NULL;
    char *function = NULL, *line = NULL;
    p->is_own = is_own(h, at->image);
    p->is_cut = addresses_is_cut(&h->at, item);
    if (at->is_generated && (function = strdup(at->name)) == NULL)
        return -ENOMEM;
    if (s != NULL)
        image_symbols_find(s, at->offset, &function, &line);
    if (p->is_own) {
        free(function);
        if ((function = strdup("[regtrace]")) == NULL) {
            free(line);
            return -ENOMEM;
        }
    }
    p->frameless = p->weight > 0 && s != NULL && image_symbols_frameless(s, at->offset);
    p->function = find_row(&h->functions, &h->function_count, function, at->image);
    p->line = find_row(&h->lines, &h->line_count, line, at->image);
    if (p->function == UINT32_MAX || p->line == UINT32_MAX)
        return -ENOMEM;
    h->functions[p->function].self += p->weight;
    h->lines[p->line].self += p->weight;
    return 0;
}

int hot_resolve(struct hot *h)
{
    int rc = 0;
    /* Also opens images without samples, to find those that have changed. */
    for (size_t i = 0; i < h->at.image_count; i++)
        (void)addresses_symbols(&h->at.images[i]);
    for (size_t i = 0; i < h->at.count && rc == 0; i++)
        rc = name_place(h, (uint32_t)i);
    for (uint64_t i = 0; i < h->sample_count && rc == 0; i++)
        for (uint32_t f = 0; f < h->samples[i].count; f++) {
            const struct hot_place *p = hot_frame(h, &h->samples[i], f);
            if (p == NULL || p->is_cut)
                continue;
            struct hot_row *r = &h->functions[p->function];
            if (r->last != i) /* once per sample, however deep the recursion */
                r->within += h->samples[i].weight;
            r->last = i;
        }
    return rc;
}

static int by_self(const void *a, const void *b)
{
    const struct hot_row *x = *(const struct hot_row *const *)a,
                         *y = *(const struct hot_row *const *)b;
    if (x->self != y->self)
        return x->self < y->self ? 1 : -1;
    if (x->within != y->within)
        return x->within < y->within ? 1 : -1;
    return strcmp(x->name != NULL ? x->name : "", y->name != NULL ? y->name : "");
}

static const struct hot_row **sorted(const struct hot_row *rows, size_t count)
{
    const struct hot_row **out = report_room(count + 1, sizeof *out, "functions and lines");
    for (size_t i = 0; out != NULL && i < count; i++)
        out[i] = &rows[i];
    if (out != NULL && count > 0)
        qsort(out, count, sizeof *out, by_self);
    return out;
}

static double share(const struct hot *h, uint64_t weight)
{
    return h->weight > 0 ? 100.0 * (double)weight / (double)h->weight : 0.0;
}

/* Writes what `weight` periods are: a time, or a count of the event. */
static void amount(const struct pmu_sample_spec *spec, uint64_t weight, char out[32])
{
    double n = (double)weight * (double)spec->period;
    char text[24];
    if (spec->period == 0)
        (void)snprintf(out, 32, "%llu", (unsigned long long)weight);
    else if (spec->by_time)
        (void)snprintf(out, 32, "%s", report_time_text(text, n));
    else
        (void)snprintf(out, 32, "%.4g", n);
}

static void print_rows(FILE *out, const struct hot *h, const struct pmu_sample_spec *spec,
                       bool lines, size_t top)
{
    const struct hot_row *all = lines ? h->lines : h->functions;
    size_t count = lines ? h->line_count : h->function_count, shown = 0;
    const struct hot_row **rows = sorted(all, count);
    bool callers = h->has_callers && !lines;
    (void)fprintf(out, "\n%10s %7s%s  %-24s %s\n", "self", "self %", callers ? "  with %" : "",
                  "image", lines ? "line" : "function");
    for (size_t i = 0; rows != NULL && i < count && (top == 0 || shown < top); i++) {
        char text[32];
        if (rows[i]->self == 0 && (lines || rows[i]->within == 0))
            continue;
        amount(spec, rows[i]->self, text);
        (void)fprintf(out, "%10s %7.2f", text, share(h, rows[i]->self));
        if (callers)
            (void)fprintf(out, " %7.2f", share(h, rows[i]->within));
        (void)fprintf(out, "  %-24.24s ", addresses_image_name(&h->at, rows[i]->image));
        text_write_plain(out, rows[i]->name != NULL ? rows[i]->name
                              : lines               ? "(no line known: -g)"
                                                    : "(no symbol)");
        (void)fputc('\n', out);
        shown++;
    }
    free(rows);
}

static struct pmu_sample_spec spec_of(const struct hot *h)
{
    struct pmu_sample_spec spec = {0};
    struct rt_error e = {{0}};
    if (pmu_sample_read(h->asked, &spec, &e) != 0)
        spec.period = 0; /* written by a newer regtrace: show periods */
    return spec;
}

static const char *where_of(const struct pmu_sample_spec *spec)
{
    return !spec->in_gaps     ? "inside windows"
           : spec->in_windows ? "inside windows and between them"
                              : "between windows";
}

const char *hot_why_none(const struct hot *h)
{
    return h->asked[0] == '\0' ? "the run was not sampled (regtrace run -sample cpu:10ms)"
           : spec_of(h).in_gaps
               ? "none fell into the time to be sampled (a shorter period has more)"
               : "none fell into windows (a shorter period has more)";
}

void hot_print_text(FILE *out, const struct hot *h, size_t top)
{
    struct pmu_sample_spec spec = spec_of(h);
    char total[32], within[32];
    if (h->sample_count == 0) {
        (void)fprintf(out, "No samples: %s.\n", hot_why_none(h));
        return;
    }
    amount(&spec, h->weight, total);
    amount(&spec, h->weight_in_windows, within);
    const char *word = strrchr(h->asked, ':');
    size_t asked = word != NULL && word[1] > '9' ? (size_t)(word - h->asked) : strlen(h->asked);
    (void)fprintf(out, "Samples %.*s %s: %llu, of %llu periods, %s%s%s", (int)asked, h->asked,
                  where_of(&spec), (unsigned long long)h->sample_count,
                  (unsigned long long)h->weight, total, spec.by_time ? "" : " ",
                  spec.by_time ? " of CPU time" : spec.unit);
    (void)fprintf(out, spec.in_windows && spec.in_gaps ? ", %s of it inside windows\n" : "\n",
                  within);
    addresses_print_lacks(out, &h->at);
    print_rows(out, h, &spec, false, top);
    print_rows(out, h, &spec, true, top);
    bool sure = h->sample_count > 0;
    for (uint64_t i = 0; i < h->sample_count; i++)
        sure &= h->samples[i].is_sure;
    if (h->has_callers && sure)
        (void)fputs("\nwith %: samples in the function and in what it calls\n", out);
    else if (h->has_callers)
        (void)fputs(
            "\nwith %: samples in the function and in what it calls, by frame pointers; what is "
            "compiled without them (-fno-omit-frame-pointer) ends a chain or hides a caller "
            "(-callpath 16 needs none).\n",
            out);
}

static void json_rows(struct json *j, const struct hot *h, const char *key, bool lines)
{
    size_t count = lines ? h->line_count : h->function_count;
    const struct hot_row **rows = sorted(lines ? h->lines : h->functions, count);
    json_array_begin(j, key);
    for (size_t i = 0; rows != NULL && i < count; i++) {
        if (rows[i]->self == 0 && (lines || rows[i]->within == 0))
            continue;
        json_object_begin(j, NULL);
        json_compact(j);
        json_text(j, lines ? "line" : "function", rows[i]->name);
        json_text(j, "image",
                  rows[i]->image == NO_IMAGE ? NULL : h->at.images[rows[i]->image].path);
        json_uint(j, "self", rows[i]->self);
        if (!lines)
            json_uint_if(j, "with_callees", h->has_callers, rows[i]->within);
        json_object_end(j);
    }
    json_array_end(j);
    free(rows);
}

void hot_json_members(struct json *j, const struct hot *h)
{
    struct pmu_sample_spec spec = spec_of(h);
    json_text(j, "sample", h->asked);
    json_uint_if(j, "period", spec.period != 0, spec.period);
    json_text(j, "unit", spec.unit);
    json_uint(j, "samples", h->sample_count);
    json_uint(j, "periods", h->weight);
    json_uint(j, "periods_in_windows", h->weight_in_windows);
    json_array_begin(j, "changed_images");
    for (size_t i = 0; i < h->at.image_count; i++)
        if (h->at.images[i].problem == ADDRESS_CHANGED)
            json_text(j, NULL, h->at.images[i].path);
    json_array_end(j);
    json_array_begin(j, "unreadable_images");
    for (size_t i = 0; i < h->at.image_count; i++)
        if (h->at.images[i].problem < 0)
            json_text(j, NULL, h->at.images[i].path);
    json_array_end(j);
    json_rows(j, h, "functions", false);
    json_rows(j, h, "lines", true);
}

void hot_print_json(FILE *out, const struct hot *h)
{
    struct json j = {.out = out, .indented = true};
    json_object_begin(&j, NULL);
    hot_json_members(&j, h);
    json_object_end(&j);
    (void)fputc('\n', out);
}

void hot_free(struct hot *h)
{
    addresses_free(&h->at);
    for (size_t i = 0; i < h->function_count; i++)
        free(h->functions[i].name);
    for (size_t i = 0; i < h->line_count; i++)
        free(h->lines[i].name);
    free(h->places);
    free(h->frames);
    free(h->samples);
    free(h->functions);
    free(h->lines);
    *h = (struct hot){0};
}
