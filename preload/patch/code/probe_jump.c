/* SPDX-License-Identifier: BSD-3-Clause
 * Sites that are reached by a jump: makes the code that counts executions and calls us, and
 * receives the call.
 *
 * A block of code stands before the copy of the displaced instructions. If each thread counts the
 * site's alarms by itself, the block counts down (controller.h, "The hot path"): a decrement and
 * two branches. It saves two registers and the flags, and leaves the red zone alone. Other frequent
 * work is done by a call of probe_fast.h before the count. Everything else, and each count that
 * comes to zero, goes through probe_stub, which saves what a call may change. The stack grows for
 * the call only. Return addresses are those of calls, so the processor's return stack stays right.
 *
 * Encodings: Intel's manual, volume 2. The red zone: psABI x86-64, 3.2.2. */
#include "preload/patch/probes.h"

#include "preload/patch/calls/probe_fast.h"
#include "preload/patch/code/probe_code.h"
#include "preload/patch/code/probe_unwind.h"

#if defined(__x86_64__)

#include "base/sys.h"
#include "preload/count/counting.h"
#include "preload/libc/interpose.h"
#include "preload/memory/memory.h"
#include "preload/memory/memory_copies.h"
#include "preload/process.h"
#include "preload/stack/own_stack.h"
#include "preload/window/triggers.h"

#include <cpuid.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define SITES_MAX (PROBE_NUMBER_MASK + 1)

struct probe_numbered *probe_numbered;
static uint32_t number_count;

/* The registers that probe_stub pushes, then the return address into the block, and the site's
 * number. */
struct registers {
    uint64_t rbp, rbx, r11, r10, r9, r8, rdi, rsi, rdx, rcx, rax, flags, back, number;
};

void probe_jumped(struct registers *r, const struct own_stack_move *m)
    __attribute__((visibility("hidden"), used));
void probe_stub(void) __attribute__((visibility("hidden"))); /* probe_stubs.c */

bool probe_jump_prepare(void)
{
    unsigned a, b, c, d;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_OSXSAVE) == 0)
        return false;
    void *p = mmap(NULL, SITES_MAX * sizeof *probe_numbered, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    probe_numbered = p != MAP_FAILED ? p : NULL;
    return probe_numbered != NULL;
}

/* --- the code of a site ----------------------------------------------------------------------- */

struct jump_code {
    uint8_t *at;
    bool is_final; /* `at` is where the code will run, so unwinders learn of it */
};

static void put(struct jump_code *c, const void *bytes, size_t n)
{
    memcpy(c->at, bytes, n);
    c->at += n;
}
#define PUT(c, ...) put(c, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void put_32(struct jump_code *c, int64_t value)
{
    int32_t v = (int32_t)value;
    put(c, &v, sizeof v);
}

/* From here on, this many bytes of ours are on the stack. */
static void pushed(const struct jump_code *c, unsigned bytes)
{
    if (c->is_final)
        probe_unwind_pushed((uintptr_t)c->at, bytes);
}

enum { RED_ZONE = 128, NUMBER = 8, SAVED = 24 };
enum { JB = 0x82, JE = 0x84, JNE = 0x85, JLE = 0x8e };

/* Adds a conditional branch; condition: the second byte of its opcode. */
static void put_branch(struct jump_code *c, uint8_t condition, const uint8_t *target)
{
    put(c, (const uint8_t[]){0x0f, condition}, 2);
    put_32(c, target - (c->at + 4));
}

static int64_t thread_offset(const void *variable)
{
    return (const char *)variable - (const char *)__builtin_thread_pointer();
}

static void put_jump(struct jump_code *c, const uint8_t *target)
{
    PUT(c, 0xe9);
    put_32(c, target - (c->at + 4));
}

/* Pushes the number below the red zone. */
static void put_number(struct jump_code *c, uint32_t number)
{
    pushed(c, 0);
    PUT(c, 0x48, 0x8d, 0x64, 0x24, 0x80); /* lea -0x80(%rsp),%rsp */
    pushed(c, RED_ZONE);
    PUT(c, 0x68); /* push $number */
    put_32(c, (int32_t)number);
    pushed(c, RED_ZONE + NUMBER);
}

