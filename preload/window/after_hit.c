/* SPDX-License-Identifier: BSD-3-Clause
 * What follows a hit: counts armed chains for `regtrace ctl status`, lets probes rest, and ends the
 * program if REGTRACE_EXIT_ON_STOP asks for that. */
#include "preload/count/counting.h"
#include "preload/libc/interpose.h"
#include "preload/life.h"
#include "preload/patch/probes.h"
#include "preload/process.h"
#include "preload/thread.h"
#include "preload/window/triggers.h"

#include "base/sys.h"

#include <sys/syscall.h>

/* Returns true if it is time to count armed chains again. With more than FEW chains (a file of
 * regions makes thousands) each count visits all of them in all threads, so this allows 100 counts
 * a second: `regtrace ctl status` needs no more. */
static bool looks_now(unsigned chains)
{
    enum { FEW = 256, PAUSE_NS = 10000000 };
    static _Atomic uint64_t last;
    uint64_t before = atomic_load_explicit(&last, memory_order_relaxed), now;
    if (chains <= FEW)
        return true;
    now = clock_monotonic_ns();
    return now - before >= PAUSE_NS && atomic_compare_exchange_strong(&last, &before, now);
}

/* For `regtrace ctl status`: counts the chains that have an armed alarm in any thread. If this
 * thread has all of them armed, and that is the number known already, the others need not be looked
 * at. */
void triggers_count_armed(const struct preload_thread *pt)
{
    if (recorder_stream.header == NULL)
        return; /* a forked child that records nothing (yet) */
    _Atomic uint32_t *known = &recorder_stream.header->status_armed;
    unsigned chains = ctl_config_chain_count(process.config), c = 0;
    if (atomic_load_explicit(known, memory_order_relaxed) == chains && pt != NULL)
        while (c < chains && ctl_thread_armed(pt->automaton, c) != CTL_NO_ALARM)
            c++;
    if (c < chains && looks_now(chains))
        ctl_chains_armed(process.shared, known);
    if (atomic_load_explicit(known, memory_order_relaxed) == 0)
        probes_rest();
}

/* REGTRACE_EXIT_ON_STOP: ends the program after its last window, when no chain has an armed alarm
 * on this thread. Other threads do not matter: chains without a tid stay armed in each thread that
 * does not reach them, and perhaps no other thread ever stops a window for all. */
void triggers_after_hit(struct preload_thread *pt)
{
    static _Atomic uint64_t fired_before;
    if (recorder_stream.header == NULL)
        return; /* a forked child that records nothing (yet) */
    uint64_t fired =
        atomic_load_explicit(&recorder_stream.header->fired_total, memory_order_relaxed);
    /* A thread always counts after a firing of its own. Another thread may have seen fired_total
     * grow and counted before this chain moved on: it counted the alarm that has fired as armed. */
    bool own = pt->fired;
    pt->fired = false;
    if (fired != atomic_exchange_explicit(&fired_before, fired, memory_order_relaxed) || own)
        triggers_count_armed(pt);
    counting_retire(pt);
    if (process.options.number[OPT_exit_on_stop] == 0 || recorder_self.recording ||
        atomic_load(&recorder_stream.header->windows_opened) == 0)
        return;
    for (unsigned c = 0; c < ctl_config_chain_count(process.config); c++)
        if (ctl_thread_armed(pt->automaton, c) != CTL_NO_ALARM)
            return;
    process_finish(RT_WINDOW_PROGRAM_END, true);
    (void)sys_call6(SYS_exit_group, 0, 0, 0, 0, 0, 0);
}
