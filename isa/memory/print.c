/* SPDX-License-Identifier: BSD-3-Clause
 * Prints an analysed function as text: blocks and loops, accesses and conditions as expressions,
 * and what is recorded. */
#include "isa/memory/skel.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

const char *const skel_variables[SKEL_VARIABLES + 1] = {
    "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",   "r8",
    "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "flags", "value"};

struct print_text {
    char *at;
    size_t room; /* including the NUL */
};

__attribute__((format(printf, 2, 3))) static void put(struct print_text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->at, t->room, format, args);
    va_end(args);
    size_t written = n < 0 ? 0 : (size_t)n < t->room ? (size_t)n : t->room - 1;
    t->at += written;
    t->room -= written;
}

void skel_counter(const struct function *f, uint32_t loop, char *text, size_t room)
{
    const struct loop *l = &f->loops[loop];
    char letter = l->depth <= 18 ? "IJKLMNOPQRSTUVWXYZ"[l->depth - 1] : 'Z';
    unsigned same = 0;
    for (uint32_t n = 0; n < loop; n++)
        same += f->loops[n].depth == l->depth || (letter == 'Z' && f->loops[n].depth > 17);
    (void)(same != 0 ? snprintf(text, room, "%c%u", letter, same + 1)
                     : snprintf(text, room, "%c", letter));
}

static void put_counter(struct print_text *t, const struct function *f, uint32_t loop)
{
    char name[16];
    skel_counter(f, loop, name, sizeof name);
    put(t, "%s", name);
}

static void put_expression(struct print_text *t, const struct function *f, const struct linear *e,
                           unsigned depth);

static void put_value(struct print_text *t, const struct function *f, uint32_t v, unsigned depth);

static const char *operator_of(enum value_kind kind)
{
    switch (kind) {
    case V_ADD: return "+";
    case V_SUB: return "-";
    case V_MUL: return "*";
    case V_AND: return "&";
    case V_OR: return "|";
    case V_XOR: return "^";
    case V_SHL: return "<<";
    case V_SHR: return ">>";
    case V_SAR: return ">>>";
    default: return NULL;
    }
}

static void put_argument(struct print_text *t, const struct function *f, uint32_t v, unsigned depth)
{
    const struct value *x = &f->values[v];
    if (x->linear != 0 && !x->recorded)
        put_expression(t, f, &f->linears[x->linear - 1], depth);
    else
        put_value(t, f, v, depth);
}

static void put_operation(struct print_text *t, const struct function *f, const struct value *x,
                          unsigned depth)
{
    static const char *const names[V_KINDS] = {[V_NOT] = "~",
                                               [V_ROL] = "rol",
                                               [V_ZEXT] = "zx",
                                               [V_SEXT] = "sx",
                                               [V_INSERT] = "insert",
                                               [V_EXTRACT] = "extract",
                                               [V_SELECT] = "select",
                                               [V_TEST] = "test",
                                               [V_FLAGS_SUB] = "cmp",
                                               [V_FLAGS_ADD] = "add",
                                               [V_FLAGS_LOGIC] = "flags",
                                               [V_FLAGS_RESULT] = "flags",
                                               [V_FLAGS_STEP] = "flags",
                                               [V_TABLE] = "entry"};
    const char *sign = operator_of((enum value_kind)x->kind);
    put(t, "%s(", sign == NULL && names[x->kind] != NULL ? names[x->kind] : "");
    for (uint32_t k = 0; k < x->arg_count; k++) {
        if (k > 0)
            put(t, sign != NULL ? " %s " : ", ", sign);
        put_argument(t, f, x->args[k], depth + 1);
    }
    put(t, ")");
}

static void put_value(struct print_text *t, const struct function *f, uint32_t v, unsigned depth)
{
    const struct value *x = &f->values[v];
    if (x->kind == V_CONSTANT)
        put(t, x->image ? "image+0x%" PRIx64 : "0x%" PRIx64, x->constant);
    else if (x->kind == V_SEGMENT)
        put(t, x->constant != 0 ? "gs" : "fs");
    else if (x->kind >= V_ADD && !x->recorded && value_is_computed(f, v) && depth < 4)
        put_operation(t, f, x, depth);
    else if (x->name != 0)
        put(t, "%s.%u", skel_variables[x->variable], x->name);
    else
        put(t, "v%u", v);
}

static void put_atom(struct print_text *t, const struct function *f, const struct atom *a,
                     unsigned depth)
{
    switch ((enum atom_kind)a->kind) {
    case ATOM_VALUE: put_value(t, f, a->number, depth); break;
    case ATOM_COUNTER: put_counter(t, f, a->number); break;
    case ATOM_IMAGE: put(t, "image"); break;
    case ATOM_ZEXT:
    case ATOM_SEXT:
        put(t, "%s%u(", a->kind == ATOM_ZEXT ? "zx" : "sx", a->bits);
        put_expression(t, f, &f->linears[a->number], depth + 1);
        put(t, ")");
        break;
    case ATOM_PRODUCT:
        put_counter(t, f, a->other);
        put(t, "*(");
        put_expression(t, f, &f->linears[a->number], depth + 1);
        put(t, ")");
        break;
    }
}

