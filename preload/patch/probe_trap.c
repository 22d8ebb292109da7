/* SPDX-License-Identifier: BSD-3-Clause
 * A thread comes to a site: finds the site, fires its alarms, and sends the thread on. */
#include "preload/patch/probes.h"

#include "base/search.h"
#include "base/sys.h"
#include "preload/count/counting.h"
#include "preload/libc/interpose.h"
#include "preload/libc/signals.h"
#include "preload/memory/memory.h"
#include "preload/memory/memory_copies.h"
#include "preload/patch/calls/probe_calls.h"
#include "preload/patch/code/probe_code.h"
#include "preload/patch/probe_sites.h"
#include "preload/process.h"
#include "preload/stack/with_room.h"
#include "preload/thread.h"
#include "preload/values/values.h"
#include "preload/window/triggers.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#define ALARMS_MAX 256u /* at one site */
#define TRAP_BIT sys_signal_bit(SIGTRAP)

const struct probe_site *probe_sites_from(const struct probe_sites *s, uintptr_t at)
{
    size_t n;
    SEARCH_FIRST(n, s->count, s->rows[n].at < at);
    return &s->rows[n];
}

const struct probe_site *probe_sites_find(const struct probe_sites *s, uintptr_t at)
{
    const struct probe_site *row = s != NULL ? probe_sites_from(s, at) : NULL;
    return row != NULL && row < s->rows + s->count && row->at == at ? row : NULL;
}

#if defined(__x86_64__)

/* Do the registers have the values that the alarm wants, if the instruction alone does not
 * decide? */
static bool says_it(const struct ctl_alarm *a, const struct probe_coming *c)
{
    if (a->type == CTL_CPUID)
        return c->rax == (a->number << 16 | 0x4711);
    if (a->type != CTL_MAGIC)
        return true;
    if (c->place.displaced == 3) /* xchg %bx,%bx */
        return c->rax == 4 && c->rbx == a->number && c->rcx == a->second;
    return (uint32_t)c->rax == a->number && (uint32_t)c->rbx == a->second;
}

bool probe_is_entry(const struct probe_coming *c)
{
    uintptr_t at = c->place.at;
    bool site = memory_copy_of(at - c->place.after) == NULL;
    for (const struct probe_site *s = c->first;
         s != NULL && s < c->all->rows + c->all->count && s->at == at; s++)
        if (!probe_is_place(s) && !(site && s->alarm == PROBE_COPIED))
            return true;
    return c->first == NULL;
}

void probe_fire(void *p)
{
    const struct probe_coming *c = p;
    uint16_t alarms[ALARMS_MAX];
    unsigned n = 0;
    bool has_exit = false;
    bool entered = false;
    uintptr_t at = c->place.at;
    /* After a fork by a system call that no wrapper has seen, threads that are not here may hold
     * locks. */
    if (RT_UNLIKELY(recorder_was_forked()))
        (void)thread_self();
    probe_functions_returned(c->stack, at - c->place.after);
    probe_exits_at(c->stack, at - c->place.after);
    for (const struct probe_site *s = c->first;
         s != NULL && s < c->all->rows + c->all->count && s->at == at && n < ALARMS_MAX; s++) {
        const struct ctl_alarm *a =
            probe_is_alarm(s) ? ctl_config_alarm(process.config, s->alarm) : NULL;
        if (a == NULL)
            entered = entered || s->alarm == PROBE_ENTERED;
        else if (a->type == CTL_EXIT_FUNC)
            has_exit = true;
        else if (says_it(a, c))
            alarms[n++] = s->alarm;
    }
    /* If the probes of alarms are out, no alarm waits for the exit: the thread is here only because
     * this jump could not be removed. */
    has_exit = has_exit && probe_group_is_in(PROBE_OF_ALARMS);
    bool seen = has_exit && probe_exits_coming(c->stack, c->may_trap);
    if (n != 0)
        trigger_probe(alarms, n, at - c->place.after, c->due);
    if (has_exit)
        probe_exits_entered(at, c->stack, seen);
    if (entered)
        probe_functions_entered(at - c->place.after, c);
    if (memory_copy_misses(at - c->place.after))
        memory_misses(at - c->place.after);
    const struct stream_header *h = recorder_stream.header;
    if (h != NULL && atomic_load_explicit(&h->status_armed, memory_order_relaxed) == 0)
        probes_rest(); /* the first attempt failed if a thread was not known yet */
}

/* In a window of a memory trace the thread goes on in the instrumented copy of its function.
 * Returns false if there is none. */
static bool go_on_in_copy(const struct probe_site *s, greg_t *r)
{
    const uint8_t *copy = copy_slots[COPY_ENTER] != 0 ? memory_copy_from(s->at - s->after) : NULL;
    if (copy != NULL)
        r[REG_RIP] = (greg_t)(uintptr_t)copy;
    return copy != NULL;
}

/* Moves the thread to the copy of the instruction. The copy of a call expects the return address on
 * the stack. While a jump is being written or removed, an int3 stands in its place: only its first
 * instruction has an entry in the copy. */
static void go_on(const struct probe_site *s, ucontext_t *uc)
{
    greg_t *r = uc->uc_mcontext.gregs;
    const uint8_t *copy = s->jumped != 0 ? s->block + PROBE_BLOCK_BYTES : s->copy;
    if (go_on_in_copy(s, r))
        return;
    if ((s->flags & ISA_SITE_CALL) != 0) {
        r[REG_RSP] -= 8;
        *(uint64_t *)r[REG_RSP] = s->at + s->displaced; /* NOLINT: the thread's stack */
    }
    r[REG_RIP] = (greg_t)(uintptr_t)copy;
}

