/* SPDX-License-Identifier: BSD-3-Clause
 * Makes every named call once, for t/share/named_calls.t; valid C90 and C++98. */
#include <stdio.h>

#include "regtrace.h"

int main(void)
{
    regtrace_start(0);
    regtrace_mark_type(7, REGTRACE_MARK_STACK, "phases of the day");
    regtrace_mark_label(7, 3L, "noon");
    regtrace_region_begin("solve");
    regtrace_mark_push(7, 3L);
    regtrace_mark_pop(7, 3L);
    regtrace_mark_set(8, 5000000000L);
    regtrace_region_end("solve");
    regtrace_stop(0);
    regtrace_start(1);
    regtrace_stop(1);
    regtrace_fire(REGTRACE_EVENT_WARMUP_START, 3, 1);
    regtrace_fire(REGTRACE_EVENT_STATS_EMIT, REGTRACE_THIS_THREAD, 0);
    puts("done");
    return 0;
}
