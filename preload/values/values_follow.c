/* SPDX-License-Identifier: BSD-3-Clause
 * Follows the program from where a sample interrupted it: executes copies of its instructions on
 * its registers, and emulates jumps and the stack.
 *
 * Built with general registers alone, and calls nothing of libc: the program's vector registers
 * stay in the processor from one copy to the next. */
#include "preload/values/values_follow.h"

#if defined(__x86_64__)

#include <linux/rseq.h>

#include "preload/libc/interpose.h"
#include "preload/values/values.h"
#include "preload/values/values_code.h"

#define RSP 4
#define RBP 5
#define RFLAGS 16
#define FLAG_CARRY 0x1u
#define FLAG_PARITY 0x4u
#define FLAG_ZERO 0x40u
#define FLAG_SIGN 0x80u
#define FLAG_DIRECTION 0x400u
#define FLAG_OVERFLOW 0x800u
#define UNKNOWN_BYTES 4096u /* assumed for a write of unknown size */

struct values_table values_table;
static ptrdiff_t rseq_section; /* from the thread pointer; 0: no rseq */
static bool has_shadow_stack;

void values_follow_prepare(ptrdiff_t rseq)
{
    uint64_t shadow = 0;
    rseq_section = rseq != 0 ? rseq + (ptrdiff_t)offsetof(struct rseq, rseq_cs) : 0;
    __asm__ volatile("rdsspq %0" : "+r"(shadow)); /* does nothing without a shadow stack */
    has_shadow_stack = shadow != 0;
    values_capture_prepare();
}

/* --- execution -------------------------------------------------------------------------------- */

static bool is_met(struct values_thread *v, unsigned condition)
{
    uint64_t f = v->regs.r[RFLAGS], *rcx = &v->regs.r[1];
    bool met = false, zero = (f & FLAG_ZERO) != 0, carry = (f & FLAG_CARRY) != 0;
    bool less = ((f & FLAG_SIGN) != 0) != ((f & FLAG_OVERFLOW) != 0);
    switch (condition) {
    case 16: return *rcx == 0;
    case 17: return (uint32_t)*rcx == 0;
    case 18: return --*rcx != 0;
    case 19: return --*rcx != 0 && zero;
    case 20: return --*rcx != 0 && !zero;
    default: break;
    }
    switch (condition >> 1) {
    case 0: met = (f & FLAG_OVERFLOW) != 0; break;
    case 1: met = carry; break;
    case 2: met = zero; break;
    case 3: met = carry || zero; break;
    case 4: met = (f & FLAG_SIGN) != 0; break;
    case 5: met = (f & FLAG_PARITY) != 0; break;
    case 6: met = less; break;
    default: met = less || zero; break;
    }
    return met != ((condition & 1) != 0);
}

static bool target_of(struct values_thread *v, const struct values_answer *a, uint64_t *target)
{
    uint64_t at;
    *target = a->target;
    if (a->by_register)
        *target = v->regs.r[a->where.base];
    else if (a->target == 0)
        return values_address(v, &a->where, 0, &at) && values_read(v, at, target, sizeof *target);
    return true;
}

static bool may_copy(struct values_thread *v, const struct values_code *c)
{
    const struct values_answer *a = &c->answer;
    uint64_t at;
    if (c->thunk == NULL || (a->uses_vectors && v->components == 0))
        return false;
    if (!a->writes_memory || !a->has_memory)
        return true;
    if (a->where.element != 0)
        return v->regs.r[RSP] >= v->begin_stack;
    return values_address(v, &a->where, 0, &at) &&
           !values_hits_frame(v, at, a->where.bytes != 0 ? a->where.bytes : UNKNOWN_BYTES);
}

static bool run(struct values_thread *v, const struct values_code *c)
{
    uint64_t *as = &v->regs.r[c->answer.stack_as], kept = *as;
    if (c->answer.uses_vectors) {
        values_load_vectors(v);
        v->is_dirty = true;
        if (c->is_x87) {
            v->earlier_x87 = v->last_x87;
            v->last_x87 = c;
        }
    }
    if (c->answer.stack_as != 0)
        *as = v->regs.r[RSP];
    v->executing = true;
    int failed = values_run(&v->regs, c->thunk);
    v->executing = false;
    if (c->answer.stack_as != 0) {
        if (c->moves_stack && failed == 0)
            v->regs.r[RSP] = *as;
        *as = kept;
    }
    return failed == 0;
}

/* Executes a repeated string instruction. It writes from rdi upwards. */
static enum values_end repeat(struct values_thread *v, const struct values_code *c)
{
    uint64_t count = v->regs.r[1], *r = v->regs.r;
    if (c->thunk == NULL || count > VALUES_REPEAT_MOST || (r[RFLAGS] & FLAG_DIRECTION) != 0 ||
        (c->answer.writes_memory && values_hits_frame(v, r[7], count * 8)))
        return END_STOP;
    if (!run(v, c))
        return END_STOP;
    v->regs.rip += c->answer.length;
    return END_DONE;
}

