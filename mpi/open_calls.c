/* SPDX-License-Identifier: BSD-3-Clause
 * Enter and leave events of the open calls, and their cut edges where a window opens or closes meanwhile.
 *
 * A call's state word says whether its enter stands in the open window. A handler of the same thread may open or close
 * that window at any instruction, and then writes cut edges by the states; so event and state must change as one. The
 * event is committed by the swap of the cursor. Before it, `pending_*` notes where the event would stand and the state
 * it starts from; after it the state is swapped as well. A handler in between sees by the slot itself whether
 * the event is there, and finishes the change (recorder_finish_call()); the count in the state word makes the
 * interrupted swap fail. */
#include "mpi/open_calls.h"
#include "mpi/wrapper.h"

#include "base/sys.h"

#include <signal.h>
#include <sys/syscall.h>

#define NEAR (UINT64_C(64) << 20) /* frames of one stack, not of a coroutine's */

/* With signals blocked nothing can come between. */
RT_COLD static void put_slow(struct recorder_thread *t, uint32_t code_flags, uint64_t a, uint64_t b,
                             bool enter)
{
    uint64_t mask = sys_block_signals();
    recorder_finish_call(t);
    uint32_t depth = t->open_depth;
    uint32_t *state = depth - 1 < RECORDER_OPEN_CALLS ? &t->open_calls[depth - 1] : NULL;
    bool wanted = state == NULL ? t->recording != 0
                  : enter       ? (*state & RECORDER_CALL_ENTERED) == 0 && t->recording != 0
                                : (*state & RECORDER_CALL_ENTERED) != 0;
    if (wanted)
        (void)recorder_emit(t, code_flags, a, b);
    if (state != NULL && (wanted || !enter))
        *state = recorder_call_after(*state, enter);
    sys_restore_signals(mask);
}

__attribute__((always_inline)) static inline void put(struct recorder_thread *t, uint32_t *state,
                                                      uint32_t code_flags, uint64_t a, uint64_t b,
                                                      bool enter)
{
#if defined(__x86_64__) || defined(__aarch64__)
    for (;;) {
        struct event_slot *slot = atomic_load_explicit(&t->cursor, memory_order_relaxed);
        __asm__ volatile("" ::: "memory"); /* whatever changes what is read from here on moves it */
        uint32_t before = __atomic_load_n(state, __ATOMIC_RELAXED);
        if (enter &&
            (RT_UNLIKELY((before & RECORDER_CALL_ENTERED) != 0) || RT_UNLIKELY(!t->recording)))
            return;
        if (!enter && RT_UNLIKELY((before & RECORDER_CALL_ENTERED) == 0)) {
            if (recorder_swap_word(state, before, before | RECORDER_CALL_OVER))
                return;
            continue;
        }
        if (RT_UNLIKELY(slot == t->end) || RT_UNLIKELY(clock_source == CLOCK_SOURCE_MONOTONIC))
            break;
        uint64_t head = (uint64_t)code_flags | (uint64_t)(uint16_t)*t->cpu << 32 | t->mark_bits;
        t->pending_slot = slot;
        __asm__ volatile("" ::: "memory");
        t->pending_head = head;
        t->pending_state = before;
        uint64_t clock = clock_counter();
        if (RT_UNLIKELY(!recorder_swap_cursor(t, slot, slot + 1)))
            continue;
        recorder_fill(slot, head, clock, a, b);
        if (RT_LIKELY(recorder_swap_word(state, before, recorder_call_after(before, enter))) ||
            enter)
            return;
    }
#else
    (void)state;
#endif
    put_slow(t, code_flags, a, b, enter);
}

/* Of all calls but the outermost. */
RT_COLD static void put_nested(struct recorder_thread *t, uint32_t code_flags, uint64_t a,
                               uint64_t b, bool enter)
{
    uint32_t depth = t->open_depth;
    code_flags |= (uint32_t)EVENT_FLAG_NESTED << 24;
    if (depth - 1 >= RECORDER_OPEN_CALLS)
        put_slow(t, code_flags, a, b, enter);
    else
        put(t, &t->open_calls[depth - 1], code_flags, a, b, enter);
}

