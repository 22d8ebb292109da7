/* SPDX-License-Identifier: BSD-3-Clause
 * Functions that REGTRACE_FUNCTIONS names: records in windows when they are entered and left.
 *
 * As with exits (probe_exits.c), return addresses stay as they are. A function that is entered is
 * noted with its stack pointer. It is left when a probe at its return address finds the stack
 * pointer above that. A function that is left in another way (longjmp, an exception, a jump into
 * another function in place of a call) is over when something shows that its frame is gone. Calls
 * are nested in a thread, whatever stacks it runs on: if a call returns on another stack
 * (coroutines), the calls that were entered since are cut. */
#include "preload/patch/calls/probe_calls.h"
#include "preload/patch/probes.h"

#include "base/log.h"
#include "preload/libc/interpose.h"
#include "preload/patch/calls/probe_fast.h"
#include "preload/process.h"
#include "preload/stack/call_walk.h"

#include <stdio.h>
#include <stdlib.h>

#define CUT ((uint32_t)EVENT_FLAG_CUT << 24)

__thread struct probe_opens probe_opens;
uint32_t probe_functions_limit;
_Atomic(const struct probe_returns *) probe_returns_now, probe_exits_now;

bool probe_functions_wanted(void)
{
    return process.options.number[OPT_functions] == OPTION_FUNCTIONS_NAMED;
}

bool probe_functions_have_paths(void)
{
    return process.options.number[OPT_callpath] > 1;
}

/* Makes a table of the sites of this kind that have a jump. NULL: there are none, or no memory. */
static const struct probe_returns *make_returns(const struct probe_sites *s, uint16_t kind)
{
    uint32_t n = 0, size = 64;
    for (size_t i = 0; i < s->count; i++)
        n += s->rows[i].alarm == kind && s->rows[i].jumped != 0;
    while (size < 2 * n)
        size *= 2;
    struct probe_returns *r = n != 0 ? calloc(1, sizeof *r + size * sizeof *r->at) : NULL;
    for (size_t i = 0; i < s->count && r != NULL; i++) {
        const struct probe_site *site = &s->rows[i];
        r->mask = size - 1;
        uint32_t slot = probe_return_slot(r, site->at - site->after);
        if (site->alarm != kind || site->jumped == 0)
            continue;
        while (r->at[slot] != 0)
            slot = (slot + 1) & r->mask;
        r->at[slot] = site->at - site->after;
    }
    return r;
}

void probe_functions_published(const struct probe_sites *s)
{
    probe_functions_limit = (uint32_t)process.options.number[OPT_functions_depth];
    atomic_store_explicit(&probe_returns_now, make_returns(s, PROBE_RETURNED),
                          memory_order_release);
    atomic_store_explicit(&probe_exits_now, make_returns(s, PROBE_EXITED), memory_order_release);
}

static uint32_t depth_now(void)
{
    return probe_opens_depth(probe_opens.state);
}

static void set_depth(uint32_t depth)
{
    probe_opens.state = (probe_opens.state & PROBE_BACK) | depth;
}

/* Returns true if the pending event of the fast path has its slot. Fills the slot if the fast path
 * was interrupted before it could. */
static bool is_recorded(const struct recorder_thread *t, struct event_slot *slot)
{
    const struct probe_room *o = probe_opens.room;
    uint64_t head = __atomic_load_n(&slot->head, __ATOMIC_ACQUIRE);
    if (atomic_load_explicit(&t->cursor, memory_order_relaxed) == slot)
        return false;
    if (head >> 48 == o->head >> 48)
        return EVENT_HEAD_CODE(head) == EVENT_HEAD_CODE(o->head) && slot->a == o->pending.function;
    if ((const char *)slot > (const char *)t->chunk && slot < t->end)
        recorder_fill(slot, o->head, o->clock, o->pending.function, o->pending.back);
    return true;
}

/* Called first wherever the list is read: this may be a handler that has interrupted the fast path
 * (struct probe_opens). */
static void settle(const struct recorder_thread *t)
{
    struct probe_opens *o = &probe_opens;
    uint64_t state = o->state;
    uint32_t depth = probe_opens_depth(state);
    if ((state & (PROBE_AMID_ENTER | PROBE_AMID_LEAVE)) == 0)
        return;
    if (!is_recorded(t, (struct event_slot *)(uintptr_t)(state >> PROBE_STATE_SLOT))) { /* NOLINT */
        o->state = depth | PROBE_BACK;
    } else if ((state & PROBE_AMID_ENTER) != 0) {
        o->room->open[depth] = o->room->pending;
        o->state = depth + 1;
    } else {
        o->state = depth - 1;
    }
}

