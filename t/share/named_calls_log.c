/* SPDX-License-Identifier: BSD-3-Clause
 * Stands in for libregtrace.so in t/share/named_calls.t: writes each named call to stderr. */
#include <stdio.h>

#define REGTRACE_NO_GUARDS
#include "regtrace.h"

void regtrace_start(int bcast)
{
    fprintf(stderr, "start %d\n", bcast);
}

void regtrace_stop(int bcast)
{
    fprintf(stderr, "stop %d\n", bcast);
}

void regtrace_fire(int event, int thread, int bcast)
{
    fprintf(stderr, "fire %d %d %d\n", event, thread, bcast);
}

void regtrace_region_begin(const char *name)
{
    fprintf(stderr, "begin %s.\n", name);
}

void regtrace_region_end(const char *name)
{
    fprintf(stderr, "end %s.\n", name);
}

void regtrace_mark_type(int type, long flags, const char *title)
{
    fprintf(stderr, "type %d %ld %s.\n", type, flags, title);
}

void regtrace_mark_label(int type, long value, const char *label)
{
    fprintf(stderr, "label %d %ld %s.\n", type, value, label);
}

void regtrace_mark_push(int type, long value)
{
    fprintf(stderr, "push %d %ld\n", type, value);
}

void regtrace_mark_pop(int type, long value)
{
    fprintf(stderr, "pop %d %ld\n", type, value);
}

void regtrace_mark_set(int type, long value)
{
    fprintf(stderr, "set %d %ld\n", type, value);
}
