/* SPDX-License-Identifier: BSD-3-Clause
 * Writes files of skeletons as C, and what surrounds the blocks of functions: declarations and
 * entries. */
#include "isa/memory/direct_calls.h"
#include "isa/memory/source/source_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool is_entry_stack(const struct value *x)
{
    return x->kind == V_ENTRY && x->variable == SKEL_RSP;
}

/* Parameters are the stack pointer, and the registers that callers know. */
static void put_parameters(FILE *out, uint16_t passed)
{
    (void)fputs("(struct skeleton *s, u64 stack", out);
    for (unsigned r = 0; r < SKEL_FLAGS; r++)
        if ((passed >> r & 1) != 0)
            (void)fprintf(out, ", u64 p_%u", r);
    (void)fputs(")", out);
}

static void put_first(struct writer *w, uint32_t v)
{
    const struct value *x = &w->f->values[v];
    if (is_entry_stack(x))
        (void)fputs(" = stack;\n", w->out);
    else if (value_is_passed(w->f, v))
        (void)fprintf(w->out, " = p_%u;\n", (unsigned)x->variable);
    else
        (void)fputs(" = 0;\n", w->out);
}

static void put_declarations(struct writer *w)
{
    struct function *f = w->f;
    char name[16];
    (void)fputs("    const u64 image = s->image;\n", w->out);
    for (uint32_t v = 0; v < f->value_count; v++) {
        const struct value *x = &f->values[v];
        if (!w->variable[v] || x->kind == V_SEGMENT)
            continue;
        (void)fputs("    u64 ", w->out);
        source_put_name(w, v);
        put_first(w, v);
    }
    for (uint32_t k = 0; k < f->loop_count; k++) {
        if (!w->counter[k])
            continue;
        skel_counter(f, k, name, sizeof name);
        (void)fprintf(w->out, "    u64 %s = 0;\n", name);
    }
    (void)fputs("    (void)image;\n    (void)stack;\n    BEGIN();\n", w->out);
}

static void put_tables(struct writer *w)
{
    for (uint32_t v = 0; v < w->f->value_count; v++) {
        const struct value *x = &w->f->values[v];
        if (x->kind != V_TABLE || !w->variable[v] || x->recorded)
            continue;
        const struct constant_table *t = &w->f->tables[x->constant];
        (void)fprintf(w->out, "    static const u%u k_%" PRIu64 "[] = {", 8u * t->bytes,
                      x->constant);
        for (uint32_t n = 0; n < t->count; n++)
            (void)fprintf(w->out, "%s0x%" PRIx64, n == 0 ? "" : ", ", t->entries[n]);
        (void)fputs("};\n", w->out);
    }
}

/* Writes text into a comment or a string: characters that could end it become dots. */
static void put_plain(FILE *out, const char *text)
{
    for (; *text != '\0'; text++)
        (void)fputc(*text < ' ' || strchr("\"\\*?", *text) != NULL ? '.' : *text, out);
}

void skel_source_prelude(FILE *out)
{
    for (const char *const *line = skel_prelude; *line != NULL; line++)
        (void)fprintf(out, "%s\n", *line);
}

void skel_source_begin(FILE *out, const struct image *m)
{
    (void)fputs("/* Skeleton of ", out);
    put_plain(out, m->path);
    (void)fputs(", build id ", out);
    for (unsigned i = 0; i < m->build_id_bytes; i++)
        (void)fprintf(out, "%02x", m->build_id[i]);
    (void)fputs(m->build_id_bytes == 0 ? "(none). */\n" : ". */\n", out);
    skel_source_prelude(out);
}

/* Writes the name of the function that direct calls call. It has the same name in all files. */
static void put_inner_name(const struct skel_source *s, const struct function *f)
{
    if (direct_has(f))
        (void)fprintf(s->out, "d_0x%" PRIx64, f->start);
    else
        (void)fprintf(s->out, "i_%" PRIu32, s->number);
}

