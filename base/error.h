/* SPDX-License-Identifier: BSD-3-Clause
 * Error messages: the callee fills the caller's struct and returns -errno. */
#ifndef REGTRACE_BASE_ERROR_H
#define REGTRACE_BASE_ERROR_H

#include <stdarg.h>
#include <stddef.h>

#define RT_MUST_CHECK __attribute__((warn_unused_result))
#define RT_COLD __attribute__((cold, noinline))
/* Code reaches hidden data without the global offset table. */
#define RT_HIDDEN __attribute__((visibility("hidden")))
#define RT_LIKELY(x) __builtin_expect(!!(x), 1)
#define RT_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* A message for a person. The text is always NUL-terminated and is cut to the array's size. The
 * caller owns the struct; an all-zero struct means "no error". Every function here accepts e ==
 * NULL and then does nothing. */
struct rt_error {
    char text[2048];
};

/* Sets or replaces the text. Uses vsnprintf: do not call it from signal handlers. Preserves
 * errno. */
void rt_error_set(struct rt_error *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Puts the formatted text and ": " before the message, so that levels of callers build a chain of
 * causes. Preserves errno. */
void rt_error_prefix(struct rt_error *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
