/* SPDX-License-Identifier: BSD-3-Clause
 * Named calls for programs that want to steer or mark their own trace (C and C++).
 *
 * No library to link: every function is a weak symbol that libregtrace.so defines when it is preloaded. Without it
 * the inline versions below do nothing. Fortran: `use regtrace` from regtrace.f90, or call regtrace_region_begin_f.
 * All are thread-safe, async-signal-safe and change nothing in the program. */
#ifndef REGTRACE_H
#define REGTRACE_H

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)
/* Open (close) a window for the calling thread; bcast != 0: for every thread of the process. A start inside a window
 * and a stop outside one change nothing and are recorded as ignored. From gdb: `call (void)regtrace_start(1)`. */
extern void regtrace_start(int bcast) __attribute__((weak));
extern void regtrace_stop(int bcast) __attribute__((weak));

/* Begin (end) a named region: begin fires the alarm `pcontrol:NAME` and, in windows, pushes NAME on the
 * thread's region channel; end pops it. NAME: NUL-terminated, at most 1023 bytes, copied. */
extern void regtrace_region_begin(const char *name) __attribute__((weak));
extern void regtrace_region_end(const char *name) __attribute__((weak));

/* Marks, as ovni has them. type: 0 to 99. flags: 0 single (set), 1 stack (push, pop). value: > 0.
 * Types and labels are kept outside windows too; values are recorded in windows. */
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
#define REGTRACE_GUARDED(f, ...) ((f) ? (f)(__VA_ARGS__) : (void)0)
#define regtrace_start(b) REGTRACE_GUARDED(regtrace_start, b)
#define regtrace_stop(b) REGTRACE_GUARDED(regtrace_stop, b)
#define regtrace_region_begin(n) REGTRACE_GUARDED(regtrace_region_begin, n)
#define regtrace_region_end(n) REGTRACE_GUARDED(regtrace_region_end, n)
#define regtrace_mark_type(t, f, s) REGTRACE_GUARDED(regtrace_mark_type, t, f, s)
#define regtrace_mark_label(t, v, s) REGTRACE_GUARDED(regtrace_mark_label, t, v, s)
#define regtrace_mark_push(t, v) REGTRACE_GUARDED(regtrace_mark_push, t, v)
#define regtrace_mark_pop(t, v) REGTRACE_GUARDED(regtrace_mark_pop, t, v)
#define regtrace_mark_set(t, v) REGTRACE_GUARDED(regtrace_mark_set, t, v)
#endif

#endif
