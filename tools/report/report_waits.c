/* SPDX-License-Identifier: BSD-3-Clause
 * Who waits for whom, and who sends how much to whom: reads the events of all ranks in the order of
 * time. */
#include "tools/waits/wait_states.h"
#include "tools/report/calls/late_calls.h"
#include "tools/report/message_pairs.h"
#include "tools/report/report.h"
#include "tools/report/causes/report_causes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define RANKS_SHOWN 10

struct wait_sum {
    uint64_t waits;
    double total_ns;
    struct longest_wait longest;
};

struct rank_waits {
    int32_t rank;
    double waited_ns, awaited_ns; /* awaited_ns: others waited for it */
    double direct_ns, carried_ns; /* what it cost others: delays.h */
};

struct report_waits {
    struct report *report;
    const struct window_span *windows;
    struct wait_states *waits;
    struct wait_sum sums[WAIT_KINDS][REPORT_FUNCTIONS];
    struct rank_waits *ranks; /* by rank */
    uint32_t rank_count;
    struct message_pairs pairs;
    uint64_t collectives_left;
    struct late_calls late;
    struct place_names names;
    struct report_causes causes;
    bool no_memory;             /* for all waits by call site */
    struct ideal_window *ideal; /* of each window, by ordinal */
    size_t window_count;
    struct ideal_run ideal_run; /* of all windows of the report */
    char *why_not;              /* why nothing is known; else NULL */
};

static struct path_place place_of(struct report_waits *w, const struct wait_place *at)
{
    return place_names_path(&w->names, comms_process_of(w->names.comms, at->stream), at->path);
}

static void add_wait(void *context, const struct wait_state *x)
{
    struct report_waits *w = context;
    int rc = history_wait(w->causes.history, x);
    w->no_memory |= rc == -ENOMEM;
    if (!window_span_has(w->windows, x->window) || x->site.function >= REPORT_FUNCTIONS)
        return;
    if (rc == -ENOENT)
        w->causes.delays.unknown_ns += (double)x->ns;
    struct wait_sum *s = &w->sums[x->kind][x->site.function];
    double ns = (double)x->ns;
    s->waits++;
    s->total_ns += ns;
    longest_wait_take(&s->longest, x);
    struct path_place site = place_of(w, &x->site), cause = place_of(w, &x->cause);
    const struct report_piece piece = {.kind = PIECE_WAIT,
                                       .window = x->window,
                                       .wait_kind = x->kind,
                                       .function = x->site.function,
                                       .path = site.node,
                                       .late = x->cause.function,
                                       .late_path = cause.node,
                                       .ns = ns};
    call_sites_add_wait(&w->report->call_sites, x->site.function, site.item, ns);
    call_tree_add_wait(&w->report->call_tree, site.node, x);
    w->no_memory |= report_observe(w->report, x->rank, &piece) != 0;
    w->no_memory |= late_calls_add(&w->late, x, cause.node) != 0;
    if (x->rank >= 0 && (uint32_t)x->rank < w->rank_count)
        w->ranks[x->rank].waited_ns += ns;
    if (x->for_rank >= 0 && (uint32_t)x->for_rank < w->rank_count)
        w->ranks[x->for_rank].awaited_ns += ns;
}

static void add_message(void *context, const struct message *m)
{
    struct report_waits *w = context;
    wait_states_message(w->waits, m);
    if (!message_pairs_add(&w->pairs, m))
        return;
    struct wait_place at = wait_states_sender(w->waits, m);
    uint32_t node = call_tree_leaf(&w->report->call_tree, place_of(w, &at).node, at.function);
    w->no_memory |= pair_sites_add(&w->pairs.sites, m->sender, m->receiver, node, m->bytes) != 0;
}

static void add_lone(void *context, const struct unmatched_end *x)
{
    struct report_waits *w = context;
    message_pairs_add_lone(&w->pairs, x);
}

