/* SPDX-License-Identifier: BSD-3-Clause
 * The common case of functions that are recorded: a place that is reached by a jump, in a window, nothing else to do there. Compiled to
 * use general registers alone, so that no other state need be saved; nothing else is called. All else goes the long way
 * (probe_jump.c), which says the same at more length (probe_functions.c).
 *
 * Signals are not blocked. A handler that comes in between may record, enter functions and leave them, and open and close windows: whoever has
 * recorded has moved the cursor, and everything is looked at again. */
#include "preload/probe_fast.h"

#include "base/recorder.h"

#if PROBE_HAS_FAST

enum outcome { DONE, SLOW, OUTSIDE };

/* One event, where a window is open. The clock is the counter: else no place goes this way. */
static inline __attribute__((always_inline)) enum outcome put(struct recorder_thread *t,
                                                              uint32_t code, uint64_t a, uint64_t b)
{
    for (;;) {
        struct event_slot *slot = atomic_load_explicit(&t->cursor, memory_order_relaxed);
        uint64_t mark = t->mark_bits;
        if (RT_UNLIKELY(t->recording == 0))
            return OUTSIDE;
        if (RT_UNLIKELY(slot == t->end))
            return SLOW;
        uint64_t head = (uint64_t)code | (uint64_t)(uint16_t)*t->cpu << 32 | mark;
        uint64_t clock = clock_counter();
        if (RT_LIKELY(recorder_swap_cursor(t, slot, slot + 1))) {
            recorder_fill(slot, head, clock, a, b);
            return DONE;
        }
    }
}

/* Our own code, or a child that borrows this memory: there is nothing to do. */
static inline __attribute__((always_inline)) bool is_ours(const struct recorder_thread *t,
                                                          const struct probe_opens *o)
{
    return (o->inside | t->in_toolkit | processes_vfork_depth) != 0;
}

/* Something is to be looked at first, or to be counted beside. */
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

/* Functions with exit_func alarms may be over by now (probe_exits_at()). */
static inline __attribute__((always_inline)) bool may_exit(uintptr_t stack)
{
    uintptr_t lowest = probe_exits_lowest;
    return RT_UNLIKELY(lowest != 0) && stack >= lowest;
}

/* Off the way: it is asked once as long as the same call leads to the function. */
static __attribute__((noinline)) PROBE_FAST bool is_return(uintptr_t at, struct probe_numbered *row)
{
    bool yes = probe_has_return(atomic_load_explicit(&probe_returns_now, memory_order_acquire), at);
    if (yes)
        __atomic_store_n(&row->back, at, __ATOMIC_RELAXED);
    return yes;
}

/* exits: there are exit_func alarms as well. */
static inline __attribute__((always_inline)) bool entered(const struct probe_frame *f, bool exits)
{
    struct recorder_thread *t = &recorder_self;
    struct probe_opens *o = &probe_opens;
    uintptr_t stack = stack_at(f);
    if (exits && may_exit(stack))
        return true;
    if (is_ours(t, o))
        return false;
    uint32_t depth = o->depth;
    struct probe_numbered *row = row_of(f);
    uintptr_t function = place_at(f, row);
    if (is_long(t) || (depth != 0 && o->open[depth - 1].stack <= stack))
        return true;
    if (depth >= probe_functions_limit)
        return false;
    uintptr_t back = *(const uintptr_t *)stack; /* NOLINT: the thread's stack */
    if (__atomic_load_n(&row->back, __ATOMIC_RELAXED) != back && !is_return(back, row))
        return true;
    enum outcome outcome = put(t, EV_FUNCTION_ENTER, function, back);
    if (outcome != DONE)
        return outcome == SLOW;
    o->open[depth] = (struct probe_function){function, stack, back};
    o->depth = depth + 1;
    return false;
}

static inline __attribute__((always_inline)) bool returned(const struct probe_frame *f, bool exits)
{
    struct recorder_thread *t = &recorder_self;
    struct probe_opens *o = &probe_opens;
    uintptr_t stack = stack_at(f);
    if (exits && may_exit(stack))
        return true;
    if (o->depth == 0 || t->recording == 0 || is_ours(t, o))
        return false;
    uint32_t depth = o->depth - 1;
    const struct probe_function *left = &o->open[depth];
    if (is_long(t) || left->stack + sizeof left->stack != stack ||
        left->back != place_at(f, row_of(f)))
        return true;
    /* Before its event: a window that a handler closes in between has none of it, and need not. */
    uintptr_t function = left->function;
    o->depth = depth;
    if (put(t, EV_FUNCTION_LEAVE, function, 0) != SLOW)
        return false;
    o->depth = depth + 1;
    return true;
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
