/* SPDX-License-Identifier: BSD-3-Clause
 * Records the event of a fired alarm or of a call of our API, and opens or closes the windows that
 * it asks for. */
#include "preload/affinity.h"
#include "base/format/event_fields.h"
#include "preload/window/control_events.h"
#include "preload/count/counter_records.h"
#include "preload/libc/interpose.h"
#include "preload/life.h"
#include "preload/process.h"
#include "preload/stack/with_room.h"
#include "preload/thread.h"
#include "preload/window/windows.h"

#include "base/sys.h"

static int window_kind(uint8_t event, bool *start)
{
    switch (event) {
    case CTL_START: *start = true; return WINDOW_REGION;
    case CTL_STOP: *start = false; return WINDOW_REGION;
    case CTL_WARMUP_START: *start = true; return WINDOW_WARMUP;
    case CTL_WARMUP_STOP: *start = false; return WINDOW_WARMUP;
    case CTL_PROLOG_START: *start = true; return WINDOW_PROLOG;
    case CTL_PROLOG_STOP: *start = false; return WINDOW_PROLOG;
    case CTL_EPILOG_START: *start = true; return WINDOW_EPILOG;
    case CTL_EPILOG_STOP: *start = false; return WINDOW_EPILOG;
    default: return -1;
    }
}

/* Flags for the record of one fired alarm. */
struct recorded {
    bool ignored, api;
    bool closes; /* closes the windows of all threads; a thread that waits may never record it */
};

/* Returns the clock of the event. */
static uint64_t emit_fired(struct recorder_thread *t, const struct ctl_fired *f,
                           struct recorded how)
{
    unsigned flags = f->bcast * FIRED_BCAST | f->late * FIRED_LATE | f->precond * FIRED_PRECOND |
                     how.ignored * FIRED_IGNORED | f->default_start * FIRED_DEFAULT_START |
                     how.api * FIRED_API | how.closes * FIRED_CLOSES;
    uint64_t a = EVENT_PUT(EV_FIRED, event, f->event) | EVENT_PUT(EV_FIRED, alarm, f->alarm) |
                 EVENT_PUT(EV_FIRED, tid, f->tid) | EVENT_PUT(EV_FIRED, flags, flags);
    uint64_t more[3] = {f->requested, f->moment.icount, f->phase != 0 ? f->phase : f->pass};
    uint64_t clock = recorder_emit_long(t, EV_FIRED, a, f->moment.ip, more, 1);
    struct stream_header *h = recorder_stream.header;
    atomic_fetch_add_explicit(&h->fired_total, 1, memory_order_relaxed);
    if (how.ignored)
        atomic_fetch_add_explicit(&h->ignored_total, 1, memory_order_relaxed);
    return clock;
}

static void mark_event(struct recorder_thread *t, const struct ctl_fired *f)
{
    uint32_t code = f->event == CTL_THREADID      ? EV_THREADID
                    : f->event == CTL_STATS_EMIT  ? EV_STATS_EMIT
                    : f->event == CTL_STATS_RESET ? EV_STATS_RESET
                                                  : EV_STATS_EMIT_RESET;
    if (code == EV_THREADID)
        (void)recorder_emit(t, code, f->alarm, f->tid);
    else
        counters_stats(t, code, f->alarm, f->tid);
}

struct firing {
    const struct ctl_fired *fired;
    bool api;
};

static void fired_on_thread(void *p)
{
    const struct firing *firing = p;
    struct recorder_thread *t = &recorder_self;
    struct preload_thread *pt = t->preload_thread;
    struct ctl_fired known = *firing->fired, *f = &known;
    bool start = false, api = firing->api;
    if (pt->counting.late) /* counting began somewhere in mid-thread: hide these counts */
        f->requested = f->moment.icount = CTL_UNKNOWN;
    int kind = f->precond ? -1 : window_kind(f->event, &start);
    bool bcast = f->bcast || f->default_start;
    windows_follow(t, pt);
    t->epoch = atomic_load_explicit(&recorder_epoch, memory_order_acquire);
    struct window_edge e = {.requested = f->requested,
                            .actual = f->moment.icount,
                            .alarm = f->alarm,
                            .kind = (uint8_t)(kind < 0 ? 0 : kind),
                            .reason = api ? RT_WINDOW_API : RT_WINDOW_ALARM};
    bool ignored =
        kind >= 0 && !f->default_start && windows_would_ignore(t, pt, start, bcast, e.kind);
    bool closes = kind >= 0 && !ignored && bcast && !f->default_start &&
                  (!start || (t->recording && pt->kind != e.kind));
    affinity_tell_first(t, pt);
    e.clock = emit_fired(t, f, (struct recorded){ignored, api, closes});
    controller_log_fired(f, ignored);
    if (kind < 0 && !f->precond)
        mark_event(t, f);
    if (kind >= 0 && !ignored && !(f->default_start && t->recording))
        (void)windows_apply(t, pt, start, bcast, f->default_start, &e);
}

void control_alarm_fired(void *context, const struct ctl_fired *f)
{
    (void)context;
    struct preload_thread *pt = recorder_self.preload_thread;
    if (pt == NULL || !recorder_is_on())
        return;
    pt->fired = true;
    if (f->alarm != CTL_NO_ALARM)
        pt->asked += ctl_config_alarm(process.config, f->alarm)->type == CTL_INTERACTIVE;
    run_with_room(NULL, fired_on_thread, &(struct firing){f, false});
}

bool control_would_change(struct recorder_thread *t, bool open, bool bcast)
{
    (void)recorder_active(t); /* applies the windows that other threads opened and closed */
    struct preload_thread *pt = t->preload_thread;
    return pt != NULL && recorder_is_on() &&
           !windows_would_ignore(t, pt, open, bcast, WINDOW_REGION);
}

void control_event(struct recorder_thread *t, unsigned event, bool bcast, uintptr_t ip)
{
    process_force();
    struct preload_thread *pt = thread_self();
    if (pt == NULL || !recorder_is_on())
        return;
    struct ctl_fired f = {.alarm = CTL_NO_ALARM,
                          .chain = CTL_NO_ALARM,
                          .event = (uint8_t)event,
                          .bcast = bcast,
                          .precond = event == CTL_PRECOND,
                          .tid = t->tid,
                          .requested = CTL_UNKNOWN,
                          .moment = moment_now(ip)};
    uint64_t mask = sys_block_signals();
    run_with_room(NULL, fired_on_thread, &(struct firing){&f, true});
    sys_restore_signals(mask);
}

void control_edge(struct recorder_thread *t, bool open, bool bcast, uintptr_t ip)
{
    control_event(t, open ? CTL_START : CTL_STOP, bcast, ip);
}
