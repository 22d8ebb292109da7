/* SPDX-License-Identifier: BSD-3-Clause
 * Walks up a stack by the tables for unwinders. Formats: DWARF 5, 2.5 and 6.4; LSB 5.0 Core,
 * "Exception Frames"; psABI x86-64, 3.6 and 3.7. */
#include "preload/stack/unwind.h"

#if defined(__x86_64__)

#include "preload/stack/own_stack.h"
#include "preload/stack/untabled.h"
#include "preload/stack/unwind_rules.h"

#include "base/search.h"
#include "base/sys.h"

#include <string.h>
#include <ucontext.h>

/* --- reading ---------------------------------------------------------------------------------- */

bool unwind_read(const struct unwind *w, uintptr_t at, uintptr_t *out)
{
    if (at >= w->low && at < w->high && w->high - at >= sizeof *out) {
        memcpy(out, (const void *)at, sizeof *out); /* NOLINT: the thread's stack */
        return true;
    }
    return sys_read_self(at, out, sizeof *out) == (long)sizeof *out;
}

/* --- tables ----------------------------------------------------------------------------------- */

static int32_t read_32(const uint8_t *at)
{
    int32_t v;
    memcpy(&v, at, sizeof v);
    return v;
}

enum { HEADER_VERSION = 1, TABLE_4 = 0x3b, OMITTED = 0xff };

/* Returns the entry for this address, by the header's sorted pairs, or NULL. */
static const uint8_t *find_entry(const uint8_t *header, uintptr_t at)
{
    const uint8_t *p = header + 4;
    uint64_t n;
    if (header[0] != HEADER_VERSION || header[3] != TABLE_4 || header[1] == OMITTED ||
        !unwind_pointer(&p, header[1], (uintptr_t)header, &n) ||
        !unwind_pointer(&p, header[2], (uintptr_t)header, &n))
        return NULL;
    size_t i;
    SEARCH_FIRST(i, (size_t)n, (uintptr_t)header + (uintptr_t)(intptr_t)read_32(p + 8 * i) <= at);
    return i != 0 ? header + read_32(p + 8 * (i - 1) + 4) : NULL;
}

/* Reads what entries have in common (CIE). */
static bool read_common(const uint8_t *entry, struct unwind_entry *e)
{
    uint32_t length = (uint32_t)read_32(entry);
    const uint8_t *p = entry + 8, *letters;
    uint8_t version = *p++;
    if (length == UINT32_MAX || (version != 1 && version != 3))
        return false;
    e->common_end = entry + 4 + length;
    letters = p;
    p += strlen((const char *)p) + 1;
    e->code_alignment = unwind_unsigned(&p);
    e->data_alignment = unwind_signed(&p);
    e->return_register = version == 1 ? *p++ : unwind_unsigned(&p);
    e->encoding = 0;
    e->signal = false;
    e->augmented = *letters == 'z';
    const uint8_t *data_end = p;
    if (e->augmented) {
        uint64_t n = unwind_unsigned(&p), unused;
        data_end = p + n;
        for (letters++; *letters != '\0'; letters++) {
            uint8_t encoding = 0;
            if (*letters == 'R')
                e->encoding = *p++;
            else if (*letters == 'L')
                p++;
            else if (*letters == 'S')
                e->signal = true;
            else if (*letters != 'P')
                return false;
            else if ((encoding = *p++) != OMITTED &&
                     !unwind_pointer(&p, encoding & 0x0f, 0, &unused))
                return false;
        }
    } else if (*letters != '\0') {
        return false;
    }
    e->common = data_end;
    return e->return_register < UNWIND_REGISTERS;
}

/* Reads the entry that has the rules for this address. Returns false if it does not contain the
 * address, or cannot be read. */
static bool read_entry(const uint8_t *entry, uintptr_t at, struct unwind_entry *e)
{
    uint32_t length = (uint32_t)read_32(entry);
    const uint8_t *p = entry + 8;
    uint64_t from, bytes;
    if (length == UINT32_MAX || length == 0 ||
        !read_common(entry + 4 - (uint32_t)read_32(entry + 4), e) ||
        !unwind_pointer(&p, e->encoding, 0, &from) ||
        !unwind_pointer(&p, e->encoding & 0x0f, 0, &bytes))
        return false;
    if (at - from >= bytes)
        return false;
    if (e->augmented) {
        uint64_t n = unwind_unsigned(&p);
        p += n;
    }
    e->own = p;
    e->own_end = entry + 4 + length;
    e->from = from;
    return true;
}