/* A jump was written (probe_poke.c) while the thread stood at an instruction that it displaces.
 * Moves the thread to the same instruction in the copy. */
static bool go_on_inside(const struct probe_sites *all, int code, greg_t *r)
{
    uintptr_t copy = code == SI_KERNEL ? probe_inside_jump(all, (uintptr_t)r[REG_RIP] - 1) : 0;
    if (copy != 0)
        r[REG_RIP] = (greg_t)copy;
    return copy != 0;
}

/* Finds the site at this address; false if there is none. */
static bool find_place(struct probe_coming *c, uintptr_t at)
{
    c->first = probe_sites_find(c->all, at);
    if (c->first == NULL)
        return probe_return_at(at, &c->place);
    c->place = *c->first;
    return true;
}

/* Does the program get the trap of this site? It gets the trap of its own int3, whatever fires
 * there, unless an int3 alarm is at the site. */
static bool is_programs(const struct probe_coming *c)
{
    const struct probe_site *s = c->first;
    if (c->place.copy != NULL)
        return false;
    for (; s != NULL && s < c->all->rows + c->all->count && s->at == c->place.at; s++)
        if (probe_is_alarm(s) && ctl_config_alarm(process.config, s->alarm)->type == CTL_INT3)
            return false;
    return true;
}

enum probe_kind probes_at(uintptr_t at)
{
    struct probe_coming c = {.all = probe_sites_now()};
    if (!find_place(&c, at))
        return PROBE_NOWHERE;
    return c.place.copy != NULL ? PROBE_PATCHED : is_programs(&c) ? PROBE_PROGRAMS : PROBE_TAKEN;
}

/* Gives the program a SIGTRAP that is not ours. If the program blocks SIGTRAP, a signal that
 * another process or thread sent waits, and a signal that an instruction raised ends the
 * program. */
void probes_hand_on(int signo, siginfo_t *info, void *context)
{
    bool blocked = (signals_hidden & TRAP_BIT) != 0;
    if (blocked && info->si_code <= 0)
        signals_withhold(signo, info);
    else if (blocked)
        signals_default_action(signo, info, context);
    else
        signals_hand_on(signo, info, context);
}

static struct memory_position come(const struct probe_coming *c, ucontext_t *uc)
{
    greg_t *r = uc->uc_mcontext.gregs;
    if (probe_is_entry(c))
        return memory_position_at_entry(c->stack, (uintptr_t)r[REG_RIP]);
    r[REG_RIP] = (greg_t)(c->place.at - c->place.after);
    return memory_position_of_context(uc);
}

void probes_come(void *context)
{
    ucontext_t *uc = context;
    greg_t *r = uc->uc_mcontext.gregs;
    uintptr_t at = (uintptr_t)r[REG_RIP];
    struct probe_coming c = {.all = probe_sites_now(),
                             .due = PROBE_COUNTED_NOTHING,
                             .may_trap = true,
                             .rax = (uint64_t)r[REG_RAX],
                             .rbx = (uint64_t)r[REG_RBX],
                             .rcx = (uint64_t)r[REG_RCX],
                             .rbp = (uint64_t)r[REG_RBP],
                             .stack = (uintptr_t)r[REG_RSP]};
    if (!process.traced || processes_vfork_depth != 0 || recorder_self.in_toolkit != 0 ||
        !find_place(&c, at))
        return;
    unsigned own = counting_own_begin_if(true);
    struct memory_position before = come(&c, uc);
    run_with_room(context, probe_fire, &c);
    memory_position_restore(before);
    counting_own_end(own);
    r[REG_RIP] = (greg_t)at;
}

/* Moves the thread from a site to the copy of its instruction. If the table has no copy, because
 * the site is just being rebuilt, the thread traps again. */
void probes_go_on(void *context)
{
    ucontext_t *uc = context;
    struct probe_coming c = {.all = probe_sites_now()};
    if (find_place(&c, (uintptr_t)uc->uc_mcontext.gregs[REG_RIP]) && c.place.copy != NULL)
        go_on(&c.place, uc);
}

bool probes_is_copy(uintptr_t at)
{
    return probe_place_is_copy(at) || probe_return_is_copy(at);
}

bool probes_trapped(int signo, siginfo_t *info, void *context)
{
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    uintptr_t at = (uintptr_t)r[REG_RIP] - 1;
    enum probe_kind kind = info->si_code == SI_KERNEL ? probes_at(at) : PROBE_NOWHERE;
    if (kind == PROBE_NOWHERE)
        return go_on_inside(probe_sites_now(), info->si_code, r);
    r[REG_RIP] = (greg_t)at;
    probes_come(context);
    struct probe_coming c = {.all = probe_sites_now()};
    if (kind == PROBE_PATCHED)
        probes_go_on(context);
    else if (kind != PROBE_TAKEN || !find_place(&c, at) || !go_on_in_copy(&c.place, r))
        r[REG_RIP] = (greg_t)at + 1;
    if (kind == PROBE_PROGRAMS)
        probes_hand_on(signo, info, context);
    return true;
}

#else

enum probe_kind probes_at(uintptr_t at)
{
    (void)at;
    return PROBE_NOWHERE;
}

void probes_come(void *context)
{
    (void)context;
}

void probes_go_on(void *context)
{
    (void)context;
}

bool probes_is_copy(uintptr_t at)
{
    (void)at;
    return false;
}

void probes_hand_on(int signo, siginfo_t *info, void *context)
{
    signals_hand_on(signo, info, context);
}

bool probes_trapped(int signo, siginfo_t *info, void *context)
{
    (void)signo;
    (void)info;
    (void)context;
    return false;
}

#endif

bool code_is_patched;

bool probes_want_signal(int signo)
{
    return code_is_patched && signo == SIGTRAP;
}
