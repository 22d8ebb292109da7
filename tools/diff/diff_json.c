/* SPDX-License-Identifier: BSD-3-Clause
 * Writes a comparison of two runs as JSON. */
#include "tools/diff/diff.h"

#include "tools/json.h"

#include <math.h>

static void write_figure(struct json *j, const char *key, const char *mark,
                         const struct diff_figure *f)
{
    json_object_begin(j, key);
    json_real(j, "run_1", f->value[0]);
    json_real(j, "run_2", f->value[1]);
    json_real(j, "difference", f->value[1] - f->value[0]);
    json_real(j, "percent", diff_percent(f));
    json_real(j, "noise", f->noise);
    json_real(j, "p", f->p);
    if (isnan(f->p))
        json_null(j, mark);
    else
        json_bool(j, mark, f->is_significant);
    json_object_end(j);
}

static void write_row(struct json *j, const struct diff_row *r)
{
    static const char *const keys[DIFF_QUANTITIES] = {"time_ns", "count", "bytes"};
    const char *mark = r->table == DIFF_WINDOWS ? "stands_out" : "significant";
    json_object_begin(j, NULL);
    json_compact(j);
    json_text(j, "name", r->name);
    json_text(j, "name_1", r->shown[0]);
    json_text(j, "name_2", r->shown[1]);
    for (int q = 0; q < DIFF_QUANTITIES; q++)
        write_figure(j, keys[q], mark, &r->of[q]);
    json_object_end(j);
}

static void write_run(struct json *j, const struct diff *d, int run)
{
    const struct tally *t = &d->run[run];
    json_object_begin(j, NULL);
    json_compact(j);
    json_text(j, "dir", t->report.dir);
    json_uint(j, "processes", t->processes);
    json_uint(j, "windows", t->window_count);
    json_array_begin(j, "not_compared");
    for (size_t i = 0; i < d->left_out_count; i++)
        if (d->left_out[i].run == run)
            json_int(j, NULL, d->left_out[i].ordinal);
    json_array_end(j);
    json_object_end(j);
}

void diff_print_json(FILE *out, const struct diff *d)
{
    struct json j = {.out = out, .indented = true};
    json_object_begin(&j, NULL);
    json_array_begin(&j, "runs");
    write_run(&j, d, 0);
    write_run(&j, d, 1);
    json_array_end(&j);
    json_array_begin(&j, "windows_compared");
    json_compact(&j);
    for (size_t i = 0; i < d->window_count; i++)
        json_int(&j, NULL, d->windows[i]);
    json_array_end(&j);
    json_bool(&j, "per_process", d->is_per_rank);
    json_bool(&j, "chains_differ", diff_chains_differ(d));
    for (int table = 0; table < DIFF_TABLES; table++) {
        json_array_begin(&j, diff_table_name((enum diff_table)table));
        for (size_t i = 0; i < d->row_count; i++)
            if (d->rows[i].table == (enum diff_table)table)
                write_row(&j, &d->rows[i]);
        json_array_end(&j);
    }
    json_object_end(&j);
}
