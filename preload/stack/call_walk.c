/* SPDX-License-Identifier: BSD-3-Clause
 * Nearly all functions find their caller's frame at a fixed distance from the stack pointer or the
 * frame pointer. Their rules fit 16 bytes. Frames with other rules (signal frames, odd code) are
 * left to unwind.c, which also tracks the other registers. */
#include "preload/stack/call_walk.h"

#include "base/return_address.h"
#include "preload/memory/memory_copies.h"
#include "preload/process.h"
#include "preload/stack/call_paths.h"

#if defined(__x86_64__)

#include "preload/stack/own_stack.h"
#include "preload/stack/untabled.h"
#include "preload/stack/unwind.h"
#include "preload/stack/unwind_rules.h"

#include "base/sys.h"

#include <string.h>
#include <ucontext.h>

#define RULES 8192u /* a power of two */
#define RULE_TRIES 8u
#define CLAIMED ((uintptr_t)1)
#define STALE ((uintptr_t)2)
#define PATH_MOST OPTION_CALLPATH_MAX

/* How a place finds its caller's frame, whose address (CFA) is that of the word above the return
 * address. */
enum walk_kind {
    WALK_UNKNOWN,
    WALK_BY_STACK,     /* CFA = stack pointer + cfa */
    WALK_BY_FRAME,     /* CFA = frame pointer + cfa */
    WALK_BY_FRAME_MEM, /* CFA = the word at frame pointer + cfa: functions that align their stack */
    WALK_OTHERWISE,    /* by unwind.c */
    WALK_END,          /* the outermost function */
    WALK_LOST          /* nothing says where its caller's frame is */
};
struct walk_rule {
    _Atomic uintptr_t at; /* an address within the instruction; 0: free, CLAIMED, STALE */
    int32_t cfa;
    int16_t frame; /* the caller's frame pointer is at CFA + frame, or unchanged: 0 */
    bool frame_at; /* true: it is at frame pointer + frame */
    uint8_t kind;
};
_Static_assert(sizeof(struct walk_rule) == 16, "four in a cache line");
static struct walk_rule rules[RULES];
static _Atomic bool has_rules; /* false: the table takes no memory yet */

struct walk {
    uintptr_t at, sp, fp;  /* at: an address within the instruction that called, or runs */
    uintptr_t low, high;   /* of the stack, if known */
    uintptr_t readable[2]; /* bounds of memory that has been read already */
    bool interrupted;      /* `at` runs */
};

/* --- reading ---------------------------------------------------------------------------------- */

/* Reads words of a stack whose bounds are not known: asks the kernel once a page. */
RT_COLD static bool read_far(struct walk *w, uintptr_t at, uintptr_t *out)
{
    if (at % sizeof *out != 0 || sys_read_self(at, out, sizeof *out) != (long)sizeof *out)
        return false;
    w->readable[0] = at & ~(uintptr_t)4095;
    w->readable[1] = w->readable[0] + 4096;
    return true;
}

static inline bool read_word(struct walk *w, uintptr_t at, uintptr_t *out)
{
    if (RT_LIKELY(at >= w->low && at < w->high && w->high - at >= sizeof *out) ||
        (at >= w->readable[0] && at < w->readable[1] && w->readable[1] - at >= sizeof *out)) {
        memcpy(out, (const void *)at, sizeof *out); /* NOLINT: the thread's stack */
        return true;
    }
    return read_far(w, at, out);
}

/* --- rules ------------------------------------------------------------------------------------ */

/* Is this the expression "frame pointer + *n", and with deref the word there? */
static bool is_by_frame(const uint8_t *expression, bool deref, int64_t *n)
{
    enum { BREG6 = 0x76, DEREF = 0x06 };
    const uint8_t *p = expression;
    uint64_t bytes = unwind_unsigned(&p);
    const uint8_t *end = p + bytes;
    if (*p++ != BREG6)
        return false;
    *n = unwind_signed(&p);
    return deref ? p + 1 == end && *p == DEREF : p == end;
}