/* Calls the stub, with the number on the stack. pointer: where the stub's address is. */
static void put_stub(struct jump_code *c, const uint8_t *pointer)
{
    PUT(c, 0xff, 0x15); /* call *pointer(%rip) */
    put_32(c, pointer - (c->at + 4));
    PUT(c, 0x48, 0x8d, 0xa4, 0x24, 0x88, 0, 0, 0); /* lea 0x88(%rsp),%rsp */
    pushed(c, 0);
}

/* Saves below the red zone %rax and the flags that compiled code may look at, by lahf and seto. One
 * more word must follow for put_restore(). */
static void put_save(struct jump_code *c)
{
    pushed(c, 0);
    PUT(c, 0x48, 0x8d, 0x64, 0x24, 0x80); /* lea -0x80(%rsp),%rsp */
    pushed(c, RED_ZONE);
    PUT(c, 0x50); /* push %rax */
    pushed(c, RED_ZONE + SAVED - 16);
    PUT(c, 0x9f, 0x0f, 0x90, 0xc0, 0x50); /* lahf; seto %al; push %rax */
    pushed(c, RED_ZONE + SAVED - 8);
}

/* Restores what was saved. The last word is %rcx if the block counts, otherwise the number. */
static void put_restore(struct jump_code *c, bool counting)
{
    PUT(c, counting ? 0x59 : 0x58); /* pop %rcx, or %rax */
    pushed(c, RED_ZONE + SAVED - 8);
    PUT(c, 0x58); /* pop %rax */
    pushed(c, RED_ZONE + SAVED - 16);
    PUT(c, 0x04, 0x7f, 0x9e, 0x58); /* add $0x7f,%al; sahf; pop %rax */
    pushed(c, RED_ZONE);
    PUT(c, 0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0); /* lea 0x80(%rsp),%rsp */
    pushed(c, 0);
}

/* Leaves the common path: restores everything and pushes the number. The call follows, or a jump to
 * it. */
static void put_aside(struct jump_code *c, uint32_t number, bool counting)
{
    pushed(c, RED_ZONE + SAVED);
    put_restore(c, counting);
    put_number(c, number);
}

/* Branches to `slow` if the stack pointer shows that functions with exit_func alarms may have
 * ended: probe_exits_lowest is not 0, and is at or below it. bytes: ours on the stack. */
static void put_exits(struct jump_code *c, unsigned bytes, const uint8_t *slow)
{
    PUT(c, 0x64, 0x48, 0x8b, 0x04, 0x25); /* mov %fs:lowest,%rax */
    put_32(c, thread_offset(&probe_exits_lowest));
    PUT(c, 0x48, 0xff, 0xc8);       /* dec %rax */
    PUT(c, 0x48, 0x8d, 0x8c, 0x24); /* lea bytes(%rsp),%rcx */
    put_32(c, bytes);
    PUT(c, 0x48, 0x39, 0xc8); /* cmp %rcx,%rax */
    put_branch(c, JB, slow);
}

/* The work that a site's block does by itself: it calls a fast path, then it counts. If it does
 * neither, it calls the stub. */
enum { COUNTED_MAX = 2 };
struct way {
    const struct probe_site *counted[COUNTED_MAX]; /* alarms of different chains */
    unsigned counts;
    const struct probe_site *exit; /* whose exit the fast path will count */
    uintptr_t fast;                /* as in struct probe_block */
    uint32_t number;
    /* the block; its code for a call of the stub; its code for a count that has come to zero */
    const uint8_t *block, *slow, *due[COUNTED_MAX];
};

/* Calls the fast path, with the number on the stack. If the block counts too, replaces the number
 * by %rcx, which put_restore() expects there. */