void mpi_put_enter(struct recorder_thread *t, uint32_t code_flags, uint64_t a, uint64_t b)
{
    if (RT_UNLIKELY(t->open_depth != 1))
        put_nested(t, code_flags, a, b, true);
    else
        put(t, &t->open_calls[0], code_flags, a, b, true);
}

void mpi_put_leave(struct recorder_thread *t, uint32_t code_flags, uint64_t a, uint64_t b)
{
    if (RT_UNLIKELY(t->open_depth != 1))
        put_nested(t, code_flags, a, b, false);
    else
        put(t, &t->open_calls[0], code_flags, a, b, false);
}

/* --- cut edges ----------------------------------------------------------------------------------- */

static uint32_t open_calls(const struct recorder_thread *t)
{
    return t->open_depth < RECORDER_OPEN_CALLS ? t->open_depth : RECORDER_OPEN_CALLS;
}

static void put_cut(struct recorder_thread *t, uint32_t i, bool enter)
{
    uint32_t state = t->open_calls[i], function = state & MPI_OPEN_FUNCTION;
    uint32_t flags = EVENT_FLAG_CUT | (i > 0 ? EVENT_FLAG_NESTED : 0u) |
                     ((state & MPI_OPEN_FORTRAN) != 0 ? EVENT_FLAG_FORTRAN : 0u);
    uint32_t code = enter ? EVENT_MPI_ENTER(function) : EVENT_MPI_LEAVE(function);
    (void)recorder_emit(t, code | flags << 24, enter ? mpi_peer_tag(MPI_NOBODY, MPI_NOBODY) : 0, 0);
    t->open_calls[i] = (state ^ RECORDER_CALL_ENTERED) + RECORDER_CALL_CHANGE;
}

void mpi_cut_enters(struct recorder_thread *t)
{
    recorder_finish_call(t);
    uint32_t n = mpi_recorded ? open_calls(t) : 0;
    for (uint32_t i = 0; i < n; i++)
        if ((t->open_calls[i] & (RECORDER_CALL_ENTERED | RECORDER_CALL_OVER)) == 0)
            put_cut(t, i, true);
}

void mpi_cut_leaves(struct recorder_thread *t)
{
    recorder_finish_call(t);
    for (uint32_t i = open_calls(t); i-- > 0;)
        if ((t->open_calls[i] & RECORDER_CALL_ENTERED) != 0)
            put_cut(t, i, false);
}

/* --- calls that were left without a return ------------------------------------------------------- */

/* Signals are blocked. */
static void drop_innermost(struct recorder_thread *t)
{
    uint32_t i = t->open_depth - 1;
    if (i < RECORDER_OPEN_CALLS && (t->open_calls[i] & RECORDER_CALL_ENTERED) != 0)
        put_cut(t, i, false);
    t->open_depth = i;
}

/* A frame below (or at) `stack` on the same stack is gone. */
static bool is_gone(const struct recorder_thread *t, uintptr_t stack)
{
    uint32_t depth = t->open_depth;
    if (depth - 1 >= RECORDER_OPEN_CALLS)
        return false;
    uintptr_t frame = t->open_frames[depth - 1];
    return frame <= stack && stack - frame < NEAR;
}

void mpi_jumped(struct recorder_thread *t, uintptr_t stack)
{
    if (!is_gone(t, stack))
        return;
    uint64_t mask = sys_block_signals();
    recorder_finish_call(t);
    while (is_gone(t, stack))
        drop_innermost(t);
    sys_restore_signals(mask);
}

static bool on_alternate_stack(void)
{
    stack_t now = {.ss_flags = 0};
    return sys_call6(SYS_sigaltstack, 0, (long)&now, 0, 0, 0, 0) == 0 &&
           (now.ss_flags & SS_ONSTACK) != 0;
}

RT_COLD void mpi_open_calls_settle(struct recorder_thread *t, uintptr_t frame)
{
    uint64_t mask = sys_block_signals();
    recorder_finish_call(t);
    if (is_gone(t, frame) && !on_alternate_stack())
        while (is_gone(t, frame))
            drop_innermost(t);
    sys_restore_signals(mask);
}
