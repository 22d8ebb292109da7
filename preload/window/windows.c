/* SPDX-License-Identifier: BSD-3-Clause
 * Windows: opens and closes them when alarms fire, in one thread or in all.
 *
 * Recording is one flag for each thread. A broadcast edge changes the shared state here and
 * increments recorder_epoch. Each other thread follows when it next asks recorder_active(): it
 * writes its own open or close record, which says how late it was. No thread waits for another. */
#include "preload/count/counting.h"
#include "base/format/event_fields.h"
#include "preload/window/windows.h"

#include "preload/libc/interpose.h"
#include "preload/life.h"
#include "preload/process.h"
#include "preload/stack/with_room.h"
#include "preload/thread.h"
#include "preload/window/interrupts.h"
#include "preload/window/parts.h"

#include "base/spin.h"
#include "base/sys.h"
#include "mpi/mpi.h"

/* Shared by all threads, under `lock`, whose holder blocks signals. */
static struct {
    spin_lock lock;
    bool bcast_open;
    /* after the first broadcast close, a default start opens a window of its own thread alone */
    bool default_closed;
    uint32_t bcast_number; /* broadcast windows so far; tells them apart */
    /* taken by the first thread that opens the window, -1 until then, so that ordinals have no
     * gaps */
    int32_t bcast_ordinal;
    uint32_t left; /* threads that left the broadcast window by themselves and do not record */
    uint32_t closes;
    _Atomic bool alone; /* a thread has opened its own window since the last broadcast close */
    struct window_edge opened, closed;
} windows = {.bcast_ordinal = -1};

static void lock_windows(void)
{
    spin_take(&windows.lock);
}

static void unlock_windows(void)
{
    spin_give(&windows.lock);
}

static int32_t next_ordinal(void)
{
    return (int32_t)atomic_fetch_add(&recorder_stream.header->windows_opened, 1);
}

/* Is any window open? Ignores threads that still have to follow the last broadcast close. The
 * caller holds the lock. */
static bool anything_is_open(void)
{
    return windows.bcast_open || (atomic_load(&windows.alone) &&
                                  atomic_load(&recorder_stream.header->recording_threads) != 0);
}

/* Called under the lock. */
static int32_t broadcast_ordinal(void)
{
    if (windows.bcast_ordinal < 0)
        windows.bcast_ordinal = next_ordinal();
    return windows.bcast_ordinal;
}

static void open_window(struct recorder_thread *t, struct preload_thread *pt, int32_t ordinal,
                        bool bcast, bool firing, const struct window_edge *e)
{
    parts_window_prepare(t, pt);
    uint64_t now = clock_ticks();
    /* A thread that began while the window was open is late from its own begin on. A thread that we
     * have not seen begin was there before anything was recorded: its row's `started` is when it
     * was first seen. */
    bool seen_begin = t->row != NULL && t->row->start_routine != 0;
    uint64_t from = seen_begin && t->row->started > e->clock ? t->row->started : e->clock;
    uint64_t late = firing || now < from ? 0 : now - from;
    uint64_t a = EVENT_PUT(EV_WINDOW_OPEN, ordinal, ordinal) |
                 EVENT_PUT(EV_WINDOW_OPEN, bcast, bcast) |
                 EVENT_PUT(EV_WINDOW_OPEN, firing, firing);
    uint64_t more[3] = {firing ? e->requested : CTL_UNKNOWN,
                        firing ? e->actual : counting_known(pt),
                        EVENT_PUT_MORE(EV_WINDOW_OPEN, alarm, e->alarm) |
                            EVENT_PUT_MORE(EV_WINDOW_OPEN, kind, e->kind)};
    pt->kind = e->kind;
    if (!bcast)
        atomic_store(&windows.alone, true);
    recorder_set_window(t, ordinal, 1);
    (void)recorder_emit_long(t, EV_WINDOW_OPEN, a, late, more, 1);
    atomic_fetch_add_explicit(&recorder_stream.header->recording_threads, 1, memory_order_relaxed);
    parts_window_opened(t, pt);
}

