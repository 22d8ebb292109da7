/* SPDX-License-Identifier: BSD-3-Clause
 * Threads that are stepped by the trap flag (pmu/step.c): the handler of SIGTRAP, and the functions
 * that say whose code runs.
 *
 * While the flag is set, SIGTRAP must not be blocked. If our code or libc's blocks it, either the
 * flag is off (counting_own_begin()), or the step before sees the system call. */
#include "preload/count/counting.h"

#include "base/sys.h"
#include "preload/images/image_records.h"
#include "preload/libc/interpose.h"
#include "preload/libc/signals.h"
#include "preload/patch/probes.h"
#include "preload/process.h"
#include "preload/stack/with_room.h"
#include "preload/thread.h"

#include <errno.h>
#include <string.h>
#include <ucontext.h>

/* The linker makes these: the bounds of the section of RECORDER_ENTRY. */
extern const char __start_regtrace_entries[] __attribute__((visibility("hidden")));
extern const char __stop_regtrace_entries[] __attribute__((visibility("hidden")));

static bool is_patched(uintptr_t at)
{
    return probes_at(at) == PROBE_PATCHED;
}

static uint64_t *hidden_mask(void)
{
    return &signals_hidden;
}

void counting_steps_begin(void)
{
    uintptr_t from, to;
    if (!threads_are_stepped)
        return;
    if (images_own_code(&from, &to))
        pmu_step_own_text(from, to);
    if (code_is_patched)
        pmu_step_places((struct pmu_places){.is_there = is_patched,
                                            .go_on = probes_go_on,
                                            .is_copy = probes_is_copy,
                                            .hidden = hidden_mask,
                                            .unblocked = signals_unblocked});
    pmu_step_entries((uintptr_t)__start_regtrace_entries, (uintptr_t)__stop_regtrace_entries);
}

static struct counting *counted(void)
{
    struct preload_thread *pt = recorder_self.preload_thread;
    return pt != NULL && pt->counting.counter.backend != NULL ? &pt->counting : NULL;
}

/* A counter that does not step counts our code too: own_stops() subtracts what was executed since
 * then. */
static void own_starts(struct counting *c)
{
    c->own = !c->counter.backend->steps;
    c->own_since = c->own ? pmu_thread_count(&c->counter) : 0;
}

static void own_stops(struct counting *c)
{
    if (c->own)
        pmu_thread_exclude(&c->counter, c->own_since);
    c->own = false;
}

enum { OWN_STEPPED = 1, OWN_COUNTED = 2 };

unsigned counting_own_begin_if(bool counter)
{
    struct counting *c = counted();
    if (c == NULL)
        return 0;
    unsigned own = pmu_stop(&c->counter) ? OWN_STEPPED : 0;
    if (counter && !c->own) {
        own_starts(c);
        own |= c->own ? OWN_COUNTED : 0;
    }
    return own;
}

void counting_own_end(unsigned own)
{
    struct counting *c = counted();
    if (c == NULL)
        return;
    if ((own & OWN_COUNTED) != 0)
        own_stops(c);
    if ((own & OWN_STEPPED) != 0)
        pmu_go(&c->counter);
}

/* Atomic, because a handler may exclude instructions too. At the end, another thread reads the
 * count of a thread that still lives. */
void counting_exclude(uint32_t instructions)
{
    struct counting *c = counted();
    if (c == NULL || c->own || c->counter.backend->steps)
        return;
    uint64_t excluded =
        __atomic_add_fetch(&c->counter.excluded, (uint64_t)instructions, __ATOMIC_RELAXED);
    if (recorder_self.row != NULL)
        __atomic_store_n(&recorder_self.row->excluded, excluded, __ATOMIC_RELAXED);
}

struct pmu_inside counting_program_begin(void)
{
    struct counting *c = counted();
    if (c == NULL)
        return (struct pmu_inside){0};
    bool own = c->own;
    own_stops(c);
    struct pmu_inside inside = pmu_program_begin(&c->counter);
    inside.own = own;
    return inside;
}

void counting_program_end(struct pmu_inside inside)
{
    struct counting *c = counted();
    if (c == NULL)
        return;
    pmu_program_end(&c->counter, inside);
    if (inside.own)
        own_starts(c);
}

/* Returns true if this thread has not followed a firing or a broadcast edge of another thread yet:
 * its automaton has an old epoch, or its recorder has an old recorder_epoch. The other thread's
 * signal may come late, because that thread can lose the processor before it has sent all signals.
 * recorder_epoch does not count for a thread without a stream, whose first event makes the
 * stream. */
static bool is_behind(const struct preload_thread *pt)
{
    return __atomic_load_n(ctl_shared_epoch(process.shared), __ATOMIC_ACQUIRE) !=
               __atomic_load_n(&pt->automaton->epoch, __ATOMIC_RELAXED) ||
           (recorder_is_attached(&recorder_self) &&
            recorder_self.epoch != atomic_load_explicit(&recorder_epoch, memory_order_acquire));
}

/* The count was reached, or another thread has fired. Runs on a stack with room. */
static void due(void *context)
{
    struct preload_thread *pt = recorder_self.preload_thread;
    if (!process.traced || pt->automaton == NULL)
        return;
    if (is_behind(pt)) {
        struct ctl_moment m = moment_now(signals_ip_of(context));
        ctl_sync(pt->automaton, &m);
        counting_report(pt, &m);
        (void)recorder_active(&recorder_self);
    }
    counting_overflow(pt, signals_ip_of(context));
}