static void put_fast(struct jump_code *c, const struct way *w)
{
    put_save(c);
    PUT(c, 0x68); /* push $number */
    put_32(c, (int32_t)w->number);
    pushed(c, RED_ZONE + SAVED);
    PUT(c, 0xff, 0x15); /* call *pointer(%rip) */
    put_32(c, w->block + offsetof(struct probe_block, fast) - (c->at + 4));
    if (w->counts != 0)
        PUT(c, 0x48, 0x89, 0x0c, 0x24); /* mov %rcx,(%rsp) */
    PUT(c, 0x84, 0xc0);                 /* test %al,%al */
    put_branch(c, JNE, w->slow);
}

/* Counts one execution. call: the site is a call. */
static void put_count(struct jump_code *c, const struct way *w, bool call)
{
    uint64_t epoch = (uint64_t)(uintptr_t)ctl_shared_epoch(process.shared);
    if (w->fast == 0) {
        put_save(c);
        PUT(c, 0x51); /* push %rcx */
        pushed(c, RED_ZONE + SAVED);
        if (ctl_config_uses(process.config, CTL_EXIT_FUNC))
            put_exits(c, RED_ZONE + SAVED + (call ? 8 : 0), w->slow);
    }
    PUT(c, 0x64, 0x48, 0x8b, 0x04, 0x25); /* mov %fs:automaton,%rax */
    put_32(c, thread_offset(&recorder_self.automaton));
    PUT(c, 0x48, 0x85, 0xc0); /* test %rax,%rax */
    put_branch(c, JE, w->slow);
    PUT(c, 0x64, 0x83, 0x3c, 0x25); /* cmpl $0,%fs:in_toolkit */
    put_32(c, thread_offset(&recorder_self.in_toolkit));
    PUT(c, 0);
    put_branch(c, JNE, w->slow);
    PUT(c, 0x48, 0xb9); /* movabs $epoch,%rcx */
    put(c, &epoch, sizeof epoch);
    PUT(c, 0x48, 0x8b, 0x09, 0x48, 0x3b, 0x08); /* mov (%rcx),%rcx; cmp (%rax),%rcx */
    put_branch(c, JNE, w->slow);
    for (unsigned i = 0; i < w->counts; i++) {
        PUT(c, 0x48, 0xff, 0x88); /* decq left(%rax) */
        put_32(c, (int64_t)ctl_left_offset(w->counted[i]->alarm));
        put_branch(c, JLE, w->due[i]);
    }
}

static const struct ctl_alarm *alarm_of(const struct probe_site *s)
{
    return ctl_config_alarm(process.config, s->alarm);
}

/* Returns true if the block can count this alarm: each thread counts it by itself, and nothing else
 * need be checked. Two alarms of one chain do not qualify: a firing (in a handler, between two
 * counts) arms the next alarm of the chain, and one execution would count for both. */
static bool take_alarm(struct way *w, const struct probe_site *s)
{
    const struct ctl_alarm *a = alarm_of(s);
    if (a->global || a->type == CTL_MAGIC || a->type == CTL_CPUID)
        return false;
    if (a->type == CTL_EXIT_FUNC) {
        bool first = w->exit == NULL && (s->flags & ISA_SITE_CALL) == 0;
        w->exit = s;
        return first;
    }
    for (unsigned i = 0; i < w->counts; i++)
        if (alarm_of(w->counted[i])->chain == a->chain)
            return false;
    if (w->counts == COUNTED_MAX)
        return false;
    w->counted[w->counts++] = s;
    return true;
}

/* Returns the fast path for a site where functions begin, or to which they return; 0: there is
 * none. of: the kind that all rows have that are not alarms (PROBE_ENTERED ...); 0: all rows are
 * alarms. */
