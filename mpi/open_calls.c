/* SPDX-License-Identifier: BSD-3-Clause
 * Writes enter and leave events of the open calls, and their cut edges if a window opens or closes
 * during a call.
 *
 * A call's state tells whether the open window holds its enter. For the outermost call's latest
 * event, which is pending, that event's slot tells it instead. A handler of the same thread may
 * open or close the window at any instruction, and then writes cut edges; recorder_finish_call()
 * first tells it what was recorded. So the swap of the cursor alone commits an event, and nothing
 * else needs to be atomic:
 *
 *   pending     event not committed    committed
 *   0           as the state tells
 *   enter       not entered            entered
 *   leave       entered                not entered, over
 *
 * Cut edges move the cursor, so an interrupted swap fails and tries again. */
#include "mpi/open_calls.h"

#include "mpi/site_paths.h"
#include "mpi/wrapper.h"

#include "base/sys.h"

#include <signal.h>
#include <sys/syscall.h>

#define NEAR (UINT64_C(64) << 20) /* closer frames are on one stack, not a coroutine's */

/* Blocks signals, so that nothing can come between: the state tells everything. */
RT_COLD static void put_blocked(struct recorder_thread *t, uint32_t code_flags, uint64_t a,
                                uint64_t b, bool enter)
{
    recorder_make_room(t);
    uint64_t mask = sys_block_signals();
    recorder_finish_call(t);
    uint32_t depth = t->open_depth;
    if (depth == 0) { /* the call was dropped by mistake: it is a coroutine's */
        sys_restore_signals(mask);
        return;
    }
    uint64_t *state = &t->open_calls[depth - 1];
    bool entered = (*state & RECORDER_CALL_ENTERED) != 0;
    if (depth > 1)
        code_flags |= (uint32_t)EVENT_FLAG_NESTED << 24;
    if (enter ? !entered && t->recording != 0 : entered) {
        (void)recorder_emit(t, code_flags, a, b);
        *state ^= RECORDER_CALL_ENTERED;
    }
    if (!enter)
        *state |= RECORDER_CALL_OVER;
    sys_restore_signals(mask);
}

/* Tries the next slot once. Returns false if another event came first. */
__attribute__((always_inline)) static inline bool put_pending(struct recorder_thread *t,
                                                              struct event_slot *slot,
                                                              uintptr_t kind, uint32_t code_flags,
                                                              uint64_t a, uint64_t b)
{
    uint64_t head = (uint64_t)code_flags | (uint64_t)(uint16_t)*t->cpu << 32 | t->mark_bits;
    t->pending = (uintptr_t)slot + kind;
    /* The slot first: with the old head, the event counts as not committed, which is true. */
    __asm__ volatile("" ::: "memory");
    t->pending_head = head;
    uint64_t clock = clock_counter();
    if (RT_UNLIKELY(!recorder_swap_cursor(t, slot, slot + 1)))
        return false;
    recorder_fill(slot, head, clock, a, b);
    return true;
}

/* Returns the next slot. If a cut edge changes what the caller reads after this, the edge also
 * moves the cursor. */
static inline struct event_slot *next_slot(const struct recorder_thread *t)
{
    struct event_slot *slot = atomic_load_explicit(&t->cursor, memory_order_relaxed);
    __asm__ volatile("" ::: "memory");
    return slot;
}

void mpi_put_enter(struct recorder_thread *t, uint32_t code_flags, uint64_t a, uint64_t b)
{
    struct event_slot *slot = next_slot(t);
    while (RT_LIKELY(t->open_depth == 1 && slot != t->end && clock_is_counter())) {
        if (RT_UNLIKELY((t->open_calls[0] & RECORDER_CALL_ENTERED) != 0 || !t->recording))
            return;
        if (RT_LIKELY(put_pending(t, slot, 0, code_flags, a, b)))
            return;
        t->pending = 0;
        slot = next_slot(t);
    }
    put_blocked(t, code_flags, a, b, true);
}

/* The flag of a leave that has this path. */
static uint32_t path_flag(uint64_t path)
{
    return path != 0 ? (uint32_t)EVENT_FLAG_PATH << 24 : 0u;
}

/* For a leave whose b has something else. */
RT_COLD static void put_path(struct recorder_thread *t)
{
    uint32_t depth = t->open_depth;
    if (t->recording != 0 && depth != 0)
        (void)recorder_emit(t, EV_MPI_CALL_PATH, mpi_path_of(t, depth - 1), 0);
}