static void go_on(struct pmu_thread *c, enum pmu_trap r, void *context)
{
    for (; r == PMU_TRAP_DUE || r == PMU_TRAP_PLACE; r = pmu_step_go_on(c, context)) {
        if (r == PMU_TRAP_DUE)
            run_with_room(context, due, context);
        else
            probes_come(context);
    }
}

/* Does the state belong to another thread? Then we are a child that shares its memory and that a
 * call made that we did not see. Nothing is counted or fired for such a child. */
static bool is_of_another(const struct pmu_thread *c)
{
    return c->step.on && c->step.kernel_tid != (uint32_t)sys_gettid() && !recorder_was_forked();
}

static void set_ip(void *context, uintptr_t ip)
{
#if defined(__x86_64__)
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] = (greg_t)ip;
#else
    ((ucontext_t *)context)->uc_mcontext.pc = ip;
#endif
}

/* Fires the alarms of a site on a thread that is not being stepped. An alarm may begin to step
 * it. */
static void come_unstepped(struct pmu_thread *c, enum probe_kind kind, void *context)
{
    uintptr_t at = signals_ip_of(context);
    struct pmu_inside inside = counting_handler_begin(context);
    probes_come(context);
    if (kind != PROBE_PATCHED)
        set_ip(context, at + 1);
    else if (recorder_self.preload_thread == NULL || processes_vfork_depth != 0)
        probes_go_on(context);
    else
        c->step.passed = at;
    counting_handler_end(context, inside);
}

static void come_stepped(struct pmu_thread *c, enum probe_kind kind, void *context)
{
    uintptr_t at = signals_ip_of(context);
    bool handling = c->step.handling;
    if (kind == PROBE_PATCHED) {
        go_on(c, pmu_step_at_place(c, context), context);
        return;
    }
    c->step.handling = true;
    probes_come(context);
    c->step.handling = handling;
    set_ip(context, at + 1);
    if (kind == PROBE_TAKEN)
        go_on(c, pmu_step_over_int3(c, context), context);
}

/* Handles the trap of an int3. Returns false if the int3 is not at a site, or if the program must
 * get the trap. */
static bool came(struct pmu_thread *c, const siginfo_t *info, void *context)
{
    uintptr_t at = signals_ip_of(context) - 1;
    enum probe_kind kind =
        code_is_patched && info->si_code == SI_KERNEL ? probes_at(at) : PROBE_NOWHERE;
    if (kind == PROBE_NOWHERE)
        return false;
    set_ip(context, at);
    if (is_of_another(c) && kind == PROBE_PATCHED)
        probes_go_on(context);
    else if (is_of_another(c))
        set_ip(context, at + 1);
    else if (pmu_step_is_on(c, context))
        come_stepped(c, kind, context);
    else
        come_unstepped(c, kind, context);
    return kind != PROBE_PROGRAMS;
}

/* Gives the program a SIGTRAP that is not ours. If the program blocks SIGTRAP and an instruction
 * raised it, it ends the program. While its handler runs, SIGTRAP is shown as blocked. */
static void hand_on(struct pmu_thread *c, int signo, siginfo_t *info, void *context)
{
    if (c->step.blocked && info->si_code > 0) {
        signals_default_action(signo, info, context);
    } else if (pmu_step_lets_through(c, info)) {
        pmu_step_block(c, !code_is_patched); /* otherwise signals_hidden says so */
        probes_hand_on(signo, info, context);
        pmu_step_block(c, false);
    }
}

bool counting_trapped(int signo, siginfo_t *info, void *context)
{
    if (!threads_are_stepped)
        return false;
    struct preload_thread *pt = recorder_self.preload_thread;
    struct pmu_thread unknown = {.backend = NULL};
    struct pmu_thread *c = pt != NULL ? &pt->counting.counter : &unknown;
    if (!process.traced && processes_vfork_depth == 0)
        c->step.on = false;
    if (c->backend != NULL && c->backend->steps && c->step.on && c->step.counts && process.traced &&
        pt->automaton != NULL && is_behind(pt))
        c->step.wake = c->step.count;
    enum pmu_trap r = pmu_step_trap(c, info, context);
    if (r != PMU_TRAP_FOREIGN)
        go_on(c, r, context);
    else if (!came(c, info, context))
        hand_on(c, signo, info, context);
    return true;
}

struct pmu_inside counting_handler_begin(void *context)
{
    struct preload_thread *pt = recorder_self.preload_thread;
    if (RT_LIKELY(!threads_are_stepped) || pt == NULL || processes_vfork_depth != 0)
        return (struct pmu_inside){0};
    return pmu_step_settle(&pt->counting.counter, context);
}

/* The last call in our handler. Leaves signals blocked: another handler would overwrite what
 * pmu_step_resume() has prepared for the return. */
void counting_handler_end(void *context, struct pmu_inside inside)
{
    struct preload_thread *pt = recorder_self.preload_thread;
    if (RT_LIKELY(!threads_are_stepped) || pt == NULL || processes_vfork_depth != 0)
        return;
    int keep = errno;
    (void)sys_block_signals();
    struct pmu_thread *c = &pt->counting.counter;
    (void)pmu_stop(c); /* the handler may have begun to step the thread */
    go_on(c, pmu_step_resume(c, context, inside), context);
    errno = keep;
}
