/* SPDX-License-Identifier: BSD-3-Clause
 * Faults in copies of instructions: the program's handler sees the original instruction, and where
 * it sets the instruction pointer to, the thread goes on. */
#include "preload/patch/probes.h"

#include "base/sys.h"
#include "preload/patch/code/probe_code.h"
#include "preload/patch/probe_sites.h"
#include "preload/stack/unwind.h"

#if defined(__x86_64__)

#include <ucontext.h>

static bool is_fault(const siginfo_t *info)
{
    return info->si_code > 0 && (sys_fault_signals() & sys_signal_bit(info->si_signo)) != 0;
}

struct probe_fault probes_fault_begins(siginfo_t *info, void *context)
{
    greg_t *rip = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    struct probe_fault f = {.copy = (uintptr_t)*rip};
    struct unwind w;
    if (!is_fault(info) || !probes_is_copy(f.copy))
        return f;
    /* To unwinders the copy is a frame whose caller is the original instruction. */
    unwind_begin_context(&w, context);
    if (!unwind_up(&w))
        return f;
    f.place = w.r[UNWIND_RETURN];
    *rip = (greg_t)f.place;
    if ((uintptr_t)info->si_addr == f.copy)
        info->si_addr = (void *)f.place; /* NOLINT: an address */
    return f;
}

uintptr_t probe_inside_jump(const struct probe_sites *all, uintptr_t at)
{
    enum { JUMP = 5 }; /* bytes */
    for (unsigned after = 1; after < JUMP; after++) {
        const struct probe_site *s = probe_sites_find(all, at - after);
        if (s == NULL || s->jumped == 0)
            continue;
        uint8_t step = ((const struct probe_block *)(const void *)s->block)->steps[after - 1];
        return step != PROBE_NO_STEP ? (uintptr_t)(s->block + PROBE_BLOCK_BYTES + step) : 0;
    }
    return 0;
}

void probes_fault_ends(const struct probe_fault *f, void *context)
{
    greg_t *rip = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    if (f->place == 0)
        return;
    uintptr_t at = (uintptr_t)*rip;
    uintptr_t copy = at == f->place ? f->copy : probe_inside_jump(probe_sites_now(), at);
    if (copy != 0)
        *rip = (greg_t)copy;
}

#else

struct probe_fault probes_fault_begins(siginfo_t *info, void *context)
{
    (void)info;
    (void)context;
    return (struct probe_fault){0};
}

void probes_fault_ends(const struct probe_fault *f, void *context)
{
    (void)f;
    (void)context;
}

#endif