static enum values_end push(struct values_thread *v, uint64_t word)
{
    uint64_t to = v->regs.r[RSP] - 8;
    if (values_hits_frame(v, to, 8))
        return END_STEP;
    if (!values_write_word(v, to, word))
        return END_STOP;
    v->regs.r[RSP] = to;
    return END_DONE;
}

/* If the processor has a shadow stack, call and ret use it too: they cannot be emulated. */
static enum values_end call_or_return(struct values_thread *v, const struct values_code *c)
{
    const struct values_answer *a = &c->answer;
    uint64_t target;
    if (has_shadow_stack)
        return END_STEP;
    if (c->kind == KIND_RETURN) {
        if (!values_read(v, v->regs.r[RSP], &target, sizeof target))
            return END_STOP;
        v->regs.r[RSP] += 8 + a->target;
    } else {
        if (!target_of(v, a, &target))
            return END_STOP;
        enum values_end end = push(v, v->regs.rip + a->length);
        if (end != END_DONE)
            return end;
    }
    v->regs.rip = target;
    return END_DONE;
}

static enum values_end use_stack(struct values_thread *v, const struct values_code *c)
{
    uint64_t *r = v->regs.r, word = 0, from = c->kind == KIND_LEAVE ? r[RBP] : r[RSP];
    enum values_end end = END_DONE;
    if (c->kind == KIND_PUSH)
        end = push(v, r[c->operand]);
    else if (c->kind == KIND_FROM_STACK)
        r[c->operand] = r[RSP];
    else if (!values_read(v, from, &word, sizeof word))
        end = END_STOP;
    else {
        r[RSP] = from + 8;
        r[c->kind == KIND_LEAVE ? RBP : c->operand] = word;
    }
    if (end == END_DONE)
        v->regs.rip += c->answer.length;
    return end;
}

static enum values_end execute(struct values_thread *v, const struct values_code *c)
{
    const struct values_answer *a = &c->answer;
    uint64_t target;
    switch ((enum values_kind)c->kind) {
    case KIND_COPY:
        if (!may_copy(v, c))
            return END_STEP;
        if (!run(v, c))
            return END_STOP;
        v->regs.rip += a->length;
        return END_DONE;
    case KIND_JUMP:
        if (!target_of(v, a, &target))
            return END_STOP;
        v->regs.rip = target;
        return END_DONE;
    case KIND_CONDITION:
        v->regs.rip = is_met(v, a->condition) ? a->target : v->regs.rip + a->length;
        return END_DONE;
    case KIND_CALL:
    case KIND_RETURN: return call_or_return(v, c);
    case KIND_PUSH:
    case KIND_POP:
    case KIND_LEAVE:
    case KIND_FROM_STACK: return use_stack(v, c);
    case KIND_REPEAT: return repeat(v, c);
    case KIND_STEP: return END_STEP;
    case KIND_STOP: break;
    }
    return END_STOP;
}

const struct values_code *values_find(uint64_t address)
{
    uint32_t slot = values_slot(address), n;
    while ((n = atomic_load_explicit(&values_table.slots[slot], memory_order_acquire)) != 0) {
        if (values_table.codes[n - 1].answer.address == address)
            return &values_table.codes[n - 1];
        slot = (slot + 1) % VALUES_SLOTS;
    }
    return NULL;
}

/* Returns true if the code is still what it was when it was asked for. If its page ends within 16
 * bytes, the memory after the instruction may be unmapped. */
static bool is_same(struct values_thread *v, const struct values_code *c)
{
    uint64_t now[2] = {0, 0};
    v->executing = true;
    int got =
        (c->answer.address & 4095) <= 4096 - 16
            ? values_peek16(c->answer.address, now)
            : values_move(now, (const void *)c->answer.address, c->answer.length); /* NOLINT */
    v->executing = false;
    return got != 0 &&
           (((now[0] ^ c->bytes[0]) & c->mask[0]) | ((now[1] ^ c->bytes[1]) & c->mask[1])) == 0;
}

/* rseq(2) recognizes a critical section by the thread's address: a copy of it would be none. */
static bool in_critical_section(void)
{
    const char *thread = __builtin_thread_pointer();
    return rseq_section != 0 &&
           *(const volatile uint64_t *)(const void *)(thread + rseq_section) != 0;
}

static enum values_end follow_one(struct values_thread *v)
{
    enum values_end why = END_UNLEARNED;
    const struct values_code *c = values_find(v->regs.rip);
    if (RT_UNLIKELY(c == NULL || !is_same(v, c))) {
        values_park(v);
        c = values_learn(v, v->regs.rip, &why);
        if (c == NULL)
            return why;
    }
    v->code = c;
    if (c->answer.is_selected)
        values_capture_before(v, &c->answer);
    enum values_end end = execute(v, c);
    if (end == END_DONE)
        values_capture_after(v, c);
    return end;
}

enum values_end values_follow(struct values_thread *v)
{
    enum values_end end = END_DONE;
    v->following = true;
    while (v->left > 0 && end == END_DONE) {
        end = v->held || in_critical_section() ? END_BUSY : follow_one(v);
        v->left -= end == END_DONE;
    }
    values_park(v);
    v->following = false;
    return end;
}

void values_stepped(struct values_thread *v)
{
    values_capture_after(v, v->code);
    v->left--;
}

#endif
