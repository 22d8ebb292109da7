/* SPDX-License-Identifier: BSD-3-Clause
 * A small TAP producer for tests in C: one header, no library. Call it from one thread only. */
#ifndef REGTRACE_T_TAP_H
#define REGTRACE_T_TAP_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int tap_count, tap_failed, tap_planned = -1;

/* Returns how many times slower than the machine the program runs (under valgrind). Tests multiply
 * their waits by it and divide their loops by it. */
static inline int slowdown(void)
{
    const char *text = getenv("REGTRACE_TEST_SLOWDOWN");
    int times = text != NULL ? atoi(text) : 1;
    return times > 1 ? times : 1;
}

/* Declares the number of tests, before the first; done_testing() then checks it. */
static inline void plan(int n)
{
    tap_planned = n;
    printf("1..%d\n", n);
    fflush(stdout);
}

__attribute__((format(printf, 1, 2))) static inline void diag(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fputs("# ", stdout);
    vprintf(fmt, ap);
    putchar('\n');
    va_end(ap);
    fflush(stdout);
}

__attribute__((format(printf, 2, 3))) static inline bool ok(bool passed, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    printf("%sok %d - ", passed ? "" : "not ", ++tap_count);
    vprintf(fmt, ap);
    putchar('\n');
    va_end(ap);
    tap_failed += !passed;
    fflush(stdout);
    return passed;
}

static inline bool is_str(const char *got, const char *want, const char *name)
{
    bool same = got != NULL && want != NULL && strcmp(got, want) == 0;
    if (!ok(same || got == want, "%s", name))
        diag("got \"%s\", want \"%s\"", got != NULL ? got : "(null)",
             want != NULL ? want : "(null)");
    return same;
}

static inline bool is_int(intmax_t got, intmax_t want, const char *name)
{
    if (!ok(got == want, "%s", name))
        diag("got %" PRIdMAX ", want %" PRIdMAX, got, want);
    return got == want;
}

static inline bool is_u64(uint64_t got, uint64_t want, const char *name)
{
    if (!ok(got == want, "%s", name))
        diag("got %" PRIu64 ", want %" PRIu64, got, want);
    return got == want;
}

/* Reports a test that cannot run here. Every summary shows the reason. */
static inline void skip(const char *name, const char *why)
{
    printf("ok %d - %s # SKIP %s\n", ++tap_count, name, why);
    fflush(stdout);
}

/* Prints the plan if there was none; returns the exit status for main(). Call it last. */
static inline int done_testing(void)
{
    if (tap_planned < 0)
        printf("1..%d\n", tap_count);
    else if (tap_planned != tap_count) {
        printf("not ok %d - planned %d tests, ran %d\n", tap_count + 1, tap_planned, tap_count);
        tap_failed++;
    }
    fflush(stdout);
    return tap_failed != 0;
}

#endif