static void keep_windows(struct report_waits *w)
{
    const struct ideal_window *windows =
        wait_states_windows(w->waits, &w->window_count, &w->ideal_run);
    w->ideal = windows != NULL || w->window_count == 0
                   ? calloc(w->window_count + 1, sizeof *w->ideal)
                   : NULL;
    if (w->ideal != NULL && w->window_count > 0)
        memcpy(w->ideal, windows, w->window_count * sizeof *w->ideal);
    w->no_memory |= w->ideal == NULL;
}

/* Adds up what each rank has cost others. */
static void add_costs(struct report_waits *w)
{
    const struct delays *d = &w->causes.delays;
    for (size_t i = 0; i < d->keys.count; i++) {
        const struct delay *x = &d->rows[i];
        if (x->rank < 0 || (uint32_t)x->rank >= w->rank_count)
            continue;
        w->ranks[x->rank].direct_ns += x->direct_ns;
        w->ranks[x->rank].carried_ns += x->carried_ns;
    }
}

static int pass(struct report_waits *w, struct streams *s, const struct comms *c,
                struct rt_error *e)
{
    struct messages *messages = NULL;
    struct stream_record r;
    struct progress p;
    struct unmatched left; /* in all windows */
    uint64_t done = 0;
    bool got;
    w->names = (struct place_names){.report = w->report, .comms = c};
    int rc = report_causes_open(&w->causes, s, &w->names);
    if (rc != 0)
        rt_error_set(e, "no memory");
    else
        rc = wait_states_open(&w->waits, s, c, w->windows, add_wait, w, e);
    if (rc == 0)
        rc = messages_open(&messages, s, c, add_message, w, e);
    if (rc == 0)
        messages_tell_unmatched(messages, add_lone);
    progress_begin(&p, "looking for waits, events");
    while (rc == 0 && (rc = streams_next(s, &r, &got, e)) == 0 && got) {
        w->no_memory |= history_take(w->causes.history, &r) != 0;
        rc = wait_states_take(w->waits, &r, e);
        if (rc == 0)
            rc = messages_take(messages, &r, e);
        if ((++done & 0xffff) == 0)
            progress_update(&p, done, streams_events(s));
    }
    if (rc == 0)
        rc = messages_end(messages, &left, e);
    if (rc == 0) {
        wait_states_end(w->waits, &w->collectives_left);
        keep_windows(w);
        w->no_memory |= w->names.no_memory || report_causes_find(&w->causes, w->report) != 0;
        add_costs(w);
    }
    progress_end(&p);
    messages_close(messages);
    wait_states_close(w->waits);
    w->waits = NULL;
    return rc;
}

static int make_room(struct report_waits *w, const struct report *r, struct rt_error *e)
{
    int32_t most = r->size - 1;
    for (size_t i = 0; i < r->rank_count; i++)
        most = r->ranks[i].info.rank > most ? r->ranks[i].info.rank : most;
    w->rank_count = most < 0 || most > 1 << 24 ? 0 : (uint32_t)most + 1;
    w->ranks = calloc(w->rank_count + 1u, sizeof *w->ranks);
    if (w->ranks == NULL || message_pairs_open(&w->pairs, w->rank_count, w->windows) != 0) {
        rt_error_set(e, "no memory");
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < w->rank_count; i++)
        w->ranks[i].rank = (int32_t)i;
    return 0;
}

/* Returns whether the rank has recorded its MPI calls, if only that windows have none. */
static bool has_waits(const struct report_rank *k)
{
    bool has_windows = k->is_in_mpi && k->records_mpi && k->window_count > 0;
    return k->error == NULL && k->info.is_main && (k->calls > 0 || has_windows);
}

static bool has_ranks(const struct report *r, unsigned least)
{
    unsigned n = 0;
    for (size_t i = 0; i < r->rank_count; i++)
        n += has_waits(&r->ranks[i]);
    return n >= least;
}

