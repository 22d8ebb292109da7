/* SPDX-License-Identifier: BSD-3-Clause
 * Functions that REGTRACE_FUNCTIONS names, recorded as they are entered and left, in windows.
 *
 * As with exits (probe_exits.c) nobody's return address is touched: a function that is entered is remembered with its stack pointer, and
 * left where a probe on the place that it returns to sees the stack pointer above it. What is left without coming there (longjmp, an
 * exception, a jump into another function in place of a call) is over when something shows its frame to be gone. Calls are
 * nested in a thread, whatever stacks it runs on: where one returns on another stack (coroutines), those entered since are cut. */
#include "preload/probes.h"

#include "base/log.h"
#include "preload/probe_fast.h"
#include "preload/probe_sites.h"

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

/* Of places of that kind. */
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
        uint32_t slot = probe_return_slot(r, site->at - site->behind);
        if (site->alarm != kind || site->jumped == 0)
            continue;
        while (r->at[slot] != 0)
            slot = (slot + 1) & r->mask;
        r->at[slot] = site->at - site->behind;
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

static void leave(struct recorder_thread *t, uint32_t cut)
{
    const struct probe_function *f = &probe_opens.open[--probe_opens.depth];
    if (t->recording != 0) /* not asked anew: a window may be closing */
        (void)recorder_emit(t, EV_FUNCTION_LEAVE | cut, f->function, 0);
}

/* A frame that began there is gone when another begins or goes on further up on the same stack. */
static bool is_gone(const struct probe_function *f, uintptr_t stack)
{
    return f->stack <= stack && probe_one_stack(f->stack, stack);
}

void probe_functions_entered(uintptr_t function, uintptr_t stack, bool may_trap)
{
    static _Atomic bool told;
    struct recorder_thread *t = &recorder_self;
    if (!recorder_active(t))
        return;
    while (probe_opens.depth != 0 && is_gone(&probe_opens.open[probe_opens.depth - 1], stack))
        leave(t, 0);
    if (probe_opens.depth >= probe_functions_limit)
        return;
    uintptr_t back = *(const uintptr_t *)stack; /* NOLINT: the thread's stack */
    if (!(may_trap && probe_return_ensure(back)) && recorder_stream.header != NULL &&
        !atomic_exchange(&told, true)) {
        char line[160];
        (void)snprintf(line, sizeof line,
                       "where a function is called so (0x%lx) its end cannot be seen: it is "
                       "recorded when something later shows it",
                       (unsigned long)back);
        log_line(LOG_WARNING, line);
    }
    probe_opens.open[probe_opens.depth++] = (struct probe_function){function, stack, back};
    (void)recorder_emit(t, EV_FUNCTION_ENTER, function, back);
}

void probe_functions_returned(uintptr_t stack, uintptr_t at)
{
    struct recorder_thread *t = &recorder_self;
    if (!probe_functions_wanted())
        return;
    (void)recorder_active(t); /* a window that opens here shows what is active */
    uint32_t i = probe_opens.depth;
    if (i == 0)
        return;
    while (i > 0 && (probe_opens.open[i - 1].stack + sizeof stack != stack ||
                     probe_opens.open[i - 1].back != at))
        i--;
    if (i == 0) {
        while (probe_opens.depth != 0 && is_gone(&probe_opens.open[probe_opens.depth - 1], stack))
            leave(t, 0);
        return;
    }
    while (probe_opens.depth > i)
        leave(t, is_gone(&probe_opens.open[probe_opens.depth - 1], stack) ? 0 : CUT);
    if (probe_opens.depth == i)
        leave(t, 0);
}

void probe_functions_jumped(uintptr_t from, uintptr_t to)
{
    struct recorder_thread *t = &recorder_self;
    if (!process.probes || probe_opens.depth == 0)
        return;
    uint64_t mask = sys_block_signals();
    (void)recorder_active(t);
    while (probe_opens.depth != 0 && probe_opens.open[probe_opens.depth - 1].stack >= from &&
           probe_opens.open[probe_opens.depth - 1].stack < to)
        leave(t, 0);
    sys_restore_signals(mask);
}

void probe_functions_forked(void)
{
    probe_opens.forked = probe_opens.depth != 0;
}

/* Nor is the memory looked at where there are no probes: its first use is a fault on a page, which events of windows count. */
void probe_functions_cut(struct recorder_thread *t, bool enter)
{
    if (!process.probes)
        return;
    /* A handler may have closed a window amid an enter, and so left something behind. */
    if (enter && !probe_opens.forked)
        probe_opens.depth = 0;
    probe_opens.forked = false;
    if (enter)
        for (uint32_t i = 0; i < probe_opens.depth; i++)
            (void)recorder_emit(t, EV_FUNCTION_ENTER | CUT, probe_opens.open[i].function,
                                probe_opens.open[i].back);
    else
        while (probe_opens.depth != 0)
            leave(t, CUT);
}
