/* SPDX-License-Identifier: BSD-3-Clause
 * The state of memory traces in a thread, and its records of interrupted handlers. See
 * memory_frames.h. */
#include "preload/memory/memory_frames.h"

#if defined(__x86_64__)

#include "base/sys.h"
#include "preload/memory/memory.h"
#include "preload/memory/memory_file.h"
#include "preload/memory/memory_copies.h"
#include "preload/process.h"
#include "preload/thread.h"
#include "preload/window/interrupts.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>

/* Stands for threads without a mapping. It never has an open window or a jump on its way. */
static struct memory_thread nobody;
__thread struct memory_thread *memory_self = &nobody;

/* Maps the thread's struct. Blocks signals, because a handler may map it too. */
RT_COLD static bool make_self(void)
{
    uint64_t mask = sys_block_signals();
    long p = memory_self != &nobody
                 ? 0
                 : sys_call6(SYS_mmap, 0, sizeof(struct memory_thread), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p > 0 || p <= -4096)
        memory_self = (struct memory_thread *)p; /* NOLINT: the kernel's address */
    sys_restore_signals(mask);
    return memory_self != &nobody;
}

bool memory_thread_ready(void)
{
    return RT_LIKELY(memory_self != &nobody) ||
           (recorder_self.attachment != RECORDER_DETACHED && make_self());
}

bool memory_thread_exists(void)
{
    return memory_self != &nobody;
}

/* Maps a record if more handlers are nested than there is room for. */
RT_COLD static struct memory_handler *map_handler(void)
{
    long p = sys_call6(SYS_mmap, 0, sizeof(struct memory_handler), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p < 0 && p > -4096 ? NULL : (struct memory_handler *)p; /* NOLINT: kernel's address */
}

/* Assigns each field, because a literal would be built on the stack, which may be small. */
static void note_interrupted(struct memory_handler *h, const ucontext_t *uc)
{
    h->taken = true;
    h->outer = memory_self->handlers;
    h->stack = (uintptr_t)uc->uc_mcontext.gregs[REG_RSP];
    h->at = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
    h->shown = memory_copy_stands_for(h->at);
    h->enter = copy_slots[COPY_ENTER];
    h->spill = copy_slots[COPY_SPILL];
    h->spill_2 = copy_slots[COPY_SPILL_2];
    h->target = copy_slots[COPY_TARGET];
    h->unwound = memory_self->unwound;
    h->has_file = false;
    h->outer_at = 0;
    h->flight = memory_self->flight;
}

struct memory_handler *memory_handler_take(const ucontext_t *uc)
{
    struct memory_handler *h = NULL;
    for (unsigned i = 0; i < MEMORY_HANDLERS && h == NULL; i++)
        if (!memory_self->room[i].taken)
            h = &memory_self->room[i];
    h = h != NULL ? h : map_handler();
    if (h != NULL)
        note_interrupted(h, uc);
    return h;
}

void memory_handler_give(struct memory_handler *h)
{
    h->taken = false;
    if (h < memory_self->room || h >= memory_self->room + MEMORY_HANDLERS)
        (void)sys_call6(SYS_munmap, (long)h, sizeof *h, 0, 0, 0, 0);
}

/* libgcc's _Unwind_Resume_or_Rethrow() may call _Unwind_RaiseException(), which counts the same
 * exception again. */
void memory_exception_begins(const void *exception)
{
    if (!memory_is_traced || recorder_self.in_toolkit || !memory_thread_ready())
        return;
    memory_self->exceptions += exception != memory_self->raised;
    memory_self->raised = exception;
}

static void send_postponed(void)
{
    unsigned n = memory_self->postponed_count;
    memory_self->postponed_count = 0;
    for (unsigned i = 0; i < n; i++)
        (void)sys_call6(SYS_rt_tgsigqueueinfo, process.pid, sys_gettid(),
                        memory_self->postponed[i].si_signo, (long)&memory_self->postponed[i], 0, 0);
}

void memory_exception_ends(void)
{
    if (memory_self->exceptions == 0)
        return;
    memory_self->raised = NULL;
    if (--memory_self->exceptions != 0 || memory_self->postponed_count == 0)
        return;
    uint64_t mask = sys_block_signals();
    send_postponed();
    sys_restore_signals(mask);
}

/* A request that waits already is not kept twice: broadcasts may come faster than exceptions are
 * caught. */
bool memory_postpones(const siginfo_t *info)
{
    int value = info->si_value.sival_int;
    if (memory_self->exceptions == 0 || info->si_code > 0 || value >> 16 == INTERRUPT_SAMPLE)
        return false;
    for (unsigned i = 0; i < memory_self->postponed_count; i++)
        if (memory_self->postponed[i].si_code == info->si_code &&
            memory_self->postponed[i].si_value.sival_int == value)
            return true;
    if (memory_self->postponed_count == MEMORY_POSTPONED)
        return false;
    memory_self->postponed[memory_self->postponed_count++] = *info;
    return true;
}

void memory_thread_ends(struct recorder_thread *t, struct preload_thread *pt)
{
    (void)t;
    (void)pt;
    copy_slots[COPY_ENTER] = 0;
    for (unsigned n = 0; n < MEMORY_LEVELS; n++)
        if (memory_self->files[n] != NULL)
            memory_file_close(memory_self->files[n]);
    struct memory_thread *had = memory_self;
    memory_self = &nobody;
    if (had != &nobody)
        (void)sys_call6(SYS_munmap, (long)had, sizeof *had, 0, 0, 0, 0);
}

void memory_forked(void)
{
    copy_slots[COPY_ENTER] = 0;
    memory_self->wanted = false;
    for (unsigned n = 0; n < MEMORY_LEVELS; n++)
        if (memory_self->files[n] != NULL)
            memory_file_forget(memory_self->files[n]);
}

#endif
