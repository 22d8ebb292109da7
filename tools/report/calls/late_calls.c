/* SPDX-License-Identifier: BSD-3-Clause
 * Adds up waits by the call that came late, and writes them as JSON. */
#include "tools/report/calls/late_calls.h"

#include "base/toolkit/array.h"
#include "tools/report/report.h"

#include <errno.h>
#include <stdlib.h>

int late_calls_add(struct late_calls *l, const struct wait_state *x, uint32_t node)
{
    uint32_t function = x->cause.function;
    uint64_t high = (uint64_t)(uint32_t)x->for_rank << 32 | (uint32_t)x->kind << 16 | function;
    uint32_t count = l->keys.count, n = key_table_add(&l->keys, high, node);
    void *rows = array_grown(l->rows, count, &l->room, sizeof *l->rows);
    if (n == KEY_NONE || rows == NULL)
        return -ENOMEM;
    l->rows = rows;
    if (n == count)
        l->rows[n] = (struct late_call){
            .rank = x->for_rank, .kind = x->kind, .function = function, .node = node};
    struct late_call *c = &l->rows[n];
    c->waits++;
    c->cost_ns += (double)x->ns;
    longest_wait_take(&c->longest, x);
    return 0;
}

void late_calls_free(struct late_calls *l)
{
    key_table_free(&l->keys);
    free(l->rows);
    *l = (struct late_calls){0};
}

/* --- as JSON --------------------------------------------------------------------------------- */

static int by_cost(const void *a, const void *b)
{
    const struct late_call *x = *(const struct late_call *const *)a,
                           *y = *(const struct late_call *const *)b;
    if (x->cost_ns > y->cost_ns || x->cost_ns < y->cost_ns)
        return x->cost_ns > y->cost_ns ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x < y ? -1 : x > y;
}

static const struct late_call **sorted(const struct late_calls *l)
{
    const struct late_call **out = report_room(l->keys.count + 1, sizeof *out, "late calls");
    for (size_t i = 0; out != NULL && i < l->keys.count; i++)
        out[i] = &l->rows[i];
    if (out != NULL)
        qsort(out, l->keys.count, sizeof *out, by_cost);
    return out;
}

void late_calls_json(struct json *j, struct report *r, const struct late_calls *l)
{
    const struct late_call **rows = sorted(l);
    json_array_begin(j, "late_calls");
    for (size_t i = 0; rows != NULL && i < l->keys.count; i++) {
        json_object_begin(j, NULL);
        json_compact(j);
        json_int(j, "rank", rows[i]->rank);
        json_text(j, "kind", wait_kind_name(rows[i]->kind));
        json_text(j, "function", report_mpi_name(r, rows[i]->function));
        call_tree_json_path(j, r, rows[i]->node);
        json_uint(j, "waits", rows[i]->waits);
        json_real(j, "cost_ns", rows[i]->cost_ns);
        longest_wait_json(j, &rows[i]->longest, r->origin_ns);
        json_int(j, "longest_rank", rows[i]->longest.rank);
        uint32_t leaf = call_tree_leaf(&r->call_tree, rows[i]->node, rows[i]->function);
        json_uint_if(j, "node", leaf != KEY_NONE, leaf);
        json_object_end(j);
    }
    json_array_end(j);
    free(rows);
}
