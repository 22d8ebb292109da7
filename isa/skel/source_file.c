/* SPDX-License-Identifier: BSD-3-Clause
 * Skeletons as C: files, and functions around their blocks: what they declare, and how they are entered. */
#include "isa/skel/direct.h"
#include "isa/skel/source_text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static bool is_entry_stack(const struct value *x)
{
    return x->kind == V_ENTRY && x->variable == SKEL_RSP;
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
        (void)fputs(is_entry_stack(x) ? " = stack;\n" : " = 0;\n", w->out);
    }
    for (uint32_t k = 0; k < f->loop_count; k++) {
        if (!w->counter[k])
            continue;
        skel_counter(f, k, name, sizeof name);
        (void)fprintf(w->out, "    u64 %s = 0;\n", name);
    }
    (void)fputs("    (void)image;\n    (void)stack;\n", w->out);
}

/* Within a comment or a string: what could end it becomes a dot. */
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

/* Where direct calls come to; what is called so has one name in all files. */
static void put_inner_name(const struct skel_source *s, const struct function *f)
{
    if (direct_has(f))
        (void)fprintf(s->out, "d_0x%" PRIx64, f->start);
    else
        (void)fprintf(s->out, "i_%" PRIu32, s->number);
}

static void declare(struct writer *w, uint64_t start)
{
    (void)fprintf(w->out, "static int d_0x%" PRIx64 "(struct skeleton *s, u64 stack);\n", start);
}

static void declare_called(struct writer *w)
{
    struct function *f = w->f;
    for (uint32_t k = 0; k < f->order_count; k++) {
        const struct block *b = &f->blocks[f->order[k]];
        for (uint32_t i = b->first; i < b->first + b->count; i++)
            if (direct_calls(f, &f->instructions[i]))
                declare(w, f->instructions[i].target);
    }
    for (uint32_t k = 0; k < f->tail_count; k++)
        declare(w, f->tails[k].target);
}

/* By its token. */
static void put_entry(const struct skel_source *s, const struct function *f)
{
    bool recorded = false;
    for (uint32_t v = 0; v < f->value_count; v++)
        recorded = recorded || (is_entry_stack(&f->values[v]) && f->values[v].recorded);
    (void)fprintf(s->out,
                  "static int f_%" PRIu32 "(struct skeleton *s)\n{\n    return skeleton_left(s, ",
                  s->number);
    put_inner_name(s, f);
    (void)fputs(recorded ? "(s, IN(8)));\n}\n" : "(s, 0));\n}\n", s->out);
}

void skel_source_function(struct skel_source *s, struct function *f)
{
    struct writer w = {.out = s->out, .f = f};
    w.variable = arena_take(f->arena, f->value_count + 1);
    w.emitted = arena_take(f->arena, f->value_count + 1);
    w.counter = arena_take(f->arena, f->loop_count + 1);
    w.of_block = members_values(f);
    w.accesses = members_accesses(f);
    source_find_variables(&w);
    (void)fprintf(s->out, "\n/* %" PRIu32 ": ", s->number);
    put_plain(s->out, f->name);
    (void)fprintf(s->out, " */\n#if !defined(SKELETON_SOME) || defined(SKELETON_%" PRIu32 ")\n",
                  s->number);
    declare_called(&w);
    (void)fputs("static int ", s->out);
    put_inner_name(s, f);
    (void)fputs("(struct skeleton *s, u64 stack)\n{\n", s->out);
    put_declarations(&w);
    for (uint32_t k = 0; k < f->order_count; k++)
        source_put_block(&w, f->order[k]);
    (void)fputs("}\n", s->out);
    put_entry(s, f);
    (void)fprintf(s->out, "ENTRY(%" PRIu32 ", 0x%" PRIx64 ", \"", s->number, f->start);
    put_plain(s->out, f->name);
    (void)fprintf(s->out, "\", %" PRIu32 ")\n", s->image);
    source_put_shape(&w, s->number);
    (void)fputs("#endif\n", s->out);
}

int skel_source_end(struct skel_source *s)
{
    return fflush(s->out) != 0 || ferror(s->out) != 0 ? -EIO : 0;
}
