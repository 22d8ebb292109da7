/* SPDX-License-Identifier: BSD-3-Clause
 * Writes expressions and conditions of a skeleton as C, and finds the variables that they need. */
#include "isa/memory/source/source_text.h"

#include <inttypes.h>

/* --- variables -------------------------------------------------------------------------------- */

static void use_value(struct writer *w, uint32_t v);

static void use_linear(struct writer *w, uint32_t number)
{
    const struct linear e = w->f->linears[number];
    for (uint32_t k = 0; k < e.count; k++) {
        const struct atom a = w->f->atoms[e.terms[k].atom];
        switch ((enum atom_kind)a.kind) {
        case ATOM_VALUE: use_value(w, a.number); break;
        case ATOM_COUNTER: w->counter[a.number] = true; break;
        case ATOM_PRODUCT:
            w->counter[a.other] = true;
            use_linear(w, a.number);
            break;
        case ATOM_ZEXT:
        case ATOM_SEXT: use_linear(w, a.number); break;
        case ATOM_IMAGE: break;
        }
    }
}

static void use_expression(struct writer *w, uint32_t v)
{
    use_linear(w, linear_of(w->f, v));
}

static void use_flags(struct writer *w, uint32_t flags)
{
    const struct value x = w->f->values[flags];
    if (x.kind < V_FLAGS_SUB || x.kind > V_FLAGS_STEP)
        return;
    use_expression(w, x.args[0]);
    if (x.kind == V_FLAGS_SUB || x.kind == V_FLAGS_ADD)
        use_expression(w, x.args[1]);
    if (x.kind == V_FLAGS_STEP)
        use_flags(w, x.args[1]);
}

static void use_value(struct writer *w, uint32_t v)
{
    const struct value x = w->f->values[v];
    if (w->variable[v])
        return;
    w->variable[v] = true;
    if (x.recorded || (x.kind < V_ADD && x.kind != V_PHI))
        return;
    if (x.kind == V_TEST)
        use_flags(w, x.args[0]);
    else
        for (uint32_t k = 0; k < x.arg_count; k++)
            use_expression(w, x.args[k]);
}

void source_find_variables(struct writer *w)
{
    struct function *f = w->f;
    for (uint32_t k = 0; k < f->access_count; k++) {
        if (!f->accesses[k].computed)
            continue;
        use_expression(w, f->accesses[k].address);
        if (f->accesses[k].repeated)
            use_expression(w, f->accesses[k].count);
    }
    for (uint32_t k = 0; k < f->decision_count; k++) {
        const struct decision *d = &f->decisions[k];
        const struct value *x = &f->values[d->value];
        if (d->known && x->kind == V_TEST && !x->recorded)
            use_flags(w, x->args[0]);
        else if (d->known)
            use_expression(w, d->value);
    }
    for (uint32_t k = 0; k < f->tail_count && f->plan != PLAN_ADDRESSES; k++)
        use_expression(w, f->tails[k].stack);
    for (uint32_t k = 0; k < f->argument_count; k++)
        if (!f->arguments[k].recorded)
            use_expression(w, f->arguments[k].value);
}

/* --- expressions ------------------------------------------------------------------------------ */

static void put_number(struct writer *w, uint64_t n)
{
    (void)fprintf(w->out, n < 1024 ? "%" PRIu64 : "0x%" PRIx64 "ull", n);
}

void source_put_name(struct writer *w, uint32_t v)
{
    const struct value *x = &w->f->values[v];
    if (x->kind == V_SEGMENT)
        (void)fputs(x->constant != 0 ? "s->gs" : "s->fs", w->out);
    else if (x->name != 0 && x->variable < SKEL_VARIABLES)
        (void)fprintf(w->out, "%s_%u", skel_variables[x->variable], x->name);
    else
        (void)fprintf(w->out, "v%u", v);
}

static void put_linear(struct writer *w, const struct linear *e);

static void put_atom(struct writer *w, const struct atom *a)
{
    char name[16];
    if (a->kind == ATOM_COUNTER || a->kind == ATOM_PRODUCT) {
        skel_counter(w->f, a->kind == ATOM_COUNTER ? a->number : a->other, name, sizeof name);
        (void)fputs(name, w->out);
    }
    switch ((enum atom_kind)a->kind) {
    case ATOM_VALUE: source_put_name(w, a->number); return;
    case ATOM_COUNTER: return;
    case ATOM_IMAGE: (void)fputs("image", w->out); return;
    case ATOM_ZEXT: (void)fprintf(w->out, "zx(%u, ", a->bits); break;
    case ATOM_SEXT: (void)fprintf(w->out, "sx(%u, ", a->bits); break;
    case ATOM_PRODUCT: (void)fputs(" * (", w->out); break;
    }
    put_linear(w, &w->f->linears[a->number]);
    (void)fputc(')', w->out);
}

static void put_linear(struct writer *w, const struct linear *e)
{
    bool first = true;
    if (e->constant >> 63 == 0 && (e->constant != 0 || e->count == 0)) {
        put_number(w, e->constant);
        first = false;
    }
    for (uint32_t k = 0; k < e->count; k++) {
        uint64_t factor = e->terms[k].factor;
        bool negative = factor >> 63 != 0;
        uint64_t size = negative ? -factor : factor;
        (void)fputs(first ? (negative ? "0 - " : "") : negative ? " - " : " + ", w->out);
        if (size != 1)
            (void)fprintf(w->out, size < 1000000 ? "%" PRIu64 "ull * " : "0x%" PRIx64 "ull * ",
                          size);
        put_atom(w, &w->f->atoms[e->terms[k].atom]);
        first = false;
    }
    if (e->constant >> 63 != 0) {
        (void)fputs(first ? "0 - " : " - ", w->out);
        put_number(w, -e->constant);
        if (-e->constant < 1024)
            (void)fputs("ull", w->out);
    }
}