/* Declares the function for calls, and for jumps, which pass registers in memory. */
static void declare(struct writer *w, uint64_t start)
{
    uint16_t passed = direct_passed(w->f->directs, start);
    (void)fprintf(w->out, "INNER int d_0x%" PRIx64, start);
    put_parameters(w->out, passed);
    (void)fputs(";\n", w->out);
    if (passed != 0)
        (void)fprintf(w->out, "INNER int t_0x%" PRIx64 "(struct skeleton *s, u64 stack);\n", start);
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Declares each called function once. */
static void declare_called(struct writer *w)
{
    struct function *f = w->f;
    uint64_t *to = arena_take(f->arena, (f->instruction_count + f->tail_count + 1) * sizeof *to);
    size_t count = 0;
    for (uint32_t i = 0; i < f->instruction_count; i++)
        if (direct_calls(f, &f->instructions[i]))
            to[count++] = f->instructions[i].target;
    for (uint32_t k = 0; k < f->tail_count; k++)
        to[count++] = f->tails[k].target;
    if (count != 0)
        qsort(to, count, sizeof *to, by_number);
    for (size_t k = 0; k < count; k++)
        if (k == 0 || to[k] != to[k - 1])
            declare(w, to[k]);
}

static uint32_t entry_value(const struct function *f, unsigned variable)
{
    uint32_t v = 0;
    while (v < f->value_count && !(f->values[v].kind == V_ENTRY && f->values[v].recorded &&
                                   f->values[v].variable == variable))
        v++;
    return v;
}

static void put_jumped(const struct skel_source *s, const struct function *f)
{
    (void)fprintf(s->out,
                  "INNER int t_0x%" PRIx64 "(struct skeleton *s, u64 stack)\n{\n    return ",
                  f->start);
    put_inner_name(s, f);
    (void)fputs("(s, stack", s->out);
    for (unsigned r = 0; r < SKEL_FLAGS; r++)
        if ((f->passed >> r & 1) != 0)
            (void)fprintf(s->out, ", s->passed[%u]", r);
    (void)fputs(");\n}\n", s->out);
}

/* Writes the function that runs at its TOKEN_ENTER. */
static void put_entry(const struct skel_source *s, const struct function *f)
{
    (void)fprintf(s->out, "static int f_%" PRIu32 "(struct skeleton *s)\n{\n    BEGIN();\n",
                  s->number);
    for (unsigned r = 0; r < SKEL_FLAGS; r++) {
        unsigned n = r == 0 ? SKEL_RSP : r <= SKEL_RSP ? r - 1 : r; /* the stack pointer first */
        uint32_t v = entry_value(f, n);
        if (n != SKEL_RSP && (f->passed >> n & 1) == 0)
            continue;
        (void)fprintf(s->out, "    const u64 p_%u = ", n);
        if (v < f->value_count)
            (void)fprintf(s->out, "IN(%u);\n", skel_value_bytes(f, v));
        else
            (void)fputs("0;\n", s->out);
    }
    (void)fputs("    GIVE();\n    return skeleton_left(s, ", s->out);
    put_inner_name(s, f);
    (void)fprintf(s->out, "(s, p_%u", (unsigned)SKEL_RSP);
    for (unsigned r = 0; r < SKEL_FLAGS; r++)
        if ((f->passed >> r & 1) != 0)
            (void)fprintf(s->out, ", p_%u", r);
    (void)fputs("));\n}\n", s->out);
}

void skel_source_function(struct skel_source *s, struct function *f)
{
    enum { MANY_EDGES = 1000 };
    struct writer w = {.out = s->out, .f = f};
    w.variable = arena_take(f->arena, f->value_count + 1);
    w.emitted = arena_take(f->arena, f->value_count + 1);
    w.counter = arena_take(f->arena, f->loop_count + 1);
    w.of_block = members_values(f);
    w.accesses = members_accesses(f);
    w.outs = arena_take(f->arena, f->instruction_count + 1);
    source_find_variables(&w);
    (void)fprintf(s->out, "\n/* %" PRIu32 ": ", s->number);
    put_plain(s->out, f->name);
    (void)fprintf(s->out, " */\n#if !defined(SKELETON_SOME) || defined(SKELETON_%" PRIu32 ")\n",
                  s->number);
    declare_called(&w);
    /* gcc -O2 takes minutes for some functions, -O1 seconds: loops with entries anywhere, whose
     * blocks all lead to each other. */
    (void)fprintf(s->out, "%s%s int ", graph_edges(f) > MANY_EDGES ? "SLOW " : "",
                  direct_has(f) ? "INNER" : "static");
    put_inner_name(s, f);
    put_parameters(s->out, f->passed);
    (void)fputs("\n{\n", s->out);
    put_declarations(&w);
    put_tables(&w);
    for (uint32_t k = 0; k < f->order_count; k++)
        source_put_block(&w, f->order[k]);
    (void)fputs("}\n", s->out);
    if (f->passed != 0)
        put_jumped(s, f);
    put_entry(s, f);
    (void)fprintf(s->out, "ENTRY(%" PRIu32 ", 0x%" PRIx64 ", \"", s->number, f->start);
    put_plain(s->out, f->name);
    (void)fprintf(s->out, "\", %" PRIu32 ")\n", s->image);
    source_put_shape(&w);
    (void)fputs("#endif\n", s->out);
}

int skel_source_end(struct skel_source *s)
{
    return fflush(s->out) != 0 || ferror(s->out) != 0 ? -EIO : 0;
}