static uintptr_t fast_of(const struct way *w, const struct probe_site *first, unsigned of)
{
#if PROBE_HAS_FAST
    bool exits = ctl_config_uses(process.config, CTL_EXIT_FUNC), alone = first->alarm == of;
    /* The fast path does not walk up the stack. */
    bool fast = (first->flags & ISA_SITE_CALL) == 0 && !probe_functions_have_paths();
    if (alone && clock_is_counter() && of == PROBE_ENTERED && fast)
        return exits ? (uintptr_t)probe_fast_entered_beside : (uintptr_t)probe_fast_entered;
    if (alone && clock_is_counter() && of == PROBE_RETURNED)
        return exits ? (uintptr_t)probe_fast_returned_beside : (uintptr_t)probe_fast_returned;
    bool both = probe_functions_wanted();
    if ((of == 0 || of == PROBE_ENTERED) && w->exit != NULL)
        return both ? (uintptr_t)probe_fast_exit_entered_beside
                    : (uintptr_t)probe_fast_exit_entered;
    if (of == PROBE_ENTERED && w->counts != 0)
        return (uintptr_t)probe_fast_alarms_beside;
    if (of == PROBE_EXITED && w->exit == NULL)
        return both ? (uintptr_t)probe_fast_exit_returned_beside
                    : (uintptr_t)probe_fast_exit_returned;
#endif
    (void)w;
    (void)first;
    (void)of;
    return 0;
}

/* The rows are sorted: alarms come first. */
static void choose_way(struct way *w, const struct probe_site *first, unsigned rows)
{
    unsigned i = 0;
    bool taken = true;
    for (; i < rows && probe_is_alarm(&first[i]); i++)
        taken = take_alarm(w, &first[i]) && taken;
    bool same = i == rows || first[i].alarm == first[rows - 1].alarm ||
                (first[i].alarm == PROBE_EXITED && first[rows - 1].alarm == PROBE_RETURNED);
    unsigned of = i < rows ? first[i].alarm : 0;
    w->fast = taken && same ? fast_of(w, first, of) : 0;
    if (!taken || (w->fast == 0 && (w->exit != NULL || of != 0)))
        w->counts = 0;
    if (memory_copy_misses(first->at - first->after))
        w->fast = w->counts = 0; /* each thread that comes must report the miss */
}

static uint32_t number_of(const struct way *w, const struct probe_site *first)
{
    bool exit = w->fast != 0 && w->exit != NULL;
    uint32_t number = number_count++;
    probe_numbered[number].at = first->at;
    probe_numbered[number].left = exit ? ctl_left_offset(w->exit->alarm) : 0;
    probe_exits_epoch = ctl_shared_epoch(process.shared);
    return number | ((first->flags & ISA_SITE_CALL) != 0 ? PROBE_NUMBER_CALL : 0) |
           (first->after != 0 ? PROBE_NUMBER_ENDBR : 0);
}

/* Adds the common path of a site's code. */
static void put_way(struct jump_code *c, const struct way *w, bool call)
{
    if (w->fast != 0)
        put_fast(c, w);
    if (w->counts != 0)
        put_count(c, w, call);
    if (w->fast != 0 || w->counts != 0)
        put_restore(c, w->counts != 0);
    else {
        put_number(c, w->number);
        put_stub(c, w->block);
    }
}

/* Adds the code off the common path. It restores the registers and calls the stub: once for all
 * other work, and once for each alarm whose count comes to zero. Then it jumps to `on`, the copy of
 * the displaced instructions. */
static void put_asides(struct jump_code *c, struct way *w, const uint8_t *on)
{
    static const uint32_t claimed[COUNTED_MAX] = {PROBE_NUMBER_CLAIMED,
                                                  PROBE_NUMBER_CLAIMED | PROBE_NUMBER_SECOND};
    w->slow = c->at;
    put_aside(c, w->number, w->counts != 0);
    const uint8_t *call = c->at;
    put_stub(c, w->block);
    put_jump(c, on);
    for (unsigned i = 0; i < w->counts; i++) {
        w->due[i] = c->at;
        put_aside(c, w->number | claimed[i], true);
        put_jump(c, call);
    }
}

