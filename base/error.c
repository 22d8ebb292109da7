/* SPDX-License-Identifier: BSD-3-Clause
 * Error messages: bounded formatting into the caller's struct. */
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void rt_error_set(struct rt_error *e, const char *fmt, ...)
{
    if (e == NULL)
        return;
    int keep = errno;
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(e->text, sizeof e->text, fmt, ap);
    va_end(ap);
    errno = keep;
}

void rt_error_prefix(struct rt_error *e, const char *fmt, ...)
{
    if (e == NULL)
        return;
    int keep = errno;
    char old[sizeof e->text];
    memcpy(old, e->text, sizeof old);
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(e->text, sizeof e->text, fmt, ap);
    va_end(ap);
    size_t used = n < 0 ? 0 : (size_t)n;
    if (used < sizeof e->text - 1)
        (void)snprintf(e->text + used, sizeof e->text - used, ": %s", old);
    errno = keep;
}