static bool is_growing(const struct report *r)
{
    for (size_t i = 0; i < r->rank_count; i++)
        if (r->ranks[i].error == NULL && r->ranks[i].info.state == RT_FILE_LIVE)
            return true;
    return false;
}

struct opening {
    const struct report *report;
    char *why; /* why a file was skipped that the report has read; NULL: none was */
};

/* Notes why the waits lack a file that the report has read. Why a file could not be read at all,
 * the report prints itself. */
static void skip(void *context, const char *file, const char *why)
{
    struct opening *o = context;
    for (size_t i = 0; i < o->report->rank_count; i++) {
        const struct report_rank *k = &o->report->ranks[i];
        if (o->why == NULL && k->error == NULL && k->file != NULL && strcmp(k->file, file) == 0)
            o->why = strdup(why);
    }
}

void report_collect_waits(struct report *r, const struct rt_run *run, const struct rank_list *ranks,
                          unsigned least)
{
    struct rt_error e = {{0}};
    struct streams *s = NULL;
    struct comms *c = NULL;
    struct report_waits *w = has_ranks(r, least) ? report_room(1, sizeof *w, "waits") : NULL;
    if (w == NULL)
        return;
    r->waits = w;
    w->report = r;
    w->windows = &r->windows;
    if (is_growing(r)) {
        w->why_not = strdup("files are still being written");
        return;
    }
    struct opening opening = {.report = r};
    const struct skipped_files skipped = {skip, &opening};
    int rc = make_room(w, r, &e);
    if (rc == 0)
        rc = streams_open(&s, run, ranks, &skipped, &e);
    if (rc == 0 && opening.why == NULL)
        rc = comms_open(&c, s, &e);
    if (rc == 0 && opening.why == NULL)
        rc = pass(w, s, c, &e);
    if (rc == 0 && w->no_memory) {
        rt_error_set(&e, "no memory");
        rc = -ENOMEM;
    }
    w->why_not = rc != 0 ? strdup(e.text) : opening.why;
    comms_close(c);
    streams_close(s);
}

/* Returns why nothing is known of MPI in a run without waits. */
static const char *why_no_mpi(const struct report *r)
{
    bool is_in_mpi = false, is_recorded = false;
    for (size_t i = 0; i < r->rank_count; i++) {
        const struct report_rank *k = &r->ranks[i];
        if (k->error != NULL || !k->info.is_main || !k->is_in_mpi)
            continue;
        is_in_mpi = true;
        is_recorded |= k->records_mpi;
    }
    if (r->failed == r->rank_count)
        return "no file could be read";
    if (!is_in_mpi)
        return "no process has called MPI_Init, and this is about MPI processes; if the program "
               "uses MPI, `regtrace doctor PROGRAM` says why it is not seen";
    if (!is_recorded)
        return "windows have no MPI calls, as -mpi is 0; record the run with -mpi 1";
    return "there are no windows; record the whole run, or choose windows with -control";
}

const struct ideal_window *report_ideal_windows(const struct report *r, size_t *count,
                                                const char **why_not)
{
    *count = r->waits != NULL ? r->waits->window_count : 0;
    *why_not = r->waits != NULL ? r->waits->why_not : why_no_mpi(r);
    return r->waits != NULL ? r->waits->ideal : NULL;
}

const struct ideal_run *report_ideal_run(const struct report *r)
{
    return r->waits != NULL ? &r->waits->ideal_run : NULL;
}

void report_free_waits(struct report *r)
{
    if (r->waits == NULL)
        return;
    late_calls_free(&r->waits->late);
    report_causes_free(&r->waits->causes);
    place_names_free(&r->waits->names);
    message_pairs_free(&r->waits->pairs);
    free(r->waits->ranks);
    free(r->waits->ideal);
    free(r->waits->why_not);
    free(r->waits);
    r->waits = NULL;
}

/* --- as text ---------------------------------------------------------------------------------- */

