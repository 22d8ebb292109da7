/* SPDX-License-Identifier: BSD-3-Clause
 * The fast path of recording functions: a site with a jump, in a window, with nothing else to do.
 * It is compiled to use general registers only, so that no other state need be saved, and calls
 * nothing else. In all other cases the slow path (probe_jump.c) does the same in general
 * (probe_functions.c).
 *
 * Signals are not blocked. A handler that interrupts may record, enter and leave functions, open
 * and close windows, and jump away: see struct probe_opens. A handler that has recorded has moved
 * the cursor; then the slow path looks at everything again. */
#include "preload/patch/calls/probe_fast.h"
#include "preload/libc/interpose.h"

#include "base/format/recorder.h"

#if PROBE_HAS_FAST

/* Records the event of f, and sets the depth of the list to `after`, unless a handler has moved the
 * cursor from `slot` or changed the list from `state`. pending: the flag that the state has
 * meanwhile. Sites take this path only if the clock is the processor's counter. Returns false if
 * the slow path must follow. */
static inline __attribute__((always_inline)) bool
put(struct recorder_thread *t, struct probe_opens *o, struct event_slot *slot, uint32_t windows,
    const struct probe_function *f, uint32_t code, uint64_t state, uint64_t pending, uint32_t after)
{
    uint32_t depth = probe_opens_depth(state);
    uint64_t head = (uint64_t)code | (uint64_t)(uint16_t)*t->cpu << 32 | t->mark_bits;
    struct probe_room *room = o->room;
    pending |= state | (uint64_t)(uintptr_t)slot << PROBE_STATE_SLOT;
    room->pending = *f;
    room->head = head;
    /* A handler that has changed the state since we read it has recorded an edge of a window, and
     * so has moved the cursor. */
    __atomic_store_n(&o->state, pending, __ATOMIC_RELAXED);
    uint64_t clock = room->clock = clock_counter();
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    bool done = recorder_swap_cursor(t, slot, slot + 1);
    if (RT_LIKELY(done)) {
        recorder_fill(slot, head, clock, f->function, f->back);
        if (after > depth)
            room->open[depth] = *f;
        if (RT_LIKELY(probe_swap(&o->state, pending, after)))
            return true;
    }
    /* A handler has interrupted us and may have settled the pending event. PROBE_BACK: it found no
     * event, so `done` alone says whether there is one now. Otherwise the handler has updated the
     * list: keep its depth, or 0 if an edge of a window has emptied the list. */
    for (;;) {
        uint64_t now = probe_look(&o->state);
        uint32_t then = now == pending && o->windows != windows ? 0 : probe_opens_depth(now);
        bool open = (now & PROBE_BACK) != 0 && done;
        if (open && after > depth)
            room->open[depth] = *f;
        if (probe_swap(&o->state, now, open ? after : then))
            return done;
    }
}

/* Does our own code run, or a child that borrows this memory? Then there is nothing to do. */
static inline __attribute__((always_inline)) bool is_ours(const struct recorder_thread *t,
                                                          const struct probe_opens *o)
{
    return (o->inside | t->in_toolkit | processes_vfork_depth) != 0;
}

/* Returns true if the thread must first follow a broadcast edge, or if its instructions are
 * counted: the slow path does both. */
static inline __attribute__((always_inline)) bool is_long(const struct recorder_thread *t)
{
    return t->epoch != atomic_load_explicit(&recorder_epoch, memory_order_acquire) ||
           (t->counted & RECORDER_COUNTED_INSTRUCTIONS) != 0;
}

static uintptr_t stack_at(const struct probe_frame *f)
{
    return (uintptr_t)(f + 1) + PROBE_RED_ZONE + ((f->number & PROBE_NUMBER_CALL) != 0 ? 8 : 0);
}

static struct probe_numbered *row_of(const struct probe_frame *f)
{
    return &probe_numbered[f->number & PROBE_NUMBER_MASK];
}

static uintptr_t place_at(const struct probe_frame *f, const struct probe_numbered *row)
{
    return row->at - ((f->number & PROBE_NUMBER_ENDBR) != 0 ? 4 : 0);
}

