/* SPDX-License-Identifier: BSD-3-Clause
 * Prints profiles of values for programs, as JSON. */
#include "tools/values/value_profiles.h"

#include "tools/json.h"

#include <stdlib.h>

/* Writes a context; for a caller, its place in its image. */
static void write_context(struct json *j, struct values_profile *p, const struct values_value *v,
                          unsigned n)
{
    static const char *const names[2][3] = {{"context0", "function0", "image0"},
                                            {"context1", "function1", "image1"}};
    uint32_t item = v->caller[n] - 1;
    if (v->caller[n] == 0) {
        json_hex(j, names[n][0], v->context[n]);
        return;
    }
    json_hex(j, names[n][0], p->at.items[item].offset);
    json_text(j, names[n][1], addresses_name(&p->at, item));
    json_text(j, names[n][2], p->at.images[p->at.items[item].image].path);
}

static void write_list(struct json *j, struct values_profile *p, const struct values_list *l,
                       const struct values_options *o, struct values_format *f)
{
    json_uint(j, "values", l->total);
    json_bool(j, "estimated", l->estimated);
    json_real(j, "threshold", l->threshold);
    json_array_begin(j, "hot");
    size_t shown = values_shown(l, o);
    values_format_ahead(f, l, shown);
    for (size_t i = 0; i < shown; i++) {
        const struct values_value *v = &l->values[i];
        json_object_begin(j, NULL);
        json_compact(j);
        json_hex(j, "value", v->value);
        json_text(j, "text", values_format_value(f, v->value));
        if (o->contexts) {
            write_context(j, p, v, 0);
            write_context(j, p, v, 1);
        }
        json_real(j, "times", v->times);
        json_real(j, "percent", values_share(l, v));
        json_object_end(j);
    }
    json_array_end(j);
}

static void write_place(struct json *j, const struct values_profile *p, uint32_t function)
{
    const struct values_function *f = &p->functions[function];
    json_text(j, "function", f->name);
    json_text(j, "image", f->image == NO_IMAGE ? NULL : p->at.images[f->image].path);
}

static void write_instructions(struct json *j, struct values_profile *p,
                               const struct values_options *o, struct values_format *f)
{
    size_t count;
    uint32_t *sorted = values_sorted(o, p, &count);
    json_array_begin(j, "instructions");
    for (size_t i = 0; sorted != NULL && i < count; i++) {
        const struct profile_item *q = &p->items[sorted[i]];
        const struct address *at = &p->at.items[sorted[i]];
        json_object_begin(j, NULL);
        write_place(j, p, q->function);
        json_text(j, "build_id", at->image == NO_IMAGE ? NULL : p->at.images[at->image].build_id);
        json_hex(j, "offset", at->offset);
        json_text(j, "code", q->code);
        json_text(j, "instruction", values_format_instruction(f, q->code, at->offset));
        json_text(j, "line", q->line);
        json_uint(j, "samples", q->samples);
        json_uint(j, "periods", q->periods);
        const char *preface = values_format_preface(f, q->code);
        json_text(j, "preface", preface);
        if (preface != NULL)
            write_list(j, p, &q->list, o, f);
        json_object_end(j);
    }
    json_array_end(j);
    free(sorted);
}

static void write_functions(struct json *j, const struct values_profile *p,
                            const struct values_options *o)
{
    json_array_begin(j, "functions");
    for (size_t i = 0; i < p->function_count; i++) {
        if (p->functions[i].samples == 0 || !values_is_wanted(o, p, (uint32_t)i))
            continue;
        json_object_begin(j, NULL);
        json_compact(j);
        write_place(j, p, (uint32_t)i);
        json_uint(j, "samples", p->functions[i].samples);
        json_uint(j, "periods", p->functions[i].periods);
        json_object_end(j);
    }
    json_array_end(j);
}

static void write_arguments(struct json *j, struct values_profile *p,
                            const struct values_options *o)
{
    struct values_format plain = {0};
    json_array_begin(j, "arguments");
    for (size_t i = 0; i < p->argument_count; i++) {
        if (!values_is_wanted(o, p, p->arguments[i].function))
            continue;
        json_object_begin(j, NULL);
        write_place(j, p, p->arguments[i].function);
        json_uint(j, "argument", p->arguments[i].number);
        write_list(j, p, &p->arguments[i].list, o, &plain);
        json_object_end(j);
    }
    json_array_end(j);
}

void values_print_json(FILE *out, struct values_profile *p, const struct values_options *o,
                       struct values_format *f)
{
    static const char *const names[5] = {"unknown", "unlearned", "not_run", "busy", "skipped"};
    struct json j = {.out = out, .indented = true};
    json_object_begin(&j, NULL);
    json_text(&j, "plugin", p->plugin);
    json_uint(&j, "processes", p->ranks);
    json_uint(&j, "open_files", p->open_files);
    json_bool(&j, "of_whole_processes", p->of_more);
    json_uint(&j, "samples", p->samples);
    json_uint(&j, "captured", p->captured);
    json_object_begin(&j, "without_values");
    json_compact(&j);
    for (int i = 0; i < 5; i++)
        json_uint(&j, names[i], p->without[i]);
    json_object_end(&j);
    json_uint(&j, "damaged", p->damaged);
    json_uint(&j, "unprocessed", p->unprocessed);
    json_uint(&j, "strange", p->strange);
    json_uint(&j, "lost_chunks", p->lost_chunks);
    json_text(&j, "failed", p->failed);
    json_real(&j, "cycles_per_instruction", values_cycles_per_instruction(p));
    write_functions(&j, p, o);
    if (o->arguments)
        write_arguments(&j, p, o);
    else if (o->by == VALUES_BY_INSTRUCTION)
        write_instructions(&j, p, o, f);
    json_text(&j, "hexadecimal_because", f->why.text[0] != '\0' ? f->why.text : NULL);
    json_object_end(&j);
    (void)fputc('\n', out);
}