static void close_window(struct recorder_thread *t, struct preload_thread *pt, bool firing,
                         const struct window_edge *e)
{
    /* The thread has recorded nothing since another one closed the window: it has waited or
     * computed. Its calls, functions and window end with that edge. */
    recorder_set_latest(t, firing ? 0 : e->clock);
    parts_window_closes(t, pt);
    uint64_t now = recorder_clock(t);
    uint64_t late = firing || now < e->clock ? 0 : now - e->clock;
    uint64_t more[3] = {firing ? e->requested : CTL_UNKNOWN,
                        firing ? e->actual : counting_known(pt),
                        EVENT_PUT_MORE(EV_WINDOW_CLOSE, alarm, e->alarm) |
                            EVENT_PUT_MORE(EV_WINDOW_CLOSE, kind, pt->kind)};
    uint64_t a = EVENT_PUT(EV_WINDOW_CLOSE, ordinal, t->window) |
                 EVENT_PUT(EV_WINDOW_CLOSE, reason, e->reason);
    (void)recorder_emit_long(t, EV_WINDOW_CLOSE, a, late, more, 1);
    recorder_set_latest(t, 0);
    recorder_set_window(t, STREAM_NO_WINDOW, 0);
    atomic_fetch_sub_explicit(&recorder_stream.header->recording_threads, 1, memory_order_relaxed);
    parts_window_closed(t, pt);
}

/* Notes that this thread has left the open broadcast window by a stop of its own. The next
 * broadcast start changes nothing for threads that are in that window, but opens a window for this
 * thread. */
static void leave_broadcast(struct preload_thread *pt)
{
    lock_windows();
    if (windows.bcast_open && pt->broadcast.left != windows.bcast_number) {
        windows.left++;
        pt->broadcast.left = windows.bcast_number;
    }
    unlock_windows();
}

/* The thread records again, or has ended: undoes leave_broadcast(). */
static void forget_leaving(struct preload_thread *pt)
{
    if (pt->broadcast.left == 0)
        return;
    lock_windows();
    if (pt->broadcast.left == windows.bcast_number && windows.left > 0)
        windows.left--;
    pt->broadcast.left = 0;
    unlock_windows();
}

void windows_follow(struct recorder_thread *t, struct preload_thread *pt)
{
    lock_windows();
    bool close = windows.closes != pt->broadcast.closes_seen;
    bool open =
        windows.bcast_open && pt->broadcast.last != windows.bcast_number && !ctl_is_helper(t->tid);
    bool join = open && (!t->recording || close);
    struct window_edge closed = windows.closed, opened = windows.opened;
    int32_t ordinal = join ? broadcast_ordinal() : -1;
    pt->broadcast.closes_seen = windows.closes;
    if (open)
        pt->broadcast.last = windows.bcast_number;
    unlock_windows();
    if (close && t->recording)
        close_window(t, pt, false, &closed);
    if (join)
        open_window(t, pt, ordinal, true, false, &opened);
}

static void follow_here(void *p)
{
    windows_follow(p, recorder_self.preload_thread);
}

uint32_t windows_sync(struct recorder_thread *t)
{
    uint32_t epoch = atomic_load_explicit(&recorder_epoch, memory_order_acquire);
    if (t->in_toolkit || !process.traced) {
        if (!process.traced)
            t->epoch = epoch;
        return 0;
    }
    struct preload_thread *pt = thread_self();
    if (pt == NULL || !recorder_is_on()) {
        /* Recording is off for good, unless a start is under way (this is a handler on the thread
         * that makes it): then ask again later. */
        if (atomic_load(&process_start_state) != START_RUNS)
            t->epoch = epoch;
        t->recording = 0;
        return 0;
    }
    t->epoch = epoch;
    uint64_t mask = sys_block_signals();
    run_with_room(NULL, follow_here, t);
    sys_restore_signals(mask);
    return t->recording;
}

/* Interrupts the other threads if they are to be sampled or counted, or their accesses recorded: a
 * thread that computes does not look at the epoch by itself. */
static void bump_epoch(struct recorder_thread *t)
{
    uint32_t before = atomic_fetch_add_explicit(&recorder_epoch, 1, memory_order_acq_rel);
    if (t->epoch == before)
        t->epoch = before + 1;
    if (parts_want_all_threads())
        interrupt_other_threads(NULL);
}

static bool start_broadcast(struct recorder_thread *t, struct preload_thread *pt,
                            const struct window_edge *e, bool by_default)
{
    lock_windows();
    if (by_default && windows.default_closed) {
        unlock_windows();
        open_window(t, pt, next_ordinal(), false, true, e);
        return true;
    }
    /* It is open already: threads that left it get a new window, those in it stay there. */
    bool fresh = !windows.bcast_open || (!by_default && (!t->recording || windows.left != 0));
    if (fresh) {
        windows.bcast_open = true;
        windows.bcast_number++;
        windows.bcast_ordinal = -1;
        windows.left = 0;
        windows.opened = *e;
    }
    bool join = !t->recording && (fresh || by_default);
    int32_t ordinal = join ? broadcast_ordinal() : -1;
    pt->broadcast.last = windows.bcast_number;
    unlock_windows();
    if (fresh)
        bump_epoch(t);
    if (!join)
        return fresh;
    pt->broadcast.left = 0;
    open_window(t, pt, ordinal, true, fresh, e);
    return true;
}

