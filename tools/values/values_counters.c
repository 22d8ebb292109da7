/* SPDX-License-Identifier: BSD-3-Clause
 * Cycles per instruction beside values, from windows that counted both (REGTRACE_EVENTS). */
#include "tools/report/report.h"
#include "tools/values/value_profiles.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define BLOCK 1024u

/* If several events mean the same, counts only the first, in all files. */
static void add(struct values_counted *c, const char *event, uint64_t count)
{
    if (c->event[0] == '\0')
        (void)snprintf(c->event, sizeof c->event, "%s", event);
    if (strcmp(c->event, event) == 0)
        c->count += (double)count;
}

int values_take_counters(struct values_profile *p, struct rt_rank *rank, struct rt_error *e)
{
    struct rt_event block[BLOCK];
    const char *asked = rt_rank_metadata(rank, "option.events");
    size_t got = BLOCK;
    int rc = 0;
    if (asked == NULL || asked[0] == '\0')
        return 0;
    for (uint64_t first = 0; rc == 0 && got > 0; first += got) {
        rc = rt_rank_read_events(rank, first, BLOCK, block, &got, e);
        for (size_t i = 0; rc == 0 && i < got; i++) {
            const char *event =
                block[i].code == EV_COUNTER ? rt_rank_string(rank, (uint32_t)block[i].a) : "";
            if (report_event_is_cycles(event))
                add(&p->cycles, event, block[i].b);
            else if (report_event_is_instructions(event))
                add(&p->instructions, event, block[i].b);
        }
    }
    return rc;
}

double values_cycles_per_instruction(const struct values_profile *p)
{
    return p->cycles.count > 0 && p->instructions.count > 0
               ? p->cycles.count / p->instructions.count
               : NAN;
}
