/* SPDX-License-Identifier: BSD-3-Clause
 * Prints what made ranks wait: delays, by rank and activity. */
#include "tools/report/report.h"
#include "tools/report/causes/report_causes.h"

#include <inttypes.h>
#include <stdlib.h>

#define UNRECORDED_SAID 0.005 /* of all waiting */

static double cost_of(const struct delay *d)
{
    return d->direct_ns + d->carried_ns;
}

static int by_cost(const void *a, const void *b)
{
    const struct delay *x = *(const struct delay *const *)a, *y = *(const struct delay *const *)b;
    double first = cost_of(x), second = cost_of(y);
    if (first > second || first < second)
        return first > second ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x < y ? -1 : x > y;
}

static const struct delay **sorted(const struct delays *d)
{
    const struct delay **out = report_room(d->keys.count + 1, sizeof *out, "delays");
    for (size_t i = 0; out != NULL && i < d->keys.count; i++)
        out[i] = &d->rows[i];
    if (out != NULL)
        qsort(out, d->keys.count, sizeof *out, by_cost);
    return out;
}

/* Says what the user can do where windows begin too late to tell what ranks waited for. */
static void print_unrecorded(FILE *out, const struct delays *d, double all)
{
    char cost[24];
    if (d->unrecorded.ns < UNRECORDED_SAID * all || d->unrecorded.ns <= 0)
        return;
    (void)fprintf(
        out,
        "  %s (%.1f%%) of the waiting is for ranks whose window opened later than that of "
        "the rank that\n  waits (most of all for window %" PRId32 " of rank %" PRId32
        "). What they did before is not recorded: let windows\n  begin earlier, or "
        "record one window over all steps.\n",
        report_time_text(cost, d->unrecorded.ns), 100 * d->unrecorded.ns / all,
        d->unrecorded.window, d->unrecorded.rank);
}

/* Explains activities of the first rows: how work between two calls can be named, and what of a
 * call made others wait. */
static void print_hint(FILE *out, const struct report *r, const struct report_causes *c,
                       const struct delay *const *rows, size_t shown)
{
    bool is_named = false, has_between = false, has_call = false;
    for (size_t i = 0; i < r->rank_count; i++)
        is_named |= r->ranks[i].error == NULL && r->ranks[i].names_work;
    for (size_t i = 0; i < shown; i++) {
        int kind = (int)activities_at(history_activities(c->history), rows[i]->activity).kind;
        has_between |= kind == ACTIVITY_BETWEEN;
        has_call |= kind == ACTIVITY_CALL;
    }
    if (has_between && !is_named)
        (void)fputs(
            "  \"from ... to ...\" is work between two MPI calls: -functions REGEX names it "
            "in this table,\n  -sample cpu:10ms in `regtrace report --hot`.\n",
            out);
    if (has_call)
        (void)fputs(
            "  Of an MPI call it is the part that did not wait: its message was on its way, or "
            "the rank had no\n  processor (more ranks than cores).\n",
            out);
}

static void print_row(FILE *out, struct report *r, const struct report_causes *c,
                      const struct place_names *names, const struct delay *row, double all)
{
    char cost[24], direct[24], carried[24];
    (void)fprintf(out, "  %6" PRId32 " %11s %5.1f%% %11s %11s  ", row->rank,
                  report_time_text(cost, cost_of(row)), all > 0 ? 100 * cost_of(row) / all : 0.0,
                  report_time_text(direct, row->direct_ns),
                  report_time_text(carried, row->carried_ns));
    report_activity_print(out, r, c, names, row->activity);
    (void)fputc('\n', out);
}

double report_delays_total(const struct delays *d)
{
    double all = d->unknown_ns;
    for (size_t i = 0; i < d->keys.count; i++)
        all += cost_of(&d->rows[i]);
    return all;
}

void report_delays_print(FILE *out, struct report *r, const struct report_causes *c,
                         const struct place_names *names, size_t top)
{
    const struct delays *d = &c->delays;
    const struct delay **rows = d->keys.count > 0 ? sorted(d) : NULL;
    size_t shown = top == 0 || top > d->keys.count ? d->keys.count : top;
    double all = report_delays_total(d), rest = 0;
    if (rows == NULL)
        return;
    (void)fprintf(
        out,
        "\nWhat these ranks did while others waited, by activity (cost: of all waiting ranks "
        "together,\nwhich can exceed the length of the run)\n  %6s %11s %6s %11s "
        "%11s  %s\n",
        "rank", "cost", "share", "direct", "propagated", "activity");
    for (size_t i = 0; i < shown; i++)
        print_row(out, r, c, names, rows[i], all);
    for (size_t i = shown; i < d->keys.count; i++)
        rest += cost_of(rows[i]);
    if (d->keys.count > shown)
        (void)fprintf(out, "  ... %zu more, together %.1f%% (-top 0 shows all)\n",
                      d->keys.count - shown, all > 0 ? 100 * rest / all : 0.0);
    print_unrecorded(out, d, all);
    print_hint(out, r, c, rows, shown);
    free(rows);
}

void report_delays_json(struct json *j, struct report *r, const struct report_causes *c,
                        const struct place_names *names)
{
    const struct delay **rows = sorted(&c->delays);
    json_array_begin(j, "delays");
    for (size_t i = 0; rows != NULL && i < c->delays.keys.count; i++) {
        json_object_begin(j, NULL);
        json_compact(j);
        json_int(j, "rank", rows[i]->rank);
        json_uint(j, "waits", rows[i]->waits);
        json_real(j, "direct_ns", rows[i]->direct_ns);
        json_real(j, "propagated_ns", rows[i]->carried_ns);
        report_moment_json(j, &rows[i]->longest, r->origin_ns);
        report_activity_json(j, r, c, names, rows[i]->activity);
        json_object_end(j);
    }
    json_array_end(j);
    json_real(j, "delays_unknown_ns", c->delays.unknown_ns);
    free(rows);
}