/* The code of a site where a thread can do nothing but go to an instrumented copy. */
static const uint8_t *put_dispatch_alone(const struct probe_site *s, const uint8_t *on,
                                         const uint8_t *copy)
{
    probe_unwind_begin((uintptr_t)on, s->at, (s->flags & ISA_SITE_CALL) != 0);
    probe_unwind_end((uintptr_t)copy);
    return on;
}

const uint8_t *probe_jump_code(uint8_t *block, const struct probe_site *first, unsigned rows)
{
    uint8_t code[PROBE_BLOCK_BYTES], *copy = block + PROBE_BLOCK_BYTES, *on = copy;
    bool call = (first->flags & ISA_SITE_CALL) != 0;
    if (first[rows - 1].alarm == PROBE_COPIED) {
        on -= memory_copy_dispatch_bytes(call);
        if (!memory_copy_dispatch(on, memory_copy_from(first->at - first->after), call))
            return NULL;
        if (--rows == 0)
            return put_dispatch_alone(first, on, copy);
    }
    if (number_count == SITES_MAX)
        return NULL;
    struct probe_block *head = (struct probe_block *)(void *)block;
    struct jump_code c = {code, false}, aside = {block + sizeof *head, true};
    struct way w = {.block = block};
    choose_way(&w, first, rows);
    w.number = number_of(&w, first);
    head->stub = probe_stub;
    head->fast = w.fast;
    probe_unwind_begin((uintptr_t)aside.at, first->at, call);
    if (w.counts != 0 || w.fast != 0)
        put_asides(&aside, &w, on);
    /* Generates the code twice, because its length decides where it begins. */
    put_way(&c, &w, call);
    c = (struct jump_code){on - (c.at - code), true};
    const uint8_t *entry = c.at;
    if (entry < aside.at)
        return NULL;
    put_way(&c, &w, call);
    probe_unwind_end((uintptr_t)copy);
    return entry;
}

/* --- a thread comes --------------------------------------------------------------------------- */

void probe_jumped(struct registers *r, const struct own_stack_move *m)
{
    int keep = errno;
    uint32_t number = (uint32_t)r->number;
    struct probe_coming c = {.all = probe_sites_now(),
                             .due = (number & PROBE_NUMBER_CLAIMED) == 0  ? PROBE_COUNTED_NOTHING
                                    : (number & PROBE_NUMBER_SECOND) == 0 ? 0
                                                                          : 1};
    uintptr_t at = probe_numbered[number & PROBE_NUMBER_MASK].at;
    c.first = probe_sites_find(c.all, at);
    if (c.first == NULL || probe_opens.inside || !process.traced || processes_vfork_depth != 0 ||
        recorder_self.in_toolkit != 0)
        return;
    struct sys_cancel cancel = sys_cancel_off();
    /* as in a handler: a signal is handled before or after us */
    uint64_t mask = sys_block_signals();
    probe_opens.inside = true;
    c.place = *c.first;
    c.rax = r->rax;
    c.rbx = r->rbx;
    c.rcx = r->rcx;
    c.rbp = r->rbp;
    c.stack = (uintptr_t)(r + 1) + 128 + ((c.place.flags & ISA_SITE_CALL) != 0 ? 8 : 0);
    unsigned own = counting_own_begin_if(true);
    c.may_trap = ((m->taken != NULL ? m->mask : mask) & sys_signal_bit(SIGTRAP)) == 0;
    struct memory_position before = probe_is_entry(&c) ? memory_position_at_entry(c.stack, at)
                                                       : memory_position_set(c.stack, at);
    probe_fire(&c); /* the stub has moved to a stack with room */
    memory_position_restore(before);
    counting_own_end(own);
    probe_opens.inside = false;
    sys_restore_signals(mask);
    sys_cancel_on(cancel);
    errno = keep;
}

#else

bool probe_jump_prepare(void)
{
    return false;
}

const uint8_t *probe_jump_code(uint8_t *block, const struct probe_site *first, unsigned rows)
{
    (void)block;
    (void)first;
    (void)rows;
    return NULL;
}

#endif
