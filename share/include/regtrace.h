/* SPDX-License-Identifier: BSD-3-Clause
 * Named calls for programs that want to steer or mark their own trace (C and C++).
 *
 * No library to link: every function is a weak symbol that libregtrace.so defines when it is preloaded. Without it
 * the calls do nothing (a load and a test each), in static programs too. Fortran: `use regtrace` from regtrace.f90.
 * All are thread-safe, async-signal-safe and change nothing in the program. C90 and C++98 can include this. */
#ifndef REGTRACE_H
#define REGTRACE_H

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)
/* Open (close) a window for the calling thread; bcast != 0: for every thread of the process. A start inside a window
 * and a stop outside one change nothing and are recorded as ignored; a start for all while some threads record opens a
 * window for the others. From gdb: `call (void)regtrace_start(1)`. */
extern void regtrace_start(int bcast) __attribute__((weak));
extern void regtrace_stop(int bcast) __attribute__((weak));

/* Fire an event of the control language, as if an alarm of that thread had fired. thread: the
 * number of a thread (0 is the main thread), or REGTRACE_THIS_THREAD. Another thread fires the
 * event itself when our signal reaches it; several events fire in the order of the calls. If there
 * is no such thread, or it has ended, the event is left out; regtrace.log says so once. bcast != 0:
 * the event is for every thread of the process. regtrace_start(B) is the same as
 * regtrace_fire(REGTRACE_EVENT_START, REGTRACE_THIS_THREAD, B). */
#define REGTRACE_THIS_THREAD (-1)
#define REGTRACE_EVENT_START 0
#define REGTRACE_EVENT_STOP 1
#define REGTRACE_EVENT_PRECOND 2
#define REGTRACE_EVENT_THREADID 3
#define REGTRACE_EVENT_WARMUP_START 4
#define REGTRACE_EVENT_WARMUP_STOP 5
#define REGTRACE_EVENT_PROLOG_START 6
#define REGTRACE_EVENT_PROLOG_STOP 7
#define REGTRACE_EVENT_EPILOG_START 8
#define REGTRACE_EVENT_EPILOG_STOP 9
#define REGTRACE_EVENT_STATS_EMIT 10
#define REGTRACE_EVENT_STATS_RESET 11
#define REGTRACE_EVENT_STATS_EMIT_RESET 12
extern void regtrace_fire(int event, int thread, int bcast) __attribute__((weak));

/* Begin (end) a named region. Begin fires the alarm `pcontrol:NAME` and, in windows, pushes NAME on
 * the thread's region channel. End pops it and fires the alarm `pcontrol:end=NAME`. So the chain
 * `start:pcontrol:NAME,stop:pcontrol:end=NAME,repeat` makes each region a window that contains both
 * ends of the region. NAME: NUL-terminated, at most 1023 bytes, copied. */
extern void regtrace_region_begin(const char *name) __attribute__((weak));
extern void regtrace_region_end(const char *name) __attribute__((weak));

/* Marks, as ovni has them. type: 0 to 99. flags: 0 single (set), 1 stack (push, pop). value: > 0.
 * Types and labels are kept outside windows too, and before there are any, also for children of fork; values are recorded in
 * windows. */
#define REGTRACE_MARK_SINGLE 0L
#define REGTRACE_MARK_STACK 1L
extern void regtrace_mark_type(int type, long flags, const char *title) __attribute__((weak));
extern void regtrace_mark_label(int type, long value, const char *label) __attribute__((weak));
extern void regtrace_mark_push(int type, long value) __attribute__((weak));
extern void regtrace_mark_pop(int type, long value) __attribute__((weak));
extern void regtrace_mark_set(int type, long value) __attribute__((weak));
#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

/* What programs call: nothing happens where the toolkit is not preloaded. */
#ifndef REGTRACE_NO_GUARDS

/* The address of a function, 0 where it is not there. On x86-64 always out of the global offset table: any other
 * reference in a program linked with -no-pie makes the linker put 0 for good, and the preloaded function would
 * never be seen. */
#if defined(__x86_64__) && !defined(__ILP32__)
#define REGTRACE_FIND(pointer, function)                                                           \
    __asm__(".weak " #function "\n\tmovq " #function "@GOTPCREL(%%rip), %0" : "=r"(pointer))
#else
#define REGTRACE_FIND(pointer, function) (pointer) = (function)
#endif

#define REGTRACE_GUARD(call, function, parameters, arguments)                                      \
    static __inline__                                                                              \
        __attribute__((always_inline, unused, no_instrument_function)) void call parameters        \
    {                                                                                              \
        void(*present) parameters;                                                                 \
        REGTRACE_FIND(present, function);                                                          \
        if (present)                                                                               \
            present arguments;                                                                     \
    }
REGTRACE_GUARD(regtrace_guard_start, regtrace_start, (int bcast), (bcast))
REGTRACE_GUARD(regtrace_guard_stop, regtrace_stop, (int bcast), (bcast))
REGTRACE_GUARD(regtrace_guard_fire, regtrace_fire, (int event, int thread, int bcast),
               (event, thread, bcast))
REGTRACE_GUARD(regtrace_guard_region_begin, regtrace_region_begin, (const char *name), (name))
REGTRACE_GUARD(regtrace_guard_region_end, regtrace_region_end, (const char *name), (name))
REGTRACE_GUARD(regtrace_guard_mark_type, regtrace_mark_type,
               (int type, long flags, const char *title), (type, flags, title))
REGTRACE_GUARD(regtrace_guard_mark_label, regtrace_mark_label,
               (int type, long value, const char *label), (type, value, label))
REGTRACE_GUARD(regtrace_guard_mark_push, regtrace_mark_push, (int type, long value), (type, value))
REGTRACE_GUARD(regtrace_guard_mark_pop, regtrace_mark_pop, (int type, long value), (type, value))
REGTRACE_GUARD(regtrace_guard_mark_set, regtrace_mark_set, (int type, long value), (type, value))
#undef REGTRACE_GUARD
#undef REGTRACE_FIND

#define regtrace_start(bcast) regtrace_guard_start(bcast)
#define regtrace_stop(bcast) regtrace_guard_stop(bcast)
#define regtrace_fire(event, thread, bcast) regtrace_guard_fire(event, thread, bcast)
#define regtrace_region_begin(name) regtrace_guard_region_begin(name)
#define regtrace_region_end(name) regtrace_guard_region_end(name)
#define regtrace_mark_type(type, flags, title) regtrace_guard_mark_type(type, flags, title)
#define regtrace_mark_label(type, value, label) regtrace_guard_mark_label(type, value, label)
#define regtrace_mark_push(type, value) regtrace_guard_mark_push(type, value)
#define regtrace_mark_pop(type, value) regtrace_guard_mark_pop(type, value)
#define regtrace_mark_set(type, value) regtrace_guard_mark_set(type, value)
#endif

#endif
