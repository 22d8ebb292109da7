/* SPDX-License-Identifier: BSD-3-Clause
 * The fast path of exit_func alarms: a function is entered at a jump and returns to a jump, and its
 * only alarm is counted and does not fire. Compiled as probe_fast.c is; probe_exits.c does the same
 * in general.
 *
 * Signals are not blocked: a handler that interrupts may enter and leave functions. A handler that
 * has changed the list has changed its state; then everything is looked at again. */
#include "preload/patch/calls/probe_fast.h"

#include "preload/libc/interpose.h"

#include <stddef.h>

#if PROBE_HAS_FAST

/* Notes the lowest frame of the list as it is now: a handler that changed the list meanwhile has
 * noted its own. */
static inline void note_lowest(const struct probe_room *room)
{
    uint64_t state;
    do {
        uintptr_t lowest = 0;
        state = probe_look(&probe_exits_state);
        for (uint32_t i = 0; i < probe_exits_count(state); i++)
            if (i == 0 || room->exits[i].stack < lowest)
                lowest = room->exits[i].stack;
        __atomic_store_n(&probe_exits_lowest, lowest, __ATOMIC_RELAXED);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    } while (probe_look(&probe_exits_state) != state);
}

/* Must the slow path look, because probes rest, or our own code or a vfork child runs, or
 * instructions are counted? */
static inline bool is_odd(const struct recorder_thread *t)
{
    const struct stream_header *h = recorder_stream.header;
    return probe_opens.inside || t->in_toolkit != 0 || processes_vfork_depth != 0 ||
           t->automaton == NULL || (t->counted & RECORDER_COUNTED_INSTRUCTIONS) != 0 || h == NULL ||
           atomic_load_explicit(&h->status_armed, memory_order_relaxed) == 0;
}

static __attribute__((noinline)) PROBE_FAST bool is_known(uintptr_t at, struct probe_numbered *row)
{
    bool yes = probe_has_return(atomic_load_explicit(&probe_exits_now, memory_order_acquire), at);
    if (yes)
        __atomic_store_n(&row->back, at, __ATOMIC_RELAXED);
    return yes;
}

/* Must the slow path record the function as well, or follow a broadcast edge first? */
static inline bool is_recorded(const struct recorder_thread *t)
{
    return t->recording != 0 ||
           t->epoch != atomic_load_explicit(&recorder_epoch, memory_order_acquire);
}

static inline __attribute__((always_inline)) bool entered(const struct probe_frame *f)
{
    struct probe_room *room = probe_opens.room; /* not NULL: the thread has an automaton */
    struct probe_numbered *row = &probe_numbered[f->number & PROBE_NUMBER_MASK];
    uintptr_t stack = (uintptr_t)(f + 1) + PROBE_RED_ZONE;
    uint64_t state = probe_look(&probe_exits_state);
    uint32_t n = probe_exits_count(state);
    uintptr_t lowest = probe_exits_lowest, back = *(const uintptr_t *)stack; /* NOLINT: the stack */
    if (is_odd(&recorder_self) || (lowest != 0 && stack >= lowest) || n == PROBE_EXITS_MAX ||
        (__atomic_load_n(&row->back, __ATOMIC_RELAXED) != back && !is_known(back, row)))
        return true;
    for (uint32_t i = 0; i < n; i++)
        if (room->exits[i].function == row->at)
            return true;
    room->exits[n] = (struct probe_exit){row->at, stack, back, row->left};
    if (!probe_swap(&probe_exits_state, state, probe_exits_changed(state, n + 1)))
        return true;
    note_lowest(room);
    return false;
}

/* Counts one execution of the alarm. Returns false without counting if the alarm may be due. */
static inline bool count_down(uint64_t left)
{
    uint64_t *automaton = recorder_self.automaton;
    uint64_t *counter = (uint64_t *)(void *)((char *)automaton + left);
    if (automaton == NULL ||
        probe_look(automaton) != __atomic_load_n(probe_exits_epoch, __ATOMIC_ACQUIRE))
        return false;
    for (;;) {
        uint64_t old = probe_look(counter);
        if ((int64_t)old <= 1)
            return false;
        if (probe_swap(counter, old, old - 1))
            return true;
    }
}

static inline __attribute__((always_inline)) bool returned(const struct probe_frame *f)
{
    struct probe_room *room = probe_opens.room;
    const struct probe_numbered *row = &probe_numbered[f->number & PROBE_NUMBER_MASK];
    uintptr_t at = row->at - ((f->number & PROBE_NUMBER_ENDBR) != 0 ? 4 : 0),
              stack = (uintptr_t)(f + 1) + PROBE_RED_ZONE +
                      ((f->number & PROBE_NUMBER_CALL) != 0 ? 8 : 0);
    uint64_t state = probe_look(&probe_exits_state);
    uint32_t n = probe_exits_count(state);
    if (n == 0 || stack < probe_exits_lowest)
        return false;
    const struct probe_exit left = room->exits[n - 1];
    if (is_odd(&recorder_self) || left.left == 0 || left.back != at ||
        left.stack + sizeof left.stack != stack)
        return true;
    for (uint32_t i = 0; i + 1 < n; i++)
        if (room->exits[i].stack <= stack)
            return true;
    /* First take it off the list: it ends once, even if a handler interrupts. */
    if (!probe_swap(&probe_exits_state, state, probe_exits_changed(state, n - 1)))
        return true;
    if (count_down(left.left)) {
        note_lowest(room);
        return false;
    }
    /* The slow path fires it and expects it on the list: put it back. */
    state = probe_look(&probe_exits_state);
    n = probe_exits_count(state);
    while (n < PROBE_EXITS_MAX) {
        room->exits[n] = left;
        if (probe_swap(&probe_exits_state, state, probe_exits_changed(state, n + 1)))
            break;
        state = probe_look(&probe_exits_state);
        n = probe_exits_count(state);
    }
    note_lowest(room);
    return true;
}

bool probe_fast_alarms_beside(void)
{
    return is_recorded(&recorder_self);
}

bool probe_fast_exit_entered(void)
{
    return entered(__builtin_dwarf_cfa());
}

bool probe_fast_exit_returned(void)
{
    return returned(__builtin_dwarf_cfa());
}

bool probe_fast_exit_entered_beside(void)
{
    return is_recorded(&recorder_self) || entered(__builtin_dwarf_cfa());
}

bool probe_fast_exit_returned_beside(void)
{
    return is_recorded(&recorder_self) || returned(__builtin_dwarf_cfa());
}

#endif
