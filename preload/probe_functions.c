/* SPDX-License-Identifier: BSD-3-Clause
 * Functions that REGTRACE_FUNCTIONS names, recorded as they are entered and left, in windows.
 *
 * As with exits (probe_exits.c) nobody's return address is touched: a function that is entered is remembered with its stack pointer, and
 * left where a probe on the place that it returns to sees the stack pointer above it. What is left without coming there (longjmp, an
 * exception, a jump into another function in place of a call) is over when something shows its frame to be gone. Calls are
 * nested in a thread, whatever stacks it runs on: where one returns on another stack (coroutines), those entered since are cut. */
#include "preload/probes.h"

#include "base/log.h"
#include "preload/probe_sites.h"

#include <stdio.h>

#define CUT ((uint32_t)EVENT_FLAG_CUT << 24)

/* The latest last. Of the open window alone. */
static __thread struct probe_function opens[OPTION_FUNCTIONS_DEPTH_MAX];
static __thread uint32_t depth;

bool probe_functions_wanted(void)
{
    return process.options.number[OPT_functions] == OPTION_FUNCTIONS_NAMED;
}

static void leave(struct recorder_thread *t, uint32_t cut)
{
    const struct probe_function *f = &opens[--depth];
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
    while (depth != 0 && is_gone(&opens[depth - 1], stack))
        leave(t, 0);
    if (depth >= process.options.number[OPT_functions_depth])
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
    opens[depth++] = (struct probe_function){function, stack, back};
    (void)recorder_emit(t, EV_FUNCTION_ENTER, function, back);
}

void probe_functions_returned(uintptr_t stack, uintptr_t at)
{
    struct recorder_thread *t = &recorder_self;
    uint32_t i = depth;
    if (i == 0 || !recorder_active(t))
        return;
    while (i > 0 && (opens[i - 1].stack + sizeof stack != stack || opens[i - 1].back != at))
        i--;
    if (i == 0) {
        while (depth != 0 && is_gone(&opens[depth - 1], stack))
            leave(t, 0);
        return;
    }
    while (depth > i)
        leave(t, is_gone(&opens[depth - 1], stack) ? 0 : CUT);
    if (depth == i)
        leave(t, 0);
}

void probe_functions_jumped(uintptr_t from, uintptr_t to)
{
    struct recorder_thread *t = &recorder_self;
    if (depth == 0 || !recorder_active(t))
        return;
    uint64_t mask = sys_block_signals();
    while (depth != 0 && opens[depth - 1].stack >= from && opens[depth - 1].stack < to)
        leave(t, 0);
    sys_restore_signals(mask);
}

void probe_functions_cut(struct recorder_thread *t, bool enter)
{
    if (enter)
        for (uint32_t i = 0; i < depth; i++)
            (void)recorder_emit(t, EV_FUNCTION_ENTER | CUT, opens[i].function, opens[i].back);
    else
        while (depth != 0)
            leave(t, CUT);
}