/* Drops PROBE_BACK if the interrupted fast path can never continue: the thread is further up the
 * same stack, so a jump has left its frame. */
static void forget_pending(uintptr_t stack)
{
    struct probe_opens *o = &probe_opens;
    if ((o->state & PROBE_BACK) != 0 && stack > o->room->pending.stack &&
        probe_one_stack(stack, o->room->pending.stack))
        o->state = depth_now();
}

static void leave(struct recorder_thread *t, uint32_t cut)
{
    uint32_t depth = depth_now() - 1;
    const struct probe_function f = probe_opens.room->open[depth];
    set_depth(depth);
    if (t->recording != 0) /* no recorder_active(): a window may be closing */
        (void)recorder_emit(t, EV_FUNCTION_LEAVE | cut, f.function, probe_opens.room->paths[depth]);
}

static const struct probe_function *latest(void)
{
    return &probe_opens.room->open[depth_now() - 1];
}

/* Is the frame gone? It is when another frame begins or goes on further up the same stack. */
static bool is_gone(const struct probe_function *f, uintptr_t stack)
{
    return f->stack <= stack && probe_one_stack(f->stack, stack);
}

void probe_functions_entered(uintptr_t function, const struct probe_coming *c)
{
    static _Atomic bool told;
    struct recorder_thread *t = &recorder_self;
    const uintptr_t stack = c->stack;
    if (!recorder_active(t))
        return;
    settle(t);
    forget_pending(stack);
    while (depth_now() != 0 && is_gone(latest(), stack))
        leave(t, 0);
    uint32_t depth = depth_now();
    if (depth >= probe_functions_limit)
        return;
    uintptr_t back = *(const uintptr_t *)stack; /* NOLINT: the thread's stack */
    if (!(c->may_trap && probe_return_ensure(back)) && recorder_stream.header != NULL &&
        !atomic_exchange(&told, true)) {
        char line[160];
        (void)snprintf(line, sizeof line,
                       "where a function is called so (0x%lx) its end cannot be seen: it is "
                       "recorded when something later shows it",
                       (unsigned long)back);
        log_line(LOG_WARNING, line);
    }
    if (probe_functions_have_paths())
        probe_opens.room->paths[depth] =
            call_path_from_entry(stack, c->rbp, (unsigned)process.options.number[OPT_callpath]);
    probe_opens.room->open[depth] = (struct probe_function){function, stack, back};
    set_depth(depth + 1);
    (void)recorder_emit(t, EV_FUNCTION_ENTER, function, back);
}

void probe_functions_returned(uintptr_t stack, uintptr_t at)
{
    struct recorder_thread *t = &recorder_self;
    if (!probe_functions_wanted())
        return;
    (void)recorder_active(t); /* a window that opens here shows what is active */
    settle(t);
    forget_pending(stack);
    uint32_t i = depth_now();
    if (i == 0)
        return;
    while (i > 0 && (probe_opens.room->open[i - 1].stack + sizeof stack != stack ||
                     probe_opens.room->open[i - 1].back != at))
        i--;
    if (i == 0) {
        while (depth_now() != 0 && is_gone(latest(), stack))
            leave(t, 0);
        return;
    }
    while (depth_now() > i)
        leave(t, is_gone(latest(), stack) ? 0 : CUT);
    if (depth_now() == i)
        leave(t, 0);
}

void probe_functions_jumped(uintptr_t from, uintptr_t to)
{
    struct recorder_thread *t = &recorder_self;
    if (!code_is_patched || probe_opens.state == 0)
        return;
    uint64_t mask = sys_block_signals();
    (void)recorder_active(t);
    settle(t);
    forget_pending(to);
    while (depth_now() != 0 && latest()->stack >= from && latest()->stack < to)
        leave(t, 0);
    sys_restore_signals(mask);
}

/* The numbers of paths are those of the parent's stream. */
void probe_functions_forked(void)
{
    for (uint32_t i = 0; i < depth_now(); i++)
        probe_opens.room->paths[i] = 0;
    probe_opens.forked = depth_now() != 0;
}

/* Does not touch the memory if there are no probes: its first use is a page fault, which events of
 * windows count. */
void probe_functions_cut(struct recorder_thread *t, bool enter)
{
    if (!code_is_patched)
        return;
    settle(t);
    probe_opens.windows++;
    if (enter && !probe_opens.forked)
        set_depth(0);
    probe_opens.forked = false;
    if (enter)
        for (uint32_t i = 0; i < depth_now(); i++)
            (void)recorder_emit(t, EV_FUNCTION_ENTER | CUT, probe_opens.room->open[i].function,
                                probe_opens.room->open[i].back);
    else
        while (depth_now() != 0)
            leave(t, CUT);
}