void source_put_expression(struct writer *w, uint32_t v)
{
    struct linear e = linear_get(w->f, v);
    put_linear(w, &e);
}

static void put_argument(struct writer *w, uint32_t v)
{
    (void)fputs("(u64)(", w->out);
    source_put_expression(w, v);
    (void)fputc(')', w->out);
}

static void put_test(struct writer *w, const struct value *flags, unsigned condition)
{
    static const char *const names[V_KINDS] = {[V_FLAGS_SUB] = "SUB",
                                               [V_FLAGS_ADD] = "ADD",
                                               [V_FLAGS_LOGIC] = "LOGIC",
                                               [V_FLAGS_RESULT] = "LOGIC"};
    static const struct {
        const char *call;
        bool turned;
    } simple[16] = {
        [2] = {"below", 0},  [3] = {"!below", 0}, [4] = {"same", 0},  [5] = {"!same", 0},
        [6] = {"!below", 1}, [7] = {"below", 1},  [12] = {"less", 0}, [13] = {"!less", 0},
        [14] = {"!less", 1}, [15] = {"less", 1}};
    bool two = flags->kind == V_FLAGS_SUB || flags->kind == V_FLAGS_ADD;
    bool is_simple = flags->kind == V_FLAGS_SUB && simple[condition].call != NULL;
    bool turned = is_simple && simple[condition].turned;
    if (is_simple)
        (void)fprintf(w->out, "%s(%u, ", simple[condition].call, flags->bits);
    else if (flags->kind == V_FLAGS_STEP)
        (void)fprintf(w->out, "%s(%u, %u, ", flags->constant == 1 ? "INC" : "DEC", condition,
                      flags->bits);
    else
        (void)fprintf(w->out, "%s(%u, %u, ", names[flags->kind], condition, flags->bits);
    put_argument(w, flags->args[turned]);
    if (two || flags->kind == V_FLAGS_STEP)
        (void)fputs(", ", w->out);
    if (two)
        put_argument(w, flags->args[!turned]);
    if (flags->kind == V_FLAGS_STEP) {
        const struct value *before = &w->f->values[flags->args[1]];
        if (before->kind >= V_FLAGS_SUB && before->kind <= V_FLAGS_STEP)
            put_test(w, before, 2);
        else
            (void)fputc('0', w->out); /* no condition asks for it */
    }
    (void)fputc(')', w->out);
}

void source_put_condition(struct writer *w, uint32_t v)
{
    const struct value *x = &w->f->values[v];
    if (x->kind == V_TEST && !x->recorded)
        put_test(w, &w->f->values[x->args[0]], (unsigned)x->constant);
    else
        source_put_expression(w, v);
}

static void put_call(struct writer *w, const struct value *x, const char *name, bool has_place)
{
    (void)fprintf(w->out, "%s(%u, ", name, x->bits);
    if (has_place)
        (void)fprintf(w->out, "%u, ", (unsigned)x->constant);
    for (uint32_t k = 0; k < x->arg_count; k++) {
        (void)fputs(k > 0 ? ", " : "", w->out);
        source_put_expression(w, x->args[k]);
    }
    (void)fputc(')', w->out);
}

/* Writes an entry of a table, by its distance from the table's start. */
static void put_entry(struct writer *w, const struct value *x)
{
    const struct constant_table *t = &w->f->tables[x->constant];
    unsigned n = (unsigned)x->constant;
    (void)fprintf(w->out, "%s(k_%u, sizeof k_%u, %u, (u64)(", t->image ? "word" : "entry", n, n,
                  (unsigned)t->bytes);
    source_put_expression(w, x->args[0]);
    (void)fprintf(w->out, ") - image - 0x%" PRIx64 "ull%s)", t->address, t->image ? ", image" : "");
}

/* Writes a call of `name` with bits and arguments, or `sign` between the arguments. */
void source_put_operation(struct writer *w, const struct value *x)
{
    static const struct {
        const char *sign, *name;
    } how[V_KINDS] = {[V_ADD] = {"+", 0},         [V_SUB] = {"-", 0},          [V_MUL] = {"*", 0},
                      [V_AND] = {"&", 0},         [V_OR] = {"|", 0},           [V_XOR] = {"^", 0},
                      [V_SHL] = {0, "shl"},       [V_SHR] = {0, "shr"},        [V_SAR] = {0, "sar"},
                      [V_ROL] = {0, "rol"},       [V_ZEXT] = {0, "zx"},        [V_SEXT] = {0, "sx"},
                      [V_INSERT] = {0, "insert"}, [V_EXTRACT] = {0, "extract"}};
    if (x->kind == V_TEST) {
        put_test(w, &w->f->values[x->args[0]], (unsigned)x->constant);
    } else if (x->kind == V_TABLE) {
        put_entry(w, x);
    } else if (how[x->kind].name != NULL) {
        put_call(w, x, how[x->kind].name, x->kind == V_INSERT || x->kind == V_EXTRACT);
    } else if (x->kind == V_SELECT || x->kind == V_NOT) {
        (void)fputs(x->kind == V_NOT ? "~" : "", w->out);
        put_argument(w, x->args[0]);
        for (uint32_t k = 1; k < x->arg_count; k++) {
            (void)fputs(k == 1 ? " ? " : " : ", w->out);
            put_argument(w, x->args[k]);
        }
    } else {
        put_argument(w, x->args[0]);
        (void)fprintf(w->out, " %s ", how[x->kind].sign);
        put_argument(w, x->args[1]);
    }
}