static void print_sums(FILE *out, const struct report *r)
{
    const struct report_waits *w = r->waits;
    bool head = false;
    char total[24], mean[24], most[24];
    for (int k = 0; k < WAIT_KINDS; k++)
        for (int f = 0; f < REPORT_FUNCTIONS; f++) {
            const struct wait_sum *s = &w->sums[k][f];
            if (s->waits == 0)
                continue;
            if (!head)
                (void)fprintf(out,
                              "\nWaits of ranks for others (late sender: before the message was "
                              "sent; late receiver: in MPI_Ssend\nbefore the receive was posted; "
                              "collective: before the last rank came)\n  %-14s %-26s %10s %11s "
                              "%11s %11s %6s %8s\n",
                              "kind", "function", "waits", "total", "mean", "longest", "rank",
                              "for rank");
            head = true;
            (void)fprintf(
                out, "  %-14s %-26s %10" PRIu64 " %11s %11s %11s %6" PRId32 " %8" PRId32 "\n",
                wait_kind_name((enum wait_kind)k), report_mpi_name(r, (uint32_t)f), s->waits,
                report_time_text(total, s->total_ns),
                report_time_text(mean, s->total_ns / (double)s->waits),
                report_time_text(most, s->longest.ns), s->longest.rank, s->longest.for_rank);
        }
}

static double cost_of(const struct rank_waits *x)
{
    return x->direct_ns + x->carried_ns;
}

