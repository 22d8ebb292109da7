/* SPDX-License-Identifier: BSD-3-Clause
 * Implements the named calls of share/include/regtrace.h, for C, C++, Fortran (bind(C)) and gdb. */
#include "preload/count/counting.h"
#include "preload/life.h"
#include "preload/memory/memory.h"
#include "preload/process.h"
#include "preload/thread.h"
#include "preload/window/control_events.h"
#include "preload/window/interrupts.h"
#include "preload/window/marks.h"
#include "preload/window/triggers.h"

#include "base/return_address.h"

#define REGTRACE_NO_GUARDS
#include "share/include/regtrace.h"

#define CALLER ((uintptr_t)__builtin_return_address(0))

/* regtrace.h and the control language number events alike. */
_Static_assert(REGTRACE_EVENT_START == (int)CTL_START, "start");
_Static_assert(REGTRACE_EVENT_STOP == (int)CTL_STOP, "stop");
_Static_assert(REGTRACE_EVENT_PRECOND == (int)CTL_PRECOND, "precond");
_Static_assert(REGTRACE_EVENT_THREADID == (int)CTL_THREADID, "threadid");
_Static_assert(REGTRACE_EVENT_WARMUP_START == (int)CTL_WARMUP_START, "warmup-start");
_Static_assert(REGTRACE_EVENT_EPILOG_STOP == (int)CTL_EPILOG_STOP, "epilog-stop");
_Static_assert(REGTRACE_EVENT_STATS_EMIT_RESET == (int)CTL_STATS_EMIT_RESET, "stats-emit-reset");
_Static_assert(REGTRACE_EVENT_STATS_EMIT_RESET + 1 == (int)CTL_EVENT_COUNT, "all events");

/* Returns our number of the calling thread, and attaches the thread if necessary. Returns
 * UINT32_MAX if nothing is recorded. */
static uint32_t own_tid(void)
{
    process_force();
    return thread_self() != NULL ? recorder_self.tid : UINT32_MAX;
}

RECORDER_ENTRY PRELOAD_EXPORT void regtrace_start(int bcast)
{
    const unsigned own = counting_own_enter();
    struct memory_position before = memory_position_of_call(__builtin_frame_address(0));
    if (process.traced)
        control_edge(&recorder_self, true, bcast != 0, CALLER);
    memory_position_restore(before);
    counting_own_leave(own);
}

RECORDER_ENTRY PRELOAD_EXPORT void regtrace_stop(int bcast)
{
    const unsigned own = counting_own_enter();
    if (process.traced)
        control_edge(&recorder_self, false, bcast != 0, CALLER);
    counting_own_leave(own);
}

RECORDER_ENTRY PRELOAD_EXPORT void regtrace_fire(int event, int thread, int bcast)
{
    const unsigned own = counting_own_enter();
    struct memory_position before = memory_position_of_call(__builtin_frame_address(0));
    bool known = event >= 0 && event < CTL_EVENT_COUNT;
    if (process.traced && known &&
        (thread == REGTRACE_THIS_THREAD || (uint32_t)thread == own_tid()))
        control_event(&recorder_self, (unsigned)event, bcast != 0, CALLER);
    else if (process.traced && known)
        requests_fire((uint32_t)thread, (enum ctl_event)event, bcast != 0, CALLER);
    memory_position_restore(before);
    counting_own_leave(own);
}

RECORDER_ENTRY PRELOAD_EXPORT void regtrace_region_begin(const char *name)
{
    const unsigned own = counting_own_enter();
    struct memory_position before = memory_position_of_call(__builtin_frame_address(0));
    region_begin(name, return_address_at(__builtin_frame_address(0)));
    memory_position_restore(before);
    counting_own_leave(own);
}

RECORDER_ENTRY PRELOAD_EXPORT void regtrace_region_end(const char *name)
{
    const unsigned own = counting_own_enter();
    struct memory_position before = memory_position_of_call(__builtin_frame_address(0));
    region_end(name, return_address_at(__builtin_frame_address(0)));
    memory_position_restore(before);
    counting_own_leave(own);
}

RECORDER_ENTRY PRELOAD_EXPORT void regtrace_mark_type(int type, long flags, const char *title)
{
    const unsigned own = counting_own_enter();
    marks_mean(EV_MARK_TYPE, type, flags, title);
    counting_own_leave(own);
}

RECORDER_ENTRY PRELOAD_EXPORT void regtrace_mark_label(int type, long value, const char *label)
{
    const unsigned own = counting_own_enter();
    marks_mean(EV_MARK_LABEL, type, value, label);
    counting_own_leave(own);
}

__attribute__((always_inline)) static inline void mark(uint32_t code, int type, long value)
{
    struct recorder_thread *t = &recorder_self;
    const unsigned own = counting_own_enter();
    if (RT_LIKELY(process.traced) && recorder_active(t))
        recorder_put(t, code, (uint32_t)type, (uint64_t)value);
    counting_own_leave(own);
}

RECORDER_ENTRY PRELOAD_EXPORT void regtrace_mark_push(int type, long value)
{
    mark(EV_MARK_PUSH, type, value);
}

RECORDER_ENTRY PRELOAD_EXPORT void regtrace_mark_pop(int type, long value)
{
    mark(EV_MARK_POP, type, value);
}

RECORDER_ENTRY PRELOAD_EXPORT void regtrace_mark_set(int type, long value)
{
    mark(EV_MARK_SET, type, value);
}
