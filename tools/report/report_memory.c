/* SPDX-License-Identifier: BSD-3-Clause
 * How much was recorded for memory traces (REGTRACE_MEMORY), and how their windows ended. */
#include "tools/report/report.h"

#include <inttypes.h>

static const struct {
    const char *member, *text;
} ends[MEMORY_NEVER + 1] = {
    {"whole", ""},
    {"jumped", "end before their windows do, left by a jump or an exception that nobody followed"},
    {"no_room",
     "are cut off, or missing: their files could not grow. Give a larger -max-size, or a folder "
     "with more room (-o DIR)"},
    {"amid", "end within a function, whose last accesses are missing"},
    {"never", "have nothing: they opened and closed within a handler of a signal"},
};

void report_memory_take(struct report_rank *k, const struct rt_event *ev)
{
    k->memory.windows++;
    k->memory.bytes += ev->a;
    if (ev->b <= MEMORY_NEVER)
        k->memory.ends[ev->b]++;
}

void report_memory_print(FILE *out, const struct report *r)
{
    struct report_memory all = {0};
    char bytes[24];
    for (size_t i = 0; i < r->rank_count; i++) {
        all.windows += r->ranks[i].memory.windows;
        all.bytes += r->ranks[i].memory.bytes;
        for (unsigned k = 0; k <= MEMORY_NEVER; k++)
            all.ends[k] += r->ranks[i].memory.ends[k];
    }
    if (all.windows == 0)
        return;
    (void)fprintf(out,
                  "\nMemory traces: %s in %" PRIu64
                  " window%s of threads (regtrace skel replay %s writes the accesses)\n",
                  report_bytes_text(bytes, all.bytes), all.windows, all.windows == 1 ? "" : "s",
                  r->dir);
    for (unsigned k = MEMORY_CLOSED + 1; k <= MEMORY_NEVER; k++)
        if (all.ends[k] != 0)
            (void)fprintf(out, "  %" PRIu64 " %s\n", all.ends[k], ends[k].text);
}

void report_memory_json(struct json *j, const struct report_rank *k)
{
    json_object_begin(j, "memory");
    json_compact(j);
    json_uint(j, "windows", k->memory.windows);
    json_uint(j, "bytes", k->memory.bytes);
    for (unsigned n = 0; n <= MEMORY_NEVER; n++)
        json_uint(j, ends[n].member, k->memory.ends[n]);
    json_object_end(j);
}
