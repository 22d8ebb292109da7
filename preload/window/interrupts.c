/* SPDX-License-Identifier: BSD-3-Clause
 * The internal signal, by which threads of this process interrupt each other: sends it, and does
 * what it asks for. Timers, samples and counters send it too. */
#include "preload/window/interrupts.h"
#include "preload/count/counting.h"
#include "preload/count/sampling.h"
#include "preload/libc/interpose.h"
#include "preload/libc/signals.h"
#include "preload/process.h"
#include "preload/thread.h"
#include "preload/waits/waits.h"

#include "base/sys.h"

#include <string.h>
#include <sys/syscall.h>

void interrupt_other_threads(void *context)
{
    (void)context;
    struct stream_header *h = recorder_stream.header;
    if (h == NULL || process.internal_signal == 0)
        return;
    uint32_t self = (uint32_t)sys_gettid();
    uint32_t n = atomic_load(&h->thread_count);
    for (uint32_t i = 0; i < n && i < h->thread_capacity; i++) {
        struct stream_thread *row = &stream_threads(&recorder_stream)[i];
        if (atomic_load(&row->state) == THREAD_LIVE && row->kernel_tid != self)
            (void)process_interrupt_thread(row->kernel_tid, INTERRUPT_SYNC);
    }
}

bool process_interrupt_thread(uint32_t kernel_tid, enum interrupt_code code)
{
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = process.internal_signal;
    info.si_code = SI_QUEUE;
    info.si_pid = (pid_t)process.pid;
    info.si_uid = process.id.uid;
    info.si_value.sival_int = (int)code << 16;
    return sys_call6(SYS_rt_tgsigqueueinfo, process.pid, kernel_tid, process.internal_signal,
                     (long)&info, 0, 0) == 0;
}

void process_interrupted(siginfo_t *info, void *context)
{
    struct recorder_thread *t = &recorder_self;
    if (!process.traced)
        return;
    if (context != NULL && t->row != NULL && recorder_is_attached(t) && waits_is_lost(context)) {
        t->row->interrupted++;
        if (recorder_is_on() && t->recording)
            (void)recorder_emit(t, EV_INTERRUPTED, 1, 0);
    }
    struct preload_thread *pt = t->preload_thread;
    if (info->si_signo == SIGIO) {
        if (pt != NULL)
            counting_unqueued(pt, info, context);
        return;
    }
    int code = info->si_value.sival_int;
    if ((info->si_code == SI_TIMER || info->si_code == SI_QUEUE) && code >> 16 == INTERRUPT_TIMER)
        trigger_timers(code & 0xffff);
    if (sampling_is_due(info)) {
        sampling_hit(pt, info, context);
        return;
    }
    if (counting_is_overflow(info)) {
        if (pt->automaton != NULL)
            counting_overflow(pt, context != NULL ? signals_ip_of(context) : 0);
        return;
    }
    if (pt != NULL && pt->automaton != NULL) {
        struct ctl_moment m = moment_now(context != NULL ? signals_ip_of(context) : 0);
        ctl_sync(pt->automaton, &m);
        counting_report(pt, &m);
        (void)recorder_active(t);
        counting_retire(pt);
    }
    trigger_requests();
}