static void put_number(struct print_text *t, uint64_t n, bool first)
{
    bool negative = n >> 63 != 0;
    uint64_t size = negative ? -n : n;
    put(t, "%s", first ? (negative ? "-" : "") : negative ? " - " : " + ");
    put(t, size < 1024 ? "%" PRIu64 : "0x%" PRIx64, size);
}

static void put_expression(struct print_text *t, const struct function *f, const struct linear *e,
                           unsigned depth)
{
    bool first = true;
    if (e->constant != 0 || e->count == 0) {
        put_number(t, e->constant, true);
        first = false;
    }
    for (uint32_t k = 0; k < e->count; k++) {
        uint64_t factor = e->terms[k].factor;
        bool negative = factor >> 63 != 0;
        uint64_t size = negative ? -factor : factor;
        put(t, "%s", first ? (negative ? "-" : "") : negative ? " - " : " + ");
        if (size != 1)
            put(t, size < 1000000 ? "%" PRIu64 "*" : "0x%" PRIx64 "*", size);
        put_atom(t, f, &f->atoms[e->terms[k].atom], depth);
        first = false;
    }
}

void skel_access(struct function *f, const struct access *a, char *text, size_t room)
{
    struct print_text t = {text, room};
    struct linear e = linear_get(f, a->address);
    put(&t, "%c %u ", a->kind, a->bytes);
    put_expression(&t, f, &e, 0);
    put(&t, "%s", a->ends_early ? ", rcx times at most" : a->repeated ? ", rcx times" : "");
}

/* --- conditions ------------------------------------------------------------------------------- */

/* Prints the low bits, as a signed number if the condition compares signed numbers. */
static void put_bits(struct print_text *t, struct function *f, uint32_t value, unsigned bits,
                     bool is_signed)
{
    struct linear e = linear_get(f, value);
    const struct atom *only = e.count == 1 && e.constant == 0 ? &f->atoms[e.terms[0].atom] : NULL;
    bool extended = only != NULL && e.terms[0].factor == 1 && only->bits == bits &&
                    (only->kind == ATOM_ZEXT || only->kind == ATOM_SEXT);
    if (extended)
        e = f->linears[only->number];
    if (bits < 64 && e.count != 0 &&
        (extended || !value_fits(f, value, is_signed ? bits - 1 : bits))) {
        put(t, "%s%u(", is_signed ? "sx" : "zx", bits);
        put_expression(t, f, &e, 1);
        put(t, ")");
    } else {
        put_expression(t, f, &e, 1);
    }
}

/* Prints a - b as one expression, if all bits are compared for equality. Returns false if it
 * cannot. */
static bool put_difference(struct print_text *t, struct function *f, const struct value *flags)
{
    struct linear a = linear_get(f, flags->args[0]), b = linear_get(f, flags->args[1]);
    if (flags->bits != 64 || !linear_add(&a, &b, ~UINT64_C(0)))
        return false;
    put_expression(t, f, &a, 1);
    return true;
}

void skel_condition(struct function *f, uint32_t value, char *text, size_t room)
{
    static const char *const words[16] = {
        "overflows", "does not overflow", "<u",     ">=u", "==", "!=", "<=u", ">u", "< 0",
        ">= 0",      "is even",           "is odd", "<",   ">=", "<=", ">"};
    struct print_text t = {text, room};
    const struct value *x = &f->values[value];
    if (x->kind != V_TEST || !value_is_computed(f, value)) {
        put(&t, "(unknown)");
        return;
    }
    const struct value flags = f->values[x->args[0]];
    unsigned condition = (unsigned)x->constant;
    bool is_signed = condition >= 12 || condition == 8 || condition == 9;
    bool compares = (condition >= 2 && condition <= 7) || condition >= 12;
    bool equal = condition == 4 || condition == 5;
    if (flags.kind == V_FLAGS_SUB && equal && put_difference(&t, f, &flags)) {
        put(&t, " %s 0", words[condition]);
        return;
    }
    put_bits(&t, f, flags.args[0], flags.bits, is_signed);
    if (flags.kind == V_FLAGS_ADD || (flags.kind == V_FLAGS_SUB && !compares)) {
        put(&t, flags.kind == V_FLAGS_ADD ? " + " : " - ");
        put_bits(&t, f, flags.args[1], flags.bits, is_signed);
    }
    put(&t, " %s", words[condition]);
    if (flags.kind == V_FLAGS_SUB && compares) {
        put(&t, " ");
        put_bits(&t, f, flags.args[1], flags.bits, is_signed);
    } else if (compares) {
        put(&t, " 0");
    }
}

/* --- functions -------------------------------------------------------------------------------- */