/* Off the common path, for functions without a frame of their own: what they call returns to the
 * stack pointer of their entry. Does the innermost function on the list still run there? */
static __attribute__((noinline)) PROBE_FAST bool runs_at(uintptr_t stack)
{
    const struct probe_exit *exits = probe_opens.room->exits;
    uint32_t n = probe_exits_count(probe_look(&probe_exits_state));
    return n != 0 && exits[n - 1].stack == stack &&
           exits[n - 1].back == *(const uintptr_t *)stack; /* NOLINT: the thread's stack */
}

/* May functions with exit_func alarms have ended by now (probe_exits_at())? */
static inline __attribute__((always_inline)) bool may_exit(uintptr_t stack)
{
    uintptr_t lowest = probe_exits_lowest;
    return RT_UNLIKELY(lowest != 0) && stack >= lowest && (stack != lowest || !runs_at(stack));
}

/* Off the common path: asked again only if another call leads to the function. */
static __attribute__((noinline)) PROBE_FAST bool is_return(uintptr_t at, struct probe_numbered *row)
{
    bool yes = probe_has_return(atomic_load_explicit(&probe_returns_now, memory_order_acquire), at);
    if (yes)
        __atomic_store_n(&row->back, at, __ATOMIC_RELAXED);
    return yes;
}

/* exits: there are exit_func alarms too. */
static inline __attribute__((always_inline)) bool entered(const struct probe_frame *f, bool exits)
{
    struct recorder_thread *t = &recorder_self;
    struct probe_opens *o = &probe_opens;
    uintptr_t stack = stack_at(f);
    if (exits && may_exit(stack))
        return true;
    if (is_ours(t, o))
        return false;
    struct event_slot *slot = atomic_load_explicit(&t->cursor, memory_order_relaxed);
    uint32_t windows = o->windows;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    uint64_t state = probe_look(&o->state);
    struct probe_numbered *row = row_of(f);
    if (is_long(t) || slot == t->end || state > OPTION_FUNCTIONS_DEPTH_MAX)
        return true;
    uint32_t depth = (uint32_t)state;
    if (depth != 0 && o->room->open[depth - 1].stack <= stack)
        return true;
    if (depth >= probe_functions_limit || t->recording == 0)
        return false;
    uintptr_t back = *(const uintptr_t *)stack; /* NOLINT: the thread's stack */
    if (__atomic_load_n(&row->back, __ATOMIC_RELAXED) != back && !is_return(back, row))
        return true;
    const struct probe_function entered = {place_at(f, row), stack, back};
    return !put(t, o, slot, windows, &entered, EV_FUNCTION_ENTER, state, PROBE_AMID_ENTER,
                depth + 1);
}

static inline __attribute__((always_inline)) bool returned(const struct probe_frame *f, bool exits)
{
    struct recorder_thread *t = &recorder_self;
    struct probe_opens *o = &probe_opens;
    uintptr_t stack = stack_at(f);
    if (exits && may_exit(stack))
        return true;
    struct event_slot *slot = atomic_load_explicit(&t->cursor, memory_order_relaxed);
    uint32_t windows = o->windows;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    uint64_t state = probe_look(&o->state);
    if (state == 0 || t->recording == 0 || is_ours(t, o))
        return false;
    if (is_long(t) || slot == t->end || state > OPTION_FUNCTIONS_DEPTH_MAX)
        return true;
    uint32_t depth = (uint32_t)state - 1;
    struct probe_function left = o->room->open[depth];
    if (left.stack + sizeof left.stack != stack || left.back != place_at(f, row_of(f)))
        return true;
    left.back = o->room->paths[depth];
    return !put(t, o, slot, windows, &left, EV_FUNCTION_LEAVE, state, PROBE_AMID_LEAVE, depth);
}

bool probe_fast_entered(void)
{
    return entered(__builtin_dwarf_cfa(), false);
}

bool probe_fast_returned(void)
{
    return returned(__builtin_dwarf_cfa(), false);
}

bool probe_fast_entered_beside(void)
{
    return entered(__builtin_dwarf_cfa(), true);
}

bool probe_fast_returned_beside(void)
{
    return returned(__builtin_dwarf_cfa(), true);
}

#endif
