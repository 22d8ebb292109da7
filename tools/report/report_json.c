/* SPDX-License-Identifier: BSD-3-Clause
 * Prints the report as one JSON object; regtrace-report(1) describes the keys. */
#include "tools/json.h"
#include "tools/report/report.h"

static void icount(struct json *j, const char *key, int64_t value)
{
    if (value == RT_NULL)
        json_null(j, key);
    else
        json_int(j, key, value);
}

/* Writes a number, or null for 0: not given, also in older files that do not have it. */
static void fraction(struct json *j, const char *key, double value)
{
    if (value > 0)
        json_real(j, key, value);
    else
        json_null(j, key);
}

static void chain_member(struct json *j, const struct report *r, int32_t chain)
{
    if (chain < 0) {
        json_null(j, "chain");
        json_null(j, "chain_text");
        return;
    }
    json_int(j, "chain", chain);
    json_text(j, "chain_text", (size_t)chain < r->chain_count ? r->chains[chain] : NULL);
}

static void alarm_members(struct json *j, const struct report_rank *k, const char *key,
                          const char *index_key, int32_t alarm)
{
    json_text(j, key, report_alarm_text(k, alarm));
    if (alarm == RT_NO_ALARM)
        json_null(j, index_key);
    else
        json_int(j, index_key, alarm);
}

static void write_window(struct json *j, const struct report *r, const struct report_rank *k,
                         const struct report_window *w)
{
    json_object_begin(j, NULL);
    json_compact(j);
    json_int(j, "rank", k->info.rank);
    json_int(j, "thread", w->row.thread);
    json_int(j, "ordinal", w->row.ordinal);
    chain_member(j, r, w->row.chain);
    json_text(j, "kind", report_window_kind(w->row.kind));
    json_int(j, "start_ns", w->start_ns);
    if (w->has_stop)
        json_int(j, "stop_ns", w->stop_ns);
    else
        json_null(j, "stop_ns");
    if (w->region != NULL && w->region[0] != '\0')
        json_text(j, "region", w->region);
    else
        json_null(j, "region");
    fraction(j, "weight", w->row.weight);
    fraction(j, "multiplier", w->row.multiplier);
    json_uint(j, "mpi_calls", w->calls);
    json_real(j, "mpi_ns", w->mpi_ns);
    icount(j, "start_icount", w->row.start_icount);
    icount(j, "stop_icount", w->row.stop_icount);
    icount(j, "start_requested", w->row.start_requested);
    icount(j, "stop_requested", w->row.stop_requested);
    alarm_members(j, k, "start_alarm", "start_alarm_index", w->row.start_alarm);
    alarm_members(j, k, "stop_alarm", "stop_alarm_index", w->row.stop_alarm);
    json_text(j, "opened_by", w->opened_by != NULL ? w->opened_by : "alarm");
    json_text(j, "closed_by", report_window_reason(w->row.reason));
    json_bool(j, "bcast", w->row.bcast != 0);
    json_bool(j, "firing", w->row.firing != 0);
    json_bool(j, "truncated", w->row.truncated == RT_END_CUT);
    json_bool(j, "main", k->info.is_main);
    json_uint(j, "pid", k->info.pid);
    json_object_end(j);
}

static void write_losses(struct json *j, const struct report_rank *k)
{
    json_uint(j, "lost", k->lost_events);
    json_bool(j, "lost_unknown", k->lost_unknown);
    json_uint(j, "left_out_until_recover", report_left_out(k));
    json_object_begin(j, "lost_by_kind");
    json_compact(j);
    for (unsigned i = RT_LOSS_DROPPED; i <= RT_LOSS_STORAGE; i++)
        json_uint(j, report_loss_name(i), k->loss[i]);
    json_object_end(j);
}

static void write_functions(struct json *j, const struct report *r, const struct report_rank *k)
{
    json_array_begin(j, "functions");
    for (unsigned f = 0; f < REPORT_FUNCTIONS && k->functions != NULL; f++) {
        const struct report_calls *c = &k->functions[f];
        if (c->calls == 0)
            continue;
        json_object_begin(j, NULL);
        json_compact(j);
        json_text(j, "name", r->names[f]);
        json_uint(j, "calls", c->calls);
        json_uint(j, "nested", c->nested);
        json_real(j, "time_ns", c->time_ns);
        json_uint(j, "bytes", c->bytes);
        json_uint(j, "cut", c->cut);
        report_counters_json_calls(j, k, c);
        json_object_end(j);
    }
    json_array_end(j);
}

