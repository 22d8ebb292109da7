/* SPDX-License-Identifier: BSD-3-Clause
 * System calls on machines other than x86-64: those that the kernel does not restart fail with
 * EINTR. Register x8 keeps the number of the call, but the result has overwritten the first
 * argument. */
#include "preload/waits/waits.h"

#if !defined(__x86_64__)

#include "preload/count/counting.h"

#include <errno.h>
#include <ucontext.h>

void waits_prepare(void)
{
}

struct waits_arrival waits_arrive(const siginfo_t *info, void *context, struct signals_seen seen)
{
    (void)info;
    (void)context;
    return (struct waits_arrival){.seen = seen};
}

bool waits_is_lost(const void *context)
{
    const uint32_t *at =
        (const uint32_t *)((const ucontext_t *)context)->uc_mcontext.pc; /* NOLINT: code */
    const uint32_t svc = 0xd4000001;
    return ((const ucontext_t *)context)->uc_mcontext.regs[0] == (unsigned long)-EINTR &&
           at[-1] == svc;
}

void *waits_place(void *context)
{
    return context;
}

bool waits_call_can_go_on(const void *context)
{
    return !waits_is_lost(context);
}

bool waits_call_goes_on(const void *context)
{
    (void)context;
    return false;
}

uint64_t waits_mask(const void *context, uint64_t mask)
{
    (void)context;
    return mask;
}

void waits_program_comes(void *context, bool restarts)
{
    (void)context;
    (void)restarts;
}

void waits_continue(void *context, struct waits_arrival came, bool programs)
{
    (void)context;
    (void)came;
    (void)programs;
}

void waits_leave(void *context, struct waits_arrival came)
{
    (void)context;
    (void)came;
}

void signals_handler(int signo, siginfo_t *info, void *context)
{
    signals_arrived(signo, info, context, signals_seen);
}

#endif
