/* SPDX-License-Identifier: BSD-3-Clause
 * Error texts handed to the caller: the callee fills the caller's struct and returns -errno. */
#ifndef REGTRACE_BASE_ERROR_H
#define REGTRACE_BASE_ERROR_H

#include <stdarg.h>
#include <stddef.h>

#define RT_MUST_CHECK __attribute__((warn_unused_result))
#define RT_COLD __attribute__((cold, noinline))
/* Declared so, data is reached without the global offset table. */
#define RT_HIDDEN __attribute__((visibility("hidden")))
#define RT_LIKELY(x) __builtin_expect(!!(x), 1)
#define RT_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* A message for a person: always NUL-terminated, never longer than the array. Owned by the caller;
 * an all-zero struct is "no error". Every function here takes e == NULL and does nothing then. */
struct rt_error {
    char text[2048];
};

/* Set or replace the text. Uses vsnprintf: not for signal handlers. Keeps errno. */
void rt_error_set(struct rt_error *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Put "what: " in front of the text, so that levels of callers give a chain of causes. Keeps errno. */
void rt_error_prefix(struct rt_error *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