static void write_threads(struct json *j, const struct report_rank *k)
{
    json_array_begin(j, "threads");
    for (size_t i = 0; i < k->thread_count; i++) {
        const struct report_thread *t = &k->threads[i];
        json_object_begin(j, NULL);
        json_compact(j);
        json_int(j, "thread", t->row.thread);
        json_uint(j, "kernel_tid", t->row.kernel_tid);
        json_text(j, "name", t->name);
        json_uint_if(j, "instructions", t->row.instructions != 0, t->row.instructions);
        json_uint(j, "events", t->row.rows);
        json_uint(j, "dropped", t->row.dropped);
        json_uint(j, "waits", t->row.waits);
        json_uint(j, "interrupted", t->row.interrupted);
        json_real(j, "window_ns", t->window_ns);
        json_real(j, "mpi_ns", t->mpi_ns);
        json_object_end(j);
    }
    json_array_end(j);
}

static void write_rank(struct json *j, const struct report *r, const struct report_rank *k)
{
    json_object_begin(j, NULL);
    json_int(j, "rank", k->info.rank);
    json_text(j, "file", k->file);
    json_text(j, "state", report_file_state(k));
    if (k->error != NULL) {
        json_text(j, "error", k->error);
        json_object_end(j);
        return;
    }
    size_t open = 0;
    for (size_t i = 0; i < k->window_count; i++)
        open += !k->windows[i].has_stop;
    json_bool(j, "main", k->info.is_main);
    json_uint(j, "world", k->info.world);
    json_bool(j, "confirmed", k->info.confirmed);
    json_int(j, "size", k->info.size);
    json_text(j, "host", k->host);
    json_uint(j, "pid", k->info.pid);
    json_text(j, "program", k->program);
    json_text(j, "end_reason", k->end_reason);
    json_uint(j, "events", k->events);
    write_losses(j, k);
    json_uint(j, "windows", k->window_count);
    json_uint(j, "fired", k->info.fired_total);
    json_uint(j, "ignored", k->info.ignored_total);
    json_real(j, "window_ns", k->window_ns);
    json_uint(j, "open_windows", open);
    json_uint(j, "mpi_calls", k->calls);
    json_real(j, "mpi_ns", k->mpi_ns);
    json_uint(j, "mpi_bytes", k->bytes);
    json_uint(j, "mpi_bytes_received", k->received);
    json_uint(j, "unmatched", k->unmatched);
    json_uint(j, "completions_unknown", k->completions_unknown);
    json_uint(j, "completions_skipped", k->completions_skipped);
    json_uint(j, "messages_unnumbered", k->unnumbered);
    json_uint(j, "interrupted", k->interrupted);
    report_counters_json(j, k);
    report_memory_json(j, k);
    json_int(j, "clock_offset_ns", k->info.clock_offset_ns);
    json_int(j, "clock_error_ns", k->info.clock_error_ns);
    json_object_begin(j, "overhead");
    json_compact(j);
    json_real(j, "event_cost_ns", k->event_cost_ns);
    json_real(j, "events_ns", k->event_cost_ns * (double)k->events);
    if (k->is_part)
        json_null(j, "slow_path_ns");
    else
        json_real(j, "slow_path_ns", k->own_ns);
    json_uint(j, "waits", k->waits);
    json_real(j, "wait_ns", k->wait_ns);
    json_object_end(j);
    write_functions(j, r, k);
    write_threads(j, k);
    json_object_end(j);
}

static void write_mpi(struct json *j, const struct report *r)
{
    json_array_begin(j, "mpi");
    for (unsigned f = 0; f < REPORT_FUNCTIONS; f++) {
        struct report_spread s;
        if (r->names[f] == NULL || !report_spread_of(r, (int)f, &s))
            continue;
        json_object_begin(j, NULL);
        json_compact(j);
        json_text(j, "name", r->names[f]);
        json_uint(j, "calls", s.calls);
        json_uint(j, "bytes", s.bytes);
        json_real(j, "time_ns", s.total_ns);
        json_real(j, "mean_ns", s.mean_ns);
        json_real(j, "max_ns", s.max_ns);
        json_int(j, "max_rank", s.max->info.rank);
        if (s.max->info.world > 1)
            json_uint(j, "max_world", s.max->info.world);
        if (s.mean_ns > 0)
            json_real(j, "imbalance", s.max_ns / s.mean_ns);
        else
            json_null(j, "imbalance");
        json_object_end(j);
    }
    json_array_end(j);
}

