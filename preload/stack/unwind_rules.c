/* SPDX-License-Identifier: BSD-3-Clause
 * Computes the rules of call frame information, and DWARF expressions. Tables are the images' own,
 * and trusted as much as unwinders trust them. */
#include "preload/stack/unwind_rules.h"

#if defined(__x86_64__)

#include <string.h>

/* --- numbers ---------------------------------------------------------------------------------- */

uint64_t unwind_unsigned(const uint8_t **at)
{
    uint64_t n = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t b = *(*at)++;
        n |= shift < 64 ? (uint64_t)(b & 0x7f) << shift : 0;
        if ((b & 0x80) == 0)
            return n;
    }
}

int64_t unwind_signed(const uint8_t **at)
{
    uint64_t n = 0;
    for (unsigned shift = 0;;) {
        uint8_t b = *(*at)++;
        n |= shift < 64 ? (uint64_t)(b & 0x7f) << shift : 0;
        shift += 7;
        if ((b & 0x80) == 0)
            return (int64_t)((b & 0x40) != 0 && shift < 64 ? n | ~UINT64_C(0) << shift : n);
    }
}

static uint64_t fixed(const uint8_t **at, unsigned bytes, bool is_signed)
{
    uint64_t n = 0;
    memcpy(&n, *at, bytes);
    *at += bytes;
    if (is_signed && bytes < 8 && (n >> (8 * bytes - 1) & 1) != 0)
        n |= ~UINT64_C(0) << 8 * bytes;
    return n;
}

bool unwind_pointer(const uint8_t **at, uint8_t encoding, uintptr_t data, uint64_t *out)
{
    enum { ABSOLUTE = 0, LEB = 1, U2 = 2, U4 = 3, U8 = 4, SLEB = 9, S2 = 10, S4 = 11, S8 = 12 };
    enum { RELATIVE = 0x10, OF_DATA = 0x30, BASES = 0x70, INDIRECT = 0x80 };
    uintptr_t here = (uintptr_t)*at;
    uint64_t n;
    switch (encoding & 0x0f) {
    case LEB: n = unwind_unsigned(at); break;
    case SLEB: n = (uint64_t)unwind_signed(at); break;
    case U2: n = fixed(at, 2, false); break;
    case U4: n = fixed(at, 4, false); break;
    case S2: n = fixed(at, 2, true); break;
    case S4: n = fixed(at, 4, true); break;
    case ABSOLUTE:
    case U8:
    case S8: n = fixed(at, 8, false); break;
    default: return false;
    }
    unsigned base = encoding & BASES;
    if (base != 0 && base != RELATIVE && base != OF_DATA)
        return false;
    *out = n + (base == RELATIVE ? here : base == OF_DATA ? data : 0);
    return (encoding & INDIRECT) == 0;
}

/* --- instructions ----------------------------------------------------------------------------- */

enum { REMEMBERED = 4 };

struct run {
    const struct unwind_entry *e;
    struct unwind_rules *rules;
    struct unwind_rules initial, kept[REMEMBERED];
    unsigned kept_count;
    uintptr_t location, limit;
};

static bool set(struct run *r, uint64_t reg, struct unwind_rule rule)
{
    if (reg < UNWIND_REGISTERS) /* nobody asks for other registers */
        r->rules->r[reg] = rule;
    return true;
}

static struct unwind_rule factored(const struct run *r, enum unwind_rule_kind kind, int64_t n)
{
    return (struct unwind_rule){.kind = (uint8_t)kind, .n = n * r->e->data_alignment};
}

static struct unwind_rule expressed(const uint8_t **p, enum unwind_rule_kind kind)
{
    struct unwind_rule rule = {.kind = (uint8_t)kind, .expression = *p};
    uint64_t n = unwind_unsigned(p);
    *p += n;
    return rule;
}

static void define(struct run *r, uint64_t reg, int64_t n)
{
    r->rules->cfa = (struct unwind_rule){.kind = UNWIND_OFFSET, .reg = (uint8_t)reg, .n = n};
}