static bool stop_broadcast(struct recorder_thread *t, struct preload_thread *pt,
                           const struct window_edge *e)
{
    lock_windows();
    bool any = anything_is_open();
    if (any) {
        windows.bcast_open = false;
        atomic_store(&windows.alone, false);
        windows.default_closed = true;
        windows.closes++;
        windows.closed = *e;
        pt->broadcast.closes_seen = windows.closes;
    }
    unlock_windows();
    if (!any)
        return false;
    bump_epoch(t);
    if (t->recording)
        close_window(t, pt, true, e);
    return true;
}

bool windows_apply(struct recorder_thread *t, struct preload_thread *pt, bool start, bool bcast,
                   bool by_default, const struct window_edge *e)
{
    if (start) {
        if (t->recording && !bcast && pt->kind == e->kind)
            return false;
        if (t->recording && pt->kind != e->kind) {
            struct window_edge before = *e;
            if (bcast)
                (void)stop_broadcast(t, pt, &before);
            else
                close_window(t, pt, true, &before);
        }
        if (bcast)
            return start_broadcast(t, pt, e, by_default);
        forget_leaving(pt);
        open_window(t, pt, next_ordinal(), false, true, e);
        return true;
    }
    if (e->kind != WINDOW_REGION && (!t->recording || pt->kind != e->kind))
        return false;
    if (bcast)
        return stop_broadcast(t, pt, e);
    if (!t->recording)
        return false;
    close_window(t, pt, true, e);
    leave_broadcast(pt);
    return true;
}

bool windows_would_ignore(const struct recorder_thread *t, const struct preload_thread *pt,
                          bool start, bool bcast, uint8_t kind)
{
    lock_windows();
    bool open = windows.bcast_open, left = windows.left != 0, any = anything_is_open();
    unlock_windows();
    if (start)
        return t->recording && pt->kind == kind && (!bcast || (open && !left));
    if (kind != WINDOW_REGION && (!t->recording || pt->kind != kind))
        return true;
    if (bcast)
        return !any;
    return !t->recording;
}

static void close_here(void *p)
{
    close_window(&recorder_self, recorder_self.preload_thread, true, p);
}

void windows_close_thread(struct recorder_thread *t, unsigned reason, uint64_t icount)
{
    struct preload_thread *pt = t->preload_thread;
    if (pt == NULL || !recorder_is_on())
        return;
    if (!t->recording) {
        uint64_t mask = sys_block_signals();
        forget_leaving(pt);
        sys_restore_signals(mask);
        return;
    }
    struct window_edge e = {.clock = clock_ticks(),
                            .requested = CTL_UNKNOWN,
                            .actual = icount,
                            .alarm = CTL_NO_ALARM,
                            .kind = pt->kind,
                            .reason = (uint8_t)reason};
    uint64_t mask = sys_block_signals();
    run_with_room(NULL, close_here, &e);
    sys_restore_signals(mask);
}

/* The window of the thread that forked: other threads of the child may be first to open windows
 * there. */
static struct {
    struct window_edge opened;
    bool shared;
} before_fork;

void windows_forked(struct preload_thread *pt, bool again)
{
    unlock_windows();
    if (!again || windows.bcast_open) {
        before_fork.opened = windows.opened;
        before_fork.shared = windows.bcast_open;
    }
    windows.closes = 0;
    windows.left = 0;
    windows.bcast_number = 0;
    windows.bcast_open = false;
    atomic_store(&windows.alone, false);
    if (pt != NULL)
        pt->broadcast.closes_seen = pt->broadcast.last = pt->broadcast.left = 0;
}

void windows_after_fork(struct recorder_thread *t, struct preload_thread *pt)
{
    struct window_edge e = before_fork.opened;
    e.clock = clock_ticks();
    e.kind = pt->kind;
    if (!pt->was_recording)
        return;
    e.requested = CTL_UNKNOWN;
    e.actual = counting_known(pt);
    if (before_fork.shared) {
        pt->was_recording = false;
        (void)start_broadcast(t, pt, &e, false);
    } else {
        windows_reopen(t, pt);
    }
}

void windows_reopen(struct recorder_thread *t, struct preload_thread *pt)
{
    struct window_edge e = {.clock = clock_ticks(),
                            .requested = CTL_UNKNOWN,
                            .actual = counting_known(pt),
                            .alarm = CTL_NO_ALARM,
                            .kind = pt->kind};
    pt->was_recording = false;
    if (!t->recording)
        open_window(t, pt, next_ordinal(), false, true, &e);
}