static void write_notes(struct json *j, const struct report *r)
{
    json_array_begin(j, "missing");
    json_compact(j);
    for (size_t i = 0; i < r->missing_count; i++)
        json_int(j, NULL, r->missing[i]);
    json_array_end(j);
    json_array_begin(j, "never_fired");
    for (size_t i = 0; i < r->never_fired_count; i++) {
        json_object_begin(j, NULL);
        json_compact(j);
        json_int(j, "rank", r->never_fired[i].rank);
        json_text(j, "text", r->never_fired[i].text);
        json_object_end(j);
    }
    json_array_end(j);
    json_array_begin(j, "log");
    for (size_t i = 0; i < r->log_count; i++)
        json_text(j, NULL, r->log[i]);
    json_array_end(j);
}

static void write_estimate(struct json *j, const struct report_estimate *e)
{
    if (e == NULL) {
        json_null(j, "estimate");
        return;
    }
    json_object_begin(j, "estimate");
    json_array_begin(j, "methods");
    json_compact(j);
    for (int m = METHOD_UNIFORM; m <= METHOD_MULTIPLIER; m++)
        if ((e->methods & 1u << m) != 0)
            json_text(j, NULL, report_method_name((enum report_method)m));
    json_array_end(j);
    json_uint(j, "windows", e->windows);
    json_uint(j, "threads", e->threads);
    json_uint(j, "threads_uncounted", e->uncounted);
    json_uint(j, "windows_unfinished", e->unfinished);
    fraction(j, "weights", e->weights);
    for (int q = 0; q < ESTIMATES; q++) {
        json_object_begin(j, report_quantity_name((enum report_quantity)q));
        json_compact(j);
        if (e->of[q].has_estimate)
            json_real(j, "estimate", e->of[q].estimate);
        else
            json_null(j, "estimate");
        if (e->of[q].has_total)
            json_real(j, "total", e->of[q].total);
        else
            json_null(j, "total");
        json_object_end(j);
    }
    json_object_end(j);
}

/* Writes the members that have a row for each window. */
static void write_windows(struct json *j, const struct report *r, size_t most_rows)
{
    size_t count = 0;
    for (size_t i = 0; i < r->rank_count; i++)
        count += r->ranks[i].window_count;
    if (count > most_rows) {
        json_null(j, "windows");
        json_null(j, "windows_over_ranks");
        return;
    }
    json_array_begin(j, "windows");
    for (size_t i = 0; i < r->rank_count; i++)
        for (size_t w = 0; w < r->ranks[i].window_count; w++)
            write_window(j, r, &r->ranks[i], &r->ranks[i].windows[w]);
    json_array_end(j);
    report_uneven_json(j, r);
}

void report_json_members(struct json *j, struct report *r, const struct report_estimate *estimate,
                         size_t most_rows)
{
    uint64_t events = 0, lost = 0;
    for (size_t i = 0; i < r->rank_count; i++) {
        events += r->ranks[i].events;
        lost += r->ranks[i].lost_events;
    }
    json_text(j, "dir", r->dir);
    if (r->size >= 0)
        json_int(j, "size", r->size);
    else
        json_null(j, "size");
    json_int(j, "origin_monotonic_ns", r->origin_ns);
    if (r->origin_realtime_ns != 0)
        json_int(j, "origin_realtime_ns", r->origin_realtime_ns);
    else
        json_null(j, "origin_realtime_ns");
    json_uint(j, "events", events);
    json_uint(j, "lost", lost);
    json_array_begin(j, "chains");
    for (size_t i = 0; i < r->chain_count; i++)
        json_text(j, NULL, r->chains[i]);
    json_array_end(j);
    json_array_begin(j, "ranks");
    for (size_t i = 0; i < r->rank_count; i++)
        write_rank(j, r, &r->ranks[i]);
    json_array_end(j);
    write_windows(j, r, most_rows);
    report_waits_json(j, r, most_rows);
    write_estimate(j, estimate);
    report_rates_json(j, r->ranks, r->rank_count);
    write_mpi(j, r);
    report_profile_json(j, r);
    call_sites_json(j, r);
    call_tree_json(j, r);
    report_functions_json(j, r);
    write_notes(j, r);
}

void report_print_json(FILE *out, struct report *r, const struct report_estimate *estimate)
{
    struct json j = {.out = out, .indented = true};
    json_object_begin(&j, NULL);
    report_json_members(&j, r, estimate, SIZE_MAX);
    json_object_end(&j);
}
