/* SPDX-License-Identifier: BSD-3-Clause
 * Prints what recording has cost the program. */
#include "tools/report/report.h"

#include <inttypes.h>
#include <stdio.h>

void report_overhead_print(FILE *out, const struct report *r)
{
    double events_ns = 0, own_ns = 0, wait_ns = 0, life_ns = 0, cost = 0;
    uint64_t waits = 0, interrupted = 0;
    unsigned n = 0;
    bool parts = false;
    for (size_t i = 0; i < r->rank_count; i++) {
        const struct report_rank *k = &r->ranks[i];
        if (k->error != NULL)
            continue;
        interrupted += k->interrupted;
        parts |= k->is_part;
        events_ns += k->event_cost_ns * (double)k->events;
        own_ns += k->own_ns;
        wait_ns += k->wait_ns;
        /* MPI libraries start threads that only wait: their time would hide the overhead. */
        for (size_t j = 0; j < k->thread_count; j++)
            if (k->threads[j].window_ns > 0 || k->threads[j].calls > 0)
                life_ns += k->threads[j].life_ns;
        waits += k->waits;
        cost += k->event_cost_ns;
        n += k->event_cost_ns > 0;
    }
    char a[24], b[24], c[24];
    (void)fputs("\nOwn overhead, all ranks together\n", out);
    if (n > 0)
        (void)fprintf(out,
                      "  events      %11s  estimated: %.1f ns an event (measured at start) times "
                      "the events\n",
                      report_time_text(a, events_ns), cost / n);
    else
        (void)fputs("  events      unknown: no cost was measured at start\n", out);
    if (parts)
        (void)fputs("  slow path       unknown of one window: the run that was split has that of "
                    "whole threads\n",
                    out);
    else
        (void)fprintf(out,
                      "  slow path   %11s  measured (probes at the edges of windows, chunks, "
                      "strings, start and end of threads)\n",
                      report_time_text(b, own_ns));
    (void)fprintf(out, "  waiting     %11s  measured, %" PRIu64 " waits for the writer\n",
                  report_time_text(c, wait_ns), waits);
    if (interrupted > 0)
        (void)fprintf(out,
                      "  interrupted %11" PRIu64
                      "  system calls that our signals broke off: the program saw EINTR\n",
                      interrupted);
    /* The slow path works outside windows too, so that the windows are no measure of it. */
    if (life_ns > 0 && !parts)
        (void)fprintf(out, "  together    %10.3f%%  of the time of the threads that recorded\n",
                      100 * (events_ns + own_ns + wait_ns) / life_ns);
}
