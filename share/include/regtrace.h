/* SPDX-License-Identifier: BSD-3-Clause
 * Declares the named calls with which a C or C++ program steers or marks its own trace.
 *
 * There is no library to link: every function is a weak symbol that libregtrace.so defines if it is
 * preloaded. Otherwise a call does nothing and costs a load and a test, in static programs too.
 * Fortran programs compile regtrace.f90 and `use regtrace`.
 *
 * All functions are thread-safe and async-signal-safe, and change nothing in the program. C90 and
 * C++98 can include this header. */
#ifndef REGTRACE_H
#define REGTRACE_H

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)
/* Opens (closes) a window of the calling thread or, with bcast != 0, of every thread of the
 * process. A start inside a window and a stop outside one change nothing and are recorded as
 * ignored. A start for every thread opens a window for those that have none. From gdb:
 * `call (void)regtrace_start(1)`. */
extern void regtrace_start(int bcast) __attribute__((weak));
extern void regtrace_stop(int bcast) __attribute__((weak));

/* Fires an event of the control language in a thread, as if an alarm of the thread had fired. It
 * corresponds to `Fire` of Intel SDE's controller (Pin's InstLib control_manager).
 *
 * - event: REGTRACE_EVENT_START to REGTRACE_EVENT_STATS_EMIT_RESET; others are ignored
 * - thread: the number of a thread (0 is the main thread), or REGTRACE_THIS_THREAD
 * - bcast: if not 0, the event is for every thread of the process
 *
 * Another thread fires the event itself when regtrace's signal reaches it, several events in the
 * order of the calls. The event is left out if there is no such thread, if it has ended, or if too
 * many events wait; regtrace.log says so once. regtrace_start(B) is the same as
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

/* Begins (ends) a named region of the calling thread. Begin fires the alarm `pcontrol:NAME` and, in
 * windows, pushes NAME on the thread's region channel. End pops it and fires the alarm
 * `pcontrol:end=NAME`. So the chain `start:pcontrol:NAME,stop:pcontrol:end=NAME,repeat` makes each
 * region a window that contains both ends of the region. name: NUL-terminated, at most 1023 bytes,
 * copied. A name that is NULL, empty or not readable is ignored. */
extern void regtrace_region_begin(const char *name) __attribute__((weak));
extern void regtrace_region_end(const char *name) __attribute__((weak));

/* Marks, as in ovni: numbers that the program gives a type of its own.
 *
 * - type: 0 to 99
 * - flags: REGTRACE_MARK_SINGLE (for set) or REGTRACE_MARK_STACK (for push and pop)
 * - value: greater than 0
 * - title, label: NUL-terminated, copied
 *
 * Titles of types and labels of values are recorded outside windows too. They are cached until the
 * process records, and recorded again in each child of fork. Values are recorded only in
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

/* Programs call these inline guards, which do nothing if libregtrace.so is not preloaded. With
 * REGTRACE_NO_GUARDS they call the weak functions, which are then NULL if it is not. */
#ifndef REGTRACE_NO_GUARDS

/* Sets `pointer` to the address of a function, or to 0 if nothing defines it. On x86-64 the address
 * always comes from the global offset table: in a program linked with -no-pie, the linker resolves
 * any other reference to 0 for good, and the program would never see the preloaded function. */
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
