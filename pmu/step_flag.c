/* SPDX-License-Identifier: BSD-3-Clause
 * Sets and clears the trap flag of the calling thread. Withholds SIGTRAPs that the program blocks,
 * since SIGTRAP itself must stay unblocked. */
#include "pmu/backend.h"
#include "pmu/step_decode.h"

#include "base/sys.h"

#include <sys/syscall.h>

void pmu_go(struct pmu_thread *t)
{
    uint64_t trap = STEP_TRAP_BIT;
    if (!t->step.on || t->step.handling)
        return;
    t->step.counts = false;
    t->step.under_way = 1;
    t->step.slot = 0;
    (void)sys_call6(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&trap, 0, sizeof trap, 0, 0);
    __asm__ volatile("leaq -128(%%rsp), %%rsp\n\t"
                     "pushfq\n\t"
                     "orl $0x100, (%%rsp)\n\t"
                     "popfq\n\t"
                     "leaq 128(%%rsp), %%rsp" ::
                         : "memory", "cc");
}

bool pmu_stop(struct pmu_thread *t)
{
    struct pmu_step *s = &t->step;
    uint64_t flags;
    if (!s->on)
        return false;
    __asm__ volatile("leaq -128(%%rsp), %%rsp\n\t"
                     "pushfq\n\t"
                     "movq (%%rsp), %0\n\t"
                     "andl $~0x100, (%%rsp)\n\t"
                     "popfq\n\t"
                     "leaq 128(%%rsp), %%rsp"
                     : "=&r"(flags)
                     :
                     : "memory", "cc");
    bool stepped = s->entered || (flags & STEP_TRAP_FLAG) != 0;
    s->entered = false;
    return stepped;
}

struct pmu_inside pmu_program_begin(struct pmu_thread *t)
{
    struct pmu_step *s = &t->step;
    bool stepped = pmu_stop(t);
    struct pmu_inside inside = {.bound = s->bound, .on = stepped, .handling = s->handling};
    s->handling = false;
    s->bound = 0;
    s->program = true;
    pmu_go(t);
    return inside;
}

void pmu_program_end(struct pmu_thread *t, struct pmu_inside inside)
{
    (void)pmu_stop(t);
    t->step.bound = inside.bound;
    t->step.program = false;
    t->step.handling = inside.handling;
    if (inside.on)
        pmu_go(t);
}

bool pmu_step_lets_through(struct pmu_thread *t, const siginfo_t *info)
{
    if (!t->step.blocked || info->si_code > 0)
        return true;
    t->step.withheld = true;
    return false;
}

void step_send_withheld(struct pmu_step *s)
{
    if (!s->withheld || s->blocked)
        return;
    s->withheld = false;
    (void)sys_call6(SYS_tgkill, sys_getpid(), sys_gettid(), SIGTRAP, 0, 0, 0);
}

void pmu_step_block(struct pmu_thread *t, bool blocked)
{
    t->step.blocked = blocked;
    step_send_withheld(&t->step);
}