static void print_place(FILE *out, const struct function *f, const struct block *b)
{
    (void)fprintf(out, "0x%" PRIx64, b->start);
    if (b->copy != 0)
        (void)fprintf(out, ".%u", b->copy + 1u);
    (void)f;
}

static void print_ends(FILE *out, struct function *f, uint32_t block)
{
    static const char *const ends[] = {
        "", "", "", "", "return", "to another function", "does not return"};
    const struct block *b = &f->blocks[block];
    char text[512];
    for (uint32_t k = 0; k < f->decision_count; k++) {
        const struct decision *d = &f->decisions[k];
        if (d->block != block)
            continue;
        skel_condition(f, d->value, text, sizeof text);
        (void)fprintf(out, "%6s  ?  %s%s\n", "", b->end == END_TABLE ? "which of a table" : text,
                      d->recorded ? "   [record the outcome]" : "");
    }
    if (b->end >= END_RETURN) {
        (void)fprintf(out, "%6s  -> %s\n", "", ends[b->end]);
        return;
    }
    (void)fprintf(out, "%6s  ->", "");
    for (uint32_t k = 0; k < b->succ_count; k++) {
        const struct block *to = &f->blocks[b->succ[k]];
        (void)fputc(' ', out);
        print_place(out, f, to->preheader ? &f->blocks[to->succ[0]] : to);
    }
    (void)fputc('\n', out);
}

/* Values and accesses, by block. */
struct print_parts {
    struct members values, accesses;
};

static void print_recorded(FILE *out, const struct function *f, const struct print_parts *parts,
                           uint32_t block, uint32_t at)
{
    MEMBERS_EACH (&parts->values, block, n) {
        const struct value *x = &f->values[*n];
        if (!x->recorded)
            continue;
        bool begins = x->kind == V_PHI || x->kind == V_ENTRY;
        if (begins ? at != SKEL_VARIABLES + f->instruction_count : x->at != at)
            continue;
        bool known = f->direct && value_is_passed(f, *n);
        (void)fprintf(out, "%6s  *  record %s.%u%s\n", "", skel_variables[x->variable], x->name,
                      x->kind == V_LOAD ? " (loaded)"
                      : known           ? " (where it is not called directly)"
                                        : "");
    }
}

static void print_block(FILE *out, struct function *f, const struct print_parts *parts,
                        uint32_t block)
{
    const struct block *b = &f->blocks[block];
    char text[512];
    (void)fprintf(out, "  block ");
    print_place(out, f, b);
    if (b->loop != SKEL_NONE && f->loops[b->loop].head == block) {
        struct print_text t = {text, sizeof text};
        put_counter(&t, f, (uint32_t)b->loop);
        (void)fprintf(out, ": head of loop %s, depth %u", text, f->loops[b->loop].depth);
    }
    (void)fputc('\n', out);
    print_recorded(out, f, parts, block, SKEL_VARIABLES + f->instruction_count);
    for (uint32_t i = b->first; i < b->first + b->count; i++) {
        MEMBERS_EACH (&parts->accesses, block, n) {
            const struct access *a = &f->accesses[*n];
            if (a->at != i)
                continue;
            skel_access(f, a, text, sizeof text);
            (void)fprintf(out, "    0x%" PRIx64 "  %s%s%s\n", f->instructions[i].at, text,
                          a->lanes != NULL ? "   [record which elements]" : "",
                          a->recorded ? "   [record the address]" : "");
        }
        print_recorded(out, f, parts, block, i);
    }
    print_ends(out, f, block);
}

void skel_print_summary(FILE *out, const struct skel_counts *n)
{
    (void)fprintf(
        out,
        "%" PRIu64 " accesses, %" PRIu64
        " values or addresses recorded: static ratio %.3f; %" PRIu64 " of %" PRIu64
        " conditions by their outcome; %" PRIu64 " loops, %" PRIu64 " induction variables\n",
        n->accesses, n->recorded, n->accesses != 0 ? (double)n->recorded / (double)n->accesses : 0,
        n->outcomes, n->decisions, n->loops, n->inductions);
}

void skel_print(FILE *out, struct function *f)
{
    struct skel_counts n = {0};
    (void)fprintf(out, "%s at 0x%" PRIx64 ", %" PRIu64 " bytes\n", f->name, f->start,
                  f->end - f->start);
    if (f->reason != NULL) {
        (void)fprintf(out, "  cannot be analysed: %s (at 0x%" PRIx64 ")\n\n", f->reason,
                      f->reason_at);
        return;
    }
    const struct print_parts parts = {members_values(f), members_accesses(f)};
    for (uint32_t k = 0; k < f->order_count; k++)
        if (!f->blocks[f->order[k]].preheader)
            print_block(out, f, &parts, f->order[k]);
    skel_count(f, &n);
    (void)fprintf(out, "  ");
    skel_print_summary(out, &n);
    (void)fputc('\n', out);
}
