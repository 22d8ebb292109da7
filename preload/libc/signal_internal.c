/* SPDX-License-Identifier: BSD-3-Clause
 * The internal signal: a real-time signal that the program does not use. Chooses it, and tells
 * whether a signal is one that we have sent. */
#include "preload/libc/interpose.h"

#include "base/sys.h"
#include "preload/count/counting.h"
#include "preload/count/sampling.h"
#include "preload/libc/signals.h"
#include "preload/process.h"
#include "preload/valgrind.h"
#include "preload/window/interrupts.h"
#include "preload/window/triggers.h"

#include <string.h>

static _Atomic uint64_t once_internal; /* bit n - 1: n is or was the internal signal */

uint64_t signals_once_internal(void)
{
    return atomic_load_explicit(&once_internal, memory_order_relaxed);
}

bool signals_is_internal(int signo, const siginfo_t *info)
{
    if ((signals_once_internal() & sys_signal_bit(signo)) == 0)
        return false;
    /* The counter may be gone when its overflow arrives. Nobody else makes the kernel send a
     * reserved signal. */
    if (info->si_code > 0)
        return counting_is_overflow(info) || sampling_is_due(info) || signo == signals_reserved;
    int code = info->si_value.sival_int >> 16;
    const struct stream_header *h = recorder_stream.header;
    if (info->si_code == SI_TKILL)
        return h != NULL && info->si_pid == (pid_t)h->writer_pid;
    if (info->si_code == SI_TIMER)
        return code == INTERRUPT_TIMER || code == INTERRUPT_SAMPLE;
    return info->si_code == SI_QUEUE && info->si_pid == (pid_t)process.pid &&
           (code == INTERRUPT_SYNC || code == INTERRUPT_REQUEST || code == INTERRUPT_SIGNAL ||
            code == INTERRUPT_CANCEL);
}

/* Flags of our handler for signals that the program does not handle. Valgrind (3.19) kills a
 * program that gets a signal with SA_ONSTACK while there is no alternate stack and the main stack
 * has to grow. */
int signals_own_flags(void)
{
    return SA_RESTART | (valgrind_request(VALGRIND_RUNNING, 0, 0) != 0 ? 0 : SA_ONSTACK);
}

/* While our handler is on a small alternate stack, no handler of the program may run on top of it:
 * the program provided room for its own handlers only. If there is room, interrupted_with_room()
 * unblocks them. */
static struct sigaction internal_action(void)
{
    struct sigaction a;
    uint64_t mask = ~sys_raised_signals();
    memset(&a, 0, sizeof a);
    a.sa_sigaction = signals_handler;
    a.sa_flags = SA_SIGINFO | signals_own_flags();
    memcpy(&a.sa_mask, &mask, sizeof mask);
    return a;
}

/* Searches from SIGRTMAX-2 downwards, because programs take signals from the ends of the range. */
int signals_choose_internal(int but)
{
    const struct sigaction ours = internal_action();
    for (int n = SIGRTMAX - 2; n > SIGRTMIN + 2; n--) {
        struct sigaction a;
        if (n == but || trigger_wants_signal(n) ||
            (signals_once_internal() & sys_signal_bit(n)) != 0 ||
            NEXT(sigaction)(n, NULL, &a) != 0 || a.sa_handler != SIG_DFL)
            continue;
        if (NEXT(sigaction)(n, &ours, NULL) != 0)
            continue;
        atomic_fetch_or(&once_internal, sys_signal_bit(n));
        return n;
    }
    return 0;
}