/* DW_CFA_def_cfa and related instructions, from 0x0c on. */
static bool run_frame(struct run *r, uint8_t code, const uint8_t **p)
{
    uint64_t reg;
    switch (code) {
    case 0x0c:
        reg = unwind_unsigned(p);
        define(r, reg, (int64_t)unwind_unsigned(p));
        return true;
    case 0x12:
        reg = unwind_unsigned(p);
        define(r, reg, unwind_signed(p) * r->e->data_alignment);
        return true;
    case 0x0d:
        r->rules->cfa.reg = (uint8_t)unwind_unsigned(p);
        return r->rules->cfa.kind == UNWIND_OFFSET;
    case 0x0e:
        r->rules->cfa.n = (int64_t)unwind_unsigned(p);
        return r->rules->cfa.kind == UNWIND_OFFSET;
    case 0x13:
        r->rules->cfa.n = unwind_signed(p) * r->e->data_alignment;
        return r->rules->cfa.kind == UNWIND_OFFSET;
    case 0x0f: r->rules->cfa = expressed(p, UNWIND_EXPRESSION); return true;
    default: return false;
    }
}

static bool run_register(struct run *r, uint8_t code, const uint8_t **p)
{
    uint64_t reg = unwind_unsigned(p);
    switch (code) {
    case 0x05: return set(r, reg, factored(r, UNWIND_OFFSET, (int64_t)unwind_unsigned(p)));
    case 0x06:
        return set(r, reg, reg < UNWIND_REGISTERS ? r->initial.r[reg] : (struct unwind_rule){0});
    case 0x07: return set(r, reg, (struct unwind_rule){.kind = UNWIND_UNDEFINED});
    case 0x08: return set(r, reg, (struct unwind_rule){.kind = UNWIND_SAME});
    case 0x09:
        return set(r, reg,
                   (struct unwind_rule){.kind = UNWIND_REGISTER, .n = (int64_t)unwind_unsigned(p)});
    case 0x10: return set(r, reg, expressed(p, UNWIND_EXPRESSION));
    case 0x11: return set(r, reg, factored(r, UNWIND_OFFSET, unwind_signed(p)));
    case 0x14: return set(r, reg, factored(r, UNWIND_VAL_OFFSET, (int64_t)unwind_unsigned(p)));
    case 0x15: return set(r, reg, factored(r, UNWIND_VAL_OFFSET, unwind_signed(p)));
    case 0x16: return set(r, reg, expressed(p, UNWIND_VAL_EXPRESSION));
    case 0x2f: return set(r, reg, factored(r, UNWIND_OFFSET, -(int64_t)unwind_unsigned(p)));
    default: return false;
    }
}

static bool remember(struct run *r)
{
    if (r->kept_count == REMEMBERED)
        return false;
    r->kept[r->kept_count++] = *r->rules;
    return true;
}

static bool remind(struct run *r)
{
    if (r->kept_count == 0)
        return false;
    *r->rules = r->kept[--r->kept_count];
    return true;
}

static bool run_one(struct run *r, uint8_t code, const uint8_t **p)
{
    uint64_t n;
    switch (code) {
    case 0x00: return true;
    case 0x01:
        if (!unwind_pointer(p, r->e->encoding, 0, &n))
            return false;
        r->location = n;
        return true;
    case 0x02: r->location += fixed(p, 1, false) * r->e->code_alignment; return true;
    case 0x03: r->location += fixed(p, 2, false) * r->e->code_alignment; return true;
    case 0x04: r->location += fixed(p, 4, false) * r->e->code_alignment; return true;
    case 0x0a: return remember(r);
    case 0x0b: return remind(r);
    case 0x2e: (void)unwind_unsigned(p); return true; /* DW_CFA_GNU_args_size */
    case 0x0c:
    case 0x0d:
    case 0x0e:
    case 0x0f:
    case 0x12:
    case 0x13: return run_frame(r, code, p);
    default: return run_register(r, code, p);
    }
}

static bool run(struct run *r, const uint8_t *p, const uint8_t *end)
{
    bool good = true;
    while (p < end && good && r->location <= r->limit) {
        uint8_t code = *p++, low = code & 0x3f;
        switch (code >> 6) {
        case 1: r->location += low * r->e->code_alignment; break;
        case 2: good = set(r, low, factored(r, UNWIND_OFFSET, (int64_t)unwind_unsigned(&p))); break;
        case 3:
            good =
                set(r, low, low < UNWIND_REGISTERS ? r->initial.r[low] : (struct unwind_rule){0});
            break;
        default: good = run_one(r, code, &p); break;
        }
    }
    return good;
}

bool unwind_run(const struct unwind_entry *e, uintptr_t at, struct unwind_rules *out)
{
    struct run r = {.e = e, .rules = out, .location = e->from, .limit = at};
    memset(out, 0, sizeof *out);
    if (!run(&r, e->common, e->common_end))
        return false;
    r.initial = *out;
    return run(&r, e->own, e->own_end);
}