/* Packs the rules of a place. */
static struct walk_rule pack(const struct unwind_rules *u, const struct unwind_entry *e)
{
    const struct unwind_rule *cfa = &u->cfa, *fp = &u->r[UNWIND_RBP], *ra = &u->r[UNWIND_RETURN];
    struct walk_rule r = {.kind = WALK_OTHERWISE};
    int64_t n = cfa->n, frame = 0;
    enum walk_kind kind = WALK_OTHERWISE;
    if (ra->kind == UNWIND_UNDEFINED)
        return (struct walk_rule){.kind = WALK_END};
    if (cfa->kind == UNWIND_OFFSET && cfa->reg == UNWIND_RSP)
        kind = WALK_BY_STACK;
    else if (cfa->kind == UNWIND_OFFSET && cfa->reg == UNWIND_RBP)
        kind = WALK_BY_FRAME;
    else if (cfa->kind == UNWIND_EXPRESSION && is_by_frame(cfa->expression, true, &n))
        kind = WALK_BY_FRAME_MEM;
    bool frame_at = fp->kind == UNWIND_EXPRESSION && is_by_frame(fp->expression, false, &frame);
    if (fp->kind == UNWIND_OFFSET)
        frame = fp->n;
    bool fits = n >= INT32_MIN && n <= INT32_MAX && frame >= INT16_MIN && frame <= INT16_MAX;
    if (!fits || e->signal || e->return_register != UNWIND_RETURN || ra->kind != UNWIND_OFFSET ||
        ra->n != -(int64_t)sizeof(uintptr_t) || u->r[UNWIND_RSP].kind != UNWIND_SAME ||
        (fp->kind != UNWIND_SAME && fp->kind != UNWIND_OFFSET && !frame_at) ||
        (fp->kind == UNWIND_OFFSET && frame == 0))
        return r;
    r.kind = (uint8_t)kind;
    r.cfa = (int32_t)n;
    r.frame = (int16_t)frame;
    r.frame_at = frame_at;
    return r;
}

/* interrupted: the instruction at `at` has not called, it runs. */
RT_COLD static struct walk_rule make_rule(uintptr_t at, bool interrupted)
{
    struct unwind_entry e;
    struct unwind_rules u;
    struct untabled_frame f;
    struct walk_rule made = {.kind = WALK_LOST};
    if (unwind_rules_at(at, &e, &u))
        made = pack(&u, &e);
    else if (untabled_frame(at, interrupted, &f)) {
        made.kind = f.by_stack ? WALK_BY_STACK : WALK_BY_FRAME;
        made.cfa = f.cfa;
        made.frame = f.frame;
        if (!f.is_image || interrupted)
            return made;
    }
    if (unwind_is_made(at)) /* our own code there may change */
        return made;
    uint32_t h = stream_path_hash(0, at);
    for (uint32_t i = 0; i < RULE_TRIES; i++) {
        struct walk_rule *r = &rules[(h + i) & (RULES - 1)];
        uintptr_t had = atomic_load_explicit(&r->at, memory_order_relaxed);
        if ((had != 0 && had != STALE) || !atomic_compare_exchange_strong(&r->at, &had, CLAIMED))
            continue;
        r->cfa = made.cfa;
        r->frame = made.frame;
        r->frame_at = made.frame_at;
        r->kind = made.kind;
        atomic_store_explicit(&has_rules, true, memory_order_relaxed);
        atomic_store_explicit(&r->at, at, memory_order_release);
        break;
    }
    return made;
}

static inline struct walk_rule rule_of(uintptr_t at, bool interrupted)
{
    uint32_t h = stream_path_hash(0, at);
    for (uint32_t i = 0; i < RULE_TRIES; i++) {
        const struct walk_rule *r = &rules[(h + i) & (RULES - 1)];
        uintptr_t had = atomic_load_explicit(&r->at, memory_order_acquire);
        if (RT_LIKELY(had == at)) {
            struct walk_rule found = {
                .cfa = r->cfa, .frame = r->frame, .frame_at = r->frame_at, .kind = r->kind};
            atomic_thread_fence(memory_order_acquire);
            if (RT_LIKELY(atomic_load_explicit(&r->at, memory_order_relaxed) == at))
                return found;
        }
        if (had == 0)
            break;
    }
    return make_rule(at, interrupted);
}

void call_walk_forget(bool (*gone)(uintptr_t address))
{
    for (uint32_t i = 0; i < RULES && atomic_load(&has_rules); i++) {
        uintptr_t had = atomic_load_explicit(&rules[i].at, memory_order_relaxed);
        if (had > STALE && gone(had))
            (void)atomic_compare_exchange_strong(&rules[i].at, &had, STALE);
    }
}