/* --- a step ----------------------------------------------------------------------------------- */

static bool rule_value(const struct unwind *w, const struct unwind_rule *rule, uintptr_t cfa,
                       uint64_t reg, uintptr_t *value, uintptr_t **place)
{
    uint64_t at = cfa + (uint64_t)rule->n;
    switch ((enum unwind_rule_kind)rule->kind) {
    case UNWIND_SAME: *value = w->r[reg]; return (w->known >> reg & 1) != 0;
    case UNWIND_OFFSET:
        if (place != NULL)
            *place = (uintptr_t *)at; /* NOLINT: an address on the stack */
        return unwind_read(w, at, value);
    case UNWIND_VAL_OFFSET: *value = at; return true;
    case UNWIND_REGISTER:
        if (rule->n < 0 || rule->n >= UNWIND_REGISTERS)
            return false;
        *value = w->r[rule->n];
        return (w->known >> rule->n & 1) != 0;
    case UNWIND_EXPRESSION:
        if (!unwind_expression(w, rule->expression, cfa, true, &at))
            return false;
        if (place != NULL)
            *place = (uintptr_t *)at; /* NOLINT */
        return unwind_read(w, at, value);
    case UNWIND_VAL_EXPRESSION: return unwind_expression(w, rule->expression, cfa, true, value);
    case UNWIND_UNDEFINED: return false;
    }
    return false;
}

static bool frame_address(const struct unwind *w, const struct unwind_rule *rule, uintptr_t *out)
{
    if (rule->kind == UNWIND_EXPRESSION)
        return unwind_expression(w, rule->expression, 0, false, out);
    if (rule->kind != UNWIND_OFFSET || rule->reg >= UNWIND_REGISTERS ||
        (w->known >> rule->reg & 1) == 0)
        return false;
    *out = w->r[rule->reg] + (uint64_t)rule->n;
    return true;
}

static bool apply(struct unwind *w, const struct unwind_entry *e, const struct unwind_rules *rules)
{
    struct unwind up = {.low = w->low, .high = w->high, .interrupted = e->signal};
    uintptr_t cfa;
    /* A caller's frame lies above its callee's, except if the code has moved to one of our
     * stacks. */
    if (!frame_address(w, &rules->cfa, &cfa) ||
        (cfa < w->r[UNWIND_RSP] && !own_stack_contains(w->r[UNWIND_RSP])))
        return false;
    for (unsigned k = 0; k < UNWIND_REGISTERS; k++)
        if (k != UNWIND_RETURN && rule_value(w, &rules->r[k], cfa, k, &up.r[k], NULL))
            up.known |= 1u << k;
    if (rules->r[UNWIND_RSP].kind == UNWIND_SAME)
        up.r[UNWIND_RSP] = cfa;
    up.known |= 1u << UNWIND_RSP | 1u << UNWIND_RETURN;
    if (rules->r[e->return_register].kind == UNWIND_SAME ||
        !rule_value(w, &rules->r[e->return_register], cfa, e->return_register, &up.r[UNWIND_RETURN],
                    &up.back) ||
        up.r[UNWIND_RETURN] == 0)
        return false;
    if (up.r[UNWIND_RSP] == w->r[UNWIND_RSP] && up.r[UNWIND_RETURN] == w->r[UNWIND_RETURN])
        return false;
    if (e->signal) /* no word on the stack leads back to interrupted code */
        up.back = NULL;
    *w = up;
    return true;
}

bool unwind_rules_at(uintptr_t at, struct unwind_entry *e, struct unwind_rules *rules)
{
    const uint8_t *header = unwind_table(at);
    const uint8_t *entry = header != NULL ? find_entry(header, at) : NULL;
    return entry != NULL && read_entry(entry, at, e) && unwind_run(e, at, rules);
}

bool unwind_up(struct unwind *w)
{
    struct unwind_entry e;
    struct unwind_rules rules;
    uintptr_t at = w->r[UNWIND_RETURN] - (w->interrupted ? 0 : 1);
    return unwind_rules_at(at, &e, &rules) && apply(w, &e, &rules);
}