static int by_cost(const void *a, const void *b)
{
    const struct rank_waits *x = a, *y = b;
    if (cost_of(x) > cost_of(y) || cost_of(x) < cost_of(y))
        return cost_of(x) > cost_of(y) ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static void print_rank(FILE *out, const struct rank_waits *x, double all)
{
    char cost[24], direct[24], carried[24], waited[24];
    (void)fprintf(out, "  %6" PRId32 " %11s %5.1f%% %11s %11s %14s\n", x->rank,
                  report_time_text(cost, cost_of(x)), all > 0 ? 100 * cost_of(x) / all : 0.0,
                  report_time_text(direct, x->direct_ns), report_time_text(carried, x->carried_ns),
                  report_time_text(waited, x->waited_ns));
}

/* Prints which ranks made others wait. Who came late is not the question: a rank may be late
 * because it has waited itself. */
static void print_ranks(FILE *out, const struct report_waits *w)
{
    char text[24];
    double all = report_delays_total(&w->causes.delays);
    struct rank_waits *sorted = report_room(w->rank_count + 1u, sizeof *sorted, "waits of ranks");
    if (sorted == NULL)
        return;
    memcpy(sorted, w->ranks, w->rank_count * sizeof *sorted);
    qsort(sorted, w->rank_count, sizeof *sorted, by_cost);
    uint32_t count = 0;
    while (count < w->rank_count && cost_of(&sorted[count]) > 0)
        count++;
    if (count > 0)
        (void)fprintf(
            out,
            "\nWho made others wait (cost: how long all others together waited because of "
            "this rank; direct: for it;\npropagated: for ranks that were late because "
            "they had waited for it)\n  %6s %11s %6s %11s %11s %14s\n",
            "rank", "cost", "share", "direct", "propagated", "waited itself");
    for (uint32_t i = 0; i < count && i < RANKS_SHOWN; i++)
        print_rank(out, &sorted[i], all);
    if (count > RANKS_SHOWN)
        (void)fprintf(out, "  ... %" PRIu32 " more ranks (--json has them)\n", count - RANKS_SHOWN);
    if (w->causes.delays.unknown_ns > 0)
        (void)fprintf(out, "  %s (%.1f%%) of the waiting has no known cause\n",
                      report_time_text(text, w->causes.delays.unknown_ns),
                      100 * w->causes.delays.unknown_ns / all);
    free(sorted);
}

void report_waits_print(FILE *out, struct report *r, size_t top)
{
    const struct report_waits *w = r->waits;
    if (w == NULL)
        return;
    if (w->why_not != NULL) {
        (void)fprintf(out, "\nThe waits of ranks are unknown: %s\n", w->why_not);
        return;
    }
    print_sums(out, r);
    print_ranks(out, w);
    report_delays_print(out, r, &w->causes, &w->names, top);
    report_critical_path_summary(out, &w->causes);
    message_pairs_print(out, &w->pairs, w->collectives_left);
}

void report_print_critical_path(FILE *out, struct report *r, size_t top, bool all)
{
    const struct report_waits *w = r->waits;
    const char *why_not = w != NULL         ? w->why_not
                          : has_ranks(r, 1) ? "fewer than two ranks have windows and MPI"
                                            : why_no_mpi(r);
    if (why_not != NULL)
        (void)fprintf(out, "%s\nThe critical path is unknown: %s\n", r->dir, why_not);
    else
        report_critical_path_print(out, r, &w->causes, &w->names, top, all);
    uint64_t lone = w != NULL ? message_pairs_lone_receives(&w->pairs) : 0;
    if (why_not == NULL && lone > 0)
        (void)fprintf(out,
                      "Waits in %" PRIu64 " receives are not known, and count as time in MPI: "
                      "their messages could not be matched.\n",
                      lone);
}

/* --- as JSON ---------------------------------------------------------------------------------- */

static void json_sums(struct json *j, const struct report *r)
{
    json_array_begin(j, "waits");
    for (int k = 0; k < WAIT_KINDS; k++)
        for (int f = 0; f < REPORT_FUNCTIONS; f++) {
            const struct wait_sum *s = &r->waits->sums[k][f];
            if (s->waits == 0)
                continue;
            json_object_begin(j, NULL);
            json_compact(j);
            json_text(j, "kind", wait_kind_name((enum wait_kind)k));
            json_text(j, "function", report_mpi_name(r, (uint32_t)f));
            json_uint(j, "waits", s->waits);
            json_real(j, "total_ns", s->total_ns);
            longest_wait_json(j, &s->longest, r->origin_ns);
            json_int(j, "rank", s->longest.rank);
            json_int(j, "for_rank", s->longest.for_rank);
            json_object_end(j);
        }
    json_array_end(j);
}

static void json_ranks(struct json *j, const struct report_waits *w)
{
    json_array_begin(j, "waits_by_rank");
    for (uint32_t i = 0; i < w->rank_count; i++) {
        json_object_begin(j, NULL);
        json_compact(j);
        json_int(j, "rank", w->ranks[i].rank);
        json_real(j, "waited_ns", w->ranks[i].waited_ns);
        json_real(j, "others_waited_ns", w->ranks[i].awaited_ns);
        json_real(j, "direct_ns", w->ranks[i].direct_ns);
        json_real(j, "propagated_ns", w->ranks[i].carried_ns);
        json_object_end(j);
    }
    json_array_end(j);
}

void report_waits_json(struct json *j, struct report *r, size_t most_rows)
{
    const struct report_waits *w = r->waits;
    json_text(j, "waits_why_not", w != NULL ? w->why_not : NULL);
    if (w == NULL || w->why_not != NULL) {
        static const char members[] = "waits\0waits_by_rank\0messages\0message_sites\0late_calls\0"
                                      "delays\0delays_unknown_ns\0critical_path\0unmatched_sends\0"
                                      "unmatched_receives\0unmatched_collectives\0";
        for (const char *name = members; *name != '\0'; name += strlen(name) + 1)
            json_null(j, name);
        return;
    }
    json_sums(j, r);
    json_ranks(j, w);
    message_pairs_json(j, &w->pairs, most_rows);
    late_calls_json(j, r, &w->late);
    report_delays_json(j, r, &w->causes, &w->names);
    report_critical_path_json(j, r, &w->causes, &w->names);
    message_pairs_json_lone(j, &w->pairs);
    json_uint(j, "unmatched_collectives", w->collectives_left);
}