void mpi_put_leave(struct recorder_thread *t, uint32_t code_flags, uint64_t a, uint64_t b)
{
    if (RT_UNLIKELY(b != 0)) {
        put_path(t);
    } else if (RT_LIKELY(t->open_depth != 0 && t->recording != 0)) {
        b = mpi_path_of(t, t->open_depth - 1);
        code_flags |= path_flag(b);
    }
    uint32_t finished = t->finished;
    struct event_slot *slot = next_slot(t); /* later reads come after both */
    while (RT_LIKELY(t->pending != 0 && slot != t->end && clock_is_counter())) {
        if (RT_LIKELY(put_pending(t, slot, 1, code_flags, a, b))) {
            t->pending = 0;
            return;
        }
        if (t->finished != finished)
            t->pending = 0; /* a cut edge came before `pending` was set again: the state is right */
        slot = next_slot(t);
    }
    put_blocked(t, code_flags, a, b, false);
}

/* --- cut edges -------------------------------------------------------------------------------- */

static void put_cut(struct recorder_thread *t, uint32_t i, bool enter, uint32_t path)
{
    uint64_t state = t->open_calls[i];
    uint32_t function = state & MPI_OPEN_FUNCTION;
    uint32_t flags = EVENT_FLAG_CUT | (i > 0 ? EVENT_FLAG_NESTED : 0u) |
                     ((state & MPI_OPEN_FORTRAN) != 0 ? EVENT_FLAG_FORTRAN : 0u);
    uint32_t code = enter ? EVENT_MPI_ENTER(function) : EVENT_MPI_LEAVE(function);
    (void)recorder_emit(t, code | flags << 24 | path_flag(path),
                        enter ? mpi_peer_tag(MPI_NOBODY, MPI_NOBODY) : 0, path);
    t->open_calls[i] = state ^ RECORDER_CALL_ENTERED;
}

void mpi_cut_enters(struct recorder_thread *t)
{
    recorder_finish_call(t);
    uint32_t n = mpi_recorded ? t->open_depth : 0;
    for (uint32_t i = 0; i < n; i++)
        if ((t->open_calls[i] & (RECORDER_CALL_ENTERED | RECORDER_CALL_OVER)) == 0)
            put_cut(t, i, true, 0);
}

void mpi_cut_leaves(struct recorder_thread *t)
{
    recorder_finish_call(t);
    for (uint32_t i = t->open_depth; i-- > 0;)
        if ((t->open_calls[i] & RECORDER_CALL_ENTERED) != 0)
            put_cut(t, i, false, mpi_path_of_cut(t, i));
}

/* --- calls that were left without a return ---------------------------------------------------- */

/* Call it with signals blocked. */
static void drop_innermost(struct recorder_thread *t)
{
    uint32_t i = t->open_depth - 1, function = t->open_calls[i] & MPI_OPEN_FUNCTION;
    if ((t->open_calls[i] & RECORDER_CALL_ENTERED) != 0)
        put_cut(t, i, false, 0);
    t->open_depth = i;
    if ((function == MPI_NUMBER_Init || function == MPI_NUMBER_Init_thread ||
         function == MPI_NUMBER_Session_init) &&
        mpi_hooks.init_failed != NULL)
        mpi_hooks.init_failed();
}

/* Is the innermost call's frame below `stack` on the same stack? Then the frame is gone. */
static bool is_gone(const struct recorder_thread *t, uintptr_t stack)
{
    if (t->open_depth == 0)
        return false;
    uintptr_t return_at = t->open_calls[t->open_depth - 1] >> RECORDER_OPEN_RETURN_AT;
    return return_at < stack && stack - return_at < NEAR;
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

RT_COLD void mpi_close_slow(struct recorder_thread *t, uint32_t depth, uint32_t code_flags)
{
    uint64_t mask = sys_block_signals();
    recorder_finish_call(t);
    while (t->open_depth > depth + 1)
        drop_innermost(t);
    if (t->open_depth == depth + 1) { /* else it was dropped by mistake: a coroutine's */
        uint32_t path = t->recording != 0 ? mpi_path_of(t, depth) : 0;
        put_blocked(t, code_flags | path_flag(path), 0, path, false);
        t->open_depth = depth;
    }
    sys_restore_signals(mask);
}