bool unwind_is_outermost(const struct unwind *w)
{
    struct unwind_entry e;
    struct unwind_rules rules;
    uintptr_t at = w->r[UNWIND_RETURN] - (w->interrupted ? 0 : 1), cfa, back;
    if (!unwind_rules_at(at, &e, &rules))
        return false;
    const struct unwind_rule *rule = &rules.r[e.return_register];
    return rule->kind == UNWIND_UNDEFINED ||
           (frame_address(w, &rules.cfa, &cfa) &&
            rule_value(w, rule, cfa, e.return_register, &back, NULL) && back == 0);
}

bool unwind_up_untabled(struct unwind *w)
{
    struct untabled_frame f;
    uintptr_t at = w->r[UNWIND_RETURN] - (w->interrupted ? 0 : 1), frame = w->r[UNWIND_RBP];
    bool has_frame = (w->known >> UNWIND_RBP & 1) != 0;
    if (!untabled_frame(at, w->interrupted, &f) || (!f.by_stack && !has_frame))
        return false;
    uintptr_t cfa = (f.by_stack ? w->r[UNWIND_RSP] : frame) + (uintptr_t)f.cfa;
    if (cfa <= w->r[UNWIND_RSP] ||
        (f.frame != 0 && !unwind_read(w, cfa + (uintptr_t)(intptr_t)f.frame, &frame)) ||
        !unwind_read(w, cfa - sizeof cfa, &w->r[UNWIND_RETURN]) || w->r[UNWIND_RETURN] == 0)
        return false;
    w->r[UNWIND_RBP] = frame;
    w->r[UNWIND_RSP] = cfa;
    w->back = (uintptr_t *)cfa - 1; /* NOLINT: the thread's stack */
    w->known = 1u << UNWIND_RSP | 1u << UNWIND_RETURN;
    w->known |= has_frame || f.frame != 0 ? 1u << UNWIND_RBP : 0;
    w->interrupted = false;
    return true;
}

/* --- the first frame -------------------------------------------------------------------------- */

void unwind_begin_context(struct unwind *w, const void *context)
{
    static const uint8_t from[UNWIND_REGISTERS] = {
        REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
        REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
    const ucontext_t *uc = context;
    *w = (struct unwind){.interrupted = true, .known = (1u << UNWIND_REGISTERS) - 1};
    for (unsigned k = 0; k < UNWIND_REGISTERS; k++)
        w->r[k] = (uintptr_t)uc->uc_mcontext.gregs[from[k]];
}

__attribute__((noinline)) void unwind_begin_here(struct unwind *w)
{
    uintptr_t r[8];
    __asm__ volatile("mov %%rbx, 0(%0)\n"
                     "	mov %%rbp, 8(%0)\n"
                     "	mov %%r12, 16(%0)\n"
                     "	mov %%r13, 24(%0)\n"
                     "	mov %%r14, 32(%0)\n"
                     "	mov %%r15, 40(%0)\n"
                     "	mov %%rsp, 48(%0)\n"
                     "	lea 1f(%%rip), %%rax\n"
                     "1:	mov %%rax, 56(%0)\n"
                     :
                     : "r"(r)
                     : "rax", "memory");
    *w = (struct unwind){.interrupted = true};
    static const uint8_t to[8] = {UNWIND_RBX,     UNWIND_RBP,     UNWIND_R12, UNWIND_R12 + 1,
                                  UNWIND_R12 + 2, UNWIND_R12 + 3, UNWIND_RSP, UNWIND_RETURN};
    for (unsigned k = 0; k < 8; k++) {
        w->r[to[k]] = r[k];
        w->known |= 1u << to[k];
    }
    (void)unwind_up(w);
}

void unwind_begin_return(struct unwind *w, uintptr_t *place, const uintptr_t kept[6])
{
    static const uint8_t to[6] = {UNWIND_RBX,     UNWIND_RBP,     UNWIND_R12,
                                  UNWIND_R12 + 1, UNWIND_R12 + 2, UNWIND_R12 + 3};
    *w = (struct unwind){.back = place, .known = 1u << UNWIND_RSP | 1u << UNWIND_RETURN};
    w->r[UNWIND_RETURN] = *place;
    w->r[UNWIND_RSP] = (uintptr_t)(place + 1);
    for (unsigned k = 0; k < 6; k++) {
        w->r[to[k]] = kept[k];
        w->known |= 1u << to[k];
    }
}

#endif