/* --- walking ---------------------------------------------------------------------------------- */

enum step {
    STEP_UP,
    STEP_END,      /* there is no caller */
    STEP_LOST,     /* it cannot be found */
    STEP_OTHERWISE /* unwind.c may find it */
};

static enum step no_rule(uint8_t kind)
{
    return kind == WALK_END ? STEP_END : kind == WALK_LOST ? STEP_LOST : STEP_OTHERWISE;
}

/* Moves to the caller; *back is its return address. */
static inline enum step step_up(struct walk *w, uintptr_t *back)
{
    struct walk_rule r = rule_of(w->at, w->interrupted);
    uintptr_t cfa, fp = w->fp;
    if (RT_LIKELY(r.kind == WALK_BY_STACK))
        cfa = w->sp + (uintptr_t)(intptr_t)r.cfa;
    else if (r.kind == WALK_BY_FRAME)
        cfa = w->fp + (uintptr_t)(intptr_t)r.cfa;
    else if (r.kind != WALK_BY_FRAME_MEM)
        return no_rule(r.kind);
    else if (!read_word(w, w->fp + (uintptr_t)(intptr_t)r.cfa, &cfa))
        return STEP_LOST;
    /* Frames lie one above the other, except where the code has moved to another stack. */
    if (cfa <= w->sp)
        return STEP_OTHERWISE;
    uintptr_t fp_at = (r.frame_at ? w->fp : cfa) + (uintptr_t)(intptr_t)r.frame;
    if (((r.frame != 0 || r.frame_at) && !read_word(w, fp_at, &fp)) ||
        !read_word(w, cfa - sizeof cfa, back))
        return STEP_LOST;
    if (*back == 0)
        return STEP_END;
    w->sp = cfa;
    w->fp = fp;
    w->at = *back - 1;
    w->interrupted = false;
    return STEP_UP;
}

/* Return addresses, innermost first. */
struct places {
    uintptr_t at[PATH_MOST];
    unsigned count, most;
    unsigned known;    /* places that were there before the walk */
    unsigned skipped;  /* how many the walk leaves out at first */
    bool needs_unwind; /* a frame needs unwind.c */
    bool is_cut;       /* there are further callers, which are not known */
};

/* Leaves the addresses as they are: to clear them all takes as long as some frames. */
static void places_begin(struct places *p, unsigned most, unsigned skipped)
{
    p->count = p->known = 0;
    p->most = most < PATH_MOST ? most : PATH_MOST;
    p->skipped = skipped;
    p->needs_unwind = p->is_cut = false;
}

/* seen: how many places the walk has found before this one. */
static void add(struct places *p, uintptr_t at, unsigned seen)
{
    if (seen >= p->skipped && p->count < p->most)
        p->at[p->count++] = at;
}

/* Collects return addresses, from the frame on whose stack pointer is `from` (0: from the first
 * one). Finds none if there is no such frame. */
static void walk_fast(struct walk *w, uintptr_t from, struct places *p)
{
    uintptr_t back;
    unsigned seen = 0;
    bool begun = from == 0;
    (void)thread_stack_bounds(&w->low, &w->high);
    enum step s = STEP_UP;
    while (p->count < p->most && s == STEP_UP) {
        s = step_up(w, &back);
        begun |= s == STEP_UP && w->sp == from;
        if (begun && s == STEP_UP)
            add(p, back, seen++);
    }
    p->needs_unwind = s == STEP_OTHERWISE;
    /* The outermost place may be the last one that was asked for: one more step tells. */
    p->is_cut = s == STEP_LOST || (s == STEP_UP && step_up(w, &back) != STEP_END);
}

/* The same for any frames. Replaces what walk_fast() left in `p`. */
RT_COLD static void walk_slowly(struct unwind *u, uintptr_t from, struct places *p)
{
    unsigned seen = 0;
    bool begun = from == 0;
    p->count = p->known;
    (void)thread_stack_bounds(&u->low, &u->high);
    while (p->count < p->most && (unwind_up(u) || unwind_up_untabled(u))) {
        begun |= u->r[UNWIND_RSP] == from;
        /* After a place in an instrumented copy comes the one that it stands for. */
        if (begun && !memory_copies_have(u->r[UNWIND_RETURN]))
            add(p, u->r[UNWIND_RETURN] + (u->interrupted ? 1 : 0), seen++);
    }
    p->is_cut = !unwind_is_outermost(u);
}