/* --- expressions ------------------------------------------------------------------------------ */

enum { DEPTH = 16 };

struct stack {
    const struct unwind *w;
    uint64_t at[DEPTH];
    unsigned n;
};

static bool push(struct stack *s, uint64_t n)
{
    if (s->n == DEPTH)
        return false;
    s->at[s->n++] = n;
    return true;
}

static bool push_register(struct stack *s, uint64_t reg, int64_t offset)
{
    return reg < UNWIND_REGISTERS && (s->w->known >> reg & 1) != 0 &&
           push(s, s->w->r[reg] + (uint64_t)offset);
}

/* Applies an operation to the two topmost values; b is the top one. */
static bool two(struct stack *s, uint8_t code)
{
    if (s->n < 2)
        return false;
    uint64_t b = s->at[--s->n], *a = &s->at[s->n - 1];
    switch (code) {
    case 0x1a: *a &= b; return true;
    case 0x1c: *a -= b; return true;
    case 0x1e: *a *= b; return true;
    case 0x21: *a |= b; return true;
    case 0x22: *a += b; return true;
    case 0x24: *a = b < 64 ? *a << b : 0; return true;
    case 0x25: *a = b < 64 ? *a >> b : 0; return true;
    case 0x26: *a = b < 63 ? (uint64_t)((int64_t)*a >> b) : -(*a >> 63); return true;
    case 0x27: *a ^= b; return true;
    case 0x29: *a = *a == b; return true;
    case 0x2a: *a = (int64_t)*a >= (int64_t)b; return true;
    case 0x2b: *a = (int64_t)*a > (int64_t)b; return true;
    case 0x2c: *a = (int64_t)*a <= (int64_t)b; return true;
    case 0x2d: *a = (int64_t)*a < (int64_t)b; return true;
    case 0x2e: *a = *a != b; return true;
    default: return false;
    }
}

static bool constant(struct stack *s, uint8_t code, const uint8_t **p)
{
    static const uint8_t bytes[8] = {1, 1, 2, 2, 4, 4, 8, 8};
    if (code == 0x10)
        return push(s, unwind_unsigned(p));
    if (code == 0x11)
        return push(s, (uint64_t)unwind_signed(p));
    return push(s, fixed(p, bytes[code - 0x08], (code & 1) != 0));
}

static bool one(struct stack *s, uint8_t code, const uint8_t **p)
{
    uint64_t reg, swapped;
    if (code >= 0x30 && code <= 0x4f)
        return push(s, code - 0x30u);
    if (code >= 0x70 && code <= 0x8f)
        return push_register(s, code - 0x70u, unwind_signed(p));
    if (code >= 0x08 && code <= 0x11)
        return constant(s, code, p);
    switch (code) {
    case 0x06: /* DW_OP_deref */
        return s->n > 0 && unwind_read(s->w, s->at[s->n - 1], &s->at[s->n - 1]);
    case 0x12: return s->n > 0 && push(s, s->at[s->n - 1]);
    case 0x13: return s->n > 0 && s->n-- > 0;
    case 0x14: return s->n > 1 && push(s, s->at[s->n - 2]);
    case 0x16:
        if (s->n < 2)
            return false;
        swapped = s->at[s->n - 1];
        s->at[s->n - 1] = s->at[s->n - 2];
        s->at[s->n - 2] = swapped;
        return true;
    case 0x1f: return s->n > 0 && (s->at[s->n - 1] = -s->at[s->n - 1], true);
    case 0x20: return s->n > 0 && (s->at[s->n - 1] = ~s->at[s->n - 1], true);
    case 0x23: return s->n > 0 && (s->at[s->n - 1] += unwind_unsigned(p), true);
    case 0x92: reg = unwind_unsigned(p); return push_register(s, reg, unwind_signed(p));
    case 0x96: return true; /* DW_OP_nop */
    default: return two(s, code);
    }
}

bool unwind_expression(const struct unwind *w, const uint8_t *expression, uintptr_t cfa,
                       bool has_cfa, uint64_t *value)
{
    struct stack s = {.w = w};
    const uint8_t *p = expression;
    uint64_t n = unwind_unsigned(&p);
    const uint8_t *end = p + n;
    bool good = !has_cfa || push(&s, cfa);
    while (p < end && good) {
        uint8_t code = *p++;
        good = one(&s, code, &p);
    }
    if (!good || s.n == 0)
        return false;
    *value = s.at[s.n - 1];
    return true;
}

#endif
