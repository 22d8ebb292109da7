/* SPDX-License-Identifier: BSD-3-Clause
 * Prints messages and progress of the regtrace command, and checks its output at the end. */
#include "base/clock.h"
#include "tools/tools.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

static void print_diagnostic(const char *command, const char *level, const char *fmt, va_list args)
{
    (void)fflush(stdout);
    (void)fprintf(stderr, "regtrace%s%s: %s", command[0] != '\0' ? " " : "", command, level);
    (void)vfprintf(stderr, fmt, args);
    (void)fputc('\n', stderr);
}

void tool_error(const char *command, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    print_diagnostic(command, "", fmt, args);
    va_end(args);
}

void tool_warning(const char *command, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    print_diagnostic(command, "warning: ", fmt, args);
    va_end(args);
}

#define PROGRESS_DELAY_NS 1000000000u
#define PROGRESS_EVERY_NS 100000000u

void progress_begin(struct progress *p, const char *what)
{
    *p = (struct progress){.what = what, .terminal = isatty(STDERR_FILENO) == 1};
    p->started_ns = p->shown_ns = clock_monotonic_ns();
}

void progress_update(struct progress *p, uint64_t done, uint64_t total)
{
    if (!p->terminal)
        return;
    uint64_t now = clock_monotonic_ns();
    if (now - p->started_ns < PROGRESS_DELAY_NS || now - p->shown_ns < PROGRESS_EVERY_NS)
        return;
    p->shown_ns = now;
    p->visible = true;
    if (total > 0)
        (void)fprintf(stderr, "\r%s: %3.0f %%\033[K", p->what,
                      100.0 * (double)done / (double)total);
    else
        (void)fprintf(stderr, "\r%s: %llu\033[K", p->what, (unsigned long long)done);
    (void)fflush(stderr);
}

void progress_end(struct progress *p)
{
    if (p->visible)
        (void)fputs("\r\033[K", stderr);
    p->visible = false;
}

int output_finish(const char *command, int code)
{
    errno = 0;
    if (fflush(stdout) == 0 && ferror(stdout) == 0)
        return code;
    if (errno != EPIPE)
        tool_error(command, "the output could not be written: %s",
                   errno != 0 ? strerror(errno) : "write error");
    return TOOL_FAILURE;
}