/* Numbers from the outermost place on. */
static uint32_t path_number(const struct places *p)
{
    bool is_cut = p->is_cut && p->count > 0;
    uint32_t path = is_cut ? path_of(0, STREAM_PATH_CUT) : 0;
    if (is_cut && path == 0) /* the table is full */
        return 0;
    for (unsigned i = p->count; i-- > 0;) {
        path = path_of(path, p->at[i]);
        if (path == 0)
            break;
    }
    return path;
}

static __attribute__((noinline)) uint32_t path_from_return(uintptr_t return_at, unsigned most,
                                                           unsigned skipped)
{
    struct places p;
    struct walk w = {.low = 0};
    uintptr_t from = return_at + sizeof(uintptr_t);
    places_begin(&p, most, skipped);
    __asm__ volatile("lea 0f(%%rip), %0\n"
                     "0:	mov %%rsp, %1\n"
                     "	mov %%rbp, %2\n"
                     : "=&r"(w.at), "=&r"(w.sp), "=&r"(w.fp));
    const uintptr_t here = w.at;
    walk_fast(&w, from, &p);
    if (RT_UNLIKELY(p.needs_unwind)) {
        struct unwind u;
        unwind_begin_here(&u);
        walk_slowly(&u, from, &p);
    }
    if (p.count == 0 && unwind_table(here) == NULL) { /* libc has no _dl_find_object(3) */
        add(&p, return_address_read(return_at), 0);
        p.is_cut = true;
    }
    return path_number(&p);
}

uint32_t call_path_from_return(uintptr_t return_at, unsigned most)
{
    return path_from_return(return_at, most, 0);
}

uint32_t call_path_of_caller(uintptr_t return_at, unsigned most)
{
    return path_from_return(return_at, most, 1);
}

uint32_t call_path_from_entry(uintptr_t return_at, uintptr_t frame_pointer, unsigned most)
{
    uintptr_t back = return_address_read(return_at);
    struct places p;
    struct walk w = {.at = back - 1, .sp = return_at + sizeof back, .fp = frame_pointer};
    places_begin(&p, most, 0);
    add(&p, back, 0);
    p.known = p.count;
    walk_fast(&w, 0, &p);
    if (RT_UNLIKELY(p.needs_unwind)) {
        /* Rules of callers hardly ever need another register of the function's entry. */
        struct unwind u = {.back = (uintptr_t *)return_at, /* NOLINT: the thread's stack */
                           .known = 1u << UNWIND_RBP | 1u << UNWIND_RSP | 1u << UNWIND_RETURN};
        u.r[UNWIND_RBP] = frame_pointer;
        u.r[UNWIND_RSP] = return_at + sizeof back;
        u.r[UNWIND_RETURN] = back;
        walk_slowly(&u, 0, &p);
    }
    return path_number(&p);
}

uint32_t call_path_from_context(const void *context, unsigned most)
{
    const greg_t *r = ((const ucontext_t *)context)->uc_mcontext.gregs;
    struct places p;
    struct walk w = {.at = (uintptr_t)r[REG_RIP],
                     .sp = (uintptr_t)r[REG_RSP],
                     .fp = (uintptr_t)r[REG_RBP],
                     .interrupted = true};
    places_begin(&p, most, 0);
    walk_fast(&w, 0, &p);
    if (RT_UNLIKELY(p.needs_unwind)) {
        struct unwind u;
        unwind_begin_context(&u, context);
        walk_slowly(&u, 0, &p);
    }
    return path_number(&p);
}

#else

uint32_t call_path_from_return(uintptr_t return_at, unsigned most)
{
    (void)most;
    return path_of(0, return_address_read(return_at));
}

uint32_t call_path_of_caller(uintptr_t return_at, unsigned most)
{
    (void)return_at, (void)most;
    return 0;
}

uint32_t call_path_from_entry(uintptr_t return_at, uintptr_t frame_pointer, unsigned most)
{
    (void)return_at, (void)frame_pointer, (void)most;
    return 0;
}

uint32_t call_path_from_context(const void *context, unsigned most)
{
    (void)context, (void)most;
    return 0;
}

void call_walk_forget(bool (*gone)(uintptr_t address))
{
    (void)gone;
}

#endif
